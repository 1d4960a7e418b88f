"""A batch of tasks on what the nodes have left, as integer programs in which nodes that are alike are one group.

Only in *contended* slots of a type, where the tasks do not all fit at once, are the cells of a class at most those that
the type's groups supply: whole patterns where few are known, else any cells within samples and megabytes. One program
has a column for each schedule, the other counts a task's cells, slots that are alike taken together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ratiobench.formulations.kernels import compiled
from ratiobench.formulations.linear import BoolArray, FloatArray, LinearModel, RowBuilder
from ratiobench.formulations.lora.bound.patterns import list_patterns
from ratiobench.formulations.lora.bound.pricing import Pool, cell_costs, places
from ratiobench.formulations.lora.heuristic.packing import fill_nodes
from ratiobench.formulations.lora.models.tight import covers_in_windows
from ratiobench.instances.lora.model import IntArray

PATTERNS, STEPS = 60, 10_000  # No patterns of nodes that have more maximal ones, or take more steps to list
FILLS = 200  # Steps of the search for the fullest set of cells of one node


class Cells(NamedTuple):
    """Cells of tasks: (cells,) task, entry of its node type, slot from 0."""

    task: IntArray
    entry: IntArray
    slot: IntArray


class Group(NamedTuple):
    """Nodes of a type that are alike in a slot: columns of what they supply, and rows that limit it."""

    slot: int
    nodes: IntArray  # (nodes,) among all
    classes: IntArray
    column: int  # the first of its columns of the supply
    row: int  # the first of its rows, of those that limit groups
    patterns: IntArray | None  # (patterns, classes): a column each, as one node takes them; None: a column per class
    capacity: IntArray  # samples, MB, and cells of each class, of all nodes; one number, the nodes, with patterns


class Supply:
    """Cells that the nodes supply where they are contended."""

    def __init__(self, p: Pool, free: IntArray, free_mb: IntArray, apart: Collection[tuple[int, int]] = ()) -> None:
        self.pool = p
        kinds, slots = p.tariff.shape
        self.roomy = np.zeros((len(p.class_kind), slots), bool)  # where some node has room for a cell
        self.row = np.full((len(p.class_kind), slots), -1)  # of a class's cells, where it is contended
        self.rows = self.columns = self.limits = 0
        self.groups: list[Group] = []
        self.samples: dict[tuple[int, int], int] = {}  # that the nodes of a contended (type, slot) with room have left
        self._place: list[tuple[int, int]] = []  # (type, slot) and samples of the cells of each row
        self._rate: list[int] = []
        demand = np.zeros(self.row.shape, np.int64)
        for i in range(p.tasks):
            demand[p.klass[p.type_start[i] : p.type_start[i + 1]], p.first[i] : p.first[i] + p.width[i]] += 1
        first_node = np.concatenate([[0], np.cumsum(p.nodes)])
        for g in range(kinds):
            classes = np.flatnonzero(p.class_kind == g)
            nodes = slice(first_node[g], first_node[g + 1])
            for t in range(slots):
                left, left_mb = np.ascontiguousarray(free[nodes, t]), np.ascontiguousarray(free_mb[nodes, t])
                room = (left >= p.class_rate[classes, None]) & (left_mb >= p.class_memory[classes, None])
                self.roomy[classes, t] = room.any(axis=1)
                mine = classes[self.roomy[classes, t] & (demand[classes, t] > 0)]
                cells = p.class_rate[mine], p.class_memory[mine], demand[mine, t]
                if len(mine) and ((g, t) in apart or not _fits(*cells, left, left_mb)):
                    self.row[mine, t] = self.rows + np.arange(len(mine))
                    self._place += [(g, t)] * len(mine)
                    self._rate += p.class_rate[mine].tolist()
                    self.rows += len(mine)
                    self.samples[g, t] = int(left[room[mine - classes[0]].any(axis=0)].sum())
                    self._add(mine, t, demand[mine, t], nodes.start, left, left_mb, (g, t) in apart)

    def _add(
        self, classes: IntArray, t: int, most: IntArray, first: int, free: IntArray, free_mb: IntArray, apart: bool
    ) -> None:
        """The groups of a contended slot; with `apart`, no two nodes are one capacity."""
        rate, memory = self.pool.class_rate[classes], self.pool.class_memory[classes]
        node = np.arange(len(free)) if apart else np.zeros(len(free), np.int64)
        left, which = np.unique(np.stack([free, free_mb, node], axis=1), axis=0, return_inverse=True)
        alike: dict[object, tuple[list[IntArray], IntArray | None, IntArray]] = {}
        for j, (samples, mb, _) in enumerate(left.tolist()):
            hosts = np.minimum(most, np.minimum(samples // rate, mb // memory))
            if not hosts.any():
                continue
            nodes = first + np.flatnonzero(which.reshape(-1) == j)
            out = np.empty((PATTERNS, len(classes)), np.int64)
            found = list_patterns(rate, memory, hosts, samples, mb, PATTERNS, STEPS, out)
            if found >= 0:
                alike.setdefault(out[:found].tobytes(), ([], out[:found], np.ones(1, np.int64)))[0].append(nodes)
            else:
                alike[j] = [nodes], None, np.array([samples, mb, *hosts])
        for parts, patterns, capacity in alike.values():
            nodes = np.concatenate(parts)
            capacity = len(nodes) * capacity
            self.groups.append(Group(t, nodes, classes, self.columns, self.limits, patterns, capacity))
            self.columns += len(classes) if patterns is None else len(patterns)
            self.limits += len(capacity)

    def add_rows(self, rows: RowBuilder, row: IntArray, column: IntArray, loads: Mapping[tuple[int, int], int]) -> None:
        """Rows of the supply, for cells in (row, column) of columns that follow its own."""
        p = self.pool
        for place, load in loads.items():
            mine = np.flatnonzero([each == place for each in self._place])
            taken = np.flatnonzero(np.isin(row, mine))
            rows.row(f"load_{place[0]}_{place[1]}", column[taken], np.array(self._rate)[row[taken]], -np.inf, load)
        row_parts, column_parts, value_parts = [row], [column], [np.ones(len(row))]
        limits: list[tuple[IntArray, IntArray, IntArray]] = []
        for g in self.groups:
            if g.patterns is None:
                at = g.column + np.arange(len(g.classes))
                supplied = np.arange(len(at)), np.arange(len(at)), np.ones(len(at), np.int64)
                limits += [
                    (np.full(len(at), g.row), at, p.class_rate[g.classes]),
                    (np.full(len(at), g.row + 1), at, p.class_memory[g.classes]),
                    (g.row + 2 + np.arange(len(at)), at, np.ones(len(at), np.int64)),
                ]
            else:
                at = g.column + np.arange(len(g.patterns))
                which, of_class = np.nonzero(g.patterns)
                supplied = which, of_class, g.patterns[which, of_class]
                limits.append((np.full(len(at), g.row), at, np.ones(len(at), np.int64)))
            row_parts.append(self.row[g.classes, g.slot][supplied[1]])
            column_parts.append(at[supplied[0]])
            value_parts.append(-supplied[2].astype(np.float64))
        if not self.rows:
            return
        row, column = np.concatenate(row_parts), np.concatenate(column_parts)
        rows.block([f"supply_{j}" for j in range(self.rows)], row, column, np.concatenate(value_parts), -np.inf, 0.0)
        limit, of, amount = (np.concatenate(parts) for parts in zip(*limits, strict=True))
        most = np.concatenate([g.capacity for g in self.groups])
        rows.block([f"limit_{j}" for j in range(self.limits)], limit, of, amount, -np.inf, most)

    def worth(self, rent: IntArray, price: FloatArray) -> int:
        """At least what all groups can earn at integer rents (C, T) of a cell; any prices of limits prove something."""
        p = self.pool
        total = 0
        for g in self.groups:
            earned = rent[g.classes, g.slot]
            if g.patterns is not None:
                total += len(g.nodes) * max(0, int((g.patterns @ earned).max()))
                continue
            _, by_mb, *by_class = (round(max(0.0, each)) for each in price[g.row : g.row + len(g.capacity)].tolist())
            rates, memories = p.class_rate[g.classes].tolist(), p.class_memory[g.classes].tolist()
            rest = zip(earned.tolist(), memories, by_class, rates, strict=True)
            by_sample = max(0, *(-(-(each - by_mb * memory - own) // rate) for each, memory, own, rate in rest))
            prices = (by_sample, by_mb, *by_class)
            total += sum(each * size for each, size in zip(prices, g.capacity.tolist(), strict=True))
        return total


def program(
    supply: Supply,
    rows: RowBuilder,
    objective: FloatArray | IntArray,
    upper: IntArray,
    row: IntArray,
    column: IntArray,
    loads: Mapping[tuple[int, int], int] = MappingProxyType({}),
) -> LinearModel:
    """An integer program of a batch: the supply's columns, then those of its tasks."""
    supply.add_rows(rows, row, supply.columns + column, loads)
    size = supply.columns + len(objective)
    model = rows.binary_model(
        "batch", np.concatenate([np.zeros(supply.columns), objective]), tuple(map("x{}".format, range(size)))
    )
    plenty = np.full(supply.columns, float(supply.pool.tasks * int(supply.pool.nodes.max(initial=1))))
    return replace(model, upper=np.concatenate([plenty, upper]))


