"""The figures that a suite asks for, drawn: means with intervals by group, lines over groups, curves and charges.

Algorithms are told apart by place and name, or by mark, stroke and label at the line's end; colour only helps.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from bench.family.suite import Plot
from bench.figures.data import OPT_LABEL, MeanRows, find_quantity
from bench.figures.svg import (
    DATA,
    INK,
    MUTED,
    OPT,
    SERIES,
    STYLE,
    WIDTH,
    draw_panel,
    format_compactly,
    render_svg,
    use_logarithms,
    use_plain_numbers,
)
from bench.tables.rows import is_known

MARKS = "osD^vP"
STROKES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 2)))
APART = 5
"""How many times larger one group's figures may be than another's for both to stand on the same axis."""
WIDE = 50
"""How many times larger the largest mean of a measure is than the smallest where its axis is logarithmic."""
LINES = 6
"""Algorithms up to which the values over groups are lines in one figure."""


@dataclass(frozen=True, slots=True)
class Span:
    """What an axis shows, the same for all groups of a figure so that they can be compared."""

    low: float
    high: float
    log: bool = False


def find_spans(drawn: MeanRows) -> dict[str, Span]:
    """What the axis of every group shows: the same for all, unless some are very much smaller than others."""
    groups = [group for group in drawn.plot.groups if (drawn.means["group"] == group).any()]
    parts = {group: _span(drawn.plot, _with_mean(drawn.means[drawn.means["group"] == group])) for group in groups}
    start = 1.0 if drawn.plot.kind == "ratio" else 0.0
    sizes = [part.high - start for part in parts.values()]
    if drawn.plot.kind != "reached" and sizes and max(sizes) > APART * min(sizes):
        return parts
    return dict.fromkeys(groups, find_span(drawn))


def find_span(drawn: MeanRows) -> Span:
    """From the smallest to the largest mean, and of their intervals what is not out of all proportion."""
    return _span(drawn.plot, _with_mean(drawn.means))


def _span(plot: Plot, rows: Sequence[Mapping[Any, Any]]) -> Span:
    ends = [(float(row["mean_lower"]), float(row["mean_upper"])) for row in rows]
    if not ends:
        return Span(0.0, 1.0)
    quantity = find_quantity(plot.kind)
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    tops = [float(row["high"]) for row in rows if is_known(row["high"])]
    bottoms = [float(row["low"]) for row in rows if is_known(row["low"])]
    if quantity.timed or (plot.kind == "ratio" and high > 20) or (not quantity.linear and high > WIDE * low > 0):
        start = min([low, *(max(bottom, low / 3) for bottom in bottoms)])
        return Span(max(start, 1e-9) / 1.3, max([high, *(min(top, 3 * high) for top in tops)]) * 1.3, True)
    room = max(high - min(low, 0.0), 1e-9)
    top = max([high, *(min(top, high + 0.5 * room) for top in tops)])
    bottom = min([low, *(max(bottom, low - 0.5 * room) for bottom in bottoms)])
    if plot.kind == "ratio":
        return Span(min(0.97, bottom - 0.02 * room), max(1.05, top + 0.04 * (top - 1)))
    return Span(min(0.0, bottom * 1.05), max(1.02, top) if plot.kind == "reached" else (top * 1.05 or 1.0))


def _with_mean(frame: pd.DataFrame) -> list[Mapping[Any, Any]]:
    return [row for row in frame.to_dict("records") if is_known(row["mean_lower"])]


def draw_group(drawn: MeanRows, group: str, shown: Span) -> str:
    """All algorithms of one group: a dot for the mean (a bar, where it is an interval), a line for its 95 % interval.

    The number stands at the right. An arrow at the right edge: some cases are unbounded and in no mean.
    """
    rows = drawn.means[drawn.means["group"] == group].to_dict("records")

    def draw(axes: Axes) -> None:
        if shown.log:
            use_logarithms(axes)
        axes.set_xlim(shown.low, shown.high)
        for place, row in enumerate(rows):
            _mean(axes, place, row, shown)
        if drawn.plot.kind in ("reached", "ratio"):
            axes.axvline(1, color=OPT, linewidth=1.5, zorder=1)
        if shown.low < 0 < shown.high:
            axes.axvline(0, color=MUTED, linewidth=0.8)
        if not shown.log:
            use_plain_numbers(axes.xaxis)
            axes.locator_params(axis="x", nbins=4)
        axes.set_xlabel(drawn.axis)

    names = [f"{row['algorithm']}{' *' * bool(row['oracle'])}" for row in rows]
    return draw_panel(names, draw, f"{drawn.plot.name} {group}", right=_texts(drawn.means))


def _texts(means: pd.DataFrame) -> list[str]:
    return [_text(row) for row in _with_mean(means)]


def _text(row: Mapping[Any, Any]) -> str:
    low, high = format_compactly(float(row["mean_lower"])), format_compactly(float(row["mean_upper"]))
    if low == high:
        return low
    same = low[-2:] == high[-2:] and low[-2] == " "
    return f"{low[:-2] if same else low}..{high}"


def _mean(axes: Axes, place: int, row: Mapping[Any, Any], shown: Span) -> None:
    across = axes.get_yaxis_transform()
    if not is_known(row["mean_lower"]):
        why = f"{row['unbounded']} unbounded" if row["unbounded"] else "no figure"
        axes.text(0.03, place, why, transform=across, va="center", style="italic")
        return
    low, high = float(row["mean_lower"]), float(row["mean_upper"])
    colour = OPT if row["algorithm"] == OPT_LABEL else DATA
    if row["algorithm"] == OPT_LABEL:
        axes.axvspan(low, max(high, low), color=OPT, alpha=0.25, linewidth=0, zorder=0)
        axes.axvline(high, color=OPT, linewidth=1, zorder=1)
    if is_known(row["low"]):
        ends = [max(float(row["low"]), shown.low), min(float(row["high"]), shown.high)]
        axes.plot(ends, [place, place], color=colour, linewidth=1)
        # No mark where the interval goes on beyond the axis.
        inside = [end for end in (float(row["low"]), float(row["high"])) if shown.low <= end <= shown.high]
        axes.plot(inside, [place] * len(inside), "|", color=colour, markersize=8)
    axes.plot([low, high], [place, place], color=colour, linewidth=4, solid_capstyle="butt")
    axes.plot([(low + high) / 2], [place], "o", color=colour, markersize=5)
    axes.text(1.03, place, _text(row), transform=across, va="center", fontsize=9)
    if row["unbounded"]:
        axes.plot([0.99], [place], ">", color=INK, markersize=6, transform=across, clip_on=False)


def draw_lines(drawn: MeanRows, shown: Span) -> str:
    """Means over the groups, one line per algorithm, with its mark, stroke and name at its end."""
    groups = [group for group in drawn.plot.groups if (drawn.means["group"] == group).any()]
    names = list(dict.fromkeys(drawn.means["algorithm"]))
    with mpl.rc_context({**STYLE, "svg.hashsalt": drawn.plot.name}):
        figure = Figure(figsize=(1.6 * WIDTH, 3.6), layout="constrained")
        axes = figure.add_subplot()
        axes.grid(alpha=0.5)
        axes.set_axisbelow(True)
        if shown.log:
            axes.set_yscale("log")
            axes.yaxis.set_minor_locator(NullLocator())
        axes.set_ylim(shown.low, shown.high)
        if shown.log:
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        else:
            use_plain_numbers(axes.yaxis)
        ends: list[tuple[float, str, str]] = []
        # OPT, which only some figures have, takes no number: an algorithm looks the same in all of them.
        for number, name in enumerate(names, -(OPT_LABEL in names)):
            colour = OPT if name == OPT_LABEL else SERIES[number % LINES]
            points = []
            for row in _with_mean(drawn.means[drawn.means["algorithm"] == name]):
                # Side by side, so that intervals do not cover each other.
                x = groups.index(row["group"]) + 0.08 * (number - (len(names) - 1) / 2)
                low, high = float(row["mean_lower"]), float(row["mean_upper"])
                if is_known(row["low"]):
                    inner = max(float(row["low"]), shown.low), min(float(row["high"]), shown.high)
                    axes.plot([x, x], inner, color=colour, linewidth=1)
                axes.plot([x, x], [low, high], color=colour, linewidth=4, solid_capstyle="butt")
                points.append((x, math.sqrt(low * high) if shown.log else (low + high) / 2))
            if points:
                stroke, mark = STROKES[number % LINES], MARKS[number % LINES]
                axes.plot(*zip(*points, strict=True), linestyle=stroke, marker=mark, color=colour, markersize=6)
                ends.append((points[-1][1], name, colour))
        axes.set_xlim(-0.5, len(groups) - 0.5)
        axes.set_xticks(range(len(groups)), shorten_groups(groups))
        for name, place, colour in _apart(axes, ends):
            axes.text(1.02, place, name, transform=axes.transAxes, va="center", color=colour)
        axes.set_xlabel(drawn.plot.axis)
        axes.set_ylabel(drawn.axis)
        return render_svg(figure, drawn.plot.title)


def shorten_groups(groups: Sequence[str]) -> list[str]:
    """What the groups' names do not share, by whole words: ``n = 30``, ``n = 100`` become ``30``, ``100``."""
    words = [group.split(" ") for group in groups]
    least = min(map(len, words))
    before = next((k for k in range(least) if len({each[k] for each in words}) > 1), least - 1)
    rest = [each[before:] for each in words]
    least = min(map(len, rest))
    behind = next((k for k in range(least - 1) if len({each[-1 - k] for each in rest}) > 1), least - 1)
    return [" ".join(each[: len(each) - behind]) for each in rest]


def _apart(axes: Axes, ends: Sequence[tuple[float, str, str]]) -> list[tuple[str, float, str]]:
    """Labels at the heights of the lines' ends (0 to 1), moved apart where they would cover each other."""
    scale, least = axes.transData + axes.transAxes.inverted(), 0.075
    found: list[tuple[str, float, str]] = []
    for height, name, colour in sorted(ends):
        place = min(float(scale.transform((0, height))[1]), 1 - least * (len(ends) - 1 - len(found)))
        found.append((name, max(place, found[-1][1] + least) if found else place, colour))
    return found


def is_lines(plot: Plot, frame: pd.DataFrame) -> bool:
    """Whether lines over the groups mean something (the groups differ in a number) and can be told apart."""
    words = {re.sub(r"[\d.,]+", "", group) for group in plot.groups}
    numbers = {re.sub(r"[^\d.,]+", "", group) for group in plot.groups}
    ordered = len(words) == 1 and len(numbers) == len(plot.groups) >= 3 and "" not in numbers
    return ordered and frame["algorithm"].nunique() <= LINES
