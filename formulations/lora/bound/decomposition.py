"""Prices of single cells by a linear programme: schedules of tasks as columns, facets of what fits on a node as rows.

The Lagrangian bound at prices pi of cells (task, type, slot) is

    OPT <= sum_gt K_g max_S sum_{i in S} pi_igt + sum_i max(0, best reduced profit of task i),

S running over the sets of tasks that fit on a node. The best prices are the dual solution of a linear programme in
which each task has a mixture of schedules and each node and slot a mixture of sets. Sets are not listed: what they say
of the cells is added as facets q x <= K_g max_S q(S) when the programme's solution breaks them. It runs in the worker
process of HiGHS; what it finds is proved afterwards in integers (`verify`).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import highspy
import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.backends import Limits
from ratiobench.formulations.backends.highs import new_solver
from ratiobench.formulations.lora.bound.columns import ColumnArrays, slot_of_cells
from ratiobench.formulations.lora.bound.pricing import Pool, base_cost, places
from ratiobench.formulations.lora.bound.task_prices import (
    ALWAYS,
    NEVER,
    TYPES,
    Floats,
    Ranges,
    Slots,
    best_set,
    descend,
    find_sets,
    find_slots,
    new_scratch,
    no_decisions,
    through,
)
from ratiobench.formulations.lora.bound.tree import CellRow, Tree
from ratiobench.instances.lora.model import IntArray

Decision = tuple[int, ...]
"""What a node of the tree decides, as in certificates, with pooled tasks and slots from 0."""
Path = tuple[tuple[Decision, bool], ...]

ROOT_ROUNDS, NODE_ROUNDS, NODE_TOLERANCE = 60, 2, 0.01
"""Most rounds of facets at the root per unit of effort up to ten, and at a node after it, where a programme is solved
as closely as this part of the way to the lower end."""
DESCENTS, LAST_DESCENTS, LAST_STEP = 1_500, 400, 0.05
"""Evaluations of the subgradient method before the root's programme and after it, and the first factor of its steps
after it."""
SOME_GUESSES, ALL_GUESSES = (0.5, 0.25, 1.0), (0.1,)
"""Guesses of OPT, as parts of the way from the upper to the lower end: of programs of some tasks, in turns, and of all
tasks."""
TURNS, BRANCHINGS = 4, 8
"""Most turns of programs of some tasks before the tree per unit of effort, and branchings before the next
one, twice as many after each that finds nothing."""
SMALL_PROGRAM, SMALL_UNITS = 800, 4
"""A program of all tasks in the cells that the prices leave open comes before programs of some tasks where it has at
most so many columns of cells: it is solved sooner than these there. Units of its work."""
OPEN_SHARE = 0.75
"""A program of all tasks without a guess is tried where no more than this part of the cells is open."""
DIVE_REST, DIVE_THRESHOLD, DIVE_TOLERANCE = 12, 0.95, 0.02
"""A dive leaves so many tasks to a program, settles what the programme uses by so much, and solves programmes as
closely as this part of the way to the lower end."""
CANDIDATES = 4
"""Most decisions that are tried before one of them is taken."""
CHUNK = 100
"""Evaluations of the subgradient method between two looks at the clock."""
INTEGRAL = 1e-5
TOLERANCE = 0.3
"""A programme is solved when its optimum is so near to the bound, micro-dollars."""
STALLED, LEAST, PART = 3, 0.02, 0.01
"""After so many rounds of facets in which the programme's optimum falls by less than both so many micro-dollars and
this part of the way to the lower end, no more are added."""
FEW = 3
"""Where fewer facets cut off the mean, those that cut off the solution itself are taken."""
ITERATIONS = 5_000
"""Most iterations of the simplex method before it begins anew."""
IDLE = 3
"""Rounds without a price after which a facet is dropped."""
BROKEN = 1e-4
"""A facet is added where it is broken by more than this part of its right-hand side."""
INSIDE = 20
"""Points kept of each pair, the last ones that broke no facet: a point below one of them breaks none either."""
LEVELS = 2_000
"""Coefficients of a facet are whole numbers up to this one."""


class Facet(NamedTuple):
    """q x <= high on the cells of a pair of type and slot.

    Parameters
    ----------
    place : (cells,) places in `Slots.entry`; q : (cells,) positive whole numbers.
    high : K_g times the largest q(S).
    """

    place: IntArray
    q: IntArray
    high: int


class Separator:
    """Facets of the sets of tasks that fit on a node, one linear programme for each pair of type and slot."""

    def __init__(self, p: Pool, s: Slots, over: Callable[[], bool]) -> None:
        self.pool, self.slots, self.over = p, s, over
        self._solvers: dict[int, highspy.Highs] = {}
        self._inside: dict[int, list[Floats]] = {}
        self._weighing = np.full(len(s.kind), -1)
        owners = s.owner[s.entry]
        self.rate, self.memory = p.rate[s.entry], p.memory[owners]

    def best(self, j: int, value: Floats) -> tuple[float, IntArray]:
        """Largest value of a set, and its members' places in the pair."""
        here = slice(int(self.slots.start[j]), int(self.slots.start[j + 1]))
        g, n = int(self.slots.kind[j]), len(value)
        chosen = np.zeros(n, np.int64)
        rate, memory = self.rate[here], self.memory[here]
        weighing = self._weighing[j : j + 1]
        worth = best_set(value, rate, memory, n, self.pool.compute[g], self.pool.capacity_mb[g], chosen, weighing)
        return float(worth), np.flatnonzero(chosen)

    def knapsacks(self) -> list[Facet]:
        """(4f) and (4g) of every pair in which they can bind."""
        found = []
        for j in range(len(self.slots.kind)):
            here = np.arange(self.slots.start[j], self.slots.start[j + 1])
            g = int(self.slots.kind[j])
            nodes = int(self.pool.nodes[g])
            for q, capacity in ((self.rate[here], self.pool.compute[g]), (self.memory[here], self.pool.capacity_mb[g])):
                if q.sum() > nodes * capacity:
                    found.append(Facet(here, q, nodes * int(capacity)))
        return found

    def separate(self, x: Floats) -> list[Facet]:
        """Facets that x breaks, at most one of each pair.

        Parameters
        ----------
        x : (cells,) how far each cell is used.
        """
        found = []
        for j in range(len(self.slots.kind)):
            here = np.arange(self.slots.start[j], self.slots.start[j + 1])
            nodes = int(self.pool.nodes[int(self.slots.kind[j])])
            point = x[here] / nodes
            if (point > 1e-7).any() and not self.over():
                facet = self._separate(j, here, point, nodes)
                if facet is not None:
                    found.append(facet)
        return found

    def _separate(self, j: int, here: IntArray, point: Floats, nodes: int) -> Facet | None:
        n = len(here)
        if j not in self._inside:
            all_fit = self.best(j, np.ones(n))[0] >= n - 0.5
            self._inside[j] = [np.ones(n)] if all_fit else []
        inside = self._inside[j]
        if any((point <= each + 1e-9).all() for each in inside):
            return None  # a point below a mixture of sets is a mixture of subsets
        solver = self._solvers.get(j)
        if solver is None:
            solver = self._solvers[j] = new_solver(Limits())
            solver.setOptionValue("presolve", "off")
            solver.changeObjectiveSense(highspy.ObjSense.kMaximize)
            solver.addVars(n, np.zeros(n), np.ones(n))
        solver.changeColsCost(n, np.arange(n, dtype=np.int32), point)
        q = np.zeros(n)
        for _ in range(200):
            solver.run()
            q = np.maximum(0.0, np.array(solver.getSolution().col_value))
            if solver.getInfo().objective_function_value <= 1 + BROKEN:
                inside.append(point)
                del inside[:-INSIDE]
                return None
            worth, members = self.best(j, q)
            if worth <= 1 + 1e-7:
                break
            members = members.astype(np.int32)
            solver.addRow(-highspy.kHighsInf, 1.0, len(members), members, np.ones(len(members)))
        for k in np.flatnonzero(q < 1e-9).tolist():  # the zeros are lifted one after the other
            more = q.copy()
            more[k] = n + 1.0
            worth, members = self.best(j, more)
            q[k] = max(0.0, 1.0 - (worth - more[k])) if k in members else 0.0
        whole = _whole(q)
        high = round(self.best(j, whole.astype(np.float64))[0])
        if whole @ point <= high * (1 + BROKEN / 2):
            return None
        keep = np.flatnonzero(whole)
        return Facet(here[keep], whole[keep], nodes * high)


