"""The kind `sweep`: OPT/ALG over the values of a parameter, and the bound of the family's main theorem above it.

The bound is orders of magnitude higher than the ratios, so it has a strip of its own above them, with its own
logarithmic axis and the same values below each other.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

import pandas as pd

from ratiobench.bench.draw.scales import Axis, format_compactly
from ratiobench.bench.draw.svg import ALONE, LINE, Frame
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.suite import Plot
from ratiobench.bench.report.means.charts import draw_series_of, shorten_groups
from ratiobench.bench.report.means.data import CaseValues, take_means
from ratiobench.bench.report.means.figure import Means
from ratiobench.bench.report.shared.cells import Table, count_cell, make_cell
from ratiobench.bench.report.shared.suite_figure import Chart, Text
from ratiobench.bench.report.shared.text import CELL, align_columns, check_title
from ratiobench.bench.results.means import BOUND, COLUMNS, Mean, SweepBound, make_record_frame
from ratiobench.bench.results.ratios import format_decimal, format_number, interval_text
from ratiobench.bench.results.read import Results, is_known
from ratiobench.bench.results.row import Row
from ratiobench.instances.io.errors import make_printable

STRIP = 62.0  # Height of the strip of the bound
LOG = 4  # Largest ratio up to which its axis is linear
METHOD = (
    "A sign is the mean of OPT/ALG over the runs of a value: its thick bar is certified by the intervals on OPT, its "
    "thin line reaches from the least to the largest ratio of a run. A hollow diamond is the least bound of the "
    "theorem over the runs, its line reaches to the largest; the theorem's assumptions may fail, as the table says."
)


@dataclass(frozen=True)
class SweepFigure(Means):
    """Ratios over the values of a parameter, with the bound of the main theorem."""

    bounds: Sequence[SweepBound]
    check: str
    facts: str
    legend = METHOD

    @classmethod
    def draw(cls, found: Results, plot: Plot, family: Family) -> Self:
        """The means of the ratio, with verdicts and bounds, from the results."""
        chosen = replace(plot, kind="ratio")
        rows, values = take_means(found, chosen, family), CaseValues(found, chosen)
        check = family.headline if family.headline in found.checks else ""
        bounds = [_bound(values.of(each.group, each.algorithm), check) for each in rows.means]
        means = [_spread(mean, bound) for mean, bound in zip(rows.means, bounds, strict=True)]
        rows = replace(rows, means=means)
        return cls(plot, family.unit, rows, found.sense, bounds, check, _facts(found, values))

    def files(self) -> dict[str, pd.DataFrame]:
        """NAME.csv."""
        means = make_record_frame(self.rows.means, [name for name in COLUMNS if name not in ("low", "high")])
        return {f"{self.plot.name}.csv": pd.concat([means, make_record_frame(self.bounds, BOUND)], axis=1)}

    def shared_rows(self) -> dict[str, pd.DataFrame]:
        """Nothing: its intervals are not those of other figures."""
        return {}

    def draw_charts(self) -> list[Chart]:
        """One chart; none before anything has run."""
        if not self.rows.drawn:
            return []
        return [Chart("", draw_sweep(self), wide=True)]

    def _lines(self) -> list[dict[str, str]]:
        places = dict(zip(self.plot.groups, shorten_groups(self.plot.groups), strict=True))
        found = []
        for mean, bound in zip(self.rows.means, self.bounds, strict=True):
            line = {
                self.plot.axis.lower(): places[mean.group],
                "algorithm": f"{mean.algorithm}{' *' * mean.is_oracle}",
                f"mean {self.sense.ratio}": _between(mean.lower, mean.upper),
                "least to largest": f"{_rough(bound.least_lower)} to {_rough(bound.worst_upper, up=True)}",
                "runs": str(mean.cases) + f" + {mean.unbounded} unbounded" * bool(mean.unbounded),
            }
            if self.check:
                line |= {check_title(self.check): bound.verdicts or "-", "bound": _bound_text(bound)}
            found.append(line)
        return found

    def details(self) -> list[Text | Table]:
        """How narrow the intervals are, and the table; nothing before anything has run."""
        lines = self._lines()
        if not lines:
            return []
        body = [
            [make_cell(text) if name != "runs" else count_cell(text) for name, text in each.items()] for each in lines
        ]
        return [Text(self.facts, css="method"), Table("Sweep", list(lines[0]), body)]

    def text(self) -> str:
        """The table."""
        lines = self._lines()
        if not lines:
            return ""
        title = make_printable(self.plot.title, CELL)
        return f"{title}:\n{align_columns(lines, indent='  ')}{self.facts}\n"


def _facts(found: Results, values: CaseValues) -> str:
    """How well OPT is known on the instances, and how much work they were."""
    cases = {row.case: row for row in values.rows}
    known = [row for row in cases.values() if is_known(row.opt_lower)]
    if not known:
        return ""
    proved = sum(row.opt_lower == row.opt_upper for row in known)
    gap = max(row.opt_gap or 0.0 for row in known)
    work = found.seconds[found.seconds["case"].isin(cases) & (found.seconds["stage"] != "deciding")]["seconds"].sum()
    return (
        f"OPT is known exactly on {proved} of {len(known)} instances; "
        f"the widest interval on it is {100 * gap:.3g} % of OPT. {work:.0f} s of work."
    )


def bound_of(row: Row, check: str) -> Fraction | None:
    """The bound on the ratio by a check of a run; None where it bounds nothing."""
    found = row.checks.get(check)
    if found is None:
        return None
    text = json.loads(found.figures).get("bound")
    return None if found.right is None or text is None else Fraction(found.right)


def _spread(mean: Mean, bound: SweepBound) -> Mean:
    """The mean with the least and the largest ratio of a run in place of its interval."""
    low, high = (None if end is None else float(end) for end in (bound.least_lower, bound.worst_upper))
    return replace(mean, low=low, high=high, spread="least to largest of a run", parts=())


def _bound(rows: Sequence[Row], check: str) -> SweepBound:
    bounds = [each for row in rows if check and (each := bound_of(row, check)) is not None]
    counted = Counter(str(row.verdict(check)) for row in rows if check and is_known(row.verdict(check)))
    ends = [(row.ratio_upper, row.ratio_lower) for row in rows if is_known(row.ratio_upper)]
    upper, lower = max((each for each, _ in ends), default=None), max((each for _, each in ends), default=None)
    return SweepBound(
        verdicts=", ".join(f"{count} {name}" for name, count in counted.items()),
        bound_least=min(bounds, default=None),
        bound_most=max(bounds, default=None),
        least_lower=min((each for _, each in ends), default=None),
        worst_lower=lower,
        worst_upper=upper,
    )


def _between(lower: Fraction | float | None, upper: Fraction | float | None) -> str:
    return "-" if lower is None or upper is None else interval_text(Fraction(lower), Fraction(upper))


def _rough(value: Fraction | None, up: bool = False) -> str:
    return "-" if value is None else format_decimal(value, 2, up=up)


def _bound_text(bound: SweepBound) -> str:
    """The least and the largest bound, rounded down and up to whole numbers."""
    if bound.bound_least is None or bound.bound_most is None:
        return "-"
    least, most = bound.bound_least // 1, -(-bound.bound_most // 1)
    return f"{format_number(least)} to {format_number(most)}" if most > least + 1 else format_number(least)


def draw_sweep(figure: SweepFigure) -> str:
    """The strip of the bound, and below it a line per algorithm with its intervals."""
    means = figure.rows.shown
    groups = figure.rows.groups
    names = list(dict.fromkeys(each.algorithm for each in means))
    known = [(each, each.ends[1]) for each in means if each.ends is not None]
    tops = [min(each.high, 1.5 * upper) for each, upper in known if each.high is not None]
    high = max([1.1, *(upper for _, upper in known), *tops])
    log = high > LOG
    labels = [(float(place), text) for place, text in enumerate(shorten_groups(groups))]
    x = Axis(-0.5, len(groups) - 0.5, figure.plot.axis, labels=labels)
    y = Axis(0.95, high * 1.08 if log else high + 0.04 * (high - 1), figure.rows.axis, log, most=6)
    bounds = _bounds_by_algorithm(figure, groups)
    strip = STRIP if bounds else 0.0
    title = f"bound of {check_title(figure.check)}" if bounds else ""
    frame = Frame(
        figure.plot.title, x, y, width=ALONE, height=max(250.0, 60 + LINE * len(names)) + strip, above=8 + strip,
        right=[*names, title], left=70.0,
    )  # fmt: skip
    if bounds:
        _draw_strip(frame, bounds, title, strip)
    draw_series_of(frame, means, groups, names, log)
    return frame.render()


def _bounds_by_algorithm(figure: SweepFigure, groups: Sequence[str]) -> dict[str, list[tuple[int, float, float]]]:
    """(place, least, most) of every value, by algorithm."""
    found: dict[str, list[tuple[int, float, float]]] = {}
    for mean, bound in zip(figure.rows.means, figure.bounds, strict=True):
        if bound.bound_least is not None and bound.bound_most is not None:
            place = groups.index(mean.group), float(bound.bound_least), float(bound.bound_most)
            found.setdefault(mean.algorithm, []).append(place)
    return found


def _draw_strip(
    frame: Frame, bounds: Mapping[str, Sequence[tuple[int, float, float]]], title: str, height: float
) -> None:
    """The bounds: a hollow diamond at the least over the runs, a line up to the largest."""
    ends = [end for points in bounds.values() for _, *pair in points for end in pair]
    axis = Axis(min(ends) / 1.6, max(ends) * 1.6, "", True)
    bottom = height - 12
    y = axis.scale(bottom, 8)
    for value in axis.scale(0, 1).ticks(2):
        frame.line("grid", (frame.x.start, y(value)), (frame.x.end, y(value)))
        frame.text(frame.x.start - 4, y(value), format_compactly(value), "end")
    frame.line("axis", (frame.x.start, 8), (frame.x.start, bottom))
    for shift in (0.0, 4.0):  # the axis is broken here
        frame.line("axis", (frame.x.start - 4, bottom + 5 + shift), (frame.x.start + 4, bottom + 2 + shift))
    for number, (name, points) in enumerate(bounds.items()):
        places = [
            (frame.x(place + 0.12 * (number - (len(bounds) - 1) / 2)), least, most) for place, least, most in points
        ]
        with frame.mark_algorithm(name):
            frame.line("series of-opt dashed", *((px, y(least)) for px, least, _ in places))
        for px, least, most in places:
            with frame.mark(f"{title}, {name}: {least:,.6g} to {most:,.6g}", name):
                frame.line("opt", (px, y(least)), (px, y(most)))
                around = [(0, -4.5), (4.5, 0), (0, 4.5), (-4.5, 0)]
                frame.area("hollow", [(px + dx, y(least) + dy) for dx, dy in around])
    last = max(points[-1][0] for points in bounds.values())
    least = min(low for points in bounds.values() for place, low, _ in points if place == last)
    frame.text(frame.x.end + 6, min(max(y(least), 12), bottom), title, css="name of-opt")
