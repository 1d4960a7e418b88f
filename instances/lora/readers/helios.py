"""SenseTime Helios: `cluster_log.csv` of one cluster."""

from __future__ import annotations

from collections.abc import Iterator

from ratiobench.instances.io.text_files import TextFile, rows
from ratiobench.instances.lora.readers.base import Moment, Trace, columns, number, register, timestamp, width


def moments(file: TextFile, source: str) -> Iterator[Moment]:
    """Submissions of the GPU jobs (gpu_num > 0), in the log's own clock."""
    table = rows(file, source)
    line, header = next(table, (1, []))
    where = columns(header, ("gpu_num", "submit_time"), line, source)
    for line, row in table:
        width(row, len(header), line, source)
        moment = timestamp(row[where["submit_time"]], f"line {line} submit_time", source)
        if number(row[where["gpu_num"]], line, "gpu_num", source) > 0:
            yield moment


register(
    Trace(
        name="helios",
        title="SenseTime Helios 2020, cluster Venus, submissions of GPU jobs",
        licence="CC BY 4.0",
        where="cluster_log.csv of each cluster is in data.zip of GitHub S-Lab-System-Group/HeliosData",
        moments=moments,
    )
)
