"""EAPM with the users of one type summed: what is common to bounds, searches and formulations.

Cost and times are the same for all users of a type, and totals split back into whole bags in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ratiobench.instances.eapm.model import Instance, IntArray, Solution, freeze, profit_rate


@dataclass(frozen=True, slots=True, eq=False)
class AggregateProblem:
    """Place the tasks of K used types on m machines; the format's limits keep all sums exact in int64."""

    instance: Instance  # where it comes from
    kinds: IntArray  # (K,) the types that some user brings, ascending
    tasks: IntArray  # (K,) how many tasks of the type
    etc: IntArray  # (K, m) milliseconds of one task
    cost: IntArray  # (K, m) micro-units of one task
    price: int  # all that is paid, micro-units

    @property
    def cheapest(self) -> IntArray:
        """(K,) the least cost of one task, micro-units."""
        return np.asarray(self.cost.min(axis=1))

    @property
    def surplus(self) -> int:
        """The largest profit of any solution: all tasks where they are cheapest; OPT has its sign."""
        return self.price - int((self.tasks * self.cheapest).sum())

    def figures(self, totals: IntArray) -> tuple[int, int]:
        """Profit (micro-units) and makespan (ms) of (K, m) totals, exactly."""
        return self.price - int((totals * self.cost).sum()), int((totals * self.etc).sum(axis=0).max())

    def place_on(self, machine: IntArray) -> IntArray:
        """(K, m) totals with every type on one machine."""
        totals = np.zeros(self.etc.shape, dtype=np.int64)
        totals[np.arange(len(machine)), machine] = self.tasks
        return totals

    def value(self, totals: IntArray) -> Fraction:
        return profit_rate(*self.figures(totals))


def aggregate_users(instance: Instance) -> AggregateProblem:
    """The users of one type as one bag; types that nobody brings are left out."""
    kinds, where = np.unique(instance.kind, return_inverse=True)
    tasks = np.zeros(len(kinds), dtype=np.int64)
    np.add.at(tasks, where, instance.tasks)
    etc = instance.etc_ms[kinds]
    return AggregateProblem(
        instance=instance,
        kinds=freeze(kinds),
        tasks=freeze(tasks),
        etc=freeze(etc),
        cost=freeze(instance.energy_price * etc * instance.apc_mw[kinds]),
        price=sum(instance.price.tolist()),
    )


def split(problem: AggregateProblem, totals: IntArray) -> Solution:
    """A solution with these totals: the users of a type fill its machines one after the other."""
    left = {int(kind): row.tolist() for kind, row in zip(problem.kinds, totals, strict=True)}
    first = dict.fromkeys(left, 0)
    decisions = []
    for kind, tasks in zip(problem.instance.kind.tolist(), problem.instance.tasks.tolist(), strict=True):
        row, j = left[kind], first[kind]
        shares = [0] * len(row)
        while tasks:
            shares[j] = min(tasks, row[j])
            tasks -= shares[j]
            row[j] -= shares[j]
            if tasks:
                j += 1
        first[kind] = j
        decisions.append(tuple(shares))
    return tuple(decisions)


def totals_of(problem: AggregateProblem, solution: Solution) -> IntArray:
    totals = np.zeros(problem.etc.shape, dtype=np.int64)
    row = {int(kind): k for k, kind in enumerate(problem.kinds)}
    for kind, decision in zip(problem.instance.kind.tolist(), solution, strict=True):
        if decision is not None:
            totals[row[kind]] += np.array([int(x) for x in decision], dtype=np.int64)
    return totals
