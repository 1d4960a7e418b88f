"""Algorithms that draw, run more than once: means with their intervals, said to be estimates, stored run by run."""

import json
import sqlite3
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import ratiobench
from ratiobench.bench.cli import main
from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.registry import families
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.results import intervals, read
from ratiobench.bench.results.ratios import columns
from ratiobench.bench.results.row import COLUMNS, REPEATED, Row
from ratiobench.bench.storage.payload import Check
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.named import path
from ratiobench.online.remarks import Part, Remarks
from ratiobench.online.run_context import RunContext, run_context
from tests.support.drawing_family import FAMILY
from tests.support.rows import made_row


@pytest.fixture(autouse=True)
def drawing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The family is known, here and in worker processes."""
    monkeypatch.setenv("RATIOBENCH_FAMILIES", "tests.support.drawing_family")
    families.cache_clear()
    yield
    families.cache_clear()


def welfares(seed: int, count: int) -> list[int]:
    found = []
    for repetition in range(1, count + 1):
        with run_context(RunContext(repetition=repetition)):
            found.append(int(FAMILY.run(FAMILY.generate({"seed": seed, "size": 8, "room": 3}), "draws").welfare))
    return found


def test_a_row_of_several_runs_is_their_mean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In rows, means, text, page and CSV, with the interval of E[ALG]; who does not draw is run once."""
    assert main(["run", "drawing", "--repeat", "5", "--out", str(tmp_path), "--quiet"]) == 0
    text, page = capsys.readouterr().out, (tmp_path / "report.html").read_text()
    found = ratiobench.results(tmp_path)
    rows = found.exact.set_index(["case", "algorithm"])
    for seed in (0, 1):
        runs = [Fraction(value) for value in welfares(seed, 5)]
        row, mean = rows.loc[(f"d{seed}", "draws")], sum(runs) / 5
        assert len(set(runs)) > 1
        assert (row["welfare"], row["repetitions"], row["ratio_kind"]) == (mean, 5, "estimate")
        assert (row["ratio_lower"], row["reached"]) == (row["opt_lower"] / mean, mean / row["opt_upper"])
        assert (row["welfare_low"], row["welfare_high"]) == (intervals.mean(runs).low, intervals.mean(runs).high)
        assert row["expected_ratio_low"] < float(row["ratio_lower"]) < row["expected_ratio_high"]
        assert row["label"] == "draws (mean of 5 runs)"
        assert f"{float(mean):.1f}".rstrip("0").rstrip(".") in text
    assert pd.isna(rows.loc[("d0", "first"), "repetitions"])
    assert rows.loc[("d0", "first"), "ratio_kind"] == "interval"
    assert list(found.exact.columns[-5:]) == list(REPEATED)
    assert list(found.exact.columns[: len(COLUMNS)]) == list(COLUMNS)
    assert not [name for name in found.exact if name.endswith("_failing")]  # no check here asks for assumptions
    assert list(found.repetitions["welfare"]) == welfares(0, 5) + welfares(1, 5)
    online = found.seconds[found.seconds["stage"] == "online"]
    assert online.groupby("algorithm", observed=True).size().to_dict() == {"first": 2, "draws": 10}
    assert text.count("draws (mean of 5 runs)") == 3
    assert "95 % interval" in text
    assert "about " in text
    assert "which is not certified" in text
    assert "draws (mean of 5 runs)" in page
    assert "95 % interval of E[ALG]" in page
    written = pd.read_csv(tmp_path / "results.csv")
    assert list(written["repetitions"].dropna()) == [5, 5]
    assert " --repeat 5" in json.loads((tmp_path / "provenance.json").read_text())["command"]
    frame = found.frame()
    assert list(frame.columns[-3:]) == ["repetitions", "welfare_low", "welfare_high"]
    assert str(frame["repetitions"].dtype) == "Int64"


def test_runs_are_stored_one_by_one(tmp_path: Path, log: Path) -> None:
    """More repetitions run what is missing; without them all is as if there had been none, byte for byte."""

    def fresh(repeat: int) -> int:
        log.write_text("")
        ratiobench.run("drawing", out=tmp_path / "out", repeat=repeat, workers=1)
        return sum(line.startswith("online") for line in log.read_text().splitlines())

    assert fresh(1) == 4
    before = ratiobench.results(tmp_path / "out").exact.to_csv()
    keys = _keys(tmp_path / "out")
    assert [fresh(3), fresh(3), fresh(5), fresh(2)] == [4, 0, 4, 0]
    assert keys < _keys(tmp_path / "out")
    assert fresh(1) == 0
    assert ratiobench.results(tmp_path / "out").exact.to_csv() == before


def _keys(folder: Path) -> set[tuple[Any, ...]]:
    with sqlite3.connect(folder / "results.sqlite") as store:
        return set(store.execute("SELECT stage, instance, key FROM pieces"))


