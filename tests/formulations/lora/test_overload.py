"""Annealing with overloads: what comes out is feasible, no worse than what went in, and the same again."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.formulations.lora.bound.lagrangian import dual_bound
from ratiobench.formulations.lora.bound.pricing import Pricer, find_pool
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.heuristic import overload
from ratiobench.formulations.lora.heuristic.improve import heuristic
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.instances.lora import Instance
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.solution import Solution
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances


def anneal(
    instance: Instance, solution: Solution, runs: int, seed: int = 1, *, over: bool = False, enough: int = 2**62
) -> Solution:
    """From a solution, with prices of classes and without admissions of a linear programme."""
    p = find_pool(instance)
    rent = dual_bound(Pricer(p)).rent
    half = np.full(p.tasks, 0.5)
    return overload.search(
        instance, solution, rent[p.klass], rent, half, runs, seed, lambda: over, lambda w: w >= enough
    )


@settings(max_examples=samples(80))
@given(instance=tiny_instances(), seed=st.integers(0, 2**20))
def test_the_solution_is_feasible_and_at_most_the_optimum(instance: Instance, seed: int) -> None:
    nothing = (None,) * instance.tasks
    optimum, best = enumerate_optimum(instance)
    found = anneal(instance, nothing, 2, seed)
    report = check(instance, found)
    assert report.valid, report.violations
    assert report.welfare <= optimum
    assert found == anneal(instance, nothing, 2, seed)
    assert check(instance, anneal(instance, best, 2, seed)).welfare == optimum
    assert anneal(instance, best, 2, seed, over=True) == anneal(instance, best, 0, seed, over=True)
    assert anneal(instance, nothing, 2, seed, enough=0) == anneal(instance, nothing, 0, seed)


def test_annealings_that_have_not_reached_the_target_go_on() -> None:
    """The decision is taken once, after some annealings or when time says so."""
    for welfare, last in ((500, 3), (499, None)):
        enough = overload.stop_at_target(3, 500.0, lambda: False)
        assert [enough(welfare) for _ in range(6)] == [last is not None and run >= last for run in range(6)]
    times = iter([False, True])
    enough = overload.stop_at_target(3, 500.0, lambda: next(times))
    assert [enough(500) for _ in range(5)] == [False, True, True, True, True]
    enough = overload.stop_at_target(3, 500.0, lambda: True)
    assert not any(enough(welfare) for welfare in (499, 500, 501, 502, 503))


def test_it_finds_what_the_search_without_overloads_misses() -> None:
    """On a part in which half of the tasks have no place, with what the search finds as the start."""
    recipe = {
        "kind": "paper", "name": "part", "seed": ["overload", 0], "nodes": {"a100": 1, "a40": 1}, "tasks": 60,
        "arrivals": {"poisson": 50}, "start": 60, "slots": 28, "quiet": 8,
    }  # fmt: skip
    instance = generate(recipe)
    p = find_pool(instance)
    before = heuristic(instance, p, dual_bound(Pricer(p)))
    report = check(instance, anneal(instance, before.solution, 1))
    assert report.valid
    assert report.welfare > before.welfare
