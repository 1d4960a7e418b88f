"""The patent's search, best state first, to its end or to a limit: the first whole schedule is the answer.

Of two states with the same key (of `beam`; with the costs if l counts) the later one is left out if its F is no less.
"""

from __future__ import annotations

import numpy as np

from ratiobench.formulations.kernels import compiled, inner, inner_allocating
from ratiobench.formulations.tenants.tables import cost_at
from ratiobench.online.tenants.beam import _before, find_distinct, find_slot, gpu_word, job_word, pop, reverse, spread
from ratiobench.online.tenants.plans import GREEDY, append

NODES = 4_000_000  # Most states that are kept: about 300 MB


@inner
def _push(heap, size, node, f, one, two):  # type: ignore[no-untyped-def]
    at = size
    heap[at] = node
    while at > 0 and _before(f, one, two, heap[at], heap[(at - 1) // 2]):
        up = (at - 1) // 2
        heap[at], heap[up] = heap[up], heap[at]
        at = up


@inner_allocating
def _grown(column):  # type: ignore[no-untyped-def]
    more = np.zeros(2 * len(column), column.dtype)
    more[: len(column)] = column
    return more


@inner
def _rebuild(node, parent, job, gpu, jobs, plan, free, cost, placed):  # type: ignore[no-untyped-def]
    m = len(plan.kind)
    for g in range(m):
        free[g] = plan.free[g]
        cost[g] = 0
        plan.length[g] = 0
    placed[:] = False
    at = node
    while parent[at] >= 0:
        g = gpu[at]
        plan.queue[g, plan.length[g]] = job[at]
        plan.length[g] += 1
        placed[job[at]] = True
        at = parent[at]
    reverse(plan)
    for g in range(m):
        for p in range(plan.length[g]):
            j = plan.queue[g, p]
            free[g] = max(free[g], jobs.release[j]) + jobs.run[j, plan.kind[g]]
            cost[g] += cost_at(jobs, j, plan.kind[g], free[g])


@compiled
def best_first(jobs, plan, price, rest, scale, load, most, nodes):  # type: ignore[no-untyped-def]
    """Fill the empty plan; (states expanded, whether it was cut short, after `most` expansions or with `nodes` states).

    Then it has the best state's queues, the other jobs appended by `greedy`.
    """
    n, m = len(jobs.release), len(plan.kind)
    size = 1024
    parent, job, gpu = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    depth, part, f = np.zeros(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    one, two = np.zeros(size, np.uint64), np.zeros(size, np.uint64)
    heap, slots = np.empty(size, np.int64), np.full(4 * size, -1, np.int64)
    free, cost, placed = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(n, np.bool_)
    chosen = np.empty(m, np.int64)
    parent[0] = -1
    part[0] = rest.sum()
    f[0] = part[0]
    for g in range(m):
        one[0] += gpu_word(plan.kind[g], plan.free[g], 0, 0)
        two[0] += gpu_word(plan.kind[g], plan.free[g], 0, 1)
    heap[0] = 0
    waiting, filled, expanded = 1, 1, 0
    while True:
        node = pop(f, one, two, heap, waiting)
        waiting -= 1
        if slots[find_slot(slots, one, two, one[node], two[node])] not in (-1, node):
            continue  # a better state with its key came later
        _rebuild(node, parent, job, gpu, jobs, plan, free, cost, placed)
        if depth[node] == n:
            return expanded, False
        if expanded >= most or filled + (n - depth[node]) * m > nodes:
            order = np.empty(n - depth[node], np.int64)
            y = 0
            for j in range(n):
                if not placed[j]:
                    order[y] = j
                    y += 1
            append(jobs, plan, price, GREEDY, order)
            return expanded, True
        expanded += 1
        count = find_distinct(plan.kind, free, cost, chosen)
        for j in range(n):
            if placed[j]:
                continue
            for y in range(count):
                g = chosen[y]
                k = plan.kind[g]
                end = max(free[g], jobs.release[j]) + jobs.run[j, k]
                more = cost_at(jobs, j, k, end)
                now = part[node] + scale * more - rest[j]
                value = now + (scale * spread(cost, g, cost[g] + more) if load else np.int64(0))
                before = cost[g] if load else np.int64(0)
                after = before + (more if load else np.int64(0))
                a = one[node] + job_word(j, 0) + gpu_word(k, end, after, 0) - gpu_word(k, free[g], before, 0)
                b = two[node] + job_word(j, 1) + gpu_word(k, end, after, 1) - gpu_word(k, free[g], before, 1)
                at = find_slot(slots, one, two, a, b)
                if slots[at] >= 0 and f[slots[at]] <= value:
                    continue
                if filled == len(f):
                    parent, job, gpu = _grown(parent), _grown(job), _grown(gpu)
                    depth, part, f = _grown(depth), _grown(part), _grown(f)
                    one, two, heap = _grown(one), _grown(two), _grown(heap)
                    old = slots
                    slots = np.full(2 * len(old), -1, np.int64)
                    for entry in old:
                        if entry >= 0:
                            slots[find_slot(slots, one, two, one[entry], two[entry])] = entry
                    at = find_slot(slots, one, two, a, b)
                parent[filled] = node
                job[filled] = j
                gpu[filled] = g
                depth[filled] = depth[node] + 1
                part[filled] = now
                f[filled] = value
                one[filled] = a
                two[filled] = b
                slots[at] = filled
                _push(heap, waiting, filled, f, one, two)
                waiting += 1
                filled += 1
