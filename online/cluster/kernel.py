"""The replay, compiled: events in whole seconds, then one pass over the waiting jobs.

Jobs that run at the beginning stand behind the jobs of the instance, as jobs of their own. A plan is a step function of
free GPUs for each planned node: a pool of one-GPU nodes without closures is planned as one node, by counts; in any
other pool a reservation has nodes of its own.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ratiobench.formulations.kernels import compiled, inner

NEVER = 2**60  # A second that does not come
ORDERS = ("submit", "shortest", "smallest", "area", "largest", "wfp3", "unicep", "f1", "multifactor")
BELIEFS = ("limit", "double", "last2", "true")
NO_BACKFILL, FIRST_FIT, EASY, CONSERVATIVE = range(4)
_SMALLEST, _AREA, _LARGEST, _WFP3, _UNICEP, _F1, _MULTIFACTOR = range(2, 9)
_DOUBLE, _LAST2, _TRUE = range(1, 4)
# What a job gets that outlives its prediction, seconds, one after another (Tsafrir)
EXTENSIONS = np.array([60, 300, 900, 1800, 3600, 7200, 18_000, 36_000, 72_000, 180_000, 360_000])
# Entries of State.rule, which do not change; GREATEST limit of the instance, EARLIEST submit
(
    ORDER_RULE,
    BACKFILL,
    BELIEF_RULE,
    RESERVATIONS,
    SHORTEST_FIRST,
    CYCLE,
    DEPTH,
    BEGIN,
    JOBS,
    POOLS,
    GREATEST,
    EARLIEST,
) = range(12)
# Entries of State.clock, which change: the second, and how many there are
NOW, WAITING, RUNNING, RELEASED, CLOSED, ACTIVE, KNOWN, OVERFLOW, PLANNED, RESERVED, LEFT = range(11)
# Rows of State.job. LIMIT is the partition's where the job has none, else NEVER; ALLOWED has bit q for pool q; OFFSET
# is that of its nodes in State.place; PLANNED_END is by what is believed, EFFECTIVE as of this pass; HOLDS: reserved.
# Lists of jobs: QUEUE (waiting, in the order of the last pass), LIVE (running), ORDER (candidates), ARRIVALS
(SUBMIT, RELEASE, RUN, LIMIT, NODES, GPUS, ACCOUNT, USER, PARTITION, QOS, ALLOWED, START, POOL, OFFSET) = range(14)
PLANNED_END, EXTENDED, REQUEUED, EFFECTIVE, HOLDS, BAND, QUEUE, LIVE, ORDER, BELIEF, ARRIVALS = range(14, 25)
JOB_ROWS = 25
# Rows of State.node; FIT, OTHER and CHOSEN are of planned nodes, or lists
POOL_OF, PLAN_OF, FREE, IS_CLOSED, FIT, OTHER, CHOSEN, STEPS = range(8)
NODE_ROWS = 8
# Rows of State.pool; COUNT + g: open nodes with g free GPUs
FIRST, FIRST_PLAN, POOL_GPUS, BY_COUNT, COUNT = range(5)
# Rows of State.closures behind node, start, end, announced: lists of closures that have begun, that policies know of
ACTIVE_LIST, KNOWN_LIST = 4, 5


class State(NamedTuple):
    """Arrays of a replay: few, because each one costs seconds of compilation."""

    rule: Any
    clock: Any
    job: Any  # (JOB_ROWS, jobs) integers
    key: Any  # (jobs) key of a waiting job
    node: Any  # (NODE_ROWS, nodes)
    place: Any  # nodes of all jobs, one behind the other
    pool: Any  # (COUNT + 1 + most GPUs, pools + 1)
    closures: Any  # (6, closures) in order of start
    account: Any  # (accounts, 3 + 2 pools) cohort, strict, GPUs that run; for each pool the quota (or -1) and its use
    part: Any  # (partitions, 2 + users + accounts) bounds of a user, of an account (or -1); GPUs that run
    last: Any  # (users, 3) lengths of the last two jobs that ended, and how many ended
    # (6, ...) weights: age, size, fair share, qos, partition, account, max age, half-life, favor small, capacity;
    # shares of accounts; their GPU-seconds, decayed; priority over the greatest of qos, partition, account
    real: Any
    step: Any  # (2, planned nodes, room) when steps of the plan begin, free GPUs from then on
    reserved: (
        Any  # (reservations, 6 + nodes) job, second, pool, length, nodes, GPUs of a reservation; its planned nodes
    )


# ---- jobs and what is believed of them ----


@inner
def _believe(s, j):  # type: ignore[no-untyped-def]
    """Believed length of a job that waits: NEVER if nothing is known."""
    belief = s.rule[BELIEF_RULE]
    length = s.job[LIMIT, j]
    if belief == _TRUE:
        length = s.job[RUN, j]
    elif belief == _DOUBLE and length < NEVER:
        length = 2 * length
    elif belief == _LAST2 and s.job[USER, j] >= 0 and s.last[s.job[USER, j], 2] >= 2:
        length = min(length, (s.last[s.job[USER, j], 0] + s.last[s.job[USER, j], 1]) // 2)
    return max(length, 1)


@inner
def _fits_bounds(s, j):  # type: ignore[no-untyped-def]
    """Whether the bounds of the job's partition let it start."""
    p = s.job[PARTITION, j]
    if p < 0:
        return True
    width = s.job[NODES, j] * s.job[GPUS, j]
    if s.part[p, 0] >= 0 and s.job[USER, j] >= 0 and s.part[p, 2 + s.job[USER, j]] + width > s.part[p, 0]:
        return False
    return not (
        s.part[p, 1] >= 0
        and s.job[ACCOUNT, j] >= 0
        and s.part[p, 2 + len(s.last) + s.job[ACCOUNT, j]] + width > s.part[p, 1]
    )


