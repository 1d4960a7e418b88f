"""Whether every task got an offer that it could only take or leave: what Theorem T needs, checked on the run.

Facts. (1) A task's cost c is the least over all its schedules with room, at the prices and with the room that earlier
decisions left; found again by another search than the mechanism's. (2) No decision lowers a price (B and eta are not
negative) or gives room back. (3) The task is admitted exactly when b > c, and ceil(c) is booked.

What follows, with constants that no bid moves. Prices and room at its arrival come from earlier tasks, so c does not
depend on the task's bid: who bids the valuation v takes the offer exactly when v > c, and no bid does better. Nor does
a report of a narrower window, more work or more memory: its schedules are some of the task's own, each at the same
prices times at least as much; if it says that it arrives later, the others go on without it from the same prices and
room, and by (2) leave dearer ones behind. So the least cost at the report is no less than c. In whole micro-dollars
b > c is b >= ceil(c) or more, and the argument is that for ceil(c).

In doubles the same is true of the doubles, not only of what they stand for. A schedule costs the sum of its cells in a
fixed order; products, sums and differences are rounded monotonically; so a schedule that is dearer cell by cell is no
cheaper in doubles, and the least of the rounded sums is what counts. The second search adds in the same order and has
to find the very same double. Where it finds another one within rounding, nothing is decided.

Of a run with posted prices (`ratiobench.online.lora.posted_prices`) prices may fall, and c is not the least by a rule
that can be replayed. There the mechanism sets c before the bid is shown to it; with (3), and with other bids that meet
the same offer, that settles the bid. The type is not settled by it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratiobench.bench.lora.theory.basis.facts import ROUNDING
from ratiobench.bench.lora.theory.payments.cost_kernel import FoundCosts, find_costs
from ratiobench.bench.lora.theory.payments.schedule_cost import Row, StepBudget, StepLimitReached, find_least_cost
from ratiobench.formulations.lora.covering.schedules import Space, StateSpaceTooLarge, cheapest_cover, space
from ratiobench.instances.lora.model import Instance, Task
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.mechanism import ExactPrices, FloatPrices, prices
from ratiobench.online.lora.posted_prices import PostedTrace
from ratiobench.online.lora.traces import EXACT_TASKS, GreedyTrace, LinearTrace
from ratiobench.online.outcome import OnlineRun

Cell = tuple[int, int]
Cost = Fraction | float | int

STEPS = 4_000_000  # Most additions of the exact search in one audit: some five seconds
COMPILED_TASKS = 30_000  # Most offers that are found again by the compiled search in one audit: some five seconds


_LOWERS = "its admission lowers a price"


class RecordedOffer(NamedTuple):
    """One offer as the mechanism kept it."""

    task: int  # index
    cost: Cost | None  # c; None where it found no schedule with room
    less: float | None  # b - c as it was computed, where that is what a run in doubles kept; else None
    option: int  # option, cells: the schedule
    cells: tuple[Cell, ...]
    admitted: bool  # whether it was taken


@dataclass(frozen=True, slots=True)
class OfferVerification:
    """The result of finding every offer again."""

    # c of each task that was looked at, as the second search found it; None without a schedule.
    costs: Sequence[Cost | None]
    # the first of the facts that fails, in figures: task and what is wrong; None if none fails.
    broken: dict[str, Any] | None
    doubt: str  # why nothing is decided; empty if everything is
    # offers were not found again: prices were set before the bid was shown, which settles bids and nothing else.
    blind: bool = False

    @property
    def problem(self) -> str:
        """What is broken, in words."""
        return "" if self.broken is None else explain_breach(self.broken)


def explain_breach(broken: Mapping[str, Any]) -> str:
    """What is wrong with a run's offers, in words."""
    where = "" if broken["task"] is None else f"task {broken['task']}: "
    return f"{where}{broken['problem']}"


def records_offers(run: OnlineRun) -> bool:
    """Whether the run kept an offer per task that can be found again."""
    return isinstance(run.trace, LinearTrace | GreedyTrace | PostedTrace)


def list_offers(instance: Instance, run: OnlineRun) -> list[RecordedOffer]:
    """The offers as the run kept them, in order."""
    found = []
    if isinstance(run.trace, GreedyTrace | PostedTrace):
        for i, each in enumerate(run.trace.offers):
            if each is None:
                found.append(RecordedOffer(i, None, None, 0, (), False))
            else:
                found.append(RecordedOffer(i, each.cost, None, each.option, each.cells, each.admitted))
        return found
    assert isinstance(run.trace, LinearTrace)
    for offer in run.trace.offers:
        cost: Cost | None = None
        less = None
        if offer.value is not None:
            cost = offer.payment if offer.admitted else int(instance.bid[offer.task]) - Fraction(offer.value)
            less = None if offer.admitted or isinstance(offer.value, Fraction | int) else offer.value
        found.append(RecordedOffer(offer.task, cost, less, offer.option, offer.cells, offer.admitted))
    return found


