"""An own policy on an instance, at the same passes as the listed ones and with the same nodes, bounds and quotas."""

from __future__ import annotations

import heapq
from typing import NoReturn

import numpy as np

from ratiobench.instances.arrays import freeze
from ratiobench.instances.cluster.model import Closure, Instance
from ratiobench.online.answers import refusal
from ratiobench.online.cluster import kernel
from ratiobench.online.cluster import state as rows
from ratiobench.online.cluster.protocol import Cluster, Job, Policy, RunningJob, Start, make_jobs, plain
from ratiobench.online.cluster.replay import Replay, Rule, make_state, read_result
from ratiobench.online.referee.simulator import RuleViolation


def play(instance: Instance, policy: Policy) -> Replay:
    """Run an own policy on an instance.

    Parameters
    ----------
    instance : the cluster and its jobs.
    policy : an object with `schedule`, see `ratiobench.online.cluster.protocol`.

    Returns
    -------
    Starts and places of all jobs.

    Raises
    ------
    RuleViolation : the policy broke a rule; names the job.
    InputError : a job never started.
    """
    state, jobs = make_state(instance, Rule(backfill=rows.NO_BACKFILL), 1), make_jobs(instance)
    asked: list[int] = []
    while kernel.advance(state, asked[0] if asked else rows.NEVER):
        now = int(state.clock[rows.NOW])
        while asked and asked[0] <= now:
            heapq.heappop(asked)
        waiting = [jobs[j] for j in state.job[rows.QUEUE, : state.clock[rows.WAITING]].tolist()]
        cluster = show_cluster(state, jobs)
        answer = policy.schedule(now, waiting, cluster)
        try:
            starts = plain(answer)
        except (TypeError, ValueError) as error:
            raise RuleViolation("protocol", None, refusal(answer, "list of jobs", error)) from None
        for start in starts:
            start_job(state, jobs, {job.index for job in waiting}, start)
        for second in cluster.asked:
            if second <= now:
                raise RuleViolation("protocol", None, f"asks for second {second}, which is not after {now}")
            heapq.heappush(asked, second)
    return read_result(instance, state)


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
