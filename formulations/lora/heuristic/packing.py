"""Packing the cells of one slot onto the identical nodes of one type.

Where maximal patterns are known, the fractional packing (fewest nodes y >= 0 with sum_a y_a n_a >= demand) is solved by
generating columns; its whole nodes stand, and the handful left is filled by a bounded search under changing values.
"""

from __future__ import annotations

import numpy as np

from ratiobench.formulations.kernels import draw_below, draw_unit, inlined, inner_allocating, sort_stably
from ratiobench.formulations.lora.bound.patterns import best_pattern

# Columns generated at most for one fractional packing; what is not proved optimal by then is good enough to round
PIVOTS = 300
FILLS = 40  # Fillings tried for the nodes that the fractional packing leaves
REFILLS = 300  # Attempts to place what is left over, three nodes emptied at a time
SEARCH_STEPS, REFILL_STEPS = 2_000, 500  # Steps of the search for one node's filling


@inner_allocating
def fractional_packing(patterns, demand, weight, column, level):  # type: ignore[no-untyped-def]
    """The fewest nodes, in fractions, whose patterns hold the demand: the revised simplex method; whether it reached
    the end.

    `weight`: (classes,) out: dual prices, at which no pattern is worth more than 1; `column`, `level`: (classes,) out:
    basic patterns (-1 for surplus of a class) and their nodes.
    """
    size = len(demand)
    inverse = np.zeros((size, size))
    cost = np.ones(size)
    for c in range(size):
        most = 0
        for a in range(len(patterns)):
            if patterns[a, c] > patterns[most, c]:
                most = a
        # Pivoting on a class's own richest pattern would not be a basis; begin with its cells alone.
        column[c] = -2 - most
        inverse[c, c] = 1.0 / patterns[most, c]
        level[c] = demand[c] * inverse[c, c]
    entering = np.empty(size)
    step = np.empty(size)
    optimal = False
    for _ in range(PIVOTS):
        for c in range(size):
            weight[c] = 0.0
            for b in range(size):
                weight[c] += cost[b] * inverse[b, c]
        negative = 0
        for c in range(size):
            if weight[c] < weight[negative]:
                negative = c
        if weight[negative] < -1e-9:
            for c in range(size):
                entering[c] = 0.0
            entering[negative] = -1.0
            enters, index = 0.0, -1
        else:
            value, index = best_pattern(patterns, weight)
            if value <= 1.0 + 1e-9:
                optimal = True
                break
            for c in range(size):
                entering[c] = patterns[index, c]
            enters = 1.0
        leaves, ratio = -1, np.inf
        for b in range(size):
            step[b] = 0.0
            for c in range(size):
                step[b] += inverse[b, c] * entering[c]
            if step[b] > 1e-9 and max(0.0, level[b]) / step[b] < ratio:
                ratio = max(0.0, level[b]) / step[b]
                leaves = b
        if leaves < 0:
            break
        for b in range(size):
            level[b] = ratio if b == leaves else level[b] - ratio * step[b]
        for c in range(size):
            inverse[leaves, c] /= step[leaves]
        for b in range(size):
            if b != leaves:
                for c in range(size):
                    inverse[b, c] -= step[b] * inverse[leaves, c]
        cost[leaves] = enters
        column[leaves] = index
    for b in range(size):
        # A class's cells alone are part of its richest pattern.
        if column[b] <= -2:
            column[b] = -2 - column[b]
    return optimal


