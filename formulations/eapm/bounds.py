"""Upper bounds on OPT in exact arithmetic: machine prices, and OPT itself where no solution makes a profit.

Notation: P all that is paid, C(x) the energy's cost, L_j(x) the load of machine j, MS(x) the largest load, A_k the
tasks of type k, c_kj and e_kj the cost and the time of one of them. OPT is the largest (P - C(x)) / MS(x), here in
micro-units per ms.

**Profit.** Let w_j >= 0 be prices of a millisecond on machine j, W their sum. Since sum_j w_j L_j <= W MS for every x,

    C(x) + W MS(x) >= sum_k A_k min_j (c_kj + w_j e_kj) =: D(w),

so D(w) >= P gives P - C(x) <= W MS(x) for all x: OPT <= W. Along a ray t w the function D is concave, piecewise linear
and rises without end when all w_j > 0, so the least t with D(t w) >= P exists as soon as D(0) < P. Newton's method
finds it exactly: a tangent lies above a concave function, so every step comes from below, each step changes the
cheapest machine of some type, and there are finitely many such choices.

**Loss.** When D(0) > P every solution loses, W would have to be negative, and the inequality above is lost: a longer
makespan then helps. But for mu > 0 the function C(x) - mu MS(x) is the least over l of C(x) - mu L_l(x), and the
minimum of each of these over x places every type on its own, in whole numbers:

    min_x C(x) - mu MS(x) = min_l sum_k A_k min(min_j c_kj, c_kl - mu e_kl) =: F(mu).

So OPT <= -mu if and only if F(mu) >= P. Dinkelbach's method on this closed form ends at OPT itself: each step attains
a strictly larger rate, of finitely many. When D(0) = P, the solutions without a loss have rate 0 = OPT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
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
    """The least bound that prices in this direction prove, for a problem with a surplus above 0.

    `direction`: (m,) positive integers.
    """
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
    """Per row the position of the least entry; of equal ones, the one with the least slope, so that Newton advances."""
    least = whole == whole.min(axis=1)[:, None]
    steepest = slope.max() + 1
    return np.asarray(np.where(least, slope, steepest).argmin(axis=1), dtype=np.int64)


def _within_limit(multiple: Fraction, direction: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """Scale and prices: exact where both fit into the limit, else rounded up (higher prices prove a bound too)."""
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
    """Positive integers in about the proportion of these weights; all ones where they make no sense."""
    top = max(weights, default=0.0)
    if not (0.0 < top < float("inf")) or any(w != w for w in weights):
        return [1] * len(weights)
    return [max(1, round(max(0.0, w) / top * 2**bits)) for w in weights]


def round_weights_simply(weights: Sequence[float], most: int = 1000) -> list[int]:
    """Small positive integers near the weights' proportions: what the prices of small data often are exactly."""
    whole = round_weights(weights)
    top = max(whole)
    parts = [Fraction(w, top).limit_denominator(most) for w in whole]
    common = 1
    for part in parts:
        common = common * part.denominator // gcd(common, part.denominator)
        if common > 10**9:
            return whole
    return [max(1, int(part * common)) for part in parts]


def trivial_bound(problem: AggregateProblem) -> Bound:
    """The bound of equal prices: no solver, no search. Only for a surplus of 0 or more."""
    if problem.surplus == 0:
        return Bound(1, (0,) * problem.etc.shape[1], Fraction(0))
    return price_bound(problem, [1] * problem.etc.shape[1])


def shortest_makespan(problem: AggregateProblem, direction: Sequence[int], rate: Fraction) -> int:
    """A lower bound, in ms, on the makespan of every solution whose rate is at least `rate` > 0, micro-units per ms.

    For such a solution profit >= rate MS, so for theta >= 0 and v_j >= 0 of sum 1 + theta rate

        MS >= sum_j v_j L_j + theta (C - P) >= sum_k A_k min_j (theta c_kj + v_j e_kj) - theta P.

    Every theta gives a bound; a few are tried, with v in the direction given.
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
    """The optimum, totals and bound, of a problem whose surplus is negative: see the module's text."""
    tasks, cost, etc = (part.astype(object) for part in (problem.tasks, problem.cost, problem.etc))
    cheapest = problem.cheapest.astype(object)
    home = problem.cost.argmin(axis=1)
    totals = _placed(problem, home)
    while True:
        profit, makespan = problem.figures(totals)
        # Multiplied by the makespan, mu = -profit / makespan becomes an integer.
        longer = makespan * cost + profit * etc
        least = (tasks[:, None] * np.minimum(longer, makespan * cheapest[:, None])).sum(axis=0)
        last = int(least.argmin())
        if least[last] >= makespan * problem.price:
            return totals, Bound(1, (), Fraction(profit, 1000 * makespan))
        totals = _placed(problem, np.where((longer[:, last] < makespan * cheapest).astype(bool), last, home))


def _placed(problem: AggregateProblem, machine: IntArray) -> IntArray:
    """(K, m) totals with every type on one machine."""
    totals = np.zeros(problem.etc.shape, dtype=np.int64)
    totals[np.arange(len(machine)), machine] = problem.tasks
    return totals
