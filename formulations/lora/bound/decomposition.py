"""Prices of single cells by a linear programme: schedules of tasks as columns, facets of what fits on a node as rows.

The Lagrangian bound at prices pi of cells (task, type, slot) is

    OPT <= sum_gt K_g max_S sum_{i in S} pi_igt + sum_i max(0, best reduced profit of task i),

S running over the sets of tasks that fit on a node. The best prices are the dual solution of a linear programme in
which each task has a mixture of schedules and each node and slot a mixture of sets. Sets are not listed: what they say
of the cells is added as facets q x <= K_g max_S q(S) when the programme's solution breaks them. Below the root of the
tree the programme over cells in place of schedules (`relaxation`), which is solved again in a fraction of the time,
gives the prices. It runs in the worker process of HiGHS; what it finds is proved afterwards in integers (`verify`).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import highspy
import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.backends import Limits
from ratiobench.formulations.backends.highs import new_solver
from ratiobench.formulations.lora.bound.columns import ColumnArrays, slot_of_cells
from ratiobench.formulations.lora.bound.facets import BROKEN, Facet, Separator
from ratiobench.formulations.lora.bound.pricing import Pool, places
from ratiobench.formulations.lora.bound.relaxation import Covers, Relaxation, Relaxed
from ratiobench.formulations.lora.bound.task_prices import (
    ALWAYS,
    NEVER,
    TYPES,
    Floats,
    Ranges,
    Slots,
    descend,
    find_sets,
    find_slots,
    new_scratch,
    no_decisions,
    through,
)
from ratiobench.formulations.lora.bound.tree import UNIT, CellRow, Tree
from ratiobench.instances.lora.model import IntArray

Decision = tuple[int, ...]  # What a node of the tree decides, as in certificates, with pooled tasks and slots from 0
Path = tuple[tuple[Decision, bool], ...]

# Most rounds of facets at the root per unit of effort up to ten, and at a node after it
ROOT_ROUNDS, NODE_ROUNDS = 60, 3
# Evaluations of the subgradient method before the root's programme and after it, and the first factor of its steps
# after it
DESCENTS, LAST_DESCENTS, LAST_STEP = 1_500, 400, 0.05
# Guesses of OPT, as parts of the way from the upper to the lower end: of programs of some tasks, in turns, of all
# tasks, and of the program of all tasks within the tree
SOME_GUESSES, ALL_GUESSES, LATE_GUESS = (0.5, 2.0, 0.25, 1.0), (0.1,), (0.25,)
# Most turns of programs of some tasks before the tree per unit of effort, and nodes before the next one, twice as many
# after each that finds nothing
TURNS, BRANCHINGS = 8, 100
UNITS = 16  # Most units of work of the programs of all tasks before the tree
# Nodes before the first turn within the tree: `BRANCHINGS` times the first number over the number of tasks, and at
# least the second
FEW_TASKS, LEAST_BRANCHINGS = 8, 4
# The tree and programs of all tasks come in turns first up to so many tasks: nodes, then units of a program's work
FIRST_TASKS, FIRST_BRANCHINGS = 30, ((4, 0.25), (16, 0.1), (80, 0.25))
WINDOWS, SMALL_WINDOWS = 24, 6  # Programs of some tasks in a turn, and where the tree comes first
# The tree comes before programs of some tasks where a program of all tasks in the cells that the prices leave open has
# at most so many columns of cells. Units of its work at the end.
SMALL_PROGRAM, SMALL_UNITS = 800, 4
OPEN_SHARE = 0.75  # A program of all tasks without a guess is tried where no more than this part of the cells is open
ANNEALINGS, MOST_ANNEALED = 80, 4  # Annealings from the best solution per unit of effort up to so many
# A dive leaves so many tasks to a program, settles what the programme uses by so much, and solves programmes as closely
# as a part of the way to the lower end: one that is quick, then one that is close
DIVE_REST, DIVE_THRESHOLD, DIVE_TOLERANCES = 12, 0.7, (0.2, 0.02)
# Most rounds of facets at a node whose solution is in whole numbers: without more facets it may not fit
INTEGRAL_ROUNDS = 100
CANDIDATES = 6  # Most decisions that are compared before one of them is taken
TRIAL = 40  # Most iterations of the simplex method for a branch that is compared, of more than `FIRST_TASKS` tasks
CHUNK = 100  # Evaluations of the subgradient method between two looks at the clock
INTEGRAL = 1e-5
TOLERANCE = 0.3  # A programme is solved when its optimum is so near to the bound, micro-dollars
# After so many rounds of facets in which the programme's optimum falls by less than both so many micro-dollars and this
# part of the way to the lower end, no more are added
STALLED, LEAST, PART = 3, 0.02, 0.01
FEW = 3  # Where fewer facets cut off the mean, those that cut off the solution itself are taken
ITERATIONS = 5_000  # Most iterations of the simplex method before it begins anew
IDLE = 3  # Rounds without a price after which a facet is dropped


class Evaluated(NamedTuple):
    """What prices prove, in doubles."""

    value: float  # the bound in micro-dollars; -inf where the decisions allow no solution
    price: Floats  # (entries, T)
    gain: Floats  # (n,) best reduced profits of tasks, losses included


@dataclass(slots=True)
class Column:
    """A schedule of a task: its option, local type in each slot (-1 for none), net value, places of its cells."""

    task: int
    option: int
    local: IntArray
    value: float
    place: IntArray
    counts: tuple[int, ...] = field(default=())


class Decomposition:
    """The linear programme of a pool, column by column and row by row; `bound` solves it under decisions.

    `over` says when no further round is begun.
    """

    def __init__(self, p: Pool, over: Callable[[], bool]) -> None:
        self.pool, self.slots, self.over = p, find_slots(p), over
        self.separator = Separator(p, self.slots)
        self.rows: list[Facet] = []
        self._at: list[list[tuple[int, int]]] = [[] for _ in self.slots.entry]  # rows and coefficients of a cell
        self.columns: list[Column] = []
        self._arrays = ColumnArrays(p, self.slots)
        self._idle: list[int] = []
        self._flat: tuple[IntArray, IntArray, IntArray] | None = None  # rows, places, coefficients of all facets
        self._known: set[tuple[int, int, bytes]] = set()
        self._places = places(p)
        self._slot = slot_of_cells(self.slots)
        self.cost = _costs_of_cells(p, self.slots, self._slot)
        self._sets = find_sets(p, self.slots)
        self._scratch = new_scratch(p, self.slots)
        self._option, self._local = self._scratch.option, self._scratch.local
        self._nodes = p.nodes[self.slots.kind].astype(np.float64)
        self._grown = False
        self.bonus = 4.0 * float(p.bid.max(initial=1))
        self._solver = new_solver(Limits())
        self._solver.changeObjectiveSense(highspy.ObjSense.kMaximize)
        self._solver.setOptionValue("presolve", "off")
        self._solver.setOptionValue("dual_simplex_cost_perturbation_multiplier", 0.0)
        self._solver.setOptionValue("primal_simplex_bound_perturbation_multiplier", 0.0)
        self._solver.setOptionValue("simplex_dual_edge_weight_strategy", 1)
        none, empty = np.zeros(0), np.zeros(0, np.int32)
        for _ in range(p.tasks):
            self._solver.addRow(-highspy.kHighsInf, 1.0, 0, empty, none)
        for i in range(p.tasks):  # what is paid where a task that must be admitted is not
            self._solver.addCol(-self.bonus, 0.0, 0.0, 1, np.array([i], np.int32), np.ones(1))
        self.add_rows(self.separator.knapsacks())

    def add_rows(self, facets: Sequence[Facet]) -> None:
        """More facets; the columns so far get their coefficients."""
        if not facets:
            return
        self._grown = False
        starts, indices, values = [0], [np.zeros(0, np.int32)], [np.zeros(0)]
        weight = np.zeros(len(self.slots.entry), np.int64)
        for row, facet in enumerate(facets, len(self.rows)):
            for place, q in zip(facet.place.tolist(), facet.q.tolist(), strict=True):
                self._at[place].append((row, q))
            weight[facet.place] = facet.q
            total = self._arrays.sums(weight)
            weight[facet.place] = 0
            used = np.flatnonzero(total)
            indices.append((self.pool.tasks + used).astype(np.int32))
            values.append(total[used].astype(np.float64))
            starts.append(starts[-1] + len(used))
        self.rows += facets
        self._idle += [0] * len(facets)
        self._flat = None
        high = np.array([each.high for each in facets], np.float64)
        self._solver.addRows(
            len(facets), np.full(len(facets), -highspy.kHighsInf), high, starts[-1], np.array(starts[:-1], np.int32),
            np.concatenate(indices), np.concatenate(values),
        )  # fmt: skip

    def add_column(self, i: int, option: int, local: IntArray) -> bool:
        """Another schedule; False where it is known."""
        p = self.pool
        key = _key(i, option, local)
        if key in self._known:
            return False
        self._known.add(key)
        t = np.flatnonzero(local >= 0)
        place = self.slots.where[p.type_start[i] + local[t], p.first[i] + t]
        value = float(p.bid[i] - p.price[option] - self.cost[place].sum())
        counts = tuple(np.bincount(local[t], minlength=int(p.type_start[i + 1] - p.type_start[i])).tolist())
        weights: dict[int, float] = {}
        for cell in place.tolist():
            for row, q in self._at[cell]:
                weights[row] = weights.get(row, 0.0) + q
        index = np.array([i, *(p.tasks + row for row in weights)], np.int32)
        self._solver.addCol(value, 0.0, highspy.kHighsInf, len(index), index, np.array([1.0, *weights.values()]))
        self.columns.append(Column(i, option, local.copy(), value, place, counts))
        self._arrays.add(i, int(p.first[i] + p.offset[option]), counts, place)
        return True

    def evaluate(self, price: Floats, d: Ranges) -> Evaluated:
        """The bound at these prices under decisions; the tasks' answers stay in the scratch arrays."""
        return self.descend(d, np.rint(price * UNIT) / UNIT, -np.inf, 1)

    def descend(self, d: Ranges, begin: Floats, known: float, rounds: int, theta: float = 1.0) -> Evaluated:
        """Better prices by a subgradient method, which ends below `known`.

        `begin`: (entries, T) prices to begin with.
        """
        p = self.pool
        price, best_price, gain = begin.copy(), np.empty(begin.shape), np.empty(p.tasks)
        state, direction = np.array([np.inf, theta, 0.0]), np.zeros(len(self.slots.entry))
        for done in range(0, rounds, CHUNK):
            descend(
                p, self.slots, self._sets, d, price, 4 * self.bonus, self._places, self._scratch, known, state,
                direction, min(rounds - done, CHUNK), best_price, gain,
            )  # fmt: skip
            if state[0] < known or state[1] < 1e-3 or self.over():
                break
        return Evaluated(float(state[0]), best_price, gain)

    def add_answers(self, found: Evaluated, dual: Floats) -> int:
        """Columns of the answers that the programme's prices say are worth having; how many were new."""
        p, new = self.pool, 0
        for i in np.flatnonzero(found.gain > dual + 1e-6).tolist():
            local = self._local[self._places[i] : self._places[i] + p.width[i]]
            new += self.add_column(i, int(self._option[i]), local)
        return new

    def _solve(self) -> tuple[float, Floats, Floats]:
        # Columns leave the old solution feasible, which the primal simplex method begins from; rows do not.
        self._solver.setOptionValue("simplex_strategy", 4 if self._grown else 1)
        self._solver.setOptionValue("simplex_iteration_limit", ITERATIONS)  # the primal simplex method may cycle
        self._grown = True
        self._solver.run()
        if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            self._solver.clearSolver()
            self._solver.setOptionValue("simplex_strategy", 1)
            self._solver.setOptionValue("simplex_iteration_limit", 10 * ITERATIONS)
            self._solver.run()
        status = self._solver.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise ArithmeticError(f"HiGHS: {self._solver.modelStatusToString(status)}")
        found = self._solver.getSolution()
        return self._solver.getObjectiveValue(), np.array(found.col_value), np.array(found.row_dual)

    def _purge(self, dual: Floats) -> None:
        """Drop the facets that have had no price for some rounds, where they are many; the basis stays."""
        self._idle = [0 if amount > 1e-9 else idle + 1 for amount, idle in zip(np.abs(dual), self._idle, strict=True)]
        if sum(idle > IDLE for idle in self._idle) < 0.15 * len(self.rows):
            return
        basis = self._solver.getBasis()
        status, tasks = basis.row_status, self.pool.tasks
        basic = highspy.HighsBasisStatus.kBasic
        drop = [r for r, idle in enumerate(self._idle) if idle > IDLE and status[tasks + r] == basic]
        number = np.cumsum(np.isin(np.arange(len(self.rows)), drop, invert=True)) - 1
        number[drop] = -1
        keep = np.flatnonzero(number >= 0).tolist()
        self._solver.deleteRows(len(drop), np.array(drop, np.int32) + tasks)
        basis.row_status = [*status[:tasks], *(status[tasks + r] for r in keep)]
        self._solver.setBasis(basis)
        self.rows = [self.rows[r] for r in keep]
        self._idle = [self._idle[r] for r in keep]
        self._at = [[(int(number[r]), q) for r, q in cell if number[r] >= 0] for cell in self._at]
        self._flat = None

    def open_cells(self, best: Evaluated, d: Ranges, enough: float) -> NDArray[np.bool_]:
        """(entries, T) cells that a solution of welfare `enough` may use, by their reduced profit at these prices."""
        reach = np.empty(best.price.shape)
        through(self.pool, d, best.price, self._scratch.table, reach)
        least = np.where(d.admitted == 1, -np.inf, 0.0)
        rest = best.value - np.maximum(best.gain, least)
        return np.asarray(rest[self.slots.owner][:, None] + reach >= enough)

    def _prices(self, dual: Floats) -> Floats:
        """(entries, T) prices of cells from the rows' prices."""
        if self._flat is None:
            length = np.array([len(each.q) for each in self.rows], dtype=np.int64)
            none = np.zeros(0, np.int64)
            place, q = (np.concatenate([none, *(each[k] for each in self.rows)]) for k in (0, 1))
            self._flat = np.repeat(np.arange(len(length)), length), place, q
        row, place, q = self._flat
        cell = np.bincount(place, np.abs(dual)[row] * q, len(self.slots.entry))
        price = np.zeros((len(self.pool.kind), self.pool.tariff.shape[1]))
        price[self.slots.entry, self._slot] = cell
        return price

    def used(self, values: Floats) -> Floats:
        """(cells,) how far each cell is used by a solution of the programme."""
        return self._arrays.spread(np.maximum(0.0, values[self.pool.tasks :]))

    def admitted(self, values: Floats) -> Floats:
        """(n,) how far each task is admitted by a solution of the programme; a half where there is none."""
        tasks = self.pool.tasks
        if not len(values):
            return np.full(tasks, 0.5)
        owner = np.array([each.task for each in self.columns[: len(values) - tasks]], dtype=np.int64)
        return np.clip(np.bincount(owner, values[tasks:], tasks), 0.0, 1.0)

    def open_columns(self, d: Ranges) -> None:
        """Close the columns that the decisions do not allow, open the others; rows of tasks likewise."""
        p = self.pool
        high = np.zeros(p.tasks + len(self.columns))
        high[p.tasks :][self._arrays.allowed(d)] = highspy.kHighsInf
        high[: p.tasks] = np.where(d.admitted == 1, highspy.kHighsInf, 0.0)
        n = len(high)
        self._solver.changeColsBounds(n, np.arange(n, dtype=np.int32), np.zeros(n), high)
        low = np.where(d.admitted == 1, 1.0, -highspy.kHighsInf)
        self._solver.changeRowsBounds(p.tasks, np.arange(p.tasks, dtype=np.int32), low, np.ones(p.tasks))

    def bound(
        self,
        d: Ranges,
        begin: Floats,
        enough: float,
        *,
        descents: int = 0,
        rounds: int = 1_000,
        tolerance: float = TOLERANCE,
    ) -> tuple[Evaluated, Floats]:
        """The least bound found, and the columns' values at the end.

        `begin`: (entries, T) prices to begin with; `tolerance`: a programme is solved when its optimum is so near to
        the bound, micro-dollars.
        """
        p = self.pool
        self.open_columns(d)
        best = self.descend(d, begin, enough, descents) if descents else self.evaluate(begin, d)
        if descents:
            self.add_rows(self.separator.supports(best.price))
        self.add_answers(self.evaluate(best.price, d), np.full(p.tasks, -1e-6))
        values, turn, stalled, last, center = np.zeros(0), 0, 0, np.inf, None
        for _ in range(rounds):
            new = 1
            while new and best.value >= enough and not self.over():
                optimum, values, dual = self._solve()
                price, new = self._prices(dual[p.tasks :]), 0
                for share in (0.5, 1.0) if turn % 3 else (1.0,):
                    found = self.evaluate(share * price + (1 - share) * best.price, d)
                    if found.value < best.value:
                        best = found
                    new = self.add_answers(found, dual[: p.tasks])
                    if new:
                        break
                turn += 1
                if best.value - optimum < tolerance:
                    break
            if best.value < enough or self.over():
                break
            # Facets that cut off a point on the way to the mean of the solutions so far cut deeper.
            x = self.used(values)
            center = x if center is None else 0.7 * center + 0.3 * x
            facets = self.separator.separate(0.1 * x + 0.9 * center)
            if center is not x:
                facets = [each for each in facets if each.q @ x[each.place] > each.high * (1 + BROKEN / 2)]
                if len(facets) < FEW:
                    facets += self.separator.separate(x)
            self._purge(dual[p.tasks :])
            self.add_rows(facets)
            stalled = stalled + 1 if last - optimum < max(LEAST, PART * (best.value - enough)) else 0
            last = optimum
            if not facets or stalled > STALLED:
                break
        return best, values


