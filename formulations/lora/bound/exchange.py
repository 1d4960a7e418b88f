"""The cheapest schedule of a task of at most two types by exchanges, where a table of its schedules would be too large.

The walk over numbers of cells takes about the time that it takes to sort the slots, and finds the same costs as
`pricing.fill_table`, in doubles and in 64-bit integers.
"""

from __future__ import annotations

import numpy as np

from ratiobench.formulations.kernels import inlined, inner, inner_allocating, sort_stably

NONE, INNER, OUTER = 0, 1, 2
TAKE_INNER, DROP_INNER, TAKE_OUTER, DROP_OUTER, INNER_TO_OUTER, OUTER_TO_INNER = 0, 1, 2, 3, 4, 5
_FROM = np.array([NONE, INNER, NONE, OUTER, INNER, OUTER])
_TO = np.array([INNER, NONE, OUTER, NONE, OUTER, INNER])
# Ways to change the numbers of cells: rows of tables, because a kernel is compiled anew for every constant given to it.
MORE_OUTER, MORE_INNER, FEWER_OUTER, SWAP = 0, 1, 2, 3
# Of each way the move alone, and the two moves by way of the third choice
_MOVES = np.array(
    [
        [TAKE_OUTER, TAKE_INNER, INNER_TO_OUTER],
        [TAKE_INNER, TAKE_OUTER, OUTER_TO_INNER],
        [DROP_OUTER, OUTER_TO_INNER, DROP_INNER],
        [OUTER_TO_INNER, DROP_OUTER, TAKE_INNER],
    ]
)
# Of each way the choice to which it leads, and the one in between
_ENDS = np.array([[OUTER, INNER], [INNER, OUTER], [NONE, INNER], [INNER, NONE]])


@inlined
def _best_move(move, state, order, count, at):  # type: ignore[no-untyped-def]
    """The cheapest slot for a move, -1 for none."""
    while at[move] < count[move] and state[order[move, at[move]]] != _FROM[move]:
        at[move] += 1
    return order[move, at[move]] if at[move] < count[move] else -1


@inner
def _way(moves, state, order, count, at, cost, far):  # type: ignore[no-untyped-def]
    """(cost, slot, slot) of the cheaper of a move alone, and of two moves by way of the third choice."""
    first, second, third = moves[0], moves[1], moves[2]
    direct = _best_move(first, state, order, count, at)
    one = _best_move(second, state, order, count, at)
    two = _best_move(third, state, order, count, at)
    price = far
    if direct >= 0:
        price = cost[_TO[first], direct] - cost[_FROM[first], direct]
    if one >= 0 and two >= 0:
        detour = cost[_TO[second], one] - cost[_FROM[second], one] + cost[_TO[third], two] - cost[_FROM[third], two]
        if direct < 0 or detour < price:
            return detour, one, two
    return price, direct, -1


@inner
def _go(way, ends, state, rank, at, journal, entries):  # type: ignore[no-untyped-def]
    """Take a way to its end, by way of the other choice; write down what the slots were."""
    to, other = ends[0], ends[1]
    for step in range(2):
        slot = way[step]
        if slot >= 0:
            end = other if step == 0 and way[1] >= 0 else to
            journal[entries, 0] = slot
            journal[entries, 1] = state[slot]
            entries += 1
            state[slot] = end
            for move in range(6):  # those from there see the slot again
                if _FROM[move] == end and 0 <= rank[move, slot] < at[move]:
                    at[move] = rank[move, slot]
    return entries


