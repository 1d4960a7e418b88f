"""What the family adds to `evaluate`: tiny instances and shipped algorithms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ratiobench.bench.family.capabilities import EvaluationSupport, SizeRange


def tiny_recipe(seed: int, number: int) -> Mapping[str, Any]:
    """Four users with bags of two to five tasks on three machines."""
    return {
        "kind": "users",
        "name": f"tiny_{seed}_{number}",
        "seed": ["evaluate", seed, number],
        "users": 4,
        "tasks": [2, 5],
        "gamma": "1.2",
        "matrix": {"method": "cvb", "machines": 3, "types": 3, "seed": ["evaluate", seed, number]},
    }


EVALUATION = EvaluationSupport(
    tiny_recipe,
    {"parts": SizeRange(1, 30, 6), "days": SizeRange(31, 300, 4)},
    ("greedy", "balance", "online:rule=exact-step"),
)
