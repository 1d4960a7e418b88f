"""The headline: only what the intervals support, nothing hidden, both senses, any number of groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiobench.bench.family.capabilities import Statement
from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.report.answer.headline import Headline, make_headline, shorten_names
from ratiobench.bench.report.answer.text import answer_text
from ratiobench.bench.report.claims.verdicts import ClaimSummary
from ratiobench.bench.results import ratios, repetitions
from ratiobench.bench.results.ratios import share_text
from ratiobench.bench.results.read import COLUMNS, Results
from ratiobench.bench.results.remarks import is_user_algorithm, split_overcharge
from ratiobench.bench.results.row import make_row
from ratiobench.online.outcome import Source
from ratiobench.online.remarks import Part, Remarks
from tests.support.toy_family import ToyFamily

FAMILY = ToyFamily()


def row(case: str, algorithm: str, value: int | None, lower: int = 90, upper: int = 100, **more: Any) -> dict[str, Any]:
    """A row of results; without a value it has not run."""
    sense = more.pop("sense", Sense.MOST)
    found = dict.fromkeys(COLUMNS) | {"case": case, "group": more.pop("group", "g"), "algorithm": algorithm}
    found |= {
        "label": algorithm,
        "remarks": Remarks(algorithm),
        "sources": frozenset(),
        "instance": case,
        "state": "missing",
        "opt_lower": lower,
        "opt_upper": upper,
    }
    if value is not None:
        kind = ratios.ratio(lower, upper, value, sense).kind.value
        found |= {"state": "ok", "welfare": Fraction(value), "ratio_kind": kind, "constants_source": "none"}
    return found | more


def headline(rows: Sequence[dict[str, Any]], sense: Sense = Sense.MOST, **more: Any) -> Headline:
    return make_headline(results(rows, more.pop("about", {"sense": sense.value})), FAMILY, **more)


def results(rows: Sequence[dict[str, Any]], about: Mapping[str, Any] | None = None) -> Results:
    checks = [name for name in ("half",) if any(name in each for each in rows)]
    more_columns = repetitions.COLUMNS if any("repetitions" in each for each in rows) else ()
    parts = [f"half_{part}" for part in ("left", "right", "failing") if any(f"half_{part}" in each for each in rows)]
    frame = pd.DataFrame(list(rows), columns=[*COLUMNS, *checks, *parts, *more_columns], dtype=object)
    records = [make_row(each, checks) for each in rows]
    return Results(about or {"sense": Sense.MOST.value}, (), frame, pd.DataFrame(), checks, records=records)


def test_best_worst_and_ones_own() -> None:
    """Of two cases the mean share; one's own is named and said to be yours."""
    rows = [row(case, name, value) for case in "ab" for name, value in (("x", 89), ("mine:Own", 50), ("y", 9))]
    found = headline(rows, groups={"g": "real arrivals"})
    assert found.lines() == [
        "mine:Own (yours) is better than x in 0 of 2 cases, worse in 2; than y in 2 of 2 cases.",
        "Cases: real arrivals: mean of 2 cases, 3 algorithms; Best: x; Share of OPT: 89.0 to 98.9 %; "
        "mine:Own (yours): 50.0 to 55.6 %; Worst: y 9.0 to 10.0 %",
    ]
    assert found.standings is not None
    cells = [cell for row in (found.standings.head, *found.standings.rows) for cell in row]
    assert [(span.text, span.kind) for cell in cells for span in cell if span.kind] == [
        ("mine:Own", "own"), ("x", "name"), ("y", "name"),
    ]  # fmt: skip


def test_all_of_ones_own_have_a_row_where_columns_are_too_many_or_too_long() -> None:
    """Six variants: a row each, and sentences about those that win most; the page has the same table."""
    own = {f"mine:Own:margin={number}": 50 + number for number in range(6)}
    rows = [row(case, name, value) for case in "ab" for name, value in ({"x": 89, "y": 53} | own).items()]
    found = headline(rows)
    assert found.yours is not None
    assert [each["Algorithm"] for each in found.yours.texts()] == [f"{name} (yours)" for name in own]
    assert found.yours.texts()[5]["Share of OPT, g"] == "55.0 to 61.2 %"
    assert found.standings is not None
    assert list(found.standings.texts()[0]) == ["Cases", "Best", "Share of OPT", "Worst"]
    assert [line.partition(" ")[0] for line in found.lines()[:3]] == [
        f"mine:Own:margin={number}" for number in (5, 4, 3)
    ]
    long = headline([row("a", name, 50) for name in ("x", f"mine:Own:{'a' * 60}=1")])
    assert long.yours is not None
    assert headline([row("a", name, 50) for name in ("x", "mine:Own")]).yours is None


