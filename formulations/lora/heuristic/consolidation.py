"""Free room gathered on few nodes, for node types whose patterns are not known.

Nodes of a type are alike, and a task may run on another one in every slot, so cells of a slot change places for
nothing. Two nodes at a time are packed again, the fuller one as full as a bounded search can make it (minimum bin
slack, Gupta and Ho 1999, with two resources and what the other node must still hold). Then two tasks exchange a slot
each, so that free capacity is gathered in fewer slots, where whole cells fit.
"""

from __future__ import annotations

import numpy as np

from ratiobench.formulations.kernels import compiled, inlined, sort_stably
from ratiobench.formulations.lora.bound.pricing import Pool, base_cost
from ratiobench.formulations.lora.heuristic.insertion import Workspace, find_entry
from ratiobench.formulations.lora.heuristic.state import State

STEPS = 2_000  # Steps of the search for one pair of nodes
# About so many pairs of nodes are packed again in a slot: each node with those of most room, 2 to 24 of them
PAIRS = 600
FULL = 1e-4  # A node with no more room than this part of it is left alone
AT_ONCE = 10_000  # Nodes times slots that `consolidate` looks at between two chunks of a descent
REACH = 72  # Most slots between two cells that are exchanged
DEARER = 0.2  # What an exchange may cost, as a part of the rent of the capacity that it moves


def find_types_without_patterns(d: Workspace) -> list[int]:
    return [g for g in range(len(d.classes)) if d.first_pattern[g] == d.first_pattern[g + 1]]


