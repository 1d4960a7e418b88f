"""Microsoft Philly: `cluster_job_log` (JSON), or the CSV with a `timestamp` column that schedulers' simulators use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.text_files import TextFile
from ratiobench.instances.lora.logs import table
from ratiobench.instances.lora.logs.base import (
    CANCELLED,
    NO_END,
    NO_GPU,
    NO_TIME,
    Job,
    LogFormat,
    SkippedLine,
    make_labels,
    moment,
    register,
)

_COLUMNS = {"submit": "timestamp", "gpus": "num_gpus"}
_OPTIONAL = {"group": "cluster"}


def rows(file: TextFile, source: str, columns: Mapping[str, str]) -> Iterator[tuple[int, Any]]:
    """The rows of the table, or the jobs of the JSON log with their number in place of a line."""
    if file.is_json_list():
        yield from enumerate(({"job": each} for each in file.json()), start=1)
    else:
        yield from table.rows(file, source, _COLUMNS, _OPTIONAL)


def job(row: Any, where: str, source: str) -> Job | SkippedLine:
    """A job, or why it is none of ours; of the JSON log it runs for as long as all its attempts together."""
    if not (isinstance(row, dict) and "job" in row):
        return table.job(row, where, source)
    where = where.replace("line", "job")
    data = row["job"]
    if not isinstance(data, dict):
        raise InputError(source, where, f"{shorten(data)} is not an object")
    submit = _moment(data.get("submitted_time"), where, "submitted_time", source)
    attempts = data.get("attempts")
    if not isinstance(attempts, list):
        raise InputError(source, f"{where} attempts", f"{shorten(attempts)} is not a list")
    seconds = gpus = nodes = last = 0
    for attempt in attempts:
        if not isinstance(attempt, dict) or not isinstance(attempt.get("detail"), list):
            raise InputError(source, f"{where} attempts", "an attempt is an object with a list `detail`")
        if attempt.get("start_time") is None or attempt.get("end_time") is None:
            return SkippedLine(NO_END, submit)
        ends = (_moment(attempt[name], where, name, source) for name in ("start_time", "end_time"))
        start, end = ends
        seconds, last = seconds + max(0, end - start), max(last, end)
        try:
            counts = [len(node["gpus"]) for node in attempt["detail"]]
        except (TypeError, KeyError):
            raise InputError(source, f"{where} detail", "not a list of nodes with their gpus") from None
        gpus, nodes = max((gpus, nodes), (sum(counts), sum(count > 0 for count in counts)))
    if not attempts:
        return SkippedLine(CANCELLED, submit)
    if not gpus:
        return SkippedLine(NO_GPU, submit)
    if not seconds:
        return SkippedLine(NO_TIME, submit)
    user, group = (found if isinstance(found := data.get(name), str) else "" for name in ("user", "vc"))
    labels = make_labels(user, group)
    return Job(
        str(data.get("jobid", where)), submit, seconds, 1000 * gpus, nodes=nodes, labels=labels, start=last - seconds
    )


def _moment(text: Any, where: str, name: str, source: str) -> int:
    return moment(text if isinstance(text, str) else repr(text), where, name, source)


register(
    LogFormat(
        name="philly",
        title="Microsoft Philly (cluster_job_log, or the CSV of schedulers' simulators)",
        reading=(
            "a job runs for as long as all its attempts together, on as many GPUs as its widest attempt had",
            "a virtual cluster (vc, or the column cluster) is a group",
            "times are the log's own, without a correction for daylight saving",
        ),
        rows=rows,
        job=job,
    )
)
