"""The context of online runs, set around them: `with run_context(RunContext(limit=60)): run(...)`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field

__all__ = ["RunContext", "UserAlgorithm", "run_context", "stop_message"]

# How users' algorithms are to be isolated: True, it is required; None, where it can be had; a name, in this way
# (`ratiobench.online.remarks`: BUBBLEWRAP, LANDLOCK, NO_ISOLATION); False, not at all, and no row says so
Isolate = bool | str | None


@dataclass(frozen=True, slots=True)
class UserAlgorithm:
    """A user's class or object that is no module of its own (`ratiobench.online.user_algorithm`)."""

    code: str  # a hash of its code, its version; the same wherever it was written down
    pickled: bytes  # the class or object itself
    files: tuple[str, ...] = ()  # of modules that it names, which its process must be able to load


@dataclass(frozen=True, slots=True)
class RunContext:
    """Time limit, sandbox and repetition of runs."""

    # seconds after which a run is stopped, a violation: an algorithm of ours between two decisions, a user's is killed.
    limit: float | None = None
    isolate: Isolate = False  # whether users' algorithms run in a sandbox (`ratiobench.online.referee.sandbox.choose`)
    own: Mapping[str, UserAlgorithm] = field(default_factory=dict)  # the algorithms that are no modules, by their names
    repetition: int = 1  # which run of an algorithm that draws this is, from 1 on: each has a seed of its own
    hidden: tuple[str, ...] = ()  # folders that no sandbox shows: those of the instance and of the results
    left: Callable[[], float] | None = None  # seconds that are left now for all runs of a user's algorithm
    alone: bool = True  # whether no other run uses the cores: both runs of a user's algorithm may go on at once


def stop_message(seconds: float) -> str:
    """Return the message of a run that was stopped at its time limit."""
    return f"stopped after {seconds:g} s"


_current: ContextVar[RunContext] = ContextVar("terms", default=RunContext())  # noqa: B039  (it is frozen)
current = _current.get


@contextlib.contextmanager
def run_context(terms: RunContext) -> Iterator[None]:
    """Set the run context of all runs inside a `with` block, in this thread.

    Examples
    --------
    >>> from ratiobench.online import run_context
    >>> with run_context.run_context(run_context.RunContext(limit=60)):
    ...     run_context.current().limit
    60
    """
    token = _current.set(terms)
    try:
        yield
    finally:
        _current.reset(token)
