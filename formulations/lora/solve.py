"""OPT of an instance, or an interval on it: bounds, heuristics, a formulation and a backend, put together.

`lower` is always the welfare of a solution that `check` has verified; `upper` is the least of the bounds that were
proved, each rounded safely. Whatever happens to a backend, the interval stands.
"""

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
from ratiobench.formulations.engine import Clock, SolveInterval
from ratiobench.formulations.interval import seconds_left
from ratiobench.formulations.kernels import load_numba
from ratiobench.formulations.linear import LinearModel
from ratiobench.formulations.lora.bound.facets import Separator
from ratiobench.formulations.lora.bound.lagrangian import Capacity, DualBound, alone_bound, dual_bound, never_over
from ratiobench.formulations.lora.bound.pricing import Pool, Pricer, find_pool, pool
from ratiobench.formulations.lora.bound.task_prices import find_slots
from ratiobench.formulations.lora.bound.task_prices import warm as warm_task_prices
from ratiobench.formulations.lora.bound.tree import UNIT as BRANCH_UNIT
from ratiobench.formulations.lora.bound.tree import Tree, whole_prices
from ratiobench.formulations.lora.certificate import Certificate, ClassPrice, Node
from ratiobench.formulations.lora.certificate import Prices as PriceTable
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.covering.schedules import StateSpaceTooLarge, cheapest_cover, standalone_value
from ratiobench.formulations.lora.direct_solve import build, solve_direct
from ratiobench.formulations.lora.heuristic import improve
from ratiobench.formulations.lora.heuristic.one_node import heuristic as one_node_heuristic
from ratiobench.formulations.lora.models import one_node
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.formulations.lora.models.formulation import Formulation, number_of_nodes, registry
from ratiobench.formulations.lora.verify import dual_bound as prove_bound
from ratiobench.formulations.lora.verify import tree_bound
from ratiobench.formulations.report import UNLIMITED, Proof, SolverAnswer, SolveReport, Termination
from ratiobench.formulations.settings import NO_BACKEND, check_settings, too_many_columns
from ratiobench.instances.io.errors import InputError, explain_unknown_name, shorten
from ratiobench.instances.lora.format import content_hash
from ratiobench.instances.lora.model import Instance, ScheduleKind, Task
from ratiobench.instances.lora.named import named
from ratiobench.instances.lora.solution import Decision, Solution

VERSION = "28"  # Version of everything that can change a report's figures; part of the key of stored results

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
            warm_bounds()
    provable = certified and backend != NO_BACKEND and schedules is ScheduleKind.ANY
    branches = small or (provable and 0 < instance.tasks <= BRANCH_TASKS)
    if instance.tasks:
        clock.start_solvers((plan.backend, *(("highs",) if branches else ())))
    if branches and not plan.tiny:  # a tiny instance hardly ever needs a tree
        with clock.stopped():
            warm_tree()
    interval = _Interval(instance, clock, seconds, certified)
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
        priced = _prices_and_search(instance, units, gap, interval, _clock(clock, seconds, share))
    if plan.backend != NO_BACKEND and instance.tasks and not (automatic and interval.within(gap)):
        left = None if seconds is None else max(0.1, seconds - (time.perf_counter() - clock.began))
        limits = Limits(work=None if plan.tiny else effort, gap=gap, seconds=left)
        meanwhile = None
        if beside and priced is not None:
            meanwhile = partial(_search, instance, *priced, effort, gap, interval, seed=2, threads=1)
        termination = _direct(instance, registry()[plan.formulation], plan.backend, limits, interval, meanwhile)
        if plan.tiny and not interval.within(gap):
            # The backend failed, or stopped at a limit by hand, or tolerances spoiled its answer.
            _prices_and_search(instance, effort, gap, interval, _clock(clock, seconds, 1.0))
            if automatic and not interval.within(gap):
                interval.enumerate()
    if certified and interval.dual is None:
        _prices(instance, effort, interval, _clock(clock, seconds, 1.0))
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


class _Proved(NamedTuple):
    """An upper bound with the tables of prices, in 1/unit micro-dollars, and the tree that prove it."""

    unit: int
    upper: int
    tables: tuple[PriceTable, ...]
    nodes: tuple[Node, ...]


