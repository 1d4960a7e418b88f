"""Who runs on the edge servers: the rules of the policies, as functions of the state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ratiobench.instances.arrays import IntArray
from ratiobench.instances.edgeflow.model import EDGE
from ratiobench.online.edgeflow.planner import Planner
from ratiobench.online.edgeflow.protocol import View


def choose_by_deadline(planner: Planner, view: View, jobs: Iterable[int]) -> list[int]:
    """Jobs on a server stay; free ones take any job that fits the memory there, by deadline (ElasticFlow+Edge)."""
    index = _fitting(planner, jobs)
    on = planner.place[index] == EDGE
    order = np.lexsort((index, planner.deadline[index], ~on))
    chosen: list[int] = index[order][: view.servers].tolist()
    return chosen


def choose_in_time(planner: Planner, view: View, jobs: Iterable[int]) -> list[int]:
    """Of the jobs that end on a server in time, those that are on one, then those with the most remaining GPU time."""
    index = find_ending(planner, view, jobs)
    on = planner.place[index] == EDGE
    staying: list[int] = index[on][: view.servers].tolist()
    return [*staying, *find_largest(planner, index[~on], view.servers - len(staying))]


def find_staying(planner: Planner, view: View, jobs: Iterable[int]) -> list[int]:
    """Jobs on a server that end there in time, before it is gone (EdgeFlow's first rule)."""
    index = find_ending(planner, view, jobs)
    chosen: list[int] = index[planner.place[index] == EDGE][: view.servers].tolist()
    return chosen


def find_largest(planner: Planner, index: IntArray, count: int) -> list[int]:
    """The jobs with the most remaining GPU time at their smallest level (EdgeFlow's second rule)."""
    work = find_remaining_work(planner, index)
    order = np.lexsort((index, planner.deadline[index], -work))
    chosen: list[int] = index[order][: max(0, count)].tolist()
    return chosen


def find_ending(planner: Planner, view: View, jobs: Iterable[int]) -> IntArray:
    """Those that fit on a server and end there in time, and before it is gone where that is known."""
    index = _fitting(planner, jobs)
    last = planner.deadline[index]
    if view.until is not None:
        last = np.minimum(last, view.until)
    return np.asarray(index[planner.edge_end(index) <= last])


def find_remaining_work(planner: Planner, index: IntArray) -> IntArray:
    """GPU seconds of the work that is left, at the smallest level, rounded up."""
    model = planner.model[index]
    slow = np.maximum(planner.speeds[model, 0], 1)
    return np.asarray(-(-planner.left[index] // slow) * planner.levels[model, 0])


def _fitting(planner: Planner, jobs: Iterable[int]) -> IntArray:
    index = np.fromiter(jobs, np.int64)
    return np.asarray(index[planner.edge_speed[planner.model[index]] > 0])


def exclude_jobs(jobs: Sequence[int], others: Iterable[int]) -> list[int]:
    """The jobs that are not among the others, in their order."""
    gone = set(others)
    return [i for i in jobs if i not in gone]


RULES = {"any": choose_by_deadline, "ending": choose_in_time}  # By the value of ElasticFlow's option `edge`
