"""Our own policy `replan`, compiled: at every pass the order of the waiting jobs is improved, then some of them start.

A plan of the search counts the free GPUs of a pool over time. A job starts in it no earlier than nodes, closures and
quotas allow beside what runs. The jobs that the best plan starts now start if their nodes are free. The order is kept
for the next pass. What waits is planned with a share of its believed length, because most jobs end before their limit.
A second of wait of a job weighs 1 + (wait / guard)^2, and more for a job with many GPU-hours if these count. The oldest
job holds a reservation once it has waited for one and a half guards, so that none is postponed for ever.

State.search and State.profile hold the search: rows by place of the queue, and steps of free GPUs by pool.
"""

from __future__ import annotations

from ratiobench.formulations.kernels import inner
from ratiobench.online.cluster.plan import count_spare, demand, find_in_pool, lift, make_plan, reserve, try_start
from ratiobench.online.cluster.state import (
    BASE_STEPS,
    DRAWS,
    FIRST_PLAN,
    GPU_HOURS,
    GPUS,
    GREATEST,
    GUARD,
    LEFT,
    NEVER,
    NODES,
    NOW,
    ORDERED,
    POOLS,
    QUEUE,
    RESERVED,
    SCALE,
    START,
    STEPS,
    SUBMIT,
    TRIAL_STEPS,
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
# Tables of State.profile, for each pool: times and free GPUs of the trial, of what runs
TIME, FREE, BASE_TIME, BASE_FREE = range(4)
UNIT, MOST = 2**16, 500  # Weight of a second of wait of a new job, and how often it counts at most
ROUNDS = 3  # Plans at a pass: another one if nodes were not free for a job, because a plan counts GPUs only


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
    length = length if length < NEVER else s.rule[GREATEST]
    planned = max(1, length * s.rule[SCALE] // 100)
    width = s.job[NODES, j] * s.job[GPUS, j]
    weight = UNIT
    if s.rule[GUARD] > 0:
        ratio = (s.clock[NOW] - s.job[SUBMIT, j]) / s.rule[GUARD]
        weight = int(UNIT * min(1.0 + ratio * ratio, float(MOST)))
    if s.rule[GPU_HOURS] > 0:
        weight += min(UNIT * width * planned // (3600 * s.rule[GPU_HOURS]), MOST * UNIT)
    s.search[BELIEVED, place] = planned
    s.search[WIDTH, place] = width
    s.search[WEIGHT, place] = weight
    first = NEVER
    for q in range(s.rule[POOLS]):
        at = NEVER
        if fits_quota(s, j, q):
            nodes, gpus = demand(s, j, q)
            at = find_in_pool(s, q, nodes, gpus, s.clock[NOW], length)
        s.search[FLOOR + q, place] = at
        first = min(first, at)
    return first < NEVER and is_considered(s, place)


@inner
def _order(s, held):  # type: ignore[no-untyped-def]
    """Order the jobs that can be planned, as in the last pass, new ones by their length; return how many there are.

    The job at the place `held` has a reservation.
    """
    best = s.search[BEST]
    n = 0
    for x in range(s.clock[WAITING]):
        if x != held and s.job[START, s.job[QUEUE, x]] < 0 and _describe(s, x):
            y = n
            while x >= s.clock[ORDERED] and y > 0 and s.search[BELIEVED, best[y - 1]] > s.search[BELIEVED, x]:
                best[y] = best[y - 1]
                y -= 1
            best[y] = x
            n += 1
    return min(n, SEARCH_JOBS)


@inner
def _take_trial(s, n):  # type: ignore[no-untyped-def]
    """Make the trial the best plan."""
    for z in range(n):
        x = s.search[TRIAL, z]
        s.search[BEST, z] = x
        s.search[BEST_STARTS, x] = s.search[STARTS, x]


@inner
def _improve(s, n):  # type: ignore[no-untyped-def]
    """Plan in the order of the last pass, then shortest first, then random moves; keep what costs no more."""
    trial = s.search[TRIAL]
    best = s.search[BEST]
    for z in range(n):
        trial[z] = best[z]
    least = _decode(s, n, NEVER)
    _take_trial(s, n)
    for z in range(n):
        y = z
        while y > 0 and s.search[BELIEVED, trial[y - 1]] > s.search[BELIEVED, best[z]]:
            trial[y] = trial[y - 1]
            y -= 1
        trial[y] = best[z]
    for _ in range(max(1, s.rule[WORK] // n)):
        cost = _decode(s, n, least)
        if cost <= least:
            least = cost
            _take_trial(s, n)
        x = _draw(s, n)
        y = _draw(s, n)
        for z in range(n):
            trial[z] = best[z]
        step = 1 if y > x else -1
        for z in range(x, y, step):
            trial[z] = best[z + step]
        trial[y] = best[x]


@inner
def _guard(s):  # type: ignore[no-untyped-def]
    """Start the oldest job or give it a reservation if it has waited long; return its place in the queue, or -1."""
    s.clock[RESERVED] = 0
    place = -1
    for x in range(s.clock[WAITING]):
        if place < 0 or s.job[SUBMIT, s.job[QUEUE, x]] < s.job[SUBMIT, s.job[QUEUE, place]]:
            place = x
    j = s.job[QUEUE, place]
    waited = s.clock[NOW] - s.job[SUBMIT, j]
    if s.rule[GUARD] == 0 or 2 * waited < 3 * s.rule[GUARD] or not is_considered(s, place):
        return -1
    if not try_start(s, j, False, True):
        reserve(s, j)
    return place


@inner
def _replan_once(s):  # type: ignore[no-untyped-def]
    """Plan the waiting jobs anew and start what the best plan starts now; return how many of these did not fit.

    The queue is left in the plan's order.
    """
    now = s.clock[NOW]
    make_plan(s)
    held = _guard(s)
    for q in range(s.rule[POOLS]):
        s.pool[BASE_STEPS, q] = _count_free(s, q)
    n = _order(s, held)
    if n == 0:
        return 0
    _improve(s, n)
    if s.clock[RESERVED] > 0:
        lift(s, 0)
        s.clock[LEFT] = count_spare(s)
    for x in range(s.clock[WAITING]):
        s.search[TRIAL, x] = s.job[QUEUE, x]
    failed = 0
    for z in range(n):
        x = s.search[BEST, z]
        if s.search[BEST_STARTS, x] == now:
            failed += not try_start(s, s.search[TRIAL, x], True, True)
        s.job[QUEUE, z] = s.search[TRIAL, x]
        s.search[TRIAL, x] = -1
    for x in range(s.clock[WAITING]):
        if s.search[TRIAL, x] >= 0:
            s.job[QUEUE, n] = s.search[TRIAL, x]
            n += 1
    s.clock[ORDERED] = s.clock[WAITING]
    return failed


@inner
def replan(s):  # type: ignore[no-untyped-def]
    """Plan the waiting jobs anew, and again as long as a job did not fit, up to a few times."""
    for _ in range(ROUNDS):
        if _replan_once(s) == 0:
            break
