"""What the family adds to `evaluate`: tiny instances and shipped algorithms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from ratiobench.bench.family.capabilities import EvaluationSupport, SizeRange
from ratiobench.bench.family.checks import Check
from ratiobench.formulations.eapm.check import check
from ratiobench.instances.eapm.model import Instance
from ratiobench.online.outcome import OnlineRun

MEASURES = ("energy", "makespan", "negative_shares", "early_finish")


def measures(instance: Instance, run: OnlineRun, checks: Sequence[Check] = ()) -> Mapping[str, Fraction | None]:
    """Exact figures by name; None where one is undefined."""
    found = check(instance, run.decisions)
    cost = instance.cost
    least = sum(int(tasks) * int(cost[kind].min()) for kind, tasks in zip(instance.kind, instance.tasks, strict=True))
    energy = instance.etc_ms * instance.apc_mw
    loads = [0] * len(instance.machines)
    for kind, tasks in zip(instance.kind.tolist(), instance.tasks.tolist(), strict=True):
        cheapest = int(energy[kind].argmin())
        loads[cheapest] += tasks * int(instance.etc_ms[kind, cheapest])
    systems = run.counts.get("systems")

    def part(name: str) -> Fraction | None:
        return Fraction(run.counts[name], systems) if systems else None

    return {
        "energy": Fraction(found.energy_cost, least) if least else None,
        "makespan": Fraction(found.makespan_ms, max(loads)),
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
