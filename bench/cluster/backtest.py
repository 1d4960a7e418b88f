"""Backtest: the jobs of a log under many policies, against OPT, with what the answer rests on."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import chain

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ratiobench.bench.cluster import measures
from ratiobench.bench.cluster.changes import change, list_changes
from ratiobench.bench.cluster.measures import Difference, Figures, compare, list_days, measure
from ratiobench.bench.running.heartbeat import set_current
from ratiobench.bench.running.machine import usable_cores
from ratiobench.bench.running.pool import SpawnPool
from ratiobench.formulations.report import UNLIMITED
from ratiobench.instances.arrays import IntArray
from ratiobench.instances.cluster.format import content_hash
from ratiobench.instances.cluster.model import Instance, Schedule, make_costs
from ratiobench.instances.cluster.waits import blocked, group_jobs, split_logged
from ratiobench.instances.io.errors import InputError
from ratiobench.online.cluster.algorithms import knows_lengths
from ratiobench.online.run_context import RunContext, current, run_context

FORMAT = "ratiobench/cluster-backtest/1"
JUDGED_BY = ("wait", "wait-gpu-hours")  # Costs whose OPT is enclosed
TODAY, LOG = "easy", "log"
LARGE = 2_000  # Jobs from which on replays are worth processes of their own
APART, APART_SECONDS = 0.25, 300  # A replay matches if blocked parts differ by at most so much of the log's, or seconds


class Span(Struct, frozen=True):
    low: float
    high: float


class Optimum(Struct, frozen=True):
    """OPT of a cost over all jobs: the mean wait of a job or a GPU-hour lies between both ends."""

    lower: float  # lower, upper: seconds
    upper: float
    proof: str  # of the lower end
    seconds: float  # that the search was given


class Policy(Struct, frozen=True):
    name: str  # with options
    figures: Figures  # of the jobs that are judged
    costs: dict[str, float]  # mean of each cost over all jobs, seconds
    shares: dict[str, Span | None]  # by cost, of the possible gain over today's policy; None where there is none
    differences: dict[str, Difference]  # by cost, from today's policy
    accounts: dict[str, Figures]  # accounts, widths: of groups of the judged jobs
    widths: dict[str, Figures]
    utilisation: float  # of the window
    oracle: bool = False  # it knows lengths before jobs end


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
    format: str  # all times of a backtest are in seconds
    instance: str  # instance, name: hash and label of the instance
    name: str
    jobs: int  # jobs, judged: how many, and how many of them the tables of waits count
    judged: int
    today: str  # the policy that runs the cluster today
    recommended: str  # empty: none
    best: str  # the recommended policy, or else the one with the least mean wait that knows no lengths
    log: Policy | None  # figures of the log itself; None if it has no starts
    policies: list[Policy]  # today's first, the others by mean wait
    optima: dict[str, Optimum]  # by cost; empty if OPT was not looked for
    match: Match | None
    what_ifs: list[WhatIf]
    days: Days
    unkept: str = ""  # rules of the cluster that schedules of OPT need not keep, in words


def run_backtest(
    instance: Instance, policies: Sequence[str], today: str = TODAY, what_if: Sequence[str] = (), seconds: float = 20.0
) -> Backtest:
    """Replay the jobs under every policy, and enclose OPT of each cost for so many `seconds` (0: not at all)."""
    changes = {text: change(instance, text) for word in what_if for text in list_changes(instance, word)}
    pays = seconds or len(instance.jobs) > LARGE
    with SpawnPool(min(len(JUDGED_BY), usable_cores()) if pays else 0) as pool:
        here = _Replays(instance, [today, *policies], pool, seconds)
        rows = [here.judge(name) for name in here.schedules]
        rows.sort(key=lambda row: (row.name != today, row.figures.wait))
        logged = instance.jobs.logged
        log = here.judge(LOG, logged) if (logged[instance.judged_jobs] >= 0).any() else None
        match = None if log is None else _match(instance, here.schedules[today])
        recommended = "" if match is not None and not match.matches else _recommend(rows)
        best = recommended or min(rows, key=lambda row: (row.oracle, row.figures.wait)).name
        changed = {text: _Replays(other, [today, best], pool, seconds) for text, other in changes.items()}
        set_current("looking for OPT")
        optima = here.optima()
        what_ifs = [replays.what_if(text) for text, replays in changed.items()]
    starts = {} if log is None else {LOG: logged}
    starts |= {name: here.schedules[name].start for name in (today, best)}
    if optima and not np.array_equal(least := here.searches["wait"].result()[-1], starts[best]):
        starts["best schedule known"] = least
    now = rows[0].costs
    return Backtest(
        format=FORMAT,
        instance=content_hash(instance),
        name=instance.name,
        jobs=len(instance.jobs),
        judged=int(instance.judged_jobs.sum()),
        today=today,
        recommended=recommended,
        best=best,
        log=log,
        policies=[
            replace(row, shares={cost: _share(row.costs[cost], now[cost], opt) for cost, opt in optima.items()})
            for row in rows
        ],
        optima=optima,
        match=match,
        what_ifs=what_ifs,
        days=Days(
            {name: measures.wait_by_day(instance, start) for name, start in starts.items()},
            {name: measures.list_utilisation(instance, start, list_days(instance)) for name, start in starts.items()},
        ),
        unkept=" and ".join(dict.fromkeys(chain(*map(measures.list_unkept, (instance, *changes.values()))))),
    )


def _enclose(
    instance: Instance, cost: str, seconds: float, start: Schedule
) -> tuple[Fraction, Fraction, str, IntArray]:
    """Ends of OPT, the proof of the lower one, starts of the best schedule."""
    from ratiobench.formulations.cluster.solve import solve

    report = solve(instance, cost, effort=UNLIMITED, seconds=seconds, start=start)
    return Fraction(report.lower), Fraction(report.upper), str(report.proof), report.solution.start


class _Replays:
    """Replays of an instance under policies, the first one today's; OPT is looked for from the best of them on."""

    def __init__(self, instance: Instance, names: Sequence[str], pool: SpawnPool, seconds: float) -> None:
        self.instance, self.today, self.seconds = instance, names[0], seconds
        self.schedules: dict[str, Schedule] = {}
        names = list(dict.fromkeys(names))
        ready = {name: pool.submit(_replay, instance, name, current()) for name in names if pool.workers}
        for name in names:
            set_current(f"replaying the log under {name}")
            self.schedules[name] = ready[name].result() if ready else _replay(instance, name, current())
        self.costs = {cost: make_costs(instance.jobs, cost) for cost in JUDGED_BY}
        self.searches = {}
        for cost, costs in self.costs.items() if seconds else ():
            best = min(self.schedules.values(), key=lambda schedule: costs.total(schedule.start))
            self.searches[cost] = pool.submit(_enclose, instance, cost, seconds, best)

    def judge(self, name: str, logged: IntArray | None = None) -> Policy:
        """The figures of a policy; of the starts in the log those that need no cost."""
        instance, costs = self.instance, self.costs.items()
        start = self.schedules[name].start if logged is None else logged
        judged, today = instance.judged_jobs & (start >= 0), self.schedules[self.today].start
        accounts, widths = (
            {group: measure(instance, start, judged & mask) for group, mask in masks.items()}
            for masks in (measures.group_by_account(instance), dict(group_jobs(instance, "width")))
        )
        return Policy(
            name=name,
            figures=measure(instance, start, judged),
            costs={} if logged is not None else {name: cost.mean(start) for name, cost in costs},
            shares={},
            differences={name: compare(instance, start, today, cost.weight, judged) for name, cost in costs},
            accounts=accounts,
            widths=widths,
            utilisation=measures.utilisation(instance, start),
            oracle=logged is None and knows_lengths(name),
        )

    def optima(self) -> dict[str, Optimum]:
        """OPT of each cost as a mean; its upper end is at most the cost of every policy."""
        optima = {}
        for cost, search in self.searches.items():
            lower, upper, proof, _ = search.result()
            costs = self.costs[cost]
            least = min([upper, *(costs.total(schedule.start) for schedule in self.schedules.values())])
            weight = max(1, costs.total_weight)
            optima[cost] = Optimum(float(lower / weight), float(least / weight), proof, self.seconds)
        return optima

    def what_if(self, text: str) -> WhatIf:
        rows = [self.judge(name) for name in self.schedules]
        waits, utilisation = {row.name: row.figures for row in rows}, {row.name: row.utilisation for row in rows}
        return WhatIf(text, waits, utilisation, self.optima())