@inner
def _fits_quota(s, j, q):  # type: ignore[no-untyped-def]
    """Whether the job may use the pool and its account's quota there lets it start."""
    if not s.job[ALLOWED, j] >> q & 1:
        return False
    a = s.job[ACCOUNT, j]
    if a < 0 or s.account[a, 3 + 2 * q] < 0:
        return True
    width = s.job[NODES, j] * s.job[GPUS, j]
    if s.account[a, 4 + 2 * q] + width <= s.account[a, 3 + 2 * q]:
        return True
    if s.account[a, 0] < 0:
        return False
    spare = -width
    for b in range(len(s.account)):
        if s.account[b, 0] == s.account[a, 0]:
            spare += s.account[b, 3 + 2 * q] - s.account[b, 4 + 2 * q]
    return spare >= 0


@inner
def _has_quota(s, j):  # type: ignore[no-untyped-def]
    """Whether some pool's quota lets the job start."""
    for q in range(s.rule[POOLS]):  # noqa: SIM110 - kernels have no generators
        if _fits_quota(s, j, q):
            return True
    return False


@inner
def _is_considered(s, place):  # type: ignore[no-untyped-def]
    """Whether bounds and quotas let the job at this place of the queue start."""
    j = s.job[QUEUE, place]
    if not _fits_bounds(s, j) or not _has_quota(s, j):
        return False
    a = s.job[ACCOUNT, j]
    if a >= 0 and s.account[a, 1]:
        for x in range(place):
            i = s.job[QUEUE, x]
            if s.job[ACCOUNT, i] == a and s.job[START, i] < 0 and not _has_quota(s, i):
                return False
    return True


# ---- nodes ----


@inner
def _is_blocked(s, v, begin, end):  # type: ignore[no-untyped-def]
    """Whether a known closure of the node falls in [begin, end)."""
    for x in range(s.clock[KNOWN]):
        c = s.closures[KNOWN_LIST, x]
        if s.closures[0, c] == v and s.closures[1, c] < end and s.closures[2, c] > begin:
            return True
    return False


@inner
def _has_room(s, j):  # type: ignore[no-untyped-def]
    """Whether some pool has enough nodes with enough free GPUs, closures left aside: a quick test."""
    for q in range(s.rule[POOLS]):
        if s.job[ALLOWED, j] >> q & 1:
            nodes = 0
            for g in range(s.job[GPUS, j], s.pool[POOL_GPUS, q] + 1):
                nodes += s.pool[COUNT + g, q]
            if nodes >= s.job[NODES, j]:
                return True
    return False


