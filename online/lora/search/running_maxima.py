"""The printed dynamic programme (13), compiled: a state keeps one path, and its largest prices so far are the prices.

States are the amounts of missing work that can be reached. Candidates come in the order skip, node 0, 1, ..., and one
replaces the former only when it is strictly smaller; only what cannot be strictly smaller is left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ratiobench.formulations.kernels import compiled, sort_stably
from ratiobench.formulations.lora.covering.schedules import states
from ratiobench.instances.lora.model import IntArray


class Amounts(NamedTuple):
    """The amounts of work w that M leaves after subtracting rates (clipped at 0), ascending."""

    less: IntArray  # (n, G') index of max(0, w - s_g); w's own where that is beyond the window's slots
    depth: IntArray  # (n,) fewest subtractions from M to w


@compiled
def _amounts(state_work, state_cells, rates, work):  # type: ignore[no-untyped-def]
    left = np.empty(len(state_work) + 1, np.int64)
    left[0] = 0
    for x in range(len(state_work)):
        left[x + 1] = max(0, work - state_work[x])
    order = sort_stably(left)
    amounts = np.empty(len(left), np.int64)
    depth = np.empty(len(left), np.int64)
    count = 0
    for x in order:
        if count == 0 or left[x] != amounts[count - 1]:
            amounts[count] = left[x]
            depth[count] = 2**63 - 1
            count += 1
        if x > 0:
            depth[count - 1] = min(depth[count - 1], state_cells[x - 1])
    less = np.empty((count, len(rates)), np.int64)
    for w in range(count):
        for g in range(len(rates)):
            target = max(0, amounts[w] - rates[g])
            at = 0
            high = w
            while at < high:
                middle = (at + high) // 2
                if amounts[middle] < target:
                    at = middle + 1
                else:
                    high = middle
            less[w, g] = at if amounts[at] == target else w
    return less, depth[:count].copy()


def amounts(rates: IntArray, work: int, width: int, task: int | None = None) -> Amounts:
    """The amounts for a window of `width` slots; the last is M."""
    x = states(rates, work, width, None, task)
    return Amounts(*_amounts(x.work, x.cells, rates, work))


@compiled
def records(lam, phi, first_node):  # type: ignore[no-untyped-def]
    """(begin, node, lam, phi) of the nodes that some price makes better than every earlier one of type and slot."""
    # Those of (type g, slot t) are begin[g W + t] .. begin[g W + t + 1] - 1. No other is strictly better in a state.
    types = len(first_node) - 1
    width = lam.shape[0]
    begin = np.empty(types * width + 1, np.int64)
    node = np.empty(lam.size, np.int64)
    lam_of = np.empty(lam.size, lam.dtype)
    phi_of = np.empty(lam.size, phi.dtype)
    rows = 0
    for g in range(types):
        for t in range(width):
            here = rows
            begin[g * width + t] = here
            for k in range(first_node[g], first_node[g + 1]):
                a = lam[t, k]
                b = phi[t, k]
                beaten = False
                for j in range(here, rows):
                    if lam_of[j] <= a and phi_of[j] <= b:
                        beaten = True
                        break
                if not beaten:
                    node[rows], lam_of[rows], phi_of[rows] = k, a, b
                    rows += 1
    begin[types * width] = rows
    return begin, node[:rows], lam_of[:rows], phi_of[:rows]


@compiled
def best_path(begin, node, lam, phi, first_node, cost, rates, memory, less, depth, offsets, net):  # type: ignore[no-untyped-def]
    """(option, F, S, E, cells [node row, slot offset]) of the first option of largest F, in doubles; -1: no path."""
    types, width = cost.shape
    size = less.shape[0]
    goal = size - 1
    value = np.empty(size)
    samples = np.empty(size, np.int64)
    slots = np.empty(size, np.int64)
    energy = np.empty(size, np.int64)
    top_lam = np.empty(size)
    top_phi = np.empty(size)
    taken = np.empty((width, size), np.int32)
    best_taken = np.empty((width, size), np.int32)
    best = -1
    best_f = -np.inf
    best_samples = 0
    best_energy = 0
    for option in range(len(offsets)):
        if offsets[option] >= width:
            continue
        earlier = option
        for other in range(option):
            # The same path as an earlier option's, for no less money, is never strictly better.
            if offsets[other] == offsets[option] and net[other] >= net[option]:
                earlier = other
                break
        if earlier < option:
            continue
        for w in range(size):
            value[w] = np.inf
        value[0] = 0.0
        samples[0] = 0
        slots[0] = 0
        energy[0] = 0
        top_lam[0] = 0.0
        top_phi[0] = 0.0
        for t in range(offsets[option], width):
            # Downwards, so that sources, which are smaller, are still those of the slot before.
            for w in range(goal, 0, -1):
                taken[t, w] = -1
                if depth[w] > width - 1 - t:
                    continue  # M cannot be reached from here in the slots that are left
                result = value[w]
                pick = -1
                pick_g = 0
                pick_lam = 0.0
                pick_phi = 0.0
                for g in range(types):
                    source = less[w, g]
                    if value[source] == np.inf:
                        continue
                    a = top_lam[source]
                    b = top_phi[source]
                    s = samples[source] + rates[g]
                    r = memory * (slots[source] + 1)
                    e = energy[source] + cost[g, t]
                    if a * s + b * r + e >= result:
                        continue
                    for j in range(begin[g * width + t], begin[g * width + t + 1]):
                        i_lam = max(a, lam[j])
                        i_phi = max(b, phi[j])
                        candidate = i_lam * s + i_phi * r + e
                        if candidate < result:
                            result = candidate
                            pick = node[j]
                            pick_g = g
                            pick_lam = i_lam
                            pick_phi = i_phi
                        if lam[j] <= a and phi[j] <= b:
                            break  # no later node of the type is cheaper than the path's own prices
                if pick >= 0:
                    source = less[w, pick_g]
                    value[w] = result
                    samples[w] = samples[source] + rates[pick_g]
                    slots[w] = slots[source] + 1
                    energy[w] = energy[source] + cost[pick_g, t]
                    top_lam[w] = pick_lam
                    top_phi[w] = pick_phi
                    taken[t, w] = pick
        if value[goal] == np.inf:
            continue
        f = float(net[option] - energy[goal]) - top_lam[goal] * samples[goal]
        f = f - top_phi[goal] * (memory * slots[goal])
        if best < 0 or f > best_f:
            best = option
            best_f = f
            best_samples = samples[goal]
            best_energy = energy[goal]
            cells = slots[goal]
            taken, best_taken = best_taken, taken
    if best < 0:
        return best, best_f, 0, 0, np.empty((0, 2), np.int64)
    chosen = np.empty((cells, 2), np.int64)
    w = goal
    t = width - 1
    while w > 0:
        k = best_taken[t, w]
        if k >= 0:
            cells -= 1
            chosen[cells, 0] = k
            chosen[cells, 1] = t
            g = 0
            while k >= first_node[g + 1]:
                g += 1
            w = less[w, g]
        t -= 1
    return best, best_f, best_samples, best_energy, chosen
