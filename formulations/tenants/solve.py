"""OPT of an instance, or an interval on it, in 1/100 micro-dollar.

`upper` is the cost of a schedule that `check` has verified, `lower` the largest proved bound, in integers.
"""

from __future__ import annotations

import math
import time
from functools import partial

import numpy as np

from ratiobench.formulations.engine import (
    Clock,
    SolveInterval,
    check_settings,
    choose,
    choose_export,
    list_formulations,
    make_verify,
    require_columns,
)
from ratiobench.formulations.kernels import load_numba
from ratiobench.formulations.report import NO_BACKEND, Proof, SolveReport
from ratiobench.formulations.tenants import models
from ratiobench.formulations.tenants.check import check
from ratiobench.formulations.tenants.dual import Prices
from ratiobench.formulations.tenants.local_search import Search, anneal, rebuild
from ratiobench.formulations.tenants.subsets import (
    JOBS_LIMIT,
    PRICED_LIMIT,
    WAYS_LIMIT,
    enumerate_optimum,
    priced_optimum,
    subsets_optimum,
)
from ratiobench.formulations.tenants.tables import Queues, queues_of, solution_of, tables
from ratiobench.formulations.tenants.verify import Certificate
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.tenants.format import content_hash, loads
from ratiobench.instances.tenants.model import Instance, Solution

VERSION = "2"  # Version of everything that can change a report's figures; part of the key of stored results

DUAL, SUBSETS, CP_SAT, ENUMERATION, TIME_INDEXED = "dual", "subsets", "cp-sat", "enumeration", "time-indexed"
# Which backend goes with a formulation
ALLOWED = {DUAL: (NO_BACKEND,), SUBSETS: (NO_BACKEND,), CP_SAT: ("cpsat",), ENUMERATION: (NO_BACKEND,)}
CP_SAT_JOBS, CP_SAT_WORK = 12, 60  # Most jobs for CP-SAT, and its work for a unit of effort
REBUILDS, MOST_REBUILT = 20_000, 30  # Rounds of ruin and recreate from one start, and jobs that leave in one of them
MOVES = 3_000_000  # Single moves after those
LARGE = 400  # With more jobs there are fewer rounds of everything
# Rounds of the dual bound for a unit of effort; fewer where rounds times jobs times ticks times types were more
ROUNDS, CELLS = 6_000, 3_000_000_000


def solve(
    instance: Instance,
    formulation: str = "auto",
    backend: str = "auto",
    effort: int = 1,
    gap: float = 0.0,
    seconds: float | None = None,
    start: Solution | None = None,
    certified: bool = False,
) -> SolveReport:
    """OPT, or a certified interval on it; the least cost is best. Parameters as of `SolveSettings`."""
    check_settings(effort, gap, seconds)
    clock = Clock()
    name, solver = _choose(instance, formulation, backend)
    clock.start_solvers((solver,))
    with clock.stopped():
        load_numba()
    run = _Run(instance, clock, gap, seconds)
    if start is not None:
        run.offer(start, "start")
    run.simply()
    if name == ENUMERATION:
        run.close(ENUMERATION, Proof.ENUMERATION, lambda: _negated(enumerate_optimum(instance)))
    elif name == SUBSETS:
        run.close(SUBSETS, Proof.DYNAMIC_PROGRAMMING, lambda: _negated(subsets_optimum(run.problem)))
    elif name == CP_SAT and not run.done():
        run.cp_sat(solver, effort)
    if name == DUAL or certified or not run.done():
        run.enclose(effort, certified)
    assert run.solution is not None
    return run.report(name, negated=True)


def _choose(instance: Instance, formulation: str, backend: str) -> tuple[str, str]:
    def automatic(backend: str) -> str:
        if backend in ALLOWED[CP_SAT]:
            return CP_SAT
        return SUBSETS if instance.jobs <= JOBS_LIMIT else DUAL

    name, solver = choose(ALLOWED, formulation, backend, automatic)
    most = {SUBSETS: JOBS_LIMIT, CP_SAT: CP_SAT_JOBS}.get(name, instance.jobs)
    if instance.jobs > most:
        raise InputError("", "formulation", f"{name} is for at most {most} jobs, not {instance.jobs}")
    return name, solver


