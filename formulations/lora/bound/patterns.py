"""Patterns: what a node can hold in one slot, when whole tasks have to share whole nodes.

Cells that take the same samples and megabytes of a node type are a *class*. A pattern is a count n_c of each class with
sum n_c s_c <= C_p and sum n_c r_c <= C_m - r_b; it is maximal when no cell more fits. At prices pi_c per cell a node
and slot earns at most the best pattern's sum n_c pi_c, which is less than its samples and megabytes would earn apart.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.kernels import compiled
from ratiobench.formulations.lora.bound.pricing import Pool
from ratiobench.instances.lora.model import IntArray

CLASSES = 24  # No patterns of a node type whose tasks fall into more classes
PATTERNS = 20_000  # No patterns of a node type that has more maximal ones
STEPS = 4_000_000  # Steps of the search for patterns; without an end there are none
ACTIVE = 32  # Most patterns in the mixture of one type and slot


class Patterns(NamedTuple):
    first: int  # first, last: its classes are first .. last-1 of the pool's
    last: int
    cells: IntArray  # (patterns, classes) of each class


@compiled
def list_patterns(rate, memory, most, capacity, capacity_mb, limit, steps, out):  # type: ignore[no-untyped-def]
    """Write the maximal patterns to `out`; their number, or -1 when there are more than `limit` or too many steps."""
    classes = len(rate)
    count = np.zeros(classes, np.int64)
    free, free_mb = capacity, capacity_mb
    found = 0
    level = 0
    down = True
    while True:
        steps -= 1
        if steps < 0:
            return -1
        if down and level < classes:
            count[level] = min(most[level], free // rate[level], free_mb // memory[level])
            free -= count[level] * rate[level]
            free_mb -= count[level] * memory[level]
            level += 1
            continue
        if down:
            full = True
            for c in range(classes):
                if count[c] < most[c] and rate[c] <= free and memory[c] <= free_mb:
                    full = False
                    break
            if full:
                if found == limit:
                    return -1
                for c in range(classes):
                    out[found, c] = count[c]
                found += 1
        down = False
        level -= 1
        if level < 0:
            return found
        if count[level] > 0:
            count[level] -= 1
            free += rate[level]
            free_mb += memory[level]
            level += 1
            down = True


def maximal_patterns(rate: IntArray, memory: IntArray, capacity: int, capacity_mb: int) -> IntArray | None:
    """(patterns, classes) all maximal patterns; None when there are too many."""
    if not 1 <= len(rate) <= CLASSES:
        return None
    order = np.argsort(-rate, kind="stable")
    out = np.empty((PATTERNS, len(rate)), np.int64)
    most = np.full(len(rate), capacity)
    found = list_patterns(rate[order], memory[order], most, capacity, capacity_mb, PATTERNS, STEPS, out)
    if found < 0:
        return None
    listed = np.empty((found, len(rate)), np.int64)
    listed[:, order] = out[:found]
    return listed


def node_patterns(p: Pool) -> tuple[Patterns | None, ...]:
    """The maximal patterns of each node type, None for types that have no classes or too many patterns."""
    listed: list[Patterns | None] = []
    for g in range(len(p.nodes)):
        first, last = np.searchsorted(p.class_kind, [g, g + 1]).tolist()
        found = maximal_patterns(
            p.class_rate[first:last], p.class_memory[first:last], int(p.compute[g]), int(p.capacity_mb[g])
        )
        listed.append(None if found is None else Patterns(first, last, found))
    return tuple(listed)


@compiled
def best_pattern(count, price):  # type: ignore[no-untyped-def]
    """(value, index) of the pattern of largest sum n_c price_c; exact for integers."""
    best, index = price[0] * 0, -1
    for a in range(len(count)):
        total = price[0] * 0
        for c in range(len(price)):
            total += count[a, c] * price[c]
        if index < 0 or total > best:
            best, index = total, a
    return best, index


def node_values(count: IntArray, price: NDArray[Any]) -> NDArray[Any]:
    """(T,) value of the best pattern in each slot at prices (classes, T); exact for integers."""
    values = np.empty(price.shape[1], price.dtype)
    _node_values(count.astype(price.dtype), price, values)
    return values


@compiled
def _node_values(count, price, values):  # type: ignore[no-untyped-def]
    line = np.empty(len(price), price.dtype)
    for t in range(len(values)):
        for c in range(len(price)):
            line[c] = price[c, t]
        values[t] = best_pattern(count, line)[0]


@compiled
def supplies(patterns, share, nodes, price, used, penalty, steps, index, mass, limit):  # type: ignore[no-untyped-def]
    """Steps in every slot towards the mixture of patterns whose supply leaves the least penalty on overload.

    The penalty is sum_c max(0, price_c + penalty * (used_c - limit_c))^2; a step moves nodes from the worst pattern of
    the mixture to the best one of all (pairwise Frank-Wolfe with exact line search). `index`, `mass`: (T, ACTIVE)
    patterns of the mixture (-1 for none) and the nodes that have them; `limit`: (classes, T) out: supply in nodes.
    """
    classes = len(share)
    worth = np.empty(classes)
    for t in range(len(nodes)):
        total = 0.0
        for a in range(ACTIVE):
            if index[t, a] >= 0:
                total += mass[t, a]
        if total > 0.0:
            for a in range(ACTIVE):
                mass[t, a] *= nodes[t] / total
        for _ in range(steps):
            for c in range(classes):
                limit[c, t] = 0.0
            for a in range(ACTIVE):
                if index[t, a] >= 0:
                    for c in range(classes):
                        limit[c, t] += mass[t, a] * patterns[index[t, a], c] * share[c]
            for c in range(classes):
                worth[c] = share[c] * max(0.0, price[c, t] + penalty * (used[c, t] - limit[c, t]))
            value, best = best_pattern(patterns, worth)
            worst, least, free = -1, np.inf, -1
            for a in range(ACTIVE):
                if index[t, a] < 0:
                    free = a
                    continue
                earned = 0.0
                for c in range(classes):
                    earned += patterns[index[t, a], c] * worth[c]
                if earned < least:
                    worst, least = a, earned
            if worst < 0:
                index[t, 0] = best
                mass[t, 0] = nodes[t]
                continue
            if value - least <= 1e-6 * value:
                break
            low, high = 0.0, 2.0 * mass[t, worst]
            for _ in range(20):
                # The first point tried is the whole mass.
                middle = 0.5 * (low + high)
                slope = 0.0
                for c in range(classes):
                    change = (patterns[best, c] - patterns[index[t, worst], c]) * share[c]
                    slope += change * max(0.0, price[c, t] + penalty * (used[c, t] - limit[c, t] - middle * change))
                if slope >= 0.0:
                    low = middle
                    if middle == mass[t, worst]:
                        break
                else:
                    high = middle
            moved = low
            into = -1
            for a in range(ACTIVE):
                if index[t, a] == best:
                    into = a
            mass[t, worst] -= moved
            if into < 0:
                into = free if free >= 0 else worst
                if into == worst:
                    moved += mass[t, worst]
                index[t, into] = best
                mass[t, into] = 0.0
            mass[t, into] += moved
            if into != worst and mass[t, worst] <= 1e-9:
                mass[t, into] += mass[t, worst]
                index[t, worst] = -1
                mass[t, worst] = 0.0
        for c in range(classes):
            limit[c, t] = 0.0
        for a in range(ACTIVE):
            if index[t, a] >= 0:
                for c in range(classes):
                    limit[c, t] += mass[t, a] * patterns[index[t, a], c] * share[c]
