"""Whether every task got an offer that it could only take or leave: what Theorem T needs, checked on the run.

(1) A task's cost c is the least over all its schedules with room, at the prices and room that earlier decisions left,
found again by another search. (2) No decision lowers a price or gives room back. (3) The task is admitted exactly if
b > c, and ceil(c) is booked. With constants that no bid moves, docs/theory/mechanisms.md (Theorem T) does the rest.
In doubles the same is true of the doubles: a schedule costs the sum of its cells in a fixed order and rounding is
monotone; the second search adds in the same order and has to find the very same double. Posted prices may fall: there
(3), and other bids that meet the same offer, settle the bid but not the type.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.bench.lora.theory.basis.facts import ROUNDING, SearchBudget, SearchLimitReached, find_outlay
from ratiobench.formulations.lora.covering.schedules import FAR, Space, StateSpaceTooLarge, cover_table, space, states
from ratiobench.instances.lora.model import Instance, Task
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.posted_prices import PostedTrace
from ratiobench.online.lora.traces import Cell, GreedyTrace, LinearTrace
from ratiobench.online.outcome import OnlineRun

Cost = Fraction | float | int

STEPS = 4_000_000  # Most additions of the exact search in one audit: some five seconds
TABLES = 30_000  # Most offers that are found again by compiled tables in one audit: some ten seconds


class RecordedOffer(NamedTuple):
    task: int  # index
    cost: Cost | None = None  # c; None where it found no schedule with room
    less: float | None = None  # b - c as it was computed, where that is what a run in doubles kept; else None
    option: int = 0  # option, cells: the schedule
    cells: tuple[Cell, ...] = ()
    admitted: bool = False  # whether it was taken


class Breach(NamedTuple):
    """What is wrong with the offer to a task, or with all of them (None)."""

    task: int | None
    problem: str

    def __str__(self) -> str:
        return self.problem if self.task is None else f"task {self.task}: {self.problem}"


class OfferVerification(NamedTuple):
    """The result of finding every offer again."""

    # c of each task that was looked at, as the second search found it; None without a schedule.
    costs: Sequence[Cost | None]
    broken: Breach | None = None  # the first of the facts that fails; None if none fails
    doubt: str = ""  # why nothing is decided; empty if everything is
    # offers were not found again: prices were set before the bid was shown, which settles bids and nothing else.
    blind: bool = False


def records_offers(run: OnlineRun) -> bool:
    return isinstance(run.trace, LinearTrace | GreedyTrace | PostedTrace)


def list_offers(instance: Instance, run: OnlineRun) -> list[RecordedOffer]:
    if isinstance(run.trace, GreedyTrace | PostedTrace):
        return [
            RecordedOffer(i) if o is None else RecordedOffer(i, o.cost, None, o.option, o.cells, o.admitted)
            for i, o in enumerate(run.trace.offers)
        ]
    assert isinstance(run.trace, LinearTrace)
    found = []
    for offer in run.trace.offers:
        cost: Cost | None = None
        less = None
        if offer.value is not None:
            cost = offer.payment if offer.admitted else int(instance.bid[offer.task]) - Fraction(offer.value)
            less = None if offer.admitted or isinstance(offer.value, Fraction | int) else offer.value
        found.append(RecordedOffer(offer.task, cost, less, offer.option, offer.cells, offer.admitted))
    return found


class Row(NamedTuple):
    """A node type in a task's window: its rate, and per slot the cost of its cheapest open cell, None without one."""

    rate: int
    costs: Sequence[Any]


def find_least_cost(task: Task, rows: Sequence[Row], first: int, steps: SearchBudget, unit: int = 1) -> Any:
    """The least vendor price plus cell costs (a micro-dollar is `unit`) over all schedules; None without one."""
    # From the last slot to the first, the pairs (work done, cost) of some choice of cells, less those that another pair
    # matches in both. The order is that in which the mechanisms add doubles; rounding is monotone, so leaving out
    # dominated pairs loses nothing in doubles either. Column 0 of `rows` is slot `first`, the first usable one.
    best = None
    pairs: list[tuple[int, Any]] = [(0, 0)]
    for slot in range(task.deadline, first - 1, -1):
        reached = list(pairs)
        for rate, costs in rows:
            cost = costs[slot - first]
            if cost is not None:
                reached += [(min(task.work, done + rate), spent + cost) for done, spent in pairs]
        steps.spend(len(reached))
        # Most work first, each pair cheaper than all before it.
        reached.sort(key=lambda pair: (-pair[0], pair[1]))
        pairs = reached[:1]
        for pair in reached:
            if pair[1] < pairs[-1][1]:
                pairs.append(pair)
        if pairs[0][0] == task.work:
            totals = [pairs[0][1] + option.price * unit for option in task.options if option.first == slot]
            best = min(totals if best is None else [best, *totals], default=None)
    return best


