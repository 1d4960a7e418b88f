"""What all figures share: SVG that takes its colours from the page and so reads in light, dark and print."""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Callable, Sequence
from html import escape

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

# Placeholders that `svg` replaces by the page's own colours.
INK, MUTED, DATA, OPT = "#010101", "#020202", "#030303", "#040404"
SERIES = ("#050505", "#060606", "#070707", "#080808", "#090909", "#0a0a0a")
_PAGE = {INK: "currentColor", MUTED: "var(--muted)", DATA: "var(--data)", OPT: "var(--opt)"}
_PAGE |= {placeholder: f"var(--s{number})" for number, placeholder in enumerate(SERIES, 1)}
WIDTH = 4.4
STYLE = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 10,
    "font.family": "sans-serif",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": MUTED,
    "grid.linewidth": 0.4,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def use_logarithms(axes: Axes) -> None:
    """A logarithmic x-axis with plain numbers."""
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())


_SIZES = ((1e12, 1e12, " T"), (1e9, 1e9, " G"), (1e6, 1e6, " M"), (9999.5, 1e3, " k"))
"""From which value on, divided by what, with which letter."""


def format_compactly(value: float) -> str:
    """Four digits with k, M, G or T behind them; 10,000 is the first with a k."""
    if not math.isfinite(value):
        return "-"
    for least, size, letter in _SIZES:
        if abs(value) >= least:
            return f"{value / size:.4g}{letter}"
    return f"{value:.4g}"


def use_plain_numbers(axis: Axis) -> None:
    """Numbers of an axis with the k, M, G or T that its largest needs."""

    def shown(value: float, _: object) -> str:
        largest = max(map(abs, axis.get_view_interval()))
        size, letter = next(((size, letter) for least, size, letter in _SIZES if largest >= least), (1.0, ""))
        return f"{value / size:.5g}{letter if value else ''}"

    axis.set_major_formatter(FuncFormatter(shown))


def break_name(name: str, width: int = 17) -> str:
    """A long name on as many lines as it needs, broken behind a colon, a comma or a space."""
    lines = [""]
    for part in re.findall(r"[^:, ]+[:, ]*", name):
        if lines[-1] and len((lines[-1] + part).rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def draw_panel(
    names: Sequence[str], draw: Callable[[Axes], None], salt: str, *, right: Sequence[str] = (), top: float = 0.1
) -> str:
    """One row per name, from the top, the name left of the axis.

    Margins follow from the names and from the texts that stand to the `right`, so that panels with the same of both
    have axes of the same width; `top` is that above the axes, in inches. (Matplotlib's own layout draws all twice.)
    """
    shown = [break_name(name) for name in names]
    height = (0.27, 0.4, 0.54, 0.68)[min(3, max((name.count("\n") for name in shown), default=0))]
    with mpl.rc_context({**STYLE, "svg.hashsalt": salt}):
        tall = 0.5 + top + height * max(1, len(shown))
        figure = Figure(figsize=(WIDTH, tall))
        axes = figure.add_subplot()
        figure.subplots_adjust(
            left=(0.15 + _inches(shown)) / WIDTH,
            right=1 - (0.12 + 0.9 * _inches(right)) / WIDTH,
            bottom=0.5 / tall,
            top=1 - top / tall,
        )
        axes.grid(axis="x", alpha=0.5)
        axes.set_axisbelow(True)
        draw(axes)
        axes.set_yticks(range(len(shown)), shown, linespacing=1.15)
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        _make_room(figure, axes)
        return render_svg(figure, salt)


def _make_room(figure: Figure, axes: Axes) -> None:
    """Move the ends of the axes inwards, and its title aside, until what stands below it is inside the figure."""
    low, high = axes.get_xlim()
    places = [place for place in axes.xaxis.get_majorticklocs() if low <= place <= high]
    texts = axes.xaxis.get_major_formatter().format_ticks(places)
    along = axes.transData + axes.transAxes.inverted()
    ticks = [
        (float(along.transform((place, 0))[0]), _wide(text) / 2) for place, text in zip(places, texts, strict=True)
    ]
    left, right = (WIDTH * end for end in (figure.subplotpars.left, figure.subplotpars.right))
    left = max([left, *((half - part * right) / (1 - part) for part, half in ticks if part < 1)])
    right = min([right, *(left + (WIDTH - half - left) / part for part, half in ticks if part > 0)])
    figure.subplots_adjust(left=left / WIDTH, right=right / WIDTH)
    half = _wide(axes.get_xlabel()) / 2
    middle = max(half, min(WIDTH - half, (left + right) / 2))
    axes.xaxis.label.set_x((middle - left) / (right - left))


def _inches(texts: Sequence[str]) -> float:
    """Room for the longest of the texts; at most what leaves the axes a third of the figure."""
    return min(max((_wide(line) for text in texts for line in text.split("\n")), default=0.0), WIDTH / 3)


def _wide(text: str) -> float:
    """Inches that a line of text takes in a wide font: what the page shows it in is not known here."""
    return 0.083 * len(text)


def render_svg(figure: Figure, title: str) -> str:
    """The figure as an element for a page: no header, no metadata, no addresses, colours of the page."""
    buffer = io.StringIO()
    with warnings.catch_warnings():  # of letters that its own font has not: the page shows them in another
        warnings.filterwarnings("ignore", "Glyph ")
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
