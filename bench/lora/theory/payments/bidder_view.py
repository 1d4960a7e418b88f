"""A run as bidders see it: offers found again, runs again with other reports, utilities in booked micro-dollars."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any, NamedTuple

from ratiobench.bench.lora.theory.basis.assumptions import explain_invalid
from ratiobench.bench.lora.theory.basis.case import Case, Figures
from ratiobench.bench.lora.theory.payments.misreports import list_first_bids
from ratiobench.bench.lora.theory.payments.offers import OfferVerification, records_offers, verify_offers
from ratiobench.bench.lora.theory.payments.repeatable_run import PROCESS, RepeatableRun, Report, follows_bids
from ratiobench.instances.io.fields import LIMIT
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.schedules import ScheduleKind
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.outcome import OnlineRun

ALLOWANCE = 2000  # Most decisions that the reports of one check may take: about a second of a slow algorithm
# Runs, in processes of their own, in which a gain of anyone's own algorithm has to show: one that draws anew in every
# run may gain by luck, as a fair coin does once in 128 times
REPEATS = 3
ASKED = 300  # Most decisions that confirming offers which were found again may take
ONE = 100  # A single bidder may be asked about as often as all bidders together in this many checks
SEARCHED = 10  # Its offers may take as many searches as those of this many checks


def explain_no_payments(case: Case) -> str:
    """Why nothing is asked of the payments of a run; empty if nothing stands against it."""
    run = case.run
    if explain_invalid(case):
        return explain_invalid(case)
    if run.revenue is None and not records_offers(run):
        return "no payment rule" if run.admitted else "no task was admitted, so no payment was seen"
    return ""


class MisreportTrials(NamedTuple):
    """What misreports of some tasks brought."""

    # reports, tasks, failed: how many reports were answered, of how many tasks, and how many ended in no valid run.
    reports: int
    tasks: int
    failed: int
    gain: int  # gain, witness: of the report that gained most; 0 and None when none gains
    witness: dict[str, Any] | None

    def explain(self, sale: BidderView) -> str:
        """Why no gain was found, in words."""
        if sale.unsteady:
            return f"not reproducible: the same report of task {sale.unsteady[0]} is answered otherwise"
        if self.reports == 0 and self.failed:
            return "no misreport ended in a valid run"
        if self.reports == 0:
            return f"too long to probe: {sale.allowance} decisions are allowed"
        whose = f"{self.tasks} tasks" if sale.only is None else f"task {sale.only}"
        return f"{self.reports} misreports of {whose} tried, none gains"


@dataclass(frozen=True)
class BidderView:
    """A run as bidders see it, in booked micro-dollars."""

    instance: Instance  # instance, run: what was run
    run: OnlineRun
    only: int | None = None  # the one bidder that is asked about; None for all
    # decisions about tasks that tell the truth, as far as they are known.
    truths: dict[int, Decision | None] = field(default_factory=dict)
    unsteady: list[int] = field(default_factory=list)  # tasks whose same report was answered in two ways

    @property
    def times(self) -> int:
        """How many times what a check of all tasks may ask."""
        return 1 if self.only is None else ONE

    @cached_property
    def offers(self) -> OfferVerification | None:
        """The offers found again; None if constants come from the bids, no offer was kept, or tasks stay on a node."""
        stay = self.instance.schedules is not ScheduleKind.ANY
        if not records_offers(self.run) or follows_bids(self.run) or stay:
            return None
        if self.only is None:
            return verify_offers(self.instance, self.run)
        # Who comes after its deadline meets none of its reports.
        last = int(
            (self.instance.arrival <= max(self.instance.arrival[self.only], self.instance.deadline[self.only])).sum()
        )
        return verify_offers(self.instance, self.run, until=last - 1, times=SEARCHED)

    @cached_property
    def confirmations(self) -> tuple[int, dict[str, Any] | None]:
        """How many bids were put to the algorithm again, and the first that did not meet the offer of the run."""
        assert self.offers is not None
        again = self.make_repeatable_run(ASKED * self.times)
        asked = 0
        for i in self.order:
            cost = self.offers.costs[i]
            edge = -1 if cost is None else cost.__floor__()
            more = [] if self.only is None else list_first_bids(self.instance, i, self.run.decisions[i])
            for bid in sorted({0, edge, edge + 1, LIMIT, *more}):
                report = again.report_with_bid(i, bid)
                if not 0 <= bid <= LIMIT or again.cost(i, report) > again.left:
                    continue
                valid, decision = again.decision(i, report)
                asked += 1
                taken = cost is not None and bid > cost
                if not valid:
                    return asked, {"task": i, "problem": f"a bid of {bid} ends in no valid run"}
                if (decision is not None) != taken:
                    return asked, {"task": i, "problem": f"a bid of {bid} meets another offer than in the run"}
                if decision is not None and cost is not None and decision.payment != ceil(cost):
                    return asked, {"task": i, "problem": f"a bid of {bid} is charged {decision.payment}"}
        return asked, None

    @property
    def allowance(self) -> int:
        """Most decisions that the reports of one check may take."""
        return ALLOWANCE * self.times

    def make_repeatable_run(self, allowance: int | None = None, *, keep: bool = False) -> RepeatableRun:
        """The run, to be had again with other reports, as often as `allowance` lets it."""
        return RepeatableRun(self.instance, self.run, self.allowance if allowance is None else allowance, keep=keep)

    @cached_property
    def order(self) -> list[int]:
        """The tasks: those whose bids set a constant that is a largest density, who pays most, who is worth most."""
        if self.only is not None:
            return [self.only]
        instance = self.instance
        bid, work, memory = instance.bid.tolist(), instance.work.tolist(), instance.memory_mb.tolist()
        value, tasks = instance.valuation.tolist(), range(instance.tasks)
        paid = [0 if each is None else each.payment or 0 for each in self.run.decisions]
        first = [max(tasks, key=lambda i: Fraction(bid[i], size[i])) for size in (work, memory)] if tasks else []
        return list(dict.fromkeys([*first, *sorted(tasks, key=lambda i: (-paid[i], -value[i]))]))

    def utility(self, i: int, decision: Decision | None) -> int:
        """v_i less the charge that was booked; 0 for a rejected task."""
        return 0 if decision is None else int(self.instance.valuation[i]) - (decision.payment or 0)

    def ask_truth(self, i: int, again: RepeatableRun) -> bool:
        """Find the decision about a task that tells the truth; whether it is known now."""
        if i not in self.truths and self.instance.bid[i] == self.instance.valuation[i]:
            self.truths[i] = self.run.decisions[i]
        if i not in self.truths and again.cost(i, again.truth(i)) <= again.left:
            valid, decision = again.decision(i, again.truth(i))
            if valid:
                self.truths[i] = decision
        return i in self.truths

    def ask_alone(self, i: int, report: Report) -> tuple[int, Decision | None] | None:
        """What a task gets, and its decision, in runs in processes of their own; None where one is not valid.

        REPEATS runs, with the one at hand; where they differ the algorithm draws, which goes into `unsteady`, and None.
        """
        again = self.make_repeatable_run(0)
        own = self.run.decisions[i]
        found = [(self.utility(i, own), own)] if report == again.report_with_bid(i, int(self.instance.bid[i])) else []
        for _ in range(REPEATS):
            again.left = again.cost(i, report) + PROCESS
            valid, decision = again.decision(i, report, alone=True)
            if not valid:
                return None
            found.append((self.utility(i, decision), decision))
        if any(other != found[0] for other in found):
            self.unsteady.append(i)
            return None
        return found[0]

    def figures(self) -> Figures:
        """What is shown of the offers."""
        offers = self.offers
        sources = sorted({str(constant.source) for constant in self.run.constants})
        shown: Figures = {"constants": ", ".join(sources) or "none"}
        return shown if offers is None else shown | {"offers_found_again": len(offers.costs)}


def make_bidder_view(case: Case, only: int | None = None) -> BidderView:
    """The run of the case as bidders see it; what one claim finds out about it the next one knows."""
    return case.share(_sale_of, only)


def _sale_of(case: Case, only: int | None) -> BidderView:
    return BidderView(case.instance, case.run, only)
