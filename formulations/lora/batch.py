"""The tasks of one batch on what others have left of the nodes: the best solution that is found, and a proved bound.

The problem is P with residual capacities. First comes what is cheap: insertion in several orders against what every
task is worth alone. Where that leaves a gap: the dual bound of `residual`, insertion along its prices, and ruin and
recreate on real nodes. Where a gap is left still: branch and bound with each type's nodes as one pool
(`branch_and_price`), whose schedules are packed onto the nodes. Last, every schedule is looked at where there are few:
see `exhaustive`. No solver is asked, and limits are counts of our own work, so the answer depends on the input alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from formulations.lora.bound.lagrangian import DualBound, value_density
from formulations.lora.bound.pricing import Pool, Pricer, places, pool
from formulations.lora.bound.residual import Residual, residual_bound
from formulations.lora.branch_and_price import PACKING_STEPS, Chosen, Torn, Tree, packed_slot, warm_tree
from formulations.lora.exhaustive import exhausted
from formulations.lora.heuristic.blocks import anneal, insert_all
from formulations.lora.heuristic.insertion import begin, new_desk
from formulations.lora.heuristic.state import State, copy_state, solution_of_state, type_of_node
from instances.lora.model import Instance, IntArray
from instances.lora.solution import Decision, Solution

BLOCKS = 400
"""Ruin-and-recreate blocks of a unit of search."""
HEATS = (0.02, 0.05, 0.1)
"""First temperatures of the units in turn, as fractions of the median bid."""
SEARCHES = 3
"""Units of search per unit of effort after the last program."""
DIVES = 10
"""Nodes of the tree per dive."""
WORK = 40_000
"""Pivots and priced tasks of the tree per unit of effort."""


class Answer(NamedTuple):
    """A solution of a batch, its welfare, and an upper bound on the batch's optimum, both in micro-dollars."""

    solution: Solution
    lower: int
    upper: int


def solve_batch(
    instance: Instance,
    free: IntArray,
    free_mb: IntArray,
    effort: int = 1,
    gap: Fraction = Fraction(0),
    starts: Sequence[Solution] = (),
) -> Answer:
    """The best solution that the effort finds for some tasks on what the nodes have left, and a bound.

    Parameters
    ----------
    instance : the tasks, without vendors. A cell of which no node of the type has room costs more than the task is
        worth.
    free, free_mb : (K, T) samples and MB left.
    effort : units of search, at least 1; the same answer on any machine.
    gap : (upper - lower) / upper at which to stop.
    starts : solutions to be at least as good as.
    """
    p = pool(instance)
    if p.tasks == 0:
        return Answer((None,) * instance.tasks, 0, 0)
    found = _Batch(instance, p, free, free_mb)
    for start in starts:
        found.offer(found.booked(start))
    for _ in found.attempts(effort, gap):
        if found.upper - found.best.welfare <= gap * found.upper:
            break
    return Answer(solution_of_state(instance, p, found.best), found.best.welfare, found.upper)


