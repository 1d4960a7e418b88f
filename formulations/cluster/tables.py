"""The instance as arrays for kernels: jobs, costs with one kink, free GPUs of nodes over time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ratiobench.formulations.kernels import inner
from ratiobench.instances.arrays import IntArray
from ratiobench.instances.cluster.model import Costs, Instance

FloatArray = NDArray[np.float64]


class Problem:
    """Jobs and nodes; c_j(s) = base_j + slope_j max(0, s - kink_j)."""

    def __init__(self, instance: Instance, costs: Costs) -> None:
        jobs, running, pools = instance.jobs, instance.running, instance.pools
        self.instance, self.costs = instance, costs
        self.release, self.run = jobs.release, jobs.run  # (jobs,) seconds
        self.nodes, self.gpus = jobs.nodes, jobs.gpus  # (jobs,), GPUs of one node
        fits = [(pool.gpus >= jobs.gpus) & (pool.nodes >= jobs.nodes) for pool in pools]
        # (jobs, pools) where the job fits
        self.allowed = jobs.allowed & np.array(fits, dtype=bool).T.reshape(len(jobs), len(pools))
        # (jobs,) second, at least the release
        self.kink = np.maximum(jobs.release, jobs.submit + (costs.low - costs.add) // np.maximum(1, costs.weight))
        self.base: FloatArray = (costs.numerators(self.kink) / costs.unit).astype(float)  # (jobs,) cost
        self.slope: FloatArray = costs.weight / costs.unit  # (jobs,) cost per second
        size, number = np.array([pool.gpus for pool in pools]), np.array([pool.nodes for pool in pools])
        # A pool of one-GPU nodes that are never closed is one slot with all its GPUs; in others each node is a slot
        self.flat = np.array([pool.gpus == 1 and not pool.closures for pool in pools])  # (pools,) whether it is one
        self.slots = np.where(self.flat, 1, number)  # (pools,)
        self.room = np.where(self.flat, number, size)  # (pools,) GPUs of a slot
        self.pieces = np.where(self.flat, 1, jobs.nodes[:, None])  # (jobs, pools) slots that the job takes
        self.wide = np.where(self.flat, jobs.width[:, None], jobs.gpus[:, None])  # (jobs, pools) GPUs of each
        self.first_node, self.node_gpus = instance.first_node, instance.node_gpus  # (pools + 1,), (all nodes,)
        held, closures = np.repeat(np.arange(len(running)), running.nodes), instance.closures
        begin = np.full(len(held), instance.begin)
        spans = np.column_stack((running.node, begin, running.end[held], running.gpus[held]))
        closed = np.column_stack((closures[:, :3], self.node_gpus[closures[:, 0]]))
        # (spans, 4) node, start, end, GPUs that are not free: closed nodes, jobs running at the beginning
        self.blocked = np.concatenate((spans, closed)).astype(np.int64)

    def __len__(self) -> int:
        return len(self.release)


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
