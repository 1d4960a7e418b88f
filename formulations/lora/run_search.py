"""Schedules of runs along prices: lists, annealing, packing on nodes; the lower end of `runs`.

A schedule is kept in one of two ways. On nodes, every part of a run has a node. Pooled, a node type is one node that is
as large as all of its nodes together: a run without a node is moved many times faster, and of the runs that fit a pool
nearly all find nodes as well (`pack`). Annealings go over nodes from the best schedule, and over pools and then nodes.

A block of the annealing makes room for a task that waits, at a start that is good by the prices, or takes out some
tasks that run at a moment; then it inserts what was taken out and some tasks that wait, in a drawn order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.kernels import (
    compiled,
    compiled_in_place,
    copy_list,
    inlined,
    inner,
    inner_allocating,
    sort_few,
    sort_stably,
)
from ratiobench.formulations.lora.heuristic.packing import draw_below, draw_unit
from ratiobench.formulations.lora.runs import Prices, RunPrices, Runs, prefix, sum_by_type, value_per_slot, worth_of_run
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora.model import Instance, IntArray
from ratiobench.instances.lora.solution import Decision, Solution

LISTS = 10  # List schedules in drawn orders per unit of effort, up to four units
# Blocks of annealing per unit of effort: so many per task, and at most so many
BLOCKS_PER_TASK, UNIT_BLOCKS = 300, 1_200_000
CHUNK = 1_000  # Blocks between two looks at the clock
# Blocks of the first annealings at most, and of the longest; the first ones have so small a part of all blocks
FIRST_BLOCKS, MOST_BLOCKS, PARTS = 25_000, 400_000, 32
# Temperatures that annealings over pools and over nodes begin with, and with which all end, in parts of the net values
# that a block touches: what values of tasks of very different sizes have in common
HEATS, NODE_HEATS, COLD = (0.1, 0.03, 0.01), (0.01, 0.004), 0.001
FORCED = 0.5  # Share of the blocks that make room for a task
PACKINGS = (2, 3, 4, 6)  # Tasks are packed by value in classes of so many doublings
# Packings after these, each with the tasks that the one before left out a doubling higher; doublings of a class
REPACKINGS, RAISED = 100, 4
LONGEST_REST = 7  # Most turns in which the search leaves out the pool of the best schedule, where that gained nothing
LEVELS = 8  # Nodes are counted by how many such parts of their compute are free
WIDE = 16  # Nodes of gangs of more parts are sorted; for fewer parts the least of the nodes is looked for, part by part
MOST = 400  # Most tasks that a block touches
REFILL = 3.0  # Tasks that wait which a block tries per freed room of a usual task
TOURNAMENT = 6  # Of 1, 2, 4 .. 2^(this-1) tasks drawn the one with the largest reduced profit is made room for.
MOST_OUT = 8  # Most tasks that a block takes out at a moment
# Tasks that wait which a block tries to insert: so many and more for a larger hole, at most the other number
WAITING, MOST_WAITING = 12, 150
LEAST_GAIN = -0.5  # Tasks with less reduced profit than so many bids are left to the lists


class Schedule(NamedTuple):
    """A set of runs, and what is free."""

    entry: IntArray  # entry, start, net: (n,) chosen entry (-1 for none), first slot, net value
    start: IntArray
    net: IntArray
    nodes: IntArray  # (places,) nodes of the parts, where `pooled` is False
    compute: IntArray  # compute, memory: (K, T) or, pooled, (G, T) samples and MB that are free
    memory: IntArray
    roomy: IntArray  # (G, LEVELS+1, T) nodes with at least so many parts of their compute free; unused in a pool
    running: IntArray  # running, busy: tasks that run on a type in a slot: busy[g, t] of them from r.begin[g, t] on
    busy: IntArray
    spot: IntArray  # (r.spot[n],) where a task stands in `running`, by the slots of its window


class Order(NamedTuple):
    """What the search knows of the tasks beside their runs."""

    rank: Prices  # (2, n) value per node and slot by bid and by reduced profit; both are at least 0
    size: Prices  # (n,) node-slots that a task takes
    refill: float  # tasks that wait which a block tries per node-slot that it has freed
    gain: Prices  # (n,) reduced profit
    lam: Prices  # lam, phi: (G, T+1) prefix sums of the prices
    phi: Prices
    members: IntArray  # members, begin: tasks worth a try whose window holds a slot, slot by slot
    begin: IntArray
    first: IntArray  # first, spot: first slot of a task's window; (n+1,) where its slots begin in a flat array
    spot: IntArray
    room: IntArray  # (G, T+1) where the tasks that run on a type in a slot begin in a flat array; (g, T) is the end
    level: IntArray  # (entries,) parts of a node's compute, of LEVELS, that a part of the run has at least


def order_tasks(r: Runs, prices: RunPrices) -> Order:
    """Collect what the search needs."""
    value = value_per_slot(r)
    slots = r.sums.shape[1] - 1
    kinds = len(r.compute)
    low = np.minimum.reduceat(r.low, r.entry_start[:-1])
    high = np.maximum.reduceat(r.high + r.length, r.entry_start[:-1])
    width = high - low
    size = np.maximum(r.bid, 1) / np.maximum(value, 1e-12)
    hopeful = np.flatnonzero(prices.gain > LEAST_GAIN * r.bid)
    open_at = np.zeros(slots + 1, np.int64)
    np.add.at(open_at, low, 1)
    np.add.at(open_at, high, -1)
    most = np.cumsum(open_at)[:slots]
    owner = np.repeat(hopeful, width[hopeful])
    slot = np.arange(len(owner)) - np.repeat(np.cumsum(width[hopeful]) - width[hopeful], width[hopeful]) + low[owner]
    by_slot = np.argsort(slot, kind="stable")
    room = np.zeros((kinds, slots + 1), np.int64)
    at = 0
    nodes = np.diff(r.first_node)
    for g in range(kinds):
        mine = r.kind == g
        least = int(r.rate[mine].min()) if mine.any() else int(r.compute[g])
        held = np.minimum(most, int(nodes[g]) * int(r.compute[g]) // max(1, least))
        room[g] = at + np.concatenate([[0], np.cumsum(held)])
        at = int(room[g, slots])
    return Order(
        rank=np.stack([value, np.maximum(0.0, prices.gain + np.maximum(0.0, 0.3 * r.bid)) / size]),
        size=size, refill=float(REFILL / np.median(size)),
        gain=prices.gain, lam=prefix(prices.lam), phi=prefix(prices.phi),
        members=owner[by_slot], begin=np.searchsorted(slot[by_slot], np.arange(slots + 1)).astype(np.int64),
        first=low, spot=np.concatenate([[0], np.cumsum(width)]).astype(np.int64), room=room,
        level=LEVELS * r.rate // r.compute[r.kind],
    )  # fmt: skip


def empty_schedule(r: Runs, o: Order, pooled: bool = False) -> Schedule:
    """No task has a run; what jobs from before hold is not free."""
    nodes, slots, n = np.diff(r.first_node), r.sums.shape[1] - 1, len(r.task)
    if pooled:
        amounts, places = (nodes * r.compute, nodes * r.capacity_mb), np.zeros(0, np.int64)
    else:
        amounts = np.repeat(r.compute, nodes), np.repeat(r.capacity_mb, nodes)
        places = np.full(int(r.place[-1]), -1, np.int64)
    compute, memory = (np.ascontiguousarray(np.repeat(each[:, None], slots, axis=1)) for each in amounts)
    roomy = np.broadcast_to(nodes[:, None, None], (len(nodes), LEVELS + 1, slots)).copy()
    if r.held.size:
        if pooled:
            held = sum_by_type(r, r.held)
        else:
            held = r.held
            free = LEVELS * (compute - held[0]) // np.repeat(r.compute, nodes)[:, None]
            for g, (low, high) in enumerate(pairwise(r.first_node.tolist())):
                for level in range(LEVELS + 1):
                    roomy[g, level] = np.count_nonzero(free[low:high] >= level, axis=0)
        compute, memory = compute - held[0], memory - held[1]
    return Schedule(
        np.full(n, -1, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64), places, compute,
        memory, roomy, np.zeros(int(o.room[-1, -1]), np.int32), np.zeros((len(nodes), slots), np.int64),
        np.zeros(int(o.spot[-1]), np.int32),
    )  # fmt: skip


@inner
def _change_room(r, z, i, sign):  # type: ignore[no-untyped-def]
    """Take the room of task i's run off what is free (sign = -1), or give it back (sign = 1)."""
    e = z.entry[i]
    g, s, end = r.kind[e], z.start[i], z.start[i] + r.length[e]
    if len(z.nodes):
        whole = r.compute[g]
        for j in range(r.place[i], r.place[i + 1]):
            k = z.nodes[j]
            for t in range(s, end):
                before = LEVELS * z.compute[k, t] // whole
                z.compute[k, t] += sign * r.rate[e]
                z.memory[k, t] += sign * r.memory[i]
                after = LEVELS * z.compute[k, t] // whole
                for level in range(min(before, after) + 1, max(before, after) + 1):
                    z.roomy[g, level, t] += sign
    else:
        for t in range(s, end):
            z.compute[g, t] += sign * r.parts[i] * r.rate[e]
            z.memory[g, t] += sign * r.parts[i] * r.memory[i]


