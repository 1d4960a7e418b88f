"""Kernels for prices of single cells, (task, type, slot): what a node earns at most, what a task answers.

A node and slot earns the best set of tasks that fits, a knapsack with two constraints. Where something is decided of a
task of one or two types, a programme over the numbers of its cells finds its answer; of others only cells are decided.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.kernels import compiled, copy_list, copy_table, inlined, inner, inner_allocating
from ratiobench.formulations.lora.bound.pricing import Pool, base_cost, cheapest, fill, lower_row, places, trace
from ratiobench.instances.lora.model import IntArray

Floats = NDArray[np.float64]
TYPES = 2  # Most node types of a task whose begin and numbers of cells may be decided
OPEN, NEVER, ALWAYS = 0, 1, 2  # What is decided of a cell
MANY = 1 << 30
STEPS = 20_000  # Steps of the search for the best set of one pair


class Slots(NamedTuple):
    """The (type, slot) pairs in which some task may have a cell, and the tasks that may."""

    kind: IntArray  # kind, slot: (pairs,)
    slot: IntArray
    start: IntArray  # (pairs+1,); entry: (cells,) the entries of the pool whose window holds the slot
    entry: IntArray
    where: IntArray  # (entries, T) place of a cell in `entry`, -1 for none
    owner: IntArray  # (entries,) the task of each entry of the pool


def find_slots(p: Pool) -> Slots:
    slots = p.tariff.shape[1]
    owner = np.repeat(np.arange(p.tasks), np.diff(p.type_start))
    lists: dict[tuple[int, int], list[int]] = {}
    for e in range(len(p.kind)):
        i = owner[e]
        for t in range(int(p.first[i]), int(p.first[i] + p.width[i])):
            lists.setdefault((int(p.kind[e]), t), []).append(e)
    pairs = sorted(lists)
    where = np.full((len(p.kind), slots), -1, dtype=np.int64)
    entry = np.array([e for pair in pairs for e in lists[pair]], dtype=np.int64)
    start = np.concatenate([[0], np.cumsum([len(lists[pair]) for pair in pairs])]).astype(np.int64)
    for j, (_, t) in enumerate(pairs):
        here = np.arange(start[j], start[j + 1])
        where[entry[here], t] = here
    kind, slot = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return Slots(np.ascontiguousarray(kind), np.ascontiguousarray(slot), start, entry, where, owner)


def slot_of_cells(s: Slots) -> IntArray:
    """(cells,) the slot of each cell."""
    return np.repeat(s.slot, np.diff(s.start))


@inlined
def _sort_down(key, order, n):  # type: ignore[no-untyped-def]
    """Sort the first n places of `order` by descending key; stable."""
    for a in range(1, n):
        j = order[a]
        k = key[j]
        b = a - 1
        while b >= 0 and key[order[b]] < k:
            order[b + 1] = order[b]
            b -= 1
        order[b + 1] = j


@compiled
def best_set(value, rate, memory, n, capacity, capacity_mb, chosen, weighing):  # type: ignore[no-untyped-def]
    """Largest sum of values of a set that fits a node, by branch and bound.

    `value`, `rate`, `memory`: (n,) of the tasks; `chosen`: (n,) 1 for members of a set to begin from; out: of the
    best set; `weighing`: (1,) in and out: the weight of compute that was best, in eighths, -1 for none.
    """
    order = np.empty(n, np.int64)
    key = np.empty(n, np.float64)
    count = 0
    known = 0.0
    for j in range(n):
        if value[j] <= 0:
            chosen[j] = 0
        elif chosen[j] == 1:
            known += value[j]
        if value[j] > 0 and rate[j] <= capacity and memory[j] <= capacity_mb:
            order[count] = j
            count += 1
    if count == 0:
        return 0.0
    total, total_mb, all_values = 0.0, 0.0, 0.0
    for a in range(count):
        j = order[a]
        total += rate[j]
        total_mb += memory[j]
        all_values += value[j]
    if total <= capacity and total_mb <= capacity_mb:
        for a in range(count):
            chosen[order[a]] = 1
        return all_values
    # The weight of both constraints with which the relaxed knapsack is worth least.
    best_share, least = 0.5, np.inf
    low, high = 0, 8
    if weighing[0] >= 0:  # in eighths, what was best for values like these
        low, high = max(0, weighing[0] - 1), min(8, weighing[0] + 1)
    for step in range(low, high + 1):
        share = step / 8.0
        for a in range(count):
            j = order[a]
            key[j] = value[j] / max(1e-12, share * rate[j] / capacity + (1 - share) * memory[j] / capacity_mb)
        _sort_down(key, order, count)
        left, bound = 1.0, 0.0
        for a in range(count):
            j = order[a]
            weight = share * rate[j] / capacity + (1 - share) * memory[j] / capacity_mb
            if weight <= left:
                left -= weight
                bound += value[j]
            else:
                bound += value[j] * left / weight
                break
        if bound < least:
            least, best_share = bound, share
            weighing[0] = step
    weight_of = np.empty(count, np.float64)
    for a in range(count):
        j = order[a]
        key[j] = value[j] / max(1e-12, best_share * rate[j] / capacity + (1 - best_share) * memory[j] / capacity_mb)
    _sort_down(key, order, count)
    for a in range(count):
        j = order[a]
        weight_of[a] = best_share * rate[j] / capacity + (1 - best_share) * memory[j] / capacity_mb
    # An earlier task with the same size is worth no less: a set without it need not have this one.
    twin = np.full(count, -1, np.int64)
    for a in range(count):
        for b in range(a - 1, -1, -1):
            if rate[order[a]] == rate[order[b]] and memory[order[a]] == memory[order[b]]:
                twin[a] = b
                break
    taken = np.zeros(count, np.int64)
    free, free_mb, weight, worth = capacity, capacity_mb, 1.0, 0.0
    best, missed = known, -1.0
    a = 0
    steps = 0
    while True:
        steps += 1
        # Down: take whatever fits in order.
        bound, left = worth, weight
        for b in range(a, count):
            if weight_of[b] <= left:
                left -= weight_of[b]
                bound += value[order[b]]
            else:
                bound += value[order[b]] * max(0.0, left) / weight_of[b]
                break
        if steps > STEPS:
            missed = max(missed, bound)
        elif bound > best * (1 + 1e-13) + 1e-12:
            while a < count:
                j = order[a]
                if rate[j] <= free and memory[j] <= free_mb and (twin[a] < 0 or taken[twin[a]] == 1):
                    taken[a] = 1
                    free -= rate[j]
                    free_mb -= memory[j]
                    weight -= weight_of[a]
                    worth += value[j]
                else:
                    taken[a] = 0
                a += 1
            if worth > best:
                best = worth
                for b in range(count):
                    chosen[order[b]] = taken[b]
        # Back: leave out the last one that was taken.
        a -= 1
        while a >= 0 and taken[a] == 0:
            a -= 1
        if a < 0:
            return max(best, missed)
        j = order[a]
        taken[a] = 0
        free += rate[j]
        free_mb += memory[j]
        weight += weight_of[a]
        worth -= value[j]
        a += 1


@inner_allocating
def node_values(p, s, price, fixed, out, worth, chosen, weighing):  # type: ignore[no-untyped-def]
    """(pairs,) what one node earns at most in each pair, and a set that earns it."""
    size = 1
    for j in range(len(s.kind)):
        size = max(size, s.start[j + 1] - s.start[j])
    value, rate, memory = np.empty(size), np.empty(size, np.int64), np.empty(size, np.int64)
    _node_value_each(p, s, price, fixed, out, worth, chosen, weighing, value, rate, memory)


@inner
def _node_value_each(p, s, price, fixed, out, worth, chosen, weighing, value, rate, memory):  # type: ignore[no-untyped-def]
    for j in range(len(s.kind)):
        at = s.start[j]
        n = s.start[j + 1] - at
        for a in range(n):
            e = s.entry[at + a]
            i = s.owner[e]
            usable = out[i] == 0 and fixed[e, s.slot[j]] != 1
            value[a] = price[e, s.slot[j]] if usable else 0.0
            rate[a] = p.rate[e]
            memory[a] = p.memory[i]
        g = s.kind[j]
        mine, here = chosen[at : at + n], weighing[j : j + 1]
        worth[j] = best_set(value, rate, memory, n, p.compute[g], p.capacity_mb[g], mine, here)


class Ranges(NamedTuple):
    """What is decided of the tasks."""

    fixed: IntArray  # (entries, T) OPEN, NEVER or ALWAYS
    low: IntArray  # low, high: (entries,) least and most cells
    high: IntArray
    early: IntArray  # early, late: (n,) first and last slot in which the window of a chosen option may begin
    late: IntArray
    out: IntArray  # out, admitted: (n,) 1 where the task is rejected, or must be admitted
    admitted: IntArray


def no_decisions(p: Pool) -> Ranges:
    entries, slots, n = len(p.kind), p.tariff.shape[1], p.tasks
    return Ranges(
        np.zeros((entries, slots), np.int64), np.zeros(entries, np.int64), np.full(entries, MANY),
        np.zeros(n, np.int64), np.full(n, MANY), np.zeros(n, np.int64), np.zeros(n, np.int64),
    )  # fmt: skip


@inlined
def _counts(p, d, i, cost, most):  # type: ignore[no-untyped-def]
    """(2,) most cells of each type that a schedule needs: a cover, those below 0, and those that it must have."""
    for g in range(2):
        most[g] = 0
    for g in range(p.type_start[i + 1] - p.type_start[i]):
        e = p.type_start[i] + g
        more = 0
        for t in range(p.width[i]):
            if cost[g, t] < 0 or d.fixed[e, p.first[i] + t] == 2:
                more += 1
        cover = (p.work[i] + p.rate[e] - 1) // p.rate[e]
        most[g] = min(p.width[i], max(cover + more, min(d.low[e], p.width[i])), d.high[e])


@inlined
def _prepare(p, d, i, price, cost, most):  # type: ignore[no-untyped-def]
    """(types, width) operational cost plus price of each cell; infinite where it must not be used."""
    types = p.type_start[i + 1] - p.type_start[i]
    for g in range(types):
        e = p.type_start[i] + g
        for t in range(p.width[i]):
            slot = p.first[i] + t
            cost[g, t] = base_cost(p, i, p.kind[e], slot) + price[e, slot]
    _counts(p, d, i, cost, most)
    for t in range(p.width[i]):
        slot = p.first[i] + t
        for g in range(types):
            if d.fixed[p.type_start[i] + g, slot] == 1:
                cost[g, t] = np.inf
            elif d.fixed[p.type_start[i] + g, slot] == 2:
                for other in range(types):
                    if other != g:
                        cost[other, t] = np.inf


@inlined
def _needed(p, d, i, t):  # type: ignore[no-untyped-def]
    """Whether the task must have a cell in slot t of its window."""
    found = False
    for e in range(p.type_start[i], p.type_start[i + 1]):
        found = found or d.fixed[e, p.first[i] + t] == 2
    return found


@inlined
def _fill_counts(p, d, i, cost, most, table):  # type: ignore[no-untyped-def]
    """table[t, a, b] is the least cost of a cells of the first and b of the second type in slots t, t+1, ..."""
    rows, line = most[0] + 1, most[1] + 1
    layer = rows * line
    width = p.width[i]
    two = p.type_start[i + 1] - p.type_start[i] > 1
    for x in range(layer):
        table[width * layer + x] = np.inf
    table[width * layer] = 0.0
    for t in range(width - 1, -1, -1):
        old = table[(t + 1) * layer : (t + 2) * layer]
        new = table[t * layer : (t + 1) * layer]
        if _needed(p, d, i, t):
            for x in range(layer):
                new[x] = np.inf
        else:
            for x in range(layer):
                new[x] = old[x]
        if cost[0, t] < np.inf:
            lower_row(old[: layer - line], new[line:], cost[0, t])
        if two and cost[1, t] < np.inf:
            for a in range(rows):
                lower_row(old[a * line : (a + 1) * line - 1], new[a * line + 1 : (a + 1) * line], cost[1, t])


@inlined
def _covers(p, d, i, a, b):  # type: ignore[no-untyped-def]
    e = p.type_start[i]
    two = p.type_start[i + 1] - e > 1
    if a < d.low[e] or (two and b < d.low[e + 1]):
        return False
    return a * p.rate[e] + (b * p.rate[e + 1] if two else 0) >= p.work[i]


@inlined
def _begin_of(p, i, option):  # type: ignore[no-untyped-def]
    return p.first[i] + p.offset[option]


@inlined
def _best_option(p, d, i, most, table, profit):  # type: ignore[no-untyped-def]
    """(option, a, b) of the best schedule, -1 for none; `profit[option]` is each one's best, -inf for none."""
    line = most[1] + 1
    layer = (most[0] + 1) * line
    best, chosen, left, right = -np.inf, -1, -1, -1
    last = -1  # the last slot before which no cell is needed
    for t in range(p.width[i]):
        if _needed(p, d, i, t):
            last = t
            break
    for option in range(p.option_start[i], p.option_start[i + 1]):
        profit[option] = -np.inf
        begin = _begin_of(p, i, option)
        if begin < d.early[i] or begin > d.late[i] or (last >= 0 and p.offset[option] > last):
            continue
        at = p.offset[option] * layer
        for a in range(most[0] + 1):
            for b in range(line):
                if table[at + a * line + b] < np.inf and _covers(p, d, i, a, b):
                    value = p.bid[i] - p.price[option] - table[at + a * line + b]
                    if value > profit[option]:
                        profit[option] = value
                        if value > best:
                            best, chosen, left, right = value, option, a, b
    return chosen, left, right


