"""Branch and bound over prices of single cells, in the worker process of HiGHS.

At prices pi of cells (task, type, slot), with S running over the sets of tasks that fit on a node,

    OPT <= sum_gt K_g max_S sum_{i in S} pi_igt + sum_i max(0, best reduced profit of task i).

The prices are dual values of a linear programme over cells with facets of these sets as rows (`relaxation`).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.lora.bound.facets import Separator
from ratiobench.formulations.lora.bound.pricing import Pool, places
from ratiobench.formulations.lora.bound.relaxation import Covers, Relaxation, Relaxed
from ratiobench.formulations.lora.bound.task_prices import (
    ALWAYS,
    NEVER,
    TYPES,
    Floats,
    Ranges,
    descend,
    find_slots,
    new_scratch,
    no_decisions,
    slot_of_cells,
    through,
)
from ratiobench.formulations.lora.bound.tree import UNIT, CellRow, Tree

Decision = tuple[int, ...]  # What a node of the tree decides, as in certificates, with pooled tasks and slots from 0
Path = tuple[tuple[Decision, bool], ...]

# Most rounds of facets at the root per unit of effort up to ten, and at a node after it
ROOT_ROUNDS, NODE_ROUNDS = 60, 3
ROOT_PART = 0.2  # Part of the seconds after which no more facets are looked for at the root
# Evaluations of the subgradient method before the root's programme and after it, and the first factor of its steps
# after it
DESCENTS, LAST_DESCENTS, LAST_STEP = 1_500, 400, 0.05
# Up to so many tasks the tree comes before annealings, with programs of all tasks in turns: nodes, then units of work
FIRST_TASKS, FIRST_TURNS = 30, ((4, 0.25), (16, 0.1), (80, 0.25))
# A program looks among solutions that are better by so much of the gap: before the tree, and within it
GUESS, LATE_GUESS = 0.1, 0.25
HALF = 0.5  # Part of the seconds after which the tree makes way for a program, and of what is left that this may take
NEAR = 0.995  # Annealings may take longer where they leave the lower end further from the root's bound
OPEN_SHARE = 0.75  # A program without a guess is tried if no more than this part of the cells is open
ANNEALINGS, MOST_ANNEALED = 80, 4  # Annealings from the best solution per unit of effort up to so many
# Most rounds of facets at a node whose solution is in whole numbers: without more facets it may not fit
INTEGRAL_ROUNDS = 100
CANDIDATES = 6  # Most decisions that are compared before one of them is taken
TRIAL = 40  # Most iterations of the simplex method for a branch that is compared, of more than `FIRST_TASKS` tasks
CHUNK = 100  # Evaluations of the subgradient method between two looks at the clock
INTEGRAL = 1e-5
# No more facets after a round in which the programme's optimum falls by less: micro-dollars, at the root a part of the
# way to the lower end
LEAST, PART = 0.02, 0.01


class Evaluated(NamedTuple):
    """What prices prove, in doubles."""

    value: float  # the bound in micro-dollars; -inf where the decisions allow no solution
    price: Floats  # (entries, T)
    gain: Floats  # (n,) best reduced profits of tasks, losses included


class CellBounds:
    """Bounds by prices of single cells under decisions; `over` says when to stop."""

    def __init__(self, p: Pool, over: Callable[[], bool]) -> None:
        self.pool, self.slots, self.over = p, find_slots(p), over
        self._places = places(p)
        self._scratch = new_scratch(p, self.slots)
        self._bonus = 16.0 * float(p.bid.max(initial=1))  # for a cell that a task must have

    def evaluate(self, price: Floats, d: Ranges) -> Evaluated:
        return self.descend(d, np.rint(price * UNIT) / UNIT, -np.inf, 1)

    def descend(self, d: Ranges, begin: Floats, known: float, rounds: int, theta: float = 1.0) -> Evaluated:
        """Better prices by a subgradient method from `begin`, (entries, T), which ends below `known`."""
        p = self.pool
        price, best_price, gain = begin.copy(), np.empty(begin.shape), np.empty(p.tasks)
        state, direction = np.array([np.inf, theta, 0.0]), np.zeros(len(self.slots.entry))
        for done in range(0, rounds, CHUNK):
            descend(
                p, self.slots, d, price, self._bonus, self._places, self._scratch, known, state,
                direction, min(rounds - done, CHUNK), best_price, gain,
            )  # fmt: skip
            if state[0] < known or state[1] < 1e-3 or self.over():
                break
        return Evaluated(float(state[0]), best_price, gain)

    def open_cells(self, best: Evaluated, enough: float) -> NDArray[np.bool_]:
        """(entries, T) cells that a solution of welfare `enough` may use, by their reduced profit at these prices."""
        reach = np.empty(best.price.shape)
        through(self.pool, no_decisions(self.pool), best.price, self._scratch.table, reach)
        rest = best.value - np.maximum(best.gain, 0.0)
        return np.asarray(rest[self.slots.owner][:, None] + reach >= enough)


def ranges_of(p: Pool, path: Path) -> Ranges:
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

    lower: int  # welfare of the best solution
    proved: bool  # no better one exists, as a solver reports

    def anneal(self, price: Floats, admitted: Floats, runs: int, near: float) -> None:
        """Look for one among all solutions by annealing.

        `price`, `admitted`: dual prices of cells, and how far the programme admits each task; `runs`: annealings from
        the best solution; `near`: if they have not reached this welfare, they may take longer.
        """

    def improve(self, cells: NDArray[np.bool_], facets: list[CellRow], whole: bool, units: float, part: float) -> None:
        """Look among solutions that use these cells by a program; `whole` if no better one uses others.

        `facets`: rows that all solutions keep; `units`: of work; `part`: of the seconds left that it may take.
        """


class Search:
    """Best-first branch and bound; every node's bound is by prices, so it may stop at any moment."""

    def __init__(
        self, bounds: CellBounds, primal: PrimalSearch, passed: Callable[[float], bool], covers: Covers
    ) -> None:
        self.bounds, self.primal, self.passed = bounds, primal, passed
        self.solved = self._pushed = 0
        self._separator = Separator(bounds.pool, bounds.slots)
        self._relaxation = Relaxation(bounds.pool, bounds.slots, covers)
        self._admitted = np.full(bounds.pool.tasks, 0.5)
        self._waiting: list[tuple[float, int, Node]] = []
        self._gains: dict[Decision, float] = {}  # product of what a decision lowers both children's relaxations by

    @property
    def enough(self) -> float:
        """The least value of a bound that leaves room for a better solution."""
        return self.primal.lower + 0.999

    def run(
        self, price: Floats, nodes: int, effort: int, affordable: Callable[[Floats], int], to_the_end: bool
    ) -> None:
        """Solve the root, look for better solutions, solve nodes of the largest bounds, at most so many in all."""
        self._to_the_end = to_the_end
        root = self._solve_root(price, ROOT_ROUNDS * min(effort, 10))
        nodes = min(nodes, 2 * affordable(root.price) - 1)
        self._wait(root)
        if self.bounds.pool.tasks <= FIRST_TASKS:
            for turn, units in FIRST_TURNS:
                self._grow(min(nodes, self.solved + turn), 1.0)
                self._improve(GUESS, units)
        if self._may_improve():
            self.primal.anneal(root.price, self._admitted, ANNEALINGS * min(effort, MOST_ANNEALED), NEAR * root.value)
            self._improve(GUESS, effort)
            self._improve(1.0, effort)
        self._grow((self.solved + nodes) // 2, HALF)
        self._improve(LATE_GUESS, effort, HALF)
        self._grow(nodes, 1.0)
        self._improve(1.0, effort)

    def _may_improve(self) -> bool:
        """Whether a better solution may exist, and there is time to look for one."""
        return self._upper(self.root) >= self.enough and not self.primal.proved and not self.passed(1.0)

    def _grow(self, nodes: int, part: float) -> None:
        """Solve nodes of the largest bounds until so many are solved or a part of the seconds has passed."""
        while self._waiting and self.solved < nodes and not self.passed(part):
            if self.primal.proved and not self._to_the_end:
                break
            *_, node = heapq.heappop(self._waiting)
            if not self._is_open(node):
                continue
            self._bound(node, NODE_ROUNDS)
            if self._is_open(node) and node.candidates:
                self._branch(node)
                for child in node.children:
                    if self._is_open(child):
                        self._wait(child)

    def _wait(self, node: Node) -> None:
        """Nodes of the largest bound come first, of equal bounds the last ones, so that the tree grows deep there."""
        self._pushed += 1
        heapq.heappush(self._waiting, (-round(node.value, 2), -self._pushed, node))

    def _improve(self, share: float, units: float, part: float = 1 / 3) -> None:
        """A program of all tasks in the cells of solutions that are better by all but a share of the gap."""
        if not self._may_improve():
            return
        found = self.bounds.evaluate(self.root.price, no_decisions(self.bounds.pool))
        upper = min(found.value, self._upper(self.root))
        cells = self.bounds.open_cells(found, upper - share * (upper - self.enough))
        if share < 1 or cells.sum() <= OPEN_SHARE * len(self.bounds.slots.entry):
            self.primal.improve(cells, self._cell_rows(), share == 1.0, units, part)

    def _is_open(self, node: Node) -> bool:
        return node.value >= self.enough

    def _cell_rows(self) -> list[CellRow]:
        """The facets of the relaxation, which all solutions keep."""
        p, s = self.bounds.pool, self.bounds.slots
        task, kind, slot = p.task[s.owner[s.entry]], p.kind[s.entry], slot_of_cells(s) + 1
        return [CellRow(task[place], kind[place], slot[place], q, high) for place, q, high in self._relaxation.facets]

    def _solve_root(self, price: Floats, rounds: int) -> Node:
        """The node without decisions, with prices as certificates have them."""
        bounds, d = self.bounds, no_decisions(self.bounds.pool)
        self._relaxation.add(self._separator.knapsacks())
        first = bounds.evaluate(bounds.descend(d, price, self.enough, DESCENTS).price, d)
        self._relaxation.add(self._separator.supports(first.price))
        self.root = root = Node((), first.value, first.price, [])
        self._bound(root, rounds)
        last = bounds.descend(d, root.price, self.enough, LAST_DESCENTS, LAST_STEP)
        found = bounds.evaluate(last.price, d)
        if found.value < root.value:
            root.value, root.price = found.value, found.price
        return root

    def _bound(self, node: Node, rounds: int) -> None:
        """Lower a node's bound by the relaxation, and find what may be decided next."""
        relaxation, d = self._relaxation, ranges_of(self.bounds.pool, node.path)
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
            proved = self.bounds.evaluate(found.price, d)
            if proved.value < node.value:
                node.value, node.price = proved.value, proved.price
            node.relaxed = found.value
            if not node.path:
                self._admitted = np.clip(np.add.reduceat(found.options, self.bounds.pool.option_start[:-1]), 0.0, 1.0)
            if not self._is_open(node):
                return
            facets = self._separator.separate(found.cells)
            stalled = last - found.value < (LEAST if node.path else PART * (node.value - self.enough))
            if not facets or turn >= rounds - 1 or stalled or self.passed(1.0 if node.path else ROOT_PART):
                node.candidates = self._candidates(node.path, found)
                if node.candidates or not facets:
                    break
            last = found.value
            relaxation.add(facets)
            relaxation.add_late_covers(found)
        if not node.candidates and found.value >= self.enough:
            cells = np.zeros(node.price.shape, bool)
            used = np.flatnonzero(found.cells > 0.5)
            cells[self.bounds.slots.entry[used], slot_of_cells(self.bounds.slots)[used]] = True
            self.primal.improve(cells, [], False, 1, 1 / 3)

    def _branch(self, node: Node) -> None:
        """Take the decision that lowers both children's relaxations most, as found where it first came up."""
        p = self.bounds.pool
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
            found = self.bounds.evaluate(node.price, ranges_of(p, path))
            node.children.append(Node(path, min(found.value, node.value), node.price, []))

    def _candidates(self, path: Path, found: Relaxed) -> list[Decision]:
        """What the relaxation's solution leaves open, by weight: admissions, begins, numbers of cells, cells."""
        bounds, p = self.bounds, self.bounds.pool
        begins, cells = found.options, found.cells
        used = np.add.reduceat(begins, p.option_start[:-1])
        numbers = np.bincount(bounds.slots.entry, cells, len(p.kind))
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
            slot = np.repeat(bounds.slots.slot, np.diff(bounds.slots.start))
            away = np.abs(cells - np.rint(cells))
            for place in np.argsort(-away, kind="stable")[:CANDIDATES].tolist():
                if away[place] > INTEGRAL:
                    e = int(bounds.slots.entry[place])
                    what = int(bounds.slots.owner[e]), int(p.kind[e]), int(slot[place])
                    weighed.append((float(away[place]), what))
        weighed.sort(key=lambda each: -each[0])
        return [what for _, what in weighed if what not in decided]

    def tree(self) -> Tree:
        """The nodes in preorder, slots from 1, tasks by their place in the instance."""
        p = self.bounds.pool
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
        owner = p.task[self.bounds.slots.owner]
        upper = self._upper(self.root)
        return Tree(tuple(nodes), tuple(tables), owner, p.kind, self.root.price, upper, self.solved)

    def _upper(self, node: Node) -> float:
        return node.value if node.decision is None else max(self._upper(child) for child in node.children)
