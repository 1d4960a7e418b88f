"""How far a run is: a bar with the remaining time in a terminal, one line per finished case otherwise."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TextIO


class Progress:
    """Progress of a known number of pieces of work.

    Parameters
    ----------
    total : pieces in all, those found in the store included.
    quiet : print nothing.
    stream : where to; standard error by default.
    """

    WIDTH = 24

    def __init__(self, total: int, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._total, self._quiet = total, quiet
        self._bar = not quiet and self._stream.isatty()
        self._started = time.monotonic()
        self._done = self._found = 0

    def advance(self, what: str, pieces: int = 1, fresh: bool = True) -> None:
        """These pieces were finished just now (or, not `fresh`, found in the store)."""
        self._done += pieces
        self._found += 0 if fresh else pieces
        if self._bar:
            filled = self.WIDTH * self._done // max(1, self._total)
            bar = "#" * filled + "." * (self.WIDTH - filled)
            self._over(f"[{bar}] {self._done}/{self._total}{self._remaining()}  {what}")

    def _remaining(self) -> str:
        fresh = self._done - self._found
        if not fresh or self._done >= self._total:
            return ""
        left = (time.monotonic() - self._started) / fresh * (self._total - self._done)
        return f", about {left:.0f} s left" if left < 100 else f", about {left / 60:.0f} min left"

    def line(self, text: str) -> None:
        """A line of its own, above the bar where there is one."""
        if self._bar:
            self._over("")
            self._write("\r")
        if not self._quiet:
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
        self._stream.write(text)
        self._stream.flush()
