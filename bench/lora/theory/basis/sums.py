"""Exact sums of many prices, and exact multiples of one, without a fraction for each."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction


def sum_exactly(terms: Iterable[tuple[int, Fraction | float | int]]) -> Fraction:
    """The sum of times * value over pairs (times, value); a double stands for the fraction that it is."""
    over: dict[int, int] = {}
    for times, value in terms:
        top, under = value.as_integer_ratio()
        over[under] = over.get(under, 0) + times * top
    return sum((Fraction(top, under) for under, top in over.items()), Fraction(0))


def nearest_double(factor: Fraction, value: Fraction | float | int) -> float:
    """The double nearest to factor * value."""
    top, under = value.as_integer_ratio()
    return (factor.numerator * top) / (factor.denominator * under)