@inner
def _take(r, o, z, i):  # type: ignore[no-untyped-def]
    """Take the room of task i's run off what is free."""
    _change_room(r, z, i, -1)
    e = z.entry[i]
    g, s, end = r.kind[e], z.start[i], z.start[i] + r.length[e]
    spot = o.spot[i] - o.first[i]
    for t in range(s, end):
        at = o.room[g, t] + z.busy[g, t]
        z.running[at] = i
        z.spot[spot + t] = at
        z.busy[g, t] += 1


@inner
def _give(r, o, z, i):  # type: ignore[no-untyped-def]
    """Give the room of task i's run back; the run stays noted."""
    _change_room(r, z, i, 1)
    e = z.entry[i]
    g, s, end = r.kind[e], z.start[i], z.start[i] + r.length[e]
    spot = o.spot[i] - o.first[i]
    for t in range(s, end):
        z.busy[g, t] -= 1
        last = z.running[o.room[g, t] + z.busy[g, t]]
        at = z.spot[spot + t]
        z.running[at] = last
        z.spot[o.spot[last] - o.first[last] + t] = at


@inner_allocating
def _take_first(waste, first, nodes):  # type: ignore[no-untyped-def]
    """Write the nodes of least waste into `nodes`, of equal ones the first."""
    order = sort_stably(waste)
    for j in range(len(nodes)):
        nodes[j] = first + order[j]


