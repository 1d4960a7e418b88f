"""Arrivals per 10-minute slot from real cluster traces: the shipped days, a user's own file, and exact rescaling."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, ClassVar

from ratiobench.instances.io.errors import InputError, require_known, shorten
from ratiobench.instances.io.fields import integer
from ratiobench.instances.io.keys import Text
from ratiobench.instances.io.text_files import TextFile, open_text, read_number, read_table, rows

DATA = Path(__file__).with_name("data")
COUNTED_SLOTS, COUNT_LIMIT = 1_000_000, 1_000_000  # Most slots of a file of counts, and most tasks in one of them
SLOTS_PER_DAY = 144
SLOT_SECONDS = 600
LONGEST_SPAN = 3660
# Columns of PAI's table, whose header may be missing
_PAI = (
    "job_name", "task_name", "inst_num", "status", "start_time", "end_time", "plan_cpu", "plan_mem", "plan_gpu",
    "gpu_type",
)  # fmt: skip
# Times of PAI are Unix seconds less a constant; read in UTC+8 they have the true time of day, with fake dates.
_PAI_ZONE = 8 * 3600

# A moment on the trace's clock: the day, and the second within it.
Moment = tuple[date, int]


def _read_helios(file: TextFile, source: str) -> Iterator[Moment]:
    """Submissions of GPU jobs, in the log's own clock."""
    for line, row in _read_table(file, source, ("gpu_num", "submit_time")):
        moment = _timestamp(row["submit_time"], f"line {line} submit_time", source)
        if read_number(row["gpu_num"], source, f"line {line} gpu_num") > 0:
            yield moment


def _read_pai(file: TextFile, source: str) -> Iterator[Moment]:
    """Starts of terminated GPU tasks, in UTC+8; the table has no submission times."""
    for line, fields in rows(file, source):
        if line == 1 and tuple(fields) == _PAI:
            continue
        row = _name_fields(_PAI, fields, line, source)
        # All rows are checked, those that do not count too: a wrong file should not pass as an empty one.
        gpus = read_number(row["plan_gpu"] or "0", source, f"line {line} plan_gpu")
        start = read_number(row["start_time"], source, f"line {line} start_time") if row["start_time"] else None
        if start is not None and gpus > 0 and row["status"] == "Terminated":
            days, second = divmod(int(start) + _PAI_ZONE, 86_400)
            yield date(1970, 1, 1) + timedelta(days=days), second


def _read_philly(file: TextFile, source: str) -> Iterator[Moment]:
    """Submissions of all jobs, in the log's own clock, without a correction for daylight saving."""
    if not file.is_json_list():  # the CSV of schedulers' simulators, not `cluster_job_log`
        for line, row in _read_table(file, source, ("timestamp",)):
            yield _timestamp(row["timestamp"], f"line {line} timestamp", source)
        return
    for j, job in enumerate(file.json()):
        if not isinstance(job, dict):
            raise InputError(source, f"[{j}]", f"{shorten(job)} is not an object")
        if "submitted_time" not in job:
            raise InputError(source, f"[{j}].submitted_time", "the field is missing")
        yield _timestamp(job["submitted_time"], f"[{j}].submitted_time", source)


@dataclass(frozen=True, slots=True)
class Trace:
    title: str  # owner, cluster, year, and what is counted
    licence: str
    where: str  # the file that the reader wants and where to get it
    moments: Callable[[TextFile, str], Iterator[Moment]]  # (file, its name): when every job that counts came


# The traces by name, in alphabetical order
TRACES = {
    "helios": Trace(
        "SenseTime Helios 2020, cluster Venus, submissions of GPU jobs",
        "CC BY 4.0",
        "cluster_log.csv of each cluster is in data.zip of GitHub S-Lab-System-Group/HeliosData",
        _read_helios,
    ),
    "pai": Trace(
        "Alibaba PAI 2020 (8.2 % sample), starts of terminated GPU tasks",
        "free for research and study, citation asked",
        "pai_task_table.csv is in pai_task_table.tar.gz, linked from cluster-trace-gpu-v2020/data/README.md "
        "of GitHub alibaba/clusterdata",
        _read_pai,
    ),
    "philly": Trace(
        "Microsoft Philly 2017 (about 3 jobs in 4), submissions",
        "CC BY 4.0",
        "cluster_job_log is in trace-data.tar.gz of GitHub msr-fiddle/philly-traces (git lfs pull)",
        _read_philly,
    ),
}


def find_trace(name: str) -> Trace:
    require_known(name, TRACES, "traces", "name")
    return TRACES[name]


def read_arrivals(
    trace: str, path: str | os.PathLike[str], slot_seconds: int = SLOT_SECONDS
) -> dict[str, tuple[int, ...]]:
    """Count the jobs per slot (a divisor of a day) of every day from the file's first one to its last."""
    reader = find_trace(trace)
    counts: dict[date, list[int]] = {}
    nobody = [0] * (SLOTS_PER_DAY * SLOT_SECONDS // slot_seconds)
    with open_text(path, reader.where) as file:
        for day, second in reader.moments(file, str(path)):
            counts.setdefault(day, nobody.copy())[second // slot_seconds] += 1
    if not counts:
        return {}
    first, last = min(counts), max(counts)
    if (last - first).days > LONGEST_SPAN:
        problem = f"{first} to {last} is more than {LONGEST_SPAN} days: one of them is wrong"
        raise InputError(str(path), "days", problem)
    every = (first + timedelta(days=j) for j in range((last - first).days + 1))
    return {day.isoformat(): tuple(counts.get(day, nobody)) for day in every}


def _read_table(file: TextFile, source: str, needed: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV file with a header, each with its line, by the names of the columns."""
    table = rows(file, source)
    line, header = next(table, (1, []))
    for name in needed:
        if header.count(name) != 1:
            problem = f"{header.count(name)} columns named {name!r} in the header; exactly one is needed"
            raise InputError(source, f"line {line}", problem)
    for line, fields in table:
        yield line, _name_fields(header, fields, line, source)


def _name_fields(names: Sequence[str], fields: list[str], line: int, source: str) -> dict[str, str]:
    if len(fields) != len(names):
        raise InputError(source, f"line {line}", f"{len(fields)} fields; {len(names)} needed")
    return dict(zip(names, fields, strict=True))


def _timestamp(text: object, where: str, source: str) -> Moment:
    if isinstance(text, str) and len(text) == 19 and text[10] == " ":
        with suppress(ValueError):
            moment = datetime.fromisoformat(text)
            return moment.date(), moment.hour * 3600 + moment.minute * 60 + moment.second
    raise InputError(source, where, f"{shorten(text)} is not a time YYYY-MM-DD HH:MM:SS")


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
