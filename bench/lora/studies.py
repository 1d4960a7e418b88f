"""Studies of bidders as tables and pictures: utility over the bid, and charges of the admitted tasks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ratiobench.bench.family.capabilities import Studies
from ratiobench.bench.family.suite import Study
from ratiobench.bench.lora.theory.basis.facts import find_outlay
from ratiobench.bench.lora.theory.pdftsp.auction import Charge, auction_of, charges
from ratiobench.bench.lora.theory.pdftsp.bids import utility_curve
from ratiobench.bench.lora.theory.pdftsp.curve import Curve, read_curve
from ratiobench.bench.report.pictures import COLORS, OPT, Picture, height_of, name_rows
from ratiobench.bench.show import format_number
from ratiobench.instances.io.errors import InputError, explain_unknown_name
from ratiobench.instances.lora.model import Instance
from ratiobench.online.lora.run import run
from ratiobench.online.lora.traces import PriceTrace
from ratiobench.online.outcome import OnlineRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ratiobench.bench.results.read import StudyTable

SAMPLE = 10  # Tasks shown of those that were charged, as in the paper
KINDS = {"curve": True, "charges": False}  # Kinds of studies, and whether one is about a single task


def study(instance: Instance, wanted: Study, prior: Instance | None = None) -> Sequence[Mapping[str, str]]:
    """The rows of a study: ``curve``, a row per piece of a task's curve, or ``charges``, a row per admitted task."""
    if wanted.kind not in KINDS:
        raise InputError("study", "kind", explain_unknown_name(wanted.kind, KINDS))
    played = run(instance, wanted.algorithm, prior=prior)
    if wanted.kind == "charges":
        return [{name: str(value) for name, value in charge._asdict().items()} for charge in _charges(instance, played)]
    if wanted.task is None:
        raise InputError("study", "task", "a curve is about one task")
    return list(utility_curve(instance, played, wanted.task).rows())


def _charges(instance: Instance, played: OnlineRun) -> list[Charge]:
    if isinstance(played.trace, PriceTrace):
        return charges(auction_of(instance, played))
    if played.revenue is None:
        raise InputError("algorithm", played.algorithm, "no payment rule: there are no charges")
    rows = zip(instance.valuation.tolist(), instance.bid.tolist(), played.decisions, strict=True)
    return [
        Charge(i, valuation, bid, Fraction(decision.payment or 0), find_outlay(instance, i, decision))
        for i, (valuation, bid, decision) in enumerate(rows)
        if decision is not None
    ]


def read_charges(rows: Sequence[Mapping[str, str]]) -> list[Charge]:
    return [
        Charge(int(row["task"]), int(row["valuation"]), int(row["bid"]), Fraction(row["payment"]), int(row["outlay"]))
        for row in rows
    ]


class BestBid(NamedTuple):
    bid: Fraction
    utility: Fraction
    is_reached: bool = True  # False: no bid gains as much as those close enough to this one nearly do

    def describe(self) -> str:
        bid, utility = format_number(self.bid), format_number(self.utility)
        return f"the bid {bid} gains {utility}" if self.is_reached else f"bids close to {bid} gain nearly {utility}"


def find_best(curve: Curve) -> tuple[Fraction, BestBid]:
    """The utility of the truthful bid, and the best bid: the truthful one unless another gains more."""
    truthful = curve.utility(curve.valuation)
    best = BestBid(Fraction(curve.valuation), truthful)
    for piece in curve.pieces:
        at_low, at_high = (curve.utility_in(piece, bid) for bid in (piece.low, piece.high))
        for bid, utility, is_included in ((piece.low, at_low, piece.low_in), (piece.high, at_high, piece.high_in)):
            if utility > best.utility:
                is_flat = at_low == at_high
                inside = piece.low + min(Fraction(1), (piece.high - piece.low) / 2)
                best = BestBid(inside if is_flat and not is_included else bid, utility, is_included or is_flat)
    return truthful, best


def draw_study(table: StudyTable, plot: str, unit: str) -> Picture:
    study = table.study
    name = f"{plot}-" + re.sub(r"\W+", "-", f"{table.case} {study.name}").strip("-").lower()
    if study.kind == "charges":
        listed = read_charges(table.rows)
        height = height_of([f"{charge.task}" for charge in take_sample(listed)], above=1.0)
        draw = partial(draw_charges, charges=listed, unit=unit)
        return Picture(f"{table.case}: {study.algorithm}", draw, height, name, describe_charges(listed))
    curve = read_curve(table.rows)
    title = f"{table.case}: task {study.task}, {study.algorithm}"
    return Picture(title, partial(draw_curve, curve=curve, unit=unit), 3.0, name, describe_best_bid(curve))


