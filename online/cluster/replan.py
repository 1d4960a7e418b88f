"""Our own policy `replan`, compiled: at every pass the order of the waiting jobs is improved, then some of them start.

A plan of the search counts for each pool and width the nodes with so many free GPUs over time: a job takes the fullest
nodes on which it fits. The jobs that the best plan starts now start. The order is kept for the next pass. What runs is
planned until its limit, what waits for `spare` percent of its expected length, at most its limit; what its user's last
jobs ran of their limits says what is expected. A second of wait of a job weighs 1 + (wait / guard)^2 + slowdown /
expected length, and more for a job with many GPU-hours if these count.

State.search and State.profile hold the search: rows by place of the queue, and steps of each pool.
"""

from __future__ import annotations

from ratiobench.formulations.kernels import inner
from ratiobench.online.cluster import state as S
from ratiobench.online.cluster.plan import begin_job, choose, demand, find_fit, find_in_pool, make_plan, split

# Rows of State.search: places of the queue in the trial's and the best order; by place of the queue: start and pool in
# the trial's plan, planned length, weight, and expected length over weight of the job; FLOOR + q: its earliest second
# in pool q
TRIAL, BEST, STARTS, POOLS, LENGTH, WEIGHT, INDEX, FLOOR = range(8)
SEARCH_JOBS = 500  # Most waiting jobs in a plan
# Tables of State.profile of each pool, (1 + most GPUs, steps): times, and nodes with at least g free GPUs from then on
TRIAL_PLAN, BASE_PLAN = range(2)
UNIT, MOST = 2**10, 500  # Weight of a second of wait of a new job, and how often it counts at most
ROUNDS = 3  # Plans at a pass: another one if a job did not fit, because of a known closure or a quota
# Weights of a user's past jobs in an estimate: of another width, of another limit, factor of the next older one; and
# that of all users' mean
OTHER_WIDTH, OTHER_LIMIT, OLDER, ALL_USERS = 0.3, 0.1, 0.85, 0.5


@inner
def _draw(s, size):  # type: ignore[no-untyped-def]
    """A random integer in 0..size-1: the upper bits of a linear congruential generator modulo 2^48."""
    s.clock[S.DRAWS] = (s.clock[S.DRAWS] * 25214903917 + 11) & (2**48 - 1)
    return ((s.clock[S.DRAWS] >> 17) * size) >> 31


@inner
def _expect(s, j, limit):  # type: ignore[no-untyped-def]
    """Expected length of a waiting job: what its user's last jobs ran of their limits; if it is known, that."""
    if s.rule[S.BELIEF_RULE] == S.TRUE:
        return limit
    count = ALL_USERS
    total = ALL_USERS * s.real[0, S.RATIO] / s.real[0, S.ENDS] if s.real[0, S.ENDS] > 0.0 else ALL_USERS / 2
    if s.job[S.USER, j] >= 0:
        past = s.past[s.job[S.USER, j]]
        share = 1.0
        for x in range(min(past[0], S.REMEMBERED)):
            at = 1 + 3 * ((past[0] - 1 - x) % S.REMEMBERED)
            weight = share
            if past[at] != limit:
                weight *= OTHER_LIMIT
            elif past[at + 2] != s.job[S.NODES, j] * s.job[S.GPUS, j]:
                weight *= OTHER_WIDTH
            count += weight
            total += weight * min(1.0, past[at + 1] / past[at])
            share *= OLDER
    return max(1, int(limit * total / count))


