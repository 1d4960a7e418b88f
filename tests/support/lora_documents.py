"""Instances of family `lora` written down in tests: only what is not said here is said there."""

from collections.abc import Iterable, Mapping
from typing import Any

from ratiobench.instances.lora.format import FORMAT, parse
from ratiobench.instances.lora.model import Instance


def make_node(compute: int, memory_mb: int, count: int = 1, **fields: Any) -> dict[str, Any]:
    """A node type; electricity is free unless it has a `tariff`."""
    return {"count": count, "compute": compute, "memory_mb": memory_mb} | fields


def make_document(
    slots: int, nodes: Iterable[Mapping[str, Any]], tasks: Iterable[Mapping[str, Any]], **fields: Any
) -> dict[str, Any]:
    """The document of an instance.

    A task arrives in slot 1, may run until the end, does 1 sample a slot in 1 MB, has 1 sample to do, and needs
    neither a vendor nor energy, unless it says otherwise.
    """
    types = [{"name": f"g{g}", "count": 1, "tariff": [0] * slots} | dict(node) for g, node in enumerate(nodes)]
    plain = {"arrival": 1, "deadline": slots, "memory_mb": 1, "work": 1, "rate": [1] * len(types), "vendors": []}
    free = {"energy_wh": [0] * len(types)}
    return {
        "format": FORMAT,
        "name": "made",
        "slots": slots,
        "slot_seconds": 1,
        "base_memory_mb": 0,
        "node_types": types,
        "tasks": [plain | ({} if "cost" in task else free) | dict(task) for task in tasks],
    } | fields


def make_instance(
    slots: int, nodes: Iterable[Mapping[str, Any]], tasks: Iterable[Mapping[str, Any]], **fields: Any
) -> Instance:
    """The instance in such a document."""
    return parse(make_document(slots, nodes, tasks, **fields))
