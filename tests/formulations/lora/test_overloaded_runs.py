"""Nodes for the runs of a pool by annealing with overloads: valid, at most the optimum, and better than packing."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from ratiobench.formulations.lora import run_search
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.overloaded_runs import give_nodes
from ratiobench.formulations.lora.run_search import Kept, Order
from ratiobench.formulations.lora.runs import RunPrices, Runs
from ratiobench.formulations.lora.solve import solve
from ratiobench.instances.lora import Instance
from tests.formulations.lora.test_large_runs import draw_gangs, prepare
from tests.online.lora.test_later import cluster
from tests.support.samples import of_sample, samples


def anneal_pool(r: Runs, o: Order, blocks: int) -> Kept:
    search = run_search.Search(r, o, run_search.keep(run_search.empty_schedule(r, o)), lambda: False, 2**62, 10**9)
    return search._anneal(run_search.keep(run_search.empty_schedule(r, o, True)), blocks, 0.1, True)


def give(r: Runs, o: Order, pooled: Kept, prices: RunPrices, blocks: int, number: int = 0) -> Kept:
    """The schedule on nodes, with the usual temperatures."""
    return give_nodes(r, o, pooled, prices, float(r.bid.max()), blocks, number, lambda: False)


def everything(r: Runs, o: Order) -> Kept:
    """Every task at its first start, however many nodes that takes."""
    pooled = run_search.keep(run_search.empty_schedule(r, o, True))
    pooled.entry[:], pooled.start[:], pooled.net[:] = r.entry_start[:-1], r.low[r.entry_start[:-1]], r.bid
    pooled.welfare[0] = pooled.net.sum()
    return pooled


def draw_tiny(seed: int) -> Instance:
    """Up to seven rigid tasks and gangs, of one and of more kinds of shares, on two and one nodes."""
    chance = random.Random(seed)
    made: list[dict[str, Any]] = []
    for _ in range(chance.randint(2, 7)):
        nodes, length, arrival = chance.choice((1, 1, 2)), chance.randint(1, 3), chance.randint(1, 4)
        made.append(
            {"arrival": arrival, "deadline": min(6, arrival + length + chance.randint(-1, 2)), "work": nodes * length,
             "bid": chance.randint(1, 50), **({"run": "gang", "nodes": nodes} if nodes > 1 else {"run": "rigid"})}
        )  # fmt: skip
    return cluster(*sorted(made, key=lambda task: task["arrival"]), nodes=(2, 1), slots=6)


def test_it_is_valid_and_at_most_the_optimum() -> None:
    """From all tasks at once, which overloads nearly every node; the optimum by enumeration."""
    optimal = 0
    for seed in range(samples(40)):
        instance = draw_tiny(seed)
        found, order, prices = prepare(instance)
        if not len(found.task):
            continue
        optimum = solve(instance, formulation="enumerate", backend="none").upper
        for blocks in (0, 300):
            kept = give(found, order, everything(found, order), prices, blocks)
            verdict = check(instance, run_search.solution_of_runs(instance, found, kept))
            assert verdict.valid, verdict.violations
            assert verdict.welfare == kept.welfare[0] <= optimum
        optimal += int(kept.welfare[0]) == optimum
    assert optimal >= of_sample(30, 40)


def test_it_places_large_runs_that_packing_leaves_out() -> None:
    """From pools of five days of large gangs: better than packing in the mean, and on at least three of them."""
    ahead, given, packed = 0, 0, 0
    for seed in range(5):
        instance = draw_gangs(seed)
        found, order, prices = prepare(instance)
        pooled = anneal_pool(found, order, 5_000)
        one, other = give(found, order, pooled, prices, 20_000), run_search.pack(found, order, pooled)
        assert check(instance, run_search.solution_of_runs(instance, found, one)).welfare == one.welfare[0]
        ahead += one.welfare[0] > other.welfare[0]
        given, packed = given + int(one.welfare[0]), packed + int(other.welfare[0])
    assert ahead >= 3
    assert given > packed


def test_jobs_from_before_and_the_end_of_the_time_are_kept_to() -> None:
    """Where nodes are held for half of the day, and where no block is done."""
    found, _, prices = prepare(draw_gangs(2))
    held = np.zeros((2, 9, 60), np.int64)
    held[:, :6, :30] = 1
    full = found._replace(held=held)
    order = run_search.order_tasks(full, prices)
    pooled = everything(full, order)
    for over in (bool, lambda: True):
        kept = give_nodes(full, order, pooled, prices, 1.0, 2_000, 0, over)
        z = run_search.restore(full, order, kept, False)
        assert z.compute.min() >= 0
        assert z.memory.min() >= 0


def test_another_number_draws_other_blocks() -> None:
    found, order, prices = prepare(draw_gangs(3))
    pooled = anneal_pool(found, order, 2_000)
    first, again, other = (give(found, order, pooled, prices, 20_000, number) for number in (0, 0, 1))
    assert np.array_equal(first.start, again.start)
    assert first.welfare == again.welfare
    assert not (np.array_equal(first.start, other.start) and np.array_equal(first.nodes, other.nodes))
