"""OPT over sets of started jobs: dynamic programming, layer by layer, for few jobs on one pool of one-GPU nodes.

Some best schedule starts its jobs in order of time, each at its earliest feasible second after those before it. A state
is what such an order has started; layer k holds the states of k jobs. What completes a state costs at least what the
prices of an ascent leave (`bound`), with the time before the state left out:

    what has started  +  sum over running j of Phi_j(end_j) - Phi_j(t)
    + sum over others min over s >= earliest_j of [c_j(s) + Phi_j(s + p_j) - Phi_j(s)]  -  sum of V after t.

A state goes if that is no less than the best cost, or if another one with the same jobs costs no more, is no later and
leaves no fewer GPUs at any second from then on. Of a layer that is too large, states of the least bounds stay; the
least bound of those that went still holds. So every width gives a schedule or a bound, and most often both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ratiobench.formulations.cluster.bound import Ascent
from ratiobench.formulations.cluster.tables import FloatArray, Problem, find_last
from ratiobench.formulations.kernels import compiled, inner
from ratiobench.instances.arrays import IntArray
from ratiobench.instances.cluster.model import Instance

MOST_JOBS = 63  # Bits of a set
CHUNK = 2**16  # Most children that are made before those that others dominate go
NEVER = 2**60


class States(NamedTuple):
    """States of one layer, one entry each."""

    started: IntArray  # set of jobs as bits
    second: IntArray  # start of the last job
    used: IntArray  # GPUs in use just before that second
    cost: FloatArray  # of what has started, without base costs
    bound: FloatArray  # least cost of a whole schedule
    parent: IntArray  # number in the layer before
    job: IntArray  # that started last
    running: IntArray  # how many jobs run after that second
    who: IntArray  # (states, most) these jobs, in order of their ends
    end: IntArray  # (states, most) their ends

    def take(self, chosen: Any) -> States:
        return States(*(column[chosen] for column in self))


def fits(instance: Instance) -> bool:
    """Whether the states of an instance can be looked at."""
    return len(instance.jobs) <= MOST_JOBS and [(pool.gpus, pool.closures) for pool in instance.pools] == [(1, ())]


@inner
def _at(borders, values, second):  # type: ignore[no-untyped-def]
    """Return what values at borders are at this second."""
    last = len(borders) - 1
    k = find_last(borders, last, second)
    if k < 0:
        return values[0]
    if second >= borders[last]:
        return values[last]
    return values[k] + (values[k + 1] - values[k]) * (second - borders[k]) / (borders[k + 1] - borders[k])


@inner
def _least_from(j, second, run, slope, kink, prices):  # type: ignore[no-untyped-def]
    """Return the least cost and prices of a start of a job from this second on."""
    borders, integral, _, starts, after = prices
    sums = integral[j]
    paid = slope[j] * max(0, second - kink[j]) + _at(borders, sums, second + run[j]) - _at(borders, sums, second)
    k = find_last(starts[j], len(starts[j]), second - 1) + 1
    return min(paid, after[j, k]) if k < len(starts[j]) else paid


@inner
def _earliest(j, low, used, size, capacity, states, x, late, late_end):  # type: ignore[no-untyped-def]
    """Return the first second from `low` on at which a job fits beside those of a state and job `late`, if any."""
    _, _, _, _, _, _, _, running, who, end = states
    y = 0
    while True:
        if late >= 0 and (y == running[x] or late_end <= end[x, y]):
            i = late
            e = late_end
            late = -1
        elif y < running[x]:
            i = who[x, y]
            e = end[x, y]
            y += 1
        else:
            return low
        if e > low:
            if used + size[j] <= capacity:
                return low
            low = e
        used -= size[i]


@compiled
def expand(first, states, jobs, before, capacity, prices, most, children):  # type: ignore[no-untyped-def]
    """Fill in the children of states from `first` on while there is room; return how many, and the next state.

    before: of every job an equal one that starts before it, -1 for none; most: the bound at which a child goes.
    """
    release, run, size, slope, kink = jobs
    started, second, used, cost, _, _, _, running, who, end = states
    borders, integral, rest, _, _ = prices
    n = len(release)
    others = np.empty(n, np.int64)
    starts = np.empty(n, np.int64)
    least_cost = np.empty(n)
    out = 0
    x = first
    while x < len(started) and out + n <= len(children.started):
        t = second[x]
        now = 0
        for y in range(running[x]):
            now += size[who[x, y]]
        m = 0
        free_until = NEVER  # a job that waits could have run before
        total = 0.0
        for j in range(n):
            if (started[x] >> j) & 1:
                continue
            others[m] = j
            m += 1
            starts[j] = _earliest(j, max(t, release[j]), now, size, capacity, states, x, -1, 0)
            if starts[j] + run[j] > kink[j]:
                free_until = min(free_until, starts[j] + run[j])
            least_cost[j] = _least_from(j, starts[j], run, slope, kink, prices)
            total += least_cost[j]
        for z in range(m):
            j = others[z]
            s = starts[j]
            if s >= free_until:
                continue
            if s == t and max(release[j], kink[j]) < t and size[j] <= capacity - used[x]:
                continue  # it could have started a second sooner
            if before[j] >= 0 and not (started[x] >> before[j]) & 1:
                continue
            e = s + run[j]
            paid = cost[x] + slope[j] * max(0, s - kink[j])
            bound = paid + total - least_cost[j] - _at(borders, rest, s)
            bound += _at(borders, integral[j], e) - _at(borders, integral[j], s)
            for y in range(running[x]):
                if end[x, y] > s:
                    i = who[x, y]
                    bound += _at(borders, integral[i], end[x, y]) - _at(borders, integral[i], s)
            for w in range(m):
                i = others[w]
                if bound >= most:
                    break
                if i != j:
                    later = _earliest(i, max(s, starts[i]), now + size[j], size, capacity, states, x, j, e)
                    if later > starts[i]:
                        bound += _least_from(i, later, run, slope, kink, prices) - least_cost[i]
            bound = max(bound, paid)
            if bound >= most:
                continue
            children.started[out] = started[x] | (1 << j)
            children.second[out] = s
            children.cost[out] = paid
            children.bound[out] = bound
            children.parent[out] = x
            children.job[out] = j
            in_use = 0
            q = 0
            for y in range(running[x]):
                if end[x, y] >= s:
                    in_use += size[who[x, y]]
                if end[x, y] > s:
                    children.who[out, q] = who[x, y]
                    children.end[out, q] = end[x, y]
                    q += 1
            children.used[out] = in_use if s > t else used[x]
            children.running[out] = q + 1
            while q > 0 and children.end[out, q - 1] >= e:
                children.who[out, q] = children.who[out, q - 1]
                children.end[out, q] = children.end[out, q - 1]
                q -= 1
            children.who[out, q] = j
            children.end[out, q] = e
            out += 1
        x += 1
    return out, x


@compiled
def mark_dominated(order, states, size, stays):  # type: ignore[no-untyped-def]
    """Mark states that stay; `order`: by set, then cost, then second; is changed."""
    started, second, _, _, _, _, _, running, who, end = states
    front = 0  # where the states that stay begin, of the set at hand
    top = 0
    for place in range(len(order)):
        b = order[place]
        if place > 0 and started[b] != started[order[place - 1]]:
            front = top = place
        t = second[b]
        dominated = False
        for z in range(front, top):
            a = order[z]
            if second[a] > t:
                continue
            x = running[a] - 1
            y = running[b] - 1
            spare = 0  # GPUs that b has in use, less those of a, just before the later of their next ends
            while spare >= 0 and ((x >= 0 and end[a, x] > t) or (y >= 0 and end[b, y] > t)):
                if y >= 0 and (x < 0 or end[b, y] >= end[a, x]):
                    spare += size[who[b, y]]
                    y -= 1
                else:
                    spare -= size[who[a, x]]
                    x -= 1
            if spare >= 0:
                dominated = True
                break
        if not dominated:
            stays[b] = True
            order[place] = order[top]
            order[top] = b
            top += 1


def _find_equals(problem: Problem) -> IntArray:
    """(jobs,) of every job an equal one released before it, or -1: some best schedule starts equals in this order."""
    order = np.lexsort((problem.kink, problem.release, problem.slope, problem.run, problem.nodes))
    first, second = order[:-1], order[1:]
    rows, before = np.column_stack((problem.nodes, problem.run, problem.slope)), np.full(len(problem), -1, np.int64)
    equal = (rows[first] == rows[second]).all(axis=1) & (problem.kink[first] <= problem.kink[second])
    before[second[equal]] = first[equal]
    return before


class StateSearch:
    """The states of a problem with the prices of an ascent."""

    def __init__(self, problem: Problem, ascent: Ascent) -> None:
        ends, number = np.unique(problem.blocked[:, 2], return_counts=True)  # jobs that run at the beginning
        n, held, borders = len(problem), len(ends), ascent.grid.borders.copy()
        self._size = np.concatenate((problem.nodes, number)).astype(np.int64)
        self._jobs = (problem.release.copy(), problem.run.copy(), self._size, problem.slope.copy(), problem.kink.copy())
        self._equals, self._capacity = _find_equals(problem), int(problem.room[0])
        values = ascent.value_packings()[0]
        rest = np.append(np.cumsum(values[::-1])[::-1], 0.0)  # (segments + 1,) value of all packings from a border on
        integral = np.zeros((n + held, len(borders)))  # of a job's prices up to a border; those that run pay none
        tables = [ascent.price_starts(j) for j in range(n)]
        most = max(len(seconds) for seconds, _ in tables)
        starts = np.full((n, most), NEVER)  # the cost of a start and its prices are linear between such seconds
        after = np.full((n, most), np.inf)  # the least of both from such a second on
        for j, (seconds, paid) in enumerate(tables):
            integral[j] = ascent.integrate(j)[0]
            starts[j, : len(seconds)] = seconds
            after[j, : len(seconds)] = np.minimum.accumulate(paid[::-1])[::-1]
        self._prices = borders, integral, rest, starts, after
        self._root = self._blank(1)
        self._root.second[0], self._root.running[0] = problem.release.min(), held
        self._root.who[0, :held], self._root.end[0, :held] = n + np.arange(held), ends

    def rounding(self, cost: float) -> float:
        """The most by which doubles are off in the bound of a schedule of at most this cost.

        A bound has fewer than `terms` additions, each off by at most 2^-53 of the sum of all that is added.
        """
        borders, integral, rest, _, _ = self._prices
        terms = len(borders) + 32 * (len(self._size) + 1)
        return terms * 2.0**-53 * (float(integral[:, -1].sum() + rest[0]) + 2 * cost)

    def _blank(self, states: int) -> States:
        columns = (np.zeros(states, kind) for kind in 3 * [int] + 2 * [float] + 3 * [int])
        return States(*columns, *np.zeros((2, states, len(self._size)), np.int64))

    def search(self, most: float, width: int, stop: Callable[[], bool]) -> tuple[float, IntArray | None]:
        """Look at `width` states a layer: the least cost that a schedule below `most` may have, and the best such."""
        layer, history, lowest = self._root, [], most
        children = self._blank(CHUNK)
        for _ in range(len(self._equals)):
            below, x = layer.take(slice(0, 0)), 0
            while x < len(layer.started):
                if stop():
                    return min(lowest, float(layer.bound.min())), None
                count, x = expand(x, layer, self._jobs, self._equals, self._capacity, self._prices, most, children)
                joined = zip(below, children.take(slice(0, count)), strict=True)
                below = States(*(np.concatenate(columns) for columns in joined))
                stays = np.zeros(len(below.started), dtype=bool)
                mark_dominated(np.lexsort((below.second, below.cost, below.started)), below, self._size, stays)
                below = below.take(stays)
                if len(below.started) > width:
                    order = np.argpartition(below.bound, width)
                    lowest = min(lowest, float(below.bound[order[width:]].min()))
                    below = below.take(order[:width])
            if not len(below.started):
                return lowest, None
            history.append((below.job, below.second, below.parent))
            layer = below
        x, start = int(layer.cost.argmin()), np.zeros(len(self._equals), np.int64)
        lowest = min(lowest, float(layer.cost[x]))
        for job, second, parent in reversed(history):
            start[job[x]], x = second[x], int(parent[x])
        return lowest, start
