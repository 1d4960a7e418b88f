"""The plan of a pass: free GPUs over time by what is believed, reservations in it, and the start of a job.

A plan is a step function of free GPUs for each planned node: a pool of one-GPU nodes without closures is planned as one
node, by counts; in any other pool a reservation has nodes of its own.
"""

from __future__ import annotations

from ratiobench.formulations.cluster.tables import find_last
from ratiobench.formulations.kernels import inner
from ratiobench.online.cluster import state as S


@inner
def begin_job(s, j, q):  # type: ignore[no-untyped-def]
    """Start a job now on the `chosen` nodes of a pool."""
    now = s.clock[S.NOW]
    length = S.believe(s, j)
    s.job[S.START, j] = now
    s.job[S.POOL, j] = q
    s.job[S.PLANNED_END, j] = min(now + length, S.NEVER)
    s.job[S.EXTENDED, j] = 0
    for x in range(s.job[S.NODES, j]):
        s.place[s.job[S.OFFSET, j] + x] = s.node[S.CHOSEN, x]
    S.hold(s, j, 1)
    s.job[S.LIVE, s.clock[S.RUNNING]] = j
    s.clock[S.RUNNING] += 1
    if s.clock[S.PLANNED]:
        nodes, gpus = demand(s, j, q)
        for x in range(nodes):
            change(s, s.node[S.PLAN_OF, s.node[S.CHOSEN, x]], now, now + length, -gpus)


@inner
def _step_at(s, p, t):  # type: ignore[no-untyped-def]
    """The step of a planned node in which a second lies, which is not before the first one."""
    return find_last(s.step[0, p], s.node[S.STEPS, p], t)


@inner
def _begin_step(s, p, t):  # type: ignore[no-untyped-def]
    """Let a step of a planned node begin at a second; return its number."""
    n = s.node[S.STEPS, p]
    if t >= S.NEVER:
        return n
    x = _step_at(s, p, t)
    if s.step[0, p, x] == t:
        return x
    for y in range(n, x + 1, -1):
        s.step[0, p, y] = s.step[0, p, y - 1]
        s.step[1, p, y] = s.step[1, p, y - 1]
    s.step[0, p, x + 1] = t
    s.step[1, p, x + 1] = s.step[1, p, x]
    s.node[S.STEPS, p] = n + 1
    return x + 1


@inner
def _join_step(s, p, x):  # type: ignore[no-untyped-def]
    """Join a step of a planned node with the one before it if they are equal."""
    n = s.node[S.STEPS, p]
    if 0 < x < n and s.step[1, p, x] == s.step[1, p, x - 1]:
        for y in range(x, n - 1):
            s.step[0, p, y] = s.step[0, p, y + 1]
            s.step[1, p, y] = s.step[1, p, y + 1]
        s.node[S.STEPS, p] = n - 1


@inner
def change(s, p, begin, end, amount):  # type: ignore[no-untyped-def]
    """Add an amount to the free GPUs of a planned node in [begin, end)."""
    if s.node[S.STEPS, p] + 2 > s.step.shape[2]:
        s.clock[S.OVERFLOW] = 1
        return
    first = _begin_step(s, p, begin)
    last = _begin_step(s, p, end)
    for x in range(first, last):
        s.step[1, p, x] += amount
    _join_step(s, p, last)
    _join_step(s, p, first)


@inner
def _find_fit(s, p, begin, length, need):  # type: ignore[no-untyped-def]
    """Earliest second from `begin` at which a planned node has `need` free GPUs for a length."""
    n = s.node[S.STEPS, p]
    x = _step_at(s, p, begin)
    at = begin
    while True:
        last = x + 1 == n
        if s.step[1, p, x] < need:
            if last:
                return S.NEVER
            at = s.step[0, p, x + 1]
        elif last or s.step[0, p, x + 1] >= at + length:
            return at
        x += 1


@inner
def find_in_pool(s, q, nodes, gpus, begin, length):  # type: ignore[no-untyped-def]
    """Earliest second at which a pool has the nodes by plan."""
    first = s.pool[S.FIRST_PLAN, q]
    count = s.pool[S.FIRST_PLAN, q + 1] - first
    at = begin if count >= nodes else S.NEVER
    for x in range(count):
        s.node[S.FIT, x] = -1
    while at < S.NEVER:
        fitting = 0
        for x in range(count):
            if s.node[S.FIT, x] < at:
                s.node[S.FIT, x] = _find_fit(s, first + x, at, length, gpus)
            fitting += s.node[S.FIT, x] == at
        if fitting >= nodes:
            break
        following = S.NEVER
        for x in range(count):
            if s.node[S.FIT, x] > at:
                following = min(following, s.node[S.FIT, x])
        at = following
    return at


