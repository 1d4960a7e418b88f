"""Alibaba PAI: `pai_task_table.csv`, which has no header line."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

from ratiobench.instances.io.text_files import TextFile, rows
from ratiobench.instances.lora.readers.base import Moment, Trace, number, register, width

COLUMNS = (
    "job_name", "task_name", "inst_num", "status", "start_time",
    "end_time", "plan_cpu", "plan_mem", "plan_gpu", "gpu_type",
)  # fmt: skip
_STATUS, _START, _GPU = COLUMNS.index("status"), COLUMNS.index("start_time"), COLUMNS.index("plan_gpu")

# Times are Unix seconds less a constant; read in UTC+8 they have the true time of day, with fake dates.
ZONE = 8 * 3600  # Seconds
_EPOCH = date(1970, 1, 1)


def moments(file: TextFile, source: str) -> Iterator[Moment]:
    """Starts of the terminated GPU tasks (plan_gpu > 0), in UTC+8; the table has no submission times."""
    for line, row in rows(file, source):
        if line == 1 and tuple(row) == COLUMNS:
            continue
        width(row, len(COLUMNS), line, source)
        # All rows are checked, those that do not count too: a wrong file should not pass as an empty one.
        gpus = number(row[_GPU], line, "plan_gpu", source) if row[_GPU] else 0
        start = number(row[_START], line, "start_time", source) if row[_START] else None
        if start is None or gpus == 0 or row[_STATUS] != "Terminated":
            continue
        days, second = divmod(int(start) + ZONE, 86_400)
        yield _EPOCH + timedelta(days=days), second


register(
    Trace(
        name="pai",
        title="Alibaba PAI 2020 (8.2 % sample), starts of terminated GPU tasks",
        licence="free for research and study, citation asked",
        where="pai_task_table.csv is in pai_task_table.tar.gz, linked from cluster-trace-gpu-v2020/data/README.md "
        "of GitHub alibaba/clusterdata",
        moments=moments,
    )
)
