"""The dual bound: a price for every job, and the best that one GPU of each type can do at these prices.

At prices pi_j >= 0 a GPU of type k does best from tick t on with

    V_k(t) = min( V_k(t + 1), min over j released by t of cost_jk(t) - pi_j + V_k(t + run_jk) ),

so that sum_j pi_j + sum_k count_k V_k(0) <= OPT (`verify` has the proof). Sequences that run a job twice in a row are
left out: so the best and the best with another first job are kept. Subgradient ascent on pi: steps of Polyak's length
towards the best schedule's cost, along a deflected direction. Prices are rounded down before they are judged.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ratiobench.formulations.kernels import compiled, inner, sort_stably
from ratiobench.formulations.tenants.tables import Tables
from ratiobench.instances.tenants.model import IntArray

# No price is so high that a job pays that was released before, and starts at this tick or later
HORIZON_LIMIT = 200_000
LARGEST = 2**61  # No price times the ticks that are looked at is larger
PATIENCE, CUT, SMALLEST = 30, 0.7, 1e-5  # So many rounds without a better bound cut the step, down to the smallest


@compiled
def last_starts(run, release, deadline, late, weight, money, horizon, pi, last):  # type: ignore[no-untyped-def]
    """(n,) into `last`: the first tick from the release on at which starting the job no longer pays."""
    for j in range(len(pi)):
        low = release[j]  # pays before low, not from high on
        high = max(low, horizon - run[j] + 1)
        while low < high:
            middle = (low + high) // 2
            end = middle + run[j]
            cost = late * max(0, end - deadline[j]) + weight[j] * (end - release[j]) + money[j]
            if cost < pi[j]:
                low = middle + 1
            else:
                high = middle
        last[j] = low


@inner
def follow(size, run, copies, used, first, start):  # type: ignore[no-untyped-def]
    t = np.int64(0)
    before = np.int64(-1)
    while t < size:
        way = 1 if first[0, t] == before else 0
        j = first[way, t]
        if j < 0:
            break
        used[j] += copies
        before = j
        t = start[way, t] + run[j]


@compiled
def one_gpu(run, release, deadline, late, weight, money, horizon, pi, copies, used):  # type: ignore[no-untyped-def]
    """V(0) of one type; the jobs of a best sequence are counted `copies` times in `used`."""
    n = len(pi)
    last = np.empty(n, np.int64)
    last_starts(run, release, deadline, late, weight, money, horizon, pi, last)
    size = np.int64(0)
    for j in range(n):
        if last[j] > release[j]:
            size = max(size, last[j])
        last[j] = -last[j]
    order = sort_stably(last)
    value = np.zeros((2, size + 1), np.int64)
    first = np.full((2, size + 1), -1, np.int64)
    start = np.zeros((2, size + 1), np.int64)
    # By the order, in which the jobs that pay at a tick stand first: cost - pi at tick 0 if in time, and the rest.
    base = np.empty(n, np.int64)
    ticks = np.empty(n, np.int64)
    slope = np.empty(n, np.int64)
    due = np.empty(n, np.int64)
    begin = np.empty(n, np.int64)
    for i in range(n):
        j = order[i]
        ticks[i] = run[j]
        slope[i] = weight[j]
        base[i] = weight[j] * (run[j] - release[j]) + money[j] - pi[j]
        due[i] = deadline[j] - run[j]
        begin[i] = release[j]
    active = 0
    for t in range(size - 1, -1, -1):
        while active < n and -last[order[active]] > t:
            active += 1
        a = value[0, t + 1]
        b = value[1, t + 1]
        ja = first[0, t + 1]
        jb = first[1, t + 1]
        sa = start[0, t + 1]
        sb = start[1, t + 1]
        for i in range(active):
            if begin[i] > t:
                continue
            v = base[i] + slope[i] * t
            if t > due[i]:
                v += late * (t - due[i])
            j = order[i]
            end = t + ticks[i]
            if end < size:
                v += value[1, end] if first[0, end] == j else value[0, end]
            if v < a:
                if ja != j:
                    b = a
                    jb = ja
                    sb = sa
                a = v
                ja = j
                sa = t
            elif v < b and j != ja:
                b = v
                jb = j
                sb = t
        value[0, t] = a
        value[1, t] = b
        first[0, t] = ja
        first[1, t] = jb
        start[0, t] = sa
        start[1, t] = sb
    follow(size, run, copies, used, first, start)
    return value[0, 0]


@compiled
def step(pi, direction, used, mix, length):  # type: ignore[no-untyped-def]
    """Move the prices along the mixed direction by `length` / |direction|^2; False if there is none."""
    square = 0.0
    along = 0.0
    for j in range(len(pi)):
        slack = 1.0 - used[j]
        direction[j] = (1.0 - mix) * direction[j] + mix * slack
        square += direction[j] * direction[j]
        along += direction[j] * slack
    if square < 1e-12:
        return False
    for j in range(len(pi)):
        pi[j] = max(0.0, pi[j] + length / max(square, along) * direction[j])
    return True


class Prices:
    """Prices of all jobs that rise towards the best bound they prove.

    `pi`, `bound`: the best prices so far and what they prove; `rounds`: how often prices were judged.
    """

    def __init__(self, problem: Tables) -> None:
        self.problem, self.pi, self.bound = problem, problem.least, sum(problem.least.tolist())
        self.rounds = 0
        self._types = [np.ascontiguousarray(table.T) for table in (problem.run, problem.money)]
        self._caps = self._highest()
        self._used = np.zeros(problem.jobs, np.int64)

    def _highest(self) -> IntArray:
        """(n,) prices above which a job would pay too late to look at, or sums might overflow."""
        p = self.problem
        start = np.maximum(p.release, HORIZON_LIMIT)[:, None]
        cost = p.late * np.maximum(0, start + p.run - p.deadline[:, None]) + p.money
        cost += p.weight[:, None] * (start + p.run - p.release[:, None])
        ticks = min(p.horizon, max(HORIZON_LIMIT, int(p.release.max(initial=0)))) + 1
        if p.horizon <= HORIZON_LIMIT:
            return np.full(p.jobs, LARGEST // ticks)
        return np.asarray(np.minimum(cost.min(axis=1, initial=LARGEST), LARGEST // ticks))

    def judge(self, pi: IntArray) -> int:
        """The bound of these prices; `_used` counts each job in the best sequences of all GPUs."""
        p = self.problem
        self._used[:] = 0
        self.rounds += 1
        total = int(pi.sum())
        for run, money, count in zip(*self._types, p.counts.tolist(), strict=True):
            shared = (run, p.release, p.deadline, p.late, p.weight, money, p.horizon)
            total += count * int(one_gpu(*shared, pi, count, self._used))
        return total

    def ascend(
        self, target: int, rounds: int, mix: float, scale: float, done: Callable[[], bool] = lambda: False
    ) -> None:
        """Subgradient ascent from the best prices, until they meet the target."""
        first = self.rounds == 0
        pi = self.pi.astype(np.float64) * (1.5 if first else 1.0)
        direction, stalled = np.zeros(len(pi)), 0
        for _ in range(rounds):
            whole = np.minimum(np.floor(pi).astype(np.int64), self._caps)
            value = self.judge(whole)
            if value > self.bound:
                self.pi, self.bound, stalled = whole, value, 0
            else:
                stalled += 1
                if stalled > PATIENCE:
                    pi, scale, stalled = self.pi.astype(np.float64), CUT * scale, 0
                    direction[:] = 0
            length = scale * max(target - value, 1e-5 * target)
            if self.bound >= target or scale < SMALLEST or not step(pi, direction, self._used, mix, length):
                return
            if done():
                return
