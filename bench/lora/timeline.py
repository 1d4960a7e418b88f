"""The time line of a run: load and prices by node type over the slots, and why tasks were rejected."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from bench.family.parts import Course, Refusal, Timeline
from instances.lora.fitting import first_slots, servable
from instances.lora.model import Instance, IntArray
from instances.lora.solution import Decision
from online.lora.run import NO_MIGRATION
from online.outcome import OnlineRun

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
AMOUNTS = {"lam": "price of compute, micro-dollars per sample", "phi": "price of memory, micro-dollars per MB"}
"""Prices as algorithms show them, with the titles of their axes."""
Prices = Mapping[tuple[int, int], Fraction | float]


def timeline(instance: Instance, run: OnlineRun) -> Timeline:
    """Slot by slot: the share of compute used per node type, prices if the run shows any, arrivals and rejections.

    Prices are micro-dollars per sample and per MB. Decisions of tasks are read in the order of arrival.
    """
    slots = range(1, instance.slots + 1)
    used = _use(instance, run.decisions)
    loads = [
        Course(kind.name, [Fraction(int(amount), kind.count * kind.compute) for amount in row])
        for kind, row in zip(instance.node_types, used, strict=True)
        if kind.count * kind.compute
    ]
    admitted = [0] * instance.slots
    for slot, decision in zip(instance.arrival.tolist(), run.decisions, strict=True):
        admitted[slot - 1] += decision is not None
    trace = run.trace
    names = [name for name in AMOUNTS if hasattr(trace, name) and not getattr(trace, "problem", "")]
    shown = {AMOUNTS[name]: _courses(instance, getattr(trace, name)) for name in names}
    refused = [
        Refusal(i, int(instance.arrival[i]), reason, f"bid {int(instance.bid[i]):,}, work {int(instance.work[i]):,}")
        for i, reason in find_reasons(instance, run.decisions, migration=NO_MIGRATION not in run.label).items()
    ]
    since, title = _first_second(instance)
    clock = [_clock_text(since + (slot - 1) * instance.slot_seconds) for slot in slots]
    return Timeline("slot", slots, loads, shown, admitted, refused, REASONS, NOTE if shown else "", clock, title)


def _first_second(instance: Instance) -> tuple[int, str]:
    """The second of the day in which the first slot begins, where the instance's origin knows; and what that is."""
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


def _clock_text(second: int) -> str:
    """``8:10``, ``1 d 8:10`` on the day after; with seconds where there are some."""
    days, rest = divmod(second, DAY)
    text = f"{rest // 3600}:{rest // 60 % 60:02}" + (f":{rest % 60:02}" if rest % 60 else "")
    return f"{days} d {text}" if days else text


def _use(instance: Instance, decisions: Sequence[Decision | None]) -> IntArray:
    """(G, T) samples processed by the nodes of each type."""
    used = np.zeros((len(instance.node_types), instance.slots), dtype=np.int64)
    kind = instance.public("").type_of_node
    for i, decision in enumerate(decisions):
        for node, slot in decision.cells if decision is not None else ():
            used[kind[node], slot - 1] += instance.rate[i, kind[node]]
    return used


def _courses(instance: Instance, prices: Prices) -> list[Course]:
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
        found.append(Course(each.name, means, least, [Fraction(max(row, default=0)) for row in rows]))
    return [course for course, each in zip(found, instance.node_types, strict=True) if each.count]


def _sum(prices: Sequence[Fraction | float]) -> Fraction:
    if all(isinstance(price, float) for price in prices):
        return Fraction(math.fsum(prices))
    return sum((Fraction(price) for price in prices), Fraction(0))


def find_reasons(instance: Instance, decisions: Sequence[Decision | None], *, migration: bool = True) -> dict[int, str]:
    """Why each rejected task was rejected, by task, exactly: a key of `REASONS`.

    Room is what the tasks before it in the order of arrival had left. A task moves from node to node for nothing, so a
    schedule fits if the best rates among the nodes with room, slot by slot from the fastest vendor's delay to the
    deadline, add up to its work. Without `migration` the rates of one node have to, in the slots in which it has room.
    """
    public = instance.public("")
    kind = public.type_of_node
    compute, memory = (
        np.repeat(amount[kind][:, None], instance.slots, axis=1) for amount in (public.compute, public.memory_mb)
    )
    can, first = servable(instance), first_slots(instance)
    found = {}
    for i, decision in enumerate(decisions):
        rate = instance.rate[i, kind]
        if decision is not None:
            for node, slot in decision.cells:
                compute[node, slot - 1] -= rate[node]
                memory[node, slot - 1] -= instance.memory_mb[i]
        elif not can[i]:
            found[i] = IMPOSSIBLE
        else:
            window = slice(int(first[i]) - 1, int(instance.deadline[i]))
            fits = (rate[:, None] <= compute[:, window]) & (instance.memory_mb[i] <= memory[:, window])
            rates = np.where(fits, rate[:, None], 0)
            most = rates.max(axis=0, initial=0).sum() if migration else rates.sum(axis=1).max(initial=0)
            found[i] = DEAR if most >= instance.work[i] else FULL
    return found