@inner
def _count_fitting(s, q, gpus, at, length):  # type: ignore[no-untyped-def]
    """How many nodes of a pool fit at this second by plan; row FIT has it for these, NEVER for the others."""
    first = s.pool[S.FIRST_PLAN, q]
    fitting = 0
    for p in range(first, s.pool[S.FIRST_PLAN, q + 1]):
        x = s.node[S.STEPS, p] - 1
        while s.step[0, p, x] >= at + length:
            x -= 1
        while s.step[1, p, x] >= gpus and s.step[0, p, x] > at:
            x -= 1
        fits = s.step[1, p, x] >= gpus
        s.node[S.FIT, p - first] = at if fits else S.NEVER
        fitting += fits
    return fitting


@inner
def choose_planned(s, q, nodes, gpus, at, length, chosen):  # type: ignore[no-untyped-def]
    """Write the best-fit planned nodes of a pool for a job at this second; whether enough of them fit by plan."""
    if _count_fitting(s, q, gpus, at, length) < nodes:
        return False
    first = s.pool[S.FIRST_PLAN, q]
    found = 0
    level = gpus
    while found < nodes:
        following = S.NEVER
        for x in range(s.pool[S.FIRST_PLAN, q + 1] - first):
            if s.node[S.FIT, x] == at and found < nodes:
                free = s.step[1, first + x, _step_at(s, first + x, at)]
                if free == level:
                    chosen[found] = first + x
                    found += 1
                elif free > level:
                    following = min(following, free)
        level = following
    return True


@inner
def make_plan(s):  # type: ignore[no-untyped-def]
    """Plan what runs: free GPUs of every planned node from now on."""
    now = s.clock[S.NOW]
    n = s.clock[S.RUNNING]
    for x in range(n):  # planned ends as of now
        j = s.job[S.LIVE, x]
        end = max(s.job[S.PLANNED_END, j], now + 1)
        if s.clock[S.KNOWN]:
            for y in range(s.job[S.NODES, j]):
                v = s.place[s.job[S.OFFSET, j] + y]
                for z in range(s.clock[S.KNOWN]):
                    c = s.closures[S.KNOWN_LIST, z]
                    if s.closures[0, c] == v:
                        end = min(end, s.closures[1, c])
        s.job[S.EFFECTIVE, j] = end
    S.sort_by(s.job[S.LIVE], n, s.job[S.EFFECTIVE])
    for p in range(s.pool[S.FIRST_PLAN, s.rule[S.POOLS]]):
        s.node[S.STEPS, p] = 1
        s.step[0, p, 0] = now
        s.step[1, p, 0] = 0
    for v in range(s.pool[S.FIRST, s.rule[S.POOLS]]):
        s.step[1, s.node[S.PLAN_OF, v], 0] += s.node[S.FREE, v]
    for x in range(n):
        j = s.job[S.LIVE, x]
        for y in range(s.job[S.NODES, j]):
            v = s.place[s.job[S.OFFSET, j] + y]
            change(s, s.node[S.PLAN_OF, v], s.job[S.EFFECTIVE, j], S.NEVER, s.job[S.GPUS, j])
    for z in range(s.clock[S.KNOWN]):
        c = s.closures[S.KNOWN_LIST, z]
        v = s.closures[0, c]
        begin = max(now, s.closures[1, c])
        change(s, s.node[S.PLAN_OF, v], begin, s.closures[2, c], -2 * s.pool[S.POOL_GPUS, s.node[S.POOL_OF, v]])
    s.clock[S.PLANNED] = 1


@inner
def find_earliest(s, j, length):  # type: ignore[no-untyped-def]
    """Earliest second and pool for a job by plan; NEVER and -1 if there is none."""
    best = S.NEVER
    pool = -1
    for q in range(s.rule[S.POOLS]):
        if S.fits_quota(s, j, q):
            nodes, gpus = demand(s, j, q)
            at = find_in_pool(s, q, nodes, gpus, s.clock[S.NOW], length)
            if at < best:
                best = at
                pool = q
    return best, pool


