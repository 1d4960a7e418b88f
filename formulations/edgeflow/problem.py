"""An instance of `edgeflow` in flat arrays for the kernels, and grids of time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ratiobench.formulations.linear import FloatArray
from ratiobench.instances.arrays import IntArray
from ratiobench.instances.edgeflow.model import Instance


class Problem(NamedTuple):
    """The jobs and their modes: each a useful share of the cloud, or an edge server."""

    gpus: int  # G
    # submit, deadline, work, overhead, crossing: (n,) of the jobs; seconds, milli-iterations, and seconds that a start
    # takes and that a change of side adds.
    submit: IntArray
    deadline: IntArray
    work: IntArray
    overhead: IntArray
    crossing: IntArray
    # (n+1,) job i has the modes mode_start[i] .. mode_start[i+1]-1; none where it cannot be met alone.
    mode_start: IntArray
    # mode_gpus, mode_speed: of the modes, ascending within a job; 0 GPUs: the edge, which is the last one.
    mode_gpus: IntArray
    mode_speed: IntArray
    window_start: IntArray  # window_start, window_end, servers: of the edge
    window_end: IntArray
    servers: IntArray

    @property
    def jobs(self) -> int:
        return len(self.work)

    @property
    def alone(self) -> int:
        """How many jobs could be met if they were alone, by their fastest mode."""
        return int((np.diff(self.mode_start) > 0).sum())


def problem_of(instance: Instance) -> Problem:
    """The arrays of an instance; a job that its fastest mode cannot finish in its window less a start has no mode."""
    start, gpus, speed = [0], [], []  # type: list[int], list[int], list[int]
    ways: list[list[tuple[int, int]]] = []
    for model in instance.models:
        ways.append([*model.useful(instance.gpus), *([(0, model.edge_speed)] if model.edge_speed else [])])
    for i in range(instance.jobs):
        model = instance.models[int(instance.model[i])]
        modes = ways[int(instance.model[i])]
        submit, deadline = int(instance.submit[i]), int(instance.deadline[i])
        if not any(w.start < deadline and w.end > submit for w in instance.edge):
            modes = [mode for mode in modes if mode[0]]
        window = deadline - submit - model.overhead_s
        if window * max((each for _, each in modes), default=0) >= int(instance.work[i]):
            gpus += [each for each, _ in modes]
            speed += [each for _, each in modes]
        start.append(len(gpus))
    models = [instance.models[k] for k in instance.model.tolist()]
    stalls = [model.overhead_s for model in models], [model.edge_overhead_s for model in models]
    edge = [w.start for w in instance.edge], [w.end for w in instance.edge], [w.servers for w in instance.edge]
    columns = (instance.submit, instance.deadline, instance.work, *stalls, start, gpus, speed, *edge)
    return Problem(instance.gpus, *(np.array(column, dtype=np.int64) for column in columns))


class Grid(NamedTuple):
    """Cells of time, and which of them a job's window meets."""

    points: IntArray  # (K+1,) seconds, ascending; cell k is points[k] .. points[k+1]
    servers: IntArray  # (K,) edge servers, the same in all of a cell
    first: IntArray  # first, last: (n,) job i's window lies in the cells first[i] .. last[i]-1; it may end within one
    last: IntArray

    @property
    def cells(self) -> int:
        return len(self.servers)

    @property
    def length(self) -> FloatArray:
        return np.diff(self.points).astype(np.float64)


def grid_of(problem: Problem, cells: int | None = None) -> Grid:
    """The grid of submits, deadlines and changes of the edge, of the jobs that can be met."""
    able = np.diff(problem.mode_start) > 0
    events = np.sort(np.concatenate([problem.submit[able], problem.deadline[able]]))
    if not len(events):
        events = np.array([0, 1])
    low, high = int(events[0]), int(events[-1])
    if cells is not None and len(np.unique(events)) > cells + 1:
        events = events[np.linspace(0, len(events) - 1, cells + 1).astype(np.int64)]
    edge = np.concatenate([problem.window_start, problem.window_end])
    points = np.unique(np.concatenate([events, edge[(edge > low) & (edge < high)]]))
    return make_grid(problem, points)


def make_grid(problem: Problem, points: IntArray) -> Grid:
    """The grid of these points, which hold every change of the edge between the first and the last of them."""
    servers = np.zeros(len(points) - 1, dtype=np.int64)
    for start, end, count in zip(problem.window_start, problem.window_end, problem.servers, strict=True):
        servers[(points[:-1] >= start) & (points[:-1] < end)] += count
    first = np.searchsorted(points, problem.submit, "right") - 1
    last = np.searchsorted(points, problem.deadline, "left")
    hopeless = np.diff(problem.mode_start) == 0
    first, last = np.where(hopeless, 0, first), np.where(hopeless, 0, last)
    return Grid(points, servers, first.astype(np.int64), last.astype(np.int64))


def refine_prices(prices: FloatArray, coarse: Grid, fine: Grid) -> FloatArray:
    """Prices on a finer grid, which has all points of the coarse one."""
    return prices[np.searchsorted(coarse.points, fine.points[:-1], "right") - 1]
