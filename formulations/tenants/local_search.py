"""The upper end: schedules by ruin and recreate, then by single moves; worse ones are accepted while it is warm.

`rebuild` takes the jobs of a stretch of time out of a few queues, and inserts them again one by one where they cost
least, in an order of several (slack induction by string removals, Christiaens and Vanden Berghe 2020). `anneal` moves
single jobs, swaps pairs and exchanges the tails of two queues, some million times a second. Both accept what costs at
most temperature x (-ln u) more. All arithmetic is on integers: the same schedules on any machine.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ratiobench.formulations.draws import draw_integer
from ratiobench.formulations.kernels import compiled, inlined, inner
from ratiobench.formulations.tenants.tables import Queues, Tables
from ratiobench.instances.tenants.model import IntArray

NEVER = 1 << 61
COOLINGS, PIECES = 500, 20  # Temperatures, and the pieces in which they are gone through
HOTTEST = 2**44
_GOLDEN = 0x9E3779B97F4A7C15


class Jobs(NamedTuple):
    """The tables as kernels take them."""

    release: Any
    deadline: Any
    weight: Any
    run: Any
    money: Any
    late: Any


class Plan(NamedTuple):
    """A schedule: (m,) kinds and lengths, (m, n) jobs, ends and costs by place, (n, 2) GPU and place of every job."""

    kind: Any
    length: Any
    queue: Any
    end: Any
    cost: Any
    where: Any


@inlined
def _cost(jobs, j, k, end):  # type: ignore[no-untyped-def]
    return jobs.late * max(0, end - jobs.deadline[j]) + jobs.weight[j] * (end - jobs.release[j]) + jobs.money[j, k]


@inlined
def _ready(plan, g, p):  # type: ignore[no-untyped-def]
    """When the queue's place p may start."""
    return plan.end[g, p - 1] if p > 0 else np.int64(0)


@inner
def _refresh(plan, jobs, g, first):  # type: ignore[no-untyped-def]
    """Ends and costs of a queue from a place on, and where its jobs stand; the sum of the costs."""
    t = _ready(plan, g, first)
    k = plan.kind[g]
    total = np.int64(0)
    for p in range(first, plan.length[g]):
        j = plan.queue[g, p]
        t = max(t, jobs.release[j]) + jobs.run[j, k]
        plan.end[g, p] = t
        plan.cost[g, p] = _cost(jobs, j, k, t)
        plan.where[j, 0] = g
        plan.where[j, 1] = p
        total += plan.cost[g, p]
    return total


@inner
def _tail(plan, jobs, g, p, t, stop):  # type: ignore[no-untyped-def]
    """What a queue costs more from place p on when that may start at t; given up above `stop`."""
    more = np.int64(0)
    k = plan.kind[g]
    for y in range(p, plan.length[g]):
        j = plan.queue[g, y]
        t = max(t, jobs.release[j]) + jobs.run[j, k]
        if t == plan.end[g, y]:
            break
        more += _cost(jobs, j, k, t) - plan.cost[g, y]
        if more > stop:
            break
    return more


@inner
def _put(plan, g, p, j):  # type: ignore[no-untyped-def]
    for y in range(plan.length[g], p, -1):
        plan.queue[g, y] = plan.queue[g, y - 1]
    plan.queue[g, p] = j
    plan.length[g] += 1


@inner
def _take(plan, g, p):  # type: ignore[no-untyped-def]
    plan.length[g] -= 1
    for y in range(p, plan.length[g]):
        plan.queue[g, y] = plan.queue[g, y + 1]


@inner
def _shift(plan, jobs, a, p, q, stop):  # type: ignore[no-untyped-def]
    """The job at place p of a queue goes to place q of it, if that costs at most `stop` more; what it costs more."""
    j = plan.queue[a, p]
    first = min(p, q)
    last = max(p, q)
    t = _ready(plan, a, first)
    k = plan.kind[a]
    more = np.int64(0)
    for y in range(first, last + 1):
        if y == q:
            x = j
        elif q < p:
            x = plan.queue[a, y - 1]
        else:
            x = plan.queue[a, y + 1]
        t = max(t, jobs.release[x]) + jobs.run[x, k]
        more += _cost(jobs, x, k, t) - plan.cost[a, y]
    more += _tail(plan, jobs, a, last + 1, t, stop - more if t > plan.end[a, last] else NEVER)
    if more <= stop:
        _take(plan, a, p)
        _put(plan, a, q, j)
        _refresh(plan, jobs, a, first)
    return more


