"""Theorems 3 and 4 of the main paper on one run: what misreports gain, and what bidders and the provider lose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from heapq import nlargest
from typing import Any

from ratiobench.bench.family.checks import Check
from ratiobench.bench.lora.theory.basis.case import Case, Figures
from ratiobench.bench.lora.theory.basis.facts import ROUNDING, SearchBudget, SearchLimitReached
from ratiobench.bench.lora.theory.basis.verdicts import compare, explain_negative_cost, leave_open
from ratiobench.bench.lora.theory.payments.truthfulness import BY_BID, BY_TYPE, compare_by_trials
from ratiobench.bench.lora.theory.pdftsp.auction import Auction, auction_of_case, deficits, fixed_curve
from ratiobench.bench.lora.theory.pdftsp.bids import explain_unfollowed, recompute_curve
from ratiobench.bench.lora.theory.pdftsp.curve import Curve
from ratiobench.bench.lora.theory.pdftsp.misreports import find_best_misreport
from ratiobench.bench.lora.theory.pdftsp.price_state import first_state
from ratiobench.instances.io.fields import LIMIT

SEARCHES = 4000  # Most schedule searches that one check in an audit makes before it says `undecided`
SEARCHES_OF_ONE = 500  # Most of them for the misreports of a single task
CHOSEN = 40  # As many searches may be made for a single bidder as in this many checks: about a minute


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
    """The tasks of a run in doubles whose valuation is within rounding of their cost."""
    auction = case.share(auction_of_case)
    if auction.trace.exact:
        return set()
    values = auction.instance.valuation.tolist()
    fitting = ((i, values[i], cost.total) for i, cost in auction.costs.items() if cost.fits)
    return {i for i, value, total in fitting if abs(value - total) <= ROUNDING * (value + abs(total))}


def _fixed_gains(case: Case) -> list[Fraction]:
    """U_i(b) - U_i(v_i) of every task for the bid that gains most, constants kept: `_gain` of each `fixed_curve`."""
    auction, unsure = case.share(auction_of_case), case.share(_unsure)
    gains = [Fraction(0)] * auction.instance.tasks
    values = auction.instance.valuation.tolist()
    for i, cost in auction.costs.items():
        if cost.fits and cost.total < LIMIT and i not in unsure:
            surplus = values[i] - cost.payment(auction.rule)
            if values[i] <= cost.total:
                gains[i] = max(surplus, Fraction(0))
            elif cost.total >= 0:
                gains[i] = max(-surplus, Fraction(0))
    return gains


def theorem3_fixed_constants(case: Case, task: int | None = None) -> Check:
    """No bid is better than the valuation, with alpha and beta as they were in the run."""
    auction, unsure = case.share(auction_of_case), case.share(_unsure)
    best, doubtful = task, task
    if best is None:
        gains = case.share(_fixed_gains)
        best = max(range(case.instance.tasks), key=lambda i: gains[i])
        doubtful = None if gains[best] else min(unsure, default=None)
    if doubtful in unsure:
        return leave_open(case, f"float prices: the cost of task {doubtful} is within rounding of its valuation")
    gain, witness = _gain(fixed_curve(auction, best))
    figures: Figures = {"payment": auction.rule}
    return compare(case, gain, 0, f"{BY_BID}, constants kept", witness=witness, figures=figures, scale=auction.scale)


def _unmoved(auction: Auction, tasks: Iterable[int]) -> Iterator[int]:
    """Of these tasks those of which neither the valuation nor the bid nor the better bid is the largest b/M or b/r."""
    if auction.moving_units:
        return
    instance = auction.instance
    bids, sizes = instance.bid.tolist(), {"alpha": instance.work.tolist(), "beta": instance.memory_mb.tolist()}
    ratios = {name: ((Fraction(bids[i], size), i) for i, size in enumerate(sizes[name])) for name in auction.oracle}
    tops = {name: nlargest(2, pairs) for name, pairs in ratios.items()}
    for i in tasks:
        better, _ = fixed_curve(auction, i).best()
        most = max(better, Fraction(bids[i]), Fraction(int(instance.valuation[i])))
        others = {name: next((value for value, j in top if j != i), Fraction(0)) for name, top in tops.items()}
        if all(most <= others[name] * sizes[name][i] for name in tops):
            yield i


def theorem3(case: Case, task: int | None = None) -> Check:
    """No bid is better than the valuation; constants that came from the bids follow the misreport."""
    auction = case.share(auction_of_case)
    figures: Figures = {"payment": auction.rule, "recomputed": ", ".join(sorted(auction.oracle)) or "none"}
    if not (auction.oracle or auction.moving_units):
        return replace(theorem3_fixed_constants(case, task), figures=figures)
    fixed = case.share(_fixed_gains)
    # First those that gain already while the constants stay: they often gain here, too.
    ranked = sorted(range(case.instance.tasks), key=lambda i: -fixed[i]) if task is None else [task]
    problem = explain_unfollowed(auction)
    searches = SEARCHES if task is None else CHOSEN * SEARCHES
    meter = SearchBudget(searches)
    for count, i in enumerate(() if problem else ranked):
        try:
            gain, witness = _gain(recompute_curve(auction, i, meter))
        except SearchLimitReached:
            problem = f"its curve takes more than {searches} searches"
            if task is None:
                figures |= {"tasks_followed": count}
                problem = f"{count} of {case.instance.tasks} tasks followed, none gains"
            break
        if gain > 0:
            return compare(case, gain, 0, BY_BID, witness=witness, figures=figures)
    if not problem:
        return compare(case, 0, 0, BY_BID, figures=figures)
    # Whoever gains while the constants stay, by a bid that moves none of them, gains.
    for i in _unmoved(auction, (i for i in ranked if fixed[i] > 0)):
        gain, witness = _gain(fixed_curve(auction, i))
        return compare(case, gain, 0, BY_BID, witness=witness, figures=figures, scale=auction.scale)
    if task is None:
        return leave_open(case, problem, figures)
    return compare_by_trials(case, task, BY_BID, problem, figures, auction.scale)


def theorem3_types(case: Case, task: int | None = None) -> Check:
    """No task gains by a narrower window, more work or more memory than it has, alone or together; bid truthful."""
    auction = case.share(auction_of_case)
    figures: Figures = {"payment": auction.rule}
    if not auction.trace.exact and task is None:
        return leave_open(case, "float prices: misreports are followed in exact arithmetic only (arith=exact)", figures)
    if not auction.trace.exact and task is not None:
        problem = "float prices: not every misreport is followed (arith=exact)"
        return compare_by_trials(case, task, BY_TYPE, problem, figures, auction.scale)
    before = first_state(auction)
    left, tried, every = SEARCHES, 0, True
    for i in range(case.instance.tasks if task is None else task + 1):
        if task in (None, i):
            meter = SearchBudget(min(left, SEARCHES_OF_ONE) if task is None else CHOSEN * SEARCHES)
            found = find_best_misreport(auction, i, meter, before)
            left, tried, every = left - meter.spent, tried + found.tries, every and found.every
            if found.lie is not None:
                if task is not None:
                    figures["misreports_tried"] = tried
                truthful = fixed_curve(auction, i).utility(int(case.instance.valuation[i]))
                shown = {"utility": str(truthful), "better_utility": str(found.utility)}
                witness = {"task": i, **found.lie._asdict(), **shown}
                return compare(case, found.utility - truthful, 0, BY_TYPE, witness=witness, figures=figures)
        before = before.follow(auction.tasks[i])
    figures["misreports_tried"] = tried
    if not every:
        return leave_open(case, f"none of the {tried} misreports tried gains; not all were tried", figures)
    return compare(case, 0, 0, BY_TYPE, figures=figures)


def _worst_loss(case: Case, claim: str, *, any_bid: bool) -> Check:
    auction = case.share(auction_of_case)
    # (14) leaves the operational cost out: with a negative one it can charge more than the bid.
    problem = explain_negative_cost(case) if auction.rule == "printed" and not any_bid else ""
    worst, witness = Fraction(0), None
    for i in range(case.instance.tasks):
        cost, valuation = auction.costs.get(i), int(case.instance.valuation[i])
        if cost is None or not cost.fits or not (any_bid or valuation > cost.total):
            continue
        loss = cost.payment(auction.rule) - valuation
        if loss > worst:
            bid = max(0, cost.total.__floor__() + 1) if any_bid else valuation
            worst, witness = loss, {"task": i, "valuation": valuation, "bid": bid, "utility": str(-loss)}
    figures: Figures = {"payment": auction.rule}
    scale = auction.scale if worst else 0
    return compare(case, worst, 0, claim, problem=problem, witness=witness, figures=figures, scale=scale)


def theorem4(case: Case) -> Check:
    """A truthful bid never loses: p_i <= v_i of every task that wins with b_i = v_i."""
    return _worst_loss(case, "largest loss p_i - v_i of a truthful bid", any_bid=False)


def theorem4_literal(case: Case) -> Check:
    """Definition 3 as printed: no bid at all ends in a loss."""
    return _worst_loss(case, "largest loss p_i - v_i of any bid", any_bid=True)


def provider_deficit(case: Case) -> Check:
    """The charge covers the vendor's price and the operational cost of every admitted task."""
    claim = "largest deficit q + sum e - p_i of an admitted task"
    auction = case.share(auction_of_case)
    found = deficits(auction)
    short = {i: value for i, value in found.items() if value > 0}
    worst = max(found, key=lambda i: found[i], default=None)
    figures: Figures = {"payment": auction.rule, "tasks_in_deficit": len(short)}
    figures |= {"sum_of_deficits": sum(short.values(), Fraction(0)), "net_revenue": -sum(found.values(), Fraction(0))}
    if worst is None:
        return compare(case, None, None, f"{claim}; none was admitted", figures=figures)
    witness = {"task": worst, "deficit": str(found[worst]), "tasks": sorted(short)}
    scale = auction.scale if found[worst] else 0
    return compare(case, found[worst], 0, claim, witness=witness, figures=figures, scale=scale)
