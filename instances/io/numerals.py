"""Fractions in recipes, and as text."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from ratiobench.instances.io.errors import InputError, shorten

NUMERAL = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9}|/[0-9]{1,9})?", re.ASCII)  # none makes a number too long to compute with


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
    for places in range(10):
        if 10**places % value.denominator == 0:
            digits = value.numerator * (10**places // value.denominator)
            return f"{digits // 10**places}.{digits % 10**places:0{places}}" if places else str(digits)
    return str(value)


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
