"""Any CSV file with a line of names: a column map says which column is what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from types import MappingProxyType
from typing import Any

from ratiobench.instances.io.errors import InputError, explain_unknown_value, shorten
from ratiobench.instances.io.fields import LIMIT
from ratiobench.instances.io.text_files import TextFile
from ratiobench.instances.io.text_files import rows as read_rows
from ratiobench.instances.lora.format import PARTS_LIMIT
from ratiobench.instances.lora.logs.base import (
    NO_END,
    NO_GPU,
    NO_TIME,
    Job,
    LogFormat,
    SkippedLine,
    amount,
    has_zone,
    make_labels,
    moment,
    register,
    round_thousandths,
    round_up,
)
from ratiobench.instances.lora.readers.base import columns as places
from ratiobench.instances.lora.schedules import ScheduleKind

NEEDED = ("submit", "duration", "gpus")
OPTIONAL = ("name", "memory_mb", "deadline", "bid", "type", "limit", "run", "nodes", "user", "group", "start")
_KINDS = tuple(kind.value for kind in ScheduleKind)
_MONEY = Decimal(10**6)
_MOST = LIMIT // 10**6  # Dollars of a bid, so that an instance can hold it


def rows(
    file: TextFile, source: str, columns: Mapping[str, str], optional: Mapping[str, str] = MappingProxyType({})
) -> Iterator[tuple[int, Any]]:
    """Each row by our names; ones of another length come as they are."""
    table = read_rows(file, source)
    line, header = next(table, (1, []))
    header = [name.strip() for name in header]
    names = {name: columns.get(name, optional.get(name, name)) for name in (*NEEDED, *OPTIONAL)}
    wanted = [name for name in names if name in NEEDED or name in columns or names[name] in header]
    for name in wanted:
        if names[name] not in header:
            has = f"the file has {', '.join(header)}" if header else "the file is empty"
            problem = f"no column {shorten(names[name])}; {has}; --columns {name}=NAME says which it is"
            raise InputError(source, f"line {line}", problem)
    where = places(header, tuple(names[name] for name in wanted), line, source)
    zones: dict[str, bool] = {}
    for line, row in table:
        if len(row) != len(header):
            yield line, f"{len(row)} fields; {len(header)} are needed"
        else:
            yield line, ({name: row[where[names[name]]].strip() for name in wanted}, names, zones)


def job(row: Any, where: str, source: str) -> Job | SkippedLine:
    """A job, or why it is none of ours."""
    if isinstance(row, str):
        raise InputError(source, where, row)
    fields, names, zones = row
    submit = _time(fields["submit"], where, names["submit"], source, zones)
    if not fields["duration"]:
        return SkippedLine(NO_END, submit)
    seconds = round_up(amount(fields["duration"], where, names["duration"], source))
    gpus = round_thousandths(amount(fields["gpus"], where, names["gpus"], source)) if fields["gpus"] else 0
    memory, limit = (
        round_up(amount(text, where, names[name], source)) if (text := fields.get(name, "")) else None
        for name in ("memory_mb", "limit")
    )
    text = fields.get("deadline", "")
    deadline = _time(text, where, names["deadline"], source, zones) if text else None
    bid = _micro_dollars(text, where, names["bid"], source) if (text := fields.get("bid", "")) else None
    run, nodes = _schedules(fields, names, where, source)
    if not gpus:
        return SkippedLine(NO_GPU, submit)
    if not seconds:
        return SkippedLine(NO_TIME, submit)
    limit = limit or None  # as in SWF, 0 is none
    labels = make_labels(fields.get("user", ""), fields.get("group", ""))
    name, kind = fields.get("name") or where, fields.get("type", "")
    start = _time(text, where, names["start"], source, zones) if (text := fields.get("start", "")) else None
    return Job(
        name, submit, seconds, gpus, limit, memory, deadline, bid, kind, nodes=nodes, run=run, labels=labels,
        start=start,
    )  # fmt: skip


def _schedules(
    fields: Mapping[str, str], names: Mapping[str, str], where: str, source: str
) -> tuple[ScheduleKind | None, int]:
    """Which schedules the job may have, None where nothing is said, and on how many nodes it runs, 0 likewise."""
    run, nodes = None, 0
    if text := fields.get("run", ""):
        if text not in _KINDS:
            raise InputError(source, f"{where} {names['run']}", explain_unknown_value(text, _KINDS))
        run = ScheduleKind(text)
    if text := fields.get("nodes", ""):
        if not text.isdecimal() or not 1 <= int(text[:8]) <= PARTS_LIMIT:
            problem = f"{shorten(text)} is not a whole number in 1..{PARTS_LIMIT}"
            raise InputError(source, f"{where} {names['nodes']}", problem)
        nodes = int(text)
        if nodes > 1 and run in (ScheduleKind.ANY, ScheduleKind.ONE_NODE):
            problem = f"{nodes}, and the job is {run.value}: it runs on one node at a time"
            raise InputError(source, f"{where} {names['nodes']}", problem)
    return run, nodes


def _time(text: str, where: str, name: str, source: str, zones: dict[str, bool]) -> int:
    """Times with and without a zone do not go together: hours would lie between them."""
    found = moment(text, where, name, source)
    if not text.replace(".", "").isdigit():
        zoned = has_zone(text)
        if zones.setdefault("zone", zoned) != zoned:
            problem = f"{shorten(text)} has {'a' if zoned else 'no'} zone, as those before it have{' none' * zoned}"
            raise InputError(source, f"{where} {name}", problem if zoned else problem.replace("as", "unlike", 1))
    return found


def _micro_dollars(text: str, where: str, name: str, source: str) -> int:
    """Dollars, to the micro-dollar below."""
    try:
        value = Decimal(text.removeprefix("$"))
        if value.is_finite() and 0 <= value <= _MOST:
            return int(value * _MONEY)
    except InvalidOperation:
        pass
    raise InputError(source, f"{where} {name}", f"{shorten(text)} is not an amount in dollars from 0 to {_MOST:,}")


register(
    LogFormat(
        name="csv",
        title="CSV with a header line (--columns maps its names)",
        reading=(
            f"columns: {', '.join(NEEDED)}; optional: {', '.join(OPTIONAL)}",
            "times are ISO 8601 or seconds; those with a zone are put into UTC, others are kept as they are",
            "memory_mb is GPU memory of the whole job, bid is in dollars, limit in seconds (0: none)",
            f"run is one of {', '.join(_KINDS)}; nodes is how many it runs on at once",
        ),
        rows=rows,
        job=job,
        mapped=(*NEEDED, *OPTIONAL),
    )
)
