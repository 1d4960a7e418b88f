"""OPT of an instance, or an interval on it: bounds, heuristics, a formulation and a backend, put together.

`lower` is always the welfare of a solution that `check` has verified; `upper` is the least of the bounds that were
proved, each rounded safely. Whatever happens to a backend, the interval stands.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from threading import Event
from typing import Any, NamedTuple

import numpy as np

from ratiobench.formulations import backends, engine
from ratiobench.formulations.backends import BackendResult, Limits
from ratiobench.formulations.checksums import CertificateError
from ratiobench.formulations.engine import Clock, SolveInterval
from ratiobench.formulations.interval import seconds_left
from ratiobench.formulations.linear import LinearModel
from ratiobench.formulations.lora import large_runs, overloaded_runs, run_search, runs
from ratiobench.formulations.lora.bound.facets import Separator
from ratiobench.formulations.lora.bound.lagrangian import Capacity, DualBound, alone_bound, dual_bound, never_over
from ratiobench.formulations.lora.bound.pricing import Pool, Pricer, find_pool, pool
from ratiobench.formulations.lora.bound.task_prices import find_slots
from ratiobench.formulations.lora.bound.task_prices import warm as warm_task_prices
from ratiobench.formulations.lora.bound.tree import UNIT as BRANCH_UNIT
from ratiobench.formulations.lora.bound.tree import RunTree, Tree, whole_prices
from ratiobench.formulations.lora.certificate import Certificate, ClassPrice, Node
from ratiobench.formulations.lora.certificate import Prices as PriceTable
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.covering.schedules import StateSpaceTooLarge, cheapest_cover, standalone_value
from ratiobench.formulations.lora.direct_solve import build, solve_direct
from ratiobench.formulations.lora.heuristic import improve
from ratiobench.formulations.lora.heuristic.one_node import heuristic as one_node_heuristic
from ratiobench.formulations.lora.models import one_node, rigid
from ratiobench.formulations.lora.models.enumerate import TASK_LIMIT, enumerate_optimum
from ratiobench.formulations.lora.models.formulation import Formulation, number_of_nodes, registry
from ratiobench.formulations.lora.verify import dual_bound as prove_bound
from ratiobench.formulations.lora.verify import tree_bound
from ratiobench.formulations.report import UNLIMITED, Proof, SolverAnswer, SolveReport, Termination
from ratiobench.formulations.settings import NO_BACKEND, check_settings, too_many_columns
from ratiobench.formulations.worker import Reply
from ratiobench.instances.io.errors import InputError, explain_unknown_name, shorten
from ratiobench.instances.lora.format import content_hash
from ratiobench.instances.lora.model import Instance, IntArray, Task
from ratiobench.instances.lora.named import named
from ratiobench.instances.lora.restriction import exclude_killed, find_kind, only_runs, require_runs, restrict
from ratiobench.instances.lora.schedules import ScheduleKind
from ratiobench.instances.lora.solution import Decision, Solution

VERSION = "27"  # Version of everything that can change a report's figures; part of the key of stored results

ENUMERATE = "enumerate"
TINY_COLUMNS = 400  # Up to this many columns of `tight`, a solve runs to proven optimality, whatever the effort
DIRECT_COLUMNS = 40_000  # Up to this many columns of `tight`, `auto` hands the instance to a solver at all
BUILD_COLUMNS = 400_000  # No formulation is built beyond this many columns
SEARCH_CELLS = 20_000_000  # Up to this many (node, slot) pairs, solutions are searched for
# Share of a time limit for bounds and search where a solver follows: what it can prove it mostly proves from there
BEFORE_SOLVER = 0.15
# Up to so many tasks, a solve that branches searches for a unit of effort: programs then find more in less time
SEARCH_ONCE = 60
# Up to so many tasks, it only constructs solutions: what the first programs take is less than a search
SEARCH_NONE = 24
# Up to so many tasks a certificate may branch; nodes of its tree that are solved per unit of effort, times tasks
BRANCH_TASKS, BRANCH_NODES = 300, 6_000
# Up to this many rigid tasks and gangs, `auto` hands the instance to a solver, 15 to 40 seconds of a core a unit
RUN_TASKS = 300
# Units of work of a solver per unit of effort where tasks are rigid or gangs, times tasks (at least 1; others: 1)
RUN_WORK = {"cpsat": 1_200, "highs": 4_000}
RUN_SEARCH = 1_000  # Units of search before a solver of runs, times tasks
# Up to so many tasks, and slots of all of their runs together, a tree of decisions on runs is grown
TREE_TASKS, TREE_CELLS = 2_000, 2_000_000
LEAST_TREE_SECONDS = 0.5  # With less time left no tree is begun
RUN_UNIT = 2**20  # Prices of instances with rigid tasks are in such parts of a micro-dollar


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
    """OPT of P or a certified interval on it.

    `formulation`, `backend`: names (`formulations()`), or ``auto`` to choose by size; `effort`: units of work, at least
    1; the same figures on any machine; `UNLIMITED` to go on until the seconds end.
    """
    check_settings(effort, gap, seconds)
    clock = Clock()
    instance = exclude_killed(instance)
    schedules = find_kind(instance)
    if schedules not in _METHODS or instance.running:
        return _solve_runs(instance, formulation, backend, effort, gap, seconds, start)
    plan = choose(instance, formulation, backend)
    bounded = plan.formulation != ENUMERATE and (not plan.tiny or plan.backend == NO_BACKEND)
    automatic = formulation == "auto" and backend == "auto"
    # Small instances are proved by prices of single cells, in place of a solver's own branch and bound, where a proof
    # is asked for or the time is given; a unit of effort alone is less than that takes.
    small = automatic and bounded and schedules is ScheduleKind.ANY and 0 < instance.tasks <= BRANCH_TASKS
    small = small and (certified or seconds is not None)
    if small:
        plan = replace(plan, formulation="auto", backend=NO_BACKEND)
    # What a first solve has to compile and to load is not in its seconds.
    with clock.stopped():
        if bounded:
            warm_search(schedules)
        elif certified:
            warm_bounds()
    provable = certified and backend != NO_BACKEND and schedules is ScheduleKind.ANY
    branches = small or (provable and 0 < instance.tasks <= BRANCH_TASKS)
    if instance.tasks:
        clock.start_solvers((plan.backend, *(("highs",) if branches else ())))
    if branches and not plan.tiny:  # a tiny instance hardly ever needs a tree
        with clock.stopped():
            warm_tree()
    began = clock.began
    assert schedules is not None
    interval = _Interval(instance, began, seconds, certified)
    if start is not None:
        interval.offer(start, "start")
    interval.bound(interval.method.standalone_bound(instance), Proof.TRIVIAL)
    termination = Termination.NONE
    if plan.formulation == ENUMERATE:
        interval.enumerate()
    # Without an end to the effort the search goes on beside the solver, which begins from what a unit of it finds.
    beside = effort == UNLIMITED and seconds is not None and plan.backend != NO_BACKEND
    priced = None
    if bounded:
        share = 1.0 if plan.backend == NO_BACKEND and not small else BEFORE_SOLVER
        once = beside or (small and instance.tasks <= SEARCH_ONCE)
        units = 0 if small and instance.tasks <= SEARCH_NONE else 1 if once else effort
        priced = _prices_and_search(instance, units, gap, interval, _clock(began, seconds, share))
    if plan.backend != NO_BACKEND and instance.tasks and not (automatic and interval.within(gap)):
        left = None if seconds is None else max(0.1, seconds - (time.perf_counter() - began))
        limits = Limits(work=None if plan.tiny else effort, gap=gap, seconds=left)
        meanwhile = None
        if beside and priced is not None:
            meanwhile = partial(_search, instance, *priced, effort, gap, interval, seed=2, threads=1)
        termination = _direct(instance, registry()[plan.formulation], plan.backend, limits, interval, meanwhile)
        if plan.tiny and not interval.within(gap):
            # The backend failed, or stopped at a limit by hand, or tolerances spoiled its answer.
            _prices_and_search(instance, effort, gap, interval, _clock(began, seconds, 1.0))
            if automatic and not interval.within(gap):
                interval.enumerate()
    if certified and interval.dual is None:
        _prices(instance, effort, interval, _clock(began, seconds, 1.0))
    dual = interval.dual
    if branches and dual is not None and dual.upper - interval.lower > Fraction(gap) * dual.upper:
        with clock.stopped():
            warm_tree()
        _branch(instance, effort, interval, dual, seconds_left(seconds, clock.began), certified)
    if small:
        termination = Termination.OPTIMAL if interval.within(0.0) else Termination.LIMIT
    interval.termination, interval.used = termination, "highs" if small else plan.backend
    return interval.report(plan.formulation)


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be run; `tiny` means to the end."""

    formulation: str
    backend: str
    tiny: bool


