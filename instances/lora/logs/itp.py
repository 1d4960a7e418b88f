"""Microsoft ITP: the CSV of one of its clusters, as ElasticFlow published them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ratiobench.instances.io.text_files import TextFile
from ratiobench.instances.lora.logs import table
from ratiobench.instances.lora.logs.base import LogFormat, register

_COLUMNS = {"submit": "submission_time", "gpus": "num_gpu"}
_OPTIONAL = {"name": "job_id"}


def rows(file: TextFile, source: str, columns: Mapping[str, str]) -> Iterator[tuple[int, Any]]:
    """The rows of the table."""
    return table.rows(file, source, _COLUMNS, _OPTIONAL)


register(
    LogFormat(
        name="itp",
        title="Microsoft ITP (cluster01.csv to cluster10.csv of ElasticFlow)",
        reading=("times are seconds from a moment that is not published; days are counted from it",),
        rows=rows,
        job=table.job,
    )
)
