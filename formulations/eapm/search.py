"""Good solutions without a branch and bound: fractional totals rounded, then improved by moving single tasks.

Proposals are compared in double precision, every step is taken on exact integers, and nothing depends on the clock.
"""

from __future__ import annotations

import numpy as np

from formulations.eapm.summed import Summed
from formulations.linear import FloatArray
from instances.eapm.model import IntArray

MOVES_LIMIT = 5_000
"""Most improving moves of one descent."""
PAIRS_LIMIT = 3_000_000
"""Most moves that are compared in one step; beyond it the descent is left out."""


def rounded(problem: Summed, fractional: FloatArray) -> IntArray:
    """Whole totals near fractional ones: of each type the shares with the largest remainders are rounded up."""
    totals = np.floor(fractional + 1e-9).astype(np.int64)
    missing = problem.tasks - totals.sum(axis=1)
    for k in np.flatnonzero(missing).tolist():
        order = np.argsort(totals[k] - fractional[k], kind="stable")
        step = 1 if missing[k] > 0 else -1
        left = abs(int(missing[k]))
        while left:
            for j in order.tolist() if step > 0 else order[::-1].tolist():
                if left and totals[k, j] + step >= 0:
                    totals[k, j] += step
                    left -= 1
    return totals


def cheapest(problem: Summed) -> IntArray:
    """Every task where its energy costs least."""
    totals = np.zeros(problem.etc.shape, dtype=np.int64)
    totals[np.arange(len(totals)), problem.cost.argmin(axis=1)] = problem.tasks
    return totals


def even(problem: Summed) -> IntArray:
    """Loads made even, fast machines first: each type spread in proportion to its speed."""
    speed = 1.0 / problem.etc
    return rounded(problem, problem.tasks[:, None] * speed / speed.sum(axis=1, keepdims=True))


def descend(problem: Summed, totals: IntArray, limit: int = MOVES_LIMIT) -> IntArray:
    """Move single tasks, and swap a task of the last machine for another, while the profit rate rises."""
    types, machines = problem.etc.shape
    if types * machines * machines > PAIRS_LIMIT or types * types * machines > PAIRS_LIMIT or machines == 1:
        return totals
    totals = totals.copy()
    profit, makespan = problem.figures(totals)
    for _ in range(limit):
        load = (totals * problem.etc).sum(axis=0)
        proposals = [_best_move(problem, totals, load, profit), _best_swap(problem, totals, load, profit)]
        proposals = [each for each in proposals if each is not None]
        if not proposals:
            break
        best = None
        for change in proposals:
            assert change is not None
            after = totals.copy()
            for k, j, by in change:
                after[k, j] += by
            figures = problem.figures(after)
            # profit / makespan, compared exactly.
            if figures[0] * makespan > profit * figures[1]:
                best, profit, makespan = after, *figures
        if best is None:
            break
        totals = best
    return totals


Change = list[tuple[int, int, int]]


def _best_move(problem: Summed, totals: IntArray, load: IntArray, profit: int) -> Change | None:
    """The move of one task (type, from, to) after which profit / makespan is largest."""
    machines = len(load)
    others = _largest_other(load)
    leaving = load[None, :, None] - problem.etc[:, :, None]
    arriving = load[None, None, :] + problem.etc[:, None, :]
    after = np.maximum(np.maximum(leaving, arriving), others[None])
    gain = profit + (problem.cost[:, :, None] - problem.cost[:, None, :])
    rate = gain / after
    rate[totals == 0] = -np.inf
    rate[:, np.arange(machines), np.arange(machines)] = -np.inf
    k, a, b = (int(at) for at in np.unravel_index(int(rate.argmax()), rate.shape))
    return [(k, a, -1), (k, b, 1)] if rate[k, a, b] > -np.inf else None


def _best_swap(problem: Summed, totals: IntArray, load: IntArray, profit: int) -> Change | None:
    """The exchange of a task of the last machine with one elsewhere after which profit / makespan is largest."""
    last = int(load.argmax())
    others = _largest_other(load)[last]
    etc, cost = problem.etc, problem.cost
    # Type k leaves the last machine for j, type q comes from j.
    here = load[last] - etc[:, last][:, None, None] + etc[:, last][None, :, None]
    there = load[None, None, :] + etc[:, None, :] - etc[None, :, :]
    after = np.maximum(np.maximum(here, there), others[None, None, :])
    spent = (cost[:, None, :] - cost[None, :, :]) + cost[:, last][None, :, None] - cost[:, last][:, None, None]
    rate = (profit - spent) / np.maximum(after, 1)
    rate[totals[:, last] == 0] = -np.inf
    rate[:, totals == 0] = -np.inf
    rate[:, :, last] = -np.inf
    k, q, j = (int(at) for at in np.unravel_index(int(rate.argmax()), rate.shape))
    return [(k, last, -1), (k, j, 1), (q, j, -1), (q, last, 1)] if rate[k, q, j] > -np.inf else None


def _largest_other(load: IntArray) -> IntArray:
    """(m, m) the largest load on machines other than the two; 0 where there is none."""
    machines = len(load)
    top = np.argsort(-load, kind="stable")[:3]
    found = np.zeros((machines, machines), dtype=np.int64)
    pair_a, pair_b = np.meshgrid(np.arange(machines), np.arange(machines), indexing="ij")
    for j in top[::-1].tolist():
        free = (pair_a != j) & (pair_b != j)
        found[free] = load[j]
    return found
