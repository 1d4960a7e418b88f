"""How far a run is: a bar with the remaining time in a terminal, lines otherwise; never silent for long."""

from __future__ import annotations

import shutil
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

from ratiobench.bench.running.heartbeat import SILENCE
from ratiobench.online.referee.arrival_count import ArrivalCount

COUNTED = 2.0  # Seconds of answers after which their pace is taken for that of the rest
MAKING = "instance"  # The kind of work that makes an instance


@dataclass(slots=True)
class _Took:
    """What some pieces of work took: how many, their sizes, their seconds."""

    pieces: int = 0
    size: float = 0.0
    seconds: float = 0.0

    def add(self, size: float, seconds: float) -> None:
        self.pieces, self.size, self.seconds = self.pieces + 1, self.size + size, self.seconds + seconds


class Progress:
    """Progress of a run whose pieces of work are known by their cases.

    The remaining time is that of every piece left, estimated by what pieces of its kind took in this run: the mean of
    those on instances of like size (within a factor of two), else seconds for size over all of its kind, else over all
    kinds. What an earlier run took is not asked: another machine, or this one under load, says nothing of now.
    Online runs that count the arrivals they have answered are expected to go on at this pace.

    `planned`: kinds of work (OPT, algorithms, ...) of each case, those found in the store included; `workers`: pieces
    that are in work at a time; `quiet`: print nothing but warnings; `stream`: where to; standard error by default.
    """

    WIDTH = 12
    REDRAWN = 0.1  # Seconds for which the bar stays as it is at least

    def __init__(
        self, planned: Mapping[str, Sequence[str]], workers: int = 1, quiet: bool = False, stream: TextIO | None = None
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._left = {case: Counter(kinds) for case, kinds in planned.items()}
        self._total = sum(left.total() for left in self._left.values())
        self.quiet, self.workers = quiet, workers
        self._bar = not quiet and self._stream.isatty()
        self._sizes: dict[str, float] = {}
        self._mean_size = 1.0
        self._alike: dict[tuple[str, int], _Took] = {}
        self._kinds: dict[str, _Took] = {}
        self._at_work: Sequence[tuple[str, str, float]] = ()
        self._counts: Mapping[tuple[str, str], ArrivalCount | None] = {}
        self._counted_since: dict[tuple[str, str], tuple[float, float]] = {}
        self._counted_until: dict[tuple[str, str], float] = {}
        self._done = 0
        self._began = self._said = self._drawn = time.monotonic()

    def size(self, case: str, size: float) -> None:
        """The instance of a case is there: its size, in any unit that is the same for all."""
        self._sizes[case] = max(1.0, size)
        self._mean_size = sum(self._sizes.values()) / len(self._sizes)

    def tick(
        self,
        at_work: Sequence[tuple[str, str, float]],
        counts: Mapping[tuple[str, str], ArrivalCount | None] | None = None,
    ) -> None:
        """What is at work: (case, kind, seconds so far); said where nothing has been for some seconds."""
        self._at_work, self._counts = at_work, counts or {}
        for case, kind, seconds in at_work:
            # From the first answer on: before it an algorithm is built, and may compile.
            if (count := self._counts.get((case, kind))) is not None and count.share > 0:
                since = self._counted_since.get((case, kind))
                if since is None or count.share < since[1]:  # the first, or another repetition
                    self._counted_since[case, kind] = seconds, count.share
                self._counted_until[case, kind] = seconds
        now = time.monotonic()
        if self.quiet:
            return
        if self._bar:
            if now - self._drawn >= 1.0:
                self._draw_bar()
        elif now - self._said >= SILENCE:
            self._write(f"... {self._done} of {self._total} pieces of work, {self._told()}; at work: {self._names()}\n")

    def advance(self, case: str, kind: str, seconds: float | None = None) -> None:
        """A piece of a case is there; `seconds` of work in this run, None where it was found or is another's too."""
        self._done += 1
        self._left[case][kind] -= 1
        if seconds is not None:
            size = self._size(case)
            self._kinds.setdefault(kind, _Took()).add(size, seconds)
            self._alike.setdefault((kind, _power(size)), _Took()).add(size, seconds)
        if self._bar and time.monotonic() - self._drawn >= self.REDRAWN:
            self._draw_bar()

    def _draw_bar(self) -> None:
        spent, left = time.monotonic() - self._began, self.remaining()
        share = self._done / max(1, self._total) if left is None else spent / max(spent + left, 1e-9)
        filled = min(self.WIDTH, int(self.WIDTH * share))
        bar = "#" * filled + "." * (self.WIDTH - filled)
        self._over(f"[{bar}] {self._done}/{self._total}, {self._told()}  {self._names()}")
        self._drawn = time.monotonic()

    def _names(self) -> str:
        longest = sorted(self._at_work, key=lambda piece: -piece[2])
        names = ", ".join(
            f"{case}: {kind}{self._far(case, kind)} ({clock(seconds)})" for case, kind, seconds in longest[:4]
        )
        return (names or "nothing yet") + (f" and {len(longest) - 4} more" if len(longest) > 4 else "")

    def _far(self, case: str, kind: str) -> str:
        count = self._counts.get((case, kind))
        return "" if count is None else f": {count.text}"

    def _left_by_count(self, case: str, kind: str, seconds: float) -> float | None:
        """Seconds that a run takes for its other arrivals, at the pace of those it has answered; None: not known."""
        count, since = self._counts.get((case, kind)), self._counted_since.get((case, kind))
        if since is None:
            return None
        if count is None:  # what follows the run is expected to take as long again as it takes so far
            return max(0.0, seconds - self._counted_until[case, kind])
        if seconds - since[0] < COUNTED or count.share <= since[1]:
            return None
        return (1 - count.share) * (seconds - since[0]) / (count.share - since[1])

    def remaining(self) -> float | None:
        """Seconds that are left by the clock.

        None before any piece of work of this run is done, but for what is left of runs that count their arrivals.
        """
        known = {(case, kind): self._left_by_count(case, kind, seconds) for case, kind, seconds in self._at_work}
        left = {piece: seconds for piece, seconds in known.items() if seconds is not None}
        if not self._kinds.keys() - {MAKING}:
            counted = all(
                count <= ((case, kind) in left) for case, kinds in self._left.items() for kind, count in kinds.items()
            )
            return max(sum(left.values()) / max(1, self.workers), *left.values()) if left and counted else None
        begun = {(case, kind): seconds for case, kind, seconds in self._at_work}
        # Of a kind of which no piece is done, one at work is taken to be half done.
        least: dict[str, float] = {}
        for case, kind, seconds in self._at_work:
            whole = seconds + left.get((case, kind), seconds)
            least[kind] = max(least.get(kind, 0.0), whole / max(self._size(case), 1e-9))
        parts = []
        for case, kinds in self._left.items():
            size = self._size(case)
            for kind, count in kinds.items():
                if count > 0:
                    guess = self._guess(kind, size)
                    guess = guess if kind in self._kinds else max(guess, size * least.get(kind, 0.0))
                    # A piece that is late is expected to take as long again as it is late.
                    late = abs(guess - begun.get((case, kind), 0.0))
                    parts += [guess] * (count - 1) + [left.get((case, kind), late)]
        # No number of workers makes one piece shorter.
        return max(sum(parts) / max(1, self.workers), max(parts, default=0.0))

    def _size(self, case: str) -> float:
        """Of an instance that is not made yet, the mean of the others."""
        return self._sizes.get(case, self._mean_size)

    def _guess(self, kind: str, size: float) -> float:
        alike = self._alike.get((kind, _power(size)))
        if alike is not None:
            return alike.seconds / alike.pieces
        # Making an instance takes no time: it says nothing of other work.
        known = [self._kinds[kind]] if kind in self._kinds else [t for k, t in self._kinds.items() if k != MAKING]
        return size * sum(each.seconds for each in known) / sum(each.size for each in known)

    def _told(self) -> str:
        left = None if self._done >= self._total else self.remaining()
        spent = f"{clock(time.monotonic() - self._began)} so far"
        return spent if left is None else f"{spent}, about {clock(left)} left"

    def line(self, text: str) -> None:
        """A line of its own, above the bar where there is one."""
        if not self.quiet:
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


def _power(size: float) -> int:
    """Sizes between two powers of two are alike."""
    return int(size).bit_length()


def clock(seconds: float) -> str:
    """A time for reading: seconds up to 100, then minutes and seconds, from 100 minutes on hours."""
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 100 * 60 else f"{seconds / 3600:.1f} h"
