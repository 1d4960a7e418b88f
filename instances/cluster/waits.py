"""Where waits come from: how long a job waited because nothing was free, and what else it waited for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

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
    """The seconds that every job waited from its submit, or from the beginning if that is later, in four parts."""

    blocked: IntArray  # no pool that the job may use had the nodes with enough free GPUs
    ineligible: IntArray  # it was not blocked, and not eligible yet (a dependency, a begin time)
    queue: IntArray  # neither, but a job submitted earlier was eligible and blocked
    other: IntArray  # none of these: only this part speaks for limits of partitions, users and accounts
    known: Flags  # whether the start is known; the parts of other jobs are 0
    exact: bool  # whether places are known; if not, GPUs are counted per pool, and `blocked` is a lower bound
    overfull: int  # seconds in which more GPUs were in use than there are; their free GPUs count as 0

    @property
    def total(self) -> IntArray:
        """(jobs,) seconds of waiting."""
        return self.blocked + self.ineligible + self.queue + self.other

    def means(self, chosen: Flags | None = None) -> dict[str, float]:
        """Mean seconds of each part, and their sum `wait`, over the chosen jobs whose start is known."""
        mask = self.known if chosen is None else self.known & chosen
        parts = {name: float(getattr(self, name)[mask].mean()) if mask.any() else 0.0 for name in PARTS}
        return {"wait": sum(parts.values()), **parts}


@dataclass(frozen=True, slots=True)
class Holder:
    """What holds GPUs without being a job of the instance, such as a job of the log that was left out."""

    start: int
    end: int
    gpus: int  # of the whole job
    pools: tuple[int, ...] = ()  # where it may have run; empty for anywhere


def blocked(
    instance: Instance, starts: Schedule | IntArray, pools: IntArray | None = None, others: Sequence[Holder] = ()
) -> Waits:
    """Split the waits of a schedule with places, or of (jobs,) starts in seconds, by what the jobs waited for.

    A job is blocked in a second if, after all events of that second, no pool that it may use has its nodes with its
    GPUs free. Runs that a closed node ended are not known and hold nothing. For starts without places, of which -1 is
    unknown, `pools` are those in which jobs ran (-1 for unknown), and `others` what else held GPUs.
    """
    jobs = instance.jobs
    start = starts.start if isinstance(starts, Schedule) else np.asarray(starts, dtype=np.int64)
    known = start != NONE
    since = np.maximum(jobs.submit, instance.begin)
    until = np.where(known, start, since)
    release, end = np.minimum(jobs.release, until), until + np.where(known, jobs.run, 0)
    held = np.array([(other.start, other.end) for other in others], dtype=np.int64).reshape(-1)
    times = (since, release, until, end, instance.running.start, instance.running.end, held)
    grid = np.unique(np.concatenate([*times, instance.closures[:, 1:3].reshape(-1)]))
    length = np.diff(grid, append=grid[-1:])
    use: _Nodes | _Counts
    if isinstance(starts, Schedule):
        use = _Nodes(instance, starts, grid)
    else:
        use = _Counts(instance, until, end, pools, others, grid)
    shapes, shape = np.unique(np.column_stack([jobs.nodes, jobs.gpus, jobs.allowed]), axis=0, return_inverse=True)
    shape = shape.reshape(-1)
    first, at, last = (np.searchsorted(grid, column) for column in (since, release, until))
    earliest = np.full(len(grid), len(jobs))  # the job of the least number that is eligible and blocked
    seconds = np.zeros((4, len(jobs)), dtype=np.int64)
    for s, lacking in enumerate(_lacking(use, shapes)):
        mine = np.flatnonzero((shape == s) & (last > first))
        summed = np.concatenate([[0], np.cumsum(np.where(lacking, length, 0))])
        seconds[0, mine] = summed[last[mine]] - summed[first[mine]]
        seconds[1, mine] = (release - since)[mine] - (summed[at[mine]] - summed[first[mine]])
        waiting = np.full(len(grid), len(jobs))
        for j in mine[::-1].tolist():  # the earliest job is written last
            waiting[at[j] : last[j]] = j
        earliest = np.minimum(earliest, np.where(lacking, waiting, len(jobs)))
    for s, lacking in enumerate(_lacking(use, shapes)):
        free = np.where(lacking, 0, length)
        for j in np.flatnonzero((shape == s) & (last > at)).tolist():
            span = slice(at[j], last[j])
            seconds[2, j] = free[span][earliest[span] < j].sum()
    seconds[3] = until - since - seconds.sum(axis=0)
    parts = {name: freeze(row) for name, row in zip(PARTS, seconds, strict=True)}
    return Waits(
        **parts, known=known, exact=use.exact, overfull=int(length[use.overfull & (grid >= instance.begin)].sum())
    )


def _lacking(use: _Nodes | _Counts, shapes: IntArray) -> Iterator[Flags]:
    """For each shape whether it is blocked in each segment of the grid."""
    for nodes, gpus, *allowed in shapes.tolist():
        yield use.lacks(nodes, gpus, tuple(np.flatnonzero(allowed).tolist()))


class _Counts:
    """GPUs in use where the nodes are not known; those of a job that may have run in several pools are in none."""

    def __init__(
        self,
        instance: Instance,
        start: IntArray,
        end: IntArray,
        pools: IntArray | None,
        others: Sequence[Holder],
        grid: IntArray,
    ) -> None:
        jobs, running, closed, everywhere = instance.jobs, instance.running, instance.closures, len(instance.pools)
        one = np.eye(everywhere, dtype=bool)
        allowed = jobs.allowed.copy()
        if pools is not None:
            allowed[pools != NONE] = one[pools[pools != NONE]]
        held = np.array([(h.start, h.end, h.gpus) for h in others], dtype=np.int64).reshape(-1, 3)
        anywhere = [one[list(h.pools or range(everywhere))].any(axis=0) for h in others]
        rows = (
            (allowed, start, end, jobs.width),
            (one[running.pool], running.start, running.end, running.nodes * running.gpus),
            (one[instance.node_pool[closed[:, 0]]], closed[:, 1], closed[:, 2], instance.node_gpus[closed[:, 0]]),
            (np.array(anywhere, dtype=bool).reshape(-1, everywhere), *held.T),
        )
        places, begins, ends, width = (np.concatenate(column) for column in zip(*rows, strict=True))
        sets, member = np.unique(places, axis=0, return_inverse=True)
        self.size, self.used, self.cache = len(grid), list[tuple[set[int], IntArray]](), dict[Any, IntArray]()
        self.capacity = np.array([pool.nodes * pool.gpus for pool in instance.pools])
        for i, choice in enumerate(sets):
            mine, used = member.reshape(-1) == i, np.zeros(len(grid), dtype=np.int64)
            np.add.at(used, np.searchsorted(grid, begins[mine]), width[mine])
            np.add.at(used, np.searchsorted(grid, ends[mine]), -width[mine])
            self.used.append((set(np.flatnonzero(choice).tolist()), np.cumsum(used)))
        groups = [*((q,) for q in range(everywhere)), tuple(range(everywhere))]
        self.overfull = np.any([self.free(group) < 0 for group in groups], axis=0)
        self.exact = everywhere == 1 and instance.pools[0].gpus == 1

    def free(self, pools: tuple[int, ...]) -> IntArray:
        """GPUs of these pools less those of jobs that can only have run in them."""
        if pools not in self.cache:
            inside = [used for places, used in self.used if places <= set(pools)]
            self.cache[pools] = self.capacity[list(pools)].sum() - sum(inside, np.zeros(self.size, dtype=np.int64))
        return self.cache[pools]

    def lacks(self, nodes: int, gpus: int, pools: tuple[int, ...]) -> Flags:
        """Whether no pool has the GPUs of the whole job free, wherever the others run."""
        each = np.all([self.free((q,)) < nodes * gpus for q in pools], axis=0)
        whole = np.minimum(self.free(pools), self.free(tuple(range(len(self.capacity)))))
        return np.asarray(each | (whole < nodes * gpus))


class _Nodes:
    """Free GPUs of every node."""

    def __init__(self, instance: Instance, schedule: Schedule, grid: IntArray) -> None:
        jobs, running, closed = instance.jobs, instance.running, instance.closures
        self.instance, self.size, self.exact = instance, len(grid), True
        self.cache, self.overfull = dict[tuple[int, int], IntArray](), np.zeros(len(grid), dtype=bool)
        start, end = schedule.start, schedule.start + jobs.run
        blocks = (np.column_stack([start, end, jobs.gpus]), np.column_stack([running.start, running.end, running.gpus]))
        block = np.concatenate(
            [np.repeat(a, b, axis=0) for a, b in zip(blocks, (jobs.nodes, running.nodes), strict=True)]
        )
        shut = np.column_stack([closed[:, 1:3], instance.node_gpus[closed[:, 0]]])
        begins, ends, taken = np.concatenate([block, shut]).T
        node = np.tile(np.concatenate([schedule.node, running.node, closed[:, 0]]), 2)
        time, change = np.searchsorted(grid, np.concatenate([begins, ends])), np.concatenate([-taken, taken])
        order = np.lexsort((time, node))  # the changes of a node add up to 0, so one sum serves all nodes
        self.time, self.node, change = time[order], node[order], change[order]
        self.after = instance.node_gpus[self.node] + np.cumsum(change)
        self.before = self.after - change

    def _count(self, gpus: int, pool: int) -> IntArray:
        """Nodes of the pool with so many free GPUs, in each segment."""
        mine = self.instance.node_pool[self.node] == pool
        change = (self.after[mine] >= gpus).astype(np.int64) - (self.before[mine] >= gpus)
        counts = np.zeros(self.size, dtype=np.int64)
        np.add.at(counts, self.time[mine], change)
        one = self.instance.pools[pool]
        return np.cumsum(counts) + (one.nodes if one.gpus >= gpus else 0)

    def lacks(self, nodes: int, gpus: int, pools: tuple[int, ...]) -> Flags:
        """Whether no pool has so many nodes with so many free GPUs."""
        for q in pools:
            if (q, gpus) not in self.cache:
                self.cache[q, gpus] = self._count(gpus, q)
        return np.asarray(np.all([self.cache[q, gpus] < nodes for q in pools], axis=0))


@dataclass(frozen=True, slots=True)
class WaitRow:
    """Waits of the jobs of one account, user, partition, or range of widths."""

    name: str
    jobs: int
    gpu_hours: float
    means: dict[str, float]  # seconds of the wait and of its parts, as of `Waits.means`


def group_jobs(instance: Instance, by: str) -> Iterator[tuple[str, Flags]]:
    """Yield the jobs of every `account`, `user`, `partition` (empty for none), or `width` (GPUs, in ranges).

    Ranges of widths reach up to powers of two, in order; other groups stand in that of GPU-hours, the greatest first.
    """
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


def tabulate(instance: Instance, waits: Waits, by: str) -> list[WaitRow]:
    """Waits by what `group_jobs` has, one row a name; jobs count whose start is known."""
    hours = instance.jobs.width * instance.jobs.run / 3600
    groups = ((name, waits.known & mine) for name, mine in group_jobs(instance, by))
    return [
        WaitRow(name, int(mine.sum()), float(hours[mine].sum()), waits.means(mine))
        for name, mine in groups
        if mine.any()
    ]
