"""The cheapest schedule at additive prices.

Linear reduced cost: F'(il) = b_i - q_in - sum over the cells of (lambda_kt s_ik + phi_kt r_i + e_ikt). A cell's cost
does not depend on the other cells, so the covering dynamic programme over count vectors is exact (unlike for the maxima
of equation (10)), a slot's best node of each type is the cheapest one with room, and overshoot is free (clip at 0).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.kernels import compiled, inlined, inner, inner_allocating
from ratiobench.formulations.lora.covering.schedules import (
    STATE_LIMIT,
    TABLE_LIMIT,
    Cover,
    Space,
    StateSpaceTooLarge,
    require_table,
    states,
)
from ratiobench.instances.lora.model import IntArray, Public, Task, freeze

# (G', W) cell costs of the usable types in the slots of the window; None where no node of the type can be taken
Costs = Sequence[Sequence[int | None]]

_EXACT_TABLE_LIMIT = TABLE_LIMIT // 8  # Most entries of a table of Python's integers, which take several times the room

DOUBLES = 2**53  # Whole micro-dollars up to here are doubles


def exact_cover(task: Task, menu: Space, cost: Costs, node: Sequence[Sequence[int]], unit: int = 1) -> Cover | None:
    """The schedule of least vendor price plus cell costs, in 1/unit micro-dollars, by integers of any size.

    Ties: fewest cells, then the lexicographically smallest list of (slot, node); among options the first.
    """
    width = menu.width
    if width == 0 or len(menu.rates) == 0:
        return None
    negative = [sum(value is not None and value < 0 for value in row) for row in cost]
    x = states(menu.rates, task.work, width, np.array(negative, dtype=np.int64), task.index)
    require_table(len(x.cells), width, task.index, _EXACT_TABLE_LIMIT)
    less, size = x.less.tolist(), x.cells.tolist()
    covering = np.flatnonzero(x.work >= task.work).tolist()
    # Least cost of taking exactly x among slots t.. of the window; None where impossible.
    layer: list[int | None] = [0] + [None] * (len(size) - 1)
    table = [layer]
    for t in range(width - 1, -1, -1):
        new = list(layer)
        for row, costs in enumerate(cost):
            step = costs[t]
            if step is None:
                continue
            for state, before in enumerate(less):
                rest = layer[before[row]] if before[row] >= 0 else None
                if rest is not None:
                    value, old = rest + step, new[state]
                    if old is None or value < old:
                        new[state] = value
        layer = new
        table.append(layer)
    table.reverse()
    best: tuple[int, int, int] | None = None
    for option, (offset, price) in enumerate(zip(menu.offsets.tolist(), menu.prices.tolist(), strict=True)):
        if offset < width:
            reached = (table[offset][state] for state in covering)
            values = [value for value in reached if value is not None]
            if values and (best is None or min(values) + price * unit < best[0]):
                best = (min(values) + price * unit, option, min(values))
    if best is None:
        return None
    total, option, least = best
    offset = int(menu.offsets[option])
    tied = [state for state in covering if table[offset][state] == least]
    fewest = min(size[state] for state in tied)
    lists = [_first(cost, node, less, table, offset, state, menu.first) for state in tied if size[state] == fewest]
    return Cover(total, option, tuple((k, t) for t, k in min(lists)))


def cover_in_fractions(
    task: Task, menu: Space, price: Sequence[Sequence[Fraction | None]], node: Sequence[Sequence[int]]
) -> Cover | None:
    """`exact_cover` at prices of cells in micro-dollars to which operation is added; so is its cost."""
    unit = math.lcm(1, *{value.denominator for row in price for value in row if value is not None})
    energy = task.cost[menu.types, menu.first - 1 : menu.last].tolist()
    cost = [
        [None if value is None else int(value * unit) + e * unit for value, e in zip(row, costs, strict=True)]
        for row, costs in zip(price, energy, strict=True)
    ]
    cover = exact_cover(task, menu, cost, node, unit)
    return None if cover is None else cover._replace(cost=Fraction(cover.cost, unit))


def _first(
    cost: Costs,
    node: Sequence[Sequence[int]],
    less: list[list[int]],
    table: list[list[int | None]],
    t: int,
    state: int,
    first: int,
) -> list[tuple[int, int]]:
    """The smallest list of (slot, node) among the covers that attain table[t][state]."""
    listed: list[tuple[int, int]] = []
    while state != 0:
        picks = []
        for row, values in enumerate(cost):
            step, before = values[t], less[state][row]
            rest = table[t + 1][before] if before >= 0 else None
            if step is not None and rest is not None and rest + step == table[t][state]:
                picks.append((node[row][t], before))
        if picks:
            pick, state = min(picks)
            listed.append((t + first, pick))
        t += 1
    return listed


def choose_cheapest(
    price: NDArray[Any], free: NDArray[np.bool_], first_node: IntArray
) -> tuple[IntArray, NDArray[Any]]:
    """(G, W) of each type the cheapest node with room, the first of equals, else -1; and its price, else 0."""
    price = np.where(free, price, np.iinfo(np.int64).max if price.dtype.kind == "i" else np.inf)
    columns = np.arange(price.shape[1])
    nodes, prices = [], []
    for low, high in pairwise(first_node.tolist()):
        best = low + price[low:high].argmin(axis=0)
        usable = free[low:high].any(axis=0)
        nodes.append(np.where(usable, best, -1))
        prices.append(np.where(usable, price[best, columns], 0))
    return np.array(nodes), np.array(prices)


@inlined
def _best_nodes(lam, phi, compute, memory, tested, first_node, types, rates, size, first, cost, cell, node):  # type: ignore[no-untyped-def]
    """cell[g, t]: price and operational cost on the type's cheapest node with room, the first of equals, else inf."""
    width = cell.shape[1]
    for g in range(len(types)):
        best = cell[g]
        where = node[g]
        for t in range(width):
            best[t] = np.inf
            where[t] = -1
        rate = rates[g]
        for k in range(first_node[types[g]], first_node[types[g] + 1]):
            lam_row = lam[k, first : first + width]
            phi_row = phi[k, first : first + width]
            compute_row = compute[k, first : first + width]
            memory_row = memory[k, first : first + width]
            for t in range(width):
                value = lam_row[t] * rate + phi_row[t] * size
                # Without branches, so that it runs on several slots at once.
                better = value < best[t]
                if tested:
                    better = better & (rate <= compute_row[t]) & (size <= memory_row[t])
                best[t] = value if better else best[t]
                where[t] = k if better else where[t]
        for t in range(width):
            best[t] += cost[types[g], first + t]


