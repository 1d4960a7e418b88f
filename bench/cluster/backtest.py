"""Backtest: the jobs of a log under many policies, against OPT, with what the answer rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ratiobench.bench.cluster import figures
from ratiobench.bench.cluster.changes import change, list_changes
from ratiobench.bench.cluster.figures import Difference, Figures, compare, measure
from ratiobench.bench.running.heartbeat import set_current
from ratiobench.bench.running.machine import usable_cores
from ratiobench.bench.running.pool import SpawnPool
from ratiobench.formulations.report import UNLIMITED
from ratiobench.instances.arrays import IntArray
from ratiobench.instances.cluster.format import content_hash
from ratiobench.instances.cluster.model import Instance, Schedule, make_costs
from ratiobench.instances.cluster.waits import PARTS, blocked
from ratiobench.instances.io.errors import InputError
from ratiobench.online.cluster.algorithms import knows_lengths
from ratiobench.online.cluster.registry import REGISTRY

FORMAT = "ratiobench/cluster-backtest/1"
JUDGED_BY = ("wait", "wait-gpu-hours")  # Costs whose OPT is enclosed
TODAY, LOG = "easy", "log"
APART, APART_SECONDS = 0.25, 300  # A replay matches if blocked parts differ by at most so much of the log's, or seconds


class Span(Struct, frozen=True):
    """An interval."""

    low: float
    high: float


class Optimum(Struct, frozen=True):
    """OPT of a cost over all jobs: the mean lies between `lower` and `upper`, both proved.

    Parameters
    ----------
    lower, upper : seconds of wait, of a job or a GPU-hour.
    proof : of the lower end.
    seconds : that the search was given.
    """

    lower: float
    upper: float
    proof: str
    seconds: float


class Policy(Struct, frozen=True):
    """One policy on the log.

    Parameters
    ----------
    name : with options.
    figures : of the jobs that are judged.
    costs : mean of each cost over all jobs, seconds.
    shares : of each cost the share of the possible gain over today's policy; None where nothing is to be gained.
    differences : of each cost the difference from today's policy.
    accounts, widths : figures of groups of judged jobs.
    utilisation : of the window.
    oracle : it knows lengths before jobs end.
    """

    name: str
    figures: Figures
    costs: dict[str, float]
    shares: dict[str, Span | None]
    differences: dict[str, Difference]
    accounts: dict[str, Figures]
    widths: dict[str, Figures]
    utilisation: float
    oracle: bool = False


class Match(Struct, frozen=True):
    """Whether the replay of today's policy is like the log: mean seconds of each part of the waits."""

    log: dict[str, float]
    replay: dict[str, float]
    exact: bool
    matches: bool


class WhatIf(Struct, frozen=True):
    """The log after a change of the cluster: figures and utilisation of today's and the best policy, and OPT."""

    change: str
    policies: dict[str, Figures]
    utilisation: dict[str, float]
    optima: dict[str, Optimum]


class Days(Struct, frozen=True):
    """Means of each day of submits, by name: the log, today's policy, the best one, the best schedule known."""

    waits: dict[str, list[float | None]]
    utilisation: dict[str, list[float]]


class Backtest(Struct, frozen=True):
    """The result; times in seconds.

    Parameters
    ----------
    instance, name : hash and label of the instance.
    jobs, judged : how many jobs, and how many of them the tables of waits count.
    today : today's policy.
    recommended : the policy that is recommended; empty for none.
    best : that one, or else the one with the least mean wait that knows no lengths.
    log : figures of the log itself; None if it has no starts.
    policies : today's first, the others by mean wait.
    optima : OPT by cost; empty if it was not looked for.
    """

    format: str
    instance: str
    name: str
    jobs: int
    judged: int
    today: str
    recommended: str
    best: str
    log: Policy | None
    policies: list[Policy]
    optima: dict[str, Optimum]
    match: Match | None
    what_ifs: list[WhatIf]
    days: Days