def _replay(instance: Instance, name: str, context: RunContext) -> Schedule:
    from ratiobench.bench.cluster import FAMILY

    try:
        with run_context(context):
            run = FAMILY.run(instance, name)
    except InputError as error:  # a listed rule that never starts a job
        raise InputError("--policies", name, error.problem) from None
    if not run.valid:
        raise InputError("--policies", name, str(run.violations[0]))
    schedule: Schedule = run.decisions
    return schedule


def _share(cost: float, today: float, optimum: Optimum) -> Span | None:
    """The share of the possible gain over today's policy, for every OPT in the interval."""
    if optimum.upper >= today:
        return None
    return Span(*sorted((today - cost) / (today - end) for end in (optimum.lower, optimum.upper)))


def _match(instance: Instance, today: Schedule) -> Match:
    """Compare the blocked parts of the waits of all jobs that have a start in the log."""
    set_current("splitting the waits of log and replay")
    means, exact = split_logged(instance)
    replay = blocked(instance, today).means(instance.jobs.logged >= 0)
    apart = abs(means["blocked"] - replay["blocked"])
    return Match(means, replay, exact, apart <= max(APART_SECONDS, APART * means["blocked"]))


def _recommend(rows: list[Policy]) -> str:
    """The policy with the least mean wait that is worse in neither cost, where days or weeks say that it is less."""
    today, *others = rows
    for row in others:
        high = row.differences["wait"].high
        worse = any(row.costs[cost] > today.costs[cost] for cost in JUDGED_BY)
        if not row.oracle and not worse and high is not None and high < 0:
            return row.name
    return ""
