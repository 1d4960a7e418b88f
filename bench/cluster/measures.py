"""Figures of schedules as operators read them: waits, slowdown, utilisation, by group and day; exact ones of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from msgspec import Struct

from ratiobench.bench.family.checks import Check
from ratiobench.bench.results.intervals import quantile
from ratiobench.formulations.report import Exact
from ratiobench.instances.arrays import IntArray
from ratiobench.instances.cluster.model import DAY, NONE, Instance, make_costs
from ratiobench.instances.cluster.waits import Flags, group_jobs
from ratiobench.online.outcome import OnlineRun

MEASURES = ("wait", "gpu_wait", "longest")
NAMES = {"wait-gpu-hours": "wait of a GPU-hour", "wait": "wait of a job", "wait-gpus": "wait of a GPU"}
MOST_ACCOUNTS = 10  # Rows of the table of accounts; the others are together in one more
LEAST_PERIODS = 10  # Weeks, else days, that a paired interval needs


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


def list_unkept(instance: Instance) -> list[str]:
    """The rules of the cluster that bind policies and not OPT, in words."""
    bounded = any(bound != NONE for part in instance.partitions for bound in (part.user_gpus, part.account_gpus))
    rules = {"quotas of accounts": instance.quotas, "bounds of users and accounts": bounded}
    return [name for name, is_there in rules.items() if is_there]


class Figures(Struct, frozen=True):
    """Waits of some jobs, in seconds."""

    jobs: int  # how many
    gpu_hours: float  # of them together
    wait: float  # mean over jobs
    gpu_wait: float  # mean over GPU-hours
    p95: float  # the least wait that 95 % of the jobs do not exceed
    longest: float
    slowdown: float  # mean bounded slowdown


class Difference(Struct, frozen=True):
    """How much more a mean is than under today's policy; the 95 % interval is over days or weeks, paired."""

    mean: float
    low: float | None
    high: float | None
    periods: int
    unit: str


def measure(instance: Instance, start: IntArray, chosen: Flags) -> Figures:
    """Of the chosen jobs of a schedule (or log); jobs without a start do not count."""
    chosen = chosen & (start >= 0)
    jobs = instance.jobs
    run, area = jobs.run[chosen], (jobs.width * jobs.run)[chosen].astype(float)
    wait = (start - jobs.submit)[chosen]
    if not len(wait):
        return Figures(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    return Figures(
        jobs=len(wait),
        gpu_hours=float(area.sum()) / 3600,
        wait=float(wait.mean()),
        gpu_wait=float((wait * area).sum() / area.sum()),
        p95=float(np.percentile(wait, 95, method="inverted_cdf")),
        longest=float(wait.max()),
        slowdown=float(np.maximum(1, (wait + run) / np.maximum(run, 10)).mean()),
    )


def group_by_account(instance: Instance) -> dict[str, Flags]:
    """The jobs of the largest accounts, the others together at the end; none for a log with a single account."""
    groups = [(name or "(none)", mine) for name, mine in group_jobs(instance, "account")]
    largest, others = dict(groups[:MOST_ACCOUNTS]), [mine for _, mine in groups[MOST_ACCOUNTS:]]
    if others:
        largest[f"{len(others)} others"] = np.any(others, axis=0)
    return largest if len(groups) > 1 else {}


def compare(instance: Instance, start: IntArray, today: IntArray, weight: IntArray, chosen: Flags) -> Difference:
    """Compare weighted mean waits of two schedules of the same jobs, paired by the week (or day) of submit."""
    more = ((start - today) * weight)[chosen].astype(float)
    weights, since = weight[chosen].astype(float), (instance.jobs.submit[chosen] - instance.begin)
    if not len(more):
        return Difference(0.0, None, None, 0, "days")
    mean = float(more.sum() / weights.sum())
    # Jobs of neighbouring days share a queue, so weeks are taken if there are enough
    unit, seconds = ("weeks", 7 * DAY) if np.ptp(since) >= LEAST_PERIODS * 7 * DAY else ("days", DAY)
    _, period = np.unique(since // seconds, return_inverse=True)
    residuals = np.bincount(period, weights=more) - mean * np.bincount(period, weights=weights)
    count = len(residuals)
    if count < LEAST_PERIODS:
        return Difference(mean, None, None, count, unit)
    # Student's interval over the residuals of the ratio estimator
    half = quantile(count - 1) * math.sqrt(count / (count - 1) * float((residuals**2).sum())) / float(weights.sum())
    return Difference(mean, mean - half, mean + half, count, unit)


def list_days(instance: Instance) -> list[int]:
    """Borders of the days of the window of submits, counted from the beginning."""
    span = int(instance.jobs.submit.max(initial=instance.begin)) - instance.begin
    return [instance.begin + DAY * day for day in range(span // DAY + 2)]


def wait_by_day(instance: Instance, start: IntArray) -> list[float | None]:
    """Mean wait of the jobs submitted on each day, seconds; None for a day without any."""
    known, days = start >= 0, len(list_days(instance)) - 1
    day = np.maximum(0, instance.jobs.submit - instance.begin)[known] // DAY
    count = np.bincount(day, minlength=days)
    total = np.bincount(day, weights=(start - instance.jobs.submit)[known], minlength=days)
    return [float(t / c) if c else None for t, c in zip(total, count, strict=True)]


def utilisation(instance: Instance, start: IntArray) -> float:
    """GPU-seconds in use from the beginning to the last submit over those of nodes in service."""
    return list_utilisation(instance, start, [instance.begin, int(instance.jobs.submit.max(initial=instance.begin))])[0]


def list_utilisation(instance: Instance, start: IntArray, borders: Sequence[int]) -> list[float]:
    """The share of GPU-seconds in use between neighbouring borders; jobs that ran at the beginning use theirs."""
    jobs, running, known = instance.jobs, instance.running, start >= 0
    begins = np.concatenate([start[known], running.start])
    ends = np.concatenate([(start + jobs.run)[known], running.end])
    width = np.concatenate([jobs.width[known], running.nodes * running.gpus])
    shares = []
    for low, high in pairwise(borders):
        used = ((np.clip(ends, low, high) - np.clip(begins, low, high)) * width).sum()
        shares.append(float(used / max(1, instance.gpu_seconds(low, high))))
    return shares
