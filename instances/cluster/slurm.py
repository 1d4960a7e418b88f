r"""Readers of Slurm's accounting: `sacct --parsable2` and `sacct --json`, by the same rules.

A job counts as requested (ReqTRES). A task of an array is a job. A piece of a requeued job, and a component of a
heterogeneous job, is left out. A slice or a share of a GPU is no GPU. The log is best written by

    SLURM_TIME_FORMAT=%s sacct -a -X -D -P -S 2026-03-01 -E 2026-04-01 --format=JobID,Submit,Eligible,Start,End,\
    Elapsed,State,ReqTRES,AllocTRES,ReqNodes,Timelimit,User,Account,Partition,QOS
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ratiobench.instances.cluster.log_lines import (
    BACKWARDS,
    CANCELLED,
    HETEROGENEOUS,
    NO_END,
    NO_GPU,
    NOT_STARTED,
    REQUEUED,
    Entry,
    Line,
    Log,
    LogJob,
    read_each,
    read_entries,
)
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.text_files import TextFile

_UNKNOWN = {"", "Unknown", "None", "N/A", "(null)", "UNLIMITED", "Partition_Limit", "INVALID"}
_UNFINISHED = {"RUNNING", "PENDING", "SUSPENDED", "RESIZING", "CONFIGURING", "COMPLETING"}
_STEP = re.compile(r"[0-9]+(_[0-9]+|\+[0-9]+)?\..+")
_ID = re.compile(r"[0-9]+(_[0-9]+|_\[[^\]]*\]|\+[0-9]+)?")
_TIME = re.compile(r"(?:([0-9]{1,6})-)?(?:([0-9]{1,6}):)?([0-9]{1,6}):([0-9]{2})(?:\.[0-9]+)?")
_PIECE = re.compile(r"[0-9]+g\.[0-9]+gb|mig", re.IGNORECASE)
_NEEDED = ("JobID", "Submit", "Start", "End", "State")
ALLOCATED = "counted as allocated (AllocTRES), of any type of GPU, because the log has no ReqTRES"
ELAPSED = "whose Elapsed is not End - Start (a clock change, a suspension): Elapsed counts"


@lru_cache(maxsize=4096)
def read_resources(text: str) -> tuple[int, str, int, str]:
    """GPUs, their type, nodes and a remark of a text such as ``cpu=8,gres/gpu=4,node=2``; -1 GPUs if it is wrong."""
    plain, nodes, typed, piece = 0, 0, dict[str, int](), ""
    for entry in text.split(","):
        name, mark, value = entry.partition("=")
        if entry.endswith("+") and not mark:
            return -1, "", 0, entry  # a column of fixed width cut it off
        if name not in ("node", "gres/gpu") and not name.startswith(
            ("gres/gpu:", "gres/shard", "gres/mps", "gres/mig")
        ):
            continue
        if not re.fullmatch("[0-9]{1,7}", value):
            return -1, "", 0, entry
        if name == "node":
            nodes = int(value)
        elif name == "gres/gpu":
            plain = int(value)
        elif name.startswith("gres/gpu:") and not _PIECE.search(name):
            typed[name[9:]] = typed.get(name[9:], 0) + int(value)
        elif int(value):
            piece = name
    whole = plain or sum(typed.values())  # Slurm writes the sum beside the types where it is set up to
    if piece:
        return 0, "", nodes, f"asks for {piece}, which is no whole GPU"
    return whole, next(iter(typed)) if len(typed) == 1 else "", nodes, ""


def _finish(job: LogJob, state: str, piece: str, end: int | None, elapsed: int | None) -> LogJob:
    """The run of a job, and why it is left out, by the same rules for text and JSON."""
    if job.start is not None and end is not None and state not in _UNFINISHED:
        job.run = end - job.start if elapsed is None else elapsed
    job.may_restart = state in ("PREEMPTED", "NODE_FAIL", "BOOT_FAIL")
    if "+" in job.id:
        job.left_out = HETEROGENEOUS
    elif state in ("REQUEUED", "REVOKED"):
        job.left_out = REQUEUED
    elif job.start is None:
        job.left_out = NOT_STARTED if state in _UNFINISHED else CANCELLED
    elif job.run is None:
        job.left_out = NO_END
    elif job.run < 0:
        job.run, job.left_out = None, BACKWARDS
    elif job.run == 0 and state == "CANCELLED":
        job.left_out = CANCELLED
    elif not job.gpus:
        job.left_out = piece or NO_GPU
    return job


def _seconds(line: Line, name: str, text: str) -> int | None:
    """Seconds of [days-][hours:]minutes:seconds; None for no text."""
    found = _read_length(text) if text else None
    if found == -1:
        raise line.fail(name, f"{shorten(text)} is not a time such as 1-06:00:00 or 30:00")
    return found


@lru_cache(maxsize=65_536)
def _read_length(text: str) -> int:
    found = _TIME.fullmatch(text)
    if found is None:
        return -1
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return 86_400 * days + 3600 * hours + 60 * minutes + seconds


def read_sacct(file: TextFile, log: Log) -> Iterator[LogJob | InputError]:
    """`sacct --parsable2 --format=JobID,Submit,Start,End,State,ReqTRES,...`; steps are parts of their job."""
    header = file.readline().strip().lstrip("\ufeff").split("|")
    tres = "ReqTRES" if "ReqTRES" in header else "AllocTRES"
    for name in (*_NEEDED, tres):
        if header.count(name) != 1:
            named = "ReqTRES or AllocTRES" if name == "AllocTRES" else name
            problem = f"{header.count(name)} columns named {named} in the first line; exactly one is needed"
            raise InputError(log.source, "line 1", f"{problem} (`sacct --parsable2 --format=...` writes them)")
    at = {name: place for place, name in enumerate(header)}
    first = at["JobID"]

    def rows() -> Iterator[tuple[Line, list[str]]]:
        for number, text in enumerate(file, start=2):
            fields = text.rstrip("\r\n").split("|")
            if len(fields) == len(header) + 1 and not fields[-1]:
                fields.pop()  # `--parsable` ends its lines with a bar
            if fields != [""] and not (len(fields) > first and _STEP.fullmatch(fields[first])):
                yield Line(log, f"line {number}"), fields

    def read(line: Line, fields: list[str]) -> LogJob:
        if len(fields) != len(header):
            raise line.fail("", f"{len(fields)} fields; {len(header)} are needed, as the first line has")

        def get(name: str) -> str:
            text = fields[at[name]] if name in at else ""
            return "" if text in _UNKNOWN else text

        def second(name: str) -> int | None:
            return line.second(name, text) if (text := get(name)) else None

        if not _ID.fullmatch(fields[first]):
            raise line.fail("JobID", f"{shorten(fields[first])} is not a job such as 17, 17_3 or 17+1")
        submit = second("Submit")
        if submit is None:
            raise line.fail("Submit", f"{shorten(fields[at['Submit']])} is no time")
        gpus, kind, nodes, piece = read_resources(get(tres))
        if gpus < 0:
            raise line.fail(tres, f"{shorten(piece)} does not say how many (`sacct --parsable2` writes whole fields)")
        job = LogJob(
            id=fields[first],
            submit=submit,
            eligible=second("Eligible"),
            start=second("Start"),
            limit=_seconds(line, "Timelimit", get("Timelimit")),
            gpus=gpus,
            nodes=line.number("ReqNodes", get("ReqNodes")) or nodes or line.number("NNodes", get("NNodes")),
            kind=kind,
            constraint=get("Constraints"),
            account=get("Account"),
            user=get("User"),
            partition=get("Partition"),
            qos=get("QOS"),
        )
        job.ran = read_resources(get("AllocTRES"))[1]
        if tres == "AllocTRES" and gpus:
            job.kind = ""
            log.remarks[ALLOCATED] += 1
        end, elapsed = second("End"), _seconds(line, "Elapsed", get("Elapsed"))
        _finish(job, get("State").split(" ")[0].rstrip("+"), piece, end, elapsed)
        _tell_elapsed(log, job, end)
        return job

    return read_each(rows(), read)


def _tell_elapsed(log: Log, job: LogJob, end: int | None) -> None:
    if not job.left_out and job.start is not None and job.run is not None and end is not None:
        log.remarks[ELAPSED] += job.start + job.run != end


def _text_of(tres: list[Entry]) -> str:
    """The resources as `sacct` prints them."""
    names = ("/".join(filter(None, (entry.text("type"), entry.text("name")))) for entry in tres)
    return ",".join(f"{name}={entry.number('count') or 0}" for name, entry in zip(names, tres, strict=True))


def read_sacct_json(file: TextFile, log: Log) -> Iterator[LogJob | InputError]:
    """`sacct --json`: a list `jobs`, in the forms of several versions of Slurm."""

    def read(line: Line, value: Any) -> LogJob:
        data = Entry(line, value)
        time, array, tres = data.object("time"), data.object("array"), data.object("tres")
        submit = time.number("submission")
        if submit is None:
            raise time.fail("submission", "the field is missing")
        whole, part, name = array.number("job_id"), array.number("task_id"), str(data.number("job_id") or "")
        if data.object("het").number("job_id"):
            name += "+"
        elif whole and part is not None:
            name = f"{whole}_{part}"
        asked, allocated = (_text_of(tres.objects(key)) for key in ("requested", "allocated"))
        gpus, kind, nodes, piece = read_resources(asked or allocated)
        if gpus < 0:
            raise data.fail("tres", f"{shorten(piece)} is not a number below 10^7")
        if gpus and not asked:
            kind = ""
            log.remarks[ALLOCATED] += 1
        state = data.object("state").data.get("current", "")
        state = state[0] if isinstance(state, list) and state else state
        if not isinstance(state, str):
            raise data.fail("state.current", f"{shorten(state)} is neither a text nor a list of texts")
        limit, people = time.number("limit"), data.object("association")
        job = LogJob(
            id=name,
            submit=submit,
            eligible=time.number("eligible") or None,
            start=time.number("start") or None,
            limit=60 * limit if limit else None,
            gpus=gpus,
            nodes=nodes or data.number("allocation_nodes") or 0,
            kind=kind,
            ran=read_resources(allocated)[1],
            constraint=data.text("constraints"),
            account=data.text("account") or people.text("account"),
            user=data.text("user") or people.text("user"),
            partition=data.text("partition"),
            qos=data.text("qos"),
        )
        end = time.number("end") or None
        _finish(job, state.split(" ")[0], piece, end, time.number("elapsed"))
        _tell_elapsed(log, job, end)
        return job

    return read_each(read_entries(file, log, "jobs"), read)