class _Books:
    """Prices and room as the booked decisions made them, and the second search."""

    def __init__(
        self, instance: Instance, run: OnlineRun, offers: Sequence[RecordedOffer], times: int, until: int | None
    ) -> None:
        self._instance = instance
        self._public = public = instance.public("")
        self._kind = kind = public.type_of_node
        self._first_node = public.first_node.tolist()
        self._compute = np.repeat(public.compute[kind][:, None], public.slots, axis=1)
        self._memory = np.repeat(public.memory_mb[kind][:, None], public.slots, axis=1)
        self._prices: ExactPrices | FloatPrices | None = None
        rule = run.trace.rule if isinstance(run.trace, LinearTrace) else None
        self._tested = rule is None or rule.tested
        if rule is not None:
            self._prices = prices(public, rule, exact=run.trace.exact)
        self._whole = isinstance(self._prices, ExactPrices) or (self._prices is None and instance.tasks <= EXACT_TASKS)
        self._steps, self._tasks = StepBudget(times * STEPS), times * COMPILED_TASKS
        self._found: FoundCosts | None = None
        if not isinstance(self._prices, ExactPrices) and not self._whole:
            options = [offer.option for offer in offers]
            tasks = instance.tasks if until is None else until + 1
            self._found = find_costs(instance, run.decisions, options, rule, self._prices, tasks, self._tasks)

    def least(self, i: int) -> Cost | None:
        if self._found is not None:
            if i >= self._found.limit:
                raise StepLimitReached
            return self._found.costs[i]
        task = self._instance.task(i)
        menu = space(task, self._public)
        if menu.width == 0 or len(menu.types) == 0:
            return None
        if self._whole:
            return self._least_exact(task, menu)
        self._tasks -= 1
        if self._tasks < 0:
            raise StepLimitReached
        return self._least_compiled(task, menu)

    def _open(self, task: Task, g: int, rate: int, window: slice) -> NDArray[np.bool_]:
        """(nodes of the type, W) cells with room."""
        nodes = slice(self._first_node[g], self._first_node[g + 1])
        if not self._tested:
            return np.ones(self._compute[nodes, window].shape, np.bool_)
        fits: NDArray[np.bool_] = rate <= self._compute[nodes, window]
        fits &= task.memory_mb <= self._memory[nodes, window]
        return fits

    def _least_exact(self, task: Task, menu: Space) -> Cost | None:
        window = slice(menu.first - 1, menu.last)
        table = [
            [self._cell(task, g, rate, menu.first + t, column) for t, column in enumerate(open_.T)]
            for g, rate in zip(menu.types.tolist(), menu.rates.tolist(), strict=True)
            for open_ in [self._open(task, g, rate, window)]
        ]
        unit = math.lcm(1, *{Fraction(value).denominator for row in table for value in row if value is not None})
        rows = [
            Row(rate, [None if value is None else int(value * unit) for value in row])
            for rate, row in zip(menu.rates.tolist(), table, strict=True)
        ]
        found = find_least_cost(task, rows, menu.first, self._steps, unit)
        return None if found is None else Fraction(found, unit)

    def _cell(self, task: Task, g: int, rate: int, slot: int, open_: NDArray[np.bool_]) -> Fraction | int | None:
        """The cheapest open cell of a type in a slot: lambda s + phi r + e."""
        least: Fraction | int | None = None
        book = self._prices
        for k in np.flatnonzero(open_).tolist():
            cell = (self._first_node[g] + k, slot)
            value: Fraction | int = 0
            if isinstance(book, ExactPrices):
                value = book.lam.get(cell, 0) * rate + book.phi.get(cell, 0) * task.memory_mb
            if least is None or value < least:
                least = value
        return None if least is None else least + int(task.cost[g, slot - 1])

    def _least_compiled(self, task: Task, menu: Space) -> Cost | None:
        """In doubles (linear prices) or 64-bit integers (none), by the programme of `covering.schedules`."""
        window = slice(menu.first - 1, menu.last)
        book = self._prices
        cost = task.cost.astype(np.float64) if isinstance(book, FloatPrices) else task.cost
        usable = np.zeros(cost.shape, np.bool_)
        node = np.zeros(cost.shape, np.int64)
        for g, rate in zip(menu.types.tolist(), menu.rates.tolist(), strict=True):
            open_ = self._open(task, g, rate, window)
            usable[g, window] = open_.any(axis=0)
            if isinstance(book, FloatPrices):
                nodes = slice(self._first_node[g], self._first_node[g + 1])
                value = book.lam[nodes, window] * rate + book.phi[nodes, window] * task.memory_mb
                value[~open_] = np.inf
                cost[g, window] = value.min(axis=0) + task.cost[g, window]
        found = cheapest_cover(task, self._public, cost, usable, node)
        return None if found is None else found.cost

    def book(self, offer: RecordedOffer, decision: Decision) -> str:
        """Take the cells, move the prices; what is wrong with that (a price fell), or nothing."""
        if self._found is not None:
            return _LOWERS if self._found.fell[offer.task] else ""
        task = self._instance.task(offer.task)
        types = self._kind[[k for k, _ in decision.cells]].tolist()
        before = self._at(decision.cells)
        for g, (k, t) in zip(types, decision.cells, strict=True):
            self._compute[k, t - 1] -= task.rate[g]
            self._memory[k, t - 1] -= task.memory_mb
        if self._prices is None:
            return ""
        work = sum(int(task.rate[g]) for g in types)
        energy = sum(int(task.cost[g, t - 1]) for g, (_, t) in zip(types, decision.cells, strict=True))
        net = task.bid - task.options[offer.option].price - energy
        bbar = self._prices.bbar(net, work, task.memory_mb * len(decision.cells))
        self._prices.move(task, decision.cells, bbar)  # type: ignore[arg-type]
        fell = any(new < old for old, new in zip(before, self._at(decision.cells), strict=True))
        return _LOWERS if fell else ""

    def _at(self, cells: Sequence[Cell]) -> list[Any]:
        """The prices of some cells."""
        book = self._prices
        if isinstance(book, ExactPrices):
            return [table.get(cell, 0) for table in (book.lam, book.phi) for cell in cells]
        if book is None:
            return []
        return [float(table[k, t - 1]) for table in (book.lam, book.phi) for k, t in cells]

    def differ(self, trace: Any) -> bool:
        """Whether the run left other prices than its rule makes of its admissions."""
        return self._prices is not None and (dict(trace.lam), dict(trace.phi)) != self._prices.final()


