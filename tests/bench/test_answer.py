"""The last screen: it ranks what can be compared, names what fell, links the page, and stays short."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from ratiobench.bench.cli.main import main
from ratiobench.bench.family.capabilities import Statement
from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.registry import families
from ratiobench.bench.report.answer.headline import make_headline
from ratiobench.bench.report.answer.text import CLAIMS, answer_text
from ratiobench.bench.report.claims import verdicts
from ratiobench.bench.report.claims.verdicts import ClaimSummary
from ratiobench.bench.results.read import Results, read_results
from ratiobench.bench.storage.store import Store
from tests.support.toy_runs import made, toy  # noqa: F401

pytestmark = pytest.mark.usefixtures("toy")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of the toy suite with one more algorithm."""
    return made("toy", tmp_path_factory.mktemp("answer"), "--add", "above:mark=70")


def read(folder: Path) -> Results:
    with Store.open(folder / "results.sqlite", create=False) as store:
        return read_results(store)


def test_the_answer_is_the_last_that_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The headline of the page, the claim with its smallest witness, a link to click."""
    assert main(["report", str(folder)]) == 0
    lines = capsys.readouterr().out.rstrip("\n").splitlines()
    answer = lines[len(lines) - lines[::-1].index("") :]
    assert len(answer) <= 24
    found, family = read(folder), families()["toy"]
    settled = verdicts.summarise_claims(found, family)
    assert answer == answer_text(found, family, settled, folder).splitlines()
    told = " ".join(line.strip() for line in answer)
    headline = make_headline(found, family, settled)
    assert all("".join(span.text for span in each) in told for each in (*headline.answers, *headline.troubles))
    assert answer[0].split() == ["Cases", "Best", "Share", "of", "OPT", "Worst"]
    assert headline.standings is not None
    words = set(told.split())
    assert all(word in words for row in headline.standings.texts() for cell in row.values() for word in cell.split())
    [fell] = [line for line in answer if line.startswith("  Half: ")]
    assert "smallest witness toy" in fell
    assert answer[-2] == f"Page:  {(folder / 'report.html').resolve().as_uri()}"
    assert answer[-2].split()[1].startswith("file:///")
    assert max(map(len, answer[:-2])) <= 160


def test_many_claims_are_summed_up(folder: Path, tmp_path: Path) -> None:
    """Two dozen lines at most; an error of ours comes first."""
    statement = Statement("claim", "x", "nobody", "false", "", "")
    fell = [
        ClaimSummary(replace(statement, name=f"claim_{i}"), Counter({Verdict.VIOLATED: 2, Verdict.HOLDS: 3}))
        for i in range(CLAIMS + 2)
    ]
    ours = ClaimSummary(replace(statement, name="ours", standing="proved"), Counter({Verdict.VIOLATED: 1}))
    asked = ClaimSummary(replace(statement, name="asked", asked=True), Counter({Verdict.VIOLATED: 9}))
    lines = answer_text(read(folder), families()["toy"], [asked, *fell, ours], tmp_path).splitlines()
    assert len(lines) <= 24
    assert any(line.startswith(f"{CLAIMS + 3} of {CLAIMS + 3} claims are violated") for line in lines)
    assert "  Ours: 1 of 1, though PROVED: an error of ours" in lines
    assert "  Claim 0: 2 of 5" in lines
    assert "  and Claim 5, Claim 6, Claim 7" in lines
