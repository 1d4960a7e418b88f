"""The baselines against their literal twins: EFT, NTM, greedy, the Eris-style auction, Titan's batches."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from formulations.backends import BackendResult
from formulations.report import Termination
from instances.lora import Instance, content_hash, document, parse
from instances.lora.format import FORMAT
from instances.lora.generate import generate
from instances.lora.model import Task
from instances.lora.named import named
from online.lora import titan
from online.lora.constants import eris_high, eris_low
from online.lora.earliest import drawn_vendor, fastest_vendor
from online.lora.registry import run
from online.outcome import OnlineRun
from tests.literal import (
    Answer,
    Load,
    best_batch,
    eris_bounds,
    figures,
    place,
    run_earliest_finish,
    run_eris,
    run_greedy,
)
from tests.strategies import tiny_instances


def _answers(instance: Instance, algorithm: str) -> list[Answer | None]:
    result = run(instance, algorithm)
    assert result.valid, result.violations
    return [None if decision is None else tuple(decision) for decision in result.decisions]


@pytest.mark.parametrize("admit", ["profitable", "all"])
@pytest.mark.parametrize("name", ["eft", "ntm"])
@settings(max_examples=150)
@given(instance=tiny_instances(max_tasks=5))
def test_earliest_finish_is_its_literal_twin(name: str, admit: str, instance: Instance) -> None:
    """Vendor, fastest node with room per slot, lowest index on ties, rejection when the work is not covered."""
    wanted = run_earliest_finish(instance, alone=name == "ntm", profitable=admit == "profitable")
    assert _answers(instance, f"{name}:admit={admit}") == wanted


@settings(max_examples=150)
@given(instance=tiny_instances(max_tasks=5))
def test_greedy_is_its_literal_twin(instance: Instance) -> None:
    """Cheapest schedule with room, charged at cost, admitted when the bid is above it."""
    assert _answers(instance, "greedy") == run_greedy(instance)


@settings(max_examples=150)
@given(instance=tiny_instances(max_tasks=5))
def test_eris_is_its_literal_twin(instance: Instance) -> None:
    """Prices from 80-digit powers, rounded to 2^-20; charge q + sum e + price, rounded up."""
    assert (eris_low(instance), eris_high(instance)) == eris_bounds(instance)
    assert _answers(instance, "eris") == run_eris(instance)


def test_eris_in_doubles_agrees_where_integers_would_overflow() -> None:
    """Enormous bids on tiny tasks switch to doubles; the same instance in small figures decides alike."""
    small = document(named("tiny_contention"))
    large = document(named("tiny_contention"))
    factor = 2**32
    for task in large["tasks"]:
        task["bid"] *= factor
        task["vendors"] = [vendor | {"price": vendor["price"] * factor} for vendor in task["vendors"]]
    for node in large["node_types"]:
        node["tariff"] = [price * factor for price in node["tariff"]]
    one, other = _answers(parse(small), "eris"), _answers(parse(large), "eris")
    assert [answer and answer[:2] for answer in one] == [answer and answer[:2] for answer in other]
    for a, b in zip(one, other, strict=True):
        if a is not None and b is not None and a[2] is not None and b[2] is not None:
            assert abs(Fraction(b[2], factor) - a[2]) <= 1


def _single(tasks: list[dict[str, Any]], **node: int) -> Instance:
    """One node, one slot; tasks of one sample and one MB at no cost unless they say otherwise."""
    plain = {"arrival": 1, "deadline": 1, "memory_mb": 1, "work": 1, "rate": [1], "energy_wh": [0], "vendors": []}
    return parse(
        {
            "format": "ratiobench/lora/1",
            "name": "single",
            "slots": 1,
            "slot_seconds": 1,
            "base_memory_mb": 3,
            "node_types": [{"name": "a", "count": 1, "compute": 100, "memory_mb": 12, "tariff": [0]} | node],
            "tasks": [plain | task for task in tasks],
        }
    )


def test_eris_loads_a_base_model_per_task() -> None:
    """14 MB, tasks of 1 MB and a base of 3 MB each: three fit, where sharing one base model would fit eleven."""
    instance = _single([{"bid": 10 * 100**j} for j in range(5)], memory_mb=14)
    assert run(instance, "eris").admitted == 3
    assert run(instance, "greedy").admitted == 5
    assert _answers(instance, "eris") == run_eris(instance)


def test_titan_counts_the_vendor_price() -> None:
    """A bid of 5 does not pay a vendor of 6; of two tasks for one place the one that is worth more after its vendor."""
    dear, cheap = [{"price": 6, "delay": 0}], [{"price": 1, "delay": 0}]
    assert run(_single([{"bid": 5, "vendors": dear}]), "titan").admitted == 0
    instance = _single([{"bid": 9, "vendors": dear}, {"bid": 8, "vendors": cheap}], compute=1)
    assert [decision is not None for decision in run(instance, "titan").decisions] == [False, True]


@pytest.mark.parametrize("algorithm", ["pdftsp", "pdftsp:search=printed", "greedy", "eris", "eft"])
def test_of_two_vendors_alike_the_first_is_taken(algorithm: str) -> None:
    """Strictly better wins, in list order."""
    alike = [{"price": 1, "delay": 0}] * 3
    # The first bid of 1 makes the Eris-style price low enough for the second.
    instance = _single([{"bid": 1, "vendors": alike}, {"bid": 5000, "vendors": alike}])
    decision = run(instance, algorithm).decisions[1]
    assert decision is not None
    assert decision.vendor == 0


def test_the_fastest_vendor_breaks_ties_by_price_then_index() -> None:
    """Delay 0 at price 3 before delay 0 at price 5; of two alike the first."""
    data = document(named("tiny_vendors"))
    data["tasks"] = data["tasks"][:1]
    offers = [(5, 0), (3, 0), (3, 0), (1, 1)]
    data["tasks"][0]["vendors"] = [{"price": price, "delay": delay} for price, delay in offers]
    assert fastest_vendor(parse(data).task(0), parse(data).public("")).vendor == 1


def test_vendors_are_drawn_by_seed_and_task_alone() -> None:
    """Uniform over the vendors: each of three about a third of 600 draws; another seed draws otherwise."""
    data = document(named("tiny_vendors"))
    task = dict(data["tasks"][0], vendors=[{"price": n, "delay": 0} for n in range(3)], arrival=1)
    instance = parse(data | {"tasks": [task] * 600})
    one, two = ([drawn_vendor(instance.task(i), instance.public(seed)).vendor for i in range(600)] for seed in "ab")
    assert one != two
    assert one == [drawn_vendor(instance.task(i), instance.public("a")).vendor for i in range(600)]
    assert min(one.count(n) for n in range(3)) > 150


def _batches(instance: Instance) -> Iterator[list[Task]]:
    tasks = [instance.task(i) for i in range(instance.tasks)]
    for slot in sorted({task.arrival for task in tasks}):
        yield [task for task in tasks if task.arrival == slot]


def _compare_batches(instance: Instance, result: OnlineRun) -> None:
    """Every batch's welfare is the best that its residual capacity allows."""
    public = instance.public(content_hash(instance))
    load: Load = {}
    for tasks in _batches(instance):
        drawn = [task.options.index(drawn_vendor(task, public)) for task in tasks]
        wanted = best_batch(tasks, drawn, public, load)
        got = 0
        for task, option in zip(tasks, drawn, strict=True):
            decision = result.decisions[task.index]
            if decision is not None:
                assert decision.vendor == task.options[option].vendor
                got += figures(task, public, option, decision.cells)[2]
                place(load, task, public, decision.cells)
        assert got == wanted


