"""Figures that describe an instance and its matrices: what the cheapest and the even placement cost and take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ratiobench.instances.eapm.model import Instance, profit_rate

Rows = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Anchors:
    """Costs and finish times of the two placements that look at no price."""

    least_cost: int  # E_min, micro-units: every task on its cheapest machine
    # E_avg, micro-units: every bag split evenly over the machines, in fractions of tasks where need be.
    average_cost: Fraction
    greedy_ms: int  # the makespan of the cheapest placement; of machines equally cheap, the first
    average_ms: Fraction  # the makespan of the even one

    @property
    def energy(self) -> Fraction | None:
        """E_avg / E_min; None where the cheapest placement costs nothing."""
        return self.average_cost / self.least_cost if self.least_cost else None

    @property
    def span(self) -> Fraction:
        """MS_greedy / MS_avg."""
        return self.greedy_ms / self.average_ms

    @property
    def rate(self) -> Fraction:
        """E_min / MS_greedy, units of money per second."""
        return profit_rate(self.least_cost, self.greedy_ms)


def anchors_of(etc_ms: Rows, cost: Rows, tasks: Sequence[int]) -> Anchors:
    """The figures of rows (K, m) of times and costs, with (K,) tasks of each row."""
    machines = len(etc_ms[0])
    least = average = 0
    greedy, even = [0] * machines, [0] * machines
    for times, costs, count in zip(etc_ms, cost, tasks, strict=True):
        cheapest = min(costs)
        least += count * cheapest
        average += count * sum(costs)
        place = costs.index(cheapest)
        greedy[place] += count * times[place]
        for j, time in enumerate(times):
            even[j] += count * time
    return Anchors(least, Fraction(average, machines), max(greedy), Fraction(max(even), machines))


def find_anchors(instance: Instance) -> Anchors:
    """The figures of an instance, users of one type taken together."""
    count = [0] * len(instance.task_types)
    for kind, tasks in zip(instance.kind.tolist(), instance.tasks.tolist(), strict=True):
        count[kind] += tasks
    return anchors_of(instance.etc_ms.tolist(), instance.cost.tolist(), count)


def describe(instance: Instance) -> Mapping[str, Any]:
    """Size and load of the instance, to show beside it (rounded; nothing is decided by them).

    ``price`` is the sum of prices over E_min, the mean gamma of the users weighted by cost (None where E_min is 0).
    """
    known = find_anchors(instance)
    paid = int(instance.price.sum())
    return {
        "users": instance.users,
        "tasks": int(instance.tasks.sum()),
        "types": len(np.unique(instance.kind)),
        "machines": len(instance.machines),
        "price": round(paid / known.least_cost, 3) if known.least_cost else None,
        "greedy_s": round(known.greedy_ms / 1000),
        "average_s": round(float(known.average_ms / 1000)),
    }