@inner_allocating
def _rows(rates, work, width, negative, limit):  # type: ignore[no-untyped-def]
    """The count vectors that can matter, as rows: the first (slowest) type's count runs, the other types' is fixed."""
    # Rows are mixed-radix positions of the other types' counts: steps of the positions, counts, where each row begins,
    # its length (0: not needed), the first type's least count that covers, the number of states (-1 above the limit).
    types = len(rates)
    stride = np.ones(types, np.int64)
    caps = np.zeros(types, np.int64)
    positions = 1
    for g in range(1, types):
        stride[g] = positions
        caps[g] = min(width, (work + rates[g] - 1) // rates[g] + negative[g])
        positions *= caps[g] + 1
        if positions > limit:
            positions = 0
            break
    digits = np.zeros((positions, types), np.int64)
    at = np.zeros(positions, np.int64)
    length = np.zeros(positions, np.int64)
    need = np.zeros(positions, np.int64)
    size = 0 if positions > 0 else -1
    for o in range(positions):
        done = 0
        taken = 0
        top = 0
        within = True
        for g in range(1, types):
            count = (o // stride[g]) % (caps[g] + 1)
            digits[o, g] = count
            if count > 0:
                done += count * rates[g]
                taken += count
                top = max(top, rates[g])
                within = within and count <= negative[g]
        # A cell of non-negative cost is dropped from a cover that does not need it.
        if taken <= width and (done < work + top or within):
            need[o] = max(0, (work - done + rates[0] - 1) // rates[0])
            length[o] = min(need[o] + negative[0], width - taken) + 1
            at[o] = size
            size += length[o]
    if types <= 2 and positions > 0:
        # All rows as long as the longest, each after a place that stays impossible: a layer is then two long loops.
        step = 1
        for o in range(positions):
            step = max(step, length[o] + 1)
        for o in range(positions):
            at[o] = o * step + 1
        size = positions * step
    return stride, digits, at, length, need, size


@inlined
def _lower(old, new, step):  # type: ignore[no-untyped-def]
    """new[x] = min(new[x], old[x] + step), as far as `new` goes."""
    for x in range(len(new)):
        value = old[x] + step
        if value < new[x]:
            new[x] = value


@inlined
def _lower_both(old, new, row, step, leap):  # type: ignore[no-untyped-def]
    """new[x] = min(old[x], old[x - 1] + step, old[x - row] + leap) in one pass; rows are `row` long."""
    new[0] = old[0]
    before = old[: row - 1]
    here = old[1:row]
    out = new[1:row]
    for x in range(len(out)):
        best = here[x]
        value = before[x] + step
        if value < best:
            best = value
        out[x] = best
    before = old[row - 1 :]
    here = old[row:]
    above = old[: len(old) - row]
    out = new[row:]
    for x in range(len(out)):
        best = here[x]
        value = before[x] + step
        if value < best:
            best = value
        value = above[x] + leap
        if value < best:
            best = value
        out[x] = best


@inner
def _fill(cell, stride, digits, at, length, table):  # type: ignore[no-untyped-def]
    """table[t, x]: least cost of taking exactly x among slots t.. of the window; inf where impossible."""
    types, width = cell.shape
    for x in range(table.shape[1]):
        table[width, x] = np.inf
    table[width, at[0]] = 0.0
    for t in range(width - 1, -1, -1):
        old = table[t + 1]
        new = table[t]
        if types <= 2:
            row = at[1] - at[0] if len(at) > 1 else len(new)
            _lower_both(old, new, row, cell[0, t], cell[types - 1, t])
            for o in range(len(at)):
                new[at[o] - 1] = np.inf
            continue
        for x in range(len(old)):
            new[x] = old[x]
        if cell[0, t] < np.inf:
            for o in range(len(at)):
                if length[o] > 1:
                    _lower(old[at[o] :], new[at[o] + 1 : at[o] + length[o]], cell[0, t])
        for g in range(1, types):
            if cell[g, t] < np.inf:
                for o in range(stride[g], len(at)):
                    if digits[o, g] > 0 and length[o] > 0:
                        _lower(old[at[o - stride[g]] :], new[at[o] : at[o] + length[o]], cell[g, t])


@inner
def _walk(cell, node, stride, digits, at, table, t, o, j, chosen):  # type: ignore[no-untyped-def]
    """The smallest list of (slot, node) that attains the state; rows [slot, node, type] in `chosen`."""
    types = cell.shape[0]
    n = 0
    while o != 0 or j != 0:
        value = table[t, at[o] + j]
        pick = -1
        if j > 0 and table[t + 1, at[o] + j - 1] + cell[0, t] == value:
            pick = 0
        for g in range(1, types):
            if (
                digits[o, g] > 0
                and table[t + 1, at[o - stride[g]] + j] + cell[g, t] == value
                and (pick < 0 or node[g, t] < node[pick, t])
            ):
                pick = g
        if pick >= 0:
            chosen[n, 0] = t
            chosen[n, 1] = node[pick, t]
            chosen[n, 2] = pick
            n += 1
            if pick == 0:
                j -= 1
            else:
                o -= stride[pick]
        t += 1
    return n


@inlined
def _before(one, other, n):  # type: ignore[no-untyped-def]
    """Whether a list of (slot, node) is lexicographically smaller than another of the same length."""
    for x in range(n):
        if one[x, 0] != other[x, 0]:
            return one[x, 0] < other[x, 0]
        if one[x, 1] != other[x, 1]:
            return one[x, 1] < other[x, 1]
    return False


@inlined
def _outer(digits, o):  # type: ignore[no-untyped-def]
    taken = 0
    for g in range(digits.shape[1]):
        taken += digits[o, g]
    return taken


@inner_allocating
def _by_amounts(cell, node, rates, work, starts, begin, prices, limit):  # type: ignore[no-untyped-def]
    """`_programme` over what is still to be done, in units that divide all rates, where count vectors are too many."""
    # Of equal costs the fewest cells are kept: in doubles two covers whose costs only rounding makes equal may be told
    # apart before the last cells are added.
    types, width = cell.shape
    unit = rates[0]
    for g in range(1, types):
        other = rates[g]
        while other > 0:
            unit, other = other, unit % other
    size = (work + unit - 1) // unit + 1
    chosen = np.empty((width, 3), np.int64)
    if size > limit or size * (width + 1) > TABLE_LIMIT:
        return np.inf, -2, chosen[:0]
    table = np.empty((width + 1, size))
    count = np.empty((width + 1, size), np.int32)
    for w in range(size):
        table[width, w] = np.inf
        count[width, w] = 0
    table[width, 0] = 0.0
    for t in range(width - 1, -1, -1):
        for w in range(size):
            best = table[t + 1, w]
            fewest = count[t + 1, w]
            for g in range(types):
                rest = max(0, w - rates[g] // unit)
                value = table[t + 1, rest] + cell[g, t]
                cells = count[t + 1, rest] + 1
                if value < best or (value == best and value < np.inf and cells < fewest):
                    best = value
                    fewest = cells
            table[t, w] = best
            count[t, w] = fewest
    best = np.inf
    pick = -1
    for option in range(len(starts)):
        if starts[option] - begin < width:
            low = table[starts[option] - begin, size - 1]
            if low + prices[option] < best:
                best = low + prices[option]
                pick = option
    if pick < 0:
        return best, pick, chosen[:0]
    t = starts[pick] - begin
    w = size - 1
    n = 0
    left = count[t, w]
    while left > 0:
        kind = -1
        for g in range(types):
            rest = max(0, w - rates[g] // unit)
            if (
                count[t + 1, rest] + 1 == left
                and table[t + 1, rest] + cell[g, t] == table[t, w]
                and (kind < 0 or node[g, t] < node[kind, t])
            ):
                kind = g
        if kind >= 0:
            chosen[n, 0] = t
            chosen[n, 1] = node[kind, t]
            chosen[n, 2] = kind
            n += 1
            w = max(0, w - rates[kind] // unit)
            left -= 1
        t += 1
    return best, pick, chosen[:n]


@inner_allocating
def _programme(cell, node, rates, work, starts, begin, prices, limit):  # type: ignore[no-untyped-def]
    """The cheapest cover of the cells (inf: cannot be taken), with vendor; ties as `exact_cover`."""
    types, width = cell.shape
    negative = np.zeros(types, np.int64)
    for g in range(types):
        for t in range(width):
            if cell[g, t] < 0:
                negative[g] += 1
    stride, digits, at, length, need, size = _rows(rates, work, width, negative, limit)
    chosen = np.empty((width, 3), np.int64)
    if size < 0 or size * (width + 1) > TABLE_LIMIT:
        return _by_amounts(cell, node, rates, work, starts, begin, prices, limit)
    table = np.empty((width + 1, size))
    _fill(cell, stride, digits, at, length, table)
    best = np.inf
    least = np.inf
    pick = -1
    for option in range(len(starts)):
        if starts[option] - begin < width:
            layer = table[starts[option] - begin]
            low = np.inf
            for o in range(len(at)):
                for x in range(at[o] + need[o], at[o] + length[o]):
                    if layer[x] < low:
                        low = layer[x]
            if low + prices[option] < best:
                best = low + prices[option]
                least = low
                pick = option
    if pick < 0:
        return best, pick, chosen[:0]
    start = starts[pick] - begin
    fewest = width + 1
    for o in range(len(at)):
        for j in range(need[o], length[o]):
            if table[start, at[o] + j] == least:
                fewest = min(fewest, j + _outer(digits, o))
    found = False
    other = np.empty((width, 3), np.int64)
    for o in range(len(at)):
        j = fewest - _outer(digits, o)
        if need[o] <= j < length[o] and table[start, at[o] + j] == least:
            _walk(cell, node, stride, digits, at, table, start, o, j, other)
            if not found or _before(other, chosen, fewest):
                for x in range(fewest):
                    for part in range(3):
                        chosen[x, part] = other[x, part]
                found = True
    return best, pick, chosen[:fewest]


@inlined
def _first_nodes(compute, memory, first_node, types, rates, size, first, cost, cell, node):  # type: ignore[no-untyped-def]
    """cell[g, t]: operational cost on the type's first node with room, inf without any."""
    width = cell.shape[1]
    for g in range(len(types)):
        where = node[g]
        for t in range(width):
            where[t] = -1
        left = width
        for k in range(first_node[types[g]], first_node[types[g] + 1]):
            for t in range(width):
                if where[t] < 0 and rates[g] <= compute[k, first + t] and size <= memory[k, first + t]:
                    where[t] = k
                    left -= 1
            if left == 0:
                break
        for t in range(width):
            cell[g, t] = cost[types[g], first + t] if where[t] >= 0 else np.inf


@inlined
def _least(values):  # type: ignore[no-untyped-def]
    least = values[0]
    for value in values[1:]:
        least = min(least, value)
    return least


@inlined
def _usable(rate, capacity, size):  # type: ignore[no-untyped-def]
    """Types that can hold the task and their rates, the slowest first."""
    types = np.empty(len(rate), np.int64)
    n = 0
    for g in range(len(rate)):
        if 0 < rate[g] <= capacity[0, g] and size <= capacity[1, g]:
            at = n
            while at > 0 and rate[types[at - 1]] > rate[g]:
                types[at] = types[at - 1]
                at -= 1
            types[at] = g
            n += 1
    return types[:n], rate[types[:n]]


@inlined
def _cells(capacity, load, rate, starts):  # type: ignore[no-untyped-def]
    """(usable types, their rates, first slot from 0, room for (types, slots) costs and nodes); no rows if too few."""
    size, needed, deadline = load
    types, rates = _usable(rate, capacity, size)
    first = _least(starts) - 1
    width = max(0, deadline - first)
    rows = len(types)
    if rows == 0 or width == 0 or width * rates[rows - 1] < needed:
        rows = 0
    return types, rates, first, np.empty((rows, width)), np.empty((rows, width), np.int64)


@inlined
def _answer(found, types, rate, first, cost):  # type: ignore[no-untyped-def]
    """(total, option, cells [node, slot from 1], S, sum e) of what `_programme` found."""
    total, option, rows = found
    cells = np.empty((len(rows), 2), np.int64)
    work = 0
    energy = 0
    for x in range(len(rows)):
        g = types[rows[x, 2]]
        cells[x, 0] = rows[x, 1]
        cells[x, 1] = rows[x, 0] + first + 1
        work += rate[g]
        energy += cost[g, rows[x, 0] + first]
    return total, option, cells, work, energy


@compiled
def cheapest_schedule(lam, phi, compute, memory, tested, cluster, load, rate, cost, starts, prices, limit):  # type: ignore[no-untyped-def]
    """(total, option, cells [node, slot], S, sum e) of least cost; option -1 without one, -2 if there are too many."""
    # A cell costs (lambda s + phi r) + e; cells are added from the last slot to the first, then the vendor's price.
    # Ties as `exact_cover`. cluster: `Cluster.arrays`; load: (r_i, M_i, d_i); starts, prices: `offers`.
    size, needed, _ = load
    types, rates, first, cell, node = _cells(cluster[1], load, rate, starts)
    if len(cell) == 0:
        return np.inf, -1, np.empty((0, 2), np.int64), 0, 0
    _best_nodes(lam, phi, compute, memory, tested, cluster[0], types, rates, size, first, cost, cell, node)
    found = _programme(cell, node, rates, needed, starts, first + 1, prices, limit)
    return _answer(found, types, rate, first, cost)


@compiled
def first_schedule(compute, memory, cluster, load, rate, cost, starts, prices, limit):  # type: ignore[no-untyped-def]
    """`cheapest_schedule` where nothing has a price; exact as long as no schedule costs 2^53 micro-dollars."""
    size, needed, _ = load
    types, rates, first, cell, node = _cells(cluster[1], load, rate, starts)
    if len(cell) == 0:
        return np.inf, -1, np.empty((0, 2), np.int64), 0, 0
    _first_nodes(compute, memory, cluster[0], types, rates, size, first, cost, cell, node)
    found = _programme(cell, node, rates, needed, starts, first + 1, prices, limit)
    return _answer(found, types, rate, first, cost)


@compiled
def cheapest_of_cells(cell, node, rates, work, starts, first, prices, limit):  # type: ignore[no-untyped-def]
    """(total, option, rows [column, node, row of `cell`]) of least cost, options as of `cheapest_schedule`."""
    return _programme(cell, node, rates, work, starts, first, prices, limit)


@compiled
def move_prices(lam, phi, cells, cluster, kind, size, rate, growth, eta_c, eta_m, factor):  # type: ignore[no-untyped-def]
    """lambda <- lambda (1 + B d) + eta (v d) on the cells [node, slot], d = s / C_kp; phi likewise."""
    capacity = cluster[1]
    for x in range(len(cells)):
        k, t = cells[x, 0], cells[x, 1] - 1
        share = rate[kind[k]] / capacity[0, kind[k]]
        lam[k, t] = lam[k, t] * (1.0 + growth * share) + eta_c * (factor * share)
        share = size / capacity[1, kind[k]]
        phi[k, t] = phi[k, t] * (1.0 + growth * share) + eta_m * (factor * share)


def too_large(task: Task) -> StateSpaceTooLarge:
    """The error for a task that a compiled search has answered with -2."""
    problem = (
        f"work {task.work} up to slot {task.deadline} takes more than {STATE_LIMIT} count vectors of slots by type "
        f"or amounts of work, or {TABLE_LIMIT} entries of a table of them over the window, the most that are searched"
    )
    return StateSpaceTooLarge(problem, task.index)


class Cluster:
    """What the compiled searches need of the cluster, kept in their form."""

    def __init__(self, public: Public) -> None:
        self.kind = public.type_of_node
        # (G+1,) first nodes, (2, G) samples and MB of an empty node
        self.arrays = (public.first_node, freeze([public.compute, public.memory_mb]))

    def of_one_node_each(self) -> tuple[IntArray, IntArray]:
        return freeze(np.arange(len(self.arrays[0]))), self.arrays[1]


def offers(task: Task) -> tuple[IntArray, IntArray]:
    """(n options,) first usable slots, from 1, and vendor prices."""
    if not task.vendors:
        return np.array([task.arrival], dtype=np.int64), np.array([0], dtype=np.int64)
    # Each in one block: the compiled searches exist for that layout only.
    return (
        np.array([task.arrival + vendor.delay for vendor in task.vendors], dtype=np.int64),
        np.array([vendor.price for vendor in task.vendors], dtype=np.int64),
    )
