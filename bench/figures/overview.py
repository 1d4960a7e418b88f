"""The figures of the report, as SVG that takes its colours from the page and so reads in light and dark."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from bench.family.sense import Sense
from bench.figures.data import REACHED, ratio_words
from bench.figures.svg import DATA, MUTED, OPT, STYLE, WIDTH, draw_panel, render_svg, use_logarithms, use_plain_numbers
from bench.tables.ratios import Kind, decimal, open_text
from bench.tables.rows import is_known


def draw_ratios(rows: Sequence[Mapping[Any, Any]], label: str, sense: Sense = Sense.MOST) -> str:
    """The ratio of every algorithm on one case: the interval as a bar between two dots; 1 is the optimum."""

    def draw(axes: Axes) -> None:
        ends = [float(row["ratio_upper_float"]) for row in rows if is_known(row["ratio_upper_float"])]
        high = max([1.05, *ends])
        if high > 20:
            use_logarithms(axes)
        axes.set_xlim(0.97 if high < 2 else 0.9, 1 + (high - 1) * 1.12 if high <= 20 else high * 1.6)
        axes.axvline(1, color=OPT, linewidth=1.5)
        for place, row in enumerate(rows):
            if is_known(row["ratio_upper_float"]):
                low, up = float(row["ratio_lower_float"]), float(row["ratio_upper_float"])
                axes.plot([low, up], [place, place], color=DATA, linewidth=3, solid_capstyle="round")
                axes.plot([low, up], [place, place], "o", color=DATA, markersize=5)
            else:
                axes.text(0.03, place, _why(row), transform=axes.get_yaxis_transform(), va="center", style="italic")
        axes.set_xlabel(f"{ratio_words(sense)} (1 is optimal)")

    return draw_panel(_names(rows), draw, f"ratio {label}")


def draw_values(rows: Sequence[Mapping[Any, Any]], label: str, axis: str) -> str:
    """The value of every algorithm on one case as bars, and the interval on OPT as a band."""

    def draw(axes: Axes) -> None:
        opt = [float(rows[0][end]) for end in ("opt_lower", "opt_upper") if is_known(rows[0][end])]
        if opt:
            axes.axvspan(opt[0], opt[-1], color=OPT, alpha=0.35, linewidth=0)
            for end in opt:
                axes.axvline(end, color=OPT, linewidth=1.5)
        for place, row in enumerate(rows):
            if is_known(row["welfare"]) and row["state"] == "ok":
                axes.barh(place, float(row["welfare"]), color=DATA, height=0.6)
            else:
                axes.text(0.03, place, _why(row), transform=axes.get_yaxis_transform(), va="center", style="italic")
        axes.axvline(0, color=MUTED, linewidth=0.8)
        axes.set_xlabel(axis)
        use_plain_numbers(axes.xaxis)
        axes.locator_params(axis="x", nbins=5)

    return draw_panel(_names(rows), draw, f"welfare {label}")


def draw_reached(rows: Sequence[Mapping[Any, Any]], label: str, sense: Sense = Sense.MOST) -> str:
    """Mean of what is certainly reached over the cases of a group, per algorithm."""

    means = [row["mean_reached"] for row in rows]
    shares = ["" if mean is None else f"{decimal(100 * mean, 1, up=False)} %" for mean in means]

    def draw(axes: Axes) -> None:
        for place, (mean, text) in enumerate(zip(means, shares, strict=True)):
            if mean is not None:
                axes.barh(place, float(mean), color=DATA, height=0.6)
                axes.text(1.03, place, text, transform=axes.get_yaxis_transform(), va="center")
        least = min([0.0, *(float(mean) for mean in means if mean is not None)])
        axes.set_xlim(least, 1 + (1 - least) / 20)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.axvline(1, color=OPT, linewidth=1.5)
        axes.set_xlabel(f"mean of {REACHED[sense]}")

    # A percent sign is as wide as two letters, and some air.
    return draw_panel(_names(rows), draw, f"mean {label}", right=[f"{text}  " for text in shares])


def draw_times(seconds: Sequence[tuple[str, Sequence[float]]], label: str) -> str:
    """Seconds per piece of work on a logarithmic axis: one dot per case."""

    def draw(axes: Axes) -> None:
        use_logarithms(axes)
        for place, (_, values) in enumerate(seconds):
            axes.plot([max(v, 1e-5) for v in values], [place] * len(values), "o", color=DATA, alpha=0.6, markersize=5)
        every = [max(value, 1e-5) for _, values in seconds for value in values]
        axes.set_xlim(10 ** math.floor(math.log10(min(every))) * 0.8, 10 ** math.ceil(math.log10(max(every))) * 1.25)
        axes.set_xlabel("seconds, one dot per case")

    return draw_panel([name for name, _ in seconds], draw, f"time {label}")


def draw_bars(bars: Sequence[tuple[str, float]], label: str, axis: str) -> str:
    """One positive number per row on a logarithmic axis, written beside its bar."""

    def draw(axes: Axes) -> None:
        use_logarithms(axes)
        values = [value for _, value in bars]
        low = 10 ** (math.floor(math.log10(min(values))) - 1)
        for place, value in enumerate(values):
            axes.barh(place, value - low, left=low, color=DATA, height=0.6)
            axes.text(value * 1.15, place, f"{value:,.3g}" if value < 100 else f"{value:,.0f}", va="center")
        axes.set_xlim(low, max(values) * 12)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.12g}"))
        axes.set_xlabel(axis)

    return draw_panel([name for name, _ in bars], draw, label)


def draw_curves(curves: Sequence[tuple[str, Sequence[tuple[float, float]]]], label: str, x: str, y: str) -> str:
    """Named curves of positive points (x, y), both axes logarithmic."""
    with mpl.rc_context({**STYLE, "svg.hashsalt": label}):
        figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
        axes = figure.add_subplot()
        axes.grid(alpha=0.5)
        axes.set_xscale("log")
        axes.set_yscale("log")
        marks = "osD^v<>Pp"
        for place, (name, points) in enumerate(curves):
            xs, ys = [point[0] for point in points], [point[1] for point in points]
            mark = marks[place % len(marks)]
            axes.plot(xs, ys, marker=mark, markersize=5, color=DATA, alpha=0.5 + 0.5 / (1 + place), label=name)
        for each in (axes.xaxis, axes.yaxis):
            each.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.12g}"))
            each.set_minor_locator(NullLocator())
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.legend(frameon=False, fontsize=9)
        return render_svg(figure, label)


def _why(row: Mapping[Any, Any]) -> str:
    """What stands in a row without a figure."""
    if row["state"] != "ok":
        return str(row["state"])
    if row["ratio_kind"] == Kind.OPEN:
        return open_text(row["ratio_lower"])
    return str(row["ratio_kind"]) if is_known(row["ratio_kind"]) else "no OPT"


def _names(rows: Sequence[Mapping[Any, Any]]) -> list[str]:
    """The algorithms, marked where their constants come from the instance under test."""
    return [f"{row['algorithm']}{' *' * ('oracle' in str(row.get('constants_source', '')))}" for row in rows]