@inner
def _occupy(s, j, v, sign):  # type: ignore[no-untyped-def]
    """The job takes (sign 1) or leaves (-1) its GPUs of a node."""
    q = s.node[POOL_OF, v]
    if not s.node[IS_CLOSED, v]:
        s.pool[COUNT + s.node[FREE, v], q] -= 1
    s.node[FREE, v] -= sign * s.job[GPUS, j]
    if not s.node[IS_CLOSED, v]:
        s.pool[COUNT + s.node[FREE, v], q] += 1


@inner
def _account_for(s, j, sign):  # type: ignore[no-untyped-def]
    """Add the job's GPUs to what runs (sign 1), or take them away (-1)."""
    width = sign * s.job[NODES, j] * s.job[GPUS, j]
    a = s.job[ACCOUNT, j]
    p = s.job[PARTITION, j]
    if a >= 0:
        s.account[a, 2] += width
        s.account[a, 4 + 2 * s.job[POOL, j]] += width
        if p >= 0:
            s.part[p, 2 + len(s.last) + a] += width
    if p >= 0 and s.job[USER, j] >= 0:
        s.part[p, 2 + s.job[USER, j]] += width


@inner
def begin_job(s, j, q):  # type: ignore[no-untyped-def]
    """Start a job now on the `chosen` nodes of a pool."""
    now = s.clock[NOW]
    length = _believe(s, j)
    s.job[START, j] = now
    s.job[POOL, j] = q
    s.job[PLANNED_END, j] = min(now + length, NEVER)
    s.job[EXTENDED, j] = 0
    for x in range(s.job[NODES, j]):
        s.place[s.job[OFFSET, j] + x] = s.node[CHOSEN, x]
        _occupy(s, j, s.node[CHOSEN, x], 1)
    _account_for(s, j, 1)
    s.job[LIVE, s.clock[RUNNING]] = j
    s.clock[RUNNING] += 1
    if s.clock[PLANNED]:
        nodes, gpus = _demand(s, j, q)
        for x in range(nodes):
            p = s.pool[FIRST_PLAN, q] if s.pool[BY_COUNT, q] else s.node[PLAN_OF, s.node[CHOSEN, x]]
            _change(s, p, now, now + length, -gpus)


# ---- the plan ----


@inner
def _change(s, p, begin, end, amount):  # type: ignore[no-untyped-def]
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
def _find_in_pool(s, q, nodes, gpus, begin, length):  # type: ignore[no-untyped-def]
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
def _choose_planned(s, q, nodes, at, chosen):  # type: ignore[no-untyped-def]
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
def _make_plan(s):  # type: ignore[no-untyped-def]
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
        _change(s, s.node[PLAN_OF, v], begin, s.closures[2, c], -2 * s.pool[POOL_GPUS, s.node[POOL_OF, v]])
    s.clock[PLANNED] = 1


@inner
def _find_earliest(s, j, length):  # type: ignore[no-untyped-def]
    """Earliest second and pool for a job by plan; `fit` is that of the pool."""
    best = NEVER
    pool = -1
    for x in range(s.rule[POOLS] + 1):  # the last time for the best pool, so that `FIT` is its
        q = x if x < s.rule[POOLS] else pool
        if q >= 0 and _fits_quota(s, j, q):
            nodes, gpus = _demand(s, j, q)
            at = _find_in_pool(s, q, nodes, gpus, s.clock[NOW], length)
            if at < best:
                best = at
                pool = q
    return best, pool


@inner
def _demand(s, j, q):  # type: ignore[no-untyped-def]
    """Planned nodes, and GPUs on each, that the job takes in a pool."""
    return (1, s.job[NODES, j]) if s.pool[BY_COUNT, q] else (s.job[NODES, j], s.job[GPUS, j])


# ---- reservations ----


@inner
def _reserve(s, j):  # type: ignore[no-untyped-def]
    """Give the job a reservation at its earliest second."""
    length = _believe(s, j)
    at, q = _find_earliest(s, j, length)
    s.job[HOLDS, j] = 1
    if q < 0:  # nothing is planned to end
        return
    x = s.clock[RESERVED]
    nodes, gpus = _demand(s, j, q)
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
    if _find_in_pool(s, q, row[4], row[5], at, row[3]) != at:
        return False
    _choose_planned(s, q, row[4], at, s.reserved[x, 6:])
    for y in range(row[4]):
        _change(s, s.reserved[x, 6 + y], at, at + row[3], -row[5])
    return True


