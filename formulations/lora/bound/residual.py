"""What single nodes have left, as a capacity of their type: the bound on a batch of tasks, and its relaxation.

Residual capacities differ from node to node and slot to slot. Every class of cells (node type, samples, megabytes) has
a price per slot, and a node is worth the best set of cells that fits into what it has left, found by branch and bound
in integers: the dual of the configuration programme. The same best sets, with other weights for cells, give the
capacities of an integer program in which a type's nodes are one pool.
"""

from __future__ import annotations

import numpy as np

from ratiobench.formulations.kernels import compiled, inner_allocating, sort_stably
from ratiobench.formulations.lora.bound.lagrangian import Capacity, DualBound, Multipliers, Prices, never_over
from ratiobench.formulations.lora.bound.pricing import Pool, Pricer, class_cells
from ratiobench.instances.lora.model import IntArray

RENT_LEVELS = 10_000  # Rents are rounded to so many levels in the integer program; any weights of cells make valid rows


STEPS = 2_000  # Steps of one node's branch and bound; beyond them the node is worth what its fractional bound says


# Rounds of the method of multipliers, and its first penalty, with compute and memory as resources
ROUNDS, FIRST_PENALTY = 40, 0.1


# How often the prices found so far become a resource of their own, and the rounds and the first penalty then
WEIGHTED, WEIGHTED_ROUNDS, WEIGHTED_PENALTY = 3, 24, 0.02


