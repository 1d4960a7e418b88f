"""Pictures of studies of bidders: utility over the bid, piece by piece, and what the admitted tasks are charged."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ratiobench.bench.report.pictures import COLORS, OPT, Picture, height_of, name_rows
from ratiobench.bench.show import format_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ratiobench.bench.results.read import StudyTable

SAMPLE = 10  # Tasks shown of those that were charged, as in the paper


class PieceEnd(NamedTuple):
    """An end of a piece: its bid, the utility there, and whether it belongs to the piece."""

    bid: Fraction
    utility: Fraction
    is_included: bool


class CurvePiece(NamedTuple):
    """A piece of a bidder's curve, on which utility is linear in the bid; exact."""

    valuation: Fraction  # of the task, the same in all pieces
    low: PieceEnd
    high: PieceEnd


class Charge(NamedTuple):
    """An admitted task: what it bids and pays, and what it costs the provider; exact."""

    task: str
    bid: Fraction
    payment: Fraction
    outlay: Fraction


def read_curve(rows: Sequence[Mapping[str, str]]) -> list[CurvePiece]:
    """The pieces of a stored study of kind `curve`."""

    def end(row: Mapping[str, str], side: str) -> PieceEnd:
        return PieceEnd(
            Fraction(row[f"bid_{side}"]), Fraction(row[f"utility_{side}"]), row[f"{side}_included"] == "true"
        )

    return [CurvePiece(Fraction(row["valuation"]), end(row, "from"), end(row, "to")) for row in rows]


def read_charges(rows: Sequence[Mapping[str, str]]) -> list[Charge]:
    """The tasks of a stored study of kind `charges`."""
    return [Charge(row["task"], *(Fraction(row[name]) for name in ("bid", "payment", "outlay"))) for row in rows]


class BestBid(NamedTuple):
    """A bid that gains most, exact."""

    bid: Fraction
    utility: Fraction
    is_reached: bool = True  # False: no bid gains as much as those close enough to this one nearly do

    def describe(self) -> str:
        """What it gains, in words."""
        bid, utility = format_number(self.bid), format_number(self.utility)
        return f"the bid {bid} gains {utility}" if self.is_reached else f"bids close to {bid} gain nearly {utility}"


def find_best(pieces: Sequence[CurvePiece]) -> tuple[Fraction, BestBid]:
    """The utility of the truthful bid, and the best bid: the truthful one unless another gains more."""
    valuation = pieces[0].valuation
    truthful = utility_of(next(piece for piece in pieces if has_bid(piece, valuation)), valuation)
    best = BestBid(valuation, truthful)
    for _, low, high in pieces:
        for end, other in ((low, high), (high, low)):
            if end.utility > best.utility:
                is_flat = end.utility == other.utility
                inside = low.bid + min(Fraction(1), (high.bid - low.bid) / 2)
                bid = inside if is_flat and not end.is_included else end.bid
                best = BestBid(bid, end.utility, end.is_included or is_flat)
    return truthful, best


def has_bid(piece: CurvePiece, bid: Fraction) -> bool:
    """Whether the bid belongs to the piece."""
    _, low, high = piece
    return (low.bid < bid or (low.bid == bid and low.is_included)) and (
        bid < high.bid or (bid == high.bid and high.is_included)
    )


def utility_of(piece: CurvePiece, bid: Fraction) -> Fraction:
    """The utility of a bid on the line between the ends of a piece."""
    _, low, high = piece
    if low.bid == high.bid:
        return low.utility
    return low.utility + (high.utility - low.utility) * (bid - low.bid) / (high.bid - low.bid)


# What is shown.