@inner
def _move(plan, jobs, a, p, b, q, stop):  # type: ignore[no-untyped-def]
    """The job at place p of queue a goes to place q of queue b."""
    j = plan.queue[a, p]
    more = _tail(plan, jobs, a, p + 1, _ready(plan, a, p), NEVER) - plan.cost[a, p]
    t = max(_ready(plan, b, q), jobs.release[j]) + jobs.run[j, plan.kind[b]]
    more += _cost(jobs, j, plan.kind[b], t)
    if more <= stop:
        more += _tail(plan, jobs, b, q, t, stop - more)
    if more <= stop:
        _take(plan, a, p)
        _put(plan, b, q, j)
        _refresh(plan, jobs, a, p)
        _refresh(plan, jobs, b, q)
    return more


@inner
def _swap(plan, jobs, a, p, b, q, stop):  # type: ignore[no-untyped-def]
    i = plan.queue[a, p]
    j = plan.queue[b, q]
    t = max(_ready(plan, a, p), jobs.release[j]) + jobs.run[j, plan.kind[a]]
    more = _cost(jobs, j, plan.kind[a], t) - plan.cost[a, p]
    if a == b:
        for y in range(p + 1, q + 1):
            x = i if y == q else plan.queue[a, y]
            t = max(t, jobs.release[x]) + jobs.run[x, plan.kind[a]]
            more += _cost(jobs, x, plan.kind[a], t) - plan.cost[a, y]
        more += _tail(plan, jobs, a, q + 1, t, stop - more if t > plan.end[a, q] else NEVER)
    else:
        u = max(_ready(plan, b, q), jobs.release[i]) + jobs.run[i, plan.kind[b]]
        more += _cost(jobs, i, plan.kind[b], u) - plan.cost[b, q]
        # The queue that gets shorter first: what the other one then costs more can be given up.
        if t > plan.end[a, p]:
            more += _tail(plan, jobs, b, q + 1, u, NEVER)
            more += _tail(plan, jobs, a, p + 1, t, stop - more)
        else:
            more += _tail(plan, jobs, a, p + 1, t, NEVER)
            more += _tail(plan, jobs, b, q + 1, u, stop - more if u > plan.end[b, q] else NEVER)
    if more <= stop:
        plan.queue[a, p] = j
        plan.queue[b, q] = i
        _refresh(plan, jobs, a, p)
        if a != b:
            _refresh(plan, jobs, b, q)
    return more


@inner
def _cross(plan, jobs, a, p, b, q, stop):  # type: ignore[no-untyped-def]
    """What stands from place p on in queue a and from place q on in queue b changes queues."""
    t = _ready(plan, a, p)
    u = _ready(plan, b, q)
    more = np.int64(0)
    for y in range(p, plan.length[a]):
        more -= plan.cost[a, y]
    for y in range(q, plan.length[b]):
        more -= plan.cost[b, y]
    for y in range(p, plan.length[a]):
        x = plan.queue[a, y]
        u = max(u, jobs.release[x]) + jobs.run[x, plan.kind[b]]
        more += _cost(jobs, x, plan.kind[b], u)
    for y in range(q, plan.length[b]):
        if more > stop:
            return more
        x = plan.queue[b, y]
        t = max(t, jobs.release[x]) + jobs.run[x, plan.kind[a]]
        more += _cost(jobs, x, plan.kind[a], t)
    if more <= stop:
        one = plan.length[a] - p
        other = plan.length[b] - q
        for y in range(max(one, other)):
            x = plan.queue[a, p + y]
            if y < other:
                plan.queue[a, p + y] = plan.queue[b, q + y]
            if y < one:
                plan.queue[b, q + y] = x
        plan.length[a] = p + other
        plan.length[b] = q + one
        _refresh(plan, jobs, a, p)
        _refresh(plan, jobs, b, q)
    return more


