"""One run of a policy of family `cluster`: listed rules in the compiled engine, own policies under the referee."""

from __future__ import annotations

import contextlib
import heapq
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any, NoReturn

import numpy as np

from ratiobench.formulations.cluster.check import check
from ratiobench.formulations.timing import excluded_from_timing, excluded_seconds
from ratiobench.instances.arrays import freeze
from ratiobench.instances.cluster.format import FORMAT, parse
from ratiobench.instances.cluster.model import Closure, Instance, Jobs, Pool, Schedule
from ratiobench.online import run as runs
from ratiobench.online.answers import refusal
from ratiobench.online.cluster import kernel
from ratiobench.online.cluster import state as rows
from ratiobench.online.cluster.protocol import Answer, Cluster, Job, RunningJob, Start, plain
from ratiobench.online.cluster.registry import REGISTRY
from ratiobench.online.cluster.replay import Rule, make_state, read_schedule, replay
from ratiobench.online.outcome import OnlineRun, Violation
from ratiobench.online.referee.simulator import ARRIVAL, Log, Question, RuleViolation
from ratiobench.online.remarks import Remarks
from ratiobench.online.spec import version

PASS = "pass"  # The event at which policies decide
MOST_ASKED = 100_000  # Seconds that a policy may name, and ten more for each job
LATEST = 2**39  # No policy names a later second
MOST_IDLE = 10_000  # Passes in a row, of periodic backfilling, at which nothing starts and nothing else will happen
_PLACES = np.array([[rows.START], [rows.POOL], [rows.OFFSET]])
_SHAPES = [rows.SUBMIT, rows.NODES, rows.GPUS, rows.LIMIT, rows.ALLOWED, rows.POOL]
_LABELS = [rows.ACCOUNT, rows.USER, rows.PARTITION, rows.QOS]


def _show_jobs(instance: Instance, state: rows.State) -> tuple[Job, ...]:
    """The jobs of an instance, and those that run at its beginning, as policies see them."""
    partitions = [partition.name for partition in instance.partitions]
    names = [[*table, ""] for table in (instance.accounts, instance.users, partitions, instance.qos)]
    jobs: list[Job] = []
    for submit, nodes, gpus, limit, allowed, pool, *codes in state.job[_SHAPES + _LABELS].T.tolist():
        pools = tuple(q for q in range(len(instance.pools)) if allowed >> q & 1) or (pool,)
        labels = (table[code] for table, code in zip(names, codes, strict=True))
        jobs.append(Job(len(jobs), submit, nodes, gpus, limit if limit < rows.NEVER else None, pools, *labels))
    return tuple(jobs)


def show_cluster(state: rows.State, jobs: tuple[Job, ...], shown: dict[int, RunningJob]) -> Cluster:
    """Show the state as a policy sees it; `shown`: by job, what was shown of those that ran at the last pass."""
    live = state.job[rows.LIVE, : state.clock[rows.RUNNING]]
    before = dict(shown)
    shown.clear()
    for j, start, pool, offset in zip(live.tolist(), *state.job[_PLACES, live].tolist(), strict=True):
        job = before.get(j)
        if job is None or job.start != start:
            nodes = tuple(state.place[offset : offset + jobs[j].nodes].tolist())
            job = RunningJob(jobs[j], start, pool, nodes)
        shown[j] = job
    closures = state.closures[:4, state.closures[rows.KNOWN_LIST, : state.clock[rows.KNOWN]]].T.tolist()
    free = np.where(state.node[rows.IS_CLOSED], 0, state.node[rows.FREE])
    pool_of = freeze(state.node[rows.POOL_OF])
    return Cluster(freeze(free), pool_of, tuple(shown.values()), tuple(Closure(*c) for c in closures))


def _start_job(state: rows.State, jobs: tuple[Job, ...], waiting: set[int], start: Start) -> None:
    """Start one job. Rules: ``waiting`` (it waits, and once), ``fits`` (nodes, bounds and quotas let it start)."""
    j, nodes = start

    def fail(rule: str, problem: str) -> NoReturn:
        raise RuleViolation(rule, j, f"{problem} at {int(state.clock[rows.NOW])}")

    if j not in waiting or state.job[rows.START, j] >= 0:
        fail("waiting", f"job {j} does not wait")
    if nodes is None:
        if not kernel.start_waiting(state, j, -1):
            fail("fits", f"job {j} does not fit")
        return
    job = jobs[j]
    if len(set(nodes)) != job.nodes or len(nodes) != job.nodes or not all(0 <= v < state.node.shape[1] for v in nodes):
        fail("fits", f"job {j} needs {job.nodes} different nodes, not {list(nodes)[:9]}")
    pools = {int(state.node[rows.POOL_OF, v]) for v in nodes}
    if len(pools) > 1 or not pools <= set(job.pools):
        fail("fits", f"job {j} may not use pools {sorted(pools)} together")
    for v in nodes:
        if state.node[rows.IS_CLOSED, v] or state.node[rows.FREE, v] < job.gpus:
            fail("fits", f"node {v} has no {job.gpus} free GPUs for job {j}")
    state.node[rows.CHOSEN, : job.nodes] = nodes
    if not kernel.start_waiting(state, j, pools.pop()):
        fail("fits", f"bounds or quotas keep job {j} from starting")


