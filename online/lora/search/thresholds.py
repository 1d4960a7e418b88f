"""Branch and bound over pairs of price thresholds: the compiled core of the exact search for (9).

A pair (lambda-hat, phi-hat) admits the cells priced at most so. On them the least E of every count vector x is a
covering dynamic programme, and F <= b - q - E(x) - lambda-hat S(x) - phi-hat R(x), with equality where the thresholds
are the schedule's own maxima. A box of pairs is bounded by the E of its upper corner and the prices of its lower one.
With `slack` = 0 no pair that reaches the best F as computed in doubles is lost: rounding is monotone, so a bound
computed in the same order of operations is a bound.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.kernels import compiled, compiled_in_place, inlined, inner, sort_stably
from ratiobench.formulations.lora.covering.schedules import FAR, States
from ratiobench.instances.lora.model import IntArray

_MARGIN = 1e-12  # Relative rounding error that the inverse of the bound is given; it costs a few pairs and loses none
_MOST = 256  # Rows of schedules, and of boxes, for which there is room at first; more are rare
_SMALL_FAR = 2**30  # Cost of the impossible where all sums of costs are below half of it, so that they fit 32 bits


class Cells(NamedTuple):
    """The undominated prices of every (type, slot), as indices into the distinct ones."""

    begin: IntArray  # (G' W + 1,) entries of cell g W + t are begin[..] .. begin[.. + 1] - 1, by ascending lambda
    lam_at: IntArray  # lam_at, phi_at: (P,) indices of the entries' prices
    phi_at: IntArray
    lam: NDArray[np.float64]  # lam, phi: the distinct prices as doubles, ascending
    phi: NDArray[np.float64]


class Layout(NamedTuple):
    """Count vectors as rows: the first type's count runs over a contiguous row, the other types' is fixed in it."""

    cost: NDArray[Any]  # (G', W) int32 where sums fit, else int64; the slowest type first
    rates: IntArray  # rates, work: of the task
    work: int
    far: NDArray[Any]  # cost of the impossible, an array of one element of the type of `cost`
    less: IntArray  # less, state_work, state_cells: from `States`
    state_work: IntArray
    state_cells: IntArray
    # (rows + 1,) first state of each row; outer, need: its cells without the first type's, and the least count of the
    # first type that covers.
    start: IntArray
    outer: IntArray
    need: IntArray
    before: IntArray  # (rows, G') row with one slot of a type fewer, -1 where there is none; the first column is unused
    cover: IntArray  # cover, cover_row: states that cover the work, and their rows
    cover_row: IntArray


@inlined
def list_undominated(lam, phi, first, last, begin, lam_of, phi_of):  # type: ignore[no-untyped-def]
    """Fill in the price pairs of each (type, slot) that no other node undercuts in both, and return their number."""
    width = lam.shape[0]
    rows = 0
    for g in range(len(first)):
        for t in range(width):
            here = rows
            begin[g * width + t] = here
            for k in range(first[g], last[g]):
                a = lam[t, k]
                b = phi[t, k]
                beaten = False
                for j in range(here, rows):
                    if lam_of[j] <= a and phi_of[j] <= b:
                        beaten = True
                        break
                if beaten:
                    continue
                write = here
                for j in range(here, rows):
                    if not (a <= lam_of[j] and b <= phi_of[j]):
                        lam_of[write] = lam_of[j]
                        phi_of[write] = phi_of[j]
                        write += 1
                rows = write + 1
                while write > here and lam_of[write - 1] > a:
                    lam_of[write] = lam_of[write - 1]
                    phi_of[write] = phi_of[write - 1]
                    write -= 1
                lam_of[write] = a
                phi_of[write] = b
    begin[len(first) * width] = rows
    return rows


@inlined
def _distinct(values):  # type: ignore[no-untyped-def]
    keys = np.empty_like(values)
    at = np.empty(len(values), np.int64)
    count = 0
    for place in sort_stably(values):
        if count == 0 or values[place] != keys[count - 1]:
            keys[count] = values[place]
            count += 1
        at[place] = count - 1
    return keys[:count].copy(), at


@compiled
def rank_prices(lam, phi, first, last):  # type: ignore[no-untyped-def]
    """(begin, lam_at, phi_at, distinct lambdas, distinct phis) of the undominated cells; see `Cells`."""
    begin = np.empty(len(first) * lam.shape[0] + 1, np.int64)
    lam_of = np.empty(lam.size, lam.dtype)
    phi_of = np.empty(phi.size, phi.dtype)
    rows = list_undominated(lam, phi, first, last, begin, lam_of, phi_of)
    lam_keys, lam_at = _distinct(lam_of[:rows])
    phi_keys, phi_at = _distinct(phi_of[:rows])
    return begin, lam_at, phi_at, lam_keys, phi_keys


@compiled
def _rows(less, state_work, state_cells, rate, work):  # type: ignore[no-untyped-def]
    size, types = less.shape
    row_of = np.empty(size, np.int64)
    rows = 0
    for x in range(size):
        if less[x, 0] < 0:
            rows += 1
        row_of[x] = rows - 1
    start = np.empty(rows + 1, np.int64)
    outer = np.empty(rows, np.int64)
    need = np.empty(rows, np.int64)
    before = np.full((rows, types), -1, np.int64)
    start[rows] = size
    covering = 0
    for x in range(size):
        if state_work[x] >= work:
            covering += 1
        if less[x, 0] < 0:
            o = row_of[x]
            start[o] = x
            outer[o] = state_cells[x]
            need[o] = max(0, (work - state_work[x] + rate - 1) // rate)
            for g in range(1, types):
                if less[x, g] >= 0:
                    before[o, g] = row_of[less[x, g]]
    cover = np.empty(covering, np.int64)
    cover_row = np.empty(covering, np.int64)
    covering = 0
    for x in range(size):
        if state_work[x] >= work:
            cover[covering] = x
            cover_row[covering] = row_of[x]
            covering += 1
    return start, outer, need, before, cover, cover_row


def layout(x: States, cost: IntArray, rates: IntArray, work: int) -> Layout:
    """The rows of the count vectors, with costs in the narrowest type that holds their sums; rates ascending."""
    small = 2 * int(np.abs(cost).max(axis=0).sum()) < _SMALL_FAR
    kind = np.int32 if small else np.int64
    far = np.array([_SMALL_FAR if small else FAR], dtype=kind)
    rows = _rows(x.less, x.work, x.cells, rates[0], work)
    return Layout(cost.astype(kind), rates, work, far, x.less, x.work, x.cells, *rows)


@inner
def open_cells(cells, i, j, usable):  # type: ignore[no-untyped-def]
    """Mark the cells that the pair admits; returns the largest indices among their entries that it admits."""
    types, width = usable.shape
    top_lam = -1
    top_phi = -1
    for g in range(types):
        for t in range(width):
            first = cells.begin[g * width + t]
            entry = cells.begin[g * width + t + 1] - 1
            while entry >= first and cells.lam_at[entry] > i:
                entry -= 1
            admitted = entry >= first and cells.phi_at[entry] <= j
            usable[g, t] = admitted
            if admitted:
                top_lam = max(top_lam, cells.lam_at[entry])
                while entry > first and cells.phi_at[entry - 1] <= j:
                    entry -= 1
                top_phi = max(top_phi, cells.phi_at[entry])
    return top_lam, top_phi


@inlined
def _most_work(usable, rates):  # type: ignore[no-untyped-def]
    """The work of every slot's fastest usable type together."""
    types, width = usable.shape
    total = 0
    for t in range(width):
        fastest = 0
        for g in range(types):
            if usable[g, t] and rates[g] > fastest:
                fastest = rates[g]
        total += fastest
    return total


