"""Recipes: jobs of public traces as they are shipped."""

import gzip
import os
from pathlib import Path

import pytest

from ratiobench.instances.cluster.generate import DATA, make
from ratiobench.instances.io.errors import InputError
from tools.cluster_windows import WINDOWS, make_window


def test_jobs_of_a_trace_keep_their_times_and_at_least_their_gpus() -> None:
    """Every job that fits is there, on as few nodes as hold its GPUs, rounded up to equal parts."""
    rows = [line.split(",") for line in gzip.decompress((DATA / "helios.csv.gz").read_bytes()).decode().split()[1:]]
    rows = rows[99:3099]
    month = make({"kind": "trace", "trace": "helios", "first": 100, "jobs": 2990, "nodes": 16})
    table = [[int(cell) for cell in row] for row in rows if int(row[2]) <= 128][:2990]
    jobs = month.jobs
    assert [jobs.submit.tolist(), jobs.run.tolist()] == [[row[0] for row in table], [row[1] for row in table]]
    assert (jobs.limit == jobs.run).all()
    assert month.begin == jobs.submit[0]
    for nodes, gpus, (_, _, asked) in zip(jobs.nodes.tolist(), jobs.gpus.tolist(), table, strict=True):
        assert nodes == -(-asked // 8)
        assert asked <= nodes * gpus < asked + nodes
        assert gpus <= 8


def test_a_trace_that_has_fewer_jobs_is_an_error() -> None:
    """The error says how many there are."""
    with pytest.raises(InputError, match="500: from 20900 on, helios has 12 on 64 nodes"):
        make({"kind": "trace", "trace": "helios", "first": 20_900, "jobs": 500})


@pytest.mark.parametrize("name", WINDOWS)
def test_shipped_windows_are_those_of_the_traces(name: str) -> None:
    """Made anew from the originals, which `RATIOBENCH_DATA` names."""
    if not os.environ.get("RATIOBENCH_DATA"):
        pytest.skip("RATIOBENCH_DATA is not set: no traces here")
    made = make_window(Path(os.environ["RATIOBENCH_DATA"]) / "traces", name)
    assert gzip.decompress(made) == gzip.decompress((DATA / f"{name}.csv.gz").read_bytes())