@inlined
def _is_plain(p, d, i):  # type: ignore[no-untyped-def]
    """Whether nothing is decided of task i but cells that it must not use."""
    plain = d.early[i] <= p.first[i] and d.late[i] >= p.first[i] + p.width[i]
    for e in range(p.type_start[i], p.type_start[i + 1]):
        plain = plain and d.low[e] == 0 and d.high[e] >= p.width[i]
        for t in range(p.first[i], p.first[i] + p.width[i]):
            plain = plain and d.fixed[e, t] != 2
    return plain


@inner_allocating
def answers(p, d, price, bonus, places, table, gain, option, local):  # type: ignore[no-untyped-def]
    """Best reduced profit of every task, losses included (-inf for none), its option (-1) and local types (-1).

    `price`: (entries, T) micro-dollars per cell; `bonus`: more than a schedule can cost: what a task of more than two
    types is paid for a cell that it must have; `gain`, `option`: (n,) out; `local`: (sum of widths,) out.
    """
    width = 0
    for i in range(len(p.task)):
        width = max(width, p.width[i])
    cost, most = np.empty((len(p.nodes) + 1, width)), np.empty(2, np.int64)
    usable = np.ones((len(p.nodes), width), np.bool_)
    chosen, profit = np.empty(width, np.int64), np.empty(len(p.offset))
    _answer_each(p, d, price, bonus, places, table, gain, option, local, cost, most, usable, chosen, profit)


