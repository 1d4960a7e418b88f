"""The most jobs that can be met, or an interval on it.

`lower` is the value of a schedule that `check` has verified, `upper` the least proved bound, whatever happens to a
backend. Effort is counted in rounds; what a larger effort does begins with what a smaller one does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from ratiobench.formulations.edgeflow import bound, models, slots
from ratiobench.formulations.edgeflow.bound import SCALE, Prices
from ratiobench.formulations.edgeflow.bound import Proof as Proved
from ratiobench.formulations.edgeflow.check import check
from ratiobench.formulations.edgeflow.placement import (
    best_of_solution,
    empty_schedule,
    put_back,
    search,
    solution_of,
    worst_schedule,
)
from ratiobench.formulations.edgeflow.problem import Problem, grid_of, problem_of, refine_prices
from ratiobench.formulations.edgeflow.slots import STATES_LIMIT, enumerate_optimum
from ratiobench.formulations.edgeflow.verify import Certificate
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
from ratiobench.formulations.report import NO_BACKEND, Proof, SolveReport, Termination
from ratiobench.instances.edgeflow.format import content_hash, loads
from ratiobench.instances.edgeflow.model import Instance, Solution

VERSION = "2"  # Version of everything that can change a report's figures; part of the key of stored results

DUAL, LP, MIP, SLOTS, ENUMERATE = "dual", "lp", "mip", "slots", "enumerate"
# Which backends go with a formulation, the preferred one first
ALLOWED = {
    DUAL: (NO_BACKEND,),
    LP: ("highs",),
    MIP: ("highs", "scip", "gurobi"),
    SLOTS: ("cpsat",),
    ENUMERATE: (NO_BACKEND,),
}

COARSE = 400  # Prices are sought on about so many cells before they are on the grid of all events
DESCENTS = ((300, 2.0, 0.01), (300, 0.3, 0.0002))  # Rounds, first step and last one of the searches for prices
BLOCKS = 4  # Blocks of ruin and recreate in one unit of effort
STEPS = 4_000_000
FEWEST = 2_000  # Rounds in a block: so many over the jobs, of few jobs so many each, but no fewer
CHUNK = 200  # Rounds between two looks at the clock
HEAT, SHARE, MOST, TRIED = 0.3, 0.3, 8, 8  # See `placement.search`
SOLVER_WORK = 20  # Units of a solver's work in one unit of effort
SLACK = 1e-6  # A solver's bound is raised by it, absolute and relative, before it is believed


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
    """The number of deadlines that can be met, or a certified interval on it; parameters as of `SolveSettings`."""
    check_settings(effort, gap, seconds)
    clock = Clock()
    name, solver = _choose(instance, formulation, backend)
    clock.start_solvers((solver,))
    with clock.stopped():
        load_numba()
    run = _Run(instance, solver, clock, gap, seconds)
    run.offer(((),) * instance.jobs, "nothing")
    if start is not None:
        run.offer(start, "start")
    if name == ENUMERATE:
        run.close(ENUMERATE, Proof.ENUMERATION, partial(enumerate_optimum, instance))
    run.price(name == LP)
    if not run.done():
        run.insert()
    if name == SLOTS and not run.done():
        run.slots()
    if name == MIP and not run.done():
        run.mip(effort)
    for block in range(BLOCKS * effort):
        if run.done():
            break
        run.improve(block)
    assert run.solution is not None
    return run.report(name)


def _choose(instance: Instance, formulation: str, backend: str) -> tuple[str, str]:
    def automatic(backend: str) -> str:
        able = [name for name in (DUAL, MIP, SLOTS) if backend in ALLOWED[name]]
        tiny = backend == "auto" and slots.fits(instance)
        return SLOTS if tiny else able[0] if able else DUAL

    return choose(ALLOWED, formulation, backend, automatic)


class _Run(SolveInterval[int]):
    def __init__(
        self, instance: Instance, solver: str, clock: Clock, gap: float = 0.0, seconds: float | None = None
    ) -> None:
        verify = make_verify(check, instance)
        super().__init__(verify, "number of met jobs", clock.began, 0, gap=gap, seconds=seconds)
        self.instance, self.solver = instance, solver
        self.problem: Problem = problem_of(instance)
        self.proved: Proved | None = None
        self.bound(self.problem.alone, Proof.TRIVIAL)

    def price(self, by_solver: bool) -> None:
        """Prices by a subgradient method, from coarse to fine, or by the linear program; proved in integers."""
        problem, fine = self.problem, grid_of(self.problem)
        prices = bound.begin(problem, grid_of(problem, COARSE) if fine.cells > 2 * COARSE else fine)
        self._prove(bound.begin(problem, fine))
        if not problem.alone:
            self.prices = bound.begin(problem, fine)
            return
        proposed = self._priced_by_solver() if by_solver else None
        if proposed is not None:
            prices = proposed
        else:
            for rounds, first, last in DESCENTS:
                prices = bound.descend(problem, prices, rounds, first, last, self.over)
            if prices.grid.cells < fine.cells:
                lam, mu = (refine_prices(each, prices.grid, fine) for each in (prices.lam, prices.mu))
                begun = Prices(fine, lam, mu, prices.value, prices.cost, math.inf, prices.rounds)
                prices = bound.descend(problem, begun, *DESCENTS[-1], self.over)
        self.prices = prices
        self.count("price_rounds", prices.rounds)
        self.work["cells"] = prices.grid.cells
        self._prove(prices)

    def _prove(self, prices: Prices) -> None:
        proof = bound.prove(self.problem, prices)
        if self.proved is None or proof.total < self.proved.total:
            self.proved = proof
            self.bound(proof.upper, Proof.LAGRANGIAN)

    def _priced_by_solver(self) -> Prices | None:
        """The linear program's prices, whose bound is then computed with stalls."""
        grid = grid_of(self.problem)
        if not self._fits(LP):
            return None
        result = self.call_solver(self.solver, models.dual(self.problem, grid), LP, None, sign=-1)
        if result.values is None:
            return None
        lam, mu, value = models.prices_from(self.problem, grid, result.values)
        begun = Prices(grid, lam, mu, value, np.zeros(self.problem.jobs), math.inf)
        return bound.descend(self.problem, begun, *DESCENTS[-1], self.over)

    def _fits(self, name: str) -> bool:
        size = models.columns(self.problem, grid_of(self.problem))
        if size > models.COLUMNS_LIMIT:
            self.notes.append(f"{name}: no model is built, {size} columns are more than {models.COLUMNS_LIMIT}")
        return size <= models.COLUMNS_LIMIT

    def insert(self) -> None:
        """Every job where it costs least, cheap ones first, beside or in place of the best schedule so far."""
        problem, prices = self.problem, self.prices
        able = np.diff(problem.mode_start) > 0
        self.rank = np.where(able, prices.cost + 0.01, np.inf)
        self.rank[~np.isfinite(self.rank)] = 9.0
        self.board = empty_schedule(problem, prices.grid, prices.lam, prices.mu, 1)
        self.best_schedule = worst_schedule(problem)
        if self.solution is not None and self.lower > 0:
            self.best_schedule = best_of_solution(problem, self.solution, check(self.instance, self.solution).met)
            put_back(problem, self.board, self.best_schedule)
        self._search(self._by_rank(self.rank), 0, 0, 1)
        if self.lower > 0:
            other = empty_schedule(problem, prices.grid, prices.lam, prices.mu, 1)
            result, self.board = self.board, other
            self._search(self._by_rank(self.rank), 0, 0, 1)
            if int(self.board.placed.sum()) <= int(result.placed.sum()):
                self.board = result

    def _by_rank(self, rank: Sequence[float] | np.ndarray) -> np.ndarray:
        order = np.argsort(rank, kind="stable")
        able: np.ndarray = np.diff(self.problem.mode_start)[order] > 0
        return np.asarray(order[able])

    def _search(self, order: np.ndarray, low: int, high: int, whole: int) -> None:
        before = int(self.best_schedule.met[0])
        search(
            self.problem, self.board, order, self.rank, low, high, whole, HEAT, SHARE, MOST, TRIED, self.best_schedule
        )
        self.count("rounds", high - low)
        if int(self.best_schedule.met[0]) > max(before, self.lower if self.solution is not None else -1):
            self.offer(solution_of(self.problem, self.best_schedule), "search")

    def improve(self, block: int) -> None:
        jobs = max(1, self.problem.jobs)
        rounds = max(FEWEST, min(STEPS // jobs, FEWEST * jobs))
        nobody = np.zeros(0, dtype=np.int64)
        put_back(self.problem, self.board, self.best_schedule)
        self.board.seed[0] = 1 + block
        for low in range(0, rounds, CHUNK):
            if self.done():
                break
            self._search(nobody, low, min(rounds, low + CHUNK), rounds)

    def slots(self) -> None:
        if not slots.fits(self.instance):
            most = f"{slots.MOST_JOBS} jobs, {slots.MOST_SECONDS} seconds and {slots.MOST_GPUS} GPUs"
            self.notes.append(f"{SLOTS}: only up to {most}")
            return
        model = self.build(self.solver, f"{slots.__name__}:build", self.instance)
        if model is None:
            return
        result = self.call_solver(self.solver, model.text, SLOTS, None)
        if result.values is not None:
            self.offer(slots.solution_from(self.instance, model.runs, result.values.tolist()), SLOTS)
        if result.bound is not None and result.termination in (Termination.OPTIMAL, Termination.LIMIT):
            self.bound(max(0, math.floor(result.bound + SLACK)), Proof.CP_SAT)

    def mip(self, effort: int) -> None:
        """The fluid relaxation with whole jobs: a bound, and the jobs that it meets inserted first."""
        if not self._fits(MIP):
            return
        grid = grid_of(self.problem)
        model = models.primal(self.problem, grid, whole=True)
        result = self.call_solver(self.solver, model, MIP, SOLVER_WORK * effort)
        if result.bound is not None:
            slack = SLACK * (1.0 + abs(result.bound))
            self.bound(max(0, math.floor(result.bound + slack)), Proof.BRANCH_AND_BOUND)
        if result.values is not None and not self.done():
            able = np.flatnonzero(np.diff(self.problem.mode_start) > 0)
            rank = self.rank.copy()
            rank[able] += 10.0 * (result.values[-len(able) :] < 0.5)
            self.board = empty_schedule(self.problem, self.prices.grid, self.prices.lam, self.prices.mu, 1)
            self._search(self._by_rank(rank), 0, 0, 1)

    def certificate(self) -> Certificate | None:
        if self.proved is None or self.solution is None or self.proved.upper < self.lower:
            return None
        return Certificate(
            instance=content_hash(self.instance),
            scale=SCALE,
            points=self.proved.points,
            gpu_prices=self.proved.lam,
            edge_prices=self.proved.mu,
            worths=self.proved.worths,
            upper=self.proved.upper,
            lower=self.lower,
            decisions=self.solution,
        )


def formulations() -> list[tuple[str, str]]:
    tiny = f"{slots.MOST_JOBS} jobs, {slots.MOST_SECONDS} s and {slots.MOST_GPUS} GPUs"
    summaries = {
        DUAL: "prices of GPU and edge seconds, stalls included, and ruin and recreate; any size",
        LP: "the fluid relaxation's own prices, then as dual",
        MIP: "dual, then the fluid relaxation with whole jobs",
        SLOTS: f"second by second, exact; up to {tiny}",
        ENUMERATE: f"every state of every second, up to {STATES_LIMIT} of them",
    }
    return list_formulations(ALLOWED, summaries, "by size: slots where an instance is tiny, else dual")


_TINY = """{"format": "ratiobench/edgeflow/1", "name": "warm", "cloud": {"gpus": 2, "node_gpus": 8},
"edge": [{"from": 0, "to": 60, "servers": 1}], "models": [{"name": "m", "speed": [[1, 10], [2, 15]], "edge_speed": 5,
"overhead_s": 1, "edge_overhead_s": 1}], "jobs": [{"submit": 0, "deadline": 50, "model": "m", "work": 300, "gpus": 1},
{"submit": 0, "deadline": 50, "model": "m", "work": 400, "gpus": 1}, {"submit": 5, "deadline": 50, "model": "m",
"work": 400, "gpus": 1}, {"submit": 5, "deadline": 60, "model": "m", "work": 400, "gpus": 1}]}"""


def warm() -> None:
    solve(loads(_TINY), formulation=DUAL)


def export(instance: Instance, kind: str, formulation: str = "auto") -> str:
    """The fluid relaxation as MPS or LP text; ``lp`` has fractional jobs, ``mip``, the default, whole ones."""
    name = choose_export(kind, formulation, MIP, (LP, MIP))
    problem = problem_of(instance)
    grid = grid_of(problem)
    require_columns(name, models.columns(problem, grid), models.COLUMNS_LIMIT)
    model = models.primal(problem, grid, whole=name == MIP)
    return model.mps() if kind == "mps" else model.lp()