@inner
def _lift(s, x):  # type: ignore[no-untyped-def]
    """Take a reservation off the plan."""
    row = s.reserved[x]
    for y in range(row[4]):
        _change(s, s.reserved[x, 6 + y], row[1], row[1] + row[3], row[5])


@inner
def _keep_times(s):  # type: ignore[no-untyped-def]
    """Whether every reservation, laid anew one after another, fits at its second."""
    good = True
    done = 0
    while good and done < s.clock[RESERVED]:
        good = _lay(s, done)
        done += good
    for x in range(done):
        _lift(s, x)
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
    _change(s, p, s.clock[NOW], end, -amount)
    if _keep_times(s):
        return True
    _change(s, p, s.clock[NOW], end, amount)
    return False


@inner
def _count_spare(s):  # type: ignore[no-untyped-def]
    """How many planned nodes more than it needs fit the only reservation."""
    row = s.reserved[0]
    spare = -row[4]
    for p in range(s.pool[FIRST_PLAN, row[2]], s.pool[FIRST_PLAN, row[2] + 1]):
        spare += _fits_beside(s, p, row[1], row[3], row[5], 0, 0)
    return spare


@inner
def _choose(s, j, q, guarded):  # type: ignore[no-untyped-def]
    """Choose best-fit nodes of a pool for a job that starts now; `guarded`: reservations must keep their seconds."""
    now = s.clock[NOW]
    length = _believe(s, j)
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
            fits = fits and not (s.clock[KNOWN] > 0 and _is_blocked(s, v, now, now + length))
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
            _change(s, s.node[PLAN_OF, s.node[CHOSEN, x]], now, end, need if by_count else gpus)
    if found < need:
        s.clock[LEFT] = left
    return found == need


@inner
def _try(s, j, guarded, begins):  # type: ignore[no-untyped-def]
    """Whether the job fits now in some pool; if so, and if it `begins`, it starts in the first one."""
    for q in range(s.rule[POOLS]):
        if _fits_quota(s, j, q) and _choose(s, j, q, guarded):
            if begins:
                begin_job(s, j, q)
            return True
    return False


# ---- order ----


@inner
def _is_before(s, a, b):  # type: ignore[no-untyped-def]
    """Whether a job stands before another one: by keys, submit, place in the file."""
    if s.job[BAND, a] != s.job[BAND, b]:
        return s.job[BAND, a] < s.job[BAND, b]
    if s.key[a] != s.key[b]:
        return s.key[a] < s.key[b]
    if s.job[SUBMIT, a] != s.job[SUBMIT, b]:
        return s.job[SUBMIT, a] < s.job[SUBMIT, b]
    return a < b


@inner
def _sort(s, jobs, n):  # type: ignore[no-untyped-def]
    """Sort jobs in place by insertion; they are nearly in order."""
    for x in range(1, n):
        j = jobs[x]
        y = x
        while y > 0 and _is_before(s, j, jobs[y - 1]):
            jobs[y] = jobs[y - 1]
            y -= 1
        jobs[y] = j


@inner
def _set_key(s, j, used):  # type: ignore[no-untyped-def]
    """Compute the keys of a waiting job; `used`: GPU-seconds of all accounts, decayed."""
    order = s.rule[ORDER_RULE]
    if order == 0:
        return
    width = float(s.job[NODES, j] * s.job[GPUS, j])
    length = _believe(s, j)
    believed = float(length if length < NEVER else s.rule[GREATEST])
    wait = float(s.clock[NOW] - s.job[SUBMIT, j])
    key = believed
    if order == _SMALLEST:
        key = width
    elif order == _AREA:
        key = width * believed
    elif order == _LARGEST:
        key = -width
    elif order == _WFP3:
        ratio = wait / believed
        key = -(ratio * ratio * ratio * width)
    elif order == _UNICEP:
        s.job[BAND, j] = width > 1.0
        key = -(wait / (believed * math.log2(width))) if width > 1.0 else -(wait / believed)
    elif order == _F1:
        key = math.log10(believed) * width + 870.0 * math.log10(float(max(1, s.job[SUBMIT, j] - s.rule[EARLIEST])))
    elif order == _MULTIFACTOR:
        w = s.real[0]
        age = min(1.0, wait / w[6]) if w[6] > 0.0 else 1.0
        size = width / w[9]
        a = s.job[ACCOUNT, j]
        fair = 2.0 ** -(s.real[2, a] / used / s.real[1, a]) if a >= 0 and used > 0.0 else 1.0
        value = w[0] * age + w[1] * (1.0 - size if w[8] > 0.0 else size) + w[2] * fair
        value += w[3] * s.real[3, s.job[QOS, j]] + w[4] * s.real[4, s.job[PARTITION, j]] + w[5] * s.real[5, a]
        key = -math.floor(value)
    s.key[j] = key