class Schedules:
    """Schedules of tasks, one after the other, as columns."""

    def __init__(self, supply: Supply) -> None:
        self.supply, p = supply, supply.pool
        self._at = places(p)
        self._task = np.repeat(np.arange(p.tasks), p.width)  # of each place, a slot of a task's window
        self._slot = p.first[self._task] + np.arange(len(self._task)) - self._at[self._task]
        self._net = p.bid - p.price[p.option_start[:-1]]
        self.task: list[int] = []
        self.value: list[int] = []
        self.local: list[IntArray] = []  # (width,) local type in each slot of the task's window, -1 for none
        self._rows: list[IntArray] = []
        self._known: set[tuple[int, int, bytes]] = set()

    def add(self, local: IntArray) -> int:
        """More schedules; those that take the contended cells of another one and are worth the same are left out."""
        p, before = self.supply.pool, len(self.task)
        entry = p.type_start[self._task] + np.maximum(local, 0)
        taken = local >= 0
        cost = np.where(taken, cell_costs(p, self._task, entry, self._slot), 0)
        value = (self._net - np.add.reduceat(cost, self._at)).tolist() if p.tasks else []
        rows = np.where(taken, self.supply.row[p.klass[entry], self._slot], -1)
        for i in np.flatnonzero(np.logical_or.reduceat(taken, self._at)).tolist():
            mine = slice(self._at[i], self._at[i] + p.width[i])
            contended = rows[mine][rows[mine] >= 0]
            key = i, value[i], contended.tobytes()
            if key not in self._known:
                self._known.add(key)
                self.task.append(i)
                self.value.append(value[i])
                self.local.append(local[mine].copy())
                self._rows.append(contended)
        return len(self.task) - before

    def model(
        self, loads: Mapping[tuple[int, int], int] = MappingProxyType({}), closed: BoolArray | None = None
    ) -> LinearModel:
        """At most one schedule of each task, those of `closed` left out; its columns follow those of the supply."""
        count, rows = len(self.task), RowBuilder()
        rows.block(
            [f"task_{i}" for i in range(self.supply.pool.tasks)],
            np.array(self.task, np.int64), self.supply.columns + np.arange(count), np.ones(count), -np.inf, 1.0,
        )  # fmt: skip
        column = np.repeat(np.arange(count), [len(each) for each in self._rows])
        row = np.concatenate([np.zeros(0, np.int64), *self._rows])
        upper = np.ones(count, np.int64)
        if closed is not None:
            upper[closed] = 0
        return program(self.supply, rows, np.array(self.value, np.float64), upper, row, column, loads)

    def tasks(self) -> IntArray:
        """(schedules,) the task of each."""
        return np.array(self.task, dtype=np.int64)

    def reduced_profit(self, rent: IntArray, unit: int) -> IntArray:
        """(schedules,) what each is worth at integer rents (C, T) of a cell, in 1/unit micro-dollars."""
        by_row = np.zeros(self.supply.rows, np.int64)
        at = np.nonzero(self.supply.row >= 0)
        by_row[self.supply.row[at]] = rent[at]
        paid = [int(by_row[each].sum()) for each in self._rows]
        return np.array(self.value, np.int64) * unit - np.array(paid, np.int64)

    def cells(self, values: FloatArray) -> Cells:
        """The cells of the chosen schedules."""
        p = self.supply.pool
        local = np.full(len(self._task), -1)
        for j in np.flatnonzero(values[self.supply.columns :] > 0.5).tolist():
            i = self.task[j]
            local[self._at[i] : self._at[i] + p.width[i]] = self.local[j]
        taken = local >= 0
        task = self._task[taken]
        return Cells(task, p.type_start[task] + local[taken], self._slot[taken])


