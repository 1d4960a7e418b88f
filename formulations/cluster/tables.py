"""The instance as arrays for kernels: jobs, costs with one kink, free GPUs of nodes over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.kernels import inner
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
    # A pool of one-GPU nodes that are never closed is one slot with all its GPUs; in any other one each node is a slot
    flat: NDArray[np.bool_]  # (pools,) whether the pool is one slot
    slots: IntArray  # (pools,)
    room: IntArray  # (pools,) GPUs of a slot
    pieces: IntArray  # (jobs, pools) slots that the job takes
    wide: IntArray  # (jobs, pools) GPUs of each
    first_node: IntArray  # (pools + 1,)
    node_gpus: IntArray  # (all nodes,)
    # (spans, 4) node, start, end, GPUs that are not free: closed nodes, jobs running at the beginning
    blocked: IntArray

    def __len__(self) -> int:
        return len(self.release)


def make_problem(instance: Instance, costs: Costs) -> Problem:
    jobs, running, pools = instance.jobs, instance.running, instance.pools
    fits = [(pool.gpus >= jobs.gpus) & (pool.nodes >= jobs.nodes) for pool in pools]
    kink = np.maximum(jobs.release, jobs.submit + (costs.low - costs.add) // np.maximum(1, costs.weight))
    held = np.repeat(np.arange(len(running)), running.nodes)
    begin = np.full(len(held), instance.begin)
    spans = [np.stack((running.node, begin, running.end[held], running.gpus[held]), axis=1)]
    closures = instance.closures
    if len(closures):
        spans.append(np.column_stack((closures[:, :3], instance.node_gpus[closures[:, 0]])))
    size, number = np.array([pool.gpus for pool in pools]), np.array([pool.nodes for pool in pools])
    flat = np.array([pool.gpus == 1 and not pool.closures for pool in pools])
    return Problem(
        instance=instance,
        costs=costs,
        release=jobs.release,
        run=jobs.run,
        nodes=jobs.nodes,
        gpus=jobs.gpus,
        allowed=jobs.allowed & np.array(fits, dtype=bool).T.reshape(len(jobs), len(pools)),
        base=(costs.numerators(kink) / costs.unit).astype(float),
        slope=costs.weight / costs.unit,
        kink=kink,
        flat=flat,
        slots=np.where(flat, 1, number),
        room=np.where(flat, number, size),
        pieces=np.where(flat, 1, jobs.nodes[:, None]),
        wide=np.where(flat, jobs.width[:, None], jobs.gpus[:, None]),
        first_node=instance.first_node,
        node_gpus=instance.node_gpus,
        blocked=np.concatenate(spans).astype(np.int64).reshape(-1, 4),
    )


def greatest_free(problem: Problem, borders: IntArray) -> NDArray[np.int64]:
    """(nodes, segments) the greatest number of free GPUs of every node in every segment [borders_i, borders_i+1)."""
    free = np.repeat(problem.node_gpus[:, None], len(borders) - 1, axis=1)
    for node in np.unique(problem.blocked[:, 0]).tolist():
        start, end, gpus = problem.blocked[problem.blocked[:, 0] == node, 1:, None].transpose(1, 0, 2)
        ends = end[(end > borders[0]) & (end < borders[-1])]  # free GPUs rise there alone
        moments = np.union1d(borders[:-1], ends)
        used = np.sum(gpus * ((start <= moments) & (moments < end)), axis=0)
        level = np.maximum(0, problem.node_gpus[node] - used)
        free[node] = np.maximum.reduceat(level, np.searchsorted(moments, borders[:-1]))
    return free


@inner
def find_last(values, count, most):  # type: ignore[no-untyped-def]
    """The place of the last of the first `count` values, which ascend, that is at most `most`; -1 if none is."""
    return np.searchsorted(values[:count], most, "right") - 1
