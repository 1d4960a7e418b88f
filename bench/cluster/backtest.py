"""Backtest: the jobs of a log under many policies, against OPT, with what the answer rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from fractions import Fraction

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
from ratiobench.instances.cluster.waits import PARTS, Flags, blocked, group_jobs
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
    """OPT of a cost over all jobs: the mean wait of a job or a GPU-hour lies between both ends, which are proved."""

    lower: float  # lower, upper: seconds
    upper: float
    proof: str  # of the lower end
    seconds: float  # that the search was given


class Policy(Struct, frozen=True):
    """One policy on the log."""

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
    """The result; times in seconds."""

    format: str
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


def run_backtest(
    instance: Instance, policies: Sequence[str], today: str = TODAY, what_if: Sequence[str] = (), seconds: float = 20.0
) -> Backtest:
    """Replay the jobs under every policy, and enclose OPT of each cost for so many `seconds` (0: not at all).

    `policies` are names with options, or import paths; `what_if` are changes of the cluster (`changes.GRAMMAR`).
    """
    changes = {text: change(instance, text) for word in what_if for text in list_changes(instance, word)}
    with _enclosing(seconds) as enclose:
        here = _Replays(instance, [today, *policies], enclose)
        rows = [here.judge(name) for name in here.starts]
        rows.sort(key=lambda row: (row.name != today, row.figures.wait))
        log = here.judge(LOG, instance.jobs.logged) if (instance.jobs.logged[instance.judged_jobs] >= 0).any() else None
        match = None if log is None else _match(instance, here.schedules[today])
        recommended = "" if match is not None and not match.matches else _recommend(rows)
        choice = recommended or min(rows, key=lambda row: (row.oracle, row.figures.wait)).name
        changed = {text: _Replays(other, [today, choice], enclose) for text, other in changes.items()}
        set_current("looking for OPT")
        optima = here.optima()
        what_ifs = [replays.what_if(text) for text, replays in changed.items()]
    shown: dict[str, IntArray] = {} if log is None else {LOG: instance.jobs.logged}
    shown |= {name: here.starts[name] for name in (today, choice)}
    if optima and not np.array_equal(best := here.best_known("wait"), shown[choice]):
        shown["best schedule known"] = best
    now = rows[0].costs
    return Backtest(
        format=FORMAT,
        instance=content_hash(instance),
        name=instance.name,
        jobs=len(instance.jobs),
        judged=int(instance.judged_jobs.sum()),
        today=today,
        recommended=recommended,
        best=choice,
        log=log,
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


Found = tuple[Fraction, Fraction, str, float, IntArray]  # Ends of OPT, proof, seconds, starts of the best schedule
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
    return Fraction(report.lower), Fraction(report.upper), str(report.proof), seconds, report.solution.start


class _Replays:
    """Replays of an instance under policies, the first one today's; OPT is looked for from the best of them on."""

    def __init__(self, instance: Instance, names: Sequence[str], enclose: Enclose) -> None:
        self.instance, self.today = instance, names[0]
        self.schedules = {name: _replay(instance, name) for name in dict.fromkeys(names)}
        self.starts = {name: schedule.start for name, schedule in self.schedules.items()}
        self._costs = {cost: make_costs(instance.jobs, cost) for cost in JUDGED_BY}
        self._asked = {}
        for cost, costs in self._costs.items():
            best = min(self.schedules.values(), key=lambda schedule: costs.total(schedule.start))
            if (asked := enclose(instance, cost, best)) is not None:
                self._asked[cost] = asked

    def judge(self, name: str, start: IntArray | None = None) -> Policy:
        """The figures of a policy; of other starts, such as the log's, those that need no cost."""
        instance, jobs = self.instance, self.instance.jobs
        of_policy, start = start is None, self.starts[name] if start is None else start
        judged = instance.judged_jobs & (start >= 0)
        weights = {"wait": np.ones(len(jobs), dtype=np.int64), "wait-gpu-hours": jobs.width * jobs.run}

        def groups(masks: dict[str, Flags]) -> dict[str, Figures]:
            return {group: measure(instance, start, judged & mask) for group, mask in masks.items()}

        return Policy(
            name=name,
            figures=measure(instance, start, judged),
            costs={cost: costs.mean(start) for cost, costs in self._costs.items()} if of_policy else {},
            shares={},
            differences={
                cost: compare(instance, start, self.starts[self.today], weight, judged)
                for cost, weight in weights.items()
            },
            accounts=groups(figures.group_by_account(instance)),
            widths=groups(dict(group_jobs(instance, "width"))),
            utilisation=figures.utilisation(instance, start),
            oracle=of_policy and REGISTRY.parse(name).entry is not None and knows_lengths(name),
        )

    def optima(self) -> dict[str, Optimum]:
        """OPT of each cost as a mean; its upper end is at most the cost of every policy."""
        found = {}
        for cost, asked in self._asked.items():
            costs, (lower, upper, proof, seconds, _) = self._costs[cost], asked.result()
            least, weight = min([upper, *map(costs.total, self.starts.values())]), max(1, costs.total_weight)
            found[cost] = Optimum(float(lower / weight), float(least / weight), proof, seconds)
        return found

    def best_known(self, cost: str) -> IntArray:
        """Starts of the best schedule that the search for OPT found."""
        return self._asked[cost].result()[-1]

    def what_if(self, text: str) -> WhatIf:
        """The figures after a change."""
        instance, starts = self.instance, self.starts
        return WhatIf(
            text,
            {name: measure(instance, start, instance.judged_jobs) for name, start in starts.items()},
            {name: figures.utilisation(instance, start) for name, start in starts.items()},
            self.optima(),
        )


def _replay(instance: Instance, name: str) -> Schedule:
    from ratiobench.bench.cluster import FAMILY

    set_current(f"replaying the log under {name}")
    try:
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