@inner
def _sort_queue(s):  # type: ignore[no-untyped-def]
    """Put the waiting jobs into their order."""
    used = 0.0
    for a in range(len(s.account)):
        used += s.real[2, a]
    for x in range(s.clock[WAITING]):
        _set_key(s, s.job[QUEUE, x], used)
    _sort(s, s.job[QUEUE], s.clock[WAITING])


# ---- the pass ----


@inner
def _find_known(s):  # type: ignore[no-untyped-def]
    """List the closures that policies know of."""
    n = 0
    for c in range(s.closures.shape[1]):
        if s.closures[3, c] <= s.clock[NOW] < s.closures[2, c]:
            s.closures[KNOWN_LIST, n] = c
            n += 1
    s.clock[KNOWN] = n


@inner
def _plan_all(s, last):  # type: ignore[no-untyped-def]
    """Conservative: plan the first jobs of the queue one after another, and start those that are planned for now."""
    now = s.clock[NOW]
    _make_plan(s)
    for x in range(last):
        j = s.job[QUEUE, x]
        if not _is_considered(s, x):
            continue
        length = _believe(s, j)
        at, q = _find_earliest(s, j, length)
        if q < 0:
            continue
        nodes, gpus = _demand(s, j, q)
        if at == now and s.pool[BY_COUNT, q]:
            if _choose(s, j, q, False):
                begin_job(s, j, q)
            continue
        _choose_planned(s, q, nodes, at, s.node[CHOSEN])
        if at == now:
            for y in range(nodes):
                s.node[CHOSEN, y] += s.pool[FIRST, q] - s.pool[FIRST_PLAN, q]
            begin_job(s, j, q)
            continue
        for y in range(nodes):
            _change(s, s.node[CHOSEN, y], at, at + length, -gpus)


@inner
def _backfill(s, head, last, most):  # type: ignore[no-untyped-def]
    """EASY: reservations from the head of the queue on, then the candidates behind it, which stand before `last`."""
    _make_plan(s)
    s.clock[RESERVED] = 0
    given = 0
    for x in range(head, most):
        j = s.job[QUEUE, x]
        s.job[HOLDS, j] = 0
        if given == s.rule[RESERVATIONS] and x >= last:
            break
        if given < s.rule[RESERVATIONS] and _is_considered(s, x) and not _try(s, j, False, False):
            _reserve(s, j)
            given += 1
    for x in range(s.clock[RESERVED]):
        _lift(s, x)
    if s.clock[RESERVED] == 1:
        s.clock[LEFT] = _count_spare(s)
    n = last - head - 1
    for x in range(n):
        s.job[ORDER, x] = head + 1 + x
    if s.rule[SHORTEST_FIRST]:  # shortest belief first
        for x in range(n):
            length = _believe(s, s.job[QUEUE, head + 1 + x])
            length = length if length < NEVER else s.rule[GREATEST]
            y = x
            while y > 0 and s.job[BELIEF, y - 1] > length:
                s.job[ORDER, y] = s.job[ORDER, y - 1]
                s.job[BELIEF, y] = s.job[BELIEF, y - 1]
                y -= 1
            s.job[ORDER, y] = head + 1 + x
            s.job[BELIEF, y] = length
    for x in range(n):
        j = s.job[QUEUE, s.job[ORDER, x]]
        if not s.job[HOLDS, j] and _has_room(s, j) and _is_considered(s, s.job[ORDER, x]):
            _try(s, j, True, True)


