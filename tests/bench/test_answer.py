"""The answer of a run: only what the intervals support, nothing hidden, both senses, any number of groups."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiobench.bench.cli import main
from ratiobench.bench.family.capabilities import Statement
from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.registry import families
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.report.claims import NAMED, ClaimSummary, fallen_text, summarise_claims
from ratiobench.bench.report.rows import DOUBTS, answer_lines, list_doubts, share_lines
from ratiobench.bench.results.means import group_shares
from ratiobench.bench.results.ratios import share_text
from ratiobench.bench.results.read import Results, read_folder
from ratiobench.bench.results.remarks import is_user_algorithm
from ratiobench.bench.results.row import Row
from ratiobench.online.outcome import Source
from ratiobench.online.remarks import Part, Remarks
from tests.support.rows import made_row
from tests.support.rows import result_row as row
from tests.support.toy_runs import made, toy  # noqa: F401


def results(rows: list[Row], sense: Sense = Sense.MOST) -> Results:
    return Results({"sense": sense.value}, (), pd.DataFrame(), pd.DataFrame(), (), records=rows)


def told(rows: list[Row], sense: Sense = Sense.MOST, words: Any = ()) -> list[list[str]]:
    """The cells of the table of shares."""
    return [list(line.values()) for line in share_lines(group_shares(rows, sense), dict(words))]


def test_costs_read_right() -> None:
    """The least is best: a cost of twice OPT reaches half of it."""
    rows = [row("a", name, cost, 100, 100, sense=Sense.LEAST) for name, cost in (("x", 100), ("y", 200))]
    assert told(rows, Sense.LEAST) == [["x", "100 %", "100 %", "100 %"], ["y", "50.0 %", "50.0 %", "50.0 %"]]
    free = [row("a", name, cost, 0, 0, sense=Sense.LEAST) for name, cost in (("x", 0), ("y", 5))]
    text = "1 of 2 runs is with costs although OPT is 0 (an unbounded ratio): y."
    assert text in list_doubts(results(free, Sense.LEAST))


def test_means_of_runs_have_the_interval_of_what_is_expected() -> None:
    more = {"repetitions": 3, "welfare_low": 20.0, "welfare_high": 80.0}
    rows = [row("a", "x", 53, 100, 100, **more), row("a", "y", 90, 100, 100)]
    assert told(rows)[1][:2] == ["x", "20.0 to 80.0 %"]
    assert any("means of several runs" in line for line in list_doubts(results(rows)))


def test_the_page_has_a_row_per_algorithm_and_a_column_per_group() -> None:
    """The best mean on top; who lacks cases says so; of many groups mean, least and largest."""
    rows = [row("a", "x", 90, 100, 100), row("b", "x", 70, 100, 100), row("c", "x", 60, 100, 100, group="h")]
    rows += [row("a", "y", 99, 100, 100), row("c", "y", 0, 100, 100, group="h")]
    assert told(rows) == [["x", "80.0 %", "60.0 %", "-"], ["y", "99.0 % on 1 of 2", "0 %", "1 unbounded"]]
    assert (
        list(share_lines(group_shares(rows, Sense.MOST), {"g": "real ones"})[0])[1]
        == "share of OPT: real ones, 2 cases"
    )
    many = [row("a", "x", 50 + number, 100, 100, group=f"g{number}") for number in range(9)]
    assert told(many) == [["x", "9", "54.0 %", "50.0 %", "58.0 %"]]


def test_nothing_is_hidden() -> None:
    """Unbounded, invalid, failed, missing, an unknown OPT, charges above bids, oracles: at most five sentences."""
    rows = [
        row("a", "x", 89),
        row("b", "x", 89),
        row("a", "zero", 0),
        row("b", "zero", 0),
        row("a", "mine:Own", None, state="invalid"),
        row("b", "mine:Own", 80),
        row("a", "dies", None, state="failed"),
        row("b", "dies", None),
        made_row("x", "c", state="ok", welfare=Fraction(5)),
    ]
    rows[0] = replace(rows[0], remarks=Remarks("x", overcharged=Part(2, 3)), constants_source=Source.ORACLE)
    doubts = list_doubts(results(rows))
    assert len(doubts) == DOUBTS
    assert doubts == [
        "1 of 9 runs is invalid (a rule was broken): mine:Own.",
        "1 of 9 runs is without an answer (failed): dies.",
        "1 of 9 runs is not run yet: dies.",
        "2 of 9 runs are without gain although OPT is above 0 (an unbounded ratio): zero.",
        "OPT is not known for 1 case: c. Charges above the bid: x in 1 run. * (x): given constants computed from the "
        "instance under test, its future included (oracle).",
    ]
    assert told(rows)[0][:2] == ["x *", "89.0 to 98.9 %"]
    assert ["mine:Own", "80.0 to 88.9 % on 1 of 2"] in [cells[:2] for cells in told(rows)]


def test_only_failures_and_nothing_at_all() -> None:
    assert list_doubts(results([])) == ["Nothing has run yet."]
    failed = [row("a", "x", None, state="failed")]
    assert told(failed) == [["x", "-", "-", "-", "1 failed"]]
    loss = [row("a", "x", -5, -1, 3)]
    assert "1 of 1 run is without a ratio, since OPT may be negative or 0: x." in list_doubts(results(loss))


def _claim(name: str, standing: str = "false", asked: bool = False, **counts: int) -> ClaimSummary:
    statement = Statement(name, "x", "nobody", standing, "", "", asked=asked)
    return ClaimSummary(statement, Counter({Verdict[kind.upper()]: count for kind, count in counts.items()}))


def test_many_claims_are_summed_up() -> None:
    """An error of ours comes first; what is asked of an algorithm is no claim; of many the names."""
    fell = [_claim(f"claim_{i}", violated=2, holds=3) for i in range(NAMED + 2)]
    lines = fallen_text([_claim("asked", asked=True, violated=9), *fell, _claim("ours", "proved", violated=1)])
    assert lines[0].startswith(f"{NAMED + 3} of {NAMED + 3} claims are violated, 0 hold")
    assert lines[2].split()[:6] == ["Ours", "proved:", "an", "error", "of", "ours"]
    assert lines[3].split() == ["Claim", "0", "false", "2", "5", "-"]
    assert lines[-1] == "  and Claim 5, Claim 6, Claim 7"
    assert fallen_text([_claim("a", holds=2)]) == [
        "Claims: none of 1 is violated in these runs; 1 holds in every run that decides it."
    ]
    assert fallen_text([]) == []


@pytest.mark.usefixtures("toy")
def test_the_answer_is_the_last_that_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Shares, doubts, the claim with its smallest witness, a link to click."""
    made("toy", tmp_path, "--add", "above:mark=70")
    assert main(["report", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.rstrip("\n").splitlines()
    answer = lines[len(lines) - lines[::-1].index("") :]
    found = read_folder(tmp_path)
    lines = answer_lines(found, summarise_claims(found, families()["toy"]))
    assert answer[: len(lines)] == lines
    assert len(lines) <= 24
    assert answer[0].split()[0] == "Algorithm"
    [fell] = [line for line in answer if line.startswith("  Half ")]
    assert "toy" in fell
    assert answer[-2] == f"Page:  {(tmp_path / 'report.html').resolve().as_uri()}"
    assert max(map(len, answer[:-2])) <= 160


def test_ones_own_are_shown_however_many_are_better() -> None:
    rows = [row(case, f"a{number}", 50 + number, 100, 100) for number in range(20) for case in "ab"]
    lines = answer_lines(results([*rows, row("a", "mine:Own", 1, 100, 100)]), ())
    assert any("mine:Own" in line for line in lines)
    assert "8 more algorithms are on the page." in lines


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        ("0.8212", "0.8218", "82.1 %"),
        ("0.82", "0.82", "82.0 %"),
        ("0.8149", "0.8151", "81.4 to 81.6 %"),
        ("0.0001", "0.0002", "0.0 to 0.1 %"),
        ("0.9996", "1", "at least 99.9 %"),
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


def test_names_of_ones_own() -> None:
    names = ("mine:Own", "a.b:C:k=v", "x", "x:k=v", "x:")
    assert [name for name in names if is_user_algorithm(name)] == ["mine:Own", "a.b:C:k=v"]


def test_shares_of_a_group_are_exact_means() -> None:
    """Certain shares, both ends, and how many cases are not in order."""
    rows = [row("a", "x", 45, 90, 100), row("b", "x", 80, 100, 100), row("c", "x", 0, 5, 9), row("d", "x", -5, -5, -1)]
    rows += [row("e", "x", None, state="failed"), row("f", "x", None, state="invalid")]
    [share] = group_shares(rows, Sense.MOST).to_dict("records")
    assert share["reached"] == share["lower"] == Fraction(45 + 80, 300)
    assert share["upper"] == Fraction(50 + 80, 300)
    assert share["parts"] == [0, Fraction(45, 100), Fraction(80, 100)]
    counts = [share[name] for name in ("cases", "unbounded", "undefined", "invalid", "failed")]
    assert counts == [3, 1, 1, 1, 1]
    assert replace(rows[0], called="Ours").name == "Ours"
