"""Theorem 4 of the main paper, for truthful bids and as printed, and what the provider loses by (14), on one run."""

from __future__ import annotations

from fractions import Fraction

from ratiobench.bench.family.checks import Check
from ratiobench.bench.lora.theory.basis.assumptions import explain_negative_cost
from ratiobench.bench.lora.theory.basis.case import Case, Figures
from ratiobench.bench.lora.theory.basis.verdicts import compare
from ratiobench.bench.lora.theory.pdftsp.auction import cost_of, deficits, require_auction


def _worst_loss(case: Case, name: str, claim: str, *, any_bid: bool) -> Check:
    auction = require_auction(case)
    # (14) leaves the operational cost out: with a negative one it can charge more than the bid.
    problem = explain_negative_cost(case) if auction.rule == "printed" and not any_bid else ""
    worst, witness = Fraction(0), None
    for i in range(case.instance.tasks):
        cost, valuation = cost_of(auction, i), int(case.instance.valuation[i])
        if cost is None or not cost.fits or not (any_bid or valuation > cost.total):
            continue
        loss = cost.payment(auction.rule) - valuation
        if loss > worst:
            bid = max(0, cost.total.__floor__() + 1) if any_bid else valuation
            worst, witness = loss, {"task": i, "valuation": valuation, "bid": bid, "utility": str(-loss)}
    figures: Figures = {"payment": auction.rule}
    return compare(
        case,
        name,
        worst,
        0,
        claim,
        problem=problem,
        witness=witness,
        figures=figures,
        scale=auction.scale if worst else 0,
    )


def theorem4(case: Case) -> Check:
    """A truthful bid never loses: p_i <= v_i of every task that wins with b_i = v_i."""
    return _worst_loss(case, "theorem4", "largest loss p_i - v_i of a truthful bid", any_bid=False)


def theorem4_literal(case: Case) -> Check:
    """Definition 3 as printed: no bid at all ends in a loss."""
    return _worst_loss(case, "theorem4_literal", "largest loss p_i - v_i of any bid", any_bid=True)


def provider_deficit(case: Case) -> Check:
    """The charge covers the vendor's price and the operational cost of every admitted task."""
    name, claim = "provider_deficit", "largest deficit q + sum e - p_i of an admitted task"
    auction = require_auction(case)
    found = deficits(auction, auction.rule)
    short = {i: value for i, value in found.items() if value > 0}
    worst = max(found, key=lambda i: found[i], default=None)
    figures: Figures = {
        "payment": auction.rule,
        "tasks_in_deficit": len(short),
        "sum_of_deficits": sum(short.values(), Fraction(0)),
        "net_revenue": -sum(found.values(), Fraction(0)),
    }
    if worst is None:
        return compare(case, name, None, None, f"{claim}; none was admitted", figures=figures)
    witness = {"task": worst, "deficit": str(found[worst]), "tasks": sorted(short)}
    return compare(
        case, name, found[worst], 0, claim, witness=witness, figures=figures, scale=auction.scale if found[worst] else 0
    )
