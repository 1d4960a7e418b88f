"""A command at work says every few seconds what it does, and for how long."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Any

SILENCE = 4.0  # Seconds after which a command that is still at work says so, and again


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
        self._what, self._began = what, self._began if again else time.monotonic()

    def _remind(self) -> None:
        while not self._over.wait(SILENCE):
            what = self._what  # which may be another one before it is printed
            if what:
                kernel = _find_compiling()
                compiling = f" (compiling {kernel}, once)" if kernel else ""
                seconds = time.monotonic() - self._began
                print(f"... {what}{compiling}, {seconds:.0f} s so far", file=sys.stderr, flush=True)


_compiling: list[str] = []
_listening = threading.Event()


def _find_compiling() -> str:
    """The kernel that numba compiles in this process; empty if it compiles none, or began before the first call."""
    event: Any = sys.modules.get("numba.core.event")
    if event is None:
        return ""
    if not _listening.is_set():

        class Listener(event.Listener):  # type: ignore[misc]
            def on_start(self, event: Any) -> None:
                function = event.data["dispatcher"].py_func
                _compiling.append(f"{function.__module__}.{function.__qualname__}".removeprefix("ratiobench."))

            def on_end(self, event: Any) -> None:
                if _compiling:  # it may have begun before anybody listened
                    _compiling.pop()

        _listening.set()
        event.register("numba:compile", Listener())
    try:
        return _compiling[0]
    except IndexError:  # another thread may have ended it
        return ""


def set_current(what: str, *, again: bool = False) -> None:
    """What the heartbeat says from now on, or nothing; `again`: the same work is further, its seconds go on."""
    if Heartbeat.current is not None:
        Heartbeat.current.begin(what, again=again)
