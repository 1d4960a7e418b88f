"""Readers of Slurm's accounting, `sacct --parsable2` and `sacct --json`, by the same rules (docs/guide/logs.md)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from ratiobench.instances.cluster import log_lines
from ratiobench.instances.cluster.log_lines import Log, LogJob, Reason, Row
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.text_files import TextFile

_MISSING = {"", "Unknown", "None", "N/A", "(null)", "UNLIMITED", "Partition_Limit", "INVALID"}
_UNFINISHED = {"RUNNING", "PENDING", "SUSPENDED", "RESIZING", "CONFIGURING", "COMPLETING"}
_ID = re.compile(r"[0-9]+(?:_[0-9]+|_\[[^\]]*\]|\+[0-9]+)?(\..+)?")  # of a job, or of a step of it
_DURATION = re.compile(r"(?:([0-9]{1,6})-)?(?:([0-9]{1,6}):)?([0-9]{1,10}):([0-9]{2})(?:\.[0-9]+)?")
ALLOCATED = "counted as allocated (AllocTRES), of any type of GPU, because the log has no ReqTRES"
ELAPSED = "whose Elapsed is not End - Start (a clock change, a suspension): Elapsed counts"


class Resources(NamedTuple):
    """What a text such as ``cpu=8,gres/gpu:a100=4,gres/gpu=4,node=2`` says of GPUs."""

    gpus: int = 0
    kind: str = ""
    nodes: int = 0
    piece: str = ""  # a slice or a share of a GPU: then there are no GPUs
    wrong: str = ""  # what cannot be read


@lru_cache(maxsize=4096)
def _read_resources(text: str) -> Resources:
    plain, nodes, typed, piece = 0, 0, Counter[str](), ""
    for entry in text.split(","):
        name, mark, value = entry.partition("=")
        whole, is_piece = log_lines.WHOLE_GPU.fullmatch(name), log_lines.PIECE_OF_GPU.search(name)
        if entry.endswith("+") and not mark:
            return Resources(wrong=entry)  # a column of fixed width cut it off
        if name != "node" and not whole and not is_piece:
            continue
        if not re.fullmatch("[0-9]{1,7}", value):
            return Resources(wrong=entry)
        if name == "node":
            nodes = int(value)
        elif is_piece:
            piece = name if int(value) else piece
        elif whole and whole[1]:
            typed[whole[1]] += int(value)
        else:
            plain = int(value)
    if piece:
        return Resources(nodes=nodes, piece=piece)
    # Slurm writes the sum beside the types where it is set up to
    return Resources(plain or typed.total(), next(iter(typed)) if len(typed) == 1 else "", nodes)


def _duration(row: Row, key: str) -> int | None:
    if not (text := row.text(key)):
        return None
    if not (match := _DURATION.fullmatch(text)):
        raise row.fail(key, f"{shorten(text)} is not a time such as 1-06:00:00 or 30:00")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return 86_400 * days + 3600 * hours + 60 * minutes + seconds


def _read_job(row: Row, is_asked: bool, field: str) -> LogJob:
    """A job by the names of sacct's columns; `is_asked`: whether ReqTRES counts; `field`: where that stands."""
    name, start, end, elapsed = row.text("JobID"), row.second("Start"), row.second("End"), _duration(row, "Elapsed")
    if not _ID.fullmatch(name):
        raise row.fail("JobID", f"{shorten(name)} is not a job such as 17, 17_3 or 17+1")
    allocated = _read_resources(row.text("AllocTRES"))
    resources = _read_resources(row.text("ReqTRES")) if is_asked else allocated
    if resources.wrong:
        problem = "does not say how many, below 10^7 (`sacct --parsable2` writes whole fields)"
        raise row.fail(field, f"{shorten(resources.wrong)} {problem}")
    job = LogJob(name, row.require_second("Submit"), row.second("Eligible"), start, limit=_duration(row, "Timelimit"))
    job.gpus, job.kind, job.ran = resources.gpus, resources.kind if is_asked else "", allocated.kind
    job.nodes = int(row.number("ReqNodes") or resources.nodes or row.number("NNodes") or 0)
    labels = map(row.text, ("Constraints", "Account", "User", "Partition", "QOS"))
    job.constraint, job.account, job.user, job.partition, job.qos = labels
    state = row.text("State").split(" ")[0].rstrip("+")
    unfinished, written = state in _UNFINISHED, end
    if unfinished:
        end = None
    elif start is not None and end is not None and elapsed is not None:
        end = start + elapsed
    job.may_restart = state in ("PREEMPTED", "NODE_FAIL", "BOOT_FAIL")
    if "+" in name:
        job.left_out = Reason.HETEROGENEOUS
    elif state in ("REQUEUED", "REVOKED"):
        job.left_out = Reason.REQUEUED
    elif state == "CANCELLED" and end is not None and end == start:
        job.left_out = Reason.CANCELLED
    no_gpu = Reason.NO_WHOLE_GPU.format(resources.piece) if resources.piece else Reason.NO_GPU
    job.settle(end, Reason.NOT_STARTED if unfinished else Reason.CANCELLED, no_gpu)
    row.log.remarks[ALLOCATED] += not is_asked and job.gpus > 0
    row.log.remarks[ELAPSED] += not job.left_out and end != written
    return job


