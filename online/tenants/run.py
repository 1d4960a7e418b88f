"""One run of a policy of family `tenants` under the referee."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

from ratiobench.formulations.tenants.check import check
from ratiobench.instances.tenants import format as documents
from ratiobench.instances.tenants.format import FORMAT, parse
from ratiobench.instances.tenants.model import Instance, Solution, Start
from ratiobench.online import run as runs
from ratiobench.online.outcome import Violation
from ratiobench.online.referee.simulator import Log
from ratiobench.online.run import Environment, Judgement
from ratiobench.online.tenants.protocol import Queues
from ratiobench.online.tenants.registry import REGISTRY
from ratiobench.online.tenants.simulator import Simulator


class TenantsEnvironment(Environment[Instance]):
    registry = REGISTRY

    def arrivals(self, instance: Instance) -> int:
        return instance.jobs

    def table(self, instance: Instance, seed: str) -> Simulator:
        return Simulator(instance, seed)

    def first_half(self, instance: Instance) -> Instance:
        return runs.cut_after_half(documents, instance, "jobs", instance.release)

    def judge(self, instance: Instance, log: Log, violations: Sequence[Violation]) -> Judgement:
        solution = replay(instance, log)
        report = check(instance, solution)
        # Where a foul has ended the run, the verifier misses the jobs after it: a consequence, not another foul.
        found = list(violations) or [Violation(*breach) for breach in report.violations]
        return Judgement(solution, found, report.cost, report.placed)

    def small(self) -> Instance:
        runs_ = ((2, 3), (4, 1), (1, 6), (3, 3), (2, 5), (5, 4))
        return parse(
            {
                "format": FORMAT,
                "name": "warm",
                "tick_seconds": 60,
                "gpu_types": [{"name": "a", "count": 1, "price": 3}, {"name": "b", "count": 2, "price": 1}],
                "theta": 2,
                "late_penalty": 3,
                "jobs": [
                    {"release": j // 2, "deadline": j + 4, "cost_sensitivity": 20 * j, "run": list(run)}
                    for j, run in enumerate(runs_)
                ],
            },
            "warm",
        )


ENVIRONMENT = TenantsEnvironment()
run = partial(runs.run, ENVIRONMENT)


def replay(instance: Instance, log: Log) -> Solution:
    """The start of every job, from the log alone, without the simulator; None for a job that never started."""
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
