"""The second paper's algorithms written down literally, in fractions: systems by elimination, steps by search."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

Shares = tuple[int, ...]


def solve(matrix: Sequence[Sequence[Fraction]], right: Sequence[Fraction]) -> list[Fraction]:
    """The solution of a regular linear system by Gauss-Jordan elimination."""
    rows = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    n = len(rows)
    for k in range(n):
        pivot = next(r for r in range(k, n) if rows[r][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for r in range(n):
            if r != k and rows[r][k] != 0:
                factor = rows[r][k]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[k], strict=True)]
    return [row[n] for row in rows]


@dataclass
class State:
    """The loads and the profit so far, and what was counted."""

    load: list[int]
    profit: int = 0
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(
            ("systems", "negative_shares", "below_makespan", "chosen_negative", "chosen_below"), 0
        )
    )


def ceiling(x: Fraction) -> int:
    """The least integer that is no less."""
    return -(-x.numerator // x.denominator)


def printed(
    state: State,
    etc: Sequence[int],
    cost: Sequence[int],
    energy: Sequence[int],
    tasks: int,
    price: int,
    shares: str,
    makespan: str,
) -> Shares:
    """Lines 2 to 7 of Algorithm 1, line 7 in the text's order; equal energies: the lower index counts as cheaper.

    `shares` (kept, clipped, excluded) and `makespan` (system, true) say how (13) reads a solution of (20).
    """
    m = len(etc)
    order = sorted(range(m), key=lambda j: (energy[j], j), reverse=True)
    found: list[tuple[list[Fraction], Fraction]] = []
    for tau in range(m):
        some = order[tau:]
        k = len(some)
        # Unknowns: x_ij for j >= tau, then MS.
        rows = [[Fraction(1)] * k + [Fraction(0)]]
        right = [Fraction(tasks)]
        for position, j in enumerate(some):
            row = [Fraction(0)] * (k + 1)
            row[position], row[k] = Fraction(etc[j]), Fraction(-1)
            rows.append(row)
            right.append(Fraction(-state.load[j]))
        *part, finish = solve(rows, right)
        x = [Fraction(0)] * m
        for share, j in zip(part, some, strict=True):
            x[j] = share
        found.append((x, finish))
    negative = [min(x) < 0 for x, _ in found]
    below = [finish < max(state.load) for _, finish in found]

    def objective(tau: int) -> Fraction:
        """(13): the profit with user i over MS."""
        x, finish = found[tau]
        counted = [max(share, Fraction(0)) for share in x] if shares == "clipped" else x
        if makespan == "true":
            finish = max(have + share * t for have, share, t in zip(state.load, counted, etc, strict=True))
        return (state.profit + price - sum(share * c for share, c in zip(counted, cost, strict=True))) / finish

    # max takes the first of equals: the smallest tau.
    best = max((tau for tau in range(m) if shares != "excluded" or not negative[tau]), key=objective)
    for name, count in (
        ("systems", m), ("negative_shares", sum(negative)), ("below_makespan", sum(below)),
        ("chosen_negative", negative[best]), ("chosen_below", below[best]),
    ):  # fmt: skip
        state.counts[name] += count
    placed, left = [0] * m, tasks
    for j in reversed(order):
        placed[j] = min(left, max(0, ceiling(found[best][0][j])))
        left -= placed[j]
    return tuple(placed)


def placements(tasks: int, machines: int) -> Iterator[Shares]:
    """Every way to place a bag."""
    if machines == 1:
        yield (tasks,)
        return
    for first in range(tasks + 1):
        for rest in placements(tasks - first, machines - 1):
            yield (first, *rest)


def outcome(
    load: Sequence[int], etc: Sequence[int], cost: Sequence[int], shares: Shares, worth: int
) -> tuple[int, int]:
    """(profit, makespan) after a placement."""
    profit = worth - sum(x * c for x, c in zip(shares, cost, strict=True))
    return profit, max(have + x * t for have, x, t in zip(load, shares, etc, strict=True))


def best_step(
    load: Sequence[int], etc: Sequence[int], cost: Sequence[int], tasks: int, worth: int
) -> tuple[Fraction, int]:
    """The largest profit rate that any placement of the bag leaves, and the least makespan with it."""
    rates = []
    for shares in placements(tasks, len(etc)):
        profit, makespan = outcome(load, etc, cost, shares, worth)
        rates.append((Fraction(profit, makespan), -makespan))
    rate, makespan = max(rates)
    return rate, -makespan


def best_step_by_candidates(
    load: Sequence[int], etc: Sequence[int], cost: Sequence[int], tasks: int, worth: int
) -> tuple[Fraction, int]:
    """The same from every finish time at which some machine could have one task more, for bags too big to enumerate."""
    order = sorted(range(len(etc)), key=lambda j: (cost[j], j))
    present = max(load)
    times = {present} | {have + k * t for have, t in zip(load, etc, strict=True) for k in range(1, tasks + 1)}
    rates = []
    for finish in times:
        if finish < present:
            continue
        left, profit = tasks, worth
        for j in order:
            share = min(left, (finish - load[j]) // etc[j])
            left, profit = left - share, profit - share * cost[j]
        if left == 0:
            rates.append((Fraction(profit, finish), -finish))
    rate, finish = max(rates)
    return rate, -finish


def greedy(energy: Sequence[int], tasks: int) -> Shares:
    """The whole bag where it takes the least energy, first of equals."""
    where = min(range(len(energy)), key=lambda j: (energy[j], j))
    return tuple(tasks if j == where else 0 for j in range(len(energy)))


def average(machines: int, tasks: int) -> Shares:
    """Dealt out like cards, from machine 0 on."""
    shares = [0] * machines
    for k in range(tasks):
        shares[k % machines] += 1
    return tuple(shares)


class Balance:
    """The rule of `algorithms.balance` word by word, user by user, in doubles of the library's exponential."""

    def __init__(self, machines: int) -> None:
        self.q = [1 / machines] * machines
        self.load = [0] * machines
        self.profit, self.paid, self.k = 0, 0, 0

    def _weights(self, width: float) -> list[float]:
        parts = [q * math.exp((load - max(self.load)) / width) for q, load in zip(self.q, self.load, strict=True)]
        return [part / sum(parts) for part in parts]

    def decide(self, etc: Sequence[int], cost: Sequence[int], tasks: int, price: int) -> Shares:
        """Forty parts, each where cost plus priced time is least; then the learning step."""
        m = len(etc)
        self.k += 1
        self.profit += price
        self.paid += price
        makespan = max(max(self.load), tasks / sum(1 / t for t in etc))
        margin = max(0, self.profit - tasks * min(cost)) / self.paid if self.paid else 0.0
        width = (0.7 + 3 * margin) * makespan / math.sqrt(self.k)
        shares, left = [0] * m, tasks
        while left:
            weights = self._weights(width)
            rate = max(0.0, (self.profit - left * min(cost)) / max(makespan, max(self.load)))
            full = [c + rate * w * t for c, w, t in zip(cost, weights, etc, strict=True)]
            j = full.index(min(full))
            part = min(math.ceil(tasks / 40), left)
            shares[j] += part
            self.load[j] += part * etc[j]
            self.profit -= part * cost[j]
            left -= part
        pace = 0.3 / (self.k + 5)
        self.q = [max(0.001 / m, (1 - pace) * q + pace * w) for q, w in zip(self.q, self._weights(width), strict=True)]
        return tuple(shares)
