"""What the readers of job logs share: a job, why it is left out, and rows with fields that are checked."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from ratiobench.instances.cluster.format import LABELS
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.json_items import iterate_entries
from ratiobench.instances.io.text_files import TextFile

LARGEST = 2**33  # No number in a log is larger
LONGEST_NAME = 200


class Reason:
    """Why a job of a log is no job of the instance."""

    CANCELLED = "cancelled before it started"
    NOT_STARTED = "not started"
    NO_END = "without an end"
    BACKWARDS = "ends before it starts"
    NO_GPU = "without a GPU"
    NO_WHOLE_GPU = "asks for {}, which is no whole GPU"
    CLAIMS = "with resource claims, which are not read"
    MIXED = "has pods with different numbers of GPUs"
    REQUEUED = "requeued: part of a run"
    HETEROGENEOUS = "part of a heterogeneous job"
    PART = "part of a job that stands whole in another line"
    OTHER = "another object than a job"
    TOO_LARGE = "fits no pool that it may use"
    TOO_WIDE = "is wider than a bound of its partition or the quotas of its account"
    TOO_LONG = "asks for more GPU-seconds than an instance can hold"
    OUTSIDE = "outside the window"
    NO_ROOM = "runs at the beginning, but not all of them fit on the nodes"


# Names of whole GPUs, with their type, and of slices and shares, in Slurm and in Kubernetes; gres/gpumem is neither
WHOLE_GPU = re.compile(r"(?:gres|nvidia\.com|amd\.com)/gpu(?::(.+))?")
PIECE_OF_GPU = re.compile(
    r"^gres/(?:shard|mps|mig|gpu:.*(?:[0-9]g\.[0-9]+gb|mig))|^(?!gres/|license/).*(?:gpu|mig-|gaudi|tpu|neuron)", re.I
)


@dataclass(slots=True)
class LogJob:
    """A job of a log; None and empty texts are what the log does not say."""

    id: str
    submit: int  # seconds from 1970, as eligible and start
    eligible: int | None = None
    start: int | None = None
    run: int | None = None  # seconds, as limit
    limit: int | None = None
    gpus: int = 0  # of the whole job
    nodes: int = 0  # 0 if the log does not say
    kind: str = ""  # type of GPU that it asked for
    ran: str = ""  # type on which it ran
    constraint: str = ""  # features of nodes that it asked for, in the form of the log
    account: str = ""
    user: str = ""
    partition: str = ""
    qos: str = ""
    left_out: str = ""  # why it is no job of the instance
    may_restart: bool = False  # whether its end lets Slurm start it again
    source: str = ""  # where it stands: the file, and the line or entry
    where: str = ""
    pools: tuple[int, ...] = ()  # numbers of the pools that it may use and that have its nodes
    node_gpus: int = 0  # GPUs that it takes on each node

    @property
    def length(self) -> int:
        """Seconds of its run in the instance."""
        return max(1, self.run or 0)

    def settle(self, end: int | None, not_started: str, no_gpu: str = Reason.NO_GPU) -> LogJob:
        """Set the run up to this end, if there is none yet, and why the job is left out, if it is.

        `not_started` is the reason if it has no start; empty if such a job counts.
        """
        if self.run is None and self.start is not None and end is not None:
            self.run = end - self.start
        reason = ""
        if not_started and self.start is None:
            reason = not_started
        elif self.run is None:
            reason = Reason.NO_END
        elif self.run < 0:
            self.run, reason = None, Reason.BACKWARDS
        elif not self.gpus:
            reason = no_gpu
        self.left_out = self.left_out or reason
        return self


@dataclass(slots=True)
class Log:
    """A log that is read."""

    source: str  # the file in messages
    zone: ZoneInfo | None = None  # of times that do not say theirs; None for UTC
    columns: Mapping[str, str] = field(default_factory=dict)  # our name of a column -> its name in the file
    remarks: Counter[str] = field(default_factory=Counter)  # sentence on some jobs -> how many jobs
    is_local: bool = False  # whether a time did not say its zone


class Row:
    """A line of a log by the names of its columns, or a JSON object; what is absent or null is empty."""

    __slots__ = ("data", "log", "path")

    def __init__(self, log: Log, path: str, data: Any) -> None:
        self.log, self.path, self.data = log, path, data  # path: `line 7 ` or `jobs[7].time.`, in front of a field
        if not isinstance(data, dict):
            raise self.fail("", f"{shorten(data)} is not an object")

    def fail(self, key: str, problem: str) -> InputError:
        """The error of a field."""
        return InputError(self.log.source, f"{self.path}{key}".rstrip(" ."), problem)

    def object(self, key: str) -> Row:
        """An object in this one."""
        found = self.data.get(key)
        return Row(self.log, f"{self.path}{key}.", {} if found is None else found)

    def objects(self, key: str) -> list[Row]:
        """A list of objects."""
        found = self.data.get(key) or []
        if not isinstance(found, list):
            raise self.fail(key, f"{shorten(found)} is not a list")
        return [Row(self.log, f"{self.path}{key}[{i}].", value) for i, value in enumerate(found)]

    def text(self, key: str) -> str:
        """A text."""
        found = self.data.get(key) or ""
        if not isinstance(found, str):
            raise self.fail(key, f"{shorten(found)} is not a text")
        return found

    def integer(self, key: str) -> int | None:
        """An integer, or Slurm's {set, infinite, number}; None if it is absent, not set or infinite."""
        found = self.data.get(key)
        if isinstance(found, dict):
            inside = found
            found = None if inside.get("infinite") is True or inside.get("set") is False else inside.get("number")
        if found is None:
            return None
        if type(found) is not int or not 0 <= found <= LARGEST:
            raise self.fail(key, f"{shorten(found)} is not an integer in 0..2^33")
        return found

    def number(self, key: str) -> float | None:
        """A number in a text."""
        if not (found := self.text(key)):
            return None
        try:
            value = float(found)
        except ValueError:
            value = math.nan
        if not 0 <= value <= LARGEST:
            raise self.fail(key, f"{shorten(found)} is not a number in 0..2^33")
        return value

    def second(self, key: str) -> int | None:
        """Seconds from 1970 of a number or of ISO 8601; a time without a zone is in that of the log, or UTC."""
        if not (found := self.text(key)):
            return None
        second, is_local = _read_second(found, self.log.zone)
        if second < 0:
            example = "2026-03-01T08:30:00+01:00"
            raise self.fail(key, f"{shorten(found)} is neither a time such as {example} nor a number of seconds")
        self.log.is_local |= is_local
        return second

    def require_second(self, key: str) -> int:
        """The same of a field that must be there."""
        if (second := self.second(key)) is None:
            raise self.fail(key, "the field is missing or unknown")
        return second


