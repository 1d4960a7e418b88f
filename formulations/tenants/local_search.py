"""The upper end: schedules by ruin and recreate, then by single moves, in integers: the same on any machine.

`rebuild` takes the jobs of a stretch of time out of a few queues, and inserts them one by one where they cost least
(slack induction by string removals, Christiaens and Vanden Berghe 2020). `anneal` moves single jobs, swaps pairs and
exchanges tails. Both accept what costs at most temperature x (-ln u) more.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ratiobench.formulations.kernels import compiled, draw_integer, inlined, inner
from ratiobench.formulations.tenants.tables import Jobs, Queues, Tables, cost_at, put, take
from ratiobench.instances.tenants.model import IntArray

NEVER = 1 << 61
COOLINGS, PIECES = 500, 20  # Temperatures, and the pieces in which they are gone through
HOTTEST = 2**44
_GOLDEN = 0x9E3779B97F4A7C15


class Plan(NamedTuple):
    """(m,) kinds and lengths, (m, n) jobs, ends and costs by place, (n, 2) GPU and place of every job."""

    kind: Any
    length: Any
    queue: Any
    end: Any
    cost: Any
    where: Any


@inlined
def _ready(plan, g, p):  # type: ignore[no-untyped-def]
    return plan.end[g, p - 1] if p > 0 else np.int64(0)


@inner
def _refresh(plan, jobs, g, first):  # type: ignore[no-untyped-def]
    """Ends, costs and places of a queue from a place on; the sum of the costs."""
    t = _ready(plan, g, first)
    k = plan.kind[g]
    total = np.int64(0)
    for p in range(first, plan.length[g]):
        j = plan.queue[g, p]
        t = max(t, jobs.release[j]) + jobs.run[j, k]
        plan.end[g, p] = t
        plan.cost[g, p] = cost_at(jobs, j, k, t)
        plan.where[j, 0] = g
        plan.where[j, 1] = p
        total += plan.cost[g, p]
    return total


@inner
def _tail(plan, jobs, g, p, t, stop):  # type: ignore[no-untyped-def]
    """What a queue costs more from place p on if that may start at t; given up above `stop`."""
    more = np.int64(0)
    k = plan.kind[g]
    for y in range(p, plan.length[g]):
        j = plan.queue[g, y]
        t = max(t, jobs.release[j]) + jobs.run[j, k]
        if t == plan.end[g, y]:
            break
        more += cost_at(jobs, j, k, t) - plan.cost[g, y]
        if more > stop:
            break
    return more


@inner
def _reorder(plan, jobs, a, p, q, swapped, stop):  # type: ignore[no-untyped-def]
    """Two places of a queue swap their jobs, or the job at p goes to q; its extra cost, done up to `stop`."""
    first = min(p, q)
    last = max(p, q)
    t = _ready(plan, a, first)
    k = plan.kind[a]
    more = np.int64(0)
    for y in range(first, last + 1):
        if y == q:
            x = plan.queue[a, p]
        elif swapped:
            x = plan.queue[a, q if y == p else y]
        elif q < p:
            x = plan.queue[a, y - 1]
        else:
            x = plan.queue[a, y + 1]
        t = max(t, jobs.release[x]) + jobs.run[x, k]
        more += cost_at(jobs, x, k, t) - plan.cost[a, y]
    more += _tail(plan, jobs, a, last + 1, t, stop - more if t > plan.end[a, last] else NEVER)
    if more <= stop:
        if swapped:
            plan.queue[a, p], plan.queue[a, q] = plan.queue[a, q], plan.queue[a, p]
        else:
            put(plan, a, q, take(plan, a, p))
        _refresh(plan, jobs, a, first)
    return more


@inner
def _exchange(plan, jobs, a, p, x, b, q, y, stop):  # type: ignore[no-untyped-def]
    """x jobs from place p of queue a and y from place q of queue b change queues; their extra cost, up to `stop`."""
    t = _ready(plan, a, p)
    u = _ready(plan, b, q)
    whole = p + x == plan.length[a] and q + y == plan.length[b]
    more = np.int64(0)
    for i in range(p, p + x):
        more -= plan.cost[a, i]
    for i in range(q, q + y):
        more -= plan.cost[b, i]
    for i in range(q, q + y):
        j = plan.queue[b, i]
        t = max(t, jobs.release[j]) + jobs.run[j, plan.kind[a]]
        more += cost_at(jobs, j, plan.kind[a], t)
    for i in range(p, p + x):
        if whole and more > stop:
            return more
        j = plan.queue[a, i]
        u = max(u, jobs.release[j]) + jobs.run[j, plan.kind[b]]
        more += cost_at(jobs, j, plan.kind[b], u)
    # The queue that gets shorter first: what the other one then costs more can be given up.
    if t > _ready(plan, a, p + x):
        more += _tail(plan, jobs, b, q + y, u, NEVER)
        more += _tail(plan, jobs, a, p + x, t, stop - more)
    else:
        more += _tail(plan, jobs, a, p + x, t, NEVER)
        more += _tail(plan, jobs, b, q + y, u, stop - more if u > _ready(plan, b, q + y) else NEVER)
    if more <= stop:
        for i in range(min(x, y)):
            plan.queue[a, p + i], plan.queue[b, q + i] = plan.queue[b, q + i], plan.queue[a, p + i]
        if x < y:
            _hand_over(plan, b, q + x, y - x, a, p + x)
        else:
            _hand_over(plan, a, p + y, x - y, b, q + y)
        _refresh(plan, jobs, a, p)
        _refresh(plan, jobs, b, q)
    return more


@inner
def _hand_over(plan, a, p, count, b, q):  # type: ignore[no-untyped-def]
    for i in range(plan.length[b] - 1, q - 1, -1):
        plan.queue[b, i + count] = plan.queue[b, i]
    for i in range(count):
        plan.queue[b, q + i] = plan.queue[a, p + i]
    plan.length[a] -= count
    plan.length[b] += count
    for i in range(p, plan.length[a]):
        plan.queue[a, i] = plan.queue[a, i + count]


@inner
def _cut(plan, b, t):  # type: ignore[no-untyped-def]
    q = np.int64(0)
    while q < plan.length[b] and plan.end[b, q] <= t:
        q += 1
    return q


@inner
def _keep(plan, best_length, best_queue):  # type: ignore[no-untyped-def]
    for g in range(len(plan.kind)):
        best_length[g] = plan.length[g]
        for p in range(plan.length[g]):
            best_queue[g, p] = plan.queue[g, p]


@inner
def _begin(plan, jobs, best_length, best_queue):  # type: ignore[no-untyped-def]
    total = np.int64(0)
    for g in range(len(plan.kind)):
        total += _refresh(plan, jobs, g, 0)
    _keep(plan, best_length, best_queue)
    return total


@compiled
def anneal(state, rounds, temperatures, logs, jobs, plan, best_length, best_queue):  # type: ignore[no-untyped-def]
    """Single moves from the plan; the best schedule into `best_*`, its cost."""
    n = len(jobs.release)
    m = len(plan.kind)
    total = _begin(plan, jobs, best_length, best_queue)
    best = total
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
            q = draw_integer(state, plan.length[b] + (a != b))
            if a != b:
                more = _exchange(plan, jobs, a, p, 1, b, q, 0, stop)
            elif q != p:
                more = _reorder(plan, jobs, a, p, q, False, stop)
        elif what < 14:
            i = draw_integer(state, n)
            b = plan.where[i, 0]
            q = plan.where[i, 1]
            if a != b:
                more = _exchange(plan, jobs, a, p, 1, b, q, 1, stop)
            elif q != p:
                more = _reorder(plan, jobs, a, p, q, True, stop)
        else:
            b = draw_integer(state, m)
            if a != b:
                q = min(max(_cut(plan, b, _ready(plan, a, p)) + draw_integer(state, 4) - 1, 0), plan.length[b])
                more = _exchange(plan, jobs, a, p, plan.length[a] - p, b, q, plan.length[b] - q, stop)
        if more <= stop:
            total += more
            if total < best:
                best = total
                _keep(plan, best_length, best_queue)
    return best


@inner
def _ruin(plan, jobs, state, most, out):  # type: ignore[no-untyped-def]
    """Jobs around the start of a random one leave up to four queues; how many."""
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
    """Sort the jobs that left by a random rule."""
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
            more = cost_at(jobs, j, k, t)
            if more >= least:
                break
            if draw_integer(state, 128) == 0:
                continue
            more += _tail(plan, jobs, g, q, t, least - more)
            if more < least:
                least = more
                to = g
                at = q
    put(plan, to, at, j)
    _refresh(plan, jobs, to, at)


@compiled
def rebuild(most, state, rounds, temperatures, logs, jobs, plan, best_length, best_queue):  # type: ignore[no-untyped-def]
    """Ruin and recreate from the plan; the best schedule into `best_*`, its cost."""
    n = len(jobs.release)
    m = len(plan.kind)
    out = np.empty(n, np.int64)
    key = np.empty(n, np.int64)
    length = np.empty(m, np.int64)
    queue = np.empty(plan.queue.shape, np.int64)
    held = _begin(plan, jobs, best_length, best_queue)
    best = held
    each = rounds // len(temperatures) + 1
    warm = temperatures[0]
    for step in range(rounds):
        _keep(plan, length, queue)
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
                _keep(plan, best_length, best_queue)
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
            cost = cost_at(jobs, j, kind[g], end)
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
    """(COOLINGS,) temperatures in geometric progression."""
    warm, cold = (min(max(1, x), HOTTEST) for x in (warm, cold))
    with localcontext() as context:
        context.prec = 30
        ratio = (Decimal(cold) / Decimal(warm)) ** (1 / Decimal(COOLINGS - 1))
        value, found = Decimal(warm), []
        for _ in range(COOLINGS):
            found.append(int(value))
            value *= ratio
    return np.array(found, dtype=np.int64)


class Search:
    def __init__(self, problem: Tables) -> None:
        self.problem = problem
        columns = (problem.release, problem.deadline, problem.weight, problem.run, problem.money)
        self.jobs = Jobs(*columns, np.int64(problem.late))
        self.kind = np.array(problem.instance.gpu_type)
        self.unit = max(1, sum(problem.least.tolist()) // problem.jobs)
        self.shape = (problem.instance.gpus, problem.jobs + 1)

    def build_list_schedule(self, order: IntArray) -> list[list[int]]:
        length, queue = np.zeros(self.shape[0], np.int64), np.zeros(self.shape, np.int64)
        append(order, self.jobs, self.kind, length, queue)
        return _lists(length, queue)

    def cool(
        self,
        kernel: Callable[..., Any],
        queues: Queues,
        seed: int,
        rounds: int,
        warm: float,
        cold: float,
        over: Callable[[], bool] | None = None,
    ) -> list[list[int]]:
        """The best schedule of so many rounds of `rebuild` or `anneal`; temperatures in mean least costs of a job."""
        length = np.array([len(jobs) for jobs in queues], dtype=np.int64)
        queue, end, cost = (np.zeros(self.shape, np.int64) for _ in range(3))
        for g, jobs in enumerate(queues):
            queue[g, : len(jobs)] = jobs
        plan = Plan(self.kind, length, queue, end, cost, np.zeros((self.problem.jobs, 2), np.int64))
        best_length, best_queue = np.zeros_like(length), np.zeros_like(queue)
        state = np.array([(seed + 1) * _GOLDEN % 2**64], dtype=np.uint64)
        temperatures = _cooling(*(int(self.unit * int(x * 2**20)) >> 20 for x in (warm, cold)))
        least, best = NEVER, [list(jobs) for jobs in queues]
        for piece in np.split(temperatures, PIECES):
            count = max(1, rounds // PIECES)
            found = kernel(state, count, piece, _logs(), self.jobs, plan, best_length, best_queue)
            if found < least:
                least, best = int(found), _lists(best_length, best_queue)
            if over is not None and over():
                break
        return best


def _lists(length: IntArray, queue: IntArray) -> list[list[int]]:
    return [row[:size] for row, size in zip(queue.tolist(), length.tolist(), strict=True)]
