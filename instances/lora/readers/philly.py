"""Microsoft Philly: `cluster_job_log` (JSON), or the CSV with a `timestamp` column that schedulers' simulators use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.text_files import TextFile, rows
from ratiobench.instances.lora.readers.base import Moment, Trace, columns, register, timestamp, width


def moments(file: TextFile, source: str) -> Iterator[Moment]:
    """Submissions of all jobs, in the log's own clock, without a correction for daylight saving."""
    return _log(file.json(), source) if file.is_json_list() else _table(file, source)


def _log(jobs: list[Any], source: str) -> Iterator[Moment]:
    for j, job in enumerate(jobs):
        if not isinstance(job, dict):
            raise InputError(source, f"[{j}]", f"{shorten(job)} is not an object")
        if "submitted_time" not in job:
            raise InputError(source, f"[{j}].submitted_time", "the field is missing")
        yield timestamp(job["submitted_time"], f"[{j}].submitted_time", source)


def _table(file: TextFile, source: str) -> Iterator[Moment]:
    table = rows(file, source)
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
