"""Theorems N1 to N8 in numbers: the least competitive ratio that any online algorithm can have.

Functions of whole levels are exact fractions; functions of a spread theta are floating-point numbers, found by
bisection, of which `round_down` makes figures that are safe to print. Values and levels may be in any unit.

Source: docs/theory/limits.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, log, log1p

STEPS = 200
"""Halvings of an interval, more than a double has digits."""


def round_down(value: float, places: int = 3) -> Fraction:
    """A computed limit as a fraction that is not above it: cut off behind so many places, rounding errors included."""
    scale = 10**places
    return Fraction(floor(value * scale - 1e-6), scale)


def _least(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The least argument in low..high for which a condition holds that goes on to hold above it."""
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def harmonic(count: int) -> Fraction:
    """H_m = 1 + 1/2 + ... + 1/m."""
    return sum((Fraction(1, j) for j in range(1, count + 1)), Fraction(0))


def sum_of_steps(levels: Sequence[int | Fraction]) -> Fraction:
    """S = sum over the steps of 1 - v_{j-1} / v_j.

    Parameters
    ----------
    levels : v_0 < v_1 < ..., above 0.
    """
    return sum((1 - Fraction(low) / high for low, high in pairwise(levels)), Fraction(0))


def bound_rising(levels: Sequence[int | Fraction]) -> Fraction:
    """Theorem N1: c >= 1 + S for any algorithm, coins included."""
    return 1 + sum_of_steps(levels)


def bound_theta(theta: float) -> float:
    """Theorem N1 with ever finer levels: 1 + ln theta."""
    return 1 + log(theta)


def is_possible_unknown(levels: Sequence[int | Fraction], factors: Sequence[Fraction]) -> bool:
    """Theorem N2: whether 1/c(v_J) + sum over j < J of (1 - v_j / v_{j+1}) / c(v_j) is at most 1.

    Parameters
    ----------
    levels : v_0 < v_1 < ...
    factors : c(v_j), what an algorithm that is not told theta promises if values end at v_j.
    """
    total = 1 / factors[-1]
    for low, high, factor in zip(levels, levels[1:], factors, strict=False):
        total += (1 - Fraction(low) / high) / factor
    return total <= 1


def bound_choice(types: int, groups: int, levels: Sequence[int | Fraction]) -> Fraction:
    """Theorem N3, finite: min {G/m, (G/(G-m) + S) / (1 - (H_G - H_{G-m}) + m/(G-m))}.

    Parameters
    ----------
    types, groups : G and m, 1 <= m < G.
    levels : of the second phase; the first one is the value of the first phase.
    """
    rest = types - groups
    lost = harmonic(types) - harmonic(rest)
    second = (Fraction(types, rest) + sum_of_steps(levels)) / (1 - lost + Fraction(groups, rest))
    return min(Fraction(types, groups), second)


def best_choice(types: int, levels: Sequence[int | Fraction]) -> tuple[int, Fraction]:
    """The m with the largest bound of Theorem N3 among 1..G-1, and that bound; m = 0: Theorem N1, which needs one type.

    Parameters
    ----------
    types : G.
    levels : as of `bound_choice`.
    """
    found = [(0, bound_rising(levels)), *((m, bound_choice(types, m, levels)) for m in range(1, types))]
    return max(found, key=lambda each: each[1])


def bound_any_choice(theta: float) -> float:
    """Theorem N3 for any number of node types: Gamma*, the root of c (1 - ln(c / (c - 1))) = ln theta above 1."""
    target = log(theta)

    def holds(c: float) -> bool:
        return c * (1 - log(c / (c - 1))) >= target

    return _least(holds, 1 + 1e-12, 3 + target)