def choose(instance: Instance, formulation: str, backend: str) -> Plan:
    """Check the names, and choose by size what was left to choose."""
    known, schedules = registry(), find_kind(instance)
    # For P every formulation may be asked: the one of another problem has no bound for it, but a solution.
    names = [name for name, each in known.items() if schedules in (ScheduleKind.ANY, each.schedules)]
    usual = _METHODS[schedules or ScheduleKind.ANY].formulation
    size = known[usual].columns(instance)

    def automatic(backend: str) -> str | None:
        if backend == NO_BACKEND or (backend == "auto" and size > DIRECT_COLUMNS):
            return None
        return "cpsat" if backend == "cpsat" and "cpsat" in names else usual

    name, solver = _choose_among(names, formulation, backend, automatic, "here every task stays on one node")
    return Plan(name, solver, name in known and size <= TINY_COLUMNS)


def _choose_among(
    names: Sequence[str], formulation: str, backend: str, automatic: Callable[[str], str | None], here: str
) -> tuple[str, str]:
    """Choose among the models that apply to an instance, and enumeration; `here` says why others do not apply."""
    known = registry()
    if formulation in known and formulation not in names:
        able = ", ".join(("auto", *names, ENUMERATE))
        raise InputError("", "formulation", f"{formulation} is not one of {able}: {here}")
    allowed = {name: known[name].backends for name in names} | {ENUMERATE: (NO_BACKEND,)}
    return engine.choose(allowed, formulation, backend, automatic)