def _negated(optimum: tuple[int, Solution | None]) -> tuple[int, Solution | None]:
    return -optimum[0], optimum[1]


class _Run(SolveInterval[int]):
    def __init__(self, instance: Instance, clock: Clock, gap: float = 0.0, seconds: float | None = None) -> None:
        verify = make_verify(check, instance, negated=True)
        super().__init__(verify, "negated cost", clock.began, 0, gap=gap, seconds=seconds)
        self.instance, self.problem = instance, tables(instance)
        self.prices = Prices(self.problem)
        self.bound(-self.prices.bound, Proof.TRIVIAL)

    def place(self, queues: Queues, source: str) -> None:
        self.offer(solution_of(self.problem, queues), source)

    def half(self) -> bool:
        return self.seconds is not None and time.perf_counter() - self.began >= self.seconds / 2

    def simply(self) -> None:
        if not self.problem.jobs:
            self.offer((), "no job")
            return
        search, p = Search(self.problem), self.problem
        shortest = p.run.min(axis=1) / np.maximum(1, p.weight)
        for name, keys in (("deadline", p.deadline), ("release", p.release), ("run over weight", shortest)):
            self.place(search.build_list_schedule(np.argsort(keys, kind="stable")), name)

    def cp_sat(self, solver: str, effort: int) -> None:
        model = self.build(solver, f"{models.__name__}:intervals", self.problem)
        if model is None:
            return
        result = self.call_solver(solver, model.text, CP_SAT, CP_SAT_WORK * effort, gap=self.gap, sign=-1)
        if result.values is not None:
            self.offer(model.solution(self.problem, result.values), solver)
        if result.bound is not None:
            # An integer that came as a double: beyond 2^53 what that may have cost is given away.
            spare = 0 if abs(result.bound) <= 2**53 else math.ceil(abs(result.bound) * 2**-50)
            self.bound(math.floor(result.bound) + spare, Proof.CP_SAT)

    def enclose(self, effort: int, certified: bool) -> None:
        """Local search and dual bound in turns, with more of both after every power of two up to the effort."""
        stage = 1
        while self.problem.jobs and stage <= effort and not (self.closed() if certified else self.done()):
            self.improve(stage)
            self.prove(stage)
            self.part_sets()
            stage *= 2

    def part_sets(self) -> None:
        """Close the interval by dynamic programming over the sets that the prices leave, if there are few jobs."""
        if not JOBS_LIMIT < self.problem.jobs <= PRICED_LIMIT or self.done():
            return
        self.close(
            f"priced {SUBSETS}",
            Proof.DYNAMIC_PROGRAMMING,
            lambda: _negated(priced_optimum(self.problem, self.prices.pi, -self.lower)),
        )

    def closed(self) -> bool:
        """Whether the prices alone prove what is known of OPT, or the time is over."""
        return self.prices.bound >= -self.lower or self.over()

    def improve(self, stage: int) -> None:
        """Ruin and recreate from several starts and from the best schedule, then single moves."""
        search, n = Search(self.problem), self.problem.jobs
        part = min(1.0, LARGE / n)
        rounds, moves = (max(100, int(amount * stage * part)) for amount in (REBUILDS, MOVES))
        begun = queues_of(self.problem, self._solution())
        # Few jobs, or jobs that come over time: valleys are deep, a long job in another place moves all that follow.
        # Then several searches find more than one long one, and some begin warm.
        few, spread = n <= 100, bool(self.problem.release.any())
        warms = (2.0 if spread else 1.0,) * 3 if few else (0.1, 2.0) if spread else (0.1,)
        for seed, warm in enumerate(warms):
            if self.done():
                return
            found = search.cool(partial(rebuild, MOST_REBUILT), begun, 10 * stage + seed, rounds, warm, 1e-3, self.half)
            self.place(found, "ruin and recreate")
            if stage == 1 and not self.prices.rounds:  # the dual bound may be met already
                self._ascend(500, 1.0)
        if not self.done():
            begun = queues_of(self.problem, self._solution())
            self.place(search.cool(anneal, begun, stage, moves, 0.1, 2e-4, self.half), "moves")
        self.count("moves", moves)

    def prove(self, stage: int) -> None:
        p = self.problem
        ticks = max(1, min(p.horizon, int(p.release.max()) + int(p.run.min(axis=1).sum()) // p.instance.gpus))
        rounds = max(50, min(ROUNDS, CELLS // (p.jobs * ticks * len(p.counts)))) * stage
        for scale in (1.0, 0.3) if stage == 1 else (0.3, 0.3):
            self._ascend(rounds // 2, scale)

    def _ascend(self, rounds: int, scale: float) -> None:
        mix = 0.3 if self.problem.jobs <= 200 else 0.1
        self.prices.ascend(-self.lower, rounds, mix, scale, self.over)
        self.work["rounds"] = self.prices.rounds
        self.bound(-self.prices.bound, Proof.LAGRANGIAN)

    def _solution(self) -> Solution:
        assert self.solution is not None
        found: Solution = self.solution
        return found

    def certificate(self) -> Certificate | None:
        """None for a bound that was dropped as wrong."""
        if self.prices.bound > -self.lower:
            return None
        prices, bound = tuple(self.prices.pi.tolist()), self.prices.bound
        return Certificate(content_hash(self.instance), prices, bound, -self.lower, self._solution())


def formulations() -> list[tuple[str, str]]:
    summaries = {
        DUAL: "prices of jobs and what one GPU does best at them, and local search",
        SUBSETS: f"exact: the best order of every set of jobs, up to {JOBS_LIMIT} jobs",
        CP_SAT: f"exact: intervals that do not overlap, up to {CP_SAT_JOBS} jobs",
        ENUMERATION: f"every order and place, up to {WAYS_LIMIT} of them",
    }
    beyond = f"{DUAL} beyond, and {SUBSETS} at its prices up to {PRICED_LIMIT}"
    return list_formulations(ALLOWED, summaries, f"{SUBSETS} up to {JOBS_LIMIT} jobs, {beyond}")


_TINY = """{"format": "ratiobench/tenants/1", "name": "warm", "tick_seconds": 60,
"gpu_types": [{"name": "a", "count": 1, "price": 2}, {"name": "b", "count": 1, "price": 1}], "theta": 1,
"late_penalty": 1, "jobs": [{"release": 0, "deadline": 1, "cost_sensitivity": 50, "run": [2, 3]},
{"release": 1, "deadline": 3, "cost_sensitivity": 0, "run": [1, 3]}]}"""


def warm() -> None:
    instance = loads(_TINY)
    run = _Run(instance, Clock())
    run.simply()
    search, begun = Search(run.problem), queues_of(run.problem, run._solution())
    search.cool(partial(rebuild, 1), begun, 0, 1, 1.0, 0.1)
    search.cool(anneal, begun, 0, 1, 1.0, 0.1)
    run.prices.ascend(10**6, 2, 0.3, 1.0)
    subsets_optimum(run.problem)
    priced_optimum(run.problem, run.prices.pi, 10**6)


def export(instance: Instance, kind: str, formulation: str = "auto") -> str:
    """The time-indexed program as MPS or LP text; its optimum is OPT (negated in MPS)."""
    choose_export(kind, formulation, TIME_INDEXED, (TIME_INDEXED,))
    problem = tables(instance)
    if not problem.jobs:
        raise InputError("", "format", "the instance has no job, so that there is nothing to write")
    columns = models.starts(problem)
    require_columns(TIME_INDEXED, len(columns), models.COLUMNS_LIMIT)
    model = models.time_indexed(problem, columns)
    return model.mps() if kind == "mps" else model.lp()