@settings(max_examples=100)
@given(instance=tiny_instances(max_nodes=2, max_slots=4))
def test_titan_decides_every_batch_best(instance: Instance) -> None:
    """Against enumeration over the batch, with the capacity that earlier batches left and the drawn vendors."""
    result = run(instance, "titan")
    assert result.valid, result.violations
    assert (result.label, result.counts["pooled"], result.counts["at_limit"]) == ("titan", 0, 0)
    assert result.counts["batches"] == len(list(_batches(instance)))
    assert {decision.payment for decision in result.decisions if decision is not None} <= {None}
    _compare_batches(instance, result)


def _one_node_each(instance: Instance) -> Instance:
    data: dict[str, Any] = document(instance)
    for node in data["node_types"]:
        node["count"] = 1
    return parse(data)


@settings(max_examples=60)
@given(instance=tiny_instances(max_nodes=2, max_slots=4))
def test_pooling_over_single_nodes_changes_nothing(instance: Instance) -> None:
    """Where every type has one node, pooled variables are node variables: the batch optimum again, but labelled."""
    instance = _one_node_each(instance)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(titan, "NODE_LEVEL_LIMIT", 0)
        result = run(instance, "titan")
    assert result.valid, result.violations
    assert (result.label == "titan:pooled") == (result.counts["pooled"] > 0)
    assert result.counts["unpacked"] == 0
    _compare_batches(instance, result)