@inlined
def _fullest(classes, rate, memory, most, value, capacity, capacity_mb, limit, take, opened, best_take):  # type: ignore[no-untyped-def]
    """Fill best_take[:classes] with the counts of largest total value for one node; greedy first."""
    for c in range(classes):
        take[c] = 0
        opened[c] = False
        best_take[c] = 0
    free = capacity
    free_mb = capacity_mb
    total = 0.0
    best = 0.0
    steps = 0
    level = 0
    while level >= 0:
        spent = level == classes
        if not spent and not opened[level]:
            steps += 1
            spent = steps > limit or total + value[level] / rate[level] * free <= best * (1 + 1e-12)
            if not spent:
                opened[level] = True
                count = min(most[level], free // rate[level], free_mb // memory[level])
                take[level] = count
                free -= count * rate[level]
                free_mb -= count * memory[level]
                total += count * value[level]
                level += 1
                continue
        if spent:
            if total > best:
                best = total
                for c in range(classes):
                    best_take[c] = take[c]
            level -= 1
        elif take[level] == 0 or steps > limit:
            free += take[level] * rate[level]
            free_mb += take[level] * memory[level]
            total -= take[level] * value[level]
            take[level] = 0
            opened[level] = False
            level -= 1
        else:
            take[level] -= 1
            free += rate[level]
            free_mb += memory[level]
            total -= value[level]
            level += 1


@inner_allocating
def fill_nodes(rate, memory, value, capacity, capacity_mb, first, last, limit, balance, left, take):  # type: ignore[no-untyped-def]
    """Fill the nodes first .. last-1 one after the other, each as full as a bounded search can make it.

    Minimum bin slack (Gupta and Ho 1999) with two resources. With `balance` a class counts a little more while it is
    used up more slowly than the nodes are, so that the last nodes get a mixture that still fits well.
    """
    classes = len(rate)
    total = left.copy()
    chosen = np.empty(classes, np.int64)
    slope = np.empty(classes, np.float64)
    bent = np.empty(classes, np.float64)
    rates = np.empty(classes, np.int64)
    memories = np.empty(classes, np.int64)
    most = np.empty(classes, np.int64)
    values = np.empty(classes, np.float64)
    found = np.empty(classes, np.int64)
    trial = np.empty(classes, np.int64)
    opened = np.empty(classes, np.bool_)
    for k in range(first, last):
        here = 0
        for c in range(classes):
            take[k, c] = 0
            if left[c] > 0:
                bent[c] = value[c] * (1.0 + balance * (left[c] / total[c] - (last - k) / (last - first)))
                chosen[here] = c
                slope[here] = -bent[c] / rate[c]
                here += 1
        if here == 0:
            continue
        order = sort_stably(slope[:here])
        for j in range(here):
            c = chosen[order[j]]
            rates[j], memories[j], most[j], values[j] = rate[c], memory[c], left[c], bent[c]
        _fullest(here, rates, memories, most, values, capacity, capacity_mb, limit, trial, opened, found)
        for j in range(here):
            c = chosen[order[j]]
            take[k, c] = found[j]
            left[c] -= found[j]


@inlined
def _worth(value, left):  # type: ignore[no-untyped-def]
    total = 0.0
    for c in range(len(value)):
        total += value[c] * left[c]
    return total


@inlined
def _refill(rate, memory, value, capacity, capacity_mb, nodes, tries, seed, left, take):  # type: ignore[no-untyped-def]
    """Try to place what is left: empty three nodes at random, and fill them again together with it."""
    classes = len(rate)
    few = min(3, nodes)
    zero = np.int64(0)  # a literal would be a type of its own
    chosen = np.empty(few, np.int64)
    pooled = np.empty(classes, np.int64)
    noisy = np.empty(classes, np.float64)
    filled = np.empty((few, classes), np.int64)
    before = _worth(value, left)
    for _ in range(tries):
        if before == 0.0:
            break
        for a in range(few):
            chosen[a] = draw_below(seed, nodes)
            repeated = True
            while repeated:
                repeated = False
                for b in range(a):
                    if chosen[b] == chosen[a]:
                        chosen[a] = (chosen[a] + 1) % nodes
                        repeated = True
        for c in range(classes):
            pooled[c] = left[c]
            noisy[c] = value[c] * (1.0 + 0.1 * draw_unit(seed))
            for a in range(few):
                pooled[c] += take[chosen[a], c]
        fill_nodes(rate, memory, noisy, capacity, capacity_mb, zero, few, np.int64(REFILL_STEPS), 0.0, pooled, filled)
        after = _worth(value, pooled)
        if after <= before * (1 + 1e-12):
            before = after
            for c in range(classes):
                left[c] = pooled[c]
                for a in range(few):
                    take[chosen[a], c] = filled[a, c]


@inner_allocating
def pack_nodes(patterns, rate, memory, value, demand, capacity, capacity_mb, nodes, seed, take, fills, refills):  # type: ignore[no-untyped-def]
    """Pack as much of the demand's value as a bounded effort can; returns (classes,) cells left over."""
    classes = len(rate)
    left = demand.copy()
    best_left = demand.copy()
    least = np.inf
    trial = np.zeros((nodes, classes), np.int64)
    whole = 0
    size = value.copy()
    if len(patterns) > 0:
        weight = np.empty(classes)
        column = np.empty(classes, np.int64)
        level = np.empty(classes)
        fractional_packing(patterns, demand, weight, column, level)
        for c in range(classes):
            most = 1.0
            for a in range(len(patterns)):
                most = max(most, patterns[a, c])
            size[c] = max(weight[c], 1e-3 / most)
        for b in range(classes):
            if column[b] < 0:
                continue
            for _ in range(int(level[b] + 1e-9)):
                if whole == nodes:
                    break
                used = False
                for c in range(classes):
                    trial[whole, c] = min(left[c], np.int64(patterns[column[b], c]))
                    left[c] -= trial[whole, c]
                    used = used or trial[whole, c] > 0
                if used:
                    whole += 1
    start = left.copy()
    noisy = np.empty(classes)
    best_state = np.empty((whole, classes), np.int64)
    for tried in range(fills if len(patterns) > 0 else 3):
        first = whole
        balance = 0.03
        if tried == 1:
            balance = 0.0
        elif tried == 2:
            balance = 0.2
        elif tried > 2:
            # Every second try takes a few more nodes apart.
            first = max(0, whole - (tried % 4) * 2)
        for c in range(classes):
            left[c] = start[c]
            for k in range(first, whole):
                left[c] += trial[k, c]
                best_state[k, c] = trial[k, c]
        for c in range(classes):
            noisy[c] = size[c] * (1.0 + (0.2 * draw_unit(seed) if tried > 2 else 0.0))
        fill_nodes(
            rate, memory, noisy, capacity, capacity_mb, first, nodes, np.int64(SEARCH_STEPS), balance, left, trial
        )
        worth = _worth(value, left)
        better = worth < least
        if better:
            least = worth
        for c in range(classes):
            if better:
                best_left[c] = left[c]
                for k in range(nodes):
                    take[k, c] = trial[k, c]
            for k in range(first, whole):
                trial[k, c] = best_state[k, c]
        if least == 0.0:
            return best_left
    _refill(rate, memory, value, capacity, capacity_mb, nodes, refills, seed, best_left, take)
    return best_left
