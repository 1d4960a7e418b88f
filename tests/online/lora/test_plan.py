"""`dual-plan`: plans against brute force, what is kept of an earlier plan, rents, vendors, limits, determinism."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora import Instance
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.planning import Run, make_plan, read_runs
from ratiobench.online.lora.run import run
from tests.online.lora.test_later import cluster
from tests.support.samples import of_sample, samples
from tests.support.strategies.lora import tiny_instances_of_kinds


def morning(seed: int, tasks: int = 7) -> Instance:
    """Rigid tasks and gangs that all arrive in slot 1, on two types of two nodes each."""
    chance = random.Random(seed)
    made = []
    for _ in range(tasks):
        wide = chance.random() < 0.3
        made.append(
            {"deadline": chance.randint(2, 6), "work": chance.randint(1, 3) * (1 + wide), "bid": chance.randint(1, 60),
             "energy_wh": [chance.randint(0, 3), 1], "rate": [1, chance.choice((0, 1))],
             "vendors": [{"price": chance.randint(0, 9), "delay": 0}, {"price": 0, "delay": chance.randint(0, 2)}]}
            | ({"run": "gang", "nodes": 2} if wide else {})
        )  # fmt: skip
    return cluster(*made, nodes=(2, 2), slots=6)


def test_with_all_tasks_there_at_once_the_plan_is_near_the_optimum() -> None:
    """Without rents nothing else is unknown: brute force never earns less. Lists alone miss more of these optima."""
    annealed, listed = 0, 0
    for seed in range(samples(20)):
        instance = morning(seed)
        optimum, _ = enumerate_optimum(instance)
        planned, lists = (run(instance, f"dual-plan:scale=0,delay=0,blocks={blocks}") for blocks in (2000, 0))
        assert planned.valid
        assert lists.valid
        assert max(planned.welfare, lists.welfare) <= optimum
        annealed += planned.welfare == optimum
        listed += lists.welfare == optimum
    assert annealed >= of_sample(17, 20) > of_sample(10, 20) > listed


def test_a_plan_respects_windows_capacity_and_types() -> None:
    """Each run is one of its task's, gangs have distinct nodes of one type, and what is held is not taken."""
    for seed in range(samples(20)):
        instance = morning(seed, 12)
        public = instance.public("")
        free = np.ones((2, 4, 6), np.int64)
        free[:, 0, :3] = 0  # the first node is held until slot 3
        found_runs = [read_runs(instance.task(i), public) for i in range(instance.tasks)]
        waiting = [each for each in found_runs if each is not None]
        plan = make_plan(waiting, public, 1, free, np.zeros((2, 6)), 0.0, {}, 500, seed)
        used = np.zeros((4, 6), np.int64)
        assert plan
        for index, found in plan.items():
            task = instance.task(index)
            option = task.options[max(found.vendor, 0)]
            assert max(1, option.first - 1) <= found.start
            assert found.end <= task.deadline
            assert len(set(found.nodes)) == task.parts == len(found.nodes)
            assert {public.type_of_node[k] for k in found.nodes} == {found.kind}
            assert (found.end - found.start) * task.parts * int(task.rate[found.kind]) >= task.work
            used[list(found.nodes), found.start : found.end] += 1
        assert (used <= free[0]).all()


def test_a_plan_begins_with_the_earlier_one() -> None:
    """Two alike tasks on one node: the order of before stays, where no order is better."""
    instance = cluster({"work": 2}, {"work": 2}, nodes=(1,), slots=4)
    public = instance.public("")
    waiting = [each for i in range(2) if (each := read_runs(instance.task(i), public)) is not None]
    free = np.ones((2, 1, 4), np.int64)
    for first in (0, 1):
        before = {first: Run(0, -1, 0, 2, (0,)), 1 - first: Run(0, -1, 2, 4, (0,))}
        assert make_plan(waiting, public, 0, free, np.zeros((1, 4)), 0.0, before, 0, 1) == before
    # A run that should have begun is forgotten, and one that does not pay any more, too.
    late = {0: Run(0, -1, 0, 2, (0,)), 1: Run(0, -1, 2, 4, (0,))}
    assert make_plan(waiting, public, 2, free, np.zeros((1, 4)), 0.0, late, 0, 1) == {1: Run(0, -1, 2, 4, (0,))}
    assert make_plan(waiting, public, 0, free, np.full((1, 4), 5.0), 0.0, late, 0, 1) == {}


