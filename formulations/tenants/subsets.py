"""OPT of few jobs: the best order of every set on every type, and sets parted over GPUs by min-plus convolution.

On one GPU without releases the last job of a set ends at the sum of the runs, whatever the order, so that the best
cost of a set follows from those without one job (Held and Karp 1962): 2^n n steps. With releases the end of a set
depends on the order, and a set keeps every pair (end, cost) that no other one dominates; to wait longer never pays.
Sets of several GPUs: 3^n steps each.
"""

from __future__ import annotations

import numpy as np

from formulations.kernels import compiled
from formulations.tenants.tables import Tables, solution_of
from instances.tenants.solution import Solution

JOBS_LIMIT = 14
"""Most jobs."""
PAIRS_LIMIT = 20_000_000
"""Most pairs (end, cost) of one type, where there are releases."""


@compiled
def fronts(run, release, deadline, late, weight, money, most):  # type: ignore[no-untyped-def]
    """Per set its pairs that nothing dominates, ends rising and costs falling: (first, end, cost, last job, before)."""
    n = len(run)
    sets = 1 << n
    first = np.zeros(sets + 1, np.int64)
    size = 1024
    ends = np.zeros(size, np.int64)
    costs = np.zeros(size, np.int64)
    lasts = np.full(size, -1, np.int64)
    befores = np.full(size, -1, np.int64)
    first[1] = 1
    filled = 1
    end = np.empty(1, np.int64)
    cost = np.empty(1, np.int64)
    last = np.empty(1, np.int64)
    before = np.empty(1, np.int64)
    for chosen in range(1, sets):
        count = 0
        for j in range(n):
            if chosen >> j & 1:
                count += first[(chosen ^ (1 << j)) + 1] - first[chosen ^ (1 << j)]
        if len(end) < count:
            end = np.empty(2 * count, np.int64)
            cost = np.empty(2 * count, np.int64)
            last = np.empty(2 * count, np.int64)
            before = np.empty(2 * count, np.int64)
        kept = 0
        for j in range(n):
            if not chosen >> j & 1:
                continue
            rest = chosen ^ (1 << j)
            for i in range(first[rest], first[rest + 1]):
                t = max(ends[i], release[j]) + run[j]
                c = costs[i] + late * max(0, t - deadline[j]) + weight[j] * (t - release[j]) + money[j]
                # insert into what is sorted by end, if nothing that ends no later costs no more
                at = kept
                while at > 0 and end[at - 1] > t:
                    at -= 1
                if at > 0 and cost[at - 1] <= c:
                    continue
                if at > 0 and end[at - 1] == t:
                    at -= 1
                upto = at
                while upto < kept and cost[upto] >= c:
                    upto += 1
                if upto == at:
                    for y in range(kept, at, -1):
                        end[y] = end[y - 1]
                        cost[y] = cost[y - 1]
                        last[y] = last[y - 1]
                        before[y] = before[y - 1]
                    kept += 1
                else:
                    for y in range(upto, kept):
                        end[at + 1 + y - upto] = end[y]
                        cost[at + 1 + y - upto] = cost[y]
                        last[at + 1 + y - upto] = last[y]
                        before[at + 1 + y - upto] = before[y]
                    kept -= upto - at - 1
                end[at] = t
                cost[at] = c
                last[at] = j
                before[at] = i
        if filled + kept > most:
            break
        while filled + kept > size:
            more = np.zeros((4, size), np.int64)
            ends = np.concatenate((ends, more[0]))
            costs = np.concatenate((costs, more[1]))
            lasts = np.concatenate((lasts, more[2]))
            befores = np.concatenate((befores, more[3]))
            size *= 2
        for y in range(kept):
            ends[filled] = end[y]
            costs[filled] = cost[y]
            lasts[filled] = last[y]
            befores[filled] = before[y]
            filled += 1
        first[chosen + 1] = filled
    return first, ends, costs, lasts, befores


@compiled
def convolve(one, other, part):  # type: ignore[no-untyped-def]
    """out[S] = least of one[T] + other[S - T] over the parts T of S; the best T into `part`."""
    out = np.empty(len(one), np.int64)
    for chosen in range(len(one)):
        inside = chosen
        least = one[chosen] + other[0]
        part[chosen] = chosen
        while inside:
            inside = (inside - 1) & chosen
            value = one[inside] + other[chosen ^ inside]
            if value < least:
                least = value
                part[chosen] = inside
        out[chosen] = least
    return out


def subsets_optimum(problem: Tables) -> tuple[int, Solution]:
    """OPT and a schedule that attains it.

    Raises
    ------
    ValueError : above JOBS_LIMIT jobs or PAIRS_LIMIT pairs.
    """
    if problem.jobs > JOBS_LIMIT:
        raise ValueError(f"{problem.jobs} jobs; at most {JOBS_LIMIT}")
    found = []
    for k in range(len(problem.counts)):
        run, money = (np.ascontiguousarray(table[:, k]) for table in (problem.run, problem.money))
        pairs = fronts(run, problem.release, problem.deadline, problem.late, problem.weight, money, PAIRS_LIMIT)
        if pairs[0][-1] == 0:
            raise ValueError(f"more than {PAIRS_LIMIT} pairs of end and cost")
        found.append(pairs)
    # More GPUs of a type than jobs are of no use.
    kinds = [k for k, count in enumerate(problem.counts.tolist()) for _ in range(min(count, max(1, problem.jobs)))]
    alone = [pairs[2][pairs[0][1:] - 1] for pairs in found]  # of a set's pairs the last one costs least
    total, parts = alone[kinds[0]], []
    for kind in kinds[1:]:
        part = np.empty(len(total), np.int64)
        total = convolve(total, alone[kind], part)
        parts.append(part)
    queues: list[list[int]] = [[] for _ in range(problem.instance.gpus)]
    chosen, free = len(total) - 1, problem.counts.cumsum().tolist()
    for kind, taken in zip(reversed(kinds), [*reversed(parts), None], strict=True):
        rest = 0 if taken is None else int(taken[chosen])
        free[kind] -= 1
        queues[free[kind]] = _order(found[kind], chosen ^ rest)
        chosen = rest
    return int(total[-1]), solution_of(problem, queues)


def _order(pairs: tuple[np.ndarray, ...], chosen: int) -> list[int]:
    """The best order of a set."""
    first, _, _, lasts, befores = pairs
    at, order = int(first[chosen + 1]) - 1, list[int]()
    while at > 0:
        order.append(int(lasts[at]))
        at = int(befores[at])
    return order[::-1]