@inner
def _count_nodes(s, q):  # type: ignore[no-untyped-def]
    """Sum the plan of a pool's nodes into steps: how many have at least g free GPUs; return how many steps."""
    table = s.profile[BASE_PLAN, q]
    table[:, 0] = 0
    table[0, 0] = s.clock[S.NOW]
    n = 1
    by_count = s.pool[S.BY_COUNT, q] > 0
    for p in range(s.pool[S.FIRST_PLAN, q], s.pool[S.FIRST_PLAN, q + 1]):
        before = 0
        for x in range(s.node[S.STEPS, p]):
            level = max(0, s.step[p, 1, x])
            t = s.step[p, 0, x]
            y = n
            while table[0, y - 1] > t:
                y -= 1
            if table[0, y - 1] != t:
                n = split(table, n, y, t)
                for g in range(1, table.shape[0]):
                    table[g, y] = 0
                y += 1
            if by_count:
                table[1, y - 1] += level - before  # changes first
            else:
                for g in range(min(before, level) + 1, max(before, level) + 1):
                    table[g, y - 1] += 1 if level > before else -1
            before = level
    for g in range(1, table.shape[0]):
        for x in range(1, n):
            table[g, x] += table[g, x - 1]
    return n


@inner
def _take(table, first, last, nodes, gpus):  # type: ignore[no-untyped-def]
    """Take GPUs of so many nodes in steps first..last-1, in each of the fullest nodes that fit."""
    top = table.shape[0] - 1
    for x in range(first, last):
        need = nodes
        g = gpus
        while need > 0:
            some = min(need, table[g, x] - (table[g + 1, x] if g < top else 0))
            for b in range(g - gpus + 1, g + 1):
                table[b, x] -= some
            need -= some
            g += 1


@inner
def _decode(s, n, most):  # type: ignore[no-untyped-def]
    """Cost of the trial's order of n jobs, each planned at its earliest second; NEVER if above `most`."""
    now = s.clock[S.NOW]
    for q in range(s.rule[S.POOLS]):
        s.pool[S.TRIAL_STEPS, q] = s.pool[S.BASE_STEPS, q]
        for g in range(s.profile.shape[2]):
            for x in range(s.pool[S.BASE_STEPS, q]):
                s.profile[TRIAL_PLAN, q, g, x] = s.profile[BASE_PLAN, q, g, x]
    cost = 0
    for z in range(n):
        a = s.search[TRIAL, z]
        j = s.job[S.QUEUE, a]
        nodes = s.job[S.NODES, j]
        gpus = s.job[S.GPUS, j]
        length = s.search[LENGTH, a]
        best = S.NEVER
        pool = 0
        first = 0
        for q in range(s.rule[S.POOLS]):
            table = s.profile[TRIAL_PLAN, q]
            start = s.search[FLOOR + q, a]
            if start < best:
                step, start = find_fit(table, s.pool[S.TRIAL_STEPS, q], start, length, gpus, nodes, best)
                if start < best:
                    best = start
                    pool = q
                    first = step
        s.search[STARTS, a] = best
        s.search[POOLS, a] = pool
        if best >= S.NEVER:
            continue
        cost += s.search[WEIGHT, a] * (best - now)
        if cost > most:
            return S.NEVER
        table = s.profile[TRIAL_PLAN, pool]
        size = s.pool[S.TRIAL_STEPS, pool]
        if table[0, first] < best:
            first += 1
            size = split(table, size, first, best)
        last = first + 1
        while last < size and table[0, last] < best + length:
            last += 1
        s.pool[S.TRIAL_STEPS, pool] = split(table, size, last, best + length)
        _take(table, first, last, nodes, gpus)
    return cost


