"""Time that is nobody's: compiling, loading what was compiled, starting processes; and clocks that leave it out."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

_lock = threading.Lock()
_active, _since, _total = 0, 0.0, 0.0  # of all clocks of the process, whichever thread was getting ready


def ignore_time(total: float, since: float) -> None:
    """Tell nobody."""


# Is called with the seconds left out so far, and since when (`time.monotonic`) more is, 0 if nothing is
tell: Callable[[float, float], None] = ignore_time


@contextlib.contextmanager
def excluded_from_timing() -> Iterator[None]:
    """The time inside is in no clock."""
    _change(1)
    try:
        yield
    finally:
        _change(-1)


def _change(by: int) -> None:
    global _active, _since, _total
    with _lock:
        now = time.monotonic()
        if _active == 0:
            _since = now
        _active += by
        if _active == 0:
            _total, _since = _total + now - _since, 0.0
        tell(_total, _since)


def excluded_seconds() -> float:
    with _lock:
        return _total + (time.monotonic() - _since if _active else 0.0)


class Stopwatch:
    """Wall time from now on, less what is left out."""

    def __init__(self) -> None:
        self._began, self._before = time.monotonic(), excluded_seconds()

    def seconds(self) -> float:
        return max(0.0, time.monotonic() - self._began - (excluded_seconds() - self._before))


@functools.cache
def exclude_compilation() -> None:
    """From now on what numba compiles, or loads from its cache, in this process is in no clock."""
    from numba.core import event

    class Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:
            _change(1)

        def on_end(self, event: Any) -> None:
            _change(-1)

    # Held while a kernel is compiled, and while one is looked for in the cache and loaded.
    event.register("numba:compiler_lock", Listener())