@inner
def _answer_each(p, d, price, bonus, places, table, gain, option, local, cost, most, usable, chosen, profit):  # type: ignore[no-untyped-def]
    for i in range(len(p.task)):
        for t in range(p.width[i]):
            local[places[i] + t] = -1
        option[i] = -1
        gain[i] = -np.inf
        if d.out[i]:
            continue
        types = p.type_start[i + 1] - p.type_start[i]
        if types > 2 or _is_plain(p, d, i):
            needed = 0
            for t in range(p.width[i]):
                slot = p.first[i] + t
                always = _needed(p, d, i, t)
                needed += always
                for g in range(types):
                    e = p.type_start[i] + g
                    cost[g, t] = base_cost(p, i, p.kind[e], slot) + price[e, slot]
                    usable[g, t] = d.fixed[e, slot] == (2 if always else 0)
                    if always:
                        cost[g, t] -= bonus
            fill(p, i, cost, usable, np.inf, table)
            total, best, x = cheapest(p, i, 1.0, np.inf, table)
            if best < 0:
                continue
            trace(p, i, cost, usable, np.inf, table, best, x, chosen)
            for t in range(p.width[i]):
                needed -= chosen[t] >= 0 and _needed(p, d, i, t)
            if needed > 0:
                continue
            gain[i] = p.bid[i] - total
            option[i] = best
            for t in range(p.width[i]):
                local[places[i] + t] = chosen[t]
                if _needed(p, d, i, t):
                    gain[i] -= bonus
            continue
        _prepare(p, d, i, price, cost, most)
        _fill_counts(p, d, i, cost, most, table)
        best, a, b = _best_option(p, d, i, most, table, profit)
        option[i] = best
        if best < 0:
            continue
        gain[i] = profit[best]
        line = most[1] + 1
        layer = (most[0] + 1) * line
        for t in range(p.offset[best], p.width[i]):
            if a == 0 and b == 0:
                break
            value = table[t * layer + a * line + b]
            below = (t + 1) * layer + a * line + b
            if a > 0 and table[below - line] + cost[0, t] == value:
                local[places[i] + t] = 0
                a -= 1
            elif b > 0 and table[below - 1] + cost[1, t] == value:
                local[places[i] + t] = 1
                b -= 1


