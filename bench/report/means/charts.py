"""The figures that a suite asks for, drawn: means with intervals by group, lines over groups, curves and charges.

Algorithms are told apart by place and name, or by mark, stroke and label at the line's end; colour only helps.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ratiobench.bench.draw.marks import format_between, format_exactly, sort_rows
from ratiobench.bench.draw.plots import DOTS, pick_quantiles
from ratiobench.bench.draw.scales import Axis, format_compactly
from ratiobench.bench.draw.svg import ALONE, LINE, SERIES, Frame, Panel, draw_sign, style_series
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import Plot
from ratiobench.bench.report.means.data import MeanRows, find_quantity
from ratiobench.bench.results.means import OPT_LABEL, Mean

APART = 5  # How many times larger one group's figures may be than another's for both to stand on the same axis
WIDE = 50  # How many times larger the largest mean of a measure is than the smallest where its axis is logarithmic
LINES = 6  # Algorithms up to which the values over groups are lines in one figure


@dataclass(frozen=True, slots=True)
class Span:
    """What an axis shows, the same for all groups of a figure so that they can be compared."""

    low: float
    high: float
    log: bool = False


def find_spans(drawn: MeanRows) -> dict[str, Span]:
    """What the axis of every group shows: the same for all, unless some are very much smaller than others."""
    groups = drawn.groups
    parts = {group: _span(drawn.plot, [each for each in drawn.drawn if each.group == group]) for group in groups}
    start = 1.0 if drawn.plot.kind == "ratio" else 0.0
    sizes = [part.high - start for part in parts.values()]
    if drawn.plot.kind != "reached" and sizes and max(sizes) > APART * min(sizes):
        return parts
    return dict.fromkeys(groups, find_span(drawn))


def find_span(drawn: MeanRows) -> Span:
    """From the smallest to the largest mean, and of their intervals what is not out of all proportion."""
    return _span(drawn.plot, drawn.drawn)


def _span(plot: Plot, means: Sequence[Mean]) -> Span:
    ends = [each.ends for each in means if each.ends is not None]
    if not ends:
        return Span(0.0, 1.0)
    quantity = find_quantity(plot.kind)
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    spans = [each.interval or (float(each.parts[0]), float(each.parts[-1])) for each in means if _is_spread(each)]
    tops, bottoms = [top for _, top in spans], [bottom for bottom, _ in spans]
    if quantity.timed or (plot.kind == "ratio" and high > 20) or (not quantity.linear and high > WIDE * low > 0):
        start = min([low, *(max(bottom, low / 3) for bottom in bottoms)])
        return Span(max(start, 1e-9) / 1.3, max([high, *(min(top, 3 * high) for top in tops)]) * 1.3, True)
    margin = max(high - min(low, 0.0), 1e-9)
    top = max([high, *(min(top, high + 0.5 * margin) for top in tops)])
    bottom = min([low, *(max(bottom, low - 0.5 * margin) for bottom in bottoms)])
    if plot.kind == "ratio":
        return Span(min(0.97, bottom - 0.02 * margin), max(1.05, top + 0.04 * (top - 1)))
    return Span(min(0.0, bottom * 1.05), max(1.02, top) if plot.kind == "reached" else (top * 1.05 or 1.0))


def _is_spread(mean: Mean) -> bool:
    """Whether something is drawn around the mean: an interval, or the cases."""
    return mean.interval is not None or bool(mean.parts)


def sort_group(drawn: MeanRows, group: str, sense: Sense) -> list[Mean]:
    """The means of a group, the best mean first, OPT above all; without a mean last.

    Best is the least of ratios and times, and by the sense of what is aimed at; of all else the largest stands first.
    """
    means = [each for each in drawn.shown if each.group == group]
    kind = drawn.plot.kind
    is_least = kind == "ratio" or find_quantity(kind).timed or (kind == "welfare" and sense is Sense.LEAST)
    best = sort_rows(means, lambda each: each.upper, Sense.LEAST if is_least else Sense.MOST)
    return sorted(best, key=lambda each: each.algorithm != OPT_LABEL)


def draw_group(drawn: MeanRows, group: str, shown: Span, sense: Sense = Sense.MOST) -> str:
    """All algorithms of one group: a bar (or dot) for the mean, a line for its 95 % interval or a circle per case.

    The number stands at the right. An arrow at the right edge: some cases are unbounded and in no mean.
    """
    means = sort_group(drawn, group, sense)
    names = [f"{each.algorithm}{' *' * each.is_oracle}" for each in means]
    axis = Axis(shown.low, shown.high, drawn.axis, shown.log)
    panel = Panel(f"{drawn.plot.title}: {group}", names, axis, right=_texts(drawn.drawn))
    for mean in means:
        if mean.algorithm == OPT_LABEL and mean.ends is not None:
            low, high = mean.ends
            panel.box("band", panel.x.clip(low), panel.top, panel.x.clip(high), panel.bottom)
            panel.draw_vertical("opt", high)
    if drawn.plot.kind in ("reached", "ratio"):
        panel.draw_vertical("opt", 1)
    if shown.low < 0 < shown.high:
        panel.draw_vertical("zero", 0)
    for place, (name, mean) in enumerate(zip(names, means, strict=True)):
        algorithm = "" if mean.algorithm == OPT_LABEL else mean.algorithm
        with panel.line_of(place, f"{name}: {_describe(mean)}", algorithm) as y:
            _draw_mean(panel, drawn.plot.kind, place, mean, y)
    return panel.render()


def _texts(means: Sequence[Mean]) -> list[str]:
    return [_text(*each.ends) for each in means if each.ends is not None]


def _text(lower: float, upper: float) -> str:
    low, high = format_compactly(lower), format_compactly(upper)
    if low == high:
        return low
    same = low[-2:] == high[-2:] and low[-2] == " "
    return f"{low[:-2] if same else low}..{high}"


def _describe(mean: Mean) -> str:
    if mean.ends is None:
        return _reason(mean)
    cases = f"{mean.cases} case{'s' * (mean.cases != 1)}"
    parts = [f"mean {format_between(mean.lower, mean.upper)} over {cases}"]
    if mean.interval is not None:
        low, high = mean.interval
        parts.append(f"{mean.spread} {low:.6g} to {high:.6g}")
    elif mean.parts:
        parts.append(f"cases from {format_exactly(mean.parts[0])} to {format_exactly(mean.parts[-1])}")
    if mean.unbounded:
        parts.append(f"{mean.unbounded} unbounded")
    return ", ".join(parts)


def _reason(mean: Mean) -> str:
    return f"{mean.unbounded} unbounded" if mean.unbounded else "no figure"


def _draw_mean(panel: Panel, kind: str, place: int, mean: Mean, y: float) -> None:
    if mean.ends is None:
        panel.words(place, _reason(mean))
        return
    low, high = mean.ends
    part = " of-opt" * (mean.algorithm == OPT_LABEL)
    # A bar begins at nothing; where the axis has no such place, a dot says more.
    has_bar = kind != "ratio" and not panel.x.log
    if has_bar:
        panel.bar(place, low, css=part)
    if mean.interval is not None:
        panel.span(place, *mean.interval, part)
    for each in pick_quantiles(mean.parts, DOTS):
        panel.dot(f"hollow{part}", panel.x.clip(float(each)), y, 2)
    ends = panel.x.clip(low), panel.x.clip(high)
    if ends[0] != ends[1]:
        panel.line(f"thick{part}", (ends[0], y), (ends[1], y))
    if not has_bar:
        panel.dot(f"dot{part}", sum(ends) / 2, y)
    panel.write_figure(place, _text(low, high))
    if mean.unbounded:
        panel.area("arrow", [(panel.x.end - 4, y - 4), (panel.x.end + 3, y), (panel.x.end - 4, y + 4)])


def draw_lines(drawn: MeanRows, shown: Span) -> str:
    """Means over the groups, one line per algorithm, with its mark, stroke and name at its end."""
    groups = drawn.groups
    names = list(dict.fromkeys(each.algorithm for each in drawn.shown))
    labels = list(enumerate(shorten_groups(groups)))
    x = Axis(-0.5, len(groups) - 0.5, drawn.plot.axis, labels=[(float(place), text) for place, text in labels])
    y = Axis(shown.low, shown.high, drawn.axis, shown.log)
    frame = Frame(drawn.plot.title, x, y, width=ALONE, height=max(250.0, 60 + LINE * len(names)), right=names)
    draw_series_of(frame, drawn.shown, groups, names, shown.log)
    return frame.render()


def draw_series_of(
    frame: Frame, means: Sequence[Mean], groups: Sequence[str], names: Sequence[str], log: bool = False
) -> None:
    """A line per algorithm through its means over the groups, with intervals, mark, stroke and name at its end."""
    # OPT, which only some figures have, takes no number: an algorithm looks the same in all of them.
    first = -(OPT_LABEL in names)
    lines: dict[str, tuple[list[tuple[float, float]], list[Mean]]] = {}
    for number, name in enumerate(names, first):
        points, chosen = [], []
        for mean in means:
            if mean.algorithm != name or mean.ends is None:
                continue
            # Side by side, so that intervals do not cover each other.
            place = frame.x(groups.index(mean.group) + 0.08 * (number - (len(names) - 1) / 2))
            low, high = mean.ends
            points.append((place, frame.y.clip(math.sqrt(low * high) if log else (low + high) / 2)))
            chosen.append(mean)
        if points:
            lines[name] = points, chosen
    heights = dict(zip(lines, frame.place_labels([points[-1][1] for points, _ in lines.values()]), strict=True))
    for number, name in enumerate(names, first):
        if name in lines:
            _draw_line(frame, number, name, *lines[name], heights[name])


def _draw_line(
    frame: Frame, number: int, name: str, points: Sequence[tuple[float, float]], means: Sequence[Mean], height: float
) -> None:
    is_opt = name == OPT_LABEL
    colour = "of-opt" if is_opt else f"s{number % SERIES + 1}"
    algorithm = "" if is_opt else name
    if len(points) > 1:
        with frame.mark_algorithm(algorithm):
            frame.line(f"series {colour}" if is_opt else style_series(number), *points)
    for (x, y), mean in zip(points, means, strict=True):
        with frame.mark(f"{mean.group}, {name}: {_describe(mean)}", algorithm):
            if mean.interval is not None:
                frame.line(f"span {colour}", *((x, frame.y.clip(end)) for end in mean.interval))
            for each in pick_quantiles(mean.parts, DOTS):
                frame.dot(f"hollow {colour}", x, frame.y.clip(float(each)), 1.6)
            low, high = (frame.y.clip(end) for end in mean.ends or ())
            if low != high:
                frame.line(f"thick {colour}", (x, low), (x, high))
            if is_opt:
                frame.dot("dot of-opt", x, y, 3)
            else:
                draw_sign(frame, number, x, y)
    with frame.mark_algorithm(algorithm):
        frame.text(frame.x.end + 6, height, name, css=f"name {colour}")


def shorten_groups(groups: Sequence[str]) -> list[str]:
    """What the groups' names do not share, by whole words: ``n = 30``, ``n = 100`` become ``30``, ``100``."""
    words = [group.split(" ") for group in groups]
    least = min(map(len, words))
    before = next((k for k in range(least) if len({each[k] for each in words}) > 1), least - 1)
    rest = [each[before:] for each in words]
    least = min(map(len, rest))
    behind = next((k for k in range(least - 1) if len({each[-1 - k] for each in rest}) > 1), least - 1)
    return [" ".join(each[: len(each) - behind]) for each in rest]


def is_lines(plot: Plot, means: Sequence[Mean]) -> bool:
    """Whether lines over the groups mean something (the groups differ in a number) and can be told apart."""
    words = {re.sub(r"[\d.,]+", "", group) for group in plot.groups}
    numbers = {re.sub(r"[^\d.,]+", "", group) for group in plot.groups}
    ordered = len(words) == 1 and len(numbers) == len(plot.groups) >= 3 and "" not in numbers
    return ordered and len({each.algorithm for each in means}) <= LINES
