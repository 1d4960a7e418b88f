"""Putting tasks into a solution and taking them out: the moves of the search, compiled.

A cell that finds no node with room may still fit, since tasks of the slot may move to other nodes of the type. One move
is tried, then a packing of the whole slot anew. Every move is noted, so that it can be taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.kernels import compiled, compiled_in_place, inlined, inner, inner_allocating, sort_stably
from ratiobench.formulations.lora.bound.patterns import Patterns, node_values
from ratiobench.formulations.lora.bound.pricing import Pool, base_cost, cheapest, fill, places, trace
from ratiobench.formulations.lora.heuristic.packing import FILLS, REFILLS, fractional_packing, pack_nodes
from ratiobench.formulations.lora.heuristic.state import State, running_cells, type_of_node
from ratiobench.instances.lora.model import IntArray

JOURNAL = 20_000  # Most moves to other nodes within one block
RETRIES = 8  # Schedules tried for one task while room turns out not to be where it was hoped for
QUICK_FILLS = 4  # Fillings tried when a slot is packed anew for one cell


class Workspace(NamedTuple):
    """What the moves need beside pool and state; desks of one pool share all but the scratch."""

    at: IntArray  # (n,) where each task's places begin; first_node: (G+1,); type_of: (K,) type of each node
    first_node: IntArray
    type_of: IntArray
    # start, members: tasks by slot of their windows: those of slot t are members[start[t] : start[t + 1]].
    start: IntArray
    members: IntArray
    # patterns, first_pattern: maximal patterns of all types one below the other, and where each type's begin.
    patterns: NDArray[np.float64]
    first_pattern: IntArray
    first_class: IntArray  # first_class, classes: (G,) first class of each type and their number
    classes: IntArray
    rent: NDArray[np.float64]  # (C, T) dual price of a cell
    version: IntArray  # (G, T) changes of a slot's load so far; failed: (C, T) version at which no room could be made
    failed: IntArray
    running: IntArray  # (C, T) cells of each class that run
    # (2, C, T) weights of which no pattern has more than 1: those of the rents, and those of the slot's last fractional
    # packing. What weighs more than all nodes does not fit.
    weight: NDArray[np.float64]
    task: IntArray  # task, slot, node: journal of moves: who, when, from which node; used: (1,) its length
    slot: IntArray
    node: IntArray
    used: IntArray
    item: IntArray  # item, cost, usable, target, chosen, table: scratch; seed: (1,) state of the random numbers
    cost: NDArray[np.float64]
    usable: NDArray[np.bool_]
    target: IntArray
    chosen: IntArray
    table: NDArray[np.float64]
    seed: NDArray[np.uint64]


def new_workspace(p: Pool, listed: Sequence[Patterns | None], rent: NDArray[np.float64], seed: int) -> Workspace:
    """A desk for the empty solution."""
    kinds, slots = p.tariff.shape
    tasks = np.repeat(np.arange(p.tasks), p.width)
    when = np.repeat(p.first - places(p), p.width) + np.arange(len(tasks))
    order = np.argsort(when, kind="stable")
    first_class = np.searchsorted(p.class_kind, range(kinds)).astype(np.int64)
    last_class = np.searchsorted(p.class_kind, range(kinds), side="right").astype(np.int64)
    first_pattern = np.concatenate([[0], np.cumsum([0 if each is None else len(each.cells) for each in listed])])
    patterns = np.zeros((int(first_pattern[-1]), max((e.cells.shape[1] for e in listed if e is not None), default=0)))
    weight = np.zeros((2, *rent.shape))
    for g, each in enumerate(listed):
        if each is not None:
            patterns[first_pattern[g] : first_pattern[g + 1], : each.cells.shape[1]] = each.cells
            classes = slice(each.first, each.last)
            weight[0, classes] = rent[classes] / np.maximum(node_values(each.cells, rent[classes]), 1e-300)
    return Workspace(
        at=places(p),
        first_node=np.concatenate([[0], np.cumsum(p.nodes)]).astype(np.int64),
        type_of=type_of_node(p),
        start=np.searchsorted(when[order], np.arange(slots + 1)).astype(np.int64),
        members=tasks[order],
        patterns=patterns,
        first_pattern=first_pattern.astype(np.int64),
        first_class=first_class,
        classes=last_class - first_class,
        rent=rent,
        version=np.zeros(p.tariff.shape, np.int64),
        failed=np.full((len(p.class_kind), slots), -1, np.int64),
        running=np.zeros((len(p.class_kind), slots), np.int64),
        weight=weight,
        **_new_scratch(p, seed),
    )


def copy_workspace(p: Pool, workspace: Workspace, seed: int, *, apart: bool = False) -> Workspace:
    """A desk with its own scratch and random numbers; with `apart` for a state of its own, too."""
    if apart:
        own = ("version", "failed", "running", "weight")
        workspace = workspace._replace(**{name: getattr(workspace, name).copy() for name in own})
    return workspace._replace(**_new_scratch(p, seed))


def _new_scratch(p: Pool, seed: int) -> dict[str, Any]:
    kinds, width = len(p.nodes), int(p.width.max(initial=1))
    return {
        **{name: np.empty(JOURNAL + 1, np.int64) for name in ("task", "slot", "node")},
        "used": np.zeros(1, np.int64),
        "item": np.empty(p.tasks, np.int64),
        "cost": np.empty((kinds, width)),
        "usable": np.zeros((kinds, width), np.bool_),
        "target": np.zeros((kinds, width), np.int64),
        "chosen": np.empty(width, np.int64),
        "table": np.empty(p.table),
        "seed": np.array([(seed * 2654435769 + 88172645463325252) % 2**64], np.uint64),
    }


def begin(p: Pool, workspace: Workspace, s: State) -> None:
    """Make the desk ready for a state that it has not seen."""
    workspace.running[:] = running_cells(p, s)
    workspace.version[:] += 1


@inlined
def find_entry(p, i, kind):  # type: ignore[no-untyped-def]
    """The task's entry for the node type, -1 when it cannot use it."""
    for j in range(p.type_start[i], p.type_start[i + 1]):
        if p.kind[j] == kind:
            return j
    return -1