@settings(max_examples=60)
@given(instance=tiny_instances(max_tasks=5))
def test_pooled_batches_are_packed_onto_nodes(instance: Instance) -> None:
    """With several nodes per type the packing may fail, which is a rejection that is counted; all rules hold."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(titan, "NODE_LEVEL_LIMIT", 0)
        result = run(instance, "titan")
    assert result.valid, result.violations
    assert result.welfare >= 0


def test_what_does_not_pack_is_rejected_and_counted() -> None:
    """Two nodes of 3 samples, three tasks of 2: 6 samples in the pool, but only two tasks fit; lowest bid out."""
    data = {
        "format": "ratiobench/lora/1", "name": "pack", "slots": 1, "slot_seconds": 1, "base_memory_mb": 0,
        "node_types": [{"name": "a", "count": 2, "compute": 3, "memory_mb": 9, "tariff": [0]}],
        "tasks": [
            {"arrival": 1, "deadline": 1, "memory_mb": 1, "work": 2, "bid": bid, "rate": [2], "energy_wh": [0],
             "vendors": []}
            for bid in (5, 4, 6)
        ],
    }  # fmt: skip
    instance = parse(data)
    assert [decision is not None for decision in run(instance, "titan").decisions] == [True, False, True]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(titan, "NODE_LEVEL_LIMIT", 0)
        result = run(instance, "titan")
    assert result.label == "titan:pooled"
    assert [decision and decision.cells for decision in result.decisions] == [((1, 1),), None, ((0, 1),)]
    assert result.counts == {"batches": 1, "pooled": 1, "at_limit": 0, "without_incumbent": 0, "unpacked": 1}


def test_a_batch_above_the_limit_is_pooled_by_itself() -> None:
    """5,000 node-level binaries are solved as they are, one more is pooled: 50 nodes x 10 slots x 10 or 11 tasks."""

    def batch(tasks: int) -> OnlineRun:
        task = {
            "arrival": 1, "deadline": 10, "memory_mb": 1, "work": 3, "bid": 5, "rate": [3], "energy_wh": [1],
            "vendors": [],
        }  # fmt: skip
        node = {"name": "a", "count": 50, "compute": 9, "memory_mb": 9, "tariff": [1] * 10}
        return run(
            parse(
                {"format": "ratiobench/lora/1", "name": "big", "slots": 10, "slot_seconds": 1, "base_memory_mb": 0,
                 "node_types": [node], "tasks": [task] * tasks}
            ),
            "titan",
        )  # fmt: skip

    assert (batch(10).label, batch(10).welfare) == ("titan", 40)
    assert (batch(11).label, batch(11).welfare) == ("titan:pooled", 44)


@pytest.mark.parametrize("incumbent", [True, False])
def test_a_batch_at_its_limit_takes_the_incumbent_or_nothing(incumbent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the solver had when it stopped; both are counted."""
    instance = named("thm5_lead_L4")

    def stopped(backend: str, model: Any, limits: Any, start: Any = None) -> BackendResult:
        values = np.zeros(len(model.columns))
        values[0] = 1.0  # u of the first task of the batch, and the cells that it needs
        values[model.columns.index("x_0")] = 1.0
        return BackendResult(Termination.LIMIT, values if incumbent else None)

    monkeypatch.setattr(titan, "solve", stopped)
    result = run(instance, "titan")
    assert result.valid, result.violations
    assert result.counts["at_limit"] == result.counts["batches"]
    assert result.counts["without_incumbent"] == (0 if incumbent else result.counts["batches"])
    assert result.admitted == (1 if incumbent else 0)


def test_a_solver_that_fails_is_a_failure_and_no_rejection(monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash must not look like an algorithm that earns nothing."""
    monkeypatch.setattr(titan, "solve", lambda *_: BackendResult(Termination.CRASH, message="gone"))
    with pytest.raises(RuntimeError, match="titan: crash: gone"):
        run(named("thm5_lead_L4"), "titan")


def test_a_real_limit_is_reached_and_counted() -> None:
    """One unit of work on a crowded slot: every batch ends by itself or at the limit, and the run is valid."""
    instance = generate(
        {"kind": "paper", "name": "crowd", "seed": ["crowd"], "arrivals": {"trace": "pai"}, "tasks": 40, "start": 60,
         "slots": 24, "quiet": 4, "nodes": {"a100": 1, "a40": 1}}
    )  # fmt: skip
    result = run(instance, "titan")
    assert result.valid
    assert 0 <= result.counts["without_incumbent"] <= result.counts["at_limit"] <= result.counts["batches"]
    assert run(instance, "titan").decisions == result.decisions


def test_eris_rejects_a_bid_that_equals_its_price() -> None:
    """The task that defines L faces a price of exactly its bid at load 0, whichever way L rounds."""
    for bid in (10, 11):
        task = {"arrival": 1, "deadline": 1, "memory_mb": 1, "work": 1, "bid": bid, "rate": [1], "energy_wh": [0]}
        document = {
            "format": FORMAT,
            "name": "tie",
            "slots": 1,
            "slot_seconds": 600,
            "base_memory_mb": 1,
            "node_types": [{"name": "n", "count": 1, "compute": 9, "memory_mb": 9, "tariff": [0]}],
            "tasks": [task | {"vendors": []}],
        }
        assert run(parse(document), "eris").admitted == 0
    assert run(named("thm5_T5_3tasks"), "eris").welfare == 300
