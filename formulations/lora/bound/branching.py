"""Branch and bound on the configuration programme: the tree of decisions of a certificate, and its prices.

The bound of a node is the linear programme over schedules of tasks and patterns of nodes, solved by column generation
with HiGHS: a task takes a mixture of schedules, a node and slot a mixture of patterns, and no pattern has more cells of
a class than there are tasks that may have one. What is decided closes columns: a task is out, or must be in; a cell of
a task is not used, or must be. The least dual value that any prices on the way attain is a bound by weak duality, so
nothing depends on the programme being solved to the end. Works for instances whose node types all have their patterns
listed. It runs in the worker process of HiGHS; all that it says is proved afterwards in integers (`verify`).
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.backends.highs import Master
from ratiobench.formulations.kernels import compiled
from ratiobench.formulations.lora.bound.lagrangian import Prices
from ratiobench.formulations.lora.bound.patterns import Patterns, node_patterns
from ratiobench.formulations.lora.bound.pricing import Pool, base_cost, cheapest, fill, places, pool, trace
from ratiobench.formulations.lora.bound.tree import Tree
from ratiobench.instances.lora.model import Instance, IntArray

Decision = tuple[int, ...]
"""What a node of the tree decides: (pooled task,) or (pooled task, type, slot)."""
Path = tuple[tuple[Decision, bool], ...]

OPEN, NEVER, ALWAYS = 0, 1, 2
ROUNDS = 400
"""Most rounds of column generation at the root; a node after it has a tenth."""
CLOSE = 0.02
"""A node is solved when its bound is so near to the optimum of its columns, as a part of what is to be proved."""
BOLD = 4.0
"""What a task pays that must be in and is not, in units of the largest bid."""
CANDIDATES = 4
"""Most tasks that are tried before one of them is decided."""
INTEGRAL = 1e-5


@compiled
def _answer(p, rent, bid, fixed, bonus, width, at, table, surplus, net, pooled):  # type: ignore[no-untyped-def]
    """Best reduced profit of every task under what is decided of its cells, and the schedule that has it.

    Parameters
    ----------
    rent : (C, T) micro-dollars per cell; bid : (n,) with what decisions add.
    fixed : (entries, T) OPEN, NEVER or ALWAYS; a cell of the last kind pays `bonus`.
    surplus, net : (n,) out: reduced profit, and welfare without what decisions add.
    pooled : (sum of widths,) out: local type in each slot, -1 for none.
    """
    cost = np.empty((len(p.nodes), width))
    usable = np.ones((len(p.nodes), width), np.bool_)
    chosen = np.empty(width, np.int64)
    for i in range(len(p.task)):
        types = p.type_start[i + 1] - p.type_start[i]
        for g in range(types):
            entry = p.type_start[i] + g
            for t in range(p.width[i]):
                slot = p.first[i] + t
                usable[g, t] = fixed[entry, slot] != 1
                cost[g, t] = base_cost(p, i, p.kind[entry], slot) + rent[p.klass[entry], slot]
                if fixed[entry, slot] == 2:
                    cost[g, t] -= bonus
        for t in range(p.width[i]):
            for g in range(types):
                if fixed[p.type_start[i] + g, p.first[i] + t] == 2:
                    for other in range(types):
                        usable[other, t] = other == g
        fill(p, i, cost, usable, np.inf, table)
        total, option, x = cheapest(p, i, 1.0, np.inf, table)
        surplus[i] = 0
        for t in range(p.width[i]):
            pooled[at[i] + t] = -1
        if option >= 0 and bid[i] - total > 0:
            surplus[i] = bid[i] - total
            trace(p, i, cost, usable, np.inf, table, option, x, chosen)
            net[i] = p.bid[i] - p.price[option]
            for t in range(p.width[i]):
                g = chosen[t]
                pooled[at[i] + t] = g
                if g >= 0:
                    net[i] -= base_cost(p, i, p.kind[p.type_start[i] + g], p.first[i] + t)


@compiled
def _fill_nodes(count, most, rent, worth, index):  # type: ignore[no-untyped-def]
    """(T,) worth and index of the best pattern in each slot, with at most `most` (classes, T) cells of a class."""
    classes = len(most)
    for t in range(len(worth)):
        worth[t] = 0.0
        index[t] = 0
        for a in range(len(count)):
            total = 0.0
            for c in range(classes):
                total += min(count[a, c], most[c, t]) * rent[c, t]
            if total > worth[t]:
                worth[t] = total
                index[t] = a


class Bound(NamedTuple):
    """What prices prove of a node, in doubles; the prices; and what the tasks answer to them."""

    value: float
    rent: Prices
    surplus: NDArray[np.float64]


@dataclass(slots=True)
class Node:
    """A node of the tree: a leaf while it has no decision."""

    path: Path
    value: float
    rent: Prices
    decision: Decision | None = None
    children: list[Node] = field(default_factory=list)


class Programme:
    """The linear programme of a pool, column by column; `bound` solves it under decisions."""

    def __init__(self, p: Pool, patterns: tuple[Patterns, ...]) -> None:
        self.pool, self.patterns = p, patterns
        self.slots = p.tariff.shape[1]
        self.demand = p.tasks
        self.supply = p.tasks + len(p.class_kind) * self.slots
        self.high = np.concatenate(
            [np.ones(p.tasks), np.zeros(self.supply - p.tasks), np.repeat(p.nodes.astype(np.float64), self.slots)]
        )
        self.master = Master(self.high)
        self.bonus = BOLD * float(p.bid.max())
        self.columns: list[tuple[int, bytes]] = []
        self.known: set[tuple[int, bytes]] = set()
        self.of_task: list[list[tuple[int, IntArray]]] = [[] for _ in range(p.tasks)]
        self.of_slot: list[tuple[int, int, int, IntArray]] = []
        self.closed: set[int] = set()
        self.at = places(p)
        self.rounds = 0
        width = int(p.width.max(initial=1))
        self._scratch = width, self.at, np.empty(p.table)
        self._pooled = np.empty(int(p.width.sum()), np.int64)
        for i in range(p.tasks):  # what is paid where a task that must be in is not
            self._column((i, b""), -self.bonus, [i], [1.0])

    def _column(self, key: tuple[int, bytes], value: float, rows: list[int], entries: list[float]) -> int:
        self.known.add(key)
        self.columns.append(key)
        self.master.add(value, rows, entries)
        return len(self.columns) - 1

    def _schedule(self, i: int, local: IntArray, net: float) -> bool:
        p = self.pool
        key = i, local.astype(np.int8).tobytes()
        if key in self.known:
            return False
        slots = np.flatnonzero(local >= 0)
        rows = self.demand + p.klass[p.type_start[i] + local[slots]] * self.slots + p.first[i] + slots
        column = self._column(key, net, [i, *rows.tolist()], [1.0] * (1 + len(slots)))
        self.of_task[i].append((column, local.copy()))
        return True

    def _pattern(self, g: int, t: int, cells: IntArray) -> bool:
        key = -1 - (g * self.slots + t), cells.tobytes()
        if key in self.known:
            return False
        here = np.flatnonzero(cells)
        rows = self.demand + (self.patterns[g].first + here) * self.slots + t
        entries = [1.0, *(-cells[here].astype(np.float64)).tolist()]
        column = self._column(key, 0.0, [self.supply + g * self.slots + t, *rows.tolist()], entries)
        self.of_slot.append((column, g, t, cells))
        return True

    def _decide(self, path: Path) -> tuple[NDArray[np.float64], IntArray, IntArray, float]:
        """(bids, fixed cells, cells of each class that may be used, what decisions add) and the columns to match."""
        p = self.pool
        bid = p.bid.astype(np.float64)
        fixed = np.zeros((len(p.kind), self.slots), np.int64)
        low, high = np.full(len(self.high), -np.inf), self.high.copy()
        added = 0.0
        touched: dict[int, bool] = {}
        for what, side in path:
            i = what[0]
            if len(what) == 1:
                touched[i] = touched.get(i, False)
                high[i] = float(side)
                if not side:
                    bid[i] = -np.inf
            else:
                touched[i] = True
                entry = p.type_start[i] + int(
                    np.flatnonzero(p.kind[p.type_start[i] : p.type_start[i + 1]] == what[1])[0]
                )
                fixed[entry, what[2]] = ALWAYS if side else NEVER
                added += self.bonus * side
            if side and low[i] < 1:
                low[i] = 1.0
                bid[i] += self.bonus
                added += self.bonus
        most = np.zeros((len(p.class_kind), self.slots), np.int64)
        for i in range(p.tasks):
            if high[i] > 0:
                for entry in range(p.type_start[i], p.type_start[i + 1]):
                    window = slice(int(p.first[i]), int(p.first[i] + p.width[i]))
                    most[p.klass[entry], window] += fixed[entry, window] != NEVER
        closed = set()
        for i in (i for i, cells in touched.items() if cells):
            window = slice(int(p.first[i]), int(p.first[i] + p.width[i]))
            entries = fixed[p.type_start[i] : p.type_start[i + 1], window]
            needed = (entries == ALWAYS).any(axis=0)
            for column, local in self.of_task[i]:
                states = entries[np.maximum(local, 0), np.arange(len(local))]
                if ((states == NEVER) & (local >= 0)).any() or (needed & ((local < 0) | (states != ALWAYS))).any():
                    closed.add(column)
        for column, g, t, cells in self.of_slot:
            if (cells > most[self.patterns[g].first : self.patterns[g].last, t]).any():
                closed.add(column)
        self.master.bound_rows(low, high)
        if opened := sorted(self.closed - closed):
            self.master.close(opened, False)
        if shut := sorted(closed - self.closed):
            self.master.close(shut, True)
        self.closed = closed
        return bid, fixed, most, added

    def bound(self, path: Path, begin: Prices | None, enough: float, rounds: int) -> tuple[Bound, NDArray[np.float64]]:
        """The least bound that some rounds of column generation find, and the columns' values.

        Parameters
        ----------
        begin : rents to price first.
        enough : a value below which the node needs no proof.
        """
        decided = self._decide(path)
        best = self._price(begin, *decided)[0] if begin is not None else None
        values = np.zeros(0)
        for turn in range(rounds):
            self.rounds += 1
            optimum, values, prices = self.master.solve()
            rent = np.maximum(0.0, prices[self.demand : self.supply].reshape(-1, self.slots))
            found = None
            for share in (0.5, 1.0) if best is not None and turn % 4 else (1.0,):
                mixed = rent if share == 1.0 or best is None else share * rent + (1 - share) * best.rent
                found, new = self._price(mixed, *decided)
                if best is None or found.value < best.value:
                    best = found
                if new:
                    break
            else:
                break
            assert best is not None
            if best.value < enough or best.value - optimum <= max(0.5, CLOSE * (best.value - enough)):
                break
        assert best is not None
        return best, values

    def _price(
        self, rent: Prices, bid: NDArray[np.float64], fixed: IntArray, most: IntArray, added: float
    ) -> tuple[Bound, bool]:
        """The bound at these rents, and whether a column is new."""
        p = self.pool
        surplus, net = np.zeros(p.tasks), np.zeros(p.tasks)
        _answer(p, rent, bid, fixed, self.bonus, *self._scratch, surplus, net, self._pooled)
        new = False
        for i in np.flatnonzero(surplus > 0).tolist():
            new |= self._schedule(i, self._pooled[self.at[i] : self.at[i] + p.width[i]], float(net[i]))
        value = float(surplus.sum()) - added
        worth, index = np.empty(self.slots), np.empty(self.slots, np.int64)
        for g, each in enumerate(self.patterns):
            here = np.ascontiguousarray(most[each.first : each.last])
            _fill_nodes(each.cells, here, np.ascontiguousarray(rent[each.first : each.last]), worth, index)
            value += float(p.nodes[g]) * float(worth.sum())
            for t in np.flatnonzero(worth > 0).tolist():
                new |= self._pattern(g, t, np.minimum(each.cells[index[t]], here[:, t]))
        return Bound(value, rent, surplus), new

    def fractions(self, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(n,) how far each task is in, and (entries, T) how far each cell is used."""
        p = self.pool
        used = np.zeros(p.tasks)
        cells = np.zeros((len(p.kind), self.slots))
        for i, listed in enumerate(self.of_task):
            for column, local in listed:
                if column < len(values) and values[column] > INTEGRAL:
                    used[i] += values[column]
                    slots = np.flatnonzero(local >= 0)
                    cells[p.type_start[i] + local[slots], p.first[i] + slots] += values[column]
        return used, cells


