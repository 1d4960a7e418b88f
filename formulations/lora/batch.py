"""The tasks of one batch on what others have left of the nodes: the best solution that is found, and a proved bound.

The problem is P with residual capacities. First comes what is cheap: insertion in several orders against what every
task is worth alone. Where that leaves a gap: the dual bound of `residual`, insertion along its prices, and the search
of `search` on real nodes. Where a gap is left still, HiGHS solves the batch with each type's nodes as one pool; its
answer is packed onto the nodes, and in the slots where it does not pack nodes are told apart, until the answer packs.
Last, before a limit is told, every schedule is looked at where there are few: see `exhaustive`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.backends import Limits, solve, start_worker
from ratiobench.formulations.kernels import compiled, sort_stably
from ratiobench.formulations.lora.bound.lagrangian import DualBound, value_density
from ratiobench.formulations.lora.bound.pricing import Pool, Pricer, places, pool
from ratiobench.formulations.lora.bound.residual import Residual, residual_bound
from ratiobench.formulations.lora.direct_solve import safe_floor
from ratiobench.formulations.lora.exhaustive_search import search_exhaustively
from ratiobench.formulations.lora.heuristic.blocks import anneal, insert_all
from ratiobench.formulations.lora.heuristic.insertion import begin, new_workspace
from ratiobench.formulations.lora.heuristic.state import State, copy_state, solution_of_state, type_of_node
from ratiobench.formulations.lora.models.pooled import BatchRelaxation, relaxed_model
from ratiobench.formulations.report import Termination
from ratiobench.instances.lora.model import Instance, IntArray
from ratiobench.instances.lora.solution import Decision, Solution

BLOCKS = 400  # Ruin-and-recreate blocks of a unit of search
HEATS = (0.02, 0.05, 0.1)  # First temperatures of the units in turn, as fractions of the median bid
SEARCHES = 3  # Units of search per unit of effort after the last program
SOLVER_UNITS = 20  # HiGHS's work per unit of effort and model
# Integer programs per batch, each with nodes told apart in more slots than the one before, the last one in all
MODELS = 6
# No integer program of more cells, with all nodes of a type as one pool in every slot, and with some of them apart
CELLS, APART_CELLS = 30_000, 6_000
PACKING_STEPS = 20_000  # Steps of the search for a packing of one slot


class Answer(NamedTuple):
    """A solution of a batch, its welfare, and an upper bound on the batch's optimum, both in micro-dollars.

    `programs` counts the integer programs that HiGHS solved on the way: where there are any, another version of HiGHS
    may answer the batch differently.
    """

    solution: Solution
    lower: int
    upper: int
    programs: int = 0


def solve_batch(
    instance: Instance,
    free: IntArray,
    free_mb: IntArray,
    effort: int = 1,
    gap: Fraction = Fraction(0),
    starts: Sequence[Solution] = (),
) -> Answer:
    """The best solution that the effort finds for some tasks on what the nodes have left, and a bound.

    `instance`: the tasks, without vendors. A cell of which no node of the type has room costs more than the task is
    worth; `free`, `free_mb`: (K, T) samples and MB left; `effort`: units of search, at least 1; the same answer on any
    machine.
    """
    p = pool(instance)
    if p.tasks == 0:
        return Answer((None,) * instance.tasks, 0, 0)
    found = _Batch(instance, p, free, free_mb)
    for start in starts:
        found.offer(found.make_state(start))
    for _ in found.attempts(effort, gap):
        if found.upper - found.best.welfare <= gap * found.upper:
            break
    return Answer(solution_of_state(instance, p, found.best), found.best.welfare, found.upper, found.programs)


class _Batch:
    """A batch in work: `best` and `upper` get better with every attempt."""

    def __init__(self, instance: Instance, p: Pool, free: IntArray, free_mb: IntArray) -> None:
        self._instance, self._pool = instance, p
        self._pricer = Pricer(p, parallel=False)
        nothing = np.zeros((len(p.class_kind), p.tariff.shape[1]))
        self._desk = new_workspace(p, (None,) * len(p.nodes), nothing, 1)
        self._empty = State(
            np.array(free, order="C"),  # copies: kernels are compiled for arrays that can be written
            np.array(free_mb, order="C"),
            np.full(p.tasks, -1, np.int64),
            np.full(int(p.width.sum()), -1, np.int64),
            np.zeros(p.tasks, np.int64),
        )
        self._alone = self._pricer.integers(nothing.astype(np.int64), 1)
        self._rank = value_density(p)
        self.upper = sum(self._alone.tolist())
        self.best = self._empty
        self._searches = 0
        self.programs = 0

    def offer(self, s: State) -> None:
        """Take the state if it is better than the best."""
        if s.welfare > self.best.welfare:
            self.best = s

    def attempts(self, effort: int, gap: Fraction) -> Iterator[None]:
        p = self._pool
        density, alone = (np.argsort(-key, kind="stable") for key in (self._rank, self._alone))
        for order in (np.arange(p.tasks), density, alone):
            self.offer(self._inserted(self._empty, order))
            yield
        capacity = Residual(p, self._empty.free, self._empty.free_mb)
        bound = None
        with contextlib.suppress(OverflowError):  # then the sum of what the tasks are worth alone stays the bound
            bound = residual_bound(self._pricer, capacity)
        if bound is not None:
            self.upper = min(self.upper, bound.upper)
            yield
            self._desk = self._desk._replace(rent=bound.rent)
            left = np.argsort(-self._pricer.integers(bound.pi, bound.unit), kind="stable")
            for order in (density, alone, left):
                for shares in ((1.0, 0.5), (0.9,), (0.5,)):
                    self.offer(self._inserted(self._empty, order, shares))
                    yield
        self._search()
        yield
        if bound is not None:
            for _ in self._programs(capacity, bound, alone, effort, gap):
                yield
                self._search()
                yield
        for _ in range(SEARCHES * effort):
            self._search()
            yield
        self._see_all()
        yield

    def _inserted(self, s: State, order: IntArray, shares: Sequence[float] = ()) -> State:
        """A copy with more tasks inserted, at shares of the rents and then for nothing."""
        s = copy_state(s)
        begin(self._pool, self._desk, s)
        for share in (*shares, 0.0):
            insert_all(self._pool, s, self._desk, order, share)
        return s

    def _search(self) -> None:
        """A unit of annealing from the best state."""
        s, best_state = copy_state(self.best), copy_state(self.best)
        begin(self._pool, self._desk, s)
        heat = HEATS[self._searches % len(HEATS)] * max(0.0, float(np.median(self._pool.bid)))
        self._searches += 1
        with np.errstate(over="ignore"):  # random words wrap around, which plain Python tells of
            anneal(self._pool, s, self._desk, self._rank, 0, BLOCKS, BLOCKS, heat, best_state)
        self.offer(best_state)

    def _see_all(self) -> None:
        tasks = self._pool.task.tolist()
        found = search_exhaustively(self._instance, tasks, self._empty.free, self._empty.free_mb, self.best.welfare)
        if found is not None:
            self.upper, solution = found
            if solution is not None:
                self.offer(self.make_state(solution))

    def _programs(
        self, capacity: Residual, bound: DualBound, order: IntArray, effort: int, gap: Fraction
    ) -> Iterator[None]:
        """Integer programs whose answers come nearer to what packs, until one packs."""
        kinds, slots = self._pool.tariff.shape
        apart: set[tuple[int, int]] = set()
        for turn in range(MODELS):
            if turn == MODELS - 1:
                apart = set(product(range(kinds), range(slots)))
            relaxed = relaxed_model(capacity, bound, apart)
            if len(relaxed.task) > (APART_CELLS if apart else CELLS):
                return
            model, step = relaxed.model.reduced()
            limits = Limits(work=SOLVER_UNITS * effort, gap=float(gap) / 2)
            result = solve("highs", model, limits, self._vector(relaxed))
            self.programs += 1
            if result.termination not in (Termination.OPTIMAL, Termination.LIMIT):
                raise RuntimeError(f"batch: {result.termination}: {result.message}")
            if result.bound is not None:
                self.upper = min(self.upper, max(self.best.welfare, safe_floor(result.bound, exact=False) * step))
            if result.values is None:
                return
            chosen = np.flatnonzero(result.values[self._pool.tasks :] > 0.5)
            solution, torn = self._packed(capacity, relaxed, chosen)
            self.offer(self._inserted(self.make_state(solution), order))
            yield
            if not torn:
                return
            apart |= torn

    def _vector(self, relaxed: BatchRelaxation) -> NDArray[np.float64]:
        p, s = self._pool, self.best
        at, kinds = places(p), type_of_node(p)
        vector = np.zeros(len(relaxed.model.columns))
        vector[: p.tasks] = s.option >= 0
        place = s.place[at[relaxed.task] + relaxed.slot - p.first[relaxed.task]]
        same = np.where(relaxed.node < 0, kinds[place] == p.kind[relaxed.entry], relaxed.node == place)
        vector[p.tasks :] = same & (place >= 0)
        return vector

    def _packed(
        self, capacity: Residual, relaxed: BatchRelaxation, chosen: IntArray
    ) -> tuple[Solution, set[tuple[int, int]]]:
        """Decisions of the tasks whose chosen cells all find a node, and the (type, slot) pairs that do not pack."""
        p = self._pool
        task, entry, slot = relaxed.task[chosen], relaxed.entry[chosen], relaxed.slot[chosen]
        node = relaxed.node[chosen]
        kind = p.kind[entry]
        torn = set()
        where = np.where(node < 0, kind * p.tariff.shape[1] + slot, -1)
        for key in np.unique(where[where >= 0]).tolist():
            mine = np.flatnonzero(where == key)
            g, t = divmod(key, p.tariff.shape[1])
            nodes = slice(capacity.first_node[g], capacity.first_node[g + 1])
            left = capacity.free[nodes, t].copy(), capacity.free_mb[nodes, t].copy()
            to = packed_slot(p.rate[entry[mine]], p.memory[task[mine]], *left, PACKING_STEPS)
            node[mine] = np.where(to >= 0, capacity.first_node[g] + to, -1)
            if (to < 0).any():
                torn.add((g, t))
        decisions: list[Decision | None] = [None] * self._instance.tasks
        for i in np.unique(task).tolist():
            mine = np.flatnonzero(task == i)
            if (node[mine] >= 0).all() and p.rate[entry[mine]].sum() >= p.work[i]:
                cells = tuple(zip(node[mine].tolist(), (slot[mine] + 1).tolist(), strict=True))
                decisions[p.task[i]] = Decision(None, cells)
        return tuple(decisions), torn

    def make_state(self, solution: Solution) -> State:
        p, s = self._pool, copy_state(self._empty)
        at, kinds = places(p), type_of_node(p)
        for j, i in enumerate(p.task.tolist()):
            decision = solution[i]
            if decision is None:
                continue
            cost = self._instance.cost(i)
            net = int(p.bid[j]) - sum(int(cost[kinds[k], t - 1]) for k, t in decision.cells)
            if net <= 0:
                continue
            s.option[j], s.net[j] = p.option_start[j], net
            for k, t in decision.cells:
                s.place[at[j] + t - 1 - p.first[j]] = k
                s.free[k, t - 1] -= self._instance.rate[i, kinds[k]]
                s.free_mb[k, t - 1] -= p.memory[j]
        return s


def warm_bounds(instance: Instance) -> None:
    """Compile and cache the kernels of bounds and packings alone."""
    p, free, free_mb = _empty_cluster(instance)
    residual_bound(Pricer(p), Residual(p, free, free_mb))
    packed_slot(p.memory, p.memory, free[:, 0].copy(), free_mb[:, 0].copy(), PACKING_STEPS)


def warm(instance: Instance) -> None:
    """Compile and cache the kernels by using each once, and start the solver."""
    start_worker("highs")
    warm_bounds(instance)
    p, free, free_mb = _empty_cluster(instance)
    found = _Batch(instance, p, free, free_mb)
    found._inserted(found._empty, np.arange(p.tasks))
    found._search()


def _empty_cluster(instance: Instance) -> tuple[Pool, IntArray, IntArray]:
    public = instance.public("")
    types = public.type_of_node
    shape = (instance.nodes, instance.slots)
    free, free_mb = (np.broadcast_to(each[types][:, None], shape).copy() for each in (public.compute, public.memory_mb))
    return pool(instance), free, free_mb


@compiled
def packed_slot(rate, memory, free, free_mb, steps):  # type: ignore[no-untyped-def]
    """(cells,) a node for every cell, or -1 for those that a tightest-first packing leaves over.

    Large cells first, each on the node that it fills most; then by backtracking, up to a number of steps.
    """
    count, nodes = len(rate), len(free)
    most = 1
    most_mb = 1
    capacity_left = np.empty(nodes, np.int64)
    memory_left = np.empty(nodes, np.int64)
    for k in range(nodes):
        capacity_left[k], memory_left[k] = free[k], free_mb[k]
        most, most_mb = max(most, free[k]), max(most_mb, free_mb[k])
    key = np.empty(count, np.float64)
    greedy = np.empty(count, np.int64)
    at = np.empty(count, np.int64)
    for j in range(count):
        key[j] = -max(rate[j] / most, memory[j] / most_mb)
        greedy[j] = -1
        at[j] = -1
    order = sort_stably(key)
    fits = True
    for j in order:
        best = -1
        for k in range(nodes):
            if (
                rate[j] <= capacity_left[k]
                and memory[j] <= memory_left[k]
                and (best < 0 or capacity_left[k] < capacity_left[best])
            ):
                best = k
        greedy[j] = best
        if best >= 0:
            capacity_left[best] -= rate[j]
            memory_left[best] -= memory[j]
        else:
            fits = False
    if fits:
        return greedy
    for k in range(nodes):
        capacity_left[k], memory_left[k] = free[k], free_mb[k]
    level = 0
    while 0 <= level < count:
        steps -= 1
        if steps < 0:
            return greedy
        j = order[level]
        k = at[level]
        if k >= 0:
            capacity_left[k] += rate[j]
            memory_left[k] += memory[j]
        elif level > 0 and rate[order[level - 1]] == rate[j] and memory[order[level - 1]] == memory[j]:
            k = at[level - 1] - 1  # like the cell before it: on the same node or a later one
        k += 1
        while k < nodes and (rate[j] > capacity_left[k] or memory[j] > memory_left[k]):
            k += 1
        if k == nodes:
            at[level] = -1
            level -= 1
            continue
        at[level] = k
        capacity_left[k] -= rate[j]
        memory_left[k] -= memory[j]
        level += 1
    if level < 0:
        return greedy
    for a in range(count):
        greedy[order[a]] = at[a]
    return greedy