@inner_allocating
def best_fill(rent, rate, memory, most, free, free_mb, steps):  # type: ignore[no-untyped-def]
    """At least, and but for the limit on steps exactly, the largest rent of cells that fit into one node.

    `rent`, `rate`, `memory`, `most`: (classes,) of a cell, and how many cells of the class there are.
    """
    result = np.empty(len(rent), np.int64)
    by = np.empty(len(rent), np.float64)
    count = 0
    for c in range(len(rent)):
        if rent[c] > 0 and most[c] > 0 and rate[c] <= free and memory[c] <= free_mb:
            result[count] = c
            by[count] = -rent[c] / (rate[c] / free + memory[c] / free_mb)
            count += 1
    if count == 0:
        return np.int64(0)
    order = sort_stably(by[:count])
    for level in range(count):
        order[level] = result[order[level]]
    # What is left of the classes from a level on is worth at most so much per sample, per MB, and in all.
    dear = np.zeros(count + 1, np.float64)
    dear_mb = np.zeros(count + 1, np.float64)
    rest = np.zeros(count + 1, np.float64)
    for level in range(count - 1, -1, -1):
        c = order[level]
        dear[level] = max(dear[level + 1], rent[c] / rate[c])
        dear_mb[level] = max(dear_mb[level + 1], rent[c] / memory[c])
        rest[level] = rest[level + 1] + float(rent[c]) * most[c]
    slack = 1.0 + 1e-9
    whole = min(min(dear[0] * free, dear_mb[0] * free_mb), rest[0]) * slack + 1.0
    taken = np.zeros(count, np.int64)
    value = np.int64(0)
    best = np.int64(0)
    level = 0
    down = True
    while True:
        steps -= 1
        if steps < 0:
            return max(best, np.int64(whole))
        if down:
            if level < count:
                bound = min(min(dear[level] * free, dear_mb[level] * free_mb), rest[level]) * slack + 1.0
                if value + bound > best + 1.0:
                    c = order[level]
                    taken[level] = min(most[c], min(free // rate[c], free_mb // memory[c]))
                    value += taken[level] * rent[c]
                    free -= taken[level] * rate[c]
                    free_mb -= taken[level] * memory[c]
                    level += 1
                    continue
            if value > best:
                best = value
        down = False
        level -= 1
        if level < 0:
            return best
        if taken[level] > 0:
            c = order[level]
            taken[level] -= 1
            value -= rent[c]
            free += rate[c]
            free_mb += memory[c]
            level += 1
            down = True


@compiled
def worth(rent, p, first_node, present, free, free_mb, steps):  # type: ignore[no-untyped-def]
    """(G, T) the sum over a type's nodes of the best set of cells in a slot; exact integers, or a little above.

    `rent`: (C, T) int64 prices of a cell; `present`: (C, T) tasks of the class whose windows contain the slot; `free`,
    `free_mb`: (K, T) what is left.
    """
    kinds, slots = p.tariff.shape
    total = np.zeros((kinds, slots), np.int64)
    for g in range(kinds):
        low = 0
        high = 0
        for c in range(len(p.class_kind)):
            low += p.class_kind[c] < g
            high += p.class_kind[c] <= g
        if low == high:
            continue
        line = np.empty(high - low, np.int64)
        most = np.empty(high - low, np.int64)
        nodes = first_node[g + 1] - first_node[g]
        seen = np.empty((nodes, 2), np.int64)
        value = np.empty(nodes, np.int64)
        for t in range(slots):
            dearest = 0
            for c in range(low, high):
                line[c - low] = rent[c, t]
                most[c - low] = present[c, t]
                dearest = max(dearest, rent[c, t])
            if dearest <= 0:
                continue
            count = 0
            for k in range(first_node[g], first_node[g + 1]):
                capacity_left, memory_left = free[k, t], free_mb[k, t]
                if capacity_left <= 0 or memory_left <= 0:
                    continue
                a = 0
                while a < count and (seen[a, 0] != capacity_left or seen[a, 1] != memory_left):
                    a += 1
                if a == count:
                    seen[a, 0] = capacity_left
                    seen[a, 1] = memory_left
                    value[a] = best_fill(
                        line, p.class_rate[low:high], p.class_memory[low:high], most, capacity_left, memory_left, steps
                    )
                    count += 1
                total[g, t] += value[a]
    return total


class Residual(Capacity):
    """What the nodes have left, and what that is worth at given prices of the classes.

    `free`, `free_mb`: (K, T) samples and MB.
    """

    def __init__(self, p: Pool, free: IntArray, free_mb: IntArray) -> None:
        self.pool = p
        self.patterns = (None,) * len(p.nodes)
        self.free, self.free_mb = np.ascontiguousarray(free), np.ascontiguousarray(free_mb)
        self.first_node = np.concatenate([[0], np.cumsum(p.nodes)]).astype(np.int64)
        self.present = np.zeros((len(p.class_kind), p.tariff.shape[1]), np.int64)
        for i in range(p.tasks):
            for entry in range(p.type_start[i], p.type_start[i + 1]):
                self.present[p.klass[entry], p.first[i] : p.first[i] + p.width[i]] += 1

    def hosts(self, c: int) -> IntArray:
        """(nodes, T) how many cells of a class alone each node of its type can take."""
        p = self.pool
        nodes = slice(self.first_node[p.class_kind[c]], self.first_node[p.class_kind[c] + 1])
        found: IntArray = np.minimum(self.free[nodes] // p.class_rate[c], self.free_mb[nodes] // p.class_memory[c])
        return found

    def fills(self, rent: IntArray) -> IntArray:
        """(G, T) what the best sets of cells of all nodes of a type pay together at integer rents (C, T)."""
        found: IntArray = worth(rent, self.pool, self.first_node, self.present, self.free, self.free_mb, STEPS)
        return found

    def whole(self, rent: Prices) -> tuple[IntArray, int]:
        """The rents in 1/unit micro-dollars, rounded, with a unit that leaves every sum of a proof room in 64 bits."""
        p = self.pool
        cost = int(np.abs(p.table_cost).max(initial=0))
        for g in range(len(p.nodes)):
            cost = max(cost, int(p.energy[:, g].max(initial=0)) * int(np.abs(p.tariff[g]).max()))
        cells = max(int(p.width.max(initial=1)), p.tasks) * (int(p.nodes.sum()) * p.tariff.shape[1] + 1)
        money = int(np.abs(p.bid).max(initial=0)) + int(p.price.max(initial=0))
        for bits in range(20, -1, -1):
            unit = 1 << bits
            found = np.rint(np.minimum(rent, 2.0**40) * unit).astype(np.int64)
            if cells * (unit * cost + int(found.max(initial=0))) + p.tasks * unit * money < 2**61:
                return found, unit
        raise OverflowError("bids, costs and prices leave no room in 64 bits")

    def value(self, rent: Prices, lam: Prices, phi: Prices) -> float:
        """What the nodes are worth in micro-dollars; the classes' rents say it all."""
        whole, unit = self.whole(rent)
        return float(self.fills(whole).sum()) / unit

    def proved(self, pricer: Pricer, rent: Prices, lam: Prices, phi: Prices) -> DualBound:
        """The bound at the rents rounded to integers, every step in integers with room to spare."""
        whole, unit = self.whole(rent)
        total = sum(pricer.integers(whole, unit).tolist()) + sum(self.fills(whole).reshape(-1).tolist())
        none = np.zeros(self.pool.tariff.shape, np.int64)
        return DualBound(total // unit, none, none, whole, whole / unit, unit, 1)


def residual_bound(pricer: Pricer, capacity: Residual) -> DualBound:
    """The best bound that the method of multipliers finds.

    First compute and memory have prices, with what the nodes can really take of each as limits. Then, a few times, the
    rents found so far become one more resource: a cell takes as much of it as it pays, and a node holds as much as its
    best set of cells pays.
    """
    p = pricer.pool
    kinds, slots = p.tariff.shape
    state = Multipliers(pricer, capacity)
    state.limit[0::2] = capacity.fills(repeat_slots(p.class_rate, slots)) / p.compute[:, None]
    state.limit[1::2] = capacity.fills(repeat_slots(p.class_memory, slots)) / p.capacity_mb[:, None]
    state.descend(ROUNDS, FIRST_PENALTY, never_over)
    for _ in range(WEIGHTED):
        rent = state.best[0]
        whole, scale = capacity.whole(rent)
        held = capacity.fills(whole) / scale
        unit = np.maximum(held / p.nodes[:, None], 1e-9 * state.unit)
        twin = Multipliers(pricer, capacity)
        twin.link = np.concatenate([twin.link, (2 * kinds + p.class_kind)[None]])
        twin.share = np.concatenate([twin.share, (rent / unit[p.class_kind])[None]])
        twin.limit = np.concatenate([state.limit[: 2 * kinds], held / unit])
        twin.price = np.concatenate([np.zeros((2 * kinds, slots)), unit])
        twin.average = twin.price.copy()
        twin.pooled = state.pooled.copy()
        twin.used = twin.count_nodes(class_cells(p, twin.pooled))
        twin.least, twin.best = state.least, state.best
        state = twin
        state.descend(WEIGHTED_ROUNDS, WEIGHTED_PENALTY, never_over)
    return state.proved()


def repeat_slots(values: IntArray, slots: int) -> IntArray:
    """(C, T) the same values in every slot."""
    return np.ascontiguousarray(np.broadcast_to(values[:, None], (len(values), slots)))
