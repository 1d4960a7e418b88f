"""The tasks of one batch on what others have left of the nodes: the best solution that is found, and a proved bound.

Insertion comes first. Where that leaves a gap, HiGHS prices the contended cells (`pooled`), every task answers with its
best schedule, and the prices of the lowest dual value prove a bound in integers. The best selection of these schedules
is packed onto the nodes. Then comes the exact program, in slots that did not pack with every node by itself.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ratiobench.formulations.backends import BackendResult, Limits, solve, start_worker
from ratiobench.formulations.linear import BoolArray, FloatArray, LinearModel
from ratiobench.formulations.lora.bound.lagrangian import value_density
from ratiobench.formulations.lora.bound.pricing import Pool, Pricer, pool
from ratiobench.formulations.lora.direct_solve import safe_floor
from ratiobench.formulations.lora.heuristic.insertion import begin, insert_all, new_workspace
from ratiobench.formulations.lora.heuristic.state import State, copy_state, solution_of_state, state_of, type_of_node
from ratiobench.formulations.lora.models.pooled import CellCounts, Cells, Schedules, Supply, pack_slot
from ratiobench.formulations.report import Termination
from ratiobench.instances.lora.model import Instance, IntArray
from ratiobench.instances.lora.solution import Decision, Solution

ROUNDS = 60  # Rounds of column generation per unit of effort
SOLVER_UNITS = 20  # HiGHS's work per unit of effort and program
SELECTION_UNITS = 4  # The same of a program that selects schedules: the exact program gives more where that is little
SMALL = 2_000  # Programs of fewer columns get more units in proportion: one takes so much less time there
REPAIRS = 5  # Selections of schedules, each with what did not pack in the one before
FILLED = 0.99  # Part of the samples of contended slots that the first selection may take, where a gap is allowed
WHOLE = 0.999  # A linear program takes this much of a schedule or more as a whole
PROGRAMS = 6  # Exact programs per batch, each with nodes told apart in more slots than the one before
COLUMNS = 15_000  # No exact program of more columns
CONVERGED = 1e-5  # Column generation ends with this gap between the bound and the linear program


class Answer(NamedTuple):
    """A solution of a batch, its welfare, and an upper bound on the batch's optimum, both in micro-dollars."""

    solution: Solution
    lower: int
    upper: int
    programs: int = 0  # that HiGHS solved on the way: with any, another version of HiGHS may answer differently


def solve_batch(
    instance: Instance,
    free: IntArray,
    free_mb: IntArray,
    effort: int = 1,
    gap: Fraction = Fraction(0),
    starts: Sequence[Solution] = (),
) -> Answer:
    """The best solution that the effort finds for tasks without vendors on what the nodes have left, and a bound.

    A cell of which no node of the type has room must cost more than the task is worth. `free`, `free_mb`: (K, T).
    """
    p = pool(instance)
    if p.tasks == 0:
        return Answer((None,) * instance.tasks, 0, 0)
    batch = _Batch(instance, p, free, free_mb, effort, gap)
    for start in starts:
        batch.offer(batch.make_state(start))
    for _ in batch.attempts():
        if batch.upper - batch.best.welfare <= gap * batch.upper:
            break
    return Answer(solution_of_state(instance, p, batch.best), batch.best.welfare, batch.upper, batch.programs)