def test_there_is_no_mean_over_the_runs_that_happened_to_end(tmp_path: Path) -> None:
    """A run that fails makes the row fail, and is named."""
    found = ratiobench.run("drawing-bad", out=tmp_path, repeat=4, workers=1)
    row = found.rows.set_index("algorithm").loc["stumbles"]
    assert row["state"] == "failed"
    assert row["reason"] == "repetition 3 of 4: ZeroDivisionError: nothing to divide"
    assert pd.isna(row["welfare"])
    assert list(found.repetitions["state"]) == ["ok", "ok", "failed", "ok"]


def test_numbers_that_cannot_be_used_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in (0, 1001, 2.0, True):
        with pytest.raises(InputError, match=r"repeat: .* is not (an integer )?in 1\.\.1000"):
            ratiobench.run("drawing", out=tmp_path / "new", repeat=wrong)  # type: ignore[arg-type]
    assert main(["run", "drawing", "--repeat", "0"]) == 2
    assert not (tmp_path / "new").exists()
    ratiobench.run("drawing", out=tmp_path / "out", only="d0", repeat=2, workers=1)
    with sqlite3.connect(tmp_path / "out" / "results.sqlite") as store:
        store.execute("UPDATE cases SET content = replace(content, '{\"draws\": 2}', '{\"draws\": 1000000000}')")
    with pytest.raises(InputError, match=r"case 'd0'\.repeats\.draws: 1000000000 is not in 2\.\.1000"):
        ratiobench.results(tmp_path / "out")


def _row(welfare: int, **more: Any) -> Row:
    value, ends = Fraction(welfare), {"opt_lower": Fraction(90), "opt_upper": Fraction(100)}
    cells = ends | {"welfare": value, "true_welfare": value, "admitted": 1, "counts": "{}", "state": "ok"} | more
    return made_row("a", "c", **cells)


@pytest.mark.parametrize("sense", list(Sense))
def test_both_senses_read_right(sense: Sense) -> None:
    """OPT within its ends over the mean; the interval of E[ALG] lies on the right side, and never below 1."""
    values = (60, 80) if sense is Sense.MOST else (120, 160)
    row = read.mean_row([_row(value) for value in values], sense)
    middle = Fraction(sum(values), 2)
    ends = (Fraction(90) / middle, Fraction(100) / middle) if sense is Sense.MOST else (middle / 100, middle / 90)
    assert (row.ratio_lower, row.ratio_upper) == ends
    expected = intervals.mean([Fraction(value) for value in values])
    assert expected.low is not None
    assert expected.high is not None
    if sense is Sense.MOST:
        assert expected.low < 0  # two runs say little: no upper end
        assert (row.expected_ratio_low, row.expected_ratio_high) == (1.0, None)
    else:
        assert row.expected_ratio_low == 1.0
        assert row.expected_ratio_high == pytest.approx(expected.high / 90)
    nothing = read.mean_row([_row(0, opt_lower=Fraction(0)), _row(0, opt_lower=Fraction(0))], sense)
    assert nothing.ratio_kind == columns(Fraction(0), Fraction(100), 0, sense)["ratio_kind"].replace(
        "interval", "estimate"
    )


def test_a_check_has_the_worst_verdict_of_the_runs() -> None:
    """With the figures of the first run that has it, and in how many it was; measures are means."""

    def audited(verdict: str, left: str, share: str) -> Row:
        check = Check("half", Verdict(verdict), left, "1", "l <= r", {})
        return _row(60, measures={"share": Fraction(share)}, checks={"half": check})

    rows = [audited("holds", "1", "1/2"), audited("violated", "2", "1/4"), audited("violated", "3", "3/4")]
    row = read.mean_row(rows, Sense.MOST)
    assert (row.verdict("half"), row.checks["half"].left, row.measures["share"]) == ("violated", "2", Fraction(1, 2))
    assert row.checks["half"].reason == "l <= r (in 2 of 3 runs; the figures are those of run 2)"
    limited = [_row(60, remarks=Remarks("a", limit=Part(n, 9), gap_ppm=1000 * n)) for n in (1, 3)]
    label = "a (at limit in 2 of 2 runs, worst gap 0.3 %) (mean of 2 runs)"
    assert read.mean_row(limited, Sense.MOST).label == label


def test_who_draws_among_the_shipped() -> None:
    """Those that draw; their runs differ from repetition to repetition, and the first is the one of before."""
    lora, eapm = families()["lora"], families()["eapm"]
    drawing = [each.name for family in (lora, eapm) for each in family.algorithms() if family.is_randomised(each.name)]
    assert drawing == ["ntm", "static", "titan"]
    day = ratiobench.instance(path("tiny_vendors"))
    found = []
    for repetition in range(1, 6):
        with run_context(RunContext(repetition=repetition)):
            found.append(lora.run(day, "ntm:admit=all").decisions)
    assert found[0] == lora.run(day, "ntm:admit=all").decisions
    assert len(set(map(str, found))) > 1