@lru_cache(maxsize=65_536)
def _read_second(text: str, zone: ZoneInfo | None) -> tuple[int, bool]:
    """Seconds from 1970, -1 if the text is no time; whether the text did not say its zone."""
    is_local = False
    try:
        if text.partition(".")[0].isdecimal():
            seconds = math.floor(float(text))
        else:
            time = datetime.fromisoformat(text)
            is_local = time.tzinfo is None
            seconds = math.floor((time.replace(tzinfo=zone or UTC) if is_local else time).timestamp())
    except (ValueError, OverflowError):
        return -1, False
    return (seconds if 0 <= seconds <= LARGEST else -1), is_local


Found = Iterator[LogJob | InputError]
Reader = Callable[[TextFile, Log], Found]


def read_rows(rows: Iterable[tuple[str, Any]], log: Log, read: Callable[[Row], LogJob]) -> Found:
    """The job of each row (its path, its data), or the error in it."""
    for path, data in rows:
        try:
            row = Row(log, path, data)
            job = read(row)
            job.source, job.where = log.source, path.rstrip(" .")
            text = f"{job.id}{job.account}{job.user}{job.partition}{job.qos}"
            if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
                raise row.fail("", "holds bytes that are not UTF-8 text")
            if len(text) > LONGEST_NAME:
                for label in LABELS:
                    setattr(job, label, getattr(job, label)[:LONGEST_NAME])
            yield job
        except InputError as error:
            yield error.with_traceback(None)


def read_lines(
    lines: Iterable[tuple[int, list[str]]],
    names: Sequence[str],
    missing: Container[str],
    log: Log,
    read: Callable[[Row], LogJob],
) -> Found:
    """The job of each line (its number, its fields), or the error in it; `missing`: texts that stand for nothing."""
    for number, fields in lines:
        path = f"line {number} "
        if len(fields) == len(names):
            data = {name: text for name, text in zip(names, fields, strict=True) if text not in missing}
            yield from read_rows([(path, data)], log, read)
        else:
            yield InputError(log.source, path.strip(), f"{len(fields)} fields; {len(names)} are needed")


def read_entries(file: TextFile, log: Log, key: str, command: str) -> Iterator[tuple[str, Any]]:
    """The entries of the list under a key of the JSON that a command prints; errors that Slurm lists are told."""
    try:
        for path, value in iterate_entries(file, log.source, key):
            if path.startswith(f"{key}["):
                yield f"{path}.", value
            elif path == "errors" and value:
                told = "Slurm reports errors in the log, so jobs may be missing"
                log.remarks[f"{told}: {shorten(str(value[0] if isinstance(value, list) else value))}"] += 1
    except InputError as error:
        raise InputError(error.source, error.field, f"{error.problem} (`{command}` prints what is read)") from None
