"""Our own policy `replan`, compiled: at every pass the order of the waiting jobs is improved, then some of them start.

A plan of the search counts the free GPUs of a pool over time, and a job starts in it no earlier than nodes, closures and
quotas allow beside what runs. The jobs that the best plan starts now start if their nodes are free. The order is kept
for the next pass. Jobs that have waited as long as the guard stand first, in order of submit.

State.search and State.profile hold the search: rows by waiting job, and steps of free GPUs by pool.
"""

from __future__ import annotations

from ratiobench.formulations.kernels import inner
from ratiobench.online.cluster.plan import demand, find_in_pool, make_plan, try_start
from ratiobench.online.cluster.state import (
    ALLOWED,
    BASE_STEPS,
    TRIAL_STEPS,
    ORDERED,
    DRAWS,
    FIRST_PLAN,
    GPUS,
    GREATEST,
    GUARD,
    NEVER,
    NODES,
    NOW,
    POOLS,
    QUEUE,
    OBJECTIVE,
    STEPS,
    SUBMIT,
    WAITING,
    WORK,
    believe,
    fits_quota,
    is_considered,
)

# Rows of State.search: places of the queue in the trial's and the best order; by place of the queue: starts in both
# plans, length, width and weight of the job; FLOOR + q: its earliest second in pool q
TRIAL, BEST, STARTS, BEST_STARTS, BELIEVED, WIDTH, WEIGHT, FLOOR = range(8)
SEARCH_JOBS = 500  # Most waiting jobs in a plan
# Tables of State.profile, for each pool: times and free GPUs of what runs, and of the trial
BASE_TIME, BASE_FREE, TIME, FREE = range(4)
UNIT = 2**24  # Weight of a second of wait


@inner
def _draw(s, size):  # type: ignore[no-untyped-def]
    """A random integer in 0..size-1: the upper bits of a linear congruential generator modulo 2^48."""
    s.clock[DRAWS] = (s.clock[DRAWS] * 25214903917 + 11) & (2**48 - 1)
    return ((s.clock[DRAWS] >> 17) * size) >> 31


@inner
def _count_free(s, q):  # type: ignore[no-untyped-def]
    """Sum the plan of a pool's nodes into steps of free GPUs; return how many steps."""
    times = s.profile[BASE_TIME, q]
    free = s.profile[BASE_FREE, q]
    times[0] = s.clock[NOW]
    free[0] = 0
    n = 1
    for p in range(s.pool[FIRST_PLAN, q], s.pool[FIRST_PLAN, q + 1]):
        before = 0
        for x in range(s.node[STEPS, p]):
            level = max(0, s.step[1, p, x])
            t = s.step[0, p, x]
            y = n
            while times[y - 1] > t:
                y -= 1
            if times[y - 1] != t:
                for z in range(n, y, -1):
                    times[z] = times[z - 1]
                    free[z] = free[z - 1]
                times[y] = t
                free[y] = 0
                n += 1
                y += 1
            free[y - 1] += level - before  # changes first
            before = level
    for x in range(1, n):
        free[x] += free[x - 1]
    return n


@inner
def _decode(s, n, most):  # type: ignore[no-untyped-def]
    """Cost of the trial's order of n jobs, each planned at its earliest second; NEVER if above `most`."""
    now = s.clock[NOW]
    order = s.search[TRIAL]
    for q in range(s.rule[POOLS]):
        s.pool[TRIAL_STEPS, q] = s.pool[BASE_STEPS, q]
        for x in range(s.pool[BASE_STEPS, q]):
            s.profile[TIME, q, x] = s.profile[BASE_TIME, q, x]
            s.profile[FREE, q, x] = s.profile[BASE_FREE, q, x]
    cost = 0
    for z in range(n):
        a = order[z]
        width = s.search[WIDTH, a]
        length = s.search[BELIEVED, a]
        best = NEVER
        pool = 0
        step = 0
        for q in range(s.rule[POOLS]):
            start = s.search[FLOOR + q, a]
            if start >= best:
                continue
            times = s.profile[TIME, q]
            free = s.profile[FREE, q]
            size = s.pool[TRIAL_STEPS, q]
            x = 0
            while x + 1 < size and times[x + 1] <= start:
                x += 1
            first = x
            while x < size and start < best and times[x] < start + length:
                if free[x] < width:
                    first = x + 1
                    start = times[first] if first < size else NEVER
                x += 1
            if start < best:
                best = start
                pool = q
                step = first
        s.search[STARTS, a] = best
        if best >= NEVER:
            continue
        cost += s.search[WEIGHT, a] * (best - now)
        if cost > most:
            return NEVER
        times = s.profile[TIME, pool]
        free = s.profile[FREE, pool]
        size = s.pool[TRIAL_STEPS, pool]
        end = best + length
        if times[step] < best:
            for y in range(size, step + 1, -1):
                times[y] = times[y - 1]
                free[y] = free[y - 1]
            step += 1
            times[step] = best
            free[step] = free[step - 1]
            size += 1
        x = step
        while x + 1 < size and times[x + 1] < end:
            free[x] -= width
            x += 1
        if x + 1 == size or times[x + 1] > end:
            for y in range(size, x + 1, -1):
                times[y] = times[y - 1]
                free[y] = free[y - 1]
            times[x + 1] = end
            free[x + 1] = free[x]
            size += 1
        free[x] -= width
        s.pool[TRIAL_STEPS, pool] = size
    return cost


