"""Solutions without a solver: rounded and improved ones, those of multiplicative weights, and of all the best.

Proposals are compared in double precision, every step is taken on exact integers.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations
from math import comb

import numpy as np

from ratiobench.formulations.eapm.aggregate import AggregateProblem, aggregate_users, split
from ratiobench.formulations.linear import BoolArray, FloatArray
from ratiobench.instances.eapm.model import Instance, IntArray, Solution, profit_rate

MOVES_LIMIT = 5_000  # Most improving moves of one descent
PAIRS_LIMIT = 3_000_000  # Most moves that are compared in one step; beyond it the descent is left out


def round_shares(problem: AggregateProblem, fractional: FloatArray) -> IntArray:
    """Whole totals near fractional ones, of each type scaled to its tasks: the largest remainders are rounded up."""
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


def balance_loads(problem: AggregateProblem) -> IntArray:
    """Each type spread in proportion to the machines' speed."""
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
    """The best move and the best swap of so many tasks."""
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
    """(m, m) the largest load on machines other than the two."""
    machines = len(load)
    top = np.argsort(-load, kind="stable")[:3]
    found = np.zeros((machines, machines), dtype=np.int64)
    for j in top[::-1].tolist():
        row, column = found[j].copy(), found[:, j].copy()
        found[:] = load[j]
        found[j], found[:, j] = row, column
    return found


ROUNDS = 600
CELLS = 60_000_000  # Fewer rounds where types times machines times rounds would be more
# The first change of a price, relative, for a load twice the mean; it falls with the square root of the rounds
STEP = 0.3


def weights(problem: AggregateProblem) -> tuple[FloatArray, FloatArray]:
    """(m,) prices in any unit and (K, m) tasks, for a problem with a surplus above 0, by multiplicative weights.

    A machine that is busier than the others when every type goes where it is cheapest, priced, becomes dearer. Prices
    are p_j times a rate, p adding up to 1; the rate is the one at which the placement just pays for itself, and its
    derivative by p_j is minus rate L_j / (p L). Only + - * / and comparisons in a fixed order are used.
    """
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
    return result, mean / weight * tasks[:, None]


WAYS_LIMIT = 300_000  # Most solutions that are looked at
NUMBERS_LIMIT = 2**24  # Most loads of machines, over all solutions, that are held at once
DIGITS = 1e-12  # Of the floating-point rates, those this close (relative) to the best are compared exactly


def ways(problem: AggregateProblem) -> int:
    """The number of solutions that differ in their totals; some number above WAYS_LIMIT if it is."""
    machines, found = problem.etc.shape[1], 1
    for tasks in problem.tasks.tolist():
        # A number cut here is above the limit on two machines already.
        found *= comb(min(tasks, WAYS_LIMIT) + machines - 1, machines - 1)
        if found > WAYS_LIMIT:
            break
    return found


def splits(tasks: int, machines: int) -> IntArray:
    """(number of them, machines) every ordered sum of numbers from 0 on that is `tasks`, in rising order."""
    if machines == 1:
        return np.array([[tasks]], dtype=np.int64)
    # Tasks and the bars between machines stand in a row: each choice of places for the bars is one way.
    places, bars = tasks + machines - 1, machines - 1
    flat = chain.from_iterable(combinations(range(places), bars))
    chosen = np.fromiter(flat, np.int64, comb(places, bars) * bars).reshape(-1, bars)
    return np.asarray(np.diff(chosen, axis=1, prepend=-1, append=places) - 1)


def enumerate_optimum(instance: Instance) -> tuple[Fraction, Solution]:
    """OPT and a solution, by every way to split the tasks; shares nothing with the bounds and the models."""
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
