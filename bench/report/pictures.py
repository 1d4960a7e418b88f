"""Pictures of a report: each a function that draws into an `Axes` of matplotlib; `Picture` makes SVG, PDF and PNG."""

from __future__ import annotations

import io
import logging
import math
import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from html import escape
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratiobench.bench.results.ratios import range_text, share_text
from ratiobench.bench.results.remarks import is_user_algorithm
from ratiobench.bench.show import rows_of
from ratiobench.instances.io.errors import InputError, make_printable, shorten
from ratiobench.instances.io.files import write_atomically

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Told apart by colour-blind readers and in print: Okabe and Ito's, dark enough for thin lines on white
COLORS = ("#0072b2", "#b84a00", "#00795a", "#a64d8c", "#7a6200", "#4d4d4d")
MARKERS, DASHES = "osD^vP", ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (1, 1)))
INK, FAINT, OPT = "#222222", "#767676", "#b84a00"
WIDTH = 7.5  # Inches
LINE = 0.19  # Inches of a row of names
GROUPS = 6  # Groups up to which each has a colour in the picture of shares
LOSS = -12  # Percent of OPT at which the picture of shares ends where somebody loses
DOTS = 60  # Cases of a row that are drawn; of more, that many quantiles
FORMATS = (".svg", ".pdf", ".png")


def load_matplotlib() -> Any:
    """The library, which says nothing of a home folder that cannot be written."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    import matplotlib.backends.backend_svg

    return matplotlib


@dataclass(frozen=True)
class Picture:
    title: str  # what it shows
    draw: Callable[[Axes], None] = field(repr=False)
    height: float = 3.2  # inches
    name: str = ""  # of its file; empty: it has none
    note: str = ""  # what stands below it on a page

    def figure(self) -> Figure:
        from matplotlib.figure import Figure
        from matplotlib.text import Text

        figure = Figure(figsize=(WIDTH, self.height), layout="constrained")
        axes = figure.add_subplot()
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_axisbelow(True)
        self.draw(axes)
        for text in figure.findobj(Text):  # names and titles come from outside
            text.set_text("\n".join(make_printable(line, 120) for line in text.get_text().split("\n")[:3]))
        return figure

    def _bytes(self, kind: str) -> bytes:
        mpl = load_matplotlib()
        style: Any = {"svg.hashsalt": self.title, "svg.fonttype": "none", "text.parse_math": False}
        style |= {"font.size": 9, "axes.linewidth": 0.6}
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
        data = io.BytesIO()
        with mpl.rc_context(style), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph")  # of names in other scripts, which a browser has fonts for
            self.figure().savefig(data, format=kind, metadata=metadata.get(kind), dpi=144)
        return data.getvalue()

    @cached_property
    def svg(self) -> str:
        """The drawing as an element of a page, the same bytes at any time; ids are those that something refers to."""
        svg = self._bytes("svg").decode()
        svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg[svg.index("<svg") :], flags=re.DOTALL)
        used = set(re.findall(r'(?:url\(#|href="#)([\w.-]+)', svg))
        svg = re.sub(r' id="([\w.-]+)"', lambda found: found[0] if found[1] in used else "", svg)
        return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(self.title)}" ', 1).rstrip()

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture as ``NAME.svg``, ``NAME.pdf`` or ``NAME.png``, whole or not at all."""
        file = Path(path)
        file = file if file.suffix else file.with_name(f"{file.name}{FORMATS[0]}")
        kind = file.suffix.lower()
        if kind not in FORMATS:
            raise InputError(str(file), "", f"a picture is saved as {', '.join(FORMATS)}, not as {shorten(kind)}")
        write_atomically(file, f"{self.svg}\n".encode() if kind == ".svg" else self._bytes(kind[1:]))
        return file


