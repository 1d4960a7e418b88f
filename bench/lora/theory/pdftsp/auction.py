"""A run of pdFTSP seen as an auction: what each task costs whatever it bids, what it pays, what the provider keeps.

With constants that the bid does not move, everything before task i is independent of its bid; so is its schedule (the
bid is the same term in every F), and with room for it the task wins with every bid above one cost c_i(l) = b_i - F(il).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from ratiobench.bench.lora.theory.basis.case import Case, Step, replay_offers
from ratiobench.bench.lora.theory.pdftsp.curve import Curve, make_threshold_curve
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.model import Instance, Public, Task
from ratiobench.online.lora.registry import parse
from ratiobench.online.lora.traces import Cell, PriceTrace
from ratiobench.online.outcome import OnlineRun, Source


@dataclass(frozen=True, eq=False)
class Auction:
    instance: Instance  # instance, trace: what was run
    trace: PriceTrace
    steps: Mapping[int, Step]  # its offers against the loads of their moment
    rule: str  # payment rule of the run
    oracle: frozenset[str]  # which of alpha and beta were taken from the bids
    moving_units: bool  # whether the units were, too

    @cached_property
    def public(self) -> Public:
        return self.instance.public("")

    @property
    def scale(self) -> int:
        """The size of what is compared, for rounding in runs in doubles."""
        return int(self.instance.bid.max(initial=0)) + int(self.instance.valuation.max(initial=0))

    @cached_property
    def tasks(self) -> list[Task]:
        return [self.instance.task(i) for i in range(self.instance.tasks)]

    @cached_property
    def likeness(self) -> list[int]:
        """A number per task; tasks of the same number are the same to the mechanism."""
        kinds: dict[Any, int] = {}
        return [
            kinds.setdefault(
                (t.arrival, t.deadline, t.memory_mb, t.work, t.bid, t.rate.tobytes(), t.cost.tobytes(), t.vendors),
                len(kinds),
            )
            for t in self.tasks
        ]

    @cached_property
    def costs(self) -> dict[int, Cost]:
        found = {}
        for i, (offer, _, misfit) in self.steps.items():
            bid, vendors = int(self.instance.bid[i]), self.instance.vendors(i)
            fee = vendors[offer.option].price if vendors else 0
            found[i] = Cost(bid - Fraction(offer.value or 0), bid - fee - offer.net, fee, offer.cells, misfit is None)
        return found


def auction_of(instance: Instance, run: OnlineRun, steps: Iterable[Step] | None = None) -> Auction:
    if not isinstance(run.trace, PriceTrace):
        raise InputError("algorithm", run.algorithm, "this run kept no offers: there is no utility curve, nor charges")
    oracle = {constant.name for constant in run.constants if constant.source is Source.ORACLE}
    return Auction(
        instance=instance,
        trace=run.trace,
        steps={step.offer.task: step for step in (replay_offers(instance, run.trace) if steps is None else steps)},
        rule=parse(run.algorithm).options["payment"],
        oracle=frozenset(oracle & {"alpha", "beta"}),
        moving_units=bool(oracle & {"canonical_money", "canonical_memory"}),
    )


def auction_of_case(case: Case) -> Auction:
    return auction_of(case.instance, case.run, case.steps)


class Cost(NamedTuple):
    """What task i costs whatever it bids: c_i(l), E of the schedule, its cells, and whether there is room for it."""

    total: Fraction
    energy: int
    fee: int
    cells: tuple[Cell, ...]
    fits: bool

    def payment(self, rule: str) -> Fraction:
        """(14) leaves the operational cost out; the critical payment is c_i(l)."""
        return self.total if rule == "critical" else self.total - self.energy


def fixed_curve(auction: Auction, task: int) -> Curve:
    """Lose up to c_i(l), win above it for a price that does not depend on the bid."""
    cost, valuation, rule = auction.costs.get(task), int(auction.instance.valuation[task]), auction.rule
    if cost is None or not cost.fits:
        return make_threshold_curve(task, valuation, rule, None, Fraction(0), ())
    return make_threshold_curve(task, valuation, rule, cost.total, cost.payment(rule), cost.cells)


class Charge(NamedTuple):
    """An admitted task's valuation, bid and charge, and what it costs the provider (vendor and operation)."""

    task: int
    valuation: int
    bid: int
    payment: Fraction
    outlay: int


def charges(auction: Auction) -> list[Charge]:
    """Every admitted task's bid and exact payment, in order."""
    instance, rule = auction.instance, auction.rule
    served = ((i, auction.costs[i]) for i, step in sorted(auction.steps.items()) if step.offer.admitted)
    return [
        Charge(i, int(instance.valuation[i]), int(instance.bid[i]), cost.payment(rule), cost.fee + cost.energy)
        for i, cost in served
    ]


def deficits(auction: Auction) -> dict[int, Fraction]:
    """q + E - p_i of every admitted task: what the provider pays more than it charges; negative is a surplus."""
    return {charge.task: charge.outlay - charge.payment for charge in charges(auction)}
