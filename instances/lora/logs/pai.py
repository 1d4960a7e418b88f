"""Alibaba PAI: `pai_task_table.csv`, which has no line of names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.text_files import TextFile
from ratiobench.instances.io.text_files import rows as read_rows
from ratiobench.instances.lora.logs.base import (
    NO_END,
    NO_GPU,
    NO_TIME,
    Job,
    LogFormat,
    SkippedLine,
    amount,
    register,
    round_thousandths,
    round_up,
)
from ratiobench.instances.lora.readers.pai import COLUMNS, ZONE
from ratiobench.instances.lora.schedules import ScheduleKind

_JOB, _TASK, _COUNT, _STATUS = (COLUMNS.index(name) for name in ("job_name", "task_name", "inst_num", "status"))
_START, _END, _GPU, _TYPE = (COLUMNS.index(name) for name in ("start_time", "end_time", "plan_gpu", "gpu_type"))


def rows(file: TextFile, source: str, columns: Mapping[str, str]) -> Iterator[tuple[int, list[str]]]:
    """The rows, without a line of names."""
    for line, row in read_rows(file, source):
        if line > 1 or tuple(row) != COLUMNS:
            yield line, row


def job(row: Any, where: str, source: str) -> Job | SkippedLine:
    """A task of a job, all its instances together, or why it is none of ours."""
    if len(row) != len(COLUMNS):
        raise InputError(source, where, f"{len(row)} fields; {len(COLUMNS)} are needed")
    gpus = amount(row[_GPU], where, "plan_gpu", source) if row[_GPU] else 0.0
    count = amount(row[_COUNT], where, "inst_num", source) if row[_COUNT] else 1.0
    start = amount(row[_START], where, "start_time", source) if row[_START] else None
    end = amount(row[_END], where, "end_time", source) if row[_END] else None
    if start is None:
        return SkippedLine("without a start")
    submit = int(start) + ZONE
    total = round_thousandths(gpus * count / 100)
    if not total:
        return SkippedLine(NO_GPU, submit)
    if end is None or row[_STATUS] != "Terminated":
        return SkippedLine(NO_END, submit)
    if end < start:
        raise InputError(source, f"{where} end_time", f"{row[_END]} is before the start {row[_START]}")
    if end == start:
        return SkippedLine(NO_TIME, submit)
    name = f"{row[_JOB]}/{row[_TASK]}"
    return Job(name, submit, round_up(end - start), total, kind=row[_TYPE], start=submit)


register(
    LogFormat(
        name="pai",
        title="Alibaba PAI (pai_task_table.csv)",
        reading=(
            "a task of a job is a job, all its instances together; plan_gpu is in hundredths of a GPU",
            "the table has starts, no submissions: a start is read as the submission, in UTC+8",
        ),
        rows=rows,
        job=job,
        run=ScheduleKind.ANY,  # its tasks are many small instances
    )
)
