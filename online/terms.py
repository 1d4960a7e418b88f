"""The terms of online runs, set around them: `with under(Terms(limit=60)): run(...)`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Terms:
    """What a run is given.

    Parameters
    ----------
    limit : seconds after which a run is stopped, a violation; None for no limit. Algorithms of ours are asked to stop
        between two decisions, anyone's own is killed.
    isolate : anyone's own algorithm runs in a sandbox (`online.referee.sandbox`).
    """

    limit: float | None = None
    isolate: bool = False


def stopped(seconds: float) -> str:
    """What is said of a run that was stopped at its limit."""
    return f"stopped after {seconds:g} s"


_current: ContextVar[Terms] = ContextVar("terms", default=Terms())  # noqa: B039  (it is frozen)
current = _current.get


@contextlib.contextmanager
def under(terms: Terms) -> Iterator[None]:
    """Runs inside, in this thread, are on these terms."""
    token = _current.set(terms)
    try:
        yield
    finally:
        _current.reset(token)