@inner
def make_pass(s):  # type: ignore[no-untyped-def]
    """One pass over the waiting jobs by the rule."""
    s.clock[PLANNED] = 0
    _find_known(s)
    _sort_queue(s)
    backfill = s.rule[BACKFILL]
    last = s.clock[WAITING]
    if s.rule[CYCLE] > 0 and (s.clock[NOW] - s.rule[BEGIN]) % s.rule[CYCLE] != 0:
        backfill = NO_BACKFILL
    elif s.rule[DEPTH] > 0:
        last = min(last, s.rule[DEPTH])
    most = last
    while last > 0 and not _has_room(s, s.job[QUEUE, last - 1]):
        last -= 1  # what stands behind the last job that could start changes nothing
    if backfill == CONSERVATIVE:
        if last > 0:
            _plan_all(s, last)
    else:
        head = 0
        while head < last:
            if _is_considered(s, head) and not _try(s, s.job[QUEUE, head], False, True) and backfill != FIRST_FIT:
                break
            head += 1
        if backfill == EASY and head < last:
            _backfill(s, head, last, most)
    left = 0
    for x in range(s.clock[WAITING]):
        if s.job[START, s.job[QUEUE, x]] < 0:
            s.job[QUEUE, left] = s.job[QUEUE, x]
            left += 1
    s.clock[WAITING] = left


# ---- events ----


@inner
def _age_usage(s, now):  # type: ignore[no-untyped-def]
    """Decay the GPU-seconds of accounts to a second; those since the last event are added."""
    seconds = float(now - s.clock[NOW])
    half = s.real[0, 7]
    decay = 2.0 ** -(seconds / half) if half > 0.0 else 1.0
    grown = (1.0 - decay) * half / math.log(2.0) if half > 0.0 else seconds
    for a in range(len(s.account)):
        s.real[2, a] = s.real[2, a] * decay + s.account[a, 2] * grown


@inner
def _find_next(s):  # type: ignore[no-untyped-def]
    """The next event's second; NEVER after the last one."""
    now = s.clock[NOW]
    at = NEVER
    if s.clock[RELEASED] < s.rule[JOBS]:
        at = s.job[RELEASE, s.job[ARRIVALS, s.clock[RELEASED]]]
    for x in range(s.clock[RUNNING]):
        j = s.job[LIVE, x]
        at = min(at, s.job[START, j] + s.job[RUN, j])
        if s.job[PLANNED_END, j] > now:
            at = min(at, s.job[PLANNED_END, j])
    if s.clock[CLOSED] < s.closures.shape[1]:
        at = min(at, s.closures[1, s.clock[CLOSED]])
    for x in range(s.clock[ACTIVE]):
        at = min(at, s.closures[2, s.closures[ACTIVE_LIST, x]])
    if s.rule[CYCLE] > 0 and s.clock[WAITING] > 0:
        at = min(at, now + s.rule[CYCLE] - (now - s.rule[BEGIN]) % s.rule[CYCLE])
    return max(at, now)


@inner
def _leave(s, j):  # type: ignore[no-untyped-def]
    """The job leaves its nodes."""
    for x in range(s.job[NODES, j]):
        _occupy(s, j, s.place[s.job[OFFSET, j] + x], -1)
    _account_for(s, j, -1)


@inner
def _end_jobs(s):  # type: ignore[no-untyped-def]
    """Ends of this second, in the order of the file; planned ends that have passed are extended."""
    now = s.clock[NOW]
    kept = 0
    ended = 0
    for x in range(s.clock[RUNNING]):
        j = s.job[LIVE, x]
        if s.job[START, j] + s.job[RUN, j] > now:
            s.job[LIVE, kept] = j
            kept += 1
            limit = min(s.job[START, j] + s.job[LIMIT, j], NEVER)
            if s.rule[BELIEF_RULE] == _LAST2:
                while (
                    s.job[PLANNED_END, j] <= now
                    and s.job[PLANNED_END, j] < limit
                    and s.job[EXTENDED, j] < len(EXTENSIONS)
                ):
                    s.job[PLANNED_END, j] = min(s.job[PLANNED_END, j] + EXTENSIONS[s.job[EXTENDED, j]], limit)
                    s.job[EXTENDED, j] += 1
            continue
        _leave(s, j)
        y = ended
        while y > 0 and s.job[ORDER, y - 1] > j:
            s.job[ORDER, y] = s.job[ORDER, y - 1]
            y -= 1
        s.job[ORDER, y] = j
        ended += 1
    s.clock[RUNNING] = kept
    for x in range(ended):
        j = s.job[ORDER, x]
        if j < s.rule[JOBS] and s.job[USER, j] >= 0:
            row = s.last[s.job[USER, j]]
            row[1] = row[0]
            row[0] = s.job[RUN, j]
            row[2] += 1