def _key(task: int, option: int, local: IntArray) -> tuple[int, int, bytes]:
    return task, option, local.astype(np.int8).tobytes()


def _costs_of_cells(p: Pool, s: Slots, slot: IntArray) -> IntArray:
    """(places,) operational cost of each cell, micro-dollars."""
    task, kind = s.owner[s.entry], p.kind[s.entry]
    cost = p.energy[task, kind] * p.tariff[kind, slot]
    given = np.flatnonzero(p.explicit[task] >= 0)
    cost[given] = p.table_cost[p.explicit[task[given]], kind[given], slot[given]]
    return cost


def ranges_of(p: Pool, path: Path) -> Ranges:
    """What the decisions of a path leave."""
    d = no_decisions(p)
    for (i, *what), side in path:
        d.admitted[i] |= side
        if not what:
            d.out[i] |= not side
            continue
        here = slice(int(p.type_start[i]), int(p.type_start[i + 1]))
        if len(what) == 1:
            if side:
                d.early[i] = max(d.early[i], what[0] + 1)
            else:
                d.late[i] = min(d.late[i], what[0])
            continue
        entry = here.start + int(np.flatnonzero(p.kind[here] == what[0])[0])
        if len(what) == 2:
            d.fixed[entry, what[1]] = ALWAYS if side else NEVER
        elif side:
            d.low[entry] = max(d.low[entry], what[2] + 1)
        else:
            d.high[entry] = min(d.high[entry], what[2])
    return d


