"""Days before a day, as one instance: what an algorithm may have learned by then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from operator import attrgetter

import numpy as np

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.lora.format import SLOT_LIMIT, document, parse
from ratiobench.instances.lora.model import TASK_COLUMNS, Instance, IntArray, Public


def join(days: Sequence[Instance]) -> Instance:
    """The days one after another in time, on the nodes of all of them; a task stays within its own day."""
    first, slots = days[0], sum(day.slots for day in days)
    if slots > SLOT_LIMIT:
        problem = f"{len(days)} days have {slots} slots together; more than {SLOT_LIMIT} cannot be history"
        raise InputError("history", first.name, problem)
    parts = [document(day) for day in days]
    before = 0
    for day, part in zip(days, parts, strict=True):
        if _cluster(day) != _cluster(first):
            raise InputError("history", day.name, f"its nodes or slots are not those of {first.name}")
        after = slots - before - day.slots
        for task in part["tasks"]:
            task["arrival"] += before
            task["deadline"] += before
            if "cost" in task:
                task["cost"] = [[0] * before + row + [0] * after for row in task["cost"]]
        before += day.slots
    name = first.name if len(days) == 1 else f"{first.name} to {days[-1].name}"
    nodes = [
        node | {"tariff": [price for part in parts for price in part["node_types"][g]["tariff"]]}
        for g, node in enumerate(parts[0]["node_types"])
    ]
    whole = {
        "format": max(part["format"] for part in parts),
        "name": name,
        "origin": {"days": [day.name for day in days]},
        "slots": slots,
        "node_types": nodes,
        "tasks": [task for part in parts for task in part["tasks"]],
    }
    return parse(parts[0] | whole, name)


def is_earlier(history: Instance, tested: Instance) -> bool:
    """Whether a history by its dates ends before the other begins; False: not known; InputError: it comes later."""
    (clock, begin), (other, day) = _read_date(history), _read_date(tested)
    if begin is None or day is None or clock != other:
        return False
    under_test = f"not before the instance under test, {shorten(tested.name)}, begins ({day:{_DATE}})"
    if begin >= day:
        raise InputError(history.name, "start", f"begins on {begin:{_DATE}}, {under_test}")
    last = begin + timedelta(seconds=history.slot_seconds * (int(history.arrival.max(initial=1)) - 1))
    if last >= day:
        raise InputError(history.name, "start", f"has arrivals up to {last:{_DATE}}, {under_test}")
    return True


_DATE = "%Y-%m-%d %H:%M"


def _read_date(day: Instance) -> tuple[str, datetime | None]:
    """The trace whose days it counts, empty for none, and when its first slot begins, None if that is not known."""
    origin = day.origin or {}
    recipe = origin.get("recipe")
    arrivals = recipe.get("arrivals") if isinstance(recipe, dict) else None
    text, trace, first = origin.get("start"), "", 1
    if not text and isinstance(recipe, dict) and isinstance(arrivals, dict):
        text, trace, first = arrivals.get("day"), str(arrivals.get("trace", "")), recipe.get("start", 1)
    slots = first - 1 if type(first) is int and 1 <= first <= SLOT_LIMIT else 0
    try:
        begin = datetime.fromisoformat(text[:19] if isinstance(text, str) else "").replace(tzinfo=UTC)
        begin += timedelta(seconds=day.slot_seconds * slots)
        begin + timedelta(seconds=day.slot_seconds * day.slots)  # the end of the instance is a date, too
    except (ValueError, OverflowError):
        return "", None
    return trace, begin


def split(history: Instance, like: Instance | Public) -> list[Instance]:
    """The days that an instance joins, in order, on a cluster like this one; counts of nodes may differ."""
    require_history(history, like)
    name, slots = history.name, like.slots
    day = (history.arrival - 1) // slots
    late = np.flatnonzero((history.deadline - 1) // slots != day)
    if len(late):
        problem = f"task {late[0]} lasts over the end of a day of {slots} slots"
        raise InputError(name, f"tasks[{late[0]}].deadline", problem)
    return [_day(history, np.flatnonzero(day == each), each * slots, slots) for each in range(history.slots // slots)]


def require_history(history: Instance, like: Instance | Public) -> None:
    """InputError if it is no whole number of days like the instance under test, or of another cluster."""
    if history.slots % like.slots:
        days = f"whole number of days of {like.slots} slots, as the instance under test has"
        raise InputError(history.name, "slots", f"{history.slots} slots are no {days}")
    require_cluster(history, like)


def tell_history(history: Instance, tested: Instance) -> str:
    """What there is to learn from, in words: days, tasks, and nodes if today has more or fewer."""
    days = history.slots // tested.slots
    counts = [sum(kind.count for kind in each.node_types) for each in (history, tested)]
    other = f", on {counts[0]} nodes where the instance has {counts[1]}" if counts[0] != counts[1] else ""
    return f"{days} {'day' if days == 1 else 'days'}, {history.tasks:,} tasks{other} ({history.name})"


def require_cluster(history: Instance, like: Instance | Public) -> None:
    """InputError where the history has other nodes (their numbers may differ) or slots of another length."""
    facts = [(name, getattr(history, name), getattr(like, name)) for name in ("slot_seconds", "base_memory_mb")]
    for g, kinds in enumerate(zip(history.node_types, like.node_types, strict=False)):
        facts += [(f"node_types[{g}].{name}", *map(attrgetter(name), kinds)) for name in ("compute", "memory_mb")]
    facts.append(("node_types", len(history.node_types), len(like.node_types)))
    for field, own, other in facts:
        if own != other:
            raise InputError(history.name, field, f"{shorten(own)}, and the instance under test has {shorten(other)}")


def _day(history: Instance, result: IntArray, before: int, slots: int) -> Instance:
    span = slice(before, before + slots)
    chosen = choose(history, result)
    return replace(
        chosen,
        slots=slots,
        arrival=chosen.arrival - before,
        deadline=chosen.deadline - before,
        node_types=tuple(replace(kind, tariff=kind.tariff[span]) for kind in history.node_types),
        explicit_cost={i: cost[:, span] for i, cost in chosen.explicit_cost.items()},
    )


def choose(instance: Instance, result: IntArray) -> Instance:
    """The instance with these of its tasks only, in their order."""
    count = np.diff(instance.vendor_start)[result]
    spans = [np.arange(instance.vendor_start[i], instance.vendor_start[i + 1]) for i in result.tolist()]
    vendors = np.concatenate([np.zeros(0, np.int64), *spans])
    given = instance.explicit_cost
    return replace(
        instance,
        **{name: getattr(instance, name)[result] for name in TASK_COLUMNS},
        explicit_cost={row: given[i] for row, i in enumerate(result.tolist()) if i in given},
        vendor_start=np.concatenate([[0], np.cumsum(count)]).astype(np.int64),
        vendor_price=instance.vendor_price[vendors],
        vendor_delay=instance.vendor_delay[vendors],
        cache={},
    )


def _cluster(day: Instance) -> tuple[object, ...]:
    kinds = [(kind.name, kind.count, kind.compute, kind.memory_mb) for kind in day.node_types]
    return day.slot_seconds, day.base_memory_mb, kinds
