"""Compile every kernel once, by use."""

from __future__ import annotations

from itertools import product

from instances.lora.format import FORMAT, parse
from instances.lora.model import Instance


def small() -> Instance:
    """An instance that takes no time."""
    task = {
        "arrival": 1, "deadline": 3, "memory_mb": 1, "work": 3, "bid": 9, "rate": [2, 1], "energy_wh": [1, 1],
        "vendors": [{"price": 0, "delay": 0}, {"price": 1, "delay": 1}],
    }  # fmt: skip
    return parse(
        {
            "format": FORMAT,
            "name": "warm",
            "slots": 3,
            "slot_seconds": 600,
            "base_memory_mb": 1,
            "node_types": [
                {"name": str(g), "count": 2, "compute": 4, "memory_mb": 4, "tariff": [0, 0, 0]} for g in range(2)
            ],
            "tasks": [task, task],
        },
        "warm",
    )


def every_choice() -> list[str]:
    """Every algorithm with every combination of its options: kernels differ by search and arithmetic."""
    from online.lora.registry import entries

    found = []
    for entry in entries().values():
        choices = {key: option.allowed for key, option in entry.options.items() if option.allowed}
        for values in product(*choices.values()):
            given = [f"{key}={value}" for key, value in zip(choices, values, strict=True)]
            found.append(":".join([entry.name, ",".join(given)] if given else [entry.name]))
    return found


def warm_up() -> None:
    """Run every algorithm with every combination of its options."""
    from online.lora.registry import run

    for name in every_choice():
        run(small(), name)