class _Batch:
    """A batch in work: `best` and `upper` get better with every attempt."""

    def __init__(self, instance: Instance, p: Pool, free: IntArray, free_mb: IntArray) -> None:
        self._instance, self._pool = instance, p
        self._pricer = Pricer(p, parallel=False)
        nothing = np.zeros((len(p.class_kind), p.tariff.shape[1]))
        self._desk = new_desk(p, (None,) * len(p.nodes), nothing, 1)
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

    def offer(self, s: State) -> None:
        """Take the state if it is better than the best."""
        if s.welfare > self.best.welfare:
            self.best = s

    def attempts(self, effort: int, gap: Fraction) -> Iterator[None]:
        """All that is tried, what is cheap first."""
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
            yield from self._branches(capacity, bound, alone, effort)
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
        s, kept = copy_state(self.best), copy_state(self.best)
        begin(self._pool, self._desk, s)
        heat = HEATS[self._searches % len(HEATS)] * max(0.0, float(np.median(self._pool.bid)))
        self._searches += 1
        with np.errstate(over="ignore"):  # random words wrap around, which plain Python tells of
            anneal(self._pool, s, self._desk, self._rank, 0, BLOCKS, BLOCKS, heat, kept)
        self.offer(kept)

    def _see_all(self) -> None:
        """The optimum, where there is little to look at."""
        tasks = self._pool.task.tolist()
        found = exhausted(self._instance, tasks, self._empty.free, self._empty.free_mb, self.best.welfare)
        if found is not None:
            self.upper, solution = found
            if solution is not None:
                self.offer(self.booked(solution))

    def _branches(self, capacity: Residual, bound: DualBound, order: IntArray, effort: int) -> Iterator[None]:
        """Branch and bound; the schedules that each node's program prefers are packed, and the rest inserted."""
        tree = Tree(self._pool, capacity, bound, self._alone)
        solved = 0
        while tree.work < WORK * effort:
            node = tree.pop()
            if node is None:
                break
            if node.upper <= self.best.welfare:
                continue
            known = self.best.welfare
            solution, torn = self._packed(capacity, tree.solve(node, self.best.welfare, WORK * effort - tree.work))
            self.offer(self._inserted(self.booked(solution), order))
            if node.branch is not None and solved % DIVES == 0:
                solution, more = self._packed(capacity, tree.dive(node, WORK * effort - tree.work))
                self.offer(self._inserted(self.booked(solution), order))
                torn += more
                self._search()
            solved += 1
            if node.upper > self.best.welfare:
                broken = tree.forbid(torn)
                if node.branch is not None:
                    tree.split(node)
                elif broken or self.best.welfare > known:  # what is known now asks for a better bound
                    tree.push(node)
                else:
                    tree.leave(node)
            self.upper = min(self.upper, max(self.best.welfare, tree.upper))
            yield
        self.upper = min(self.upper, max(self.best.welfare, tree.upper))
        yield

    def _packed(self, capacity: Residual, chosen: Chosen) -> tuple[Solution, list[Torn]]:
        """Decisions of the tasks whose chosen cells all find a node, and what does not pack."""
        p = self._pool
        task, entry, slot = chosen.task, chosen.entry, chosen.slot
        node = np.full(len(task), -1, np.int64)
        torn = []
        where = p.kind[entry] * p.tariff.shape[1] + slot
        for key in np.unique(where).tolist():
            mine = np.flatnonzero(where == key)
            g, t = divmod(key, p.tariff.shape[1])
            nodes = slice(capacity.first_node[g], capacity.first_node[g + 1])
            left = capacity.free[nodes, t].copy(), capacity.free_mb[nodes, t].copy()
            to, proved = packed_slot(p.rate[entry[mine]], p.memory[task[mine]], *left, PACKING_STEPS)
            node[mine] = np.where(to >= 0, capacity.first_node[g] + to, -1)
            if proved and (to < 0).any():
                torn.append(Torn(g, t, entry[mine], left))
        decisions: list[Decision | None] = [None] * self._instance.tasks
        for i in np.unique(task).tolist():
            mine = np.flatnonzero(task == i)
            if (node[mine] >= 0).all() and p.rate[entry[mine]].sum() >= p.work[i]:
                cells = tuple(zip(node[mine].tolist(), (slot[mine] + 1).tolist(), strict=True))
                decisions[p.task[i]] = Decision(None, cells)
        return tuple(decisions), torn

    def booked(self, solution: Solution) -> State:
        """The state of a solution; decisions of no welfare are left out."""
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
    """Compile and cache the kernels of bounds, packings and the tree alone."""
    p, free, free_mb = _empty_cluster(instance)
    pricer, capacity = Pricer(p, parallel=False), Residual(p, free, free_mb)
    bound = residual_bound(pricer, capacity)
    warm_tree(p, capacity, bound, pricer.integers(np.zeros_like(bound.pi), 1))


def warm(instance: Instance) -> None:
    """Compile and cache the kernels by using each once."""
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
