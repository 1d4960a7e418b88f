"""Means over repetitions with their 95 % intervals, by Student's t; ratios of two means by Fieller's theorem."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache


@dataclass(frozen=True, slots=True)
class Estimate:
    mean: Fraction | None  # exact; None without values
    low: float | None  # low, high: of the 95 % interval; None if there is none, or it is unbounded
    high: float | None
    cases: int  # how many values


def mean(values: Sequence[Fraction]) -> Estimate:
    """The mean of independent values, +- t(n - 1) s / sqrt(n)."""
    count = len(values)
    middle = sum(values, Fraction(0)) / count if count else None
    if middle is None or count == 1:
        return Estimate(middle, None, None, count)
    spread = math.fsum(float(value - middle) ** 2 for value in values) / (count - 1)
    half = quantile(count - 1) * math.sqrt(spread / count)
    return Estimate(middle, float(middle) - half, float(middle) + half, count)


def improvement(ours: Sequence[Fraction], others: Sequence[Fraction]) -> Estimate:
    """By how many percent the mean of `ours` is above that of `others`, values paired, by Fieller's theorem (1954)."""
    pairs = list(zip(ours, others, strict=True))
    count = len(pairs)
    a, b = (sum(values, Fraction(0)) / max(1, count) for values in (ours, others))
    if b <= 0:  # a percentage says nothing
        return Estimate(None, None, None, count)
    middle = 100 * (a / b - 1)
    if count == 1:
        return Estimate(middle, None, None, 1)
    # t^2 times the (co)variances of the two means.
    scale = Fraction(quantile(count - 1)) ** 2 / (count * (count - 1))
    aa = scale * sum((x - a) ** 2 for x, _ in pairs)
    bb = scale * sum((y - b) ** 2 for _, y in pairs)
    ab = scale * sum((x - a) * (y - b) for x, y in pairs)
    # (a - r b)^2 <= aa - 2 r ab + r^2 bb, a quadratic in r.
    lead, half, rest = b * b - bb, a * b - ab, a * a - aa
    if lead <= 0:  # unbounded: the mean of `others` may be 0
        return Estimate(middle, None, None, count)
    root = math.sqrt(half * half - lead * rest)
    low, high = (100 * ((float(half) + sign * root) / float(lead) - 1) for sign in (-1, 1))
    return Estimate(middle, low, high, count)


@cache
def quantile(freedom: int, confidence: float = 0.95) -> float:
    """The t with P(|T| <= t) = confidence for Student's T with that many degrees of freedom."""
    if freedom < 1 or not 0 < confidence < 1:
        raise ValueError(f"no quantile with {freedom} degrees of freedom at confidence {confidence}")
    # theta = arctan(t / sqrt(freedom)): P(|T| <= t) rises with it from 0 at 0 to 1 at pi / 2.
    low, high = 0.0, math.pi / 2
    while True:
        theta = (low + high) / 2
        if theta in (low, high):
            return math.sqrt(freedom) * math.tan(theta)
        if _within(theta, freedom) < confidence:
            low = theta
        else:
            high = theta


def _within(theta: float, freedom: int) -> float:
    """P(|T| <= sqrt(freedom) tan theta): Abramowitz and Stegun, 26.7.3 (odd) and 26.7.4 (even degrees of freedom)."""
    sine, cosine = math.sin(theta), math.cos(theta)
    odd = freedom % 2
    term = cosine if odd else 1.0
    terms = [] if freedom == 1 else [term]
    for step in range(2 + odd, freedom - 1, 2):
        term *= cosine * cosine * (step - 1) / step
        terms.append(term)
    total = sine * math.fsum(terms)
    return 2 / math.pi * (theta + total) if odd else total
