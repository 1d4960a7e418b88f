"""Lemma 4: whether (mu, lambda, phi) after the last task satisfies (6a) for every schedule of every task.

The best schedule under a linear price is an additive covering problem, so the largest right side of (6a) is found
exactly without listing schedules. Doubles sort out the tasks that are far from it; the others are looked at exactly.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ratiobench.bench.family.checks import Check
from ratiobench.bench.lora.theory.basis.case import Case, Figures
from ratiobench.bench.lora.theory.basis.dual import best_schedule, dual_of
from ratiobench.bench.lora.theory.basis.facts import ROUNDING
from ratiobench.bench.lora.theory.basis.verdicts import compare, compare_optimum
from ratiobench.formulations.lora.covering.schedules import Cover, Space, cheapest_cover, space
from ratiobench.instances.lora.model import Public, Task
from ratiobench.online.lora.traces import Cell, Offer


class Row(NamedTuple):
    """The sharpest (6a) of a task."""

    task: int  # index
    linear: Fraction  # the largest b_il - sum (lambda s + phi r) over its schedules
    mu: Fraction  # max(0, F) as the algorithm set it
    option: int  # option, cells: a schedule with that value
    cells: tuple[Cell, ...]
    scale: int  # size of the terms behind `linear`, for rounding

    @property
    def excess(self) -> Fraction:
        """By how much (6a) is violated; not positive where it holds."""
        return self.linear - self.mu


class ScaledPrices:
    """A multiple of the final prices of a run, exactly and in doubles."""

    def __init__(self, case: Case, factor: Fraction) -> None:
        assert case.trace is not None
        self._case, self._trace, self._factor = case, case.trace, factor
        self._first = case.public.first_node.tolist()
        self._lam, self._phi = (np.zeros((case.public.nodes, case.public.slots)) for _ in range(2))
        for table, price in ((self._lam, self._trace.lam), (self._phi, self._trace.phi)):
            for (k, t), value in price.items():
                # The double nearest to the multiple.
                top, under = value.as_integer_ratio()
                table[k, t - 1] = (factor.numerator * top) / (factor.denominator * under)

    @cached_property
    def _exact(self) -> list[dict[Cell, Fraction]]:
        tables = (self._trace.lam, self._trace.phi)
        return [{cell: self._factor * Fraction(price) for cell, price in part.items()} for part in tables]

    def estimate(self) -> tuple[list[float], list[float]]:
        """Of every task: linear - mu in doubles, and more than rounding can make of it or `row` asks of it."""
        instance = self._case.instance
        linear = dual_of(instance).doubles(self._lam, self._phi)
        mu = np.array([max(0.0, float(offer.value or 0)) for offer in self._trace.offers])
        dearest = max((int(np.abs(instance.cost(i)).max(initial=0)) for i in instance.explicit_cost), default=0)
        tariff = max(int(np.abs(node.tariff).max(initial=0)) for node in instance.node_types)
        dearest = max(dearest, tariff * int(np.abs(instance.energy_wh).max(initial=0)))
        fee = int(instance.vendor_price.max(initial=0))
        scale = instance.bid + float(fee) + float(dearest) * instance.slots + 1
        slack = 4 * ROUNDING * (scale + np.where(np.isfinite(linear), np.abs(linear), 0) + mu)
        return (linear - mu).tolist(), slack.tolist()

    def _find_best(self, task: Task, menu: Space) -> Cover:
        window = slice(menu.first - 1, menu.last)
        cost, node = task.cost.astype(np.float64), np.zeros(task.cost.shape, np.int64)
        for g, s in zip(menu.types.tolist(), menu.rates.tolist(), strict=True):
            nodes = slice(self._first[g], self._first[g + 1])
            priced = self._lam[nodes, window] * s + self._phi[nodes, window] * task.memory_mb
            cost[g, window] += priced.min(axis=0)
            node[g, window] = priced.argmin(axis=0) + self._first[g]
        found = cheapest_cover(task, self._case.public, cost, np.ones(cost.shape, np.bool_), node)
        assert found is not None
        return found

    def row(self, offer: Offer) -> tuple[Row | None, bool]:
        """The sharpest (6a) of a task and whether it is violated; None if it holds to the last digit."""
        exact, task = self._trace.exact, self._case.instance.task(offer.task)
        menu = space(task, self._case.public)
        best = self._find_best(task, menu)
        mu = Fraction(max(0, offer.value or 0))
        dearest = np.abs(task.cost[menu.types, menu.first - 1 : menu.last]).max(axis=0)
        scale = task.bid + int(menu.prices.max()) + int(dearest.sum()) + 1
        row = Row(offer.task, Fraction(task.bid - float(best.cost)), mu, best.option, best.cells, scale)
        # Above this nothing is certain in doubles; below it (6a) holds with room to spare.
        margin = Fraction(ROUNDING) * (scale + abs(row.linear))
        if row.excess > -margin and exact:
            row = self.evaluate_exactly(row)
        if not exact and abs(row.excess) <= margin and offer.value == offer.net >= _alone(task, self._case.public):
            # No price at arrival, and no schedule is worth more even at none: (6a) holds, to the last digit.
            return None, False
        return row, row.excess > (0 if exact else margin)

    def evaluate_exactly(self, row: Row) -> Row:
        task = self._case.instance.task(row.task)
        best = best_schedule(task, self._case.public, *self._exact)
        assert best is not None
        return row._replace(linear=task.bid - Fraction(best.cost), option=best.option, cells=best.cells)


def rows(case: Case, factor: Fraction = Fraction(1)) -> list[Row]:
    """The sharpest (6a) of every task that could violate it at `factor` times the final prices, and the closest one."""
    trace = case.trace
    assert trace is not None
    prices = ScaledPrices(case, factor)
    found: list[Row] = []
    closest: Row | None = None
    # From the task nearest to a violation on; all others are farther from one than rounding can move them.
    for excess, slack, offer in sorted(zip(*prices.estimate(), trace.offers, strict=True), key=lambda g: -g[0]):
        if excess == -math.inf:
            break
        if excess < -slack and (found or (closest is not None and excess < closest.excess - slack)):
            continue
        row, violated = prices.row(offer)
        if row is None:
            continue
        if violated:
            found.append(row)
        elif closest is None or (row.excess, -row.task) > (closest.excess, -closest.task):
            closest = row
    if found or closest is None:
        return sorted(found, key=lambda row: row.task)
    if trace.exact and closest.excess < 0:  # it may come from the doubles
        closest = prices.evaluate_exactly(closest)
    return [closest]


def _alone(task: Task, public: Public) -> int:
    """The largest b_il of the task, in integers; it has a schedule."""
    shape = task.cost.shape
    found = cheapest_cover(task, public, task.cost, np.ones(shape, np.bool_), np.zeros(shape, np.int64))
    assert found is not None
    return task.bid - int(found.cost)


def _check(case: Case, factor: Fraction, claim: str) -> Check:
    listed = rows(case, factor)
    violated = [row for row in listed if row.excess > 0]
    first = listed[0] if listed else None
    figures: Figures = {"violated_6a": len(violated), "d_printed": case.printed_dual, "factor": factor}
    figures["tightest_task"] = first.task if first else None
    if first is None:
        return compare(case, None, None, claim, figures=figures)
    witness = {
        "task": first.task,
        "option": first.option,
        "schedule": [list(cell) for cell in first.cells],
        "linear_reduced_cost": str(first.linear),
        "mu": str(first.mu),
        "tasks": [row.task for row in violated],
    }
    return compare(case, first.linear, first.mu, claim, witness=witness, figures=figures, scale=first.scale)


def lemma4(case: Case) -> Check:
    """(6a) of every schedule with mu as set and the final prices; the sides are those of the first violated row."""
    claim = "mu_i >= b_il - sum(lambda s + phi r) for every schedule, at the final prices"
    return _check(case, Fraction(1), claim)


def lemma4_repaired(case: Case) -> Check:
    claim = "mu_i >= b_il - kappa sum(lambda s + phi r) for every schedule, at the final prices"
    return _check(case, case.facts.kappa, claim)


def weak_duality(case: Case) -> Check:
    """OPT <= D^I, the last step of (16), which Lemma 4 was to justify."""
    claim = "OPT <= D^I, the last step of the proof of Theorem 5"
    return compare_optimum(case, claim, case.printed_dual)