class Scratch(NamedTuple):
    worth: Floats  # (pairs,); chosen: (cells,) 1 for members of a set; weighing: (pairs,) of `best_set`, -1 for none
    chosen: IntArray
    weighing: IntArray
    gain: Floats  # gain, option, local: as of `answers`
    option: IntArray
    local: IntArray
    table: Floats  # of a task


def new_scratch(p: Pool, s: Slots) -> Scratch:
    pairs, n = len(s.kind), p.tasks
    return Scratch(
        np.empty(pairs), np.zeros(len(s.entry), np.int64), np.full(pairs, -1), np.empty(n), np.empty(n, np.int64),
        np.empty(int(p.width.sum()), np.int64), np.empty(table_size(p)),
    )  # fmt: skip


@inlined
def _evaluate(p, s, d, price, bonus, places, w):  # type: ignore[no-untyped-def]
    node_values(p, s, price, d.fixed, d.out, w.worth, w.chosen, w.weighing)
    answers(p, d, price, bonus, places, w.table, w.gain, w.option, w.local)
    total = 0.0
    for j in range(len(s.kind)):
        total += p.nodes[s.kind[j]] * w.worth[j]
    for i in range(len(p.task)):
        total += w.gain[i] if d.admitted[i] == 1 else max(0.0, w.gain[i])
    return total


