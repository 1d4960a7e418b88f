"""The cheapest run of a task that is never paused, at additive prices, in doubles: a search by type and first slot."""

from __future__ import annotations

import numpy as np

from ratiobench.formulations.kernels import compiled, inner


@inner
def _first_nodes(total, there, count, parts, nodes):  # type: ignore[no-untyped-def]
    """The `parts` cheapest of the `count` nodes `there` into `nodes`, ascending; ties by number. Their sum."""
    value = 0.0
    for j in range(parts):
        best = -1
        for x in range(count):
            if there[x] >= 0 and (best < 0 or total[x] < total[best]):
                best = x
        nodes[j] = there[best]
        there[best] = -1
        value += total[best]
    return value


@compiled
def find_cheapest_run(price, room, cost, first_node, lengths, parts, starts, prices, first):  # type: ignore[no-untyped-def]
    """The run of least vendor price plus costs of cells, among the cells with room.

    The cells of a node are added from the last slot to the first, each its price plus its operation; the nodes in the
    order of their sums; then the vendor's price. Ties: the first vendor, the fewest cells, the smallest list of
    (slot, node).

    `price`, `room`: (K, W) price of a cell, whether it can be taken; column 0 is slot `first`; `cost`: (G, T) of
    operation. first_node : (G+1,). lengths : (G,) slots of a run, 0 where there is none; `starts`, `prices`: (n
    options,) first usable slot, from 1, and vendor price; returns (total, option, type, first slot from 1, (parts,)
    nodes ascending); option -1 without a run.
    """
    width = price.shape[1]
    best, pick, kind, begin = np.inf, -1, -1, 0
    chosen = np.empty(parts, np.int64)
    nodes = np.empty(parts, np.int64)
    for g in range(len(lengths)):
        length = lengths[g]
        low, high = first_node[g], first_node[g + 1]
        if length == 0 or length > width or high - low < parts:
            continue
        free = np.zeros(high - low, np.int64)
        total = np.empty(high - low)
        there = np.empty(high - low, np.int64)
        for t in range(width - 1, -1, -1):
            count = 0
            for k in range(low, high):
                free[k - low] = free[k - low] + 1 if room[k, t] else 0
                if free[k - low] >= length:
                    count += 1
            if count < parts:
                continue
            option, least = -1, np.inf
            for o in range(len(starts)):
                if starts[o] <= first + t and prices[o] < least:
                    option, least = o, prices[o]
            if option < 0:
                break
            count = 0
            for k in range(low, high):
                if free[k - low] >= length:
                    value = 0.0
                    for j in range(t + length - 1, t - 1, -1):
                        value += price[k, j] + cost[g, first + j - 1]
                    total[count] = value
                    there[count] = k
                    count += 1
            value = _first_nodes(total, there, count, parts, nodes) + least
            better = value < best
            if value == best:
                nodes.sort()
                if option != pick:
                    better = option < pick
                elif length != lengths[kind]:
                    better = length < lengths[kind]
                elif first + t != begin:
                    better = first + t < begin
                else:
                    better = nodes[0] < chosen[0]
            if better:
                nodes.sort()
                best, pick, kind, begin = value, option, g, first + t
                chosen[:] = nodes
    return best, pick, kind, begin, chosen