def test_long_names_have_labels_that_differ() -> None:
    """The middle is left out; none for a name that is short; what would be the same has a number."""
    names = ["short", *(f"mine:Threshold:density={number},idle=3/100,margin=3/2" for number in range(12))]
    labels = shorten_names(names, 34)
    assert list(labels) == names[1:]
    assert len(set(labels.values())) == 12
    assert max(map(len, labels.values())) <= 34
    assert labels[names[1]] == "mine:Threshold:densit...margin=3/2"
    assert labels[names[12]] == "mine:Threshold:den...rgin=3/2 (12)"


def test_a_terminal_breaks_no_name(tmp_path: Path) -> None:
    """In the tables long names are shorter, and whole below them; no line is too long."""
    names = [f"mine:Threshold:density={number}/100,idle=3/100,margin=3/2" for number in range(4)]
    found = results([row(case, name, 50) for case in "ab" for name in ("minimal-edit:units=canonical", *names)])
    lines = answer_text(found, FAMILY, (), tmp_path).splitlines()
    table = lines[[line.startswith("Algorithm") for line in lines].index(True) + 1 :]
    for name, drawn, legend in zip(names, table[:4], table[4:8], strict=True):
        label, _, more = drawn.partition(" (yours)  ")
        assert label.split()[0].startswith("mine:Threshold:den")
        assert more.strip() == "50.0 to 55.6 %"
        assert legend == f"  {label}: {name}"
    assert max(map(len, lines[:-2])) <= 118
    assert not [line for line in lines if line.endswith("minimal-")]


