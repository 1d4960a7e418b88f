"""Good solutions without a branch and bound: fractional totals rounded, then improved by moving tasks.

Proposals are compared in double precision, every step is taken on exact integers, and nothing depends on the clock.
"""

from __future__ import annotations

import numpy as np

from ratiobench.formulations.eapm.aggregate import AggregateProblem
from ratiobench.formulations.linear import BoolArray, FloatArray
from ratiobench.instances.eapm.model import IntArray

MOVES_LIMIT = 5_000  # Most improving moves of one descent
PAIRS_LIMIT = 3_000_000  # Most moves that are compared in one step; beyond it the descent is left out


def round_shares(problem: AggregateProblem, fractional: FloatArray) -> IntArray:
    """Whole totals near fractional ones: of each type the shares with the largest remainders are rounded up.

    Whatever is negative counts nothing, and a type's shares are scaled to add up to its tasks.
    """
    share = np.maximum(0.0, fractional)
    whole = share.sum(axis=1, keepdims=True)
    share = np.where(whole > 0, share / np.where(whole > 0, whole, 1.0), 1.0 / share.shape[1])
    share = share * problem.tasks[:, None]
    totals = np.floor(share + 1e-9).astype(np.int64)
    for k in range(len(totals)):
        missing = int(problem.tasks[k] - totals[k].sum())
        if 0 < missing <= len(totals[k]):
            totals[k, np.argsort(totals[k] - share[k], kind="stable")[:missing]] += 1
        else:
            # Only rounding errors of very many tasks come here with more than nothing.
            totals[k, totals[k].argmax()] += missing
    return totals


def place_cheapest(problem: AggregateProblem) -> IntArray:
    """Every task where its energy costs least."""
    totals = np.zeros(problem.etc.shape, dtype=np.int64)
    totals[np.arange(len(totals)), problem.cost.argmin(axis=1)] = problem.tasks
    return totals


def balance_loads(problem: AggregateProblem) -> IntArray:
    """Loads made even, fast machines first: each type spread in proportion to its speed."""
    speed = 1.0 / problem.etc
    return round_shares(problem, problem.tasks[:, None] * speed / speed.sum(axis=1, keepdims=True))


def descend(problem: AggregateProblem, totals: IntArray, chunk: int = 1) -> IntArray:
    """Move tasks, and swap tasks of the last machine for others, while the profit rate rises."""
    types, machines = problem.etc.shape
    if types * machines * machines > PAIRS_LIMIT or types * types * machines > PAIRS_LIMIT or machines == 1:
        return totals
    totals = totals.copy()
    profit, makespan = problem.figures(totals)
    for _ in range(MOVES_LIMIT):
        best = None
        for change in _proposals(problem, totals, profit, chunk):
            after = totals.copy()
            for k, j, by in change:
                after[k, j] += by
            figures = problem.figures(after)
            # profit / makespan, compared exactly.
            if figures[0] * makespan > profit * figures[1]:
                best, profit, makespan = after, *figures
        if best is not None:
            totals = best
        elif chunk > 1:
            chunk //= 4
        else:
            break
    return totals


def choose_chunk(problem: AggregateProblem) -> int:
    """A chunk to begin with far from the optimum: a power of 4, at most all tasks of some type."""
    return int(4 ** ((int(problem.tasks.max()).bit_length() - 1) // 2))


Change = list[tuple[int, int, int]]


def _proposals(problem: AggregateProblem, totals: IntArray, profit: int, chunk: int) -> list[Change]:
    """The best move and the best swap of so many tasks, where there are any."""
    load = (totals * problem.etc).sum(axis=0)
    etc, cost = chunk * problem.etc, chunk * problem.cost
    held = totals >= chunk
    others = _largest_other(load)
    found = [
        _best_move(held, etc, cost, load, others, profit, chunk),
        _best_swap(held, etc, cost, load, others, profit, chunk),
    ]
    return [each for each in found if each is not None]


def _best_move(
    held: BoolArray, etc: IntArray, cost: IntArray, load: IntArray, others: IntArray, profit: int, chunk: int
) -> Change | None:
    """The move of a chunk (type, from, to) after which profit / makespan is largest."""
    machines = len(load)
    leaving = load[None, :, None] - etc[:, :, None]
    arriving = load[None, None, :] + etc[:, None, :]
    after = np.maximum(np.maximum(leaving, arriving), others[None])
    gain = profit + (cost[:, :, None] - cost[:, None, :])
    rate = gain / np.maximum(after, 1)
    rate[~held] = -np.inf
    rate[:, np.arange(machines), np.arange(machines)] = -np.inf
    k, a, b = (int(at) for at in np.unravel_index(int(rate.argmax()), rate.shape))
    return [(k, a, -chunk), (k, b, chunk)] if rate[k, a, b] > -np.inf else None


def _best_swap(
    held: BoolArray, etc: IntArray, cost: IntArray, load: IntArray, others: IntArray, profit: int, chunk: int
) -> Change | None:
    """The exchange of a chunk of the last machine with one elsewhere after which profit / makespan is largest."""
    last = int(load.argmax())
    # Type k leaves the last machine for j, type q comes from j.
    here = load[last] - etc[:, last][:, None, None] + etc[:, last][None, :, None]
    there = load[None, None, :] + etc[:, None, :] - etc[None, :, :]
    after = np.maximum(np.maximum(here, there), others[last][None, None, :])
    spent = (cost[:, None, :] - cost[None, :, :]) + cost[:, last][None, :, None] - cost[:, last][:, None, None]
    rate = (profit - spent) / np.maximum(after, 1)
    rate[~held[:, last]] = -np.inf
    rate[:, ~held] = -np.inf
    rate[:, :, last] = -np.inf
    k, q, j = (int(at) for at in np.unravel_index(int(rate.argmax()), rate.shape))
    change = [(k, last, -chunk), (k, j, chunk), (q, j, -chunk), (q, last, chunk)]
    return change if rate[k, q, j] > -np.inf else None


def _largest_other(load: IntArray) -> IntArray:
    """(m, m) the largest load on machines other than the two; 0 where there is none."""
    machines = len(load)
    top = np.argsort(-load, kind="stable")[:3]
    found = np.zeros((machines, machines), dtype=np.int64)
    for j in top[::-1].tolist():
        row, column = found[j].copy(), found[:, j].copy()
        found[:] = load[j]
        found[j], found[:, j] = row, column
    return found
