"""The dual bound: a price for every job, and the best that one GPU of each type can do at these prices.

Let pi_j >= 0 be paid for every time that job j is run. A GPU of type k then does best from tick t on with

    V_k(t) = min( V_k(t + 1), min over j released by t of cost_jk(t) - pi_j + V_k(t + run_jk) ),

V_k = 0 where nothing pays any more, so that sum_j pi_j + sum_k count_k V_k(0) <= OPT (weak duality: what a schedule runs
on a GPU is one of the sequences looked at). Sequences that run a job twice in a row, idle ticks between or not, are
left out: no schedule does so. For that the best and the best with another first job are kept. Starts after which a job
would end beyond the horizon are left out, too: some best schedule ends by then.

Subgradient ascent on pi: steps of Polyak's length towards the best schedule's cost, along a deflected direction. Prices
are rounded down to integers before they are judged: every bound is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.kernels import ascending, compiled
from formulations.tenants.tables import Tables
from instances.tenants.model import IntArray

HORIZON_LIMIT = 2_000_000
"""Prices for which a job pays later than this are lowered."""


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
    keys = np.empty(n, np.int64)
    for j in range(n):
        keys[j] = -last[j]
    order = ascending(keys)
    v1 = np.zeros(size + 1, np.int64)
    v2 = np.zeros(size + 1, np.int64)
    j1 = np.full(size + 1, -1, np.int64)
    j2 = np.full(size + 1, -1, np.int64)
    s1 = np.zeros(size + 1, np.int64)
    s2 = np.zeros(size + 1, np.int64)
    active = 0
    base = np.empty(n, np.int64)
    for i in range(n):
        j = order[i]
        base[i] = weight[j] * (run[j] - release[j]) + money[j] - pi[j]
    ordered_run = run[order]
    ordered_release = release[order]
    due = deadline[order] - ordered_run
    slope = weight[order]
    for t in range(size - 1, -1, -1):
        while active < n and last[order[active]] > t:
            active += 1
        a = v1[t + 1]
        ja = j1[t + 1]
        sa = s1[t + 1]
        b = v2[t + 1]
        jb = j2[t + 1]
        sb = s2[t + 1]
        for i in range(active):
            if ordered_release[i] > t:
                continue
            v = base[i] + slope[i] * t
            if t > due[i]:
                v += late * (t - due[i])
            j = order[i]
            end = t + ordered_run[i]
            if end < size:
                v += v2[end] if j1[end] == j else v1[end]
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
        v1[t] = a
        j1[t] = ja
        s1[t] = sa
        v2[t] = b
        j2[t] = jb
        s2[t] = sb
    t = np.int64(0)
    before = np.int64(-1)
    while t < size:
        if j1[t] < 0:
            break
        if j1[t] != before:
            j = j1[t]
            s = s1[t]
        else:
            j = j2[t]
            s = s2[t]
        if j < 0:
            break
        used[j] += copies
        before = j
        t = s + run[j]
    return v1[0] if size else np.int64(0)


def priced(problem: Tables, pi: IntArray, used: IntArray) -> int:
    """The bound of these prices; `used` counts how often each job is run in the best sequences of all GPUs."""
    used[:] = 0
    total = int(pi.sum())
    for k, count in enumerate(problem.counts.tolist()):
        run, money = (np.ascontiguousarray(table[:, k]) for table in (problem.run, problem.money))
        value = one_gpu(
            run, problem.release, problem.deadline, problem.late, problem.weight, money, problem.horizon, pi, count, used
        )
        total += count * int(value)
    return total
