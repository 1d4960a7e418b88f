"""Compile every kernel once, by use."""

from __future__ import annotations

from instances.eapm.format import FORMAT, parse
from instances.eapm.model import Instance


def small() -> Instance:
    """An instance that takes no time."""
    return parse(
        {
            "format": FORMAT,
            "name": "warm",
            "energy_price": 1,
            "machines": ["a", "b"],
            "task_types": [
                {"name": "slow", "etc_ms": [2, 5], "apc_mw": [3, 1]},
                {"name": "fast", "etc_ms": [1, 1], "apc_mw": [2, 1]},
            ],
            "users": [{"type": i % 2, "tasks": 1 + 3 * i, "price": 40} for i in range(4)],
        },
        "warm",
    )


def warm_up() -> None:
    """Run every algorithm with every combination of its options: kernels may differ by them."""
    from online.eapm.registry import entries, run

    instance = small()
    for entry in entries().values():
        for options in entry.choices():
            run(instance, f"{entry.name}:{options}" if options else entry.name)
