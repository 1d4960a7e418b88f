"""The linear relaxation of P over cells of single tasks, with facets of the sets that fit on a node, under decisions.

    max sum_io (b_i - q_io) z_io - sum e_igt x_igt
    sum_o z_io <= 1,  sum_g x_igt <= sum_(o that begin by t) z_io,  a x_i >= sum_o c_o z_io (covers),  q x_gt <= high

Decisions are bounds of columns and rows, so that the dual simplex method goes on from the node before. The dual values
of the facets are prices of cells, whose Lagrangian bound is no larger than the relaxation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import highspy
import numpy as np

from ratiobench.formulations.backends import Limits
from ratiobench.formulations.backends.highs import new_solver
from ratiobench.formulations.lora.bound.facets import BROKEN, Facet
from ratiobench.formulations.lora.bound.pricing import Pool, cell_costs
from ratiobench.formulations.lora.bound.task_prices import ALWAYS, NEVER, Floats, Ranges, Slots, slot_of_cells
from ratiobench.instances.lora.model import IntArray

ITERATIONS = 20_000  # Most iterations of the simplex method for a programme
# The count of programmes in which a row does not bind starts here for rows that are never dropped
NEVER_IDLE = -(2**40)
# A facet is dropped after so many programmes in which it does not bind, where these are this part of the facets
IDLE, MANY_ROWS = 50, 0.3


# (rates, work, slots of each option): `models.tight.covers_in_windows`
Covers = Callable[[IntArray, int, list[int]], Sequence[tuple[IntArray, IntArray, int]]]


class Relaxed(NamedTuple):
    value: float  # the optimum, micro-dollars
    options: Floats  # (options,) z; cells: (cells,) x
    cells: Floats
    price: Floats  # (entries, T) of cells


class Relaxation:
    """The programme of a pool: columns of options, of cells, and one that breaks all facets at a high price."""

    def __init__(self, p: Pool, s: Slots, covers: Covers) -> None:
        self.pool, self.slots = p, s
        self.facets: list[Facet] = []
        self._late: list[_Row] = []  # covers by late options, which few solutions break
        self._idle: list[int] = []
        self._slot = slot_of_cells(s)
        self._options, cells = len(p.offset), len(s.entry)
        self._task = np.repeat(np.arange(p.tasks), np.diff(p.option_start))
        self._begin = p.first[self._task] + p.offset
        worth = np.concatenate(
            [
                p.bid[self._task] - p.price,
                -cell_costs(p, s.owner[s.entry], s.entry, self._slot),
                [-int(p.bid.sum()) - 1],
            ]
        ).astype(np.float64)
        self._solver = solver = new_solver(Limits())
        solver.setOptionValue("presolve", "off")
        solver.setOptionValue("simplex_dual_edge_weight_strategy", 1)
        solver.setOptionValue("dual_simplex_cost_perturbation_multiplier", 0.0)
        solver.setOptionValue("simplex_iteration_limit", ITERATIONS)
        solver.changeObjectiveSense(highspy.ObjSense.kMaximize)
        n, none = self._options + cells + 1, np.zeros(0)
        starts, index = np.zeros(n, np.int32), np.zeros(0, np.int32)
        solver.addCols(n, worth, np.zeros(n), np.ones(n), 0, starts, index, none)
        rows = [*self._options_of_tasks(), *self._numbers(), *self._windows_and_covers(covers)]
        self._first = len(rows)
        self._add_rows(rows)

    def _options_of_tasks(self) -> list[_Row]:
        found = [np.flatnonzero(self._task == i) for i in range(self.pool.tasks)]
        return [_Row(options, np.ones(len(options)), -highspy.kHighsInf, 1.0) for options in found]

    def _numbers(self) -> list[_Row]:
        """Numbers of cells of each task and type, which decisions bound."""
        found = [self._options + np.flatnonzero(self.slots.entry == e) for e in range(len(self.pool.kind))]
        return [_Row(cells, np.ones(len(cells)), -highspy.kHighsInf, highspy.kHighsInf) for cells in found]

    def _windows_and_covers(self, covers: Covers) -> list[_Row]:
        """One cell in a slot, of a chosen option that has begun; enough cells for the work."""
        p, s, found = self.pool, self.slots, []
        owner = s.owner[s.entry]
        for i in range(p.tasks):
            mine, options = np.flatnonzero(owner == i), np.arange(p.option_start[i], p.option_start[i + 1])
            for t in range(int(p.first[i]), int(p.first[i] + p.width[i])):
                cells, begun = mine[self._slot[mine] == t], options[self._begin[options] <= t]
                value = np.concatenate([np.ones(len(cells)), -np.ones(len(begun))])
                index = np.concatenate([self._options + cells, begun])
                found.append(_Row(index, value, -highspy.kHighsInf, 0.0))
            local = s.entry[mine] - p.type_start[i]
            widths = (p.width[i] - p.offset[options]).tolist()
            for weights, needed, since in covers(p.rate[p.type_start[i] : p.type_start[i + 1]], int(p.work[i]), widths):
                cells = mine[(self._slot[mine] >= self._begin[options[since]]) & (weights[local] != 0)]
                chosen = np.flatnonzero(needed)
                value = np.concatenate([weights[s.entry[cells] - p.type_start[i]], -needed[chosen]])
                index = np.concatenate([self._options + cells, options[chosen]])
                (self._late if since else found).append(
                    _Row(index, value / np.abs(needed).max(), 0.0, highspy.kHighsInf)
                )
        return found

    def _add_rows(self, rows: Sequence[_Row]) -> None:
        starts = np.cumsum([0, *(len(each.column) for each in rows)])
        self._solver.addRows(
            len(rows), np.array([each.low for each in rows]), np.array([each.high for each in rows]), int(starts[-1]),
            starts[:-1].astype(np.int32), np.concatenate([each.column for each in rows]).astype(np.int32),
            np.concatenate([each.value for each in rows]).astype(np.float64),
        )  # fmt: skip

    def add(self, facets: Sequence[Facet]) -> None:
        """More facets, each divided by its right-hand side."""
        last = self._options + len(self.slots.entry)
        rows = [
            _Row(
                np.append(self._options + each.place, last),
                np.append(each.q / each.high, -1.0),
                -highspy.kHighsInf,
                1.0,
            )
            for each in facets
        ]
        if rows:
            self._add_rows(rows)
            self.facets += facets
            self._idle += [0] * len(rows)

    def add_late_covers(self, found: Relaxed) -> None:
        """Add the covers of late options that a solution breaks; they are never dropped."""
        point = np.concatenate([found.options, found.cells])
        broken = [row.value @ point[row.column] < -BROKEN for row in self._late]
        rows = [row for row, is_broken in zip(self._late, broken, strict=True) if is_broken]
        if rows:
            self._late = [row for row, is_broken in zip(self._late, broken, strict=True) if not is_broken]
            self._add_rows(rows)
            none = np.zeros(0, np.int64)
            self.facets += [Facet(none, none, 1)] * len(rows)
            self._idle += [NEVER_IDLE] * len(rows)

    def decide(self, d: Ranges) -> None:
        p, s = self.pool, self.slots
        begins = (d.early[self._task] <= self._begin) & (self._begin <= d.late[self._task])
        fixed = d.fixed[s.entry, self._slot]
        may = np.concatenate([begins & (d.out[self._task] == 0), fixed != NEVER]).astype(np.float64)
        must = np.concatenate([np.zeros(self._options), fixed == ALWAYS]).astype(np.float64)
        self._solver.changeColsBounds(len(may), np.arange(len(may), dtype=np.int32), must, may)
        low = np.concatenate([np.where(d.admitted == 1, 1.0, -highspy.kHighsInf), np.where(d.low > 0, d.low, 0)])
        high = np.concatenate([np.ones(p.tasks), np.minimum(d.high, p.width[s.owner])])
        self._solver.changeRowsBounds(len(low), np.arange(len(low), dtype=np.int32), low, high.astype(np.float64))

    def solve(self) -> Relaxed:
        """Solve the programme under the last decisions."""
        solver, p, s = self._solver, self.pool, self.slots
        solver.run()
        for perturbation in (0.0, 1.0):  # costs that are perturbed, and another start, help where HiGHS is in doubt
            if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                solver.clearSolver()
                solver.setOptionValue("dual_simplex_cost_perturbation_multiplier", perturbation)
                solver.run()
                solver.setOptionValue("dual_simplex_cost_perturbation_multiplier", 0.0)
        status = solver.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise ArithmeticError(f"HiGHS: {solver.modelStatusToString(status)}")
        found = solver.getSolution()
        value, dual = np.array(found.col_value), np.abs(np.array(found.row_dual)[self._first :])
        cell = np.zeros(len(s.entry))
        for r in np.flatnonzero(dual > 1e-9).tolist():
            cell[self.facets[r].place] += dual[r] / self.facets[r].high * self.facets[r].q
        price = np.zeros((len(p.kind), p.tariff.shape[1]))
        price[s.entry, self._slot] = cell
        self._idle = [
            min(idle, 0) if each > 1e-9 else idle + 1 for each, idle in zip(dual.tolist(), self._idle, strict=True)
        ]
        return Relaxed(solver.getObjectiveValue(), value[: self._options], value[self._options : -1], price)

    def value(self, iterations: int | None = None) -> float:
        """The optimum under the last decisions, or what some iterations leave of it; inf where HiGHS finds none."""
        if iterations is not None:
            self._solver.setOptionValue("simplex_iteration_limit", iterations)
        self._solver.run()
        self._solver.setOptionValue("simplex_iteration_limit", ITERATIONS)
        status = self._solver.getModelStatus()
        found = status in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kIterationLimit)
        return float(self._solver.getInfo().objective_function_value) if found else np.inf

    def purge(self) -> None:
        """Drop facets that have not bound for some programmes, where they are many; the basis stays."""
        if sum(idle > IDLE for idle in self._idle) < MANY_ROWS * len(self.facets):
            return
        basis = self._solver.getBasis()
        status, basic = basis.row_status, highspy.HighsBasisStatus.kBasic
        keep = [r for r, idle in enumerate(self._idle) if idle <= IDLE or status[self._first + r] != basic]
        drop = np.setdiff1d(np.arange(len(self.facets)), keep) + self._first
        self._solver.deleteRows(len(drop), drop.astype(np.int32))
        basis.row_status = [*status[: self._first], *(status[self._first + r] for r in keep)]
        self._solver.setBasis(basis)
        self.facets, self._idle = [self.facets[r] for r in keep], [self._idle[r] for r in keep]


class _Row(NamedTuple):
    """low <= value @ x[column] <= high."""

    column: IntArray
    value: Floats
    low: float
    high: float
