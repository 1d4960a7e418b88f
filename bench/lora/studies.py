"""Tables for figures about bidding: the utility curve of a bidder, and what the admitted bid and pay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from ratiobench.bench.family.capabilities import Studies
from ratiobench.bench.family.suite import Study
from ratiobench.bench.lora.bids import draw_study
from ratiobench.bench.lora.theory.basis.facts import find_outlay
from ratiobench.bench.lora.theory.pdftsp.auction import Charge, auction_of, charges
from ratiobench.bench.lora.theory.pdftsp.bids import utility_curve
from ratiobench.instances.io.errors import InputError, explain_unknown_name
from ratiobench.instances.lora.model import Instance
from ratiobench.online.lora.run import run
from ratiobench.online.lora.traces import PriceTrace
from ratiobench.online.outcome import OnlineRun

KINDS = {"curve": True, "charges": False}  # Kinds of studies, and whether one is about a single task


def study(instance: Instance, wanted: Study, prior: Instance | None = None) -> Sequence[Mapping[str, str]]:
    """The rows of a study.

    ``curve``: a row per piece of one task's utility curve over its bid, as `Curve.rows` gives them (what Figure 10 of
    the paper shows of one task). ``charges``: valuation, bid, payment (exact under pdFTSP's rules, else as booked), and
    the provider's outlay (vendor and operation) of every admitted task (Figure 11 shows ten). Micro-dollars.
    """
    if wanted.kind not in KINDS:
        raise InputError("study", "kind", explain_unknown_name(wanted.kind, KINDS))
    played = run(instance, wanted.algorithm, prior=prior)
    if wanted.kind == "charges":
        return [
            {
                "task": str(charge.task),
                "valuation": str(charge.valuation),
                "bid": str(charge.bid),
                "payment": str(charge.payment),
                "outlay": str(charge.outlay),
            }
            for charge in _charges(instance, played)
        ]
    if wanted.task is None:
        raise InputError("study", "task", "a curve is about one task")
    return list(utility_curve(instance, played, wanted.task).rows())


def _charges(instance: Instance, played: OnlineRun) -> list[Charge]:
    if isinstance(played.trace, PriceTrace):
        auction = auction_of(instance, played)
        return charges(auction, auction.rule)
    if played.revenue is None:
        raise InputError("algorithm", played.algorithm, "no payment rule: there are no charges")
    charged = [(i, decision) for i, decision in enumerate(played.decisions) if decision is not None]
    return [
        Charge(
            task=i,
            valuation=int(instance.valuation[i]),
            bid=int(instance.bid[i]),
            payment=Fraction(decision.payment or 0),
            outlay=find_outlay(instance, i, decision),
        )
        for i, decision in charged
    ]


STUDIES = Studies(study, draw_study, KINDS)
