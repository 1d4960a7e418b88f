"""What the readers of logs share: jobs, reasons, rows with checked fields; and the readers of SWF and CSV."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from ratiobench.instances.cluster.format import LABELS
from ratiobench.instances.io.documents import has_surrogate
from ratiobench.instances.io.errors import InputError, require_known, shorten
from ratiobench.instances.io.json_items import iterate_entries
from ratiobench.instances.io.text_files import TextFile, rows

LARGEST = 2**33  # No number in a log is larger
LONGEST_NAME = 200


class Reason:
    CANCELLED = "cancelled before it started"
    NOT_STARTED = "not started"
    NO_END = "without an end"
    NO_RUN = "without a run time"
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
    owner: str = ""  # the Job of a pod, and the gang of a pod; they are no fields of other logs
    gang: str = ""
    left_out: str = ""  # why it is no job of the instance
    may_restart: bool = False  # whether its end lets Slurm start it again
    source: str = ""  # where it stands: the file, and the line or entry
    where: str = ""
    pools: tuple[int, ...] = ()  # numbers of the pools that it may use and that have its nodes
    node_gpus: int = 0  # GPUs that it takes on each node

    @property
    def length(self) -> int:  # seconds of its run in the instance
        return max(1, self.run or 0)

    def settle(self, end: int | None, not_started: str, no_gpu: str = Reason.NO_GPU) -> LogJob:
        """Set the run up to this end and why the job is left out; `not_started`: if it has no start (empty: not)."""
        if self.run is None and self.start is not None and end is not None:
            self.run = end - self.start
        if not_started and self.start is None:
            reason = not_started
        elif self.run is None:
            reason = Reason.NO_END
        elif self.run < 0:
            self.run, reason = None, Reason.BACKWARDS
        else:
            reason = "" if self.gpus else no_gpu
        self.left_out = self.left_out or reason
        return self


@dataclass(slots=True)
class Log:
    source: str = ""  # the file that is read
    zone: ZoneInfo | None = None  # of times that do not say theirs; None for UTC
    columns: Mapping[str, str] = field(default_factory=dict)  # our name of a column -> its name in a CSV file
    skip_bad: bool = False  # whether a line that cannot be read is skipped instead of ending the import
    bad: list[str] = field(default_factory=list)  # errors of the lines that were skipped
    remarks: Counter[str] = field(default_factory=Counter)  # sentence on some jobs -> how many jobs
    is_local: bool = False  # whether a time did not say its zone

    def skip(self, error: InputError) -> None:
        if not self.skip_bad:
            raise error
        self.bad.append(str(error))


class Row:
    """A line of a log by the names of its columns, or a JSON object; what is absent or null is empty."""

    __slots__ = ("data", "log", "path")

    def __init__(self, log: Log, path: str, data: Any) -> None:
        self.log, self.path, self.data = log, path, data  # path: `line 7 ` or `jobs[7].time.`, in front of a field
        if not isinstance(data, dict):
            raise self.fail("", f"{shorten(data)} is not an object")

    def fail(self, key: str, problem: str) -> InputError:
        return InputError(self.log.source, f"{self.path}{key}".rstrip(" ."), problem)

    def object(self, key: str) -> Row:
        value = self.data.get(key)
        return Row(self.log, f"{self.path}{key}.", {} if value is None else value)

    def objects(self, key: str) -> list[Row]:
        values = self.data.get(key) or []
        if not isinstance(values, list):
            raise self.fail(key, f"{shorten(values)} is not a list")
        return [Row(self.log, f"{self.path}{key}[{i}].", value) for i, value in enumerate(values)]

    def text(self, key: str) -> str:
        text = self.data.get(key) or ""
        if not isinstance(text, str):
            raise self.fail(key, f"{shorten(text)} is not a text")
        return text

    def first(self, keys: Iterable[str]) -> str:
        return next(filter(None, map(self.text, keys)), "")

    def integer(self, key: str) -> int | None:
        """An integer, or Slurm's {set, infinite, number}; None if it is absent, not set or infinite."""
        value = self.data.get(key)
        if isinstance(value, dict):
            value = None if value.get("infinite") is True or value.get("set") is False else value.get("number")
        if value is not None and (type(value) is not int or not 0 <= value <= LARGEST):
            raise self.fail(key, f"{shorten(value)} is not an integer in 0..2^33")
        return value

    def number(self, key: str) -> float | None:
        if not (text := self.text(key)):
            return None
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not 0 <= value <= LARGEST:
            raise self.fail(key, f"{shorten(text)} is not a number in 0..2^33")
        return value

    def whole(self, key: str) -> int | None:  # rounded up
        return None if (value := self.number(key)) is None else math.ceil(value)

    def second(self, key: str) -> int | None:
        """Seconds from 1970 of a number or of ISO 8601; a time without a zone is in that of the log, or UTC."""
        if not (text := self.text(key)):
            return None
        second, is_local = read_second(text, self.log.zone)
        if not 0 <= second <= LARGEST:
            problem = "is neither a time such as 2026-03-01T08:30:00+01:00 nor a number of seconds"
            raise self.fail(key, f"{shorten(text)} {problem}")
        self.log.is_local |= is_local
        return second

    def require_second(self, key: str) -> int:
        if (second := self.second(key)) is None:
            raise self.fail(key, "the field is missing or unknown")
        return second


