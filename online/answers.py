"""Reading what an algorithm answers: whole numbers as plain ints, and anything at all on one line."""

from __future__ import annotations

from typing import Any

import numpy as np

from instances.errors import tamed


def whole(value: Any, limit: int) -> int:
    """The integer that stands there, of Python's or NumPy's types, at most `limit` in size.

    Raises
    ------
    TypeError, ValueError : for anything else, booleans included.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(value)
    number = int(value)
    if abs(number) > limit:
        raise ValueError(value)
    return number


def shown(value: object, most: int = 80) -> str:
    """At most so many characters of anything, on one line that is safe to print."""
    try:
        text = str(value)
    except Exception:  # a number too long to print, or whatever an algorithm's own type raises
        text = f"a {type(value).__name__}"
    return tamed(text, most)
