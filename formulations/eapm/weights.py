"""Machine prices and fractional totals without a solver, by multiplicative weights.

A machine that is busier than the others when every type goes where it is cheapest, priced, becomes dearer. The prices
of the best round propose a bound, the mean of the placements proposes a solution; neither is trusted.

Prices are p_j times a rate, p adding up to 1; the rate is the one at which the placement just pays for itself, and its
derivative by p_j is minus rate L_j / (p L). Only + - * / and comparisons in a fixed order are used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ratiobench.formulations.eapm.aggregate import AggregateProblem
from ratiobench.formulations.linear import FloatArray

ROUNDS = 600
CELLS = 60_000_000  # Fewer rounds where types times machines times rounds would be more
# The first change of a price, relative, for a load twice the mean; it falls with the square root of the rounds
STEP = 0.3


class Weights(NamedTuple):
    """What was found."""

    prices: FloatArray  # (m,) in any unit
    shares: FloatArray  # (K, m) mean placement, tasks


def weights(problem: AggregateProblem) -> Weights:
    """Prices and shares for a problem with a surplus above 0."""
    types, machines = problem.etc.shape
    rounds = max(20, min(ROUNDS, CELLS // problem.etc.size))
    tasks = problem.tasks.astype(np.float64)
    spent = (problem.cost - problem.cheapest[:, None]) * tasks[:, None]
    time = problem.etc * tasks[:, None]
    surplus = float(problem.surplus)
    p = np.full(machines, 1.0 / machines)
    rate = machines * surplus / float(time.min(axis=1).sum())
    best, result = np.inf, p
    mean, weight = np.zeros((types, machines)), 0.0
    rows = np.arange(types)
    for n in range(1, rounds + 1):
        # A few steps of Newton's method; the next round goes on from there.
        for _ in range(3):
            chosen = (spent + rate * p * time).argmin(axis=1)
            paid, load = float(spent[rows, chosen].sum()), np.zeros(machines)
            np.add.at(load, chosen, time[rows, chosen])
            rate = max(surplus - paid, surplus * 1e-9) / float((p * load).sum())
        if rate < best:
            best, result = rate, p.copy()
        mean[rows, chosen] += n
        weight += n
        step = STEP / np.sqrt(n)
        p = p * (1.0 + step * np.clip(load / float((p * load).sum()) - 1.0, -1.0, 4.0))
        p = np.maximum(p, 1e-9)
        p = p / float(p.sum())
    return Weights(result, mean / weight * tasks[:, None])
