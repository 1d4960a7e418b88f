"""Plans: jobs filled, by deadline, into a profile of the GPUs that are free, in whole numbers.

A profile is a list of seconds, ascending, with the GPUs that are free from each on; before a job's deadline it is cut
where something changes. `fill` gives a job the least share with which it ends in time (ElasticFlow's minimum
satisfactory share). Kernels; arrays of int64 but for weights.
"""

from __future__ import annotations

import numpy as np

from ratiobench.formulations.kernels import compiled, inner

NEVER = 2**62
# Columns of a plan: whether the job ends in time; its level now (-1: none), the second at which that changes first
# (NEVER), its GPU seconds, the second at which it ends
OK, LEVEL, CHANGE, USED, END = range(5)
COLUMNS = 5
# What a plan does with a job that cannot be filled: it ends there; it leaves it out; it leaves out the largest
KEEP_ALL, DROP_FAILED, DROP_LARGEST = range(3)


@inner
def cut_profile(times, free, count, second):  # type: ignore[no-untyped-def]
    """A point of the profile at this second, which is not before the first; the number of points, and its position."""
    low = 0
    high = count
    while low < high:
        middle = (low + high) // 2
        if times[middle] < second:
            low = middle + 1
        else:
            high = middle
    if low < count and times[low] == second:
        return count, low
    for k in range(count, low, -1):
        times[k] = times[k - 1]
        free[k] = free[k - 1]
    times[low] = second
    free[low] = free[low - 1]
    return count + 1, low


@inner
def find_level(levels, top, free):  # type: ignore[no-untyped-def]
    """Position of the largest level, not above `top`, that is free; -1 for none."""
    while top >= 0 and levels[top] > free:
        top -= 1
    return top


@inner
def continue_job(times, free, count, deadline, work, ready, levels, speeds, level, out):  # type: ignore[no-untyped-def]
    """The job at its present level to its end, if that is in time and free throughout; the number of points, or 0."""
    end = max(times[0], ready) - (-work // speeds[level])
    if end > deadline:
        return 0
    k = 0
    while times[k] < end:
        if free[k] < levels[level]:
            return 0
        k += 1
    count, last = cut_profile(times, free, count, end)
    for k in range(last):
        free[k] -= levels[level]
    out[OK] = 1
    out[LEVEL] = level
    out[CHANGE] = NEVER
    out[USED] = levels[level] * (end - times[0])
    out[END] = end
    return count


@inner
def fill(times, free, count, deadline, work, stall, levels, speeds, top, out):  # type: ignore[no-untyped-def]
    """The least share with which the job ends by its deadline; it is charged to the profile. The number of points.

    With share q the job has min(q, largest level that is free) in every piece of the profile before its deadline. The
    least q with which the work is done is used from the latest point on from which that does, before it the level below
    q. `stall` seconds at the share that is tried are added to the work.
    """
    out[OK] = 0
    out[LEVEL] = -1
    out[CHANGE] = NEVER
    out[USED] = 0
    out[END] = NEVER
    if deadline <= times[0] or top < 0 or work + stall * speeds[top] > speeds[top] * (deadline - times[0]):
        return count
    count, last = cut_profile(times, free, count, deadline)
    # Not by halving: a larger share that is not free everywhere may not suffice, as its stall is charged at its speed.
    low = -1
    begin = -1
    need = 1
    while need > 0 and low < top:
        low += 1
        need = work + stall * speeds[low]
        begin = last
        while begin > 0 and need > 0:
            begin -= 1
            level = find_level(levels, low, free[begin])
            if level >= 0:
                need -= speeds[level] * (times[begin + 1] - times[begin])
    if need > 0:
        return count
    left = work + stall * speeds[low]
    now = -1
    for k in range(last):
        level = find_level(levels, low if k >= begin else low - 1, free[k])
        if k == 0:
            now = level
        elif level != now and out[CHANGE] == NEVER:
            out[CHANGE] = times[k]
        if level >= 0:
            span = times[k + 1] - times[k]
            if speeds[level] * span >= left:
                end = times[k] - (-left // speeds[level])
                if end < times[k + 1]:
                    count, _ = cut_profile(times, free, count, end)
                free[k] -= levels[level]
                out[USED] += levels[level] * (end - times[k])
                out[END] = end
                break
            left -= speeds[level] * span
            free[k] -= levels[level]
            out[USED] += levels[level] * span
    out[OK] = 1
    out[LEVEL] = now
    return count


@compiled
def plan(now, gpus, deadline, work, stall, ready, model, keep, weight, levels, speeds, top, rule, inside, found):  # type: ignore[no-untyped-def]
    """A plan for jobs in the order of their deadlines; how many are planned.

    `deadline`, `work`, `stall`, `ready`, `model`: (n,) per job: second, milli-iterations, seconds of stalls to come,
    second from which it progresses if it goes on, its model; `keep`: (n,) the level at which a job first tries to go on
    to its end; -1: it does not; `weight`: (n,) doubles, what leaving a job out is decided by, with `DROP_LARGEST`;
    `levels`, `speeds`, `top`: (models, L) tables, and the last level of each model; `inside`: (n,) who is to be
    planned; changed: who is; `found`: (n, COLUMNS) the plan.
    """
    n = len(deadline)
    size = 2 * n + 4
    # The profile before each job: where one is left out, the plan goes on from there.
    times = np.empty((n + 1, size), np.int64)
    free = np.empty((n + 1, size), np.int64)
    counts = np.empty(n + 1, np.int64)
    times[0, 0] = now
    free[0, 0] = gpus
    times[0, 1] = NEVER
    free[0, 1] = 0
    counts[0] = 2
    planned = 0
    j = 0
    while j < n:
        count = counts[j]
        for k in range(count):
            times[j + 1, k] = times[j, k]
            free[j + 1, k] = free[j, k]
        counts[j + 1] = count
        if inside[j]:
            m = model[j]
            out = found[j]
            t = times[j + 1]
            f = free[j + 1]
            went = 0
            if keep[j] >= 0 and deadline[j] > now:
                went = continue_job(t, f, count, deadline[j], work[j], ready[j], levels[m], speeds[m], keep[j], out)
            if went > 0:
                count = went
            else:
                count = fill(t, f, count, deadline[j], work[j], stall[j], levels[m], speeds[m], top[m], out)
            counts[j + 1] = count
            if out[OK] == 0:
                if rule == KEEP_ALL:
                    return planned
                worst = j
                if rule == DROP_LARGEST:
                    for k in range(j):
                        if inside[k] and weight[k] > weight[worst]:
                            worst = k
                inside[worst] = False
                if worst < j:
                    for k in range(worst, j):
                        if inside[k] or k == worst:
                            planned -= 1
                    j = worst
                    continue
                # The failed fill has cut the profile, no more.
            else:
                planned += 1
        j += 1
    return planned