@compiled
def descend(p, s, d, price, bonus, places, w, known, state, direction, rounds, best_price, best_gain):  # type: ignore[no-untyped-def]
    """Better prices by a deflected subgradient method with Polyak's steps.

    `price`: (entries, T), changed; `state`: (3,) least bound so far, factor of the steps, evaluations since the bound
    fell, changed; `direction`: (cells,) of the last step, changed; `best_price`, `best_gain`: out, of the least bound.
    """
    cells = len(s.entry)
    scratch = np.empty(cells, np.int64), np.empty(cells), np.empty(cells)
    _descend(p, s, d, price, bonus, places, w, known, state, direction, rounds, best_price, best_gain, scratch)


@inner
def _descend(p, s, d, price, bonus, places, w, known, state, direction, rounds, best_price, best_gain, scratch):  # type: ignore[no-untyped-def]
    cells = len(s.entry)
    slot_of, nodes, slack = scratch
    for j in range(len(s.kind)):
        for a in range(s.start[j], s.start[j + 1]):
            slot_of[a] = s.slot[j]
            nodes[a] = p.nodes[s.kind[j]]
    best, theta, waited = state[0], state[1], state[2]
    for _ in range(rounds):
        found = _evaluate(p, s, d, price, bonus, places, w)
        if found < best:
            waited = 0 if found < best - 1e-6 * abs(best) else waited + 1
            best = found
            copy_table(best_price, price)
            copy_list(best_gain, w.gain)
        else:
            waited += 1
        if best < known or rounds == 1:
            break
        for a in range(cells):
            slack[a] = nodes[a] * w.chosen[a]
        for i in range(len(p.task)):
            if w.option[i] < 0 or (w.gain[i] <= 0 and d.admitted[i] == 0):
                continue
            for t in range(p.width[i]):
                g = w.local[places[i] + t]
                if g >= 0:
                    a = s.where[p.type_start[i] + g, p.first[i] + t]
                    slack[a] -= 1.0
        if waited > 20:
            theta, waited = 0.7 * theta, 0
            if theta < 1e-3:
                break
            copy_table(price, best_price)
            direction[:] = 0.0
            continue
        norm = 0.0
        for a in range(cells):
            if slack[a] > 0 and price[s.entry[a], slot_of[a]] <= 0:
                slack[a] = 0.0
            direction[a] = 0.6 * direction[a] + 0.4 * slack[a]
            norm += direction[a] * direction[a]
        if norm < 1e-12:
            break
        step = theta * max(found - (known + 0.5 * (best - known)), 1e-7 * found) / norm
        for a in range(cells):
            e, t = s.entry[a], slot_of[a]
            price[e, t] = max(0.0, price[e, t] - step * direction[a])
    state[0], state[1], state[2] = best, theta, waited


