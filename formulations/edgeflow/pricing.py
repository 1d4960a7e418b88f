"""The least that a job costs at given prices, stalls and whole shares included: the kernels of the dual bound.

At a value u of a milli-iteration, a dynamic programme over the cells finds the schedule with the largest u progress -
cost; its states are the modes: to go on, or to start, which loses the progress of a stall. Modes change between cells
only, because within a cell all is linear. With W the work,

    g(u) = u W - max over schedules (u progress - cost)

is at most the cost of any schedule that does W. g is concave; its largest value is sought by intersecting the lines of
two schedules, one that does the work and one that does not. What a change of side adds to a stall is left out.
"""

from __future__ import annotations

import numpy as np

from ratiobench.formulations.kernels import compiled, inner

EXACT = 1e-12  # A line that is above the known ones by less than this is not a new one


@inner
def best_at(value, low, high, first, last, points, spare, servers, lam, mu, gpus, speed, stall, came, free, net, done):  # type: ignore[no-untyped-def]
    """The best schedule at the value of a milli-iteration: what it is worth, and its progress."""
    modes = len(gpus)
    for m in range(modes):
        net[m] = -np.inf
        done[m] = 0.0
    top = 0.0
    top_done = 0.0
    for k in range(first, last):
        at = k - first
        span = np.float64(min(points[k + 1], high) - max(points[k], low))
        free[at] = -1
        start = top
        start_done = top_done
        for m in range(modes):
            if gpus[m] > spare[k] or (gpus[m] == 0 and servers[k] < 1):
                net[m] = -np.inf
                continue
            cost = gpus[m] * lam[k] if gpus[m] > 0 else mu[k]
            lost = stall * speed[m]
            came[at, m] = net[m] >= start - value * lost
            if not came[at, m]:
                net[m] = start - value * lost
                done[m] = start_done - lost
            net[m] += (value * speed[m] - cost) * span
            done[m] += speed[m] * span
            if net[m] > top:
                top = net[m]
                top_done = done[m]
                free[at] = m
    return top, top_done


@inner
def trace(cells, came, free, chosen):  # type: ignore[no-untyped-def]
    """The mode of every cell in the best schedule, -1 for a pause."""
    mode = -1
    for at in range(cells - 1, -1, -1):
        if mode < 0:
            mode = free[at]
        chosen[at] = mode
        if mode >= 0 and not came[at, mode]:
            mode = -1


@compiled
def price_jobs(problem, points, servers, first, last, lam, mu, lines, value, cost, gpu_use, edge_use):  # type: ignore[no-untyped-def]
    """g of every job at a value close to the best one; returns the sum of max(0, 1 - g).

    A job that costs 1 or more is left as soon as that is clear. `gpu_use`, `edge_use` are a derivative of the sum.
    """
    jobs = len(value)
    cells = len(lam)
    most = 1
    for i in range(jobs):
        most = max(most, problem.mode_start[i + 1] - problem.mode_start[i])
    spare = np.full(cells, problem.gpus)
    came = np.zeros((cells, most), np.bool_)  # whether the mode's run goes on from the cell before
    free = np.zeros(cells, np.int64)  # the mode whose run is best after the cell, -1 for a pause
    net = np.zeros(most)
    done = np.zeros(most)
    # The schedules of the last lines to the left and to the right, and of the best value.
    held = np.zeros((3, cells), np.int64)
    gpu_use[:] = 0.0
    edge_use[:] = 0.0
    total = 0.0
    for i in range(jobs):
        cost[i] = np.inf
        modes = slice(problem.mode_start[i], problem.mode_start[i + 1])
        gpus = problem.mode_gpus[modes]
        speed = problem.mode_speed[modes]
        if len(gpus) == 0:
            continue
        work = np.float64(problem.work[i])
        window = last[i] - first[i]
        left_cost = 0.0
        left_done = 0.0
        right_cost = 1.0
        right_done = work
        real = False
        held[0, :window] = -1
        held[2, :window] = -1
        best = 0.0
        at_best = 0.0
        u = value[i]
        if u <= 0.0:
            u = 1.0 / work
        for line in range(lines):
            # Only the first value is no intersection.
            known = min(left_cost + u * (work - left_done), right_cost + u * (work - right_done))
            worth, did = best_at(
                u, problem.submit[i], problem.deadline[i], first[i], last[i], points, spare, servers, lam, mu, gpus,
                speed, problem.overhead[i], came, free, net, done,
            )  # fmt: skip
            g = u * work - worth
            if g > best:
                best = g
                at_best = u
                trace(window, came, free, held[2])
            if g >= known - EXACT:
                if line > 0:
                    break
            elif did >= work:
                right_cost = u * did - worth
                right_done = did
                real = True
                trace(window, came, free, held[1])
            else:
                left_cost = u * did - worth
                left_done = did
                trace(window, came, free, held[0])
            u = (right_cost - left_cost) / (right_done - left_done)
        cost[i] = best
        value[i] = at_best
        if best >= 1.0:
            continue
        total += 1.0 - best
        right = (work - left_done) / (right_done - left_done)
        for side in range(3):
            if real:
                weight = 0.0 if side == 2 else right if side == 1 else 1.0 - right
            else:
                weight = 1.0 if side == 2 else 0.0
            if weight <= 0.0:
                continue
            for at in range(window):
                m = held[side, at]
                if m >= 0:
                    k = first[i] + at
                    span = weight * (min(points[k + 1], problem.deadline[i]) - max(points[k], problem.submit[i]))
                    if gpus[m] == 0:
                        edge_use[k] += span
                    else:
                        gpu_use[k] += gpus[m] * span
    return total
