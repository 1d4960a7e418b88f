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

    answered: int  # answered, arrivals: of the simulation that goes on
    arrivals: int
    # before, after: arrivals of other simulations of the same run that are over, or come next: a user's algorithm is
    # run again on the first half.
    before: int = 0
    after: int = 0

    @property
    def share(self) -> float:
        """Part of the run that is done, by arrivals."""
        return (self.before + self.answered) / max(1, self.before + self.arrivals + self.after)

    @property
    def text(self) -> str:
        """As a display has it."""
        return f"{self.answered:,} of {self.arrivals:,} arrivals{', repeated' * (self.before > 0)}"


# Is called with the count, a few times a second at most, and with None when the run is over
Tell = Callable[[ArrivalCount | None], None]

_tell: ContextVar[Tell | None] = ContextVar("tell", default=None)
_others: ContextVar[tuple[int, int]] = ContextVar("others", default=(0, 0))


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


@contextlib.contextmanager
def other_simulations(before: int, after: int) -> Iterator[None]:
    """The simulation inside is part of a run with these arrivals before it and after it."""
    token = _others.set((before, after))
    try:
        yield
    finally:
        _others.reset(token)


class Counter:
    """The count of one simulation, told now and as arrivals are answered."""

    def __init__(self, tell: Tell, arrivals: int) -> None:
        self._tell, self._arrivals, self._answered, self._told_at = tell, arrivals, 0, -math.inf
        self.add(0)

    def add(self, answered: int) -> None:
        self._answered += answered
        now = time.monotonic()
        if now - self._told_at >= EVERY or self._answered == self._arrivals:
            self._told_at = now
            self._tell(ArrivalCount(self._answered, self._arrivals, *_others.get()))


def start_counting(arrivals: int) -> Counter | None:
    """The count of a simulation that begins; None where no display asks for it."""
    tell = _tell.get()
    return None if tell is None else Counter(tell, arrivals)
