"""A plan for the tasks that wait: which of them run, from when on and where, on the free capacity.

A task that waits has runs: a node type, a pre-processing option, and slots in a row. In a plan a run costs its vendor,
its operation, the rents of its nodes and slots, and a small part of its bid for each slot that it waits. A task without
a run of positive net value is left out. The plan is the best of some list schedules and of an annealing from it
(`ratiobench.formulations.lora.run_search`). It starts from the remaining runs of the last plan, and so differs from it
only where that gains.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.lora.run_search import (
    Kept,
    Order,
    anneal,
    empty_schedule,
    insert_again,
    insert_all,
    keep,
    list_schedule,
    order_tasks,
)
from ratiobench.formulations.lora.runs import RunPrices, Runs, net_values
from ratiobench.instances.lora.model import IntArray, Public, Task
from ratiobench.instances.lora.restriction import list_runs
from ratiobench.online.lora.dual_prices import Floats, prefix

# What a slot costs all parts of a run at most in a plan: four times the largest bid, so that none pays it
DEAREST = 2.0**42
BLOCKS_PER_TASK = 300  # Most blocks of an annealing per task that waits


class Run(NamedTuple):
    """A run of a plan; slots from 0."""

    kind: int  # kind, vendor: node type, option (-1 for no vendor)
    vendor: int
    start: int  # start, end: first slot, slot after the last one
    end: int
    nodes: tuple[int, ...]  # of its parts, in order


class TaskRuns(NamedTuple):
    """The runs of a task; an entry is a node type and a pre-processing option; slots from 0."""

    task: Task
    # kind, vendor, price, length, low, high: (entries,) node type, option (-1 for none) and its price in micro-dollars,
    # slots of the run, first and last start.
    kind: IntArray
    vendor: IntArray
    price: IntArray
    length: IntArray
    low: IntArray
    high: IntArray
    cost: IntArray  # (entries, T+1) prefix sums of a part's operational cost, micro-dollars
    share: Floats  # (entries,) part of a node that a part of the task takes


def read_runs(task: Task, public: Public) -> TaskRuns | None:
    """The runs of a task, by its limit where it has one; None without any."""
    found = []
    for run in list_runs(task, public):
        for option in task.options:
            if option.first <= run.last:
                vendor = -1 if option.vendor is None else option.vendor
                found.append((run.type, vendor, option.price, run.length, option.first - 1, run.last - 1))
    if not found:
        return None
    table = np.array(found, np.int64)
    kind, vendors, price, length, low, high = (np.ascontiguousarray(column) for column in table.T)
    cost = np.concatenate([np.zeros((len(kind), 1), np.int64), np.cumsum(task.cost[kind], axis=1)], axis=1)
    share = np.maximum(task.rate[kind] / public.compute[kind], task.memory_mb / np.maximum(1, public.memory_mb[kind]))
    return TaskRuns(task, kind, vendors, price, length, low, high, cost, share)


def _join_runs(
    waiting: Sequence[TaskRuns], public: Public, now: int, free: NDArray[np.int64], nu: Floats, delay: float
) -> Runs:
    """The runs of these tasks from slot `now` on, which is slot 0; rents and delays are part of the operational cost.

    `free`: (2, K, T) samples and MB that are free; `nu`: (G, T) rents, micro-dollars per node and slot; `delay`: part
    of the bid that a run costs per slot that it waits.
    """
    rent = prefix(nu)
    open_entries = [np.flatnonzero(each.high >= now) for each in waiting]

    def column(name: str) -> IntArray:
        return np.concatenate([getattr(each, name)[here] for each, here in zip(waiting, open_entries, strict=True)])

    kind = column("kind")
    operation = np.concatenate([each.cost[here, now:] for each, here in zip(waiting, open_entries, strict=True)])
    tasks = [each.task for each in waiting]
    parts = np.array([task.parts for task in tasks], np.int64)
    rate = np.array([task.rate for task in tasks], np.int64)
    owner = np.repeat(np.arange(len(tasks)), [len(here) for here in open_entries])
    # A table of which [s + n] - [s] is s, for every run of n slots from s on.
    slot, length = np.arange(operation.shape[1], dtype=np.float64), column("length")[:, None]
    waited = slot * (slot - length) / (2.0 * length)
    loss = delay * np.array([task.bid for task in tasks], np.float64) / parts
    rents = column("share")[:, None] * (rent[kind, now:] - rent[kind, now : now + 1]) + loss[owner][:, None] * waited
    limit = DEAREST / parts[owner][:, None]
    step = np.diff(rents, axis=1)
    if (np.abs(step) > limit).any():  # whole numbers could not hold the sums
        rents = np.concatenate([np.zeros_like(limit), np.cumsum(np.clip(step, -limit, limit), axis=1)], axis=1)
    whole = np.stack([public.compute, public.memory_mb])[:, public.type_of_node, None]
    return Runs(
        task=np.array([task.index for task in tasks], np.int64), bid=np.array([task.bid for task in tasks], np.int64),
        memory=np.array([task.memory_mb for task in tasks], np.int64), parts=parts,
        entry_start=np.searchsorted(owner, np.arange(len(tasks) + 1)).astype(np.int64), kind=kind,
        vendor=column("vendor"), price=column("price"), length=column("length"),
        low=np.maximum(column("low") - now, 0), high=column("high") - now, rate=rate[owner, kind],
        row=np.arange(len(kind)), factor=np.ones(len(kind), np.int64),
        sums=operation - operation[:, :1] + np.rint(rents).astype(np.int64),
        place=np.concatenate([[0], np.cumsum(parts)]).astype(np.int64), first_node=public.first_node.copy(),
        compute=public.compute.copy(), capacity_mb=public.memory_mb.copy(),
        held=np.ascontiguousarray((whole - free)[:, :, now:]),
    )  # fmt: skip


def _remaining_runs(r: Runs, o: Order, now: int, before: Mapping[int, Run]) -> Kept:
    """The runs of an earlier plan that have not begun and still have a positive net value."""
    kept = keep(empty_schedule(r, o))
    for i, index in enumerate(r.task.tolist()):
        run = before.get(index)
        if run is None or run.start < now:
            continue
        start = run.start - now
        for e in range(int(r.entry_start[i]), int(r.entry_start[i + 1])):
            if (r.kind[e], r.vendor[e]) == (run.kind, run.vendor) and r.low[e] <= start <= r.high[e]:
                cost = int(r.sums[e, start + r.length[e]] - r.sums[e, start])
                net = int(r.bid[i] - r.price[e]) - int(r.parts[i]) * cost
                if net > 0:
                    kept.entry[i], kept.start[i], kept.net[i] = e, start, net
                    kept.nodes[int(r.place[i]) : int(r.place[i + 1])] = run.nodes
    kept.welfare[0] = kept.net.sum()
    return kept


def make_plan(
    waiting: Sequence[TaskRuns], public: Public, now: int, free: NDArray[np.int64], nu: Floats, delay: float,
    before: Mapping[int, Run], blocks: int, number: int,
) -> dict[int, Run]:  # fmt: skip
    """Plan the runs of the tasks that wait.

    `now`: the present slot, from 0; `free`: (2, K, T) samples and MB that are free; `nu`: (G, T) rents, micro-dollars
    per node and slot; `delay`: part of the bid that a run costs per slot that it waits.
    """
    waiting = [each for each in waiting if int(each.high.max()) >= now]
    if not waiting:
        return {}
    r = _join_runs(waiting, public, now, free, nu, delay)
    gain = net_values(r)
    nothing = np.zeros((len(r.compute), r.sums.shape[1] - 1))
    o = order_tasks(r, RunPrices(nothing, nothing, 0.0, gain))
    orders = [np.argsort(-by, kind="stable") for by in (o.rank[0], gain / o.size, r.bid)]
    best = insert_all(r, o, _remaining_runs(r, o, now, before), orders[0])
    lists = list_schedule(r, o, orders, [0.0])
    if lists.welfare[0] > best.welfare[0]:
        best = lists
    best = insert_again(r, o, anneal(r, o, best, min(blocks, BLOCKS_PER_TASK * len(waiting)), number))
    plan = {}
    for i in np.flatnonzero(best.entry >= 0).tolist():
        e, start = int(best.entry[i]), int(best.start[i]) + now
        nodes = tuple(sorted(best.nodes[int(r.place[i]) : int(r.place[i + 1])].tolist()))
        plan[int(r.task[i])] = Run(int(r.kind[e]), int(r.vendor[e]), start, start + int(r.length[e]), nodes)
    return plan
