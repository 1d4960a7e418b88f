"""Slurm's accounting: what `sacct --parsable2` prints, fields between bars under a line of names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.text_files import TextFile
from ratiobench.instances.lora.logs.base import (
    CANCELLED,
    NO_END,
    NO_GPU,
    NO_TIME,
    STEP,
    Job,
    LogFormat,
    SkippedLine,
    make_labels,
    moment,
    register,
)
from ratiobench.instances.lora.model import Labels

# Names that the first line must have; one of `TRES` besides. It may have `OPTIONAL`.
NEEDED = ("JobID", "Submit", "Start", "End", "State")
OPTIONAL = ("Timelimit", "NNodes", "User", "Account", "Partition", "QOS", "Priority", "Eligible")
TRES = ("AllocTRES", "ReqTRES")
_UNKNOWN = {"", "Unknown", "None", "N/A"}
UNFINISHED = {"RUNNING", "PENDING", "SUSPENDED", "RESIZING", "REVOKED", "CONFIGURING", "COMPLETING"}
AGAIN = "REQUEUED"
NOT_STARTED, REQUEUED, BACKWARDS = "not started yet", "requeued, to start again", "that end before they start"
LATE = "could not start at submission (a dependency, a begin time); the window begins there all the same"
_STEP = re.compile(r"[0-9]+(_[0-9]+|\+[0-9]+)?\..+")
_ID = re.compile(r"[0-9]+(_[0-9]+|_\[[^\]]*\]|\+[0-9]+)?")
_LIMIT = re.compile(r"(?:([0-9]{1,6})-)?([0-9]{1,6}):([0-9]{2})(?::([0-9]{2}))?")


def rows(file: TextFile, source: str, columns: Mapping[str, str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Each line by the names of the first one."""
    header = file.readline().strip().lstrip("\ufeff").split("|")
    for name in NEEDED:
        if header.count(name) != 1:
            problem = f"{header.count(name)} columns named {name} in the first line; exactly one is needed"
            raise InputError(source, "line 1", f"{problem} (`sacct --parsable2 --format=...` writes them)")
    if not set(TRES) & set(header):
        raise InputError(source, "line 1", f"no column named {' or '.join(TRES)}: one of them says how many GPUs")
    for line, text in enumerate(file, start=2):
        fields = text.rstrip("\r\n").split("|")
        if fields == [""]:
            continue
        if len(fields) == len(header) + 1 and not fields[-1]:
            fields.pop()  # `sacct --parsable` ends its lines with a bar
        yield line, dict(zip(header, fields, strict=True)) if len(fields) == len(header) else {"": str(len(fields))}


def job(row: dict[str, str], where: str, source: str) -> Job | SkippedLine:
    """A job, or why it is none of ours."""
    if "" in row and len(row) == 1:
        raise InputError(source, where, f"{row['']} fields; as many as the first line has are needed")
    name = row["JobID"]
    if _STEP.fullmatch(name):
        return SkippedLine(STEP)
    if not _ID.fullmatch(name):
        raise InputError(source, f"{where} JobID", f"{shorten(name)} is not a job such as 17, 17_3 or 17+1")
    submit = moment(row["Submit"], where, "Submit", source)
    state = row["State"].split(" ")[0].rstrip("+")
    if row["Start"] in _UNKNOWN:
        return SkippedLine(NOT_STARTED if state in UNFINISHED | {AGAIN} else CANCELLED, submit)
    start = moment(row["Start"], where, "Start", source)
    if row["End"] in _UNKNOWN or state in UNFINISHED:
        return SkippedLine(NO_END, submit)
    if state == AGAIN:  # it ended, but it is not done
        return SkippedLine(REQUEUED, submit)
    end = moment(row["End"], where, "End", source)
    if end < start:  # as when clocks are set back
        return SkippedLine(BACKWARDS, submit)
    gpus, kind, nodes = _resources(row, where, source)
    if not gpus:
        return SkippedLine(NO_GPU, submit)
    if end == start:
        return SkippedLine(CANCELLED if state == "CANCELLED" else NO_TIME, submit)
    eligible = row.get("Eligible", "")
    ready = None if eligible in _UNKNOWN else submit
    if ready is not None and eligible != row["Submit"]:
        ready = max(submit, moment(eligible, where, "Eligible", source))
    return Job(
        name,
        submit,
        end - start,
        1000 * gpus,
        _limit(row.get("Timelimit", ""), where, source),
        kind=kind,
        nodes=_integer(row, "NNodes", where, source) or nodes,
        killed=state == "TIMEOUT",
        labels=_labels(row, where, source),
        wait=None if ready is None else max(0, start - ready),
        remarks=(LATE,) if ready is not None and ready > submit else (),
        start=start,
    )


