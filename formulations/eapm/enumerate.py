"""OPT by looking at everything: every way to split the tasks of every type over the machines. For tiny instances.

It shares nothing with the bounds, the searches and the models, and is meant to be checked by reading.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import comb

import numpy as np

from formulations.eapm.summed import Summed, split, summed
from instances.eapm.model import Instance, IntArray, profit_rate
from instances.eapm.solution import Solution

WAYS_LIMIT = 300_000
"""Most solutions that are looked at."""
DIGITS = 1e-12
"""Of the floating-point rates, those this close (relative) to the best are compared exactly."""


def ways(problem: Summed) -> int:
    """The number of solutions that differ in their totals; where it is above WAYS_LIMIT, some number above it."""
    machines, found = problem.etc.shape[1], 1
    for tasks in problem.tasks.tolist():
        # A number cut here is above the limit on two machines already.
        found *= comb(min(tasks, WAYS_LIMIT) + machines - 1, machines - 1)
        if found > WAYS_LIMIT:
            break
    return found


def splits(tasks: int, machines: int) -> Iterator[tuple[int, ...]]:
    """Every way to write `tasks` as an ordered sum of `machines` numbers from 0 on."""
    if machines == 1:
        yield (tasks,)
        return
    for first in range(tasks + 1):
        for rest in splits(tasks - first, machines - 1):
            yield (first, *rest)


def enumerate_optimum(instance: Instance) -> tuple[Fraction, Solution]:
    """OPT and a solution that attains it.

    Raises
    ------
    ValueError : above WAYS_LIMIT solutions.
    """
    problem = summed(instance)
    if ways(problem) > WAYS_LIMIT:
        raise ValueError(f"more than {WAYS_LIMIT} ways to place the tasks")
    machines = problem.etc.shape[1]
    menus = [np.array(list(splits(tasks, machines)), dtype=np.int64) for tasks in problem.tasks.tolist()]
    # Solution s is written in mixed radix: its last type's choice changes fastest.
    load, spent = np.zeros((1, machines), dtype=np.int64), np.zeros(1, dtype=np.int64)
    for menu, etc, cost in zip(menus, problem.etc, problem.cost, strict=True):
        load = (load[:, None, :] + (menu * etc)[None]).reshape(-1, machines)
        spent = (spent[:, None] + (menu @ cost)[None]).reshape(-1)
    profit, makespan = problem.price - spent, load.max(axis=1)
    best = _best(profit, makespan)
    shape = tuple(len(menu) for menu in menus)
    chosen = [menu[at] for menu, at in zip(menus, np.unravel_index(best, shape), strict=True)]
    return profit_rate(int(profit[best]), int(makespan[best])), split(problem, np.array(chosen))


def _best(profit: IntArray, makespan: IntArray) -> int:
    """The first position with the largest profit / makespan, exactly."""
    rate = profit / makespan
    near = np.flatnonzero(rate >= rate.max() - DIGITS * abs(rate.max()))
    return int(max(near.tolist(), key=lambda s: (Fraction(int(profit[s]), int(makespan[s])), -s)))