def _whole(q: Floats) -> IntArray:
    """Whole numbers in the proportion of q, exactly where a small denominator does it."""
    for denominator in range(1, 200):
        scaled = np.rint(q * denominator)
        if np.abs(scaled - q * denominator).max() < 1e-5 * denominator**0.5:
            return np.asarray(scaled, dtype=np.int64)
    return np.asarray(np.floor(q * LEVELS + 1e-9), dtype=np.int64)


class Evaluated(NamedTuple):
    """What prices prove, in doubles.

    Parameters
    ----------
    value : the bound in micro-dollars; -inf where the decisions allow no solution.
    price : (entries, T).
    gain : (n,) best reduced profits of tasks, losses included.
    """

    value: float
    price: Floats
    gain: Floats


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
        self.separator = Separator(p, self.slots, over)
        self.rows: list[Facet] = []
        self._at: list[list[tuple[int, int]]] = [[] for _ in self.slots.entry]  # rows and coefficients of a cell
        self.columns: list[Column] = []
        self._arrays = ColumnArrays(p, self.slots)
        self._idle: list[int] = []
        self._known: set[tuple[int, int, bytes]] = set()
        self._places = places(p)
        self._slot = slot_of_cells(self.slots)
        self._sets = find_sets(p, self.slots)
        self._scratch = new_scratch(p, self.slots)
        self._option, self._local = self._scratch.option, self._scratch.local
        self._nodes = p.nodes[self.slots.kind].astype(np.float64)
        self._grown = False
        self.bonus = 4.0 * float(p.bid.max(initial=1))
        self._solver = new_solver(Limits())
        self._solver.changeObjectiveSense(highspy.ObjSense.kMaximize)
        none, empty = np.zeros(0), np.zeros(0, np.int32)
        for _ in range(p.tasks):
            self._solver.addRow(-highspy.kHighsInf, 1.0, 0, empty, none)
        for i in range(p.tasks):  # what is paid where a task that must be admitted is not
            self._solver.addCol(-self.bonus, 0.0, 0.0, 1, np.array([i], np.int32), np.ones(1))
        for facet in self.separator.knapsacks():
            self.add_row(facet)

    def add_row(self, facet: Facet) -> None:
        """Another facet; the columns so far get their coefficients."""
        row = len(self.rows)
        self._grown = False
        self.rows.append(facet)
        self._idle.append(0)
        for place, q in zip(facet.place.tolist(), facet.q.tolist(), strict=True):
            self._at[place].append((row, q))
        weight = np.zeros(len(self.slots.entry), np.int64)
        weight[facet.place] = facet.q
        total = self._arrays.sums(weight)
        used = np.flatnonzero(total)
        index = (self.pool.tasks + used).astype(np.int32)
        self._solver.addRow(-highspy.kHighsInf, float(facet.high), len(used), index, total[used].astype(np.float64))

    def add_column(self, i: int, option: int, local: IntArray) -> bool:
        """Another schedule; False where it is known."""
        p = self.pool
        key = i, option, local.astype(np.int8).tobytes()
        if key in self._known:
            return False
        self._known.add(key)
        t = np.flatnonzero(local >= 0)
        entries, slots = p.type_start[i] + local[t], p.first[i] + t
        cost = sum(int(base_cost.py_func(p, i, int(p.kind[e]), int(u))) for e, u in zip(entries, slots, strict=True))
        value = float(p.bid[i] - p.price[option] - cost)
        place = self.slots.where[entries, slots]
        counts = tuple(int((local == g).sum()) for g in range(int(p.type_start[i + 1] - p.type_start[i])))
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
        return self.descend(d, price, -np.inf, 1)

    def descend(self, d: Ranges, begin: Floats, known: float, rounds: int, theta: float = 1.0) -> Evaluated:
        """Better prices by a subgradient method, which ends below `known`.

        Parameters
        ----------
        begin : (entries, T) prices to begin with.
        known : welfare of a solution, which no bound undercuts.
        rounds : evaluations.
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

    def supports(self, price: Floats) -> list[Facet]:
        """q x <= K_g max_S q(S) with q in the proportion of the prices, of every pair: they attain its bound."""
        found = []
        for j in range(len(self.slots.kind)):
            here = np.arange(self.slots.start[j], self.slots.start[j + 1])
            row = price[self.slots.entry[here], self.slots.slot[j]]
            if row.max(initial=0.0) <= 0:
                continue
            q = np.floor(row / row.max() * 50_000).astype(np.int64)
            high = round(self.separator.best(j, q.astype(np.float64))[0])
            keep = np.flatnonzero(q)
            found.append(Facet(here[keep], q[keep], int(self._nodes[j]) * high))
        return found

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
        """Drop the facets that have had no price for some rounds, where they are many."""
        self._idle = [0 if amount > 1e-9 else idle + 1 for amount, idle in zip(np.abs(dual), self._idle, strict=True)]
        drop = [r for r, idle in enumerate(self._idle) if idle > IDLE]
        if len(drop) < 0.15 * len(self.rows):
            return
        keep = [r for r, idle in enumerate(self._idle) if idle <= IDLE]
        number = np.full(len(self.rows), -1)
        number[keep] = np.arange(len(keep))
        self._solver.deleteRows(len(drop), np.array(drop, np.int32) + self.pool.tasks)
        self.rows = [self.rows[r] for r in keep]
        self._idle = [self._idle[r] for r in keep]
        self._at = [[(int(number[r]), q) for r, q in cell if number[r] >= 0] for cell in self._at]

    def open_cells(self, best: Evaluated, d: Ranges, enough: float) -> NDArray[np.bool_]:
        """(entries, T) cells that a solution of welfare `enough` may use, by their reduced profit at these prices."""
        reach = np.empty(best.price.shape)
        through(self.pool, d, best.price, self._scratch.table, reach)
        least = np.where(d.admitted == 1, -np.inf, 0.0)
        rest = best.value - np.maximum(best.gain, least)
        return np.asarray(rest[self.slots.owner][:, None] + reach >= enough)

    def _prices(self, dual: Floats) -> Floats:
        """(entries, T) prices of cells from the rows' prices."""
        price = np.zeros((len(self.pool.kind), self.pool.tariff.shape[1]))
        cell = np.zeros(len(self.slots.entry))
        for facet, amount in zip(self.rows, np.abs(dual).tolist(), strict=True):
            if amount > 1e-9:
                cell[facet.place] += amount * facet.q
        price[self.slots.entry, self._slot] = cell
        return price

    def used(self, values: Floats) -> Floats:
        """(cells,) how far each cell is used by a solution of the programme."""
        return self._arrays.spread(np.maximum(0.0, values[self.pool.tasks :]))

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

        Parameters
        ----------
        begin : (entries, T) prices to begin with.
        enough : a value below which no more is needed.
        descents : evaluations of the subgradient method before.
        rounds : most rounds of facets.
        tolerance : a programme is solved when its optimum is so near to the bound, micro-dollars.
        """
        p = self.pool
        self.open_columns(d)
        best = self.descend(d, begin, enough, descents) if descents else self.evaluate(begin, d)
        for facet in self.supports(best.price):
            self.add_row(facet)
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
            for facet in facets:
                self.add_row(facet)
            stalled = stalled + 1 if last - optimum < max(LEAST, PART * (best.value - enough)) else 0
            last = optimum
            if not facets or stalled > STALLED:
                break
        return best, values


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
    decision: Decision | None = None
    children: list[Node] = field(default_factory=list)


class PrimalSearch(Protocol):
    """The best solution that is known, and ways to a better one.

    Parameters
    ----------
    facets : rows that all solutions keep.
    lower : welfare of the best solution.
    proved : no better one exists, as a solver reports.
    """

    facets: list[CellRow]
    lower: int
    proved: bool

    def complete(self, schedules: list[Column]) -> None:
        """Look for a solution with these schedules of some tasks."""

    def improve(self, cells: NDArray[np.bool_], whole: bool, units: int, part: float) -> None:
        """Look among solutions that use these cells; `whole` where no better one uses others.

        units : of work.
        part : of the seconds left that it may take.
        """

    def search(self, cells: NDArray[np.bool_]) -> None:
        """Look among solutions that are like the best one, and otherwise use these cells."""


class Search:
    """Best-first branch and bound; every node's bound is by prices, so it may stop at any moment."""

    def __init__(self, programme: Decomposition, lower: int) -> None:
        self.programme = programme
        self.enough = lower + 0.999
        self.solved = self.turn = 0

    def run(
        self,
        price: Floats,
        nodes: int,
        effort: int,
        primal: PrimalSearch,
        certified: bool,
        time_to_branch: Callable[[], bool] = lambda: False,
    ) -> None:
        """Solve the root, look for better solutions, solve nodes of the largest bounds, at most so many in all.

        Parameters
        ----------
        price : (entries, T) to begin with.
        nodes : most nodes that are solved.
        effort : multiplies rounds at the root and turns of programs.
        certified : whether only the tree is a proof; if not, an optimum that the solver of a program reports ends the
            search.
        time_to_branch : says when it is time to branch.
        """
        programme = self.programme
        self.root = root = self._solve((), price, ROOT_ROUNDS * min(effort, 10), DESCENTS)
        last = programme.descend(no_decisions(programme.pool), root.price, self.enough, LAST_DESCENTS, LAST_STEP)
        if last.value < root.value:
            root.value, root.price = last.value, last.price
        slot = np.repeat(programme.slots.slot, np.diff(programme.slots.start))
        primal.facets = [
            (programme.slots.entry[each.place], slot[each.place], each.q, each.high) for each in programme.rows
        ]
        self._waiting = [(-root.value, 0, root)]
        # The cheapest steps come first: programs of all tasks where few cells are open, else programs of some tasks.
        small = int(programme.pool.nodes[programme.pool.kind] @ self._open_cells(1.0).sum(axis=1)) <= SMALL_PROGRAM
        if small:
            self._improve_all(primal, ALL_GUESSES, 1)
            if certified:
                self._improve_all(primal, (1.0,), SMALL_UNITS)
                self._grow(nodes, BRANCHINGS, primal)
            self._improve_all(primal, (1.0,), max(SMALL_UNITS, effort), 1 / 3 if certified else 1.0)
        else:
            if self._may_improve(primal):
                self._improve_some(primal)
            self._improve_all(primal, ALL_GUESSES, effort)
        for dive in (False, True):
            if dive and self._may_improve(primal) and not time_to_branch():
                primal.complete(self._dive(root, time_to_branch))
                self.enough = primal.lower + 0.999
            for _ in range(TURNS * min(effort, 100)):
                if not self._may_improve(primal) or time_to_branch() or not self._improve_some(primal):
                    break
        self._improve_all(primal, (1.0,), effort)
        pause = BRANCHINGS
        while self._grow(nodes, pause, primal):
            if self._may_improve(primal):
                pause = BRANCHINGS if self._improve_some(primal) else 2 * pause

    def _may_improve(self, primal: PrimalSearch) -> bool:
        """Whether a better solution may exist, and there is time to look for one."""
        waiting = any(self._is_open(node) for _, _, node in self._waiting)
        return waiting and not primal.proved and not self.programme.over()

    def _grow(self, nodes: int, branchings: int, primal: PrimalSearch) -> bool:
        """Branch some times at the nodes of the largest bounds; whether there are more, and time and nodes left."""
        done = 0
        while self._waiting and self.solved < nodes and not self.programme.over():
            if done == branchings and not primal.proved:
                return True
            _, _, node = heapq.heappop(self._waiting)
            if not self._is_open(node) or not node.candidates:
                continue
            self._branch(node)
            for child in node.children:
                heapq.heappush(self._waiting, (-child.value, self.solved + len(self._waiting), child))
            done += 1
        return False

    def _improve_all(self, primal: PrimalSearch, shares: tuple[float, ...], units: int, part: float = 1 / 3) -> None:
        """Programs of all tasks in the cells of solutions better than guesses of OPT."""
        for share in shares:
            if self._is_open(self.root) and not primal.proved and not self.programme.over():
                cells = self._open_cells(share)
                if share < 1 or cells.sum() <= OPEN_SHARE * len(self.programme.slots.entry):
                    primal.improve(cells, share == 1.0, units, part)
                    self.enough = primal.lower + 0.999

    def _is_open(self, node: Node) -> bool:
        return node.value >= self.enough

    def _open_cells(self, share: float) -> NDArray[np.bool_]:
        """Cells of solutions that are better than so far by this part of the way from the root's bound."""
        d = no_decisions(self.programme.pool)
        found = self.programme.evaluate(self.root.price, d)
        return self.programme.open_cells(found, d, found.value - share * (found.value - self.enough))

    def _improve_some(self, primal: PrimalSearch) -> bool:
        """Schedule some tasks at a time again; whether that found a better solution."""
        before = primal.lower
        primal.search(self._open_cells(SOME_GUESSES[self.turn % len(SOME_GUESSES)]))
        self.turn += 1
        self.enough = primal.lower + 0.999
        return primal.lower > before

    def _dive(self, root: Node, time_to_branch: Callable[[], bool]) -> list[Column]:
        """Schedules of most tasks: those that the programme uses most are settled one after the other.

        What is left when few tasks are open, or when no better solution can follow, is for others to schedule.
        """
        programme, p = self.programme, self.programme.pool
        d = no_decisions(p)
        fixed: dict[int, Column] = {}
        price, tolerance = root.price, max(TOLERANCE, DIVE_TOLERANCE * (root.value - self.enough))
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

    def _solve(self, path: Path, price: Floats, rounds: int, descents: int = 0) -> Node:
        programme = self.programme
        d = ranges_of(programme.pool, path)
        try:
            tolerance = TOLERANCE if descents else max(TOLERANCE, NODE_TOLERANCE * (self.root.value - self.enough))
            found, values = programme.bound(
                d, price, self.enough, descents=descents, rounds=rounds, tolerance=tolerance
            )
        except ArithmeticError:  # what the prices so far prove stands
            found, values = programme.evaluate(price, d), np.zeros(0)
        self.solved += 1
        open_ = found.value >= self.enough and len(values) > 0
        return Node(path, found.value, found.price, self._candidates(path, values) if open_ else [])

    def _branch(self, node: Node) -> None:
        """Decide what lowers both children's bounds most among the candidates."""
        best: tuple[float, Decision, list[Node]] | None = None
        for decision in node.candidates[:CANDIDATES]:
            pair = [self._solve((*node.path, (decision, side)), node.price, NODE_ROUNDS) for side in (False, True)]
            for child in pair:
                child.value = min(child.value, node.value)
            gains = [max(1e-3, node.value - max(child.value, self.enough - 1)) for child in pair]
            score = gains[0] * gains[1]
            if best is None or score > best[0]:
                best = score, decision, pair
            if all(child.value < self.enough for child in pair) or self.programme.over():
                break
        assert best is not None
        node.decision, node.children = best[1], best[2]

    def _candidates(self, path: Path, values: Floats) -> list[Decision]:
        """What the programme's solution leaves open, by weight: admissions, begins, numbers of cells, cells."""
        programme, p = self.programme, self.programme.pool
        used, begins = np.zeros(p.tasks), np.zeros(len(p.offset))
        numbers, cells = np.zeros(len(p.kind)), np.zeros(len(programme.slots.entry))
        for column, value in zip(programme.columns, values[p.tasks :].tolist(), strict=False):
            if value > INTEGRAL:
                used[column.task] += value
                begins[column.option] += value
                here = int(p.type_start[column.task])
                numbers[here : here + len(column.counts)] += value * np.array(column.counts)
                cells[column.place] += value
        part = np.abs(used - np.rint(used))
        decided = {what for what, _ in path}
        found: list[tuple[float, Decision]] = [
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
                    found.append((5 + away, (i, int(p.first[i] + p.offset[o]))))
            for e in range(int(p.type_start[i]), int(p.type_start[i + 1])):
                away = abs(numbers[e] - np.rint(numbers[e]))
                if away > INTEGRAL:
                    found.append((3 + away, (i, int(p.kind[e]), 0, int(np.floor(numbers[e])))))
        if len(found) < CANDIDATES:
            slot = np.repeat(programme.slots.slot, np.diff(programme.slots.start))
            away = np.abs(cells - np.rint(cells))
            for place in np.argsort(-away, kind="stable")[:CANDIDATES].tolist():
                if away[place] > INTEGRAL:
                    e = int(programme.slots.entry[place])
                    what = int(programme.slots.owner[e]), int(p.kind[e]), int(slot[place])
                    found.append((float(away[place]), what))
        found.sort(key=lambda each: -each[0])
        return [what for _, what in found if what not in decided]

    def tree(self) -> Tree:
        """The nodes in preorder, slots from 1, tasks by their place in the instance."""
        p = self.programme.pool
        nodes: list[int | tuple[int, ...]] = []
        tables: list[Floats] = []
        left = [self.root]
        while left:
            node = left.pop()
            if node.decision is None:
                nodes.append(len(tables))
                tables.append(node.price)
                continue
            i, *what = node.decision
            if len(what) in (1, 2):
                what[-1] += 1
            nodes.append((int(p.task[i]), *what))
            left += reversed(node.children)
        owner = p.task[self.programme.slots.owner]
        upper = self._upper(self.root)
        return Tree(tuple(nodes), tuple(tables), owner, p.kind, upper, self.solved)

    def _upper(self, node: Node) -> float:
        return node.value if node.decision is None else max(self._upper(child) for child in node.children)
