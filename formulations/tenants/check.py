"""Exact verification of a solution, in Python integers, from the data alone; shares nothing with what it judges."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from numbers import Integral
from typing import Any

from ratiobench.formulations.report import ConstraintViolation
from ratiobench.instances.io.errors import shorten
from ratiobench.instances.tenants.model import Instance, Solution


@dataclass(frozen=True, slots=True)
class CheckReport:
    violations: tuple[ConstraintViolation, ...]
    cost: int  # of the jobs that start on a GPU there is, 1/100 micro-dollar
    # lateness, flow, money: the sums of ticks of lateness, of ticks from release to end, and of micro-dollars.
    lateness: int
    flow: int
    money: int
    met: int  # jobs that end by their deadline
    per_gpu: tuple[int, ...]  # (m,) the cost of the jobs of each GPU
    value: int | None  # the cost; None when the solution is not valid
    placed: int  # jobs that start on a GPU there is

    @property
    def valid(self) -> bool:
        return not self.violations

    @property
    def spread(self) -> float:
        """l, the patent's load term: the standard deviation of the cost over the GPUs. Shown, never compared."""
        m = len(self.per_gpu)
        squares = m * sum(cost * cost for cost in self.per_gpu) - sum(self.per_gpu) ** 2
        return sqrt(squares) / m

    def document(self) -> dict[str, Any]:
        return {
            "valid": self.valid,
            "welfare": self.value,
            "lateness": self.lateness,
            "flow": self.flow,
            "money": self.money,
            "met": self.met,
            "admitted": self.placed,
            "violations": [str(violation) for violation in self.violations],
        }


def check(instance: Instance, solution: Solution) -> CheckReport:
    """Verify a solution and compute its cost, exactly."""
    kinds = [(k, kind.price) for k, kind in enumerate(instance.gpu_types) for _ in range(kind.count)]
    breaches: list[ConstraintViolation] = []
    if len(solution) != instance.jobs:
        breaches.append(ConstraintViolation("every job", None, f"{len(solution)} decisions for {instance.jobs} jobs"))
    busy: list[list[tuple[int, int, int]]] = [[] for _ in kinds]
    per_gpu = [0] * len(kinds)
    lateness = flow = money = met = 0
    for j, start in enumerate(solution[: instance.jobs]):
        if start is None:
            breaches.append(ConstraintViolation("every job", j, "has no start; every job is run", "job"))
            continue
        gpu, tick = start
        if not _whole(gpu) or not _whole(tick) or not 0 <= gpu < len(kinds):
            problem = (
                f"starts on GPU {shorten(gpu)} at {shorten(tick)}; GPUs are 0..{len(kinds) - 1}, ticks are integers"
            )
            breaches.append(ConstraintViolation("gpu", j, problem, "job"))
            continue
        gpu, tick = int(gpu), int(tick)
        kind, price = kinds[gpu]
        release, run, cs = int(instance.release[j]), int(instance.run[j, kind]), int(instance.cost_sensitivity[j])
        end = tick + run
        if tick < release:
            problem = f"starts at {tick}, before its release at {release}"
            breaches.append(ConstraintViolation("release", j, problem, "job"))
        busy[gpu].append((tick, end, j))
        late = max(0, end - int(instance.deadline[j]))
        lateness += late
        flow += end - release
        money += price * run
        met += not late
        per_gpu[gpu] += 100 * instance.late_penalty * late + (100 - cs) * instance.theta * (end - release)
        per_gpu[gpu] += cs * price * run
    for gpu, intervals in enumerate(busy):
        intervals.sort()
        for (_, end, j), (tick, _, i) in pairwise(intervals):
            if tick < end:
                problem = f"starts at {tick} on GPU {gpu}, where job {j} runs until {end}"
                breaches.append(ConstraintViolation("overlap", i, problem, "job"))
    cost = sum(per_gpu)
    return CheckReport(
        violations=tuple(breaches),
        cost=cost,
        lateness=lateness,
        flow=flow,
        money=money,
        met=met,
        per_gpu=tuple(per_gpu),
        value=None if breaches else cost,
        placed=sum(map(len, busy)),
    )


def _whole(number: object) -> bool:
    return isinstance(number, Integral) and not isinstance(number, bool)
