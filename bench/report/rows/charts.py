"""The ratios and values of a case, an algorithm a row; the best stands on top."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ratiobench.bench.draw.marks import format_between, format_exactly, sort_rows
from ratiobench.bench.draw.scales import Axis
from ratiobench.bench.draw.svg import Panel
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.report.shared.text import ratio_words
from ratiobench.bench.results.ratios import Kind, open_text
from ratiobench.bench.results.read import is_known
from ratiobench.bench.results.row import Row


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


def _why(row: Row) -> str:
    if row.state != "ok":
        return str(row.state)
    if row.ratio_kind == Kind.OPEN:
        return open_text(row.ratio_lower)
    return str(row.ratio_kind) if is_known(row.ratio_kind) else "no OPT"


def _names(rows: Sequence[Row]) -> list[str]:
    """The algorithms, marked where their constants come from the instance under test."""
    return [f"{row.algorithm}{' *' * row.is_oracle}" for row in rows]