@dataclass(slots=True)
class Node:
    """A node of the tree: a leaf while it has no decision."""

    path: Path
    value: float
    price: Floats
    candidates: list[Decision]
    relaxed: float = np.inf
    decision: Decision | None = None
    children: list[Node] = field(default_factory=list)


class PrimalSearch(Protocol):
    """The best solution that is known, and ways to a better one."""

    facets: list[CellRow]  # rows that all solutions keep
    lower: int  # welfare of the best solution
    proved: bool  # no better one exists, as a solver reports

    def anneal(self, price: Floats, admitted: Floats, runs: int, part: float, target: float = 0.0) -> None:
        """Look for one among all solutions by annealing.

        price, admitted : dual prices of cells, and how far the programme admits each task.
        runs : annealings from the best solution.
        part : of the seconds left that they may take.
        target : where they have not reached this welfare, they may take longer.
        """

    def complete(self, schedules: list[Column]) -> None:
        """Look for a solution with these schedules of some tasks."""

    def improve(self, cells: NDArray[np.bool_], whole: bool, units: float, part: float) -> None:
        """Look among solutions that use these cells; `whole` where no better one uses others.

        units : of work.
        part : of the seconds left that it may take.
        """

    def search(self, cells: NDArray[np.bool_], windows: int) -> None:
        """Look among solutions that are like the best one, and otherwise use these cells, by so many programs."""


