"""Truthfulness, rationality and deficits of mechanisms with payments other than pdFTSP's, in booked micro-dollars.

If a run kept an offer per task and no bid moves its constants, each offer is found again (`offers`), and what is true
of take-it-or-leave-it offers is true of every lie; some bids are put to the algorithm again, as one run does not show
what another bid would have met. Else the algorithm runs again with other reports (`repeatable_run`): a lie that gains
settles the claim, lies that do not prove nothing. docs/guide/audits.md says more.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any, NamedTuple

from ratiobench.bench.family.checks import Check
from ratiobench.bench.lora.theory.basis.case import Case, Figures
from ratiobench.bench.lora.theory.basis.facts import find_outlay
from ratiobench.bench.lora.theory.basis.verdicts import compare, explain_invalid, leave_open
from ratiobench.bench.lora.theory.payments import misreports
from ratiobench.bench.lora.theory.payments.offers import Breach, OfferVerification, records_offers, verify_offers
from ratiobench.bench.lora.theory.payments.repeatable_run import PROCESS, RepeatableRun, Report, follows_bids
from ratiobench.instances.io.fields import LIMIT
from ratiobench.instances.lora.model import ScheduleKind
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.replay import Checkpoints

ALLOWANCE = 2000  # Most decisions that the reports of one check may take: about a second of a slow algorithm
# Runs, in processes of their own, in which a gain of anyone's own algorithm has to show: one that draws anew in every
# run may gain by luck, as a fair coin does once in 128 times
REPEATS = 3
ASKED = 300  # Most decisions that confirming offers which were found again may take
LONG, DIVISOR = 5000, 4  # In runs of more than LONG tasks both numbers are divided: their decisions take longer
ONE = 100  # A single bidder may be asked about as often as all bidders together in this many checks
SEARCHED = 10  # Its offers may take as many searches as those of this many checks
REPORTS = 80  # Most reports of one check
CONFIRMED = 2  # Most gains of anyone's own algorithm that are tried again, each in processes of its own
EACH = 3  # Where not all tasks can have so many reports, some have none

BY_BID = "U_i(b) - U_i(v_i) for the bid that gains most"
BY_TYPE = "gain by the misreport of arrival, deadline, work or memory that pays best"
UNLIKE = "run again, it decides otherwise"


def explain_no_payments(case: Case) -> str:
    if explain_invalid(case) or case.run.revenue is not None or records_offers(case.run):
        return explain_invalid(case)
    return "no payment rule" if case.run.admitted else "no task was admitted, so no payment was seen"


class BidderView:
    """A run as bidders see it: offers found again, and what is known of the answers to other reports."""

    def __init__(self, case: Case, only: int | None = None) -> None:
        self.instance, self.run = case.instance, case.run
        self.only = only  # the one bidder that is asked about; None for all
        self.times = 1 if only is None else ONE
        self.divisor = DIVISOR if only is None and self.instance.tasks > LONG else 1
        self.truths: dict[int, Decision | None] = {}  # decisions about tasks that tell the truth, as far as known
        self.unsteady: list[int] = []  # tasks whose same report was answered in two ways
        self.courses: list[Checkpoints] = []  # the run that reports go on with

    @property
    def allowance(self) -> int:
        """Most decisions that the reports of one check may take."""
        return ALLOWANCE * self.times // self.divisor

    @cached_property
    def offers(self) -> OfferVerification | None:
        """The offers found again; None if constants come from the bids, no offer was kept, or tasks stay on a node."""
        stay = self.instance.schedules is not ScheduleKind.ANY
        if not records_offers(self.run) or follows_bids(self.run) or stay:
            return None
        if self.only is None:
            return verify_offers(self.instance, self.run)
        # Who comes after its deadline meets none of its reports.
        arrival = self.instance.arrival
        last = int((arrival <= max(arrival[self.only], self.instance.deadline[self.only])).sum())
        return verify_offers(self.instance, self.run, until=last, times=SEARCHED)

    @cached_property
    def confirmations(self) -> tuple[int, Breach | None]:
        """How many bids were put to the algorithm again, and the first that did not meet the offer of the run."""
        assert self.offers is not None
        again = RepeatableRun(self.instance, self.run, ASKED * self.times // self.divisor, courses=self.courses)
        asked = 0
        for i in self.order:
            cost = self.offers.costs[i]
            edge = -1 if cost is None else cost.__floor__()
            more = [] if self.only is None else misreports.list_first_bids(self.instance, i, self.run.decisions[i])
            for bid in sorted({0, edge, edge + 1, LIMIT, *more}):
                report = again.truth(i)._replace(bid=bid)
                if not 0 <= bid <= LIMIT or again.cost(i, report) > again.left:
                    continue
                valid, decision = again.decision(i, report)
                asked += 1
                problem = ""
                if not valid:
                    problem = "ends in no valid run"
                elif (decision is not None) != (cost is not None and bid > cost):
                    problem = "meets another offer than in the run"
                elif decision is not None and cost is not None and decision.payment != ceil(cost):
                    problem = f"is charged {decision.payment}"
                if problem:
                    return asked, Breach(i, f"a bid of {bid} {problem}")
        return asked, None

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
        return 0 if decision is None else int(self.instance.valuation[i]) - (decision.payment or 0)

    def ask_truth(self, i: int, again: RepeatableRun) -> bool:
        """Whether the decision about a task that tells the truth is known, after a run if need be."""
        if i not in self.truths and self.instance.bid[i] == self.instance.valuation[i]:
            self.truths[i] = self.run.decisions[i]
        if i not in self.truths and again.cost(i, again.truth(i)) <= again.left:
            valid, decision = again.decision(i, again.truth(i))
            if valid:
                self.truths[i] = decision
        return i in self.truths

    def ask_alone(self, i: int, report: Report) -> tuple[int, Decision | None] | None:
        """Utility and decision in REPEATS runs in processes of their own; None if one is not valid or they differ."""
        again = RepeatableRun(self.instance, self.run, 0)
        own, at_hand = self.run.decisions[i], again.truth(i)._replace(bid=int(self.instance.bid[i]))
        found = [(self.utility(i, own), own)] if report == at_hand else []
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


# What is tried of all bidders (False) or of one alone (True)
_PLANS: dict[tuple[str, bool], misreports.Plan] = {
    (BY_BID, False): misreports.try_bids,
    (BY_BID, True): misreports.try_bids_where_outcomes_change,
    (BY_TYPE, False): misreports.try_types,
    (BY_TYPE, True): misreports.try_types_of_one,
}


def truthful_bid(case: Case, task: int | None = None) -> Check:
    """No bid is better than the valuation, for any task; of one bidder, bids are sought where outcomes change."""
    return _settle(case, task, BY_BID)


def truthful_type(case: Case, task: int | None = None) -> Check:
    """No later arrival, earlier deadline, more work or more memory gains, alone or together; bid truthful."""
    return _settle(case, task, BY_TYPE)


def _settle(case: Case, task: int | None, claim: str) -> Check:
    """Decide by the offers if they decide it, else by lies."""
    view = case.share(BidderView, task)
    offers, problem, order = view.offers, "", view.order
    constants = sorted({str(constant.source) for constant in view.run.constants})
    figures: Figures = {"constants": ", ".join(constants) or "none"}
    if offers is not None:
        figures["offers_found_again"] = len(offers.costs)
    if offers is not None and not (offers.blind and claim != BY_BID):
        if offers.broken is None and offers.doubt:
            return leave_open(case, offers.doubt, figures)
        broken = offers.broken
        if broken is None:
            figures["bids_asked_again"], broken = view.confirmations
        if broken is None:
            found_again = "is the least cost with room" if not offers.blind else "was made before the bid was shown"
            reason = f"{claim}: every offer {found_again}, is taken above it and charged"
            return compare(case, 0, 0, reason, figures=figures)
        problem = f"offers are not take-it-or-leave-it at least cost ({broken}); "
        if broken.task is not None and view.only is None:
            order = [broken.task, *(i for i in order if i != broken.task)]
    tried = _try_lies(view, order, _PLANS[claim, task is not None])
    if tried is None:
        return leave_open(case, f"{problem}{UNLIKE}", figures)
    figures |= {"misreports_tried": tried.reports, "tasks_tried": tried.tasks, "runs_skipped": tried.failed}
    if tried.witness is not None:
        return compare(case, tried.gain, 0, problem + claim, witness=tried.witness, figures=figures)
    return leave_open(case, problem + tried.explain(view), figures)


def compare_by_trials(case: Case, task: int, claim: str, problem: str, figures: Figures, scale: int) -> Check:
    """A claim about one bidder that could not be followed exactly, because of `problem`, by runs with lies."""
    view = BidderView(case, task)
    tried = _try_lies(view, view.order, _PLANS[claim, True], keep=claim == BY_TYPE)
    if tried is None or tried.witness is None:
        return leave_open(case, f"{problem}; {UNLIKE if tried is None else tried.explain(view)}", figures)
    figures = figures | {"misreports_tried": tried.reports}
    claim = f"{claim}, as booked in whole micro-dollars"
    return compare(case, tried.gain, 0, claim, witness=tried.witness, figures=figures, scale=scale)


class MisreportTrials(NamedTuple):
    # reports, tasks, failed: how many reports were answered, of how many tasks, and how many ended in no valid run.
    reports: int
    tasks: int
    failed: int
    gain: int  # gain, witness: of the report that gained most; 0 and None when none gains
    witness: dict[str, Any] | None

    def explain(self, view: BidderView) -> str:
        if view.unsteady:
            return f"not reproducible: the same report of task {view.unsteady[0]} is answered otherwise"
        if self.reports == 0 and self.failed:
            return "no misreport ended in a valid run"
        if self.reports == 0:
            return f"too long to probe: {view.allowance} decisions are allowed"
        whose = f"{self.tasks} tasks" if view.only is None else f"task {view.only}"
        return f"{self.reports} misreports of {whose} tried, none gains"


def _try_lies(
    view: BidderView, order: list[int], plan: misreports.Plan, *, keep: bool = False
) -> MisreportTrials | None:
    """Reports of all tasks in turns, until the allowance is used up; None if the truth is answered otherwise now."""
    repeated = RepeatableRun(view.instance, view.run, view.allowance, keep=keep, courses=view.courses)
    with closing(repeated) as again:
        if not again.is_reproducible():
            return None
        waiting: dict[int, Iterator[Report]] = {}
        wanted = 0
        outcomes: list[tuple[int, int, Report]] = []  # gain, task and report of each valid run
        # As many tasks as can have EACH reports, and whose true outcome is known.
        for i in order:
            cost = EACH * again.cost(i, again.truth(i))
            if wanted + cost <= again.left and view.ask_truth(i, again):
                waiting[i] = plan(again, i, view.truths[i])
                wanted += cost
        # One report of each in turn: the most promising ones of all before the second of any.
        while waiting:
            for i in list(waiting):
                report = next(waiting[i], None)
                if report is None or len(outcomes) == REPORTS * view.times or again.cost(i, report) > again.left:
                    del waiting[i]
                    continue
                valid, decision = again.decision(i, report)
                if valid:
                    outcomes.append((view.utility(i, decision) - view.utility(i, view.truths[i]), i, report))
        gains = sorted((each for each in outcomes if each[0] > 0), key=lambda each: -each[0])
        best = next(_confirm_gains(view, again, gains[:CONFIRMED]), None) if again.own else next(iter(gains), None)
    counts = len(outcomes), len({i for _, i, _ in outcomes}), again.failed
    if best is None:
        return MisreportTrials(*counts, 0, None)
    gain, i, lie = best
    truth, honest = again.truth(i), view.utility(i, view.truths[i])
    witness: dict[str, Any] = {"task": i, "utility": str(honest), "better_utility": str(honest + gain)}
    reported = lie._asdict()
    del reported["bid"]
    witness |= {"true_bid": truth.bid, "better_bid": str(lie.bid)} if lie.bid != truth.bid else reported
    return MisreportTrials(*counts, gain, witness | {"gain": str(gain)})


def _confirm_gains(
    view: BidderView, again: RepeatableRun, gains: list[tuple[int, int, Report]]
) -> Iterator[tuple[int, int, Report]]:
    """Those that are gains in runs in processes of their own, too."""
    for _, i, report in gains:
        honest, lied = view.ask_alone(i, again.truth(i)), view.ask_alone(i, report)
        if honest is not None and lied is not None and lied[0] > honest[0]:
            view.truths[i] = honest[1]
            yield lied[0] - honest[0], i, report


def rational(case: Case) -> Check:
    claim = "largest loss p_i - v_i of a truthful bidder"
    instance = case.instance
    losses = {
        i: (decision.payment or 0) - int(instance.valuation[i])
        for i, decision in enumerate(case.run.decisions)
        if decision is not None and instance.bid[i] == instance.valuation[i]
    }
    figures: Figures = {"truthful_admitted": len(losses), "in_loss": sum(loss > 0 for loss in losses.values())}
    return _compare_largest(case, claim, losses, "loss", figures)


def no_deficit(case: Case) -> Check:
    claim = "largest deficit q + sum e - p_i of an admitted task"
    short = {
        i: find_outlay(case.instance, i, decision) - (decision.payment or 0)
        for i, decision in enumerate(case.run.decisions)
        if decision is not None
    }
    figures: Figures = {
        "tasks_in_deficit": sum(value > 0 for value in short.values()),
        "sum_of_deficits": sum(value for value in short.values() if value > 0),
        "net_revenue": -sum(short.values()),
    }
    return _compare_largest(case, claim, short, "deficit", figures)


def _compare_largest(case: Case, claim: str, values: dict[int, int], what: str, figures: Figures) -> Check:
    """The check that none of the tasks' values is above 0."""
    worst = max(values, key=lambda i: values[i], default=None)
    if worst is None:
        return compare(case, None, None, f"{claim}; there is none", figures=figures)
    witness = {"task": worst, what: str(values[worst])}
    return compare(case, values[worst], 0, claim, witness=witness, figures=figures)