@inner
def demand(s, j, q):  # type: ignore[no-untyped-def]
    """Planned nodes, and GPUs on each, that the job takes in a pool."""
    return (1, s.job[S.NODES, j]) if s.pool[S.BY_COUNT, q] else (s.job[S.NODES, j], s.job[S.GPUS, j])


# ---- reservations ----


@inner
def reserve(s, j):  # type: ignore[no-untyped-def]
    """Give the job a reservation at its earliest second."""
    length = S.believe(s, j)
    at, q = find_earliest(s, j, length)
    s.job[S.HOLDS, j] = 1
    if q >= 0:  # else nothing is planned to end
        row = s.reserved[s.clock[S.RESERVED]]
        row[0] = q
        row[1] = at
        row[2] = length
        row[3], row[4] = demand(s, j, q)
        _lay(s, row)
        s.clock[S.RESERVED] += 1


@inner
def _lay(s, row):  # type: ignore[no-untyped-def]
    """Put a reservation on its best-fit nodes of the plan; whether it fits at its second."""
    fits = choose_planned(s, row[0], row[3], row[4], row[1], row[2], row[5:])
    if fits:
        for y in range(row[3]):
            change(s, row[5 + y], row[1], row[1] + row[2], -row[4])
    return fits


@inner
def lift(s, row):  # type: ignore[no-untyped-def]
    """Take a reservation off the plan."""
    for y in range(row[3]):
        change(s, row[5 + y], row[1], row[1] + row[2], row[4])


@inner
def _keep_seconds(s, q, end):  # type: ignore[no-untyped-def]
    """Whether the reservations of a pool, laid anew one after another, fit at their seconds; `end`: of what is new."""
    matters = False
    for x in range(s.clock[S.RESERVED]):
        matters = matters or (s.reserved[x, 0] == q and s.reserved[x, 1] < end)
    kept = True
    x = 0
    while matters and kept and x < s.clock[S.RESERVED]:
        kept = s.reserved[x, 0] != q or _lay(s, s.reserved[x])
        x += kept
    for y in range(x):
        if s.reserved[y, 0] == q:
            lift(s, s.reserved[y])
    return kept


@inner
def choose(s, j, q, guarded):  # type: ignore[no-untyped-def]
    """Choose best-fit nodes of a pool for a job that starts now; `guarded`: reservations must keep their seconds."""
    now = s.clock[S.NOW]
    length = S.believe(s, j)
    end = min(now + length, S.NEVER)
    need = s.job[S.NODES, j]
    gpus = s.job[S.GPUS, j]
    most = s.pool[S.POOL_GPUS, q]
    if S.count_free(s, q, gpus) < need:
        return False
    guarded = guarded and s.clock[S.RESERVED] > 0
    planned, amount = demand(s, j, q)
    found = 0  # nodes
    changed = 0  # planned nodes that the plan has given
    for g in range(gpus, most + 1):
        v = s.pool[S.FIRST, q]
        while v < s.pool[S.FIRST, q + 1] and found < need and s.pool[S.COUNT + g, q] > 0:
            fits = s.node[S.FREE, v] == g and not s.node[S.IS_CLOSED, v]
            fits = fits and not (s.clock[S.KNOWN] > 0 and S.is_blocked(s, v, now, now + length))
            if fits and guarded and changed < planned:
                p = s.node[S.PLAN_OF, v]
                change(s, p, now, end, -amount)
                fits = _keep_seconds(s, q, end)
                if not fits:
                    change(s, p, now, end, amount)
                    if s.pool[S.BY_COUNT, q]:
                        return False
                changed += fits
            if fits:
                s.node[S.CHOSEN, found] = v
                found += 1
            v += 1
    for x in range(changed):  # `begin_job` changes the plan again
        change(s, s.node[S.PLAN_OF, s.node[S.CHOSEN, x]], now, end, amount)
    return found == need


@inner
def try_start(s, j, guarded, begins):  # type: ignore[no-untyped-def]
    """Whether the job fits now in some pool; if so, and if it `begins`, it starts in the first one."""
    for q in range(s.rule[S.POOLS]):
        if S.fits_quota(s, j, q) and choose(s, j, q, guarded):
            if begins:
                begin_job(s, j, q)
            return True
    return False
