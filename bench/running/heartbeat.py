"""A command at work says every few seconds what it does, and for how long."""

from __future__ import annotations

import sys
import threading
import time
from functools import cache
from typing import Any

SILENCE = 4.0  # Seconds after which a command that is still at work says so, and again


class Heartbeat:
    """Says what is at work on the error stream, while it is entered; nothing for an empty text."""

    current: Heartbeat | None = None

    def __init__(self, what: str) -> None:
        self.what, self.began = what, time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._remind, daemon=True, name="heartbeat")
        self._before: Heartbeat | None = None

    def __enter__(self) -> Heartbeat:
        self._before, Heartbeat.current = Heartbeat.current, self
        if self.what:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        Heartbeat.current = self._before
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _remind(self) -> None:
        while not self._over.wait(SILENCE):
            what = self.what  # which may be another one before it is printed
            if what:
                kernel = _find_compiling()
                compiling = f" (compiling {kernel}, once)" if kernel else ""
                seconds = time.monotonic() - self.began
                print(f"... {what}{compiling}, {seconds:.0f} s so far", file=sys.stderr, flush=True)


@cache
def _record_compilations() -> list[tuple[float, Any]]:
    """The beginnings and ends of numba's compilations in this process, from the first call on."""
    event: Any = sys.modules["numba.core.event"]
    recorder = event.RecordingListener()
    event.register("numba:compile", recorder)
    buffer: list[tuple[float, Any]] = recorder.buffer
    return buffer


def _find_compiling() -> str:
    """The kernel that numba compiles in this process; empty if it compiles none, or began before the first call."""
    running: list[Any] = []
    for _, event in [*_record_compilations()] if "numba.core.event" in sys.modules else ():
        if event.is_start:
            running.append(event.data["dispatcher"].py_func)
        elif running:  # it may have begun before the record did
            running.pop()
    return f"{running[0].__module__}.{running[0].__qualname__}".removeprefix("ratiobench.") if running else ""


def set_current(what: str, *, again: bool = False) -> None:
    """What the heartbeat says from now on, or nothing; `again`: the same work is further, its seconds go on."""
    heart = Heartbeat.current
    if heart is not None:
        heart.what, heart.began = what, heart.began if again else time.monotonic()
