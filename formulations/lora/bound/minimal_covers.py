"""The minimal covers, those that do not cover without any one of their cells, of all tasks of an instance at once.

A row of a pooled task fixes the counts of the outer types, so it holds at most one: that with the least inner count.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ratiobench.formulations.kernels import compiled_in_place
from ratiobench.formulations.lora.bound.pricing import Pool, base_cost, fill_table, find_pool
from ratiobench.formulations.lora.covering.schedules import (
    STATE_LIMIT,
    TABLE_LIMIT,
    StateSpaceTooLarge,
    minimal_covers,
    space,
)
from ratiobench.instances.lora.model import Instance, IntArray

FAR = np.int64(2**62)  # Cost of the impossible; above half of it nothing is possible, as costs may be negative


class MinimalCovers(NamedTuple):
    """The minimal covers of tasks by count vector and option, free of units: every b_il and S + R comes from these."""

    task: IntArray  # (n,) whose; ascending
    worst: IntArray  # worst, best: (n,) least and largest b_il of the count vector
    best: IntArray
    work: IntArray  # work, megabytes: (n,) S and R
    megabytes: IntArray
    cells: IntArray  # cells, slowest: (n,) number of cells, and the least rate used
    slowest: IntArray
    negative: int | None  # the first task with a usable cell of negative cost, or None
    rates: tuple[int, int]  # least and largest rate over the (task, node) pairs that can be used; 1 and 1 without any


def _list_options(instance: Instance, p: Pool) -> tuple[IntArray, IntArray, IntArray]:
    """Start (n+1,), offset and price of the options of pooled tasks, dominated ones included; one without vendors.

    An offset is a slot of the task's widest window; its width or more where there is none.
    """
    begin = instance.vendor_start[p.task]
    count = instance.vendor_start[p.task + 1] - begin
    start = np.concatenate([[0], np.cumsum(np.maximum(count, 1))]).astype(np.int64)
    owner = np.repeat(np.arange(p.tasks), np.diff(start))
    # The entry behind the last vendor is the option without one.
    which = np.where(count[owner] > 0, begin[owner] + np.arange(len(owner)) - start[owner], len(instance.vendor_price))
    delay, price = np.append(instance.vendor_delay, 0), np.append(instance.vendor_price, 0)
    offset = instance.arrival[p.task][owner] - 1 + delay[which] - p.first[owner]
    return start, offset.astype(np.int64), price[which].astype(np.int64)


@lru_cache(maxsize=4)
def find_small_pool(instance: Instance) -> Pool | None:
    """The pooled tasks; None where the tables of `covering.schedules` might be too large for a task."""
    try:
        p = find_pool(instance)
    except StateSpaceTooLarge:
        return None
    if p.tasks == 0:
        return p
    # No more cells of a type than cover alone; with a negative cost, than the window has.
    width = np.repeat(p.width, np.diff(p.type_start))
    caps = np.minimum(width, -(-np.repeat(p.work, np.diff(p.type_start)) // p.rate))
    if p.tariff.min() < 0 or p.table_cost.min(initial=0) < 0:
        caps = width
    positions = np.multiply.reduceat(caps + 1.0, p.type_start[:-1])
    return p if (positions <= STATE_LIMIT).all() and (positions * (p.width + 1) <= TABLE_LIMIT).all() else None


@compiled_in_place
def _list_minimal(p, start, offset, price, far, found, least, largest, cost, usable, done, taken, slowest):  # type: ignore[no-untyped-def]
    """Write the minimal covers of all pooled tasks; (their number, the first task with a negative cost or -1)."""
    slowest[0] = far
    negative = -1
    count = 0
    for i in range(len(p.task)):
        entry = p.type_start[i]
        types = p.type_start[i + 1] - entry
        for g in range(types):
            for t in range(p.width[i]):
                cost[g, t] = base_cost(p, i, p.kind[entry + g], p.first[i] + t)
                if cost[g, t] < 0 and negative < 0:
                    negative = p.task[i]
        fill_table(p, i, cost, usable, far, least)
        for g in range(types):
            for t in range(p.width[i]):
                cost[g, t] = -cost[g, t]
        fill_table(p, i, cost, usable, far, largest)
        first = p.row_start[i]
        for o in range(p.row_start[i + 1] - first):
            # The row with one slot of an outer type fewer stands before it.
            for g in range(1, types):
                q = p.less[first + o, g - 1]
                if q >= 0:
                    done[o] = done[q] + p.rate[entry + g]
                    taken[o] = taken[q] + 1
                    slowest[o] = min(slowest[q], p.rate[entry + g])
                    break
            need = p.need[first + o]
            work = done[o] + need * p.rate[entry]
            slow = p.rate[entry] if need > 0 else slowest[o]
            if need >= p.length[first + o] or work - slow >= p.work[i]:
                continue
            for option in range(start[i], start[i + 1]):
                if offset[option] < p.width[i]:
                    at = offset[option] * p.layer[i] + p.at[first + o] + need
                    if least[at] < far // 2:
                        net = p.bid[i] - price[option]
                        found[0, count] = p.task[i]
                        found[1, count] = net + largest[at]
                        found[2, count] = net - least[at]
                        found[3, count] = work
                        found[4, count] = p.memory[i] * (taken[o] + need)
                        found[5, count] = taken[o] + need
                        found[6, count] = slow
                        count += 1
    return count, negative


@lru_cache(maxsize=4)
def _all_at_once(instance: Instance) -> MinimalCovers | None:
    p = find_small_pool(instance)
    if p is None:
        return None
    options = _list_options(instance, p)
    most = int((np.diff(p.row_start) * np.diff(options[0])).sum())
    found = np.empty((7, most), np.int64)
    tables = (np.empty(int(((p.width + 1) * p.layer).max(initial=1)), np.int64) for _ in range(2))
    shape = len(p.nodes), int(p.width.max(initial=1))
    rows = (np.zeros(int(np.diff(p.row_start).max(initial=1)), np.int64) for _ in range(3))
    cells = np.empty(shape, np.int64), np.ones(shape, np.bool_)
    # `found`: rows as the fields of `MinimalCovers`; `rows`: work, number and slowest rate of a row's outer cells.
    count, negative = _list_minimal(p, *options, FAR, found, *tables, *cells, *rows)
    ends = (int(p.rate.min()), int(p.rate.max())) if len(p.rate) else (1, 1)
    return MinimalCovers._make([*found[:, :count], None if negative < 0 else int(negative), ends])


def list_minimal_covers(instance: Instance) -> Iterator[MinimalCovers]:
    """The minimal covers of all tasks in one piece, or a task at a time where a table might be too large."""
    whole = _all_at_once(instance)
    if whole is not None:
        yield whole
        return
    public = instance.public("")
    for i in range(instance.tasks):
        task = instance.task(i)
        menus = minimal_covers(task, public)
        if not menus:
            continue
        menu = space(task, public)
        rows = [
            (np.full_like(m.work, i), task.bid - m.price - m.largest_cost, task.bid - m.price - m.least_cost, m.work,
             task.memory_mb * m.cells, m.cells, m.slowest)
            for m in menus
        ]  # fmt: skip
        negative = bool((task.cost[menu.types, menu.first - 1 : menu.last] < 0).any())
        ends = int(menu.rates.min()), int(menu.rates.max())
        yield MinimalCovers._make([*np.concatenate(rows, axis=1), i if negative else None, ends])
