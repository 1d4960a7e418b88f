"""The instance as arrays for kernels: jobs, costs with one kink, free GPUs of nodes over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratiobench.instances.arrays import IntArray
from ratiobench.instances.cluster.model import Costs, Instance

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Jobs and nodes; c_j(s) = base_j + slope_j max(0, s - kink_j)."""

    instance: Instance
    costs: Costs
    release: IntArray  # (jobs,) seconds
    run: IntArray  # (jobs,) seconds
    nodes: IntArray  # (jobs,)
    gpus: IntArray  # (jobs,) of one node
    allowed: NDArray[np.bool_]  # (jobs, pools) where the job fits
    base: FloatArray  # (jobs,) cost
    slope: FloatArray  # (jobs,) cost per second
    kink: IntArray  # (jobs,) second, at least the release
    first_node: IntArray  # (pools + 1,)
    node_gpus: IntArray  # (all nodes,)
    blocked: (
        IntArray  # (spans, 4) node, start, end, GPUs that are not free: closed nodes, jobs running at the beginning
    )

    def __len__(self) -> int:
        return len(self.release)

    @property
    def end(self) -> int:
        """Second by which every active schedule has ended: all blocked spans, then all jobs one after another."""
        last = max([self.instance.begin, *self.blocked[:, 2].tolist(), *self.release.tolist()])
        return int(last + self.run.sum())


def make_problem(instance: Instance, costs: Costs) -> Problem:
    """Build the arrays."""
    jobs, running, pools = instance.jobs, instance.running, instance.pools
    fits = [(pool.gpus >= jobs.gpus) & (pool.nodes >= jobs.nodes) for pool in pools]
    kink = np.maximum(jobs.release, jobs.submit + (costs.low - costs.add) // np.maximum(1, costs.weight))
    held = np.repeat(np.arange(len(running)), running.nodes)
    begin = np.full(len(held), instance.begin)
    spans = [np.stack((running.node, begin, running.end[held], running.gpus[held]), axis=1)]
    closures = instance.closures
    if len(closures):
        spans.append(np.column_stack((closures[:, :3], instance.node_gpus[closures[:, 0]])))
    return Problem(
        instance=instance,
        costs=costs,
        release=jobs.release,
        run=jobs.run,
        nodes=jobs.nodes,
        gpus=jobs.gpus,
        allowed=jobs.allowed & np.array(fits, dtype=bool).T.reshape(len(jobs), len(pools)),
        base=costs.numerators(kink) / costs.unit,
        slope=costs.weight / costs.unit,
        kink=kink,
        first_node=instance.first_node,
        node_gpus=instance.node_gpus,
        blocked=np.concatenate(spans).astype(np.int64).reshape(-1, 4),
    )


def greatest_free(problem: Problem, borders: IntArray) -> NDArray[np.int64]:
    """(nodes, segments) the greatest number of free GPUs of every node in every segment [borders_i, borders_i+1)."""
    free = np.repeat(problem.node_gpus[:, None], len(borders) - 1, axis=1)
    spans: dict[int, list[list[int]]] = {}
    for row in problem.blocked.tolist():
        spans.setdefault(row[0], []).append(row)
    for node, rows in spans.items():
        moments = sorted({int(borders[0]), int(borders[-1]), *(t for row in rows for t in row[1:3])})
        level = [max(0, int(problem.node_gpus[node]) - sum(r[3] for r in rows if r[1] <= t < r[2])) for t in moments]
        low = np.searchsorted(borders, moments[:-1], "right") - 1
        high = np.searchsorted(borders, moments[1:], "left")
        free[node] = 0
        for value, a, b in zip(level, low.tolist(), high.tolist(), strict=False):
            free[node, max(0, a) : max(0, b)] = np.maximum(free[node, max(0, a) : max(0, b)], value)
    return free


def sum_in_doubles(problem: Problem, start: Any) -> float:
    """The total cost of starts, in doubles."""
    return float((problem.base + problem.slope * np.maximum(0, np.asarray(start) - problem.kink)).sum())