@inner
def _choose_nodes(r, z, i, e, s, waste):  # type: ignore[no-untyped-def]
    """Give task i's parts the nodes with room that are left with the least beside and above the run; False for none.

    waste : scratch of as many places as there are nodes.
    """
    g, end = r.kind[e], s + r.length[e]
    found = 0
    first = r.first_node[g]
    for k in range(first, r.first_node[g + 1]):
        fits = True
        left = 0.0
        for t in range(s, end):
            if z.compute[k, t] < r.rate[e] or z.memory[k, t] < r.memory[i]:
                fits = False
                break
            left += z.compute[k, t] - r.rate[e]
        waste[k - first] = np.inf
        if fits:
            found += 1
            beside = 0.0
            if s > 0:
                beside += z.compute[k, s - 1]
            if end < z.compute.shape[1]:
                beside += z.compute[k, end]
            waste[k - first] = left / r.length[e] + 0.5 * beside
    if found < r.parts[i]:
        return False
    if r.parts[i] > WIDE:
        _take_first(waste[: r.first_node[g + 1] - first], first, z.nodes[r.place[i] : r.place[i + 1]])
        return True
    for j in range(r.place[i], r.place[i + 1]):
        least = 0
        for k in range(1, r.first_node[g + 1] - first):
            if waste[k] < waste[least]:
                least = k
        waste[least] = np.inf
        z.nodes[j] = first + least
    return True


@inner
def _insert(r, o, z, i, share, noise, seed, value, where, waste):  # type: ignore[no-untyped-def]
    """Give task i its best run with room at operational cost plus `share` of the rents, if its net value is positive.

    value, where : (candidates,) and (candidates, 2) scratch.
    """
    pooled = len(z.nodes) == 0
    parts, memory = r.parts[i], r.memory[i]
    found = 0
    best = -np.inf
    chosen = -1
    for e in range(r.entry_start[i], r.entry_start[i + 1]):
        g, length, low, high, level = r.kind[e], r.length[e], r.low[e], r.high[e], o.level[e]
        need, need_mb = parts * r.rate[e], parts * memory
        run = 0
        for t in range(high + length - 1, low - 1, -1):
            if pooled:
                fits = z.compute[g, t] >= need and z.memory[g, t] >= need_mb
            else:
                fits = z.roomy[g, level, t] >= parts
            run = run + 1 if fits else 0
            if run < length or t > high:
                continue
            worth = worth_of_run(r, i, e, t, share, o.lam, o.phi)
            if noise > 0:
                worth -= noise * r.bid[i] * draw_unit(seed)
            value[found] = worth
            where[found, 0] = e
            where[found, 1] = t
            # Of equal ones of a type the earliest.
            if worth > best or (worth == best and where[chosen, 0] == e):
                best, chosen = worth, found
            found += 1
    while chosen >= 0 and best > -np.inf:
        e, s = where[chosen, 0], where[chosen, 1]
        if pooled or _choose_nodes(r, z, i, e, s, waste):
            end = s + r.length[e]
            cost = r.factor[e] * (r.sums[r.row[e], end] - r.sums[r.row[e], s])
            net = r.bid[i] - r.price[e] - parts * cost
            if net <= 0:
                return False
            z.entry[i], z.start[i], z.net[i] = e, s, net
            _take(r, o, z, i)
            return True
        value[chosen] = -np.inf
        best = -np.inf
        for c in range(found):
            if value[c] > best or (value[c] == best and best > -np.inf and where[c, 0] == where[chosen, 0]):
                best, chosen = value[c], c
    return False


