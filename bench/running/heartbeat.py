"""What a command at work says of it: every few seconds what it does, and for how long; the progress of a run."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from ratiobench.online.referee.arrival_count import ArrivalCount

SILENCE = 4.0  # Seconds after which a command that is still at work says so, and again
SHOWN = 4  # Pieces at work that are named


class Heartbeat:
    """Says what is at work on the error stream, while it is entered; nothing for an empty text."""

    current: Heartbeat | None = None

    def __init__(self, what: str) -> None:
        self.what, self.began = what, time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._remind, daemon=True, name="heartbeat")
        self._before: Heartbeat | None = None

    def __enter__(self) -> None:
        self._before, Heartbeat.current = Heartbeat.current, self
        if self.what:
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        Heartbeat.current = self._before
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _remind(self) -> None:
        while not self._over.wait(SILENCE):
            if what := self.what:  # which may be another one before it is printed
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
    return recorder.buffer  # type: ignore[no-any-return]


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
    if (heart := Heartbeat.current) is not None:
        heart.what, heart.began = what, heart.began if again else time.monotonic()


class Progress:
    """Progress in pieces of work, those found in the store included; if `quiet`, warnings alone."""

    def __init__(self, total: int, quiet: bool = False, stream: TextIO | None = None) -> None:
        from tqdm import tqdm  # few commands need it

        self._stream, self.quiet = sys.stderr if stream is None else stream, quiet
        self._bar = tqdm(
            total=total, file=self._stream, disable=quiet or not self._stream.isatty(), leave=False, dynamic_ncols=True,
            bar_format="[{bar:12}] {n_fmt}/{total_fmt}, {elapsed}{postfix}",
        )  # fmt: skip
        self._total, self._done = total, 0
        self._began = self._said = time.monotonic()

    def tick(self, at_work: Sequence[tuple[str, str, float, ArrivalCount | None]]) -> None:
        """What is at work, (case, kind, seconds so far, arrivals): said if nothing has been for some seconds."""
        longest = sorted(at_work, key=lambda piece: -piece[2])
        names = ", ".join(
            f"{case}: {kind}{'' if count is None else f': {count.text}'} ({clock(seconds)})"
            for case, kind, seconds, count in longest[:SHOWN]
        )
        names = (names or "nothing yet") + (f" and {len(longest) - SHOWN} more" if len(longest) > SHOWN else "")
        now = time.monotonic()
        if not self._bar.disable:
            self._bar.set_postfix_str(names)
        elif not self.quiet and now - self._said >= SILENCE:
            so_far = f"{self._done} of {self._total} pieces of work, {clock(now - self._began)} so far"
            self.warn(f"... {so_far}; at work: {names}")

    def advance(self) -> None:
        self._done += 1
        self._bar.update()

    def line(self, text: str) -> None:
        if not self.quiet:
            self.warn(text)

    def warn(self, text: str) -> None:
        self._said = time.monotonic()
        with self._bar.external_write_mode(self._stream):
            print(text, file=self._stream, flush=True)

    def close(self) -> None:
        self._bar.close()


def clock(seconds: float) -> str:
    """Seconds up to 100, then minutes and seconds, from 100 minutes on hours."""
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 100 * 60 else f"{seconds / 3600:.1f} h"