def verify_offers(instance: Instance, run: OnlineRun, *, until: int | None = None, times: int = 1) -> OfferVerification:
    """Find every offer of a run again: facts (1) to (3) above."""
    offers, costs = list_offers(instance, run), list[Cost | None]()
    if isinstance(run.trace, PostedTrace):
        return _verify_taken(instance, run, offers)
    if [offer.task for offer in offers] != list(range(instance.tasks)):
        return OfferVerification(costs, {"task": len(offers), "problem": "the run did not keep one offer per task"}, "")
    if isinstance(run.trace, LinearTrace):
        rule = run.trace.rule
        if min(rule.growth, rule.eta_c, rule.eta_m) < 0:
            return OfferVerification(costs, {"task": None, "problem": "an admission can lower a price"}, "")
    books = _Books(instance, run, offers, times, until)
    doubt = ""
    for offer in offers if until is None else offers[: until + 1]:
        decision = run.decisions[offer.task]
        try:
            least = books.least(offer.task)
        except (StepLimitReached, StateSpaceTooLarge):
            reason = f"the offers of {len(costs)} of {instance.tasks} tasks were found again; the rest takes too long"
            return OfferVerification(costs, None, doubt or reason)
        costs.append(least)
        wrong, close = _wrong(instance, offer, decision, least)
        doubt = doubt or close
        if not wrong and decision is not None:
            wrong = books.book(offer, decision)
        if wrong:
            figures = {"least_cost": _text(least), "cost_offered": _text(offer.cost)}
            return OfferVerification(costs, {"task": offer.task, "problem": wrong, **figures}, doubt)
    if until is None and books.differ(run.trace):
        return OfferVerification(costs, {"task": None, "problem": "prices at the end are not those of the rule"}, doubt)
    return OfferVerification(costs, None, doubt)


def _verify_taken(instance: Instance, run: OnlineRun, offers: Sequence[RecordedOffer]) -> OfferVerification:
    """Fact (3) alone, of prices that were set before the bid was shown: each offer is taken exactly above its cost."""
    if len(offers) != instance.tasks:
        return OfferVerification(
            [], {"task": len(offers), "problem": "the run did not keep one offer per task"}, "", blind=True
        )
    costs = [offer.cost for offer in offers]
    for offer in offers:
        wrong, _ = _wrong(instance, offer, run.decisions[offer.task], offer.cost)
        if wrong:
            return OfferVerification(costs, {"task": offer.task, "problem": wrong}, "", blind=True)
    return OfferVerification(costs, None, "", blind=True)


def _wrong(instance: Instance, offer: RecordedOffer, decision: Decision | None, least: Cost | None) -> tuple[str, str]:
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


def _text(cost: Cost | None) -> str:
    return "none" if cost is None else str(Fraction(cost))
