"""Windows of public traces for family `cluster`: `RATIOBENCH_DATA=DIR python -m tools.cluster_windows` writes them."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pandas as pd

from ratiobench.instances.cluster.generate import DATA
from ratiobench.instances.io.files import write_atomically

# Trace -> its table below the data folder, the columns (submit, seconds, GPUs), the first day, the first day after it
WINDOWS = {
    "philly": ("philly/philly.csv.gz", ("timestamp", "duration", "num_gpus"), "2017-10-02", "2017-10-16"),
    "helios": ("helios/cluster_log.csv.gz", ("submit_time", "duration", "gpu_num"), "2020-04-01", "2020-05-01"),
}


def make_window(traces: Path, name: str) -> bytes:
    """The jobs of a window in order of submit, as a table of second from its midnight, run time and GPUs."""
    file, columns, begin, end = WINDOWS[name]
    table = pd.read_csv(traces / file, usecols=list(columns))[list(columns)].set_axis(["submit", "run", "gpus"], axis=1)
    submit = pd.to_datetime(table["submit"])
    table = table.assign(submit=(submit - pd.Timestamp(begin)).dt.total_seconds())[(submit >= begin) & (submit < end)]
    table = table.assign(run=table["run"].clip(lower=1)).astype("int64").sort_values("submit", kind="stable")
    return gzip.compress(table.to_csv(index=False, lineterminator="\n").encode(), mtime=0)


if __name__ == "__main__":
    for name in WINDOWS:
        write_atomically(DATA / f"{name}.csv.gz", make_window(Path(os.environ["RATIOBENCH_DATA"]) / "traces", name))
