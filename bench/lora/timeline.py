"""The time line of a run: load and prices by node type over the slots, and why tasks were rejected."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from ratiobench.bench.family.capabilities import Refusal, Timeline, TimeSeries
from ratiobench.bench.show import clock_text
from ratiobench.formulations.kernels import compiled
from ratiobench.instances.lora.model import Instance, IntArray, ScheduleKind
from ratiobench.instances.lora.quantities import fewest_slots, first_slots, servable, usable_types
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.outcome import OnlineRun

DAY = 86_400
IMPOSSIBLE, FULL, DEAR = "cannot be served", "no room", "too dear"
REASONS = {
    IMPOSSIBLE: "no schedule fits the task's window, not even on an empty cluster",
    FULL: "no schedule fits what the tasks before it, in the order of arrival, had left",
    DEAR: "some schedule had room for it, and the algorithm declined: by its prices, its rule or its choice of one",
}
NOTE = (
    "Prices are those at the end of the run. Who arrives later does not move those of a slot that has passed (of one's "
    "own algorithm nobody knows), so they are the last ones of each slot. The line is their mean over the nodes of a "
    "type, the band goes from the cheapest to the dearest node."
)
# Prices as algorithms show them, with the titles of their axes
AMOUNTS = {"lam": "price of compute, micro-dollars per sample", "phi": "price of memory, micro-dollars per MB"}
Prices = Mapping[tuple[int, int], Fraction | float]


def timeline(instance: Instance, run: OnlineRun) -> Timeline:
    """Slot by slot: the share of compute used per node type, prices if the run shows any, arrivals and rejections."""
    slots = range(1, instance.slots + 1)
    cells, start = _cells(run.decisions)
    # (G, T) samples processed by the nodes of each type
    used = np.zeros((len(instance.node_types), instance.slots), dtype=np.int64)
    task, place = np.repeat(np.arange(instance.tasks), np.diff(start)), instance.public("").type_of_node[cells[:, 0]]
    np.add.at(used, (place, cells[:, 1] - 1), instance.rate[task, place])
    loads = [
        TimeSeries(kind.name, [Fraction(int(amount), kind.count * kind.compute) for amount in row])
        for kind, row in zip(instance.node_types, used, strict=True)
        if kind.count * kind.compute
    ]
    taken = np.array([decision is not None for decision in run.decisions], dtype=np.bool_)
    admitted = np.bincount(instance.arrival[taken] - 1, minlength=instance.slots).tolist()
    capacity = sum(kind.count * kind.compute for kind in instance.node_types)
    trace = run.trace
    names = [name for name in AMOUNTS if hasattr(trace, name) and not getattr(trace, "problem", "")]
    shown = {AMOUNTS[name]: _courses(instance, getattr(trace, name)) for name in names}
    refused = [
        Refusal(i, int(instance.arrival[i]), reason, f"bid {int(instance.bid[i]):,}, work {int(instance.work[i]):,}")
        for i, reason in find_reasons(instance, run.decisions, run.remarks.single_node).items()
    ]
    clock, title = clock_of(instance)
    return Timeline(
        "slot", slots, loads, shown, admitted, refused, REASONS, NOTE if shown else "", clock[:-1], title,
        asked=[Fraction(int(amount), capacity) for amount in asked(instance)],
    )  # fmt: skip


def clock_of(instance: Instance) -> tuple[list[str], str]:
    """When each slot begins and, as one more, when the last one ends, to be read; and what these times are."""
    since, title = _first_second(instance)
    return [clock_text(since + slot * instance.slot_seconds) for slot in range(instance.slots + 1)], title


def _first_second(instance: Instance) -> tuple[int, str]:
    """The second of the day in which the first slot begins, if the instance's origin knows; and what that is."""
    origin = instance.origin
    recipe = origin.get("recipe")
    first = recipe.get("start") if isinstance(recipe, dict) else None
    if isinstance(first, int) and 1 <= first * instance.slot_seconds <= DAY:
        return (first - 1) * instance.slot_seconds, "time of day"
    start = re.fullmatch(r"\d{4}-\d\d-\d\dT(\d\d):(\d\d):(\d\d)", str(origin.get("start"))[:30])
    if start is not None:
        hours, minutes, seconds = map(int, start.groups())
        return 3600 * hours + 60 * minutes + seconds, "time of day, UTC"
    return 0, "time since the first slot began"