@inlined
def _scratch(r, o):  # type: ignore[no-untyped-def]
    most = 0
    for i in range(len(r.task)):
        here = 0
        for e in range(r.entry_start[i], r.entry_start[i + 1]):
            here += r.high[e] - r.low[e] + 1
        most = max(most, here)
    return np.empty(most + 1, np.float64), np.empty((most + 1, 2), np.int64), np.empty(r.first_node[-1], np.float64)


@compiled
def _insert_all(r, o, z, order, share, seed):  # type: ignore[no-untyped-def]
    value, where, waste = _scratch(r, o)
    _insert_each(r, o, z, order, share, seed, value, where, waste)
    return z.net.sum()


@inner
def _insert_each(r, o, z, order, share, seed, value, where, waste):  # type: ignore[no-untyped-def]
    for i in order:
        if z.entry[i] < 0:
            _insert(r, o, z, i, share, 0.0, seed, value, where, waste)


@compiled
def _insert_again(r, o, z, order, seed):  # type: ignore[no-untyped-def]
    """Take the runs of the order out one by one, and give each its best run again: of equal ones the earliest."""
    value, where, waste = _scratch(r, o)
    _insert_each_again(r, o, z, order, seed, value, where, waste)


@inner
def _insert_each_again(r, o, z, order, seed, value, where, waste):  # type: ignore[no-untyped-def]
    for i in order:
        _give(r, o, z, i)
        z.entry[i], z.net[i] = -1, 0
        _insert(r, o, z, i, 0.0, 0.0, seed, value, where, waste)


@compiled
def _pack(r, o, z, order, entry, start):  # type: ignore[no-untyped-def]
    """Give the tasks of the order nodes at these entries and starts, where there are any."""
    waste = np.empty(r.first_node[-1], np.float64)
    for i in order:
        e, s = entry[i], start[i]
        if _choose_nodes(r, z, i, e, s, waste):
            end = s + r.length[e]
            cost = r.factor[e] * (r.sums[r.row[e], end] - r.sums[r.row[e], s])
            z.entry[i], z.start[i], z.net[i] = e, s, r.bid[i] - r.price[e] - r.parts[i] * cost
            _take(r, o, z, i)


class _Log(NamedTuple):
    """What a block has touched, as it was; size (2,): how many, and the block's number; mark (n,) of the last block."""

    size: IntArray
    mark: IntArray
    task: IntArray
    entry: IntArray
    start: IntArray
    net: IntArray
    nodes: IntArray


@inner
def _note(r, z, log, i):  # type: ignore[no-untyped-def]
    """Note task i as it is, unless it has been noted; False where there is no place left."""
    size = log.size[0]
    if log.mark[i] == log.size[1]:
        return True
    if size == MOST:
        return False
    log.mark[i] = log.size[1]
    log.task[size], log.entry[size], log.start[size], log.net[size] = i, z.entry[i], z.start[i], z.net[i]
    if len(z.nodes):
        for j in range(r.parts[i]):
            log.nodes[size, j] = z.nodes[r.place[i] + j]
    log.size[0] = size + 1
    return True


@inner
def _undo(r, o, z, log):  # type: ignore[no-untyped-def]
    for j in range(log.size[0]):
        if z.entry[log.task[j]] >= 0:
            _give(r, o, z, log.task[j])
    for j in range(log.size[0]):
        i = log.task[j]
        z.entry[i], z.start[i], z.net[i] = log.entry[j], log.start[j], log.net[j]
        if len(z.nodes):
            for part in range(r.parts[i]):
                z.nodes[r.place[i] + part] = log.nodes[j, part]
        if z.entry[i] >= 0:
            _take(r, o, z, i)


@inlined
def _on(r, z, i, k):  # type: ignore[no-untyped-def]
    found = False
    for j in range(r.place[i], r.place[i + 1]):
        found = found or z.nodes[j] == k
    return found


@inner
def _remove(r, o, z, log, i):  # type: ignore[no-untyped-def]
    """Take task i out; the net value that is lost, or -1 where it cannot be noted."""
    if not _note(r, z, log, i):
        return np.int64(-1)
    _give(r, o, z, i)
    lost = z.net[i]
    z.entry[i] = -1
    z.net[i] = 0
    return lost


@inner
def _clear(r, o, z, log, g, k, t, need, need_mb, spread, seed):  # type: ignore[no-untyped-def]
    """Take out what has least value for its room, with noise, until there is room on row k of what is free in slot t.

    Returns what is lost, or -1.
    """
    lost = np.int64(0)
    pooled = len(z.nodes) == 0
    while z.compute[k, t] < need or z.memory[k, t] < need_mb:
        least, chosen = np.inf, np.int64(-1)
        base = o.room[g, t]
        for at in range(base, base + z.busy[g, t]):
            i = z.running[at]
            if pooled or _on(r, z, i, k):
                value = o.rank[0, i] * (1.0 + spread * (draw_unit(seed) - 0.5))
                if value < least:
                    least, chosen = value, np.int64(i)
        if chosen < 0:
            return np.int64(-1)
        value = _remove(r, o, z, log, chosen)
        if value < 0:
            return np.int64(-1)
        lost += value
    return lost


