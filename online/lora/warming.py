"""Compile every kernel once, by use."""

from __future__ import annotations

from instances.lora.format import FORMAT, parse
from instances.lora.model import Instance


def _small() -> Instance:
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


def warm_up() -> None:
    """Run every algorithm with every value of each of its options."""
    from online.lora.registry import entries, run

    instance = _small()
    for entry in entries().values():
        run(instance, entry.name)
        for key, option in entry.options.items():
            for value in option.allowed or ():
                if value != option.default:
                    run(instance, f"{entry.name}:{key}={value}")
