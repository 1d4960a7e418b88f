"""OPT of a cluster, or an interval on it: prices of time from below, searched schedules from above.

`upper` is always the cost of a schedule that `check` has verified; `lower` is what the independent checker computes
from the prices, in integers. Both are in the unit of the cost (`instances.cluster.model.make_costs`), `upper` rounded
up to 1/scale where the cost is no integer.
"""

from __future__ import annotations

import contextlib
import copy
import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from msgspec.structs import replace

from ratiobench.formulations.cluster import bound, models
from ratiobench.formulations.cluster.certificate import (
    LARGEST_VALUE,
    MOST_BRANCHES,
    Branch,
    Certificate,
    PriceRow,
    complete,
    make_claim,
)
from ratiobench.formulations.cluster.check import check, sum_costs
from ratiobench.formulations.cluster.enumerate import WAYS_LIMIT, count_ways, enumerate_optimum
from ratiobench.formulations.cluster.search import Plan, Search
from ratiobench.formulations.cluster.states import StateSearch, fits
from ratiobench.formulations.cluster.tables import FloatArray, Problem
from ratiobench.formulations.cluster.verify import bound as proved_bound
from ratiobench.formulations.crosscheck import CrossCheck, CrossCheckRow, compare_answers
from ratiobench.formulations.engine import Clock, SolveInterval, check_settings, choose, list_formulations
from ratiobench.formulations.processes import usable_threads
from ratiobench.formulations.report import NO_BACKEND, UNLIMITED, Proof, SolverAnswer, SolveReport, Termination
from ratiobench.instances.arrays import IntArray
from ratiobench.instances.cluster.format import FORMAT, content_hash, parse
from ratiobench.instances.cluster.model import COSTS, Instance, Schedule, make_costs
from ratiobench.instances.io.errors import InputError, require_known

VERSION = "7"  # Version of everything that can change a report's figures; part of the key of stored results

PRICES, CP_SAT, ENUMERATION = "prices", "cp-sat", "enumeration"
ALLOWED = {PRICES: (NO_BACKEND,), CP_SAT: ("cpsat",), ENUMERATION: (NO_BACKEND,)}
CP_SAT_JOBS, CP_SAT_WORK = 300, 60  # Most jobs for CP-SAT, and its work for a unit of effort
SMALL = 60  # Up to so many jobs it is taken unasked, after the prices
STATES = (2**10, 2**15, 2**17, 2**19)  # Of a layer at most, for a first look and for every unit of effort
POLISH = 0.01  # First step of further rounds between them, in parts of the mean price
# First factors of orders by release + a run + b log2(GPUs) + c log2(run), b and c in hours
FACTORS = {"wait-gpu-hours": ((0.0, -4.0, 0.0), (-0.5, -2.0, -1.0)), "wait": ((0.5, 1.0, 0.0), (2.0, 4.0, 0.0))}
SEGMENTS, SEGMENTS_OF_JOB = 2_000, 20  # Segments of the first grid: of all jobs together at most, and of one
PERIODS = (0, *(3600 * hours for hours in (1, 4, 12, 24, 72, 240, 10_000)))  # Seconds of release of a class
PRICES_OF_STAGE, PRICES_OF_SECOND = 400_000, 30_000  # Of a grid at most, so that there are rounds enough
MOST_PRICES = 1_600_000  # More take a certificate beyond 2 MB
ROUNDS = 1_200  # Of the ascent, for a unit of effort; of the plain relaxation
WINDOWS = {"wait-gpu-hours": 250, "wait": 120, "wait-gpus": 250, "slowdown": 120}  # Jobs of a window at most
DECODED = 6_000_000  # Jobs decoded in windows, for a unit of effort
ORDERS_OF_JOB, ORDER_WORK = 50, 4  # Orders for a job at most; what a job of a whole order costs in jobs of windows
LEAST_ROUNDS, MOST_ROUNDS, LONGEST = 300, 3_000, 8  # Of a window in the first stage; most windows grow with stages
SPARE = 7_200  # Seconds for which a job has prices beyond those that the plain relaxation needs
TRIAL, SPLITS = 2, 8  # Branches on starts before an ascent, and for a stage if these pay
LEAST_LEAVES = 16  # No branches are tried if a certificate has room for fewer leaves
PAYS = 0.015  # A gain of the trial, in parts of the bound, beyond what finer segments gain
FINEST = 4  # After this stage segments get shorter only if each job is its own class
LEAST_GAIN = 1e-4  # Of an ascent in parts of the bound; one that gains less is the last where search has two threads
BITS = 14  # Of a mean price in the certificate


