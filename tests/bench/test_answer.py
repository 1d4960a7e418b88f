"""The last screen: it ranks what can be compared, names what fell, links the page, and stays short."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bench.cli.main import main
from bench.family.checks import Verdict
from bench.family.known import families
from bench.family.parts import Statement
from bench.family.sense import Sense
from bench.storage.store import Store
from bench.tables import verdicts
from bench.tables.answer import CLAIMS, GROUPS, answer_text, rank_groups, share
from bench.tables.rows import Results, read_results
from bench.tables.verdicts import Settled
from tests.support.toy_family import made, toy  # noqa: F401

pytestmark = pytest.mark.usefixtures("toy")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of the toy suite with one more algorithm."""
    return made("toy", tmp_path_factory.mktemp("answer"), "--algorithm", "above:mark=70")


def read(folder: Path) -> Results:
    """Its tables."""
    with Store.open(folder / "results.sqlite", create=False) as store:
        return read_results(store)


def results(rows: list[tuple[str, str, str, Any]], **about: Any) -> Results:
    """Rows (group, case, algorithm, part that is reached) as the tables of a run."""
    names = ("group", "case", "algorithm", "reached")
    frame = pd.DataFrame([dict(zip(names, row, strict=True)) | {"label": row[2]} for row in rows], dtype=object)
    return Results({"sense": "most", **about}, [], frame, pd.DataFrame(), ())


def test_the_answer_is_the_last_that_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Best, worst and the added algorithm per group, the claim with its smallest witness, a link to click."""
    assert main(["report", str(folder)]) == 0
    lines = capsys.readouterr().out.rstrip("\n").splitlines()
    answer = lines[len(lines) - lines[::-1].index("") :]
    assert len(answer) <= 24
    assert answer == answer_text(read(folder), verdicts.settle(read(folder), families()["toy"]), folder).splitlines()
    assert answer[0].startswith("What part of the upper bound on OPT is reached")
    assert answer[1].split() == ["Group", "cases", "Best", "Worst", "Yours:", "above:mark=70"]
    [odd] = [line for line in answer if line.startswith("  odd ")]
    means = dict(rank_groups(read(folder))[1].means)
    assert odd.split()[1:4] == ["2", "above:mark=50", share(means["above:mark=50"]).split()[0]]
    assert means["above:mark=50"] == max(means.values())
    [fell] = [line for line in answer if line.startswith("  Half: ")]
    assert "smallest witness toy" in fell
    assert answer[-2] == f"Page:  {(folder / 'report.html').resolve().as_uri()}"
    assert answer[-2].split()[1].startswith("file:///")


def test_only_algorithms_with_the_same_cases_are_ranked() -> None:
    """Who has no figure for a case is not the best for having left out the hard one; equals are counted."""
    found = results(
        [
            ("g", "easy", "fails", Fraction(9, 10)),
            ("g", "hard", "fails", None),
            ("g", "easy", "good", Fraction(4, 5)),
            ("g", "hard", "good", Fraction(1, 5)),
            ("g", "easy", "alike", Fraction(1, 5)),
            ("g", "hard", "alike", Fraction(4, 5)),
            ("g", "easy", "bad", Fraction(1, 10)),
            ("g", "hard", "bad", Fraction(1, 10)),
        ],
        algorithms=["fails", "bad"],
    )
    [ranked] = rank_groups(found)
    assert (ranked.told(0), ranked.told(-1)) == ("good and 1 more 50 %", "bad 10 %")
    assert ranked.told_of("bad") == "10 %, place 3 of 3"
    assert ranked.told_of("fails") == "not in every case"
    assert ranked.told_of("nobody") == "-"


def test_a_share_is_never_rounded_up() -> None:
    """100 % is optimal and nothing else."""
    assert [share(Fraction(*pair)) for pair in ((1, 1), (99999, 100000), (1, 3), (-1, 3))] == [
        "100 %",
        "99.9 %",
        "33.3 %",
        "-33.4 %",
    ]


@pytest.mark.parametrize(("sense", "words"), [(Sense.MOST, "upper bound"), (Sense.LEAST, "lower bound")])
def test_many_groups_and_claims_are_summed_up(sense: Sense, words: str, tmp_path: Path) -> None:
    """Two dozen lines at most, whatever the suite; who is how often at either end."""
    rows = [
        (f"group {i}", "case", name, Fraction(value, 10))
        for i in range(30)
        for name, value in (("a", 9 if i < 20 else 1), ("b", 5), ("c", 3))
    ]
    statement = Statement("claim", "x", "nobody", "false", "", "")
    fell = [
        Settled(replace(statement, name=f"claim_{i}"), Counter({Verdict.VIOLATED: 2, Verdict.HOLDS: 3}))
        for i in range(CLAIMS + 2)
    ]
    ours = Settled(replace(statement, name="ours", standing="proved"), Counter({Verdict.VIOLATED: 1}))
    found = results(rows, sense=sense.value, algorithms=["a", "b", "c"])
    lines = answer_text(found, [*fell, ours], tmp_path).splitlines()
    assert len(lines) <= 24
    assert words in lines[0]
    assert sum(line.startswith("  group ") for line in lines) == GROUPS
    assert "  All 30 groups: best a in 20, b in 10; worst c in 20, a in 10." in lines
    assert "  Ours: 1 of 1, though PROVED: an error of ours" in lines
    assert "  Claim 0: 2 of 5" in lines
    assert "  and Claim 5, Claim 6, Claim 7" in lines


def test_results_without_a_ratio_say_so(tmp_path: Path) -> None:
    """Nothing was solved yet: no table, no claim, and where the page is."""
    lines = answer_text(results([("g", "c", "a", None)]), [], tmp_path).splitlines()
    assert lines[0] == "No algorithm has a ratio to OPT yet."
    assert len(lines) == 3
