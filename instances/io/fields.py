"""Integers, fractions and times in a range, and the free object `origin`: what is checked by hand in files."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from numbers import Integral
from typing import Any

from ratiobench.instances.io.display import format_decimal
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.files import HugeInteger, iterate_values

LIMIT = 2**40  # The largest number in an instance
NUMERAL = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9}|/[0-9]{1,9})?", re.ASCII)  # none makes a number too long to compute with


def integer(source: str, path: str, value: Any, low: int, high: int) -> int:
    """`value` if it is an integer in low..high; booleans and floats are not integers."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if whole and low <= value <= high:
        return int(value)
    problem = "in" if whole or isinstance(value, HugeInteger) else "an integer in"
    raise InputError(source, path, f"{shorten(value)} is not {problem} {low}..{high}")


def origin_of(source: str, origin: dict[str, Any]) -> dict[str, Any]:
    """Any object whose numbers can be written and read back; it says where the instance comes from."""
    for place, value in iterate_values(origin, "origin"):
        if isinstance(value, HugeInteger) or (type(value) is int and abs(value) >= 10**29):
            raise InputError(source, str(place), f"{shorten(value)} has more than 29 digits")
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(source, str(place), f"{shorten(value)} is not a finite number")
    return origin


def fraction_of(source: str, field: str, value: object, low: Fraction, high: Fraction) -> Fraction:
    """The exact fraction in low..high that a text such as "1.05" or "21/20", or an integer, stands for."""
    text = str(value) if type(value) is int and 0 <= value < 10**9 else value
    if not isinstance(text, str) or not NUMERAL.fullmatch(text) or re.search(r"/0+$", text):
        raise InputError(source, field, f'{shorten(value)} is not a fraction as text, such as "1.05" or "21/20"')
    if not low <= (found := Fraction(text)) <= high:
        raise InputError(source, field, f"{shorten(value)} is not in {text_of_fraction(low)}..{text_of_fraction(high)}")
    return found


def text_of_fraction(value: Fraction) -> str:
    """The fraction as a decimal number where nine places hold it, as "a/b" otherwise."""
    return format_decimal(value, 9, up=False) if 10**9 % value.denominator == 0 else str(value)


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def seconds_of(text: str) -> int:
    """The seconds of a time such as 90, 90s, 10m, 6h, 1d; ValueError for any other text."""
    number, unit = (text[:-1], text[-1:]) if text[-1:] in _UNITS else (text, "s")
    if not re.fullmatch("[0-9]{1,7}", number, re.ASCII):
        raise ValueError(f"{text!r} is not a time such as 90s, 10m, 6h or 1d")
    return int(number) * _UNITS[unit]


def round_half_up(value: Fraction) -> int:
    """The nearest integer; of two equally near, the larger."""
    return math.floor(value + Fraction(1, 2))
