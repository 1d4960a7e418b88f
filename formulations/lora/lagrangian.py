"""The pooled Lagrangian bound: dual prices per node type and slot, and a proof in integers.

Relaxing (4f) and (4g), summed over the nodes of a type, with prices lambda, phi >= 0 leaves every task to choose its own
best schedule: D(lambda, phi) = sum_gt K_g (C_p lambda + (C_m - r_b) phi) + sum_i max(0, max_l F'_il). Weak duality makes
this an upper bound on OPT for any prices, so they are searched for in doubles (volume algorithm, Barahona and Anbil
2000), rounded to integers, and evaluated exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.lora.pricing import Pool, Pricer
from instances.lora.model import IntArray

Prices = NDArray[np.float64]

PASSES = 200
"""Pricing passes over all tasks per unit of effort."""
_UNIT_BITS = 20
_HEADROOM = 2**61


class DualBound(NamedTuple):
    """A proved upper bound on OPT with its prices.

    Parameters
    ----------
    upper : micro-dollars, floor of the exact dual value.
    lam, phi : (G, T) integer prices in 1/unit micro-dollars per sample and per MB.
    unit : a power of two.
    passes : pricing passes made.
    """

    upper: int
    lam: IntArray
    phi: IntArray
    unit: int
    passes: int


def proved(pricer: Pricer, lam: Prices, phi: Prices) -> DualBound:
    """The bound at the prices rounded to integers; every step in integers with room to spare."""
    p = pricer.pool
    bits = _UNIT_BITS
    while True:
        unit = 1 << bits
        whole_lam = np.rint(np.minimum(lam, 2.0**40) * unit).astype(np.int64)
        whole_phi = np.rint(np.minimum(phi, 2.0**40) * unit).astype(np.int64)
        if _largest(p, whole_lam, whole_phi, unit) < _HEADROOM:
            break
        if bits == 0:
            raise OverflowError("bids, costs and prices leave no room in 64 bits")
        bits -= 1
    surplus = pricer.integers(whole_lam, whole_phi, unit)
    total = sum(surplus.tolist())
    for g, nodes in enumerate(p.nodes.tolist()):
        total += nodes * int(p.compute[g]) * sum(whole_lam[g].tolist())
        total += nodes * int(p.capacity_mb[g]) * sum(whole_phi[g].tolist())
    return DualBound(total // unit, whole_lam, whole_phi, unit, 1)


def _largest(p: Pool, lam: IntArray, phi: IntArray, unit: int) -> int:
    """An upper bound on every number in the pricing of any task, in Python integers."""
    if p.size == 0:
        return 0
    cost = int(np.abs(p.table_cost).max(initial=0))
    for g in range(len(p.nodes)):
        cost = max(cost, int(p.energy[:, g].max()) * int(np.abs(p.tariff[g]).max()))
    cell = unit * cost + int(lam.max()) * int(p.rate.max()) + int(phi.max()) * int(p.memory.max())
    return int(p.width.max()) * cell + unit * (int(p.bid.max()) + int(p.price.max()))


def dual_bound(pricer: Pricer, effort: int = 1, lower: int = 0) -> DualBound:
    """The best bound that `effort` * 200 pricing passes find.

    Parameters
    ----------
    lower : a known welfare, which sets the step lengths; any value gives a valid bound.
    """
    p = pricer.pool
    zero = np.zeros(p.tariff.shape)
    if p.size == 0:
        return proved(pricer, zero, zero)
    lam, phi, passes = volume(pricer, zero, zero, effort * PASSES, float(lower))
    best = proved(pricer, lam, phi)
    return best._replace(passes=passes + 1)


def volume(pricer: Pricer, lam: Prices, phi: Prices, passes: int, lower: float) -> tuple[Prices, Prices, int]:
    """Prices of least dual value found, from the given ones on; stops early when D meets `lower` to 1e-7."""
    p = pricer.pool
    # Steps are taken in prices of a whole node and slot, so that compute and memory weigh alike.
    scale = np.stack([np.broadcast_to(p.compute[:, None], lam.shape), np.broadcast_to(p.capacity_mb[:, None], lam.shape)])
    nodes = np.broadcast_to(p.nodes[None, :, None], scale.shape).astype(np.float64)

    def value(price: Prices) -> tuple[float, Prices]:
        priced = pricer.floats(price[0] / scale[0], price[1] / scale[1])
        used = np.stack([priced.load, priced.weight]) / scale
        return float((nodes * price).sum() + priced.surplus.sum()), used

    center = np.stack([lam, phi]) * scale
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
        if norm <= 1e-12 or at - lower <= 1e-7 * abs(at):
            return kept[0] / scale[0], kept[1] / scale[1], done
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
    return kept[0] / scale[0], kept[1] / scale[1], passes


def _mixing(average: Prices, latest: Prices) -> float:
    """The share of the latest subgradient that makes the average shortest, within [0.01, 0.3]."""
    change = latest - average
    length = float((change**2).sum())
    if length <= 0:
        return 0.1
    return float(min(0.3, max(0.01, -float((average * change).sum()) / length)))
