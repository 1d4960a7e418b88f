"""The mean of what is certainly reached, per algorithm of a group, as every page has it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from ratiobench.bench.draw.marks import format_between, format_exactly, sort_rows
from ratiobench.bench.draw.plots import DOTS, pick_quantiles
from ratiobench.bench.draw.scales import Axis
from ratiobench.bench.draw.svg import Panel
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.report.means.data import REACHED
from ratiobench.bench.results.means import GroupMean, Spread
from ratiobench.bench.results.ratios import share_percent
from ratiobench.bench.results.read import by_group, is_known
from ratiobench.bench.results.row import Row


def draw_reached(
    means: Sequence[GroupMean], label: str, sense: Sense = Sense.MOST, spreads: Sequence[Spread] = ()
) -> str:
    """Mean of what is certainly reached over the cases of a group, per algorithm.

    `spreads`: what lies behind each mean, in the same order: its interval, or a circle per case; empty for nothing.
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
