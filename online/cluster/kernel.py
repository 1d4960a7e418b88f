"""The replay, compiled: events in whole seconds, then one pass over the waiting jobs."""

from __future__ import annotations

import math

from ratiobench.formulations.kernels import compiled, inner
from ratiobench.online.cluster import plan as P
from ratiobench.online.cluster import state as S
from ratiobench.online.cluster.replan import ROUNDS, replan

FADING = 0.999  # Weight of a job's share of its limit after another one has ended


@inner
def _rank(s, j):  # type: ignore[no-untyped-def]
    """What orders the queue: keys, submit, place in the file."""
    return s.job[S.BAND, j], s.key[j], s.job[S.SUBMIT, j], j


@inner
def _set_key(s, j, used):  # type: ignore[no-untyped-def]
    """Compute the keys of a waiting job; `used`: GPU-seconds of all accounts, decayed."""
    order = s.rule[S.ORDER_RULE]
    if order == 0:
        return
    width = float(s.job[S.NODES, j] * s.job[S.GPUS, j])
    length = S.believe(s, j)
    believed = float(length if length < S.NEVER else s.rule[S.GREATEST])
    wait = float(s.clock[S.NOW] - s.job[S.SUBMIT, j])
    key = believed
    if order == S.SMALLEST:
        key = width
    elif order == S.AREA:
        key = width * believed
    elif order == S.LARGEST:
        key = -width
    elif order == S.WFP3:
        ratio = wait / believed
        key = -(ratio * ratio * ratio * width)
    elif order == S.UNICEP:
        s.job[S.BAND, j] = width > 1.0
        key = -(wait / (believed * math.log2(width))) if width > 1.0 else -(wait / believed)
    elif order == S.F1:
        key = math.log10(believed) * width + 870.0 * math.log10(float(max(1, s.job[S.SUBMIT, j] - s.rule[S.EARLIEST])))
    elif order == S.MULTIFACTOR:
        w = s.real[0]
        age = min(1.0, wait / w[6]) if w[6] > 0.0 else 1.0
        size = width / w[9]
        a = s.job[S.ACCOUNT, j]
        fair = 2.0 ** -(s.real[2, a] / used / s.real[1, a]) if a >= 0 and used > 0.0 else 1.0
        value = w[0] * age + w[1] * (1.0 - size if w[8] > 0.0 else size) + w[2] * fair
        value += w[3] * s.real[3, s.job[S.QOS, j]] + w[4] * s.real[4, s.job[S.PARTITION, j]] + w[5] * s.real[5, a]
        key = -math.floor(value)
    s.key[j] = key


@inner
def _sort_queue(s):  # type: ignore[no-untyped-def]
    """Put the waiting jobs into their order, by insertion: they are nearly in it."""
    used = 0.0
    for a in range(len(s.account)):
        used += s.real[2, a]
    queue = s.job[S.QUEUE]
    for x in range(s.clock[S.WAITING]):
        _set_key(s, queue[x], used)
    for x in range(1, s.clock[S.WAITING]):
        j = queue[x]
        y = x
        while y > 0 and _rank(s, j) < _rank(s, queue[y - 1]):
            queue[y] = queue[y - 1]
            y -= 1
        queue[y] = j


# ---- the pass ----


@inner
def _part_of(s, j):  # type: ignore[no-untyped-def]
    """The part of a job's pools."""
    q = 0
    while not s.job[S.ALLOWED, j] >> q & 1:
        q += 1
    return s.pool[S.PART, q]


@inner
def _find_parts(s):  # type: ignore[no-untyped-def]
    """Part the pools: two are in one part if a waiting job may use both, or if others connect them."""
    pools = s.rule[S.POOLS]
    for q in range(pools):
        s.pool[S.PART, q] = q
        s.pool[S.GIVEN, q] = -1
    for x in range(s.clock[S.WAITING]):
        j = s.job[S.QUEUE, x]
        part = _part_of(s, j)
        for q in range(pools):
            other = s.pool[S.PART, q]
            if s.job[S.ALLOWED, j] >> q & 1 and other != part:
                for r in range(pools):
                    if s.pool[S.PART, r] == max(part, other):
                        s.pool[S.PART, r] = min(part, other)
                part = min(part, other)


@inner
def _trim(s, first, last):  # type: ignore[no-untyped-def]
    """The place behind the last job from `first` on that could start: what stands behind it changes nothing."""
    while last > first and not S.has_room(s, s.job[S.QUEUE, last - 1]):
        last -= 1
    return last


