"""Branch and bound on a batch: tasks choose schedules, the nodes of a type and slot are rows of one pool.

The bound of a node of the tree is a linear program over schedules, solved by column generation with our own simplex
method. A row limits what the tasks take of a type and slot: samples, megabytes, cells of at least some size, or the
rents that cells pay at some prices; in integers, no more than the best sets of cells of the single nodes have, added
up. Rows are added where they are violated, so there are few: most slots have room for all. What does not pack onto the
nodes although all rows hold becomes a row, too. The prices of the program are rounded to integers, and the bound that
they prove is computed exactly: no tolerance decides.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.kernels import ascending, compiled
from formulations.lora.bound.lagrangian import DualBound
from formulations.lora.bound.pricing import Pool, base_cost, cheapest, fill, places, trace
from formulations.lora.bound.residual import RENT_LEVELS, STEPS, Residual, best_fill, everywhere
from formulations.lora.bound.simplex import Program, invert
from instances.lora.model import IntArray

Decision = tuple[int, ...]
"""(task,): it is admitted; (task, entry, slot): it uses the cell."""
Path = tuple[tuple[Decision, bool], ...]
OPEN, NEVER, ALWAYS = 0, 1, 2
ROUNDS = 200
"""Most rounds of column generation at a node."""
PIVOTS = 2_000
"""Most pivots of a round."""
WEIGHTY = 500
"""A pivot counts as one unit of work, and as one more for every so many rows."""
ROWS, MORE_ROWS = 200, 20
"""Rows at which no more are looked for, in all and of one node after the first."""
CLOSE = 0.02
"""A node is solved when its bound is so near to the optimum of its columns, as a part of what is to be proved."""
BOLD = 4.0
"""What is paid where a decision or a row is broken, in units of the largest bid."""
NEARLY = 0.8
"""Schedules with this much of their task are fixed together in a dive."""
PRICED = 4
"""Steps of a dive per search for new schedules."""
INTEGRAL = 1e-5
VIOLATED = 1e-6
"""A row is added where it is exceeded by more than this part of it."""
PACKING_STEPS = 5_000
"""Steps of the search for a packing of one slot."""
FILLS = 100
"""Tries of another packing where that search finds none."""
FILL_ROUNDS = 50
"""Most sets of cells that a mixture is made of."""
SEPARATED = 1e-4
"""A row of cells that are no mixture is added where it is exceeded by more than this part of it."""
LARGEST = 2**55
"""No number of a proof is larger."""


@compiled
def schedules(p, tasks, price, unit, fixed, bonus, far, width, at, table, profit, net, pooled):  # type: ignore[no-untyped-def]
    """Best reduced profit of some tasks, losses included, and the schedule that has it.

    Parameters
    ----------
    price : (entries, T) of a cell in 1/unit micro-dollars.
    fixed : (entries, T) OPEN, NEVER or ALWAYS; a cell of the last kind pays `bonus`, and is in what is returned.
    width : of the widest window; at : (n,) where each task's places begin; table : scratch.
    profit : (n,) out, -far where there is no schedule; net : (n,) out, welfare of the schedule in micro-dollars.
    pooled : (sum of widths,) out: local type in each slot, -1 for none.
    """
    cost = np.empty((len(p.nodes), width), price.dtype)
    usable = np.ones((len(p.nodes), width), np.bool_)
    chosen = np.empty(width, np.int64)
    for i in tasks:
        types = p.type_start[i + 1] - p.type_start[i]
        needed = 0
        for t in range(p.width[i]):
            slot = p.first[i] + t
            always = -1
            for g in range(types):
                entry = p.type_start[i] + g
                usable[g, t] = fixed[entry, slot] != 1
                cost[g, t] = base_cost(p, i, p.kind[entry], slot) * unit + price[entry, slot]
                if fixed[entry, slot] == 2:
                    always = g
            if always >= 0:
                needed += 1
                cost[always, t] -= bonus
                for g in range(types):
                    usable[g, t] = g == always
        fill(p, i, cost, usable, far, table)
        total, option, x = cheapest(p, i, unit, far, table)
        profit[i] = -far
        net[i] = 0
        for t in range(p.width[i]):
            pooled[at[i] + t] = -1
        if option < 0 or total > 0.5 * far:
            continue
        trace(p, i, cost, usable, far, table, option, x, chosen)
        kept = 0
        worth = p.bid[i] - p.price[option]
        for t in range(p.width[i]):
            g = chosen[t]
            pooled[at[i] + t] = g
            if g >= 0:
                entry = p.type_start[i] + g
                kept += fixed[entry, p.first[i] + t] == 2
                worth -= base_cost(p, i, p.kind[entry], p.first[i] + t)
        if kept == needed:
            profit[i] = p.bid[i] * unit - total - needed * bonus
            net[i] = worth


@compiled
def filled(worth, rate, memory, most, free, free_mb, steps, cells):  # type: ignore[no-untyped-def]
    """What the best sets of cells of all nodes are worth together, each for itself.

    Parameters
    ----------
    worth, rate, memory, most : (classes,) as for `best_fill`.
    cells : (classes,) out: of each class, in these sets.
    """
    total = 0
    mine = np.empty(len(worth), np.int64)
    cells[:] = 0
    for k in range(len(free)):
        if free[k] > 0 and free_mb[k] > 0:
            total += best_fill(worth, rate, memory, most, free[k], free_mb[k], steps, mine)
            for c in range(len(worth)):
                cells[c] += mine[c]
    return total


@compiled
def fill_nodes(rate, memory, free, free_mb, tries, found):  # type: ignore[no-untyped-def]
    """Fill one node after the other with the best set of what is left, some times; what is left over gets dearer.

    Parameters
    ----------
    found : (cells,) a node for every cell or -1; changed where fewer or smaller cells are left over.
    """
    count, nodes = len(rate), len(free)
    klass = np.empty(count, np.int64)
    first = np.empty(count, np.int64)
    classes = 0
    for j in range(count):
        klass[j] = classes
        for c in range(classes):
            if rate[first[c]] == rate[j] and memory[first[c]] == memory[j]:
                klass[j] = c
        if klass[j] == classes:
            first[classes] = j
            classes += 1
    size = np.empty(classes, np.int64)
    size_mb = np.empty(classes, np.int64)
    all_rate = 1
    all_mb = 1
    for j in range(count):
        all_rate += rate[j]
        all_mb += memory[j]
    have = 1
    have_mb = 1
    for k in range(nodes):
        have += max(0, free[k])
        have_mb += max(0, free_mb[k])
    weight = np.empty(classes, np.int64)
    worth = np.empty(classes, np.int64)
    for c in range(classes):
        size[c], size_mb[c] = rate[first[c]], memory[first[c]]
        weight[c] = 1 + np.int64(1e6 * (size[c] / have + size_mb[c] / have_mb))
        worth[c] = weight[c]
    least = 0
    for j in range(count):
        if found[j] < 0:
            least += weight[klass[j]]
    key = np.empty(nodes)
    cells = np.empty(classes, np.int64)
    left = np.empty(classes, np.int64)
    taken = np.empty((nodes, classes), np.int64)
    for turn in range(tries):
        for k in range(nodes):
            share = free[k] / have + free_mb[k] / have_mb
            key[k] = share * (1.0 + 0.2 * ((k * 7919 + turn * 104729) % 1009) / 1009) if turn > 0 else share
        left[:] = 0
        for j in range(count):
            left[klass[j]] += 1
        for k in ascending(key):
            taken[k] = 0
            if free[k] > 0 and free_mb[k] > 0:
                best_fill(worth, size, size_mb, left, free[k], free_mb[k], STEPS, cells)
                for c in range(classes):
                    taken[k, c] = cells[c]
                    left[c] -= cells[c]
        over = 0
        for c in range(classes):
            over += left[c] * weight[c]
            if left[c] > 0:
                worth[c] += worth[c] // 5 + 1
        if over < least:
            least = over
            for j in range(count):
                found[j] = -1
                for k in range(nodes):
                    if taken[k, klass[j]] > 0:
                        taken[k, klass[j]] -= 1
                        found[j] = k
                        break
            if over == 0:
                return


@compiled
def packed_slot(rate, memory, free, free_mb, steps):  # type: ignore[no-untyped-def]
    """(cells,) a node for every cell, or -1 for those that a tightest-first packing leaves over; see below.

    Large cells first, each on the node that it fills most; then by backtracking, up to a number of steps. The second
    answer is whether what is left over is proved not to fit.
    """
    count, nodes = len(rate), len(free)
    most = 1
    most_mb = 1
    room = np.empty(nodes, np.int64)
    room_mb = np.empty(nodes, np.int64)
    for k in range(nodes):
        room[k], room_mb[k] = free[k], free_mb[k]
        most, most_mb = max(most, free[k]), max(most_mb, free_mb[k])
    key = np.empty(count, np.float64)
    greedy = np.empty(count, np.int64)
    at = np.empty(count, np.int64)
    for j in range(count):
        key[j] = -max(rate[j] / most, memory[j] / most_mb)
        greedy[j] = -1
        at[j] = -1
    order = ascending(key)
    fits = True
    for j in order:
        best = -1
        for k in range(nodes):
            if rate[j] <= room[k] and memory[j] <= room_mb[k] and (best < 0 or room[k] < room[best]):
                best = k
        greedy[j] = best
        if best >= 0:
            room[best] -= rate[j]
            room_mb[best] -= memory[j]
        else:
            fits = False
    if fits:
        return greedy, False
    for k in range(nodes):
        room[k], room_mb[k] = free[k], free_mb[k]
    level = 0
    while 0 <= level < count:
        steps -= 1
        if steps < 0:
            fill_nodes(rate, memory, free, free_mb, FILLS, greedy)
            return greedy, False
        j = order[level]
        k = at[level]
        if k >= 0:
            room[k] += rate[j]
            room_mb[k] += memory[j]
        elif level > 0 and rate[order[level - 1]] == rate[j] and memory[order[level - 1]] == memory[j]:
            k = at[level - 1] - 1  # like the cell before it: on the same node or a later one
        k += 1
        while k < nodes and (rate[j] > room[k] or memory[j] > room_mb[k]):
            k += 1
        if k == nodes:
            at[level] = -1
            level -= 1
            continue
        at[level] = k
        room[k] -= rate[j]
        room_mb[k] -= memory[j]
        level += 1
    if level < 0:
        return greedy, True
    for a in range(count):
        greedy[order[a]] = at[a]
    return greedy, False


class Torn(NamedTuple):
    """Cells (entries) of a type and slot that do not all fit into what its nodes have left: (samples, megabytes)."""

    kind: int
    slot: int
    entry: IntArray
    left: tuple[IntArray, IntArray]


class Row(NamedTuple):
    """sum of weight over the cells used in a type and slot <= high."""

    kind: int
    slot: int
    weight: IntArray
    high: int


class Chosen(NamedTuple):
    """Cells of schedules: task, entry of its node type, slot from 0."""

    task: IntArray
    entry: IntArray
    slot: IntArray


@dataclass(slots=True)
class Node:
    """A leaf of the tree: what is decided, and a proved bound in micro-dollars."""

    path: Path
    upper: int
    branch: Decision | None = None


class Tree:
    """Branch and bound, the leaf of the largest bound first.

    Parameters
    ----------
    capacity : what the nodes have left.
    bound : a proved bound with its prices.
    alone : (n,) what each task is worth alone.

    Attributes
    ----------
    work : pivots and priced tasks so far.
    """

    def __init__(self, p: Pool, capacity: Residual, bound: DualBound, alone: IntArray) -> None:
        self._pool, self._capacity = p, capacity
        self._slots = p.tariff.shape[1]
        self._tasks = np.flatnonzero(alone > 0)
        self._group = np.full(p.tasks, -1, np.int64)
        self._group[self._tasks] = np.arange(len(self._tasks))
        self._owner = np.repeat(np.arange(p.tasks), np.diff(p.type_start))
        self._bold = BOLD * max(1.0, float(p.bid.max()))
        self._program = Program(len(self._tasks))
        self._rows: list[Row] = []
        self._rows_at: dict[tuple[int, int], list[int]] = {}
        self._nets: list[int] = []
        self._columns: list[tuple[int, IntArray]] = []
        self._known: set[tuple[int, bytes]] = set()
        self._users: dict[tuple[int, int], list[int]] = {}
        self._at = places(p)
        self._width = int(p.width.max(initial=1))
        self._tables = np.empty(p.table), np.empty(p.table, np.int64)
        self._pooled = np.full(int(p.width.sum()), -1, np.int64)
        self._candidates = self._listed(bound)
        self._hosts = np.array([capacity.hosts(c).sum(axis=0) for c in range(len(p.class_kind))])
        self._number = count()
        self._leaves: list[tuple[int, int, Node]] = []
        self._stuck = 0
        self.work = 0
        fixed = self._fixed(())
        for rent in (np.zeros_like(bound.rent), bound.rent):
            profit, net = self._price(np.ascontiguousarray(rent[p.klass]), fixed)
            self._add_columns(profit > 0, net)
        self.push(Node((), bound.upper))

    def _listed(self, bound: DualBound) -> list[tuple[NDArray[np.int64], IntArray]]:
        """(C, T) weights of classes and (G, T) the most that the nodes have of each, all that a row may be made of."""
        p, capacity = self._pool, self._capacity
        weights = [everywhere(p.class_rate, self._slots), everywhere(p.class_memory, self._slots)]
        weights.append(np.ascontiguousarray(bound.pi // max(1, int(bound.pi.max(initial=0)) // RENT_LEVELS)))
        return [(weight, capacity.fills(weight)) for weight in weights]

    @property
    def upper(self) -> int:
        """The largest bound of a leaf."""
        return max(self._stuck, -self._leaves[0][0] if self._leaves else 0)

    def push(self, node: Node) -> None:
        """Put a leaf into the queue."""
        heapq.heappush(self._leaves, (-node.upper, next(self._number), node))

    def pop(self) -> Node | None:
        """Take the leaf of the largest bound; None when there is none."""
        return heapq.heappop(self._leaves)[2] if self._leaves else None

    def leave(self, node: Node) -> None:
        """Give a leaf up: its bound stays."""
        self._stuck = max(self._stuck, node.upper)

    def _fixed(self, path: Path) -> NDArray[np.int64]:
        fixed = np.zeros((len(self._pool.kind), self._slots), np.int64)
        for what, side in path:
            if len(what) == 3:
                fixed[what[1], what[2]] = ALWAYS if side else NEVER
        return fixed

    def _price(
        self,
        price: NDArray[np.float64] | IntArray,
        fixed: IntArray,
        unit: int = 1,
        bonus: int = 0,
        tasks: IntArray | None = None,
    ) -> tuple[NDArray[np.float64] | IntArray, IntArray]:
        """(n,) best reduced profits, and the welfare of the schedules that have them, in doubles or in integers."""
        whole = price.dtype == np.int64
        profit, net = np.full(self._pool.tasks, -np.inf), np.zeros(self._pool.tasks, np.int64)
        tasks = self._tasks if tasks is None else tasks
        self.work += len(tasks)
        if whole:
            profit = np.zeros(self._pool.tasks, np.int64)
            schedules(
                self._pool, tasks, price, np.int64(unit), fixed, np.int64(bonus), np.int64(2**62), self._width,
                self._at, self._tables[1], profit, net, self._pooled,
            )  # fmt: skip
        else:
            schedules(
                self._pool, tasks, price, 1.0, fixed, float(bonus), np.inf, self._width, self._at,
                self._tables[0], profit, net, self._pooled,
            )  # fmt: skip
        return profit, net

    def _add_columns(self, wanted: NDArray[np.bool_], net: IntArray) -> bool:
        """Columns for the schedules found of the wanted tasks; whether one is new."""
        p, new = self._pool, False
        for i in self._tasks[wanted[self._tasks]].tolist():
            local = self._pooled[self._at[i] : self._at[i] + p.width[i]].copy()
            key = i, local.tobytes()
            if key in self._known:
                continue
            self._known.add(key)
            new = True
            entries: dict[int, float] = {}
            slots = np.flatnonzero(local >= 0)
            column = len(self._columns)
            for entry, slot in zip(
                (p.type_start[i] + local[slots]).tolist(), (p.first[i] + slots).tolist(), strict=True
            ):
                self._users.setdefault((entry, slot), []).append(column)
                for r in self._rows_at.get((int(p.kind[entry]), slot), ()):
                    weight = int(self._rows[r].weight[entry])
                    if weight:
                        entries[self._program.groups + r] = float(weight)
            self._program.add_column(int(self._group[i]), entries)
            self._columns.append((i, local))
            self._nets.append(int(net[i]))
        return new

    def add_row(self, row: Row) -> None:
        """Add a row to the program."""
        entries: dict[int, float] = {}
        for entry in np.flatnonzero(row.weight).tolist():
            for column in self._users.get((entry, row.slot), ()):
                entries[column] = float(row.weight[entry])
        least = int(row.weight[row.weight > 0].min())
        self._program.add_row(entries, float(row.high), self._bold / least)
        self._rows_at.setdefault((row.kind, row.slot), []).append(len(self._rows))
        self._rows.append(row)

    def _violated(self, values: NDArray[np.float64]) -> bool:
        """Add the rows that a program's values break; whether there are any."""
        p = self._pool
        used = np.zeros((len(p.kind), self._slots))
        for column in np.flatnonzero(values > 1e-9).tolist():
            i, local = self._columns[column]
            slots = np.flatnonzero(local >= 0)
            used[p.type_start[i] + local[slots], p.first[i] + slots] += values[column]
        by_class = np.zeros((len(p.class_kind), self._slots))
        np.add.at(by_class, p.klass, used)
        combined = np.zeros_like(by_class)
        for row, price in zip(self._rows, self._program.dual[self._program.groups :].tolist(), strict=True):
            if price > 0:
                dearest = np.zeros(len(by_class))
                np.maximum.at(dearest, p.klass, row.weight * price)
                combined[:, row.slot] += dearest
        scale = RENT_LEVELS / max(1e-9, float(combined.max(initial=0.0)))
        weight = np.ascontiguousarray(np.rint(combined * scale).astype(np.int64))
        found = False
        for weights, most in (*self._candidates, (weight, self._capacity.fills(weight))):
            total = np.zeros(most.shape)
            np.add.at(total, p.class_kind, by_class * weights)
            for g, t in zip(*np.nonzero(total > most * (1 + VIOLATED) + VIOLATED), strict=True):
                mine = np.where(p.kind == g, weights[p.klass, t], 0)
                self.add_row(Row(int(g), int(t), mine, int(most[g, t])))
                found = True
        if not found:
            found = self._too_many_large(by_class)
        if not found:
            for g, t in sorted(self._rows_at):
                found |= self._separate(g, t, by_class[:, t])
        return found

    def _too_many_large(self, by_class: NDArray[np.float64]) -> bool:
        """Add the most violated row of each type and slot that counts cells at least as large as a class."""
        p = self._pool
        worst: dict[tuple[int, int], tuple[float, int]] = {}
        for c in np.flatnonzero(by_class.max(axis=1, initial=0.0) > 1e-9).tolist():
            g = int(p.class_kind[c])
            total = by_class[self._larger(c)].sum(axis=0)
            over = total - self._hosts[c] * (1 + VIOLATED) - VIOLATED
            for t in np.flatnonzero(over > 0).tolist():
                if float(over[t]) > worst.get((g, t), (0.0, 0))[0]:
                    worst[g, t] = float(over[t]), c
        for (g, t), (_, c) in sorted(worst.items()):
            weight = self._larger(c)[p.klass].astype(np.int64)
            self.add_row(Row(g, t, weight, int(self._hosts[c, t])))
        return bool(worst)

    def _larger(self, c: int) -> NDArray[np.bool_]:
        """(C,) the classes of a class's type whose cells are at least as large as its."""
        p = self._pool
        larger = (p.class_kind == p.class_kind[c]) & (p.class_rate >= p.class_rate[c])
        found: NDArray[np.bool_] = larger & (p.class_memory >= p.class_memory[c])
        return found

    def _separate(self, kind: int, slot: int, used: NDArray[np.float64]) -> bool:
        """Add a row that the cells used break, where they are no mixture of what the nodes can hold together."""
        p, capacity = self._pool, self._capacity
        mine = np.flatnonzero((p.class_kind == kind) & (used > 1e-6))
        if len(mine) == 0:
            return False
        nodes = slice(capacity.first_node[kind], capacity.first_node[kind + 1])
        free, free_mb = capacity.free[nodes, slot].copy(), capacity.free_mb[nodes, slot].copy()
        rate, memory, most = p.class_rate[mine], p.class_memory[mine], capacity.present[mine, slot]
        size = rate / p.compute[kind] + memory / p.capacity_mb[kind]
        program = Program(1)
        for c in range(len(mine)):
            program.add_row({}, -float(used[mine[c]]), float(size[c]))
        cells, seen = np.zeros(len(mine), np.int64), set()
        for _ in range(FILL_ROUNDS):
            program.solve(np.zeros(len(program.group)), PIVOTS)
            dual = np.maximum(0.0, program.dual[1:])
            weight = np.rint(dual * (RENT_LEVELS / max(1e-9, float(dual.max())))).astype(np.int64)
            high = int(filled(weight, rate, memory, most, free, free_mb, STEPS, cells))
            if float((weight * used[mine]).sum()) > high * (1 + SEPARATED) + SEPARATED:
                every = np.zeros(len(p.class_kind), np.int64)
                every[mine] = weight
                self.add_row(Row(kind, slot, np.where(p.kind == kind, every[p.klass], 0), high))
                return True
            key = cells.tobytes()
            if key in seen:
                return False
            seen.add(key)
            program.add_column(0, {1 + c: -float(n) for c, n in enumerate(cells.tolist()) if n})
        return False

    def _prices(self, dual: NDArray[np.float64] | list[int], dtype: type) -> NDArray[np.float64] | IntArray:
        """(entries, T) price of a cell at these prices of rows."""
        price: NDArray[Any] = np.zeros((len(self._pool.kind), self._slots), dtype)
        for row, value in zip(self._rows, dual, strict=True):
            if value > 0:
                price[:, row.slot] += row.weight * value
        return price

    def _decided(self, path: Path) -> tuple[IntArray, NDArray[np.int64], NDArray[np.float64]]:
        """(fixed cells, (n,) OPEN, NEVER or ALWAYS by task, the columns' objective)."""
        p = self._pool
        fixed = self._fixed(path)
        state = np.zeros(p.tasks, np.int64)
        touched = set()
        for what, side in path:
            i = what[0]
            if len(what) == 1:
                state[i] = ALWAYS if side else NEVER
            else:
                touched.add(i)
                if side:
                    state[i] = ALWAYS
        cost = np.array(self._nets, dtype=np.float64)
        for column, (i, local) in enumerate(self._columns):
            if state[i] == NEVER or (i in touched and not self._keeps(i, local, fixed)):
                cost[column] = -self._bold
        self._program.slack[: self._program.groups] = np.where(state[self._tasks] == ALWAYS, -self._bold, 0.0)
        return fixed, state, cost

    def _keeps(self, i: int, local: IntArray, fixed: IntArray) -> bool:
        p = self._pool
        entries = fixed[p.type_start[i] : p.type_start[i + 1], p.first[i] : p.first[i] + p.width[i]]
        there = entries[np.maximum(local, 0), np.arange(len(local))]
        needed = (entries == ALWAYS).any(axis=0)
        return not (((there == NEVER) & (local >= 0)) | (needed & ((local < 0) | (there != ALWAYS)))).any()

    def solve(self, node: Node, lower: int, most: int) -> Chosen:
        """Lower the bound of a node, and choose what it branches on, by some rounds of column generation.

        Parameters
        ----------
        lower : welfare of a known solution; a node that cannot have a better one needs no better bound.
        most : work at which to end.
        """
        program = self._program
        bonus = int(self._bold)
        fixed, state, cost = self._decided(node.path)
        always, never = self._tasks[state[self._tasks] == ALWAYS], state == NEVER
        best, best_dual = np.inf, None
        rows = min(ROWS, len(self._rows) + (ROWS if not node.path else MORE_ROWS))
        values = np.zeros(0)
        limit = self.work + most
        for _ in range(ROUNDS):
            before = program.pivots
            values = program.solve(cost, PIVOTS)
            self.work += (program.pivots - before) * (1 + len(program.rhs) // WEIGHTY)
            dual = np.maximum(0.0, program.dual[program.groups :])
            profit, net = self._price(self._prices(dual.tolist(), np.float64), fixed, bonus=bonus)
            gain = np.maximum(0.0, profit[self._tasks])
            gain[never[self._tasks]] = 0.0
            value = float(gain.sum()) + float((dual * [row.high for row in self._rows]).sum())
            value += float(np.minimum(0.0, profit[always]).sum())
            if value < best or best_dual is None:
                best, best_dual = value, dual
            if best < lower + 0.5 or self.work >= limit:
                break
            basic = program.level
            costs = np.where(program.basis >= 0, cost[np.maximum(program.basis, 0)], 0.0)
            reached = float((costs * basic).sum())
            wanted = np.zeros(self._pool.tasks, np.bool_)
            wanted[self._tasks] = profit[self._tasks] > program.dual[: program.groups] + 1e-6
            new = self._add_columns(wanted & ~never, net)
            if new and best - reached > max(0.5, CLOSE * (best - lower)):
                cost = np.append(cost, [float(each) for each in self._nets[len(cost) :]])
                continue
            if len(self._rows) >= rows or not self._violated(values):
                break
            cost = np.append(cost, [float(each) for each in self._nets[len(cost) :]])
        node.upper = min(node.upper, self._proved(best_dual, fixed, always, never))
        node.branch = self._branch(values, fixed)
        return self._chosen(values)

    def dive(self, node: Node, most: int) -> Chosen:
        """Cells of schedules that together break no row: the program's, where those that are nearly chosen are fixed.

        Parameters
        ----------
        most : work at which to end.
        """
        program, p = self._program, self._pool
        limit = self.work + most
        fixed, state, cost = self._decided(node.path)
        bonus = int(self._bold)
        step = np.zeros(p.tasks, np.int64)
        step[state == NEVER] = 2
        owner = np.array([i for i, _ in self._columns])
        values = np.zeros(0)
        for turn in range(2 * len(self._tasks)):
            before = program.pivots
            values = program.solve(cost, PIVOTS)
            self.work += (program.pivots - before) * (1 + len(program.rhs) // WEIGHTY)
            if self.work >= limit:
                break
            part = np.flatnonzero((values > INTEGRAL) & (values < 1 - INTEGRAL))
            if turn % PRICED == 0 or len(part) == 0:
                free = self._tasks[step[self._tasks] == 0]
                dual = np.maximum(0.0, program.dual[program.groups :])
                profit, net = self._price(self._prices(dual.tolist(), np.float64), fixed, bonus=bonus, tasks=free)
                wanted = np.zeros(p.tasks, np.bool_)
                wanted[free] = profit[free] > program.dual[self._group[free]] + 1e-6
                new = self._add_columns(wanted, net)
                cost = np.append(cost, [float(each) for each in self._nets[len(cost) :]])
                owner = np.array([i for i, _ in self._columns])
                if len(part) == 0:
                    if new or (len(self._rows) < ROWS and self._violated(values)):
                        continue
                    break
            near = part[values[part] >= NEARLY]
            for j in near.tolist() if len(near) else [int(part[np.argmax(values[part])])]:
                i = int(owner[j])
                if step[i] == 0:
                    mine = owner == i
                    mine[j] = False
                    cost[mine] = -self._bold
                elif values[j] < 0.5:
                    cost[j] = -self._bold
                else:
                    program.slack[self._group[i]] = -self._bold
                step[i] += 1
        return self._chosen(values)

    def _proved(
        self, dual: NDArray[np.float64] | None, fixed: IntArray, always: IntArray, never: NDArray[np.bool_]
    ) -> int:
        """The bound that prices of rows prove, rounded to integers and computed exactly."""
        p = self._pool
        if dual is None:
            return LARGEST
        dual = np.append(dual, np.zeros(len(self._rows) - len(dual)))
        cost = max(
            int(np.abs(p.table_cost).max(initial=0)),
            *(int(p.energy[:, g].max()) * int(np.abs(p.tariff[g]).max()) for g in range(len(p.nodes))),
        )
        for bits in range(16, -1, -1):
            unit = 1 << bits
            whole = [int(value) for value in np.rint(np.minimum(dual, 2.0**40) * unit).tolist()]
            largest = sum(value * int(row.weight.max()) for row, value in zip(self._rows, whole, strict=True))
            span = self._width * (unit * cost + largest) + unit * int(p.bid.max())
            if span * (self._width + 2) < LARGEST:
                break
        else:
            return LARGEST
        profit, _ = self._price(self._prices(whole, np.int64), fixed, unit, span + 1)
        total = sum(value * row.high for row, value in zip(self._rows, whole, strict=True))
        forced = set(always.tolist())
        for i in self._tasks.tolist():
            mine = int(profit[i])
            if i in forced:
                if mine <= -(2**61):
                    return 0  # what is decided cannot be
                total += mine
            elif not never[i]:
                total += max(0, mine)
        return max(0, total // unit)

    def _chosen(self, values: NDArray[np.float64]) -> Chosen:
        """The cells of the schedules that have more than half of their task."""
        p = self._pool
        parts = []
        for column in np.flatnonzero(values > 0.5).tolist():
            i, local = self._columns[column]
            slots = np.flatnonzero(local >= 0)
            parts.append(np.stack([np.full(len(slots), i), p.type_start[i] + local[slots], p.first[i] + slots]))
        return Chosen(*np.concatenate([np.empty((3, 0), np.int64), *parts], axis=1))

    def _branch(self, values: NDArray[np.float64], fixed: IntArray) -> Decision | None:
        """The decision that the values leave most open: first whether a task is admitted, then its cells."""
        p = self._pool
        share = np.zeros(p.tasks)
        cells = np.zeros((len(p.kind), self._slots))
        for column in np.flatnonzero(values > INTEGRAL).tolist():
            i, local = self._columns[column]
            share[i] += values[column]
            slots = np.flatnonzero(local >= 0)
            cells[p.type_start[i] + local[slots], p.first[i] + slots] += values[column]
        weight = np.minimum(share, 1 - share) * np.maximum(1, p.bid)
        weight[(share < INTEGRAL) | (share > 1 - INTEGRAL)] = 0.0
        if weight.max(initial=0.0) > 0:
            return (int(np.argmax(weight)),)
        undecided = np.minimum(cells, 1 - cells)
        undecided[(undecided < INTEGRAL) | (fixed != OPEN)] = 0.0
        if p.exchanged is not None:
            undecided[p.exchanged[self._owner] > 0] = 0.0
        for row in self._rows:  # first where a row depends on it
            mine = (row.weight > 0) & (undecided[:, row.slot] <= 1)
            undecided[mine, row.slot] += 10 * (undecided[mine, row.slot] > 0)
        if undecided.max(initial=0.0) <= 0:
            return None
        entry, slot = np.unravel_index(int(np.argmax(undecided)), undecided.shape)
        return int(self._owner[entry]), int(entry), int(slot)

    def split(self, node: Node) -> None:
        """Two leaves for one."""
        assert node.branch is not None
        for side in (True, False):
            self.push(Node((*node.path, (node.branch, side)), node.upper))

    def forbid(self, torn: list[Torn]) -> bool:
        """Add rows that cells which do not pack together break, as few of them as still do not; whether there are any.

        Of so many cells that are in such a set, or larger than all of it, one has to be left out.
        """
        p = self._pool
        found = False
        for kind, slot, entry, left in torn:
            kept = list(entry.tolist())
            for e in sorted(entry.tolist(), key=lambda e: (p.rate[e], e)):
                fewer = np.array([each for each in kept if each != e], dtype=np.int64)
                if packed_slot(p.rate[fewer], p.memory[self._owner[fewer]], *left, PACKING_STEPS)[1]:
                    kept = fewer.tolist()
            mine = np.array(kept, dtype=np.int64)
            memory = p.memory[self._owner]
            member = (p.kind == kind) & (p.rate >= p.rate[mine].max()) & (memory >= memory[mine].max())
            member[mine] = True
            self.add_row(Row(kind, slot, member.astype(np.int64), len(mine) - 1))
            found = True
        return found


def warm_tree(p: Pool, capacity: Residual, bound: DualBound, alone: IntArray) -> None:
    """Compile and cache the kernels of the tree by using each once."""
    tree = Tree(p, capacity, bound, alone)
    node = tree.pop()
    assert node is not None
    tree.solve(node, 0, PIVOTS)
    free, free_mb = capacity.free[:, 0].copy(), capacity.free_mb[:, 0].copy()
    packed_slot(p.memory, p.memory, free, free_mb, PACKING_STEPS)
    cells = np.zeros(p.tasks, np.int64)
    filled(p.memory, p.memory, p.memory, p.memory, free, free_mb, STEPS, cells)
    invert(np.eye(1), np.eye(1))