@inner
def limit(p, wanted, length):  # type: ignore[no-untyped-def]
    """length[o]: how much of row o the wanted covers can come from; 0 for rows that none needs."""
    for o in range(len(length)):
        length[o] = 0
    for c in range(len(p.cover)):
        if wanted[c]:
            o = p.cover_row[c]
            length[o] = max(length[o], p.cover[c] - p.start[o] + 1)
    for o in range(len(length) - 1, 0, -1):
        if length[o] > 0:
            for g in range(1, len(p.rates)):
                if p.before[o, g] >= 0:
                    length[p.before[o, g]] = max(length[p.before[o, g]], length[o])


@inner
def fill(p, usable, length, slot_of, table):  # type: ignore[no-untyped-def]
    """Fill table[m, x]: least cost of taking exactly x among the last m usable slots; returns the number of those."""
    # slot_of[m] is the m-th usable slot from the end. Entries are filled where at most m cells reach them and the slots
    # that are left can complete a cover, up to `length` of each row; `far`, within half, is the impossible.
    types, width = p.cost.shape
    rows = len(p.outer)
    slots = 0
    for t in range(width):
        for g in range(types):
            if usable[g, t]:
                slots += 1
                break
    fastest = 0
    for g in range(types):
        fastest = max(fastest, p.rates[g])
    # Taking one slot of any type lowers a row's need by at most this.
    step = (fastest + p.rates[0] - 1) // p.rates[0]
    for x in range(table.shape[1]):
        table[0, x] = p.far[0]
    table[0, 0] = 0
    m = 0
    for t in range(width - 1, -1, -1):
        some = False
        for g in range(types):
            some = some or usable[g, t]
        if not some:
            continue
        m += 1
        slot_of[m] = t
        old = table[m - 1]
        new = table[m]
        left = slots - m
        for o in range(rows):
            free = m - p.outer[o]
            if length[o] == 0 or free < -1:
                continue
            begin = p.start[o]
            if free + 1 < length[o]:
                new[begin + free + 1] = p.far[0]
            low = max(0, p.need[o] - left * step)
            high = min(length[o], free + 1)
            if high <= low:
                continue
            target = new[begin + low : begin + high]
            if usable[0, t]:
                cost = p.cost[0, t]
                skip = 0
                if low == 0:
                    target[0] = old[begin]
                    skip = 1
                stay = old[begin + low + skip : begin + high]
                take = old[begin + low + skip - 1 : begin + high - 1]
                for j in range(high - low - skip):
                    value = p.cost.dtype.type(take[j] + cost)
                    target[skip + j] = value if value < stay[j] else stay[j]
            else:
                stay = old[begin + low : begin + high]
                for j in range(high - low):
                    target[j] = stay[j]
            for g in range(1, types):
                if usable[g, t] and p.before[o, g] >= 0:
                    cost = p.cost[g, t]
                    origin = p.start[p.before[o, g]]
                    take = old[origin + low : origin + high]
                    for j in range(high - low):
                        value = p.cost.dtype.type(take[j] + cost)
                        target[j] = value if value < target[j] else target[j]
    return m