def solve(
    instance: Instance,
    cost: str = "wait",
    formulation: str = "auto",
    backend: str = "auto",
    effort: int = 1,
    gap: float = 0.0,
    seconds: float | None = None,
    start: Schedule | None = None,
    certified: bool = False,
) -> SolveReport:
    """Compute OPT of a cluster or a certified interval on it; the least cost is best.

    Parameters
    ----------
    instance : the cluster and its jobs.
    cost : one of `COSTS`.
    formulation, backend : names (`formulations()`), or ``auto`` to choose by size.
    effort : units of work, at least 1; the same figures on any machine, and never a wider interval for a larger one.
    gap : stop at this relative width, in [0, 1).
    seconds : stop after about so many; None: no limit, and the figures do not depend on the machine.
    start : a schedule to begin with.
    certified : whether to go on until the prices alone, without a solver's bound, prove what they can.

    Returns
    -------
    The report; its certificate proves both ends to the independent checker.

    Raises
    ------
    InputError : for an unknown name, or a formulation that is not for so many jobs.
    """
    check_settings(effort, gap, seconds)
    require_known(cost, COSTS, "", "cost")
    clock = Clock()
    name, solver = choose(ALLOWED, formulation, backend, lambda backend: CP_SAT if backend != "auto" else PRICES)
    if name == CP_SAT and len(instance.jobs) > CP_SAT_JOBS:
        raise InputError("", "formulation", f"{name} is for at most {CP_SAT_JOBS} jobs, not {len(instance.jobs)}")
    if formulation == backend == "auto" and len(instance.jobs) <= SMALL and not certified:
        name, solver = CP_SAT, ALLOWED[CP_SAT][0]
    clock.start_solvers((solver,))
    by_states = formulation == "auto" and name == CP_SAT and fits(instance)
    with clock.stopped():
        warm(by_states)
    run = _Run(instance, cost, clock, gap, seconds)
    run.begin(start)
    if name == ENUMERATION:
        run.close(ENUMERATION, Proof.ENUMERATION, run.enumerate)
    if name != ENUMERATION or certified or not run.done():
        run.enclose(1 if name == CP_SAT else effort)
    if by_states:
        run.look_at_states(effort)
    if name == CP_SAT and not run.done():
        run.cp_sat(solver, effort)
    assert run.solution is not None
    return run.report(name, negated=True)


