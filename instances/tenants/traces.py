"""What real clusters give the generators: when jobs come, how long they run, and how fast GPUs are.

Arrivals are those of `instances/lora/data`; quantiles of lengths and measured rates stand in `data` here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import MappingProxyType

from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.text_files import open_text, read_number, read_table, rows

DATA = Path(__file__).with_name("data")
ARRIVALS = Path(__file__).parents[1] / "lora" / "data"
TRACES = ("pai", "philly", "helios")
SLOT_SECONDS = 600
GPU_NAMES = ("v100", "p100", "k80")
SHORTEST, LONGEST = 300, 28_800  # Seconds: shorter jobs are left out, longer ones are cut
_SUBMIT, _SECONDS = ("submit", "submit_time", "start_time", "timestamp"), ("seconds", "duration", "duration_s")


@cache
def throughput() -> Mapping[str, tuple[Fraction, ...]]:
    """Iterations per second of a kind of job on one GPU of each of `GPU_NAMES`."""
    _, rows = read_table(DATA / "throughput.csv")
    return MappingProxyType({kind: tuple(map(Fraction, rates)) for kind, *rates in rows})


@cache
def arrivals(trace: str) -> tuple[int, ...]:
    """Submissions in each slot of ten minutes of the trace's shipped week."""
    (_, *days), rows = read_table(ARRIVALS / f"arrivals_{trace}.csv")
    return tuple(int(row[day]) for day in range(1, len(days) + 1) for row in rows)


@cache
def lengths(trace: str) -> tuple[int, ...]:
    """Quantiles of the seconds that jobs of a trace run: 0, 1, ..., 100 percent."""
    header, rows = read_table(DATA / "lengths.csv")
    return tuple(int(row[header.index(trace)]) for row in rows)


def length_at(trace: str, place: int) -> int:
    """Seconds at a place in 0..99,999 of the law: linear between quantiles, rounded down."""
    low, part = divmod(place, 1000)
    table = lengths(trace)
    return (table[low] * (1000 - part) + table[low + 1] * part) // 1000


def read_log(path: str) -> list[tuple[int, int]]:
    """(submission, seconds) of the jobs of a user's own CSV log, in order; short ones left out, long ones cut."""
    with open_text(path) as file:
        return sorted(_jobs(rows(file, path), path), key=lambda job: job[0])


def _jobs(table: Iterator[tuple[int, list[str]]], source: str) -> Iterator[tuple[int, int]]:
    _, header = next(table, (1, []))
    found = [next((name for name in names if name in header), "") for names in (_SUBMIT, _SECONDS)]
    for name, known in zip(found, (_SUBMIT, _SECONDS), strict=True):
        if not name:
            raise InputError(source, "line 1", f"has none of the columns {', '.join(known)}")
    for line, fields in table:
        where, row = f"line {line}", dict(zip(header, fields, strict=False))
        seconds = _number(row.get(found[1]) or "0", f"{where} {found[1]}", source)
        if seconds >= SHORTEST:
            yield _moment(row.get(found[0], ""), f"{where} {found[0]}", source), min(seconds, LONGEST)


def _number(text: str, field: str, source: str) -> int:
    return int(read_number(text, source, field, "a number of seconds"))


def _moment(text: str, field: str, source: str) -> int:
    """Seconds; digits alone are seconds, although ISO 8601 reads eight of them as a day."""
    try:
        float(text)
    except ValueError:
        with suppress(ValueError):
            moment = datetime.fromisoformat(text)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            return int((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
    return _number(text, field, source)