@inlined
def _layer(slot_of, m, offset):  # type: ignore[no-untyped-def]
    """The number of usable slots from `offset` on."""
    while m > 0 and slot_of[m] < offset:
        m -= 1
    return m


@inlined
def _own_maxima(p, cells, usable, slot_of, table, m, x, i, j):  # type: ignore[no-untyped-def]
    """The largest price indices of a cover that attains table[m, x], taking each cell's cheapest lambda, then phi."""
    width = p.cost.shape[1]
    top_lam = 0
    top_phi = 0
    while x != 0:
        t = slot_of[m]
        for g in range(len(p.rates)):
            rest = p.less[x, g]
            if usable[g, t] and rest >= 0 and table[m - 1, rest] + p.cost[g, t] == table[m, x]:
                first = cells.begin[g * width + t]
                entry = cells.begin[g * width + t + 1] - 1
                while cells.lam_at[entry] > i:
                    entry -= 1
                while entry > first and cells.phi_at[entry - 1] <= j:
                    entry -= 1
                top_lam = max(top_lam, cells.lam_at[entry])
                top_phi = max(top_phi, cells.phi_at[entry])
                x = rest
                break
        m -= 1
    return top_lam, top_phi


@inner
def _at_most(prices, low, high, cap):  # type: ignore[no-untyped-def]
    while low < high:
        middle = (low + high + 1) // 2
        if prices[middle] <= cap:
            low = middle
        else:
            high = middle - 1
    return low


@inner
def _between(prices, low, high):  # type: ignore[no-untyped-def]
    """Where to split low..high (low < high): by value, but no part less than a quarter of the indices."""
    quarter = (high - low) // 4
    middle = _at_most(prices, low, high, 0.5 * (prices[low] + prices[high]))
    return max(low, min(high - 1, max(low + quarter, min(middle, high - 1 - quarter))))


class _Scratch(NamedTuple):
    """What `_find_pairs` works on: per cover, per slot, and as many rows as may be needed."""

    work: IntArray  # work, memory, wanted, value, at: (covers,)
    memory: IntArray
    wanted: NDArray[np.bool_]
    value: NDArray[np.float64]  # largest net of each cover at the upper corner of the box
    at: IntArray  # and the layer where it stands
    usable: NDArray[np.bool_]  # (G', W)
    slot_of: IntArray  # (W + 1,)
    table: NDArray[Any]  # (W + 1, states), as the costs
    length: IntArray  # (rows,)
    layer: IntArray  # (options,)
    found: IntArray  # found, figure: schedules that are near the best; boxes, values: those that wait
    figure: NDArray[np.float64]
    boxes: IntArray
    values: NDArray[np.float64]


