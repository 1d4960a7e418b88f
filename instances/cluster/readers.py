"""Readers of job logs by the name of their format; here SWF and CSV."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from ratiobench.instances.cluster.kubernetes import read_jobs, read_kueue
from ratiobench.instances.cluster.log_lines import (
    CANCELLED,
    LARGEST,
    NO_END,
    NO_GPU,
    PART,
    Line,
    Log,
    LogJob,
    Reader,
    read_each,
)
from ratiobench.instances.cluster.slurm import read_sacct, read_sacct_json
from ratiobench.instances.io.errors import InputError, explain_unknown_name, shorten
from ratiobench.instances.io.text_files import TextFile
from ratiobench.instances.io.text_files import rows as csv_rows

_SWF = (
    "job number", "submit time", "wait time", "run time", "allocated processors", "average CPU time", "used memory",
    "requested processors", "requested time", "requested memory", "status", "user", "group", "executable", "queue",
    "partition", "preceding job", "think time",
)  # fmt: skip
_SWF_START = re.compile(r";\s*UnixStartTime\s*:\s*([0-9]{1,10})\b")
_SWF_NUMBERS = re.compile(r"[-+.0-9eE \t\r\n]*")


def read_swf(file: TextFile, log: Log) -> Iterator[LogJob | InputError]:
    """Standard Workload Format: requested processors (field 8), allocated ones (field 5) where they are absent."""
    clock = 0

    def rows() -> Iterator[tuple[Line, str]]:
        nonlocal clock
        for number, text in enumerate(file, start=1):
            if text.lstrip().startswith(";"):
                found = _SWF_START.match(text.strip())
                clock = int(found[1]) if found else clock
            elif not text.isspace():
                yield Line(log, f"line {number}"), text

    def read(line: Line, text: str) -> LogJob:
        words = text.split()
        if len(words) != len(_SWF):
            raise line.fail("", f"{len(words)} numbers; {len(_SWF)} are needed")
        try:
            values = [float(word) for word in words] if _SWF_NUMBERS.fullmatch(text) else [math.nan]
        except ValueError:
            values = [math.nan]
        if not all(-1 <= value <= LARGEST for value in values):
            raise _swf_error(line, words)
        _, submit, wait, run, allocated, _, _, requested, limit, _, status = values[:11]
        if submit < 0:
            raise line.fail(_SWF[1], f"{words[1]}: a job has one")
        user, account, queue = (words[place] if values[place] >= 0 else "" for place in (11, 12, 14))
        job = LogJob(words[0], clock + int(submit), user=user, account=account, partition=queue)
        job.gpus, job.limit = int(max(requested if requested > 0 else allocated, 0)), int(limit) if limit > 0 else None
        job.start = job.submit + int(wait) if wait >= 0 else None
        job.run = math.ceil(run) if run >= 0 else None
        if status in (2, 3, 4):
            job.left_out, job.run = PART, None
        elif status == 5 and run <= 0:
            job.left_out = CANCELLED
        elif job.run is None:
            job.left_out = NO_END
        elif not job.gpus:
            job.left_out = NO_GPU
        return job

    return read_each(rows(), read)


def _swf_error(line: Line, words: list[str]) -> InputError:
    for name, word in zip(_SWF, words, strict=True):
        try:
            good = _SWF_NUMBERS.fullmatch(word) and -1 <= float(word) <= LARGEST
        except ValueError:
            good = False
        if not good:
            return line.fail(name, f"{shorten(word)} is not a number from -1 to 2^33")
    raise AssertionError(words)


_CSV = ("submit", "duration", "gpus", "id", "start", "limit", "nodes", "type", "account", "user", "partition", "qos")


def read_csv(file: TextFile, log: Log) -> Iterator[LogJob | InputError]:
    """Any table with a line of names; the columns of the log say which of them is our submit, duration, gpus, ..."""
    columns = log.columns
    for name in columns:
        if name not in _CSV:
            raise InputError("--columns", name, explain_unknown_name(name, _CSV))
    first = file.readline()
    mark = max(",;\t|", key=first.count)
    header = [name.strip().strip('"') for name in first.rstrip("\r\n").split(mark)]
    place = {name: header.index(columns.get(name, name)) for name in _CSV if columns.get(name, name) in header}
    for name in (*_CSV[:3], *columns):
        if name not in place:
            problem = f"no column {shorten(columns.get(name, name))}; the file has {shorten(', '.join(header))}"
            raise InputError(log.source, "line 1", f"{problem}; --columns {name}=NAME says which it is")
        if header.count(header[place[name]]) > 1:
            raise InputError(log.source, "line 1", f"{header.count(header[place[name]])} columns named {name}")

    def read(line: Line, row: list[str]) -> LogJob:
        if len(row) != len(header):
            raise line.fail("", f"{len(row)} fields; {len(header)} are needed")
        text = {name: row[at].strip() for name, at in place.items()}

        def number(name: str) -> int:
            return line.number(columns.get(name, name), text.get(name, ""))

        job = LogJob(text.get("id", ""), line.second(columns.get("submit", "submit"), text["submit"]))
        job.start = line.second(columns.get("start", "start"), text["start"]) if text.get("start") else None
        job.run = number("duration") if text["duration"] else None
        job.limit, job.nodes, job.kind = number("limit") or None, number("nodes"), text.get("type", "")
        job.account, job.user, job.partition, job.qos = (text.get(name, "") for name in _CSV[8:])
        job.gpus = number("gpus")
        if job.run is None:
            job.left_out = NO_END
        elif not job.gpus:
            job.left_out = NO_GPU
        elif float(text["gpus"]) % 1:
            job.gpus, job.left_out = 0, "asks for a part of a GPU, which is no whole GPU"
        return job

    rows = ((Line(log, f"line {number + 1}"), row) for number, row in csv_rows(file, log.source, mark))
    return read_each(rows, read)


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
