"""What the readers of job logs share: what a job is, the registry of formats, and fields that are checked."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.text_files import TextFile
from ratiobench.instances.lora.format import LABEL_LIMIT
from ratiobench.instances.lora.model import NO_LABELS, Labels
from ratiobench.instances.lora.schedules import ScheduleKind

LARGEST = 10**11  # No second, memory or number of GPUs in a log is larger


class Job(NamedTuple):
    """One job of a log."""

    name: str  # as the log has it
    submit: int  # seconds on the log's clock, from 1970-01-01 where that is known
    seconds: int  # how long it ran
    gpus: int  # thousandths of a GPU, at least 1
    limit: int | None = None  # seconds that its user asked for; None where the log does not say
    memory_mb: int | None = None  # GPU memory of the whole job; None where the log does not say
    deadline: int | None = None  # on the log's clock; None where it has none
    bid: int | None = None  # micro-dollars; None where the log has no price
    kind: str = ""  # the type of GPU that it asked for; empty for any
    nodes: int = 0  # that it ran on at once; 0 where the log does not say
    pods: int = 0  # equal parts of it, each on one node; 0 where it has none that the log knows of
    gang: bool = True  # whether its pods had to run at the same time
    run: ScheduleKind | None = None  # which schedules it may have; None for what its format says
    killed: bool = False  # whether it was ended at its limit
    labels: Labels = NO_LABELS  # its user, group, queue and priority
    wait: int | None = None  # seconds from when it could have started to its start; None where the log does not say
    remarks: tuple[str, ...] = ()  # what the report counts of it
    start: int | None = None  # seconds on the log's clock when it began to run; None where the log does not say


class SkippedLine(NamedTuple):
    """A line of a log that is no job of ours, by a rule of its format."""

    rule: str  # why, as the report of an import counts it; "" for a line that is no job at all (a step, a comment)
    submit: int | None = None  # when it was submitted, where that is known


class Remark(NamedTuple):
    """A sentence for the report on the log as a whole, in place of a line."""

    text: str  # the sentence


CANCELLED, NO_END, NO_GPU, NO_TIME = (
    "cancelled before it started", "without an end", "without a GPU", "of zero length",
)  # fmt: skip
STEP = ""


@dataclass(frozen=True, slots=True)
class LogFormat:
    """A format of job logs."""

    name: str  # as commands say it
    title: str  # what writes such files
    reading: tuple[str, ...]  # what is read how, in sentences for the report
    # (open file, its name, column map) -> (line number, raw row); raises what is wrong with the file as a whole.
    rows: Callable[[TextFile, str, Mapping[str, str]], Iterator[tuple[int, Any]]]
    # (raw row, "line N", name of the file) -> the job, or why it is left out.
    job: Callable[[Any, str, str], Job | SkippedLine | Remark]
    mapped: tuple[str, ...] = ()  # the names that a column map may hold; none where the format has its own columns
    # which schedules its jobs may have, unless they or the import say otherwise. Rigid ones of several nodes are gangs.
    run: ScheduleKind = ScheduleKind.RIGID


_FORMATS: dict[str, LogFormat] = {}


def register(form: LogFormat) -> None:
    """Register a format under its name."""
    if form.name in _FORMATS:
        raise ValueError(f"two formats of logs named {form.name}")
    _FORMATS[form.name] = form


def list_formats() -> dict[str, LogFormat]:
    """List the formats of logs."""
    return dict(sorted(_FORMATS.items()))


def amount(text: str, where: str, name: str, source: str) -> float:
    """A number in 0..10^11."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= LARGEST:
        raise InputError(source, f"{where} {name}", f"{shorten(text)} is not a number in 0..10^11")
    return value


def round_up(value: float) -> int:
    """The least integer that is not less."""
    return math.ceil(value)


def round_thousandths(value: float) -> int:
    """A number of GPUs in thousandths, rounded up, so that what shares a GPU is not 0."""
    return math.ceil(round(value * 1000, 6))


_NUMBER = re.compile(r"[0-9]+(\.[0-9]*)?")


def moment(text: str, where: str, name: str, source: str) -> int:
    """Seconds from 1970 of a time: seconds, or ISO 8601; one with a zone in UTC, one without as it stands."""
    if _NUMBER.fullmatch(text):
        return int(amount(text, where, name, source))
    try:
        time = datetime.fromisoformat(text)
        time = time.replace(tzinfo=UTC) if time.tzinfo is None else time
        seconds = math.floor(time.timestamp())
    except (ValueError, OverflowError):
        seconds = -1
    if not 0 <= seconds <= LARGEST:
        problem = f"{shorten(text)} is neither a time such as 2026-03-01T08:30:00+01:00 nor a number of seconds"
        raise InputError(source, f"{where} {name}", problem)
    return seconds


def has_zone(text: str) -> bool:
    """Whether a time says its zone."""
    _, _, clock = text.replace(" ", "T").partition("T")
    return bool(re.search(r"([zZ]|[+-][0-9]{2}(:?[0-9]{2}){0,2})$", clock))


_UNNAMED = {"", "-1", "(null)", "None", "Unknown", "N/A"}
_PRIORITY = 2**31 - 1


def make_labels(user: str = "", group: str = "", queue: str = "", priority: int = 0) -> Labels:
    """The labels of a job: names as the log has them, shortened to what an instance holds."""
    if priority == 0 and not (user or group or queue):
        return NO_LABELS
    return Labels(_name(user), _name(group), _name(queue), max(-_PRIORITY - 1, min(_PRIORITY, priority)))


@lru_cache(maxsize=65_536)
def _name(text: str) -> str:
    text = text.strip().encode(errors="backslashreplace").decode()
    if text in _UNNAMED:
        return ""
    if len(text) <= LABEL_LIMIT:
        return text
    return f"{text[: LABEL_LIMIT - 9]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
