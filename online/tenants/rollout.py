"""What a plan costs in the end, if jobs like those seen so far come later: the kernel of `lookahead`.

The tables hold the waiting jobs first, then those of every scenario in order of release. In a scenario each later job
is put at its best place among what has not started by its release. Jobs that a plan leaves out wait for the first later
job, and are put at their best places then.
"""

from __future__ import annotations

import numpy as np

from formulations.kernels import compiled, inner
from online.tenants.plans import NEVER, Plan, best_place, cost_at, put, tail_cost, take


@inner
def future_cost(jobs, plan, held, later, scratch):  # type: ignore[no-untyped-def]
    """The cost of the plan, of what it holds back and of these later jobs."""
    m = len(plan.kind)
    for g in range(m):
        scratch.length[g] = plan.length[g]
        for p in range(plan.length[g]):
            scratch.queue[g, p] = plan.queue[g, p]
    first = np.zeros(m, np.int64)
    ready = plan.free.copy()
    begin = plan.free.copy()
    total = np.int64(0)
    waits = len(held)
    for f in later:
        now = jobs.release[f]
        for g in range(m):
            k = plan.kind[g]
            while first[g] < scratch.length[g] and ready[g] < now:
                j = scratch.queue[g, first[g]]
                ready[g] += jobs.run[j, k]
                total += cost_at(jobs, j, k, ready[g])
                first[g] += 1
            begin[g] = max(ready[g], now)
            ready[g] = begin[g]
        while waits > 0:
            waits -= 1
            if held[waits] >= 0:
                gpu, place, _ = best_place(jobs, scratch, first, begin, held[waits])
                put(scratch, gpu, place, held[waits])
        gpu, place, _ = best_place(jobs, scratch, first, begin, f)
        put(scratch, gpu, place, f)
    for g in range(m):
        total += tail_cost(jobs, scratch, g, first[g], begin[g], NEVER)
    return total


@inner
def mean_cost(jobs, plan, held, later, scratch, stop):  # type: ignore[no-untyped-def]
    """The sum over the scenarios, given up above `stop`."""
    total = np.int64(0)
    for s in range(len(later)):
        total += future_cost(jobs, plan, held, later[s], scratch)
        if total >= stop:
            break
    return total


@compiled
def look_ahead(jobs, plan, soon, later, passes, hold, wide):  # type: ignore[no-untyped-def]
    """Move single jobs, and hold one back, as long as that costs less over all scenarios.

    soon : (m,) whether the GPU starts something soon. later : (S, L) jobs of each scenario.
    """
    m = len(plan.kind)
    count = np.int64(0)
    for g in range(m):
        count += plan.length[g]
    scratch = Plan(plan.kind, plan.free, np.zeros_like(plan.queue), np.zeros_like(plan.length))
    held = np.full(1, -1, np.int64)
    least = mean_cost(jobs, plan, held, later, scratch, NEVER)
    tried = 0
    while passes > 0:
        passes -= 1
        best_a = best_p = best_g = best_q = np.int64(-1)
        start = least
        for a in range(m):
            for p in range(plan.length[a]):
                j = take(plan, a, p)
                for g in range(m):
                    for q in range(plan.length[g] + 1):
                        if (g == a and q == p) or not ((soon[g] and q == 0) or (soon[a] and p == 0) or wide):
                            continue
                        put(plan, g, q, j)
                        value = mean_cost(jobs, plan, held, later, scratch, least)
                        tried += 1
                        take(plan, g, q)
                        if value < least:
                            least = value
                            best_a = a
                            best_p = p
                            best_g = g
                            best_q = q
                if hold and held[0] < 0 and soon[a] and p == 0:
                    held[0] = j
                    value = mean_cost(jobs, plan, held, later, scratch, least)
                    held[0] = -1
                    if value < least:
                        least = value
                        best_a = a
                        best_p = p
                        best_g = np.int64(-1)
                put(plan, a, p, j)
        if least == start:
            break
        j = take(plan, best_a, best_p)
        if best_g < 0:
            held[0] = j
        else:
            put(plan, best_g, best_q, j)
    return tried
