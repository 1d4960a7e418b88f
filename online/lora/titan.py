"""Titan, adapted online as in the main paper: a MILP over each slot's arrivals, vendor drawn at random.

All tasks that arrive in a slot are decided together, for good, with the capacity that earlier decisions left. Limits
are HiGHS's own counts with one thread, never seconds. Above 5,000 node-level binaries a batch is solved with pooled
variables per node type and its tasks are then packed onto nodes, first fit by bid; the label says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.backends import Limits, solve
from formulations.linear import LinearModel, RowBuilder
from formulations.report import Termination
from instances.errors import InputError
from instances.lora.model import IntArray, Public, Task
from instances.lora.model import Option as Preprocessing
from instances.lora.solution import Decision
from online.lora.earliest import drawn_vendor
from online.lora.protocol import View
from online.lora.registry import Entry, Option, register

NODE_LEVEL_LIMIT = 5_000


class _Cells(NamedTuple):
    """Binaries x of a batch: task (position in the batch), place (node, or type when pooled), slot, rate, cost."""

    task: IntArray
    place: IntArray
    slot: IntArray
    rate: IntArray
    cost: IntArray


class Titan:
    """max sum (b_i - q_i) u_i - sum e x over the slot's tasks, under P with the residual capacities.

    An unusable drawn vendor is a rejection. At the limit the incumbent is taken; without one the batch is rejected;
    both are counted. No payment rule. Option effort: HiGHS work units per batch (ten of its own stop checks each).
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        if not options["effort"].isdecimal() or int(options["effort"]) < 1:
            raise InputError("algorithm", "titan:effort", f"{options['effort']!r} is not a positive integer")
        self._limits = Limits(work=int(options["effort"]))
        self.counts = {"batches": 0, "pooled": 0, "at_limit": 0, "without_incumbent": 0, "unpacked": 0}

    @property
    def label(self) -> str:
        """`titan:pooled` where any batch was pooled."""
        return "titan:pooled" if self.counts["pooled"] else "titan"

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """Nothing to set up."""
        self._public = public
        self._type_of = public.type_of_node
        self._first_node = public.first_node

    def decide_batch(self, tasks: Sequence[Task], view: View) -> list[Decision | None]:
        """Solve the slot's MILP and decode it."""
        self.counts["batches"] += 1
        vendors = [drawn_vendor(task, self._public) for task in tasks]
        cells = self._node_cells(tasks, vendors, view)
        pooled = len(cells.task) > NODE_LEVEL_LIMIT
        if pooled:
            self.counts["pooled"] += 1
            cells = self._type_cells(tasks, vendors, view)
        if not len(cells.task):
            return [None] * len(tasks)
        chosen = self._solve(tasks, vendors, cells, *self._capacity(view, pooled=pooled))
        return self._placed(tasks, vendors, cells, chosen, view, pooled=pooled)

    def _node_cells(self, tasks: Sequence[Task], vendors: list[Preprocessing], view: View) -> _Cells:
        parts = []
        for j, (task, option) in enumerate(zip(tasks, vendors, strict=True)):
            room = view.room(task, self._public)[:, option.first - 1 : task.deadline]
            node, offset = np.nonzero(room)
            g, slot = self._type_of[node], offset + option.first
            parts.append((np.full(len(node), j), node, slot, task.rate[g], task.cost[g, slot - 1]))
        return _joined(parts)

    def _type_cells(self, tasks: Sequence[Task], vendors: list[Preprocessing], view: View) -> _Cells:
        parts = []
        for j, (task, option) in enumerate(zip(tasks, vendors, strict=True)):
            room = view.room(task, self._public)[:, option.first - 1 : task.deadline]
            some = np.logical_or.reduceat(room, self._first_node[:-1], axis=0)
            g, offset = np.nonzero(some)
            slot = offset + option.first
            parts.append((np.full(len(g), j), g, slot, task.rate[g], task.cost[g, slot - 1]))
        return _joined(parts)

    def _capacity(self, view: View, *, pooled: bool) -> tuple[IntArray, IntArray]:
        if not pooled:
            return view.compute, view.memory_mb
        heads = self._first_node[:-1]
        return np.add.reduceat(view.compute, heads, axis=0), np.add.reduceat(view.memory_mb, heads, axis=0)

    def _solve(
        self, tasks: Sequence[Task], vendors: list[Preprocessing], cells: _Cells, compute: IntArray, memory: IntArray
    ) -> NDArray[np.bool_] | None:
        result = solve("highs", _model(tasks, vendors, cells, compute, memory), self._limits)
        if result.termination is Termination.LIMIT:
            self.counts["at_limit"] += 1
        elif result.termination is not Termination.OPTIMAL:
            raise RuntimeError(f"titan: {result.termination}: {result.message}")
        if result.values is None:
            self.counts["without_incumbent"] += 1
            return None
        chosen: NDArray[np.bool_] = result.values[len(tasks) :] > 0.5
        return chosen

    def _placed(
        self,
        tasks: Sequence[Task],
        vendors: list[Preprocessing],
        cells: _Cells,
        chosen: NDArray[np.bool_] | None,
        view: View,
        *,
        pooled: bool,
    ) -> list[Decision | None]:
        """Decisions from the chosen cells; highest bid first, on what is free, so that nothing can overflow."""
        decisions: list[Decision | None] = [None] * len(tasks)
        if chosen is None:
            return decisions
        compute, memory = view.compute.copy(), view.memory_mb.copy()
        for j in sorted(range(len(tasks)), key=lambda j: (-tasks[j].bid, j)):
            task = tasks[j]
            mine = np.flatnonzero((cells.task == j) & chosen)
            if cells.rate[mine].sum() < task.work:
                continue
            placed = []
            for slot, place in sorted(zip(cells.slot[mine].tolist(), cells.place[mine].tolist(), strict=True)):
                nodes = range(self._first_node[place], self._first_node[place + 1]) if pooled else (place,)
                node = next((k for k in nodes if self._fits(task, k, slot, compute, memory)), None)
                if node is None:
                    break
                placed.append((int(node), slot))
            else:
                for node, slot in placed:
                    compute[node, slot - 1] -= task.rate[self._type_of[node]]
                    memory[node, slot - 1] -= task.memory_mb
                decisions[j] = Decision(vendors[j].vendor, tuple(placed))
                continue
            self.counts["unpacked"] += 1
        return decisions

    def _fits(self, task: Task, node: int, slot: int, compute: IntArray, memory: IntArray) -> bool:
        rate = task.rate[self._type_of[node]]
        return bool(rate <= compute[node, slot - 1] and task.memory_mb <= memory[node, slot - 1])


