"""How many arrivals of a run are answered, for a display of progress; nothing is counted where no display asks."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import NamedTuple

EVERY = 0.25  # Seconds between two counts that are told


class ArrivalCount(NamedTuple):
    """How far a run is."""

    answered: int
    arrivals: int
    is_repeated: bool = False  # a user's algorithm is run again on the first half

    @property
    def text(self) -> str:
        """As a display has it."""
        return f"{self.answered:,} of {self.arrivals:,} arrivals{', repeated' * self.is_repeated}"


# Is called with the count, a few times a second at most, and with None when the run is over
Tell = Callable[[ArrivalCount | None], None]

_tell: ContextVar[Tell | None] = ContextVar("tell", default=None)


@contextlib.contextmanager
def counted_arrivals(tell: Tell | None) -> Iterator[None]:
    """Tell the counts of the runs inside; with None nothing is told."""
    token = _tell.set(tell)
    try:
        yield
    finally:
        _tell.reset(token)
        if tell is not None:
            tell(None)


class Counter:
    """The count of one simulation, told now and as arrivals are answered."""

    def __init__(self, tell: Tell, arrivals: int, is_repeated: bool) -> None:
        self._tell, self._count, self._told_at = tell, ArrivalCount(0, arrivals, is_repeated), -math.inf
        self.add(0)

    def add(self, answered: int) -> None:
        self._count = self._count._replace(answered=self._count.answered + answered)
        now = time.monotonic()
        if now - self._told_at >= EVERY or self._count.answered == self._count.arrivals:
            self._told_at = now
            self._tell(self._count)


def start_counting(arrivals: int, is_repeated: bool = False) -> Counter | None:
    """The count of a simulation that begins; None where no display asks for it."""
    tell = _tell.get()
    return None if tell is None else Counter(tell, arrivals, is_repeated)