class _Replay:
    """Prices and room as a run left them to each task, moved by what it booked; no code is the mechanisms'."""

    def __init__(self, instance: Instance, run: OnlineRun, times: int) -> None:
        self._instance, self._public = instance, instance.public("")
        self._rule = run.trace.rule if isinstance(run.trace, LinearTrace) else None
        self._number: Any = Fraction if self._rule is None or run.trace.exact else float
        self._dtype = np.dtype(np.int64 if self._rule is None else object if run.trace.exact else np.float64)
        self._kind, self._first_node = self._public.type_of_node, self._public.first_node.tolist()
        # (K, T) micro-dollars per sample and per MB; samples and MB that are free.
        shape = self._public.nodes, self._public.slots
        self._lam, self._phi = (np.zeros(shape, self._dtype) for _ in range(2))
        self._capacity = [part[self._kind] for part in (self._public.compute, self._public.memory_mb)]
        self._compute, self._memory = (np.repeat(part[:, None], shape[1], axis=1) for part in self._capacity)
        self._steps, self._tables = SearchBudget(times * STEPS), SearchBudget(times * TABLES)

    def find_least_cost(self, task: Task) -> Cost | None:
        """The least cost of a schedule with room; SearchLimitReached if all searches together take too long."""
        menu, far = space(task, self._public), FAR if self._dtype.kind == "i" else math.inf
        if not menu.width or not len(menu.types):
            return None
        window = slice(menu.first - 1, menu.last)
        # (G', W) the cheapest cell with room of each type in each slot.
        cost = np.empty((len(menu.types), menu.width), self._dtype)
        for j, (g, rate) in enumerate(zip(menu.types.tolist(), menu.rates.tolist(), strict=True)):
            nodes = slice(self._first_node[g], self._first_node[g + 1]), window
            priced = self._lam[nodes] * rate + self._phi[nodes] * task.memory_mb
            if self._rule is None or self._rule.tested:
                fits = (rate <= self._compute[nodes]) & (task.memory_mb <= self._memory[nodes])
                priced = np.where(fits, priced, far)
            cost[j] = priced.min(axis=0, initial=far)
        usable = (cost < far).astype(np.bool_)
        cost += task.cost[menu.types, window]
        if self._dtype.kind != "O":
            self._tables.spend()
            try:
                return self._find_in_table(task, menu, cost, usable, far)
            except StateSpaceTooLarge:
                pass
        cells = cost.astype(object)
        cells[~usable] = None
        table = cells.tolist()
        unit = 1
        if self._number is Fraction:
            unit = math.lcm(1, *{Fraction(value).denominator for row in table for value in row if value is not None})
            table = [[None if value is None else int(value * unit) for value in row] for row in table]
        rows = [Row(rate, values) for rate, values in zip(menu.rates.tolist(), table, strict=True)]
        least = find_least_cost(task, rows, menu.first, self._steps, unit)
        return least if least is None or self._number is float else Fraction(least, unit)

    def _find_in_table(
        self, task: Task, menu: Space, cost: NDArray[Any], usable: NDArray[np.bool_], far: float
    ) -> Cost | None:
        negative = ((cost < 0) & usable).sum(axis=1)
        covers = states(menu.rates, task.work, menu.width, negative, task.index)
        table = np.empty((menu.width + 1, len(covers.work)), self._dtype)
        cover_table(cost, usable, covers.less, far, table)
        least = table[:, covers.work >= task.work].min(axis=1, initial=far)
        options = zip(menu.offsets.tolist(), menu.prices.tolist(), strict=True)
        total = min((least[offset] + price for offset, price in options if offset < menu.width), default=least[-1])
        return None if total >= far else total.item()

    def book(self, i: int, decision: Decision) -> bool:
        """Move prices and room by an admission; whether it lowers a price."""
        rate, memory = self._instance.rate[i].tolist(), int(self._instance.memory_mb[i])
        amounts = [rate[self._kind[k]] for k, _ in decision.cells]
        for (k, t), samples in zip(decision.cells, amounts, strict=True):
            self._compute[k, t - 1] -= samples
            self._memory[k, t - 1] -= memory
        rule, number, falls = self._rule, self._number, False
        if rule is None:
            return False
        factor, growth = number(1), number(rule.growth)
        if rule.by_bbar:
            net = int(self._instance.bid[i]) - find_outlay(self._instance, i, decision)
            weights = [number(weight) for weight in rule.weights]
            factor = net / (weights[0] * sum(amounts) + weights[1] * (memory * len(amounts)))
        for (k, t), samples in zip(decision.cells, amounts, strict=True):
            for prices, eta, amount, capacity in zip(
                (self._lam, self._phi), (rule.eta_c, rule.eta_m), (samples, memory), self._capacity, strict=True
            ):
                before, share = prices[k, t - 1], number(amount) / int(capacity[k])
                prices[k, t - 1] = before * (1 + growth * share) + number(eta) * (factor * share)
                falls = falls or prices[k, t - 1] < before
        return bool(falls)

    def list_prices(self) -> tuple[dict[Cell, Any], dict[Cell, Any]]:
        lam, phi = (
            {(int(k), int(t) + 1): prices[k, t] for k, t in zip(*np.nonzero(prices), strict=True)}
            for prices in (self._lam, self._phi)
        )
        return lam, phi