def test_the_algorithm_that_claims_are_about_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it stands among the others; once, where it is best or worst."""
    monkeypatch.setattr(ToyFamily, "explainer", SimpleNamespace(algorithm="theirs"))
    for value, end, count in (
        (50, "theirs: 50.0 to 55.6 %; Worst: y 9.0 to 10.0 %", 1),
        (5, "theirs: 5.0 to 5.6 %; Worst: theirs 5.0 to 5.6 %", 2),
    ):
        rows = [row("a", name, each) for name, each in (("x", 89), ("theirs", value), ("y", 9))]
        [answer] = headline(rows).lines()
        assert answer.endswith(end)
        assert answer.count("theirs") == count


def test_means_of_runs_are_told_by_their_interval_and_rank_nobody() -> None:
    """Two algorithms that draw, of which the intervals overlap: who is better is left open."""
    more = {"repetitions": 3, "welfare_low": 20.0, "welfare_high": 80.0}
    rows = [row("a", "x", 53, 100, 100, **more), row("a", "y", 50, 100, 100, **more)]
    found = headline(rows)
    answer = found.lines()[0]
    assert "20.0 to 80.0 %" in answer
    assert "the intervals leave it open" in answer
    assert "Worst" not in answer
    assert any("means of several runs" in line for line in found.lines())


def test_who_is_best_is_decided_beyond_the_intervals_of_the_shares() -> None:
    """Both shares lie within 70 to 89 %, but one value is larger than the other, whatever OPT is."""
    [line] = headline([row("a", "x", 71, 80, 100), row("a", "y", 70, 80, 100)]).lines()
    assert line.endswith("; Best: x; Share of OPT: 71.0 to 88.8 %; Worst: y 70.0 to 87.5 %")


def test_what_the_intervals_leave_open_is_said_to_be_open() -> None:
    """Of two cases each has the better value on one: OPT decides, and it is not known well enough."""
    rows = [
        row("a", "x", 50, 60, 100),
        row("a", "y", 40, 60, 100),
        row("b", "x", 40, 60, 100),
        row("b", "y", 50, 60, 100),
    ]
    [line] = headline(rows).lines()
    assert "the intervals leave it open" in line
    assert "Worst" not in line


def test_equals_are_named_together() -> None:
    """Two or three by name, of more the number; all alike in one sentence."""
    rows = [row("a", name, 90, 90, 90) for name in "uvwxy"]
    assert headline(rows).lines() == ["Cases: a: 5 algorithms; Best: all 5 algorithms; Share of OPT: 100 %"]
    [line] = headline([*rows, row("a", "z", 9, 90, 90)]).lines()
    assert line == "Cases: a: 6 algorithms; Best: u, v and 3 more; Share of OPT: 100 %; Worst: z 10.0 %"
    [line] = headline([*rows[:3], row("a", "z", 9, 90, 90)]).lines()
    assert "; Best: u, v and w; Share of OPT: 100 %" in line
    assert headline(rows[:1]).lines() == ["Cases: a: 1 algorithm; Best: u; Share of OPT: 100 %"]


def test_costs_read_right() -> None:
    """The least is best: a cost of twice OPT reaches half of it."""
    rows = [row("a", name, cost, 100, 100, sense=Sense.LEAST) for name, cost in (("x", 100), ("y", 200))]
    [line] = headline(rows, Sense.LEAST).lines()
    assert line == "Cases: a: 2 algorithms; Best: x; Share of OPT: 100 %; Worst: y 50.0 %"
    free = [row("a", "x", 0, 0, 0, sense=Sense.LEAST), row("a", "y", 5, 0, 0, sense=Sense.LEAST)]
    lines = headline(free, Sense.LEAST).lines()
    assert "Best: x; Share of OPT: 100 %" in lines[0]
    assert "1 of 2 runs is with costs although OPT is 0 (an unbounded ratio): y." in lines


def test_nothing_is_hidden() -> None:
    """Unbounded, undefined, invalid, failed, missing, an unknown OPT, more than a bid, constants from the future."""
    rows = [
        row("a", "x", 89),
        row("b", "x", 89),
        row("a", "zero", 0),
        row("b", "zero", 0),
        row("a", "mine:Own", None, state="invalid"),
        row("b", "mine:Own", 80),
        row("a", "dies", None, state="failed"),
        row("b", "dies", None),
        row("c", "x", 5) | {"opt_lower": None, "opt_upper": None, "ratio_kind": None},
    ]
    rows[0] |= {"remarks": Remarks("x", overcharged=Part(2, 3)), "sources": frozenset({Source.ORACLE})}
    assert headline(rows).lines() == [
        "mine:Own (yours) is better than x * in 0 of the 1 case that both have, worse in 1; "
        "than zero in 1 of the 1 case that both have.",
        "Cases: g: mean of 2 cases, 3 algorithms; Best: x *; Share of OPT: 89.0 to 98.9 %; "
        "mine:Own (yours): 80.0 to 88.9 % on 1 of 2 cases; Worst: zero 0 %",
        "1 of 9 runs is invalid (a rule was broken): mine:Own (yours).",
        "1 of 9 runs has failed: dies.",
        "1 of 9 runs is not run yet: dies.",
        "2 of 9 runs are without gain although OPT is above 0 (an unbounded ratio): zero.",
        "OPT is not known for 1 case: c.",
        "Charges above the bid: x in 1 of 3 runs.",
        "* was given constants computed from the instance under test, its future included (oracle).",
    ]


def test_only_failures_and_nothing_at_all() -> None:
    assert headline([]).lines() == ["Nothing has run yet."]
    assert headline([row("a", "x", None, state="failed")]).lines() == [
        "Cases: a; Best: no run has a share of OPT",
        "1 of 1 run has failed: x.",
    ]
    loss = headline([row("a", "x", -5, -1, 3)]).lines()
    assert loss[0] == "Cases: a; Best: no run has a share of OPT"
    assert "1 of 1 run is without a ratio, since OPT may be negative or 0: x." in loss


def test_many_groups_are_one_sentence() -> None:
    """Who is best in how many of them, and one's own; a sentence each would be no headline."""
    rows = []
    for number in range(9):
        best, second = ("x", "mine:Own") if number % 3 else ("mine:Own", "x")
        rows += [
            row("a", best, 90, 90, 90, group=f"g{number}"),
            row("a", second, 45 + number, 90, 90, group=f"g{number}"),
        ]
        rows += [row("a", "z", 9, 90, 90, group=f"g{number}")]
    assert headline(rows).lines() == [
        "Best: x in 6 of 9 groups of cases (100 % of the optimum), mine:Own (yours) in 3 (100 %).",
        "Least: z in 9 of 9 groups of cases (10.0 % of the optimum).",
        "mine:Own (yours) reaches 51.1 to 100 % of the optimum; it is best in 3 of 9 groups.",
    ]


def _settled(name: str, standing: str = "false", asked: bool = False, **counts: int) -> ClaimSummary:
    statement = Statement(name, "", "", standing, "", "", asked=asked)
    return ClaimSummary(statement, Counter({Verdict[kind.upper()]: count for kind, count in counts.items()}))


def test_what_fell_is_counted_by_instances() -> None:
    """The family's own claim by instances, one that any run violates; the others by claims; an error of ours loudly."""
    verdicts = ["violated", "holds", "holds", "undecided", "not applicable"]
    rows = [row(str(i), "x", 90, 90, 90, half=verdict) for i, verdict in enumerate(verdicts)]
    rows += [row("1", "y", 90, 90, 90, half="violated")]
    settled = [_settled("half"), _settled("third", violated=1), _settled("sure", "proved", holds=3, violated=1)]
    settled += [
        _settled("fifth", holds=1),
        _settled("idle", not_applicable=9),
        _settled("asked", asked=True, violated=1),
    ]
    lines = headline(rows, settled=settled).lines()
    assert lines[1:] == [
        "Half is violated on 2 of 5 instances, is undecided on 1; it applies to 4 of them.",
        "Proved, yet violated here, so there is an error: Sure.",
        "2 of 3 other claims that apply here are violated on some instance: Third, Sure.",
    ]
    holds = [each | {"half": "holds"} for each in rows]
    lines = headline(holds, settled=[_settled("half"), _settled("fifth", holds=1)]).lines()
    assert lines[1:] == ["Half holds on 5 of 5 instances.", "The one other claim that applies here is not violated."]
    idle = [each | {"half": "not applicable"} for each in rows]
    assert headline(idle).lines()[1:] == ["Half applies to no run here."]