def consolidate(p: Pool, s: State, d: Workspace, turn: int | None = None) -> None:
    """Gather the room of all slots with prices, or with `turn` of the next ones, as many as `AT_ONCE` allows."""
    for g in find_types_without_patterns(d):
        partners = min(24, max(2, PAIRS // int(p.nodes[g])))
        for low, high in _spans(p, g, turn):
            _gather(p, s, d, g, low, high, partners)


def exchange_slots(p: Pool, s: State, d: Workspace, turn: int | None = None) -> None:
    """Gather free capacity over time by exchanges of slots, among those that `consolidate` looks at."""
    for g in find_types_without_patterns(d):
        for low, high in _spans(p, g, turn):
            _exchange_slots(p, s, d, g, low, high)


def _spans(p: Pool, g: int, turn: int | None) -> tuple[tuple[int, int], tuple[int, int]]:
    """First slots and ends of the two parts, the second one often empty, of a type's turn."""
    slots = p.tariff.shape[1]
    span = slots if turn is None else min(slots, max(1, AT_ONCE // int(p.nodes[g])))
    first = 0 if turn is None else turn * span % slots
    return (first, min(slots, first + span)), (0, max(0, first + span - slots))


def warm(p: Pool, s: State, d: Workspace) -> None:
    _gather(p, s, d, 0, 0, 0, 2)
    _exchange_slots(p, s, d, 0, 0, 0)


@inlined
def _fuller(count, value, rate, memory, least, least_mb, most, most_mb, steps, taken, best):  # type: ignore[no-untyped-def]
    """Look for items of more value than those in `best`, within limits of both resources; whether some were found."""
    start = 0.0
    rest = 0.0
    rest_rate = np.int64(0)
    rest_mb = np.int64(0)
    for j in range(count):
        if best[j]:
            start += value[j]
        rest += value[j]
        rest_rate += rate[j]
        rest_mb += memory[j]
        taken[j] = 0
    # Sums taken in another order differ in the last bits: that is no gain.
    top = start * (1 + 1e-9)
    found = False
    now = 0.0
    used = np.int64(0)
    used_mb = np.int64(0)
    level = 0
    while level >= 0:
        # `rest` is what stands from `level` on.
        if level == count:
            if now > top and used >= least and used_mb >= least_mb:
                top = now
                found = True
                for j in range(count):
                    best[j] = taken[j] == 1
            level -= 1
        elif taken[level] == 0:
            steps -= 1
            if steps < 0 or now + rest <= top or used + rest_rate < least or used_mb + rest_mb < least_mb:
                level -= 1
                continue
            rest -= value[level]
            rest_rate -= rate[level]
            rest_mb -= memory[level]
            taken[level] = 2
            if used + rate[level] <= most and used_mb + memory[level] <= most_mb:
                taken[level] = 1
                now += value[level]
                used += rate[level]
                used_mb += memory[level]
            level += 1
        elif taken[level] == 1:
            now -= value[level]
            used -= rate[level]
            used_mb -= memory[level]
            taken[level] = 2
            level += 1
        else:
            taken[level] = 0
            rest += value[level]
            rest_rate += rate[level]
            rest_mb += memory[level]
            level -= 1
    return found


@compiled
def _gather(p, s, d, kind, low, high, partners):  # type: ignore[no-untyped-def]
    first_node = d.first_node[kind]
    nodes = d.first_node[kind + 1] - first_node
    compute, capacity_mb = p.compute[kind], p.capacity_mb[kind]
    widest = 0
    for slot in range(low, high):
        widest = max(widest, d.start[slot + 1] - d.start[slot])
    # The slot's cells in descending worth: by task, node, and the next one of the same node.
    found = np.empty((2, widest), np.int64)
    key = np.empty(widest)
    cell = np.empty(widest, np.int64)
    where = np.empty(widest, np.int64)
    after = np.empty(widest, np.int64)
    rates = np.empty(widest, np.int64)
    worth = np.empty(widest)
    head = np.empty(nodes, np.int64)
    free = np.empty(nodes, np.int64)
    pair = np.empty(widest, np.int64)
    value = np.empty(widest)
    rate = np.empty(widest, np.int64)
    memory = np.empty(widest, np.int64)
    taken = np.empty(widest, np.int64)
    best = np.empty(widest, np.bool_)
    for slot in range(low, high):
        count = 0
        priced = 0.0
        for a in range(d.start[slot], d.start[slot + 1]):
            i = d.members[a]
            if 0 <= s.place[d.at[i] + slot - p.first[i]] - first_node < nodes:
                j = find_entry(p, i, kind)
                found[0, count], found[1, count] = i, p.rate[j]
                key[count] = d.rent[p.klass[j], slot]
                priced += key[count]
                count += 1
        if priced <= 0:
            continue
        for x in range(count):
            # A little for size, so that cells without a price fill too.
            size = found[1, x] / compute + p.memory[found[0, x]] / capacity_mb
            key[x] = -(key[x] * count / priced + 1e-2 * size)
        order = sort_stably(key[:count])
        for k in range(nodes):
            head[k] = -1
            free[k] = s.free[first_node + k, slot]
        for x in range(count - 1, -1, -1):
            i = found[0, order[x]]
            cell[x], rates[x], worth[x] = i, found[1, order[x]], -key[order[x]]
            where[x] = s.place[d.at[i] + slot - p.first[i]] - first_node
            after[x] = head[where[x]]
            head[where[x]] = x
        fullest = sort_stably(free)
        changed = False
        for z in range(nodes - 1):
            a = fullest[z]
            for y in range(nodes - 1, max(z, nodes - 1 - partners), -1):
                b = fullest[y]
                if s.free[first_node + a, slot] <= FULL * compute:
                    break
                here = 0
                total, total_mb = np.int64(0), np.int64(0)
                one, other = head[a], head[b]
                while one >= 0 or other >= 0:
                    if other < 0 or 0 <= one < other:
                        x = one
                        one = after[x]
                    else:
                        x = other
                        other = after[x]
                    pair[here] = x
                    value[here], rate[here], memory[here] = worth[x], rates[x], p.memory[cell[x]]
                    best[here] = where[x] == a
                    total += rate[here]
                    total_mb += memory[here]
                    here += 1
                if not _fuller(here, value, rate, memory, total - compute, total_mb - capacity_mb, compute,
                               capacity_mb, STEPS, taken, best):  # fmt: skip
                    continue
                changed = True
                used, used_mb = np.int64(0), np.int64(0)
                head[a] = head[b] = -1
                for j in range(here - 1, -1, -1):
                    x = pair[j]
                    k = b
                    if best[j]:
                        k = a
                        used += rate[j]
                        used_mb += memory[j]
                    where[x] = k
                    after[x] = head[k]
                    head[k] = x
                    s.place[d.at[cell[x]] + slot - p.first[cell[x]]] = first_node + k
                s.free[first_node + a, slot] = compute - used
                s.free_mb[first_node + a, slot] = capacity_mb - used_mb
                s.free[first_node + b, slot] = compute - total + used
                s.free_mb[first_node + b, slot] = capacity_mb - total_mb + used_mb
        if changed:
            d.version[kind, slot] += 1


@inlined
def _can_run(p, s, d, i, slot):  # type: ignore[no-untyped-def]
    """Whether the task's window and offer allow a cell in the slot, in which it has none."""
    t = slot - p.first[i]
    return p.offset[s.option[i]] <= t < p.width[i] and s.place[d.at[i] + t] < 0


@inlined
def _exchange(p, s, d, kind, i, slot, j, other):  # type: ignore[no-untyped-def]
    """Let task i run in the slot and on the node of task j, and j in those of i."""
    k, node = s.place[d.at[i] + slot - p.first[i]], s.place[d.at[j] + other - p.first[j]]
    for task, old, was, new, to in ((i, slot, k, other, node), (j, other, node, slot, k)):
        e = find_entry(p, task, kind)
        here = d.at[task] - p.first[task]
        s.place[here + old] = -1
        s.place[here + new] = to
        s.free[was, old] += p.rate[e]
        s.free_mb[was, old] += p.memory[task]
        s.free[to, new] -= p.rate[e]
        s.free_mb[to, new] -= p.memory[task]
        s.net[task] += base_cost(p, task, kind, old) - base_cost(p, task, kind, new)
        d.running[p.klass[e], old] -= 1
        d.running[p.klass[e], new] += 1
    d.version[kind, slot] += 1
    d.version[kind, other] += 1


@inlined
def _shift(task, rate, at, to, i, new):  # type: ignore[no-untyped-def]
    """Replace an item of lists sorted by rate, so that they stay sorted; `to` is the end towards which it goes."""
    step = 1 if to > at else -1
    while at != to and (rate[at + step] - new) * step < 0:
        task[at], rate[at] = task[at + step], rate[at + step]
        at += step
    task[at], rate[at] = i, new


@compiled
def _exchange_slots(p, s, d, kind, low, high):  # type: ignore[no-untyped-def]
    """Gather a type's free capacity in few of the slots low .. high-1; returns the number of exchanges.

    A node takes a slightly larger cell from another slot and gives one of its cells for it. The sum of squares of what
    is free on a node grows with every exchange, which may cost `DEARER` times the rent of the capacity that it moves.
    """
    first_node, last_node = d.first_node[kind], d.first_node[kind + 1]
    slots = high - low
    widest = 0
    for slot in range(low, high):
        widest = max(widest, d.start[slot + 1] - d.start[slot])
    # The cells of each slot by ascending rate.
    count = np.zeros(slots, np.int64)
    task = np.empty((slots, widest), np.int64)
    rate = np.empty((slots, widest), np.int64)
    for slot in range(low, high):
        here = slot - low
        for a in range(d.start[slot], d.start[slot + 1]):
            i = d.members[a]
            if first_node <= s.place[d.at[i] + slot - p.first[i]] < last_node:
                _shift(task[here], rate[here], count[here], 0, i, p.rate[find_entry(p, i, kind)])
                count[here] += 1
    done = 0
    for slot in range(low, high):
        here = slot - low
        for other in range(max(low, slot - REACH), min(high, slot + REACH + 1)):
            there = other - low
            gain, one, two = 0.0, -1, -1
            begin = 0
            for x in range(count[here] if other != slot else 0):
                while begin < count[there] and rate[there, begin] <= rate[here, x]:
                    begin += 1
                i = task[here, x]
                k = s.place[d.at[i] + slot - p.first[i]]
                free = s.free[k, slot]
                if (
                    begin == count[there]
                    or rate[there, begin] - rate[here, x] > free
                    or not _can_run(p, s, d, i, other)
                ):
                    continue
                saved = base_cost(p, i, kind, slot) - base_cost(p, i, kind, other)
                for y in range(begin, count[there]):
                    more = rate[there, y] - rate[here, x]
                    if more > free:
                        break
                    j = task[there, y]
                    node = s.place[d.at[j] + other - p.first[j]]
                    more_mb = p.memory[j] - p.memory[i]
                    better = float(more) * float(s.free[node, other] + more - free)
                    if better <= gain or more_mb > s.free_mb[k, slot] or -more_mb > s.free_mb[node, other]:
                        continue
                    rent = d.rent[p.klass[find_entry(p, j, kind)], slot] / rate[there, y]
                    cost = base_cost(p, j, kind, slot) - base_cost(p, j, kind, other) - saved
                    if cost <= DEARER * more * rent and _can_run(p, s, d, j, slot):
                        gain, one, two = better, x, y
            if one >= 0:
                i, j = task[here, one], task[there, two]
                small, large = rate[here, one], rate[there, two]
                _exchange(p, s, d, kind, i, slot, j, other)
                _shift(task[here], rate[here], one, count[here] - 1, j, large)
                _shift(task[there], rate[there], two, 0, i, small)
                done += 1
    return done
