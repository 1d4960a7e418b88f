"""Who gets GPUs that no plan needs: step by step, each to the next useful level of a job."""

from __future__ import annotations

import numpy as np

from formulations.kernels import compiled


@compiled
def spread(free, left, deadline, model, at, present, patience, levels, speeds, top, sign):  # type: ignore[no-untyped-def]
    """Steps until none fits; `at`, the level of each job, is changed. The number of GPUs that are left.

    First jobs that have no share, then the smallest increase of GPU seconds per GPU added (the largest, where `sign` is
    -1); ties by deadline, then by position.

    Parameters
    ----------
    left, deadline, model, at : (n,) per job; -1: it has no share.
    present, patience : (n,) a job that is at its present level takes a step only if that saves more than so many
        seconds.
    levels, speeds, top : (models, L) tables, and the last level of each model.
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
                if k >= 0:
                    key[j] = sign * (left[j] * (high / fast - low / slow)) / (high - low)
                    if k == present[j] and left[j] / slow - left[j] / fast <= patience[j]:
                        step[j] = free + 1 + levels[m, top[m]]  # never
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