def verify_offers(instance: Instance, run: OnlineRun, *, until: int | None = None, times: int = 1) -> OfferVerification:
    """Find the offers of a run, or its first `until`, again: facts (1) to (3); of posted prices fact (3) alone."""
    offers, costs, trace = list_offers(instance, run), list[Cost | None](), run.trace
    blind = isinstance(trace, PostedTrace)
    if [offer.task for offer in offers] != list(range(instance.tasks)):
        return OfferVerification(costs, Breach(len(offers), "the run did not keep one offer per task"), blind=blind)
    if blind:
        wrongs = ((offer.task, _explain(instance, offer, run.decisions[offer.task], offer.cost)[0]) for offer in offers)
        found = next((Breach(i, wrong) for i, wrong in wrongs if wrong), None)
        return OfferVerification([offer.cost for offer in offers], found, blind=True)
    if isinstance(trace, LinearTrace) and min(trace.rule.growth, trace.rule.eta_c, trace.rule.eta_m) < 0:
        return OfferVerification(costs, Breach(None, "an admission can lower a price"))
    replay, doubt = _Replay(instance, run, times), ""
    for offer, decision in zip(offers[:until], run.decisions[:until], strict=True):
        try:
            least = replay.find_least_cost(instance.task(offer.task))
        except SearchLimitReached:
            reason = f"the offers of {len(costs)} of {instance.tasks} tasks were found again; the rest takes too long"
            return OfferVerification(costs, None, doubt or reason)
        costs.append(least)
        wrong, close = _explain(instance, offer, decision, least)
        doubt = doubt or close
        if not wrong and decision is not None and replay.book(offer.task, decision):
            wrong = "its admission lowers a price"
        if wrong:
            return OfferVerification(costs, Breach(offer.task, wrong), doubt)
    if until is None and isinstance(trace, LinearTrace) and (dict(trace.lam), dict(trace.phi)) != replay.list_prices():
        return OfferVerification(costs, Breach(None, "prices at the end are not those of the rule"), doubt)
    return OfferVerification(costs, None, doubt)


def _explain(
    instance: Instance, offer: RecordedOffer, decision: Decision | None, least: Cost | None
) -> tuple[str, str]:
    """What is wrong with an offer, given the least cost; and what leaves it open."""
    if offer.admitted != (decision is not None):
        return "what was booked is not what was offered", ""
    if offer.cost is None or least is None:
        if offer.cost is not None:
            return "no schedule has room", ""
        return "" if least is None else "a schedule with room was not offered", ""
    bid = int(instance.bid[offer.task])
    if offer.cost != least if offer.less is None else offer.less != bid - least:
        gap, scale = abs(Fraction(offer.cost) - Fraction(least)), abs(Fraction(least)) + bid
        exact = offer.less is None and not isinstance(offer.cost, float)
        if exact or gap > Fraction(ROUNDING) * scale:
            return "the cost that was offered is not the least over the schedules with room", ""
        return "", f"float prices: the cost of task {offer.task} was found again within rounding only"
    if offer.admitted != (bid > least):
        return "it is not admitted exactly when its bid is above the cost", ""
    if decision is not None:
        vendor = offer.option if instance.vendors(offer.task) else None
        if decision.cells != offer.cells or decision.vendor != vendor:
            return "what was booked is not what was offered", ""
        if decision.payment != math.ceil(offer.cost):
            return f"{decision.payment} was booked for it", ""
    return "", ""