def bound_units_at(units: int, levels: Sequence[int | Fraction]) -> Fraction:
    """Theorem N4 at given levels: the least max over j of N v_j / ALG_j that whole sales allow; exact.

    To sell at every level only as many units as a factor c asks for is best for that c, since a unit that is sold later
    brings more: its count of sold units is never above another policy's. So the least c is found by asking for less and
    less.

    Parameters
    ----------
    units : N.
    levels : v_0 < v_1 < ..., above 0.
    """

    def sell(factor: Fraction, strict: bool) -> Fraction | None:
        """The largest N v_j / ALG_j of the policy that sells as late as it can; None where units run out."""
        sold, earned, worst = 0, Fraction(0), Fraction(0)
        for level in map(Fraction, levels):
            missing = units * level / factor - earned
            if missing > 0 or (strict and missing == 0):
                count = floor(missing / level) + 1 if strict else ceil(missing / level)
                sold, earned = sold + count, earned + count * level
            if sold > units:
                return None
            worst = max(worst, units * level / earned)
        return worst

    low, high = Fraction(1), Fraction(levels[-1]) / levels[0]
    best = high  # to sell everything at the first level is always possible
    while high - low > Fraction(1, 2**20):
        middle = Fraction(round((low + high) / 2 * 2**30), 2**30)
        found = sell(middle, strict=False)
        if found is None:
            low = middle
        else:
            best = high = min(best, found)
    while (found := sell(best, strict=True)) is not None:
        best = found
    return best


def bound_units(units: int, theta: float) -> float:
    """Theorem N4: c_N, the least c with N theta <= c k (1 + c/N)^(N-k), k = ceil(N/c), for deterministic algorithms."""
    if units == 1:
        return theta

    def holds(c: float) -> bool:
        first = max(1, ceil(units / c - 1e-12))
        return log(units * theta) <= log(c * first) + (units - first) * log1p(c / units) + 1e-12

    return _least(holds, 1.0, max(1.0, theta) * (1 + 1e-12))


def bound_block(share: Fraction, deterministic: bool) -> Fraction:
    """A task of this share of a node, then one that fills it: 1/share, and 2 - share where coins are allowed (N1)."""
    return 1 / share if deterministic else 2 - share


def share_inside(length: int, end: int, slots: int) -> Fraction:
    """The least share of a task's work that lies in slots 1..x.

    Parameters
    ----------
    length : l, cells that it needs, one per slot.
    end : the last slot of its window [1, end].
    slots : x.
    """
    return Fraction(1) if end <= slots else max(Fraction(0), Fraction(length - end + slots, length))


def bound_nested(ends: Sequence[int]) -> Fraction:
    """Theorem N5, finite: the largest over x of (1/x) sum_l (D_l - D_{l-1}) u_x(l).

    Parameters
    ----------
    ends : D_l, the last slot of the window of a task of l = 1, 2, ... cells; D_l - l never falls.
    """
    best = Fraction(1)
    for slots in range(1, ends[-1] + 1):
        total, before = Fraction(0), 0
        for length, end in enumerate(ends, 1):
            total += (end - before) * share_inside(length, end, slots)
            before = end
        best = max(best, total / slots)
    return best


def bound_slack(sigma: float) -> float:
    """Theorem N5 for ever longer tasks of equal value per cell, slack sigma > 1: sigma ln(sigma / (sigma - 1))."""
    return sigma * log(sigma / (sigma - 1))


def bound_lengths(longest: int) -> Fraction:
    """Theorem N1 for tasks of equal value and lengths L, L/2, ..., 1: 1 + log2(L) / 2.

    Parameters
    ----------
    longest : L, a power of two.
    """
    return 1 + Fraction(longest.bit_length() - 1, 2)


def least_at_top(levels: Sequence[int | Fraction], factor: Fraction) -> Fraction | None:
    """Theorem N7 (i): OPT/ALG at the last level is no less, if it is at most `factor` at all levels before.

    None where no algorithm keeps to this factor.
    """
    share = 1 - sum_of_steps(levels) / factor
    return 1 / share if share > 0 else None


def most_at_first(levels: Sequence[int | Fraction], factor: Fraction) -> Fraction:
    """Theorem N7 (ii): the largest share of OPT at the first level, if OPT/ALG is at most `factor` at all levels.

    The largest x with x + sum over j >= 1 of (h_j - h_{j-1}) / v_j <= 1, h_j = max(x v_0, v_j / factor); 0 where no x
    is possible.
    """
    values = [Fraction(level) for level in levels]

    def load(x: Fraction) -> Fraction:
        needs = [max(x * values[0], v / factor) for v in values]
        steps = zip(needs, needs[1:], values[1:], strict=False)
        return needs[0] / values[0] + sum(((b - a) / v for a, b, v in steps), Fraction(0))

    # The load is convex and piecewise linear in x, with corners where x v_0 = v_j / factor, and does not fall.
    low = Fraction(0)
    if load(low) > 1:
        return low
    for corner in [*(v / factor / values[0] for v in values), Fraction(1)]:
        corner = min(corner, Fraction(1))
        if corner <= low:
            continue
        at_low, at_corner = load(low), load(corner)
        if at_corner > 1:
            return low + (corner - low) * (1 - at_low) / (at_corner - at_low)
        low = corner
    return low