def style_of(number: int) -> dict[str, Any]:
    """Colour, stroke and marker of a line: 36 lines differ in one of them."""
    other = (number + number // len(COLORS)) % len(MARKERS)
    return {"color": COLORS[number % len(COLORS)], "linestyle": DASHES[other], "marker": MARKERS[other]}


def break_name(name: str, width: int = 42) -> str:
    """A long name in several lines, broken behind a colon, a comma or a space, but not before a star."""
    lines = [""]
    for part in re.findall(r"[^:, ]+[:, ]*", make_printable(name, 80).replace(" *", "\u00a0*")):
        if lines[-1] and len((lines[-1] + part).rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def height_of(names: Sequence[str], height: float = LINE, above: float = 0.75) -> float:
    lines = max((1 + break_name(name).count("\n") for name in names), default=1)
    return above + len(names) * max(height, 0.06 + 0.12 * lines)


def name_rows(axes: Axes, names: Sequence[str], own: Sequence[bool] = ()) -> None:
    axes.set_yticks(range(len(names)), [break_name(name) for name in names], fontsize=8)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    for label, is_own in zip(axes.get_yticklabels(), own, strict=False):
        label.set_fontweight("bold" if is_own else "normal")


def write_right(axes: Axes, row: float, text: str, **style: Any) -> None:
    axes.text(1.015, row, text, transform=axes.get_yaxis_transform(), va="center", fontsize=8, **style)


def label_ends(axes: Axes, ends: Sequence[tuple[float, str, str]], height: float | None = None) -> None:
    """Names (height, text, colour) right of the axes, at the ends of lines, moved apart if they would touch."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    step = 0.15 / (height or figure.get_size_inches()[1] - 0.8)
    to_share = axes.transScale + axes.transLimits
    places = [float(to_share.transform((axes.get_xlim()[0], end))[1]) for end, _, _ in ends]
    least = 0.0
    for rank, number in enumerate(sorted(range(len(ends)), key=places.__getitem__), 1):
        place = max(least, min(places[number], 1 - step * (len(ends) - rank)))
        least, (_, text, color) = place + step, ends[number]
        style: dict[str, Any] = {"transform": axes.transAxes, "va": "center", "color": color, "fontsize": 8}
        axes.text(1.015, place, make_printable(text, 60), **style)


def pick_quantiles(values: Sequence[Any], count: int = DOTS) -> Sequence[Any]:
    """At most so many of the values, from the least to the largest, at equal steps of their rank."""
    if len(values) <= count:
        return values
    ranked = sorted(values)
    return [ranked[round(place * (len(ranked) - 1) / (count - 1))] for place in range(count)]


def use_thousands(axes: Axes, which: str, most: int = 8) -> None:
    """Numbers of an axis with k, M, G or T; of a logarithmic one at most so many round ones."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_formatter(FuncFormatter(lambda value, _: format_compactly(value)))
    if axis.get_scale() == "log":
        low, high = axis.get_view_interval()
        decades = math.log10(high / low)
        axis.set_major_locator(LogLocator(subs=(1.0,) if 3 * decades > most else (1.0, 2.0, 5.0), numticks=most))
        axis.set_minor_locator(NullLocator())
        axis.set_minor_formatter(NullFormatter())


def list_share_rows(shares: pd.DataFrame) -> list[str]:
    """The algorithms of shares of OPT, the best mean over the groups first, those without one last."""
    means = shares["reached"].astype(float).groupby(shares["algorithm"], sort=False).mean()
    return [str(name) for name in means.sort_values(ascending=False, kind="stable").index]


def draw_shares(axes: Axes, shares: pd.DataFrame) -> None:
    """A row per algorithm; the interval of the mean thick, from the least to the largest case thin."""
    order = list_share_rows(shares)
    groups = list(dict.fromkeys(shares["group"]))
    firsts = rows_of(shares.drop_duplicates("algorithm").set_index("algorithm").loc[order])
    name_rows(axes, [f"{row.name}{' *' * row.oracle}" for row in firsts], list(map(is_user_algorithm, order)))
    is_loss = any(shares["reached"].dropna() < 0)
    axes.set(xlim=(LOSS if is_loss else 0, 101), xlabel="share of OPT, percent (100 is optimal)")
    axes.axvline(100, color=INK, linewidth=1)
    if len(groups) > GROUPS:
        for line, name in enumerate(order):
            values = sorted(shares[shares["algorithm"] == name]["reached"].dropna())
            for value in pick_quantiles(values):
                _mark_share(axes, value, line, markersize=4, color=COLORS[0], marker="o", markerfacecolor="none")
            if values:
                middle = 100 * float(sum(values, Fraction(0)) / len(values))
                axes.plot([middle, middle], [line - 0.32, line + 0.32], color=INK, linewidth=2)
                write_right(axes, line, range_text(values[0], values[-1]))
        return
    apart = 0.72 / len(groups)
    for number, group in enumerate(groups):
        style: dict[str, Any] = {"color": COLORS[number]}
        for row in rows_of(shares[shares["group"] == group]):
            at = order.index(row.algorithm) + (number - (len(groups) - 1) / 2) * apart
            if row.reached is None:
                axes.text(1, at, "no share", va="center", fontsize=7, style="italic", color=style["color"])
                continue
            axes.plot([100 * float(row.parts[0]), 100 * float(row.parts[-1])], [at, at], linewidth=0.7, **style)
            axes.plot([100 * float(row.lower), 100 * float(row.upper)], [at, at], linewidth=4, alpha=0.45, **style)
            _mark_share(axes, row.reached, at, markersize=4, **style, marker=MARKERS[number])
            if len(groups) == 1:
                write_right(axes, at, share_text(row.lower, row.upper))
        axes.plot([], [], marker=MARKERS[number], markersize=4, label=make_printable(group, 60), **style)
    if len(groups) > 1:
        columns = max(1, min(len(groups), 70 // max(map(len, groups))))
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, frameon=False, fontsize=8)


def _mark_share(axes: Axes, share: Fraction, at: float, **style: Any) -> None:
    """A sign at a share; an arrow at the edge for a loss beyond it."""
    if 100 * share < LOSS:
        style["marker"] = "<"
    axes.plot(max(100 * float(share), LOSS + 1), at, **style)


def draw_mean_rows(
    axes: Axes, means: pd.DataFrame, *, scale: Fraction, title: str, log: bool, limits: tuple[float, float] | None
) -> None:
    """A row per algorithm of one group, in the order of the table: the mean with its number, and OPT as a band."""
    rows = rows_of(means)
    bars = rows[0].kind != "ratio" and not log
    name_rows(axes, [f"{row.name}{' *' * row.oracle}" for row in rows], [is_user_algorithm(row.name) for row in rows])
    axes.set_xlabel(title)
    if log:
        axes.set_xscale("log")
    for at, row in enumerate(rows):
        if row.mean_lower is None:
            reason = f"{row.unbounded} unbounded" if row.unbounded else "no figure"
            axes.text(0.01, at, reason, transform=axes.get_yaxis_transform(), va="center", fontsize=8, style="italic")
            continue
        low, high = (float(scale * Fraction(end)) for end in (row.mean_lower, row.mean_upper))
        color = OPT if row.algorithm == "OPT" else COLORS[0]
        if row.algorithm == "OPT":
            axes.axvspan(low, high, color=OPT, alpha=0.25, linewidth=0)
            axes.axvline(high, color=OPT, linewidth=1)
        if bars:
            axes.barh(at, low, height=0.6, color=color, alpha=0.35)
        else:
            axes.plot((low * high) ** 0.5 if log else (low + high) / 2, at, "o", markersize=4, color=color)
        _draw_mean(axes, at, row, scale, color)
        ends = " to ".join(dict.fromkeys(map(format_compactly, (low, high))))
        write_right(axes, at, ends + f", {row.unbounded} unbounded" * bool(row.unbounded))
    axes.margins(x=0.04)
    if bars and axes.get_xlim()[0] < 0 <= min(means["mean_lower"].dropna(), default=0):
        axes.set_xlim(left=0)
    use_thousands(axes, "x")
    if limits is not None and (not log or limits[0] > 0):
        axes.set_xlim(*limits)


def _draw_mean(axes: Axes, at: float, row: Any, scale: Fraction, color: str, *, upright: bool = False) -> None:
    """Beside the sign of a mean: thin its 95 % interval; thick the certified one; of fixed cases a circle each."""

    def plot(values: Sequence[Any], **style: Any) -> None:
        scaled, places = [float(scale * Fraction(value)) for value in values], [at] * len(values)
        if scaled:
            axes.plot(*((places, scaled) if upright else (scaled, places)), **style)

    ink, marker = (color, "") if upright else (INK, "|")
    plot(interval_of(row) or (), color=ink, linewidth=0.9, marker=marker, markersize=5)
    circles = {"marker": "o", "linestyle": "", "markerfacecolor": "white", "markeredgewidth": 0.8}
    plot(pick_quantiles(row.parts), color=color, markersize=2.8, **circles)
    if row.mean_lower != row.mean_upper:
        plot((row.mean_lower, row.mean_upper), color=color, linewidth=3.5, solid_capstyle="butt")


def interval_of(row: Any) -> tuple[float, float] | None:
    """The 95 % interval of a mean; of a share none is above 1; None of fixed cases, which are shown one by one."""
    if row.low is None or row.high is None or len(row.parts):
        return None
    return (row.low, min(row.high, 1.0)) if row.kind == "reached" else (row.low, row.high)


def format_compactly(value: float) -> str:
    """Four digits with k, M, G or T behind them; 10,000 is the first with a k."""
    units = ((1e12, 1e12, " T"), (1e9, 1e9, " G"), (1e6, 1e6, " M"), (9999.5, 1e3, " k"))
    size, letter = next(((size, letter) for least, size, letter in units if abs(value) >= least), (1, ""))
    return f"{value / size:.4g}{letter}"


def draw_mean_lines(axes: Axes, means: pd.DataFrame, *, scale: Fraction, title: str, axis: str, log: bool) -> None:
    """Means over the groups, a line per algorithm with its 95 % intervals, or a circle per fixed case."""
    if log:
        axes.set_yscale("log")
    names, groups = (list(dict.fromkeys(means[column])) for column in ("algorithm", "group"))
    first = -("OPT" in names)  # OPT takes no number: an algorithm looks the same in all figures of a page
    ends = []
    for number, name in enumerate(names, first):
        rows = [row for row in rows_of(means[means["algorithm"] == name]) if row.mean_lower is not None]
        if not rows:
            continue
        style = {"color": OPT, "linestyle": "-", "marker": "o"} if name == "OPT" else style_of(number)
        beside = 0.06 * (number - (len(names) - 1) / 2)  # side by side, so that intervals do not cover each other
        places = [groups.index(row.group) + beside for row in rows]
        means_of = [[float(scale * Fraction(end)) for end in (row.mean_lower, row.mean_upper)] for row in rows]
        heights = [math.sqrt(low * high) if log else (low + high) / 2 for low, high in means_of]
        axes.plot(places, heights, markersize=4, linewidth=1.2, **style)
        for place, row in zip(places, rows, strict=True):
            _draw_mean(axes, place, row, scale, style["color"], upright=True)
        ends.append((heights[-1], rows[0].name, style["color"]))
    axes.set_xticks(range(len(groups)), shorten_groups(groups))
    axes.set(xlim=(-0.5, len(groups) - 0.5), xlabel=axis, ylabel=title)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    use_thousands(axes, "y")
    label_ends(axes, ends)


def shorten_groups(groups: Sequence[str]) -> list[str]:
    """What the groups' names do not share, by whole words: ``n = 30``, ``n = 100`` become ``30``, ``100``."""
    words = [group.split(" ") for group in groups]
    for _ in range(2):  # the words before what differs, then, from the end, those behind it; one word stays
        same = takewhile(lambda column: len(set(column)) == 1, zip(*words, strict=False))
        shared = min(len(list(same)), *(len(parts) - 1 for parts in words))
        words = [parts[shared:][::-1] for parts in words]
    return [" ".join(parts) for parts in words]


def draw_bounds(axes: Axes, table: pd.DataFrame, title: str) -> None:
    """A strip above the ratios of a sweep: from the least bound over the runs, a diamond, to the largest."""
    known = table.dropna(subset="bound_least")
    if not len(known):
        return
    strip = axes.inset_axes((0, 1.04, 1, 0.3))
    strip.spines[["top", "right"]].set_visible(False)
    strip.set(yscale="log", xlim=axes.get_xlim(), xticks=[])
    strip.grid(axis="y", color="#dddddd", linewidth=0.6)
    groups, by_algorithm = list(dict.fromkeys(table["group"])), known.groupby("algorithm", sort=False)
    for number, (_, part) in enumerate(by_algorithm):
        places = [groups.index(group) + 0.12 * (number - (len(by_algorithm) - 1) / 2) for group in part["group"]]
        least, most = ([float(value) for value in part[end]] for end in ("bound_least", "bound_most"))
        strip.vlines(places, least, most, color=OPT, linewidth=1)
        strip.plot(places, least, "--D", color=OPT, markerfacecolor="white", markersize=5, linewidth=0.8)
    strip.text(1.015, 0.5, title, transform=strip.transAxes, va="center", fontsize=8, color=OPT)
    use_thousands(strip, "y", 4)


def draw_profile(axes: Axes, profiles: Mapping[str, Sequence[float]], cases: Mapping[str, int]) -> None:
    """In how many of its cases an algorithm is within a factor of the best run (Dolan and Moré, 2002)."""
    high = min(1000.0, max([1.1, *(factor for factors in profiles.values() for factor in factors)])) * 1.02
    good = {name: sum(1 / factor for factor in factors) / cases[name] for name, factors in profiles.items()}
    ranked = sorted(profiles, key=lambda name: -good[name])
    coloured = sorted(ranked, key=lambda name: not is_user_algorithm(name))[:5]
    axes.set_xscale("log")
    ends = []
    for name in reversed(ranked):
        factors, count = profiles[name], cases[name]
        number = coloured.index(name) if name in coloured else None
        style = style_of(number) | {"marker": ""} if number is not None else {"color": FAINT, "linestyle": "-"}
        steps = [(1.0, sum(factor <= 1 for factor in factors) / count)]
        steps += [(factor, place / count) for place, factor in enumerate(factors, 1) if 1 < factor <= high]
        last = steps[-1][1]
        xs, ys = zip(*steps, (high, last), strict=True)
        axes.step(xs, [100 * y for y in ys], where="post", linewidth=0.8 if number is None else 1.5, **style)
        ends.append((100 * last - (1 - good[name]), name, style["color"]))
    axes.set(xlim=(1, high), ylim=(0, 102))
    axes.set(xlabel="factor of the best run of the case", ylabel="share of cases, percent")
    axes.grid(color="#dddddd", linewidth=0.6)
    shown = [1.0]
    for value in (1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000):
        if value <= high and math.log(value / shown[-1]) > math.log(high) / 12:
            shown.append(value)
    axes.set_xticks(shown, [f"{value:g}" for value in shown])
    axes.set_xticks([], minor=True)
    label_ends(axes, ends)


def draw_times(axes: Axes, seconds: Mapping[str, Sequence[float]]) -> None:
    name_rows(axes, list(seconds))
    axes.set_xscale("log")
    for place, values in enumerate(seconds.values()):
        shown = [max(value, 1e-5) for value in pick_quantiles(list(values))]
        axes.plot(shown, [place] * len(shown), "o", markersize=3.5, alpha=0.6, color=COLORS[0])
    axes.set_xlabel("seconds of a run, a circle per case")
    use_thousands(axes, "x")