@inner
def _describe(s, place):  # type: ignore[no-untyped-def]
    """Fill the search's rows of the job at a place of the queue; whether it can be planned."""
    j = s.job[S.QUEUE, place]
    length = S.believe(s, j)
    length = length if length < S.NEVER else s.rule[S.GREATEST]
    expected = _expect(s, j, length)
    weight = UNIT + UNIT * s.rule[S.SLOWDOWN] // max(10, expected)
    if s.rule[S.GUARD] > 0:
        ratio = (s.clock[S.NOW] - s.job[S.SUBMIT, j]) / s.rule[S.GUARD]
        weight += int(UNIT * min(ratio * ratio, float(MOST)))
    if s.rule[S.GPU_HOURS] > 0:
        area = s.job[S.NODES, j] * s.job[S.GPUS, j] * expected
        weight += min(UNIT * area // (3600 * s.rule[S.GPU_HOURS]), MOST * UNIT)
    s.search[LENGTH, place] = max(1, min(length, expected * s.rule[S.SPARE] // 100))
    s.search[WEIGHT, place] = weight
    s.search[INDEX, place] = 2**20 * expected // weight
    first = S.NEVER
    for q in range(s.rule[S.POOLS]):
        at = S.NEVER
        if S.fits_quota(s, j, q):
            at = s.clock[S.NOW]
            if s.clock[S.KNOWN] > 0:
                nodes, gpus = demand(s, j, q)
                at = find_in_pool(s, q, nodes, gpus, at, S.believe(s, j))
        s.search[FLOOR + q, place] = at
        first = min(first, at)
    return first < S.NEVER and S.is_considered(s, place)


@inner
def _order(s):  # type: ignore[no-untyped-def]
    """Order the jobs that can be planned, as in the last pass, new ones by row INDEX; return how many there are."""
    best = s.search[BEST]
    n = 0
    for x in range(s.clock[S.WAITING]):
        j = s.job[S.QUEUE, x]
        if s.job[S.START, j] < 0 and s.job[S.HOLDS, j] <= s.clock[S.NOW] and _describe(s, x):
            y = n
            while x >= s.clock[S.ORDERED] and y > 0 and s.search[INDEX, best[y - 1]] > s.search[INDEX, x]:
                best[y] = best[y - 1]
                y -= 1
            best[y] = x
            n += 1
    return min(n, SEARCH_JOBS)


@inner
def _improve(s, n):  # type: ignore[no-untyped-def]
    """Plan in the order of the last pass, then least length over weight first, then moves; end with the best plan."""
    trial = s.search[TRIAL]
    best = s.search[BEST]
    for z in range(n):
        trial[z] = best[z]
    least = _decode(s, n, S.NEVER)
    S.sort_by(trial, n, s.search[INDEX])
    for _ in range(max(1, s.rule[S.WORK] // n)):
        cost = _decode(s, n, least)
        if cost <= least:
            least = cost
            for z in range(n):
                best[z] = trial[z]
        x = _draw(s, n)
        y = _draw(s, n)
        for z in range(n):
            trial[z] = best[z]
        step = 1 if y > x else -1
        for z in range(x, y, step):
            trial[z] = best[z + step]
        trial[y] = best[x]
    for z in range(n):
        trial[z] = best[z]
    _decode(s, n, S.NEVER)


@inner
def replan(s):  # type: ignore[no-untyped-def]
    """Plan the waiting jobs anew and start what the best plan starts now; return how many of these did not fit.

    The queue is left in the plan's order. A job that did not fit is not planned again in this pass.
    """
    now = s.clock[S.NOW]
    make_plan(s)
    for q in range(s.rule[S.POOLS]):
        s.pool[S.BASE_STEPS, q] = _count_nodes(s, q)
    n = _order(s)
    if n == 0:
        return 0
    _improve(s, n)
    for x in range(s.clock[S.WAITING]):
        s.search[TRIAL, x] = s.job[S.QUEUE, x]
    failed = 0
    for z in range(n):
        x = s.search[BEST, z]
        j = s.search[TRIAL, x]
        s.job[S.QUEUE, z] = j
        s.search[TRIAL, x] = -1
        if s.search[STARTS, x] == now:
            q = s.search[POOLS, x]
            if S.is_considered(s, z) and S.fits_quota(s, j, q) and choose(s, j, q, False):
                begin_job(s, j, q)
            else:
                s.job[S.HOLDS, j] = now + 1
                failed += 1
    for x in range(s.clock[S.WAITING]):
        if s.search[TRIAL, x] >= 0:
            s.job[S.QUEUE, n] = s.search[TRIAL, x]
            n += 1
    s.clock[S.ORDERED] = s.clock[S.WAITING]
    return failed