def bound_advice_rising(factor: float, loss: float) -> float:
    """Theorem N7 (i), fluid: 1 - 1/eta is at least (ln(1/alpha) - 1 + alpha) / gamma.

    Parameters
    ----------
    factor, loss : gamma and alpha of OPT <= gamma ALG + alpha, in units of the cap; 0 < alpha <= 1.
    """
    return (log(1 / loss) - 1 + loss) / factor


def bound_advice_flat(factor: float, loss: float, value: float) -> float:
    """Theorem N7 (ii), fluid: the largest share x of a flat day with 1 - x >= ln(1/(gamma v x + alpha)) / gamma.

    0 where no algorithm keeps to gamma and alpha.

    Parameters
    ----------
    factor, loss : gamma and alpha of OPT <= gamma ALG + alpha, in units of the cap; alpha 0 is allowed.
    value : v*, the value of the flat day as a share of the cap.
    """

    def fails(x: float) -> bool:
        reached = factor * value * x + loss
        return reached < 1 and (reached <= 0 or 1 - x < log(1 / reached) / factor)

    if not fails(1.0):
        return 1.0
    # The difference of the two sides is concave in x; behind its largest value it falls.
    start = min(1.0, max(0.0, 1 / factor - loss / (factor * value)))
    return 0.0 if fails(start) else _least(fails, start, 1.0)


def bound_load_prices(theta: float) -> float:
    """Theorem N8, fluid: ln theta + w - ln w with w + e^w / w = ln theta, for prices that follow a cell's load.

    Up to theta = e^(1 + e) it is N1: 1 + ln theta.
    """
    target = log(theta)
    if target <= 1 + math.e:
        return 1 + target
    root = _least(lambda w: w + math.exp(w) / w >= target, 1.0, target)
    return target + root - log(root)


# What is proved of mechanisms, at the same parameters.


def factor_minimal_edit(spread: float, share: float) -> float:
    """Theorem B in canonical units: 1 + U / (2^(1 - eps) - 1)."""
    return 1 + spread / (2 ** (1 - share) - 1)


def factor_greedy(spread: float, share: float) -> float:
    """Theorem G: 1 + U / (1 - eps)."""
    return 1 + spread / (1 - share)


def factor_units(units: int, theta: float) -> float:
    """Theorem A': Gamma_N, the least factor whose prices reach theta when N units are sold.

    lambda(0) = 0, lambda(i+1) = lambda(i) + ((Gamma - 1) max(lambda(i), 1) + lambda(i)) / N.
    """

    def holds(factor: float) -> bool:
        price = 0.0
        for _ in range(units):
            price += ((factor - 1) * max(price, 1.0) + price) / units
        return price >= theta

    return _least(holds, 1.0, theta + 2)


def least_factor(spread: Fraction, nodes_and_share: Sequence[tuple[int, Fraction]]) -> Fraction:
    """What no deterministic algorithm can beat on a class of instances with these constants of Theorem A.

    Equal one-cell tasks of the largest share with equal memories have U = 2 theta. So a class with U has instances with
    theta = U/2, for each node type alone (rates 0 elsewhere), of N = K floor(1/eps) units: Theorem N4. Rounded down to
    thousandths; 1 where the constants allow no such task.

    Parameters
    ----------
    spread : U.
    nodes_and_share : K_g and the largest share eps_g of a node, by node type.
    """
    theta = spread / 2
    units = min((nodes * floor(1 / share) for nodes, share in nodes_and_share if 0 < share <= 1), default=0)
    if theta <= 1 or not units:
        return Fraction(1)
    return Fraction(floor(theta * 1000), 1000) if units == 1 else round_down(bound_units(units, float(theta)))
