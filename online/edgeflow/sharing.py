"""Who gets GPUs step by step, each to the next useful level of a job: those that no plan needs, or (AFS) all."""

from __future__ import annotations

import numpy as np

from ratiobench.formulations.kernels import compiled


@compiled
def spread(free, left, deadline, model, at, present, patience, planned, levels, speeds, top, sign):  # type: ignore[no-untyped-def]
    """Steps until none fits; `at`, the level of each job, is changed. The number of GPUs that are left.

    First jobs that have no share, then the smallest increase of GPU seconds per GPU added (the largest, where `sign` is
    -1): over those at the present level, or, where a plan is given, over those that the plan takes for the whole job.
    Ties by deadline, then by position.

    `left`, `deadline`, `model`, `at`: (n,) per job; -1: it has no share; `present`, `patience`: (n,) a job that is at
    its present level takes a step only if that saves more than so many seconds; `planned`: (n,) the GPU seconds of each
    job in the plan; -1: they do not matter; `levels`, `speeds`, `top`: (models, L) tables, and the last level of each
    model.
    """
    n = len(left)
    key = np.empty(n)
    step = np.empty(n, np.int64)
    for j in range(n):
        step[j] = -1
    while free > 0:
        best = -1
        for j in range(n):
            m = model[j]
            k = at[j]
            if k >= top[m]:
                continue
            if step[j] < 0:
                high = levels[m, k + 1]
                fast = speeds[m, k + 1] * 1.0
                low = 0
                slow = 0.0
                if k >= 0:
                    low = levels[m, k]
                    slow = speeds[m, k] * 1.0
                step[j] = high - low
                key[j] = 0.0
                if planned[j] >= 0:
                    key[j] = sign * (left[j] * (high / fast) - planned[j]) / (high - low)
                elif k >= 0:
                    key[j] = sign * (left[j] * (high / fast - low / slow)) / (high - low)
                if k >= 0 and k == present[j] and left[j] / slow - left[j] / fast <= patience[j]:
                    step[j] = free + 1  # never
            if step[j] > free:
                continue
            if best < 0:
                best = j
                continue
            if (k >= 0) != (at[best] >= 0):
                if k < 0:
                    best = j
            elif key[j] < key[best] or (key[j] == key[best] and deadline[j] < deadline[best]):
                best = j
        if best < 0:
            break
        free -= step[best]
        at[best] += 1
        step[best] = -1
    return free


@compiled
def restore(gpus, model, at, present, levels):  # type: ignore[no-untyped-def]
    """Jobs whose planned level is below the present one get that back, in order, as far as there are GPUs.

    `at` is changed; the number of GPUs that are left of all.
    """
    free = gpus
    n = len(at)
    for j in range(n):
        if at[j] >= 0:
            free -= levels[model[j], at[j]]
    for j in range(n):
        if present[j] > at[j]:
            more = levels[model[j], present[j]]
            if at[j] >= 0:
                more -= levels[model[j], at[j]]
            if more <= free:
                free -= more
                at[j] = present[j]
    return free


@compiled
def divide(free, left, model, rank, order, at, levels, speeds, top):  # type: ignore[no-untyped-def]
    """AFS: the first level to each job, in this order, then steps until none fits. The number of GPUs left.

    It calls no other kernel, so that it runs on Python's integers too, for numbers whose products are too large here.

    `left`, `model`, `rank`: (n,) per job; each has a level, and the rank decides ties; `order`: (n,) the jobs by
    remaining time at the first level; changed; `at`: (n,) -1 each; changed to their levels; `levels`, `speeds`, `top`:
    (models, L) tables, and the last level of each model.
    """
    n = len(order)
    for j in range(n):
        one = order[j]
        first = levels[model[one], 0]
        if first <= free:
            free -= first
            at[one] = 0
    count = 0
    for j in range(n):
        if at[j] >= 0:
            order[count] = j
            count += 1
    while True:
        best = -1
        able = 0
        for j in range(count):
            one = order[j]
            k = at[one]
            # Who cannot take a step now never can: free GPUs only become fewer.
            if k >= top[model[one]] or levels[model[one], k + 1] - levels[model[one], k] > free:
                continue
            order[able] = one
            able += 1
            if best < 0:
                best = one
                continue
            # a: the shorter remaining time, ties by rank.
            mine = left[best] * speeds[model[one], k]
            yours = left[one] * speeds[model[best], at[best]]
            a = best
            b = one
            if mine > yours or (mine == yours and rank[best] > rank[one]):
                a = one
                b = best
            m = model[a]
            now = speeds[m, at[a]]
            gain = speeds[m, at[a] + 1] - now
            step = levels[m, at[a] + 1] - levels[m, at[a]]
            m = model[b]
            new = speeds[m, at[b] + 1]
            best = a
            # gain_b / T_b(next) > gain_a / T_a(now)
            if (new - speeds[m, at[b]]) * step * now > gain * (levels[m, at[b] + 1] - levels[m, at[b]]) * new:
                best = b
        count = able
        if best < 0:
            return free
        free -= levels[model[best], at[best] + 1] - levels[model[best], at[best]]
        at[best] += 1
