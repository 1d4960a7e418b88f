"""The upper end of OPT: schedules decoded from orders of jobs, then improved window by window.

A decoder starts each job of an order at its earliest feasible second, on best-fit nodes of the pool where it starts
first. Pools of one-GPU nodes that are never closed are one slot with a count: nodes are given to their jobs at the end.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.cluster.tables import FloatArray, Problem, sum_in_doubles
from ratiobench.formulations.draws import draw_integer
from ratiobench.formulations.kernels import compiled, inner
from ratiobench.instances.arrays import IntArray
from ratiobench.instances.cluster.model import Schedule
from ratiobench.instances.io.seeds import Stream

PAST = -(2**60)  # Before every second
HEAT = 3e-3  # First temperature of a window in parts of its cost; it falls to 0
SIZES, HEATS = 4, (0.3, 1.0, 3.0)  # How often windows are halved at random, and their heats
REACH = 0.15  # Mean distance of a move in parts of the window's jobs
MARKS = 8  # Places of an order from which trials are decoded


@inner
def _earliest(times, free, size, slots, release, run, number, gpus, low):  # type: ignore[no-untyped-def]
    """Return the earliest start and its segment of a job on one pool; `low`: least free GPUs of slots in its run."""
    a = 0
    high = size - 1
    while a < high:
        middle = (a + high + 1) // 2
        if times[middle] <= release:
            a = middle
        else:
            high = middle - 1
    start = release
    while True:
        for x in range(slots):
            low[x] = free[a, x]
        i = a
        while True:
            fit = 0
            for x in range(slots):
                if free[i, x] < low[x]:
                    low[x] = free[i, x]
                if low[x] >= gpus:
                    fit += 1
            if fit < number:
                break
            i += 1
            if i >= size or times[i] >= start + run:
                return start, a
        here = 0
        for x in range(slots):
            if free[i, x] >= gpus:
                here += 1
        # No start helps before the end of a segment that is too full by itself.
        a = i + 1 if here < number else a + 1
        start = times[a]


@inner
def _split(times, free, size, slots, a, moment):  # type: ignore[no-untyped-def]
    """Let a segment begin at this second, which lies in segment a; return its number and how many there are."""
    if times[a] == moment:
        return a, size
    for z in range(size, a + 1, -1):
        times[z] = times[z - 1]
        for x in range(slots):
            free[z, x] = free[z - 1, x]
    times[a + 1] = moment
    for x in range(slots):
        free[a + 1, x] = free[a, x]
    return a + 1, size + 1


@inner
def _place(j, jobs, pools, profile, low, start, pool, slot):  # type: ignore[no-untyped-def]
    """Start a job at its earliest feasible second, on best-fit slots; return that second."""
    release, run, nodes, gpus, _, _, allowed, place = jobs
    flat, slots = pools
    times, free, size = profile
    best = np.int64(1) << 61
    at = 0
    i = 0
    for q in range(len(slots)):
        if allowed[j, q]:
            number = 1 if flat[q] else nodes[j]
            wide = nodes[j] * gpus[j] if flat[q] else gpus[j]
            s, a = _earliest(times[q], free[q], size[q], slots[q], release[j], run[j], number, wide, low)
            if s < best:
                best = s
                at = q
                i = a
    start[j] = best
    pool[j] = at
    end = best + run[j]
    number = 1 if flat[at] else nodes[j]
    wide = nodes[j] * gpus[j] if flat[at] else gpus[j]
    i, size[at] = _split(times[at], free[at], size[at], slots[at], i, best)
    for x in range(slots[at]):
        low[x] = free[at, i, x]
    last = i
    while last + 1 < size[at] and times[at, last + 1] < end:
        last += 1
        for x in range(slots[at]):
            low[x] = min(low[x], free[at, last, x])
    if last + 1 == size[at] or times[at, last + 1] > end:
        _, size[at] = _split(times[at], free[at], size[at], slots[at], last, end)
    for y in range(number):
        chosen = -1
        for x in range(slots[at]):
            if low[x] >= wide and (chosen < 0 or low[x] < low[chosen]):
                chosen = x
        low[chosen] = -1
        slot[place[j] + y] = chosen
        for k in range(i, last + 1):
            free[at, k, chosen] -= wide
    return best


@inner
def _copy_profile(to, profile, slots):  # type: ignore[no-untyped-def]
    """Copy the segments that are in use."""
    for q in range(len(slots)):
        to[2][q] = profile[2][q]
        for i in range(profile[2][q]):
            to[0][q, i] = profile[0][q, i]
            for x in range(slots[q]):
                to[1][q, i, x] = profile[1][q, i, x]


@compiled
def decode_order(order, jobs, pools, profile, start, pool, slot):  # type: ignore[no-untyped-def]
    """Fill a schedule from an order of jobs, and the profile; return its cost without base costs."""
    low = np.empty(profile[1].shape[2], np.int64)
    cost = 0.0
    for j in order:
        cost += jobs[4][j] * max(0, _place(j, jobs, pools, profile, low, start, pool, slot) - jobs[5][j])
    return cost


@compiled
def improve_order(order, jobs, pools, base, saved, paid, start, pool, slot, cost, until, rounds, heat, state):  # type: ignore[no-untyped-def]
    """Improve an order of jobs by simulated annealing over moves; return the cost of the best, which is left in it.

    saved: profiles before every `stride`-th job of the current order and of the trial, so that a trial is decoded from
    its first change on; paid: (2, marks) the costs up to there.
    """
    _, run, nodes, _, slope, kink, _, place = jobs
    times, free, size = saved
    n = len(order)
    stride = (n + paid.shape[1] - 1) // paid.shape[1]
    low = np.empty(base[1].shape[2], np.int64)
    current = order.copy()
    trial = order.copy()
    least = np.empty(n)  # cost of a job to which the others leave everything
    work = (times[0, 0].copy(), free[0, 0].copy(), size[0, 0].copy())
    for j in range(n):
        _copy_profile(work, base, pools[1])
        least[j] = slope[j] * max(0, _place(j, jobs, pools, work, low, start, pool, slot) - kink[j])
    # Of the current order
    begun = start.copy()
    put = pool.copy()
    held = slot.copy()
    side = np.zeros(paid.shape[1], np.int64)
    _copy_profile((times[0, 0], free[0, 0], size[0, 0]), base, pools[1])
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
            kind = draw_integer(state, 10)
            far = 1 + draw_integer(state, reach) * (1 + draw_integer(state, 4)) // 2
            if kind < 4:
                y = max(0, x - far)
            elif kind < 6:
                y = min(n - 1, x + far)
            else:
                y = draw_integer(state, n)
            for z in range(n):
                trial[z] = current[z]
            if kind < 8:
                step = 1 if y > x else -1
                for z in range(x, y, step):
                    trial[z] = current[z + step]
            else:
                trial[x] = current[y]
            trial[y] = current[x]
        mark = min(x, y) // stride
        z = first = mark * stride
        _copy_profile(work, (times[side[mark], mark], free[side[mark], mark], size[side[mark], mark]), pools[1])
        value = paid[side[mark], mark]
        rest = 0.0
        for a in range(z, n):
            rest += least[trial[a]]
        same = t > 0
        while z < n:
            if z % stride == 0 and z > first:
                a = z // stride
                _copy_profile((times[1 - side[a], a], free[1 - side[a], a], size[1 - side[a], a]), work, pools[1])
                paid[1 - side[a], a] = value
            if same and z > max(x, y):
                value = now  # all that comes starts as before
                break
            j = trial[z]
            second = _place(j, jobs, pools, work, low, start, pool, slot)
            value += slope[j] * max(0, second - kink[j])
            rest -= least[j]
            if value + rest > now + 6.0 * warm + 1e-9 or second + run[j] > until:
                value = np.inf
                break
            same = same and second == begun[j] and pool[j] == put[j]
            for a in range(place[j], place[j] + nodes[j]):
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
                    for b in range(place[j], place[j] + nodes[j]):
                        held[b] = slot[b]
            if value < best * (1 - 1e-12):
                best = value
                for a in range(n):
                    order[a] = trial[a]
    return best


@dataclass(slots=True)
class Plan:
    """A schedule by slots."""

    start: IntArray
    pool: IntArray
    slot: IntArray


class Search:
    """Schedules of a problem; the same calls give the same schedules."""

    def __init__(self, problem: Problem) -> None:
        self.problem, n = problem, len(problem)
        pools = problem.instance.pools
        self.flat = np.array([pool.gpus == 1 and not pool.closures for pool in pools])
        self.slots = np.array(
            [1 if flat else pool.nodes for flat, pool in zip(self.flat, pools, strict=True)], dtype=np.int64
        )
        self.place = np.concatenate(([0], np.cumsum(problem.nodes))).astype(np.int64)
        columns = (problem.release, problem.run, problem.nodes, problem.gpus, problem.slope, problem.kink)
        self._jobs = (*(np.array(column) for column in columns), np.array(problem.allowed), self.place)
        self._pools = (self.flat, self.slots)
        self._base_cost = float(problem.base.sum())
        self._whole = self._profile(np.zeros(0, np.int64), None, 2 * n)
        self.best: Plan | None = None
        self.cost = np.inf
        self.rounds = 0
        self._calls = 0

    def decode(self, keys: Any) -> float:
        """Decode the order of these keys; keep the schedule if it is the best. Return its cost."""
        order = np.argsort(np.asarray(keys), kind="stable").astype(np.int64)
        profile = tuple(array.copy() for array in self._whole)
        plan = self._blank(len(order), int(self.place[-1]))
        cost = self._base_cost + float(
            decode_order(order, self._jobs, self._pools, profile, plan.start, plan.pool, plan.slot)
        )
        if cost < self.cost:
            self.best, self.cost = plan, cost
        return cost

    def begin_from(self, schedule: Schedule) -> None:
        """Take a valid schedule if it is the best."""
        slot = schedule.node - np.repeat(self.problem.first_node[schedule.pool], self.problem.nodes)
        slot[np.repeat(self.flat[schedule.pool], self.problem.nodes)] = 0
        self.adopt(Plan(schedule.start.copy(), schedule.pool.copy(), slot))

    def adopt(self, plan: Plan) -> None:
        """Take a feasible plan if it is the best."""
        cost = sum_in_doubles(self.problem, plan.start)
        if cost < self.cost:
            self.best, self.cost = plan, cost

    def _profile(self, fixed: IntArray, plan: Plan | None, spare: int) -> tuple[IntArray, NDArray[np.int64], IntArray]:
        """Free GPUs of every slot over time beside these jobs; `spare`: further segments that there is room for."""
        problem, pools = self.problem, len(self.slots)
        tables = []
        for q in range(pools):
            first, last = problem.first_node[q], problem.first_node[q + 1]
            held = problem.blocked[(problem.blocked[:, 0] >= first) & (problem.blocked[:, 0] < last)]
            node = np.zeros(len(held), np.int64) if self.flat[q] else held[:, 0] - first
            begin, end, wide = held[:, 1], held[:, 2], held[:, 3]
            if plan is not None:
                mine = fixed[plan.pool[fixed] == q]
                if self.flat[q]:
                    repeat, at = mine, np.zeros(len(mine), np.int64)
                    more = (problem.nodes * problem.gpus)[mine]
                else:
                    repeat = np.repeat(mine, problem.nodes[mine])
                    ends = np.cumsum(problem.nodes[mine])
                    inside = np.arange(len(repeat)) - np.repeat(ends - problem.nodes[mine], problem.nodes[mine])
                    at = plan.slot[self.place[repeat] + inside]
                    more = problem.gpus[repeat]
                node, wide = np.concatenate((node, at)), np.concatenate((wide, more))
                begin = np.concatenate((begin, plan.start[repeat]))
                end = np.concatenate((end, plan.start[repeat] + problem.run[repeat]))
            moments = np.unique(np.concatenate(([PAST], begin, end)))
            change = np.zeros((len(moments), int(self.slots[q])), np.int64)
            np.add.at(change, (np.searchsorted(moments, begin), node), -wide)
            np.add.at(change, (np.searchsorted(moments, end), node), wide)
            size = int(problem.node_gpus[first]) * (int(last - first) if self.flat[q] else 1)
            tables.append((moments, size + np.cumsum(change, axis=0)))
        most = max(len(moments) for moments, _ in tables) + spare + 2
        times = np.zeros((pools, most), np.int64)
        free = np.zeros((pools, most, int(self.slots.max())), np.int64)
        for q, (moments, table) in enumerate(tables):
            times[q, : len(moments)] = moments
            free[q, : len(moments), : table.shape[1]] = table
        return times, free, np.array([len(moments) for moments, _ in tables], dtype=np.int64)

    def improve(self, windows: int, size: int, rounds: int, stop: Callable[[], bool] = bool) -> None:
        """Decode windows of jobs again and again over what the others leave; windows lie where jobs wait."""
        problem, plan = self.problem, self.best
        assert plan is not None
        stream = Stream("cluster", "windows", self._calls, size)
        self._calls += 1
        for _ in range(windows):
            pay: FloatArray = problem.slope * np.maximum(0, plan.start - problem.kink)
            if stop() or not pay.any():
                return
            words = stream.words(5)
            members, heat = max(2, size >> int(words[4] % SIZES)), HEAT * HEATS[int(words[4]) // 256 % len(HEATS)]
            share = np.cumsum(pay)
            centre = int(np.searchsorted(share, share[-1] * (int(words[0]) / 2**64), "right"))
            centre = min(centre, len(problem) - 1) if words[1] % 5 else int(words[0] % len(problem))
            start, release = plan.start[centre], problem.release[centre]
            if words[2] % 2:
                distance = np.abs(plan.start - (start + release) // 2)
            else:
                distance = np.minimum(np.abs(plan.start - start), np.abs(plan.start - release))
            self._anneal(np.argsort(distance, kind="stable")[:members], pay, rounds, heat, int(words[3]))

    def _anneal(self, members: IntArray, pay: FloatArray, rounds: int, heat: float, seed: int) -> None:
        problem, plan = self.problem, self.best
        assert plan is not None
        members = members[np.argsort(plan.start[members], kind="stable")]
        high = int((plan.start + problem.run)[members].max() + problem.run[members].max())
        others = (plan.start < high) & (plan.start + problem.run > problem.release[members].min())
        others[members] = False
        base = self._profile(np.flatnonzero(others), plan, 2 * len(members))
        sides = (2, min(MARKS, len(members)))
        saved = tuple(np.zeros((*sides, *array.shape), np.int64) for array in base)
        place = np.concatenate(([0], np.cumsum(problem.nodes[members])))
        trial = self._blank(len(members), int(place[-1]))
        common = (*(column[members] for column in self._jobs[:-1]), place), self._pools, base
        order, before = np.arange(len(members)), float(pay[members].sum())
        state = np.array([seed | 1], dtype=np.uint64)
        ways = (trial.start, trial.pool, trial.slot)
        cost = improve_order(order, *common, saved, np.zeros(sides), *ways, before, high, rounds, heat * before, state)
        self.rounds += rounds
        if cost < before * (1 - 1e-12):
            self.cost += float(decode_order(order, *common, *ways)) - before
            plan.start[members], plan.pool[members] = trial.start, trial.pool
            inside = np.arange(place[-1]) - np.repeat(place[:-1] - self.place[members], problem.nodes[members])
            plan.slot[inside] = trial.slot

    @staticmethod
    def _blank(jobs: int, places: int) -> Plan:
        return Plan(*(np.zeros(length, np.int64) for length in (jobs, jobs, places)))

    def schedule(self) -> Schedule:
        """The best schedule with nodes."""
        assert self.best is not None
        problem, plan = self.problem, self.best
        node = np.zeros(int(self.place[-1]), np.int64)
        idle: list[list[int]] = []
        ends: list[list[tuple[int, int]]] = []
        for q in range(len(self.slots)):
            first, last = int(problem.first_node[q]), int(problem.first_node[q + 1])
            held = {row[0]: row[2] for row in problem.blocked.tolist() if first <= row[0] < last}
            idle.append([x for x in range(first, last) if x not in held])
            ends.append(sorted((end, x) for x, end in held.items()))
        for j in np.argsort(plan.start, kind="stable").tolist():
            q, start = int(plan.pool[j]), int(plan.start[j])
            low, high = int(self.place[j]), int(self.place[j + 1])
            if not self.flat[q]:
                node[low:high] = problem.first_node[q] + plan.slot[low:high]
                continue
            while ends[q] and ends[q][0][0] <= start:
                heapq.heappush(idle[q], heapq.heappop(ends[q])[1])
            for at in range(low, high):
                node[at] = heapq.heappop(idle[q])
                heapq.heappush(ends[q], (start + int(problem.run[j]), int(node[at])))
        return Schedule(plan.start.copy(), plan.pool.copy(), node)
