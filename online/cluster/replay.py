"""Replay of an instance under a listed rule: the state of the kernel from an instance, and the schedule from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ratiobench.instances.arrays import IntArray, freeze
from ratiobench.instances.cluster.model import NONE, Instance, Schedule
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.online.cluster import kernel
from ratiobench.online.cluster import state as rows
from ratiobench.online.cluster.replan import FLOOR, SEARCH_JOBS
from ratiobench.online.cluster.state import BELIEFS, EASY, NEVER, ORDERS, State


@dataclass(frozen=True, slots=True)
class Rule:
    """A listed policy: order of the queue, how jobs overtake, believed lengths, and the options of `algorithms`."""

    order: str = "submit"
    backfill: int = EASY
    belief: str = "limit"
    reservations: int = 1
    candidates: str = "order"  # Which ones EASY tries first: in the queue's order, or "shortest" belief
    work: int = 0
    guard: int = 0  # Hours
    gpu_hours: int = 0
    slowdown: int = 0  # Seconds
    spare: int = 100  # Percent


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """Starts and places of the runs that completed, and (jobs,) how often a node of the job closed while it ran."""

    schedule: Schedule
    requeued: IntArray


def replay(instance: Instance, rule: Rule) -> Replay:
    """Replay an instance under a rule; InputError names a job that never starts."""
    room = max(64, 2**16 // len(instance.node_gpus))
    while not kernel.replay(state := make_state(instance, rule, room)):
        room *= 2
    schedule = read_schedule(instance, state)
    late = np.flatnonzero(schedule.start < 0)
    if len(late):
        raise InputError("", f"jobs[{late[0]}]", f"{shorten(instance.jobs.ids[late[0]])} never starts")
    return Replay(schedule, freeze(state.job[rows.REQUEUED, : len(instance.jobs)]))


def read_schedule(instance: Instance, state: State) -> Schedule:
    """The starts and places so far; -1 for a job that has not started."""
    start, pool = (freeze(state.job[row, : len(instance.jobs)]) for row in (rows.START, rows.POOL))
    return Schedule(start, pool, freeze(state.place[: int(instance.jobs.nodes.sum())]))


def make_state(instance: Instance, rule: Rule, room: int) -> State:
    """Make the state at the beginning; `room`: steps of each planned node."""
    n = len(instance.jobs)
    pool, node, planned = _make_nodes(instance)
    job, place, greatest = _make_jobs(instance)
    choices = (ORDERS.index(rule.order), rule.backfill, BELIEFS.index(rule.belief))
    easy = (rule.reservations, rule.candidates == "shortest")
    search = (rule.work, 3600 * rule.guard, rule.gpu_hours, rule.slowdown, rule.spare)
    given = (instance.cycle, instance.depth, instance.begin, n, len(instance.pools))
    earliest = int(instance.jobs.submit[0]) if n else 0
    closed = instance.closures[instance.closures[:, 2] > instance.begin]
    opened = np.column_stack((closed[:, :3], np.full(len(closed), NEVER)))  # nodes open before others close
    turns = np.vstack((np.column_stack((opened, opened[:, 2])), np.column_stack((closed, closed[:, 1]))))
    closures = np.zeros((6, len(turns)), dtype=np.int64)
    closures[:5] = turns[np.argsort(turns[:, 4], kind="stable")].T
    accounts, users = max(1, len(instance.accounts)), max(1, len(instance.users))
    part = np.zeros((max(1, len(instance.partitions)), 2 + users + accounts), dtype=np.int64)
    part[:, :2] = [(part.user_gpus, part.account_gpus) for part in instance.partitions] or NONE
    plans = rule.backfill == rows.REPLAN
    steps = plans * (2 * (SEARCH_JOBS + len(closed)) + instance.capacity + 8)
    state = State(
        rule=np.array([*choices, *easy, *search, *given, greatest, earliest]),
        clock=np.zeros(16, dtype=np.int64),
        job=job,
        key=np.zeros(job.shape[1]),
        node=node,
        place=place,
        pool=pool,
        closures=closures,
        account=_make_accounts(instance, accounts),
        part=part,
        past=np.zeros((users, 1 + 3 * rows.REMEMBERED), dtype=np.int64),
        real=_make_weights(instance, accounts),
        step=np.zeros((planned, 2, room), dtype=np.int64),
        search=np.zeros((FLOOR + len(instance.pools), job.shape[1]), dtype=np.int64),
        profile=np.zeros((2, len(instance.pools), pool.shape[0] - rows.COUNT, steps), dtype=np.int64),
        memo=np.zeros((512, 6), dtype=np.int64),
        reserved=np.zeros((max(1, rule.reservations) * len(instance.pools), 5 + node.shape[1]), dtype=np.int64),
    )
    state.clock[rows.NOW] = instance.begin
    return state


def _make_nodes(instance: Instance) -> tuple[IntArray, IntArray, int]:
    """The tables of pools and nodes, and how many planned nodes there are."""
    pools, first = instance.pools, instance.first_node
    pool = np.zeros((rows.COUNT + 1 + max(pool.gpus for pool in pools), len(pools) + 1), dtype=np.int64)
    by_count = np.array([pool.gpus == 1 and not pool.closures for pool in pools])
    pool[rows.FIRST] = first
    pool[rows.FIRST_PLAN, 1:] = np.cumsum(np.where(by_count, 1, np.diff(first)))
    pool[rows.POOL_GPUS, :-1] = [pool.gpus for pool in pools]
    pool[rows.BY_COUNT, :-1] = by_count
    for q, one in enumerate(pools):
        pool[rows.COUNT + one.gpus, q] = one.nodes
    node = np.zeros((rows.NODE_ROWS, first[-1]), dtype=np.int64)
    of = instance.node_pool
    node[rows.POOL_OF] = of
    node[rows.PLAN_OF] = pool[rows.FIRST_PLAN, of] + np.where(by_count[of], 0, np.arange(first[-1]) - first[of])
    node[rows.FREE] = instance.node_gpus
    return pool, node, int(pool[rows.FIRST_PLAN, -1])


def _make_jobs(instance: Instance) -> tuple[IntArray, IntArray, int]:
    """The table of jobs, those that run at the beginning behind the others; their nodes; the greatest limit."""
    jobs, running, n = instance.jobs, instance.running, len(instance.jobs)
    job = np.zeros((rows.JOB_ROWS, n + len(running)), dtype=np.int64)
    for row, name in enumerate(("limit", "nodes", "gpus", "account", "user", "partition"), start=rows.LIMIT):
        job[row, :n], job[row, n:] = getattr(jobs, name), getattr(running, name)
    job[rows.SUBMIT, :n], job[rows.SUBMIT, n:] = jobs.submit, running.start
    job[rows.RELEASE, :n], job[rows.RELEASE, n:] = jobs.release, running.start
    job[rows.RUN, :n], job[rows.RUN, n:] = jobs.run, running.end - running.start
    job[rows.QOS, :n], job[rows.QOS, n:] = jobs.qos, NONE
    job[rows.ALLOWED, :n] = jobs.allowed @ (1 << np.arange(len(instance.pools)))
    job[rows.START, :n], job[rows.START, n:] = NONE, running.start
    job[rows.POOL, n:] = running.pool
    job[rows.ARRIVALS, :n] = np.argsort(jobs.release, kind="stable")
    job[rows.OFFSET] = np.cumsum(job[rows.NODES]) - job[rows.NODES]
    greatest = np.array([*(part.limit for part in instance.partitions), NONE])
    limit = np.where(job[rows.LIMIT] == NONE, greatest[job[rows.PARTITION]], job[rows.LIMIT])
    job[rows.LIMIT] = np.where(limit == NONE, NEVER, np.maximum(limit, 1))
    place = np.concatenate([np.zeros(int(jobs.nodes.sum()), dtype=np.int64), running.node])
    return job, place, max(1, *limit.tolist(), 1)


def _make_accounts(instance: Instance, accounts: int) -> IntArray:
    """Quotas of accounts; -1 for none."""
    account = np.zeros((accounts, 3 + 2 * len(instance.pools)), dtype=np.int64)
    account[:, 0] = account[:, 3::2] = NONE
    cohorts = sorted({quota.cohort for quota in instance.quotas if quota.cohort})
    for quota in instance.quotas:
        row = account[instance.accounts.index(quota.account)]
        row[0] = cohorts.index(quota.cohort) if quota.cohort else NONE
        row[1] = quota.strict
        row[3::2] = quota.nominal
    return account


def _make_weights(instance: Instance, accounts: int) -> NDArray[np.float64]:
    """Weights of the multifactor priority, shares and factors; the last column is of those without a label."""
    priority = instance.priority
    named = (
        (priority.qos_priority, instance.qos),
        (priority.partition_priority, [part.name for part in instance.partitions]),
        (priority.account_priority, instance.accounts),
    )
    tables = [[table.get(name, 0) for name in names] for table, names in named]
    real = np.zeros((6, 1 + max(12, accounts, *map(len, tables))))
    weights = (priority.age, priority.size, priority.fair_share, priority.qos, priority.partition, priority.account)
    real[0, :10] = *weights, priority.max_age, priority.half_life, priority.favor_small, instance.capacity
    shares = np.array([priority.shares.get(name, 1) for name in instance.accounts] or [1], dtype=np.float64)
    real[1, : len(shares)] = shares / shares.sum()
    for row, table in zip(real[3:], tables, strict=True):
        row[: len(table)] = np.array(table) / max(1, *table, 1)
    return real
