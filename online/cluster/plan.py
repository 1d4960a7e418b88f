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
def split(table, size, step, at):  # type: ignore[no-untyped-def]
    """Begin a step at a second in, or at the end of, the step before `step`; return how many steps there are."""
    if step < size and table[0, step] == at:
        return size
    for g in range(table.shape[0]):
        for y in range(size, step, -1):
            table[g, y] = table[g, y - 1]
        table[g, step] = table[g, step - 1]
    table[0, step] = at
    return size + 1


@inner
def find_fit(table, size, start, length, row, need, before):  # type: ignore[no-untyped-def]
    """The step and second, before a given one, from which a row of a table is at least `need` for a length."""
    x = find_last(table[0], size, start)
    first = x
    while x < size and start < before and table[0, x] < start + length:
        if table[row, x] < need:
            first = x + 1
            start = table[0, first] if first < size else S.NEVER
        x += 1
    return first, start


@inner
def _begin_step(s, p, t):  # type: ignore[no-untyped-def]
    """Let a step of a planned node begin at a second; return its number."""
    n = s.node[S.STEPS, p]
    if t >= S.NEVER:
        return n
    x = find_last(s.step[p, 0], n, t)
    if s.step[p, 0, x] < t:
        x += 1
        s.node[S.STEPS, p] = split(s.step[p], n, x, t)
    return x


@inner
def _join_step(s, p, x):  # type: ignore[no-untyped-def]
    """Join a step of a planned node with the one before it if they are equal."""
    n = s.node[S.STEPS, p]
    if 0 < x < n and s.step[p, 1, x] == s.step[p, 1, x - 1]:
        for y in range(x, n - 1):
            s.step[p, 0, y] = s.step[p, 0, y + 1]
            s.step[p, 1, y] = s.step[p, 1, y + 1]
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
        s.step[p, 1, x] += amount
    _join_step(s, p, last)
    _join_step(s, p, first)


@inner
def find_in_pool(s, q, nodes, gpus, at, length):  # type: ignore[no-untyped-def]
    """Earliest second from `at` on at which a pool has the nodes by plan."""
    first = s.pool[S.FIRST_PLAN, q]
    count = s.pool[S.FIRST_PLAN, q + 1] - first
    for x in range(count):
        s.node[S.FIT, x] = -1
    while at < S.NEVER:
        fitting = 0
        following = S.NEVER
        for x in range(count):
            if s.node[S.FIT, x] < at:
                steps = s.node[S.STEPS, first + x]
                s.node[S.FIT, x] = find_fit(s.step[first + x], steps, at, length, 1, gpus, S.NEVER)[1]
            if s.node[S.FIT, x] == at:
                fitting += 1
            else:
                following = min(following, s.node[S.FIT, x])
        if fitting >= nodes:
            break
        at = following
    return at


@inner
def choose_planned(s, q, nodes, gpus, at, length, chosen):  # type: ignore[no-untyped-def]
    """Write the best-fit planned nodes of a pool for a job at this second; whether enough of them fit by plan."""
    first = s.pool[S.FIRST_PLAN, q]
    count = s.pool[S.FIRST_PLAN, q + 1] - first
    fitting = 0
    for x in range(count):
        table = s.step[first + x]
        step, start = find_fit(table, s.node[S.STEPS, first + x], at, length, 1, gpus, at + 1)
        s.node[S.FIT, x] = table[1, step] if start == at else 0
        fitting += start == at
    found = 0
    level = gpus
    while fitting >= nodes > found:
        following = S.NEVER
        for x in range(count):
            if s.node[S.FIT, x] > level:
                following = min(following, s.node[S.FIT, x])
            elif s.node[S.FIT, x] == level and found < nodes:
                chosen[found] = first + x
                found += 1
        level = following
    return fitting >= nodes


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
        s.step[p, 0, 0] = now
        s.step[p, 1, 0] = 0
    for v in range(s.pool[S.FIRST, s.rule[S.POOLS]]):
        s.step[s.node[S.PLAN_OF, v], 1, 0] += s.node[S.FREE, v]
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
def recall(s, j, q, length):  # type: ignore[no-untyped-def]
    """The slot of State.memo of jobs of this shape and length in a pool; its SECOND is now if nothing is known."""
    key = q, s.job[S.NODES, j], s.job[S.GPUS, j], length, s.clock[S.STAMP]
    slot = (((key[0] * 31 + key[1]) * 31 + key[2]) * 31 + length) % len(s.memo)
    for x in range(len(key)):
        if s.memo[slot, x] != key[x]:
            s.memo[slot, x] = key[x]
            s.memo[slot, S.SECOND] = s.clock[S.NOW]
    return slot


