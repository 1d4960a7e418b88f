"""Schedules as documents, ``{"decisions": [[start, pool], ...], "nodes": [...]}``, and as SWF."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta

from ratiobench.instances.arrays import freeze
from ratiobench.instances.cluster.model import Instance, Schedule
from ratiobench.instances.io.documents import convert

_Whole = Annotated[int, Meta(ge=-(2**40), le=2**40)]


class _Document(msgspec.Struct):  # other keys are ignored
    decisions: list[tuple[_Whole, _Whole]]
    nodes: list[_Whole]


def solution_document(schedule: Schedule) -> dict[str, Any]:
    """Start and pool of every job, and the nodes of all jobs, one behind the other, counted through all pools."""
    pairs = np.column_stack([schedule.start, schedule.pool])
    return {"decisions": pairs.tolist(), "nodes": schedule.node.tolist()}


def parse_solution(data: Any, source: str) -> Schedule:
    found = convert(data, _Document, source)
    pairs = np.array(found.decisions, dtype=np.int64).reshape(-1, 2)
    return Schedule(freeze(pairs[:, 0]), freeze(pairs[:, 1]), freeze(np.array(found.nodes, dtype=np.int64)))


def write_swf(instance: Instance, schedule: Schedule) -> str:
    """The schedule in the Standard Workload Format: jobs by their place in the file, labels by their numbers."""
    jobs, n = instance.jobs, len(instance.jobs)
    zero = min(instance.begin, *jobs.submit[:1].tolist())
    wait = np.where(schedule.start < 0, -1, schedule.start - jobs.submit)
    number, status, unknown = np.arange(1, n + 1), np.ones(n, dtype=np.int64), np.full(n, -1)
    fields = (
        number, jobs.submit - zero, wait, jobs.run, jobs.width, unknown, unknown, jobs.width, jobs.limit, unknown,
        status, jobs.user, jobs.account, unknown, jobs.partition, schedule.pool, unknown, unknown,
    )  # fmt: skip
    lines = [
        f"; UnixStartTime: {max(0, zero)}",
        f"; MaxNodes: {len(instance.node_gpus)}",
        f"; MaxProcs: {instance.capacity}",
        "; Note: user, group, queue and partition (pool) are numbers of the instance's tables, from 0",
        f"; Note: {len(instance.running)} jobs that ran at the beginning are left out",
        *(" ".join(map(str, row)) for row in np.column_stack(fields).tolist()),
    ]
    return "\n".join(lines) + "\n"


FORMATS = {".swf": write_swf}
