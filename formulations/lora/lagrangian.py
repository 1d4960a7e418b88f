"""The pooled Lagrangian bound: dual prices per node type and slot, and a proof in integers.

Relaxing (4f) and (4g), summed over the nodes of a type, with prices lambda, phi >= 0 leaves every task to choose its
own best schedule: D(lambda, phi) = sum_gt K_g (C_p lambda + (C_m - r_b) phi) + sum_i max(0, max_l F'_il). Weak duality
makes this an upper bound on OPT for any prices, so they may be searched for in doubles; they are rounded to integers
and evaluated exactly.

The search is the method of multipliers on the pooled problem: tasks answer one after the other (Gauss-Seidel) to prices
plus a quadratic penalty on overfull (type, slot) pairs, prices follow the overload, the penalty shrinks geometrically.
A few rounds of the volume algorithm (Barahona and Anbil 2000) may polish the result. The pooled choices of the last
round nearly fit; they are where the search for solutions begins.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.lora.patterns import Weight, apply_weights, pattern_weights
from formulations.lora.pricing import PATTERN, Pool, Pricer, base_cost, cheapest, fill, trace
from instances.lora.model import IntArray
from instances.seeds import Stream

Prices = NDArray[np.float64]

ROUNDS = 48
"""Rounds of the method of multipliers per unit of effort."""
POLISH = 200
"""Passes of the volume algorithm per unit of effort, for pools of fewer tasks than POLISH_BELOW."""
POLISH_BELOW = 1_000
_FIRST_PENALTY, LAST_PENALTY = 0.1, 0.003
"""Penalties, as fractions of the median bid per node and slot."""
_MEMORY_OF_PRICES = 0.7
_UNIT_BITS = 20
_HEADROOM = 2**61


def never() -> bool:
    """A clock that never runs out."""
    return False


class DualBound(NamedTuple):
    """A proved upper bound on OPT with its prices.

    Parameters
    ----------
    upper : micro-dollars, floor of the exact dual value.
    price : (3, G, T) integer prices in 1/unit micro-dollars per sample, per MB and per unit of pattern weight.
    unit : a power of two.
    passes : pricing passes made.
    weights : the pattern weights behind the third price; none where that price is 0 everywhere.
    state : the method of multipliers where it ended, with its pooled answer; None when it was not run.
    """

    upper: int
    price: IntArray
    unit: int
    passes: int
    weights: tuple[Weight, ...] = ()
    state: Multipliers | None = None

    @property
    def prices(self) -> Prices:
        """(3, G, T) in micro-dollars, as doubles."""
        return self.price / self.unit

    @property
    def lam(self) -> IntArray:
        """(G, T) price of a sample."""
        column: IntArray = self.price[0]
        return column

    @property
    def phi(self) -> IntArray:
        """(G, T) price of a MB."""
        column: IntArray = self.price[1]
        return column

    @property
    def nu(self) -> IntArray:
        """(G, T) price of a unit of pattern weight."""
        column: IntArray = self.price[2]
        return column


def proved(pricer: Pricer, lam: Prices, phi: Prices, nu: Prices | None = None) -> DualBound:
    """The bound at the prices rounded to integers; every step in integers with room to spare.

    Parameters
    ----------
    lam, phi, nu : (G, T) micro-dollars per sample, per MB and per unit of pattern weight.
    """
    p = pricer.pool
    price = np.stack([lam, phi, np.zeros_like(lam) if nu is None else nu])
    bits = _UNIT_BITS
    while True:
        unit = 1 << bits
        whole = np.rint(np.minimum(price, 2.0**40) * unit).astype(np.int64)
        if _largest(p, whole, unit) < _HEADROOM:
            break
        if bits == 0:
            raise OverflowError("bids, costs and prices leave no room in 64 bits")
        bits -= 1
    total = sum(pricer.integers(whole, unit).tolist())
    for r, g in np.ndindex(p.capacity.shape):
        total += int(p.nodes[g]) * int(p.capacity[r, g]) * sum(whole[r, g].tolist())
    return DualBound(total // unit, whole, unit, 1)


def _largest(p: Pool, price: IntArray, unit: int) -> int:
    """An upper bound on every number in the pricing of any task, in Python integers."""
    if p.tasks == 0:
        return 0
    cost = int(np.abs(p.table_cost).max(initial=0))
    for g in range(len(p.nodes)):
        cost = max(cost, int(p.energy[:, g].max()) * int(np.abs(p.tariff[g]).max()))
    cell = unit * cost + sum(int(price[r].max()) * int(p.size[r].max()) for r in range(len(price)))
    return int(p.width.max()) * cell + unit * (int(p.bid.max()) + int(p.price.max()))


def dual_bound(pricer: Pricer, effort: int = 1, lower: int = 0, over: Callable[[], bool] = never) -> DualBound:
    """The best bound that `effort` * 48 rounds find (effort above 4 counts as 4: then the prices have settled).

    When the tasks fall into few classes, a part of the rounds prices patterns too: the first part says which classes
    fill the nodes, weights that no pattern of theirs exceeds follow, and the rest of the rounds sees their capacity.

    Parameters
    ----------
    lower : a known welfare, which sets step lengths; any value gives a valid bound.
    over : asked between rounds; True ends the search for prices early.
    """
    p = pricer.pool
    effort = min(effort, 4)
    if p.tasks == 0:
        return proved(pricer, *np.zeros((2, *p.tariff.shape)))
    state = Multipliers(pricer)
    rounds = effort * ROUNDS
    price = _descend(state, rounds, _FIRST_PENALTY, over)
    weights = pattern_weights(p, state.pooled, price)
    if weights:
        apply_weights(p, weights)
        state.reweigh()
        rounds += rounds // 2
        price = _descend(state, effort * ROUNDS // 2, 10 * LAST_PENALTY, over)
    passes = rounds
    if p.tasks < POLISH_BELOW:
        price, more = volume(pricer, price, effort * POLISH, float(lower), over)
        passes += more
    return proved(pricer, *price)._replace(passes=passes + 1, weights=weights, state=state)


def _descend(state: Multipliers, rounds: int, first: float, over: Callable[[], bool]) -> Prices:
    """The prices of least dual value over some rounds whose penalty falls from `first` to the last one."""
    best, kept = np.inf, state.average
    for done in range(rounds):
        state.round(first * (LAST_PENALTY / first) ** (done / max(1, rounds - 1)))
        last = done == rounds - 1 or over()
        if done % 8 == 7 or last:
            value = state.dual_value()
            if value < best:
                best, kept = value, state.average.copy()
        if last:
            break
    return kept / state.scale


@njit(cache=True, nogil=True)
def _answer(p, shares, order, price, penalty, capacity, used, at, pooled, chosen, cost, usable, table):  # type: ignore[no-untyped-def]
    """Each task in turn leaves, and takes its best schedule at prices plus the penalty on overload.

    shares : (3, entries) what a cell takes of a node, by resource.
    price, capacity, used : (3, G, T) price of a node for a slot, nodes, pooled load in nodes, by resource.
    """
    half = 0.5 / penalty
    for i in order:
        begin = p.type_start[i]
        types = p.type_start[i + 1] - begin
        width = p.width[i]
        first = p.first[i]
        for t in range(width):
            g = pooled[at[i] + t]
            if g >= 0:
                kind = p.kind[begin + g]
                for r in range(len(price)):
                    used[r, kind, first + t] -= shares[r, begin + g]
        for g in range(types):
            kind = p.kind[begin + g]
            line = cost[g, :width]
            for t in range(width):
                line[t] = base_cost(p, i, kind, first + t)
            for r in range(len(price)):
                extra = penalty * shares[r, begin + g]
                if extra > 0.0:
                    prices = price[r, kind, first : first + width]
                    loads = used[r, kind, first : first + width]
                    limits = capacity[r, kind, first : first + width]
                    for t in range(width):
                        rent = prices[t] + penalty * (loads[t] - limits[t])
                        before = max(0.0, rent)
                        after = max(0.0, rent + extra)
                        line[t] += (after * after - before * before) * half
        fill(p, i, cost[:types, :width], usable, np.inf, table)
        total, option, x = cheapest(p, i, 1, np.inf, table)
        pooled[at[i] : at[i] + width] = -1
        if option >= 0 and p.bid[i] - total > 0:
            trace(p, i, cost[:types, :width], usable, np.inf, table, option, x, chosen)
            for t in range(width):
                g = chosen[t]
                pooled[at[i] + t] = g
                if g >= 0:
                    kind = p.kind[begin + g]
                    for r in range(len(price)):
                        used[r, kind, first + t] += shares[r, begin + g]


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

    Attributes
    ----------
    price : (3, G, T) micro-dollars for a whole node and slot; by compute, memory, pattern weight.
    average : exponentially smoothed price.
    capacity : (3, G, T) nodes to be filled; less than there are where packing cannot use them.
    pooled : (sum of widths,) local type of each task in each slot of its window, -1 for none.
    used : (3, G, T) nodes that the pooled answer fills.
    """

    def __init__(self, pricer: Pricer) -> None:
        p = pricer.pool
        kinds, slots = p.tariff.shape
        self._pricer = pricer
        shape = (3, kinds, slots)
        self.scale = np.empty(shape)
        self.scale[:] = p.capacity[:, :, None]
        self.capacity = np.empty(shape)
        self.capacity[:] = p.nodes[None, :, None]
        self.unit = max(1.0, float(np.median(value_density(p))))
        self.price = np.zeros(shape)
        self.average = np.zeros(shape)
        self.pooled = np.full(int(p.width.sum()), -1, np.int64)
        self.used = np.zeros(shape)
        self._at = np.concatenate([[0], np.cumsum(p.width)[:-1]]).astype(np.int64)
        self._stream = Stream("multipliers", p.tasks)
        width = int(p.width.max())
        self._scratch = (
            np.empty(width, np.int64), np.empty((kinds, width)), np.ones((kinds, width), np.bool_), np.empty(p.table)
        )  # fmt: skip

    def copy(self) -> Multipliers:
        """A copy that can go on by itself; it draws the same orders."""
        twin = Multipliers(self._pricer)
        twin.price, twin.average = self.price.copy(), self.average.copy()
        twin.capacity, twin.pooled, twin.used = self.capacity.copy(), self.pooled.copy(), self.used.copy()
        return twin

    def round(self, penalty: float) -> None:
        """All tasks answer in a random order, then prices follow the overload; penalty in units of the median bid."""
        p = self._pricer.pool
        penalty *= self.unit
        order = np.argsort(self._stream.words(p.tasks), kind="stable")
        shares = p.size / p.capacity[:, p.kind]
        _answer(p, shares, order, self.price, penalty, self.capacity, self.used, self._at, self.pooled, *self._scratch)
        self.price = np.maximum(0.0, self.price + penalty * (self.used - self.capacity))
        self.average = _MEMORY_OF_PRICES * self.average + (1 - _MEMORY_OF_PRICES) * self.price

    def dual_value(self) -> float:
        """D at the smoothed prices, in doubles, with the whole capacity."""
        nodes = self._pricer.pool.nodes[None, :, None]
        return float((nodes * self.average).sum() + self._pricer.floats(self.average / self.scale).surplus.sum())

    def reweigh(self) -> None:
        """Take up new pattern weights: the pooled answer weighs anew, and compute's prices begin as the patterns'."""
        p = self._pricer.pool
        tasks = np.repeat(np.arange(p.tasks), p.width)
        slots = np.repeat(p.first - self._at, p.width) + np.arange(len(tasks))
        running = np.flatnonzero(self.pooled >= 0)
        entry = p.type_start[tasks[running]] + self.pooled[running]
        self.used[2] = 0.0
        np.add.at(self.used[2], (p.kind[entry], slots[running]), p.size[2, entry] / PATTERN)
        weighed = np.unique(p.kind[p.size[2] > 0])
        for prices in (self.price, self.average):
            prices[2, weighed] += prices[0, weighed] + prices[1, weighed]
            prices[:2, weighed] = 0.0


