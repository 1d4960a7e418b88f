"""State of a replay in arrays, and what rules and bounds say of one job.

Jobs that run at the beginning stand behind the jobs of the instance, as jobs of their own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ratiobench.formulations.kernels import inner

NEVER = 2**60  # A second that does not come
ORDERS = ("submit", "shortest", "smallest", "area", "largest", "wfp3", "unicep", "f1", "multifactor")
BELIEFS = ("limit", "double", "last2", "true")
NO_BACKFILL, FIRST_FIT, EASY, CONSERVATIVE, REPLAN = range(5)
SMALLEST, AREA, LARGEST, WFP3, UNICEP, F1, MULTIFACTOR = range(2, 9)  # Places in ORDERS
DOUBLE, LAST2, TRUE = range(1, 4)  # Places in BELIEFS
# What a job gets that outlives its prediction, seconds, one after another (Tsafrir)
EXTENSIONS = np.array([60, 300, 900, 1800, 3600, 7200, 18_000, 36_000, 72_000, 180_000, 360_000])
# Entries of State.rule, which do not change; GREATEST limit of the instance, EARLIEST submit
ORDER_RULE, BACKFILL, BELIEF_RULE, RESERVATIONS, SHORTEST_FIRST, WORK, GUARD, GPU_HOURS, SLOWDOWN, SPARE = range(10)
CYCLE, DEPTH, BEGIN, JOBS, POOLS, GREATEST, EARLIEST = range(10, 17)
# Entries of State.clock, which change: the second, and how many there are
NOW, WAITING, RUNNING, RELEASED, TURNED, KNOWN, OVERFLOW, PLANNED, RESERVED, ORDERED, DRAWS, STAMP = range(12)
RESUMED = 12  # Whether the jobs that run at the beginning hold their nodes
# Rows of State.job. LIMIT is the partition's where the job has none, else NEVER; ALLOWED has bit q for pool q; OFFSET
# is that of its nodes in State.place; PLANNED_END is by what is believed, EFFECTIVE as of this pass; HOLDS: reserved.
# Lists of jobs: QUEUE (waiting, in the order of the last pass), LIVE (running), ORDER (candidates), ARRIVALS
(SUBMIT, RELEASE, RUN, LIMIT, NODES, GPUS, ACCOUNT, USER, PARTITION, QOS, ALLOWED, START, POOL, OFFSET) = range(14)
PLANNED_END, EXTENDED, REQUEUED, EFFECTIVE, HOLDS, BAND, QUEUE, LIVE, ORDER, BELIEF, ARRIVALS, JOB_ROWS = range(14, 26)
# Rows of State.node; STEPS and FIT (when a node fits, or its free GPUs if it does) are of planned nodes; CHOSEN: a list
POOL_OF, PLAN_OF, FREE, IS_CLOSED, FIT, CHOSEN, STEPS, NODE_ROWS = range(8)
# Rows of State.pool; PART: first pool that waiting jobs connect with this one, with a queue of its own; GIVEN: there,
# the reservations of this pass, -1 while the part has no head; COUNT + g: open nodes with g free GPUs
FIRST, FIRST_PLAN, POOL_GPUS, BY_COUNT, TRIAL_STEPS, BASE_STEPS, PART, GIVEN, COUNT = range(9)
# Entries of row 0 of State.real behind the weights: share of limits that jobs ran, and jobs, both fading
RATIO, ENDS = 10, 11
REMEMBERED = 16  # Jobs of a user that ended
# Rows of State.closures behind node, start, end, announced (NEVER where the node opens): when the node closes or opens,
# and a list of the closures that policies know of
TURN, KNOWN_LIST = 4, 5
SECOND = 5  # Of a row of State.memo


class State(NamedTuple):
    """Arrays of a replay: few, because each one costs seconds of compilation."""

    rule: Any
    clock: Any
    job: Any  # (JOB_ROWS, jobs) integers
    key: Any  # (jobs) key of a waiting job
    node: Any  # (NODE_ROWS, nodes)
    place: Any  # nodes of all jobs, one behind the other
    pool: Any  # (COUNT + 1 + most GPUs, pools + 1)
    closures: Any  # (6, 2 closures) each as a node that closes and one that opens, in order of these seconds
    account: Any  # (accounts, 3 + 2 pools) cohort, strict, GPUs that run; for each pool the quota (or -1) and its use
    part: Any  # (partitions, 2 + users + accounts) bounds of a user, of an account (or -1); GPUs that run
    past: Any  # (users, 1 + 3 remembered) how many jobs ended; limit, run and width of the last ones, in a ring
    # (6, ...) weights: age, size, fair share, qos, partition, account, max age, half-life, favor small, capacity;
    # shares of accounts; their GPU-seconds, decayed; priority over the greatest of qos, partition, account
    real: Any
    step: Any  # (planned nodes, 2, room) when steps of the plan begin, free GPUs from then on
    search: Any  # (FLOOR + pools, jobs) and (2, pools, 1 + most GPUs, room): see `replan`
    profile: Any
    memo: Any  # (slots, 6) pool, nodes, GPUs, length, stamp; SECOND before which no such job can start by this stamp
    reserved: Any  # (reservations, 5 + nodes) pool, second, length, nodes, GPUs of a reservation; its planned nodes


@inner
def sort_by(jobs, n, key):  # type: ignore[no-untyped-def]
    """Sort the first n entries of a list by their keys, equals in their order, by insertion: it is nearly sorted."""
    for x in range(1, n):
        j = jobs[x]
        y = x
        while y > 0 and key[jobs[y - 1]] > key[j]:
            jobs[y] = jobs[y - 1]
            y -= 1
        jobs[y] = j


# ---- jobs and what is believed of them ----


@inner
def believe(s, j):  # type: ignore[no-untyped-def]
    """Believed length of a job that waits: NEVER if nothing is known."""
    belief = s.rule[BELIEF_RULE]
    length = s.job[LIMIT, j]
    if belief == TRUE:
        length = s.job[RUN, j]
    elif belief == DOUBLE and length < NEVER:
        length = 2 * length
    elif belief == LAST2 and s.job[USER, j] >= 0 and s.past[s.job[USER, j], 0] >= 2:
        past = s.past[s.job[USER, j]]
        last, earlier = (past[0] - 1) % REMEMBERED, (past[0] - 2) % REMEMBERED
        length = min(length, (past[2 + 3 * last] + past[2 + 3 * earlier]) // 2)
    return max(length, 1)


@inner
def fits_quota(s, j, q):  # type: ignore[no-untyped-def]
    """Whether the job may use the pool and its account's quota there lets it start."""
    if not s.job[ALLOWED, j] >> q & 1:
        return False
    a = s.job[ACCOUNT, j]
    if a < 0 or s.account[a, 3 + 2 * q] < 0:
        return True
    spare = s.account[a, 3 + 2 * q] - s.account[a, 4 + 2 * q] - s.job[NODES, j] * s.job[GPUS, j]
    if spare < 0 and s.account[a, 0] >= 0:
        for b in range(len(s.account)):
            if b != a and s.account[b, 0] == s.account[a, 0]:
                spare += s.account[b, 3 + 2 * q] - s.account[b, 4 + 2 * q]
    return spare >= 0


