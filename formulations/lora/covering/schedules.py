"""P1, the schedule-selection view of P (eq. 5): one task's schedules, and the covering dynamic programme over them.

A schedule takes, in each slot of a window, at most one node, until the work M_i is covered. Nodes of a type have the
same rate, so its work S and number of cells n depend only on its *count vector* x, the slots on each type: S = sum_g
x_g s_g, n = sum_g x_g. The programme runs over count vectors and optimises a sum of cell costs exactly.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.kernels import compiled
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.model import IntArray, Public, Task

FAR = 2**60  # Cost of the impossible in integer tables: above any sum of cell costs (10^4 slots times 2^40, and prices)
STATE_LIMIT = 20_000_000  # Most count vectors of one task
TABLE_LIMIT = 2**27  # Most entries of one task's table, count vectors times slots: 1 GiB in 64 bits

REMEDY = "longer slots (`import --slot 10m`, the key `slot` of a recipe) or fewer node types make it smaller"


class StateSpaceTooLarge(InputError):
    """A task has too many node types and slots, or too much work in small steps, for the exact dynamic programme."""

    def __init__(self, problem: str, task: int | None = None) -> None:
        super().__init__("", "" if task is None else f"tasks[{task}]", f"{problem}; {REMEDY}")
        self.task = task


def require_table(size: int, width: int, task: int | None = None, limit: int = TABLE_LIMIT) -> None:
    """Refuse a table that would not fit: `size` states in each of `width` slots and after them."""
    if size * (width + 1) > limit:
        problem = f"{size} count vectors in each of {width} slots are too many for a table of at most {limit} entries"
        raise StateSpaceTooLarge(problem, task)


class States(NamedTuple):
    """The count vectors that can matter for a task, the empty one first."""

    counts: IntArray  # (N, G') slots taken on each usable type
    work: IntArray  # (N,) S(x), samples
    cells: IntArray  # (N,) n(x)
    less: IntArray  # (N, G') index of x with one slot of a type fewer, -1 where x_g = 0


class Space(NamedTuple):
    """The schedules of a task: usable types, window and count vectors."""

    # (G',) node types that can hold the task (0 < s <= C_p and r <= C_m - r_b); none where not even the fastest of them
    # does the work in the widest window: the task has no schedule.
    types: IntArray
    rates: IntArray  # (G',) s_ik on them
    first: int  # first, last: the slots of the widest window, both included
    last: int
    # (n options,) first usable slot of each pre-processing option minus `first`; more than the width if none.
    offsets: IntArray
    prices: IntArray  # (n options,) vendor prices

    @property
    def width(self) -> int:
        return max(0, self.last - self.first + 1)


@lru_cache(maxsize=16)
def _capacities(public: Public) -> tuple[IntArray, IntArray]:
    return public.compute, public.memory_mb


def space(task: Task, public: Public) -> Space:
    """The window and the usable node types of a task; both may be empty."""
    compute, memory = _capacities(public)
    usable = (task.rate > 0) & (task.rate <= compute) & (task.memory_mb <= memory)
    types = np.flatnonzero(usable)
    options = task.options
    starts = [min(option.first, task.deadline + 1) for option in options]
    first = min(starts)
    if len(types) and (task.deadline - first + 1) * int(task.rate[types].max()) < task.work:
        types = types[:0]
    return Space(
        types=types,
        rates=task.rate[types],
        first=first,
        last=task.deadline,
        offsets=np.array([start - first for start in starts], dtype=np.int64),
        prices=np.array([option.price for option in options], dtype=np.int64),
    )


@compiled
def _count_states(rates, work, caps, negative, width, counts, total, cells, less, index, fill):  # type: ignore[no-untyped-def]
    """Walk the count vectors in mixed-radix order and keep those that can matter; with `fill` write them down."""
    types = len(rates)
    digits = np.zeros(types, np.int64)
    strides = np.ones(types, np.int64)
    for g in range(1, types):
        strides[g] = strides[g - 1] * (caps[g - 1] + 1)
    count = 0
    position = 0
    while True:
        s = 0
        n = 0
        top = 0
        within = True
        for g in range(types):
            if digits[g] > 0:
                s += digits[g] * rates[g]
                n += digits[g]
                if rates[g] > top:
                    top = rates[g]
                if digits[g] > negative[g]:
                    within = False
        # A cell of non-negative cost is dropped from a cover that does not need it, so a schedule that matters
        # is short of M without one of its cells, or has negative cells only.
        if n <= width and (n == 0 or s < work + top or within):
            if fill:
                for g in range(types):
                    counts[count, g] = digits[g]
                    less[count, g] = index[position - strides[g]] if digits[g] > 0 else -1
                total[count] = s
                cells[count] = n
                index[position] = count
            count += 1
        g = 0
        while g < types and digits[g] == caps[g]:
            position -= digits[g] * strides[g]
            digits[g] = 0
            g += 1
        if g == types:
            return count
        digits[g] += 1
        position += strides[g]


def states(rates: IntArray, work: int, width: int, negative: IntArray | None = None, task: int | None = None) -> States:
    """The count vectors that can be optimal for some cell costs with `negative` slots of negative cost of each type."""
    if negative is None:
        negative = np.zeros(len(rates), dtype=np.int64)
    caps = np.minimum(width, np.maximum(-(-work // rates), negative)).astype(np.int64)
    positions = 1
    for cap in caps.tolist():
        positions *= cap + 1
    if positions > STATE_LIMIT:
        problem = f"{len(rates)} node types and {width} slots give {positions} count vectors; at most {STATE_LIMIT}"
        raise StateSpaceTooLarge(f"{problem} are searched", task)
    empty = np.zeros((0, 0), np.int64)
    none = np.zeros(0, np.int64)
    size = _count_states(rates, work, caps, negative, width, empty, none, none, empty, none, False)
    require_table(size, width, task)
    counts = np.zeros((size, len(rates)), np.int64)
    less = np.full((size, len(rates)), -1, np.int64)
    total, cells = np.zeros(size, np.int64), np.zeros(size, np.int64)
    index = np.full(positions, -1, np.int64)
    _count_states(rates, work, caps, negative, width, counts, total, cells, less, index, True)
    return States(counts, total, cells, less)


@compiled
def cover_table(cost, usable, less, far, table):  # type: ignore[no-untyped-def]
    """Fill table[t, x], (W+1, N): least cost of taking exactly x among slots t.. of the window; `far` if impossible."""
    types, width = cost.shape
    size = less.shape[0]
    table[width, 0] = 0
    for x in range(1, size):
        table[width, x] = far
    for t in range(width - 1, -1, -1):
        for x in range(size):
            best = table[t + 1, x]
            for g in range(types):
                if usable[g, t] and less[x, g] >= 0:
                    rest = table[t + 1, less[x, g]]
                    if rest < far:
                        value = rest + cost[g, t]
                        if value < best:
                            best = value
            table[t, x] = best


@compiled
def first_cover(cost, usable, node, less, far, table, start, x):  # type: ignore[no-untyped-def]
    """(n, 2) [node, slot offset]: the smallest list of (slot, node) among the covers that attain table[start, x]."""
    types, width = cost.shape
    chosen = np.empty((width, 2), np.int64)
    n = 0
    t = start
    while x != 0:
        pick = -1
        for g in range(types):
            if usable[g, t] and less[x, g] >= 0:
                rest = table[t + 1, less[x, g]]
                if rest < far and rest + cost[g, t] == table[t, x] and (pick < 0 or node[g, t] < node[pick, t]):
                    pick = g
        if pick >= 0:
            chosen[n, 0] = node[pick, t]
            chosen[n, 1] = t
            n += 1
            x = less[x, pick]
        t += 1
    return chosen[:n]


class Cover(NamedTuple):
    """A cheapest schedule: total cost with the vendor's price, the option's index, and its (node, slot) cells."""

    cost: Any
    option: int
    cells: tuple[tuple[int, int], ...]


def cheapest_cover(
    task: Task, public: Public, cost: NDArray[Any], usable: NDArray[np.bool_], node: IntArray, unit: int = 1
) -> Cover | None:
    """The schedule of least vendor price times `unit` plus cell costs, exactly; none if no schedule covers the work.

    Ties: fewest cells, then the lexicographically smallest list of (slot, node); among options the first.
    `usable`, `node`: (G, T) whether some node of the type can be taken in the slot, and which one that is.
    """
    menu = space(task, public)
    if menu.width == 0 or len(menu.types) == 0:
        return None
    window = slice(menu.first - 1, menu.last)
    cell_cost = np.ascontiguousarray(cost[menu.types, window])
    cell_open = np.ascontiguousarray(usable[menu.types, window])
    cell_node = np.ascontiguousarray(node[menu.types, window])
    negative = ((cell_cost < 0) & cell_open).sum(axis=1).astype(np.int64)
    x = states(menu.rates, task.work, menu.width, negative, task.index)
    integral = cell_cost.dtype.kind == "i"
    far = FAR if integral else np.inf
    table = np.empty((menu.width + 1, len(x.work)), dtype=np.int64 if integral else np.float64)
    cover_table(cell_cost, cell_open, x.less, far, table)
    covering = np.flatnonzero(x.work >= task.work)
    best: tuple[Any, int, int, list[tuple[int, int]]] | None = None
    for option, (offset, price) in enumerate(zip(menu.offsets.tolist(), menu.prices.tolist(), strict=True)):
        if offset >= menu.width:
            continue
        values = table[offset, covering]
        least = values.min(initial=far)
        if least >= far:
            continue
        total = price * unit + (int(least) if integral else float(least))
        if best is not None and total >= best[0]:
            continue
        tied = covering[values == least]
        fewest = x.cells[tied].min()
        lists = []
        for candidate in tied[x.cells[tied] == fewest].tolist():
            cells = first_cover(cell_cost, cell_open, cell_node, x.less, far, table, offset, candidate)
            lists.append([(int(t) + menu.first, int(k)) for k, t in cells])
        best = (total, int(fewest), option, min(lists))
    if best is None:
        return None
    return Cover(best[0], best[2], tuple((k, t) for t, k in best[3]))


class Extremes(NamedTuple):
    """All minimal covers of an option: work S, cells n, least rate that is used, least and largest operational cost."""

    option: int
    price: int
    work: IntArray
    cells: IntArray
    slowest: IntArray
    least_cost: IntArray
    largest_cost: IntArray


def minimal_covers(task: Task, public: Public, *, every_cover: bool = False) -> list[Extremes]:
    """The minimal covers (or, on request, all covers) of each option; empty where there is none."""
    menu = space(task, public)
    if menu.width == 0 or len(menu.types) == 0:
        return []
    cost = np.ascontiguousarray(task.cost[menu.types, menu.first - 1 : menu.last])
    everywhere = np.ones(cost.shape, np.bool_)
    reach = np.full(len(menu.types), menu.width if every_cover else 0, dtype=np.int64)
    x = states(menu.rates, task.work, menu.width, reach, task.index)
    least = np.empty((menu.width + 1, len(x.work)), np.int64)
    largest = np.empty_like(least)
    cover_table(cost, everywhere, x.less, FAR, least)
    cover_table(-cost, everywhere, x.less, FAR, largest)
    slowest = np.where(x.counts > 0, menu.rates[None, :], np.iinfo(np.int64).max).min(axis=1)
    keep = x.work >= task.work
    if not every_cover:
        keep &= x.work - slowest < task.work
    found = []
    for option, (offset, price) in enumerate(zip(menu.offsets.tolist(), menu.prices.tolist(), strict=True)):
        if offset >= menu.width:
            continue
        here = np.flatnonzero(keep & (least[offset] < FAR))
        if len(here):
            found.append(
                Extremes(option, price, x.work[here], x.cells[here], slowest[here], least[offset, here],
                         -largest[offset, here])
            )  # fmt: skip
    return found


def standalone_value(task: Task, public: Public) -> int:
    """max(0, best net value of the task alone on an empty cluster), micro-dollars."""
    everywhere = np.ones(task.cost.shape, np.bool_)
    cover = cheapest_cover(task, public, task.cost, everywhere, np.zeros(task.cost.shape, np.int64))
    return 0 if cover is None else max(0, task.bid - int(cover.cost))
