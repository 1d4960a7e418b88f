"""Theorem 3 of the main paper on one run: what misreports of the bid and of the type gain, of all tasks or of one.

Of all tasks with as many schedule searches as an audit allows, of a single one with many times as many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from heapq import nlargest
from typing import Any

from ratiobench.bench.family.checks import Check
from ratiobench.bench.lora.theory.basis.case import Case, Figures
from ratiobench.bench.lora.theory.basis.facts import ROUNDING
from ratiobench.bench.lora.theory.basis.verdicts import compare, leave_open
from ratiobench.bench.lora.theory.payments.bidder_view import MisreportTrials
from ratiobench.bench.lora.theory.payments.truthfulness import BY_BID, BY_TYPE, gain_by_bid, gain_by_type
from ratiobench.bench.lora.theory.pdftsp.auction import Auction, cost_of, fixed_curve, require_auction
from ratiobench.bench.lora.theory.pdftsp.bids import explain_unfollowed, recompute_curve
from ratiobench.bench.lora.theory.pdftsp.curve import Curve
from ratiobench.bench.lora.theory.pdftsp.misreports import Misreport, find_best_misreport
from ratiobench.bench.lora.theory.pdftsp.price_state import PriceState, SearchBudget, SearchLimitReached

SEARCHES = 4000  # Most schedule searches that one check in an audit makes before it says `undecided`
SEARCHES_OF_ONE = 500  # Most of them for the misreports of a single task
CHOSEN = 40  # As many searches may be made for a single bidder as in this many checks: about a minute

BY_BID_FIXED = f"{BY_BID}, constants kept"


def _gain(curve: Curve) -> tuple[Fraction, dict[str, Any]]:
    """What the best bid of a curve brings more than the truth, and the witness."""
    bid, utility = curve.best()
    truthful = curve.utility(curve.valuation)
    witness = {
        "task": curve.task,
        "true_bid": curve.valuation,
        "utility": str(truthful),
        "better_bid": str(bid),
        "better_utility": str(utility),
        "gain": str(utility - truthful),
    }
    return utility - truthful, witness


def _unsure(case: Case) -> set[int]:
    """The tasks of a run in doubles whose valuation is within rounding of their cost: it may win with it, or not."""
    auction = require_auction(case)
    if auction.trace.exact:
        return set()
    found = set()
    for i, valuation in enumerate(auction.instance.valuation.tolist()):
        cost = cost_of(auction, i)
        if cost is not None and cost.fits and abs(valuation - cost.total) <= ROUNDING * (valuation + abs(cost.total)):
            found.add(i)
    return found


def _near(task: int) -> str:
    return f"float prices: the cost of task {task} is within rounding of its valuation"


def _fixed_gains(case: Case) -> list[Fraction]:
    """U_i(b) - U_i(v_i) of every task for the bid that gains most, constants kept: `_gain` of each `fixed_curve`.

    The task wins above its cost c for a price p that does not depend on the bid, and loses up to c.
    """
    auction, unsure = require_auction(case), case.share(_unsure)
    gains = [Fraction(0)] * auction.instance.tasks
    for i, valuation in enumerate(auction.instance.valuation.tolist()):
        cost = cost_of(auction, i)
        if cost is not None and cost.wins_somewhere and i not in unsure:
            surplus = valuation - cost.payment(auction.rule)
            if valuation <= cost.total:
                gains[i] = max(surplus, Fraction(0))
            elif cost.total >= 0:
                gains[i] = max(-surplus, Fraction(0))
    return gains


def theorem3_fixed_constants(case: Case) -> Check:
    """No bid is better than the valuation, for any task, with alpha and beta as they were in the run."""
    name, claim = "theorem3_fixed_constants", BY_BID_FIXED
    auction = require_auction(case)
    unsure, gains = case.share(_unsure), case.share(_fixed_gains)
    best = max(range(case.instance.tasks), key=lambda i: gains[i])
    if unsure and not gains[best]:
        return leave_open(case, name, _near(min(unsure)))
    gain, witness = _gain(fixed_curve(auction, best, auction.rule))
    figures: Figures = {"payment": auction.rule}
    return compare(case, name, gain, 0, claim, witness=witness, figures=figures, scale=auction.scale)


def _unmoved(auction: Auction, tasks: Iterable[int]) -> Iterator[int]:
    """Of these tasks those of which neither the valuation nor the bid nor the better bid is the largest b/M or b/r."""
    if auction.moving_units:
        return
    instance = auction.instance
    sizes = {"alpha": instance.work, "beta": instance.memory_mb}
    tops = {
        name: nlargest(
            2,
            (
                (Fraction(b, size), i)
                for i, (b, size) in enumerate(zip(instance.bid.tolist(), sizes[name].tolist(), strict=True))
            ),
        )
        for name in auction.oracle
    }
    for i in tasks:
        better, _ = fixed_curve(auction, i, auction.rule).best()
        most = max(better, Fraction(int(instance.bid[i])), Fraction(int(instance.valuation[i])))
        others = {name: next((value for value, j in top if j != i), Fraction(0)) for name, top in tops.items()}
        if all(most <= others[name] * int(sizes[name][i]) for name in tops):
            yield i


def _constants_shown(auction: Auction) -> Figures:
    return {"payment": auction.rule, "recomputed": ", ".join(sorted(auction.oracle)) or "none"}


def theorem3(case: Case) -> Check:
    """No bid is better than the valuation, for any task; constants that came from the bids follow the misreport."""
    name, claim = "theorem3", BY_BID
    auction = require_auction(case)
    figures = _constants_shown(auction)
    if not (auction.oracle or auction.moving_units):
        result = theorem3_fixed_constants(case)
        return Check(name, result.status, result.left, result.right, result.reason, result.witness, figures)
    fixed = case.share(_fixed_gains)
    ranked = sorted(range(case.instance.tasks), key=lambda i: -fixed[i])

    def unfinished(otherwise: Check) -> Check:
        # Whoever gains while the constants stay, by a bid that moves none of them, gains.
        for i in _unmoved(auction, (i for i in ranked if fixed[i] > 0)):
            gain, witness = _gain(fixed_curve(auction, i, auction.rule))
            return compare(case, name, gain, 0, claim, witness=witness, figures=figures, scale=auction.scale)
        return otherwise

    problem = explain_unfollowed(auction)
    if problem:
        return unfinished(leave_open(case, name, problem, figures))
    meter = SearchBudget(SEARCHES)
    # First those that gain already while the constants stay: they often gain here, too.
    for count, i in enumerate(ranked):
        try:
            gain, witness = _gain(recompute_curve(auction, i, auction.rule, meter))
        except SearchLimitReached:
            figures |= {"tasks_followed": count}
            reason = f"{count} of {case.instance.tasks} tasks followed, none gains"
            return unfinished(leave_open(case, name, reason, figures))
        if gain > 0:
            return compare(case, name, gain, 0, claim, witness=witness, figures=figures)
    return compare(case, name, 0, 0, claim, figures=figures)


def theorem3_types(case: Case) -> Check:
    """No task gains by a narrower window, more work or more memory than it has, alone or together; bid truthful."""
    name, claim = "theorem3_types", BY_TYPE
    auction = require_auction(case)
    figures: Figures = {"payment": auction.rule}
    if not auction.trace.exact:
        return leave_open(
            case, name, "float prices: misreports are followed in exact arithmetic only (arith=exact)", figures
        )
    before = PriceState(auction, SearchBudget(None))
    left, tried, every = SEARCHES, 0, True
    for i in range(case.instance.tasks):
        meter = SearchBudget(min(left, SEARCHES_OF_ONE))
        found = find_best_misreport(auction, i, auction.rule, meter, before)
        left, tried, every = left - meter.spent, tried + found.tries, every and found.every
        if found.lie is not None:
            gain, witness = _gain_by_lie(auction, i, found.lie, found.utility)
            return compare(case, name, gain, 0, claim, witness=witness, figures=figures)
        before.follow(auction.tasks[i])
    figures["misreports_tried"] = tried
    if not every:
        return leave_open(case, name, f"none of the {tried} misreports tried gains; not all were tried", figures)
    return compare(case, name, 0, 0, claim, figures=figures)


def _gain_by_lie(auction: Auction, i: int, lie: Misreport, utility: Fraction) -> tuple[Fraction, dict[str, Any]]:
    """What a misreport of the type brings more than the truth, and the witness."""
    truthful = fixed_curve(auction, i, auction.rule).utility(int(auction.instance.valuation[i]))
    witness = {"task": i, **lie._asdict(), "utility": str(truthful), "better_utility": str(utility)}
    return utility - truthful, witness


def theorem3_of(case: Case, task: int) -> Check:
    """`theorem3` of one bidder: its whole curve; where that cannot be followed, runs with other bids."""
    name, claim = "theorem3", BY_BID
    auction = require_auction(case)
    figures = _constants_shown(auction)
    if not (auction.oracle or auction.moving_units):
        result = theorem3_fixed_constants_of(case, task)
        return Check(name, result.status, result.left, result.right, result.reason, result.witness, figures)
    problem = explain_unfollowed(auction)
    if not problem:
        meter = SearchBudget(CHOSEN * SEARCHES)
        try:
            gain, witness = _gain(recompute_curve(auction, task, auction.rule, meter))
        except SearchLimitReached:
            problem = f"its curve takes more than {CHOSEN * SEARCHES} searches"
        else:
            return compare(case, name, gain, 0, claim, witness=witness, figures=figures)
    if task not in case.share(_unsure) and task in _unmoved(auction, [task]):
        gain, witness = _gain(fixed_curve(auction, task, auction.rule))
        if gain > 0:
            return compare(case, name, gain, 0, claim, witness=witness, figures=figures, scale=auction.scale)
    return _compare_tried(case, name, claim, problem, gain_by_bid(case, task), figures)


def _compare_tried(
    case: Case, name: str, claim: str, problem: str, found: str | MisreportTrials, figures: Figures
) -> Check:
    """A claim that could not be followed exactly, by runs with lies: what the best one gains in booked charges."""
    if isinstance(found, str):
        return leave_open(case, name, f"{problem}; {found}", figures)
    figures = figures | {"misreports_tried": found.reports}
    reason = f"{claim}, as booked in whole micro-dollars"
    return compare(
        case, name, found.gain, 0, reason, witness=found.witness, figures=figures, scale=require_auction(case).scale
    )


def theorem3_fixed_constants_of(case: Case, task: int) -> Check:
    """`theorem3_fixed_constants` of one bidder."""
    name, claim = "theorem3_fixed_constants", BY_BID_FIXED
    auction = require_auction(case)
    if task in case.share(_unsure):
        return leave_open(case, name, _near(task))
    gain, witness = _gain(fixed_curve(auction, task, auction.rule))
    figures: Figures = {"payment": auction.rule}
    return compare(case, name, gain, 0, claim, witness=witness, figures=figures, scale=auction.scale)


def theorem3_types_of(case: Case, task: int) -> Check:
    """`theorem3_types` of one bidder; of a run in doubles by runs with other reports."""
    name, claim = "theorem3_types", BY_TYPE
    auction = require_auction(case)
    figures: Figures = {"payment": auction.rule}
    if not auction.trace.exact:
        problem = "float prices: not every misreport is followed (arith=exact)"
        return _compare_tried(case, name, claim, problem, gain_by_type(case, task), figures)
    found = find_best_misreport(auction, task, auction.rule, SearchBudget(CHOSEN * SEARCHES))
    figures["misreports_tried"] = found.tries
    if found.lie is not None:
        gain, witness = _gain_by_lie(auction, task, found.lie, found.utility)
        return compare(case, name, gain, 0, claim, witness=witness, figures=figures)
    if not found.every:
        return leave_open(case, name, f"none of the {found.tries} misreports tried gains; not all were tried", figures)
    return compare(case, name, 0, 0, claim, figures=figures)
