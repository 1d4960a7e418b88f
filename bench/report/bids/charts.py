"""Panels of a bidder's curve, and of what the admitted bid and pay."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ratiobench.bench.draw.marks import format_exactly
from ratiobench.bench.draw.scales import Axis
from ratiobench.bench.draw.svg import Frame, Panel
from ratiobench.bench.report.bids.data import Charge, CurvePiece, find_best, has_bid, take_sample, utility_of


def draw_curve(curve: Sequence[CurvePiece], label: str, unit: str) -> str:
    """Utility over the bid: exact pieces, open ends hollow; the valuation as a line, the best bid as a ring."""
    valuation = curve[0].valuation
    truthful, top = find_best(curve)
    breaks = [piece.bid_from for piece in curve[1:]]
    right = max([valuation * Fraction(3, 2), top.bid * Fraction(23, 20), *_near(breaks, valuation), Fraction(1)])
    pieces = [piece for piece in curve if piece.bid_from <= right]
    heights = [float(utility_of(piece, end)) for piece in pieces for end in _limits(piece, right)]
    low, high = min(0.0, *heights, float(top.utility)), max(0.0, *heights, float(top.utility))
    margin = 0.07 * ((high - low) or 1)
    frame = Frame(
        label, Axis(0, float(right), f"bid, {unit}"), Axis(low - margin, high + margin, "utility"), height=215, above=20
    )
    if low < 0 < high:
        frame.line("zero", (frame.x.start, frame.y(0)), (frame.x.end, frame.y(0)))
    place = frame.x(float(valuation))
    with frame.mark(f"valuation {format_exactly(valuation)}: the truthful bid gains {format_exactly(truthful)}"):
        frame.line("opt dashed", (place, frame.top), (place, frame.bottom))
        frame.text(place, 10, "valuation", "middle", "of-opt")
    for piece in pieces:
        ends = _limits(piece, right)
        gains = [utility_of(piece, end) for end in ends]
        text = " to ".join(dict.fromkeys(map(format_exactly, gains)))
        upper = format_exactly(ends[1]) if ends[1] == piece.bid_to else "the edge and beyond"
        with frame.mark(f"bid {format_exactly(ends[0])} to {upper}: utility {text}"):
            frame.line("thick", *((frame.x(float(b)), frame.y(float(u))) for b, u in zip(ends, gains, strict=True)))
    for bid in breaks:
        if bid <= right:
            _ends(frame, curve, bid)
    at = top.mark_place(right)
    with frame.mark(f"{top.describe(format_exactly)}: utility {format_exactly(top.utility)}"):
        frame.dot("ring", frame.x(float(at)), frame.y(float(top.utility)), 6)
    return frame.render()


def _limits(piece: CurvePiece, right: Fraction) -> tuple[Fraction, Fraction]:
    return piece.bid_from, min(piece.bid_to, right)


def _near(breaks: Sequence[Fraction], valuation: Fraction) -> list[Fraction]:
    return [bid * Fraction(23, 20) for bid in breaks if bid <= 3 * valuation]


def _ends(frame: Frame, pieces: Sequence[CurvePiece], bid: Fraction) -> None:
    """At a jump: a full dot where the end belongs to its piece, a hollow one where it does not."""
    at = [(utility_of(each, bid), has_bid(each, bid)) for each in pieces if each.bid_from <= bid <= each.bid_to]
    heights = dict.fromkeys(height for height, _ in at)
    if len(heights) < 2:
        return
    full = {height for height, belongs in at if belongs}
    for height in heights:
        frame.dot("dot" if height in full else "hollow", frame.x(float(bid)), frame.y(float(height)))


def draw_charges(charges: Sequence[Charge], label: str, unit: str) -> str:
    """Bid (ring), payment (square) and the provider's outlay (bar) of some admitted tasks, a row each."""
    shown = take_sample(charges)
    figures = [(each.bid, each.payment, each.outlay) for each in shown]
    every = [float(value) for each in figures for value in each]
    low, high = min(0.0, *every), max(0.0, *every)
    margin = 0.04 * ((high - low) or 1)
    axis = Axis(low - margin * (low < 0), high + margin, unit, most=5)
    panel = Panel(label, [f"task {each.task}" for each in shown], axis, top=22)
    for place, (name, draw) in enumerate((("bid", _draw_bid), ("payment", _draw_payment), ("outlay", _draw_outlay))):
        x = panel.x.start + 10 + 75 * place
        draw(panel, x, 9)
        panel.text(x + 9, 9, name)
    for place, (charge, each) in enumerate(zip(shown, figures, strict=True)):
        bid, payment, outlay = (panel.x(float(value)) for value in each)
        text = ", ".join(
            f"{name} {format_exactly(value)}" for name, value in zip(("bid", "payment", "outlay"), each, strict=True)
        )
        with panel.line_of(place, f"task {charge.task}: {text}") as y:
            panel.line("grid", (min(bid, payment, outlay), y), (max(bid, payment, outlay), y))
            _draw_bid(panel, bid, y)
            _draw_payment(panel, payment, y)
            _draw_outlay(panel, outlay, y)
    return panel.render()


def _draw_bid(panel: Panel, x: float, y: float) -> None:
    panel.dot("hollow", x, y, 3.5)


def _draw_payment(panel: Panel, x: float, y: float) -> None:
    panel.box("dot", x - 2.5, y - 2.5, x + 2.5, y + 2.5)


def _draw_outlay(panel: Panel, x: float, y: float) -> None:
    panel.line("opt", (x, y - 6), (x, y + 6))
