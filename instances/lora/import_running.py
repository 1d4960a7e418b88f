"""Jobs of a log that run when a day begins: what they hold of the nodes of a cluster, and how long a tail must be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ratiobench.instances.lora.cluster import DAY
from ratiobench.instances.lora.job_sizes import Converter, Sizes
from ratiobench.instances.lora.logs import Job
from ratiobench.instances.lora.model import Labels


def span(job: Job) -> tuple[int, int]:
    """The second in which a job starts, and that in which it ends; the submission where the log has no start."""
    start = job.submit if job.start is None else job.start
    return start, start + job.seconds


@dataclass(slots=True)
class Crossing:
    """The jobs that run over the end of a day."""

    jobs: list[Job] = field(default_factory=list)  # in the order of the log

    def observe(self, job: Job) -> None:
        """Keep a job of the log if a day ends while it runs."""
        start, end = span(job)
        if start // DAY != (end - 1) // DAY:
            self.jobs.append(job)

    def running_at(self, second: int) -> list[Job]:
        """The jobs that have started before a second and end after it, the first to start first."""
        found = [job for job in self.jobs if (ends := span(job))[0] < second < ends[1]]
        return sorted(found, key=lambda job: (span(job)[0], job.name))


class Held(NamedTuple):
    """What jobs that run when an instance begins hold."""

    documents: Sequence[dict[str, Any]]  # the entries of `running` of the instance
    seconds: int  # GPU-seconds that they hold within the instance
    guessed: int  # how many have no start in the log
    left: int  # how many find no room; left_seconds: GPU-seconds that they still run
    left_seconds: int


def place(converter: Converter, jobs: Sequence[Job], begin: int) -> Held:
    """Put jobs that run at a second on the nodes of the cluster.

    A job goes to the type whose speed is nearest to that of the log's GPU and which has room, and there to the nodes
    with the least room that suffices. It keeps its part of the work that is left at that second.

    `begin`: the first second of the instance.
    """
    types = converter.cluster.nodes
    first = [sum(node.count for node in types[:g]) for g in range(len(types))]
    free = [[converter.compute(node), node.gpus * node.memory_mb] for node in types for _ in range(node.count)]
    order = sorted(range(len(types)), key=lambda g: abs(types[g].speed - 1))
    documents, seconds, guessed, left, left_seconds = [], 0, 0, 0, 0
    for job in jobs:
        sizes = converter.sizes(job)
        rest = (span(job)[1] - begin) * job.gpus // 1000
        found = None if isinstance(sizes, str) else _find_nodes(converter, sizes, order, first, free)
        if found is None or isinstance(sizes, str):
            left, left_seconds = left + 1, left_seconds + rest
            continue
        g, nodes = found
        for node in nodes:
            free[node][0] -= sizes.shape.rate[g]
            free[node][1] -= sizes.memory_mb
        documents.append(_document(converter, job, sizes, begin, g, nodes))
        length = documents[-1]["last"] * converter.laws.slot_seconds
        seconds += min(rest, length * sizes.split.parts * sizes.split.gpus // 1000)
        guessed += job.start is None
    return Held(documents, seconds, guessed, left, left_seconds)


def _find_nodes(
    converter: Converter, sizes: Sizes, order: Sequence[int], first: Sequence[int], free: Sequence[Sequence[int]]
) -> tuple[int, list[int]] | None:
    """The type and the nodes of a job; None where there is no room."""
    for g in order:
        rate, count = sizes.shape.rate[g], converter.cluster.nodes[g].count
        here = range(first[g], first[g] + count)
        fit = [node for node in here if free[node][0] >= rate and free[node][1] >= sizes.memory_mb]
        if rate > 0 and sizes.split.parts <= len(fit):
            fit.sort(key=lambda node: (free[node][0], node))
            return g, sorted(fit[: sizes.split.parts])
    return None


def _document(converter: Converter, job: Job, sizes: Sizes, begin: int, g: int, nodes: Sequence[int]) -> dict[str, Any]:
    start, end = span(job)
    slots, rate = converter.laws.slots, sizes.shape.rate[g]

    def last(until: int) -> int:
        work = -(-(until - begin) * sizes.split.parts * sizes.split.gpus * converter.per_second // 1000)
        return min(slots, -(-work // (sizes.split.parts * rate)))

    final = last(end)
    found = {"nodes": list(nodes), "compute": rate, "memory_mb": sizes.memory_mb, "last": final}
    if sizes.limit and job.limit is not None:
        planned = last(max(end, start + job.limit))
        if planned > final:
            found["planned"] = planned
    labels = job.labels._replace(priority=0)
    return found | {key: value for key, value in zip(Labels._fields, labels, strict=True) if value}


def find_tail(slots: Iterable[int], slot_seconds: int, days: int, most: int) -> int:
    """Seconds behind the last day that an instance needs so that it has all of these slots.

    `slots`: last slots of windows; `most`: slots that an instance can have; a longer tail is cut there.
    """
    last = min(most, max(slots, default=0))
    return max(0, last * slot_seconds - days * DAY)
