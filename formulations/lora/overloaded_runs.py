"""Nodes for the runs of a pool, by an annealing in which nodes may be overloaded at a price that rises.

A program of pools admits sets of large runs for which there are not always nodes: smaller runs stand in their way,
which cannot move. Packed one after the other, some of the large runs are left out. Here all of them get nodes at once,
also nodes that are full. An overload costs what the missing capacity is worth by the dual prices, times a factor that
rises until it is more than any task is worth. Runs that overload a node at the end are left out.

The same idea for tasks that move between nodes is `ratiobench.formulations.lora.heuristic.overload`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ratiobench.formulations.kernels import compiled, compiled_in_place, inlined, inner
from ratiobench.formulations.lora.heuristic.blocks import chance
from ratiobench.formulations.lora.heuristic.overload import (
    FIRST_FACTOR,
    LAST_FACTOR,
    NOISE,
    SHARE,
    list_overloads,
    overload,
)
from ratiobench.formulations.lora.heuristic.packing import draw_below, draw_unit
from ratiobench.formulations.lora.run_search import (
    CHUNK,
    TOURNAMENT,
    Kept,
    Order,
    copy_best,
    empty_schedule,
    insert_all,
    keep,
    seed_of,
)
from ratiobench.formulations.lora.runs import Prices, RunPrices, Runs, worth_of_run

# Temperatures: the first is that part of a usual value of large runs, the last one that part of the median bid
HEAT, COLD = 0.003, 0.05
UNSURE = 0.02  # Starts are compared with a random error of at most so many bids at first
TIDY = 0.05  # What the compute that a part leaves free on its node costs, in dual prices: nodes are filled up
MOST = 4  # Most tasks that a block schedules again


def give_nodes(
    r: Runs, o: Order, pooled: Kept, prices: RunPrices, large: float, blocks: int, number: int, over: Callable[[], bool]
) -> Kept:
    """A schedule on nodes that begins from the runs of a pool.

    `large`: a usual value of large runs, in micro-dollars.
    """
    z, price, seed = empty_schedule(r, o), _price_nodes(r, prices), seed_of("overloads", number)
    chosen = np.flatnonzero(pooled.entry >= 0)
    order = chosen[np.argsort(pooled.start[chosen], kind="stable")]
    best = keep(empty_schedule(r, o))
    cooling = np.array([HEAT * large, COLD * float(np.median(r.bid)), FIRST_FACTOR, LAST_FACTOR])
    with np.errstate(over="ignore"):  # the generator wraps around, which NumPy reports where nothing is compiled
        _place_all(r, z, order, pooled.entry, pooled.start, price)
        for first in range(0, blocks if len(o.members) else 0, CHUNK):
            if over():
                break
            _anneal(r, o, z, best, price, cooling, first, min(first + CHUNK, blocks), blocks, seed)
    _leave_out(r, z, np.argsort(z.net, kind="stable"))
    by_rank = np.argsort(-o.rank[0], kind="stable")
    return max((insert_all(r, o, each, by_rank) for each in (best, keep(z))), key=lambda each: int(each.welfare[0]))


def _price_nodes(r: Runs, prices: RunPrices) -> Prices:
    """(G, T) what a whole node is worth by its compute and memory, and a little more."""
    worth = prices.lam * r.compute[:, None] + prices.phi * r.capacity_mb[:, None]
    return worth + max(1.0, 1e-3 * float(worth.max()))


@inlined
def _cost_of_cell(free, free_mb, rate, memory, compute, capacity_mb, factor):  # type: ignore[no-untyped-def]
    """What a part costs in a node's slot, in prices of a node: the overload, or a little for what it leaves free."""
    if free >= rate and free_mb >= memory:
        return TIDY * (free - rate) / compute
    more = overload(free - rate, free_mb - memory, compute, capacity_mb)
    return factor * (more - overload(free, free_mb, compute, capacity_mb))


@inner
def _change_room(r, z, i, sign):  # type: ignore[no-untyped-def]
    """Take the room of task i's run off what is free (sign = -1), or give it back (sign = 1)."""
    e = z.entry[i]
    for j in range(r.place[i], r.place[i + 1]):
        for t in range(z.start[i], z.start[i] + r.length[e]):
            z.compute[z.nodes[j], t] += sign * r.rate[e]
            z.memory[z.nodes[j], t] += sign * r.memory[i]


