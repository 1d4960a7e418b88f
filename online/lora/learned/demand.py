"""Prices of whole nodes from the demand to come: the dual of a fluid problem over representative past tasks.

At every point of arrival (some slots) stand R representatives; n tasks that are expected there count as n / R of each.
A representative buys a cover of its work in whole cells at node prices nu, share by share, if that pays. Minimised is
sum K_g free_gt nu_gt + sum n / R max(0, b - cost), by subgradient steps that are bounded a slot and shrink; prices are
the mean of the later steps. Doubles in a fixed order: the same on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.kernels import compiled, inner
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora.model import IntArray
from ratiobench.online.lora.learned.past import Floats, Past

POINTS = 144  # Most points of arrival: in a longer instance a point stands for some slots
# What is expected in a slot is drawn from past tasks that came no later in their day, or in the first of so many parts
# of it: later ones were cut by the day's end, and moved earlier they would have too short a window
EARLY = 5


class Representatives(NamedTuple):
    """R tasks at each of P points."""

    size: int  # R
    begin: IntArray  # (P,) slot of each point, from 0
    until: IntArray  # (P R,) slot behind the last one
    work: Floats  # work, bid: (P R,)
    bid: Floats
    rate: Floats  # rate, energy, flat, share: (P R, G)
    energy: Floats
    flat: Floats
    share: Floats
    start: IntArray  # (P R, V) first slot of each way of pre-processing; T where there is none
    price: Floats  # (P R, V) its price
    rank: IntArray  # (P R, G) node types, the slowest first; unusable ones are -1
    order: NDArray[np.uint32]  # (P R, most slots of a window times G) where the last sort of each one's entries is kept
    counted: IntArray  # (P R,) how many entries that were


def list_points(slots: int) -> IntArray:
    """(P,) the slots at which arrivals are foretold, from 0."""
    return np.arange(0, slots, -(-slots // POINTS))


def draw(past: Past, share: Floats, slots: int, size: int, seeds: Sequence[str]) -> list[Representatives]:
    """A sample by seed of representatives of the past tasks, stratified by size and by bid per work at each point."""
    begin = list_points(slots)
    count = len(begin) * size
    picks = np.zeros((len(seeds), count), np.int64)
    usable = np.flatnonzero((past.rate > 0).any(axis=1))
    wide = share[usable].max(axis=1)
    density = past.bid / past.work
    order = usable[np.lexsort((past.arrival[usable], density[usable], wide))]
    # A part's tasks by size stand together, by density within it.
    arrival = past.arrival[order]
    drawn = np.array([Stream("learned", seed).integers(0, 2**31 - 1, 2 * count) for seed in seeds])
    turns, within = drawn.reshape(len(seeds), 2, len(begin), size).swapaxes(0, 1)
    for at, slot in enumerate(begin.tolist()):
        known = order[arrival <= max(slot, slots // EARLY)]
        if len(known) == 0:
            known = order
        turn = np.argsort(turns[:, at], axis=1, kind="stable")
        for q in range(size):  # a part of the tasks by size, and of it a part by bid per work, another one each time
            low, high = len(known) * q // size, max(len(known) * q // size + 1, len(known) * (q + 1) // size)
            part = known[low:high]
            part = part[np.argsort(density[part], kind="stable")]
            spots = (turn[:, q] * 2**31 + within[:, at, q]) * len(part) // (size * 2**31)
            picks[:, at * size + q] = part[np.minimum(spots, len(part) - 1)]
    return [_represent(past, share, slots, size, chosen) for chosen in picks]


def _represent(past: Past, share: Floats, slots: int, size: int, picks: IntArray) -> Representatives:
    """The tasks picked, `size` of them moved to each point and cut at the day's end."""
    begin = list_points(slots)
    where = np.repeat(begin, size)
    rate = past.rate[picks].astype(float)
    rank = np.argsort(rate, axis=1, kind="stable")
    rank = np.where(np.take_along_axis(rate, rank, axis=1) > 0, rank, -1)
    delay = past.delay[picks]
    return Representatives(
        size,
        begin,
        np.minimum(slots, where + past.window[picks]),
        past.work[picks].astype(float),
        past.bid[picks].astype(float),
        rate,
        np.ascontiguousarray(past.energy[picks]),
        np.ascontiguousarray(past.flat[picks]),
        np.ascontiguousarray(share[picks]),
        np.where(delay >= 0, where[:, None] + delay, slots),
        past.price[picks].astype(float),
        rank,
        np.tile(np.arange(int(past.window[picks].max(initial=1)) * rate.shape[1], dtype=np.uint32), (len(picks), 1)),
        np.zeros(len(picks), np.int64),
    )