def best_pairs(
    p: Layout, cells: Cells, memory: int, offsets: IntArray, net: IntArray, scale: float, slack: float
) -> tuple[float, IntArray]:
    """The best F, and rows [lam index, phi index, option, state, E] of what comes within the tolerance of it."""
    (types, width), covers = p.cost.shape, len(p.cover)
    most = _MOST
    while True:
        d = _Scratch(
            np.empty(covers, np.int64), np.empty(covers, np.int64), np.empty(covers, np.bool_), np.empty(covers),
            np.empty(covers, np.int64), np.zeros((types, width), np.bool_), np.empty(width + 1, np.int64),
            np.empty((width + 1, len(p.state_work)), p.cost.dtype), np.empty(len(p.outer), np.int64),
            np.empty(len(offsets), np.int64), np.empty((most, 5), np.int64), np.empty(most),
            np.empty((most, 5), np.int64), np.empty((most, covers)),
        )  # fmt: skip
        best, rows = _find_pairs(p, cells, memory, offsets, net, scale, slack, d)
        if rows >= 0:
            return best, d.found[:rows]
        most *= 8


@compiled_in_place
def _find_pairs(p, cells, memory, offsets, net, scale, slack, d):  # type: ignore[no-untyped-def]
    """The best F, and how many rows of `d.found` come within the tolerance of it; -1 where there are more than fit."""
    covers = len(p.cover)
    lam, phi = cells.lam, cells.phi
    work, memory_used, wanted, value, at = d.work, d.memory, d.wanted, d.value, d.at
    usable, slot_of, table, length, layer = d.usable, d.slot_of, d.table, d.length, d.layer
    found, figure, boxes, values = d.found, d.figure, d.boxes, d.values
    for c in range(covers):
        work[c] = p.state_work[p.cover[c]]
        memory_used[c] = memory * p.state_cells[p.cover[c]]
    impossible = p.far[0] // 2
    rows = np.int64(0)  # a literal would compile `_keep` twice
    best = -np.inf
    boxes[0, 0], boxes[0, 1], boxes[0, 2], boxes[0, 3], boxes[0, 4] = 0, len(lam) - 1, 0, len(phi) - 1, 0
    for c in range(covers):
        values[0, c] = np.inf
    depth = 1
    while depth > 0:
        depth -= 1
        i1, i2, j1, j2, solved = boxes[depth]
        for c in range(covers):
            value[c] = values[depth, c]
        while True:
            least = best - slack * (scale + abs(best)) if best > -np.inf else -np.inf
            if not solved:
                # Pairs above the largest admitted prices admit the same cells as those, at no lower price.
                i2, j2 = open_cells(cells, i2, j2, usable)
                if i2 < i1 or j2 < j1 or _most_work(usable, p.rates) < p.work:
                    break
                some = False
                for c in range(covers):
                    wanted[c] = (value[c] - lam[i1] * work[c]) - phi[j1] * memory_used[c] >= least
                    some = some or wanted[c]
                if not some:
                    break
                limit(p, wanted, length)
                m = fill(p, usable, length, slot_of, table)
                solved = 1
                for c in range(covers):
                    value[c] = -np.inf
                for option in range(len(offsets)):
                    layer[option] = _layer(slot_of, m, offsets[option])
                    q = layer[option]
                    for c in range(covers):
                        if wanted[c] and p.state_cells[p.cover[c]] <= q and table[q, p.cover[c]] < impossible:
                            of_option = float(net[option] - table[q, p.cover[c]])
                            if of_option > value[c]:
                                value[c] = of_option
                                at[c] = q
                most = -np.inf
                pick = -1
                for c in range(covers):
                    f = (value[c] - lam[i2] * work[c]) - phi[j2] * memory_used[c]
                    if f > most:
                        most = f
                        pick = c
                if pick < 0:
                    break
                best = max(best, most)
                # The schedule's own prices can be lower than the thresholds; its pair will be met again.
                a, b = _own_maxima(p, cells, usable, slot_of, table, at[pick], p.cover[pick], i2, j2)
                best = max(best, (value[pick] - lam[a] * work[pick]) - phi[b] * memory_used[pick])
                least = best - slack * (scale + abs(best))
                if most >= least:
                    for option in range(len(offsets)):
                        q = layer[option]
                        for c in range(covers):
                            x = p.cover[c]
                            if not wanted[c] or p.state_cells[x] > q or table[q, x] >= impossible:
                                continue
                            f = (float(net[option] - table[q, x]) - lam[i2] * work[c]) - phi[j2] * memory_used[c]
                            if f < least:
                                continue
                            if rows == len(found):
                                rows = _keep(found, figure, rows, least)
                            if rows == len(found):
                                return best, -1
                            found[rows, 0], found[rows, 1], found[rows, 2] = i2, j2, option
                            found[rows, 3], found[rows, 4] = x, table[q, x]
                            figure[rows] = f
                            rows += 1
            # The bound, and the largest prices with which a cover could still reach the best.
            bound = -np.inf
            lam_cap = -np.inf
            phi_cap = -np.inf
            pick = -1
            for c in range(covers):
                if value[c] == -np.inf:
                    continue
                lam_part = lam[i1] * work[c]
                phi_part = phi[j1] * memory_used[c]
                f = (value[c] - lam_part) - phi_part
                if f > bound:
                    bound = f
                    pick = c
                margin = _MARGIN * (abs(value[c]) + abs(least) + lam_part + phi_part)
                lam_cap = max(lam_cap, (value[c] - phi_part - least + margin) / work[c])
                phi_cap = max(phi_cap, (value[c] - lam_part - least + margin) / memory_used[c])
            if bound < least:
                break
            a = _at_most(lam, i1, i2, lam_cap)
            b = _at_most(phi, j1, j2, phi_cap)
            if a < i2 or b < j2:
                solved = 0
                # Small steps are left to a split: each step costs a dynamic programme.
                large = 8 * (i2 - a) >= i2 - i1 or 8 * (j2 - b) >= j2 - j1
                i2, j2 = a, b
                if large or (i1 == i2 and j1 == j2):
                    continue
            if i1 == i2 and j1 == j2:
                break
            if depth + 2 > len(boxes):
                return best, -1
            for c in range(covers):
                values[depth, c] = value[c]
                values[depth + 1, c] = value[c]
            by_lam = (lam[i2] - lam[i1]) * work[pick] >= (phi[j2] - phi[j1]) * memory_used[pick]
            if (by_lam and i1 < i2) or j1 == j2:
                a = _between(lam, i1, i2)
                boxes[depth, 0], boxes[depth, 1], boxes[depth, 2], boxes[depth, 3] = a + 1, i2, j1, j2
                boxes[depth + 1, 0], boxes[depth + 1, 1], boxes[depth + 1, 2], boxes[depth + 1, 3] = i1, a, j1, j2
            else:
                b = _between(phi, j1, j2)
                boxes[depth, 0], boxes[depth, 1], boxes[depth, 2], boxes[depth, 3] = i1, i2, b + 1, j2
                boxes[depth + 1, 0], boxes[depth + 1, 1], boxes[depth + 1, 2], boxes[depth + 1, 3] = i1, i2, j1, b
            boxes[depth, 4] = solved
            boxes[depth + 1, 4] = 0
            depth += 2
            break
    if best > -np.inf:
        rows = _keep(found, figure, rows, best - slack * (scale + abs(best)))
    return best, rows