@inner
def _penalty(r, z, i, price):  # type: ignore[no-untyped-def]
    """What the overloads that vanish with task i's run cost at a factor of 1."""
    e = z.entry[i]
    g = r.kind[e]
    compute, capacity = r.compute[g], r.capacity_mb[g]
    total = 0.0
    for j in range(r.place[i], r.place[i + 1]):
        k = z.nodes[j]
        for t in range(z.start[i], z.start[i] + r.length[e]):
            free, free_mb = z.compute[k, t], z.memory[k, t]
            if free < 0 or free_mb < 0:
                without = overload(free + r.rate[e], free_mb + r.memory[i], compute, capacity)
                total += price[g, t] * (overload(free, free_mb, compute, capacity) - without)
    return total


@inner
def _place(r, z, i, e, s, price, factor, cost):  # type: ignore[no-untyped-def]
    """Give task i a run of entry e from slot s on, on the cheapest nodes, if its net value is positive.

    cost : scratch of as many places as there are nodes.
    """
    g, end, parts, rate, memory = r.kind[e], s + r.length[e], r.parts[i], r.rate[e], r.memory[i]
    compute, capacity = r.compute[g], r.capacity_mb[g]
    net = r.bid[i] - r.price[e] - parts * r.factor[e] * (r.sums[r.row[e], end] - r.sums[r.row[e], s])
    if net <= 0:
        return
    first, nodes = r.first_node[g], r.first_node[g + 1] - r.first_node[g]
    for k in range(nodes):
        cost[k] = 0.0
        for t in range(s, end):
            free, free_mb = z.compute[first + k, t], z.memory[first + k, t]
            cost[k] += price[g, t] * _cost_of_cell(free, free_mb, rate, memory, compute, capacity, factor)
    for j in range(r.place[i], r.place[i + 1]):
        least = 0
        for k in range(1, nodes):
            if cost[k] < cost[least]:
                least = k
        cost[least] = np.inf
        z.nodes[j] = first + least
    z.entry[i], z.start[i], z.net[i] = e, s, net
    _change_room(r, z, i, -1)


@inner
def _insert(r, o, z, i, price, factor, rest, seed, before, cost):  # type: ignore[no-untyped-def]
    """Give task i the run that costs least with its overloads, and a part of its rents at first, if that pays.

    rest : part of the annealing that is left.
    before, cost : (K, T+1) and (K,) scratch.
    """
    memory, parts = r.memory[i], r.parts[i]
    share = rest * (SHARE + NOISE * draw_unit(seed))
    best = 0.0
    entry, start = np.int64(-1), np.int64(-1)
    for e in range(r.entry_start[i], r.entry_start[i + 1]):
        g, length, rate = r.kind[e], r.length[e], r.rate[e]
        compute, capacity = r.compute[g], r.capacity_mb[g]
        first, nodes = r.first_node[g], r.first_node[g + 1] - r.first_node[g]
        for k in range(nodes):
            before[k, r.low[e]] = 0.0
            for t in range(r.low[e], r.high[e] + length):
                free, free_mb = z.compute[first + k, t], z.memory[first + k, t]
                here = price[g, t] * _cost_of_cell(free, free_mb, rate, memory, compute, capacity, factor)
                before[k, t + 1] = before[k, t] + here
        for s in range(r.low[e], r.high[e] + 1):
            worth = worth_of_run(r, i, e, s, share, o.lam, o.phi) - UNSURE * rest * r.bid[i] * draw_unit(seed)
            if worth <= best:
                continue
            for k in range(nodes):
                cost[k] = before[k, s + length] - before[k, s]
            for j in range(parts):  # the cheapest nodes come first
                least = j
                for k in range(j + 1, nodes):
                    if cost[k] < cost[least]:
                        least = k
                cost[j], cost[least] = cost[least], cost[j]
                worth -= cost[j]
                if worth <= best:
                    break
            if worth > best:
                best, entry, start = worth, np.int64(e), np.int64(s)
    if entry >= 0:
        _place(r, z, i, entry, start, price, factor, cost)


@compiled
def _place_all(r, z, order, entry, start, price):  # type: ignore[no-untyped-def]
    """Give the tasks of the order these runs, each on the nodes that are cheapest then."""
    cost = np.empty(z.compute.shape[0], np.float64)
    for i in order:
        _place(r, z, i, entry[i], start[i], price, FIRST_FACTOR, cost)


