"""Exact figures about a run beside its cost: waits of jobs and GPU-hours, slowdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from ratiobench.bench.family.checks import Check
from ratiobench.formulations.report import Exact
from ratiobench.instances.cluster.model import Instance, make_costs
from ratiobench.online.outcome import OnlineRun

MEASURES = ("wait", "gpu_wait", "longest")
NAMES = {"wait-gpu-hours": "wait of a GPU-hour", "wait": "wait of a job", "wait-gpus": "wait of a GPU"}


def measures(instance: Instance, run: OnlineRun, checks: Sequence[Check] = ()) -> Mapping[str, Fraction | None]:
    """Mean wait of a job and of a GPU-hour, and the longest wait, in seconds; None of a run that is not valid."""
    if not run.valid or not len(instance.jobs):
        return dict.fromkeys(MEASURES)
    wait, jobs = run.decisions.start - instance.jobs.submit, instance.jobs
    area = jobs.width * jobs.run
    weighted = make_costs(jobs, "wait-gpu-hours").total(run.decisions.start)
    return {
        "wait": Fraction(int(wait.sum()), len(jobs)),
        "gpu_wait": weighted / int(area.sum()),
        "longest": Fraction(int(wait.max())),
    }


def mean_text(instance: Instance, lower: Exact, upper: Exact) -> str:
    """An interval of the cost as a mean: minutes of wait, or a slowdown."""
    weight = make_costs(instance.jobs, instance.cost).total_weight
    if not weight:
        return ""
    unit, name = (1, "mean slowdown") if instance.cost == "slowdown" else (60, f"mean {NAMES[instance.cost]}")
    low, high = (f"{float(Fraction(end) / weight) / unit:,.2f}" for end in (lower, upper))
    return f"{name}: {low}{f' to {high}' * (low != high)}{' min' * (unit > 1)}"