@inner
def _has_quota(s, j):  # type: ignore[no-untyped-def]
    """Whether some pool's quota lets the job start."""
    for q in range(s.rule[POOLS]):  # noqa: SIM110 - kernels have no generators
        if fits_quota(s, j, q):
            return True
    return False


@inner
def is_considered(s, place):  # type: ignore[no-untyped-def]
    """Whether bounds and quotas let the job at this place of the queue start."""
    j = s.job[QUEUE, place]
    width = s.job[NODES, j] * s.job[GPUS, j]
    a = s.job[ACCOUNT, j]
    p = s.job[PARTITION, j]
    if p >= 0:
        user = s.job[USER, j]
        if s.part[p, 0] >= 0 and user >= 0 and s.part[p, 2 + user] + width > s.part[p, 0]:
            return False
        if s.part[p, 1] >= 0 and a >= 0 and s.part[p, 2 + len(s.past) + a] + width > s.part[p, 1]:
            return False
    if not _has_quota(s, j):
        return False
    if a >= 0 and s.account[a, 1]:
        for x in range(place):
            i = s.job[QUEUE, x]
            if s.job[ACCOUNT, i] == a and s.job[START, i] < 0 and not _has_quota(s, i):
                return False
    return True


# ---- nodes ----


@inner
def is_blocked(s, v, begin, end):  # type: ignore[no-untyped-def]
    """Whether a known closure of the node falls in [begin, end)."""
    for x in range(s.clock[KNOWN]):
        c = s.closures[KNOWN_LIST, x]
        if s.closures[0, c] == v and s.closures[1, c] < end and s.closures[2, c] > begin:
            return True
    return False


@inner
def count_free(s, q, gpus):  # type: ignore[no-untyped-def]
    """How many open nodes of a pool have so many free GPUs."""
    nodes = 0
    for g in range(gpus, s.pool[POOL_GPUS, q] + 1):
        nodes += s.pool[COUNT + g, q]
    return nodes


@inner
def has_room(s, j):  # type: ignore[no-untyped-def]
    """Whether some pool has enough nodes with enough free GPUs, closures left aside: a quick test."""
    for q in range(s.rule[POOLS]):
        if s.job[ALLOWED, j] >> q & 1 and count_free(s, q, s.job[GPUS, j]) >= s.job[NODES, j]:
            return True
    return False


@inner
def hold(s, j, sign):  # type: ignore[no-untyped-def]
    """The job takes (sign 1) or leaves (-1) its GPUs, which count for its account, user and partition."""
    for x in range(s.job[NODES, j]):
        v = s.place[s.job[OFFSET, j] + x]
        levels = s.pool[COUNT:, s.node[POOL_OF, v]]
        levels[s.node[FREE, v]] -= not s.node[IS_CLOSED, v]
        s.node[FREE, v] -= sign * s.job[GPUS, j]
        levels[s.node[FREE, v]] += not s.node[IS_CLOSED, v]
    width = sign * s.job[NODES, j] * s.job[GPUS, j]
    a = s.job[ACCOUNT, j]
    p = s.job[PARTITION, j]
    if a >= 0:
        s.account[a, 2] += width
        s.account[a, 4 + 2 * s.job[POOL, j]] += width
        if p >= 0:
            s.part[p, 2 + len(s.past) + a] += width
    if p >= 0 and s.job[USER, j] >= 0:
        s.part[p, 2 + s.job[USER, j]] += width