@lru_cache(maxsize=65_536)
def read_second(text: str, zone: ZoneInfo | None) -> tuple[int, bool]:
    """Seconds from 1970, -1 if the text is no time; whether the text did not say its zone."""
    try:
        if text.partition(".")[0].isdecimal():
            return math.floor(float(text)), False
        time = datetime.fromisoformat(text)
        is_local = time.tzinfo is None
        return math.floor((time.replace(tzinfo=zone or UTC) if is_local else time).timestamp()), is_local
    except (ValueError, OverflowError):
        return -1, False


Reader = Callable[[TextFile, Log], Iterable[LogJob]]


def read_rows(rows: Iterable[tuple[str, Any]], log: Log, read: Callable[[Row], LogJob]) -> Iterator[LogJob]:
    """The job of each row (its path, its data)."""
    for path, data in rows:
        try:
            row = Row(log, path, data)
            job = read(row)
            if max(job.submit, job.eligible or 0, job.start or 0, job.run or 0, job.limit or 0) > LARGEST:
                raise row.fail("", "holds a time beyond 2^33 seconds")
            text = f"{job.id}{job.account}{job.user}{job.partition}{job.qos}"
            if has_surrogate(text):
                raise row.fail("", "holds bytes that are not UTF-8 text")
        except InputError as error:
            log.skip(error)
            continue
        job.source, job.where = log.source, path.rstrip(" .")
        if len(text) > LONGEST_NAME:
            for label in LABELS:
                setattr(job, label, getattr(job, label)[:LONGEST_NAME])
        yield job


def name_fields(
    lines: Iterable[tuple[int, list[str]]], names: Sequence[str], missing: set[str], log: Log
) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows of lines (number, fields) of a table; `missing`: texts that stand for nothing."""
    for number, fields in lines:
        if len(fields) == len(names):
            pairs = zip(names, fields, strict=True)
            yield f"line {number} ", {name: text for name, text in pairs if text not in missing}
        else:
            log.skip(InputError(log.source, f"line {number}", f"{len(fields)} fields; {len(names)} are needed"))


def read_entries(file: TextFile, log: Log, key: str, command: str) -> Iterator[tuple[str, Any]]:
    """The rows of the list under a key of the JSON that a command prints; errors in it become a remark."""
    try:
        for path, value in iterate_entries(file, log.source, key):
            if path.startswith(f"{key}["):
                yield f"{path}.", value
            elif path == "errors" and value:
                first = shorten(str(value[0] if isinstance(value, list) else value))
                log.remarks[f"Slurm reports errors in the log, so jobs may be missing: {first}"] += 1
    except InputError as error:
        raise InputError(error.source, error.field, f"{error.problem} (`{command}` prints what is read)") from None


_SWF = (
    "job number", "submit time", "wait time", "run time", "allocated processors", "average CPU time", "used memory",
    "requested processors", "requested time", "requested memory", "status", "user", "group", "executable", "queue",
    "partition", "preceding job", "think time",
)  # fmt: skip
_SWF_START = re.compile(r";\s*UnixStartTime\s*:\s*([0-9]{1,10})\b")
_CSV = ("submit", "duration", "gpus", "id", "start", "limit", "nodes", "type", "account", "user", "partition", "qos")


def read_swf(file: TextFile, log: Log) -> Iterable[LogJob]:
    """Standard Workload Format: requested processors (field 8), allocated ones (field 5) where they are absent."""
    clock = 0

    def lines() -> Iterator[tuple[int, list[str]]]:
        nonlocal clock
        for number, text in enumerate(file, start=1):
            fields = text.split()
            if fields and not fields[0].startswith(";"):
                yield number, fields
            elif match := _SWF_START.match(text.strip()):
                clock = int(match[1])

    def read(row: Row) -> LogJob:
        submit, wait, status = (row.number(name) for name in ("submit time", "wait time", "status"))
        if submit is None:
            raise row.fail("submit time", "-1: a job has one")
        job = LogJob(row.text("job number"), clock + int(submit))
        job.start = None if wait is None else job.submit + int(wait)
        job.run, job.limit = row.whole("run time"), int(row.number("requested time") or 0) or None
        job.gpus = int(row.number("requested processors") or row.number("allocated processors") or 0)
        job.user, job.account, job.partition = row.text("user"), row.text("group"), row.first(("queue", "partition"))
        if status in (2, 3, 4):
            job.left_out, job.run = Reason.PART, None
        elif status == 5 and not job.run:
            job.left_out = Reason.CANCELLED
        elif job.run is None:
            job.left_out = Reason.NO_RUN
        return job.settle(None, "")

    return read_rows(name_fields(lines(), _SWF, {"-1", "-1.0", "-1.00"}, log), log, read)


def read_csv(file: TextFile, log: Log) -> Iterable[LogJob]:
    """Any table with a line of names; the columns of the log say which of them is our submit, duration, gpus, ..."""
    for name in log.columns:
        require_known(name, _CSV, "--columns", name)
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
        job = LogJob(row.text(of["id"]), row.require_second(of["submit"]), gpus=0 if gpus % 1 else int(gpus))
        job.start, job.run = row.second(of["start"]), row.whole(of["duration"])
        job.limit, job.nodes = row.whole(of["limit"]) or None, row.whole(of["nodes"]) or 0
        job.kind, job.account, job.user, job.partition, job.qos = (row.text(of[name]) for name in _CSV[7:])
        return job.settle(None, "", Reason.NO_WHOLE_GPU.format("a part of a GPU") if gpus % 1 else Reason.NO_GPU)

    lines = ((number + 1, [text.strip() for text in fields]) for number, fields in rows(file, log.source, mark))
    return read_rows(name_fields(lines, header, {""}, log), log, read)