def draw_study(table: StudyTable, plot: str, unit: str) -> Picture:
    """The picture of a study, with its counts."""
    study = table.study
    name = f"{plot}-" + re.sub(r"\W+", "-", f"{table.case} {study.name}").strip("-").lower()
    if study.kind == "charges":
        charges = read_charges(table.rows)
        height = height_of([charge.task for charge in take_sample(charges)], above=1.0)
        draw = partial(draw_charges, charges=charges, unit=unit)
        return Picture(f"{table.case}: {study.algorithm}", draw, height, name, describe_charges(charges))
    curve = read_curve(table.rows)
    title = f"{table.case}: task {study.task}, {study.algorithm}"
    return Picture(title, partial(draw_curve, curve=curve, unit=unit), 3.0, name, describe_best_bid(curve))


def describe_best_bid(curve: Sequence[CurvePiece]) -> str:
    """What the best bid gains beside the truthful one."""
    truthful, best = find_best(curve)
    valuation = format_number(curve[0].valuation)
    if best.utility == truthful:
        return f"No bid gains more than the valuation {valuation}, which gains {format_number(truthful)}."
    return f"The valuation {valuation} gains {format_number(truthful)}; {best.describe()}."


def describe_charges(charges: Sequence[Charge]) -> str:
    """How many of the admitted tasks pay less than they cost, or more than they bid."""
    return (
        f"{min(len(charges), SAMPLE)} of {len(charges)} admitted tasks, evenly spaced. Of all of them "
        f"{sum(charge.payment < charge.outlay for charge in charges)} pay less than they cost the provider, "
        f"{sum(charge.bid < charge.payment for charge in charges)} more than they bid."
    )


def take_sample(rows: Sequence[Charge]) -> list[Charge]:
    """At most `SAMPLE` rows, evenly spaced, in order, the first and the last among them."""
    if len(rows) <= SAMPLE:
        return list(rows)
    return [rows[round(place * (len(rows) - 1) / (SAMPLE - 1))] for place in range(SAMPLE)]


def draw_curve(axes: Axes, curve: Sequence[CurvePiece], unit: str) -> None:
    """Utility over the bid: exact pieces, open ends hollow; the valuation as a line, the best bid as a ring."""
    valuation = curve[0].valuation
    _, top = find_best(curve)
    breaks = [piece.low.bid for piece in curve[1:]]
    near = [bid * Fraction(23, 20) for bid in breaks if bid <= 3 * valuation]
    right = max([valuation * Fraction(3, 2), top.bid * Fraction(23, 20), *near, Fraction(1)])
    for piece in curve:
        if piece.low.bid <= right:
            bids = [piece.low.bid, min(piece.high.bid, right)]
            axes.plot([float(bid) for bid in bids], [float(utility_of(piece, bid)) for bid in bids], color=COLORS[0])
    for bid in breaks:
        at = {
            (utility_of(piece, bid), has_bid(piece, bid)) for piece in curve if piece.low.bid <= bid <= piece.high.bid
        }
        heights = {height for height, _ in at}
        for height in heights if len(heights) > 1 and bid <= right else ():  # a jump: full where the end belongs to it
            fill = COLORS[0] if (height, True) in at else "white"
            axes.plot(float(bid), float(height), "o", markersize=4, color=COLORS[0], markerfacecolor=fill)
    axes.axvline(float(valuation), color=OPT, linestyle="--", linewidth=1)
    axes.annotate("valuation", (float(valuation), 1), xycoords=("data", "axes fraction"), color=OPT, fontsize=8)
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
        ends = sorted(float(value) for value in charge[1:])
        axes.plot([ends[0], ends[-1]], [place, place], color="#bbbbbb", linewidth=0.8, zorder=1)
    for name, marker, color in (("bid", "o", COLORS[0]), ("payment", "s", COLORS[2]), ("outlay", "|", OPT)):
        values = [float(getattr(charge, name)) for charge in sample]
        fill = "none" if name == "bid" else color
        axes.plot(values, range(len(sample)), marker, label=name, color=color, markerfacecolor=fill, markersize=6)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, fontsize=8)
    axes.set_xlabel(unit)
