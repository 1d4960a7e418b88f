"""Facets of the sets of tasks that fit on a node, found by a small linear programme for each pair of type and slot.

A point x in [0, 1]^n is a mixture of sets that fit where min sum_S w_S, sum_S w_S S = x, w >= 0 is at most 1: subsets
of sets that fit, fit. The dual solution q of a larger optimum is an inequality q x <= 1 that all sets keep and x
breaks. The simplex method begins from sets of one task; the set that enters is the best one at the prices q.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ratiobench.formulations.kernels import compiled, inlined
from ratiobench.formulations.lora.bound.pricing import Pool
from ratiobench.formulations.lora.bound.task_prices import Floats, Slots, best_set
from ratiobench.instances.lora.model import IntArray

BROKEN = 1e-4  # A facet is added where it is broken by more than this part of its right-hand side
# Coefficients of a facet are whole numbers: its own times a denominator below the second number where that does it,
# else rounded down to parts of the first one
LEVELS, DENOMINATORS = 2_000, 200
PIVOTS = 400  # Most steps of the simplex method for a pair; beyond them no facet is found


class Facet(NamedTuple):
    """q x <= high on the cells of a pair of type and slot."""

    place: IntArray  # (cells,) places in `Slots.entry`; q: (cells,) positive whole numbers
    q: IntArray
    high: int  # K_g times the largest q(S)


@inlined
def _mixture(point, member, m, rate, memory, capacity, capacity_mb, q):  # type: ignore[no-untyped-def]
    """Whether a point is no mixture of sets that fit; q, (m,) out, then is an inequality q x <= 1 that it breaks."""
    inverse = np.zeros((m, m))
    weight = np.empty(m)
    sizes, sizes_mb = np.empty(m, np.int64), np.empty(m, np.int64)
    for a in range(m):
        inverse[a, a] = 1.0
        weight[a] = point[member[a]]
        sizes[a], sizes_mb[a] = rate[member[a]], memory[member[a]]
    chosen, weighing, along = np.zeros(m, np.int64), np.full(1, -1, np.int64), np.empty(m)
    found = False
    for _ in range(PIVOTS):
        total = 0.0
        for a in range(m):
            total += weight[a]
        if total <= 1 + BROKEN:
            break
        for b in range(m):
            price = 0.0
            for a in range(m):
                price += inverse[a, b]
            q[b] = max(0.0, price)
        chosen[:] = 0
        if best_set(q, sizes, sizes_mb, m, capacity, capacity_mb, chosen, weighing) <= 1 + 1e-7:
            found = True
            break
        leaves, least = -1, np.inf
        for a in range(m):
            along[a] = 0.0
            for b in range(m):
                if chosen[b] == 1:
                    along[a] += inverse[a, b]
            if along[a] > 1e-9:
                ratio = max(0.0, weight[a]) / along[a]
                if ratio < least - 1e-12 or (ratio < least + 1e-12 and along[a] > along[leaves]):
                    leaves, least = a, min(ratio, least)
        if leaves < 0:
            break
        for b in range(m):
            inverse[leaves, b] /= along[leaves]
        for a in range(m):
            if a != leaves and along[a] != 0.0:
                for b in range(m):
                    inverse[a, b] -= along[a] * inverse[leaves, b]
                weight[a] -= along[a] * least
        weight[leaves] = least
    return found


@inlined
def _round_facet(q, n, whole):  # type: ignore[no-untyped-def]
    """whole : (n,) out: whole numbers in the proportion of q, exactly where a small denominator does it."""
    for denominator in range(1, DENOMINATORS):
        away = 0.0
        for a in range(n):
            scaled = q[a] * denominator
            whole[a] = int(np.rint(scaled))
            away = max(away, abs(scaled - whole[a]))
        if away < 1e-5 * denominator**0.5:
            return
    for a in range(n):
        whole[a] = int(np.floor(q[a] * LEVELS + 1e-9))


@compiled
def separate(s, rate, memory, nodes, compute, capacity_mb, x, q, high):  # type: ignore[no-untyped-def]
    """A facet that x breaks of each pair: q, (cells,) whole coefficients; high, (pairs,) the most on a node, or 0."""
    size = 1
    for j in range(len(s.kind)):
        size = max(size, s.start[j + 1] - s.start[j])
    point, value, part = np.empty(size), np.empty(size), np.empty(size)
    member, chosen, weighing = np.empty(size, np.int64), np.zeros(size, np.int64), np.full(1, -1, np.int64)
    for j in range(len(s.kind)):
        at, n, g = s.start[j], s.start[j + 1] - s.start[j], s.kind[j]
        high[j] = 0
        m, load, load_mb = 0, 0, 0
        for a in range(n):
            point[a] = x[at + a] / nodes[g]
            if point[a] > 1e-7:
                member[m] = a
                m += 1
                load += rate[at + a]
                load_mb += memory[at + a]
        if load <= compute[g] and load_mb <= capacity_mb[g]:
            continue
        rates, sizes_mb = rate[at : at + n], memory[at : at + n]
        if not _mixture(point, member, m, rates, sizes_mb, compute[g], capacity_mb[g], part):
            continue
        for a in range(n):
            value[a] = 0.0
        for a in range(m):
            value[member[a]] = part[a]
        for a in range(n):  # the zeros are lifted one after the other
            if value[a] < 1e-9:
                value[a] = n + 1.0
                chosen[:] = 0
                weighing[0] = -1
                worth = best_set(value, rates, sizes_mb, n, compute[g], capacity_mb[g], chosen, weighing)
                value[a] = max(0.0, 1.0 - (worth - value[a])) if chosen[a] == 1 else 0.0
        whole = q[at : at + n]
        _round_facet(value, n, whole)
        total = 0.0
        for a in range(n):
            value[a] = float(whole[a])
            total += value[a] * point[a]
        chosen[:] = 0
        weighing[0] = -1
        most = int(np.rint(best_set(value, rates, sizes_mb, n, compute[g], capacity_mb[g], chosen, weighing)))
        if total > most * (1 + BROKEN / 2):
            high[j] = most


class Separator:
    def __init__(self, p: Pool, s: Slots) -> None:
        self.pool, self.slots = p, s
        self._weighing = np.full(len(s.kind), -1)
        self.rate, self.memory = p.rate[s.entry], p.memory[s.owner[s.entry]]
        self._q, self._high = np.zeros(len(s.entry), np.int64), np.zeros(len(s.kind), np.int64)

    def best(self, j: int, value: Floats) -> tuple[float, IntArray]:
        """Largest value of a set, and its members' places in the pair."""
        here = slice(int(self.slots.start[j]), int(self.slots.start[j + 1]))
        g, n = int(self.slots.kind[j]), len(value)
        chosen = np.zeros(n, np.int64)
        rate, memory = self.rate[here], self.memory[here]
        weighing = self._weighing[j : j + 1]
        worth = best_set(value, rate, memory, n, self.pool.compute[g], self.pool.capacity_mb[g], chosen, weighing)
        return float(worth), np.flatnonzero(chosen)

    def knapsacks(self) -> list[Facet]:
        """(4f) and (4g) of every pair in which they can bind."""
        found = []
        for j in range(len(self.slots.kind)):
            here = np.arange(self.slots.start[j], self.slots.start[j + 1])
            g = int(self.slots.kind[j])
            nodes = int(self.pool.nodes[g])
            for q, capacity in ((self.rate[here], self.pool.compute[g]), (self.memory[here], self.pool.capacity_mb[g])):
                if q.sum() > nodes * capacity:
                    found.append(Facet(here, q, nodes * int(capacity)))
        return found

    def separate(self, x: Floats) -> list[Facet]:
        """Facets that x, (cells,) how far each cell is used, breaks, at most one of each pair."""
        p, s = self.pool, self.slots
        separate(s, self.rate, self.memory, p.nodes, p.compute, p.capacity_mb, x, self._q, self._high)
        found = []
        for j in np.flatnonzero(self._high).tolist():
            here = np.arange(s.start[j], s.start[j + 1])
            q = self._q[here]
            keep = np.flatnonzero(q)
            found.append(Facet(here[keep], q[keep], int(p.nodes[s.kind[j]] * self._high[j])))
        return found

    def supports(self, price: Floats) -> list[Facet]:
        """q x <= K_g max_S q(S) with q in the proportion of the prices, of every pair: they attain its bound."""
        found = []
        for j in range(len(self.slots.kind)):
            here = np.arange(self.slots.start[j], self.slots.start[j + 1])
            row = price[self.slots.entry[here], self.slots.slot[j]]
            if row.max(initial=0.0) <= 0:
                continue
            q = np.floor(row / row.max() * 50_000).astype(np.int64)
            high = round(self.best(j, q.astype(np.float64))[0])
            keep = np.flatnonzero(q)
            found.append(Facet(here[keep], q[keep], int(self.pool.nodes[self.slots.kind[j]]) * high))
        return found
