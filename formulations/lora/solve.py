"""OPT of an instance, or an interval on it: bounds, heuristics, a formulation and a backend, put together."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from threading import Event
from typing import NamedTuple

import numpy as np

from ratiobench.formulations import backends, engine
from ratiobench.formulations.backends import BackendResult, Limits
from ratiobench.formulations.checksums import CertificateError
from ratiobench.formulations.engine import Clock, SolveInterval, check_settings, make_verify
from ratiobench.formulations.kernels import load_numba
from ratiobench.formulations.linear import LinearModel
from ratiobench.formulations.lora.bound.facets import Separator
from ratiobench.formulations.lora.bound.lagrangian import Capacity, DualBound, alone_bound, dual_bound, never_over
from ratiobench.formulations.lora.bound.pricing import Pool, Pricer, find_pool, pool
from ratiobench.formulations.lora.bound.task_prices import find_slots
from ratiobench.formulations.lora.bound.task_prices import warm as warm_task_prices
from ratiobench.formulations.lora.bound.tree import UNIT as BRANCH_UNIT
from ratiobench.formulations.lora.bound.tree import Tree, whole_prices
from ratiobench.formulations.lora.certificate import Certificate, ClassPrice, Node, Prices
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.covering.schedules import StateSpaceTooLarge, cheapest_cover, standalone_value
from ratiobench.formulations.lora.direct_solve import BUILD_COLUMNS, build, solve_direct
from ratiobench.formulations.lora.heuristic import improve
from ratiobench.formulations.lora.heuristic.one_node import heuristic as one_node_heuristic
from ratiobench.formulations.lora.models import one_node
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.formulations.lora.models.formulation import Formulation, registry
from ratiobench.formulations.lora.verify import dual_bound as prove_bound
from ratiobench.formulations.lora.verify import tree_bound
from ratiobench.formulations.report import NO_BACKEND, UNLIMITED, Proof, SolveReport, Termination
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.format import content_hash
from ratiobench.instances.lora.model import Instance, ScheduleKind, Task
from ratiobench.instances.lora.named import named
from ratiobench.instances.lora.solution import Decision, Solution

VERSION = "28"  # Version of everything that can change a report's figures; part of the key of stored results

ENUMERATE = "enumerate"
TINY_COLUMNS = 400  # Up to this many columns of `tight`, a solve runs to proven optimality, whatever the effort
DIRECT_COLUMNS = 40_000  # Up to this many columns of `tight`, `auto` hands the instance to a solver at all
SEARCH_CELLS = 20_000_000  # Up to this many (node, slot) pairs, solutions are searched for
# Share of a time limit for bounds and search where a solver follows: what it can prove it mostly proves from there
BEFORE_SOLVER = 0.15
# Up to so many tasks, a solve that branches searches for a unit of effort: programs then find more in less time
SEARCH_ONCE = 60
# Up to so many tasks, it only constructs solutions: what the first programs take is less than a search
SEARCH_NONE = 24
# Up to so many tasks a certificate may branch; nodes of its tree that are solved per unit of effort, times tasks
BRANCH_TASKS, BRANCH_NODES = 300, 6_000


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
    """OPT of P or a certified interval on it; the same effort gives the same figures on any machine."""
    check_settings(effort, gap, seconds)
    clock = Clock()
    schedules = instance.schedules
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
        load_numba()
        if bounded:
            warm_search(schedules)
        elif certified:
            _tiny()
    provable = certified and backend != NO_BACKEND and schedules is ScheduleKind.ANY
    branches = small or (provable and 0 < instance.tasks <= BRANCH_TASKS)
    if instance.tasks:
        clock.start_solvers((plan.backend, *(("highs",) if branches else ())))
    if branches and not plan.tiny:  # a tiny instance hardly ever needs a tree
        with clock.stopped():
            warm_tree()
    interval = _Solve(instance, clock, gap, seconds, certified)
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
        priced = interval.price_and_search(units, share)
    if plan.backend != NO_BACKEND and instance.tasks and not (automatic and interval.within(gap)):
        left = interval.left()
        limits = Limits(work=None if plan.tiny else effort, gap=gap, seconds=None if left is None else max(0.1, left))
        meanwhile = None
        if beside and priced is not None:
            meanwhile = partial(interval.search, *priced, effort, seed=2, threads=1)
        termination = interval.hand_over(registry()[plan.formulation], plan.backend, limits, meanwhile)
        if plan.tiny and not interval.within(gap):
            # The backend failed, or stopped at a limit by hand, or tolerances spoiled its answer.
            interval.price_and_search(effort)
            if automatic and not interval.within(gap):
                interval.enumerate()
    if certified and interval.dual is None:
        interval.price(effort)
    dual = interval.dual
    if branches and dual is not None and dual.upper - interval.lower > Fraction(gap) * dual.upper:
        with interval.stopped():
            warm_tree()
        interval.branch(effort, dual)
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
    known, schedules = registry(), instance.schedules
    # For P every formulation may be asked: the one of another problem has no bound for it, but a solution.
    names = [name for name, each in known.items() if schedules in (ScheduleKind.ANY, each.schedules)]
    usual = _METHODS[schedules].formulation
    size = known[usual].columns(instance)

    def automatic(backend: str) -> str | None:
        if backend == NO_BACKEND or (backend == "auto" and size > DIRECT_COLUMNS):
            return None
        return "cpsat" if backend == "cpsat" and "cpsat" in names else usual

    if formulation in known and formulation not in names:
        able = ", ".join(("auto", *names, ENUMERATE))
        raise InputError("", "formulation", f"{formulation} is not one of {able}: here every task stays on one node")
    allowed = {name: known[name].backends for name in names} | {ENUMERATE: (NO_BACKEND,)}
    name, solver = engine.choose(allowed, formulation, backend, automatic)
    return Plan(name, solver, name in known and size <= TINY_COLUMNS)


class _Solve(SolveInterval[int]):
    """An interval on the welfare, with the dual bound that certifies it, and the steps that narrow it."""

    def __init__(self, instance: Instance, clock: Clock, gap: float, seconds: float | None, certified: bool) -> None:
        verify = make_verify(check, instance)
        super().__init__(verify, "welfare", clock.began, 0, (None,) * instance.tasks, [(2**63, Proof.TRIVIAL)])
        self.gap, self.seconds, self.certified, self.clock = gap, seconds, certified, clock
        self.instance, self.method = instance, _METHODS[instance.schedules]
        self.migrates = instance.schedules is ScheduleKind.ANY
        self.dual: DualBound | None = None
        self.tree: Certificate | None = None  # without decisions

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        with self.clock.stopped():
            yield
        self.began = self.clock.began

    def is_over_at(self, share: float) -> Callable[[], bool]:
        """Whether that share of the seconds has passed; never without a limit."""
        seconds = self.seconds
        return never_over if seconds is None else lambda: time.perf_counter() - self.began > seconds * share

    def enumerate(self) -> None:
        self.close(ENUMERATE, Proof.ENUMERATION, lambda: enumerate_optimum(self.instance))

    def price(self, effort: int, share: float = 1.0) -> tuple[Pool, DualBound] | None:
        """The Lagrangian bound, and the pooled tasks that it was computed on; None with a note where there is none."""
        instance = self.instance
        try:
            tasks = find_pool(instance)
            pricer = Pricer(tasks)
            dual = dual_bound(pricer, effort, over=self.is_over_at(0.4 * share))
        except (StateSpaceTooLarge, OverflowError, MemoryError) as error:
            self.notes.append(f"{Proof.LAGRANGIAN}: {error}")
            return None
        self.work["passes"] = dual.passes
        self.bound(self.method.lagrangian_bound(tasks, dual), Proof.LAGRANGIAN)
        if self.migrates:
            self.dual = dual
            if self.upper < dual.upper:
                # Tasks that hardly compete are bounded best by what each is worth alone: the value at zero prices.
                nothing, free = np.zeros((len(tasks.class_kind), instance.slots)), np.zeros(tasks.tariff.shape)
                alone = Capacity(tasks).proved(pricer, nothing, free, free)
                self.dual = min(dual, alone, key=lambda each: each.upper)
        elif self.certified:  # what these prices prove of tasks that stay on one node, by the checker
            try:
                upper = prove_bound(instance, dual.unit, *_table_of(dual)[:3])
            except CertificateError as wrong:
                self.notes.append(f"certificate: {wrong}")
            else:
                self.dual = dual._replace(upper=upper)
                self.bound(upper, Proof.LAGRANGIAN)
        return tasks, dual

    def price_and_search(self, effort: int, share: float = 1.0) -> tuple[Pool, DualBound] | None:
        priced = self.price(effort, share)
        if priced is not None:
            self.search(*priced, effort, self.is_over_at(share))
        return priced

    def search(
        self, tasks: Pool, dual: DualBound, effort: int, over: Callable[[], bool], seed: int = 1, threads: int = 2
    ) -> None:
        cells = self.instance.nodes * self.instance.slots
        if cells > SEARCH_CELLS:
            self.notes.append(f"search: left out, {cells} cells are more than {SEARCH_CELLS}")
            return
        if self.migrates and None in improve.patterns_of(tasks, dual):
            with self.stopped():
                warm_consolidation()
        start = self.solution if self.lower > 0 else None
        enough = math.ceil(self.upper * (1 - Fraction(self.gap)))
        last, cost = time.perf_counter(), 0.0

        def tell(make: Callable[[], Solution]) -> None:
            """Take solutions on the way as often as that costs little, so that the trail shows when they came."""
            nonlocal last, cost
            now = time.perf_counter()
            if now - last > max(1.0, 30 * cost):
                self.offer(make(), "search")
                last = time.perf_counter()
                cost = last - now

        found = self.method.search(self.instance, tasks, dual, effort, seed, start, over, enough, tell, threads)
        self.offer(found.solution, "search")
        self.count("blocks", found.blocks)

    def branch(self, effort: int, dual: DualBound) -> None:
        """Prices of single cells and a tree of decisions prove more of a small instance; see `small_instances`."""
        instance, seconds = self.instance, self.left()
        nodes = max(1, BRANCH_NODES * min(effort, UNLIMITED) // max(instance.tasks, 1))
        reply = backends.call(
            "highs", "ratiobench.formulations.lora.small_instances:grow", instance, dual.rent, self.solution,
            self.lower, nodes, min(effort, UNLIMITED), seconds, self.certified, limits=Limits(seconds=seconds),
        )  # fmt: skip
        if reply.termination is not None:
            self.notes.append(f"branching: {reply.message or reply.termination}")
            return
        found: Tree | None = reply.value
        if found is None:
            return
        self.offer(found.solution, "program")
        if found.stated is not None:
            self.bound(found.stated, Proof.BRANCH_AND_BOUND)
        self.work["branches"] = found.solved
        # Where the checker cannot look at all leaves, the prices without decisions are a certificate, too.
        alone: tuple[Node, ...] = (0,)
        for tree, prices in ((found.nodes, found.tables), (alone, (found.root,))):
            tables = tuple(whole_prices(instance, found.task, found.kind, each) for each in prices)
            try:
                upper = tree_bound(instance, BRANCH_UNIT, tables, tree)
            except CertificateError as wrong:
                self.notes.append(f"branching: {wrong}")
                continue
            first, *more = tables
            self.tree = Certificate(
                content_hash(instance), BRANCH_UNIT, *first[:3], upper, 0, (), tuple(more), tree, first.cells
            )
            self.bound(upper, Proof.LAGRANGIAN)
            return

    def hand_over(
        self, formulation: Formulation, backend: str, limits: Limits,
        meanwhile: Callable[[Callable[[], bool]], None] | None,
    ) -> Termination:  # fmt: skip
        """Have a solver solve the formulation; what goes wrong is a note. `meanwhile` runs until it has ended."""
        run = partial(_solve_beside, meanwhile)
        asked = solve_direct(
            self.instance, formulation, backend, limits, self.verify, self.solution, reduced=True, run=run
        )
        self.answer = answer = asked.answer
        if not asked.built:
            self.notes.append(f"{formulation.name}: {asked.note}")
            return answer.status
        self.work |= {"columns": answer.columns, "nodes": asked.nodes, "iterations": asked.iterations}
        if limits.work is not None:
            self.work["effort"] = limits.work
        if asked.note:
            self.notes.append(asked.note)
        if asked.solution is not None:
            self.offer(asked.solution, f"{backend}'s incumbent")
        exact = backend == "cpsat"
        if not exact and self.method.alone is not None:
            # What a solver says in floating point is held against a solution that needs none.
            self.offer(self.method.alone(self.instance), "one task alone")
        if asked.bound is not None and formulation.schedules is self.instance.schedules:
            self.bound(asked.bound, Proof.CP_SAT if exact else Proof.BRANCH_AND_BOUND)
        return answer.status

    def certificate(self) -> Certificate | None:
        """What proves the best solution and the dual bound; a bound that was dropped as wrong proves nothing."""
        dual = self.dual
        if dual is None or dual.upper < self.lower:
            return None
        decisions = tuple(None if each is None else each._replace(payment=None) for each in self.solution)
        if self.tree is not None and self.lower <= self.tree.upper < dual.upper:
            return replace(self.tree, lower=self.lower, decisions=decisions)
        table = _table_of(dual)[:3]
        return Certificate(content_hash(self.instance), dual.unit, *table, dual.upper, self.lower, decisions)


def _table_of(dual: DualBound) -> Prices:
    """The prices as certificates have them."""
    classes: list[ClassPrice] = []
    if dual.state is not None:  # else no class has a price of its own
        p = dual.state.capacity.pool
        table = zip(p.class_kind.tolist(), p.class_rate.tolist(), p.class_memory.tolist(), strict=True)
        pairs = zip(table, dual.pi.tolist(), strict=True)
        classes = [ClassPrice(*each, tuple(price)) for each, price in pairs if any(price)]
    lam, phi = (tuple(map(tuple, each.tolist())) for each in (dual.lam, dual.phi))
    return Prices(lam, phi, tuple(classes))


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
    """The solution of the one task that is worth most alone: without a search, so a bound that it refutes is wrong."""
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


_METHODS: dict[ScheduleKind, _Method] = {
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


@cache
def _tiny() -> tuple[Instance, Pool, DualBound]:
    instance = named("tiny_two_types")
    tasks = find_pool(instance)
    return instance, tasks, dual_bound(Pricer(tasks))


@cache
def warm_search(schedules: ScheduleKind = ScheduleKind.ANY) -> None:
    _METHODS[schedules].warm(*_tiny())


@cache
def warm_consolidation() -> None:
    _, tasks, dual = _tiny()
    improve.warm_consolidation(tasks, dual)


@cache
def warm_cells() -> None:
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
    warm_consolidation()
    warm_cells()


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
    allowed = {each.name: each.backends for each in registry().values()} | {ENUMERATE: (NO_BACKEND,)}
    summaries = {each.name: each.summary for each in registry().values()}
    summaries[ENUMERATE] = "every schedule of every task, for tiny instances"
    automatic = "by size: bounds, a heuristic, and a solver where that can help (tight)"
    return engine.list_formulations(allowed, summaries, automatic)


def require_any(instance: Instance, what: str) -> None:
    """Refuse an instance whose tasks stay on one node."""
    if instance.schedules is not ScheduleKind.ANY:
        kind = instance.schedules.value
        raise InputError(instance.name, "tasks[0].run", f"{kind}; {what} of instances whose tasks are `any`")


def export(instance: Instance, kind: str, formulation: str = "auto") -> str:
    """The model as LP text, a maximum, or as MPS text, the minimum of the negated objective (see `LinearModel.mps`)."""
    known = registry()
    linear = [each.name for each in known.values() if "highs" in each.backends]
    name = engine.choose_export(kind, formulation, "tight", linear)
    require_any(instance, "models are exported")
    size = known[name].columns(instance)
    if size > BUILD_COLUMNS:
        same = [other for other in linear if other != name and known[other].schedules in (ScheduleKind.ANY, None)]
        fit = [other for other in same if known[other].columns(instance) <= BUILD_COLUMNS]
        engine.require_columns(name, size, BUILD_COLUMNS, fit)
    model = build(instance, known[name])
    if not isinstance(model, LinearModel):
        raise RuntimeError(f"{name} cannot be built: {model.termination}: {model.message}")
    return model.mps() if kind == "mps" else model.lp()