@inlined
def _move(p, s, d, i, slot, rate, k):  # type: ignore[no-untyped-def]
    """Move task i from its node in the slot to node k, and note it."""
    place = d.at[i] + slot - p.first[i]
    old = s.place[place]
    s.free[old, slot] += rate
    s.free_mb[old, slot] += p.memory[i]
    s.free[k, slot] -= rate
    s.free_mb[k, slot] -= p.memory[i]
    s.place[place] = k
    used = d.used[0]
    d.task[used] = i
    d.slot[used] = slot
    d.node[used] = old
    d.used[0] = used + 1


@inlined
def revert(p, s, d, until):  # type: ignore[no-untyped-def]
    """Take back the moves to other nodes after the first `until`, the last one first."""
    while d.used[0] > until:
        used = d.used[0] - 1
        i, slot = d.task[used], d.slot[used]
        rate = p.rate[find_entry(p, i, d.type_of[d.node[used]])]
        _move(p, s, d, i, slot, rate, d.node[used])
        d.used[0] = used


@inlined
def _too_heavy(d, c, kind, slot, nodes):  # type: ignore[no-untyped-def]
    """Do the cells that run and one more of class c weigh more than the nodes can hold? Not known without patterns."""
    if d.first_pattern[kind] == d.first_pattern[kind + 1]:
        return False
    for r in range(2):
        total = d.weight[r, c, slot]
        for b in range(d.first_class[kind], d.first_class[kind] + d.classes[kind]):
            total += d.weight[r, b, slot] * d.running[b, slot]
        if total > nodes * (1 + 1e-9):
            return True
    return False