@inner
def _cut(plan, b, t):  # type: ignore[no-untyped-def]
    """The first place of a queue that starts at t or later."""
    q = np.int64(0)
    while q < plan.length[b] and plan.end[b, q] <= t:
        q += 1
    return q


@compiled
def anneal(state, rounds, temperatures, logs, jobs, plan, best_length, best_queue):  # type: ignore[no-untyped-def]
    """Single moves from the plan; the best schedule into `best_*`, its cost."""
    n = len(jobs.release)
    m = len(plan.kind)
    total = np.int64(0)
    for g in range(m):
        total += _refresh(plan, jobs, g, 0)
    best = total
    best_length[:] = plan.length
    best_queue[:, :] = plan.queue
    each = rounds // len(temperatures) + 1
    warm = temperatures[0]
    for step in range(rounds):
        if step % each == 0:
            warm = temperatures[step // each]
        stop = (warm * logs[draw_integer(state, len(logs))]) >> 10
        j = draw_integer(state, n)
        a = plan.where[j, 0]
        p = plan.where[j, 1]
        what = draw_integer(state, 16)
        more = np.int64(NEVER)
        if what < 8:
            b = draw_integer(state, m)
            if a != b:
                more = _move(plan, jobs, a, p, b, draw_integer(state, plan.length[b] + 1), stop)
            else:
                q = draw_integer(state, plan.length[a])
                if q != p:
                    more = _shift(plan, jobs, a, p, q, stop)
        elif what < 14:
            i = draw_integer(state, n)
            b = plan.where[i, 0]
            q = plan.where[i, 1]
            if a != b or p < q:
                more = _swap(plan, jobs, a, p, b, q, stop)
            elif q < p:
                more = _swap(plan, jobs, b, q, a, p, stop)
        else:
            b = draw_integer(state, m)
            if a != b:
                q = min(max(_cut(plan, b, _ready(plan, a, p)) + draw_integer(state, 4) - 1, 0), plan.length[b])
                more = _cross(plan, jobs, a, p, b, q, stop)
        if more <= stop:
            total += more
            if total < best:
                best = total
                best_length[:] = plan.length
                best_queue[:, :] = plan.queue
    return best


@inner
def _ruin(plan, jobs, state, most, out):  # type: ignore[no-untyped-def]
    """Jobs around the start of a random one leave up to four queues, all in a row or some; how many left."""
    n = len(jobs.release)
    m = len(plan.kind)
    j = draw_integer(state, n)
    a = plan.where[j, 0]
    begin = plan.end[a, plan.where[j, 1]] - jobs.run[j, plan.kind[a]]
    want = 1 + draw_integer(state, most)
    share = min(1 + draw_integer(state, m), 4)
    gone = 0
    for part in range(share):
        g = a if part == 0 else draw_integer(state, m)
        size = min(max(1, want // share), plan.length[g])
        if size == 0:
            continue
        low = min(
            max(0, min(_cut(plan, g, begin), plan.length[g] - 1) - draw_integer(state, size)), plan.length[g] - size
        )
        gaps = draw_integer(state, 4) == 0
        result = low
        for q in range(low, plan.length[g]):
            x = plan.queue[g, q]
            if size > 0 and not (gaps and draw_integer(state, 4) == 0):
                out[gone] = x
                gone += 1
                size -= 1
            else:
                plan.queue[g, result] = x
                result += 1
        plan.length[g] = result
        _refresh(plan, jobs, g, low)
    return gone


@inner
def _arrange(jobs, state, out, gone, key):  # type: ignore[no-untyped-def]
    """Sort the jobs that left by a random rule: drawn, long first, short first, release, deadline, earliest end."""
    rule = draw_integer(state, 8)
    for i in range(gone):
        x = out[i]
        if rule < 2:
            key[i] = 0
        elif rule < 4:
            key[i] = -jobs.run[x, 0]
        elif rule < 5:
            key[i] = jobs.run[x, 0]
        elif rule < 6:
            key[i] = jobs.release[x]
        elif rule < 7:
            key[i] = min(jobs.deadline[x], np.int64(1) << 50)
        else:
            key[i] = jobs.release[x] + jobs.run[x, 0]
        key[i] = key[i] * 1024 + draw_integer(state, 1024)
        y = i
        while y > 0 and key[y - 1] > key[y]:
            key[y - 1], key[y] = key[y], key[y - 1]
            out[y - 1], out[y] = out[y], out[y - 1]
            y -= 1


@inner
def _insert(plan, jobs, state, j):  # type: ignore[no-untyped-def]
    """The job goes where it costs least; each place is overlooked once in 128 times."""
    least = np.int64(NEVER)
    to = draw_integer(state, len(plan.kind))
    at = plan.length[to]
    for g in range(len(plan.kind)):
        k = plan.kind[g]
        for q in range(plan.length[g] + 1):
            t = max(_ready(plan, g, q), jobs.release[j]) + jobs.run[j, k]
            more = _cost(jobs, j, k, t)
            if more >= least:
                break
            if draw_integer(state, 128) == 0:
                continue
            more += _tail(plan, jobs, g, q, t, least - more)
            if more < least:
                least = more
                to = g
                at = q
    _put(plan, to, at, j)
    _refresh(plan, jobs, to, at)


@compiled
def rebuild(state, rounds, most, temperatures, logs, jobs, plan, best_length, best_queue):  # type: ignore[no-untyped-def]
    """Ruin and recreate from the plan; the best schedule into `best_*`, its cost."""
    n = len(jobs.release)
    m = len(plan.kind)
    out = np.empty(n, np.int64)
    key = np.empty(n, np.int64)
    length = np.empty(m, np.int64)
    queue = np.empty(plan.queue.shape, np.int64)
    held = np.int64(0)
    for g in range(m):
        held += _refresh(plan, jobs, g, 0)
    best = held
    best_length[:] = plan.length
    best_queue[:, :] = plan.queue
    each = rounds // len(temperatures) + 1
    warm = temperatures[0]
    for step in range(rounds):
        for g in range(m):
            length[g] = plan.length[g]
            for p in range(length[g]):
                queue[g, p] = plan.queue[g, p]
        gone = _ruin(plan, jobs, state, most, out)
        _arrange(jobs, state, out, gone, key)
        for i in range(gone):
            _insert(plan, jobs, state, out[i])
        total = np.int64(0)
        for g in range(m):
            for p in range(plan.length[g]):
                total += plan.cost[g, p]
        if step % each == 0:
            warm = temperatures[step // each]
        if total <= held + ((warm * logs[draw_integer(state, len(logs))]) >> 10):
            held = total
            if total < best:
                best = total
                best_length[:] = plan.length
                best_queue[:, :] = plan.queue
        else:
            for g in range(m):
                plan.length[g] = length[g]
                for p in range(length[g]):
                    plan.queue[g, p] = queue[g, p]
                _refresh(plan, jobs, g, 0)
    return best


@compiled
def append(order, jobs, kind, length, queue):  # type: ignore[no-untyped-def]
    """A list schedule: each job in the order on the tail where it costs least; of equals, on the first."""
    free = np.zeros(len(kind), np.int64)
    length[:] = 0
    for j in order:
        least = np.int64(NEVER)
        to = 0
        until = np.int64(0)
        for g in range(len(kind)):
            end = max(free[g], jobs.release[j]) + jobs.run[j, kind[g]]
            cost = _cost(jobs, j, kind[g], end)
            if cost < least:
                least = cost
                to = g
                until = end
        free[to] = until
        queue[to, length[to]] = j
        length[to] += 1


@lru_cache(maxsize=1)
def _logs() -> IntArray:
    """(1024,) -ln of the middles of 1024 equal parts of 0..1, in 1/1024."""
    with localcontext() as context:
        context.prec = 30
        return np.array([int(-1024 * (Decimal(2 * i + 1) / 2048).ln()) for i in range(1024)], dtype=np.int64)


def _cooling(warm: int, cold: int) -> IntArray:
    """(COOLINGS,) temperatures from warm to cold, each in the same ratio to the one before."""
    warm, cold = (min(max(1, x), HOTTEST) for x in (warm, cold))
    with localcontext() as context:
        context.prec = 30
        ratio = (Decimal(cold) / Decimal(warm)) ** (1 / Decimal(COOLINGS - 1))
        value, found = Decimal(warm), []
        for _ in range(COOLINGS):
            found.append(int(value))
            value *= ratio
    return np.array(found, dtype=np.int64)


Stop = Callable[[], bool]


def never_over() -> bool:
    """No time limit."""
    return False


class Search:
    """Local search on one problem."""

    def __init__(self, problem: Tables) -> None:
        self.problem = problem
        names = ("release", "deadline", "weight", "run", "money")
        columns = [np.array(getattr(problem, name)) for name in names]
        self.jobs = Jobs._make([*columns, np.int64(problem.late)])
        self.kind = np.array(problem.instance.gpu_type)
        self.unit = max(1, sum(problem.least.tolist()) // problem.jobs)
        self.shape = (problem.instance.gpus, problem.jobs + 1)

    def build_list_schedule(self, order: IntArray) -> list[list[int]]:
        """The list schedule of an order of all jobs."""
        length, queue = np.zeros(self.shape[0], np.int64), np.zeros(self.shape, np.int64)
        append(order, self.jobs, self.kind, length, queue)
        return _lists(length, queue)

    def rebuild_schedule(
        self, queues: Queues, seed: int, rounds: int, most: int, warm: float, cold: float, over: Stop = never_over
    ) -> list[list[int]]:
        """The best schedule of so many rounds of ruin and recreate; temperatures in mean least costs of a job.

        `over` is asked now and then, whether to stop.
        """
        return self._cooled(queues, seed, rounds, warm, cold, over, most)

    def anneal_schedule(
        self, queues: Queues, seed: int, rounds: int, warm: float, cold: float, over: Stop = never_over
    ) -> list[list[int]]:
        """The best schedule of so many single moves."""
        return self._cooled(queues, seed, rounds, warm, cold, over, None)

    def _cooled(
        self, queues: Queues, seed: int, rounds: int, warm: float, cold: float, over: Stop, most: int | None
    ) -> list[list[int]]:
        """In pieces, from one to the next with the schedule as it stands."""
        plan, length, queue = self._plan(queues)
        state = np.array([(seed + 1) * _GOLDEN % 2**64], dtype=np.uint64)
        temperatures, least, best = self._cooling(warm, cold), NEVER, [list(jobs) for jobs in queues]
        for piece in np.split(temperatures, PIECES):
            shared = (piece, _logs(), self.jobs, plan, length, queue)
            count = max(1, rounds // PIECES)
            found = anneal(state, count, *shared) if most is None else rebuild(state, count, most, *shared)
            if found < least:
                least, best = int(found), _lists(length, queue)
            if over():
                break
        return best

    def _cooling(self, warm: float, cold: float) -> IntArray:
        return _cooling(*(int(self.unit * int(x * 2**20)) >> 20 for x in (warm, cold)))

    def _plan(self, queues: Queues) -> tuple[Plan, IntArray, IntArray]:
        length = np.array([len(jobs) for jobs in queues], dtype=np.int64)
        tables = [np.zeros(self.shape, np.int64) for _ in range(3)]
        plan = Plan._make([self.kind, length, *tables, np.zeros((self.problem.jobs, 2), np.int64)])
        for g, jobs in enumerate(queues):
            plan.queue[g, : len(jobs)] = jobs
        return plan, np.zeros_like(plan.length), np.zeros_like(plan.queue)


def _lists(length: IntArray, queue: IntArray) -> list[list[int]]:
    return [row[:size] for row, size in zip(queue.tolist(), length.tolist(), strict=True)]
