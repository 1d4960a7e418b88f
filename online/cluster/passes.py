"""A pass of an own policy: the state that it sees, and a job that it starts under the rules of the listed ones."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from ratiobench.instances.arrays import freeze
from ratiobench.instances.cluster.model import Closure
from ratiobench.online.cluster import kernel
from ratiobench.online.cluster import state as rows
from ratiobench.online.cluster.protocol import Cluster, Job, RunningJob, Start
from ratiobench.online.referee.simulator import RuleViolation


def show_cluster(state: rows.State, jobs: tuple[Job, ...]) -> Cluster:
    """Show the state as a policy sees it."""
    running = []
    for j in state.job[rows.LIVE, : state.clock[rows.RUNNING]].tolist():
        start, pool, offset = (int(state.job[row, j]) for row in (rows.START, rows.POOL, rows.OFFSET))
        nodes = tuple(state.place[offset : offset + jobs[j].nodes].tolist())
        running.append(RunningJob(jobs[j], start, pool, nodes))
    closures = state.closures[:4, state.closures[rows.KNOWN_LIST, : state.clock[rows.KNOWN]]].T.tolist()
    free = np.where(state.node[rows.IS_CLOSED], 0, state.node[rows.FREE])
    return Cluster(freeze(free), freeze(state.node[rows.POOL_OF]), tuple(running), tuple(Closure(*c) for c in closures))


def start_job(state: rows.State, jobs: tuple[Job, ...], waiting: set[int], start: Start) -> None:
    """Start one job. Rules: ``waiting`` (it waits, and once), ``fits`` (nodes, bounds and quotas let it start)."""
    j, nodes = start

    def fail(rule: str, problem: str) -> NoReturn:
        raise RuleViolation(rule, j, f"{problem} at {int(state.clock[rows.NOW])}")

    if j not in waiting or state.job[rows.START, j] >= 0:
        fail("waiting", f"job {j} does not wait")
    if nodes is None:
        if not kernel.start_waiting(state, j, -1):
            fail("fits", f"job {j} does not fit")
        return
    job = jobs[j]
    if len(set(nodes)) != job.nodes or len(nodes) != job.nodes or not all(0 <= v < state.node.shape[1] for v in nodes):
        fail("fits", f"job {j} needs {job.nodes} different nodes, not {list(nodes)[:9]}")
    pools = {int(state.node[rows.POOL_OF, v]) for v in nodes}
    if len(pools) > 1 or not pools <= set(job.pools):
        fail("fits", f"job {j} may not use pools {sorted(pools)} together")
    for v in nodes:
        if state.node[rows.IS_CLOSED, v] or state.node[rows.FREE, v] < job.gpus:
            fail("fits", f"node {v} has no {job.gpus} free GPUs for job {j}")
    state.node[rows.CHOSEN, : job.nodes] = nodes
    if not kernel.start_waiting(state, j, pools.pop()):
        fail("fits", f"bounds or quotas keep job {j} from starting")
