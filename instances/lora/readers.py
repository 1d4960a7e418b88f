"""Readers of the traces' own public file formats: submissions per slot of every day."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.text_files import TextFile, open_text, read_number, rows

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
    if name not in TRACES:
        raise InputError("traces", "name", f"{shorten(name)} is none of {', '.join(TRACES)}")
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
