"""Branch and bound on the runs of large tasks, in the worker process of HiGHS.

At the best prices of node types and slots the bound of `ratiobench.formulations.lora.runs` may admit parts of tasks. A
tree decides of some tasks whether they are admitted, before or after which slot they begin, and on which node type. At
each of its nodes a linear programme over runs gives prices, and what they prove under the decisions is computed over
all runs, so that the programme needs only some of them. What the tree proves is computed again in integers by
`ratiobench.formulations.lora.verify`.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import highspy
import numpy as np

from ratiobench.formulations.backends import Limits
from ratiobench.formulations.backends.highs import new_solver
from ratiobench.formulations.linear import BoolArray
from ratiobench.formulations.lora.bound.tree import RunTree
from ratiobench.formulations.lora.runs import Prices, Runs, count_cells, prefix, sum_by_type
from ratiobench.instances.lora.model import IntArray

# (task,) admitted; (task, slot) begins later; (task, type, 0) runs on this type; the other branch: not so
Decision = tuple[int, ...]
Path = tuple[tuple[Decision, bool], ...]

LARGEST = 1000.0  # Value of the most valuable run in the programme's objective
# Runs are columns at first where their reduced profit is less than the task's best one, or 0, by at most so many bids
NEAR = 0.05
PRICINGS = 3  # Times that runs are added to the programme of a node
# Most decisions that are tried at a node, and trials of a task's decisions before the mean of their gains is used
CANDIDATES, RELIABLE = 8, 2
TRIAL, ITERATIONS = 100, 8_000  # Most iterations of the simplex method in a trial, and for a node's programme
# Iterations of the simplex method per unit of effort, where all runs together have up to so many slots; less in
# proportion where they have more
WORK, USUAL_CELLS = 120_000, 200_000
FRACTION = 1e-6
MOST_LEAVES = 1_000  # Most leaves of a tree
# The tree ends where the first nodes, or later so many, lower the bound by less than this part of the way to what is
# enough, divided by the effort
FIRST, STALLED, LEAST = 16, 50, 0.005
# Prices are rounded so that the bound changes by no more than this part of it, while what all nodes earn stays below
# that in parts of a micro-dollar: the checker is fast with such numbers
ROUNDING, LARGEST_SUM = 1e-8, 2.0**60


Basis = tuple[list[Any], list[Any]]  # Of the columns and the rows, as HiGHS has it


class _All(NamedTuple):
    """Every run: place of its task, node type, first slot and the one behind its last, net value, what it takes of a
    node type's compute and memory, in nodes.
    """

    task: IntArray
    kind: IntArray
    start: IntArray
    end: IntArray
    value: Prices
    compute: Prices
    memory: Prices


def _list_all(r: Runs) -> _All:
    count = r.high - r.low + 1
    entry = np.repeat(np.arange(len(count)), count)
    start = np.arange(len(entry)) - np.repeat(np.cumsum(count) - count, count) + r.low[entry]
    end = start + r.length[entry]
    task = np.repeat(np.arange(len(r.task)), np.diff(r.entry_start))[entry]
    kind, parts = r.kind[entry], r.parts[task]
    cost = r.factor[entry] * (r.sums[r.row[entry], end] - r.sums[r.row[entry], start])
    value = (r.bid[task] - r.price[entry] - parts * cost).astype(np.float64)
    compute = parts * r.rate[entry] / r.compute[kind]
    memory = parts * r.memory[task] / np.maximum(1, r.capacity_mb[kind])
    return _All(task, kind, start, end, value, compute, memory)


@dataclass(order=True, slots=True)
class _Node:
    """A leaf of the tree so far; the one of the largest bound comes first."""

    key: float
    number: int
    path: Path = field(compare=False)
    price: Prices = field(compare=False)
    candidates: list[tuple[float, Decision]] = field(compare=False)
    basis: Basis = field(compare=False)
    children: tuple[Decision, _Node, _Node] | None = field(default=None, compare=False)

    @property
    def bound(self) -> float:
        """What its prices prove, micro-dollars."""
        return -self.key


class _Programme:
    """The linear programme over some of the runs, under decisions.

    `price`: (2, G, T) prices of whole nodes, by which the first runs are chosen; `most`: iterations of the simplex
    method in all; `until`: moment of `time.perf_counter` at which it ends; None for none; `whole`: (2, G, 1) samples
    per slot and MB of a node; `free`: (2, G, T) nodes that jobs from before leave, by compute and memory; `first`:
    (n+1,) place of each task's first run, and the number of runs; `at`: column of each run, -1 for none; `column`: the
    run of each column; before these stands one column of each task, for an admitted one that has no run; `closed`,
    `admitted`: runs that the decisions forbid, tasks that they admit.
    """

    def __init__(self, r: Runs, price: Prices, most: int, until: float | None) -> None:
        self.runs, self.all, self.most, self.until = r, _list_all(r), most, until
        self.kinds, self.slots = len(r.compute), r.sums.shape[1] - 1
        nodes = np.repeat(np.diff(r.first_node)[:, None].astype(np.float64), self.slots, axis=1)
        self.whole = np.stack([r.compute, np.maximum(1, r.capacity_mb)]).astype(np.float64)[:, :, None]
        self.free = np.stack([nodes, nodes])
        if r.held.size:
            self.free -= sum_by_type(r, r.held) / self.whole
        self.first = np.searchsorted(self.all.task, np.arange(len(r.task) + 1))
        self.scale = LARGEST / max(1.0, float(self.all.value.max()))
        self.bonus = 4.0 * LARGEST
        self.iterations = 0
        self.at = np.full(len(self.all.task), -1)
        self.column: list[int] = []
        self.solver = solver = new_solver(Limits())
        solver.changeObjectiveSense(highspy.ObjSense.kMaximize)
        solver.setOptionValue("presolve", "off")
        solver.setOptionValue("dual_simplex_cost_perturbation_multiplier", 0.0)
        solver.setOptionValue("primal_simplex_bound_perturbation_multiplier", 0.0)
        solver.setOptionValue("primal_feasibility_tolerance", 1e-7)
        solver.setOptionValue("dual_feasibility_tolerance", 1e-7)
        n, none, empty = len(r.task), np.zeros(0), np.zeros(0, np.int32)
        for limit in (*np.ones(n), *self.free.ravel()):
            solver.addRow(-highspy.kHighsInf, float(limit), 0, empty, none)
        for i in range(n):
            solver.addCol(-self.bonus, 0.0, 0.0, 1, np.array([i], np.int32), np.ones(1))
        self.closed = np.zeros(len(self.all.task), np.bool_)
        self.admitted = np.zeros(n, np.bool_)
        profit = self._profits(price)
        best = np.maximum(0.0, np.maximum.reduceat(profit, self.first[:-1]))
        self._add(np.flatnonzero(profit >= (best - NEAR * r.bid)[self.all.task]))

    def _add(self, chosen: IntArray) -> None:
        if not len(chosen):
            return
        a, n, cells = self.all, len(self.runs.task), self.kinds * self.slots
        length = a.end[chosen] - a.start[chosen]
        of_cell = np.repeat(np.arange(len(chosen)), length)
        slot = np.arange(len(of_cell)) - np.repeat(np.cumsum(length) - length - a.start[chosen], length)
        row = n + a.kind[chosen][of_cell] * self.slots + slot
        column = np.concatenate([np.arange(len(chosen)), of_cell, of_cell])
        rows = np.concatenate([a.task[chosen], row, row + cells])
        value = np.concatenate([np.ones(len(chosen)), a.compute[chosen][of_cell], a.memory[chosen][of_cell]])
        order = np.argsort(column, kind="stable")
        starts = np.concatenate([[0], np.cumsum(1 + 2 * length)[:-1]])
        high = np.where(self.closed[chosen], 0.0, highspy.kHighsInf)
        self.solver.addCols(
            len(chosen), a.value[chosen] * self.scale, np.zeros(len(chosen)), high, len(order),
            starts.astype(np.int32), rows[order].astype(np.int32), value[order],
        )  # fmt: skip
        self.at[chosen] = n + len(self.column) + np.arange(len(chosen))
        self.column += chosen.tolist()

    def _profits(self, price: Prices) -> Prices:
        """Reduced profits of all runs; price (2, G, T) micro-dollars of a whole node, by compute and memory."""
        a = self.all
        profit = a.value.copy()
        for prices, share in zip(price, (a.compute, a.memory), strict=True):
            sums = prefix(prices)
            profit -= share * (sums[a.kind, a.end] - sums[a.kind, a.start])
        return profit

    def decide(self, path: Path) -> None:
        """Let these decisions hold, and no others."""
        a, before, admitted = self.all, self.closed, self.admitted
        self.closed, self.admitted = np.zeros_like(before), np.zeros_like(admitted)
        for decision, side in path:
            i = decision[0]
            low, high = self.first[i : i + 2].tolist()
            here = slice(low, high)
            if len(decision) == 1:
                wrong: BoolArray = np.full(high - low, not side)
            elif len(decision) == 2:
                wrong = (a.start[here] + 1 > decision[1]) != side
            else:
                wrong = (a.kind[here] == decision[1]) != side
            self.closed[here] |= wrong
            self.admitted[i] |= side
        changed = np.flatnonzero((self.closed != before) & (self.at >= 0))
        if len(changed):
            high_of = np.where(self.closed[changed], 0.0, highspy.kHighsInf)
            self.solver.changeColsBounds(
                len(changed), self.at[changed].astype(np.int32), np.zeros(len(changed)), high_of
            )
        for i in np.flatnonzero(self.admitted != admitted).tolist():
            must = bool(self.admitted[i])
            self.solver.changeRowBounds(i, 1.0 if must else -highspy.kHighsInf, 1.0)
            self.solver.changeColBounds(i, 0.0, 1.0 if must else 0.0)

    def bound(self, price: Prices) -> tuple[float, Prices]:
        """What prices prove under the decisions, and the reduced profits; -inf where they allow no solution."""
        profit = self._profits(price)
        profit[self.closed] = -np.inf
        best = np.maximum.reduceat(profit, self.first[:-1])
        best = np.where(self.admitted, best, np.maximum(best, 0.0))
        return float((self.free * price).sum()) + float(best.sum()), profit

    def keep_basis(self) -> Basis:
        basis = self.solver.getBasis()
        return list(basis.col_status), list(basis.row_status)

    def restore_basis(self, kept: Basis) -> None:
        """Begin the simplex method where it ended; columns that came later are 0."""
        columns, rows = kept
        basis = highspy.HighsBasis()
        more = self.solver.getNumCol() - len(columns)
        basis.col_status = columns + [highspy.HighsBasisStatus.kLower] * more
        basis.row_status = rows
        self.solver.setBasis(basis)

    def spent(self) -> bool:
        """Whether its iterations or its seconds are over."""
        return self.iterations >= self.most or (self.until is not None and time.perf_counter() > self.until)

    def _run(self, iterations: int) -> bool:
        """Go on with the simplex method; whether it ended with an optimum."""
        solver = self.solver
        solver.setOptionValue("simplex_iteration_limit", iterations)
        if self.until is not None:
            left = max(0.0, self.until - time.perf_counter())
            solver.setOptionValue("time_limit", solver.getRunTime() + left)
        solver.run()
        self.iterations += max(0, solver.getInfo().simplex_iteration_count)
        return bool(solver.getModelStatus() == highspy.HighsModelStatus.kOptimal)

    def try_out(self, path: Path, basis: Basis) -> float:
        """The programme's value after some iterations of the simplex method."""
        self.decide(path)
        self.restore_basis(basis)
        self._run(TRIAL)
        return float(self.solver.getInfo().objective_function_value) / self.scale

    def solve(self, path: Path, price: Prices, basis: Basis | None) -> tuple[float, Prices, Prices | None]:
        """The best bound with its prices, and the solution over all runs; the prices given are tried, too."""
        self.decide(path)
        if basis is not None:
            self.restore_basis(basis)
        least, best = self.bound(price)[0], price
        found = None
        for _ in range(PRICINGS):
            if not self._run(ITERATIONS):
                break
            answer = self.solver.getSolution()
            n = len(self.runs.task)
            dual = np.maximum(0.0, np.array(answer.row_dual[n:]) / self.scale).reshape(self.free.shape)
            value, profit = self.bound(dual)
            if value < least:
                least, best = value, dual
            x = np.array(answer.col_value[n:])
            found = np.zeros(len(self.all.task))
            found[self.column] = x
            task = np.array(answer.row_dual[:n]) / self.scale
            missing = np.flatnonzero(
                (profit > task[self.all.task] + 1e-6 * self.runs.bid[self.all.task]) & (self.at < 0)
            )
            if not len(missing):
                break
            self._add(missing)
        return least, best, found