def test_a_claim_and_the_assumptions_of_its_proof_are_two_facts() -> None:
    """The sentence has the runs in which an assumption fails, and how loose the bound is where the claim holds."""
    sides = [("2", "9"), ("3/2", "9000"), ("26", "49/2"), ("1", None)]
    failing = ["[]", '["bbar >= 1"]', '["bbar >= 1", "costs >= 0"]', "[]"]
    verdicts = ["holds", "holds", "violated", "holds"]
    rows = [
        row(str(i), "x", 90, 90, 90, half=verdict, half_failing=names, half_left=left, half_right=right)
        for i, (verdict, names, (left, right)) in enumerate(zip(verdicts, failing, sides, strict=True))
    ]
    rows.append(row("4", "y", 90, 90, 90, half="not applicable"))
    assert headline(rows, settled=[_settled("half")]).lines()[1:] == [
        "Half is violated on 1 of 5 instances; it applies to 4 of them; in 2 of the 4 runs that it is about an "
        "assumption of its proof fails (bbar >= 1, costs >= 0); where it holds, the bound is 4 to 6,000 times OPT/ALG."
    ]


def test_date_version_and_machine_in_one_line() -> None:
    made = {
        "packages": {"ratiobench": "1.2"},
        "code": {"commit": "abcdef0123", "changed since": "yes"},
        "machine": {"processor": "abacus", "usable cores": "3", "system": "wood\x1b"},
    }
    told = headline([], about={"provenance": made, "date": "2031-05-06"}).about
    assert told == "2031-05-06, ratiobench 1.2 at commit abcdef0 with changes, abacus, 3 cores, wood\\x1b"
    assert headline([], about={}).about == ""


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        ("0.8212", "0.8218", "82.1 %"),
        ("0.82", "0.82", "82.0 %"),
        ("0.8149", "0.8151", "81.4 to 81.6 %"),
        ("0.814", "0.836", "81.4 to 83.6 %"),
        ("0.0001", "0.0002", "0.0 to 0.1 %"),
        ("0.0575", "0.0576", "5.7 %"),
        ("0.9996", "0.9999", "99.9 %"),
        ("0.9996", "1", "at least 99.9 %"),
        ("0.4", "1", "at least 40.0 %"),
        ("1", "1", "100 %"),
        ("0", "0", "0 %"),
        ("0", "0.001", "0 to 0.1 %"),
        ("-0.5", "-0.25", "-50.0 to -25.0 %"),
    ],
)
def test_shares_are_one_number_only_where_they_are(low: str, high: str, text: str) -> None:
    """One digit everywhere; both ends round down to a single number; 0 % and 100 % are exactly that."""
    assert share_text(Fraction(low), Fraction(high)) == text


@given(st.fractions(-2, 1), st.fractions(-2, 1))
def test_the_text_of_a_share_is_true(one: Fraction, other: Fraction) -> None:
    """What is read is both ends rounded down, or encloses them."""
    low, high = sorted((one, other))
    text = share_text(low, high)
    figures = [Fraction(word) for word in text.replace("at least", "").replace("%", "").split() if word != "to"]
    if "at least" in text:
        assert figures[0] <= 100 * low
    elif len(figures) == 1:
        assert all(0 <= 100 * end - figures[0] < 1 for end in (low, high))
    else:
        assert figures[0] <= 100 * low <= 100 * high <= figures[1]


def test_names_of_ones_own_and_labels_that_are_loud() -> None:
    """An import path is anyone's own; what is charged above bids is told apart."""
    assert [name for name in ("mine:Own", "a.b:C:k=v", "x", "x:k=v", "x:") if is_user_algorithm(name)] == [
        "mine:Own",
        "a.b:C:k=v",
    ]
    remarks = Remarks("mine:Own", isolated="Landlock", overcharged=Part(2, 3))
    assert split_overcharge(remarks) == ("mine:Own (isolated by Landlock)", "charged above their bid: 2 of 3 admitted")
    assert split_overcharge(Remarks("x", ("admit=all",))) == ("x (admit=all)", "")
