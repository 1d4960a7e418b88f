"""Figures as titles of marks have them, and the order of marks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from ratiobench.bench.family.sense import Sense
from ratiobench.bench.results.ratios import format_number, interval_text
from ratiobench.bench.results.read import is_known

_EXACT = 40  # Characters up to which a fraction stands in a title as it is


def format_exactly(value: Any) -> str:
    """An exact figure for a title: whole, or a short fraction with its decimals; of a long one six digits."""
    figure = Fraction(value)
    if figure.denominator == 1:
        return format_number(figure)
    rounded = f"{float(figure):.6g}"
    if Fraction(rounded) == figure:
        return rounded
    return f"{figure}, about {rounded}" if len(str(figure)) <= _EXACT else f"about {rounded}"


def format_between(lower: Any, upper: Any) -> str:
    """A figure that is known within an interval, rounded outward to six decimals; exactly where both ends are equal."""
    lower, upper = Fraction(lower), Fraction(upper)
    return format_exactly(lower) if lower == upper else f"in {interval_text(lower, upper, 6)}"


Ranked = TypeVar("Ranked")  # A row of results, or of means


def sort_rows(rows: Sequence[Ranked], key: Callable[[Ranked], Any], sense: Sense = Sense.MOST) -> list[Ranked]:
    """The rows by a figure, the best first (the largest, or the least); those without one last, in their order."""
    keyed = [(key(row), row) for row in rows]
    known = [pair for pair in keyed if is_known(pair[0])]
    known.sort(key=lambda pair: pair[0], reverse=sense is Sense.MOST)
    return [row for _, row in known] + [row for value, row in keyed if not is_known(value)]
