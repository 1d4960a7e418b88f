"""How far a run is: a bar with the remaining time in a terminal, lines otherwise; never silent for long."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TextIO

Kind = tuple[str, str]
"""What is done (``OPT``, an algorithm, ...) and the group of the case: pieces of one kind take similar times."""


SILENCE = 4.0
"""Seconds after which it says what is at work, where nothing was said meanwhile."""


class Progress:
    """Progress of a known number of pieces of work.

    The remaining time is that of every kind of work left, each at the mean of its finished pieces: a search for OPT
    takes many times what an online run does, so a count of pieces would say nothing.

    Parameters
    ----------
    planned : pieces of each kind, those found in the store included.
    workers : pieces that are in work at a time.
    quiet : print nothing but warnings.
    stream : where to; standard error by default.
    """

    WIDTH = 24

    def __init__(
        self, planned: Mapping[Kind, int], workers: int = 1, quiet: bool = False, stream: TextIO | None = None
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._left, self._total = dict(planned), sum(planned.values())
        self._quiet, self.workers = quiet, workers
        self._bar = not quiet and self._stream.isatty()
        self._spent: dict[Kind, list[float]] = {}
        self._done = 0
        self._said = time.monotonic()

    def tick(self, at_work: Sequence[tuple[str, float]]) -> None:
        """Say what is at work, (what, seconds so far), where nothing has been said for some seconds."""
        if self._quiet or time.monotonic() - self._said < SILENCE:
            return
        names = ", ".join(f"{what} ({seconds:.0f} s)" for what, seconds in at_work[:4]) or "nothing yet"
        more = f" and {len(at_work) - 4} more" if len(at_work) > 4 else ""
        if self._bar:
            self._draw_bar(f"at work: {names}{more}")
        else:
            self._write(f"... {self._done} of {self._total} pieces of work{self._told()}; at work: {names}{more}\n")

    def advance(self, kind: Kind, what: str, seconds: float | None = None) -> None:
        """A piece of this kind is there; `seconds` of work, where they are known (they may be those of an old run)."""
        self._done += 1
        self._left[kind] -= 1
        if seconds is not None:
            self._spent.setdefault(kind, []).append(seconds)
        if self._bar:
            self._draw_bar(what)

    def _draw_bar(self, what: str) -> None:
        filled = self.WIDTH * self._done // max(1, self._total)
        bar = "#" * filled + "." * (self.WIDTH - filled)
        self._over(f"[{bar}] {self._done}/{self._total}{self._told()}  {what}")

    def remaining(self) -> float | None:
        """Seconds that are left by the clock; None before anything is known about any kind of work.

        A kind without a finished piece is put at the mean of the same work in other groups, or else of everything.
        """

        def mean(times: list[list[float]]) -> float | None:
            every = [each for one in times for each in one]
            return sum(every) / len(every) if every else None

        overall = mean(list(self._spent.values()))
        if overall is None:
            return None
        total = 0.0
        for kind, count in self._left.items():
            same = [times for other, times in self._spent.items() if other[0] == kind[0]]
            guesses = (mean([self._spent.get(kind, [])]), mean(same), overall)
            total += count * next(guess for guess in guesses if guess is not None)
        return total / max(1, self.workers)

    def _told(self) -> str:
        left = None if self._done >= self._total else self.remaining()
        if left is None:
            return ""
        return f", about {left:.0f} s left" if left < 100 else f", about {left / 60:.0f} min left"

    def line(self, text: str) -> None:
        """A line of its own, above the bar where there is one."""
        if not self._quiet:
            self.warn(text)

    def warn(self, text: str) -> None:
        """A line of its own in any case."""
        if self._bar:
            self._over("")
            self._write("\r")
        self._write(text + "\n")

    def close(self) -> None:
        """Leave the bar's line."""
        if self._bar:
            self._over("")
            self._write("\r")

    def _over(self, text: str) -> None:
        """Write over the bar's line, up to the width of the terminal."""
        width = shutil.get_terminal_size().columns - 1
        self._write("\r" + text[:width].ljust(width))

    def _write(self, text: str) -> None:
        self._said = time.monotonic()
        self._stream.write(text)
        self._stream.flush()
