"""The waiting jobs as tables of integers, and what all policies share: a planner, and kernels.

A plan is a queue of waiting jobs per GPU: `queue` (m, w) places in the tables, of which the first `length` (m,) count.
Of equals the lower GPU is taken, then the earlier place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ratiobench.formulations.kernels import compiled, inner, inner_allocating
from ratiobench.formulations.tenants.tables import Jobs, cost_at, put, take
from ratiobench.instances.tenants.model import IntArray, Job, Public
from ratiobench.online.tenants.protocol import Queues, View

NEVER = 1 << 62
# Where `append` puts a job: where it costs least, starts first, ends first, or takes the least money
GREEDY, LEAST_LOADED, FASTEST, CHEAPEST = range(4)


class Plan(NamedTuple):
    """(m,) kind and first free tick of every GPU, (m, w) jobs, (m,) how many."""

    kind: Any
    free: Any
    queue: Any
    length: Any


def tables_of(public: Public, jobs: Sequence[Job]) -> Jobs:
    price = np.array([kind.price for kind in public.gpu_types], dtype=np.int64)
    rows = np.array([(job.release, job.deadline, job.cost_sensitivity) for job in jobs], dtype=np.int64).reshape(-1, 3)
    run = np.array([job.run for job in jobs], dtype=np.int64).reshape(-1, len(price))
    release, deadline, sensitivity = (np.ascontiguousarray(column) for column in rows.T)
    money = sensitivity[:, None] * price * run
    return Jobs(release, deadline, (100 - sensitivity) * public.theta, run, money, 100 * public.late_penalty)


def empty_plan(public: Public, free: IntArray, size: int) -> Plan:
    m = len(free)
    return Plan(np.array(public.gpu_type), np.array(free), np.zeros((m, max(1, size)), np.int64), np.zeros(m, np.int64))


def fill_plan(plan: Plan, queues: Queues, places: dict[int, int]) -> None:
    for gpu, queue in enumerate(queues):
        plan.queue[gpu, : len(queue)] = [places[j] for j in queue]
        plan.length[gpu] = len(queue)


def queues_of(plan: Plan, indices: Sequence[int]) -> Queues:
    rows: Iterable[tuple[list[int], int]] = zip(plan.queue.tolist(), plan.length.tolist(), strict=True)
    return tuple(tuple(indices[place] for place in row[:count]) for row, count in rows)


@inner_allocating
def append(jobs, plan, price, rule, order):  # type: ignore[no-untyped-def]
    """The jobs of the order to the tail of a queue by the rule, then by cost, then by GPU."""
    m = len(plan.kind)
    tail = plan.free.copy()
    for g in range(m):
        for p in range(plan.length[g]):
            tail[g] = max(tail[g], jobs.release[plan.queue[g, p]]) + jobs.run[plan.queue[g, p], plan.kind[g]]
    for j in order:
        best = 0
        first = NEVER
        second = NEVER
        for g in range(m):
            k = plan.kind[g]
            begin = max(tail[g], jobs.release[j])
            cost = cost_at(jobs, j, k, begin + jobs.run[j, k])
            if rule == LEAST_LOADED:
                key = tail[g]
            elif rule == FASTEST:
                key = begin + jobs.run[j, k]
            elif rule == CHEAPEST:
                key = price[k] * jobs.run[j, k]
            else:
                key = cost
            if key < first or (key == first and cost < second):
                first = key
                second = cost
                best = g
        plan.queue[best, plan.length[best]] = j
        plan.length[best] += 1
        tail[best] = max(tail[best], jobs.release[j]) + jobs.run[j, plan.kind[best]]


@inner
def tail_cost(jobs, plan, g, p, t, stop):  # type: ignore[no-untyped-def]
    """What the queue costs from place p on if that may start at t; given up above `stop`."""
    total = 0
    k = plan.kind[g]
    for y in range(p, plan.length[g]):
        j = plan.queue[g, y]
        t = max(t, jobs.release[j]) + jobs.run[j, k]
        total += cost_at(jobs, j, k, t)
        if total > stop:
            break
    return total


@inner
def best_place(jobs, plan, first, begin, j):  # type: ignore[no-untyped-def]
    """(GPU, place, cost): where one more job costs least; queue g starts at place first[g], not before begin[g]."""
    least = NEVER
    gpu = 0
    place = 0
    for g in range(len(plan.kind)):
        k = plan.kind[g]
        t = begin[g]
        rest = tail_cost(jobs, plan, g, first[g], t, NEVER)
        for p in range(first[g], plan.length[g] + 1):
            # `rest`: what the queue costs now from place p on, where t is its start.
            end = max(t, jobs.release[j]) + jobs.run[j, k]
            more = cost_at(jobs, j, k, end) - rest
            if more < least:
                more += tail_cost(jobs, plan, g, p, end, least - more)
                if more < least:
                    least = more
                    gpu = g
                    place = p
            if p < plan.length[g]:
                i = plan.queue[g, p]
                t = max(t, jobs.release[i]) + jobs.run[i, k]
                rest -= cost_at(jobs, i, k, t)
    return gpu, place, least


@inner_allocating
def insert(jobs, plan, order):  # type: ignore[no-untyped-def]
    first = np.zeros(len(plan.kind), np.int64)
    for j in order:
        gpu, place, _ = best_place(jobs, plan, first, plan.free, j)
        put(plan, gpu, place, j)


@inner_allocating
def improve(jobs, plan, passes):  # type: ignore[no-untyped-def]
    """Every job in its turn to the place where it costs least, until a pass moves none; the passes that were left."""
    m = len(plan.kind)
    first = np.zeros(m, np.int64)
    moved = True
    while moved and passes > 0:
        moved = False
        passes -= 1
        for a in range(m):
            turn = plan.queue[a, : plan.length[a]].copy()
            for j in turn:
                p = 0
                while p < plan.length[a] and plan.queue[a, p] != j:
                    p += 1
                if p == plan.length[a]:
                    continue
                before = tail_cost(jobs, plan, a, 0, plan.free[a], NEVER)
                take(plan, a, p)
                gain = before - tail_cost(jobs, plan, a, 0, plan.free[a], NEVER)
                gpu, place, more = best_place(jobs, plan, first, plan.free, j)
                if more < gain:
                    put(plan, gpu, place, j)
                    moved = True
                else:
                    put(plan, a, p, j)
    return passes


@compiled
def arrange(jobs, plan, price, rule, order, passes):  # type: ignore[no-untyped-def]
    """Add the jobs of the order: `rule` says to which tail, below 0 to their best places; then improve."""
    if rule < 0:
        insert(jobs, plan, order)
    else:
        append(jobs, plan, price, rule, order)
    if passes > 0:
        improve(jobs, plan, passes)


class Planner(ABC):
    """A policy that is asked once a tick and makes new queues."""

    arithmetic = "integer"

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        self.public = public
        self.price: IntArray = np.array([kind.price for kind in public.gpu_types], dtype=np.int64)

    def decide_batch(self, jobs: Sequence[Job], view: View) -> Sequence[Queues | None]:
        tables = tables_of(self.public, view.waiting)
        plan = empty_plan(self.public, view.free, len(view.waiting))
        places = {job.index: place for place, job in enumerate(view.waiting)}
        new = np.array([places[job.index] for job in jobs], dtype=np.int64)
        self.plan(tables, plan, view, places, new)
        return [*(None for _ in jobs[1:]), queues_of(plan, [job.index for job in view.waiting])]

    @abstractmethod
    def plan(self, jobs: Jobs, plan: Plan, view: View, places: dict[int, int], new: IntArray) -> None:
        """Put every waiting job into the empty plan; `new`: the places of those that are released now."""