@inner
def _force(r, o, z, log, i, noise, spread, seed, waste):  # type: ignore[no-untyped-def]
    """Make room for task i at a start that is good by the prices; the change of welfare; entry[i] < 0: no run."""
    best = -np.inf
    entry, s = np.int64(-1), np.int64(-1)
    for e in range(r.entry_start[i], r.entry_start[i + 1]):
        for t in range(r.low[e], r.high[e] + 1):
            worth = worth_of_run(r, i, e, t, 1.0, o.lam, o.phi) - noise * r.bid[i] * draw_unit(seed)
            if worth > best:
                best, entry, s = worth, np.int64(e), np.int64(t)
    g, end = r.kind[entry], s + r.length[entry]
    cost = r.factor[entry] * (r.sums[r.row[entry], end] - r.sums[r.row[entry], s])
    net = r.bid[i] - r.price[entry] - r.parts[i] * cost
    if net <= 0:
        return np.int64(0)
    change = np.int64(0)
    if len(z.nodes) == 0:
        need, need_mb = r.parts[i] * r.rate[entry], r.parts[i] * r.memory[i]
        for t in range(s, end):
            lost = _clear(r, o, z, log, g, g, t, need, need_mb, spread, seed)
            if lost < 0:
                return np.int64(0)
            change -= lost
    else:
        first = r.first_node[g]
        for k in range(first, r.first_node[g + 1]):
            lacking = 0.0
            for t in range(s, end):
                lacking += max(0, r.rate[entry] - z.compute[k, t])
            waste[k - first] = lacking + draw_unit(seed) * r.rate[entry] * (0.3 * r.length[entry] + 1.0)
        for j in range(r.place[i], r.place[i + 1]):
            least = 0
            for k in range(1, r.first_node[g + 1] - first):
                if waste[k] < waste[least]:
                    least = k
            waste[least] = np.inf
            # Not yet the task's: entry[i] < 0 still.
            z.nodes[j] = first + least
            for t in range(s, end):
                lost = _clear(r, o, z, log, g, first + least, t, r.rate[entry], r.memory[i], spread, seed)
                if lost < 0:
                    return np.int64(0)
                change -= lost
    z.entry[i], z.start[i], z.net[i] = entry, s, net
    _take(r, o, z, i)
    return change + net


@inlined
def copy_best(kept, z):  # type: ignore[no-untyped-def]
    """Keep the runs of a schedule, not their welfare."""
    copy_list(kept.entry, z.entry)
    copy_list(kept.start, z.start)
    copy_list(kept.net, z.net)
    copy_list(kept.nodes, z.nodes)


@compiled
def _anneal(r, o, z, kept, blocks, heat, cooling, forced, seed):  # type: ignore[no-untyped-def]
    """Blocks of annealing; the welfare at the end. The best schedule that was met is in `kept`, with its welfare.

    `kept`: entry, start, net, nodes and (1,) welfare of the best schedule so far; out.
    """
    value, where, waste = _scratch(r, o)
    parts = r.parts.max()
    log = _Log(
        np.zeros(2, np.int64), np.full(len(r.task), -1, np.int64), np.empty(MOST, np.int64), np.empty(MOST, np.int64),
        np.empty(MOST, np.int64), np.empty(MOST, np.int64), np.empty((MOST, parts), np.int64),
    )  # fmt: skip
    task, order = np.empty(MOST + MOST_WAITING, np.int64), np.empty(MOST + MOST_WAITING, np.int64)
    key, seen = np.empty(MOST + MOST_WAITING, np.float64), np.full(len(r.task), -1, np.int64)
    scratch = value, where, waste, log, task, order, key, seen
    return _anneal_blocks(r, o, z, kept, blocks, heat, cooling, forced, seed, z.net.sum(), scratch)


