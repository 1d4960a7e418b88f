"""Splits waits by what the jobs waited for: free GPUs, their release, jobs in front of them, limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.instances.arrays import IntArray, freeze
from ratiobench.instances.cluster.model import NONE, Instance, Schedule

Flags = NDArray[np.bool_]
PARTS = {  # Parts of a wait, and what they mean
    "blocked": "no pool had its GPUs free",
    "ineligible": "not eligible yet",
    "queue": "a job submitted earlier was blocked",
    "other": "none of these: limits of partitions, users, accounts, or the scheduler",
}


@dataclass(frozen=True, slots=True, eq=False)
class Waits:
    """(jobs,) seconds waited from the submit, or from the beginning if that is later, in four parts."""

    blocked: IntArray  # no pool that the job may use had the nodes with enough free GPUs
    ineligible: IntArray  # it was not blocked, and not eligible yet (a dependency, a begin time)
    queue: IntArray  # neither, but a job submitted earlier was eligible and blocked
    other: IntArray  # none of these: only this part speaks for limits of partitions, users and accounts
    known: Flags  # whether the start is known; the parts of other jobs are 0
    exact: bool  # whether places are known; if not, GPUs are counted per pool, and `blocked` is a lower bound
    overfull: int  # seconds in which more GPUs were in use than there are; their free GPUs count as 0

    @property
    def total(self) -> IntArray:
        return self.blocked + self.ineligible + self.queue + self.other

    def means(self, chosen: Flags | None = None) -> dict[str, float]:
        """Mean seconds of each part, and their sum `wait`, over the chosen jobs whose start is known."""
        mask = self.known if chosen is None else self.known & chosen
        parts = {name: float(getattr(self, name)[mask].mean()) if mask.any() else 0.0 for name in PARTS}
        return {"wait": sum(parts.values()), **parts}


class Holder(NamedTuple):
    """What holds GPUs without being a job of the instance, such as a job of the log that was left out."""

    start: int
    end: int
    gpus: int  # of the whole job
    pools: tuple[int, ...] = ()  # where it may have run; empty for anywhere


def blocked(
    instance: Instance, starts: Schedule | IntArray, pools: IntArray | None = None, others: Sequence[Holder] = ()
) -> Waits:
    """Split the waits of a schedule, or of (jobs,) starts (-1: unknown) in `pools` (-1: unknown) beside `others`."""
    # Free GPUs are those after all events of a second; runs that a closed node ended are not known and hold nothing
    jobs, running, closed = instance.jobs, instance.running, instance.closures
    start = starts.start if isinstance(starts, Schedule) else np.asarray(starts, dtype=np.int64)
    known = start != NONE
    since = np.maximum(jobs.submit, instance.begin)
    until = np.where(known, start, since)
    release, end = np.minimum(jobs.release, until), until + np.where(known, jobs.run, 0)
    held = np.array([(other.start, other.end, other.gpus) for other in others], dtype=np.int64).reshape(-1, 3)
    begins = np.concatenate([until, running.start, closed[:, 1], held[:, 0]])
    ends = np.concatenate([end, running.end, closed[:, 2], held[:, 1]])
    grid = np.unique(np.concatenate([since, release, begins, ends]))
    length, spans = np.diff(grid, append=grid[-1:]), np.searchsorted(grid, [begins, ends])
    if isinstance(starts, Schedule):
        lacks, overfull, exact = _watch_nodes(instance, starts, spans, len(grid)), np.zeros(len(grid), dtype=bool), True
    else:
        lacks, overfull = _watch_pools(instance, pools, others, spans, len(grid))
        exact = [pool.gpus for pool in instance.pools] == [1]
    shapes, shape = np.unique(np.column_stack([jobs.nodes, jobs.gpus, jobs.allowed]), axis=0, return_inverse=True)
    first, at, last = (np.searchsorted(grid, column) for column in (since, release, until))

    def list_shapes() -> Iterator[tuple[IntArray, Flags]]:
        """For each shape its jobs that wait, and in which segments of the grid it is blocked."""
        for s, (nodes, gpus, *allowed) in enumerate(shapes.tolist()):
            mine = np.flatnonzero((shape.reshape(-1) == s) & (last > first))
            yield mine, lacks(nodes, gpus, tuple(np.flatnonzero(allowed).tolist()))

    earliest = np.full(len(grid), len(jobs))  # the job of the least number that is eligible and blocked
    seconds = np.zeros((4, len(jobs)), dtype=np.int64)
    for mine, lacking in list_shapes():
        summed = np.concatenate([[0], np.cumsum(np.where(lacking, length, 0))])
        seconds[0, mine] = summed[last[mine]] - summed[first[mine]]
        seconds[1, mine] = (release - since)[mine] - (summed[at[mine]] - summed[first[mine]])
        waiting = np.full(len(grid), len(jobs))
        for j in mine[::-1].tolist():  # the earliest job is written last
            waiting[at[j] : last[j]] = j
        earliest = np.minimum(earliest, np.where(lacking, waiting, len(jobs)))
    for mine, lacking in list_shapes():
        free = np.where(lacking, 0, length)
        for j in mine.tolist():
            span = slice(at[j], last[j])
            seconds[2, j] = free[span][earliest[span] < j].sum()
    seconds[3] = until - since - seconds.sum(axis=0)
    parts = {name: freeze(row) for name, row in zip(PARTS, seconds, strict=True)}
    return Waits(**parts, known=known, exact=exact, overfull=int(length[overfull & (grid >= instance.begin)].sum()))


def split_logged(instance: Instance) -> tuple[dict[str, float], bool]:
    """Mean seconds of each part of the log's waits, and whether they are exact; the import knew jobs left out."""
    log = instance.origin.get("log")
    parts = log.get("waits") if isinstance(log, dict) else None
    if isinstance(parts, dict) and all(isinstance(parts.get(name), float | int) for name in ("wait", *PARTS)):
        return {name: float(parts[name]) for name in ("wait", *PARTS)}, parts.get("is_lower_bound") is False
    waits = blocked(instance, instance.jobs.logged)
    return waits.means(), waits.exact


