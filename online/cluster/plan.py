"""The plan of a pass: free GPUs over time by what is believed, reservations in it, and the start of a job.

A plan is a step function of free GPUs for each planned node: a pool of one-GPU nodes without closures is planned as one
node, by counts; in any other pool a reservation has nodes of its own.
"""

from __future__ import annotations

from ratiobench.formulations.kernels import inner
from ratiobench.online.cluster.state import (
    BY_COUNT,
    CHOSEN,
    COUNT,
    EFFECTIVE,
    EXTENDED,
    FIRST,
    FIRST_PLAN,
    FIT,
    FREE,
    GPUS,
    HOLDS,
    IS_CLOSED,
    KNOWN,
    KNOWN_LIST,
    LEFT,
    LIVE,
    NEVER,
    NODES,
    NOW,
    OFFSET,
    OTHER,
    OVERFLOW,
    PLAN_OF,
    PLANNED,
    PLANNED_END,
    POOL,
    POOL_GPUS,
    POOL_OF,
    POOLS,
    RESERVED,
    RUNNING,
    START,
    STEPS,
    account_for,
    believe,
    fits_quota,
    is_blocked,
    occupy,
)


@inner
def begin_job(s, j, q):  # type: ignore[no-untyped-def]
    """Start a job now on the `chosen` nodes of a pool."""
    now = s.clock[NOW]
    length = believe(s, j)
    s.job[START, j] = now
    s.job[POOL, j] = q
    s.job[PLANNED_END, j] = min(now + length, NEVER)
    s.job[EXTENDED, j] = 0
    for x in range(s.job[NODES, j]):
        s.place[s.job[OFFSET, j] + x] = s.node[CHOSEN, x]
        occupy(s, j, s.node[CHOSEN, x], 1)
    account_for(s, j, 1)
    s.job[LIVE, s.clock[RUNNING]] = j
    s.clock[RUNNING] += 1
    if s.clock[PLANNED]:
        nodes, gpus = demand(s, j, q)
        for x in range(nodes):
            p = s.pool[FIRST_PLAN, q] if s.pool[BY_COUNT, q] else s.node[PLAN_OF, s.node[CHOSEN, x]]
            change(s, p, now, now + length, -gpus)


@inner
def change(s, p, begin, end, amount):  # type: ignore[no-untyped-def]
    """Add an amount to the free GPUs of a planned node in [begin, end); equal steps are joined."""
    n = s.node[STEPS, p]
    if n + 2 > s.step.shape[2]:
        s.clock[OVERFLOW] = 1
        return
    time = s.step[0, p]
    level = s.step[1, p]
    for edge in range(2):  # a step begins at each end
        t = begin if edge == 0 else end
        if t >= NEVER:
            continue
        x = n
        while x > 0 and time[x - 1] > t:
            x -= 1
        if x == 0 or time[x - 1] == t:
            continue
        for y in range(n, x, -1):
            time[y] = time[y - 1]
            level[y] = level[y - 1]
        time[x] = t
        level[x] = level[x - 1]
        n += 1
    kept = 0
    for x in range(n):
        value = level[x] + (amount if begin <= time[x] < end else 0)
        if kept == 0 or value != level[kept - 1]:
            time[kept] = time[x]
            level[kept] = value
            kept += 1
    s.node[STEPS, p] = kept


@inner
def _find_fit(s, p, begin, length, need):  # type: ignore[no-untyped-def]
    """Earliest second from `begin` at which a planned node has `need` free GPUs for a length."""
    n = s.node[STEPS, p]
    x = 0
    while x + 1 < n and s.step[0, p, x + 1] <= begin:
        x += 1
    at = begin
    while True:
        last = x + 1 == n
        if s.step[1, p, x] < need:
            if last:
                return NEVER
            at = s.step[0, p, x + 1]
        elif last or s.step[0, p, x + 1] >= at + length:
            return at
        x += 1


@inner
def _level_at(s, p, t):  # type: ignore[no-untyped-def]
    """Free GPUs of a planned node at a second."""
    x = s.node[STEPS, p] - 1
    while x > 0 and s.step[0, p, x] > t:
        x -= 1
    return s.step[1, p, x]


@inner
def _fits_beside(s, p, begin, length, need, end, amount):  # type: ignore[no-untyped-def]
    """Whether a planned node has `need` free GPUs from `begin` for a length if a job takes an amount until `end`."""
    for x in range(s.node[STEPS, p]):
        following = s.step[0, p, x + 1] if x + 1 < s.node[STEPS, p] else NEVER * 4
        low = max(s.step[0, p, x], begin)
        if low < min(following, begin + length) and s.step[1, p, x] - (amount if low < end else 0) < need:
            return False
    return True