class Simulator:
    """The referee's side of a run of an own policy: releases are arrivals, passes are events."""

    noun = "job"

    def __init__(self, instance: Instance) -> None:
        self.public = tuple(Pool(pool.name, pool.nodes, pool.gpus) for pool in instance.pools)
        self.arrivals = len(instance.jobs)
        self.state = make_state(instance, Rule(backfill=rows.NO_BACKFILL), 1)
        self._instance, self.jobs = instance, _show_jobs(instance, self.state)
        self._shown: dict[int, RunningJob] = {}
        self._asked: list[int] = []
        self._named = 0

    def questions(self, batch: bool) -> Iterator[Question]:
        """Tell the releases, then ask, at every pass at which some job waits."""
        state, told, idle = self.state, 0, 0
        while kernel.advance(state, self._asked[0] if self._asked else rows.NEVER):
            now = int(state.clock[rows.NOW])
            while self._asked and self._asked[0] <= now:
                heapq.heappop(self._asked)
            turns = state.clock[rows.TURNED] < state.closures.shape[1]
            comes = turns or state.clock[rows.RUNNING] or state.clock[rows.RELEASED] < self.arrivals
            idle = 0 if self._asked or comes else idle + 1
            if idle > MOST_IDLE:
                break
            released = state.job[rows.ARRIVALS, told : state.clock[rows.RELEASED]].tolist()
            told += len(released)
            if released:
                yield Question(released, [None] * len(released), None, ARRIVAL)
            waiting = [self.jobs[j] for j in state.job[rows.QUEUE, : state.clock[rows.WAITING]].tolist()]
            yield Question([None], [(now, waiting)], show_cluster(state, self.jobs, self._shown), PASS)
        late = np.flatnonzero(state.job[rows.START, : self.arrivals] < 0)
        if len(late):
            raise RuleViolation("every job", int(late[0]), "never starts")

    def copied(self, event: str, index: int | None, answer: Any) -> Any:
        """Copy an answer in builtin types; RuleViolation if it is none."""
        if event == ARRIVAL:
            return None
        try:
            starts, asked = answer
            if not isinstance(starts, list | tuple):
                raise TypeError(answer)
            pairs = [tuple(part) if isinstance(part, list) and len(part) == 2 else part for part in starts]
            return plain(Answer(pairs, tuple(asked)))
        except (TypeError, ValueError) as error:
            shown = answer[0] if isinstance(answer, tuple) and answer else answer  # what the policy itself answered
            raise RuleViolation("protocol", index, refusal(shown, "list of jobs", error)) from None

    def take(self, event: str, index: int | None, answer: Any) -> Any:
        """Start the jobs, in order. Rules: ``waiting`` (it waits, and once), ``fits``, ``protocol``."""
        booked = self.copied(event, index, answer)
        if booked is None:
            return None
        now = int(self.state.clock[rows.NOW])
        waiting = set(self.state.job[rows.QUEUE, : self.state.clock[rows.WAITING]].tolist())
        for start in booked[0]:
            _start_job(self.state, self.jobs, waiting, start)
        self._named += len(booked[1])
        if self._named > (most := MOST_ASKED + 10 * self.arrivals):
            raise RuleViolation("protocol", None, f"asks for more than {most} seconds")
        for second in booked[1]:
            if not now < second <= LATEST:
                where = f"not after {now}" if second <= now else f"beyond {LATEST}"
                raise RuleViolation("protocol", None, f"asks for second {second}, which is {where}")
            heapq.heappush(self._asked, second)
        return booked

    def schedule(self) -> Schedule:
        return read_schedule(self._instance, self.state)