def run_backtest(
    instance: Instance, policies: Sequence[str], today: str = TODAY, what_if: Sequence[str] = (), seconds: float = 20.0
) -> Backtest:
    """Replay the jobs under every policy and enclose OPT.

    Parameters
    ----------
    instance : the cluster and its jobs.
    policies : names with options, or import paths.
    today : the policy that runs the cluster today.
    what_if : changes of the cluster (`changes.GRAMMAR`).
    seconds : that OPT of each cost is looked for; 0: not at all.

    Returns
    -------
    The result.

    Raises
    ------
    InputError : a policy or change that cannot be used.
    """
    changes = {text: change(instance, text) for word in what_if for text in list_changes(instance, word)}
    names = list(dict.fromkeys((today, *policies)))
    starts = {name: _replay(instance, name) for name in names}
    log = _has_log(instance)
    with _enclosing(seconds) as enclose:
        asked = {cost: enclose(instance, cost, _best(instance, cost, starts.values())) for cost in JUDGED_BY}
        rows = [_judge(instance, name, schedule.start, starts[today].start) for name, schedule in starts.items()]
        rows.sort(key=lambda row: (row.name != today, row.figures.wait))
        match = _match(instance, starts[today]) if log else None
        recommended = "" if match is not None and not match.matches else _recommend(rows)
        choice = recommended or min(rows, key=lambda row: (row.oracle, row.figures.wait)).name
        later = []
        for text, changed in changes.items():
            replays = {name: _replay(changed, name) for name in dict.fromkeys((today, choice))}
            asks = {cost: enclose(changed, cost, _best(changed, cost, replays.values())) for cost in JUDGED_BY}
            later.append((text, changed, replays, asks))
        set_current("looking for OPT")
        found = {cost: ask.result() for cost, ask in asked.items() if ask is not None}
        what_ifs = [_what_if(*each) for each in later]
    optima = {cost: _optimum(instance, cost, each, starts.values()) for cost, each in found.items()}
    now = next(row for row in rows if row.name == today).costs
    shown: dict[str, IntArray] = {LOG: instance.jobs.logged} if log else {}
    shown |= {name: starts[name].start for name in (today, choice)}
    if "wait" in found and not np.array_equal(found["wait"][1], shown[choice]):
        shown["best schedule known"] = found["wait"][1]
    return Backtest(
        format=FORMAT,
        instance=content_hash(instance),
        name=instance.name,
        jobs=len(instance.jobs),
        judged=int(instance.judged_jobs.sum()),
        today=today,
        recommended=recommended,
        best=choice,
        log=_judge(instance, LOG, instance.jobs.logged, starts[today].start) if log else None,
        policies=[
            replace(row, shares={cost: _share(row.costs[cost], now[cost], each) for cost, each in optima.items()})
            for row in rows
        ],
        optima=optima,
        match=match,
        what_ifs=what_ifs,
        days=Days(
            {name: figures.wait_by_day(instance, start) for name, start in shown.items()},
            {name: figures.utilisation_by_day(instance, start) for name, start in shown.items()},
        ),
    )


def _replay(instance: Instance, name: str) -> Schedule:
    from ratiobench.bench.cluster import FAMILY

    set_current(f"replaying the log under {name}")
    run = FAMILY.run(instance, name)
    if not run.valid:
        raise InputError("--policies", name, str(run.violations[0]))
    schedule: Schedule = run.decisions
    return schedule


def _is_oracle(name: str) -> bool:
    spec = REGISTRY.parse(name)
    return spec.entry is not None and knows_lengths(name)


def _mean(instance: Instance, cost: str, start: IntArray) -> float:
    return make_costs(instance.jobs, cost).mean(start)


def _best(instance: Instance, cost: str, schedules: Any) -> Schedule:
    costs = make_costs(instance.jobs, cost)
    best: Schedule = min(schedules, key=lambda schedule: costs.total(schedule.start))
    return best


Found = tuple[tuple[Fraction, Fraction, str, float], IntArray]
Enclose = Callable[[Instance, str, Schedule], "Future[Found] | None"]


@contextmanager
def _enclosing(seconds: float) -> Iterator[Enclose]:
    """What looks for OPT in processes of its own, one for each cost as far as cores allow."""
    if not seconds:
        yield lambda instance, cost, start: None
        return
    pool = SpawnPool(min(len(JUDGED_BY), usable_cores()))
    try:
        yield lambda instance, cost, start: pool.submit(_enclose, instance, cost, seconds, start)
    finally:
        pool.stop()


