"""OPT of an instance, or an interval on it, in units of money per second.

`lower` is the profit rate of a solution that `check` has verified, `upper` the least proved bound, whatever happens to
a backend.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np

from ratiobench.formulations.backends import BackendResult
from ratiobench.formulations.eapm import bounds, models, search
from ratiobench.formulations.eapm.aggregate import AggregateProblem, aggregate_users, split, totals_of
from ratiobench.formulations.eapm.bounds import Bound
from ratiobench.formulations.eapm.check import check
from ratiobench.formulations.eapm.search import WAYS_LIMIT, enumerate_optimum, ways
from ratiobench.formulations.eapm.verify import Certificate
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
from ratiobench.formulations.linear import LinearModel
from ratiobench.formulations.report import NO_BACKEND, Proof, SolveReport, Termination
from ratiobench.instances.eapm.format import content_hash, loads
from ratiobench.instances.eapm.model import Instance, IntArray, Solution

VERSION = "1"  # Version of everything that can change a report's figures; part of the key of stored results

DINKELBACH, CHARNES_COOPER, ENUMERATION = "dinkelbach", "charnes-cooper", "enumeration"
# Which backends go with a formulation, the preferred one first
ALLOWED = {DINKELBACH: ("highs", "cbc"), CHARNES_COOPER: ("highs",), ENUMERATION: (NO_BACKEND,)}
FEW_WAYS = 5_000  # Up to this many solutions, `auto` looks at all of them
# Up to this many types times machines, `auto` solves integer programs; beyond it rounding is as good
DIRECT_COLUMNS = 5_000
ROUNDS = 4  # Most rounds of Dinkelbach's method with one work limit
SMALL, HARD = 1000, 4  # Units of a solver's work: for the first unit of effort, times columns; for each further one
FINE = 2**60  # A bound that rests on a solver's is rounded up to the attained rate times a multiple of 1/FINE
RELATIVE_SLACK = 1e-10
ABSOLUTE_SLACK = 1e-6  # A solver's bound is raised by both, in the model's own unit, before it is believed


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
    """OPT, or a certified interval on it; parameters as of `SolveSettings`."""
    check_settings(effort, gap, seconds)
    clock = Clock()
    problem = aggregate_users(instance)
    name, solver = _choose(problem, formulation, backend)
    asked = solver != NO_BACKEND or (certified and backend != NO_BACKEND)
    if asked and problem.surplus > 0:
        clock.start_solvers(("highs", solver))
    run = _Run(problem, solver, clock, gap, seconds)
    if start is not None:
        run.offer(start, "start")
    if name == ENUMERATION:
        run.close(ENUMERATION, Proof.ENUMERATION, partial(enumerate_optimum, instance))
    if problem.surplus < 0:
        totals, bound = bounds.best_loss(problem)
        run.place(totals, "closed form")
        run.prove(bound, Proof.LAGRANGIAN)
    else:
        run.simply()
        if problem.surplus > 0 and (certified or not run.done()):
            if asked and run.fits():
                run.relax()
            else:
                run.weigh()
        if name == DINKELBACH and not run.done():
            run.dinkelbach(effort)
    assert run.solution is not None
    return run.report(name)


def _choose(problem: AggregateProblem, formulation: str, backend: str) -> tuple[str, str]:
    def automatic(backend: str) -> str | None:
        if backend in ("auto", NO_BACKEND) and ways(problem) <= FEW_WAYS:
            return ENUMERATION
        if backend == NO_BACKEND or (backend == "auto" and problem.etc.size > models.COLUMNS_LIMIT):
            return None
        return CHARNES_COOPER if backend == "auto" and problem.etc.size > DIRECT_COLUMNS else DINKELBACH

    return choose(ALLOWED, formulation, backend, automatic)


class _Run(SolveInterval[Fraction]):
    def __init__(
        self, problem: AggregateProblem, solver: str, clock: Clock, gap: float = 0.0, seconds: float | None = None
    ) -> None:
        verify = make_verify(check, problem.instance)
        super().__init__(verify, "rate", clock.began, Fraction(0), gap=gap, seconds=seconds)
        self.problem, self.solver = problem, solver
        self.price: Bound | None = None

    def place(self, totals: IntArray, source: str) -> None:
        if self.solution is None or self.problem.value(totals) > self.lower:
            self.offer(split(self.problem, totals), source)

    def prove(self, bound: Bound, proof: Proof) -> None:
        self.bound(bound.upper, proof)
        if self.price is None or bound.upper < self.price.upper:
            self.price = bound

    def fits(self) -> bool:
        size, limit = self.problem.etc.size, models.COLUMNS_LIMIT
        if size > limit:
            self.notes.append(f"no model is built: {size} columns are more than {limit}")
        return bool(size <= limit)

    def _gap(self) -> float:
        """Of a solver, whose objective is larger than the makespan by surplus / profit: its gap is the smaller."""
        if not self.gap or self.solution is None:
            return 0.0
        profit, _ = self.problem.figures(totals_of(self.problem, self.solution))
        return self.gap * max(0, profit) / max(1, self.problem.surplus) / 2

    def simply(self) -> None:
        self.prove(bounds.trivial_bound(self.problem), Proof.TRIVIAL)
        self.place(self.problem.place_on(self.problem.cost.argmin(axis=1)), "cheapest")
        self.place(search.balance_loads(self.problem), "even")

    def weigh(self) -> None:
        prices, shares = search.weights(self.problem)
        self.prove(bounds.price_bound(self.problem, bounds.round_weights(prices.tolist())), Proof.LAGRANGIAN)
        totals = search.round_shares(self.problem, shares)
        self.place(search.descend(self.problem, totals, search.choose_chunk(self.problem)), "weights")

    def relax(self) -> None:
        """The LP bound, made exact, and a rounded solution; by HiGHS, CBC's backend is for integer programs."""
        proposed = self._solve("highs", models.price_model(self.problem), None)
        if proposed.values is not None:
            prices = proposed.values[: self.problem.etc.shape[1]].tolist()
            for direction in (bounds.round_weights(prices), bounds.round_weights_simply(prices)):
                self.prove(bounds.price_bound(self.problem, direction), Proof.LAGRANGIAN)
        relaxed = self._solve("highs", models.charnes_cooper(self.problem), None)
        if relaxed.values is not None:
            totals = search.round_shares(
                self.problem, relaxed.values[: self.problem.etc.size].reshape(self.problem.etc.shape)
            )
            self.place(search.descend(self.problem, totals), "rounding")
        if proposed.values is None or relaxed.values is None:
            self.weigh()

    def _solve(
        self, solver: str, model: LinearModel, work: int | None, start: IntArray | None = None, unit: float = 1.0
    ) -> BackendResult:
        vector = None if start is None else models.vector_of(self.problem, start, unit)
        objective = "its last program, not of OPT"
        result = self.call_solver(solver, model, model.name, work, gap=self._gap(), start=vector, objective=objective)
        self.work["columns"] = max(self.work.get("columns", 0), len(model.columns))
        return result

    def dinkelbach(self, effort: int) -> None:
        """Rounds of Dinkelbach's method, with more work after every power of two up to the effort.

        So the rounds of a smaller effort are the first ones of a larger one.
        """
        if self.problem.etc.size > models.COLUMNS_LIMIT or self.lower <= 0:
            return
        stage = 1
        while stage <= effort:
            # Small programs are meant to be solved to the end; large ones need some work to get anywhere.
            work = max(1, SMALL // self.problem.etc.size) if stage == 1 else HARD * stage
            for _ in range(ROUNDS):
                before = self.lower
                result = self._round(work)
                if self.done() or result.termination not in (Termination.OPTIMAL, Termination.LIMIT):
                    return
                if self.lower == before:
                    break
            if result.termination is Termination.OPTIMAL:
                return
            stage *= 2

    def _round(self, work: int) -> BackendResult:
        """A better solution at the attained rate, or a proof of how good this one is."""
        assert self.solution is not None
        rate = 1000 * self.lower
        held = models.make_rate_model(self.problem, rate)
        result = self._solve(self.solver, held.model, work, totals_of(self.problem, self.solution), held.unit)
        self.work["rounds"] = self.work.get("rounds", 0) + 1
        if result.values is not None:
            types, machines = self.problem.etc.shape
            nearly = result.values[: types * machines].reshape(types, machines)
            totals = search.round_shares(self.problem, np.rint(nearly))
            self.place(search.descend(self.problem, totals), f"{self.solver}'s incumbent")
        if result.bound is not None:
            excess = held.excess(result.bound, ABSOLUTE_SLACK, RELATIVE_SLACK)
            # With profit N, makespan MS and the rate p/q the integer N q - p MS is at most p * excess.
            if rate.numerator * excess < 1:
                self.bound(rate / 1000, Proof.BRANCH_AND_BOUND)
            else:
                direction = [1] * len(self.problem.instance.machines)
                if self.price is not None:
                    direction = [max(1, price) for price in self.price.prices]
                shortest = bounds.shortest_makespan(self.problem, direction, rate)
                above = Fraction(math.ceil(excess / shortest * FINE), FINE)
                self.bound(rate * (1 + above) / 1000, Proof.BRANCH_AND_BOUND)
        return result

    def certificate(self) -> Certificate | None:
        """None for a bound that was dropped as wrong."""
        if self.price is None or self.solution is None or self.price.upper < self.lower:
            return None
        instance, price = content_hash(self.problem.instance), self.price
        return Certificate(instance, price.scale, price.prices, price.upper, self.lower, self.solution)


def formulations() -> list[tuple[str, str]]:
    summaries = {
        DINKELBACH: "integer programs at a fixed rate, users of one type summed, until the rate no longer rises",
        CHARNES_COOPER: "the linear relaxation's bound, and a rounded solution",
        ENUMERATION: f"every way to split the tasks, up to {WAYS_LIMIT} of them",
    }
    automatic = "by size: enumeration, dinkelbach, charnes-cooper, or prices without a solver"
    return list_formulations(ALLOWED, summaries, automatic)


_TINY = """{"format": "ratiobench/eapm/1", "name": "warm", "energy_price": 1, "machines": ["a", "b"],
"task_types": [{"name": "t", "etc_ms": [3, 5], "apc_mw": [7, 4]}], "users": [{"type": 0, "tasks": 9, "price": 900}]}"""


def warm() -> None:
    solve(loads(_TINY), formulation=DINKELBACH)


def export(instance: Instance, kind: str, formulation: str = "auto") -> str:
    """A model as MPS or LP text, in tasks, seconds and units of money.

    ``dinkelbach`` is the program of the last round, at the rate that `solve` attains: that is OPT if and only if its
    optimum is 0.
    """
    name = choose_export(kind, formulation, DINKELBACH, (DINKELBACH, CHARNES_COOPER))
    problem = aggregate_users(instance)
    require_columns(name, problem.etc.size, models.COLUMNS_LIMIT)
    if name == CHARNES_COOPER:
        model = models.charnes_cooper(problem, plain=True)
    else:
        lower = solve(instance, DINKELBACH).lower
        model = models.make_plain_rate_model(problem, 1000 * Fraction(lower))
    return model.mps() if kind == "mps" else model.lp()