class ClusterEnvironment(runs.Environment[Instance]):
    """A batch cluster, event by event."""

    registry = REGISTRY
    secret = (Jobs, Schedule)

    def arrivals(self, instance: Instance) -> int:
        return len(instance.jobs)

    def table(self, instance: Instance, seed: str) -> Simulator:
        """The state and its events; nothing is drawn."""
        return Simulator(instance)

    def first_half(self, instance: Instance) -> Instance:
        """The first half of the jobs (whole seconds of submit, at least one), as an instance of its own."""
        jobs, n = instance.jobs, len(instance.jobs)
        half = int((jobs.submit <= jobs.submit[(n - 1) // 2]).sum()) if n else 0
        columns: dict[str, Any] = {name: getattr(jobs, name)[:half] for name in Jobs.__dataclass_fields__}
        return replace(instance, jobs=Jobs(**columns), cache={})

    def judge(self, instance: Instance, log: Log, violations: Sequence[Violation]) -> runs.Judgement:
        """Replay the answers, then let the exact check judge the schedule."""
        table, done = Simulator(instance), 0
        with contextlib.suppress(RuleViolation):  # the referee has named it
            for question in table.questions(batch=True):
                for entry in log[done : done + len(question.indices)]:
                    table.take(entry.event, entry.about, entry.answer)
                done += len(question.indices)
                if done >= len(log):
                    break
        return _judge(instance, table.schedule(), violations)

    def small(self) -> Instance:
        """Two pools, a closed node and four jobs with accounts and users."""
        jobs = {
            "id": ["1", "2", "3", "4"],
            "submit": [0, 0, 1, 1],
            "run": [3, 9, 2, 7],
            "limit": [4, 10, 2, 5],
            "nodes": [1, 2, 1, 1],
            "gpus": [1, 2, 2, 1],
            "pools": [0, 1, 0, 2],
            "account": [0, 1, 0, 1],
            "user": [0, 1, 2, 0],
        }
        closed = {"node": 0, "start": 6, "end": 9}
        pools = [{"name": "a", "nodes": 1, "gpus": 2}, {"name": "b", "nodes": 3, "gpus": 2, "closures": [closed]}]
        head = {"format": FORMAT, "name": "warm", "begin": 0, "pool_sets": [[0], [1], [0, 1]]}
        names = {"accounts": ["x", "y"], "users": ["u", "v", "w"]}
        return parse({**head, "pools": pools, "jobs": jobs, **names}, "warm")


ENVIRONMENT = ClusterEnvironment()


def run(instance: Instance, text: str, prior: Instance | None = None) -> OnlineRun:
    """Run a policy; parameters and errors as `ratiobench.online.run.run`."""
    spec = REGISTRY.parse(text)
    if spec.entry is None:
        _compile()
        return runs.run(ENVIRONMENT, instance, text, prior=prior)
    rule = spec.entry.make(spec.options)
    began, before = time.perf_counter(), excluded_seconds()
    done = replay(instance, rule)
    seconds = time.perf_counter() - began - (excluded_seconds() - before)
    judged = _judge(instance, done.schedule, ())
    return OnlineRun(
        algorithm=spec.name,
        remarks=Remarks(spec.name, notes=("oracle",) * (rule.belief == "true")),
        version=version(spec),
        valid=not judged.violations,
        violations=tuple(judged.violations),
        welfare=judged.value,
        true_welfare=judged.value,
        revenue=None,
        admitted=judged.admitted,
        arrivals=len(instance.jobs),
        decisions=done.schedule,
        constants=(),
        arithmetic="integer",
        counts={"requeued": int(done.requeued.sum())},
        seconds=max(0.0, seconds),
        batch=True,
    )


@cache
def _compile() -> None:
    """Compile what the referee needs before any clock runs, by starting each job of a small instance in turn."""
    table = Simulator(ENVIRONMENT.small())
    with excluded_from_timing(), contextlib.suppress(RuleViolation):
        for question in table.questions(batch=True):
            if question.event == PASS:
                table.take(PASS, None, ([question.arrivals[0][1][0].index], ()))


def _judge(instance: Instance, schedule: Schedule, violations: Sequence[Violation]) -> runs.Judgement:
    """Check a schedule of a run with these violations; its value is the cost, 0 of one that is not valid.

    A slowdown, whose denominator has thousands of digits, is rounded up as `solve` rounds it.
    """
    value = Fraction(0)
    if not violations:
        report = check(instance, schedule)
        violations = [Violation(*violation) for violation in report.violations]
        value = report.cost or value
    if instance.cost == "slowdown":
        scale = 2**40 // max(1, len(instance.jobs))
        value = Fraction(math.ceil(value * scale), scale)
    return runs.Judgement(schedule, violations, value, int((schedule.start >= 0).sum()))