class _Interval(SolveInterval[int]):
    """An interval on the welfare, with the dual bound that certifies it."""

    def __init__(self, instance: Instance, clock: Clock, seconds: float | None, certified: bool) -> None:
        def verify(solution: Solution) -> tuple[int | None, str]:
            report = check(instance, solution)
            return (report.welfare, "") if report.valid else (None, str(report.violations[0]))

        super().__init__(verify, "welfare", clock.began, 0, (None,) * instance.tasks, [(2**63, Proof.TRIVIAL)])
        self.seconds, self.certified, self.clock = seconds, certified, clock
        self.instance = instance
        self.schedules = instance.schedules
        self.method = _METHODS[instance.schedules]
        self.dual: DualBound | None = None
        self.tree: _Proved | None = None

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """Excludes what is done inside from the seconds of the solve."""
        with self.clock.stopped():
            yield
        self.began = self.clock.began

    def enumerate(self) -> None:
        """Close the interval by brute force, where the instance is small enough."""
        self.close(ENUMERATE, Proof.ENUMERATION, lambda: enumerate_optimum(self.instance))

    def certificate(self) -> Certificate | None:
        """What proves the best solution and the dual bound; a bound that was dropped as wrong proves nothing."""
        if self.dual is None or self.dual.upper < self.lower:
            return None
        decisions = tuple(None if each is None else each._replace(payment=None) for each in self.solution)
        if self.tree is not None and self.lower <= self.tree.upper < self.dual.upper:
            unit, upper, tables, tree = self.tree
            first = tables[0]
            return Certificate(
                content_hash(self.instance), unit, *first[:3], upper, self.lower, decisions, tables[1:], tree,
                first.cells,
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


def _clock(clock: Clock, seconds: float | None, share: float) -> Callable[[float], Callable[[], bool]]:
    """A maker of clocks: clock(part) runs out when that part of the share of the seconds is over; never without any."""
    if seconds is None:
        return lambda part: never_over
    return lambda part: lambda: time.perf_counter() - clock.began > seconds * share * part


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
        interval.tree = _Proved(BRANCH_UNIT, upper, tables, tree)
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
    if interval.schedules is ScheduleKind.ANY and None in improve.patterns_of(tasks, dual):
        with interval.stopped():
            warm_consolidation()
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
def warm_search(schedules: ScheduleKind = ScheduleKind.ANY) -> None:
    """Compile and cache the kernels of the search for schedules of this kind, and those of the bound."""
    _METHODS[schedules].warm(*_tiny())


@cache
def warm_consolidation() -> None:
    """Compile and cache the kernels of the search for node types without listed patterns."""
    _, tasks, dual = _tiny()
    improve.warm_consolidation(tasks, dual)


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
    warm_consolidation()
    warm_cells()


def _direct(
    instance: Instance,
    formulation: Formulation,
    backend: str,
    limits: Limits,
    interval: _Interval,
    meanwhile: Callable[[Callable[[], bool]], None] | None = None,
) -> Termination:
    """Build, solve, verify; everything that goes wrong is a note. `meanwhile` runs until the solver has ended."""
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
    if not exact and interval.method.alone is not None:
        # What a solver says in floating point is held against a solution that needs none.
        interval.offer(interval.method.alone(instance), "one task alone")
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
    listed.append(("auto", "by size: bounds, a heuristic, and a solver where that can help (tight)"))
    return listed


def require_any(instance: Instance, what: str) -> None:
    """Refuse an instance whose tasks stay on one node."""
    if instance.schedules is not ScheduleKind.ANY:
        kind = instance.schedules.value
        raise InputError(instance.name, "tasks[0].run", f"{kind}; {what} of instances whose tasks are `any`")


def export(instance: Instance, kind: str, formulation: str = "auto") -> str:
    """The model as MPS or LP text, for any other solver.

    The LP text maximises. The MPS text minimises the negated objective (`LinearModel.mps` says why), so its optimum
    is minus OPT.
    """
    if kind not in ("mps", "lp"):
        raise InputError("", "format", f"{shorten(kind)} is not one of mps, lp")
    known = registry()
    require_any(instance, "models are exported")
    name = "tight" if formulation == "auto" else formulation
    linear = [each.name for each in known.values() if "highs" in each.backends]
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
