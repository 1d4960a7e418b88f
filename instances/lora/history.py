"""Days before a day, as one instance: what an algorithm may have learned by then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from instances.errors import InputError
from instances.lora.format import FORMAT, SLOT_LIMIT, document, parse
from instances.lora.model import Instance


def join(days: Sequence[Instance]) -> Instance:
    """The days one after another in time, on the nodes of all of them; a task stays within its own day.

    Raises
    ------
    InputError : days of other nodes or slots, or together of more slots than the format has.
    """
    first, slots = days[0], sum(day.slots for day in days)
    if slots > SLOT_LIMIT:
        problem = f"{len(days)} days have {slots} slots together; more than {SLOT_LIMIT} cannot be history"
        raise InputError("--history", first.name, problem)
    tasks: list[dict[str, Any]] = []
    tariffs: list[list[int]] = [[] for _ in first.node_types]
    before = 0
    for day in days:
        if _cluster(day) != _cluster(first):
            raise InputError("--history", day.name, f"its nodes or slots are not those of {first.name}; 1 is possible")
        told = document(day)
        for task in told["tasks"]:
            task["arrival"], task["deadline"] = task["arrival"] + before, task["deadline"] + before
            if "cost" in task:
                after = slots - before - day.slots
                task["cost"] = [[0] * before + row + [0] * after for row in task["cost"]]
        tasks += told["tasks"]
        for tariff, node in zip(tariffs, told["node_types"], strict=True):
            tariff += node["tariff"]
        before += day.slots
    nodes = [
        {"name": kind.name, "count": kind.count, "compute": kind.compute, "memory_mb": kind.memory_mb, "tariff": tariff}
        for kind, tariff in zip(first.node_types, tariffs, strict=True)
    ]
    name = first.name if len(days) == 1 else f"{first.name} to {days[-1].name}"
    return parse(
        {
            "format": FORMAT,
            "name": name,
            "origin": {"days": [day.name for day in days]},
            "slots": slots,
            "slot_seconds": first.slot_seconds,
            "base_memory_mb": first.base_memory_mb,
            "node_types": nodes,
            "tasks": tasks,
        },
        name,
    )


def setting(day: Instance) -> Mapping[str, str]:
    """What days of one load have in common: their nodes, and their slots."""
    nodes = (f"{kind.count} x {kind.name} of {kind.compute} a slot and {kind.memory_mb} MB" for kind in day.node_types)
    return {"nodes": ", ".join(nodes), "slots": f"{day.slots} of {day.slot_seconds} s"}


def began(day: Instance) -> str:
    """When its first slot begins, in ISO 8601: of the log that it was imported from, or of the trace; else empty."""
    origin = day.origin or {}
    recipe = origin.get("recipe")
    arrivals = recipe.get("arrivals") if isinstance(recipe, dict) else None
    found = origin.get("start") or (arrivals.get("day") if isinstance(arrivals, dict) else None)
    return found[:19] if isinstance(found, str) else ""


def _cluster(day: Instance) -> tuple[object, ...]:
    kinds = [(kind.name, kind.count, kind.compute, kind.memory_mb) for kind in day.node_types]
    return day.slot_seconds, day.base_memory_mb, kinds
