"""How nodes fill up: which share of a node a task takes, and what is wasted of a node by what is put on it.

The share of a task is what its cells pay at the dual prices of an earlier day, over what a whole node is worth there.
The waste W(x, y) of a node on which x samples and y MB are left is the part of it that is never used if each later task
is the best of `CHOICE` random ones: all that is left where no shape fits any more, else the mean of W after the best.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ratiobench.formulations.kernels import compiled, sort_stably
from ratiobench.formulations.lora.bound.lagrangian import Capacity, dual_bound
from ratiobench.formulations.lora.bound.patterns import node_values
from ratiobench.formulations.lora.bound.pricing import Pricer, pool
from ratiobench.instances.lora.history import choose
from ratiobench.instances.lora.model import Instance, IntArray, Public
from ratiobench.online.lora.learned.past import Floats, Past

SHAPES = 24  # Most shapes that past tasks are merged to, of each node type
GRID = 128  # Steps of what is left of a node's compute and of its memory
CHOICE = 3  # The best of so many tasks is put on a node
COMPUTE = 0.7  # Part of a node's worth that is its compute, where no earlier day tells; the rest is its memory
# Parts of it that they have at least where waste is told: what has no price today is not for nothing
LEAST_COMPUTE, LEAST_MEMORY = 0.3, 0.05
SAMPLE = 2000  # Tasks whose dual prices give the shares: a larger day is thinned, tasks and nodes alike
MOST_SIZES = 2**14  # Sizes of tasks whose shares are kept
STEP = 4096  # Shares are whole multiples of 1/STEP


class Shares(NamedTuple):
    """What tasks pay on one node type over what a node is worth."""

    rate: IntArray  # rate, memory, share: (m,) classes of a day that has few, each with its share; else none
    memory: IntArray
    share: Floats
    linear: tuple[float, float]  # share of all of a node's compute, and of all of its memory


def find_shares(day: Instance) -> list[Shares]:
    """The shares on each node type at the dual prices of a day; each type's compute alone where nothing has a price."""
    every = -(-day.tasks // SAMPLE)
    p = pool(thin_instance(day, every) if every > 1 else day)
    bound = dual_bound(Pricer(p, parallel=False))
    found = []
    for g, patterns in enumerate(Capacity(p).patterns):
        compute, memory = float(p.compute[g]), float(p.capacity_mb[g])
        nothing = np.zeros(0, np.int64)
        if patterns is not None:
            rent = np.ascontiguousarray(bound.rent[patterns.first : patterns.last])
            worth = float(node_values(patterns.cells, rent).sum())
            if worth > 0:
                here = slice(patterns.first, patterns.last)
                share = np.rint(rent.sum(axis=1) / worth * STEP) / STEP
                found.append(Shares(p.class_rate[here], p.class_memory[here], share, (1.0, 0.0)))
                continue
        lam, phi = compute * float(bound.lam[g].sum()), memory * float(bound.phi[g].sum())
        part = float(np.rint(lam / (lam + phi) * STEP) / STEP) if lam + phi > 0 else 1.0
        found.append(Shares(nothing, nothing, nothing.astype(float), (part, 1.0 - part)))
    return found


def thin_instance(day: Instance, every: int) -> Instance:
    """Every so many-th task on as many times fewer nodes, at least one of a type."""
    nodes = tuple(replace(kind, count=max(1, round(kind.count / every))) for kind in day.node_types)
    return replace(choose(day, np.arange(0, day.tasks, every)), node_types=nodes)


class Shapes(NamedTuple):
    """(m,) shapes of tasks on one node type."""

    rate: IntArray
    memory: IntArray
    demand: Floats  # node-slots that were asked for


def merge_shapes(past: Past, g: int, compute: int, memory_mb: int) -> Shapes:
    """The shapes of the past tasks on node type g: at most SHAPES."""
    able = past.rate[:, g] > 0
    shape = np.stack([past.rate[able, g], past.memory[able]], axis=1)
    slots = -(-past.work[able] // np.maximum(past.rate[able, g], 1))
    unique, place = np.unique(shape, axis=0, return_inverse=True)
    demand: Floats = np.bincount(place.reshape(-1), slots.astype(float), len(unique)).astype(float)
    if len(unique) > SHAPES:
        unique, demand = _merge(unique, demand, compute, memory_mb)
    return Shapes(np.ascontiguousarray(unique[:, 0]), np.ascontiguousarray(unique[:, 1]), demand)


def _merge(unique: IntArray, demand: Floats, compute: int, memory_mb: int) -> tuple[IntArray, Floats]:
    """About SHAPES mean shapes, with their demand."""
    # What takes more of the compute and what takes more of the memory is cut by size into parts of the same demand.
    c, m = unique[:, 0] / compute, unique[:, 1] / memory_mb
    wide = np.maximum(c, m)
    merged, weights = [], []
    whole = (demand * wide).sum()
    for side in (c >= m, c < m):
        rows = np.flatnonzero(side)
        if len(rows) == 0:
            continue
        rows = rows[np.argsort(wide[rows], kind="stable")]
        mass = (demand * wide)[rows]
        parts = max(1, round((SHAPES - 1) * mass.sum() / whole))
        upto = np.cumsum(mass)
        part = np.minimum((upto - mass / 2) * parts // upto[-1], parts - 1)
        for each in np.unique(part):
            here = rows[part == each]
            weight = demand[here]
            merged.append(np.maximum(1, np.floor((unique[here] * weight[:, None]).sum(axis=0) / weight.sum())))
            weights.append(weight.sum())
    return np.array(merged).astype(np.int64), np.array(weights)


@compiled
def waste_table(rate, memory, demand, compute, memory_mb, part, choice):  # type: ignore[no-untyped-def]
    """(GRID+1, GRID+1) the expected waste by the steps of compute and memory that are left; `part`: compute's worth."""
    shapes = len(rate)
    table = np.zeros((GRID + 1, GRID + 1))
    value = np.empty(shapes)
    total = 0.0
    for c in range(shapes):
        total += demand[c]
    for i in range(GRID + 1):
        for j in range(GRID + 1):
            stop = part * i / GRID + (1.0 - part) * j / GRID
            fits = 0
            for c in range(shapes):
                x = i - rate[c] * GRID / compute
                y = j - memory[c] * GRID / memory_mb
                if x > -0.5 and y > -0.5:
                    # No shape is smaller than a step, so that the table is filled in one pass.
                    a = max(0, min(i - 1, int(x + 0.5)))
                    b = max(0, min(j - 1, int(y + 0.5)))
                    value[c] = table[a, b]
                    fits += 1
                else:
                    value[c] = stop + 1.0
            if fits == 0:
                table[i, j] = stop
                continue
            order = sort_stably(value)
            left = 1.0
            seen = 0.0
            mean = 0.0
            for z in range(fits):
                c = order[z]
                seen += demand[c] / total
                base = max(0.0, 1.0 - seen)
                later = 1.0
                for _ in range(choice):
                    later *= base
                mean += (left - later) * min(value[c], stop)
                left = later
            table[i, j] = mean + left * stop
    return table


@compiled
def find_best_filled(nu, share, weight, tables, compute, memory, cluster, types, rate, size, first, node, price):  # type: ignore[no-untyped-def]
    """Fill (G', W) the node with room of least dW, the first of equals, else -1, and the price of a cell there."""
    # dW: how much the expected waste of the node grows by the task. nu: the price of a whole node.
    first_node, capacity = cluster
    width = node.shape[1]
    least = np.empty(width)
    for z in range(len(types)):
        g = types[z]
        table = tables[g]
        fx = GRID / capacity[0, g]
        fy = GRID / capacity[1, g]
        here = node[z]
        for t in range(width):
            here[t] = -1
            least[t] = np.inf
        for k in range(first_node[g], first_node[g + 1]):
            for t in range(width):
                x = compute[k, first + t]
                y = memory[k, first + t]
                if rate[g] <= x and size <= y:
                    change = table[int((x - rate[g]) * fx), int((y - size) * fy)] - table[int(x * fx), int(y * fy)]
                    if change < least[t]:
                        least[t] = change
                        here[t] = k
        for t in range(width):
            waste = weight * least[t] if here[t] >= 0 else 0.0
            price[z, t] = max(0.0, np.floor(nu[g, first + t] * (share[g] + waste)))


class Filling:
    """Shares of tasks and waste tables on every node type."""

    # Without shares of an earlier day a task takes as much of a node as of what it takes most of.
    def __init__(self, past: Past, public: Public, shares: list[Shares] | None) -> None:
        self._compute, self._memory = public.compute, public.memory_mb
        self._known: dict[tuple[tuple[int, ...], int], Floats] = {}
        kinds = list(zip(public.compute.tolist(), public.memory_mb.tolist(), strict=True))
        self.known = shares
        self.tables = np.zeros((len(kinds), GRID + 1, GRID + 1))
        for g, kind in enumerate(kinds):
            each = merge_shapes(past, g, *kind)
            if len(each.rate):
                part = min(1.0 - LEAST_MEMORY, max(LEAST_COMPUTE, self.part(g)))
                self.tables[g] = waste_table(*each, *kind, part, CHOICE)

    def share_of(self, rate: tuple[int, ...], memory: int) -> Floats:
        """(G,) the share of a node that a task takes, as if its rate were 0 on types of less compute."""
        if (rate, memory) not in self._known:
            if len(self._known) >= MOST_SIZES:
                self._known.clear()
            rates = np.array(rate, np.int64)
            able: IntArray = np.where(rates <= self._compute, rates, 0)
            self._known[rate, memory] = self.shares(able[None], np.array([memory]))[0]
        return self._known[rate, memory]

    def shares(self, rate: IntArray, memory: IntArray) -> Floats:
        """(n, G) the share of a node that tasks take; it never falls as a task takes more."""
        found = np.zeros(rate.shape)
        for g in range(rate.shape[1]):
            size = np.stack([rate[:, g] / self._compute[g], memory / self._memory[g]], axis=1)
            known = None if self.known is None else self.known[g]
            if known is None:
                found[:, g] = size.max(axis=1)
            elif len(known.rate) == 0:
                found[:, g] = known.linear[0] * size[:, 0] + known.linear[1] * size[:, 1]
            else:
                found[:, g] = self._by_class(size, known, g)
        return found

    def _by_class(self, size: Floats, known: Shares, g: int) -> Floats:
        """(n,) the least share of the classes that are as large in both."""
        classes = np.stack([known.rate / self._compute[g], known.memory / self._memory[g]], axis=1)
        most = classes.max(axis=0)
        inside = np.minimum(size, most)  # what is larger than all is moved to the largest; its share grows as much
        holds = (classes >= inside[:, None]).all(axis=2)
        least = np.where(holds, known.share, np.inf).min(axis=1)
        # What is in none takes what it takes most of, or the largest share if that is more.
        share = np.where(holds.any(axis=1), least, max(float(most.max()), float(known.share.max())))
        return np.asarray(share * np.maximum(1.0, (size / most).max(axis=1)))

    def part(self, g: int) -> float:
        """The part of a node's worth that is its compute, such that shares are nearly linear in samples and MB."""
        if self.known is None:
            return COMPUTE
        known = self.known[g]
        if len(known.rate) == 0:
            return known.linear[0]
        c, m = known.rate / self._compute[g], known.memory / self._memory[g]
        apart = float(((c - m) ** 2).sum())
        best = float(((known.share - m) * (c - m)).sum()) / apart if apart > 0 else COMPUTE
        return float(np.rint(max(0.0, min(1.0, best)) * STEP) / STEP)