def grow(r: Runs, price: Prices, enough: int, effort: int, seconds: float | None) -> RunTree | None:
    """A tree that proves as much as some units of work find; None where the first programme is not solved.

    `price`: (2, G, T) prices of whole nodes to begin with, by compute and memory, micro-dollars; `effort`: units of
    work; with 0 the tree is its root; `seconds`: a time limit; None for none.
    """
    until = None if seconds is None else time.perf_counter() + seconds
    work = WORK * effort * USUAL_CELLS // max(USUAL_CELLS, count_cells(r))
    programme = _Programme(r, price, work, until)
    value, price, x = programme.solve((), price, None)
    if x is None:
        return None
    root = _Node(-value, 0, (), price, _list_candidates(programme, x, ()), programme.keep_basis())
    leaves, solved = [root], 1
    gains: dict[tuple[int, int], list[tuple[float, float]]] = {}
    before = root.bound
    while solved < 2 * MOST_LEAVES and not programme.spent():
        node = leaves[0]
        if node.bound <= enough or not node.candidates:
            break
        if solved == 1 + FIRST or (solved % STALLED == 1 and solved > 1):
            if before - node.bound < LEAST / effort * (node.bound - enough):
                break
            before = node.bound
        heapq.heappop(leaves)
        decision = _choose(programme, node, gains)
        pair = []
        for side in (False, True):
            path = (*node.path, (decision, side))
            value, price, x = programme.solve(path, node.price, node.basis)
            found = [] if x is None else _list_candidates(programme, x, path)
            pair.append(_Node(-min(value, node.bound), solved, path, price, found, programme.keep_basis()))
            solved += 1
            heapq.heappush(leaves, pair[-1])
        node.children, node.basis = (decision, pair[0], pair[1]), ([], [])
        gains.setdefault(_kind(decision), []).append((node.bound - pair[0].bound, node.bound - pair[1].bound))
    nodes, tables = _in_preorder(r, root)
    upper = max(0.0, leaves[0].bound)
    # Rounding changes a price by half a part at most, and what the nodes earn by no more than this.
    changed = 0.5 * float((programme.free * programme.whole).sum())
    unit = 1
    table = np.stack(tables) / programme.whole
    most = max(1.0, *(float((programme.free * price).sum()) for price in tables))
    while changed > ROUNDING * upper * unit and unit * most < LARGEST_SUM:
        unit *= 2
    return RunTree(nodes, unit, table[:, 0], table[:, 1], upper, solved)


