"""The patent's search as kernels: partial schedules, each of which places one more job on the tail of one queue.

A state is the tick at which each GPU is free, its cost, and which jobs are placed. Of GPUs of one type with the same
tick and cost the first one counts. It is judged by F = scale x (g + l) + h: g the cost of what is placed, h the sum
over the other jobs, l the standard deviation of the cost over the GPUs, rounded, or 0.

A state's key is 128 bits, the same for the same jobs and the same multiset of (type, tick). Of equal F the smaller key
comes first, so that every machine decides alike.
"""

from __future__ import annotations

import numpy as np

from ratiobench.formulations.kernels import compiled, inlined, inner, inner_allocating
from ratiobench.formulations.tenants.tables import cost_at

_A, _B, _C = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB), np.uint64(0x9E3779B97F4A7C15)
_30, _27, _31, _1 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(1)
BATCH = 8  # Children are sorted when there are so many times as many as states are kept


@inlined
def _mix(x):  # type: ignore[no-untyped-def]
    """The finaliser of SplitMix64."""
    x = x + _C
    x = (x ^ (x >> _30)) * _A
    x = (x ^ (x >> _27)) * _B
    return x ^ (x >> _31)


@inner
def job_word(j, half):  # type: ignore[no-untyped-def]
    """What a placed job adds to a half of the key."""
    return _mix(np.uint64(2 * j + half) ^ _A)


@inner
def gpu_word(k, t, c, half):  # type: ignore[no-untyped-def]
    """What a GPU of type k that is free at t adds to a half of the key; c: its cost if that counts, else 0."""
    return _mix(_mix(_mix(np.uint64(2 * k + half)) ^ np.uint64(t)) ^ np.uint64(c))


@inner
def spread(costs, g, c):  # type: ignore[no-untyped-def]
    """The standard deviation of the costs, with c in place of that of GPU g, rounded."""
    m = len(costs)
    total = 0.0
    for i in range(m):
        total += float(c if i == g else costs[i])
    mean = total / m
    squares = 0.0
    for i in range(m):
        more = float(c if i == g else costs[i]) - mean
        squares += more * more
    return np.int64(np.sqrt(squares / m) + 0.5)


@inner
def find_distinct(kind, free, cost, chosen):  # type: ignore[no-untyped-def]
    """Into `chosen` the GPUs that count, the first of equal ones; how many."""
    count = 0
    for g in range(len(kind)):
        same = False
        for y in range(count):
            i = chosen[y]
            if kind[i] == kind[g] and free[i] == free[g] and cost[i] == cost[g]:
                same = True
                break
        if not same:
            chosen[count] = g
            count += 1
    return count


@inlined
def _before(f, one, two, a, b):  # type: ignore[no-untyped-def]
    return f[a] < f[b] or (f[a] == f[b] and (one[a] < one[b] or (one[a] == one[b] and two[a] < two[b])))