class _Proved(NamedTuple):
    """An upper bound with the tables of prices, in 1/unit micro-dollars, and the tree that prove it.

    of_runs : its decisions are about runs.
    """

    unit: int
    upper: int
    tables: tuple[PriceTable, ...]
    nodes: tuple[Node, ...]
    of_runs: bool


class _Interval(SolveInterval[int]):
    """An interval on the welfare, with the dual bound that certifies it."""

    def __init__(self, instance: Instance, began: float, seconds: float | None = None, certified: bool = False) -> None:
        def verify(solution: Solution) -> tuple[int | None, str]:
            report = check(instance, solution)
            return (report.welfare, "") if report.valid else (None, str(report.violations[0]))

        super().__init__(verify, "welfare", began, 0, (None,) * instance.tasks, [(2**63, Proof.TRIVIAL)])
        self.seconds, self.certified = seconds, certified
        self.instance = instance
        self.schedules = find_kind(instance)
        if only_runs(instance):
            self.schedules = ScheduleKind.RIGID  # gangs among rigid tasks are of the same models
        # Tasks of other kinds are solved by `runs`, which asks for none of these.
        self.method = _METHODS.get(self.schedules, _METHODS[ScheduleKind.ANY])
        self.alone = rigid.best_alone if self.schedules is ScheduleKind.RIGID else self.method.alone
        self.dual: DualBound | None = None
        self.tree: _Proved | None = None

    def enumerate(self) -> None:
        """Close the interval by brute force, where the instance is small enough."""
        self.close(ENUMERATE, Proof.ENUMERATION, lambda: enumerate_optimum(self.instance))

    def certificate(self) -> Certificate | None:
        """What proves the best solution and the dual bound; a bound that was dropped as wrong proves nothing."""
        if self.dual is None or self.dual.upper < self.lower:
            return None
        decisions = tuple(None if each is None else each._replace(payment=None) for each in self.solution)
        if self.tree is not None and self.lower <= self.tree.upper < self.dual.upper:
            unit, upper, tables, tree, of_runs = self.tree
            first = tables[0]
            return Certificate(
                content_hash(self.instance), unit, *first[:3], upper, self.lower, decisions, tables[1:], tree,
                first.cells, of_runs,
            )  # fmt: skip
        return Certificate(
            instance=content_hash(self.instance),
            unit=self.dual.unit,
            lam=tuple(map(tuple, self.dual.lam.tolist())),
            phi=tuple(map(tuple, self.dual.phi.tolist())),
            classes=_class_prices(self.dual),
            upper=self.dual.upper,
            lower=self.lower,
            decisions=decisions,
        )


def _class_prices(dual: DualBound) -> tuple[ClassPrice, ...]:
    if dual.state is None:  # no class has a price of its own
        return ()
    p = dual.state.capacity.pool
    table = zip(p.class_kind.tolist(), p.class_rate.tolist(), p.class_memory.tolist(), strict=True)
    pairs = zip(table, dual.pi.tolist(), strict=True)
    return tuple(ClassPrice(*each, tuple(price)) for each, price in pairs if any(price))