@inner_allocating
def exchange(p, i, cost, usable, far, table):  # type: ignore[no-untyped-def]
    """Cheapest covers of a task of at most two types, by exchanges; for each option a line of `table`.

    A line is the cost, `far` for none, and the local type of every slot, -1 for none. Every slot goes to the inner
    type, the outer type or to nothing. The least cost f(a, b) of `a` slots of one and `b` of the other is
    M-natural-convex: the optimum for neighbouring numbers is a cheapest way of at most two moves off. The walk goes
    over all `a`, with the best `b` that covers. Each move has its slots in the order of what they cost, and a place in
    that order.
    """
    entry = p.type_start[i]
    types = p.type_start[i + 1] - entry
    width = p.width[i]
    price = np.zeros((3, width), cost.dtype)
    order = np.empty((6, width), np.int64)
    rank = np.full((6, width), -1, np.int64)
    count = np.zeros(6, np.int64)
    key = np.empty(width, cost.dtype)
    slots = np.empty(width, np.int64)
    for t in range(width):
        price[INNER, t] = cost[0, t]
        price[OUTER, t] = cost[1, t] if types > 1 else 0
    for move in range(0, 6, 2):
        size = 0
        for t in range(width):
            inner_slot = usable[0, t] or move == TAKE_OUTER
            outer_slot = move == TAKE_INNER or (types > 1 and usable[1, t])
            if inner_slot and outer_slot:
                key[size] = price[_TO[move], t] - price[_FROM[move], t]
                slots[size] = t
                size += 1
        ascends = sort_stably(key[:size])
        count[move] = size
        count[move + 1] = size
        for j in range(size):
            t = slots[ascends[j]]
            order[move, j] = t
            rank[move, t] = j
            order[move + 1, size - 1 - j] = t
            rank[move + 1, t] = size - 1 - j
    state = np.empty(width, np.int64)
    at = np.empty(6, np.int64)
    journal = np.empty((6 * width + 16, 2), np.int64)  # each choice gains and loses a slot once, by two moves
    work = p.work[i]
    slow = p.rate[entry]
    fast = p.rate[entry + 1] if types > 1 else 1  # of no slots
    for option in range(p.option_start[i], p.option_start[i + 1]):
        line = (option - p.option_start[i]) * (width + 1)
        table[line] = far
        # Slots that can be used, by the one, by the other, by any.
        inner_slots = 0
        outer_slots = 0
        any_slots = 0
        for t in range(width):
            state[t] = NONE if t >= p.offset[option] else -1
            if state[t] == NONE:
                other = types > 1 and usable[1, t]
                inner_slots += usable[0, t]
                outer_slots += other
                any_slots += usable[0, t] or other
        for move in range(6):
            at[move] = 0
        a = 0
        b = max(0, -(-work // fast))
        while a <= inner_slots and (b > outer_slots or a + b > any_slots):
            a += 1
            b = max(0, -(-(work - a * slow) // fast))
        if a > inner_slots:
            continue
        entries = np.int64(0)
        value = price[NONE, 0]
        for step in range(a + b):
            if step < b:
                gain, one, two = _way(_MOVES[MORE_OUTER], state, order, count, at, price, far)
                entries = _go((one, two), _ENDS[MORE_OUTER], state, rank, at, journal, entries)
            else:
                gain, one, two = _way(_MOVES[MORE_INNER], state, order, count, at, price, far)
                entries = _go((one, two), _ENDS[MORE_INNER], state, rank, at, journal, entries)
            value += gain
        result = np.int64(-1)
        best = value
        while True:
            need = max(0, -(-(work - a * slow) // fast))
            while b > need:
                gain, one, two = _way(_MOVES[FEWER_OUTER], state, order, count, at, price, far)
                if one < 0 or not gain < 0:
                    break
                value += gain
                b -= 1
                entries = _go((one, two), _ENDS[FEWER_OUTER], state, rank, at, journal, entries)
            while result < 0:  # at the first `a`; the best `b` only falls from there on
                gain, one, two = _way(_MOVES[MORE_OUTER], state, order, count, at, price, far)
                if one < 0 or not gain < 0:
                    break
                value += gain
                b += 1
                entries = _go((one, two), _ENDS[MORE_OUTER], state, rank, at, journal, entries)
            if result < 0 or value < best:
                best = value
                result = entries
            gain, one, two = _way(_MOVES[MORE_INNER], state, order, count, at, price, far)
            swapped, three, four = _way(_MOVES[SWAP], state, order, count, at, price, far)
            if need == 0 and (one < 0 or gain >= 0) and (three < 0 or swapped >= 0):
                break
            if one >= 0:
                value += gain
                entries = _go((one, two), _ENDS[MORE_INNER], state, rank, at, journal, entries)
            elif three >= 0 and b > max(0, -(-(work - (a + 1) * slow) // fast)):
                value += swapped
                b -= 1
                entries = _go((three, four), _ENDS[SWAP], state, rank, at, journal, entries)
            else:
                break
            a += 1
        while entries > result:
            entries -= 1
            state[journal[entries, 0]] = journal[entries, 1]
        value = price[NONE, 0]
        for t in range(width):
            choice = max(state[t], NONE)
            table[line + 1 + t] = choice - 1
            value += price[choice, t]
        table[line] = value
