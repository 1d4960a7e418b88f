"""Money for reading: one way to write it everywhere. What is exact stands in results.csv and in tool tips."""

from __future__ import annotations

from fractions import Fraction

from bench.family.column import Family
from bench.tables.ratios import decimal, grouped
from formulations.report import Exact


def money_text(dollars: Exact, *, up: bool = False) -> str:
    """``$37.95``, ``12.3 c`` below a dollar, ``$0.000312`` below a tenth of a cent; rounded down, or up.

    Whole cents from one dollar on, three digits below; ``$0`` is exactly nothing.
    """
    amount = Fraction(dollars)
    size = abs(amount)
    if not size:
        return "$0"
    up_in_size = up if amount > 0 else not up
    sign = "-" if amount < 0 else ""
    if size >= 1:
        whole, _, places = decimal(size, 2, up=up_in_size).partition(".")
        return f"{sign}${int(whole):,}.{places:0<2}"
    if size >= Fraction(1, 1000):
        digits, text = _digits(100 * size), decimal(100 * size, _digits(100 * size), up=up_in_size)
        whole, _, places = text.partition(".")
        return f"{sign}{whole}.{places:0<{digits}} c"
    return f"{sign}${decimal(size, _digits(size), up=up_in_size)}"


def _digits(size: Fraction) -> int:
    """How many decimals a figure between 0 and 100 has for three digits in all."""
    digits, edge = 1, Fraction(10)
    while size < edge and digits < 15:
        digits, edge = digits + 1, edge / 10
    return digits


def value_text(value: Exact, family: Family, *, up: bool = False) -> str:
    """A value of the family's objective: money as `money_text` writes it, all else as a number, without its unit."""
    return grouped(value, up=up) if family.dollars is None else money_text(value * family.dollars, up=up)


def exact_text(value: Exact, family: Family) -> str:
    """The value as it is, with its unit: for tool tips."""
    whole = Fraction(value).denominator == 1
    return f"{grouped(value) if whole else Fraction(value)} {family.unit}"