def grow(instance: Instance, rent: Prices, lower: int, nodes: int, seconds: float | None = None) -> Tree | None:
    """The tree that some nodes of branch and bound, those of the largest bounds first, leave; None without patterns.

    Parameters
    ----------
    rent : (C, T) micro-dollars per cell of each class, prices to begin with.
    lower : welfare of a known solution: branches that cannot have a better one end.
    nodes : most nodes that are solved.
    seconds : no further node is begun after them.
    """
    until = None if seconds is None else time.perf_counter() + seconds
    p = pool(instance, spare=1)
    listed = tuple(each for each in node_patterns(p) if each is not None)
    if len(listed) < len(p.nodes) or p.tasks == 0:
        return None
    search = _Search(Programme(p, listed), lower)
    search.run(rent, nodes, until)
    return search.tree()


class _Search:
    """Best-first branch and bound."""

    def __init__(self, programme: Programme, lower: int) -> None:
        self.programme = programme
        self.enough = lower + 0.999
        self.solved = 0

    def run(self, rent: Prices, nodes: int, until: float | None) -> None:
        first, values = self.programme.bound((), rent, self.enough, ROUNDS)
        self.root = Node((), first.value, first.rent)
        self.solved = 1
        waiting: list[tuple[float, int, Node, NDArray[np.float64]]] = [(-first.value, 0, self.root, values)]
        while waiting and self.solved < nodes and (until is None or time.perf_counter() < until):
            _, _, node, values = heapq.heappop(waiting)
            if node.value < self.enough:
                continue
            for child, found in self._branch(node, values):
                heapq.heappush(waiting, (-child.value, self.solved + len(waiting), child, found))

    def _solve(self, node: Node, decision: Decision, side: bool) -> tuple[Node, NDArray[np.float64]]:
        path = (*node.path, (decision, side))
        found, values = self.programme.bound(path, node.rent, self.enough, ROUNDS // 10)
        self.solved += 1
        return Node(path, found.value, found.rent), values

    def _branch(self, node: Node, values: NDArray[np.float64]) -> list[tuple[Node, NDArray[np.float64]]]:
        """Two children, of the decision that lowers both bounds most among the candidates; none where all is whole."""
        best: tuple[float, Decision, list[tuple[Node, NDArray[np.float64]]]] | None = None
        for decision in self._candidates(node, values):
            pair = [self._solve(node, decision, side) for side in (False, True)]
            gains = [max(1e-3, min(node.value, node.value) - max(child.value, self.enough)) for child, _ in pair]
            score = gains[0] * gains[1]
            if best is None or score > best[0]:
                best = score, decision, pair
        if best is None:
            return []
        node.decision, node.children = best[1], [child for child, _ in best[2]]
        return best[2]

    def _candidates(self, node: Node, values: NDArray[np.float64]) -> list[Decision]:
        p = self.programme.pool
        used, cells = self.programme.fractions(values)
        part = np.minimum(used, 1 - used)
        tasks = [i for i in np.argsort(-part, kind="stable").tolist() if part[i] > INTEGRAL]
        if tasks:
            return [(i,) for i in tasks[:CANDIDATES]]
        kinds = np.repeat(np.arange(p.tasks), np.diff(p.type_start))
        weight = np.minimum(cells, 1 - cells)
        if weight.max(initial=0.0) <= INTEGRAL:
            return []
        weight = weight * (1.0 + node.rent[p.klass])
        entry, slot = np.unravel_index(int(weight.argmax()), weight.shape)
        return [(int(kinds[entry]), int(p.kind[entry]), int(slot))]

    def tree(self) -> Tree:
        """The nodes in preorder, slots from 1, tasks by their place in the instance."""
        p = self.programme.pool
        nodes: list[int | tuple[int, ...]] = []
        tables: list[Prices] = []
        upper = 0.0
        left = [self.root]
        while left:
            node = left.pop()
            if node.decision is None:
                nodes.append(len(tables))
                tables.append(node.rent)
                upper = max(upper, node.value)
            else:
                i, *cell = node.decision
                nodes.append((int(p.task[i]), *([cell[0], cell[1] + 1] if cell else [])))
                left += reversed(node.children)
        return Tree(tuple(nodes), tuple(tables), p.class_kind, p.class_rate, p.class_memory, upper, self.solved)
