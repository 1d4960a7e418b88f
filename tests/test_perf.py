"""`tools/perf.py` prints its tables. No test reads a clock."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
