"""What the readers share: the registry, fields that are checked, day counts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.text_files import TextFile, open_text

SLOTS_PER_DAY = 144
SLOT_SECONDS = 600
LONGEST_SPAN = 3660

# A moment on the trace's clock: the day, and the second within it.
Moment = tuple[date, int]


@dataclass(frozen=True, slots=True)
class Trace:
    """A cluster trace: what it is, where its owner publishes it, and how its file is read."""

    name: str  # as recipes and commands say it
    title: str  # owner, cluster, year, and what is counted
    licence: str
    where: str  # the file that the reader wants and where to get it
    # yields the moment of every job that counts, given the open text file and its name for messages.
    moments: Callable[[TextFile, str], Iterator[Moment]]


_TRACES: dict[str, Trace] = {}


def register(trace: Trace) -> None:
    """Register a trace under its name."""
    if trace.name in _TRACES:
        raise ValueError(f"two traces named {trace.name}")
    _TRACES[trace.name] = trace


def list_traces() -> dict[str, Trace]:
    """List the readers of traces."""
    return dict(sorted(_TRACES.items()))


def read_arrivals(
    trace: str, path: str | os.PathLike[str], slot_seconds: int = SLOT_SECONDS
) -> dict[str, tuple[int, ...]]:
    """Count the jobs per slot of every day of a trace's file.

    Entry s of a day covers `slot_seconds` (a divisor of a day) from second `slot_seconds` * s after midnight; days
    without jobs are all zeros. The first and the last day may be cut by the file. Plain text and gzip are both read.

    `slot_seconds`: length of a slot, a divisor of a day; returns (slots,) counts by day, from the file's first day to
    its last.
    """
    if trace not in _TRACES:
        raise InputError("traces", "name", f"{shorten(trace)} is none of {', '.join(list_traces())}")
    reader = _TRACES[trace]
    counts: dict[date, list[int]] = {}
    nobody = [0] * (SLOTS_PER_DAY * SLOT_SECONDS // slot_seconds)
    with open_text(path, reader.where) as file:
        for day, second in reader.moments(file, str(path)):
            if day not in counts:
                counts[day] = nobody.copy()
            counts[day][second // slot_seconds] += 1
    if not counts:
        return {}
    first, last = min(counts), max(counts)
    if (last - first).days > LONGEST_SPAN:
        span = f"{first} to {last} is more than {LONGEST_SPAN} days: one of them is wrong"
        raise InputError(str(path), "days", span)
    every = (first + timedelta(days=j) for j in range((last - first).days + 1))
    return {day.isoformat(): tuple(counts.get(day, nobody)) for day in every}


def columns(row: list[str], needed: tuple[str, ...], line: int, source: str) -> dict[str, int]:
    """Where the needed columns stand in a header row."""
    for name in needed:
        if row.count(name) != 1:
            problem = f"{row.count(name)} columns named {name!r} in the header; exactly one is needed"
            raise InputError(source, f"line {line}", problem)
    return {name: row.index(name) for name in needed}


def width(row: list[str], needed: int, line: int, source: str) -> None:
    """Complain unless the row has the needed number of fields."""
    if len(row) != needed:
        raise InputError(source, f"line {line}", f"{len(row)} fields; {needed} needed")


def number(text: str, line: int, name: str, source: str) -> float:
    """A number in 0..10^11 in a field (a second of the trace's clock, GPUs)."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1e11:
        raise InputError(source, f"line {line} {name}", f"{shorten(text)} is not a number in 0..10^11")
    return value


def timestamp(text: object, where: str, source: str) -> Moment:
    """The moment that `YYYY-MM-DD HH:MM:SS` names."""
    if isinstance(text, str) and len(text) == 19 and text[10] == " ":
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            pass
        else:
            return moment.date(), moment.hour * 3600 + moment.minute * 60 + moment.second
    raise InputError(source, where, f"{shorten(text)} is not a time YYYY-MM-DD HH:MM:SS")