class Search:
    """Best-first branch and bound; every node's bound is by prices, so it may stop at any moment."""

    def __init__(self, programme: Decomposition, lower: int, covers: Covers) -> None:
        self.programme = programme
        self.enough = lower + 0.999
        self.solved = self.turn = self._pushed = 0
        self._admitted = np.full(programme.pool.tasks, 0.5)
        self._to_the_end = True
        self._gains: dict[Decision, float] = {}  # product of what a decision lowers both children's relaxations by
        self._relaxation = Relaxation(programme.pool, programme.slots, programme.cost, covers)

    def run(
        self,
        price: Floats,
        nodes: int,
        effort: int,
        primal: PrimalSearch,
        affordable: Callable[[Floats], int] = lambda price: 2**62,
        annealing_part: float = 1.0,
        time_to_branch: Callable[[], bool] = lambda: False,
        spent: Callable[[], float] = lambda: 0.0,
        time_for_program: Callable[[], bool] = lambda: False,
        to_the_end: bool = True,
        near: float = 0.0,
    ) -> None:
        """Solve the root, look for better solutions, solve nodes of the largest bounds, at most so many in all.

        `price`: (entries, T) to begin with; `effort`: multiplies rounds at the root, turns of programs of some tasks,
        and the work of programs of all tasks, which before the tree is at most `UNITS`; `annealing_part`: of the
        seconds that annealings before the tree may take; `spent`: seconds so far, of which programs within the tree
        take no more than nodes; always 0 where no clock may decide.
        """
        programme, self._to_the_end = self.programme, to_the_end
        self.root = root = self._solve_root(price, ROOT_ROUNDS * min(effort, 10))
        self._root_price = root.price
        nodes = min(nodes, 2 * affordable(root.price) - 1)
        self._relaxation.add(programme.rows)
        self._waiting: list[tuple[float, int, Node]] = []
        self._wait(root)
        # The cheapest step comes first: the tree where few cells are open, else programs of some tasks.
        small = int(programme.pool.nodes[programme.pool.kind] @ self._open_cells(1.0).sum(axis=1)) <= SMALL_PROGRAM
        if small or programme.pool.tasks <= FIRST_TASKS:
            for pause, units in FIRST_BRANCHINGS:
                if self._grow(nodes, pause, primal):
                    self._improve_all(primal, ALL_GUESSES, units)
            if not to_the_end:
                self._improve_all(primal, (1.0,), effort)
        if not small:
            self._improve_before(primal, effort, annealing_part, near * root.value, time_to_branch)
        # A node takes longer the more tasks there are.
        pause = first = BRANCHINGS if small else max(LEAST_BRANCHINGS, BRANCHINGS * FEW_TASKS // programme.pool.tasks)
        ahead, began = 0.0, spent()  # seconds by which programs have taken longer than nodes
        programmed = False

        def due() -> bool:
            return not programmed and time_for_program()

        while self._grow(nodes, pause, primal, due):
            ahead = max(0.0, ahead - (spent() - began))
            if due():
                programmed = True
                self._improve_all(primal, LATE_GUESS, effort, 1 / 2)
            elif ahead == 0 and self._may_improve(primal):
                ahead = -spent()
                found = self._improve_some(primal, SMALL_WINDOWS if small else WINDOWS)
                ahead += spent()
                pause = first if found else 2 * pause
            began = spent()
        self._improve_all(primal, (1.0,), max(SMALL_UNITS, effort) if small else effort)

    def _improve_before(
        self,
        primal: PrimalSearch,
        effort: int,
        annealing_part: float,
        target: float,
        time_to_branch: Callable[[], bool],
    ) -> None:
        """Look for better solutions before the tree: programs of some tasks, dives, programs of all in turns.

        The programs of all tasks take a unit of work first, and twice as much each time, up to `effort` together.
        """
        runs = ANNEALINGS * min(effort, MOST_ANNEALED)
        primal.anneal(self.root.price, self._admitted, runs, annealing_part, target)
        self.enough = primal.lower + 0.999
        last = self.turn + TURNS * min(effort, 100)
        dives = list(DIVE_TOLERANCES)
        done, most = 0, min(effort, UNITS)
        found = True
        while (found or done < most or dives) and self._may_improve(primal) and not time_to_branch():
            found = self.turn < last and self._improve_some(primal)
            if dives and self._may_improve(primal) and not time_to_branch():
                primal.complete(self._dive(self.root, dives.pop(0), time_to_branch))
                self.enough = primal.lower + 0.999
            elif done < most and not time_to_branch():
                units = min(max(1, done), most - done)
                self._improve_all(primal, ALL_GUESSES, units)
                done += units
        self._improve_all(primal, (1.0,), most)

    def _may_improve(self, primal: PrimalSearch) -> bool:
        """Whether a better solution may exist, and there is time to look for one."""
        waiting = any(self._is_open(node) for *_, node in self._waiting)
        return waiting and not primal.proved and not self.programme.over()

    def _grow(self, nodes: int, branchings: int, primal: PrimalSearch, due: Callable[[], bool] = lambda: False) -> bool:
        """Branch some times at the nodes of the largest bounds; whether there are more, and time and nodes left.

        due : says when to stop earlier.
        """
        done = 0
        while self._waiting and self.solved < nodes and not self.programme.over():
            if primal.proved and not self._to_the_end:
                break
            if (done == branchings or due()) and not primal.proved:
                return True
            *_, node = heapq.heappop(self._waiting)
            if not self._is_open(node):
                continue
            self._bound(node, primal)
            if self._is_open(node) and node.candidates:
                self._branch(node)
                for child in node.children:
                    if self._is_open(child):
                        self._wait(child)
            done += 1
        return False

    def _wait(self, node: Node) -> None:
        """Nodes of the largest bound come first, of equal bounds the last ones, so that the tree grows deep there."""
        self._pushed += 1
        heapq.heappush(self._waiting, (-round(node.value, 2), -self._pushed, node))

    def _improve_all(self, primal: PrimalSearch, shares: tuple[float, ...], units: float, part: float = 1 / 3) -> None:
        """Programs of all tasks in the cells of solutions better than guesses of OPT."""
        for share in shares:
            if self._upper(self.root) >= self.enough and not primal.proved and not self.programme.over():
                cells = self._open_cells(share)
                primal.facets = self._cell_rows()
                if share < 1 or cells.sum() <= OPEN_SHARE * len(self.programme.slots.entry):
                    primal.improve(cells, share == 1.0, units, part)
                    self.enough = primal.lower + 0.999

    def _is_open(self, node: Node) -> bool:
        return node.value >= self.enough

    def _open_cells(self, share: float) -> NDArray[np.bool_]:
        """Cells of solutions that are better than so far by all but this part of the way to the upper end."""
        d = no_decisions(self.programme.pool)
        found = self.programme.evaluate(self.root.price, d)
        upper = min(found.value, self._upper(self.root))
        return self.programme.open_cells(found, d, upper - share * (upper - self.enough))

    def _cell_rows(self) -> list[CellRow]:
        """The facets of the relaxation, which all solutions keep."""
        s = self.programme.slots
        slot = slot_of_cells(s)
        return [(s.entry[each.place], slot[each.place], each.q, each.high) for each in self._relaxation.facets]

    def _improve_some(self, primal: PrimalSearch, windows: int = WINDOWS) -> bool:
        """Schedule some tasks at a time again; whether that found a better solution."""
        before = primal.lower
        primal.search(self._open_cells(SOME_GUESSES[self.turn % len(SOME_GUESSES)]), windows)
        self.turn += 1
        self.enough = primal.lower + 0.999
        return primal.lower > before

    def _dive(self, root: Node, part: float, time_to_branch: Callable[[], bool]) -> list[Column]:
        """Schedules of most tasks: those that the programme uses most are settled one after the other.

        What is left when few tasks are open, or when no better solution can follow, is for others to schedule.

        part : of the way to the lower end by which the programmes' optima may be missed.
        """
        programme, p = self.programme, self.programme.pool
        d = no_decisions(p)
        fixed: dict[int, Column] = {}
        price, tolerance = root.price, max(TOLERANCE, part * (root.value - self.enough))
        while p.tasks - len(fixed) > DIVE_REST and not programme.over() and not time_to_branch():
            try:
                found, values = programme.bound(d, price, self.enough, rounds=1, tolerance=tolerance)
            except ArithmeticError:
                break
            pairs = zip(values[p.tasks :].tolist(), programme.columns, strict=False)
            new = sorted(
                (-value, n) for n, (value, each) in enumerate(pairs) if value > 1e-6 and each.task not in fixed
            )
            if found.value < self.enough or not new:
                break
            price = found.price
            for value, n in new:
                column = programme.columns[n]
                if column.task in fixed or (value > -DIVE_THRESHOLD and value > new[0][0]):
                    continue
                fixed[column.task] = column
                i, t = column.task, np.flatnonzero(column.local >= 0)
                here = slice(int(p.type_start[i]), int(p.type_start[i + 1]))
                d.fixed[here, p.first[i] : p.first[i] + p.width[i]] = NEVER
                d.fixed[here.start + column.local[t], p.first[i] + t] = ALWAYS
                d.admitted[i] = 1
        return list(fixed.values())

    def _solve_root(self, price: Floats, rounds: int) -> Node:
        """The node without decisions, by schedules and facets, with prices as certificates have them."""
        programme, d = self.programme, no_decisions(self.programme.pool)
        try:
            best, values = programme.bound(d, price, self.enough, descents=DESCENTS, rounds=rounds)
            self._admitted = programme.admitted(values)
        except ArithmeticError:  # what the prices so far prove stands
            best = programme.evaluate(price, d)
        last = programme.descend(d, best.price, self.enough, LAST_DESCENTS, LAST_STEP)
        found = programme.evaluate(min(best, last, key=lambda each: each.value).price, d)
        self.solved = 1
        return Node((), found.value, found.price, [])

    def _bound(self, node: Node, primal: PrimalSearch) -> None:
        """Lower a node's bound by the relaxation, and find what may be decided next."""
        programme, relaxation = self.programme, self._relaxation
        d = ranges_of(programme.pool, node.path)
        relaxation.purge()
        relaxation.decide(d)
        self.solved += 1
        node.candidates = []
        last = np.inf
        for turn in range(INTEGRAL_ROUNDS):
            try:
                found = relaxation.solve()
            except ArithmeticError:  # what the prices so far prove stands
                return
            proved = programme.evaluate(found.price, d)
            if proved.value < node.value:
                node.value, node.price = proved.value, proved.price
            node.relaxed = found.value
            if not self._is_open(node):
                return
            facets = programme.separator.separate(found.cells)
            if not facets or turn >= NODE_ROUNDS - 1 or (turn > 0 and last - found.value < LEAST):
                node.candidates = self._candidates(node.path, found)
                if node.candidates or not facets:
                    break
            last = found.value
            relaxation.add(facets)
            relaxation.add_late_covers(found)
        if not node.candidates and found.value >= self.enough:
            primal.complete(self._schedules(found))
            self.enough = max(self.enough, primal.lower + 0.999)

    def _schedules(self, found: Relaxed) -> list[Column]:
        """The schedules of a solution of the relaxation in whole numbers."""
        p, s = self.programme.pool, self.programme.slots
        chosen = []
        for option in np.flatnonzero(found.options > 0.5).tolist():
            i = int(np.searchsorted(p.option_start, option, side="right")) - 1
            local = np.full(int(p.width[i]), -1)
            here = slice(int(p.type_start[i]), int(p.type_start[i + 1]))
            where = s.where[here, p.first[i] : p.first[i] + p.width[i]]
            g, t = np.nonzero(np.where(where >= 0, found.cells[where], 0.0) > 0.5)
            local[t] = g
            chosen.append(Column(i, option, local, 0.0, where[g, t]))
        return chosen

    def _branch(self, node: Node) -> None:
        """Take the decision that lowers both children's relaxations most, as found where it first came up.

        The children begin from the node's prices.
        """
        p = self.programme.pool
        best, most = -1.0, None if p.tasks <= FIRST_TASKS else TRIAL
        for decision in node.candidates[:CANDIDATES]:
            if decision not in self._gains:
                self._gains[decision] = 1.0
                for side in (False, True):
                    self._relaxation.decide(ranges_of(p, (*node.path, (decision, side))))
                    lower = node.relaxed - max(self._relaxation.value(most), self.enough - 1)
                    self._gains[decision] *= max(1e-3, lower)
            if self._gains[decision] > best:
                best, node.decision = self._gains[decision], decision
        assert node.decision is not None
        for side in (False, True):
            path = (*node.path, (node.decision, side))
            found = self.programme.evaluate(node.price, ranges_of(p, path))
            node.children.append(Node(path, min(found.value, node.value), node.price, []))

    def _candidates(self, path: Path, found: Relaxed) -> list[Decision]:
        """What the relaxation's solution leaves open, by weight: admissions, begins, numbers of cells, cells."""
        programme, p = self.programme, self.programme.pool
        begins, cells = found.options, found.cells
        used = np.add.reduceat(begins, p.option_start[:-1])
        numbers = np.bincount(programme.slots.entry, cells, len(p.kind))
        part = np.abs(used - np.rint(used))
        decided = {what for what, _ in path}
        weighed: list[tuple[float, Decision]] = [
            (10 + part[i] * p.bid[i] / p.bid.max(), (i,)) for i in np.flatnonzero(part > INTEGRAL).tolist()
        ]
        for i in np.flatnonzero(used > INTEGRAL).tolist():
            options = range(int(p.option_start[i]), int(p.option_start[i + 1]))
            if p.type_start[i + 1] - p.type_start[i] > TYPES:
                continue
            for o in options[:-1]:
                later = sum(begins[o + 1 : options.stop].tolist())
                away = min(later, used[i] - later)
                if away > INTEGRAL:
                    # Just before the next option: offers that the pool leaves out are no better than an earlier one,
                    # and must not be parted from it.
                    weighed.append((5 + away, (i, int(p.first[i] + p.offset[o + 1]) - 1)))
            for e in range(int(p.type_start[i]), int(p.type_start[i + 1])):
                away = abs(numbers[e] - np.rint(numbers[e]))
                if away > INTEGRAL:
                    weighed.append((3 + away, (i, int(p.kind[e]), 0, int(np.floor(numbers[e])))))
        if len(weighed) < CANDIDATES:
            slot = np.repeat(programme.slots.slot, np.diff(programme.slots.start))
            away = np.abs(cells - np.rint(cells))
            for place in np.argsort(-away, kind="stable")[:CANDIDATES].tolist():
                if away[place] > INTEGRAL:
                    e = int(programme.slots.entry[place])
                    what = int(programme.slots.owner[e]), int(p.kind[e]), int(slot[place])
                    weighed.append((float(away[place]), what))
        weighed.sort(key=lambda each: -each[0])
        return [what for _, what in weighed if what not in decided]

    def tree(self) -> Tree:
        """The nodes in preorder, slots from 1, tasks by their place in the instance."""
        p = self.programme.pool
        nodes: list[int | tuple[int, ...]] = []
        tables: list[Floats] = []
        place: dict[int, int] = {}  # leaves share the tables of the nodes above them
        left = [self.root]
        while left:
            node = left.pop()
            if node.decision is None:
                if id(node.price) not in place:
                    place[id(node.price)] = len(tables)
                    tables.append(node.price)
                nodes.append(place[id(node.price)])
                continue
            i, *what = node.decision
            if len(what) in (1, 2):
                what[-1] += 1
            nodes.append((int(p.task[i]), *what))
            left += reversed(node.children)
        owner = p.task[self.programme.slots.owner]
        upper = self._upper(self.root)
        return Tree(tuple(nodes), tuple(tables), owner, p.kind, self._root_price, upper, self.solved)

    def _upper(self, node: Node) -> float:
        return node.value if node.decision is None else max(self._upper(child) for child in node.children)