@inner
def _entries(first, until, price, tariff, energy, flat, share, rate, rank, key, size, kind, cost, alone):  # type: ignore[no-untyped-def]
    """The edges of each slot's lower hull of (rate, cost) over the node types, from the origin on: G places a slot."""
    # An edge steps to the next faster type that is worth it: key is its cost per sample (inf: no edge), size its
    # samples. Loops over slots with no branch inside take a fraction of the time: costs come first, type by type, and
    # two types have a loop of their own.
    types = len(rate)
    width = until - first
    for g in range(types):
        if rate[g] > 0:
            here = cost[g]
            per_sample = alone[g]
            tariffs = tariff[g, first:until]
            prices = price[g, first:until]
            for t in range(width):
                here[t] = energy[g] * tariffs[t] + flat[g] + prices[t] * share[g]
                per_sample[t] = here[t] / rate[g]
    if types == 2 and rank[0] >= 0 and rate[rank[1]] > rate[rank[0]]:
        slow = rank[0]
        fast = rank[1]
        step = rate[fast] - rate[slow]
        for t in range(width):
            slope = (cost[fast, t] - cost[slow, t]) / step
            both = slope > alone[slow, t]
            key[2 * t] = alone[slow, t] if both else alone[fast, t]
            size[2 * t] = rate[slow] if both else rate[fast]
            kind[2 * t] = slow if both else fast
            key[2 * t + 1] = slope if both else np.inf
            size[2 * t + 1] = step
            kind[2 * t + 1] = fast
        return
    for t in range(width):
        at = t * types
        top = at
        for z in range(types):
            g = rank[z]
            if g < 0:
                continue
            while True:
                if top == at:
                    slope = alone[g, t]
                    x = 0.0
                else:
                    below = kind[top - 1]
                    x = rate[below]
                    if rate[g] <= x:
                        if cost[g, t] >= cost[below, t]:
                            break
                        top -= 1
                        continue
                    slope = (cost[g, t] - cost[below, t]) / (rate[g] - x)
                    if slope <= key[top - 1]:
                        top -= 1
                        continue
                key[top] = slope
                size[top] = rate[g] - x
                kind[top] = g
                top += 1
                break
        for z in range(top, at + types):
            key[z] = np.inf


@inner
def _sort(key, order, count, ordered):  # type: ignore[no-untyped-def]
    """Put order[:count], a permutation of 0..count-1 that is nearly sorted, in order of key; `ordered`: the keys so."""
    for z in range(count):
        ordered[z] = key[order[z]]
    for z in range(1, count):
        k = ordered[z]
        if ordered[z - 1] <= k:
            continue
        e = order[z]
        y = z - 1
        while y >= 0 and ordered[y] > k:
            order[y + 1] = order[y]
            ordered[y + 1] = ordered[y]
            y -= 1
        order[y + 1] = e
        ordered[y + 1] = k


