"""What a command is: options, work, and what is printed and written of its result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ratiobench.bench.options import Options

NAME = "ratiobench"


def _nothing(options: Any, found: Any) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Command:
    """A command."""

    options: type[Options]
    run: Callable[[Any], Any]  # the work; prints nothing
    text: Callable[[Any, Any], Iterable[str]] = _nothing  # the result as lines, for people
    document: Callable[[Any, Any], Any] | None = None  # the same as JSON values; None where there is no ``--json``
    # writes the files that the options name, after the result is printed; may return lines about them.
    write: Callable[[Any, Any], Iterable[str] | None] = _nothing
    after: Callable[[Any, Any], object] = _nothing  # work that may take long, after all that; prints what it finds
    status: Callable[[Any], int] = lambda found: 0  # the exit status
    busy: str = ""  # text of the first progress line; empty for commands that end at once
    # whether what is finished is kept when the command is interrupted; None: where ``--out`` is given.
    keeps: bool | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """A command of several parts, such as ``standard list``."""

    parts: tuple[Listed, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """A command as the help lists it; its module is imported when it is used."""

    name: str  # on the command line
    summary: str  # what it does, in one line
    load: Callable[[], Command | Group]
