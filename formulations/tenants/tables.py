"""Tenants in the form that bounds and searches share: costs as tables of integers in 1/100 micro-dollar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ratiobench.formulations.kernels import inlined, inner
from ratiobench.instances.tenants.model import Instance, IntArray, Solution, Start


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """The offline problem: a job that ends at C costs late max(0, C - deadline) + weight (C - release) + money."""

    instance: Instance  # where it comes from
    late: int  # per tick of lateness
    weight: IntArray  # (n,) per tick of a job's time
    money: IntArray  # (n, K) of a job on each type
    run: IntArray  # (n, K) ticks
    release: IntArray  # release, deadline: (n,) ticks
    deadline: IntArray
    counts: IntArray  # (K,) GPUs of each type
    horizon: int  # last release + sum of longest runs: some best schedule ends by then

    @property
    def jobs(self) -> int:
        return len(self.release)

    @property
    def least(self) -> IntArray:
        """(n,) what a job costs at least: started at its release, on its best type."""
        end = self.release[:, None] + self.run
        cost = self.late * np.maximum(0, end - self.deadline[:, None]) + self.weight[:, None] * self.run + self.money
        return np.asarray(cost.min(axis=1, initial=2**62))


def tables(instance: Instance) -> Tables:
    price = np.array([kind.price for kind in instance.gpu_types], dtype=np.int64)
    run = np.array(instance.run)
    last = int(instance.release[-1]) if instance.jobs else 0
    return Tables(
        instance=instance,
        late=100 * instance.late_penalty,
        weight=(100 - instance.cost_sensitivity) * instance.theta,
        money=instance.cost_sensitivity[:, None] * price * run,
        run=run,
        release=np.array(instance.release),
        deadline=np.array(instance.deadline),
        counts=np.array([kind.count for kind in instance.gpu_types], dtype=np.int64),
        horizon=last + sum(max(row) for row in run.tolist()),
    )


class Jobs(NamedTuple):
    """(n,) columns, (n, K) tables, and the penalty per tick of lateness, for kernels."""

    release: Any
    deadline: Any
    weight: Any
    run: Any
    money: Any
    late: Any


@inlined
def cost_at(jobs, j, k, end):  # type: ignore[no-untyped-def]
    """What job j costs that ends at this tick on a GPU of type k."""
    return jobs.late * max(0, end - jobs.deadline[j]) + jobs.weight[j] * (end - jobs.release[j]) + jobs.money[j, k]


@inner
def put(plan, g, p, j):  # type: ignore[no-untyped-def]
    for y in range(plan.length[g], p, -1):
        plan.queue[g, y] = plan.queue[g, y - 1]
    plan.queue[g, p] = j
    plan.length[g] += 1


@inner
def take(plan, g, p):  # type: ignore[no-untyped-def]
    j = plan.queue[g, p]
    plan.length[g] -= 1
    for y in range(p, plan.length[g]):
        plan.queue[g, y] = plan.queue[g, y + 1]
    return j


Queues = Sequence[Sequence[int]]  # The jobs of every GPU in the order in which it runs them


def solution_of(problem: Tables, queues: Queues) -> Solution:
    """Every job as early as its queue allows."""
    found: list[Start | None] = [None] * problem.jobs
    release, run, kinds = problem.release.tolist(), problem.run.tolist(), problem.instance.gpu_type.tolist()
    for gpu, queue in enumerate(queues):
        free = 0
        for j in queue:
            start = max(free, release[j])
            found[j], free = Start(gpu, start), start + run[j][kinds[gpu]]
    return tuple(found)


def queues_of(problem: Tables, solution: Solution) -> list[list[int]]:
    queues: list[list[int]] = [[] for _ in range(problem.instance.gpus)]
    for j in sorted(range(len(solution)), key=lambda j: (solution[j].tick, j)):  # type: ignore[union-attr]
        queues[solution[j].gpu].append(j)  # type: ignore[union-attr]
    return queues