def _solve_runs(
    instance: Instance,
    formulation: str,
    backend: str,
    effort: int,
    gap: float,
    seconds: float | None,
    start: Solution | None,
) -> SolveReport:
    """The interval of an instance whose tasks are rigid, gangs or of several kinds; see `runs`."""
    plan = _choose_runs(instance, formulation, backend)
    warm_runs()  # what a first solve has to compile and to load is not in its seconds
    if plan.backend != NO_BACKEND:
        backends.start_worker(plan.backend)
    if backend != NO_BACKEND:
        backends.start_worker("highs")
    began = time.perf_counter()
    interval = _Interval(instance, began, seconds)
    if start is not None:
        interval.offer(start, "start")
    termination = Termination.NONE
    if plan.formulation == ENUMERATE:
        interval.enumerate()
    else:
        # A solver begins from what a fixed amount of search finds: without an end it would leave the solver nothing.
        solver = plan.backend != NO_BACKEND
        before = max(1, RUN_SEARCH // max(1, instance.tasks)) if solver else effort
        clock = _clock(began, seconds, BEFORE_SOLVER if solver else 1.0)
        left = None if backend == NO_BACKEND else seconds_left(seconds, began)
        program = None if backend == NO_BACKEND else large_runs.limits(before, left)
        _price_and_search_runs(instance, before, gap, interval, clock, program, not solver)
        automatic = formulation == "auto" and backend == "auto"
        if solver and not (automatic and interval.within(gap)):
            work = None if plan.tiny else effort * max(1, RUN_WORK.get(plan.backend, 0) // instance.tasks)
            left = seconds_left(seconds, began)
            cuts = () if plan.tiny else (_slot_cuts(instance, interval, None if left is None else left / 5),)
            left = None if seconds is None else max(0.1, seconds - (time.perf_counter() - began))
            limits, chosen = Limits(work=work, gap=gap, seconds=left), registry()[plan.formulation]
            termination = _direct(instance, chosen, plan.backend, limits, interval, arguments=cuts)
            if automatic and not interval.within(gap):
                _offer_tree(interval, _branch_on_runs(interval, effort, gap, seconds_left(seconds, began)))
        if not interval.within(gap) and instance.tasks <= TASK_LIMIT and (automatic or not solver):
            interval.enumerate()
    interval.work.setdefault("blocks", 0)
    interval.termination, interval.used = termination, plan.backend
    return interval.report(plan.formulation)


def _slot_cuts(instance: Instance, interval: _Interval, seconds: float | None) -> list[rigid.SlotCut]:
    """Inequalities that tighten a model of runs, found in the process of HiGHS; none, with a note, where that fails."""
    limits = Limits(seconds=seconds)
    reply = backends.call("highs", "ratiobench.formulations.lora.slot_cuts:find", instance, seconds, limits=limits)
    if reply.termination is not None:
        interval.notes.append(f"slot cuts: {reply.message or reply.termination}")
        return []
    cuts: list[rigid.SlotCut] = reply.value
    interval.work["cuts"] = len(cuts)
    return cuts


def _choose_runs(instance: Instance, formulation: str, backend: str) -> Plan:
    """As `choose`, where tasks are rigid, gangs or of several kinds."""
    known = registry()
    names = [name for name, each in known.items() if each.schedules is ScheduleKind.RIGID]

    def automatic(backend: str) -> str | None:
        small = 0 < instance.tasks <= RUN_TASKS and only_runs(instance)
        if backend == NO_BACKEND or (backend == "auto" and not small):
            return None
        name = rigid.CPSAT_NAME if backend in ("auto", "cpsat") else rigid.NAME
        return None if backend == "auto" and known[name].columns(instance) > DIRECT_COLUMNS else name

    here = "here tasks are rigid, gangs or of several kinds"
    if instance.running:
        here = "here jobs run on some nodes when the first slot begins"
    name, solver = _choose_among(names, formulation, backend, automatic, here)
    if name in known and not only_runs(instance):
        require_runs(instance, "solvers have models of")
    return Plan(name, solver, name in known and known[name].columns(instance) <= TINY_COLUMNS)


def _price_and_search_runs(
    instance: Instance,
    effort: int,
    gap: float,
    interval: _Interval,
    clock: Callable[[float], Callable[[], bool]],
    program: Limits | None,
    branch: bool,
) -> None:
    """Prices and what they prove, list schedules along them, a program of the largest tasks, annealings.

    program : limits of the program; None for none, and for no tree.
    branch : a tree of decisions on runs grows beside the annealings.
    """
    nothing = np.zeros((len(instance.node_types), instance.slots), dtype=np.int64)
    _prove_runs(instance, nothing, nothing, 1, interval)
    cells = number_of_nodes(instance) * instance.slots
    if cells > SEARCH_CELLS:
        interval.notes.append(f"search: left out, {cells} cells are more than {SEARCH_CELLS}")
        return
    found = runs.find_runs(instance)
    if not len(found.task):
        return
    tasks = run_search.order_tasks(found, runs.no_prices(found))
    orders = [np.argsort(-each, kind="stable") for each in (tasks.rank[0], found.bid.astype(np.float64))]
    best = run_search.list_schedule(found, tasks, orders[:1], (0.0,))
    known, alone = float(best.welfare[0]), best
    interval.work["passes"] = 0
    least = runs.no_prices(found)
    # Which prices make the better lists differs from day to day; the search goes on from the better ones. Prices of
    # more rounds prove more, and may make worse lists.
    more = min(effort, 4)
    for search, rounds in (
        (runs.find_prices, more * runs.ROUNDS),
        *((runs.find_prices_by_subgradients, each * runs.SUBGRADIENT_ROUNDS) for each in sorted({1, more})),
    ):
        prices = search(found, known, rounds, clock(0.3 if search is runs.find_prices else 0.4))
        lam, phi = (np.rint(each * RUN_UNIT).astype(np.int64) for each in (prices.lam, prices.phi))
        _prove_runs(instance, lam, phi, RUN_UNIT, interval)
        interval.count("passes", rounds)
        least = prices if search is runs.find_prices else least
        order = run_search.order_tasks(found, prices)
        by_profit = np.argsort(-prices.gain / np.maximum(found.bid, 1), kind="stable")
        lists = run_search.list_schedule(found, order, [*orders, by_profit], (0.0, 0.5, 1.0))
        if best is alone or lists.welfare[0] > best.welfare[0]:
            tasks, best = order, max(alone, lists, key=lambda each: int(each.welfare[0]))
    interval.offer(run_search.solution_of_runs(instance, found, best), "lists")
    enough = math.ceil(interval.upper * (1 - Fraction(gap)))
    if best.welfare[0] < enough:
        best = run_search.draw_lists(found, tasks, best, run_search.LISTS * min(effort, 4), clock(0.1))
        interval.offer(run_search.solution_of_runs(instance, found, best), "lists")
    if program is not None and best.welfare[0] < enough and large_runs.has_large_gangs(found):
        packed = large_runs.find_schedule(found, tasks, least, program, clock(0.5))
        if packed is not None and packed.welfare[0] > best.welfare[0]:
            best = packed
            interval.offer(run_search.solution_of_runs(instance, found, best), "program")
    # The tree grows in the process of HiGHS of this thread, which is started already.
    late, stopped = clock(1.0), Event()
    with ThreadPoolExecutor(1) as side:
        job = side.submit(run_search.search, found, tasks, best, effort, enough, lambda: stopped.is_set() or late())
        reply = None
        try:
            if branch and program is not None and best.welfare[0] < enough:
                reply = _branch_on_runs(interval, effort, gap, seconds_left(interval.seconds, interval.began))
            best, blocks = job.result()
        except BaseException:  # an interrupt ends the search, too
            stopped.set()
            raise
    interval.offer(run_search.solution_of_runs(instance, found, best), "search")
    interval.work["blocks"] = blocks
    _offer_tree(interval, reply)


def _branch_on_runs(interval: _Interval, effort: int, gap: float, seconds: float | None) -> Reply | None:
    """The reply of the process in which a tree of decisions on runs grows; None where the instance is too large."""
    instance, dual = interval.instance, interval.dual
    if dual is None or instance.tasks > TREE_TASKS or not only_runs(instance):
        return None
    if seconds is not None and seconds < LEAST_TREE_SECONDS:
        return None
    found = runs.find_runs(instance)
    if not 0 < runs.count_cells(found) <= TREE_CELLS:
        return None
    price = np.stack([dual.lam * found.compute[:, None], dual.phi * found.capacity_mb[:, None]]) / dual.unit
    enough = math.floor(interval.lower / (1 - Fraction(gap)))
    arguments = found, price, enough, min(effort, UNLIMITED), seconds
    function = "ratiobench.formulations.lora.bound.run_tree:grow"
    return backends.call("highs", function, *arguments, limits=Limits(seconds=seconds))


def _offer_tree(interval: _Interval, reply: Reply | None) -> None:
    """What the tree proves, computed by the checker of certificates."""
    if reply is None:
        return
    if reply.termination is not None:
        interval.notes.append(f"branching: {reply.message or reply.termination}")
        return
    tree: RunTree | None = reply.value
    if tree is None:
        interval.notes.append("branching: the linear programme of the root was not solved within its limits")
        return
    interval.count("branches", tree.solved)
    lam, phi = (np.rint(each * tree.unit).astype(np.int64) for each in (tree.lam, tree.phi))
    if len(tree.nodes) == 1:  # without decisions a table of prices says all
        _prove_runs(interval.instance, lam[0], phi[0], tree.unit, interval)
        return
    tables = tuple(
        PriceTable(tuple(map(tuple, compute)), tuple(map(tuple, memory)), ())
        for compute, memory in zip(lam.tolist(), phi.tolist(), strict=True)
    )
    try:
        upper = tree_bound(interval.instance, tree.unit, tables, tree.nodes, runs=True)
    except CertificateError as wrong:
        interval.notes.append(f"branching: {wrong}")
        return
    interval.tree = _Proved(tree.unit, upper, tables, tree.nodes, True)
    interval.bound(upper, Proof.LAGRANGIAN)


def _prove_runs(instance: Instance, lam: IntArray, phi: IntArray, unit: int, interval: _Interval) -> None:
    """The bound that these prices prove, computed by the checker of certificates."""
    try:
        upper = prove_bound(instance, unit, tuple(map(tuple, lam.tolist())), tuple(map(tuple, phi.tolist())), ())
    except CertificateError as wrong:
        interval.notes.append(f"{Proof.LAGRANGIAN}: {wrong}")
        return
    if interval.dual is None or upper < interval.dual.upper:
        none = np.zeros((0, instance.slots))
        interval.dual = DualBound(upper, lam, phi, none.astype(np.int64), none, unit, 1)
    interval.bound(upper, Proof.LAGRANGIAN)


def trivial_bound(instance: Instance) -> int:
    """Sum over tasks of the best net value alone on an empty cluster, micro-dollars: an upper bound on OPT."""
    with contextlib.suppress(StateSpaceTooLarge, OverflowError, MemoryError):
        return alone_bound(find_pool(instance))
    public = instance.public("")
    total = 0
    for i in range(instance.tasks):  # one by one: some task's table is too large
        task = instance.task(i)
        try:
            total += standalone_value(task, public)
        except StateSpaceTooLarge:
            total += _relaxed_value(task)
    return total


def best_alone(instance: Instance) -> Solution:
    """The solution that admits one task only, the one that is worth most alone, on nodes that are empty.

    It takes no search, so a bound that it refutes is wrong. Tasks whose tables would be too large are passed over.
    """
    public = instance.public("")
    everywhere = np.ones((len(instance.node_types), instance.slots), np.bool_)
    nodes = np.broadcast_to(public.first_node[:-1, None], everywhere.shape)
    best: tuple[int, int, Decision | None] = (0, 0, None)
    for i in range(instance.tasks):
        task = instance.task(i)
        try:
            cover = cheapest_cover(task, public, task.cost, everywhere, nodes)
        except StateSpaceTooLarge:
            continue
        if cover is not None and task.bid - int(cover.cost) > best[0]:
            option = task.options[cover.option]
            best = (task.bid - int(cover.cost), i, Decision(option.vendor, cover.cells))
    return tuple(best[2] if i == best[1] else None for i in range(instance.tasks))


def _relaxed_value(task: Task) -> int:
    """At least the task's best net value: the cheapest vendor, and of the cells only those that earn money."""
    window = task.cost[:, task.arrival - 1 : task.deadline]
    earned = int(np.maximum(0, -window.min(axis=0)).sum())
    return max(0, task.bid + earned - min(option.price for option in task.options))


class _Method(NamedTuple):
    """What a solve calls for one kind of schedules."""

    formulation: str
    standalone_bound: Callable[[Instance], int]
    lagrangian_bound: Callable[[Pool, DualBound], int]
    search: Callable[..., improve.Found]
    warm: Callable[..., object]
    alone: Callable[[Instance], Solution] | None = None


_METHODS: dict[ScheduleKind | None, _Method] = {
    ScheduleKind.ANY: _Method(
        "tight", trivial_bound, lambda _, dual: dual.upper, improve.heuristic, improve.warm, best_alone
    ),
    ScheduleKind.ONE_NODE: _Method(
        one_node.NAME,
        one_node.standalone_bound,
        one_node.lagrangian_bound,
        one_node_heuristic,
        partial(one_node_heuristic, enough=2**62),
    ),
}


def _prices(
    instance: Instance, effort: int, interval: _Interval, clock: Callable[[float], Callable[[], bool]]
) -> tuple[Pool, DualBound] | None:
    """The Lagrangian bound, and the pooled tasks that it was computed on; None with a note where there is none."""
    try:
        tasks = find_pool(instance)
        pricer = Pricer(tasks)
        dual = dual_bound(pricer, effort, over=clock(0.4))
    except (StateSpaceTooLarge, OverflowError, MemoryError) as error:
        interval.notes.append(f"{Proof.LAGRANGIAN}: {error}")
        return None
    interval.work["passes"] = dual.passes
    interval.bound(interval.method.lagrangian_bound(tasks, dual), Proof.LAGRANGIAN)
    if interval.schedules is not ScheduleKind.ANY:
        if interval.certified:
            _certify_one_node(instance, dual, interval)
        return tasks, dual
    interval.dual = dual
    if interval.upper < dual.upper:
        # Tasks that hardly compete are bounded best by what each is worth alone: the dual value at zero prices.
        nothing = np.zeros((len(tasks.class_kind), instance.slots))
        free = np.zeros(tasks.tariff.shape)
        interval.dual = min(dual, Capacity(tasks).proved(pricer, nothing, free, free), key=lambda each: each.upper)
    return tasks, dual


def _certify_one_node(instance: Instance, dual: DualBound, interval: _Interval) -> None:
    """What the prices for tasks that may have every schedule prove of tasks that stay on one node, by the checker."""
    lam, phi = (tuple(map(tuple, each.tolist())) for each in (dual.lam, dual.phi))
    try:
        upper = prove_bound(instance, dual.unit, lam, phi, _class_prices(dual))
    except CertificateError as wrong:
        interval.notes.append(f"certificate: {wrong}")
        return
    interval.dual = dual._replace(upper=upper)
    interval.bound(upper, Proof.LAGRANGIAN)


def _clock(began: float, seconds: float | None, share: float) -> Callable[[float], Callable[[], bool]]:
    """A maker of clocks: clock(part) runs out when that part of the share of the seconds is over; never without any."""
    if seconds is None:
        return lambda part: never_over
    return lambda part: lambda: time.perf_counter() - began > seconds * share * part


def _prices_and_search(
    instance: Instance, effort: int, gap: float, interval: _Interval, clock: Callable[[float], Callable[[], bool]]
) -> tuple[Pool, DualBound] | None:
    priced = _prices(instance, effort, interval, clock)
    if priced is not None:
        _search(instance, *priced, effort, gap, interval, clock(1.0))
    return priced


def _branch(
    instance: Instance, effort: int, interval: _Interval, dual: DualBound, seconds: float | None, certified: bool
) -> None:
    """Prices of single cells and a tree of decisions prove more of a small instance; see `small_instances`."""
    nodes = max(1, BRANCH_NODES * min(effort, UNLIMITED) // max(instance.tasks, 1))
    arguments = (
        instance,
        dual.rent,
        interval.solution,
        interval.lower,
        nodes,
        min(effort, UNLIMITED),
        seconds,
        certified,
    )
    reply = backends.call(
        "highs", "ratiobench.formulations.lora.small_instances:grow", *arguments, limits=Limits(seconds=seconds)
    )
    if reply.termination is not None:
        interval.notes.append(f"branching: {reply.message or reply.termination}")
        return
    found: Tree | None = reply.value
    if found is None:
        return
    interval.offer(found.solution, "program")
    if found.stated is not None:
        interval.bound(found.stated, Proof.BRANCH_AND_BOUND)
    interval.work["branches"] = found.solved
    # Where the checker cannot look at all leaves, the prices without decisions are a certificate, too.
    alone: tuple[Node, ...] = (0,)
    for tree, prices in ((found.nodes, found.tables), (alone, (found.root,))):
        tables = tuple(whole_prices(instance, found.task, found.kind, each) for each in prices)
        try:
            upper = tree_bound(instance, BRANCH_UNIT, tables, tree)
        except CertificateError as wrong:
            interval.notes.append(f"branching: {wrong}")
            continue
        interval.tree = _Proved(BRANCH_UNIT, upper, tables, tree, False)
        interval.bound(upper, Proof.LAGRANGIAN)
        return


def _search(
    instance: Instance,
    tasks: Pool,
    dual: DualBound,
    effort: int,
    gap: float,
    interval: _Interval,
    over: Callable[[], bool],
    seed: int = 1,
    threads: int = 2,
) -> None:
    cells = number_of_nodes(instance) * instance.slots
    if cells > SEARCH_CELLS:
        interval.notes.append(f"search: left out, {cells} cells are more than {SEARCH_CELLS}")
        return
    start = interval.solution if interval.lower > 0 else None
    enough = math.ceil(interval.upper * (1 - Fraction(gap)))
    tell = _listener(interval)
    found = interval.method.search(instance, tasks, dual, effort, seed, start, over, enough, tell, threads)
    interval.offer(found.solution, "search")
    interval.work["blocks"] = interval.work.get("blocks", 0) + found.blocks


def _listener(interval: _Interval) -> Callable[[Callable[[], Solution]], None]:
    """Takes solutions on the way, as often as verifying them costs little, so that the trail shows when they came."""
    last, cost = time.perf_counter(), 0.0

    def tell(make: Callable[[], Solution]) -> None:
        nonlocal last, cost
        now = time.perf_counter()
        if now - last > max(1.0, 30 * cost):
            interval.offer(make(), "search")
            last = time.perf_counter()
            cost = last - now

    return tell


@cache
def _tiny() -> tuple[Instance, Pool, DualBound]:
    instance = named("tiny_two_types")
    tasks = find_pool(instance)
    return instance, tasks, dual_bound(Pricer(tasks))


def warm_bounds() -> None:
    """Compile and cache the kernels of the bound by using each once."""
    _tiny()


@cache
def warm_runs() -> None:
    """Compile and cache the kernels for tasks that are never paused."""
    instance = restrict(named("tiny_two_types"), ScheduleKind.RIGID)
    found = runs.find_runs(instance)
    prices = runs.find_prices(found, 0.0, 2, never_over)
    tasks = run_search.order_tasks(found, prices)
    best = run_search.list_schedule(found, tasks, [np.arange(len(found.task))], (0.0,))
    best = run_search.draw_lists(found, tasks, best, 1, never_over)
    run_search.search(found, tasks, best, 1, 2**62, never_over)
    overloaded_runs.give_nodes(found, tasks, best, prices, 1.0, 10, 0, never_over)


@cache
def warm_search(schedules: ScheduleKind = ScheduleKind.ANY) -> None:
    """Compile and cache the kernels of the search for schedules of this kind, and those of the bound."""
    _METHODS[schedules].warm(*_tiny())


@cache
def warm_cells() -> None:
    """Compile and cache the kernels of prices of single cells."""
    p = pool(_tiny()[0], spare=1)
    warm_task_prices(p)
    slots = find_slots(p)
    Separator(p, slots).separate(np.zeros(len(slots.entry)))


@cache
def warm_tree() -> None:
    """Load what a tree needs in the worker process of HiGHS."""
    backends.call("highs", "ratiobench.formulations.lora.small_instances:warm", _tiny()[0])


def warm() -> None:
    """Compile and cache the kernels of bounds and searches by using each once."""
    for schedules in (ScheduleKind.ANY, ScheduleKind.ONE_NODE):
        warm_search(schedules)
    warm_cells()
    warm_runs()


def _direct(
    instance: Instance,
    formulation: Formulation,
    backend: str,
    limits: Limits,
    interval: _Interval,
    meanwhile: Callable[[Callable[[], bool]], None] | None = None,
    arguments: tuple[Any, ...] = (),
) -> Termination:
    """Build, solve, verify; everything that goes wrong is a note. `meanwhile` runs until the solver has ended.

    `arguments` go to the function that builds the model, behind the instance.
    """
    size = formulation.columns(instance)
    if size > BUILD_COLUMNS:
        text = f"not built, {size} columns are more than {BUILD_COLUMNS}"
        interval.notes.append(f"{formulation.name}: {text}")
        interval.answer = SolverAnswer(formulation.name, backend, "", Termination.MEMORY, message=text)
        return Termination.MEMORY
    asked = solve_direct(
        instance,
        formulation,
        backend,
        limits,
        interval.verify,
        interval.solution,
        reduced=True,
        arguments=arguments,
        run=partial(_solve_beside, meanwhile),
    )
    interval.answer = answer = asked.answer
    if not asked.built:
        interval.notes.append(f"{formulation.name}: {asked.note}")
        return answer.status
    interval.work |= {"columns": answer.columns, "nodes": asked.nodes, "iterations": asked.iterations}
    if limits.work is not None:
        interval.work["effort"] = limits.work
    if asked.note:
        interval.notes.append(asked.note)
    if asked.solution is not None:
        interval.offer(asked.solution, f"{backend}'s incumbent")
    exact = backend == "cpsat"
    if not exact and interval.alone is not None:
        # What a solver says in floating point is held against a solution that needs none.
        interval.offer(interval.alone(instance), "one task alone")
    if asked.bound is not None and formulation.schedules is interval.schedules:
        interval.bound(asked.bound, Proof.CP_SAT if exact else Proof.BRANCH_AND_BOUND)
    return answer.status


def _solve_beside(
    meanwhile: Callable[[Callable[[], bool]], None] | None, solve: Callable[[], BackendResult]
) -> BackendResult:
    """Solve, with `meanwhile` running in a thread until the solver has ended."""
    if meanwhile is None:
        return solve()
    ended = Event()
    with ThreadPoolExecutor(1) as side:
        job = side.submit(meanwhile, ended.is_set)
        try:
            result = solve()
        finally:
            ended.set()
        job.result()
    return result


def formulations() -> list[tuple[str, str]]:
    """Name and summary of every formulation, with the backends that it goes with."""
    listed = [(each.name, f"{each.summary} [{', '.join(each.backends)}]") for each in registry().values()]
    listed.append((ENUMERATE, f"every schedule of every task, for tiny instances [{NO_BACKEND}]"))
    listed.append(("auto", "by size: bounds, a heuristic, and a solver where that can help (tight; rigid-cpsat)"))
    return listed


def export(instance: Instance, kind: str, formulation: str = "auto") -> str:
    """The model as MPS or LP text, for any other solver.

    The LP text maximises. The MPS text minimises the negated objective (`LinearModel.mps` says why), so its optimum
    is minus OPT.
    """
    if kind not in ("mps", "lp"):
        raise InputError("", "format", f"{shorten(kind)} is not one of mps, lp")
    known = registry()
    runs_only = only_runs(instance)
    if (instance.run.any() or instance.running) and not runs_only:
        require_runs(instance, "models are exported of instances whose tasks are `any` on empty nodes, and of")
    usual = rigid.NAME if runs_only else "tight"
    name = usual if formulation == "auto" else formulation
    instance = exclude_killed(instance)
    kinds = (ScheduleKind.RIGID,) if runs_only else (*ScheduleKind, None)
    linear = [each.name for each in known.values() if "highs" in each.backends and each.schedules in kinds]
    if name not in linear:
        raise InputError("", "formulation", explain_unknown_name(formulation, ("auto", *linear)))
    size = known[name].columns(instance)
    if size > BUILD_COLUMNS:
        same = [other for other in linear if other != name and known[other].schedules in (ScheduleKind.ANY, None)]
        fit = [other for other in same if known[other].columns(instance) <= BUILD_COLUMNS]
        raise InputError("", "formulation", too_many_columns(name, size, BUILD_COLUMNS, fit))
    model = build(instance, known[name])
    if not isinstance(model, LinearModel):
        raise RuntimeError(f"{name} cannot be built: {model.termination}: {model.message}")
    return model.mps() if kind == "mps" else model.lp()
