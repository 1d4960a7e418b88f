"""Schedules as flat arrays, against plain loops over their cells."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.formulations.lora.bound.columns import ColumnArrays
from ratiobench.formulations.lora.bound.pricing import Pool, pool
from ratiobench.formulations.lora.bound.task_prices import ALWAYS, MANY, NEVER, Ranges, find_slots, no_decisions
from ratiobench.instances.lora import Instance
from ratiobench.instances.lora.model import IntArray
from tests.support.certificates import instances
from tests.support.samples import samples

# Task, first slot of the option's window, local type in each slot of the task's window or -1
Schedule = tuple[int, int, IntArray]


def draw_schedules(p: Pool, random: np.random.Generator) -> list[Schedule]:
    """Some schedules of every task, each with a cell."""
    found = []
    for i in range(p.tasks):
        types = int(p.type_start[i + 1] - p.type_start[i])
        for _ in range(40):
            local = random.integers(-1, types, int(p.width[i]))
            option = int(random.integers(p.option_start[i], p.option_start[i + 1]))
            if (local >= 0).any():
                found.append((i, int(p.first[i] + p.offset[option]), local))
    return found


def draw_decisions(p: Pool, random: np.random.Generator) -> Ranges:
    """Some decisions of every kind."""
    d = no_decisions(p)
    cells = random.random(d.fixed.shape)
    d.fixed[cells < 0.05], d.fixed[cells > 0.97] = NEVER, ALWAYS
    for i in np.flatnonzero(random.random(p.tasks) < 0.3).tolist():
        d.out[i], d.early[i], d.late[i] = random.integers(2), p.first[i] + 1, random.choice([p.first[i] + 2, MANY])
    for e in np.flatnonzero(random.random(len(p.kind)) < 0.3).tolist():
        d.low[e], d.high[e] = random.integers(2), random.integers(1, 4)
    return d


def is_allowed(p: Pool, d: Ranges, schedule: Schedule) -> bool:
    """Whether the decisions allow a schedule, cell by cell."""
    i, begin, local = schedule
    if d.out[i] or not d.early[i] <= begin <= d.late[i]:
        return False
    for g, e in enumerate(range(int(p.type_start[i]), int(p.type_start[i + 1]))):
        if not d.low[e] <= sum(each == g for each in local.tolist()) <= d.high[e]:
            return False
        for t, each in enumerate(local.tolist()):
            fixed = d.fixed[e, p.first[i] + t]
            if (each == g and fixed == NEVER) or (each != g and fixed == ALWAYS):
                return False
    return True


@settings(max_examples=samples(60), deadline=None)
@given(instances(), st.integers(0, 2**32 - 1))
def test_sums_and_decisions_are_those_of_plain_loops(instance: Instance, seed: int) -> None:
    """Sums over the cells of schedules, the use of cells, and which schedules are allowed."""
    p, random = pool(instance, spare=1), np.random.default_rng(seed)
    slots = find_slots(p)
    columns, schedules = ColumnArrays(p, slots), draw_schedules(p, random)
    places = []
    for i, begin, local in schedules:
        t = np.flatnonzero(local >= 0)
        places.append(slots.where[p.type_start[i] + local[t], p.first[i] + t])
        types = int(p.type_start[i + 1] - p.type_start[i])
        columns.add(i, begin, [int((local == g).sum()) for g in range(types)], places[-1])
    weight = random.integers(-5, 6, len(slots.entry))
    assert columns.sums(weight).tolist() == [int(weight[place].sum()) for place in places]
    value = random.integers(0, 9, int(random.integers(len(schedules) + 1))).astype(np.float64)
    used = np.zeros(len(slots.entry))
    for place, amount in zip(places, value.tolist(), strict=False):
        used[place] += amount
    assert columns.spread(value).tolist() == used.tolist()
    for _ in range(5):
        d = draw_decisions(p, random)
        assert columns.allowed(d).tolist() == [is_allowed(p, d, each) for each in schedules]
