"""The pooled Lagrangian bound: dual prices per node type and slot, and a proof in integers.

With prices lambda, phi >= 0 of (4f) and (4g), summed over the nodes of a type, every task chooses its best schedule:
D(lambda, phi) = sum_gt K_g (C_p lambda + (C_m - r_b) phi) + sum_i max(0, max_l F'_il). Where the maximal patterns of a
type are known, each class has a price pi instead, and D(pi) = sum_gt K_g max_n sum_c n_c pi_cgt + sum_i max(0, max_l
F'_il), the dual of the configuration programme. Weak duality makes either an upper bound on OPT for any prices: they
are searched for in doubles by the method of multipliers (prices, plus a penalty on overload that shrinks, follow the
tasks' answers one after the other), rounded to integers, and evaluated exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.kernels import compiled_in_place
from ratiobench.formulations.lora.bound.patterns import ACTIVE, Patterns, node_patterns, node_values, supplies
from ratiobench.formulations.lora.bound.pricing import (
    Pool,
    Pricer,
    base_cost,
    cheapest,
    class_cells,
    fill,
    places,
    trace,
)
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora.model import IntArray

Prices = NDArray[np.float64]

ROUNDS, CLASS_ROUNDS = 48, 48  # Rounds of the method of multipliers, before and after classes have prices of their own
# From this many tasks on the prices have settled after these rounds; below it effort up to 4 adds more of them
MANY = 1_000
PORTIONS = 4  # Parts of a round between which the mixtures of patterns follow the demand
SUPPLY_STEPS, FIRST_SUPPLY_STEPS = 4, 100
# Penalties, as fractions of the median bid per node and slot
_FIRST_PENALTY, _CLASS_PENALTY, LAST_PENALTY = 0.1, 0.03, 0.003
_MEMORY_OF_PRICES = 0.7
_UNIT_BITS = 20
_HEADROOM = 2**61


def never_over() -> bool:
    return False


class DualBound(NamedTuple):
    upper: int  # micro-dollars, floor of the exact dual value
    lam: IntArray  # lam, phi: (G, T) integer prices in 1/unit micro-dollars per sample and per MB
    phi: IntArray
    pi: IntArray  # (C, T) integer prices in 1/unit micro-dollars of a cell of each class, on top of the others
    rent: Prices  # (C, T) micro-dollars that a cell of each class pays in all, as doubles
    unit: int  # a power of two
    passes: int  # pricing passes made
    # the method of multipliers where it ended, with its pooled answer; None when it was not run.
    state: Multipliers | None = None


class Capacity:
    """What the nodes of a pool hold: one is worth its best pattern where they are known, else its parts."""

    def __init__(self, p: Pool) -> None:
        self.pool = p
        self.patterns = node_patterns(p)

    def listed(self) -> list[Patterns]:
        return [each for each in self.patterns if each is not None]

    def split(self, rent: Prices, lam: Prices, phi: Prices) -> tuple[Prices, Prices, Prices]:
        """(lam, phi, pi) of the same rents, classes of types with patterns all in pi, of others all in lam and phi."""
        lam, phi, pi = lam.copy(), phi.copy(), np.zeros_like(rent)
        for g, each in enumerate(self.patterns):
            if each is not None:
                lam[g] = phi[g] = 0.0
                pi[each.first : each.last] = rent[each.first : each.last]
        return lam, phi, pi

    def value(self, rent: Prices, lam: Prices, phi: Prices) -> float:
        """Sum of K_g times a node's worth over types and slots, in doubles."""
        p = self.pool
        total = 0.0
        for g, each in enumerate(self.patterns):
            if each is not None:
                worth = node_values(each.cells, rent[each.first : each.last])
            else:
                worth = p.compute[g] * lam[g] + p.capacity_mb[g] * phi[g]
            total += float(p.nodes[g]) * float(worth.sum())
        return total

    def worth(self, lam: IntArray, phi: IntArray, pi: IntArray) -> int:
        """Sum of K_g times a node's worth over types and slots, exactly."""
        p = self.pool
        total = 0
        for g, each in enumerate(self.patterns):
            node = int(p.compute[g]) * sum(lam[g].tolist()) + int(p.capacity_mb[g]) * sum(phi[g].tolist())
            if each is not None:
                node += sum(node_values(each.cells, pi[each.first : each.last]).tolist())
            total += int(p.nodes[g]) * node
        return total

    def proved(self, pricer: Pricer, rent: Prices, lam: Prices, phi: Prices) -> DualBound:
        """The bound at the prices rounded to integers; every step in integers with room to spare."""
        p = self.pool
        parts = self.split(rent, lam, phi)
        bits = _UNIT_BITS
        while True:
            unit = 1 << bits
            whole_lam, whole_phi, pi = (np.rint(np.minimum(part, 2.0**40) * unit).astype(np.int64) for part in parts)
            size, memory = p.class_rate.astype(object)[:, None], p.class_memory.astype(object)[:, None]
            exact = pi + size * whole_lam.astype(object)[p.class_kind] + memory * whole_phi.astype(object)[p.class_kind]
            if _largest(p, int(exact.max(initial=0)), unit) < _HEADROOM:
                break
            if bits == 0:
                raise OverflowError("bids, costs and prices leave no room in 64 bits")
            bits -= 1
        whole = exact.astype(np.int64).reshape(pi.shape)
        total = sum(pricer.integers(whole, unit).tolist()) + self.worth(whole_lam, whole_phi, pi)
        return DualBound(total // unit, whole_lam, whole_phi, pi, whole / unit, unit, 1)


def _largest(p: Pool, rent: int, unit: int) -> int:
    """An upper bound on every number in the pricing of any task and the value of any pattern, in Python integers."""
    if p.tasks == 0:
        return 0
    cost = int(np.abs(p.table_cost).max(initial=0))
    for g in range(len(p.nodes)):
        cost = max(cost, int(p.energy[:, g].max()) * int(np.abs(p.tariff[g]).max()))
    cells = max(int(p.width.max()), max(int(p.compute[g]) // int(p.class_rate.min()) for g in range(len(p.nodes))))
    return cells * (unit * cost + rent) + unit * (int(p.bid.max()) + int(p.price.max()))


def alone_bound(p: Pool) -> int:
    """Sum over tasks of the best net value alone on an empty cluster, micro-dollars."""
    if _largest(p, 0, 1) >= _HEADROOM:
        raise OverflowError("bids, costs and prices leave no room in 64 bits")
    nothing = np.zeros((len(p.class_kind), p.tariff.shape[1]), np.int64)
    return sum(Pricer(p).integers(nothing, 1).tolist())


def dual_bound(pricer: Pricer, effort: int = 1, over: Callable[[], bool] = never_over) -> DualBound:
    """The best bound that some rounds find, first with prices of compute and memory, then of classes of cells."""
    p = pricer.pool
    effort = min(effort, 4) if p.tasks < MANY else 1
    state = Multipliers(pricer)
    if p.tasks == 0:
        return state.proved()
    state.descend(ROUNDS, _FIRST_PENALTY, over)
    rounds, more = ROUNDS, ROUNDS
    if state.capacity.listed():
        state.by_class()
        state.descend(CLASS_ROUNDS, _CLASS_PENALTY, over)
        rounds, more = rounds + CLASS_ROUNDS, CLASS_ROUNDS
    # More effort goes on from here for the bound alone: the search always begins at the same prices and answers, so
    # that neither end of the interval can get worse.
    settled, rent = state.copy(), state.proved().rent
    for _ in range(effort - 1):
        if over():
            break
        state.descend(more, _CLASS_PENALTY, over)
        rounds += more
    return state.proved()._replace(passes=rounds + 1, rent=rent, state=settled)


@compiled_in_place
def _answer(p, link, share, order, price, penalty, limit, used, at, pooled, chosen, cost, usable, table):  # type: ignore[no-untyped-def]
    """Each task in turn leaves, and takes its best schedule at prices plus the penalty on overload."""
    half = 0.5 / penalty
    for i in order:
        begin = p.type_start[i]
        types = p.type_start[i + 1] - begin
        width = p.width[i]
        first = p.first[i]
        for t in range(width):
            g = pooled[at[i] + t]
            if g >= 0:
                c = p.klass[begin + g]
                for j in range(len(link)):
                    if link[j, c] >= 0:
                        used[link[j, c], first + t] -= share[j, c, first + t]
        for g in range(types):
            kind = p.kind[begin + g]
            c = p.klass[begin + g]
            line = cost[g]
            for t in range(width):
                line[t] = base_cost(p, i, kind, first + t)
            for j in range(len(link)):
                if link[j, c] >= 0:
                    shares = share[j, c, first:]
                    prices = price[link[j, c], first:]
                    loads = used[link[j, c], first:]
                    limits = limit[link[j, c], first:]
                    for t in range(width):
                        rent = prices[t] + penalty * (loads[t] - limits[t])
                        before = max(0.0, rent)
                        after = max(0.0, rent + penalty * shares[t])
                        line[t] += (after * after - before * before) * half
        fill(p, i, cost, usable, np.inf, table)
        total, option, x = cheapest(p, i, 1.0, np.inf, table)
        for t in range(width):
            pooled[at[i] + t] = -1
        if option >= 0 and p.bid[i] - total > 0:
            trace(p, i, cost, usable, np.inf, table, option, x, chosen)
            for t in range(width):
                g = chosen[t]
                pooled[at[i] + t] = g
                if g >= 0:
                    c = p.klass[begin + g]
                    for j in range(len(link)):
                        if link[j, c] >= 0:
                            used[link[j, c], first + t] += share[j, c, first + t]


def value_density(p: Pool) -> NDArray[np.float64]:
    """(n,) bid per node and slot that the task needs at least, by compute or memory, whichever binds."""
    density = np.empty(p.tasks)
    for i in range(p.tasks):
        span = slice(int(p.type_start[i]), int(p.type_start[i + 1]))
        kinds, rates = p.kind[span], p.rate[span]
        need = -(-p.work[i] // rates) * np.maximum(rates / p.compute[kinds], p.memory[i] / p.capacity_mb[kinds])
        density[i] = p.bid[i] / need.min()
    return density


class Multipliers:
    """The method of multipliers on the pooled problem, one round at a time.

    A row is what has a price in every slot. At first a node type has two, compute (4f) and memory (4g); after
    `by_class` a type with patterns has one for each class, whose limit is what a mixture of patterns supplies, which
    follows the demand.
    """

    def __init__(self, pricer: Pricer, capacity: Capacity | None = None) -> None:
        p = pricer.pool
        kinds, slots = p.tariff.shape
        self._pricer = pricer
        self.capacity = Capacity(p) if capacity is None else capacity
        self.link = np.stack([2 * p.class_kind, 2 * p.class_kind + 1])  # rows that a class's cell loads, -1 for none
        self.share = np.empty((2, len(p.class_kind), slots))  # nodes that it takes there
        self.share[0] = (p.class_rate / p.compute[p.class_kind])[:, None]
        self.share[1] = (p.class_memory / p.capacity_mb[p.class_kind])[:, None]
        self.nodes = np.empty((kinds, slots))  # to be filled; less than there are where packing cannot use them
        self.nodes[:] = p.nodes[:, None]
        self.limit = np.repeat(self.nodes, 2, axis=0)  # nodes of them that each row may take
        self.unit = max(1.0, float(np.median(value_density(p)))) if p.tasks else 1.0
        self.price = np.zeros((2 * kinds, slots))  # micro-dollars for a whole node and slot
        self.average = np.zeros((2 * kinds, slots))  # the price smoothed exponentially
        self.pooled = np.full(int(p.width.sum()), -1, np.int64)  # local type of a task in a slot, -1 for none
        self.used = np.zeros((2 * kinds, slots))  # nodes that the pooled answer takes
        self.mixed: dict[int, tuple[IntArray, Prices]] = {}
        self.least, self.best = np.inf, self._rent_and_prices()
        self._at = places(p)
        self._stream = Stream("multipliers", p.tasks)
        width = int(p.width.max(initial=1))
        self._scratch = (
            np.empty(width, np.int64), np.empty((kinds, width)), np.ones((kinds, width), np.bool_), np.empty(p.table)
        )  # fmt: skip

    def copy(self) -> Multipliers:
        twin = Multipliers(self._pricer, self.capacity)
        for name in ("link", "share", "nodes", "limit", "price", "average", "pooled", "used"):
            setattr(twin, name, getattr(self, name).copy())
        twin.mixed = {g: (index.copy(), mass.copy()) for g, (index, mass) in self.mixed.items()}
        twin.unit, twin.least, twin.best = self.unit, self.least, self.best
        return twin

    def round(self, penalty: float) -> None:
        """All tasks answer in a random order, then prices follow the overload; penalty in units of the median bid."""
        p = self._pricer.pool
        penalty *= self.unit
        order = np.argsort(self._stream.words(p.tasks), kind="stable")
        for part in np.array_split(order, PORTIONS if self.mixed else 1):
            _answer(
                p, self.link, self.share, part, self.price, penalty, self.limit, self.used, self._at, self.pooled,
                *self._scratch,
            )  # fmt: skip
            self.supply(penalty, SUPPLY_STEPS)
        self.price = np.maximum(0.0, self.price + penalty * (self.used - self.limit))
        self.average = _MEMORY_OF_PRICES * self.average + (1 - _MEMORY_OF_PRICES) * self.price

    def descend(self, rounds: int, first: float, over: Callable[[], bool]) -> None:
        """Some rounds whose penalty falls from `first` to the last one; the prices of least dual value are kept."""
        for done in range(rounds):
            self.round(first * (LAST_PENALTY / first) ** (done / max(1, rounds - 1)))
            last = done == rounds - 1 or over()
            if done % 8 == 7 or last:
                rent, lam, phi = self._rent_and_prices()
                value = self.capacity.value(rent, lam, phi) + float(self._pricer.floats(rent).surplus.sum())
                if value < self.least:
                    self.least, self.best = value, (rent, lam, phi)
            if last:
                break

    def _rent_and_prices(self) -> tuple[Prices, Prices, Prices]:
        """(C, T) rent of a cell of each class at the smoothed prices, (G, T) per sample, (G, T) per MB."""
        p = self._pricer.pool
        rent: Prices = np.zeros((len(p.class_kind), p.tariff.shape[1]))
        for link, share in zip(self.link, self.share, strict=True):
            rent += np.where(link[:, None] >= 0, self.average[link] * share, 0.0)
        kinds = len(p.nodes)
        resource = self.average[: 2 * kinds].reshape(kinds, 2, -1)
        return rent, resource[:, 0] / p.compute[:, None], resource[:, 1] / p.capacity_mb[:, None]

    def proved(self) -> DualBound:
        return self.capacity.proved(self._pricer, *self.best)

    def by_weight(self) -> Multipliers:
        """A method with one more row per type with patterns: a class weighs its part of the best pattern's pay."""
        p = self._pricer.pool
        twin = Multipliers(self._pricer, self.capacity)
        kinds, slots = p.tariff.shape
        rent = self.best[0]
        weights = np.zeros((1, *rent.shape))
        price = np.zeros((3 * kinds, slots))
        for g, each in enumerate(self.capacity.patterns):
            if each is None:
                price[2 * g], price[2 * g + 1] = self.price[2 * g], self.price[2 * g + 1]
            else:
                worth = node_values(each.cells, rent[each.first : each.last])
                price[2 * kinds + g] = worth
                weights[0, each.first : each.last] = rent[each.first : each.last] / np.maximum(worth, 1e-300)
        twin.link = np.concatenate([twin.link, (2 * kinds + p.class_kind)[None]])
        twin.share = np.concatenate([twin.share, weights])
        twin.limit = np.concatenate([twin.limit, twin.nodes])
        twin.price, twin.average = price, price.copy()
        twin.pooled = self.pooled.copy()
        twin.used = twin.count_nodes(class_cells(p, self.pooled))
        return twin

    def count_nodes(self, count: Prices) -> Prices:
        """(R, T) nodes that so many cells (C, T) take, by row."""
        taken = np.zeros_like(self.limit)
        for link, share in zip(self.link, self.share, strict=True):
            here = link >= 0
            np.add.at(taken, link[here], (count * share)[here])
        return taken

    def by_class(self) -> None:
        """Give the types with patterns a row for each class, at the price that its cells pay so far."""
        p = self._pricer.pool
        kinds = len(p.nodes)
        count = class_cells(p, self.pooled)
        rows = [(self.price, self.average, self.used, self.limit)]
        row = 2 * kinds
        for g, each in enumerate(self.capacity.patterns):
            if each is None:
                continue
            classes = slice(each.first, each.last)
            share = self.share[:, classes].max(axis=0)
            moved = []
            for prices in (self.price, self.average):
                paid = (prices[self.link[:, classes]] * self.share[:, classes]).sum(axis=0)
                moved.append(paid / share)
                prices[2 * g : 2 * g + 2] = 0.0
            rows.append((*moved, count[classes] * share, np.zeros_like(share)))
            self.link[0, classes] = np.arange(row, row + len(share))
            self.link[1, classes] = -1
            self.share[0, classes] = share
            row += len(share)
            slots = p.tariff.shape[1]
            self.mixed[g] = (np.full((slots, ACTIVE), -1, np.int64), np.zeros((slots, ACTIVE)))
        self.price, self.average, self.used, self.limit = (np.concatenate(part) for part in zip(*rows, strict=True))
        self.supply(_CLASS_PENALTY * self.unit, FIRST_SUPPLY_STEPS)

    def supply(self, penalty: float, steps: int) -> None:
        """Let the mixtures of patterns follow the demand; penalty in micro-dollars."""
        for g, (index, mass) in self.mixed.items():
            each = self.capacity.patterns[g]
            assert each is not None
            classes = slice(each.first, each.last)
            first = int(self.link[0, each.first])
            rows = slice(first, first + each.last - each.first)
            supplies(
                each.cells.astype(np.float64), self.share[0, classes, 0].copy(), self.nodes[g], self.price[rows],
                self.used[rows], penalty, steps, index, mass, self.limit[rows],
            )  # fmt: skip