@inner
def _turn_nodes(s):  # type: ignore[no-untyped-def]
    """Nodes up, then nodes down: their jobs wait again."""
    now = s.clock[NOW]
    kept = 0
    for x in range(s.clock[ACTIVE]):
        c = s.closures[ACTIVE_LIST, x]
        v = s.closures[0, c]
        if s.closures[2, c] > now:
            s.closures[ACTIVE_LIST, kept] = c
            kept += 1
        else:
            s.node[IS_CLOSED, v] = 0
            s.pool[COUNT + s.node[FREE, v], s.node[POOL_OF, v]] += 1
    while s.clock[CLOSED] < s.closures.shape[1] and s.closures[1, s.clock[CLOSED]] <= now:
        c = s.clock[CLOSED]
        s.clock[CLOSED] += 1
        v = s.closures[0, c]
        left = 0
        for x in range(s.clock[RUNNING]):
            j = s.job[LIVE, x]
            hit = False
            for y in range(s.job[NODES, j]):
                hit = hit or s.place[s.job[OFFSET, j] + y] == v
            if not hit:
                s.job[LIVE, left] = j
                left += 1
                continue
            _leave(s, j)
            s.job[START, j] = -1
            s.job[REQUEUED, j] += 1
            s.job[QUEUE, s.clock[WAITING]] = j
            s.clock[WAITING] += 1
        s.clock[RUNNING] = left
        s.node[IS_CLOSED, v] = 1
        s.pool[COUNT + s.node[FREE, v], s.node[POOL_OF, v]] -= 1
        s.closures[ACTIVE_LIST, kept] = c
        kept += 1
    s.clock[ACTIVE] = kept


@inner
def _step(s, until):  # type: ignore[no-untyped-def]
    """All events of the next second at which there is one, or of `until` if that is before; whether there was one."""
    now = min(_find_next(s), until)
    if now >= NEVER:
        return False
    if s.rule[ORDER_RULE] == _MULTIFACTOR:
        _age_usage(s, now)
    s.clock[NOW] = now
    _end_jobs(s)
    _turn_nodes(s)
    while s.clock[RELEASED] < s.rule[JOBS] and s.job[RELEASE, s.job[ARRIVALS, s.clock[RELEASED]]] <= now:
        s.job[QUEUE, s.clock[WAITING]] = s.job[ARRIVALS, s.clock[RELEASED]]
        s.clock[WAITING] += 1
        s.clock[RELEASED] += 1
    return True


@compiled
def advance(s, until):  # type: ignore[no-untyped-def]
    """Go on to the next pass, or to `until` if some job waits then; False after the last event."""
    while _step(s, until):
        if s.clock[WAITING] > 0:
            s.clock[PLANNED] = 0
            _find_known(s)
            _sort_queue(s)
            return True
        if s.clock[NOW] >= until:
            until = NEVER
    return False


@compiled
def start_waiting(s, j, q):  # type: ignore[no-untyped-def]
    """Start a waiting job now on the chosen nodes of a pool, or by best fit if that is -1; whether it could start."""
    place = 0
    while s.job[QUEUE, place] != j:
        place += 1
    if not _is_considered(s, place):
        return False
    if q < 0:
        if not _try(s, j, False, True):
            return False
    elif _fits_quota(s, j, q):
        begin_job(s, j, q)
    else:
        return False
    s.clock[WAITING] -= 1
    for x in range(place, s.clock[WAITING]):
        s.job[QUEUE, x] = s.job[QUEUE, x + 1]
    return True


@compiled
def replay(s):  # type: ignore[no-untyped-def]
    """Replay to the end of the last job's start; False if the plan needs more room."""
    while _step(s, NEVER):
        if s.clock[WAITING] > 0:
            make_pass(s)
            if s.clock[OVERFLOW]:
                return False
        elif s.clock[RELEASED] == s.rule[JOBS] and s.clock[CLOSED] == s.closures.shape[1]:
            break
    return True
