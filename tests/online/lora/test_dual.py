"""Prices of the dual for runs: demand against trying every run, what is foreseen, and truthfulness in the bid."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.formulations.lora.check import check
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora import Instance, document, parse
from ratiobench.instances.lora.history import join
from ratiobench.online.lora import dual_prices
from ratiobench.online.lora.dual_prices import DualPrices, _ask, free_nodes, prefix, read_demand
from ratiobench.online.lora.run import run
from tests.online.lora.test_later import cluster
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances_of_kinds


def crowd(seed: int, tasks: int = 12) -> Instance:
    """Runs of one to three slots and gangs on two types of two nodes."""
    chance = random.Random(seed)
    made = []
    for arrival in sorted(chance.randint(1, 8) for _ in range(tasks)):
        wide = chance.random() < 0.3
        made.append(
            {"arrival": arrival, "deadline": chance.randint(arrival, 10), "work": chance.randint(1, 3) * (1 + wide),
             "bid": chance.randint(1, 60), "energy_wh": [chance.randint(0, 3), 1], "rate": [1, chance.choice((0, 1))]}
            | ({"run": "gang", "nodes": 2} if wide else {})
        )  # fmt: skip
    return cluster(*made, nodes=(2, 2), slots=10)


@pytest.mark.parametrize("seed", range(5))
def test_what_is_asked_for_is_what_the_best_runs_take(seed: int) -> None:
    """Against trying every run of every task at drawn prices."""
    instance = crowd(seed)
    public, tasks = instance.public(""), [instance.task(i) for i in range(instance.tasks)]
    demand = read_demand(tasks, public)
    draw = np.random.default_rng(seed)
    nu, weight = draw.uniform(0, 15, (2, instance.slots)), draw.uniform(0.5, 2, len(tasks))
    now = 2
    used = np.empty((2, instance.slots + 1))
    _ask(demand, weight, now, prefix(public.tariff), prefix(nu), used)
    expected = np.zeros((2, instance.slots))
    for task, w in zip(tasks, weight, strict=True):
        best: tuple[float, int, range] = (0.0, -1, range(0))
        for g in range(2):
            if not task.rate[g]:
                continue
            length = -(-task.work // (task.parts * int(task.rate[g])))
            for start in range(max(now, task.arrival - 1), task.deadline - length + 1):
                cost = sum(task.parts * (int(task.cost[g, t]) + nu[g, t]) for t in range(start, start + length))
                if task.bid - cost > best[0] + 1e-9:
                    best = (task.bid - cost, g, range(start, start + length))
        if best[1] >= 0:
            expected[best[1], list(best[2])] += w * task.parts
    assert used[:, :-1] == pytest.approx(expected)


def test_prices_are_where_there_is_too_little() -> None:
    """Four tasks want a slot of two nodes: the price is between the second bid and the third; else it is 0."""
    past = cluster(*({"bid": bid, "deadline": 1} for bid in (90, 80, 30, 20)), slots=4)
    prices = DualPrices(past.public(""), past, 20)
    assert 30 <= prices.nu[0, 0] <= 80
    assert prices.nu[0, 1:].max() < 5


@pytest.mark.parametrize("rounds", [0, 20])
def test_a_day_that_begins_full_is_priced_on_the_nodes_that_are_left(rounds: int) -> None:
    """Four tasks want a slot of which one node of two is held: the price is between the first bid and the second."""
    past = cluster(*({"bid": bid, "deadline": 1} for bid in (90, 80, 30, 20)), slots=4)
    public, nobody = past.public(""), read_demand([], past.public(""))
    whole = np.repeat(np.array([[float(kind.count)] for kind in public.node_types]), 4, axis=1)
    prices = DualPrices(public, past, rounds)
    before = prices.nu.copy()
    left = whole.copy()
    left[0, 0] = 1
    again = DualPrices(public, past, rounds)
    again.solve(0, left, read_demand([past.task(0)], public))
    assert 30 <= before[0, 0] <= 80
    if not rounds:
        assert 80 <= again.nu[0, 0] <= 90
        prices.solve(0, whole, nobody)
        assert (prices.nu == before).all()
        prices.solve(0, left, nobody)  # what tasks of today take is no job from before
        assert (prices.nu == before).all()
    else:
        assert again.nu[0, 0] > 0


def test_of_many_past_tasks_some_stand_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty alike: a third of them, each three times as heavy, have the same prices."""
    past = cluster(*({"arrival": t, "deadline": t, "bid": 30} for t in (1, 2, 3) for _ in range(10)), slots=4)
    whole = DualPrices(past.public(""), past, 5).nu
    monkeypatch.setattr(dual_prices, "MOST", 10)
    assert DualPrices(past.public(""), past, 5).nu == pytest.approx(whole)