def test_rents_move_a_run_and_leave_out_what_does_not_pay() -> None:
    """The cheapest slots are taken, in micro-dollars of operation and rent."""
    instance = cluster({"work": 2, "bid": 10}, nodes=(1,), slots=5)
    public = instance.public("")
    found = read_runs(instance.task(0), public)
    assert found is not None
    free = np.ones((2, 1, 5), np.int64)
    for rents, start in (([4, 4, 1, 1, 4], 2), ([4, 5, 5, 5, 5], 0), ([5, 5, 5, 5, 5], None)):
        plan = make_plan([found], public, 0, free, np.array([rents], np.float64), 0.0, {}, 100, 1)
        assert (plan[0].start if plan else None) == start


def test_rents_that_no_bid_pays_do_not_overflow() -> None:
    """A run avoids slots at such rents, and is left out where there are no others."""
    instance = cluster({"arrival": 1, "deadline": 4, "work": 2, "run": "rigid", "bid": 2**40}, nodes=(1,), slots=4)
    public = instance.public("")
    free = np.stack([np.repeat(each, 4, axis=1) for each in (public.compute[:, None], public.memory_mb[:, None])])
    found = read_runs(instance.task(0), public)
    assert found is not None
    for rents, starts in (([1e30, 1e30, 0, 0], [2]), ([1e30, 0, 1e30, 0], []), ([1e30] * 4, [])):
        plan = make_plan([found], public, 0, free, np.array([rents], np.float64), 0.0, {}, 100, 1)
        assert [run.start for run in plan.values()] == starts


def test_a_run_does_not_wait_for_a_small_gain() -> None:
    """Two slots of waiting save 3 of 1,000: they do where a slot costs a thousandth of the bid, not two of them."""
    instance = cluster({"work": 1, "bid": 1000}, nodes=(1,), slots=3)
    public = instance.public("")
    found = read_runs(instance.task(0), public)
    assert found is not None
    free, rents = np.ones((2, 1, 3), np.int64), np.array([[4.0, 4.0, 1.0]])
    for delay, start in ((0.0, 2), (0.001, 2), (0.002, 0)):
        assert make_plan([found], public, 0, free, rents, delay, {}, 100, 1)[0].start == start


def test_room_is_kept_for_what_earlier_days_had() -> None:
    """A long cheap task comes first, a dear one after it; earlier days had two dear ones, which is known or not."""
    dear = {"arrival": 2, "work": 3, "deadline": 4}
    instance = cluster({"work": 4, "deadline": 4, "bid": 20}, dear | {"bid": 90}, nodes=(1,), slots=4)
    before = cluster(dear | {"bid": 90}, dear | {"bid": 85}, nodes=(1,), slots=4)
    assert run(instance, "dual-plan:history=yesterday", prior=before).welfare == 90
    alone = run(instance, "dual-plan")
    assert alone.welfare == 20
    assert "no history" in alone.label


def test_the_cheaper_vendor_is_waited_for_where_there_is_time() -> None:
    """A vendor at 0 with a delay, one at 7 without: the second where the deadline leaves no time for the first."""
    vendors = [{"price": 7, "delay": 0}, {"price": 0, "delay": 2}]
    for deadline, expected in ((2, Decision(0, ((0, 1), (0, 2)))), (4, Decision(1, ((0, 3), (0, 4))))):
        instance = cluster({"work": 2, "deadline": deadline, "vendors": vendors}, nodes=(1,), slots=4)
        assert run(instance, "dual-plan").decisions == (expected,)


def test_a_run_of_a_task_with_a_limit_is_planned_for_its_limit() -> None:
    """The one that ends early gives the rest back, and the next starts there."""
    instance = cluster({"work": 1, "limit": 3, "bid": 90}, {"work": 1, "deadline": 4}, nodes=(1,), slots=4)
    found = run(instance, "dual-plan:scale=0")
    assert found.valid
    assert found.admitted == 2
    assert [each and each.cells[0] for each in found.decisions] == [(0, 1), (0, 2)]


@settings(max_examples=samples(40), deadline=None)
@given(tiny_instances_of_kinds())
def test_runs_are_valid_on_tasks_of_every_kind(instance: Instance) -> None:
    """The same tasks with other bids are the history; a second run is the same."""
    before = replace(instance, bid=instance.bid + 1, cache={})
    for name in ("dual-plan:blocks=50", "dual-plan:blocks=50,history=yesterday"):
        found = run(instance, name, prior=before)
        assert found.valid, found.violations
        assert check(instance, found.decisions).valid
        assert run(instance, name, prior=before).decisions == found.decisions


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("dual-plan:blocks=1/2", "'1/2' is no whole number in 0..1000000"),
        ("dual-plan:blocks=1000001", "'1000001' is no whole number in 0..1000000"),
        ("dual-plan:rounds=1001", "'1001' is no whole number in 0..1000"),
        ("dual-plan:scale=-1", "'-1' is negative"),
        ("dual-plan:delay=x", "'x'"),
    ],
)
def test_options_that_do_not_do_are_refused(name: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        run(morning(0), name)
