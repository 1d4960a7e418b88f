"""The figures of the report, as SVG that takes its colours from the page and so reads in light and dark."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from bench.ratios import decimal
from bench.table import known

# Placeholders that `_svg` replaces by the page's own colours.
_INK, _MUTED, _DATA, _OPT = "#010101", "#020202", "#030303", "#040404"
_PAGE = {_INK: "currentColor", _MUTED: "var(--muted)", _DATA: "var(--data)", _OPT: "var(--opt)"}
_WIDTH = 4.4
_STYLE = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 10,
    "font.family": "sans-serif",
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _MUTED,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "xtick.color": _MUTED,
    "ytick.color": _MUTED,
    "xtick.labelcolor": _INK,
    "ytick.labelcolor": _INK,
    "grid.color": _MUTED,
    "grid.linewidth": 0.4,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def ratio_figure(rows: Sequence[Mapping[Any, Any]], label: str) -> str:
    """OPT/ALG of every algorithm on one case: the interval as a bar between two dots; 1 is the optimum."""

    def draw(axes: Axes) -> None:
        ends = [float(row["ratio_upper_float"]) for row in rows if known(row["ratio_upper_float"])]
        high = max([1.05, *ends])
        if high > 20:
            _logarithmic(axes)
        axes.set_xlim(0.97 if high < 2 else 0.9, 1 + (high - 1) * 1.12 if high <= 20 else high * 1.6)
        axes.axvline(1, color=_OPT, linewidth=1.5)
        for place, row in enumerate(rows):
            if known(row["ratio_upper_float"]):
                low, up = float(row["ratio_lower_float"]), float(row["ratio_upper_float"])
                axes.plot([low, up], [place, place], color=_DATA, linewidth=3, solid_capstyle="round")
                axes.plot([low, up], [place, place], "o", color=_DATA, markersize=5)
            else:
                axes.text(0.03, place, _why(row), transform=axes.get_yaxis_transform(), va="center", style="italic")
        axes.set_xlabel("OPT / ALG (1 is optimal)")

    return _panel(rows, draw, f"ratio {label}")


def welfare_figure(rows: Sequence[Mapping[Any, Any]], label: str, unit: str) -> str:
    """Welfare of every algorithm on one case as bars, and the interval on OPT as a band."""

    def draw(axes: Axes) -> None:
        opt = [float(rows[0][end]) for end in ("opt_lower", "opt_upper") if known(rows[0][end])]
        if opt:
            axes.axvspan(opt[0], opt[-1], color=_OPT, alpha=0.35, linewidth=0)
            for end in opt:
                axes.axvline(end, color=_OPT, linewidth=1.5)
        for place, row in enumerate(rows):
            if known(row["welfare"]) and row["state"] == "ok":
                axes.barh(place, float(row["welfare"]), color=_DATA, height=0.6)
            else:
                axes.text(0.03, place, _why(row), transform=axes.get_yaxis_transform(), va="center", style="italic")
        axes.axvline(0, color=_MUTED, linewidth=0.8)
        axes.set_xlabel(f"welfare, {unit}")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.locator_params(axis="x", nbins=5)

    return _panel(rows, draw, f"welfare {label}")


def mean_figure(rows: Sequence[Mapping[Any, Any]], label: str) -> str:
    """Mean of ALG/upper over the cases of a group, per algorithm."""

    def draw(axes: Axes) -> None:
        for place, row in enumerate(rows):
            if row["mean_reached"] is not None:
                value = float(row["mean_reached"])
                axes.barh(place, value, color=_DATA, height=0.6)
                axes.text(1.03, place, f"{decimal(100 * row['mean_reached'], 1, up=False)} %", va="center")
        axes.set_xlim(min([0.0, *(float(r["mean_reached"]) for r in rows if r["mean_reached"] is not None)]), 1.3)
        axes.axvline(1, color=_OPT, linewidth=1.5)
        axes.set_xlabel("mean of ALG / upper bound on OPT")

    return _panel(rows, draw, f"mean {label}")


def time_figure(seconds: Sequence[tuple[str, Sequence[float]]], label: str) -> str:
    """Seconds per piece of work on a logarithmic axis: one dot per case."""

    def draw(axes: Axes) -> None:
        _logarithmic(axes)
        for place, (_, values) in enumerate(seconds):
            axes.plot([max(v, 1e-5) for v in values], [place] * len(values), "o", color=_DATA, alpha=0.6, markersize=5)
        every = [max(value, 1e-5) for _, values in seconds for value in values]
        axes.set_xlim(10 ** math.floor(math.log10(min(every))) * 0.8, 10 ** math.ceil(math.log10(max(every))) * 1.25)
        axes.set_xlabel("seconds, one dot per case")

    return _panel([{"algorithm": name} for name, _ in seconds], draw, f"time {label}")


def bars_figure(bars: Sequence[tuple[str, float]], label: str, axis: str) -> str:
    """One positive number per row on a logarithmic axis, written beside its bar."""

    def draw(axes: Axes) -> None:
        _logarithmic(axes)
        values = [value for _, value in bars]
        low = 10 ** (math.floor(math.log10(min(values))) - 1)
        for place, value in enumerate(values):
            axes.barh(place, value - low, left=low, color=_DATA, height=0.6)
            axes.text(value * 1.15, place, f"{value:,.3g}" if value < 100 else f"{value:,.0f}", va="center")
        axes.set_xlim(low, max(values) * 12)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.12g}"))
        axes.set_xlabel(axis)

    return _panel([{"algorithm": name} for name, _ in bars], draw, label)


def curves_figure(curves: Sequence[tuple[str, Sequence[tuple[float, float]]]], label: str, x: str, y: str) -> str:
    """Named curves of positive points (x, y), both axes logarithmic."""
    with mpl.rc_context({**_STYLE, "svg.hashsalt": label}):
        figure = Figure(figsize=(_WIDTH, 3.4), layout="constrained")
        axes = figure.add_subplot()
        axes.grid(alpha=0.5)
        axes.set_xscale("log")
        axes.set_yscale("log")
        marks = "osD^v<>Pp"
        for place, (name, points) in enumerate(curves):
            xs, ys = [point[0] for point in points], [point[1] for point in points]
            mark = marks[place % len(marks)]
            axes.plot(xs, ys, marker=mark, markersize=5, color=_DATA, alpha=0.5 + 0.5 / (1 + place), label=name)
        for each in (axes.xaxis, axes.yaxis):
            each.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.12g}"))
            each.set_minor_locator(NullLocator())
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.legend(frameon=False, fontsize=9)
        return _svg(figure, label)


def _logarithmic(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())


def _why(row: Mapping[Any, Any]) -> str:
    """What stands in a row without a figure."""
    if row["state"] != "ok":
        return str(row["state"])
    return str(row["ratio_kind"]) if known(row["ratio_kind"]) else "no OPT"


def _panel(rows: Sequence[Mapping[Any, Any]], draw: Any, salt: str) -> str:
    """One row per algorithm, from the top, its name left of the axis."""
    with mpl.rc_context({**_STYLE, "svg.hashsalt": salt}):
        figure = Figure(figsize=(_WIDTH, 0.75 + 0.27 * max(1, len(rows))), layout="constrained")
        axes = figure.add_subplot()
        axes.grid(axis="x", alpha=0.5)
        axes.set_axisbelow(True)
        draw(axes)
        marks = [" *" if "oracle" in str(row.get("constants_source", "")) else "" for row in rows]
        axes.set_yticks(range(len(rows)), [f"{row['algorithm']}{m}" for row, m in zip(rows, marks, strict=True)])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        return _svg(figure, salt)


def _svg(figure: Figure, title: str) -> str:
    """The figure as an element for a page: no header, no metadata, no addresses, colours of the page."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg).replace("xlink:href", "href")
    svg = re.sub(r"<style.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' id="[\w.]+_\d+"', "", svg)  # names of parts, alike in every figure; what is referred to has a hash
    svg = re.sub(r"font-family: [^;\"]*", "font-family: inherit", svg)
    opening = f'<svg role="img" aria-label="{escape(title)}"'
    svg = re.sub(r'<svg [^>]*( viewBox="[^"]*")[^>]*>', lambda found: f"{opening}{found[1]}>", svg, count=1)
    for placeholder, colour in _PAGE.items():
        svg = svg.replace(placeholder, colour)
    return re.sub(r"\s*\n\s*", "\n", svg).strip()