@inner
def _plan_all(s, last):  # type: ignore[no-untyped-def]
    """Conservative: plan the first jobs of the queue one after another, and start those that are planned for now."""
    now = s.clock[S.NOW]
    P.make_plan(s)
    x = 0
    while x < _trim(s, x, last):
        j = s.job[S.QUEUE, x]
        x += 1
        if not S.is_considered(s, x - 1):
            continue
        length = S.believe(s, j)
        at, q = P.find_earliest(s, j, length)
        if q < 0:
            continue
        nodes, gpus = P.demand(s, j, q)
        if at == now and s.pool[S.BY_COUNT, q]:
            if P.choose(s, j, q, False):
                P.begin_job(s, j, q)
        else:
            P.choose_planned(s, q, nodes, gpus, at, length, s.node[S.CHOSEN])
            if at == now:
                for y in range(nodes):
                    s.node[S.CHOSEN, y] += s.pool[S.FIRST, q] - s.pool[S.FIRST_PLAN, q]
                P.begin_job(s, j, q)
            else:
                for y in range(nodes):
                    P.change(s, s.node[S.CHOSEN, y], at, at + length, -gpus)


@inner
def _backfill(s, head, last, most, parts):  # type: ignore[no-untyped-def]
    """EASY: reservations from the first head on, then the candidates behind it, which stand before `last`.

    parts: how many parts have a head and thus reservations to give.
    """
    P.make_plan(s)
    for x in range(head, most):
        j = s.job[S.QUEUE, x]
        s.job[S.HOLDS, j] = 0
        if parts == 0 and x >= last:
            break
        part = _part_of(s, j)
        given = s.pool[S.GIVEN, part]
        waits = s.job[S.START, j] < 0 and 0 <= given < s.rule[S.RESERVATIONS] and S.is_considered(s, x)
        if waits and not P.try_start(s, j, False, False):
            P.reserve(s, j)
            s.pool[S.GIVEN, part] += 1
            parts -= given + 1 == s.rule[S.RESERVATIONS]
    for x in range(s.clock[S.RESERVED]):
        P.shift(s, s.reserved[x], 1)
    s.clock[S.STAMP] += 1
    n = 0
    for x in range(head + 1, last):
        if s.job[S.START, s.job[S.QUEUE, x]] < 0 and S.has_room(s, s.job[S.QUEUE, x]):
            length = S.believe(s, s.job[S.QUEUE, x])
            s.job[S.BELIEF, x] = length if length < S.NEVER else s.rule[S.GREATEST]
            s.job[S.ORDER, n] = x
            n += 1
    if s.rule[S.SHORTEST_FIRST]:
        S.sort_by(s.job[S.ORDER], n, s.job[S.BELIEF])
    for x in range(n):
        j = s.job[S.QUEUE, s.job[S.ORDER, x]]
        if not s.job[S.HOLDS, j] and S.has_room(s, j) and S.is_considered(s, s.job[S.ORDER, x]):
            P.try_start(s, j, True, True)


@inner
def _begin_pass(s):  # type: ignore[no-untyped-def]
    """Forget the plan of the pass before, list the closures that policies know of, and order the waiting jobs."""
    s.clock[S.PLANNED] = 0
    s.clock[S.RESERVED] = 0
    s.clock[S.KNOWN] = 0
    s.clock[S.STAMP] += 1
    for c in range(s.closures.shape[1]):
        if s.closures[3, c] <= s.clock[S.NOW] < s.closures[2, c]:
            s.closures[S.KNOWN_LIST, s.clock[S.KNOWN]] = c
            s.clock[S.KNOWN] += 1
    if s.rule[S.BACKFILL] != S.REPLAN:
        _sort_queue(s)


@inner
def _make_pass(s):  # type: ignore[no-untyped-def]
    backfill = s.rule[S.BACKFILL]
    last = s.clock[S.WAITING]
    if s.rule[S.CYCLE] > 0 and (s.clock[S.NOW] - s.rule[S.BEGIN]) % s.rule[S.CYCLE] != 0:
        backfill = S.NO_BACKFILL
    elif s.rule[S.DEPTH] > 0:
        last = min(last, s.rule[S.DEPTH])
    most = last
    last = _trim(s, 0, last)
    if last == 0:
        return
    if backfill == S.CONSERVATIVE:
        _plan_all(s, last)
    elif backfill == S.REPLAN:
        for _ in range(ROUNDS):
            if replan(s) == 0:
                break
    else:
        head = last
        parts = 0  # that have a head, the first job that does not fit
        _find_parts(s)
        for x in range(last):
            j = s.job[S.QUEUE, x]
            part = _part_of(s, j)
            may_start = s.pool[S.GIVEN, part] < 0 and S.is_considered(s, x)
            if may_start and not P.try_start(s, j, False, True) and backfill != S.FIRST_FIT:
                s.pool[S.GIVEN, part] = 0
                head = min(head, x)
                parts += 1
        if backfill == S.EASY and head < last:
            _backfill(s, head, last, most, parts)
    left = 0
    for x in range(s.clock[S.WAITING]):
        if s.job[S.START, s.job[S.QUEUE, x]] < 0:
            s.job[S.QUEUE, left] = s.job[S.QUEUE, x]
            left += 1
    s.clock[S.WAITING] = left
    s.clock[S.ORDERED] = left


