"""The figures that every suite has: what is reached, ratios, values, times; the best stands on top."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from ratiobench.bench.family.sense import Sense
from ratiobench.bench.figures.data import REACHED, ratio_words
from ratiobench.bench.figures.scales import Axis
from ratiobench.bench.figures.svg import Frame, Panel, draw_sign, style_series
from ratiobench.bench.results.means import GroupMean, Spread
from ratiobench.bench.results.row import Row
from ratiobench.bench.tables.ratios import Kind, interval_text, open_text, share_percent
from ratiobench.bench.tables.rows import by_group, is_known
from ratiobench.bench.tables.text import format_number

DOTS = 60
"""Run times drawn of one algorithm; of more, that many quantiles."""
_EXACT = 40
"""Characters up to which a fraction stands in a title as it is."""


def format_exactly(value: Any) -> str:
    """An exact figure for a title: whole, or a short fraction with its decimals; of a long one six digits."""
    figure = Fraction(value)
    if figure.denominator == 1:
        return format_number(figure)
    rounded = f"{float(figure):.6g}"
    if Fraction(rounded) == figure:
        return rounded
    return f"{figure}, about {rounded}" if len(str(figure)) <= _EXACT else f"about {rounded}"


def format_between(lower: Any, upper: Any) -> str:
    """A figure that is known within an interval, rounded outward to six decimals; exactly where both ends are equal."""
    lower, upper = Fraction(lower), Fraction(upper)
    return format_exactly(lower) if lower == upper else f"in {interval_text(lower, upper, 6)}"


Ranked = TypeVar("Ranked")
"""A row of results, or of means."""
Number = TypeVar("Number", float, Fraction)


def sort_rows(rows: Sequence[Ranked], key: Callable[[Ranked], Any], sense: Sense = Sense.MOST) -> list[Ranked]:
    """The rows by a figure, the best first (the largest, or the least); those without one last, in their order."""
    keyed = [(key(row), row) for row in rows]
    known = [pair for pair in keyed if is_known(pair[0])]
    known.sort(key=lambda pair: pair[0], reverse=sense is Sense.MOST)
    return [row for _, row in known] + [row for value, row in keyed if not is_known(value)]


def draw_ratios(rows: Sequence[Row], label: str, sense: Sense = Sense.MOST) -> str:
    """The ratio of every algorithm on one case: the interval as a bar between two dots; 1 is the optimum."""
    rows = sort_rows(rows, lambda row: row.ratio_upper_float, Sense.LEAST)
    ends = [row.ratio_upper_float for row in rows if row.ratio_upper_float is not None]
    high = max([1.05, *ends])
    log = high > 20
    top = high * 1.6 if log else 1 + (high - 1) * 1.12
    axis = Axis(0.97 if high < 2 else 0.9, top, f"{ratio_words(sense)} (1 is optimal)", log)
    panel = Panel(f"{sense.ratio}, {label}", _names(rows), axis)
    panel.draw_vertical("opt", 1)
    for place, (name, row) in enumerate(zip(_names(rows), rows, strict=True)):
        if row.ratio_lower_float is None or row.ratio_upper_float is None:
            with panel.line_of(place, f"{name}: {_why(row)}", row.algorithm):
                panel.words(place, _why(row))
            continue
        text = format_between(row.ratio_lower, row.ratio_upper)
        with panel.line_of(place, f"{name}: {sense.ratio} {text}", row.algorithm) as y:
            low, up = (panel.x.clip(float(end)) for end in (row.ratio_lower_float, row.ratio_upper_float))
            panel.line("thick", (low, y), (up, y))
            for x in dict.fromkeys((low, up)):
                panel.dot("dot", x, y)
    return panel.render()


def draw_values(
    rows: Sequence[Row],
    label: str,
    axis: str,
    sense: Sense = Sense.MOST,
    *,
    scale: Fraction = Fraction(1),
    unit: str = "",
) -> str:
    """The value of every algorithm on one case as bars, and the interval on OPT as a band.

    `scale` is how many of what the axis counts one unit of the values is; titles have the values, in their `unit`.
    """
    rows = sort_rows(rows, lambda row: row.welfare if row.state == "ok" else None, sense)
    opt = [float(end * scale) for end in (rows[0].opt_lower, rows[0].opt_upper) if end is not None]
    values = [float(row.welfare * scale) for row in rows if row.state == "ok" and is_known(row.welfare)]
    low, high = min([0.0, *opt, *values]), max([0.0, *opt, *values])
    margin = 0.05 * ((high - low) or 1)
    panel = Panel(
        f"{axis}, {label}", _names(rows), Axis(low - margin * (low < 0), high + margin * (high > 0), axis, most=5)
    )
    _draw_optimum(panel, opt)
    if opt:
        panel.said.append(f"OPT {format_between(rows[0].opt_lower, rows[0].opt_upper)} {unit}".rstrip())
    panel.draw_vertical("zero", 0)
    for place, (name, row) in enumerate(zip(_names(rows), rows, strict=True)):
        if is_known(row.welfare) and row.state == "ok":
            with panel.line_of(place, f"{name}: {format_exactly(row.welfare)} {unit}".rstrip(), row.algorithm):
                panel.bar(place, float(row.welfare * scale))
        else:
            with panel.line_of(place, f"{name}: {_why(row)}", row.algorithm):
                panel.words(place, _why(row))
    return panel.render()


def _draw_optimum(panel: Panel, opt: Sequence[float]) -> None:
    if opt:
        panel.box("band", panel.x(opt[0]), panel.top, panel.x(opt[-1]), panel.bottom)
        for end in dict.fromkeys(opt):
            panel.draw_vertical("opt", end)


def draw_reached(
    means: Sequence[GroupMean], label: str, sense: Sense = Sense.MOST, spreads: Sequence[Spread] = ()
) -> str:
    """Mean of what is certainly reached over the cases of a group, per algorithm.

    Parameters
    ----------
    means : one per algorithm.
    label : the group.
    spreads : what lies behind each mean, in the same order: its interval, or a circle per case; empty for nothing.
    """
    rows = sort_rows(list(zip(means, spreads or [Spread()] * len(means), strict=True)), lambda row: row[0].reached)
    names = [f"{mean.algorithm}{' *' * mean.is_oracle}" for mean, _ in rows]
    reached = [mean.reached for mean, _ in rows]
    shares = ["" if mean is None else share_percent(mean) for mean in reached]
    least = min([0.0, *(float(mean) for mean in reached if mean is not None)])
    axis = Axis(least, 1 + (1 - least) / 20, f"mean of {REACHED[sense]}", most=5)
    # A percent sign is as wide as two letters, and some air.
    panel = Panel(f"mean {sense.reached}, {label}", names, axis, right=[f"{text} " for text in shares])
    panel.draw_vertical("opt", 1)
    for place, (name, (mean, spread), share) in enumerate(zip(names, rows, shares, strict=True)):
        if mean.reached is None:
            with panel.line_of(place, f"{name}: no figure", mean.algorithm):
                panel.words(place, "no figure")
            continue
        about = f"; {spread.about}" if spread.about else ""
        text = f"{name}: mean {sense.reached} {format_exactly(mean.reached)}{about}"
        with panel.line_of(place, text, mean.algorithm):
            panel.bar(place, float(mean.reached))
            if spread.low is not None and spread.high is not None:
                panel.span(place, spread.low, spread.high)
            for part in pick_quantiles(spread.parts, DOTS):
                panel.dot("hollow", panel.x.clip(float(part)), panel.y(place), 2)
            panel.write_figure(place, share)
    return panel.render()


def find_spreads(rows: Iterable[Row]) -> list[Spread]:
    """Per group and algorithm, in the order of `group_means`, what lies behind the mean of what is reached.

    The cases are fixed, not drawn at random: a mean of several has no interval.
    """
    found = []
    for part in by_group(rows).values():
        known = [row for row in part if is_known(row.ratio_kind) and is_known(row.reached)]
        low, high, about = None, None, f"{len(known)} cases"
        parts = sorted(Fraction(row.reached) for row in known) if len(known) > 1 else []
        text = f", {share_percent(parts[0])} to {share_percent(parts[-1])}" if parts else ""
        if len(known) == 1 and is_known(known[0].ratio_upper) and known[0].ratio_lower:
            low, high, about = float(1 / known[0].ratio_upper), float(1 / known[0].ratio_lower), "1 case"
            text = f"; the part of OPT is {format_between(1 / known[0].ratio_upper, 1 / known[0].ratio_lower)}"
        found.append(Spread(low, high, parts, about + text))
    return found


def draw_times(seconds: Sequence[tuple[str, Sequence[float]]], label: str) -> str:
    """Seconds per piece of work on a logarithmic axis: a dot per case, or of very many cases that many quantiles."""
    every = [max(value, 1e-5) for _, values in seconds for value in values]
    low, high = 10 ** math.floor(math.log10(min(every))), 10 ** math.ceil(math.log10(max(every)))
    many = any(len(values) > DOTS for _, values in seconds)
    words = f"seconds, at most {DOTS} dots of each" if many else "seconds, one dot per case"
    axis = Axis(low * 0.8, high * 1.25, words, log=True)
    panel = Panel(f"seconds {label}", [name for name, _ in seconds], axis)
    for place, (name, values) in enumerate(seconds):
        least, most = min(values), max(values)
        text = f"{least:.3g}" if least == most else f"{least:.3g} to {most:.3g}"
        with panel.line_of(place, f"{name}: {text} s, {len(values)} runs", name if name != "OPT" else "") as y:
            for value in pick_quantiles(values, DOTS):
                panel.dot("dot faint", panel.x(max(value, 1e-5)), y)
    return panel.render()


def pick_quantiles(values: Sequence[Number], count: int) -> Sequence[Number]:
    """At most so many of the values, from the least to the largest, at equal steps of their rank."""
    if len(values) <= count:
        return values
    ranked = sorted(values)
    return [ranked[round(place * (len(ranked) - 1) / (count - 1))] for place in range(count)]


def draw_bars(bars: Sequence[tuple[str, float]], label: str, axis: str) -> str:
    """One positive number per row on a logarithmic axis, written beside its bar."""
    values = [value for _, value in bars]
    low = 10 ** (math.floor(math.log10(min(values))) - 1)
    texts = [f"{value:,.3g}" if value < 100 else f"{value:,.0f}" for value in values]
    panel = Panel(label, [name for name, _ in bars], Axis(low, max(values) * 1.3, axis, log=True), right=texts)
    for place, ((name, value), text) in enumerate(zip(bars, texts, strict=True)):
        with panel.line_of(place, f"{name}: {value:,.6g}"):
            panel.bar(place, value, low)
            panel.write_figure(place, text)
    return panel.render()


def draw_curves(curves: Sequence[tuple[str, Sequence[tuple[float, float]]]], label: str, x: str, y: str) -> str:
    """Named curves of positive points (x, y), both axes logarithmic."""
    spans = []
    for coordinate in (0, 1):
        values = [point[coordinate] for _, points in curves for point in points]
        spans.append((min(values) / 1.2, max(values) * 1.2))
    names = [name for name, _ in curves]
    above = 8 + 14 * len(names)
    frame = Frame(label, Axis(*spans[0], x, True), Axis(*spans[1], y, True), height=230 + 14 * len(names), above=above)
    for number_, (name, points) in enumerate(curves):
        text = ", ".join(f"{a:,.6g}: {b:,.6g}" for a, b in points)
        with frame.mark(f"{name}: {text}"):
            draw_series(frame, number_, [(frame.x(a), frame.y(b)) for a, b in points])
            height = 8 + 14 * number_
            draw_sign(frame, number_, frame.x.start + 8, height)
            frame.text(frame.x.start + 16, height, name)
    return frame.render()


def draw_series(frame: Frame, number_: int, points: Sequence[tuple[float, float]]) -> None:
    """A line with its stroke and its signs."""
    if len(points) > 1:
        frame.line(style_series(number_), *points)
    for x, y in points:
        draw_sign(frame, number_, x, y)


def _why(row: Row) -> str:
    """What stands in a row without a figure."""
    if row.state != "ok":
        return str(row.state)
    if row.ratio_kind == Kind.OPEN:
        return open_text(row.ratio_lower)
    return str(row.ratio_kind) if is_known(row.ratio_kind) else "no OPT"


def _names(rows: Sequence[Row]) -> list[str]:
    """The algorithms, marked where their constants come from the instance under test."""
    return [f"{row.algorithm}{' *' * row.is_oracle}" for row in rows]