@inner
def _describe(s, place):  # type: ignore[no-untyped-def]
    """Fill the search's rows of the job at a place of the queue; whether it can be planned."""
    j = s.job[QUEUE, place]
    length = believe(s, j)
    s.search[BELIEVED, place] = length if length < NEVER else s.rule[GREATEST]
    s.search[WIDTH, place] = s.job[NODES, j] * s.job[GPUS, j]
    s.search[WEIGHT, place] = UNIT
    if s.rule[OBJECTIVE] > 0:
        s.search[WEIGHT, place] += s.rule[OBJECTIVE] * UNIT // max(10, s.search[BELIEVED, place])
    else:
        s.search[WEIGHT, place] -= s.rule[OBJECTIVE] * UNIT * s.search[WIDTH, place] * s.search[BELIEVED, place] // 10000000
    first = NEVER
    considered = is_considered(s, place)
    for q in range(s.rule[POOLS]):
        s.search[FLOOR + q, place] = NEVER
        if considered and s.job[ALLOWED, j] >> q & 1 and fits_quota(s, j, q):
            nodes, gpus = demand(s, j, q)
            s.search[FLOOR + q, place] = find_in_pool(s, q, nodes, gpus, s.clock[NOW], s.search[BELIEVED, place])
            first = min(first, s.search[FLOOR + q, place])
    return first < NEVER


@inner
def _order(s):  # type: ignore[no-untyped-def]
    """Order the jobs that can be planned; return how many stand first by the guard, and how many there are.

    The others stand as in the last pass, new ones by their length.
    """
    best = s.search[BEST]
    n = 0
    fixed = 0
    for late in (True, False):
        for x in range(s.clock[WAITING]):
            submit = s.job[SUBMIT, s.job[QUEUE, x]]
            if late != (s.clock[NOW] - submit >= s.rule[GUARD]) or not _describe(s, x):
                continue
            y = n
            if late:
                while y > 0 and s.job[SUBMIT, s.job[QUEUE, best[y - 1]]] > submit:
                    best[y] = best[y - 1]
                    y -= 1
            elif x >= s.clock[ORDERED]:
                while y > fixed and s.search[BELIEVED, best[y - 1]] > s.search[BELIEVED, x]:
                    best[y] = best[y - 1]
                    y -= 1
            best[y] = x
            n += 1
        fixed = fixed if fixed > 0 or not late else n
    return min(fixed, SEARCH_JOBS), min(n, SEARCH_JOBS)


@inner
def _take_trial(s, n):  # type: ignore[no-untyped-def]
    """Make the trial the best plan."""
    for z in range(n):
        x = s.search[TRIAL, z]
        s.search[BEST, z] = x
        s.search[BEST_STARTS, x] = s.search[STARTS, x]


@inner
def _improve(s, fixed, n):  # type: ignore[no-untyped-def]
    """Shortest first, if that is better; then random moves of jobs behind the fixed ones, within the work."""
    trial = s.search[TRIAL]
    for z in range(n):
        trial[z] = s.search[BEST, z]
    best = _decode(s, n, NEVER)
    _take_trial(s, n)
    for z in range(fixed + 1, n):
        x = trial[z]
        y = z
        while y > fixed and s.search[BELIEVED, trial[y - 1]] > s.search[BELIEVED, x]:
            trial[y] = trial[y - 1]
            y -= 1
        trial[y] = x
    value = _decode(s, n, best)
    if value < best:
        best = value
        _take_trial(s, n)
    movable = n - fixed
    for _ in range(s.rule[WORK] // n if movable > 1 else 0):
        x = fixed + _draw(s, movable)
        y = fixed + _draw(s, movable)
        if x == y:
            continue
        for z in range(n):
            trial[z] = s.search[BEST, z]
        step = 1 if y > x else -1
        for z in range(x, y, step):
            trial[z] = s.search[BEST, z + step]
        trial[y] = s.search[BEST, x]
        value = _decode(s, n, best)
        if value <= best:
            best = value
            _take_trial(s, n)


@inner
def replan(s):  # type: ignore[no-untyped-def]
    """Plan the waiting jobs anew and start what the best plan starts now; the queue is left in the plan's order."""
    now = s.clock[NOW]
    make_plan(s)
    for q in range(s.rule[POOLS]):
        s.pool[BASE_STEPS, q] = _count_free(s, q)
    fixed, n = _order(s)
    if n == 0:
        return
    _improve(s, fixed, n)
    for x in range(s.clock[WAITING]):
        s.search[TRIAL, x] = s.job[QUEUE, x]
    for z in range(n):
        x = s.search[BEST, z]
        if s.search[BEST_STARTS, x] == now:
            try_start(s, s.search[TRIAL, x], False, True)
        s.job[QUEUE, z] = s.search[TRIAL, x]
        s.search[TRIAL, x] = -1
    for x in range(s.clock[WAITING]):
        if s.search[TRIAL, x] >= 0:
            s.job[QUEUE, n] = s.search[TRIAL, x]
            n += 1
