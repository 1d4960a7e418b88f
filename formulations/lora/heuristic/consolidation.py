"""Free room gathered on few nodes, for node types whose patterns are not known.

Nodes of a type are alike, and a task may run on another one in every slot, so cells of a slot change places for
nothing. Where sizes are many, every node is left with a little that no cell fits into; all of it together has room for
more. Two nodes at a time are packed again, the fuller one as full as a bounded search can make it (minimum bin slack,
Gupta and Ho 1999, with two resources and what the other node must still hold). Where patterns are known, a slot is
packed anew instead: see `packing`.
"""

from __future__ import annotations

import numpy as np

from ratiobench.formulations.kernels import compiled, inlined, sort_stably
from ratiobench.formulations.lora.bound.pricing import Pool
from ratiobench.formulations.lora.heuristic.insertion import Workspace
from ratiobench.formulations.lora.heuristic.state import State

STEPS = 2_000
"""Steps of the search for one pair of nodes."""
PAIRS = 600
"""About so many pairs of nodes are packed again in a slot: each node with those of most room, 2 to 24 of them."""
FULL = 1e-4
"""A node with no more room than this part of it is left alone."""
AT_ONCE = 10_000
"""Nodes times slots that `consolidate` looks at between two chunks of a descent."""


def find_types_without_patterns(d: Workspace) -> list[int]:
    """The node types whose patterns are not known."""
    return [g for g in range(len(d.classes)) if d.first_pattern[g] == d.first_pattern[g + 1]]


def consolidate(p: Pool, s: State, d: Workspace, turn: int | None = None) -> None:
    """Gather the room of all slots, or with `turn` of the next ones that are as many as `AT_ONCE` allows.

    Only types without listed patterns are looked at, and slots in which cells have a price.
    """
    slots = p.tariff.shape[1]
    for g in find_types_without_patterns(d):
        span = slots if turn is None else min(slots, max(1, AT_ONCE // int(p.nodes[g])))
        first = 0 if turn is None else turn * span % slots
        partners = min(24, max(2, PAIRS // int(p.nodes[g])))
        for low, high in ((first, min(slots, first + span)), (0, max(0, first + span - slots))):
            _gather(p, s, d, g, low, high, partners)


def warm(p: Pool, s: State, d: Workspace) -> None:
    """Compile the kernel by use."""
    _gather(p, s, d, 0, 0, 0, 2)


@inlined
def _fuller(count, value, rate, memory, least, least_mb, most, most_mb, steps, taken, best):  # type: ignore[no-untyped-def]
    """Look for items of more value than those in `best`, within limits of both resources; whether some were found.

    Parameters
    ----------
    value, rate, memory : (count,) items in descending value.
    taken : scratch: 0 where an item was not looked at, 1 where it is taken, 2 where it is left out.
    best : (count,) in and out.
    """
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
    """Gather the room of a type's nodes in the slots low .. high-1."""
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
                for j in range(p.type_start[i], p.type_start[i + 1]):
                    if p.kind[j] == kind:
                        found[0, count] = i
                        found[1, count] = p.rate[j]
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
