"""Standard Workload Format of the Parallel Workloads Archive: 18 numbers a line, comments behind semicolons."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.text_files import TextFile
from ratiobench.instances.lora.logs.base import (
    CANCELLED,
    LARGEST,
    NO_END,
    NO_GPU,
    NO_TIME,
    Job,
    LogFormat,
    SkippedLine,
    make_labels,
    register,
)

FIELDS = (
    "job number", "submit time", "wait time", "run time", "allocated processors", "average CPU time", "used memory",
    "requested processors", "requested time", "requested memory", "status", "user", "group", "executable", "queue",
    "partition", "preceding job", "think time",
)  # fmt: skip
_JOB, _SUBMIT, _WAIT, _RUN, _ALLOCATED = 0, 1, 2, 3, 4
_REQUESTED, _LIMIT, _STATUS = 7, 8, 10
_LABELS = (11, 12, 14)  # User, group and queue
_CANCELLED, _PARTS = 5, (2, 3, 4)
_START = re.compile(r";\s*UnixStartTime\s*:\s*([0-9]{1,10})\b")
_INTEGER = re.compile(r"-?[0-9]+(\.[0-9]*)?")


def rows(file: TextFile, source: str, columns: Mapping[str, str]) -> Iterator[tuple[int, tuple[list[str], int]]]:
    """The lines of jobs, with the second that their clock starts from."""
    start = 0
    for line, text in enumerate(file, start=1):
        words = text.split()
        if not words:
            continue
        if words[0].startswith(";"):
            if found := _START.match(text.strip()):
                start = int(found[1])
            continue
        yield line, (words, start)


def job(row: tuple[list[str], int], where: str, source: str) -> Job | SkippedLine:
    """A job, or why it is none of ours."""
    words, start = row
    if len(words) != len(FIELDS):
        raise InputError(source, where, f"{len(words)} numbers; {len(FIELDS)} are needed")
    for name, word in zip(FIELDS, words, strict=True):
        if not _INTEGER.fullmatch(word) or not -1 <= float(word) <= LARGEST:
            raise InputError(source, f"{where} {name}", f"{shorten(word)} is not a number from -1 to 10^11")
    values = [float(word) for word in words]
    if values[_SUBMIT] < 0:
        raise InputError(source, f"{where} {FIELDS[_SUBMIT]}", f"{words[_SUBMIT]}: a job has one")
    submit, status = start + int(values[_SUBMIT]), int(values[_STATUS])
    if status in _PARTS:
        return SkippedLine("part of a job that stands whole in another line", submit)
    if values[_RUN] <= 0:
        if status == _CANCELLED:
            return SkippedLine(CANCELLED, submit)
        return SkippedLine(NO_END if values[_RUN] < 0 else NO_TIME, submit)
    gpus = int(1000 * (values[_REQUESTED] if values[_REQUESTED] > 0 else values[_ALLOCATED]))
    if gpus <= 0:
        return SkippedLine(NO_GPU, submit)
    limit = int(values[_LIMIT]) if values[_LIMIT] > 0 else None
    seconds = -int(-values[_RUN] // 1)
    user, group, queue = (words[place] if values[place] >= 0 else "" for place in _LABELS)
    labels = make_labels(user, group, queue)
    begin = submit + int(values[_WAIT]) if values[_WAIT] >= 0 else None
    return Job(words[_JOB], submit, seconds, gpus, limit, labels=labels, start=begin)


register(
    LogFormat(
        name="swf",
        title="Standard Workload Format (Parallel Workloads Archive)",
        reading=(
            "a processor is read as one GPU; requested processors count where they are given, else allocated ones",
            "requested time is the time limit; memory is a processor's main memory and is not read",
            "submit times count from UnixStartTime of the header, in UTC; from 1970-01-01 where it is missing",
        ),
        rows=rows,
        job=job,
    )
)