@inner
def find_earliest(s, j, length):  # type: ignore[no-untyped-def]
    """Earliest second and pool for a job by plan; NEVER and -1 if there is none."""
    best = S.NEVER
    pool = -1
    for q in range(s.rule[S.POOLS]):
        if S.fits_quota(s, j, q):
            known = s.memo[recall(s, j, q, length)]
            if known[S.SECOND] < best:
                nodes, gpus = demand(s, j, q)
                known[S.SECOND] = find_in_pool(s, q, nodes, gpus, known[S.SECOND], length)
            if known[S.SECOND] < best:
                best = known[S.SECOND]
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
        _choose_reserved(s, row)
        shift(s, row, -1)
        s.clock[S.RESERVED] += 1


@inner
def _choose_reserved(s, row):  # type: ignore[no-untyped-def]
    """Choose best-fit nodes of the plan for a reservation; whether it fits at its second."""
    return choose_planned(s, row[0], row[3], row[4], row[1], row[2], row[5:])


@inner
def shift(s, row, sign):  # type: ignore[no-untyped-def]
    """Put a reservation on its nodes of the plan (sign -1), or take it off (1)."""
    for y in range(row[3]):
        change(s, row[5 + y], row[1], row[1] + row[2], sign * row[4])


@inner
def _keep_seconds(s, q, end):  # type: ignore[no-untyped-def]
    """Whether the reservations of a pool, laid anew one after another, fit at their seconds; `end`: of what is new."""
    last = -1
    matters = False
    for x in range(s.clock[S.RESERVED]):
        if s.reserved[x, 0] == q:
            last = x
            matters = matters or s.reserved[x, 1] < end
    x = 0
    while matters and x <= last and (s.reserved[x, 0] != q or _choose_reserved(s, s.reserved[x])):
        if s.reserved[x, 0] == q and x < last:
            shift(s, s.reserved[x], -1)
        x += 1
    for y in range(min(x, last)):
        if s.reserved[y, 0] == q:
            shift(s, s.reserved[y], 1)
    return not matters or x > last


@inner
def choose(s, j, q, guarded):  # type: ignore[no-untyped-def]
    """Choose best-fit nodes of a pool for a job that starts now; `guarded`: reservations must keep their seconds."""
    now = s.clock[S.NOW]
    length = S.believe(s, j)
    end = min(now + length, S.NEVER)
    need = s.job[S.NODES, j]
    gpus = s.job[S.GPUS, j]
    most = s.pool[S.POOL_GPUS, q]
    known = s.memo[recall(s, j, q, length)]
    if S.count_free(s, q, gpus) < need or known[S.SECOND] > now:
        return False
    guarded = guarded and s.clock[S.RESERVED] > 0
    planned, amount = demand(s, j, q)
    found = 0  # nodes
    changed = 0  # planned nodes that the plan has given
    for g in range(gpus, most + 1):
        v = s.pool[S.FIRST, q]
        while v < s.pool[S.FIRST, q + 1] and found < need and s.pool[S.COUNT + g, q] > 0:
            fits = s.node[S.FREE, v] == g and not s.node[S.IS_CLOSED, v] and not S.is_blocked(s, v, now, now + length)
            if fits and guarded and changed < planned:
                p = s.node[S.PLAN_OF, v]
                change(s, p, now, end, -amount)
                fits = _keep_seconds(s, q, end)
                if not fits:
                    change(s, p, now, end, amount)
                    if s.pool[S.BY_COUNT, q]:
                        known[S.SECOND] = now + 1
                        return False
                changed += fits
            if fits:
                s.node[S.CHOSEN, found] = v
                found += 1
            v += 1
    for x in range(changed):  # `begin_job` changes the plan again
        change(s, s.node[S.PLAN_OF, s.node[S.CHOSEN, x]], now, end, amount)
    if found < need:
        known[S.SECOND] = now + 1
    return found == need


@inner
def try_start(s, j, guarded, begins):  # type: ignore[no-untyped-def]
    """Whether the job fits now in some pool; if so, and if it `begins`, it starts in the first one."""
    for q in range(s.rule[S.POOLS]):
        if S.fits_quota(s, j, q) and choose(s, j, q, guarded):
            if begins:
                begin_job(s, j, q)
                s.clock[S.STAMP] += 1
            return True
    return False
