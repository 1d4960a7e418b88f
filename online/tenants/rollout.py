"""What a plan costs in the end, if jobs like those seen so far come later: the kernel of `lookahead`.

The tables hold the waiting jobs first, then those of every scenario in order of release. In a scenario each later job
is put at its best place among what has not started by its release.
"""

from __future__ import annotations

import numpy as np

from ratiobench.formulations.kernels import compiled, inner, inner_allocating
from ratiobench.formulations.tenants.tables import cost_at, put, take
from ratiobench.online.tenants.plans import NEVER, Plan, best_place, tail_cost


@inner_allocating
def future_cost(jobs, plan, later, scratch):  # type: ignore[no-untyped-def]
    """The cost of the plan and of these later jobs."""
    m = len(plan.kind)
    for g in range(m):
        scratch.length[g] = plan.length[g]
        for p in range(plan.length[g]):
            scratch.queue[g, p] = plan.queue[g, p]
    first = np.zeros(m, np.int64)
    begin = plan.free.copy()
    total = 0
    for f in later:
        for g in range(m):
            k = plan.kind[g]
            while first[g] < scratch.length[g] and begin[g] < jobs.release[f]:
                j = scratch.queue[g, first[g]]
                begin[g] += jobs.run[j, k]
                total += cost_at(jobs, j, k, begin[g])
                first[g] += 1
            begin[g] = max(begin[g], jobs.release[f])
        gpu, place, _ = best_place(jobs, scratch, first, begin, f)
        put(scratch, gpu, place, f)
    for g in range(m):
        total += tail_cost(jobs, scratch, g, first[g], begin[g], NEVER)
    return total


@inner
def sum_cost(jobs, plan, later, scratch, stop):  # type: ignore[no-untyped-def]
    """The sum over the scenarios, given up from `stop` on."""
    total = 0
    for s in range(len(later)):
        total += future_cost(jobs, plan, later[s], scratch)
        if total >= stop:
            break
    return total


@compiled
def look_ahead(jobs, plan, soon, later, moves, trials, depth):  # type: ignore[no-untyped-def]
    """Make the single move that costs least over all scenarios, as long as that is less; the moves that were tried.

    soon : (m,) whether the GPU starts something soon. later : (S, L) jobs of each scenario. moves, trials : at most so
    many. depth : only the first jobs of a queue move.
    """
    m = len(plan.kind)
    scratch = Plan(plan.kind, plan.free, np.zeros_like(plan.queue), np.zeros_like(plan.length))
    least = sum_cost(jobs, plan, later, scratch, NEVER)
    tried = 0
    while moves > 0 and tried < trials:
        moves -= 1
        a_best = p_best = g_best = q_best = -1
        for a in range(m):
            for p in range(min(depth, plan.length[a])):
                j = take(plan, a, p)
                for g in range(m):
                    for q in range(plan.length[g] + 1):
                        if (g == a and q == p) or not ((soon[g] and q == 0) or (soon[a] and p == 0)):
                            continue
                        if tried == trials:
                            break
                        tried += 1
                        put(plan, g, q, j)
                        value = sum_cost(jobs, plan, later, scratch, least)
                        take(plan, g, q)
                        if value < least:
                            least = value
                            a_best, p_best, g_best, q_best = a, p, g, q
                put(plan, a, p, j)
        if a_best < 0:
            break
        put(plan, g_best, q_best, take(plan, a_best, p_best))
    return tried