@inner
def _keep(found, figure, rows, least):  # type: ignore[no-untyped-def]
    count = 0
    for row in range(rows):
        if figure[row] >= least:
            for part in range(found.shape[1]):
                found[count, part] = found[row, part]
            figure[count] = figure[row]
            count += 1
    return count


@compiled
def first_schedule(p, cells, lam, phi, lam_top, phi_top, first, last, i, j, offset, state):  # type: ignore[no-untyped-def]
    """The smallest (n, 2) rows [slot offset, node row] among the covers of the pair that attain the least E."""
    types, width = p.cost.shape
    usable = np.zeros((types, width), np.bool_)
    open_cells(cells, i, j, usable)
    wanted = np.empty(len(p.cover), np.bool_)
    for c in range(len(p.cover)):
        wanted[c] = p.cover[c] == state
    length = np.empty(len(p.outer), np.int64)
    limit(p, wanted, length)
    slot_of = np.empty(width + 1, np.int64)
    table = np.empty((width + 1, len(p.state_work)), p.cost.dtype)
    m = _layer(slot_of, fill(p, usable, length, slot_of, table), offset)
    chosen = np.empty((p.state_cells[state], 2), np.int64)
    n = 0
    x = state
    while x != 0:
        t = slot_of[m]
        pick = -1
        node = -1
        for g in range(types):
            rest = p.less[x, g]
            if usable[g, t] and rest >= 0 and table[m - 1, rest] + p.cost[g, t] == table[m, x]:
                for k in range(first[g], last[g]):
                    if lam[t, k] <= lam_top and phi[t, k] <= phi_top:
                        if pick < 0 or k < node:
                            pick = g
                            node = k
                        break
        if pick >= 0:
            chosen[n, 0] = t
            chosen[n, 1] = node
            n += 1
            x = p.less[x, pick]
        m -= 1
    return chosen
