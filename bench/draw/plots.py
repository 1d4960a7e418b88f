"""Charts of plain numbers: curves, and times as dots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar

from ratiobench.bench.draw.scales import Axis
from ratiobench.bench.draw.svg import Frame, Panel, draw_sign, style_series

DOTS = 60  # Run times drawn of one algorithm; of more, that many quantiles


Number = TypeVar("Number", float, Fraction)


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