# ---- events ----


@inner
def _fade(s, seconds):  # type: ignore[no-untyped-def]
    """Weight of what was used so many seconds ago, and the weighted GPU-seconds of one GPU since then."""
    half = s.real[0, 7]
    if half == 0.0:
        return 1.0, float(seconds)
    weight = 2.0 ** -(seconds / half)
    return weight, (1.0 - weight) * half / math.log(2.0)


@inner
def _resume(s):  # type: ignore[no-untyped-def]
    """The jobs that run at the beginning hold their nodes, and count in the use of their accounts."""
    for j in range(s.rule[S.JOBS], s.job.shape[1]):
        s.job[S.PLANNED_END, j] = min(s.job[S.START, j] + S.believe(s, j), S.NEVER)
        S.hold(s, j, 1)
        s.job[S.LIVE, s.clock[S.RUNNING]] = j
        s.clock[S.RUNNING] += 1
        if s.job[S.ACCOUNT, j] >= 0:
            grown = _fade(s, s.clock[S.NOW] - s.job[S.START, j])[1]
            s.real[2, s.job[S.ACCOUNT, j]] += s.job[S.NODES, j] * s.job[S.GPUS, j] * grown
    s.clock[S.RESUMED] = 1


@inner
def _find_next(s):  # type: ignore[no-untyped-def]
    """The next event's second; S.NEVER after the last one."""
    now = s.clock[S.NOW]
    at = S.NEVER
    if s.clock[S.RELEASED] < s.rule[S.JOBS]:
        at = s.job[S.RELEASE, s.job[S.ARRIVALS, s.clock[S.RELEASED]]]
    for x in range(s.clock[S.RUNNING]):
        j = s.job[S.LIVE, x]
        at = min(at, s.job[S.START, j] + s.job[S.RUN, j])
        if s.job[S.PLANNED_END, j] > now:
            at = min(at, s.job[S.PLANNED_END, j])
    if s.clock[S.TURNED] < s.closures.shape[1]:
        at = min(at, s.closures[S.TURN, s.clock[S.TURNED]])
    if s.rule[S.CYCLE] > 0 and s.clock[S.WAITING] > 0:
        at = min(at, now + s.rule[S.CYCLE] - (now - s.rule[S.BEGIN]) % s.rule[S.CYCLE])
    return max(at, now)


@inner
def _end_jobs(s):  # type: ignore[no-untyped-def]
    """Ends of this second, in the order of the file; planned ends that have passed are extended."""
    now = s.clock[S.NOW]
    kept = 0
    ended = 0
    for x in range(s.clock[S.RUNNING]):
        j = s.job[S.LIVE, x]
        if s.job[S.START, j] + s.job[S.RUN, j] > now:
            s.job[S.LIVE, kept] = j
            kept += 1
            limit = min(s.job[S.START, j] + s.job[S.LIMIT, j], S.NEVER)
            if s.rule[S.BELIEF_RULE] == S.LAST2:
                while s.job[S.PLANNED_END, j] < min(now + 1, limit) and s.job[S.EXTENDED, j] < len(S.EXTENSIONS):
                    s.job[S.PLANNED_END, j] = min(s.job[S.PLANNED_END, j] + S.EXTENSIONS[s.job[S.EXTENDED, j]], limit)
                    s.job[S.EXTENDED, j] += 1
        else:
            S.hold(s, j, -1)
            s.job[S.ORDER, ended] = j
            ended += 1
    s.clock[S.RUNNING] = kept
    S.sort_by(s.job[S.ORDER], ended, s.job[S.OFFSET])  # offsets grow with the place in the file
    for x in range(ended):
        j = s.job[S.ORDER, x]
        if j < s.rule[S.JOBS] and s.job[S.USER, j] >= 0:
            past = s.past[s.job[S.USER, j]]
            at = 1 + 3 * (past[0] % S.REMEMBERED)
            past[at] = s.job[S.LIMIT, j] if s.job[S.LIMIT, j] < S.NEVER else s.rule[S.GREATEST]
            past[at + 1] = s.job[S.RUN, j]
            past[at + 2] = s.job[S.NODES, j] * s.job[S.GPUS, j]
            past[0] += 1
        if s.job[S.LIMIT, j] < S.NEVER:
            s.real[0, S.RATIO] = FADING * s.real[0, S.RATIO] + min(1.0, s.job[S.RUN, j] / s.job[S.LIMIT, j])
            s.real[0, S.ENDS] = FADING * s.real[0, S.ENDS] + 1.0


