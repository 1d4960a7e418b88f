"""Figures about a run beside its cost: deadlines met, time, money, and how evenly the cost lies on the GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from ratiobench.bench.family.checks import Check
from ratiobench.formulations.tenants.check import check
from ratiobench.instances.tenants.model import Instance
from ratiobench.online.outcome import OnlineRun

MEASURES = ("met", "lateness", "flow", "money", "spread", "balanced")
ROUND = 10**6


def measures(instance: Instance, run: OnlineRun, checks: Sequence[Check] = ()) -> Mapping[str, Fraction | None]:
    """Exact figures by name, but for the last two, which are rounded; None where one is undefined.

    Returns money : dollars of GPU time per job.
    """
    found = check(instance, run.decisions)

    def each(total: int, unit: int = 1) -> Fraction | None:
        return Fraction(total, unit * instance.jobs) if instance.jobs else None

    mean = found.cost / instance.gpus
    spread = Fraction(round(found.spread / mean * ROUND), ROUND) if found.cost else None
    return {
        "met": each(found.met),
        "lateness": each(found.lateness),
        "flow": each(found.flow),
        "money": each(found.money, 10**6),
        "spread": spread,
        "balanced": None if spread is None else 1 + spread / instance.gpus,
    }
