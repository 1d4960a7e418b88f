"""Kernels: jobs filled, by deadline, into a profile of the GPUs that are free, and GPUs given out step by step.

A profile is a list of seconds, ascending, with the GPUs that are free from each on; it is cut where something changes.
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
    """The number of points and the position of this second, at which the profile gets a point."""
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
    """The job at its level to its end, if that is in time and free throughout; the number of points, or 0."""
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
    """The least share with which the job ends by its deadline, charged to the profile; the number of points.

    With share q the job has min(q, largest level that is free) in every piece of the profile before its deadline. The
    least q with which the work, and `stall` seconds at q, are done is used from the latest point on from which that
    suffices, before it the level below q.
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

    `stall`: seconds of stalls to come; `ready`: from when a job progresses if it goes on; `keep`: the level at which it
    first tries to go on to its end, -1 if not; `weight`: what leaving out is decided by; `inside`: in and out: who is
    planned; `levels`, `speeds`, `top`: (models, L) tables, and the last level of each model.
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


@compiled
def spread(free, left, deadline, model, at, present, patience, planned, levels, speeds, top, sign):  # type: ignore[no-untyped-def]
    """Steps until none fits: changes the levels `at` (-1: none); the number of GPUs that are left.

    First jobs that have no share, then the smallest increase of GPU seconds per GPU added (the largest, with `sign`
    -1): over those at the present level or, if a plan is given, over those that it takes for the whole job (`planned`;
    -1: no plan). Ties by deadline, then by position. A job at its level `present` takes a step only if that saves more
    than `patience` seconds.
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
    """Jobs planned below their present level get it back, in order, while there are GPUs; the number of GPUs left."""
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
    """AFS: the first level to each job in `order`, then steps until none fits; the number of GPUs left.

    It calls no other kernel, so that it runs on Python's integers too, for numbers whose products are too large here.
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
