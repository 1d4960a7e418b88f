"""Tests that compare algorithms over cases: Friedman, Nemenyi's critical difference, Wilcoxon's signed ranks, Holm.

The cases are the blocks, and the algorithms are paired: all of them are run on the same cases. Sources: Demsar,
Statistical comparisons of classifiers over multiple data sets, JMLR 7 (2006), 1-30; Holm, A simple sequentially
rejective multiple test procedure, Scandinavian Journal of Statistics 6 (1979), 65-70.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

ALPHA = 0.05
"""Level of all tests: the chance to call something different that is not."""
EXACT_CASES = 60
"""Differences up to which Wilcoxon's test is exact; of more it takes the normal distribution."""


@dataclass(frozen=True, slots=True)
class Friedman:
    """Friedman's test of the hypothesis that all algorithms are equally good.

    Parameters
    ----------
    statistic : chi-square with k - 1 degrees of freedom, corrected for ties.
    p_value : chance of a statistic as large if the hypothesis holds; an approximation for many cases.
    mean_ranks : of the k algorithms; 1 is best.
    cases : how many cases.
    """

    statistic: float
    p_value: float
    mean_ranks: Sequence[Fraction]
    cases: int


def mid_ranks(keys: Sequence[Any]) -> list[Fraction]:
    """The ranks of keys, 1 for the least; equal keys share the mean of their ranks."""
    counts = Counter(keys)
    below, found = 0, {}
    for key in sorted(counts):
        found[key] = Fraction(2 * below + counts[key] + 1, 2)
        below += counts[key]
    return [found[key] for key in keys]


def friedman(blocks: Sequence[Sequence[Any]]) -> Friedman:
    """Test whether k algorithms differ over N cases.

    Parameters
    ----------
    blocks : (N, k) a key per case and algorithm, less is better; only the order within a case counts.

    Returns
    -------
    The test; a statistic of 0 and a p-value of 1 where all algorithms are equal on every case.

    Raises
    ------
    ValueError : no case, fewer than two algorithms, or rows of different lengths.

    Source: Friedman (1937); the correction for ties as in Conover, Practical Nonparametric Statistics (1999), 5.8.
    """
    count = len(blocks)
    size = len(blocks[0]) if blocks else 0
    if not count or size < 2 or any(len(block) != size for block in blocks):
        raise ValueError(f"no test of {count} cases with {size} algorithms")
    ranks = [mid_ranks(block) for block in blocks]
    means = [sum(column, Fraction(0)) / count for column in zip(*ranks, strict=True)]
    ties = sum(each**3 - each for block in blocks for each in Counter(block).values())
    weight = 1 - Fraction(ties, count * (size**3 - size))
    if weight == 0:
        return Friedman(0.0, 1.0, means, count)
    spread = sum(((mean - Fraction(size + 1, 2)) ** 2 for mean in means), Fraction(0))
    statistic = float(Fraction(12 * count, size * (size + 1)) * spread / weight)
    return Friedman(statistic, chi_square_tail(statistic, size - 1), means, count)


def chi_square_tail(value: float, freedom: int) -> float:
    """P(X >= value) for chi-square with that many degrees of freedom (Abramowitz and Stegun, 26.4.4 and 26.4.5)."""
    if value <= 0:
        return 1.0
    half = value / 2
    if freedom % 2:
        term, terms = math.sqrt(2 * value / math.pi) * math.exp(-half), [math.erfc(math.sqrt(half))]
        steps = range(3, freedom + 1, 2)
        for step in steps:
            terms.append(term)
            term *= value / step
    else:
        term, terms = math.exp(-half), []
        for step in range(1, freedom // 2 + 1):
            terms.append(term)
            term *= half / step
    return min(1.0, math.fsum(terms))


@cache
def critical_value(count: int, alpha: float = ALPHA) -> float:
    """The quantile of the studentized range of k values with infinitely many degrees of freedom, over sqrt(2).

    Raises
    ------
    ValueError : k < 2, or a level outside (0, 1).

    Source: Demsar (2006), Table 5 (a).
    """
    if count < 2 or not 0 < alpha < 1:
        raise ValueError(f"no critical value of {count} algorithms at level {alpha}")
    low, high = 0.0, 100.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        if _range_probability(middle, count) < 1 - alpha:
            low = middle
        else:
            high = middle
    return (low + high) / 2 / math.sqrt(2)


def _range_probability(width: float, count: int) -> float:
    """P(largest - least of k standard normal values <= width), by the trapezoidal rule, which converges fast here."""
    step = 1 / 64
    total = 0.0
    for place in range(-8 * 64, 8 * 64 + 1):
        z = place * step
        density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        total += density * (_normal(z) - _normal(z - width)) ** (count - 1)
    return min(1.0, count * total * step)


def _normal(z: float) -> float:
    return math.erfc(-z / math.sqrt(2)) / 2


def critical_difference(count: int, cases: int, alpha: float = ALPHA) -> float:
    """Nemenyi's critical difference of mean ranks: algorithms that are as far apart differ at the level.

    Source: Demsar (2006), section 3.2.2: q sqrt(k (k + 1) / (6 N)).
    """
    return critical_value(count, alpha) * math.sqrt(count * (count + 1) / (6 * cases))


def signed_rank_test(differences: Sequence[Fraction]) -> float:
    """The two-sided p-value of Wilcoxon's signed-rank test; differences of 0 are left out.

    Returns
    -------
    The chance, each difference having either sign with chance 1/2, of a sum of ranks as far from its mean; exact up to
    `EXACT_CASES` differences, ties included. 1 where no difference is left.

    Source: Wilcoxon (1945); Hollander and Wolfe, Nonparametric Statistical Methods (1999), 3.1.
    """
    signed = [each for each in differences if each]
    if not signed:
        return 1.0
    doubled = [int(2 * rank) for rank in mid_ranks([abs(each) for each in signed])]
    total = sum(doubled)
    positive = sum(rank for rank, each in zip(doubled, signed, strict=True) if each > 0)
    least = min(positive, total - positive)
    if len(signed) > EXACT_CASES:
        deviation = math.sqrt(sum(rank * rank for rank in doubled)) / 2
        return min(1.0, math.erfc((total / 2 - least) / deviation / math.sqrt(2)))
    ways = [1] + [0] * total
    for rank in doubled:
        for place in range(total, rank - 1, -1):
            ways[place] += ways[place - rank]
    return float(min(Fraction(1), Fraction(2 * sum(ways[: least + 1]), 2 ** len(signed))))


def adjust_holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values: those below a level differ at this level, whatever is true of the others."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    found, largest = [0.0] * len(p_values), 0.0
    for place, number in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[number]))
        found[number] = largest
    return found


def least_cases(count: int, alpha: float = ALPHA) -> int:
    """The least number of cases from which on Wilcoxon's test can tell two of k algorithms apart at all.

    With fewer, it is not significant with Holm's correction even if one of them is better on every case; Nemenyi's
    test rests on an approximation for many cases, and decides nothing there.
    """
    pairs = count * (count - 1) // 2
    cases = 1
    while Fraction(2 * pairs, 2**cases) > Fraction(alpha):
        cases += 1
    return cases
