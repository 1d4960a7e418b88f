"""The shipped tables: speeds, overheads, arrivals and durations of real clusters, the six ElasticFlow traces.

Sources and licences are in `data/README.md`; `tools.edgeflow_tables` makes the tables from the public originals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from ratiobench.instances.io.text_files import read_table

DATA = Path(__file__).with_name("data")
SLOT = 600  # Seconds of a slot in which arrivals are counted
SHORTEST = 600  # Tasks of at least so many seconds are in the tables of days
WIDEST = 64  # The widest share that a task asks for; wider ones are taken as this
CELL = 10  # Tasks behind every cell of a table of durations, at least

# The clusters whose days can be drawn
CLUSTERS: Mapping[str, str] = {
    "pai": "Alibaba PAI 2020, a uniform 8.2 % sample of terminated GPU tasks, 28 days, clock of Shanghai",
    "philly": "Microsoft Philly 2017, about three quarters of the jobs, 42 days",
    "helios": "SenseTime Helios 2020, cluster Venus, 91 days",
    "itp": "Microsoft ITP 2021, ten clusters, 28 days",
}


@dataclass(frozen=True, slots=True)
class PublishedTrace:
    """A prepared trace of the ElasticFlow paper."""

    file: str
    about: str
    gpu_type: str
    gpus: int


# The prepared traces by name
PUBLISHED: Mapping[str, PublishedTrace] = {
    "testbed": PublishedTrace("itp_195job", "the 128-GPU testbed trace, 195 jobs of ITP (Figure 6b)", "A100", 128),
    "t4": PublishedTrace(
        "t4_elasticVpollux", "the trace for the comparison with Pollux, 195 jobs (Figure 8a)", "T4", 64
    ),
    "philly_103959": PublishedTrace(
        "philly_103959", "Philly's virtual cluster 103959, 876 jobs (Figure 8b)", "A100", 256
    ),
    "cluster01": PublishedTrace("itp_cluster01", "ITP cluster 1, 1,595 jobs (Figure 8b)", "A100", 512),
    "cluster06": PublishedTrace("itp_cluster06", "ITP cluster 6, 2,396 jobs (Figure 8b)", "A100", 512),
    "cluster10": PublishedTrace("itp_cluster10", "ITP cluster 10, 260 jobs (Figure 8b)", "A100", 256),
}


class PreparedJob(NamedTuple):
    """A job with its model: times from the beginning, work in milli-iterations."""

    submit: int
    deadline: int
    model: str
    batch: int
    work: int
    gpus: int


class Cell(NamedTuple):
    """So many hundred-millionths of the tasks, at least, ask for `gpus` and take from `low` to `high` seconds."""

    gpus: int
    low: int
    high: int
    weight: int


def traces() -> list[tuple[str, str]]:
    days = [(name, f"{about}; counts and quantiles, recipe gpu-day") for name, about in CLUSTERS.items()]
    return days + [(name, f"{each.about}; whole, recipe elasticflow") for name, each in PUBLISHED.items()]


@lru_cache(maxsize=1)
def throughput() -> Mapping[str, Mapping[tuple[str, int], Mapping[int, int]]]:
    """Micro-iterations per second by type of GPU, (model, batch) and number of GPUs, which is at most the batch."""
    found: dict[str, dict[tuple[str, int], dict[int, int]]] = {}
    for kind, model, batch, gpus, speed in _rows("throughput.csv"):
        if int(gpus) <= int(batch):
            found.setdefault(kind, {}).setdefault((model, int(batch)), {})[int(gpus)] = int(speed)
    return found


@lru_cache(maxsize=1)
def overheads() -> Mapping[str, int]:
    """Seconds that a change of share takes, by model: the mean of what was measured, rounded up."""
    found: dict[str, list[int]] = {}
    for model, _, milliseconds in _rows("overheads.csv"):
        found.setdefault(model, []).append(int(milliseconds))
    return {model: -(-sum(values) // (1000 * len(values))) for model, values in found.items()}


@lru_cache(maxsize=len(CLUSTERS))
def arrivals(cluster: str) -> tuple[tuple[int, ...], ...]:
    """Tasks of at least ten minutes that were submitted in each ten minutes of each day."""
    return tuple(zip(*(map(int, row[1:]) for row in _rows(f"arrivals_{cluster}.csv")), strict=True))


@lru_cache(maxsize=1)
def _laws() -> Mapping[tuple[str, int | None], Mapping[int, tuple[int, tuple[int, ...]]]]:
    """Tasks and the ends of the cells of their seconds by share, by cluster and day, None for all days."""
    laws: dict[tuple[str, int | None], dict[int, tuple[int, tuple[int, ...]]]] = {}
    for cluster, gpus, tasks, seconds in _rows("durations.csv"):
        laws.setdefault((cluster, None), {})[int(gpus)] = int(tasks), tuple(map(int, seconds.split()))
    for cluster, day, gpus, tasks, seconds in _rows("durations_of_days.csv"):
        ends = tuple(map(int, seconds.split())) or laws[cluster, None][int(gpus)][1]
        laws.setdefault((cluster, int(day)), {})[int(gpus)] = int(tasks), ends
    return laws


def durations(cluster: str, shortest: int = SHORTEST, day: int | None = None) -> tuple[Cell, ...]:
    """The joint table of shares and durations of a cluster, or of a day, cut below `shortest` seconds."""
    found = []
    for gpus, (tasks, ends) in _laws().get((cluster, day), {}).items():
        for low, high in pairwise(ends):
            width = high - low + 1
            inside = high - max(low, shortest) + 1
            if inside > 0:
                found.append(Cell(gpus, max(low, shortest), high, 10**6 * tasks * inside // ((len(ends) - 1) * width)))
    return tuple(found)


@lru_cache(maxsize=len(PUBLISHED))
def read_prepared(name: str) -> tuple[PreparedJob, ...]:
    return tuple(
        PreparedJob(int(submit), int(deadline), model, int(batch), int(work), int(gpus))
        for submit, deadline, model, batch, work, gpus in _rows(f"{name}.csv.gz")
    )


def _rows(name: str) -> list[list[str]]:
    return read_table(DATA / name)[1]