@inner
def _anneal_blocks(r, o, z, kept, blocks, heat, cooling, forced, seed, total, scratch):  # type: ignore[no-untyped-def]
    value, where, waste, log, task, order, key, seen = scratch
    best_total, slots = kept.welfare, z.busy.shape[1]
    fresh = total > best_total[0]
    best_total[0] = max(best_total[0], total)
    pooled = len(z.nodes) == 0
    for block in range(blocks):
        heat *= cooling
        log.size[0], log.size[1] = 0, block
        change = np.int64(0)
        forced_task = np.int64(-1)
        slot = draw_below(seed, slots)
        if o.begin[slot + 1] == o.begin[slot]:
            continue
        if draw_unit(seed) < forced:
            # Of some tasks that wait the one that the prices favour most: large ones are few, and matter.
            i = np.int64(-1)
            tries = np.int64(1) << draw_below(seed, TOURNAMENT)
            for _ in range(30 + tries):
                other = o.members[o.begin[slot] + draw_below(seed, o.begin[slot + 1] - o.begin[slot])]
                if z.entry[other] < 0:
                    if i < 0 or o.gain[other] > o.gain[i]:
                        i = other
                    tries -= 1
                    if tries <= 0:
                        break
            if i < 0:
                continue
            _note(r, z, log, i)
            change = _force(r, o, z, log, i, 0.3 * draw_unit(seed), 0.6, seed, waste)
            if z.entry[i] < 0:
                _undo(r, o, z, log)
                continue
            forced_task = i
        else:
            g = draw_below(seed, z.busy.shape[0])
            want = 1 + draw_below(seed, MOST_OUT)
            node = np.int64(-1)
            alike = draw_unit(seed) < 0.7
            for _ in range(3 * want):
                if z.busy[g, slot] == 0 or log.size[0] >= want:
                    break
                i = np.int64(z.running[o.room[g, slot] + draw_below(seed, z.busy[g, slot])])
                if not pooled:
                    if node < 0:
                        node = z.nodes[r.place[i]]
                    elif alike and not _on(r, z, i, node):
                        continue
                change -= _remove(r, o, z, log, i)
        count = 0
        by = 0 if draw_unit(seed) < 0.5 else 1
        spread = 0.2 + 0.8 * draw_unit(seed)
        out = log.size[0]
        for j in range(out):
            i = log.task[j]
            if z.entry[i] < 0:
                task[count] = i
                seen[i] = block
                key[count] = -o.rank[by, i] * (1.0 + spread * (draw_unit(seed) - 0.5))
                count += 1
        removed = count
        area = np.float64(0.0)
        scale = 1.0
        for j in range(out):
            scale += log.net[j]
        if forced_task >= 0:
            scale += z.net[forced_task]
        for j in range(count):
            area += o.size[task[j]]
        wanted = np.int64(min(np.float64(MOST_WAITING), WAITING + o.refill * area))
        for _ in range(wanted):
            t = slot
            if removed > 0:
                j = draw_below(seed, out)
                if log.entry[j] >= 0:
                    t = log.start[j] + draw_below(seed, r.length[log.entry[j]])
            if o.begin[t + 1] == o.begin[t]:
                continue
            i = o.members[o.begin[t] + draw_below(seed, o.begin[t + 1] - o.begin[t])]
            if z.entry[i] >= 0:
                continue
            if seen[i] != block:
                seen[i] = block
                task[count] = i
                key[count] = -o.rank[by, i] * (1.0 + spread * (draw_unit(seed) - 0.5))
                count += 1
        share = 1.2 * draw_unit(seed)
        noise = 0.1 * max(0.0, draw_unit(seed) - 0.5)
        sort_few(key, count, order)
        for a in range(count):
            i = task[order[a]]
            if not _note(r, z, log, i):
                break
            if _insert(r, o, z, i, share, noise, seed, value, where, waste):
                change += z.net[i]
        if change >= 0 or (heat > 0 and draw_unit(seed) < np.exp(change / (heat * scale))):
            if change < 0 and fresh:
                # The state before this block was the best: undo, keep, and do without the block.
                _undo(r, o, z, log)
                copy_best(kept, z)
                fresh = False
                continue
            total += change
            if total > best_total[0]:
                best_total[0] = total
                fresh = True
        else:
            _undo(r, o, z, log)
    if fresh:
        copy_best(kept, z)
    return total


class Kept(NamedTuple):
    """The best schedule of an annealing: entry, start, net, nodes as in `Schedule`, and (1,) its welfare."""

    entry: IntArray
    start: IntArray
    net: IntArray
    nodes: IntArray
    welfare: IntArray


def keep(z: Schedule) -> Kept:
    """A copy of a schedule's runs."""
    return Kept(z.entry.copy(), z.start.copy(), z.net.copy(), z.nodes.copy(), np.array([z.net.sum()], dtype=np.int64))


@compiled_in_place
def _fill(r, o, z, entry, start, net):  # type: ignore[no-untyped-def]
    """These runs in an empty schedule."""
    for i in range(len(r.task)):
        if entry[i] >= 0:
            z.entry[i], z.start[i], z.net[i] = entry[i], start[i], net[i]
            _take(r, o, z, i)


def restore(r: Runs, o: Order, kept: Kept, pooled: bool) -> Schedule:
    """The schedule of runs that were kept; a pooled one forgets their nodes."""
    z = empty_schedule(r, o, pooled)
    if not pooled:
        z.nodes[:] = kept.nodes
    _fill(r, o, z, kept.entry, kept.start, kept.net)
    return z


