"""Upper bounds on OPT in exact arithmetic: machine prices, and OPT itself if no solution makes a profit.

P is all that is paid, A_k the tasks of type k, c_kj and e_kj the cost and the time of one of them; `verify` has proofs.

**Profit.** Prices w_j prove OPT <= sum_j w_j if D(w) = sum_k A_k min_j (c_kj + w_j e_kj) >= P. Along a ray t w, D is
concave and piecewise linear: Newton's method finds the least t exactly, because every step changes a cheapest machine.

**Loss.** If D(0) > P, OPT <= -mu iff F(mu) = min_l sum_k A_k min(min_j c_kj, c_kl - mu e_kl) >= P, and Dinkelbach's
method on F ends at OPT itself. If D(0) = P, OPT = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np

from ratiobench.formulations.eapm.aggregate import AggregateProblem
from ratiobench.instances.eapm.model import IntArray

PRICE_LIMIT = 2**62  # Prices and scales of a certificate are not larger


@dataclass(frozen=True, slots=True)
class Bound:
    """A proved upper bound on OPT."""

    scale: int  # scale, prices: machine prices in 1/scale micro-units per ms; none where OPT is negative
    prices: tuple[int, ...]
    upper: Fraction  # units of money per second


def price_bound(problem: AggregateProblem, direction: Sequence[int]) -> Bound:
    """The least bound that prices in this direction, (m,) positive integers, prove; the surplus is above 0."""
    scale, prices = _within_limit(least_multiple(problem, direction), direction)
    return Bound(scale, prices, Fraction(sum(prices), 1000 * scale))


def least_multiple(problem: AggregateProblem, direction: Sequence[int]) -> Fraction:
    """The least t for which t times the direction's prices prove a bound: D(t w) = P, exactly."""
    tasks, cost = problem.tasks.astype(object), problem.cost.astype(object)
    priced_etc = problem.etc.astype(object) * np.array([int(w) for w in direction], dtype=object)
    if min(direction) <= 0 or problem.surplus <= 0:
        raise ValueError("a direction of positive prices, and a surplus, are needed")
    rows, found = np.arange(len(tasks)), Fraction(0)
    while True:
        whole = found.denominator * cost + found.numerator * priced_etc
        chosen = _first_least(whole, priced_etc)
        intercept = problem.price - int((tasks * cost[rows, chosen]).sum())
        following = Fraction(intercept, int((tasks * priced_etc[rows, chosen]).sum()))
        if following == found:
            return found
        found = following


def _first_least(whole: Any, slope: Any) -> IntArray:
    """Per row the position of the least entry; of equal ones, with the least slope, so that Newton advances."""
    least = whole == whole.min(axis=1)[:, None]
    steepest = slope.max() + 1
    return np.asarray(np.where(least, slope, steepest).argmin(axis=1), dtype=np.int64)


def _within_limit(multiple: Fraction, direction: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """Scale and prices: exact if both fit into the limit, else rounded up (higher prices prove a bound too)."""
    exact = [multiple.numerator * int(w) for w in direction]
    divisor = gcd(multiple.denominator, *exact)
    if max(max(exact), multiple.denominator) <= PRICE_LIMIT * divisor:
        return multiple.denominator // divisor, tuple(w // divisor for w in exact)
    # The largest price gets 60 bits, unless the scale would be below 1 or above the limit.
    bits = 60 - (max(exact) // multiple.denominator).bit_length()
    if max(exact) < multiple.denominator:
        bits += (multiple.denominator // max(exact)).bit_length() - 1
    scale = 2 ** max(0, min(62, bits))
    return scale, tuple(-(-w * scale // multiple.denominator) for w in exact)


def round_weights(weights: Sequence[float], bits: int = 50) -> list[int]:
    """Positive integers in about the proportion of these weights; all ones if they make no sense."""
    top = max(weights, default=0.0)
    if not (0.0 < top < float("inf")) or any(w != w for w in weights):
        return [1] * len(weights)
    return [max(1, round(max(0.0, w) / top * 2**bits)) for w in weights]


def round_weights_simply(weights: Sequence[float], most: int = 1000) -> list[int]:
    """Small positive integers near the weights' proportions: often the exact prices of small data."""
    whole = round_weights(weights)
    top = max(whole)
    parts = [Fraction(w, top).limit_denominator(most) for w in whole]
    common = lcm(*(part.denominator for part in parts))
    return whole if common > 10**9 else [max(1, int(part * common)) for part in parts]


def trivial_bound(problem: AggregateProblem) -> Bound:
    """The bound of equal prices, for a surplus of 0 or more."""
    if problem.surplus == 0:
        return Bound(1, (0,) * problem.etc.shape[1], Fraction(0))
    return price_bound(problem, [1] * problem.etc.shape[1])


def shortest_makespan(problem: AggregateProblem, direction: Sequence[int], rate: Fraction) -> int:
    """A lower bound, in ms, on the makespan of every solution whose rate is at least `rate` > 0, micro-units per ms.

    Its profit is at least rate MS, so for theta >= 0 and v_j >= 0 of sum 1 + theta rate

        MS >= sum_j v_j L_j + theta (C - P) >= sum_k A_k min_j (theta c_kj + v_j e_kj) - theta P.

    A few theta are tried, with v in the direction given.
    """
    tasks, cost, etc = (part.astype(object) for part in (problem.tasks, problem.cost, problem.etc))
    whole, p, q = sum(direction), rate.numerator, rate.denominator
    priced_etc = etc * np.array([int(w) for w in direction], dtype=object)
    best = int(problem.etc.min(axis=1).max())
    for theta in (Fraction(0), *(Fraction(2) ** i for i in range(-3, 24))):
        # theta / rate instead of theta: then v sums to 1 + theta; all multiplied by whole * p * theta.denominator.
        entries = theta.numerator * q * whole * cost + (theta.denominator + theta.numerator) * p * priced_etc
        bound = int((tasks * entries.min(axis=1)).sum()) - theta.numerator * q * whole * problem.price
        best = max(best, -(-bound // (whole * p * theta.denominator)))
    return best


def best_loss(problem: AggregateProblem) -> tuple[IntArray, Bound]:
    """The optimum, totals and bound, of a problem whose surplus is negative."""
    tasks, cost, etc = (part.astype(object) for part in (problem.tasks, problem.cost, problem.etc))
    cheapest = problem.cheapest.astype(object)
    home = problem.cost.argmin(axis=1)
    totals = problem.place_on(home)
    while True:
        profit, makespan = problem.figures(totals)
        # Multiplied by the makespan, mu = -profit / makespan becomes an integer.
        longer = makespan * cost + profit * etc
        least = (tasks[:, None] * np.minimum(longer, makespan * cheapest[:, None])).sum(axis=0)
        last = int(least.argmin())
        if least[last] >= makespan * problem.price:
            return totals, Bound(1, (), Fraction(profit, 1000 * makespan))
        totals = problem.place_on(np.where((longer[:, last] < makespan * cheapest).astype(bool), last, home))
