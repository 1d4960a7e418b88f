"""The search for solutions and prices: what comes out is feasible and worth what it says, whatever the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.formulations.lora.bound.lagrangian import dual_bound
from ratiobench.formulations.lora.bound.patterns import node_patterns
from ratiobench.formulations.lora.bound.pricing import Pricer, pool
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.heuristic.improve import double_steps, follow_admissions, heuristic, polish
from ratiobench.formulations.lora.heuristic.insertion import new_workspace
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.formulations.lora.solve import solve
from ratiobench.instances.lora import Instance, write
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.strategies import tiny_instances

ROOT = Path(__file__).resolve().parents[3]


@settings(max_examples=60)
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


@settings(max_examples=60)
@given(instance=tiny_instances())
def test_a_search_that_is_over_at_once_still_gives_a_bound_and_a_solution(instance: Instance) -> None:
    """The clock only ends the search early."""
    tasks = pool(instance)
    bound = dual_bound(Pricer(tasks), over=lambda: True)
    found = heuristic(instance, tasks, bound, over=lambda: True)
    report = check(instance, found.solution)
    assert report.valid
    assert report.welfare == found.welfare <= enumerate_optimum(instance)[0] <= bound.upper
    assert found.blocks == 0


@settings(max_examples=40)
@given(instance=tiny_instances(), data=st.data())
def test_searches_that_follow_a_programme_are_feasible_and_find_its_optimum(
    instance: Instance, data: st.DataObject
) -> None:
    """With the admissions of OPT, whatever the prices of single cells; with any other ones what is said is true."""
    tasks = pool(instance)
    if tasks.tasks == 0:
        return
    optimum, best = enumerate_optimum(instance)
    bound = dual_bound(Pricer(tasks))
    workspace = new_workspace(tasks, node_patterns(tasks), bound.rent, 1)
    shape = len(tasks.kind), instance.slots
    price = np.array(data.draw(st.lists(st.integers(0, 9), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1])))
    workspace = workspace._replace(rent=price.reshape(shape).astype(float), row=np.arange(shape[0]))
    those = np.array([best[i] is not None for i in tasks.task.tolist()], dtype=float)
    assert follow_admissions(instance, tasks, workspace, those, 1.0, 1).welfare == optimum
    others = np.array(data.draw(st.lists(st.floats(0, 1), min_size=tasks.tasks, max_size=tasks.tasks)))
    found = follow_admissions(instance, tasks, workspace, others, 2.0, 1)
    report = check(instance, found.solution)
    assert report.valid, report.violations
    assert report.welfare == found.welfare <= optimum
    assert polish(instance, tasks, workspace, best, 1).welfare == optimum


def test_a_search_follows_a_programme_to_a_task_that_it_would_not_reach_alone() -> None:
    """What the linear programme of single cells admits of this morning leads to a solution that is 1 % better."""
    day = {"kind": "paper", "arrivals": {"trace": "philly", "day": "2017-10-11"}, "start": 60, "slots": 28, "quiet": 8}
    instance = generate(
        day | {"nodes": {"a100": 1, "a40": 1}, "tasks": 60, "seed": ["dev", "philly", 60, 0, 28, "profiles"]}
    )
    tasks = pool(instance)
    bound = dual_bound(Pricer(tasks))
    alone = heuristic(instance, tasks, bound)
    workspace = new_workspace(tasks, node_patterns(tasks), bound.rent, 1)
    admitted = np.zeros(tasks.tasks)
    by_programme = [0, 1, 2, 3, 4, 5, 7, 8, 10, 12, 14, 19, 20, 22, 26, 27, 29, 33, 40, 41, 49, 52, 53, 54, 56]
    admitted[np.searchsorted(tasks.task, by_programme)] = 1.0
    found = follow_admissions(instance, tasks, workspace, admitted, 1.0, 1)
    assert check(instance, found.solution).welfare == found.welfare
    assert found.welfare > 1.01 * alone.welfare


@given(total=st.integers(0, 1000))
def test_annealing_runs_double_and_add_up(total: int) -> None:
    """1, 1, 2, 4, ... units, the last one cut."""
    parts = list(double_steps(total))
    assert sum(done for done, _ in parts) == total
    assert [planned for _, planned in parts] == [1, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512][: len(parts)]
    assert all(done == planned for done, planned in parts[:-1])
    assert all(0 < done <= planned for done, planned in parts)


@settings(max_examples=30)
@given(instance=tiny_instances(), effort=st.integers(1, 5))
def test_more_effort_never_widens_the_interval(instance: Instance, effort: int) -> None:
    """Neither end gets worse: what more effort does begins with what less of it does."""
    less, more = (solve(instance, "auto", "none", each) for each in (effort, effort + 1))
    assert less.lower <= more.lower <= more.upper <= less.upper


def test_more_effort_never_widens_the_interval_of_a_contended_morning() -> None:
    """Where neither end is OPT, too."""
    morning = {"kind": "paper", "nodes": 2, "arrivals": {"trace": "pai"}, "tasks": 40, "start": 60, "slots": 24}
    instance = generate(morning | {"quiet": 6, "seed": ["effort"]})
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