# (nodes, GPUs of each, pools): in which segments of the grid none of the pools has them free
Lacks = Callable[[int, int, tuple[int, ...]], Flags]


def _sum_changes(place: IntArray, change: IntArray, size: int) -> IntArray:
    return np.cumsum(np.bincount(place, change, size)).astype(np.int64)


def _watch_pools(
    instance: Instance, pools: IntArray | None, others: Sequence[Holder], spans: IntArray, size: int
) -> tuple[Lacks, Flags]:
    """Free GPUs of pools, without nodes; those of a job that may have run in several pools are in none."""
    jobs, running, node, everywhere = instance.jobs, instance.running, instance.closures[:, 0], len(instance.pools)
    one, ran = np.eye(everywhere, dtype=bool), np.full(len(jobs), NONE) if pools is None else pools
    rows = (
        (np.where((ran == NONE)[:, None], jobs.allowed, one[ran]), jobs.width),
        (one[running.pool], running.nodes * running.gpus),
        (one[instance.node_pool[node]], instance.node_gpus[node]),
        *((one[list(h.pools or range(everywhere))].any(axis=0, keepdims=True), np.array([h.gpus])) for h in others),
    )
    places, width = (np.concatenate(column) for column in zip(*rows, strict=True))
    place, change = spans.ravel(), np.concatenate([-width, width])

    @cache
    def free(group: tuple[int, ...]) -> IntArray:
        """GPUs of these pools less those of jobs that can only have run in them."""
        mine = np.tile(~np.delete(places, group, axis=1).any(axis=1), 2)
        capacity = sum(instance.pools[q].nodes * instance.pools[q].gpus for q in group)
        return capacity + _sum_changes(place[mine], change[mine], size)

    def lacks(nodes: int, gpus: int, group: tuple[int, ...]) -> Flags:
        """Whether no pool has the GPUs of the whole job free, wherever the others run."""
        alone = np.all([free((q,)) < nodes * gpus for q in group], axis=0)
        return np.asarray(alone | (np.minimum(free(group), free(whole)) < nodes * gpus))

    whole = tuple(range(everywhere))
    return lacks, np.any([free(group) < 0 for group in (whole, *((q,) for q in whole))], axis=0)


def _watch_nodes(instance: Instance, schedule: Schedule, spans: IntArray, size: int) -> Lacks:
    jobs, running, closed = instance.jobs, instance.running, instance.closures[:, 0]
    width = np.concatenate([jobs.nodes, running.nodes, np.ones_like(closed)])
    taken = np.repeat(np.concatenate([jobs.gpus, running.gpus, instance.node_gpus[closed]]), width)
    node = np.tile(np.concatenate([schedule.node, running.node, closed]), 2)
    time, change = np.repeat(spans, width, axis=1).ravel(), np.concatenate([-taken, taken])
    order = np.lexsort((time, node))  # the changes of a node add up to 0, so one sum serves all nodes
    time, node, change = time[order], node[order], change[order]
    after = instance.node_gpus[node] + np.cumsum(change)

    @cache
    def count(gpus: int, q: int) -> IntArray:
        """Nodes of the pool with so many free GPUs, in each segment."""
        mine, pool = instance.node_pool[node] == q, instance.pools[q]
        more = (after[mine] >= gpus).astype(np.int64) - (after[mine] - change[mine] >= gpus)
        return pool.nodes * (pool.gpus >= gpus) + _sum_changes(time[mine], more, size)

    return lambda nodes, gpus, pools: np.asarray(np.all([count(gpus, q) < nodes for q in pools], axis=0))


def group_jobs(instance: Instance, by: str) -> Iterator[tuple[str, Flags]]:
    """The jobs of every `account`, `user`, `partition` (empty: none) by GPU-hours, or `width` (GPUs, up to 2^k)."""
    jobs = instance.jobs
    if by == "width":
        code = np.ceil(np.log2(jobs.width)).astype(np.int64)
        order = np.unique(code).tolist()
        names = ["1", "2", *(f"{2 ** (k - 1) + 1} to {2**k}" for k in range(2, 40))]
    else:
        partitions = [part.name for part in instance.partitions]
        names = ["", *{"account": instance.accounts, "user": instance.users, "partition": partitions}[by]]
        code = getattr(jobs, by) + 1
        area = np.bincount(code, weights=jobs.width * jobs.run, minlength=len(names))
        order = [k for k in np.argsort(-area, kind="stable").tolist() if area[k] > 0]
    for k in order:
        yield names[k], code == k


def tabulate(instance: Instance, waits: Waits, by: str) -> dict[str, dict[str, float]]:
    """By the names of `group_jobs`: jobs whose start is known, their GPU-hours and mean waits."""
    hours = instance.jobs.width * instance.jobs.run / 3600
    groups = {name: waits.known & mine for name, mine in group_jobs(instance, by)}
    return {
        name: {"jobs": int(mine.sum()), "GPU-hours": float(hours[mine].sum()), **waits.means(mine)}
        for name, mine in groups.items()
        if mine.any()
    }