def volume(
    pricer: Pricer, start: Prices, passes: int, lower: float, over: Callable[[], bool] = never
) -> tuple[Prices, int]:
    """Prices of least dual value found, from the given ones on; stops early when D meets `lower` to 1e-7."""
    p = pricer.pool
    # Steps are taken in prices of a whole node and slot, so that compute and memory weigh alike.
    scale = np.empty(start.shape)
    scale[:] = p.capacity[:, :, None]
    nodes = np.empty(start.shape)
    nodes[:] = p.nodes[None, :, None]

    def value(price: Prices) -> tuple[float, Prices]:
        priced = pricer.floats(price / scale)
        return float((nodes * price).sum() + priced.surplus.sum()), priced.load / scale

    center = start * scale
    best, used = value(center)
    kept = center
    average = used
    pace, worse = 0.1, 0
    at = best
    for done in range(1, passes):
        target = max(lower, 0.95 * at) if lower < at else lower
        excess = average - nodes
        # Where the price is 0 and the capacity is not used up nothing can move.
        excess = np.where((center <= 0) & (excess < 0), 0.0, excess)
        norm = float((excess**2).sum())
        if norm <= 1e-12 or at - lower <= 1e-7 * abs(at) or over():
            return kept / scale, done
        step = pace * max(at - target, 1e-3 * abs(at)) / norm
        price = np.maximum(0.0, center + step * excess)
        now, used = value(price)
        direction = float(((used - nodes) * excess).sum())
        share = _mixing(average - nodes, used - nodes)
        average = share * used + (1 - share) * average
        if now < best:
            best, kept = now, price
        if now < at:
            at, center = now, price
            worse = 0
            pace = min(2.0, pace * (1.1 if direction >= 0 else 1.0))
        else:
            worse += 1
            if worse >= 10:
                pace, worse = max(1e-4, pace * 0.66), 0
    return kept / scale, passes


def _mixing(average: Prices, latest: Prices) -> float:
    """The share of the latest subgradient that makes the average shortest, within [0.01, 0.3]."""
    change = latest - average
    length = float((change**2).sum())
    if length <= 0:
        return 0.1
    return float(min(0.3, max(0.01, -float((average * change).sum()) / length)))
