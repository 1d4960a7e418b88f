"""Lies about arrival, deadline, work and memory: those that a bidder can keep up, and what they pay.

Such a report has a window inside the true one, and at least the true work and memory, so every schedule is dearer.
What the cheapest schedule with room would cost at a report is paid at least at every report that is worse in all four
fields (`Bidder.ceiling`). A maximiser of (9) that chooses schedule l chooses l at every worse report to which l is an
answer, ties included: the next report that could differ just rules l out, by work, deadline or arrival. F is linear in
memory: a schedule chosen at both ends of a span of sizes is chosen inside it if the same node types can hold the task;
else the span is halved. No report is left out. Algorithm 2 is no maximiser: there every report is tried, or some are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from heapq import heappop, heappush
from itertools import pairwise
from typing import NamedTuple

from ratiobench.bench.lora.theory.basis.facts import SearchBudget, SearchLimitReached
from ratiobench.bench.lora.theory.pdftsp import price_state
from ratiobench.bench.lora.theory.pdftsp.auction import Auction, fixed_curve
from ratiobench.bench.lora.theory.pdftsp.price_state import PriceState
from ratiobench.formulations.lora.covering.schedules import minimal_covers, space
from ratiobench.instances.io.fields import LIMIT
from ratiobench.instances.lora.model import Task
from ratiobench.online.lora.search.maxprice import Choice


class Misreport(NamedTuple):
    """A report that the bidder can keep up: it arrives later, leaves earlier, or asks for more than it needs."""

    arrival: int
    deadline: int
    work: int
    memory_mb: int


class Outcome(NamedTuple):
    """What a report gets: the schedule chosen, c_i(l), and the utility."""

    choice: Choice | None
    cost: Fraction
    utility: Fraction


class Bidder:
    """A task that reports something else, in the order of arrivals, constants kept, the bid its valuation."""

    def __init__(self, auction: Auction, i: int, meter: SearchBudget, before: PriceState | None = None) -> None:
        self._auction, self._rule = auction, auction.rule
        self._task, self.valuation = auction.tasks[i], int(auction.instance.valuation[i])
        self.truth = Misreport(self._task.arrival, self._task.deadline, self._task.work, self._task.memory_mb)
        # The best misreport so far (None: none is better than the truth), and whether no other one can be better
        self.lie: Misreport | None = None
        self.utility = fixed_curve(auction, i).utility(self.valuation)
        self.every = True
        if before is None:
            before = price_state.first_state(auction)
            for task in auction.tasks[:i]:
                before = before.follow(task)
        self._course, self._meter = price_state.Course(before, meter), meter
        # Without a trace of task i the others are served as they were.
        self._as_before = not price_state.changes_state(auction, price_state.find_past_decision(auction, i))
        self._after = i + 1
        self._outcomes: dict[Misreport, Outcome] = {}
        self._bounds: dict[Misreport, Fraction] = {}

    @property
    def tries(self) -> int:
        return len(self._outcomes) - (self.truth in self._outcomes)

    def try_report(self, lie: Misreport) -> Outcome:
        if lie not in self._outcomes:
            self._outcomes[lie] = self._answer(lie)
        if self._outcomes[lie].utility > self.utility:
            self.utility, self.lie = self._outcomes[lie].utility, lie
        return self._outcomes[lie]

    def _answer(self, lie: Misreport) -> Outcome:
        report, trace = self._report(lie), self._auction.trace
        choice = self._course.search(report, trace.alpha, trace.beta)
        if choice is None:
            return Outcome(None, Fraction(LIMIT), Fraction(0))
        cost = report.bid - Fraction(choice.value)
        wins = self.valuation > cost and self._course.state.fits(report, choice.cells)
        paid = cost if self._rule == "critical" else cost - choice.energy
        return Outcome(choice, cost, self.valuation - paid if wins else Fraction(0))

    def ceiling(self, lie: Misreport) -> Fraction:
        """The largest utility of this report and of all that are worse in any field and better in none."""
        if lie not in self._bounds:
            report, trace = self._report(lie), self._auction.trace
            # (14) does not charge the operational cost.
            charged = self._course.state.find_best_fitting(
                report, trace.alpha, trace.beta, self._meter, free=self._rule == "printed"
            )
            least = None if charged is None else report.bid - Fraction(charged.value)
            self._bounds[lie] = Fraction(0) if least is None else max(Fraction(0), self.valuation - least)
        return self._bounds[lie]

    def is_hopeless(self, lie: Misreport) -> bool:
        return self.ceiling(lie) <= self.utility

    def _report(self, lie: Misreport) -> Task:
        """The task as it reports, after the others that come before a report of that arrival."""
        # A task that says it arrives later is decided after all others of that slot.
        others, trace = self._auction.tasks, self._auction.trace
        while self.truth.arrival < lie.arrival and self._after < len(others):
            other = others[self._after]
            if other.arrival > lie.arrival:
                break
            if self._as_before:
                self._course.take(other, price_state.find_past_decision(self._auction, other.index))
            else:
                self._course.decide(other, trace.alpha, trace.beta)
            self._after += 1
        return replace(self._task, **lie._asdict())


def find_best_misreport(auction: Auction, i: int, meter: SearchBudget, before: PriceState | None = None) -> Bidder:
    """The bidder with the misreport that pays best; of equals one that changes few fields."""
    bidder = Bidder(auction, i, meter, before)
    if not _is_settled(auction, i, bidder):
        try:
            (_search if auction.trace.search == "exact" else _enumerate)(auction, i, bidder)
        except SearchLimitReached:
            bidder.every = False
    return bidder


def _is_settled(auction: Auction, i: int, bidder: Bidder) -> bool:
    """Whether no lie can pay, without a search."""
    cost, valuation = auction.costs.get(i), bidder.valuation
    if cost is None:
        return True
    # (14) is the vendor's price, and prices of cells on top.
    cheapest = min(option.price for option in auction.tasks[i].options)
    if auction.rule == "printed" and bidder.utility >= max(0, valuation - cheapest):
        return True
    # Nothing costs less than what a maximiser chose: a bid that is too low for it is too low for the rest, and who is
    # served for the critical payment is charged least.
    exact = auction.trace.search == "exact"
    return exact and (valuation <= cost.total or (auction.rule == "critical" and cost.fits))


def _search(auction: Auction, i: int, bidder: Bidder) -> None:
    """Every misreport to a maximiser of (9), by the reports at which its choice changes."""
    for first, last in _arrivals(auction, i):
        if bidder.is_hopeless(bidder.truth._replace(arrival=first)):
            return
        _search_arrivals(auction, i, bidder, first, last)


def _search_arrivals(auction: Auction, i: int, bidder: Bidder, first: int, last: int) -> None:
    """The reports that arrive between two slots, by boxes."""
    # A box (corner, top) is all reports no better than the corner in arrival, deadline and work, and with its memory up
    # to `top`. Those whose corner changes few fields come first.
    truth, valuation = bidder.truth, bidder.valuation
    boxes: list[tuple[int, int, Misreport, int]] = []
    known: set[tuple[Misreport, int]] = set()

    def add(corner: Misreport, top: int) -> None:
        if corner.arrival <= min(last, corner.deadline) and corner.work <= LIMIT and (corner, top) not in known:
            known.add((corner, top))
            changes = sum(field != true for field, true in zip(corner, truth, strict=True))
            heappush(boxes, (changes, corner.memory_mb, corner, top))

    for low, high in _spans(auction, truth.memory_mb):
        add(truth._replace(arrival=first, memory_mb=low), high)
    while boxes:
        _, _, lie, top = heappop(boxes)
        choice, cost, _ = bidder.try_report(lie)
        if choice is None or valuation <= cost or (auction.rule == "critical" and valuation - cost <= bidder.utility):
            continue  # what is charged least at the corner is already too dear, and so is the whole box
        if bidder.is_hopeless(lie):
            continue
        if lie.memory_mb < top:
            other = bidder.try_report(lie._replace(memory_mb=top)).choice
            if other is None or (other.option, other.cells) != (choice.option, choice.cells):
                middle = (lie.memory_mb + top) // 2
                add(lie, middle)
                add(lie._replace(memory_mb=middle + 1), top)
                continue
        delay = auction.tasks[i].options[choice.option].first - truth.arrival
        add(lie._replace(work=choice.work + 1), top)
        add(lie._replace(deadline=choice.cells[-1][1] - 1), top)
        add(lie._replace(arrival=choice.cells[0][1] - delay + 1), top)


def _arrivals(auction: Auction, i: int) -> Iterator[tuple[int, int]]:
    """The window's slots in runs (first, last) between which no other task arrives: the same prices and room."""
    task = auction.tasks[i]
    others = {other.arrival for other in auction.tasks[i + 1 :]}
    starts = [t for t in range(task.arrival, task.deadline + 1) if t == task.arrival or t in others]
    if task.arrival in others and task.arrival < task.deadline:
        starts.insert(1, task.arrival + 1)  # behind the others of its own slot
    for first, then in pairwise([*sorted(set(starts)), task.deadline + 1]):
        yield first, then - 1