@compiled_in_place
def _leave_out(r, z, order):  # type: ignore[no-untyped-def]
    """Take out the runs of the order that overload a node."""
    for i in order:
        e = z.entry[i]
        if e < 0:
            continue
        overloads = False
        for j in range(r.place[i], r.place[i + 1]):
            for t in range(z.start[i], z.start[i] + r.length[e]):
                overloads = overloads or z.compute[z.nodes[j], t] < 0 or z.memory[z.nodes[j], t] < 0
        if overloads:
            _change_room(r, z, i, 1)
            z.entry[i], z.net[i] = -1, 0


@compiled
def _anneal(r, o, z, best, price, cooling, first, last, planned, seed):  # type: ignore[no-untyped-def]
    """Blocks first .. last-1 of `planned`; the best schedule without overloads is written to `best`.

    A block takes out up to `MOST` tasks that may meet in a slot, half of the times one with an overload, and inserts
    them one after the other. Large ones are drawn more often: they are few, and matter.

    cooling : first and last temperature, first and last factor of the prices of overloads.
    """
    nodes, slots = z.compute.shape
    before, cost = np.empty((nodes, slots + 1), np.float64), np.empty(nodes, np.float64)
    task, entry, start = np.empty(MOST, np.int64), np.empty(MOST, np.int64), np.empty(MOST, np.int64)
    net, place = np.empty(MOST, np.int64), np.empty((MOST, r.parts.max()), np.int64)
    scratch = before, cost, task, entry, start, net, place, np.empty(nodes * slots, np.int64)
    _anneal_blocks(r, o, z, best, price, cooling, first, last, planned, seed, scratch)


@inner
def _anneal_blocks(r, o, z, best, price, cooling, first, last, planned, seed, scratch):  # type: ignore[no-untyped-def]
    before, cost, task, entry, start, net, place, listed = scratch
    slots = z.compute.shape[1]
    overloads = list_overloads(z.compute, z.memory, listed)
    for block in range(first, last):
        rest = 1.0 - block / planned
        done = (1.0 - rest) * (1.0 - rest)
        factor = cooling[2] + (cooling[3] - cooling[2]) * (done * done)
        heat = cooling[1] + cooling[0] * (rest * rest)
        slot = draw_below(seed, slots)
        if overloads > 0 and draw_unit(seed) < 0.5:
            slot = listed[draw_below(seed, overloads)]
        size = o.begin[slot + 1] - o.begin[slot]
        if size == 0:
            continue
        count = 0
        for _ in range(1 + draw_below(seed, MOST)):
            i = o.members[o.begin[slot] + draw_below(seed, size)]
            for _ in range((np.int64(1) << draw_below(seed, TOURNAMENT - 1)) - 1):
                other = o.members[o.begin[slot] + draw_below(seed, size)]
                if r.bid[other] > r.bid[i]:
                    i = other
            seen = False
            for a in range(count):
                seen = seen or task[a] == i
            if not seen:
                task[count] = i
                count += 1
        change = 0.0
        for a in range(count):
            i = task[a]
            entry[a], start[a], net[a] = z.entry[i], z.start[i], z.net[i]
            if entry[a] >= 0:
                for j in range(r.parts[i]):
                    place[a, j] = z.nodes[r.place[i] + j]
                change += factor * _penalty(r, z, i, price) - net[a]
                _change_room(r, z, i, 1)
                z.entry[i], z.net[i] = -1, 0
        for a in range(count):
            i = task[a]
            _insert(r, o, z, i, price, factor, rest, seed, before, cost)
            if z.entry[i] >= 0:
                change += z.net[i] - factor * _penalty(r, z, i, price)
        if change < 0 and not draw_unit(seed) < chance(-change / heat):
            for a in range(count):
                i = task[a]
                if z.entry[i] >= 0:
                    _change_room(r, z, i, 1)
                    z.entry[i], z.net[i] = -1, 0
            for a in range(count):
                i = task[a]
                if entry[a] >= 0:
                    z.entry[i], z.start[i], z.net[i] = entry[a], start[a], net[a]
                    for j in range(r.parts[i]):
                        z.nodes[r.place[i] + j] = place[a, j]
                    _change_room(r, z, i, -1)
            continue
        overloads = list_overloads(z.compute, z.memory, listed)
        if overloads == 0:
            welfare = 0
            for i in range(len(z.net)):
                welfare += z.net[i]
            if welfare > best.welfare[0]:
                best.welfare[0] = welfare
                copy_best(best, z)