class _Batch:
    """A batch in work: `best` and `upper` get better with every attempt."""

    def __init__(
        self,
        instance: Instance,
        p: Pool,
        free: IntArray,
        free_mb: IntArray,
        effort: int = 1,
        gap: Fraction = Fraction(0),
    ) -> None:
        self._instance, self._pool, self._effort, self._gap = instance, p, effort, gap
        self._pricer = Pricer(p, parallel=False)
        self._rent = np.zeros((len(p.class_kind), p.tariff.shape[1]))
        self._desk = new_workspace(p, (None,) * len(p.nodes), self._rent, 1)
        self._empty = State(
            np.array(free, order="C"),  # copies: kernels are compiled for arrays that can be written
            np.array(free_mb, order="C"),
            np.full(p.tasks, -1, np.int64),
            np.full(int(p.width.sum()), -1, np.int64),
            np.zeros(p.tasks, np.int64),
        )
        nothing = np.zeros(self._rent.shape, np.int64)
        alone = self._pricer.integers(nothing, 1)
        self._orders = [np.arange(p.tasks), *(np.argsort(-key, kind="stable") for key in (value_density(p), alone))]
        # Reduced profits and rents that prove the bound, in 1/unit micro-dollars
        self._unit, self._profit, self._whole_rent = 1, self._pricer.integers(nothing, 1, losses=True), nothing
        self.upper = sum(alone.tolist())
        self.best = self._empty
        self.programs = 0

    def offer(self, s: State) -> None:
        if s.welfare > self.best.welfare:
            self.best = s

    def attempts(self) -> Iterator[None]:
        for order in self._orders:
            self.offer(self._inserted(self._empty, order))
            yield
        schedules = Schedules(self._supply(set()))
        self._generate(schedules)
        yield
        for order in (*self._orders[1:], np.argsort(-self._profit, kind="stable")):
            self.offer(self._inserted(self._empty, order, (1.0, 0.5)))
            yield
        apart: set[tuple[int, int]] = set()
        yield from self._select(schedules, apart)
        for _ in range(PROGRAMS):
            supply = self._supply(apart)
            counts = CellCounts(supply, np.flatnonzero(self._profit >= self._unit * (self.best.welfare - self.upper)))
            model = counts.model()
            if len(model.columns) > COLUMNS:
                return
            result = self._solve(model, float(self.best.welfare / (1 - self._gap)))
            if result.bound is not None:
                self.upper = min(self.upper, max(self.best.welfare, safe_floor(result.bound, exact=False)))
            yield
            if result.values is None:
                return
            torn = self._offer_cells(supply, result.values, counts.cells(result.values))
            yield
            if torn.keys() <= apart:
                return
            apart |= torn.keys()

    def _select(self, schedules: Schedules, apart: set[tuple[int, int]]) -> Iterator[None]:
        """Offer the best selections of the schedules, first around what the linear program takes whole."""
        loads = {place: int(FILLED * most) for place, most in schedules.supply.samples.items() if self._gap}
        for around in (True, False):
            for _ in range(REPAIRS):
                closed = self._closed(schedules)
                if around:
                    closed |= self._beside(schedules, self._relaxed(schedules.model(loads, closed)).values)
                result = self._solve(schedules.model(loads, closed), units=SELECTION_UNITS)
                if result.values is None:
                    break
                torn = self._offer_cells(schedules.supply, result.values, schedules.cells(result.values))
                yield
                if not torn:
                    break
                loads |= torn  # the next one may take only as many samples there as found nodes
                apart |= torn.keys()

    def _closed(self, schedules: Schedules) -> BoolArray:
        """(schedules,) that no answer has which is as good as the gap asks for, or better than the best one."""
        loss = np.maximum(self._profit, 0)[schedules.tasks()] - schedules.reduced_profit(self._whole_rent, self._unit)
        return np.asarray(loss > int(self._unit * max(self._gap * self.upper, self.upper - self.best.welfare)))

    def _beside(self, schedules: Schedules, values: FloatArray | None) -> BoolArray:
        """(schedules,) of tasks of which a linear program takes another schedule as a whole."""
        task = schedules.tasks()
        whole = np.zeros(len(task), bool) if values is None else values[schedules.supply.columns :] > WHOLE
        return np.isin(task, task[whole]) & ~whole

    def _inserted(self, s: State, order: IntArray, shares: Sequence[float] = ()) -> State:
        """A copy with more tasks inserted, at shares of the rents and then for nothing."""
        s = copy_state(s)
        begin(self._pool, self._desk, s)
        for share in (*shares, 0.0):
            insert_all(self._pool, s, self._desk, order, share)
        return s

    def _supply(self, apart: set[tuple[int, int]]) -> Supply:
        return Supply(self._pool, self._empty.free, self._empty.free_mb, apart)

    def _generate(self, schedules: Schedules) -> None:
        """Prices of contended cells, the bound that they prove, and the schedules that pay at them."""
        p, supply = self._pool, schedules.supply
        rent, limits = self._rent, np.zeros(supply.limits)
        best = np.inf, rent, limits
        schedules.add(self._local_types(self.best))
        at = np.nonzero(supply.row >= 0)
        capacity = np.concatenate([np.zeros(0, np.int64), *(g.capacity for g in supply.groups)])
        for _ in range(ROUNDS * self._effort):
            answers = self._pricer.floats(rent)
            dual = float(answers.surplus.sum() + (limits * capacity).sum())
            if dual < best[0]:
                best = dual, rent, limits
            if not schedules.add(answers.local):
                break
            result = self._relaxed(schedules.model())
            if result.prices is None or result.bound is None or best[0] - result.bound < CONVERGED * best[0]:
                break
            rent = np.zeros(self._rent.shape)
            rent[at] = result.prices[p.tasks :][supply.row[at]]
            limits = result.prices[p.tasks + supply.rows :]
        _, rent, limits = best
        with contextlib.suppress(OverflowError):  # then the sum of what the tasks are worth alone stays the bound
            whole, unit = self._whole(rent)
            profit = self._pricer.integers(whole, unit, losses=True)
            upper = (sum(np.maximum(profit, 0).tolist()) + supply.worth(whole, limits * unit)) // unit
            if upper < self.upper:
                self.upper, self._profit, self._unit, self._whole_rent = upper, profit, unit, whole
                self._desk = self._desk._replace(rent=rent)

    def _whole(self, rent: FloatArray) -> tuple[IntArray, int]:
        """The rents in 1/unit micro-dollars, rounded, with a unit that leaves every sum of a proof room in 64 bits."""
        p = self._pool
        cost = int(np.abs(p.table_cost).max(initial=0))
        for g in range(len(p.nodes)):
            cost = max(cost, int(p.energy[:, g].max(initial=0)) * int(np.abs(p.tariff[g]).max()))
        cells = max(int(p.width.max(initial=1)), p.tasks) * (int(p.nodes.sum()) * p.tariff.shape[1] + 1)
        money = int(np.abs(p.bid).max(initial=0)) + int(p.price.max(initial=0))
        for bits in range(20, -1, -1):
            unit = 1 << bits
            whole = np.rint(np.minimum(rent, 2.0**40) * unit).astype(np.int64)
            if cells * (unit * cost + int(whole.max(initial=0))) + p.tasks * unit * money < 2**61:
                return whole, unit
        raise OverflowError("bids, costs and prices leave no room in 64 bits")

    def _solve(self, model: LinearModel, bound: float = -math.inf, units: int = SOLVER_UNITS) -> BackendResult:
        """HiGHS's answer, at the latest when half the gap is left, or the bound is as low as that."""
        small, step = model.reduced()
        value = float((1 - self._gap / 2) * self.upper)
        work = units * self._effort * max(1, SMALL // max(1, len(small.columns)))
        limits = Limits(work=work, gap=float(self._gap) / 2, value=value / step, bound=bound / step)
        result = solve("highs", small, limits)
        self.programs += 1
        if result.termination not in (Termination.OPTIMAL, Termination.LIMIT):
            raise RuntimeError(f"batch: {result.termination}: {result.message}")
        return result if result.bound is None else replace(result, bound=result.bound * step)

    def _relaxed(self, model: LinearModel) -> BackendResult:
        return self._solve(replace(model, integer=np.zeros(len(model.columns), bool)))

    def _local_types(self, s: State) -> IntArray:
        """(places,) local type in each slot of each task's window, -1 for none."""
        p = self._pool
        local = np.full(len(s.place), -1)
        kinds, task = type_of_node(p)[s.place], np.repeat(np.arange(p.tasks), p.width)
        for g in range(int(np.diff(p.type_start).max())):
            entry = np.minimum(p.type_start[task] + g, p.type_start[task + 1] - 1)
            local[(s.place >= 0) & (p.kind[entry] == kinds) & (local < 0)] = g
        return local

    def _offer_cells(self, supply: Supply, values: FloatArray, cells: Cells) -> dict[tuple[int, int], int]:
        """Offer the tasks whose cells all find a node; the samples that did in (type, slot) pairs where not all did."""
        p = self._pool
        kind, node = p.kind[cells.entry], np.full(len(cells.task), -1)
        torn: dict[tuple[int, int], int] = {}
        for g, t in sorted(set(zip(kind.tolist(), cells.slot.tolist(), strict=True))):
            mine = np.flatnonzero((kind == g) & (cells.slot == t))
            classes, which, count = np.unique(p.klass[cells.entry[mine]], return_inverse=True, return_counts=True)
            take = self._packed(supply, values, g, t, classes, count)
            for c in range(len(classes)):
                to = np.repeat(np.arange(len(take)), take[:, c])
                node[mine[which == c][: len(to)]] = to
            packed = take.sum(axis=0)
            if (packed < count).any():
                torn[g, t] = int((packed * p.class_rate[classes]).sum())
        decisions: list[Decision | None] = [None] * self._instance.tasks
        for i in np.unique(cells.task).tolist():
            mine = np.flatnonzero(cells.task == i)
            if (node[mine] >= 0).all():
                slots = (cells.slot[mine] + 1).tolist()
                decisions[p.task[i]] = Decision(None, tuple(zip(node[mine].tolist(), slots, strict=True)))
        self.offer(self._inserted(self.make_state(tuple(decisions)), self._orders[-1]))
        return torn

    def _packed(
        self, supply: Supply, values: FloatArray, kind: int, slot: int, classes: IntArray, count: IntArray
    ) -> IntArray:
        """(K, classes) cells on each node of a slot, first as if no program had said anything, then as one supplies."""
        p = self._pool
        free, free_mb = self._empty.free[:, slot].copy(), self._empty.free_mb[:, slot].copy()
        first_node = np.concatenate([[0], np.cumsum(p.nodes)])
        rate, memory = p.class_rate[classes], p.class_memory[classes]
        take, left = np.zeros((len(free), len(classes)), np.int64), count.copy()

        def fill(nodes: IntArray, most: IntArray) -> None:
            more = pack_slot(rate, memory, np.minimum(left, most), free[nodes], free_mb[nodes])
            take[nodes] += more
            free[nodes] -= more @ rate
            free_mb[nodes] -= more @ memory
            left[:] -= more.sum(axis=0)

        every = np.arange(first_node[kind], first_node[kind + 1])
        fill(every, count)
        if not left.any() or supply.row[classes[0], slot] < 0:
            return take
        best = take.copy()
        take[:], left[:] = 0, count
        free, free_mb = self._empty.free[:, slot].copy(), self._empty.free_mb[:, slot].copy()
        for group in supply.groups:
            if group.slot == slot and p.class_kind[group.classes[0]] == kind:
                mine = np.searchsorted(group.classes, classes)
                if group.patterns is None:
                    supplied = np.rint(values[group.column : group.column + len(group.classes)]).astype(np.int64)
                    fill(group.nodes, supplied[mine])
                    continue
                number = np.rint(values[group.column : group.column + len(group.patterns)]).astype(np.int64)
                for k, pattern in zip(group.nodes, np.repeat(group.patterns, number, axis=0)[:, mine], strict=False):
                    fill(np.array([k]), pattern)
        fill(every, count)
        return take if (take @ rate).sum() > (best @ rate).sum() else best

    def make_state(self, solution: Solution) -> State:
        return state_of(self._instance, self._pool, solution, copy_state(self._empty))


def warm(instance: Instance) -> None:
    start_worker("highs")
    p, public = pool(instance), instance.public("")
    types, shape = public.type_of_node, (instance.nodes, instance.slots)
    free, free_mb = (np.broadcast_to(each[types][:, None], shape).copy() for each in (public.compute, public.memory_mb))
    batch = _Batch(instance, p, free, free_mb)
    batch._inserted(batch._empty, np.arange(p.tasks))
    batch._pricer.floats(batch._rent)
    batch._supply({(g, t) for g in range(len(p.nodes)) for t in range(instance.slots)})
    pack_slot(p.memory, p.memory, p.memory, free[:, 0].copy(), free_mb[:, 0].copy())