def _in_preorder(r: Runs, root: _Node) -> tuple[tuple[int | Decision, ...], list[Prices]]:
    """The nodes of a tree as certificates have them, and the prices of its leaves."""
    nodes: list[int | Decision] = []
    tables: list[Prices] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.children is None:
            nodes.append(len(tables))
            tables.append(node.price)
        else:
            decision, no, yes = node.children
            nodes.append((int(r.task[decision[0]]), *decision[1:]))
            waiting += [yes, no]
    return tuple(nodes), tables


def _kind(decision: Decision) -> tuple[int, int]:
    """Of one kind are the decisions on a task's admission, on its begin, and on its node type."""
    return decision[0], len(decision)


def _list_candidates(programme: _Programme, x: Prices, path: Path) -> list[tuple[float, Decision]]:
    """Decisions that cut a solution off, with what they may be worth, the best first."""
    a = programme.all
    found: list[tuple[float, Decision]] = []
    used = np.flatnonzero((x > FRACTION) & (x < 1 - FRACTION))
    tasks = np.unique(a.task[used])
    for i in tasks.tolist():
        low, high = programme.first[i : i + 2].tolist()
        runs = low + np.flatnonzero(x[low:high] > FRACTION)
        part, bid = x[runs], float(programme.runs.bid[i])
        total = float(part.sum())
        if FRACTION < total < 1 - FRACTION:
            found.append((bid * min(total, 1 - total), (i,)))
        kinds = a.kind[runs]
        for g in np.unique(kinds).tolist():
            share = float(part[kinds == g].sum())
            if FRACTION < share < total - FRACTION:
                found.append((bid * min(share, total - share), (i, g, 0)))
        start = a.start[runs]
        order = np.argsort(start, kind="stable")
        below = np.cumsum(part[order])
        best, cut = 0.0, -1
        for k in range(len(order) - 1):
            s, after = int(start[order[k]]), int(start[order[k + 1]])
            if s == after:
                continue
            mean_low = float((part[order[: k + 1]] * start[order[: k + 1]]).sum() / below[k])
            rest = total - float(below[k])
            mean_high = float((part[order[k + 1 :]] * start[order[k + 1 :]]).sum() / rest)
            length = float((a.end - a.start)[runs].min())
            score = bid * min(float(below[k]), rest) * min(1.0, (mean_high - mean_low) / length)
            if score > best:
                best, cut = score, (s + after) // 2 + 1
        if cut > 0:
            found.append((best, (i, cut)))
    decided = dict(path)  # an admitted task is a fraction where other admitted tasks leave no capacity for it
    found = [each for each in found if each[1] not in decided]
    found.sort(key=lambda each: (-each[0], each[1]))
    return found[: 4 * CANDIDATES]


def _choose(programme: _Programme, node: _Node, gains: dict[tuple[int, int], list[tuple[float, float]]]) -> Decision:
    """The decision whose two branches lower the bound most, by trials or by the mean of those before."""
    best, chosen, least = -1.0, node.candidates[0][1], 1e-9 * node.bound
    for _, decision in node.candidates[:CANDIDATES]:
        known = gains.setdefault(_kind(decision), [])
        if len(known) < RELIABLE:
            no, yes = (programme.try_out((*node.path, (decision, side)), node.basis) for side in (False, True))
            known.append((max(0.0, node.bound - no), max(0.0, node.bound - yes)))
            pair = known[-1]
        else:
            pair = float(np.mean([no for no, _ in known])), float(np.mean([yes for _, yes in known]))
        score = max(pair[0], least) * max(pair[1], least)
        if score > best:
            best, chosen = score, decision
    return chosen
