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

_PLACES = np.array([[rows.START], [rows.POOL], [rows.OFFSET]])


def show_cluster(state: rows.State, jobs: tuple[Job, ...], shown: dict[int, RunningJob]) -> Cluster:
    """Show the state as a policy sees it; `shown`: by job, what was shown of those that ran at the last pass."""
    live = state.job[rows.LIVE, : state.clock[rows.RUNNING]]
    before = dict(shown)
    shown.clear()
    for j, start, pool, offset in zip(live.tolist(), *state.job[_PLACES, live].tolist(), strict=True):
        job = before.get(j)
        if job is None or job.start != start:
            nodes = tuple(state.place[offset : offset + jobs[j].nodes].tolist())
            job = RunningJob(jobs[j], start, pool, nodes)
        shown[j] = job
    closures = state.closures[:4, state.closures[rows.KNOWN_LIST, : state.clock[rows.KNOWN]]].T.tolist()
    free = np.where(state.node[rows.IS_CLOSED], 0, state.node[rows.FREE])
    pool_of = freeze(state.node[rows.POOL_OF])
    return Cluster(freeze(free), pool_of, tuple(shown.values()), tuple(Closure(*c) for c in closures))


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
