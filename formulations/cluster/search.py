"""The upper end of OPT: schedules decoded from orders of jobs, then improved window by window.

A decoder starts each job of an order at its earliest feasible second, on best-fit nodes of the pool where it starts
first. Where a pool is one slot (`tables`), nodes are given to its jobs at the end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import cycle, product
from typing import Any, NamedTuple

import numpy as np

from ratiobench.formulations.cluster.tables import FloatArray, Problem
from ratiobench.formulations.kernels import compiled, copy_list, draw_integer, inlined, inner
from ratiobench.instances.arrays import IntArray
from ratiobench.instances.cluster.model import Schedule
from ratiobench.instances.io.seeds import Stream

PAST = -(2**60)  # Before every second
HEAT = 3e-3  # First temperature of a window in parts of its cost; it falls to 0
SIZES, HEATS = 4, (0.3, 1.0, 3.0)  # How often windows are halved at random, and their heats
COLD = (0.003, 0.01, 0.03)  # Further heats of windows that two threads search side by side
TURN, TURN_ROUNDS = 10, 3_000  # Windows of each before the schedule is halved anew, and how often one is decoded
REACH = 0.15  # Mean distance of a move in parts of the window's jobs
MOVES = 13  # Of so many 8 shift a job, 2 swap two jobs, the others part a stretch of the order by length or width
# Of orders: seconds of a unit of b and c; first steps of a, b, c, what becomes of them in a turn, and turns
HOUR, FACTOR_STEPS, SHRINK, TURNS = 3_600, (0.5, 2.0, 2.0), 0.6, 3
STRETCH, FEW = 0.1, 2  # Longest stretch of shifted keys in parts of all releases; about how many are shifted further
MOST_COPIED, LEAST_TRIALS = 3 * 10**8, 100  # Cells of the profiles of a window's trials, so that it ends in seconds
MARKS = 8  # Places of an order from which trials are decoded


@inner
def _earliest(times, free, after, a, slots, release, run, number, gpus, low):  # type: ignore[no-untyped-def]
    """Return the earliest start and its segment of a job on one pool, from segment `a`, that of its release, on.

    low: least free GPUs of slots in its run.
    """
    start = release
    while True:
        for x in range(slots):
            low[x] = free[a, x]
        i = a
        while True:
            fit = 0
            for x in range(slots):
                low[x] = min(low[x], free[i, x])
                fit += low[x] >= gpus
            if fit < number:
                break
            i = after[i]
            if i == 0 or times[i] >= start + run:
                return start, a
        here = 0
        for x in range(slots):
            here += free[i, x] >= gpus
        # No start helps before the end of a segment that is too full by itself.
        a = after[i] if here < number else after[a]
        start = times[a]


@inner
def _split(times, free, after, near, axis, size, slots, a, moment):  # type: ignore[no-untyped-def]
    """Let a segment begin at this second, which lies in segment a; return its number and how many there are."""
    if times[a] == moment:
        return a, size
    times[size] = moment
    after[size] = after[a]
    after[a] = size
    for x in range(slots):
        free[size, x] = free[a, x]
    b = (moment - axis[0] + axis[1] - 1) // axis[1]
    while b < len(near) and times[near[b]] < moment:
        near[b] = size
        b += 1
    return size, size + 1


@inner
def _place(j, jobs, layout, profile, low, plan):  # type: ignore[no-untyped-def]
    """Start a job at its earliest feasible second, on best-fit slots; return that second."""
    release, run, pieces, wide, _, _, allowed, place = jobs
    slots, axis = layout
    times, free, after, near, size = profile
    start, pool, slot = plan
    best = np.int64(1) << 61
    at = 0
    i = 0
    for q in range(len(slots)):
        if allowed[j, q]:
            a = near[q, min((release[j] - axis[0]) // axis[1], near.shape[1] - 1)]  # it is not before the axis begins
            while after[q, a] > 0 and times[q, after[q, a]] <= release[j]:
                a = after[q, a]
            s, a = _earliest(
                times[q], free[q], after[q], a, slots[q], release[j], run[j], pieces[j, q], wide[j, q], low
            )
            if s < best:
                best = s
                at = q
                i = a
    start[j] = best
    pool[j] = at
    end = best + run[j]
    i, size[at] = _split(times[at], free[at], after[at], near[at], axis, size[at], slots[at], i, best)
    for x in range(slots[at]):
        low[x] = free[at, i, x]
    last = i
    while after[at, last] > 0 and times[at, after[at, last]] < end:
        last = after[at, last]
        for x in range(slots[at]):
            low[x] = min(low[x], free[at, last, x])
    if after[at, last] == 0 or times[at, after[at, last]] > end:
        _, size[at] = _split(times[at], free[at], after[at], near[at], axis, size[at], slots[at], last, end)
    for y in range(pieces[j, at]):
        chosen = -1
        for x in range(slots[at]):
            if low[x] >= wide[j, at] and (chosen < 0 or low[x] < low[chosen]):
                chosen = x
        low[chosen] = -1
        slot[place[j] + y] = chosen
        k = i
        while True:
            free[at, k, chosen] -= wide[j, at]
            if k == last:
                break
            k = after[at, k]
    return best


@inner
def _copy_profile(to, profile, slots):  # type: ignore[no-untyped-def]
    """Copy the segments that are in use."""
    times, free, after, near, size = profile
    to_times, to_free, to_after, to_near, to_size = to
    for q in range(len(slots)):
        to_size[q] = size[q]
        for b in range(near.shape[1]):
            to_near[q, b] = near[q, b]
        for i in range(size[q]):
            to_times[q, i] = times[q, i]
            to_after[q, i] = after[q, i]
            for x in range(slots[q]):
                to_free[q, i, x] = free[q, i, x]


@inlined
def _saved_at(saved, side, mark):  # type: ignore[no-untyped-def]
    times, free, after, near, size = saved
    return times[side, mark], free[side, mark], after[side, mark], near[side, mark], size[side, mark]


@compiled
def decode_order(order, jobs, layout, profile, plan):  # type: ignore[no-untyped-def]
    """Fill a plan from an order of jobs, and the profile; return its cost without base costs."""
    low = np.empty(profile[1].shape[2], np.int32)
    cost = 0.0
    for j in order:
        cost += jobs[4][j] * max(0, _place(j, jobs, layout, profile, low, plan) - jobs[5][j])
    return cost


@compiled
def improve_order(order, jobs, layout, base, saved, paid, plan, cost, until, rounds, heat, state):  # type: ignore[no-untyped-def]
    """Improve an order of jobs by simulated annealing over moves; return the cost of the best, which is left in it.

    jobs: the columns of `Search`, and the first place of each job's slots; layout, base: see `Search._profile`; saved:
    profiles before every `stride`-th job of the current order and of the trial, so that a trial is decoded from its
    first change on; paid: (2, marks) the costs up to there; plan: is filled; until: the second by which all must end.
    """
    _, run, pieces, wide, slope, kink, _, place = jobs
    start, pool, slot = plan
    slots = layout[0]
    n = len(order)
    stride = (n + paid.shape[1] - 1) // paid.shape[1]
    low = np.empty(base[1].shape[2], np.int32)
    current = order.copy()
    trial = order.copy()
    width = pieces[:, 0] * wide[:, 0]
    least = np.empty(n)  # cost of a job to which the others leave everything
    times, free, after, near, size = base
    work = (times.copy(), free.copy(), after.copy(), near.copy(), size.copy())
    for j in range(n):
        _copy_profile(work, base, slots)
        least[j] = slope[j] * max(0, _place(j, jobs, layout, work, low, plan) - kink[j])
    # Of the current order
    begun = start.copy()
    put = pool.copy()
    held = slot.copy()
    side = np.zeros(paid.shape[1], np.int64)
    _copy_profile(_saved_at(saved, 0, 0), base, slots)
    paid[0, 0] = 0.0
    now = np.inf
    best = cost
    reach = max(2, np.int64(REACH * n))
    for t in range(rounds + 1):
        warm = heat * (1.0 - t / rounds)
        x = 0
        y = n - 1
        if t > 0:
            x = draw_integer(state, n)
            for _ in range(6):
                if begun[current[x]] > kink[current[x]]:
                    break
                x = draw_integer(state, n)
            kind = draw_integer(state, MOVES)
            far = 1 + draw_integer(state, reach) * (1 + draw_integer(state, 4)) // 2
            if kind < 4:
                y = max(0, x - far)
            elif kind < 6:
                y = min(n - 1, x + far)
            else:
                y = draw_integer(state, n)
            copy_list(trial, current)
            step = 1 if y > x else -1
            if kind < 8:
                for z in range(x, y, step):
                    trial[z] = current[z + step]
                trial[y] = current[x]
            elif kind < 10:
                trial[x] = current[y]
                trial[y] = current[x]
            else:  # jobs at least as long, or as wide, as this one gather on the side of y
                measure = run if draw_integer(state, 2) > 0 else width
                z = x
                for gathers in (False, True):
                    for a in range(x, y + step, step):
                        if (measure[current[a]] >= measure[current[x]]) == gathers:
                            trial[z] = current[a]
                            z += step
        mark = min(x, y) // stride
        z = first = mark * stride
        _copy_profile(work, _saved_at(saved, side[mark], mark), slots)
        value = paid[side[mark], mark]
        rest = 0.0
        for a in range(z, n):
            rest += least[trial[a]]
        same = t > 0
        while z < n:
            if z % stride == 0 and z > first:
                a = z // stride
                _copy_profile(_saved_at(saved, 1 - side[a], a), work, slots)
                paid[1 - side[a], a] = value
            if same and z > max(x, y):
                value = now  # all that comes starts as before
                break
            j = trial[z]
            second = _place(j, jobs, layout, work, low, plan)
            value += slope[j] * max(0, second - kink[j])
            rest -= least[j]
            if value + rest > now + 6.0 * warm + 1e-9 or second + run[j] > until:
                value = np.inf
                break
            same = same and second == begun[j] and pool[j] == put[j]
            for a in range(place[j], place[j + 1]):
                same = same and slot[a] == held[a]
            z += 1
        if t == 0 and z < n:
            break  # best fit does not lead to the schedule that is known
        if value <= now or (warm > 0.0 and np.exp((now - value) / warm) * 2147483648.0 > draw_integer(state, 1 << 31)):
            now = value
            for a in range(mark + 1, min(z, n - 1) // stride + 1):
                side[a] = 1 - side[a]
            for a in range(first, n):
                j = trial[a]
                current[a] = j
                if a < z:
                    begun[j] = start[j]
                    put[j] = pool[j]
                    for b in range(place[j], place[j + 1]):
                        held[b] = slot[b]
            if value < best * (1 - 1e-12):
                best = value
                copy_list(order, trial)
    return best


class Plan(NamedTuple):
    """A schedule by slots."""

    start: IntArray
    pool: IntArray
    slot: IntArray  # of all jobs, as many as they take nodes; of a job in a pool of one slot the first counts


def _blank_plan(place: IntArray) -> Plan:
    """Make a plan for kernels to fill; `place`: of every job, and behind them, the first place of its slots."""
    start, pool = np.zeros((2, len(place) - 1), np.int64)
    return Plan(start, pool, np.zeros(place[-1], np.int64))


def spread(jobs: IntArray, number: IntArray, place: IntArray) -> tuple[IntArray, IntArray]:
    """Repeat each job by its number; and its first places, as many, in a list of places of all jobs."""
    owner = np.repeat(jobs, number)
    return owner, np.repeat(place[jobs] - (np.cumsum(number) - number), number) + np.arange(len(owner))


class Search:
    """Schedules of a problem; the same calls give the same schedules."""

    def __init__(self, problem: Problem) -> None:
        self.problem, n = problem, len(problem)
        self.place = np.concatenate(([0], np.cumsum(problem.nodes))).astype(np.int64)
        shapes = (problem.pieces, problem.wide, problem.slope, problem.kink, problem.allowed)
        self._jobs = tuple(np.array(column) for column in (problem.release, problem.run, *shapes))
        self._base_cost = float(problem.base.sum())
        release, work = problem.release, int((problem.nodes * problem.gpus * problem.run).sum())
        until = int(release.max(initial=0)) + work // max(1, problem.instance.capacity)
        nobody, begin = np.zeros(0, np.int64), int(release.min(initial=until))
        self._layout, self._whole = self._profile(nobody, _blank_plan(self.place), n, begin, until)
        self.best, self.cost = _blank_plan(self.place), np.inf
        self._calls = 0
        self._lock = threading.Lock()  # of the best plan while two threads search
        self._keys, self._keys_cost = problem.release, np.inf  # of the best order that was decoded

    def decode(self, keys: Any) -> float:
        """Decode the order of these keys; keep the schedule if it is the best. Return its cost."""
        keys = np.asarray(keys)
        order = np.argsort(keys, kind="stable").astype(np.int64)
        profile = tuple(array.copy() for array in self._whole)
        plan, jobs = _blank_plan(self.place), (*self._jobs, self.place)
        cost = self._base_cost + float(decode_order(order, jobs, self._layout, profile, plan))
        if cost < self.cost:
            self.best, self.cost = plan, cost
        if cost <= self._keys_cost:
            self._keys, self._keys_cost = keys, cost
        return cost

    def tune(self, starts: tuple[tuple[float, ...], ...], stop: Callable[[], bool] = bool) -> None:
        """Decode orders by release + a run + b log2(GPUs) + c log2(run), with a, b and c better in turns."""
        problem = self.problem
        columns = np.column_stack((problem.run, *HOUR * np.log2((problem.nodes * problem.gpus, problem.run))))

        def decode(factors: tuple[float, ...]) -> float:
            return self.decode(problem.release + np.multiply(factors, columns).sum(axis=1).astype(np.int64))

        least, factors = min((decode(factors), factors) for factors in starts)
        for turn, k, sign in product(range(TURNS), range(len(factors)), (-1, 1)):
            if stop():
                return
            trial = (*factors[:k], factors[k] + sign * FACTOR_STEPS[k] * SHRINK**turn, *factors[k + 1 :])
            least, factors = min((least, factors), (decode(trial), trial))

    def perturb(self, orders: int, stop: Callable[[], bool] = bool) -> None:
        """Decode the best order again and again with other keys in some stretch of time."""
        problem, n = self.problem, len(self.problem)
        stream = Stream("cluster", "orders", self._calls, n)
        self._calls += 1
        span = int(problem.release.max() - problem.release.min())
        longest = int((problem.run**2).sum() // problem.run.sum())
        for _ in range(orders):
            if stop():
                return
            words = stream.words(3)
            centre, share = problem.release[int(words[0] % n)], int(words[1] % 1024) / 1024
            near = np.flatnonzero(np.abs(problem.release - centre) <= STRETCH * span * share)
            far = 1 + longest * int(words[2] % 1024) // 1024
            if words[1] >> 40 & 1:  # few of them, but further
                near, far = near[stream.integers(0, max(2, len(near) // 3), len(near)) < FEW], 5 * far
            keys = self._keys.copy()
            keys[near] += stream.integers(-far, far, len(near))
            self.decode(keys)

    def begin_from(self, schedule: Schedule) -> None:
        """Take a valid schedule if it is the best."""
        pool = np.repeat(schedule.pool, self.problem.nodes)
        slot = np.where(self.problem.flat[pool], 0, schedule.node - self.problem.first_node[pool])
        self.adopt(Plan(schedule.start.copy(), schedule.pool.copy(), slot))

    def adopt(self, plan: Plan) -> None:
        """Take a feasible plan if it is the best."""
        problem = self.problem
        cost = float((problem.base + problem.slope * np.maximum(0, plan.start - problem.kink)).sum())
        if cost < self.cost:
            self.best, self.cost = plan, cost

    def _profile(self, fixed: IntArray, plan: Plan, jobs: int, origin: int, until: int) -> tuple[Any, Any]:
        """Free GPUs of every slot over time beside fixed jobs, with room for further ones, as kernels take them.

        The layout: slots of pools; the axis, its first second and the seconds of a bucket. The profile: segments, by
        pool the second at which each begins, its free GPUs, the number of the next one, 0 for none; by bucket the last
        segment that does not begin after it does; how many segments there are.
        """
        problem, tables = self.problem, []
        for q, slots in enumerate(problem.slots.tolist()):
            first, last = problem.first_node[q], problem.first_node[q + 1]
            held = problem.blocked[(problem.blocked[:, 0] >= first) & (problem.blocked[:, 0] < last)]
            slot, begin, end, wide = held.T - np.array([[first], [0], [0], [0]])
            slot = np.minimum(slot, slots - 1)
            mine = fixed[plan.pool[fixed] == q]
            owner, places = spread(mine, problem.pieces[mine, q], self.place)
            start = plan.start[owner]
            more = plan.slot[places], start, start + problem.run[owner], problem.wide[owner, q]
            slot, begin, end, wide = np.concatenate(((slot, begin, end, wide), more), axis=1)
            moments = np.unique(np.concatenate(([PAST], begin, end)))
            change = np.zeros((len(moments), slots), np.int64)
            np.add.at(change, (np.searchsorted(moments, begin), slot), -wide)
            np.add.at(change, (np.searchsorted(moments, end), slot), wide)
            tables.append((moments, problem.room[q] + np.cumsum(change, axis=0)))
        most = max(len(moments) for moments, _ in tables) + 2 * jobs + 2
        axis = np.array([origin, (until - origin) // max(1, jobs) + 1])
        buckets = origin + axis[1] * np.arange(max(1, jobs))
        times, after = np.zeros((2, len(tables), most), np.int64)
        free = np.zeros((len(tables), most, int(problem.slots.max())), np.int32)
        near = np.zeros((len(tables), len(buckets)), np.int64)
        for q, (moments, table) in enumerate(tables):
            times[q, : len(moments)] = moments
            after[q, : len(moments) - 1] = np.arange(1, len(moments))
            free[q, : len(moments), : table.shape[1]] = table
            near[q] = np.searchsorted(moments, buckets, "right") - 1
        size = np.array([len(moments) for moments, _ in tables], dtype=np.int64)
        return (problem.slots, axis), (times, free, after, near, size)

    def improve(
        self,
        windows: int,
        size: int,
        rounds: int,
        stop: Callable[[], bool] = bool,
        begin: int = PAST,
        end: int = -PAST,
        heats: tuple[float, ...] = HEATS,
    ) -> None:
        """Decode windows of jobs again and again over what the others leave; windows lie where jobs wait.

        Jobs that do not run from `begin` to `end` stay where they are, so that two threads can share a schedule.
        """
        problem, plan = self.problem, self.best
        stream = Stream("cluster", "windows", self._calls, size)
        self._calls += 1
        for _ in range(windows):
            free = (plan.start >= begin) & (plan.start + problem.run <= end)
            pay: FloatArray = problem.slope * np.maximum(0, plan.start - problem.kink) * free
            if stop() or not pay.any():
                return
            words = stream.words(5)
            most, heat = max(2, size >> int(words[4] % SIZES)), HEAT * heats[int(words[4]) // 256 % len(heats)]
            share = np.cumsum(pay)
            centre = int(np.searchsorted(share, share[-1] * (int(words[0]) / 2**64), "right"))
            centre = min(centre, len(problem) - 1) if words[1] % 5 else int(words[0] % len(problem))
            start, release = plan.start[centre], problem.release[centre]
            if words[2] % 2:
                distance = np.abs(plan.start - (start + release) // 2)
            else:
                distance = np.minimum(np.abs(plan.start - start), np.abs(plan.start - release))
            near = np.argsort(distance, kind="stable")
            chosen = near[free[near]][:most]
            members = chosen[np.argsort(plan.start[chosen], kind="stable")]
            self._anneal(members, float(pay[members].sum()), rounds, heat, int(words[3]), begin, end)

    def _anneal(
        self, members: IntArray, before: float, rounds: int, heat: float, seed: int, begin: int, end: int
    ) -> None:
        problem, plan = self.problem, self.best
        high = min(end, int((plan.start + problem.run)[members].max() + problem.run[members].max()))
        release, *columns = (column[members] for column in self._jobs)
        release = np.maximum(release, begin)
        with self._lock:
            others = (plan.start < high) & (plan.start + problem.run > release.min())
            others[members] = False
            layout, base = self._profile(np.flatnonzero(others), plan, len(members), int(release.min()), high)
        effort = min(rounds, max(LEAST_TRIALS, MOST_COPIED // base[1].size)), heat * before
        sides = (2, min(MARKS, len(members)))
        saved = tuple(np.zeros((*sides, *array.shape), array.dtype) for array in base)
        place = np.concatenate(([0], np.cumsum(problem.nodes[members])))
        common, trial = ((release, *columns, place), layout, base), _blank_plan(place)
        order, state = np.arange(len(members)), np.array([seed | 1], dtype=np.uint64)
        cost = improve_order(order, *common, saved, np.zeros(sides), trial, before, high, *effort, state)
        if cost < before * (1 - 1e-12):
            self.cost += float(decode_order(order, *common, trial)) - before
            with self._lock:
                plan.start[members], plan.pool[members] = trial.start, trial.pool
                plan.slot[spread(members, problem.nodes[members], self.place)[1]] = trial.slot

    def improve_halves(self, size: int, stop: Callable[[], bool]) -> None:
        """Improve what runs before and what runs after some second side by side, until it is time to stop.

        Windows have `size` jobs at most and twice as many in turns.
        """
        plan, ended = self.best, threading.Event()

        def over() -> bool:
            return ended.is_set() or stop()

        with ThreadPoolExecutor(2) as threads:
            try:
                for wide in cycle(range(2)):
                    if over():
                        break
                    order = np.argsort(plan.start, kind="stable")
                    paid = np.cumsum((self.problem.slope * np.maximum(0, plan.start - self.problem.kink))[order])
                    if not paid[-1]:
                        break
                    part = 0.3 + 0.4 * Stream("cluster", "halves", self._calls).words(1)[0] / 2**64
                    middle = int(plan.start[order[np.searchsorted(paid, part * paid[-1])]])
                    spans = (PAST, middle), (middle, -PAST)
                    members = min(len(self.problem), size << wide)
                    improve = partial(self.improve, TURN, members, TURN_ROUNDS, over, heats=COLD + HEATS)
                    for half in [threads.submit(improve, *span) for span in spans]:
                        half.result()
            finally:
                ended.set()
        self.cost = np.inf
        self.adopt(plan)

    def schedule(self) -> Schedule:
        """The best schedule with nodes."""
        problem, plan = self.problem, self.best
        node = problem.first_node[np.repeat(plan.pool, problem.nodes)] + plan.slot
        idle_from = np.full(len(problem.node_gpus), problem.instance.begin)
        idle_from[problem.blocked[:, 0]] = problem.blocked[:, 2]
        order = np.argsort(plan.start, kind="stable")
        for j in order[problem.flat[plan.pool[order]]].tolist():
            first, last = problem.first_node[plan.pool[j] : plan.pool[j] + 2]
            idle = first + np.flatnonzero(idle_from[first:last] <= plan.start[j])[: problem.nodes[j]]
            node[self.place[j] : self.place[j + 1]] = idle
            idle_from[idle] = plan.start[j] + problem.run[j]
        return Schedule(plan.start.copy(), plan.pool.copy(), node)
