"""Exact check of a schedule of a cluster, in Python integers, from the data alone.

It shares nothing with the bounds, the searches or their arithmetic, so that it can judge them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from ratiobench.formulations.report import ConstraintViolation
from ratiobench.instances.cluster.model import COSTS, Instance, Schedule
from ratiobench.instances.io.errors import shorten

_violation = partial(ConstraintViolation, noun="job")
MOST_VIOLATIONS = 100  # Of a schedule that breaks more rules only the first are listed


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What the exact check says about a schedule."""

    violations: tuple[ConstraintViolation, ...]
    cost: Fraction | None  # None for a schedule that is not valid
    jobs: int = 0  # of the instance

    @property
    def valid(self) -> bool:
        return not self.violations

    def document(self) -> dict[str, Any]:
        """Convert to JSON values; `welfare` is the cost, None of a schedule that is not valid."""
        violations = [str(violation) for violation in self.violations]
        admitted = self.jobs if self.valid else 0
        return {"valid": self.valid, "admitted": admitted, "welfare": self.cost, "violations": violations}


def check(instance: Instance, schedule: Schedule, cost: str = "") -> CheckReport:
    """Check a schedule and compute its cost, by default the instance's own, exactly.

    Rules: ``every job`` starts once, not before its ``release``, in a ``pool`` that it may use, on as many different
    ``nodes`` of it as it takes, and no node has more GPUs in ``use`` than it has, and none while it is closed.
    """
    violations = tuple(_find_violations(instance, schedule)[:MOST_VIOLATIONS])
    total = None if violations else sum_costs(instance, cost or instance.cost, schedule.start.tolist())
    return CheckReport(violations, total, len(instance.jobs))


def _find_violations(instance: Instance, schedule: Schedule) -> list[ConstraintViolation]:
    jobs, n = instance.jobs, len(instance.jobs)
    if len(schedule.start) != n or len(schedule.pool) != n or len(schedule.node) != int(jobs.nodes.sum()):
        return [ConstraintViolation("every job", None, f"starts, pools and nodes are not those of {n} jobs")]
    violations = []
    first, size = instance.first_node.tolist(), instance.node_gpus.tolist()
    # Of every node: second, what happens there (ends before starts), change of the GPUs in use, job
    events: list[list[tuple[int, int, int, int]]] = [[] for _ in size]
    for node, start, end, _ in instance.closures.tolist():
        events[node] += [(start, 1, size[node], -1), (end, 0, -size[node], -1)]
    held = np.repeat(np.arange(len(instance.running)), instance.running.nodes).tolist()
    for i, node in zip(held, instance.running.node.tolist(), strict=True):
        gpus, end = int(instance.running.gpus[i]), int(instance.running.end[i])
        events[node] += [(instance.begin, 1, gpus, -1), (end, 0, -gpus, -1)]
    rows = (schedule.start, schedule.pool, jobs.release, jobs.run, jobs.nodes, jobs.gpus)
    at = 0
    for j, (start, pool, release, run, number, gpus) in enumerate(zip(*map(np.ndarray.tolist, rows), strict=True)):
        nodes = schedule.node[at : at + number].tolist()
        at += number
        if start < release:
            violations.append(_violation("release", j, f"starts at {start}, before its release at {release}"))
        if not 0 <= pool < len(instance.pools) or not jobs.allowed[j, pool]:
            violations.append(_violation("pool", j, f"runs in pool {pool}, which it may not use"))
            continue
        if len(set(nodes)) < number or not all(first[pool] <= node < first[pool + 1] for node in nodes):
            violations.append(
                _violation("nodes", j, f"runs on nodes {shorten(nodes)}, not on {number} different ones of pool {pool}")
            )
            continue
        for node in nodes:
            events[node] += [(start, 1, gpus, j), (start + run, 0, -gpus, j)]
    for node, moments in enumerate(events):
        used = 0
        for second, _, change, j in sorted(moments):
            used += change
            # Jobs that run at the beginning may stand on a node that closes: the log says so.
            if change > 0 and used > size[node] and (j >= 0 or any(s <= second < e for s, e in _runs(moments))):
                detail = f"node {node} has {used} GPUs in use at {second}, of {size[node]}"
                violations.append(_violation("use", j if j >= 0 else None, detail))
                break
    return violations


def _runs(moments: list[tuple[int, int, int, int]]) -> list[tuple[int, int]]:
    """Starts and ends of the schedule's jobs on a node."""
    starts = {j: second for second, _, change, j in moments if j >= 0 and change > 0}
    return [(starts[j], second) for second, _, change, j in moments if j >= 0 and change < 0]


def sum_costs(instance: Instance, cost: str, start: list[int]) -> Fraction:
    """The total cost of these starts, exact."""
    jobs = instance.jobs
    if cost not in COSTS:
        raise ValueError(f"{cost!r} is not one of {', '.join(COSTS)}")
    rows = zip(start, jobs.submit.tolist(), jobs.run.tolist(), jobs.width.tolist(), strict=True)
    if cost != "slowdown":
        weights = {"wait": (0, 0), "wait-gpus": (1, 0), "wait-gpu-hours": (1, 1)}[cost]
        return Fraction(sum((s - submit) * width ** weights[0] * run ** weights[1] for s, submit, run, width in rows))
    sums: dict[int, int] = {}
    for s, submit, run, _ in rows:
        unit = max(run, 10)
        sums[unit] = sums.get(unit, 0) + max(unit, s - submit + run)
    parts = [(value, unit) for unit, value in sums.items()] or [(0, 1)]
    while len(parts) > 1:  # in a tree: the common unit has thousands of digits
        pairs = zip(parts[::2], parts[1::2], strict=False)
        parts = [(a * d + c * b, b * d) for (a, b), (c, d) in pairs] + parts[len(parts) & ~1 :]
    return Fraction(*parts[0])