class _Run(SolveInterval[Fraction]):
    """An interval on the negated cost, and the steps that narrow it."""

    def __init__(self, instance: Instance, cost: str, clock: Clock, gap: float, seconds: float | None) -> None:
        super().__init__(self._value, "negated cost", clock.began, Fraction(0), gap=gap, seconds=seconds)
        self.instance, self.cost = instance, cost
        self.problem = Problem(instance, make_costs(instance.jobs, cost))
        self.search = Search(self.problem)
        self.ascent: bound.Ascent  # the plain relaxation at first
        self.tree: bound.Tree | None = None  # of branches, if they pay more than finer prices
        self.queued = False  # whether the prices come from a schedule's queue
        self.orders_pay = True  # whether other orders of all jobs gain enough beside windows
        self.is_rounded = False  # whether the sizes of many GPUs are rounded so much that plain prices prove more
        self.latest = self.problem.release  # of every job the last start that prices must prevent
        self.scale = 1 if cost != "slowdown" else 2**40 // max(1, len(instance.jobs))
        self.segments = min(SEGMENTS, SEGMENTS_OF_JOB * (len(self.problem) + 1))
        self.claim: Certificate | None = None  # of the best prices, without a schedule

    def _value(self, schedule: Schedule) -> tuple[Fraction | None, str]:
        report = check(self.instance, schedule, self.cost)
        if report.cost is None:
            return None, str(report.violations[0])
        scale = self.scale  # which another thread may change
        return Fraction(-math.ceil(report.cost * scale), scale), ""

    def begin(self, start: Schedule | None) -> None:
        """Offer the schedule to begin with and those of simple orders; without prices nobody waits: the first bound."""
        p = self.problem
        borders = [p.instance.begin, p.instance.begin + 1]
        self.certify(Proof.TRIVIAL, borders=borders, classes=list(range(len(p))), rows=[])
        if start is not None and self.offer(start, "start"):
            self.search.begin_from(start)
        self.search.decode(p.release)
        elapsed = self.elapsed(0.1)
        if len(p):
            self.search.tune(FACTORS.get(self.cost, FACTORS["wait"]), lambda: elapsed() >= 1)
        self.take("simple orders")

    def take(self, source: str) -> None:
        """Offer the best schedule of the search, if it is better."""
        if self.solution is None or self.search.cost < -float(self.lower) * (1 + 1e-9):
            self.offer(self.search.schedule(), source)

    def enumerate(self) -> tuple[Fraction, Schedule]:
        value, schedule = enumerate_optimum(self.instance, self.problem.costs)
        return -Fraction(math.floor(value * self.scale), self.scale), schedule

    def cp_sat(self, solver: str, effort: int) -> None:
        """CP-SAT on the starts that the prices leave: those at which a schedule may cost less than the best."""
        p, spare = self.problem, (float(-self.lower) - self.ascent.bound) * (1 + 1e-9) + 1e-6
        spans = [self.ascent.starts_within(j, spare) for j in range(len(p))]
        model = self.build(solver, f"{models.__name__}:intervals", p, self.solution.start.tolist(), spans)
        if model is None:
            return
        result = self.call_solver(solver, model.text, CP_SAT, CP_SAT_WORK * effort, gap=self.gap, sign=-1)
        if result.values is not None:
            self.search.adopt(models.read_plan(p, self.search, model, result.values))
            self.take(solver)
        if result.bound is not None:
            spare = 0 if abs(result.bound) <= 2**53 else math.ceil(abs(result.bound) * 2**-50)
            # Starts that were left out belong to schedules that are no better than the best.
            self.bound(max(self.lower, Fraction(math.floor(result.bound) + spare, model.unit)), Proof.CP_SAT)

    def look_at_states(self, effort: int) -> None:
        """Dynamic programming over sets of started jobs, with more states each time."""
        elapsed, base = self.elapsed(0.75), float(self.problem.base.sum())
        for width in STATES[: 1 + effort]:
            if self.done():
                return
            if width > STATES[0]:
                self.ascent.climb(ROUNDS, POLISH, bound.LAST_STEP, elapsed)
                self.count("rounds", ROUNDS)
            states = StateSearch(self.problem, self.ascent)
            error = states.rounding(float(-self.lower))
            # Costs are integers, but for slowdowns, and what goes may still cost `error` less than its bound.
            spare = 2 * error if self.cost == "slowdown" else 1 - 2 * error
            better = float(-self.lower) - base - spare
            lowest, start = states.search(better, width, lambda: elapsed() >= 1)
            self.count("states", width)
            if start is not None:
                self.search.adopt(Plan(start, np.zeros_like(start), np.zeros(int(self.problem.nodes.sum()), np.int64)))
                self.take("states")
            low = Fraction(lowest + base - error)
            low = low if self.cost == "slowdown" else Fraction(math.ceil(low))
            self.bound(max(self.lower, -low), Proof.DYNAMIC_PROGRAMMING)

    def enclose(self, effort: int) -> None:
        """Search and ascent in turns, with more of both each time; an ascent that gained little is left out once."""
        if not len(self.problem):
            return
        self.relax(self.elapsed(0.2))
        if self.seconds is not None and usable_threads() > 1:
            self.share_threads(effort)
            return
        stage, pays = 1, True
        while stage <= effort and not self.done():
            ends = self.lower, self.upper
            self.improve(stage, self.elapsed(0.4 if pays else 0.8))
            searched = self.lower - ends[0]
            if pays and not self.over() and self.raise_bound(stage, self.search.best):
                self.take_prices()
            pays = not pays or stage == 1 or 10 * (ends[1] - self.upper) >= searched
            stage = min(2 * stage, UNLIMITED)

    def share_threads(self, effort: int) -> None:
        """In turns ascent beside a search, until finer prices gain next to nothing, and search in two threads."""
        stage, seconds, raised, searched = 1, 0.0, math.inf, math.inf  # gains of a second
        while stage <= effort and not self.done():
            began, upper = time.perf_counter(), self.upper
            if stage <= FINEST or (raised and 10 * raised >= searched):
                if self.tree is None:
                    self.improve_and_prove(stage)
                else:
                    self.branch(self.tree, SPLITS * stage)
                gain, seconds = float(upper - self.upper), time.perf_counter() - began
                raised = gain / seconds if gain > LEAST_GAIN * -float(self.upper) else 0.0
            if self.done():
                return
            began, lower = time.perf_counter(), self.lower
            self.search_in_two_threads(seconds * (3 if raised < 10 * searched or not raised else 0.1))
            searched = float(self.lower - lower) / (time.perf_counter() - began)
            stage = min(2 * stage, UNLIMITED)

    def improve_and_prove(self, stage: int) -> None:
        """Search in a thread for as long as the ascent takes."""
        elapsed, proved = self.elapsed(0.8), threading.Event()
        plan = copy.deepcopy(self.search.best)  # the search changes its own

        def search() -> None:
            while not proved.is_set() and elapsed() < 1:
                self.improve(stage, lambda: 1.0 if proved.is_set() else elapsed())

        with ThreadPoolExecutor(1) as threads:
            searched = threads.submit(search)
            try:
                pays = self.raise_bound(stage, plan)
            finally:
                proved.set()
            searched.result()
        if pays:
            self.take_prices()

    def search_in_two_threads(self, seconds: float) -> None:
        elapsed, until = self.elapsed(0.8), time.perf_counter() + seconds
        size = min(len(self.problem), WINDOWS[self.cost])
        self.search.improve_halves(size, lambda: elapsed() >= 1 or time.perf_counter() >= until)
        self.take("windows")

    def elapsed(self, share: float) -> Callable[[], float]:
        """What part of this share of the time that is left now has gone, so that every step has some."""
        left, began = self.left(), time.perf_counter()
        if left is None:
            return float
        return lambda: (time.perf_counter() - began) / max(1e-9, share * left)

    def relax(self, elapsed: Callable[[], float]) -> None:
        """The plain relaxation; the starts that it likes best give orders."""
        p, plan = self.problem, self.search.best
        until = int((plan.start + p.run).max())
        seconds = max(1, (until - int(p.release.min())) // self.segments)
        plain = bound.PlainAscent(p, bound.make_borders(p, seconds, until, moments=False))
        plain.begin_from(plain.prices)
        self.queued = plain.begin_from(bound.queue_prices(p, plan.start, plan.pool, plain.grid.borders))
        plain.climb(ROUNDS // 2, bound.PLAIN_STEP, bound.PLAIN_LAST, elapsed)
        self.latest = plain.latest_starts()
        self.count("rounds", ROUNDS // 2)
        self.ascent = plain
        for part in (0.0, 0.25, 0.5):
            if not self.over():
                self.search.decode(plain.best_start + part * p.run)
        self.take("orders of the plain relaxation")

    def improve(self, stage: int, elapsed: Callable[[], float]) -> None:
        """Other orders of all jobs while that pays, then windows of jobs around those that wait."""
        n, search = len(self.problem), self.search
        before = search.cost
        if self.orders_pay:
            orders = stage * min(ORDERS_OF_JOB * n, DECODED // (ORDER_WORK * n))
            search.perturb(orders, lambda: elapsed() >= 0.5)
            self.count("orders", orders)
        between, size = search.cost, min(n, WINDOWS[self.cost])
        windows = (6 * n // size + 2) * max(1, stage // LONGEST)
        rounds = min(MOST_ROUNDS, max(LEAST_ROUNDS, DECODED // (3 * n))) * min(stage, LONGEST)
        search.improve(windows, size, rounds, lambda: elapsed() >= 1)
        self.count("windows", windows)
        self.orders_pay = 10 * (before - between) >= between - search.cost
        self.take("windows")

    def raise_bound(self, stage: int, plan: Plan) -> bool:
        """Raise the bound by branches if a few of them pay, else by finer prices; return whether starts follow."""
        has_room = len(self.ascent.prices) * LEAST_LEAVES <= MOST_PRICES
        if self.tree is None and has_room and isinstance(self.ascent, bound.ClassAscent):
            tree, before = bound.Tree(self.ascent, usable_threads()), self.ascent.bound
            self.branch(tree, TRIAL)
            if tree.bound - before > (PAYS if stage <= FINEST else LEAST_GAIN) * abs(before):
                self.tree = tree
        if self.tree is not None:
            self.branch(self.tree, SPLITS * stage)
            return False
        return not self.done() and self.prove(stage, self.elapsed(0.8), plan)

    def branch(self, tree: bound.Tree, splits: int) -> None:
        """Split starts so often, or until the bound meets the schedule's cost or the certificate is full."""
        elapsed, leaves = self.elapsed(0.8), len(tree.leaves)
        most = min(leaves + splits, MOST_BRANCHES, MOST_PRICES // max(1, len(tree.leaves[0].prices)))

        def is_over() -> bool:
            left = self.left()
            return elapsed() >= 1 or (left is not None and left < 1.5 * tree.seconds * len(tree.leaves))

        while len(tree.leaves) < most and not is_over() and tree.bound < (1 - self.gap) * -float(self.lower):
            if not tree.split(is_over):
                break
        self.count("branches", len(tree.leaves) - leaves)
        if len(tree.leaves) > leaves:
            began = time.perf_counter()
            self.certify_prices(tree.grid, tree.classes, [leaf.prices for leaf in tree.leaves], tree.branches)
            tree.seconds = (time.perf_counter() - began) / len(tree.leaves)

    def prove(self, stage: int, elapsed: Callable[[], float], plan: Plan) -> bool:
        """Raise prices from the best so far, of smaller classes after each stage; return whether starts follow."""
        p = self.problem
        until = np.maximum(plan.start, self.latest + (self.latest - p.release) // 4) + p.run + SPARE
        classes, grid = self.choose_grid(stage, int((plan.start + p.run).max()), until)
        if isinstance(self.ascent, bound.ClassAscent) and grid.offset[-1] <= len(self.ascent.prices):
            grid, classes = self.ascent.grid, self.ascent.classes
        prices = bound.carry_prices(self.ascent.grid, self.ascent.best, grid)
        mean = float(prices[prices > 0].mean()) if (prices > 0).any() else 1e-3
        width = (p.nodes * p.gpus)[grid.job].astype(float)
        ascent = bound.ClassAscent(p, grid, prices, mean * width / max(1.0, float(width.mean())), classes)
        if self.is_rounded:
            self.ascent.climb(ROUNDS, bound.PLAIN_STEP / 3, bound.PLAIN_LAST, elapsed)
        else:
            ascent.evaluate()
            step = bound.STEP if stage == 1 and not self.queued else bound.STEP / 3
            ascent.climb(ROUNDS, step, bound.LAST_STEP, elapsed)
            self.is_rounded = isinstance(self.ascent, bound.PlainAscent) and ascent.bound < self.ascent.bound
        if self.is_rounded:
            self.certify_prices(grid, classes, [bound.carry_prices(self.ascent.grid, self.ascent.best, grid)])
            return False
        self.count("rounds", ROUNDS)
        self.ascent = ascent
        self.certify_prices(grid, classes, [ascent.best])
        return True

    def choose_grid(self, stage: int, end: int, until: IntArray) -> tuple[IntArray, bound.Grid]:
        """Choose the smallest classes that fit, and shorter segments if each job is its own class."""
        p, left = self.problem, self.left()
        most = min(MOST_PRICES, stage * PRICES_OF_STAGE, math.inf if left is None else left * PRICES_OF_SECOND)

        def make(parts: float, period: int) -> tuple[IntArray, bound.Grid]:
            seconds = max(1, int((end - int(p.release.min())) / (self.segments * parts)))
            classes = bound.classify(p, period)
            borders = bound.make_borders(p, seconds, end, moments=len(p) <= 200)
            return classes, bound.class_grid(p, borders, classes, np.minimum(end, until))

        for period in PERIODS:
            classes, grid = make(min(stage, FINEST), period)
            if grid.offset[-1] <= most:
                break
        if stage > FINEST and period == 0:
            finer = make(min(stage, 0.9 * FINEST * most / int(grid.offset[-1])), 0)
            if grid.offset[-1] < finer[1].offset[-1] <= most:
                return finer
        return classes, grid

    def take_prices(self) -> None:
        """Offer the order of the starts that the prices like best."""
        if not self.over():
            self.search.decode(self.ascent.best_start)
        self.take("order of the prices")

    def certify_prices(
        self, grid: bound.Grid, classes: IntArray, leaves: Sequence[FloatArray], branches: Sequence[Branch] = ()
    ) -> None:
        """Round the prices of leaves to integers and prove with them."""
        positive = np.concatenate([prices[prices > 0] for prices in leaves])
        bits = BITS - math.floor(math.log2(positive.mean() if len(positive) else 1.0))
        if self.cost != "slowdown":
            self.scale = 2 ** max(0, min(bits, 40))
        coarse = 2 ** max(0, self.scale.bit_length() - 1 - bits)
        heads, rows = np.column_stack((classes[grid.job], grid.pool, grid.first)).tolist(), []
        for leaf, prices in enumerate(leaves):
            integers = np.round(prices * (self.scale / coarse)).astype(np.int64) * coarse
            parts = np.split(integers, grid.offset[1:-1])
            rows += [
                PriceRow(c, q, first, part.tolist(), leaf) for (c, q, first), part in zip(heads, parts, strict=True)
            ]
        tables = {"borders": grid.borders.tolist(), "classes": classes.tolist(), "rows": rows}
        self.certify(Proof.LAGRANGIAN, **tables, branches=list(branches))

    def certify(self, proof: Proof, **prices: Any) -> None:
        """Let the checker's own arithmetic say what prices prove; `prices`: fields of the certificate."""
        claim = make_claim(instance=content_hash(self.instance), cost=self.cost, scale=self.scale, **prices)
        claim = replace(claim, scaled_lower=proved_bound(self.instance, claim))
        if self.claim is None or claim.lower > self.claim.lower:
            self.claim = claim
        self.bound(-claim.lower, proof)

    def certificate(self) -> Certificate | None:
        """What proves the best schedule and the best priced bound."""
        if self.claim is None or self.solution is None or self.claim.lower > -self.lower:
            return None
        cost = sum_costs(self.instance, self.cost, self.solution.start.tolist())
        return complete(self.claim, self.solution, cost) if cost * self.claim.scale <= LARGEST_VALUE else None


@cache
def warm(by_states: bool) -> None:
    """Compile what a solve uses, on three jobs."""
    gpus, three = 1 if by_states else 2, {"id": ["a", "b", "c"], "submit": [0, 0, 1], "run": [3, 4, 5]}
    jobs = three | {"nodes": [1, 1, 2], "gpus": [gpus, 1, 1], "pools": [0, 0, 0]}
    cluster = {"pools": [{"name": "pool", "nodes": 2, "gpus": gpus}], "pool_sets": [[0]]}
    small = parse({"format": FORMAT, "name": "warm", "begin": 0, **cluster, "jobs": jobs}, "warm")
    run = _Run(small, "wait", Clock(), 0.0, None)
    run.begin(None)
    run.enclose(1)
    if by_states:
        assert run.ascent is not None
        StateSearch(run.problem, run.ascent).search(math.inf, 1, bool)


def crosscheck(
    instance: Instance, *, effort: int = 1, seconds: float | None = None, tell: Callable[[str], None] = lambda _: None
) -> CrossCheck:
    """Solve by every formulation that takes so many jobs, and compare the answers, as if the negated cost were best."""
    if instance.cost == "slowdown":
        raise InputError("crosscheck", "cost", "slowdown is no integer; take wait, wait-gpus or wait-gpu-hours")
    if len(instance.jobs) > CP_SAT_JOBS:
        raise InputError("crosscheck", "jobs", f"{len(instance.jobs)} jobs; at most {CP_SAT_JOBS} are compared")
    names = [CP_SAT, PRICES]
    with contextlib.suppress(ValueError):  # too many places of one job
        names[:0] = [ENUMERATION] if count_ways(instance) <= WAYS_LIMIT else []
    rows: list[CrossCheckRow] = []
    for name in names:
        tell(f"solving by {name}")
        report = solve(instance, instance.cost, name, effort=effort, seconds=seconds)
        bound, value = -math.floor(report.lower), -math.ceil(report.upper)
        answer = SolverAnswer(
            formulation=name,
            backend=report.backend,
            solver="" if report.solver is None else report.solver.solver,
            status=Termination.OPTIMAL if report.lower == report.upper else Termination.LIMIT,
            bound=float(bound),
            value=float(value),
            verified=value,
            solve_seconds=report.seconds,
            objective="the negated cost",
        )
        rows.append(CrossCheckRow(answer, bound, certified=name == PRICES))
    return compare_answers(rows, value, bound)


def formulations() -> list[tuple[str, str]]:
    """Name and summary of every formulation, with the backend that it goes with."""
    summaries = {
        PRICES: "prices of classes, pools and times with branches from below, windows of decoded orders from above",
        CP_SAT: f"intervals on pools of one-GPU nodes and on nodes, up to {CP_SAT_JOBS} jobs",
        ENUMERATION: f"every order and all nodes, up to {WAYS_LIMIT} of them",
    }
    automatic = f"{PRICES}; up to {SMALL} jobs sets of started jobs, then {CP_SAT}, after them"
    return list_formulations(ALLOWED, summaries, automatic)