def test_capacity_that_is_free_is_counted_by_what_is_scarcer() -> None:
    """A node with half its compute and a quarter of its memory is a quarter of a node."""
    data = document(cluster({}, nodes=(2,), slots=2))
    data["node_types"][0] |= {"compute": 4, "memory_mb": 8}
    public = parse(data).public("")
    free = free_nodes(np.array([[2, 4], [4, 4]]), np.array([[2, 8], [8, 0]]), public)
    assert free.tolist() == [[1.25, 1.0]]


FORESEEN = cluster(
    {"arrival": 1, "work": 4, "deadline": 4, "bid": 20}, {"arrival": 2, "work": 3, "deadline": 4, "bid": 90},
    nodes=(1,), slots=4,
)  # fmt: skip


def test_room_is_kept_for_what_earlier_days_had() -> None:
    """A long cheap task comes first, a dear one after it; earlier days had two dear ones, which is known or not."""
    dear = {"arrival": 2, "work": 3, "deadline": 4}
    before = cluster(dear | {"bid": 90}, dear | {"bid": 85}, nodes=(1,), slots=4)
    for name in ("dual-posted", "dual-queue"):
        assert run(FORESEEN, f"{name}:history=yesterday", prior=before).welfare == 90
        alone = run(FORESEEN, name)
        assert alone.welfare == 20
        assert "no history" in alone.label


def test_without_history_the_cheapest_run_is_taken() -> None:
    for seed in range(5):
        instance = crowd(seed)
        ours, theirs = run(instance, "dual-posted"), run(instance, "greedy")
        assert [each and each.cells for each in ours.decisions] == [each and each.cells for each in theirs.decisions]


@settings(max_examples=samples(40), deadline=None)
@given(tiny_instances_of_kinds(), st.sampled_from(["dual-posted", "dual-queue", "dual-queue:backfill=conservative"]))
def test_runs_are_valid_on_tasks_of_every_kind(instance: Instance, name: str) -> None:
    """The same tasks with other bids are the history; nobody pays more than the bid."""
    before = replace(instance, bid=instance.bid + 1, cache={})
    for text in (name, f"{name}{',' if ':' in name else ':'}history=yesterday"):
        found = run(instance, text, prior=before)
        assert found.valid, found.violations
        assert check(instance, found.decisions).valid
        for i, decision in enumerate(found.decisions):
            assert decision is None or decision.payment is None or decision.payment <= instance.bid[i]


@pytest.mark.parametrize("seed", range(4))
def test_no_other_bid_gains(seed: int) -> None:
    """Posted at arrival: with any other bid a task pays the same or is rejected; it is admitted above what it pays."""
    history = join([crowd(seed + 10), crowd(seed + 20)])
    instance = crowd(seed)
    truth = run(instance, "dual-posted:history=yesterday", prior=history)
    for i in range(instance.tasks):
        valuation = int(instance.bid[i])
        told = truth.decisions[i]
        gain = 0 if told is None or told.payment is None else valuation - told.payment
        assert gain >= 0
        for bid in {0, valuation // 2, valuation + 1, 2 * valuation, 500}:
            bids = instance.bid.copy()
            bids[i] = bid
            lie = run(replace(instance, bid=bids, cache={}), "dual-posted:history=yesterday", prior=history).decisions[
                i
            ]
            if lie is not None:
                assert lie.payment is not None
                assert valuation - lie.payment <= gain


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("dual-posted:rounds=1/2", "'1/2' is no whole number in 0..1000"),
        ("dual-queue:rounds=1001", "'1001' is no whole number in 0..1000"),
        ("dual-queue:scale=-1", "'-1' is negative"),
    ],
)
def test_options_that_do_not_do_are_refused(name: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        run(FORESEEN, name)


def test_history_of_another_cluster_is_refused() -> None:
    with pytest.raises(InputError, match="node_types"):
        run(FORESEEN, "dual-posted:history=yesterday", prior=cluster({}, nodes=(1, 1), slots=4))


def test_a_day_without_a_price_stays_so() -> None:
    """Of days with no task that has a run nothing is learned."""
    empty: dict[str, Any] = {"work": 9, "deadline": 2}
    past = cluster(empty, slots=4)
    prices = DualPrices(past.public(""), past, 5)
    assert not prices.nu.any()
    assert float(Fraction(0)) == prices.gains(0, read_demand([], past.public("")), 1.0).sum()
