"""Progress of a run: a bar in a terminal, else a line every few seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TextIO

from tqdm import tqdm

from ratiobench.bench.running.heartbeat import SILENCE
from ratiobench.online.referee.arrival_count import ArrivalCount

MAKING = "instance"  # The kind of work that makes an instance
SHOWN = 4  # Pieces at work that are named


class Progress:
    """Progress in pieces of work, those found in the store included; if `quiet`, warnings alone."""

    def __init__(self, total: int, quiet: bool = False, stream: TextIO | None = None) -> None:
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
