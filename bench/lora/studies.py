"""Tables for figures about bidding: the utility curve of a bidder, and what the admitted bid and pay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.family import Study
from bench.lora.theory.auction import auction_of, charges
from bench.lora.theory.bids import utility_curve
from instances.errors import InputError, shown
from instances.lora.model import Instance
from online.lora.registry import run

KINDS = ("curve", "charges")


def study(instance: Instance, wanted: Study, prior: Instance | None = None) -> Sequence[Mapping[str, str]]:
    """The rows of a study.

    ``curve``: a row per piece of one task's utility curve over its bid, as `theory.curve.Curve.rows` gives them (what
    Figure 10 of the paper shows of one task). ``charges``: valuation, bid, exact payment under the run's rule, and the
    provider's outlay (vendor and operation) of every admitted task (Figure 11 shows ten). Micro-dollars.

    Raises
    ------
    InputError : an unknown kind, a curve without a task, an algorithm that is no pdFTSP.
    """
    if wanted.kind not in KINDS:
        raise InputError("study", "kind", f"{shown(wanted.kind)} is not one of {', '.join(KINDS)}")
    played = run(instance, wanted.algorithm, prior=prior)
    if wanted.kind == "charges":
        auction = auction_of(instance, played)
        return [
            {
                "task": str(charge.task),
                "valuation": str(charge.valuation),
                "bid": str(charge.bid),
                "payment": str(charge.payment),
                "outlay": str(charge.outlay),
            }
            for charge in charges(auction, auction.rule)
        ]
    if wanted.task is None:
        raise InputError("study", "task", "a curve is about one task")
    return list(utility_curve(instance, played, wanted.task).rows())
