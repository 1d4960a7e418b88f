"""What the readers of job logs share: a job, why it is left out, where it stands, and fields that are checked."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.json_items import iterate_entries
from ratiobench.instances.io.text_files import TextFile

LARGEST = 2**33  # No number in a log is larger
CANCELLED, NOT_STARTED, NO_END, NO_GPU = "cancelled before it started", "not started", "without an end", "without a GPU"
REQUEUED, BACKWARDS, HETEROGENEOUS = "requeued: part of a run", "ends before it starts", "part of a heterogeneous job"
PART = "part of a job that stands whole in another line"


@dataclass(slots=True)
class LogJob:
    """A job of a log.

    Parameters
    ----------
    id : the job's name in the log; empty if it has none.
    submit, eligible, start : seconds from 1970; None if the log does not say.
    run : seconds that it ran; None if the log does not say.
    limit : seconds; None for none.
    gpus, nodes : GPUs of the whole job; nodes, 0 if the log does not say.
    kind, ran : type of GPU that it asked for, empty for any; type on which it ran, empty if the log does not say.
    constraint : features of nodes that it asked for, in the form of the log.
    account, user, partition, qos : names; empty for none.
    left_out : why it is no job of the instance; empty if it is one.
    may_restart : whether its end lets Slurm start it again.
    line : where it stands in the log.
    """

    id: str
    submit: int
    eligible: int | None = None
    start: int | None = None
    run: int | None = None
    limit: int | None = None
    gpus: int = 0
    nodes: int = 0
    kind: str = ""
    ran: str = ""
    constraint: str = ""
    account: str = ""
    user: str = ""
    partition: str = ""
    qos: str = ""
    left_out: str = ""
    may_restart: bool = False
    line: Line | None = None


@dataclass(slots=True)
class Log:
    """A log that is read.

    Parameters
    ----------
    source : the file in messages.
    zone : of times that do not say theirs; None for UTC.
    columns : our name of a column -> its name in the file.
    remarks : sentence on some jobs -> how many jobs.
    is_local : whether a time did not say its zone.
    """

    source: str
    zone: ZoneInfo | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    remarks: Counter[str] = field(default_factory=Counter)
    is_local: bool = False


@dataclass(slots=True)
class Line:
    """Where a job stands, for errors."""

    log: Log
    where: str

    def fail(self, field: str, problem: str) -> InputError:
        return InputError(self.log.source, f"{self.where} {field}".strip(), problem)

    def number(self, field: str, text: str) -> int:
        """A number in 0..2^33, rounded up; 0 for no text."""
        try:
            value = float(text or 0)
        except ValueError:
            value = -1.0
        if not 0 <= value <= LARGEST:
            raise self.fail(field, f"{shorten(text)} is not a number in 0..2^33")
        return math.ceil(value)

    def second(self, field: str, text: str) -> int:
        """Seconds from 1970 of a number or of ISO 8601; a time without a zone is in the zone of the log, or in UTC."""
        found, is_local = read_second(text, self.log.zone)
        if found < 0:
            problem = f"{shorten(text)} is neither a time such as 2026-03-01T08:30:00+01:00 nor a number of seconds"
            raise self.fail(field, problem)
        self.log.is_local |= is_local
        return found


@lru_cache(maxsize=65_536)
def read_second(text: str, zone: ZoneInfo | None) -> tuple[int, bool]:
    """Seconds from 1970, -1 if the text is no time; whether the text did not say its zone."""
    if "-" not in text and re.fullmatch(r"[0-9]{1,11}(\.[0-9]*)?", text):
        seconds, is_local = int(float(text)), False
    else:
        try:
            time = datetime.fromisoformat(text)
            is_local = time.tzinfo is None
            seconds = math.floor((time.replace(tzinfo=zone or UTC) if is_local else time).timestamp())
        except (ValueError, OverflowError):
            return -1, False
    return (seconds if 0 <= seconds <= LARGEST else -1), is_local


Reader = Callable[[TextFile, Log], Iterator["LogJob | InputError"]]


def read_each(rows: Iterator[tuple[Line, Any]], read: Callable[[Line, Any], LogJob]) -> Iterator[LogJob | InputError]:
    """The job of each row, or the error in it."""
    for line, row in rows:
        try:
            job = read(line, row)
            job.line = line
            text = f"{job.id}{job.account}{job.user}{job.partition}{job.qos}"
            if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
                raise line.fail("", "holds bytes that are not UTF-8 text")
            yield job
        except InputError as error:
            yield error.with_traceback(None)


class Entry:
    """A JSON object of a log: what is absent or null is empty, what is wrong is one error."""

    __slots__ = ("data", "line", "path")

    def __init__(self, line: Line, data: Any, path: str = "") -> None:
        self.line, self.data, self.path = line, data, path
        if not isinstance(data, dict):
            raise self.fail("", f"{shorten(data)} is not an object")

    def fail(self, key: str, problem: str) -> InputError:
        steps = (self.line.where, self.path, key)
        return InputError(self.line.log.source, ".".join(filter(None, steps)), problem)

    def object(self, key: str) -> Entry:
        found = self.data.get(key)
        return Entry(self.line, {} if found is None else found, f"{self.path}.{key}" if self.path else key)

    def objects(self, key: str) -> list[Entry]:
        found = self.data.get(key) or []
        if not isinstance(found, list):
            raise self.fail(key, f"{shorten(found)} is not a list")
        path = f"{self.path}.{key}" if self.path else key
        return [Entry(self.line, value, f"{path}[{i}]") for i, value in enumerate(found)]

    def text(self, key: str) -> str:
        found = self.data.get(key) or ""
        if not isinstance(found, str):
            raise self.fail(key, f"{shorten(found)} is not a text")
        return found

    def number(self, key: str) -> int | None:
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

    def moment(self, key: str) -> int | None:
        """A time in ISO 8601; None if it is absent."""
        if not (found := self.text(key)):
            return None
        seconds, is_local = read_second(found, self.line.log.zone)
        if seconds < 0:
            raise self.fail(key, f"{shorten(found)} is not a time such as 2026-03-01T08:30:00Z")
        self.line.log.is_local |= is_local
        return seconds


def read_entries(file: TextFile, log: Log, key: str) -> Iterator[tuple[Line, Any]]:
    """The entries of the list under a key of a JSON document; errors that Slurm lists beside it are told."""
    for path, value in iterate_entries(file, log.source, key):
        if path.startswith(f"{key}["):
            yield Line(log, path), value
        elif path == "errors" and value:
            told = "Slurm reports errors in the log, so jobs may be missing"
            log.remarks[f"{told}: {shorten(str(value[0] if isinstance(value, list) else value))}"] += 1
