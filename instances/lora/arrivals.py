"""Arrivals per 10-minute slot from real cluster traces: the shipped days, a user's own file, and exact rescaling."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, ClassVar

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.fields import integer
from ratiobench.instances.io.keys import Text
from ratiobench.instances.io.text_files import open_text, read_table, rows
from ratiobench.instances.lora.readers import SLOT_SECONDS, SLOTS_PER_DAY, TRACES, find_trace, read_arrivals

DATA = Path(__file__).with_name("data")
COUNTED_SLOTS, COUNT_LIMIT = 1_000_000, 1_000_000  # Most slots of a file of counts, and most tasks in one of them

__all__ = ["SLOTS_PER_DAY", "days", "read_arrivals", "scale_counts", "span_counts", "traces"]


def traces() -> list[tuple[str, str]]:
    """Name of each trace, and its content, shipped days and licence in a sentence."""
    listed = []
    for name, trace in TRACES.items():
        first, *_, last = days(name)
        listed.append((name, f"{trace.title}; days {first} to {last} shipped as counts per slot; {trace.licence}"))
    return listed


def days(trace: str) -> tuple[str, ...]:
    return tuple(_table(trace, "arrivals"))


def list_earlier_days(trace: str) -> tuple[str, ...]:
    """The days before the shipped ones, in order, whose counts are shipped as history."""
    return tuple(_table(trace, "earlier"))


def span_counts(
    trace: str, day: str, number: int, file: str | os.PathLike[str] | None = None, slot_seconds: int = SLOT_SECONDS
) -> tuple[tuple[int, ...], bool]:
    """Submissions per slot of so many days from `day` on, and whether days had to be repeated."""
    if file is not None:  # the trace's own, not the shipped days, whose slots have 600 s
        table = read_arrivals(trace, file, slot_seconds)
        if day not in table:
            span = f"{min(table)} to {max(table)}" if table else "no days"
            raise InputError(str(file), "day", f"{shorten(day)} is not in the file, which has {span}")
    else:
        table, earlier = _table(trace, "arrivals"), _table(trace, "earlier")
        if day not in table | earlier:
            shipped = f"shipped: {', '.join(table)}; other days: name the trace's own file"
            raise InputError(f"trace {trace}", "day", f"{shorten(day)} is not shipped; {shipped}")
        if day not in table:
            table = earlier | table
    known = list(table)
    first = known.index(day)
    chosen = [known[(first + j) % len(known)] for j in range(number)]
    return tuple(count for each in chosen for count in table[each]), first + number > len(known)


def scale_counts(counts: Sequence[int], total: int) -> tuple[int, ...]:
    """Rescale counts to an exact total: every stretch of slots gets its share to within 1, and nothing is drawn."""
    whole = sum(counts)
    if whole == 0 and total > 0:
        raise ValueError("no submissions in these slots")
    # Arrivals up to a slot are rounded to the nearest integer, halves up
    placed = [(2 * total * seen + whole) // (2 * whole) if whole else 0 for seen in accumulate(counts)]
    return tuple(upto - before for before, upto in pairwise([0, *placed]))


@dataclass(frozen=True)
class CountsFile(Text):
    """The name of a CSV file of tasks per slot, or its counts, which stand in its place once it was read."""

    path: bool = True
    lists: ClassVar[bool] = True

    def checked(self, source: str, field: str, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [integer(source, f"{field}[{j}]", each, 0, COUNT_LIMIT) for j, each in enumerate(value)]
        return read_counts(Text(path=True).checked(source, field, value))


def read_counts(path: str | os.PathLike[str]) -> list[int]:
    """Tasks in slot 1, 2, ... of a CSV file with the columns slot and count; slots that are left out have none."""
    counts: dict[int, int] = {}
    with open_text(path) as file:
        lines = rows(file, str(path))
        number, header = next(lines, (1, []))
        if header != ["slot", "count"]:
            raise InputError(str(path), f"line {number}", f"{shorten(','.join(header))} is not the header slot,count")
        for number, row in lines:
            where = f"line {number}"
            if len(row) != 2:
                raise InputError(str(path), where, f"{len(row)} fields; 2 needed")
            slot_text, count_text = (int(text) if text.isdecimal() else text for text in row)
            slot = integer(str(path), f"{where} slot", slot_text, 1, COUNTED_SLOTS)
            count = integer(str(path), f"{where} count", count_text, 0, COUNT_LIMIT)
            if slot in counts:
                raise InputError(str(path), f"{where} slot", f"{slot} stands twice")
            counts[slot] = count
    if not counts:
        raise InputError(str(path), "", "has no counts")
    return [counts.get(slot, 0) for slot in range(1, max(counts) + 1)]


@lru_cache(maxsize=16)
def _table(trace: str, kind: str) -> dict[str, tuple[int, ...]]:
    find_trace(trace)
    header, rows = read_table(DATA / f"{kind}_{trace}.csv")
    return {day: tuple(int(row[column]) for row in rows) for column, day in enumerate(header) if column > 0}
