"""The starts of all jobs, from the log of a run: queue by queue between two answers, without the table."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ratiobench.instances.tenants.model import Instance
from ratiobench.instances.tenants.solution import Solution, Start
from ratiobench.online.referee.simulator import Log
from ratiobench.online.tenants.protocol import Queues


def replay(instance: Instance, log: Log) -> Solution:
    """One start per job; None for a job that never started, as all do that a foul came before."""
    starts: list[Start | None] = [None] * instance.jobs
    last: list[int] = [0] * instance.gpus  # when what was started last on a GPU ends
    kinds = instance.gpu_type.tolist()
    plans: list[tuple[int, Queues]] = [(0, ((),) * instance.gpus), *_plans(instance, log)]
    ends: list[tuple[int | None, Queues]] = [*plans, (None, ())]
    for (tick, queues), (until, _) in pairwise(ends):
        assert tick is not None
        for gpu, queue in enumerate(queues):
            for j in queue:
                begin = max(last[gpu], tick)
                if until is not None and begin >= until:
                    break
                starts[j] = Start(gpu, begin)
                last[gpu] = begin + int(instance.run[j, kinds[gpu]])
    return tuple(starts)


def _plans(instance: Instance, log: Log) -> Iterator[tuple[int, Queues]]:
    latest: dict[int, Queues] = {}
    for entry in log:
        if entry.answer is not None and entry.about is not None:
            latest[int(instance.release[entry.about])] = entry.answer
    yield from latest.items()