def _joined(parts: Sequence[tuple[IntArray, ...]]) -> _Cells:
    return _Cells(*(np.concatenate(column).astype(np.int64) for column in zip(*parts, strict=True)))


def _model(
    tasks: Sequence[Task], vendors: list[Preprocessing], cells: _Cells, compute: IntArray, memory: IntArray
) -> LinearModel:
    """The batch's MILP: columns u, then x."""
    count, size = len(tasks), len(cells.task)
    x = count + np.arange(size)
    rows = RowBuilder()

    def grouped(key: IntArray) -> tuple[IntArray, IntArray]:
        values, group = np.unique(key, return_inverse=True)
        return values, group.astype(np.int64)

    def add(
        name: str, groups: int, row: IntArray, column: IntArray, value: IntArray, low: object, high: object
    ) -> None:
        rows.block([f"{name}_{j}" for j in range(groups)], row, column, value, low, high)

    # One node per slot, and only when admitted: (4b), (4i).
    once, group = grouped(cells.task * 100_000 + cells.slot)
    add("once", len(once), np.concatenate([group, np.arange(len(once))]), np.concatenate([x, once // 100_000]),
        np.concatenate([np.ones(size, np.int64), -np.ones(len(once), np.int64)]), -np.inf, 0.0)  # fmt: skip
    # Work (4e).
    work = np.array([task.work for task in tasks])
    add("work", count, np.concatenate([cells.task, np.arange(count)]), np.concatenate([x, np.arange(count)]),
        np.concatenate([np.minimum(cells.rate, work[cells.task]), -work]), 0.0, np.inf)  # fmt: skip
    # Capacities (4f), (4g), with what is left.
    where, group = grouped(cells.place * 100_000 + cells.slot)
    left = (where // 100_000, where % 100_000 - 1)
    size_mb = np.array([task.memory_mb for task in tasks])[cells.task]
    add("compute", len(where), group, x, cells.rate, -np.inf, compute[left])
    add("memory", len(where), group, x, size_mb, -np.inf, memory[left])
    start, index, value, low, high = rows.csr()
    gain = np.array([task.bid - option.price for task, option in zip(tasks, vendors, strict=True)])
    model = LinearModel(
        name="titan",
        objective=np.concatenate([gain, -cells.cost]).astype(np.float64),
        lower=np.zeros(count + size),
        upper=np.ones(count + size),
        integer=np.ones(count + size, np.bool_),
        row_start=start,
        index=index,
        value=value,
        row_lower=low,
        row_upper=high,
        columns=tuple([f"u_{j}" for j in range(count)] + [f"x_{j}" for j in range(size)]),
        rows=tuple(rows.names),
    )
    return model.reduced()[0]


register(
    Entry(
        "titan",
        "a MILP over each slot's arrivals (HiGHS), vendor drawn",
        "1",
        {"effort": Option("1", None, "HiGHS work units per batch, ten of its own stop checks each")},
        Titan,
    )
)