def _spans(auction: Auction, least: int) -> Iterator[tuple[int, int]]:
    """Sizes from `least` on that the same node types can hold, as (low, high); last the least that none can."""
    for high in sorted({size for size in auction.public.memory_mb.tolist() if size >= least}):
        yield least, high
        least = high + 1
    if least <= LIMIT:
        yield least, least


def _enumerate(auction: Auction, i: int, bidder: Bidder) -> None:
    """Every misreport if it is allowed, those that change one field first."""
    truth, task, public = bidder.truth, auction.tasks[i], auction.public
    menu = space(task, public)
    works = range(truth.work, min(LIMIT, menu.width * int(menu.rates.max(initial=0)) + 1) + 1)
    sizes = range(truth.memory_mb, min(LIMIT, int(public.memory_mb.max()) + 1) + 1)
    for arrival in range(truth.arrival, truth.deadline + 1):
        if bidder.is_hopeless(truth._replace(arrival=arrival)):
            return
        for lie in _plain(auction, i, arrival):
            bidder.try_report(lie)
        for deadline in range(truth.deadline, arrival - 1, -1):
            if bidder.is_hopeless(Misreport(arrival, deadline, truth.work, truth.memory_mb)):
                break
            for work in works:
                if bidder.is_hopeless(Misreport(arrival, deadline, work, truth.memory_mb)):
                    break
                for size in sizes:
                    if bidder.is_hopeless(Misreport(arrival, deadline, work, size)):
                        break
                    bidder.try_report(Misreport(arrival, deadline, work, size))


def _plain(auction: Auction, i: int, arrival: int) -> Iterator[Misreport]:
    """Lies about one field, and about the window, that are worth a try if not all can be tried."""
    task, public = auction.tasks[i], auction.public
    truth = Misreport(arrival, task.deadline, task.work, task.memory_mb)
    if arrival == task.arrival:
        works = sorted({int(s) + 1 for menu in minimal_covers(task, public) for s in menu.work.tolist()})[:16]
        sizes = {task.memory_mb + 1, 2 * task.memory_mb, *public.memory_mb.tolist()}
        yield from (truth._replace(memory_mb=size) for size in sorted(sizes) if task.memory_mb < size <= LIMIT)
        yield from (truth._replace(work=work) for work in works if work <= LIMIT)
    for deadline in range(task.deadline, arrival - 1, -1):
        yield truth._replace(deadline=deadline)
