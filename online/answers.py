"""Reading what an algorithm answers: whole numbers as plain ints, and anything at all on one line."""

from __future__ import annotations

from typing import Any

import numpy as np

from instances.errors import tamed


class Unfit(ValueError):
    """An answer that is none: the message says which part of it is wrong."""


def refusal(answer: Any, kind: str, error: Exception) -> str:
    """Why an answer is not taken, in one line: what it was, what it should have been and, if known, what is wrong.

    From another process comes ``{"answered": ..., "wrong": ...}`` in place of the answer, in the words of its `Unfit`.
    """
    reason: object = error if isinstance(error, Unfit) else ""
    if isinstance(answer, dict) and answer.keys() == {"answered", "wrong"}:
        answer, reason = answer["answered"], answer["wrong"]
    return f"answered {shown(answer)!r}, which is no {kind}" + (f": {shown(reason)}" if shown(reason) else "")


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


def part(name: str, value: Any, limit: int) -> int:
    """The integer that stands in this part of an answer.

    Raises
    ------
    Unfit : naming the part.
    """
    try:
        return whole(value, limit)
    except TypeError:
        raise Unfit(f"{name} {shown(value)[:40]} is not an integer") from None
    except ValueError:
        raise Unfit(f"{name} {shown(value)[:40]} is beyond {limit}") from None


def shown(value: object, most: int = 80) -> str:
    """At most so many characters of anything, on one line that is safe to print."""
    try:
        text = str(value)
    except Exception:  # a number too long to print, or whatever an algorithm's own type raises
        text = f"a {type(value).__name__}"
    return tamed(text, most)