def _integer(row: Mapping[str, str], name: str, where: str, source: str) -> int:
    """A number of an optional column; 0 where there is none."""
    text = row.get(name, "")
    if text in _UNKNOWN:
        return 0
    if not (text.isascii() and text.isdecimal()) or len(text) > 10:
        raise InputError(source, f"{where} {name}", f"{shorten(text)} is not a number")
    return int(text)


def _labels(row: Mapping[str, str], where: str, source: str) -> Labels:
    queue, quality = row.get("Partition", ""), row.get("QOS", "")
    return make_labels(
        row.get("User", ""),
        row.get("Account", ""),
        f"{queue}/{quality}" if quality else queue,
        _integer(row, "Priority", where, source),
    )


class _Resources(NamedTuple):
    """What a text such as ``cpu=8,gres/gpu=4,node=2`` says."""

    gpus: int  # gpus, kind: number and type of the GPUs; nodes: how many, 0 where it does not say
    kind: str
    nodes: int
    bad: str  # the entry that cannot be read; empty for none


@lru_cache(maxsize=4096)
def _read_resources(text: str) -> _Resources:
    plain, nodes, typed = 0, 0, dict[str, int]()
    for entry in text.split(","):
        name, _, value = entry.partition("=")
        if name != "node" and name != "gres/gpu" and not name.startswith("gres/gpu:"):
            continue
        if not re.fullmatch("[0-9]{1,7}", value):
            return _Resources(0, "", 0, entry)
        if name == "node":
            nodes = int(value)
        elif name == "gres/gpu":
            plain = int(value)
        else:
            kind = name.partition(":")[2]
            typed[kind] = typed.get(kind, 0) + int(value)
    # Slurm writes the sum beside the types where it is set up to.
    return _Resources(plain or sum(typed.values()), next(iter(typed)) if len(typed) == 1 else "", nodes, "")


def _resources(row: Mapping[str, str], where: str, source: str) -> tuple[int, str, int]:
    """Number and type of the GPUs, those allocated, else those asked for; and on how many nodes (0: not known)."""
    nodes = 0
    for column in TRES:
        if not (text := row.get(column, "")):
            continue
        found = _read_resources(text)
        if found.bad:
            raise InputError(source, f"{where} {column}", f"{shorten(found.bad)} does not say how many")
        nodes = found.nodes if column == TRES[0] else nodes
        if found.gpus:
            return found.gpus, found.kind, nodes
    return 0, "", nodes


def _limit(text: str, where: str, source: str) -> int | None:
    """The time limit in seconds; None for none."""
    found = _read_limit(text)
    if found < 0:
        raise InputError(source, f"{where} Timelimit", f"{shorten(text)} is not a time such as 1-06:00:00 or 30:00")
    return found or None


@lru_cache(maxsize=4096)
def _read_limit(text: str) -> int:
    """Seconds of [days-]hours:minutes:seconds, or of minutes:seconds; 0 for no limit, -1 for what is no time."""
    if text in _UNKNOWN or text in ("UNLIMITED", "Partition_Limit", "INVALID"):
        return 0
    found = _LIMIT.fullmatch(text)
    if found is None:
        return -1
    days, first, second, third = (int(part or 0) for part in found.groups())
    if found[4] is None and found[1] is None:
        return 60 * first + second
    return 86_400 * days + 3600 * first + 60 * second + third


register(
    LogFormat(
        name="sacct",
        title="Slurm (sacct --parsable2)",
        reading=(
            "GPUs are gres/gpu of AllocTRES, else of ReqTRES; one type beside it (gres/gpu:a100) is the job's type",
            "a job runs from Start to End; steps (17.batch, 17.0) are parts of their job",
            "Timelimit is the time limit; times are as Slurm printed them",
            "NNodes, else node of AllocTRES, is the number of nodes",
        ),
        rows=rows,
        job=job,
    )
)
