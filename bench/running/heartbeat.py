"""A command that is at work is never silent for long: what it does, and for how long, every few seconds."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

SILENCE = 4.0
"""Seconds after which a command that is still at work says so, and again."""


class Heartbeat:
    """Says what is at work on the error stream, while it is entered; nothing for an empty text."""

    current: Heartbeat | None = None

    def __init__(self, what: str) -> None:
        self._what, self._silent = what, not what
        self._began = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._remind, daemon=True, name="heartbeat")
        self._before: Heartbeat | None = None

    def __enter__(self) -> Heartbeat:
        self._before, Heartbeat.current = Heartbeat.current, self
        self.begin(self._what)
        if not self._silent:
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        Heartbeat.current = self._before
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()

    def begin(self, what: str, *, again: bool = False) -> None:
        """Another work begins, or `again` the same one is further; nothing is said of an empty text."""
        self._what, self._began = what, self._began if again else time.monotonic()

    def _remind(self) -> None:
        while not self._over.wait(SILENCE):
            what = self._what  # which may be another one before it is printed
            if what:
                print(f"... {what}, {time.monotonic() - self._began:.0f} s so far", file=sys.stderr, flush=True)


def set_current(what: str, *, again: bool = False) -> None:
    """From now on the innermost heartbeat says this; an empty text where something else tells what is at work.

    Parameters
    ----------
    again : the same work is further, and its seconds are counted on.
    """
    if Heartbeat.current is not None:
        Heartbeat.current.begin(what, again=again)