def _enclose(instance: Instance, cost: str, seconds: float, start: Schedule) -> Found:
    from ratiobench.formulations.cluster.solve import solve

    report = solve(instance, cost, effort=UNLIMITED, seconds=seconds, start=start)
    ends = Fraction(report.lower), Fraction(report.upper), str(report.proof), seconds
    return ends, report.solution.start


def _optimum(instance: Instance, cost: str, found: Found, schedules: Any) -> Optimum:
    """The mean of the interval; its upper end is at most the cost of every policy."""
    costs, (lower, upper, proof, seconds) = make_costs(instance.jobs, cost), found[0]
    least = min([upper, *(costs.total(schedule.start) for schedule in schedules)])
    weight = max(1, costs.total_weight)
    return Optimum(float(lower / weight), float(least / weight), proof, seconds)


def _what_if(text: str, changed: Instance, replays: dict[str, Schedule], asks: dict[str, Any]) -> WhatIf:
    return WhatIf(
        text,
        {name: measure(changed, schedule.start, changed.judged_jobs) for name, schedule in replays.items()},
        {name: figures.utilisation(changed, schedule.start) for name, schedule in replays.items()},
        {
            cost: _optimum(changed, cost, ask.result(), replays.values())
            for cost, ask in asks.items()
            if ask is not None
        },
    )


def _judge(instance: Instance, name: str, start: IntArray, today: IntArray) -> Policy:
    judged, jobs = instance.judged_jobs & (start >= 0), instance.jobs
    costs = {} if name == LOG else {cost: _mean(instance, cost, start) for cost in JUDGED_BY}
    weights = {"wait": np.ones(len(jobs), dtype=np.int64), "wait-gpu-hours": jobs.width * jobs.run}
    return Policy(
        name=name,
        figures=measure(instance, start, judged),
        costs=costs,
        shares={},
        differences={cost: compare(instance, start, today, weight, judged) for cost, weight in weights.items()},
        accounts={
            group: measure(instance, start, judged & chosen)
            for group, chosen in figures.group_by_account(instance).items()
        },
        widths={
            group: measure(instance, start, judged & chosen)
            for group, chosen in figures.group_by_width(instance).items()
        },
        utilisation=figures.utilisation(instance, start),
        oracle=name != LOG and _is_oracle(name),
    )


def _share(cost: float, today: float, optimum: Optimum) -> Span | None:
    """The share of the possible gain over today's policy, for every OPT in the interval."""
    if optimum.upper >= today:
        return None
    ends = sorted(((today - cost) / (today - optimum.lower), (today - cost) / (today - optimum.upper)))
    return Span(*ends)


def _has_log(instance: Instance) -> bool:
    return bool((instance.jobs.logged[instance.judged_jobs] >= 0).any())


def _match(instance: Instance, today: Schedule) -> Match:
    """Compare the blocked parts of the waits of all jobs that have a start in the log."""
    set_current("splitting the waits of log and replay")
    known = instance.jobs.logged >= 0
    log, exact = _split_log(instance)
    replay = blocked(instance, today).means(known)
    apart = abs(log["blocked"] - replay["blocked"])
    return Match(log, replay, exact, apart <= max(APART_SECONDS, APART * log["blocked"]))


def _split_log(instance: Instance) -> tuple[dict[str, float], bool]:
    """The parts of the log's waits: as the import wrote them, which knows jobs that were left out, or from the jobs."""
    log = instance.origin.get("log")
    waits = log.get("waits") if isinstance(log, dict) else None
    if isinstance(waits, dict) and all(isinstance(waits.get(name), float | int) for name in ("wait", *PARTS)):
        return {name: float(waits[name]) for name in ("wait", *PARTS)}, waits.get("is_lower_bound") is False
    found = blocked(instance, instance.jobs.logged)
    return found.means(), found.exact


def _recommend(rows: list[Policy]) -> str:
    """The policy with the least mean wait that is worse in neither cost, where days or weeks say that it is less."""
    today, *others = rows
    for row in others:
        high = row.differences["wait"].high
        worse = any(row.costs[cost] > today.costs[cost] for cost in JUDGED_BY)
        if not row.oracle and not worse and high is not None and high < 0:
            return row.name
    return ""