class CellCounts:
    """The exact program but for groups of several nodes: how many cells of a type a task takes of alike slots."""

    def __init__(self, supply: Supply, tasks: IntArray) -> None:
        self.supply, p = supply, supply.pool
        types = int(np.diff(p.type_start).max(initial=1))
        width = p.width[tasks]
        task = np.repeat(tasks, width)
        slot = np.arange(len(task)) - np.repeat(np.cumsum(width) - width, width) + p.first[task]
        key = np.full((len(task), 2 + 2 * types), -1)  # task, slot where it is contended, and of each type: room, cost
        key[:, 0] = task
        for nth in range(types):
            mine = np.flatnonzero(nth < np.diff(p.type_start)[task])
            entry = p.type_start[task[mine]] + nth
            mine, entry = (part[supply.roomy[p.klass[entry], slot[mine]]] for part in (mine, entry))
            key[mine, 2 + 2 * nth] = 1
            key[mine, 3 + 2 * nth] = cell_costs(p, task[mine], entry, slot[mine])
            contended = supply.row[p.klass[entry], slot[mine]] >= 0
            key[mine[contended], 1] = slot[mine[contended]]
        alike, index, size = np.unique(key, axis=0, return_inverse=True, return_counts=True)
        order = np.argsort(index.reshape(-1), kind="stable")
        self._slots, self._start = slot[order], np.concatenate([[0], np.cumsum(size)])
        self.group, local = np.nonzero(alike[:, 2::2] > 0)
        self.task = alike[self.group, 0]
        self.entry = p.type_start[self.task] + local
        self.upper = size[self.group]
        self.cost = alike[self.group, 3 + 2 * local]
        self._local, self._slot, self._tasks = local, alike[self.group, 1], tasks

    def model(self) -> LinearModel:
        """Columns: whether each task is admitted, then the numbers of cells."""
        p, first = self.supply.pool, self.supply.columns
        rows, count = RowBuilder(), len(self._tasks)
        x = first + count + np.arange(len(self.task))
        u = np.searchsorted(self._tasks, self.task)
        once, at, which = np.unique(self.group, return_index=True, return_inverse=True)
        rows.block(
            [f"once_{j}" for j in range(len(once))],
            np.concatenate([which.reshape(-1), np.arange(len(once))]),
            np.concatenate([x, first + u[at]]),
            np.concatenate([np.ones(len(x)), -self.upper[at]]),
            -np.inf, 0.0,
        )  # fmt: skip
        bounds = np.searchsorted(self.task, np.append(self._tasks, p.tasks))
        for j, i in enumerate(self._tasks.tolist()):
            mine = slice(bounds[j], bounds[j + 1])
            rates = p.rate[p.type_start[i] : p.type_start[i + 1]]
            for k, (weights, needed, _) in enumerate(covers_in_windows(rates, int(p.work[i]), [int(p.width[i])])):
                value = np.append(weights[self._local[mine]], -needed)
                rows.row(f"work_{i}_{k}", np.append(x[mine], first + j), value, 0.0, np.inf)
        row = np.where(self._slot >= 0, self.supply.row[p.klass[self.entry], np.maximum(self._slot, 0)], -1)
        contended = np.flatnonzero(row >= 0)
        net = p.bid[self._tasks] - p.price[p.option_start[self._tasks]]
        upper = np.concatenate([np.ones(count, np.int64), self.upper])
        objective = np.concatenate([net, -self.cost])
        return program(self.supply, rows, objective, upper, row[contended], count + contended)

    def cells(self, values: FloatArray) -> Cells:
        """The cells that are counted, in the first of the slots that are alike."""
        number = np.rint(values[self.supply.columns + len(self._tasks) :]).astype(np.int64)
        before = np.cumsum(number) - number
        first = before - before[np.searchsorted(self.group, self.group)] + self._start[self.group]
        chosen = np.repeat(np.arange(len(number)), number)
        nth = np.arange(len(chosen)) - before[chosen]
        return Cells(self.task[chosen], self.entry[chosen], self._slots[first[chosen] + nth])


def _fits(rate: IntArray, memory: IntArray, count: IntArray, free: IntArray, free_mb: IntArray) -> bool:
    """Whether all cells of a slot find a node."""
    if (rate * count).sum() > free.sum() or (memory * count).sum() > free_mb.sum():
        return False
    return bool((pack_slot(rate, memory, count, free, free_mb).sum(axis=0) == count).all())


def pack_slot(rate: IntArray, memory: IntArray, count: IntArray, free: IntArray, free_mb: IntArray) -> IntArray:
    """(nodes, classes) cells on each node of one slot: the fullest set for one node after the other."""
    take = np.zeros((len(free), len(rate)), np.int64)
    _pack_slot(rate, memory, count.copy(), np.argsort(free, kind="stable"), free, free_mb, np.int64(FILLS), take)
    return take


@compiled
def _pack_slot(rate, memory, left, order, free, free_mb, limit, take):  # type: ignore[no-untyped-def]
    value = np.empty(len(rate), np.float64)
    for c in range(len(rate)):
        value[c] = rate[c]
    for k in order:
        fill_nodes(rate, memory, value, free[k], free_mb[k], k, k + 1, limit, 0.0, left, take)
