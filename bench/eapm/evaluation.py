"""Exact figures about a run, and what the family adds to `evaluate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from ratiobench.bench.family.capabilities import EvaluationSupport, SizeRange
from ratiobench.bench.family.checks import Check
from ratiobench.formulations.eapm.check import check
from ratiobench.instances.eapm.model import Instance, find_anchors
from ratiobench.online.outcome import OnlineRun

MEASURES = ("energy", "makespan", "negative_shares", "early_finish")


def measures(instance: Instance, run: OnlineRun, checks: Sequence[Check] = ()) -> Mapping[str, Fraction | None]:
    found = check(instance, run.decisions)
    known = find_anchors(instance, instance.etc_ms * instance.apc_mw)
    least = instance.energy_price * known.least_cost
    systems = run.counts.get("systems")

    def part(name: str) -> Fraction | None:
        return Fraction(run.counts[name], systems) if systems else None

    return {
        "energy": Fraction(found.energy_cost, least) if least else None,
        "makespan": Fraction(found.makespan_ms, known.greedy_ms),
        "negative_shares": part("negative_shares"),
        "early_finish": part("below_makespan"),
    }


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