def describe_best_bid(curve: Curve) -> str:
    truthful, best = find_best(curve)
    valuation = format_number(curve.valuation)
    if best.utility == truthful:
        return f"No bid gains more than the valuation {valuation}, which gains {format_number(truthful)}."
    return f"The valuation {valuation} gains {format_number(truthful)}; {best.describe()}."


def describe_charges(charges: Sequence[Charge]) -> str:
    return (
        f"{min(len(charges), SAMPLE)} of {len(charges)} admitted tasks, evenly spaced. Of all of them "
        f"{sum(charge.payment < charge.outlay for charge in charges)} pay less than they cost the provider, "
        f"{sum(charge.bid < charge.payment for charge in charges)} more than they bid."
    )


def take_sample(rows: Sequence[Charge]) -> list[Charge]:
    """At most `SAMPLE` rows, evenly spaced, in order, the first and the last among them."""
    count = min(len(rows), SAMPLE)
    return [rows[round(place * (len(rows) - 1) / max(1, count - 1))] for place in range(count)]


def draw_curve(axes: Axes, curve: Curve, unit: str) -> None:
    """Utility over the bid: exact pieces, open ends hollow; the valuation as a line, the best bid as a ring."""
    _, top = find_best(curve)
    breaks = [piece.low for piece in curve.pieces[1:]]
    near = [bid * Fraction(23, 20) for bid in breaks if bid <= 3 * curve.valuation]
    right = max([curve.valuation * Fraction(3, 2), top.bid * Fraction(23, 20), *near, Fraction(1)])
    for piece in curve.pieces:
        if piece.low <= right:
            bids = [piece.low, min(piece.high, right)]
            utilities = [float(curve.utility_in(piece, bid)) for bid in bids]
            axes.plot([float(bid) for bid in bids], utilities, color=COLORS[0])
    for bid in breaks:
        meeting = [piece for piece in curve.pieces if piece.low <= bid <= piece.high]
        at = {(curve.utility_in(piece, bid), piece.has(bid)) for piece in meeting}
        heights = {height for height, _ in at}
        for height in heights if len(heights) > 1 and bid <= right else ():  # a jump: full where the end belongs to it
            fill = COLORS[0] if (height, True) in at else "white"
            axes.plot(float(bid), float(height), "o", markersize=4, color=COLORS[0], markerfacecolor=fill)
    valuation = float(curve.valuation)
    axes.axvline(valuation, color=OPT, linestyle="--", linewidth=1)
    axes.annotate("valuation", (valuation, 1), xycoords=("data", "axes fraction"), color=OPT, fontsize=8)
    axes.plot(float(top.bid), float(top.utility), "o", markersize=9, color=OPT, markerfacecolor="none")
    axes.axhline(0, color="#999999", linewidth=0.6)
    axes.set_xlim(0, float(right))
    axes.set_xlabel(f"bid, {unit}")
    axes.set_ylabel(f"utility, {unit}")


def draw_charges(axes: Axes, charges: Sequence[Charge], unit: str) -> None:
    """Bid (circle), payment (square) and the provider's outlay (bar) of some admitted tasks, a row each."""
    sample = take_sample(charges)
    name_rows(axes, [f"task {charge.task}" for charge in sample])
    for place, charge in enumerate(sample):
        amounts = [float(value) for value in (charge.bid, charge.payment, charge.outlay)]
        axes.plot([min(amounts), max(amounts)], [place, place], color="#bbbbbb", linewidth=0.8, zorder=1)
    for name, marker, color in (("bid", "o", COLORS[0]), ("payment", "s", COLORS[2]), ("outlay", "|", OPT)):
        values = [float(getattr(charge, name)) for charge in sample]
        fill = "none" if name == "bid" else color
        axes.plot(values, range(len(sample)), marker, label=name, color=color, markerfacecolor=fill, markersize=6)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, fontsize=8)
    axes.set_xlabel(unit)


STUDIES = Studies(study, draw_study, KINDS)