@compiled
def through(p, d, price, table, reach):  # type: ignore[no-untyped-def]
    """(entries, T) best reduced profit of schedules with each cell, -inf for none; inf for more than two types."""
    width = 0
    for i in range(len(p.task)):
        width = max(width, p.width[i])
    cost, most = np.empty((2, width)), np.empty(2, np.int64)
    before, after = np.empty((width + 1, width + 1)), np.empty((width + 1, width + 1))
    _go_through_each(p, d, price, table, reach, cost, most, before, after)


@inner
def _go_through_each(p, d, price, table, reach, cost, most, before, after):  # type: ignore[no-untyped-def]
    reach[:] = -np.inf
    for i in range(len(p.task)):
        if d.out[i]:
            continue
        if p.type_start[i + 1] - p.type_start[i] > 2:
            reach[p.type_start[i] : p.type_start[i + 1], p.first[i] : p.first[i] + p.width[i]] = np.inf
            continue
        _prepare(p, d, i, price, cost, most)
        _fill_counts(p, d, i, cost, most, table)
        rows, line = most[0] + 1, most[1] + 1
        layer = rows * line
        types = p.type_start[i + 1] - p.type_start[i]
        entry = p.type_start[i]
        plain = _is_plain(p, d, i)
        for g in range(types):
            for t in range(p.width[i]):
                plain = plain and cost[g, t] >= 0
        for a in range(rows):
            for b in range(line):
                before[a, b] = -np.inf
        for t in range(p.width[i]):
            for o in range(p.option_start[i], p.option_start[i + 1]):
                begin = _begin_of(p, i, o)
                if p.offset[o] == t and d.early[i] <= begin <= d.late[i]:
                    before[0, 0] = max(before[0, 0], np.float64(p.bid[i] - p.price[o]))
            for g in range(types):
                if cost[g, t] == np.inf:
                    continue
                best = -np.inf
                for a in range(rows):
                    for b in range(line):
                        if before[a, b] == -np.inf:
                            continue
                        c = a + (1 if g == 0 else 0)
                        e = b + (1 if g == 1 else 0)
                        for y in range(line - e):
                            # Where cells cost and none is decided, no more of the first type than a cover needs.
                            low, high = 0, rows - c
                            if plain:
                                left = p.work[i] - (e + y) * (p.rate[entry + 1] if types > 1 else 0)
                                low = max(0, -(-left // p.rate[entry]) - c)
                                high = min(high, low + 1)
                            for x in range(low, high):
                                rest = table[(t + 1) * layer + x * line + y]
                                if rest < np.inf and _covers(p, d, i, c + x, e + y):
                                    value = before[a, b] - cost[g, t] - rest
                                    if value > best:
                                        best = value
                reach[p.type_start[i] + g, p.first[i] + t] = best
            needed = _needed(p, d, i, t)
            for a in range(rows):
                for b in range(line):
                    value = -np.inf if needed else before[a, b]
                    if a > 0:
                        value = max(value, before[a - 1, b] - cost[0, t])
                    if types > 1 and b > 0:
                        value = max(value, before[a, b - 1] - cost[1, t])
                    after[a, b] = value
            for a in range(rows):
                for b in range(line):
                    before[a, b] = after[a, b]


def warm(p: Pool) -> None:
    s, d, w = find_slots(p), no_decisions(p), new_scratch(p, find_slots(p))
    price = np.zeros((len(p.kind), p.tariff.shape[1]))
    direction, gain, state = np.zeros(len(s.entry)), np.empty(p.tasks), np.array([np.inf, 1.0, 0.0])
    descend(p, s, d, price, 0.0, places(p), w, 0.0, state, direction, 1, price.copy(), gain)
    through(p, d, price, w.table, np.empty(price.shape))
    one = np.ones(1, np.int64)
    best_set(np.ones(1), one, one, 1, p.compute[0], p.capacity_mb[0], np.zeros(1, np.int64), -one)


def table_size(p: Pool) -> int:
    """Entries of the largest table that `answers` needs."""
    types = np.minimum(np.diff(p.type_start), TYPES)
    return max(p.table, int(((p.width + 1) ** (types + 1)).max(initial=1)))