@inner
def _buy(first, until, start, prices, bid, work, weight, share, key, size, kind, order, types, slot, taken, mark, use):  # type: ignore[no-untyped-def]
    """The best cover in whole cells from the sorted entries; adds `weight` shares of a node to `use` for each cell."""
    # Entries are taken in order until one can do the rest. In its place there may be a later one that does the rest for
    # less: the first edge of a slot of which nothing was taken.
    count = (until - first) * types
    best = 0.0
    pick = -1
    stop = -1
    last = order[0]
    for v in range(len(start)):
        if start[v] >= until:
            continue
        low = (start[v] - first) * types
        rest = work
        spent = prices[v]
        for z in range(count):
            e = order[z]
            if e < low:
                continue
            if key[z] == np.inf or spent >= bid - best:
                break
            if size[e] < rest:
                spent += key[z] * size[e]
                rest -= size[e]
                continue
            least = key[z] * size[e]
            found = e
            for y in range(z + 1, count):
                if key[y] == np.inf or key[y] * rest >= least:
                    break
                f = order[y]
                if f >= low and size[f] >= rest and key[y] * size[f] < least and slot[f] * types == f:
                    least = key[y] * size[f]
                    found = f
            if bid - spent - least > best:
                best = bid - spent - least
                pick = v
                stop = z
                last = found
            break
    if pick < 0:
        return 0.0
    low = (start[pick] - first) * types
    for z in range(stop, -1, -1):  # the last edge of a slot that was taken is its cell
        e = order[z] if z < stop else last
        t = slot[e]
        if e >= low and taken[t] != mark:
            taken[t] = mark
            use[kind[e], first + t] += weight * share[kind[e]]
    return best


@compiled
def descend(reps, now, expected, free, nodes, tariff, price, unit, rounds, step):  # type: ignore[no-untyped-def]
    """(G, T) prices of a node, the mean over the later two thirds of the rounds, from slot `now` on."""
    # expected: (P,) tasks to come; free: (G, T) nodes left of nodes, (G,); unit: (G,) what a step of 1 is. A slot that
    # is over or under by all nodes or more takes a whole step.
    types, slots = price.shape
    price = price.copy()
    mean = np.zeros((types, slots))
    wide = reps.order.shape[1]
    key = np.empty(wide)
    ordered = np.empty(wide)
    size = np.empty(wide)
    kind = np.empty(wide, np.uint32)
    slot = np.empty(wide, np.uint32)
    for e in range(wide):
        slot[e] = e // types
    cost = np.empty((types, slots))
    alone = np.empty((types, slots))
    used = np.empty((types, slots))
    taken = np.zeros(slots, np.int64)
    mark = 0
    number = 0
    for round_ in range(rounds):
        for g in range(types):
            for t in range(slots):
                used[g, t] = 0.0
        for p in range(len(reps.begin)):
            if expected[p] <= 1e-9:
                continue
            weight = expected[p] / reps.size
            for q in range(p * reps.size, (p + 1) * reps.size):
                first = max(reps.begin[p], now)
                until = reps.until[q]
                if first >= until:
                    continue
                _entries(first, until, price, tariff, reps.energy[q], reps.flat[q], reps.share[q], reps.rate[q],
                         reps.rank[q], key, size, kind, cost, alone)  # fmt: skip
                count = (until - first) * types
                order = reps.order[q]
                if reps.counted[q] != count:
                    # The window has become shorter: what was sorted is no order of what is left.
                    for z in range(count):
                        order[z] = z
                    reps.counted[q] = count
                _sort(key, order, count, ordered)
                mark += 1
                _buy(first, until, reps.start[q], reps.price[q], reps.bid[q], reps.work[q], weight, reps.share[q],
                     ordered, size, kind, order, types, slot, taken, mark, used)  # fmt: skip
        length = step / (1.0 + 2.0 * round_ / rounds)
        if round_ >= rounds // 3:
            number += 1
            for g in range(types):
                for t in range(now, slots):
                    mean[g, t] += price[g, t]
        for g in range(types):
            for t in range(now, slots):
                over = (used[g, t] - free[g, t]) / nodes[g]
                over = max(-1.0, min(1.0, over))
                price[g, t] = max(0.0, price[g, t] + length * unit[g] * over)
    for g in range(types):
        for t in range(slots):
            mean[g, t] /= number
    return mean