@inner_allocating
def best_of(f, one, two, filled, width, order):  # type: ignore[no-untyped-def]
    """Into `order` the best entries with different keys, at most `width`, in order; how many."""
    heap = np.arange(filled)  # a heap sort that stops when enough are found
    for root in range(filled // 2 - 1, -1, -1):
        _sink(f, one, two, heap, root, filled)
    size = 64
    while size < 4 * width:
        size *= 2
    slots = np.full(size, -1, np.int64)
    count = 0
    while filled > 0 and count < width:
        entry = pop(f, one, two, heap, filled)
        filled -= 1
        at = find_slot(slots, one, two, one[entry], two[entry])
        if slots[at] < 0:
            slots[at] = entry
            order[count] = entry
            count += 1
    return count


@inner
def pop(f, one, two, heap, filled):  # type: ignore[no-untyped-def]
    top = heap[0]
    heap[0] = heap[filled - 1]
    _sink(f, one, two, heap, 0, filled - 1)
    return top


@inner
def find_slot(slots, one, two, a, b):  # type: ignore[no-untyped-def]
    """Where the entry with this key stands in a table, or would."""
    at = np.int64(a & np.uint64(len(slots) - 1))
    while slots[at] >= 0 and not (one[slots[at]] == a and two[slots[at]] == b):
        at = (at + 1) & (len(slots) - 1)
    return at


@inner
def _sink(f, one, two, heap, root, filled):  # type: ignore[no-untyped-def]
    while True:
        child = 2 * root + 1
        if child >= filled:
            return
        if child + 1 < filled and _before(f, one, two, heap[child + 1], heap[child]):
            child += 1
        if not _before(f, one, two, heap[child], heap[root]):
            return
        heap[child], heap[root] = heap[root], heap[child]
        root = child


@compiled
def beam(jobs, plan, rest, scale, load, width):  # type: ignore[no-untyped-def]
    """Fill the empty plan by a beam; `rest`: what each job adds to F until it is placed; `load`: whether l counts."""
    n, m = len(jobs.release), len(plan.kind)
    size = BATCH * width
    parent, job, gpu = (np.empty((n, width), np.int32), np.empty((n, width), np.int32), np.empty((n, width), np.int32))
    free, cost = np.empty((2, width, m), np.int64), np.zeros((2, width, m), np.int64)
    placed = np.zeros((2, width, n), np.bool_)
    part = np.zeros((2, width), np.int64)  # scale x g + h
    keys = np.zeros((2, 2, width), np.uint64)
    f, tick, paid = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    one, two = np.empty(size, np.uint64), np.empty(size, np.uint64)
    who, what, where = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    order, chosen = np.empty(width, np.int64), np.empty(m, np.int64)
    free[0, 0] = plan.free
    part[0, 0] = rest.sum()
    for g in range(m):
        for half in range(2):
            keys[0, half, 0] += gpu_word(plan.kind[g], plan.free[g], 0, half)
    states = 1
    for layer in range(n):
        now, then = layer % 2, (layer + 1) % 2
        filled = 0
        full = False
        worst = 0
        for s in range(states):
            count = find_distinct(plan.kind, free[now, s], cost[now, s], chosen)
            for j in range(n):
                if placed[now, s, j]:
                    continue
                for y in range(count):
                    g = chosen[y]
                    k = plan.kind[g]
                    end = max(free[now, s, g], jobs.release[j]) + jobs.run[j, k]
                    more = cost_at(jobs, j, k, end)
                    value = part[now, s] + scale * more - rest[j]
                    if full and value > worst:
                        continue
                    if load:
                        value += scale * spread(cost[now, s], g, cost[now, s, g] + more)
                        if full and value > worst:
                            continue
                    if filled == size:
                        filled = _shrink(f, one, two, tick, paid, who, what, where, width, order)
                        full = filled == width
                        worst = f[filled - 1]
                        if full and value > worst:
                            continue
                    f[filled] = value
                    old = free[now, s, g]
                    one[filled] = keys[now, 0, s] + job_word(j, 0) + gpu_word(k, end, 0, 0) - gpu_word(k, old, 0, 0)
                    two[filled] = keys[now, 1, s] + job_word(j, 1) + gpu_word(k, end, 0, 1) - gpu_word(k, old, 0, 1)
                    tick[filled] = end
                    paid[filled] = more
                    who[filled] = s
                    what[filled] = j
                    where[filled] = g
                    filled += 1
        states = best_of(f, one, two, filled, width, order)
        for i in range(states):
            e = order[i]
            s = who[e]
            free[then, i] = free[now, s]
            cost[then, i] = cost[now, s]
            placed[then, i] = placed[now, s]
            free[then, i, where[e]] = tick[e]
            cost[then, i, where[e]] += paid[e]
            placed[then, i, what[e]] = True
            part[then, i] = part[now, s] + scale * paid[e] - rest[what[e]]
            keys[then, 0, i] = one[e]
            keys[then, 1, i] = two[e]
            parent[layer, i] = s
            job[layer, i] = what[e]
            gpu[layer, i] = where[e]
    _trace(plan, parent, job, gpu, n)


@inner_allocating
def _shrink(f, one, two, tick, paid, who, what, where, width, order):  # type: ignore[no-untyped-def]
    count = best_of(f, one, two, len(f), width, order)
    for column in (f, tick, paid, who, what, where):
        best = column[order[:count]]
        column[:count] = best
    for key in (one, two):
        first = key[order[:count]]
        key[:count] = first
    return count


@inner
def _trace(plan, parent, job, gpu, n):  # type: ignore[no-untyped-def]
    at = 0
    for layer in range(n - 1, -1, -1):
        g = gpu[layer, at]
        plan.length[g] += 1
        plan.queue[g, plan.length[g] - 1] = job[layer, at]
        at = int(parent[layer, at])
    reverse(plan)


@inner
def reverse(plan):  # type: ignore[no-untyped-def]
    for g in range(len(plan.kind)):
        for p in range(plan.length[g] // 2):
            q = plan.length[g] - 1 - p
            plan.queue[g, p], plan.queue[g, q] = plan.queue[g, q], plan.queue[g, p]
