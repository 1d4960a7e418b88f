"""Truthfulness, rationality and deficits of any mechanism with payments, on one run.

Claims about pdFTSP stand in `ratiobench.bench.lora.theory.paper.theorem3`. Here is what is asked of the others:
`truthful_bid`, `truthful_type`, `rational`, `no_deficit`. The first two are decided in one of two ways.

A run that kept an offer per task, with constants that no bid moves: each offer is found again (`offers`), and what is
true of take-it-or-leave-it offers is true of every lie. As one run does not show what another bid would have met, some
tasks' bids are put to the algorithm again, as far as `ASKED` decisions go: the offer has to stay.

All others: the algorithm runs again with a report of another bid or type (`again`), as often as `ALLOWANCE` and
`REPORTS` let it. A lie that gains settles the claim; lies that do not prove nothing.

Asked of one bidder alone the same is done with `ONE` times the work.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.lora.theory.basis.case import Case, Figures
from ratiobench.bench.lora.theory.basis.facts import find_outlay
from ratiobench.bench.lora.theory.payments.bidder_view import BidderView, MisreportTrials, make_bidder_view
from ratiobench.bench.lora.theory.payments.misreports import (
    Plan,
    try_bids,
    try_bids_where_outcomes_change,
    try_types,
    try_types_of_one,
)
from ratiobench.bench.lora.theory.payments.offers import explain_breach
from ratiobench.bench.lora.theory.payments.repeatable_run import RepeatableRun, Report

REPORTS = 80  # Most reports of one check
CONFIRMED = 2  # Most gains of anyone's own algorithm that are tried again, each in processes of its own
EACH = 3  # Where not all tasks can have so many reports, some have none

BY_BID = "U_i(b) - U_i(v_i) for the bid that gains most"
BY_TYPE = "gain by the misreport of arrival, deadline, work or memory that pays best"


def truthful_bid(case: Case) -> Check:
    """No bid is better than the valuation, for any task."""
    return _settle(make_bidder_view(case), "truthful_bid", BY_BID, try_bids)


def truthful_bid_of(case: Case, task: int) -> Check:
    """`truthful_bid` of one bidder: its bids are sought where outcomes change."""
    return _settle(make_bidder_view(case, task), "truthful_bid", BY_BID, try_bids_where_outcomes_change)


def truthful_type(case: Case) -> Check:
    """No later arrival, earlier deadline, more work or more memory gains, alone or together; bid truthful."""
    return _settle(make_bidder_view(case), "truthful_type", BY_TYPE, try_types)


def truthful_type_of(case: Case, task: int) -> Check:
    """`truthful_type` of one bidder, with every window inside the true one."""
    return _settle(make_bidder_view(case, task), "truthful_type", BY_TYPE, try_types_of_one)


def _settle(sale: BidderView, name: str, claim: str, plan: Plan) -> Check:
    """Decide by the offers where they decide it, else by lies."""
    offers, figures = sale.offers, sale.figures()
    if offers is not None and offers.blind and name != "truthful_bid":
        offers = None
    problem, order = "", sale.order
    if offers is not None:
        if offers.broken is None and offers.doubt:
            return Check(name, Verdict.UNDECIDED, None, None, offers.doubt, None, figures)
        found = offers.broken
        if found is None:
            figures["bids_asked_again"], found = sale.confirmations
        if found is None:
            found_again = "is the least cost with room" if not offers.blind else "was made before the bid was shown"
            reason = f"{claim}: every offer {found_again}, is taken above it and charged"
            return Check(name, Verdict.HOLDS, Fraction(0), Fraction(0), reason, None, figures)
        problem = f"offers are not take-it-or-leave-it at least cost ({explain_breach(found)}); "
        if found["task"] is not None and sale.only is None:
            order = [found["task"], *(i for i in order if i != found["task"])]
    again = sale.make_repeatable_run()
    try:
        if not again.is_reproducible():
            reason = f"{problem}run again, it decides otherwise"
            return Check(name, Verdict.UNDECIDED, None, None, reason, None, figures)
        tried = _try_lies(sale, again, order, plan)
    finally:
        again.close()
    figures |= {"misreports_tried": tried.reports, "tasks_tried": tried.tasks, "runs_skipped": tried.failed}
    if tried.witness is not None:
        gain = Fraction(tried.gain)
        return Check(name, Verdict.VIOLATED, gain, Fraction(0), problem + claim, tried.witness, figures)
    return Check(name, Verdict.UNDECIDED, None, None, problem + tried.explain(sale), None, figures)


def gain_by_bid(case: Case, task: int) -> str | MisreportTrials:
    """What one bidder of any run with payments gains by another bid, constants following it; or why none was found."""
    return _lies(BidderView(case.instance, case.run, task), try_bids_where_outcomes_change, keep=False)


def gain_by_type(case: Case, task: int) -> str | MisreportTrials:
    """The same by another type, the bid truthful, with the constants of the run."""
    return _lies(BidderView(case.instance, case.run, task), try_types_of_one, keep=True)


def _lies(sale: BidderView, plan: Plan, *, keep: bool) -> str | MisreportTrials:
    again = sale.make_repeatable_run(keep=keep)
    try:
        if not again.is_reproducible():
            return "run again, it decides otherwise"
        tried = _try_lies(sale, again, sale.order, plan)
    finally:
        again.close()
    return tried if tried.witness is not None else tried.explain(sale)


def _try_lies(sale: BidderView, again: RepeatableRun, order: list[int], plan: Plan) -> MisreportTrials:
    """Reports of all tasks in turns, until the allowance is used up."""
    waiting: dict[int, Iterator[Report]] = {}
    reports, wanted = 0, 0
    seen: set[int] = set()
    gains: list[tuple[int, int, Report]] = []
    # As many tasks as can have EACH reports, and whose true outcome is known.
    for i in order:
        cost = EACH * again.cost(i, again.truth(i))
        if wanted + cost <= again.left and sale.ask_truth(i, again):
            waiting[i] = plan(again, i, sale.truths[i])
            wanted += cost
    # One report of each in turn: the most promising ones of all before the second of any.
    while waiting:
        for i in list(waiting):
            report = next(waiting[i], None)
            if report is None or reports == REPORTS * sale.times or again.cost(i, report) > again.left:
                del waiting[i]
                continue
            valid, decision = again.decision(i, report)
            if valid:
                reports += 1
                seen.add(i)
                gains.append((sale.utility(i, decision) - sale.utility(i, sale.truths[i]), i, report))
    gains = sorted((each for each in gains if each[0] > 0), key=lambda each: -each[0])
    if again.own:
        gains = list(_confirmed_gains(sale, again, gains[:CONFIRMED]))
    witness = None
    if gains:
        gain, i, report = gains[0]
        honest = sale.utility(i, sale.truths[i])
        witness = _witness(i, again.truth(i), report, honest, honest + gain)
    return MisreportTrials(reports, len(seen), again.failed, gains[0][0] if gains else 0, witness)


def _confirmed_gains(
    sale: BidderView, again: RepeatableRun, gains: list[tuple[int, int, Report]]
) -> Iterator[tuple[int, int, Report]]:
    """The first of these that is a gain in runs in processes of their own, too."""
    for _, i, report in gains:
        honest, lied = sale.ask_alone(i, again.truth(i)), sale.ask_alone(i, report)
        if honest is not None and lied is not None and lied[0] > honest[0]:
            sale.truths[i] = honest[1]
            yield lied[0] - honest[0], i, report
            return


def _witness(i: int, truth: Report, lie: Report, honest: int, gained: int) -> dict[str, Any]:
    shown: dict[str, Any] = {"task": i, "utility": str(honest), "better_utility": str(gained)}
    if lie.bid != truth.bid:
        return shown | {"true_bid": truth.bid, "better_bid": str(lie.bid), "gain": str(gained - honest)}
    reported = lie._asdict()
    del reported["bid"]
    return shown | reported | {"gain": str(gained - honest)}


def rational(case: Case) -> Check:
    """No truthful bidder pays more than its valuation: what was booked for those that bid theirs."""
    claim = "largest loss p_i - v_i of a truthful bidder"
    instance = case.instance
    losses = {
        i: (decision.payment or 0) - int(instance.valuation[i])
        for i, decision in enumerate(case.run.decisions)
        if decision is not None and instance.bid[i] == instance.valuation[i]
    }
    figures: Figures = {"truthful_admitted": len(losses), "in_loss": sum(loss > 0 for loss in losses.values())}
    return _largest("rational", claim, losses, "loss", figures)


def no_deficit(case: Case) -> Check:
    """Every admitted task pays at least its vendor's price and its operational cost."""
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
    return _largest("no_deficit", claim, short, "deficit", figures)


def _largest(name: str, claim: str, values: dict[int, int], what: str, figures: Figures) -> Check:
    """The check that none of the tasks' values is above 0."""
    worst = max(values, key=lambda i: values[i], default=None)
    if worst is None:
        return Check(name, Verdict.HOLDS, None, None, f"{claim}; there is none", None, figures)
    largest = values[worst]
    verdict = Verdict.VIOLATED if largest > 0 else Verdict.HOLDS
    witness = {"task": worst, what: str(largest)} if largest > 0 else None
    return Check(name, verdict, Fraction(largest), Fraction(0), claim, witness, figures)
