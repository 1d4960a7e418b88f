"""OPT by looking at everything: every way to split the tasks of every type over the machines. For tiny instances.

It shares nothing with the bounds, the searches and the models, and is meant to be checked by reading.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations
from math import comb

import numpy as np

from ratiobench.formulations.eapm.aggregate import AggregateProblem, aggregate_users, split
from ratiobench.instances.eapm.model import Instance, IntArray, profit_rate
from ratiobench.instances.eapm.solution import Solution

WAYS_LIMIT = 300_000  # Most solutions that are looked at
NUMBERS_LIMIT = 2**24  # Most loads of machines, over all solutions, that are held at once
DIGITS = 1e-12  # Of the floating-point rates, those this close (relative) to the best are compared exactly


def ways(problem: AggregateProblem) -> int:
    """The number of solutions that differ in their totals; where it is above WAYS_LIMIT, some number above it."""
    machines, found = problem.etc.shape[1], 1
    for tasks in problem.tasks.tolist():
        # A number cut here is above the limit on two machines already.
        found *= comb(min(tasks, WAYS_LIMIT) + machines - 1, machines - 1)
        if found > WAYS_LIMIT:
            break
    return found


def splits(tasks: int, machines: int) -> IntArray:
    """(number of them, machines) every way to write `tasks` as an ordered sum of numbers from 0 on, in rising order."""
    if machines == 1:
        return np.array([[tasks]], dtype=np.int64)
    # Tasks and the bars between machines stand in a row: each choice of places for the bars is one way.
    places, bars = tasks + machines - 1, machines - 1
    flat = chain.from_iterable(combinations(range(places), bars))
    chosen = np.fromiter(flat, np.int64, comb(places, bars) * bars).reshape(-1, bars)
    return np.asarray(np.diff(chosen, axis=1, prepend=-1, append=places) - 1)


def enumerate_optimum(instance: Instance) -> tuple[Fraction, Solution]:
    """OPT and a solution that attains it."""
    problem = aggregate_users(instance)
    machines, found = problem.etc.shape[1], ways(problem)
    if found > WAYS_LIMIT:
        raise ValueError(f"more than {WAYS_LIMIT} ways to place the tasks")
    if found * machines > NUMBERS_LIMIT:
        raise ValueError(f"more than {NUMBERS_LIMIT} loads: {found} ways to place the tasks on {machines} machines")
    menus = [splits(tasks, machines) for tasks in problem.tasks.tolist()]
    # Solution s is written in mixed radix: its last type's choice changes fastest.
    load, spent = np.zeros((1, machines), dtype=np.int64), np.zeros(1, dtype=np.int64)
    for menu, etc, cost in zip(menus, problem.etc, problem.cost, strict=True):
        load = (load[:, None, :] + (menu * etc)[None]).reshape(-1, machines)
        spent = (spent[:, None] + (menu @ cost)[None]).reshape(-1)
    profit, makespan = problem.price - spent, load.max(axis=1)
    best = _best(profit, makespan)
    chosen, rest = [], best
    for menu in reversed(menus):
        rest, at = divmod(rest, len(menu))
        chosen.append(menu[at])
    return profit_rate(int(profit[best]), int(makespan[best])), split(problem, np.array(chosen[::-1]))


def _best(profit: IntArray, makespan: IntArray) -> int:
    """The first position with the largest profit / makespan, exactly."""
    rate = profit / makespan
    near = np.flatnonzero(rate >= rate.max() - DIGITS * abs(rate.max()))
    return int(max(near.tolist(), key=lambda s: (Fraction(int(profit[s]), int(makespan[s])), -s)))