@inner_allocating
def _pack_anew(p, s, d, c, slot, count):  # type: ignore[no-untyped-def]
    """A node with room for a cell of class c after a new packing of the `count` tasks of `d.item`; -1 for none."""
    kind = p.class_kind[c]
    first_node, last_node = d.first_node[kind], d.first_node[kind + 1]
    patterns = d.patterns[d.first_pattern[kind] : d.first_pattern[kind + 1]]
    first, classes = d.first_class[kind], d.classes[kind]
    demand = np.empty(classes, np.int64)
    for b in range(classes):
        demand[b] = d.running[first + b, slot]
    demand[c - first] += 1
    weight = np.empty(classes)
    column = np.empty(classes, np.int64)
    level = np.empty(classes)
    if not fractional_packing(patterns, demand, weight, column, level):
        return -1
    filled = 0.0
    for b in range(classes):
        d.weight[1, first + b, slot] = max(0.0, weight[b]) / (1.0 + 1e-8)
        filled += level[b]
    if filled > last_node - first_node + 1e-6:
        return -1
    take = np.zeros((last_node - first_node, classes), np.int64)
    left = pack_nodes(
        patterns, p.class_rate[first : first + classes], p.class_memory[first : first + classes], np.ones(classes),
        demand, p.compute[kind], p.capacity_mb[kind], last_node - first_node, d.seed, take, np.int64(QUICK_FILLS),
        np.int64(0),
    )  # fmt: skip
    for b in range(classes):
        if left[b] > 0:
            return -1
    mine = 0
    while take[mine, c - first] == 0:
        mine += 1
    take[mine, c - first] -= 1
    node = np.zeros(classes, np.int64)
    for a in range(count):
        i = d.item[a]
        own = p.klass[find_entry(p, i, kind)] - first
        while take[node[own], own] == 0:
            node[own] += 1
        take[node[own], own] -= 1
        if s.place[d.at[i] + slot - p.first[i]] != first_node + node[own]:
            _move(p, s, d, i, slot, p.class_rate[first + own], first_node + node[own])
    return first_node + mine


@inlined
def _free_capacity(p, s, d, c, slot):  # type: ignore[no-untyped-def]
    """A node with room for a cell of class c in the slot, after one move or a new packing; -1 when none is found."""
    kind = p.class_kind[c]
    rate, memory = p.class_rate[c], p.class_memory[c]
    first_node, last_node = d.first_node[kind], d.first_node[kind + 1]
    count = np.int64(0)  # a literal would be a type of its own, for which `_pack_anew` is compiled once more
    for a in range(d.start[slot], d.start[slot + 1]):
        i = d.members[a]
        if first_node <= s.place[d.at[i] + slot - p.first[i]] < last_node:
            d.item[count] = i
            count += 1
    if d.used[0] + count >= JOURNAL:
        return -1
    for a in range(count):
        i = d.item[a]
        k = s.place[d.at[i] + slot - p.first[i]]
        mine = p.rate[find_entry(p, i, kind)]
        if s.free[k, slot] + mine >= rate and s.free_mb[k, slot] + p.memory[i] >= memory:
            for to in range(first_node, last_node):
                if to != k and s.free[to, slot] >= mine and s.free_mb[to, slot] >= p.memory[i]:
                    _move(p, s, d, i, slot, mine, to)
                    return k
    if d.first_pattern[kind] == d.first_pattern[kind + 1]:
        return -1
    return _pack_anew(p, s, d, c, slot, count)


@inner_allocating
def _never_pays(p, i, cost, usable):  # type: ignore[no-untyped-def]
    """Whether even parts of the cheapest usable cells cost more than the bid: quicker than to look for a schedule."""
    types = p.type_start[i + 1] - p.type_start[i]
    by_sample = np.empty(p.width[i])
    most = np.zeros(p.width[i], np.int64)
    slots = 0
    for t in range(p.width[i]):
        by_sample[slots] = np.inf
        most[slots] = 0
        for g in range(types):
            if usable[g, t]:
                rate = p.rate[p.type_start[i] + g]
                by_sample[slots] = min(by_sample[slots], cost[g, t] / rate)
                most[slots] = max(most[slots], rate)
        slots += most[slots] > 0
    left = p.work[i]
    total = 0.0
    for a in sort_stably(by_sample[:slots]):
        if left <= 0 and by_sample[a] >= 0:
            break
        done = most[a] if by_sample[a] < 0 else min(most[a], left)
        total += by_sample[a] * done
        left -= done
    least = p.price[p.option_start[i + 1] - 1]  # later options are cheaper
    return left > 0 or p.bid[i] - least - total < -1e-6 * p.bid[i]


