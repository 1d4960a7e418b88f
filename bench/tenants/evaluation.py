"""Exact figures about a run, and what the family adds to `evaluate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from ratiobench.bench.family.capabilities import EvaluationSupport, Loss, LossReport, SizeRange
from ratiobench.bench.family.checks import Check
from ratiobench.formulations.tenants.check import check
from ratiobench.instances.tenants.model import Instance, Solution, Start
from ratiobench.online.outcome import OnlineRun

MEASURES = ("met", "lateness", "flow", "money", "spread", "balanced")
ROUND = 10**6


def measures(instance: Instance, run: OnlineRun, checks: Sequence[Check] = ()) -> Mapping[str, Fraction | None]:
    """Exact figures by name, but for the last two, which are rounded; money: dollars of GPU time per job."""
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


_TRACES = ("pai", "philly", "helios")


def tiny_recipe(seed: int, number: int) -> Mapping[str, Any]:
    """Eight jobs of a trace on two to four GPUs at a load of 0.9, 1.3 or 2."""
    return {
        "kind": "online",
        "name": f"tiny_{seed}_{number}",
        "seed": ["evaluate", seed, number],
        "jobs": 8,
        "gpus": ([1, 1, 1], [1, 0, 1], [1, 1, 2])[number % 3],
        "load": ("0.9", "1.3", "2")[number // 3 % 3],
        "trace": _TRACES[number % 3],
    }


def explain_loss(instance: Instance, decisions: Solution, best: Solution) -> LossReport:
    losses, parts, gains = [], {"lateness": 0, "time": 0, "money": 0}, 0
    for j, (ours, other) in enumerate(zip(decisions, best, strict=True)):
        if ours is None or other is None:
            continue
        cost, best_cost = _parts(instance, j, ours), _parts(instance, j, other)
        more = sum(cost.values()) - sum(best_cost.values())
        for name in parts:
            parts[name] += cost[name] - best_cost[name]
        if more > 0:
            losses.append(_dearer(instance, j, decisions, ours, other))
        else:
            gains -= more
    losses.sort(key=lambda each: (-each.amount, each.arrival))
    total = sum(each.amount for each in losses)
    named = ", ".join(f"{amount:+,} by {name}" for name, amount in parts.items())
    summary = [
        f"{len(losses)} jobs cost {total:,} more than in the best known solution, the others {gains:,} less (1/100 "
        f"micro-dollar); all together {named}."
    ]
    return LossReport(summary, losses)


def _parts(instance: Instance, j: int, start: Start) -> dict[str, int]:
    kind = int(instance.gpu_type[start.gpu])
    run, sensitivity = int(instance.run[j][kind]), int(instance.cost_sensitivity[j])
    end = start.tick + run
    return {
        "lateness": 100 * instance.late_penalty * max(0, end - int(instance.deadline[j])),
        "time": (100 - sensitivity) * instance.theta * (end - int(instance.release[j])),
        "money": sensitivity * instance.gpu_types[kind].price * run,
    }


def _dearer(instance: Instance, j: int, decisions: Solution, ours: Start, other: Start) -> Loss:
    cost, best_cost = _parts(instance, j, ours), _parts(instance, j, other)
    more = sum(cost.values()) - sum(best_cost.values())

    def where(start: Start) -> str:
        name = instance.gpu_types[int(instance.gpu_type[start.gpu])].name
        return f"at tick {start.tick} on GPU {start.gpu} ({name})"

    reason = max(cost, key=lambda name: cost[name] - best_cost[name])
    text = f"job {j}, released at tick {int(instance.release[j])}, deadline {int(instance.deadline[j])}, starts "
    text += f"{where(ours)}; in the best known solution {where(other)}. It costs {more:,} more, most of it by {reason}"
    before = [
        i
        for i, each in enumerate(decisions)
        if each is not None and i != j and each.gpu == ours.gpu and int(instance.release[j]) <= each.tick < ours.tick
    ]
    if before:
        named = ", ".join(f"job {i}" for i in before[:3]) + f" and {len(before) - 3} more" * (len(before) > 3)
        text += f"; after its release this GPU started {named} first"
    figures = {
        "arrival": j, "kind": "dearer", "release": int(instance.release[j]), "deadline": int(instance.deadline[j]),
        "start": list(ours), "best_start": list(other), "cost": cost, "best_cost": best_cost,
        "started_before": before[:10],
    }  # fmt: skip
    return Loss(j, more, f"{text}.", figures)


EVALUATION = EvaluationSupport(
    tiny_recipe,
    {"parts": SizeRange(9, 60, 10), "days": SizeRange(61, 200, 5)},
    ("edf", "insertion", "replan", "lookahead"),
    explain_loss,
)
