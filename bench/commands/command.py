"""What a command is: options, work, and what is printed and written of its result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ratiobench.bench.options import Options

NAME = "ratiobench"


def _nothing(options: Any, found: Any) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Command:
    """A command.

    Parameters
    ----------
    name : on the command line.
    summary : what it does, in one line.
    options : its options.
    run : the work; prints nothing.
    text : the result as lines, for people.
    document : the same as JSON values; None where there is no ``--json``.
    write : writes the files that the options name, after the result is printed; may return lines about them.
    after : work that may take long, after all that; prints what it finds.
    status : the exit status.
    busy : text of the first progress line; empty for commands that end at once.
    keeps : whether what is finished is kept when the command is interrupted; None: where ``--out`` is given.
    """

    name: str
    summary: str
    options: type[Options]
    run: Callable[[Any], Any]
    text: Callable[[Any, Any], Iterable[str]] = _nothing
    document: Callable[[Any, Any], Any] | None = None
    write: Callable[[Any, Any], Iterable[str] | None] = _nothing
    after: Callable[[Any, Any], object] = _nothing
    status: Callable[[Any], int] = lambda found: 0
    busy: str = ""
    keeps: bool | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """A command of several parts, such as ``standard list``."""

    name: str
    summary: str
    parts: tuple[Command, ...]
