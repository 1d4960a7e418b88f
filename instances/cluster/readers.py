"""Readers of job logs by the name of their format; here SWF and CSV."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from ratiobench.instances.cluster.kubernetes import read_jobs, read_kueue
from ratiobench.instances.cluster.log_lines import Found, Log, LogJob, Reader, Reason, Row, read_lines
from ratiobench.instances.cluster.slurm import read_sacct, read_sacct_json
from ratiobench.instances.io.errors import InputError, explain_unknown_name, shorten
from ratiobench.instances.io.text_files import TextFile, rows

_SWF = (
    "job number", "submit time", "wait time", "run time", "allocated processors", "average CPU time", "used memory",
    "requested processors", "requested time", "requested memory", "status", "user", "group", "executable", "queue",
    "partition", "preceding job", "think time",
)  # fmt: skip
_SWF_START = re.compile(r";\s*UnixStartTime\s*:\s*([0-9]{1,10})\b")
_SWF_MISSING = {"-1", "-1.0", "-1.00"}
_CSV = ("submit", "duration", "gpus", "id", "start", "limit", "nodes", "type", "account", "user", "partition", "qos")


def _whole(row: Row, name: str) -> int | None:
    """A number, rounded up."""
    return None if (value := row.number(name)) is None else math.ceil(value)


def read_swf(file: TextFile, log: Log) -> Found:
    """Standard Workload Format: requested processors (field 8), allocated ones (field 5) where they are absent."""
    clock = 0

    def lines() -> Iterator[tuple[int, list[str]]]:
        nonlocal clock
        for number, text in enumerate(file, start=1):
            fields = text.split()
            if fields and not fields[0].startswith(";"):
                yield number, fields
            elif found := _SWF_START.match(text.strip()):
                clock = int(found[1])

    def read(row: Row) -> LogJob:
        submit, wait, status = (row.number(name) for name in ("submit time", "wait time", "status"))
        if submit is None:
            raise row.fail("submit time", "-1: a job has one")
        job = LogJob(row.text("job number"), clock + int(submit))
        job.start = None if wait is None else job.submit + int(wait)
        job.run, job.limit = _whole(row, "run time"), int(row.number("requested time") or 0) or None
        job.gpus = int(row.number("requested processors") or row.number("allocated processors") or 0)
        job.user, job.account, job.partition = row.text("user"), row.text("group"), row.text("queue")
        if status in (2, 3, 4):
            job.left_out, job.run = Reason.PART, None
        elif status == 5 and not job.run:
            job.left_out = Reason.CANCELLED
        return job.settle(None, "")

    return read_lines(lines(), _SWF, _SWF_MISSING, log, read)


def read_csv(file: TextFile, log: Log) -> Found:
    """Any table with a line of names; the columns of the log say which of them is our submit, duration, gpus, ..."""
    for name in log.columns:
        if name not in _CSV:
            raise InputError("--columns", name, explain_unknown_name(name, _CSV))
    first = file.readline()
    mark = max(",;\t|", key=first.count)
    header = [name.strip().strip('"') for name in first.rstrip("\r\n").split(mark)]
    of = {name: log.columns.get(name, name) for name in _CSV}  # our name of a column -> its name in the file
    for name in (*_CSV[:3], *log.columns):
        if of[name] not in header:
            problem = f"no column {shorten(of[name])}; the file has {shorten(', '.join(header))}"
            raise InputError(log.source, "line 1", f"{problem}; --columns {name}=NAME says which it is")
        if header.count(of[name]) > 1:
            raise InputError(log.source, "line 1", f"{header.count(of[name])} columns named {of[name]}")

    def read(row: Row) -> LogJob:
        gpus = row.number(of["gpus"]) or 0
        job = LogJob(row.text(of["id"]), row.require_second(of["submit"]), gpus=math.ceil(gpus))
        job.start, job.run = row.second(of["start"]), _whole(row, of["duration"])
        job.limit, job.nodes = _whole(row, of["limit"]) or None, _whole(row, of["nodes"]) or 0
        job.kind, job.account, job.user, job.partition, job.qos = (row.text(of[name]) for name in _CSV[7:])
        if gpus % 1:
            job.gpus = 0
        return job.settle(None, "", Reason.NO_WHOLE_GPU.format("a part of a GPU") if gpus % 1 else Reason.NO_GPU)

    lines = ((number + 1, [text.strip() for text in fields]) for number, fields in rows(file, log.source, mark))
    return read_lines(lines, header, {""}, log, read)


FORMATS: dict[str, Reader] = {
    "swf": read_swf,
    "sacct": read_sacct,
    "sacct-json": read_sacct_json,
    "csv": read_csv,
    "kueue": read_kueue,
    "k8s": read_jobs,
}


def guess_format(file: TextFile, source: str) -> str:
    """The format of an open file by its name, and of JSON by its first characters."""
    name = source.removesuffix(".gz")
    if name.endswith(".swf"):
        return "swf"
    if name.endswith((".csv", ".tsv")):
        return "csv"
    if not name.endswith(".json"):
        return "sacct"
    head = file.peek()
    return "kueue" if b"Workload" in head else "k8s" if b'"items"' in head else "sacct-json"
