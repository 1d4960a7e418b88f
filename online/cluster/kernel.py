"""The replay, compiled: events in whole seconds, then one pass over the waiting jobs."""

from __future__ import annotations

import math

from ratiobench.formulations.kernels import compiled, inner
from ratiobench.online.cluster.plan import (
    begin_job,
    change,
    choose,
    choose_planned,
    count_spare,
    demand,
    find_earliest,
    lift,
    make_plan,
    reserve,
    try_start,
)
from ratiobench.online.cluster.replan import replan
from ratiobench.online.cluster.state import (
    ACCOUNT,
    ACTIVE,
    ACTIVE_LIST,
    AREA,
    ARRIVALS,
    BACKFILL,
    BAND,
    BEGIN,
    BELIEF,
    BELIEF_RULE,
    BY_COUNT,
    CHOSEN,
    CLOSED,
    CONSERVATIVE,
    COUNT,
    CYCLE,
    DEPTH,
    EARLIEST,
    EASY,
    EXTENDED,
    EXTENSIONS,
    F1,
    FIRST,
    FIRST_FIT,
    FIRST_PLAN,
    FREE,
    GPUS,
    GREATEST,
    HOLDS,
    IS_CLOSED,
    JOBS,
    KNOWN,
    KNOWN_LIST,
    LARGEST,
    LAST2,
    LEFT,
    LIMIT,
    LIVE,
    MULTIFACTOR,
    NEVER,
    NO_BACKFILL,
    NODES,
    NOW,
    OFFSET,
    ORDER,
    ORDER_RULE,
    ORDERED,
    OVERFLOW,
    PARTITION,
    PLANNED,
    PLANNED_END,
    POOL_OF,
    QOS,
    QUEUE,
    RELEASE,
    RELEASED,
    REPLAN,
    REQUEUED,
    RESERVATIONS,
    RESERVED,
    RUN,
    RUNNING,
    SHORTEST_FIRST,
    SMALLEST,
    START,
    SUBMIT,
    UNICEP,
    USER,
    WAITING,
    WFP3,
    account_for,
    believe,
    fits_quota,
    has_room,
    is_considered,
    occupy,
)


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
    length = believe(s, j)
    believed = float(length if length < NEVER else s.rule[GREATEST])
    wait = float(s.clock[NOW] - s.job[SUBMIT, j])
    key = believed
    if order == SMALLEST:
        key = width
    elif order == AREA:
        key = width * believed
    elif order == LARGEST:
        key = -width
    elif order == WFP3:
        ratio = wait / believed
        key = -(ratio * ratio * ratio * width)
    elif order == UNICEP:
        s.job[BAND, j] = width > 1.0
        key = -(wait / (believed * math.log2(width))) if width > 1.0 else -(wait / believed)
    elif order == F1:
        key = math.log10(believed) * width + 870.0 * math.log10(float(max(1, s.job[SUBMIT, j] - s.rule[EARLIEST])))
    elif order == MULTIFACTOR:
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
    make_plan(s)
    for x in range(last):
        j = s.job[QUEUE, x]
        if not is_considered(s, x):
            continue
        length = believe(s, j)
        at, q = find_earliest(s, j, length)
        if q < 0:
            continue
        nodes, gpus = demand(s, j, q)
        if at == now and s.pool[BY_COUNT, q]:
            if choose(s, j, q, False):
                begin_job(s, j, q)
            continue
        choose_planned(s, q, nodes, at, s.node[CHOSEN])
        if at == now:
            for y in range(nodes):
                s.node[CHOSEN, y] += s.pool[FIRST, q] - s.pool[FIRST_PLAN, q]
            begin_job(s, j, q)
            continue
        for y in range(nodes):
            change(s, s.node[CHOSEN, y], at, at + length, -gpus)


@inner
def _backfill(s, head, last, most):  # type: ignore[no-untyped-def]
    """EASY: reservations from the head of the queue on, then the candidates behind it, which stand before `last`."""
    make_plan(s)
    s.clock[RESERVED] = 0
    given = 0
    for x in range(head, most):
        j = s.job[QUEUE, x]
        s.job[HOLDS, j] = 0
        if given == s.rule[RESERVATIONS] and x >= last:
            break
        if given < s.rule[RESERVATIONS] and is_considered(s, x) and not try_start(s, j, False, False):
            reserve(s, j)
            given += 1
    for x in range(s.clock[RESERVED]):
        lift(s, x)
    if s.clock[RESERVED] == 1:
        s.clock[LEFT] = count_spare(s)
    n = last - head - 1
    for x in range(n):
        s.job[ORDER, x] = head + 1 + x
    if s.rule[SHORTEST_FIRST]:  # shortest belief first
        for x in range(n):
            length = believe(s, s.job[QUEUE, head + 1 + x])
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
        if not s.job[HOLDS, j] and has_room(s, j) and is_considered(s, s.job[ORDER, x]):
            try_start(s, j, True, True)


@inner
def make_pass(s):  # type: ignore[no-untyped-def]
    """One pass over the waiting jobs by the rule."""
    s.clock[PLANNED] = 0
    _find_known(s)
    backfill = s.rule[BACKFILL]
    if backfill != REPLAN:
        _sort_queue(s)
    last = s.clock[WAITING]
    if s.rule[CYCLE] > 0 and (s.clock[NOW] - s.rule[BEGIN]) % s.rule[CYCLE] != 0:
        backfill = NO_BACKFILL
    elif s.rule[DEPTH] > 0:
        last = min(last, s.rule[DEPTH])
    most = last
    while last > 0 and not has_room(s, s.job[QUEUE, last - 1]):
        last -= 1  # what stands behind the last job that could start changes nothing
    if backfill == CONSERVATIVE:
        if last > 0:
            _plan_all(s, last)
    elif backfill == REPLAN:
        if last > 0:
            replan(s)
    else:
        head = 0
        while head < last:
            if is_considered(s, head) and not try_start(s, s.job[QUEUE, head], False, True) and backfill != FIRST_FIT:
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
    s.clock[ORDERED] = left


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
        occupy(s, j, s.place[s.job[OFFSET, j] + x], -1)
    account_for(s, j, -1)


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
            if s.rule[BELIEF_RULE] == LAST2:
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
    if s.rule[ORDER_RULE] == MULTIFACTOR:
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
    if not is_considered(s, place):
        return False
    if q < 0:
        if not try_start(s, j, False, True):
            return False
    elif fits_quota(s, j, q):
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
