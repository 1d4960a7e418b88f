"""A golden case: what is computed anew, and how it is held against what is stored."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CLOSE = 1e-9  # Relative difference up to which two floats are the same figure


def differences(stored: Any, now: Any, where: str = "") -> Iterator[str]:
    """Yield a line for each place where two JSON documents differ: where, what was, what is."""
    if isinstance(stored, dict) and isinstance(now, dict):
        for key in sorted({*stored, *now}):
            place = f"{where}.{key}" if where else str(key)
            if key not in now:
                yield f"{place}: was {_short(stored[key])}, is gone"
            elif key not in stored:
                yield f"{place}: is new: {_short(now[key])}"
            else:
                yield from differences(stored[key], now[key], place)
    elif isinstance(stored, list) and isinstance(now, list) and len(stored) == len(now):
        for at, (was, value) in enumerate(zip(stored, now, strict=True)):
            yield from differences(was, value, f"{where}[{at}]")
    elif not _same(stored, now):
        yield f"{where}: was {_short(stored)}, is {_short(now)}"


def _same(stored: Any, now: Any) -> bool:
    if isinstance(stored, float) or isinstance(now, float):
        numbers = all(isinstance(value, int | float) for value in (stored, now))
        return numbers and math.isclose(stored, now, rel_tol=CLOSE, abs_tol=CLOSE)
    return type(stored) is type(now) and bool(stored == now)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:100]}... ({len(text)} characters)"


@dataclass(frozen=True)
class Case:
    compute: Callable[[Path], Any]  # makes the JSON document of today, in an empty folder that is the working folder
    # yields a line for each finding, given what is stored and the document of today.
    compare: Callable[[Any, Any], Iterable[str]] = differences
    seconds: float = 1.0  # about how long it takes; the longest cases begin first
    long: bool = False  # whether only `--long` takes it
