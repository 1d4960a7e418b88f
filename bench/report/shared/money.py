"""Money for reading: one way to write it everywhere. What is exact stands in results.csv and in tool tips."""

from __future__ import annotations

from fractions import Fraction

from ratiobench.bench.family.contract import Family
from ratiobench.bench.results.ratios import format_decimal, format_number
from ratiobench.formulations.report import Exact


def money_text(dollars: Exact, *, up: bool | None = None) -> str:
    """``$37.95``, ``12.3 c`` below a dollar, ``312 µ$`` (millionths) below a tenth of a cent.

    Whole cents from one dollar on, three digits below; ``$0`` is exactly nothing. Rounded to the nearest, halves away
    from 0, so that a difference has the same digits in both directions; a bound is rounded to its side, up or down.
    """
    amount = Fraction(dollars)
    size = abs(amount)
    if not size:
        return "$0"
    up_in_size = up if up is None or amount > 0 else not up
    sign = "-" if amount < 0 else ""
    if size >= 1:
        whole, _, places = _rounded(size, 2, up_in_size).partition(".")
        return f"{sign}${int(whole):,}.{places:0<2}"
    if size >= Fraction(1, 1000):
        digits, text = _digits(100 * size), _rounded(100 * size, _digits(100 * size), up_in_size)
        whole, _, places = text.partition(".")
        return f"{sign}{whole}.{places:0<{digits}} c"
    micro = 10**6 * size
    return f"{sign}{_rounded(micro, _digits(micro), up_in_size)} µ$"


def _rounded(size: Fraction, digits: int, up: bool | None) -> str:
    """A figure that is not negative, rounded up, down, or to the nearest, halves up."""
    near = size + Fraction(1, 2 * 10**digits) if up is None else size
    return format_decimal(near, digits, up=up is True)


def _digits(size: Fraction) -> int:
    """How many decimals a figure between 0 and 100 has for three digits in all."""
    digits, edge = 1, Fraction(10)
    while size < edge and digits < 15:
        digits, edge = digits + 1, edge / 10
    return digits


def value_text(value: Exact, family: Family, *, up: bool | None = None) -> str:
    """A value of the family's objective: money as `money_text` writes it, all else as a number, without its unit.

    Such a number is rounded down where `up` does not say otherwise.
    """
    return format_number(value, up=up is True) if family.dollars is None else money_text(value * family.dollars, up=up)


def exact_text(value: Exact, family: Family) -> str:
    """The value as it is, with its unit: for tool tips."""
    whole = Fraction(value).denominator == 1
    return f"{format_number(value) if whole else Fraction(value)} {family.unit}"