@inner
def _turn_nodes(s):  # type: ignore[no-untyped-def]
    """Nodes up, then nodes down: their jobs wait again."""
    while s.clock[S.TURNED] < s.closures.shape[1] and s.closures[S.TURN, s.clock[S.TURNED]] <= s.clock[S.NOW]:
        c = s.clock[S.TURNED]
        s.clock[S.TURNED] += 1
        v = s.closures[0, c]
        closes = s.closures[3, c] < S.NEVER
        running = 0
        for x in range(s.clock[S.RUNNING]):
            j = s.job[S.LIVE, x]
            hit = False
            for y in range(s.job[S.NODES, j]):
                hit = hit or s.place[s.job[S.OFFSET, j] + y] == v
            if closes and hit:
                S.hold(s, j, -1)
                s.job[S.START, j] = -1
                s.job[S.REQUEUED, j] += 1
                s.job[S.QUEUE, s.clock[S.WAITING]] = j
                s.clock[S.WAITING] += 1
            else:
                s.job[S.LIVE, running] = j
                running += 1
        s.clock[S.RUNNING] = running
        s.node[S.IS_CLOSED, v] = closes
        s.pool[S.COUNT + s.node[S.FREE, v], s.node[S.POOL_OF, v]] += -1 if closes else 1


@inner
def _step(s, until):  # type: ignore[no-untyped-def]
    """All events of the next second at which there is one, or of `until` if that is before; whether there was one."""
    if not s.clock[S.RESUMED]:
        _resume(s)
    now = min(_find_next(s), until)
    if now >= S.NEVER:
        return False
    if s.rule[S.ORDER_RULE] == S.MULTIFACTOR:
        decay, grown = _fade(s, now - s.clock[S.NOW])
        for a in range(len(s.account)):
            s.real[2, a] = s.real[2, a] * decay + s.account[a, 2] * grown
    s.clock[S.NOW] = now
    _end_jobs(s)
    _turn_nodes(s)
    while s.clock[S.RELEASED] < s.rule[S.JOBS] and s.job[S.RELEASE, s.job[S.ARRIVALS, s.clock[S.RELEASED]]] <= now:
        s.job[S.QUEUE, s.clock[S.WAITING]] = s.job[S.ARRIVALS, s.clock[S.RELEASED]]
        s.clock[S.WAITING] += 1
        s.clock[S.RELEASED] += 1
    return True


@compiled
def advance(s, until):  # type: ignore[no-untyped-def]
    """Go on to the next pass, or to `until` if some job waits then; False after the last event."""
    while _step(s, until):
        if s.clock[S.WAITING] > 0:
            _begin_pass(s)
            return True
        if s.clock[S.NOW] >= until:
            until = S.NEVER
    return False


@compiled
def can_start(s, place):  # type: ignore[no-untyped-def]
    """Whether the job at this place of the queue may start now, and fits."""
    return S.is_considered(s, place) and P.try_start(s, s.job[S.QUEUE, place], False, False)


@compiled
def start_waiting(s, j, q):  # type: ignore[no-untyped-def]
    """Start a waiting job now on the chosen nodes of a pool, or by best fit if that is -1; whether it could start."""
    place = 0
    while s.job[S.QUEUE, place] != j:
        place += 1
    if not S.is_considered(s, place) or (q >= 0 and not S.fits_quota(s, j, q)):
        return False
    if q >= 0:
        P.begin_job(s, j, q)
    elif not P.try_start(s, j, False, True):
        return False
    s.clock[S.WAITING] -= 1
    for x in range(place, s.clock[S.WAITING]):
        s.job[S.QUEUE, x] = s.job[S.QUEUE, x + 1]
    return True


@compiled
def replay(s):  # type: ignore[no-untyped-def]
    """Replay to the last event; False if the plan needs more room."""
    while not s.clock[S.OVERFLOW] and advance(s, S.NEVER):
        _make_pass(s)
    return not s.clock[S.OVERFLOW]