def _cells(decisions: Sequence[Decision | None]) -> tuple[IntArray, IntArray]:
    """(n, 2) all cells (node, slot) task by task, and (I+1,) the index at which those of a task begin."""
    each = [() if decision is None else decision.cells for decision in decisions]
    start = np.zeros(len(each) + 1, dtype=np.int64)
    start[1:] = np.cumsum([len(cells) for cells in each])
    return np.array([cell for cells in each for cell in cells], dtype=np.int64).reshape(-1, 2), start


def asked(instance: Instance) -> IntArray:
    """(T,) samples that the servable tasks would do if each ran alone at its fastest rate as soon as it can."""
    can = servable(instance)
    rate = np.where(usable_types(instance), instance.rate, 0).max(axis=1, initial=0)[can]
    first, needed, work = first_slots(instance)[can] - 1, fewest_slots(instance)[can], instance.work[can]
    change = np.zeros(instance.slots + 1, dtype=np.int64)
    last = first + needed - 1
    rest = work - (needed - 1) * rate
    np.add.at(change, first, rate)
    np.add.at(change, last, rest - rate)
    np.add.at(change, last + 1, -rest)
    return np.asarray(np.cumsum(change)[:-1])


def _courses(instance: Instance, prices: Prices) -> list[TimeSeries]:
    """Mean, least and largest price over the nodes of each type, slot by slot; doubles are added without an error."""
    kind = instance.public("").type_of_node.tolist()
    shown: dict[tuple[int, int], list[Fraction | float]] = {}
    for (node, slot), price in prices.items():
        shown.setdefault((kind[node], slot), []).append(price)
    found = []
    for number, each in enumerate(instance.node_types):
        rows = [shown.get((number, slot), []) for slot in range(1, instance.slots + 1)]
        means = [_sum(row) / max(1, each.count) for row in rows]
        least = [Fraction(min(row)) if len(row) == each.count and row else Fraction(0) for row in rows]
        found.append(TimeSeries(each.name, means, least, [Fraction(max(row, default=0)) for row in rows]))
    return [course for course, each in zip(found, instance.node_types, strict=True) if each.count]


def _sum(prices: Sequence[Fraction | float]) -> Fraction:
    if all(isinstance(price, float) for price in prices):
        return Fraction(math.fsum(prices))
    return sum((Fraction(price) for price in prices), Fraction(0))


def find_reasons(instance: Instance, decisions: Sequence[Decision | None], one_node: bool = False) -> dict[int, str]:
    """Why each rejected task was rejected, a key of `REASONS`: exactly, by what earlier tasks had left."""
    one_node = one_node or instance.schedules is ScheduleKind.ONE_NODE
    cells, start = _cells(decisions)
    public = instance.public("")
    kind = public.type_of_node
    compute, memory = (
        np.repeat(amount[kind][None, :], instance.slots, axis=0) for amount in (public.compute, public.memory_mb)
    )
    taken = np.array([decision is not None for decision in decisions], dtype=np.bool_)
    tasks = instance.rate, instance.memory_mb, instance.work, first_slots(instance), instance.deadline
    # A task changes nodes within a group: from one entry to the next.
    group = np.arange(len(kind) + 1) if one_node else np.array([0, len(kind)])
    found = _find_reasons(cells, start, taken, servable(instance), *tasks, kind, group, compute, memory)
    return {i: (IMPOSSIBLE, FULL, DEAR)[found[i]] for i in np.flatnonzero(~taken).tolist()}


@compiled
def _find_reasons(  # type: ignore[no-untyped-def]
    cells, start, taken, can, rate, need, work, first, deadline, kind, group, compute, memory
):
    """(I,) of each rejected task 0, 1 or 2: impossible, no room, declined; `compute`, `memory` (T, K) are used up."""
    found = np.zeros(len(work), np.int64)
    for i in range(len(work)):
        if taken[i]:
            for cell in range(start[i], start[i + 1]):
                node, slot = cells[cell, 0], cells[cell, 1] - 1
                compute[slot, node] -= rate[i, kind[node]]
                memory[slot, node] -= need[i]
        elif can[i]:
            top = rate[i].max()
            found[i] = 1
            for j in range(len(group) - 1):
                done = 0
                for slot in range(first[i] - 1, deadline[i]):
                    best = 0
                    for node in range(group[j], group[j + 1]):
                        each = rate[i, kind[node]]
                        if each > best and each <= compute[slot, node] and need[i] <= memory[slot, node]:
                            best = each
                            if best == top:
                                break
                    done += best
                    if done >= work[i]:
                        found[i] = 2
                        break
                if found[i] == 2:
                    break
    return found
