"""Algorithms that answer at arrival, on tasks of all kinds: what they choose is the best by their own rule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ratiobench.bench.lora.counterexamples.tiny import Job, Kind, TinyInstance
from ratiobench.bench.lora.counterexamples.tiny import instance as sketch_instance
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.models.enumerate import Schedule, list_schedules
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora import Instance, content_hash, document, parse
from ratiobench.instances.lora.model import Task
from ratiobench.instances.lora.schedules import KINDS, ScheduleKind
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.one_node import RUNS
from ratiobench.online.lora.registry import entries
from ratiobench.online.lora.run import run
from ratiobench.online.lora.runs import find_cheapest, find_largest, first_slot
from ratiobench.online.lora.simulator import CapacityState
from ratiobench.online.lora.traces import GreedyTrace, LinearTrace
from ratiobench.online.referee.simulator import RuleViolation
from tests.support.examples import Examples, on_examples, optimum_of
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances_of_kinds

NAMES = ("greedy", "eft", "ntm", "posted", "minimal-edit", "bbar-rule", "capped", "pdftsp")
VARIANTS = (
    *NAMES,
    *(f"{name}:arith=float" for name in NAMES[3:]),
    "eft:admit=all",
    "pdftsp:updates=admitted",
    "pricelist",
)


@st.composite
def instances(draw: st.DrawFn, limits: bool = False) -> Instance:
    """Tasks of all kinds, none of which may have every schedule of P, or some of which may; without limits or with."""
    data = document(draw(tiny_instances_of_kinds()))
    for task in data["tasks"]:
        if not limits:
            task.pop("limit", None)
    data["format"] = "ratiobench/lora/2"
    if draw(st.booleans()):
        for task in data["tasks"]:
            if task.get("run", "any") == "any":
                task["run"] = "rigid"
    return parse(data)


def test_which_algorithms_take_rigid_tasks_and_gangs() -> None:
    assert [name for name, entry in entries().items() if RUNS in entry.forms] == sorted(
        (*NAMES, "dual-plan", "dual-posted", "dual-queue", "pricelist", "queue", "quota")
    )


LIMITED = Examples(instances(limits=True), samples(80), content_hash)


@pytest.mark.parametrize("variant", VARIANTS)
def test_whatever_is_drawn_the_run_is_valid_and_below_the_optimum(variant: str) -> None:
    """By the referee, the verifier and brute force; a trace only that theorems about all kinds read."""

    def holds(instance: Instance) -> None:
        result = run(instance, variant)
        assert result.valid, result.violations
        report = check(instance, result.decisions)
        assert report.valid
        assert report.welfare == result.welfare <= optimum_of(instance)
        if instance.run.any():
            shown = ((instance.limit > 0) & (instance.limit != instance.work)).any()
            assert result.trace is None or (isinstance(result.trace, LinearTrace | GreedyTrace) and not shown)

    LIMITED.check(holds)


def schedules(instance: Instance, task: Task) -> Iterator[tuple[Schedule, list[tuple[int, int]]]]:
    """Every schedule of a task on an empty cluster, with its list of (slot, node)."""
    kind = instance.public("").type_of_node
    types = instance.node_types
    for each in list_schedules(instance, task):
        nodes = {kind[k] for k, _ in each.decision.cells}
        if all(
            task.rate[g] <= types[g].compute and task.memory_mb <= types[g].memory_mb - instance.base_memory_mb
            for g in nodes
        ):
            yield each, sorted((t, k) for k, t in each.decision.cells)


class Load:
    def __init__(self, instance: Instance) -> None:
        public = instance.public("")
        self.kind = public.type_of_node
        self.free = np.repeat(public.compute[self.kind][:, None], public.slots, axis=1)
        self.free_mb = np.repeat(public.memory_mb[self.kind][:, None], public.slots, axis=1)

    def room(self, task: Task) -> Any:
        """(K, T) cells that can be taken."""
        rate = task.rate[self.kind][:, None]
        return (rate > 0) & (rate <= self.free) & (task.memory_mb <= self.free_mb)

    def book(self, task: Task, decision: Decision | None) -> None:
        for k, t in () if decision is None else decision.cells:
            self.free[k, t - 1] -= task.rate[self.kind[k]]
            self.free_mb[k, t - 1] -= task.memory_mb


@on_examples(instances(), samples(300))
def test_greedy_takes_the_cheapest_and_eft_the_earliest_with_room(instance: Instance) -> None:
    """Ties: the first vendor, the fewest cells, the smallest list of (slot, node)."""
    cheap, early = run(instance, "greedy"), run(instance, "eft:admit=all")
    for result in (cheap, early):
        load = Load(instance)
        for i, decision in enumerate(result.decisions):
            task = instance.task(i)
            if task.run is not ScheduleKind.ANY:
                room = load.room(task)
                fits = [
                    (each, cells) for each, cells in schedules(instance, task) if all(room[k, t - 1] for t, k in cells)
                ]
                if result is cheap:
                    ranked = [(task.bid - s.value, s.decision.vendor or 0, len(c), c) for s, c in fits]
                    best = min(ranked, default=None)
                    wanted = None if best is None or best[0] >= task.bid else best[3]
                else:
                    first = min(task.options, key=lambda o: (o.first, o.price, o.vendor or 0)).vendor
                    ends = [(c[-1][0], len(c), c) for s, c in fits if s.decision.vendor == first]
                    wanted = min(ends, default=(0, 0, None))[2]
                found = None if decision is None else sorted((t, k) for k, t in decision.cells)
                assert found == wanted
            load.book(task, decision)


@settings(max_examples=samples(300), deadline=None)
@given(instance=instances(), data=st.data())
def test_the_searches_are_exact(instance: Instance, data: st.DataObject) -> None:
    """Drawn prices, in doubles and in fractions, against every schedule."""
    public = instance.public("")
    for i in range(instance.tasks):
        task = instance.task(i)
        first = first_slot(task)
        width = task.deadline - first + 1
        if task.run is ScheduleKind.ANY or width <= 0:
            continue
        cells = st.lists(st.integers(0, 3), min_size=public.nodes * width, max_size=public.nodes * width)
        lam, phi = (np.array(data.draw(cells)).reshape(public.nodes, width) for _ in range(2))
        room = np.array(data.draw(cells)).reshape(public.nodes, width) > 0
        fits = [(s, c) for s, c in schedules(instance, task) if all(room[k, t - first] for t, k in c)]
        ranked = [
            (task.bid - s.value + sum(int(lam[k, t - first]) for t, k in c), s.decision.vendor or 0, len(c), c)
            for s, c in fits
        ]
        wanted = min(ranked, default=None)
        exact = np.array([[Fraction(x) for x in row] for row in lam.tolist()], object).reshape(lam.shape)
        for prices in (lam.astype(float), exact):
            found = find_cheapest(task, public, prices, room)
            assert (None if found is None else (found.cost, found.option, sorted((t, k) for k, t in found.cells))) == (
                None if wanted is None else (wanted[0], wanted[1], wanted[3])
            )
        if task.run is ScheduleKind.ONE_NODE:
            continue
        values = []
        for s, c in schedules(instance, task):
            work = sum(int(task.rate[public.type_of_node[k]]) for _, k in c)
            top = [max(int(table[k, t - first]) for t, k in c) for table in (lam, phi)]
            value = s.value - top[0] * work - top[1] * task.memory_mb * len(c)
            values.append((-value, s.decision.vendor or 0, len(c), c))
        largest = min(values, default=None)
        for tables in ((lam.astype(float), phi.astype(float)), (exact, phi.astype(object))):
            choice = find_largest(task, public, *tables)
            assert (
                None if choice is None else (-choice.value, choice.option, sorted((t, k) for k, t in choice.cells))
            ) == (None if largest is None else (largest[0], largest[1], largest[3]))


def test_others_say_that_they_have_no_form() -> None:
    data = document(parse_one())
    for name in ("titan", "learned", "guarded:prior=history", "eris"):
        with pytest.raises(InputError, match="it has no form for tasks that are rigid or gangs; bbar-rule"):
            run(parse(data), name)


def parse_one() -> Instance:
    task = {
        "arrival": 1, "deadline": 2, "memory_mb": 1, "work": 1, "bid": 9, "rate": [1], "energy_wh": [1], "vendors": [],
        "run": "rigid",
    }  # fmt: skip
    node = {"name": "a", "count": 1, "compute": 1, "memory_mb": 2, "tariff": [1, 1]}
    top = {"format": "ratiobench/lora/2", "name": "one", "slots": 2, "slot_seconds": 1, "base_memory_mb": 1}
    return parse(top | {"node_types": [node], "tasks": [task]})


@pytest.mark.parametrize("name", ["greedy", "posted:prior=yesterday", "bbar-rule:prior=yesterday", "dual-posted"])
@settings(max_examples=samples(40), deadline=None)
@given(instance=tiny_instances_of_kinds(), data=st.data())
def test_no_bid_and_no_stricter_kind_pays_less(name: str, instance: Instance, data: st.DataObject) -> None:
    """Theorem T on tasks of every kind: what a task pays is the same with each bid that wins, and no less if rigid."""
    if instance.tasks == 0:
        return
    i = data.draw(st.integers(0, instance.tasks - 1))
    other = replace(instance, bid=instance.bid + 3, cache={})

    def pays(bid: int, kind: int) -> int | None:
        bids, kinds = instance.bid.copy(), instance.run.copy()
        bids[i], kinds[i] = bid, kind
        try:
            played = run(replace(instance, bid=bids, run=kinds, cache={}), name, prior=other)
        except InputError as error:  # a history without a task that is worth anything has no constants
            assume("prior" not in error.field and "constant" not in error.problem)
            raise
        assert played.valid, played.violations
        decision = played.decisions[i]
        return None if decision is None else decision.payment

    own, bid, much = int(instance.run[i]), int(instance.bid[i]), 2**20
    most, less = pays(much, own), pays(bid, own)
    if most is None:
        assert less is None
    elif bid > most:
        assert less == most
    else:
        assert less is None or less == most == bid
    if instance.parts[i] == 1 and name != "dual-posted":  # it offers runs to tasks that may pause, too
        for stricter in range(own + 1, KINDS.index(ScheduleKind.RIGID) + 1):
            charged = pays(much, stricter)
            assert charged is None or (most is not None and charged >= most)


def test_a_schedule_of_many_cells_takes_compute_and_memory() -> None:
    """It is booked as arrays: a second one beside it has no room."""
    cells = tuple((0, slot) for slot in range(1, 13))
    for compute, memory, rule in ((100, 10, "4g"), (1, 100, "4f")):
        job = Job(1, 12, 6, 12, 100, (1,))
        instance = sketch_instance(TinyInstance(12, (Kind(1, compute, memory),), (job, job)))
        capacity, (first, second) = CapacityState(instance.public("")), (instance.task(i) for i in range(2))
        capacity.admit(first, Decision(None, cells, 0))
        view = capacity.view(1)
        left = [view.compute.min(), view.memory_mb.min(), view.tasks.min(), view.tasks.max()]
        assert left == [compute - 1, memory - 6, 1, 1]
        with pytest.raises(RuleViolation, match=rf"^{rule}: node 0 slot 1: needs"):
            capacity.admit(second, Decision(None, cells, 0))


def test_two_nodes_at_a_time_are_for_gangs_alone_and_of_one_type() -> None:
    kinds = (Kind(2, 9, 9), Kind(1, 9, 9))
    instance = sketch_instance(TinyInstance(3, kinds, (Job(1, 3, 1, 2, 100, (1, 1)),)))
    task, capacity = instance.task(0), CapacityState(instance.public(""))
    with pytest.raises(RuleViolation, match=r"^4b: two cells in slot 1"):
        capacity.admit(task, Decision(None, ((0, 1), (1, 1)), 0))
    gang = replace(task, run=ScheduleKind.GANG, parts=2)
    with pytest.raises(RuleViolation, match=r"^R3: runs on nodes 1 and 2 of two types"):
        capacity.admit(gang, Decision(None, ((1, 1), (2, 1)), 0))
    capacity.admit(gang, Decision(None, ((0, 1), (1, 1)), 0))
