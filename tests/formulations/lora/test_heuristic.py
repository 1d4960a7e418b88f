"""The search for solutions and prices: what comes out is feasible and worth what it says, whatever the machine."""

import json
import os
import subprocess
import sys
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.formulations.lora.bound.lagrangian import dual_bound
from ratiobench.formulations.lora.bound.pricing import Pricer, pool
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.heuristic.improve import double_steps, heuristic
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.formulations.lora.solve import solve
from ratiobench.instances.lora import Instance, write
from ratiobench.instances.lora.generate import generate
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances

ROOT = Path(__file__).resolve().parents[3]


@settings(max_examples=samples(60))
@given(instance=tiny_instances())
def test_the_solution_is_feasible_worth_what_is_said_and_between_the_ends(instance: Instance) -> None:
    """check() finds the heuristic's welfare; it is at most OPT by brute force, and the dual bound at least."""
    tasks = pool(instance)
    bound = dual_bound(Pricer(tasks))
    found = heuristic(instance, tasks, bound)
    report = check(instance, found.solution)
    assert report.valid, report.violations
    optimum, best = enumerate_optimum(instance)
    assert report.welfare == found.welfare <= optimum <= bound.upper
    again = heuristic(instance, tasks, bound, start=best)
    assert again.welfare == optimum


@settings(max_examples=samples(60))
@given(instance=tiny_instances())
def test_a_search_that_is_over_at_once_still_gives_a_bound_and_a_solution(instance: Instance) -> None:
    tasks = pool(instance)
    bound = dual_bound(Pricer(tasks), over=lambda: True)
    found = heuristic(instance, tasks, bound, over=lambda: True)
    report = check(instance, found.solution)
    assert report.valid
    assert report.welfare == found.welfare <= enumerate_optimum(instance)[0] <= bound.upper
    assert found.blocks == 0


@given(total=st.integers(0, 1000))
def test_annealing_runs_double_and_add_up(total: int) -> None:
    """1, 1, 2, 4, ... units, the last one cut."""
    parts = list(double_steps(total))
    assert sum(done for done, _ in parts) == total
    assert [planned for _, planned in parts] == [1, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512][: len(parts)]
    assert all(done == planned for done, planned in parts[:-1])
    assert all(0 < done <= planned for done, planned in parts)


@settings(max_examples=samples(30))
@given(instance=tiny_instances(), effort=st.integers(1, 5))
def test_more_effort_never_widens_the_interval(instance: Instance, effort: int) -> None:
    """Neither end gets worse: what more effort does begins with what less of it does."""
    less, more = (solve(instance, "auto", "none", each) for each in (effort, effort + 1))
    assert less.lower <= more.lower <= more.upper <= less.upper


def test_more_effort_never_widens_the_interval_of_a_contended_morning() -> None:
    morning = {"kind": "paper", "nodes": 2, "arrivals": {"trace": "pai"}, "tasks": 30, "start": 60, "slots": 16}
    instance = generate(morning | {"quiet": 4, "seed": ["effort"]})
    ends = [
        (report.lower, -report.upper) for report in (solve(instance, "auto", "none", each) for each in (1, 2, 3, 4))
    ]
    assert ends == [tuple(map(max, zip(*ends[: j + 1], strict=True))) for j in range(4)]
    assert ends[0][0] < -ends[0][1]


def test_threads_do_not_change_the_interval(tmp_path: Path) -> None:
    """An instance large enough for the parallel kernel gives the same ends with one thread and with two."""
    day = {"kind": "paper", "nodes": 12, "arrivals": {"trace": "pai"}, "tasks": 1100, "colocation": [4], "seed": ["t"]}
    write(generate(day), tmp_path / "day.json")
    ends = []
    for threads in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-m", "ratiobench", "opt", str(tmp_path / "day.json"), "--backend", "none", "--json"],
            cwd=ROOT,
            env=os.environ | {"NUMBA_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        )
        report = json.loads(done.stdout)
        ends.append((report["lower"], report["upper"]))
    assert ends[0] == ends[1]
    assert 0 < ends[0][0] < ends[0][1] < ends[0][0] * 1.01
