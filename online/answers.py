"""Reading what an algorithm answers: whole numbers as plain ints, and anything at all on one line."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from ratiobench.instances.io.errors import DEBUG, make_printable


class InvalidAnswer(ValueError):
    """An answer that is none: the message says which part of it is wrong."""


def refusal(answer: Any, kind: str, error: Exception) -> str:
    """Why an answer is not taken, in one line: what it was, what it should have been and, if known, what is wrong."""
    reason: object = error if isinstance(error, InvalidAnswer) else ""
    if isinstance(answer, dict) and answer.keys() == {"answered", "wrong"}:  # from another process
        answer, reason = answer["answered"], answer["wrong"]
    return f"answered {shorten(answer)!r}, which is no {kind}" + (f": {shorten(reason)}" if shorten(reason) else "")


def read_whole(value: Any, limit: int) -> int:
    """The integer that stands there, of Python's or NumPy's types, at most `limit` in size."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(value)
    number = int(value)
    if abs(number) > limit:
        raise ValueError(value)
    return number


def read_part(name: str, value: Any, limit: int) -> int:
    """The integer that stands in this part of an answer."""
    try:
        return read_whole(value, limit)
    except TypeError:
        raise InvalidAnswer(f"{name} {shorten(value)[:40]} is not an integer") from None
    except ValueError:
        raise InvalidAnswer(f"{name} {shorten(value)[:40]} is beyond {limit}") from None


def shorten(value: object, most: int = 80) -> str:
    """At most so many characters of anything, on one line that is safe to print."""
    try:
        text = str(value)
    except Exception:  # a number too long to print, or whatever an algorithm's own type raises
        text = f"a {type(value).__name__}"
    return make_printable(text, most)


_FOLDERS = ("bench", "formulations", "instances", "online", "ratiobench")
PROJECT = tuple(Path(__file__).resolve().parents[1] / name for name in _FOLDERS)  # Where our own code is
# Where code is that is not the user's own
OTHERS = (*PROJECT, *(Path(folder).resolve() for folder in (sys.prefix, sys.base_prefix)))
POLICY = "policy"  # The module in which the text of a policy's file runs (`ratiobench.online.policy_file`)


def format_line(error: BaseException) -> str:
    """An error on one line that is safe to print."""
    try:
        text = str(error)
    except Exception:  # an algorithm's own error may raise anything when it is asked what it says
        text = "it does not say what"
    return make_printable(f"{type(error).__name__}: {text}", 300)


def locate_error(error: BaseException) -> str:
    """An error on one line, with the place in the algorithm's own code that led to it: ``TYPE: TEXT (FILE:LINE)``."""
    if os.environ.get(DEBUG):
        with contextlib.suppress(Exception):  # the algorithm may have put anything in place of the error stream
            traceback.print_exception(error)
    place = make_printable(_place(error), 150)
    return f"{format_line(error)[: 299 - len(place)]} {place}".rstrip()


def _place(error: BaseException) -> str:
    """``(file:line)`` of the last frame that is neither ours nor a library's, the file as seen from `sys.path`."""
    for frame, number in reversed(list(traceback.walk_tb(error.__traceback__))):
        if frame.f_globals.get("__name__") == POLICY:
            return f"({frame.f_code.co_filename}:{number})"
        file = Path(frame.f_code.co_filename).resolve()
        if file.is_file() and not any(folder in file.parents for folder in OTHERS):
            roots = [root for entry in sys.path if (root := Path(entry).resolve()) in file.parents]
            root = max(roots, key=lambda root: len(root.parts), default=file.parent)
            return f"({file.relative_to(root)}:{number})"
    return ""
