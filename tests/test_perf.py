"""`tools/perf.py` prints its tables. No test reads a clock."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools import perf

PERF = Path(__file__).parents[1] / "tools" / "perf.py"


def lines_of(*arguments: str) -> list[str]:
    done = subprocess.run([sys.executable, str(PERF), *arguments], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def test_models_compares_every_formulation_of_p_with_every_solver() -> None:
    """A row per contender, and one for all instances; on a tiny instance all of them prove the optimum."""
    lines = lines_of("models", "paper:tasks=3,nodes=1,start=60,slots=6,arrivals.trace=philly")
    rows = [line.split(" | ") for line in lines if " / highs " in line or line.startswith(("| opt", "| certificate"))]
    assert len(rows) == 2 * 5
    assert {row[1] for row in rows[5:]} == {"1 of 1"}
    assert len({tuple(row[1:3]) for row in rows[:5]}) == 1


def test_decisions_runs_the_algorithms_of_this_name_in_every_family() -> None:
    lines = lines_of("decisions", "greedy", "--quick")
    assert len([line for line in lines if line.startswith("| greedy | ")]) == 3


def test_startup_compares_checkouts_stage_by_stage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pair of columns a checkout, and the CPU seconds of the last one as a share of those of the first."""
    spent = iter([{"install": (4.0, 5.0), "suite tiny": (8.0, 6.0)}, {"install": (1.0, 2.0), "suite tiny": (4.0, 3.0)}])
    monkeypatch.setattr(perf, "measure_checkout", lambda checkout, suite: next(spent))
    perf.measure_startup([Path("old"), Path("new")], "tiny")
    assert capsys.readouterr().out.splitlines() == [
        "| stage | old, CPU s | old, clock s | new, CPU s | new, clock s | CPU s, last / first |",
        "| --- | --- | --- | --- | --- | --- |",
        "| install | 4.000 | 5.000 | 1.000 | 2.000 | 0.250 |",
        "| suite tiny | 8.000 | 6.000 | 4.000 | 3.000 | 0.500 |",
        "",
    ]