def read_sacct(file: TextFile, log: Log) -> Iterable[LogJob]:
    """`sacct --parsable2 --format=JobID,Submit,Start,End,State,ReqTRES,...`; steps are parts of their job."""
    header = file.readline().strip().lstrip("\ufeff").split("|")
    tres = "ReqTRES" if "ReqTRES" in header else "AllocTRES"
    for name in ("JobID", "Submit", "Start", "End", "State", tres):
        if header.count(name) != 1:
            named = "ReqTRES or AllocTRES" if name == "AllocTRES" else name
            problem = f"{header.count(name)} columns named {named} in the first line; exactly one is needed"
            raise InputError(log.source, "line 1", f"{problem} (`sacct --parsable2 --format=...` writes them)")
    at = header.index("JobID")

    def lines() -> Iterator[tuple[int, list[str]]]:
        for number, text in enumerate(file, start=2):
            fields = text.rstrip("\r\n").split("|")
            if len(fields) == len(header) + 1 and not fields[-1]:
                fields.pop()  # `--parsable` ends its lines with a bar
            match = _ID.fullmatch(fields[at]) if len(fields) > at else None
            if fields != [""] and not (match and match[1]):
                yield number, fields

    rows = log_lines.name_fields(lines(), header, _MISSING, log)
    return log_lines.read_rows(rows, log, lambda row: _read_job(row, tres == "ReqTRES", tres))


def read_sacct_json(file: TextFile, log: Log) -> Iterable[LogJob]:
    """`sacct --json`: a list `jobs`, in the forms of several versions of Slurm, as the columns of `sacct`."""

    def text_of(tres: list[Row]) -> str:
        """Nodes and generic resources with their counts; those of others may be negative, or huge."""
        names = ["/".join(filter(None, (entry.text("type"), entry.text("name")))) for entry in tres]
        counts = [
            entry.integer("count") or 0 if re.match("node$|gres/", name) else 0
            for name, entry in zip(names, tres, strict=True)
        ]
        return ",".join(f"{name}={count}" for name, count in zip(names, counts, strict=True))

    def read(row: Row) -> LogJob:
        time, array, het, people = (row.object(key) for key in ("time", "array", "het", "association"))
        if time.integer("submission") is None:
            raise time.fail("submission", "the field is missing")
        name, whole, task = f"{row.integer('job_id') or ''}", array.integer("job_id"), array.integer("task_id")
        if het.integer("job_id"):
            name += f"+{het.integer('job_offset') or 0}"
        elif whole and task is not None:
            name = f"{whole}_{task}"
        state = row.object("state").data.get("current", "")
        state = state[0] if isinstance(state, list) and state else state
        if not isinstance(state, str):
            raise row.fail("state.current", f"{shorten(state)} is neither a text nor a list of texts")
        asked, allocated = (text_of(row.object("tres").objects(key)) for key in ("requested", "allocated"))
        limit, elapsed = time.integer("limit"), time.integer("elapsed")
        columns = {
            "JobID": name,
            "Submit": str(time.integer("submission")),
            **{key.title(): str(time.integer(key) or "") for key in ("eligible", "start", "end")},
            "Timelimit": f"{limit}:00" if limit else "",
            "Elapsed": "" if elapsed is None else f"{elapsed // 60}:{elapsed % 60:02d}",
            "State": state,
            "ReqTRES": asked,
            "AllocTRES": allocated,
            "NNodes": str(row.integer("allocation_nodes") or ""),
            "Constraints": row.text("constraints"),
            "Account": row.text("account") or people.text("account"),
            "User": row.text("user") or people.text("user"),
            "Partition": row.text("partition"),
            "QOS": row.text("qos"),
        }
        return _read_job(Row(log, row.path, columns), asked != "", "tres")

    return log_lines.read_rows(log_lines.read_entries(file, log, "jobs", "sacct --json"), log, read)
