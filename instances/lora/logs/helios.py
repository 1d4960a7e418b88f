"""SenseTime Helios: `cluster_log.csv` of one cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.text_files import TextFile
from ratiobench.instances.io.text_files import rows as read_rows
from ratiobench.instances.lora.logs.base import (
    NO_END,
    NO_GPU,
    NO_TIME,
    Job,
    LogFormat,
    SkippedLine,
    amount,
    make_labels,
    moment,
    register,
    round_thousandths,
    round_up,
)
from ratiobench.instances.lora.readers.base import columns as places

COLUMNS = ("job_id", "gpu_num", "submit_time", "duration")
OPTIONAL = ("user", "vc", "node_num", "start_time")


def rows(file: TextFile, source: str, columns: Mapping[str, str]) -> Iterator[tuple[int, Any]]:
    """The columns that say what a job is."""
    table = read_rows(file, source)
    line, header = next(table, (1, []))
    where = places(header, COLUMNS, line, source)
    others = [header.index(name) if name in header else len(header) for name in OPTIONAL]
    for line, row in table:
        good = len(row) == len(header)
        if good:
            row.append("")  # what a column that is not there has
            yield line, [row[place] for place in (*(where[name] for name in COLUMNS), *others)]
        else:
            yield line, f"{len(row)} fields; {len(header)} are needed"


def job(row: Any, where: str, source: str) -> Job | SkippedLine:
    """A job, or why it is none of ours."""
    if isinstance(row, str):
        raise InputError(source, where, row)
    name, gpus, submitted, duration, user, group, wide, started = row
    submit = moment(submitted, where, "submit_time", source)
    count = round_thousandths(amount(gpus, where, "gpu_num", source))
    if not count:
        return SkippedLine(NO_GPU, submit)
    if not duration:
        return SkippedLine(NO_END, submit)
    seconds = round_up(amount(duration, where, "duration", source))
    if not seconds:
        return SkippedLine(NO_TIME, submit)
    nodes = round_up(amount(wide, where, "node_num", source)) if wide else 0
    start = moment(started, where, "start_time", source) if started else None
    return Job(name, submit, seconds, count, nodes=nodes, labels=make_labels(user, group), start=start)


register(
    LogFormat(
        name="helios",
        title="SenseTime Helios (cluster_log.csv)",
        reading=("jobs of every state that ran count; times are the log's own; a virtual cluster (vc) is a group",),
        rows=rows,
        job=job,
    )
)
