"""Slurm's accounting as `sacct --json` writes it: a list `jobs`, in the forms of several versions of Slurm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.json_items import iterate_entries
from ratiobench.instances.io.text_files import TextFile
from ratiobench.instances.lora.logs.base import (
    CANCELLED,
    LARGEST,
    NO_END,
    NO_GPU,
    NO_TIME,
    Job,
    LogFormat,
    Remark,
    SkippedLine,
    make_labels,
    register,
)
from ratiobench.instances.lora.logs.entries import Entry
from ratiobench.instances.lora.logs.sacct import AGAIN, BACKWARDS, LATE, NOT_STARTED, REQUEUED, UNFINISHED

HETEROGENEOUS = "parts of a heterogeneous job"


class _Entry(Entry):
    """An object of the document; a number in it may be one, or {set, infinite, number}."""

    __slots__ = ()

    def number(self, key: str) -> int | None:
        """The field as an integer in 0..10^11; None where it is absent, not set or infinite."""
        found = self.data.get(key)
        if type(found) is int and 0 <= found <= LARGEST:  # most are
            return found
        if isinstance(found, dict):
            inside = self.object(key)
            if found.get("infinite") is True or found.get("set") is False:
                return None
            return inside.integer("number")
        return self.integer(key)


def rows(file: TextFile, source: str, columns: Mapping[str, str]) -> Iterator[tuple[int, Any]]:
    """The entries of `jobs` with their paths, and what Slurm says of errors."""
    count = 0
    for path, value in iterate_entries(file, source, "jobs"):
        if path.startswith("jobs["):
            count += 1
            yield count, (path, value)
        elif path == "errors" and value:
            yield count, (path, value)


def job(row: Any, where: str, source: str) -> Job | SkippedLine | Remark:
    """A job, or why it is none of ours."""
    path, value = row
    if path == "errors":
        return _errors(value, source)
    data = _Entry(source, path, value)
    time = data.object("time")
    submit = time.number("submission")
    if submit is None:
        raise time.fail("submission", "the field is missing")
    if data.object("het").number("job_id"):
        return SkippedLine(HETEROGENEOUS, submit)
    state = _state(data)
    start, end = time.number("start"), time.number("end")
    if not start and state in UNFINISHED | {AGAIN}:
        return SkippedLine(NOT_STARTED, submit)
    if state in UNFINISHED:
        return SkippedLine(NO_END, submit)
    if state == AGAIN:
        return SkippedLine(REQUEUED, submit)
    if start and end:
        if end < start:
            return SkippedLine(BACKWARDS, submit)
        seconds: int | None = end - start - (time.number("suspended") or 0)
    else:
        seconds = time.number("elapsed")
        if not seconds:
            return SkippedLine(NO_END if start else CANCELLED, submit)
    gpus, kind, nodes = _resources(data)
    if not gpus:
        return SkippedLine(NO_GPU, submit)
    if seconds is None or seconds <= 0:
        return SkippedLine(CANCELLED if state == "CANCELLED" else NO_TIME, submit)
    limit = time.number("limit")
    eligible = max(submit, time.number("eligible") or 0)
    return Job(
        _name(data),
        submit,
        seconds,
        1000 * gpus,
        60 * limit if limit else None,
        kind=kind,
        nodes=nodes,
        killed=state == "TIMEOUT",
        labels=_labels(data),
        wait=max(0, start - eligible) if start else None,
        remarks=(LATE,) if eligible > submit else (),
        start=start or None,
    )


def _errors(value: Any, source: str) -> Remark:
    if not isinstance(value, list):
        raise InputError(source, "errors", f"{shorten(value)} is not a list")
    first = value[0]
    told = (first.get("error") or first.get("description")) if isinstance(first, dict) else first
    count = "an error" if len(value) == 1 else f"{len(value)} errors"
    return Remark(f"Slurm reports {count} in the log, so jobs may be missing: {shorten(told)}")


def _state(data: _Entry) -> str:
    """The base state: a text, or a list whose first text it is."""
    state = data.object("state")
    found = state.data.get("current")
    if isinstance(found, list) and found:
        found = found[0]
    if not isinstance(found, str):
        raise state.fail("current", f"{shorten(found)} is neither a text nor a list of texts")
    return found.split(" ")[0]


def _name(data: _Entry) -> str:
    array = data.object("array")
    whole, part = array.number("job_id"), array.number("task_id")
    return str(data.number("job_id") or "") if not whole or part is None else f"{whole}_{part}"


def _resources(data: _Entry) -> tuple[int, str, int]:
    """Number and type of the GPUs, those allocated, else those asked for; and on how many nodes (0: not known)."""
    tres = data.object("tres")
    nodes = data.number("allocation_nodes") or 0
    for key in ("allocated", "requested"):
        plain, typed = 0, dict[str, int]()
        for each in tres.objects(key):
            sort = each.text("type")
            if sort == "node" and key == "allocated":
                nodes = each.number("count") or nodes
            elif sort == "gres":
                name, count = each.text("name"), each.number("count") or 0
                if name == "gpu":
                    plain += count
                elif name.startswith("gpu:"):
                    typed[name[4:]] = typed.get(name[4:], 0) + count
        if total := plain or sum(typed.values()):
            if total > LARGEST // 1000:
                raise tres.fail(key, f"{total} GPUs; at most 10^8 are read")
            return total, next(iter(typed)) if len(typed) == 1 else "", nodes
    return 0, "", nodes


def _labels(data: _Entry) -> Any:
    association = data.object("association")
    queue, quality = data.text("partition"), data.text("qos")
    return make_labels(
        data.text("user") or association.text("user"),
        data.text("account") or association.text("account"),
        f"{queue}/{quality}" if quality else queue,
        data.number("priority") or 0,
    )


register(
    LogFormat(
        name="sacct-json",
        title="Slurm (sacct --json)",
        reading=(
            "GPUs are those of tres.allocated, else of tres.requested; one type beside them is the job's type",
            "a job runs from its start to its end, less the time for which it was suspended; steps are parts of it",
            "time.limit is the time limit; times are Unix seconds, so days are those of UTC",
        ),
        rows=rows,
        job=job,
    )
)
