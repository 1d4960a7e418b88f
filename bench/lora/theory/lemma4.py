"""Lemma 4: whether (mu, lambda, phi) after the last task satisfies (6a) for every schedule of every task.

The best schedule under a linear price is an additive covering problem, so the largest right side of (6a) is found
exactly without listing schedules. Doubles sort out the tasks that are far from it; the others are looked at exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from bench.checks import Check
from bench.lora.theory.case import Case, Cell, Figures
from bench.lora.theory.dual import best_schedule
from bench.lora.theory.facts import ROUNDING
from formulations.lora.schedules import cheapest_cover, space
from instances.lora.model import Public, Task

Price = Mapping[Cell, Fraction | float]


@dataclass(frozen=True, slots=True)
class Row:
    """The sharpest (6a) of a task.

    Parameters
    ----------
    task : index.
    linear : the largest b_il - sum (lambda s + phi r) over its schedules.
    mu : max(0, F) as the algorithm set it.
    option, cells : a schedule with that value.
    scale : size of the terms behind `linear`, for rounding.
    """

    task: int
    linear: Fraction
    mu: Fraction
    option: int
    cells: tuple[Cell, ...]
    scale: int

    @property
    def excess(self) -> Fraction:
        """By how much (6a) is violated; not positive where it holds."""
        return self.linear - self.mu


class Doubles:
    """The largest F' in doubles."""

    def __init__(self, public: Public, lam: Price, phi: Price) -> None:
        self._public = public
        self._first = public.first_node.tolist()
        self._lam, self._phi = (np.zeros((public.nodes, public.slots)) for _ in range(2))
        for table, price in ((self._lam, lam), (self._phi, phi)):
            for (k, t), value in price.items():
                table[k, t - 1] = float(value)

    def best(self, task: Task) -> tuple[float, int, tuple[Cell, ...]] | None:
        """F', option and cells of the best schedule; None when the task has none."""
        menu = space(task, self._public)
        if menu.width == 0 or len(menu.types) == 0:
            return None
        window = slice(menu.first - 1, menu.last)
        cost = task.cost.astype(np.float64)
        node = np.zeros(cost.shape, np.int64)
        for g, s in zip(menu.types.tolist(), menu.rates.tolist(), strict=True):
            nodes = slice(self._first[g], self._first[g + 1])
            priced = self._lam[nodes, window] * s + self._phi[nodes, window] * task.memory_mb
            cost[g, window] += priced.min(axis=0)
            node[g, window] = priced.argmin(axis=0) + self._first[g]
        found = cheapest_cover(task, self._public, cost, np.ones(cost.shape, np.bool_), node)
        return None if found is None else (task.bid - float(found.cost), found.option, found.cells)


def rows(case: Case, factor: Fraction = Fraction(1)) -> list[Row]:
    """The sharpest (6a) of every task that could violate it at `factor` times the final prices, and of the closest one.

    Exact for a run in fractions; in doubles for a run in doubles.
    """
    trace = case.trace
    assert trace is not None
    lam: Price = {cell: factor * Fraction(price) for cell, price in trace.lam.items()}
    phi: Price = {cell: factor * Fraction(price) for cell, price in trace.phi.items()}
    doubles = Doubles(case.public, lam, phi)
    closest: Row | None = None
    found: list[Row] = []
    for offer in trace.offers:
        task = case.instance.task(offer.task)
        near = doubles.best(task)
        if near is None:
            continue
        mu = Fraction(max(0, offer.value or 0))
        menu = space(task, case.public)
        dearest = np.abs(task.cost[menu.types, menu.first - 1 : menu.last]).max(axis=0)
        scale = task.bid + int(menu.prices.max()) + int(dearest.sum()) + 1
        row = Row(offer.task, Fraction(near[0]), mu, near[1], near[2], scale)
        # Above this nothing is certain in doubles; below it (6a) holds with room to spare.
        margin = Fraction(ROUNDING) * (scale + abs(row.linear))
        if row.excess > -margin and trace.exact:
            best = best_schedule(task, case.public, lam, phi)
            assert best is not None
            row = Row(offer.task, task.bid - Fraction(best.cost), mu, best.option, best.cells, scale)
        if not trace.exact and abs(row.excess) <= margin and offer.value == offer.net >= _alone(task, case.public):
            # No price at arrival, and no schedule is worth more even at none: (6a) holds, to the last digit.
            continue
        if row.excess > (0 if trace.exact else margin):
            found.append(row)
        elif closest is None or row.excess > closest.excess:
            closest = row
    if found or closest is None:
        return found
    if trace.exact and closest.excess < 0:  # it may come from the doubles
        best = best_schedule(case.instance.task(closest.task), case.public, lam, phi)
        assert best is not None
        bid = int(case.instance.bid[closest.task])
        closest = Row(closest.task, bid - Fraction(best.cost), closest.mu, best.option, best.cells, closest.scale)
    return [closest]


def _alone(task: Task, public: Public) -> int:
    """The largest b_il of the task, in integers; it has a schedule."""
    found = cheapest_cover(
        task, public, task.cost, np.ones(task.cost.shape, np.bool_), np.zeros(task.cost.shape, np.int64)
    )
    assert found is not None
    return task.bid - int(found.cost)


def _check(case: Case, name: str, factor: Fraction, claim: str, problem: str) -> Check:
    if problem or case.trace is None:
        return case.decide(name, None, None, claim, problem=problem)
    listed = rows(case, factor)
    violated = [row for row in listed if row.excess > 0]
    first = listed[0] if listed else None
    figures: Figures = {
        "violated_6a": len(violated),
        "d_printed": case.printed_dual,
        "factor": factor,
        "tightest_task": first.task if first else None,
    }
    if first is None:
        return case.decide(name, None, None, claim, figures=figures)
    witness = {
        "task": first.task,
        "option": first.option,
        "schedule": [list(cell) for cell in first.cells],
        "linear_reduced_cost": str(first.linear),
        "mu": str(first.mu),
        "tasks": [row.task for row in violated],
    }
    return case.decide(name, first.linear, first.mu, claim, witness=witness, figures=figures, scale=first.scale)


def lemma4(case: Case) -> Check:
    """(6a) of every schedule with mu as set and the final prices; the sides are those of the first violated row."""
    claim = "mu_i >= b_il - sum(lambda s + phi r) for every schedule, at the final prices"
    return _check(case, "lemma4", Fraction(1), claim, case.problem())


def lemma4_repaired(case: Case) -> Check:
    """(6a) with kappa times the final prices."""
    claim = "mu_i >= b_il - kappa sum(lambda s + phi r) for every schedule, at the final prices"
    return _check(case, "lemma4_repaired", case.known.kappa, claim, case.problem() or case.no_maximiser())


def weak_duality(case: Case) -> Check:
    """OPT <= D^I, the last step of (16), which Lemma 4 was to justify."""
    problem = case.problem()
    claim = "OPT <= D^I, the last step of the proof of Theorem 5"
    if problem:
        return case.decide("weak_duality", None, None, claim, problem=problem)
    return case.bounded("weak_duality", claim, case.printed_dual)