def seed_of(name: str, number: int) -> NDArray[np.uint64]:
    """(1,) a state of the generator of the kernels, never 0."""
    return np.array([int(Stream("runs", f"{name} {number}").words(1)[0]) | 1], dtype=np.uint64)


def list_schedule(r: Runs, o: Order, orders: Sequence[IntArray], shares: Sequence[float]) -> Kept:
    """The best of the list schedules in these orders at these shares of the rents."""
    best = keep(empty_schedule(r, o))
    for order in orders:
        for share in shares:
            best = _better(best, _list(r, o, empty_schedule(r, o), order, share))
    return best


def draw_lists(r: Runs, o: Order, best: Kept, count: int, over: Callable[[], bool]) -> Kept:
    """The best of list schedules in orders that are drawn around value per slot, reduced profit and bid."""
    gain = o.gain / o.size
    bases = [o.rank[0], o.rank[0], gain - min(0.0, float(gain.min())), r.bid.astype(np.float64)]
    stream = Stream("runs", "orders")
    for number in range(count):
        if over():
            break
        drawn = stream.words(len(r.task) + 1).astype(np.float64) / 2.0**64
        spread = 0.1 + 0.9 * drawn[-1]
        order = np.argsort(-bases[number % 4] * (1.0 + spread * (drawn[:-1] - 0.5)), kind="stable")
        share = (0.0, 0.3, 0.6, 1.0)[(number // 4) % 4]
        best = _better(best, _list(r, o, empty_schedule(r, o), order, share))
    return best


def _list(r: Runs, o: Order, z: Schedule, order: IntArray, share: float) -> Schedule:
    """Insert the tasks that have no run in this order, at this share of the rents, then at none."""
    for each in (share, 0.0):
        _insert_all(r, o, z, order, each, seed_of("list", 0))
    return z


def _better(best: Kept, z: Schedule) -> Kept:
    return keep(z) if z.net.sum() > best.welfare[0] else best


def insert_all(r: Runs, o: Order, kept: Kept, order: IntArray) -> Kept:
    """A schedule on nodes with the tasks of the order that have no run, where there is free capacity.

    Each task gets the start of largest net value, of equal ones on a type the earliest.
    """
    z = restore(r, o, kept, False)
    _insert_all(r, o, z, order, 0.0, seed_of("list", 0))
    return keep(z)


def insert_again(r: Runs, o: Order, kept: Kept) -> Kept:
    """A schedule on nodes in which each run, in the order of starts, is moved to where its net value is largest.

    Of equal starts on a type a run gets the earliest.
    """
    z = restore(r, o, kept, False)
    chosen = np.flatnonzero(kept.entry >= 0)
    _insert_again(r, o, z, chosen[np.argsort(kept.start[chosen], kind="stable")], seed_of("list", 0))
    return keep(z)


def anneal(r: Runs, o: Order, kept: Kept, blocks: int, number: int, heat: float = HEATS[0]) -> Kept:
    """The best schedule on nodes that an annealing of so many blocks meets; never worse than the one to start from."""
    best = Kept(*(column.copy() for column in kept))
    if blocks and len(o.members):
        z = restore(r, o, kept, False)
        with np.errstate(over="ignore"):  # the generator wraps around, which NumPy reports where nothing is compiled
            _anneal(r, o, z, best, blocks, heat, (COLD / heat) ** (1.0 / blocks), FORCED, seed_of("plan", number))
    return best


def pack(r: Runs, o: Order, kept: Kept) -> Kept:
    """Nodes for pooled runs: the best of some orders. Runs without nodes and tasks that wait are inserted by value.

    First orders by classes of value, then by start within them. After these, a task that an order left without nodes
    is raised by a doubling of its value, and goes before others in the next order (squeaky wheel optimisation).

    Source: Joslin and Clements, "Squeaky wheel" optimization, JAIR 10 (1999).
    """
    chosen = np.flatnonzero(kept.entry >= 0)
    entry = kept.entry[chosen]
    level, start = o.level[entry], kept.start[chosen]
    value = np.log2(np.maximum(2.0, kept.net[chosen].astype(np.float64)))
    by_rank = np.argsort(-o.rank[0], kind="stable")
    orders: list[tuple[IntArray, ...]] = [(start, -level)]
    for doublings in PACKINGS:
        rough = np.floor(value / doublings).astype(np.int64)
        orders += [(-rough, start), (-rough, -level, start)]
    best = most = keep(empty_schedule(r, o))
    for number in range(len(orders) + REPACKINGS):
        keys = orders[number] if number < len(orders) else (-np.floor(value / RAISED), start)
        z = empty_schedule(r, o)
        _pack(r, o, z, chosen[np.lexsort(keys[::-1])], kept.entry, kept.start)
        if number < len(orders):
            most = _better(most, z)
            best = _better(best, _list(r, o, z, by_rank, 1.0))
        else:
            most = _better(most, z)
            left_out = z.entry[chosen] < 0
            if not left_out.any():
                break
            value[left_out] += 1.0
    return _better(best, _list(r, o, restore(r, o, most, False), by_rank, 1.0))


class Search:
    """Annealings over nodes from the best schedule, and over pools and then nodes, in turns.

    `best` is the best schedule on nodes so far. A turn goes on over nodes, over the best of the pools that began hot,
    and over the pool of the best schedule, cold; that is left out for 1, 3, 7 turns where it gained nothing. Each turn
    is half as long again as the one before; the first one is so short that several fit into what there is.
    """

    def __init__(self, r: Runs, o: Order, best: Kept, over: Callable[[], bool], enough: int, blocks: int) -> None:
        """At most so many blocks; `over` is asked between chunks of them."""
        self.best, self.done = best, 0
        self._r, self._o, self._over, self._enough, self._most, self._number = r, o, over, enough, blocks, 0

    def run(self) -> None:
        """Until the blocks are done, the time is over or the welfare is enough."""
        r, o = self._r, self._o
        by_rank = np.argsort(-o.rank[0], kind="stable")
        start = pool = keep(_list(r, o, empty_schedule(r, o, True), by_rank, 1.0))
        blocks, heat, rest, rested = min(FIRST_BLOCKS, max(1, self._most // PARTS)), 0, 0, 0
        while not self._ended():
            for each in NODE_HEATS:
                self._offer(self._anneal(self.best, blocks, each, False))
            found = self._anneal(pool, blocks, HEATS[heat], True)
            if pool is start or found.welfare[0] > pool.welfare[0]:
                pool = found
            else:
                heat = (heat + 1) % len(HEATS)
            self._go_to_nodes(found, blocks)
            if rest:
                rest -= 1
            elif not self._ended():
                before = int(self.best.welfare[0])
                self._go_to_nodes(self._anneal(keep(restore(r, o, self.best, True)), blocks, HEATS[-1], True), blocks)
                rested = 0 if self.best.welfare[0] > before else min(LONGEST_REST, 2 * rested + 1)
                rest = rested
            blocks = min(blocks + blocks // 2 + 1, MOST_BLOCKS)

    def _go_to_nodes(self, pool: Kept, blocks: int) -> None:
        packed = pack(self._r, self._o, pool)
        self._offer(packed)
        self._offer(self._anneal(packed, blocks, NODE_HEATS[0], False))

    def _ended(self) -> bool:
        return self.done >= self._most or int(self.best.welfare[0]) >= self._enough or self._over()

    def _offer(self, kept: Kept) -> None:
        if kept.welfare[0] > self.best.welfare[0]:
            self.best = kept

    def _anneal(self, start: Kept, blocks: int, heat: float, pooled: bool) -> Kept:
        """The best schedule of an annealing's second, colder half; it may be worse than the one to start from."""
        r, o = self._r, self._o
        self._number += 1
        z, seed = restore(r, o, start, pooled), seed_of("blocks", self._number)
        kept = keep(z)
        cooling = (COLD / heat) ** (1.0 / blocks)
        hot = blocks // 2
        while blocks > 0 and not self._ended():
            if hot > 0 and blocks <= hot:
                kept, hot = keep(z), 0
            now = min(blocks, CHUNK, self._most - self.done)
            _anneal(r, o, z, kept, now, heat, cooling, FORCED, seed)
            heat *= cooling**now
            blocks -= now
            self.done += now
        return kept


def search(r: Runs, o: Order, best: Kept, effort: int, enough: int, over: Callable[[], bool]) -> tuple[Kept, int]:
    """Search from the best schedule so far; the best one, and the blocks done.

    `effort`: units of work.
    """
    if not len(o.members):
        return best, 0
    work = Search(r, o, best, over, enough, effort * min(UNIT_BLOCKS, BLOCKS_PER_TASK * len(r.task)))
    work.run()
    return work.best, work.done


def solution_of_runs(instance: Instance, r: Runs, kept: Kept) -> Solution:
    """The decisions, cells in order of slots."""
    found: list[Decision | None] = [None] * instance.tasks
    for j in np.flatnonzero(kept.entry >= 0).tolist():
        e, start = int(kept.entry[j]), int(kept.start[j])
        nodes = sorted(kept.nodes[int(r.place[j]) : int(r.place[j + 1])].tolist())
        cells = tuple((k, t + 1) for t in range(start, start + int(r.length[e])) for k in nodes)
        vendor = int(r.vendor[e])
        found[int(r.task[j])] = Decision(None if vendor < 0 else vendor, cells)
    return tuple(found)