@inner
def _select(values, n, rank):  # type: ignore[no-untyped-def]
    """The value of this rank, from 0, among the first n, which are put into another order."""
    low = 0
    high = n - 1
    while low < high:
        pivot = values[(low + high) // 2]
        a = low
        b = high
        while a <= b:
            while values[a] < pivot:
                a += 1
            while values[b] > pivot:
                b -= 1
            if a <= b:
                values[a], values[b] = values[b], values[a]
                a += 1
                b -= 1
        if rank <= b:
            high = b
        elif rank >= a:
            low = a
        else:
            break
    return values[rank]


@inner
def find_in_pool(s, q, nodes, gpus, begin, length):  # type: ignore[no-untyped-def]
    """Earliest second at which a pool has the nodes by plan; row FIT has that second for the nodes that fit then."""
    first = s.pool[FIRST_PLAN, q]
    count = s.pool[FIRST_PLAN, q + 1] - first
    at = begin if count >= nodes else NEVER
    while at < NEVER:
        fitting = 0
        for x in range(count):
            s.node[FIT, x] = _find_fit(s, first + x, at, length, gpus)
            s.node[OTHER, x] = s.node[FIT, x]
            fitting += s.node[FIT, x] == at
        if fitting >= nodes:
            break
        at = _select(s.node[OTHER], count, nodes - 1)
    return at


@inner
def choose_planned(s, q, nodes, at, chosen):  # type: ignore[no-untyped-def]
    """Write the best-fit planned nodes of a pool that fit at this second (`fit` is set); numbers of planned nodes."""
    first = s.pool[FIRST_PLAN, q]
    found = 0
    level = 0
    while found < nodes:
        following = NEVER
        for x in range(s.pool[FIRST_PLAN, q + 1] - first):
            if s.node[FIT, x] == at and found < nodes:
                free = _level_at(s, first + x, at)
                if free == level:
                    chosen[found] = first + x
                    found += 1
                elif free > level:
                    following = min(following, free)
        level = following


@inner
def make_plan(s):  # type: ignore[no-untyped-def]
    """Plan what runs: free GPUs of every planned node from now on."""
    now = s.clock[NOW]
    n = s.clock[RUNNING]
    for x in range(n):  # planned ends as of now, in order
        j = s.job[LIVE, x]
        end = max(s.job[PLANNED_END, j], now + 1)
        if s.clock[KNOWN]:
            for y in range(s.job[NODES, j]):
                v = s.place[s.job[OFFSET, j] + y]
                for z in range(s.clock[KNOWN]):
                    c = s.closures[KNOWN_LIST, z]
                    if s.closures[0, c] == v:
                        end = min(end, s.closures[1, c])
        s.job[EFFECTIVE, j] = end
        y = x
        while y > 0 and s.job[EFFECTIVE, s.job[LIVE, y - 1]] > end:
            s.job[LIVE, y] = s.job[LIVE, y - 1]
            y -= 1
        s.job[LIVE, y] = j
    for p in range(s.pool[FIRST_PLAN, s.rule[POOLS]]):
        s.node[STEPS, p] = 1
        s.step[0, p, 0] = now
        s.step[1, p, 0] = 0
    for v in range(s.pool[FIRST, s.rule[POOLS]]):
        s.step[1, s.node[PLAN_OF, v], 0] += s.node[FREE, v]
    for x in range(n):
        j = s.job[LIVE, x]
        end = s.job[EFFECTIVE, j]
        if end >= NEVER:
            break
        for y in range(s.job[NODES, j]):
            p = s.node[PLAN_OF, s.place[s.job[OFFSET, j] + y]]
            z = s.node[STEPS, p]
            if s.step[0, p, z - 1] < end:
                if z + 1 > s.step.shape[2]:
                    s.clock[OVERFLOW] = 1
                    return
                s.step[0, p, z] = end
                s.step[1, p, z] = s.step[1, p, z - 1]
                s.node[STEPS, p] += 1
                z += 1
            s.step[1, p, z - 1] += s.job[GPUS, j]
    for z in range(s.clock[KNOWN]):
        c = s.closures[KNOWN_LIST, z]
        v = s.closures[0, c]
        begin = max(now, s.closures[1, c])
        change(s, s.node[PLAN_OF, v], begin, s.closures[2, c], -2 * s.pool[POOL_GPUS, s.node[POOL_OF, v]])
    s.clock[PLANNED] = 1


@inner
def find_earliest(s, j, length):  # type: ignore[no-untyped-def]
    """Earliest second and pool for a job by plan; `fit` is that of the pool."""
    best = NEVER
    pool = -1
    for x in range(s.rule[POOLS] + 1):  # the last time for the best pool, so that `FIT` is its
        q = x if x < s.rule[POOLS] else pool
        if q >= 0 and fits_quota(s, j, q):
            nodes, gpus = demand(s, j, q)
            at = find_in_pool(s, q, nodes, gpus, s.clock[NOW], length)
            if at < best:
                best = at
                pool = q
    return best, pool


@inner
def demand(s, j, q):  # type: ignore[no-untyped-def]
    """Planned nodes, and GPUs on each, that the job takes in a pool."""
    return (1, s.job[NODES, j]) if s.pool[BY_COUNT, q] else (s.job[NODES, j], s.job[GPUS, j])


# ---- reservations ----


@inner
def reserve(s, j):  # type: ignore[no-untyped-def]
    """Give the job a reservation at its earliest second."""
    length = believe(s, j)
    at, q = find_earliest(s, j, length)
    s.job[HOLDS, j] = 1
    if q < 0:  # nothing is planned to end
        return
    x = s.clock[RESERVED]
    nodes, gpus = demand(s, j, q)
    row = s.reserved[x]
    row[0] = j
    row[1] = at
    row[2] = q
    row[3] = length
    row[4] = nodes
    row[5] = gpus
    s.clock[RESERVED] += 1
    _lay(s, x)


@inner
def _lay(s, x):  # type: ignore[no-untyped-def]
    """Put a reservation on its best-fit nodes, if it fits at its second; whether it does."""
    row = s.reserved[x]
    at = row[1]
    q = row[2]
    if find_in_pool(s, q, row[4], row[5], at, row[3]) != at:
        return False
    choose_planned(s, q, row[4], at, s.reserved[x, 6:])
    for y in range(row[4]):
        change(s, s.reserved[x, 6 + y], at, at + row[3], -row[5])
    return True


@inner
def lift(s, x):  # type: ignore[no-untyped-def]
    """Take a reservation off the plan."""
    row = s.reserved[x]
    for y in range(row[4]):
        change(s, s.reserved[x, 6 + y], row[1], row[1] + row[3], row[5])


@inner
def _keep_times(s):  # type: ignore[no-untyped-def]
    """Whether every reservation, laid anew one after another, fits at its second."""
    good = True
    done = 0
    while good and done < s.clock[RESERVED]:
        good = _lay(s, done)
        done += good
    for x in range(done):
        lift(s, x)
    return good


@inner
def _spares(s, p, end, amount):  # type: ignore[no-untyped-def]
    """Whether all reservations keep their seconds if a planned node gives an amount until `end`.

    With one reservation `clock[LEFT]` is how many nodes more than it needs fit it; else the plan is changed and, if the
    answer is no, changed back.
    """
    if s.clock[RESERVED] == 1:
        row = s.reserved[0]
        q = row[2]
        if end <= row[1] or not s.pool[FIRST_PLAN, q] <= p < s.pool[FIRST_PLAN, q + 1]:
            return True
        if not _fits_beside(s, p, row[1], row[3], row[5], 0, 0):
            return True
        if _fits_beside(s, p, row[1], row[3], row[5], end, amount):
            return True
        if s.clock[LEFT] < 1:
            return False
        s.clock[LEFT] -= 1
        return True
    change(s, p, s.clock[NOW], end, -amount)
    if _keep_times(s):
        return True
    change(s, p, s.clock[NOW], end, amount)
    return False


@inner
def count_spare(s):  # type: ignore[no-untyped-def]
    """How many planned nodes more than it needs fit the only reservation."""
    row = s.reserved[0]
    spare = -row[4]
    for p in range(s.pool[FIRST_PLAN, row[2]], s.pool[FIRST_PLAN, row[2] + 1]):
        spare += _fits_beside(s, p, row[1], row[3], row[5], 0, 0)
    return spare


@inner
def choose(s, j, q, guarded):  # type: ignore[no-untyped-def]
    """Choose best-fit nodes of a pool for a job that starts now; `guarded`: reservations must keep their seconds."""
    now = s.clock[NOW]
    length = believe(s, j)
    end = min(now + length, NEVER)
    need = s.job[NODES, j]
    gpus = s.job[GPUS, j]
    most = s.pool[POOL_GPUS, q]
    free = 0
    for g in range(gpus, most + 1):
        free += s.pool[COUNT + g, q]
    if free < need:
        return False
    left = s.clock[LEFT]
    guarded = guarded and s.clock[RESERVED] > 0
    by_count = s.pool[BY_COUNT, q] > 0
    found = 0  # nodes
    changed = 0  # planned nodes for which `_spares` was asked
    for g in range(gpus, most + 1):
        v = s.pool[FIRST, q]
        while v < s.pool[FIRST, q + 1] and found < need and s.pool[COUNT + g, q] > 0:
            fits = s.node[FREE, v] == g and not s.node[IS_CLOSED, v]
            fits = fits and not (s.clock[KNOWN] > 0 and is_blocked(s, v, now, now + length))
            if fits and guarded and not (by_count and changed > 0):
                fits = _spares(s, s.node[PLAN_OF, v], end, need if by_count else gpus)
                if by_count and not fits:
                    return False
                changed += fits
            if fits:
                s.node[CHOSEN, found] = v
                found += 1
            v += 1
    if s.clock[RESERVED] > 1:  # `_spares` has changed the plan, and `begin_job` does so again
        for x in range(changed):
            change(s, s.node[PLAN_OF, s.node[CHOSEN, x]], now, end, need if by_count else gpus)
    if found < need:
        s.clock[LEFT] = left
    return found == need


@inner
def try_start(s, j, guarded, begins):  # type: ignore[no-untyped-def]
    """Whether the job fits now in some pool; if so, and if it `begins`, it starts in the first one."""
    for q in range(s.rule[POOLS]):
        if fits_quota(s, j, q) and choose(s, j, q, guarded):
            if begins:
                begin_job(s, j, q)
            return True
    return False
