"""The program of the largest tasks: where it is made, and what it gives on days of a few large gangs."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from ratiobench.formulations import backends
from ratiobench.formulations.backends import Limits
from ratiobench.formulations.lora import large_runs, run_search, runs
from ratiobench.formulations.lora import solve as solves
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.solve import solve
from ratiobench.instances.lora import Instance
from tests.online.lora.test_later import cluster
from tests.support.samples import samples


def draw_gangs(seed: int, large: int = 14, small: int = 330) -> Instance:
    """Large gangs, of which few fit, and small jobs between them, on six and three nodes."""
    chance = random.Random(seed)
    made: list[dict[str, Any]] = []
    for _ in range(large):
        nodes, length = chance.choice((2, 3, 4)), chance.randint(8, 20)
        arrival = chance.randint(1, 30)
        made.append(
            {"arrival": arrival, "deadline": min(60, arrival + 2 * length), "work": nodes * length, "run": "gang",
             "nodes": nodes, "bid": nodes * length * chance.randint(100, 300)}
        )  # fmt: skip
    for _ in range(small):
        arrival, length = chance.randint(1, 50), chance.randint(1, 3)
        made.append(
            {"arrival": arrival, "deadline": min(60, arrival + 3 * length), "work": length,
             "bid": length * chance.randint(5, 30)}
        )  # fmt: skip
    return cluster(*sorted(made, key=lambda task: task["arrival"]), nodes=(6, 3), slots=60)


def prepare(instance: Instance) -> tuple[runs.Runs, run_search.Order, runs.RunPrices]:
    found = runs.find_runs(instance)
    prices = runs.find_prices(found, 0.0, 400, lambda: False)
    return found, run_search.order_tasks(found, prices), prices


def test_its_schedule_is_valid_and_better_than_a_short_search() -> None:
    """By the checker; the search has 1,000 blocks, and is ahead on no more than one of six instances."""
    ahead = 0
    count = samples(6, 2)
    for seed in range(count):
        instance = draw_gangs(seed)
        found, order, prices = prepare(instance)
        assert large_runs.has_large_gangs(found)
        packed = large_runs.find_schedule(found, order, prices, Limits(work=30, gap=0.001), lambda: False)
        assert packed is not None
        verdict = check(instance, run_search.solution_of_runs(instance, found, packed))
        assert verdict.valid
        assert verdict.welfare == packed.welfare[0] <= prices.value
        lists = run_search.list_schedule(found, order, [np.argsort(-order.rank[0], kind="stable")], [0.0, 1.0])
        search = run_search.Search(found, order, lists, lambda: False, 2**62, 1_000)
        search.run()
        ahead += int(search.best.welfare[0]) > int(packed.welfare[0])
    assert ahead <= count // 6


def test_where_no_program_is_made() -> None:
    """Few tasks, very many, or few gangs among the largest."""
    assert not large_runs.has_large_gangs(runs.find_runs(draw_gangs(0, small=100)))
    assert not large_runs.has_large_gangs(runs.find_runs(draw_gangs(0, large=4)))
    found = runs.find_runs(draw_gangs(0))
    assert large_runs.has_large_gangs(found)
    assert not large_runs.has_large_gangs(found._replace(task=np.zeros(2_001, np.int64)))


def test_opt_asks_for_it_unless_no_solver_may_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = backends.solve

    def watched(backend: str, *arguments: Any, **options: Any) -> backends.BackendResult:
        asked.append(backend)
        return real(backend, *arguments, **options)

    monkeypatch.setattr(backends, "solve", watched)
    monkeypatch.setattr(run_search, "BLOCKS_PER_TASK", 2)
    monkeypatch.setattr(solves, "_branch_on_runs", lambda *_: None)  # trees have tests of their own
    instance = draw_gangs(1)
    with_program = solve(instance)
    assert asked == ["highs"]
    alone = solve(instance, backend="none")
    assert asked == ["highs"]
    assert alone.lower <= with_program.lower <= with_program.upper <= alone.upper
    monkeypatch.setattr(
        backends, "solve", lambda *_, **__: backends.BackendResult(backends.Termination.ERROR, message="none")
    )
    assert solve(instance).lower == alone.lower


def test_jobs_from_before_are_not_in_its_way() -> None:
    found, order, prices = prepare(draw_gangs(2))
    held = np.zeros((2, 9, 60), np.int64)
    held[:, :6, :30] = 1
    full = found._replace(held=held)
    order = run_search.order_tasks(full, prices)
    packed = large_runs.find_schedule(full, order, prices, Limits(work=30, gap=0.001), lambda: False)
    assert packed is not None
    z = run_search.restore(full, order, packed, False)
    assert z.compute.min() >= 0
