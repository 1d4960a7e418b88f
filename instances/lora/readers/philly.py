"""Microsoft Philly: `cluster_job_log` (JSON), or the CSV with a `timestamp` column that schedulers' simulators use."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import TextIO

from instances.errors import InputError, shown
from instances.lora.readers.base import Moment, Trace, columns, register, rows, timestamp, width


def moments(file: TextIO, source: str) -> Iterator[Moment]:
    """Submissions of all jobs, in the log's own clock, without a correction for daylight saving."""
    head = [""]
    while not head[-1].strip() and (line := file.readline()):
        head.append(line)
    lines = chain(head[1:], file)
    return _log(lines, source) if head[-1].lstrip().startswith("[") else _table(lines, source)


def _log(lines: Iterator[str], source: str) -> Iterator[Moment]:
    try:
        jobs = json.loads("".join(lines))
    except json.JSONDecodeError as error:
        raise InputError(source, f"line {error.lineno} column {error.colno}", f"not JSON: {error.msg}") from None
    except RecursionError:
        raise InputError(source, "", "not JSON that can be read: nested too deeply") from None
    for j, job in enumerate(jobs):
        if not isinstance(job, dict):
            raise InputError(source, f"[{j}]", f"{shown(job)} is not an object")
        if "submitted_time" not in job:
            raise InputError(source, f"[{j}].submitted_time", "the field is missing")
        yield timestamp(job["submitted_time"], f"[{j}].submitted_time", source)


def _table(lines: Iterator[str], source: str) -> Iterator[Moment]:
    table = rows(lines, source)
    line, header = next(table, (1, []))
    where = columns(header, ("timestamp",), line, source)["timestamp"]
    for line, row in table:
        width(row, len(header), line, source)
        yield timestamp(row[where], f"line {line} timestamp", source)


register(
    Trace(
        name="philly",
        title="Microsoft Philly 2017 (about 3 jobs in 4), submissions",
        licence="CC BY 4.0",
        where="cluster_job_log is in trace-data.tar.gz of GitHub msr-fiddle/philly-traces (git lfs pull)",
        moments=moments,
    )
)
