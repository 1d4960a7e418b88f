"""Panels of a bidder's curve, and of what the admitted bid and pay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.figures.bids import find_best, has_bid, take_sample, utility_of
from bench.figures.svg import DATA, MUTED, OPT, STYLE, WIDTH, draw_panel, render_svg, use_plain_numbers


def draw_curve(rows: Sequence[Mapping[str, str]], label: str, unit: str) -> str:
    """Utility over the bid: exact pieces, open ends hollow; the valuation as a line, the best bid as a ring."""
    valuation = Fraction(rows[0]["valuation"])
    _, top = find_best(rows)
    breaks = [Fraction(row["bid_from"]) for row in rows[1:]]
    right = max([valuation * Fraction(3, 2), top.bid * Fraction(23, 20), *_near(breaks, valuation), Fraction(1)])
    with mpl.rc_context({**STYLE, "svg.hashsalt": label}):
        figure = Figure(figsize=(WIDTH, 3.0), layout="constrained")
        axes = figure.add_subplot()
        axes.grid(alpha=0.5)
        axes.axhline(0, color=MUTED, linewidth=0.8)
        axes.axvline(float(valuation), color=OPT, linewidth=1.5, linestyle="--")
        axes.text(float(valuation), 1.01, "valuation", transform=axes.get_xaxis_transform(), color=OPT, ha="center")
        for row in rows:
            low, high = Fraction(row["bid_from"]), min(Fraction(row["bid_to"]), right)
            if low > right:
                continue
            heights = [float(utility_of(row, low)), float(utility_of(row, high))]
            axes.plot([float(low), float(high)], heights, color=DATA, linewidth=2, solid_capstyle="butt")
        for bid in breaks:
            if bid <= right:
                _ends(axes, rows, bid)
        ring: dict[str, Any] = {"color": OPT, "markersize": 12, "fillstyle": "none", "markeredgewidth": 2}
        axes.plot([float(top.mark_place(right))], [float(top.utility)], "o", **ring)
        axes.set_xlim(0, float(right))
        axes.set_xlabel(f"bid, {unit}")
        axes.set_ylabel("utility")
        for each in (axes.xaxis, axes.yaxis):
            use_plain_numbers(each)
        axes.locator_params(axis="both", nbins=5)
        return render_svg(figure, label)


def _near(breaks: Sequence[Fraction], valuation: Fraction) -> list[Fraction]:
    """Room for the breakpoints that are not far beyond the valuation."""
    return [bid * Fraction(23, 20) for bid in breaks if bid <= 3 * valuation]


def _ends(axes: Axes, rows: Sequence[Mapping[str, str]], bid: Fraction) -> None:
    """At a jump: a full dot where the end belongs to its piece, a hollow one where it does not."""
    at = [
        (utility_of(row, bid), has_bid(row, bid))
        for row in rows
        if Fraction(row["bid_from"]) <= bid <= Fraction(row["bid_to"])
    ]
    if len({height for height, _ in at}) < 2:
        return
    full = {height for height, belongs in at if belongs}
    for height in {height for height, _ in at}:
        style = "full" if height in full else "none"
        axes.plot([float(bid)], [float(height)], "o", color=DATA, markersize=5, fillstyle=style)


def draw_charges(rows: Sequence[Mapping[str, str]], label: str, unit: str) -> str:
    """Bid (ring), payment (square) and the provider's outlay (bar) of some admitted tasks, a row each."""
    shown = take_sample(rows)

    def draw(axes: Axes) -> None:
        for place, row in enumerate(shown):
            bid, payment, outlay = (float(Fraction(row[name])) for name in ("bid", "payment", "outlay"))
            axes.plot([min(bid, payment, outlay), max(bid, payment, outlay)], [place] * 2, color=MUTED, linewidth=1)
            names = ("bid", "payment", "outlay") if not place else (None,) * 3
            axes.plot([bid], [place], "o", color=DATA, fillstyle="none", markersize=7, label=names[0])
            axes.plot([payment], [place], "s", color=DATA, markersize=5, label=names[1])
            axes.plot([outlay], [place], "|", color=OPT, markersize=13, markeredgewidth=2.5, label=names[2])
        axes.set_xlim(left=min(0.0, axes.get_xlim()[0]))
        use_plain_numbers(axes.xaxis)
        axes.locator_params(axis="x", nbins=5)
        axes.set_xlabel(unit)
        axes.legend(frameon=False, fontsize=9, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))

    return draw_panel([f"task {row['task']}" for row in shown], draw, label, top=0.35)