@inner
def insert(p, s, d, i, share, dense):  # type: ignore[no-untyped-def]
    """Schedule task i at operational cost plus `share` of the rents, tightest node first, if it is worth something.

    dense: True where other tasks may move to other nodes for it; None where none moves, which compiles in a third of
    the time.
    """
    types = p.type_start[i + 1] - p.type_start[i]
    width = p.width[i]
    first = p.first[i]
    memory = p.memory[i]
    cost, usable = d.cost, d.usable
    for g in range(types):
        kind = p.kind[p.type_start[i] + g]
        rate = p.rate[p.type_start[i] + g]
        c = p.klass[p.type_start[i] + g]
        for t in range(width):
            slot = first + t
            best = -1
            left = np.int64(2**62)
            total = 0
            total_mb = 0
            for k in range(d.first_node[kind], d.first_node[kind + 1]):
                free = s.free[k, slot]
                total += free
                total_mb += s.free_mb[k, slot]
                if free >= rate and free < left and s.free_mb[k, slot] >= memory:
                    best = k
                    left = free
            d.target[g, t] = best
            usable[g, t] = best >= 0
            if dense is not None and best < 0 and total >= rate and total_mb >= memory:
                usable[g, t] = d.failed[c, slot] != d.version[kind, slot] and not _too_heavy(
                    d, c, kind, slot, p.nodes[kind]
                )
            cost[g, t] = base_cost(p, i, kind, slot) + share * d.rent[c, slot]
    if _never_pays(p, i, cost, usable):
        return False
    option = -1
    net = np.int64(0)
    fits = False
    for _ in range(RETRIES):
        fill(p, i, cost, usable, np.inf, d.table)
        total_cost, option, x = cheapest(p, i, 1.0, np.inf, d.table)
        if option < 0 or p.bid[i] - total_cost <= 0:
            return False
        trace(p, i, cost, usable, np.inf, d.table, option, x, d.chosen)
        net = p.bid[i] - p.price[option]
        for t in range(width):
            if d.chosen[t] >= 0:
                net -= base_cost(p, i, p.kind[p.type_start[i] + d.chosen[t]], first + t)
        if net <= 0:
            return False
        fits = True
        for t in range(width):
            g = d.chosen[t]
            if dense is not None and g >= 0 and d.target[g, t] < 0:
                c = p.klass[p.type_start[i] + g]
                d.target[g, t] = _free_capacity(p, s, d, c, first + t)
                if d.target[g, t] < 0:
                    d.failed[c, first + t] = d.version[p.class_kind[c], first + t]
                    usable[g, t] = False
                    fits = False
        if fits:
            break
    if not fits:
        return False
    place_chosen(p, s, d, i, option, net)
    return True


@compiled_in_place
def insert_all(p, s, d, order, share):  # type: ignore[no-untyped-def]
    """Insert the tasks without a place, in this order, at a share of the rents; no other task moves."""
    for i in order:
        if s.option[i] < 0:
            insert(p, s, d, i, share, None)


@inlined
def _place(p, s, d, i, t, entry, k):  # type: ignore[no-untyped-def]
    """Book a cell of task i, in slot t of its window, on node k."""
    slot = p.first[i] + t
    s.place[d.at[i] + t] = k
    s.free[k, slot] -= p.rate[entry]
    s.free_mb[k, slot] -= p.memory[i]
    d.version[p.kind[entry], slot] += 1
    d.running[p.klass[entry], slot] += 1


@inlined
def place_chosen(p, s, d, i, option, net):  # type: ignore[no-untyped-def]
    """Admit task i with the chosen types of the workspace, on its target nodes."""
    for t in range(p.width[i]):
        g = d.chosen[t]
        if g >= 0:
            _place(p, s, d, i, t, p.type_start[i] + g, d.target[g, t])
    s.option[i] = option
    s.net[i] = net


@inner
def remove(p, s, d, i):  # type: ignore[no-untyped-def]
    """Reject task i, which has a place."""
    for t in range(p.width[i]):
        k = s.place[d.at[i] + t]
        if k >= 0:
            slot = p.first[i] + t
            entry = find_entry(p, i, d.type_of[k])
            s.free[k, slot] += p.rate[entry]
            s.free_mb[k, slot] += p.memory[i]
            s.place[d.at[i] + t] = -1
            d.version[p.kind[entry], slot] += 1
            d.running[p.klass[entry], slot] -= 1
    s.option[i] = -1
    s.net[i] = 0


