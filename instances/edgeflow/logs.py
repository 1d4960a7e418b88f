"""Logs of a GPU cluster's jobs: CSV with names of columns, or PAI's `pai_task_table.csv`, which has none."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from ratiobench.instances.edgeflow.format import WORK_LIMIT
from ratiobench.instances.edgeflow.tables import WIDEST
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.fields import LIMIT
from ratiobench.instances.io.text_files import open_text, rows

# What the columns of a log are called; those from `model` on are in logs of the ElasticFlow format only
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "submit": ("submit_time", "submission_time", "submitted_time", "timestamp", "start_time"),
    "seconds": ("duration", "duration_s", "run_time"),
    "gpus": ("num_gpus", "num_gpu", "gpu_num", "gpus_total", "n_gpus", "gpus"),
    "model": ("model_name", "model"),
    "batch": ("batch_size", "global_batch_size", "batch"),
    "iterations": ("iterations", "iteration"),
    "deadline": ("deadline", "ddl"),
}
# The columns of PAI's task table
PAI = (
    "job_name", "task_name", "inst_num", "status", "start_time", "end_time", "plan_cpu", "plan_mem", "plan_gpu",
    "gpu_type",
)  # fmt: skip
_NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]*)?", re.ASCII)


class Row(NamedTuple):
    """A job of a log, times on the log's clock; `part`: it asked for a part of a GPU, taken as a whole one."""

    submit: int
    seconds: int
    gpus: int
    part: bool = False
    model: str = ""
    batch: int = 0
    iterations: int = 0
    deadline: int = 0


def read_log(path: str | os.PathLike[str]) -> list[Row]:
    """The jobs that used GPUs for some time, in order of submission; the widest share is 64 GPUs."""
    source = str(path)
    with open_text(path) as file:
        found = sorted(_rows(rows(file, source), source), key=lambda row: row.submit)
    if not found:
        raise InputError(source, "", "no job that used a GPU for some time")
    return found


def _rows(lines: Iterator[tuple[int, list[str]]], source: str) -> Iterator[Row]:
    _, head = next(lines, (1, []))
    pai = len(head) == len(PAI) and (tuple(head) == PAI or not any(_places(head)))
    places = {} if pai else _named(head, source)
    if pai and tuple(head) != PAI and (row := _task(head, source, 1)) is not None:
        yield row
    for number, line in lines:
        row = _task(line, source, number) if pai else _job(line, places, source, number)
        if row is not None:
            yield row


def _places(head: Sequence[str]) -> Mapping[str, int]:
    return {
        meaning: head.index(next(name for name in names if name in head))
        for meaning, names in COLUMNS.items()
        if any(name in head for name in names)
    }


def _named(head: Sequence[str], source: str) -> Mapping[str, int]:
    places = _places(head)
    for meaning in ("submit", "seconds", "gpus"):
        if meaning not in places:
            raise InputError(source, "line 1", f"no column of {meaning}: one of {', '.join(COLUMNS[meaning])}")
    return places


def _job(line: Sequence[str], places: Mapping[str, int], source: str, number: int) -> Row | None:
    def text(meaning: str) -> str:
        if places[meaning] >= len(line):
            raise InputError(source, f"line {number}", f"{len(line)} fields; {places[meaning] + 1} are needed")
        return line[places[meaning]]

    def whole(meaning: str, most: int = LIMIT) -> int:
        return _whole(text(meaning), source, f"line {number} {meaning}", most)

    if not text("seconds") or not text("gpus"):
        return None
    submit = _moment(text("submit"), source, f"line {number} submit")
    seconds, gpus = whole("seconds"), whole("gpus")
    part = bool(text("gpus").partition(".")[2].strip("0"))
    share = _share(gpus + part)
    if not seconds or not share:
        return None
    if not {"model", "batch", "iterations", "deadline"} <= places.keys():
        return Row(submit, seconds, share, part)
    iterations = whole("iterations", WORK_LIMIT // 10**6)
    return Row(submit, seconds, share, part, text("model"), whole("batch"), iterations, whole("deadline"))


def _task(line: Sequence[str], source: str, number: int) -> Row | None:
    """A task of PAI's table, all its instances together; a part of a GPU is one."""
    if len(line) != len(PAI):
        raise InputError(source, f"line {number}", f"{len(line)} fields; {len(PAI)} are needed")
    row = dict(zip(PAI, line, strict=True))
    if row["status"] != "Terminated" or not all(row[name] for name in ("start_time", "end_time", "plan_gpu")):
        return None
    start, end, gpu = (
        _whole(row[name], source, f"line {number} {name}") for name in ("start_time", "end_time", "plan_gpu")
    )
    count = _whole(row["inst_num"] or "1", source, f"line {number} inst_num")
    gpus = count * -(-gpu // 100)
    return Row(start, end - start, _share(gpus), gpu % 100 > 0) if end > start and gpus else None


def _share(gpus: int) -> int:
    """The largest power of two that is not more, 64 at most; 0 of none."""
    return int(min(WIDEST, 1 << gpus.bit_length() - 1)) if gpus else 0


def _whole(text: str, source: str, where: str, most: int = LIMIT) -> int:
    if not _NUMBER.fullmatch(text) or float(text) > most:
        raise InputError(source, where, f"{shorten(text)} is not a number in 0..{most}")
    return int(float(text))


def _moment(text: str, source: str, where: str) -> int:
    """Seconds: a number as it is, or those from 1970 of a time in ISO 8601."""
    if _NUMBER.fullmatch(text):
        return _whole(text, source, where)
    try:
        time = datetime.fromisoformat(text)
        seconds = math.floor((time.replace(tzinfo=UTC) if time.tzinfo is None else time).timestamp())
    except (ValueError, OverflowError):
        seconds = -1
    if not 0 <= seconds <= LIMIT:
        raise InputError(source, where, f"{shorten(text)} is neither a number of seconds nor a time")
    return seconds
