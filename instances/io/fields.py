"""Integers in a range, and the free object `origin`: what is checked by hand of values in recipes and instances."""

from __future__ import annotations

import math
from typing import Any

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.files import HugeInteger, iterate_values

LIMIT = 2**40  # The largest number in an instance


def integer(source: str, path: str, value: Any, low: int, high: int) -> int:
    """`value` if it is an integer in low..high; booleans and floats are not integers."""
    whole = type(value) is int
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