@inner
def put_back(p, s, d, i, option, net, nodes):  # type: ignore[no-untyped-def]
    """Give task i, which has no place, the places (nodes by slot of its window) that it had."""
    for t in range(p.width[i]):
        s.place[d.at[i] + t] = -1
        if nodes[t] >= 0:
            _place(p, s, d, i, t, find_entry(p, i, d.type_of[nodes[t]]), nodes[t])
    s.option[i] = option
    s.net[i] = net


@compiled
def pack_pooled(p, s, d, pooled):  # type: ignore[no-untyped-def]
    """Put pooled answers (local types) onto the nodes of an empty state, slot by slot; the rest is rejected."""
    n = len(p.task)
    slots = p.tariff.shape[1]
    for i in range(n):
        # The cheapest option that is done before the first cell; no welfare, no place.
        start = -1
        net = p.bid[i]
        for t in range(p.width[i]):
            g = pooled[d.at[i] + t]
            if g >= 0:
                if start < 0:
                    start = t
                net -= base_cost(p, i, p.kind[p.type_start[i] + g], p.first[i] + t)
        if start < 0:
            continue
        option = -1
        for o in range(p.option_start[i], p.option_start[i + 1]):
            if p.offset[o] <= start and (option < 0 or p.price[o] < p.price[option]):
                option = o
        if option >= 0 and net - p.price[option] > 0:
            s.option[i] = option
            s.net[i] = net - p.price[option]
    members = np.empty(n, np.int64)
    entry = np.empty(n, np.int64)
    loss = np.empty(n, np.float64)
    local = np.full(len(p.class_kind), -1, np.int64)
    for slot in range(slots):
        for kind in range(len(p.nodes)):
            count = 0
            for a in range(d.start[slot], d.start[slot + 1]):
                i = d.members[a]
                g = pooled[d.at[i] + slot - p.first[i]]
                if s.option[i] >= 0 and g >= 0 and p.kind[p.type_start[i] + g] == kind:
                    members[count] = i
                    entry[count] = p.type_start[i] + g
                    loss[count] = -s.net[i]
                    count += 1
            # Classes: all of the type where its patterns are known, else those that are there.
            patterns = d.patterns[d.first_pattern[kind] : d.first_pattern[kind + 1]]
            for c in range(len(local)):
                local[c] = -1
            for j in range(count):
                local[p.klass[entry[j]]] = 0
            classes = 0
            for c in range(d.first_class[kind], d.first_class[kind] + d.classes[kind]):
                if len(patterns) > 0 or local[c] == 0:
                    local[c] = classes
                    classes += 1
            demand = np.zeros(classes, np.int64)
            for j in range(count):
                demand[local[p.klass[entry[j]]]] += 1
            rate = np.empty(classes, np.int64)
            memory = np.empty(classes, np.int64)
            value = np.empty(classes)
            for c in range(len(local)):
                if local[c] >= 0:
                    rate[local[c]] = p.class_rate[c]
                    memory[local[c]] = p.class_memory[c]
                    # A little for size, so that cells without a price have a value too.
                    size = p.class_rate[c] / p.compute[kind] + p.class_memory[c] / p.capacity_mb[kind]
                    value[local[c]] = d.rent[c, slot] + 1e-3 * size
            d.seed[0] = np.uint64(slot * len(p.nodes) + kind + 1) * np.uint64(2654435769)
            take = np.zeros((p.nodes[kind], classes), np.int64)
            pack_nodes(
                patterns, rate, memory, value, demand, p.compute[kind], p.capacity_mb[kind], p.nodes[kind], d.seed,
                take, np.int64(FILLS), np.int64(REFILLS),
            )  # fmt: skip
            # Tasks of most welfare are placed first, those left over are rejected.
            node = np.zeros(classes, np.int64)
            for j in sort_stably(loss[:count]):
                i = members[j]
                c = local[p.klass[entry[j]]]
                while node[c] < p.nodes[kind] and take[node[c], c] == 0:
                    node[c] += 1
                if node[c] == p.nodes[kind]:
                    remove(p, s, d, i)
                else:
                    take[node[c], c] -= 1
                    _place(p, s, d, i, slot - p.first[i], entry[j], d.first_node[kind] + node[c])
