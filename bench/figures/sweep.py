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
from typing import Any, Self

import pandas as pd

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.suite import Plot
from ratiobench.bench.figures.charts import draw_series_of, shorten_groups
from ratiobench.bench.figures.data import CaseValues, take_means
from ratiobench.bench.figures.means import Means
from ratiobench.bench.figures.scales import Axis, format_compactly
from ratiobench.bench.figures.suite_figure import Chart, Text
from ratiobench.bench.figures.svg import ALONE, LINE, Frame
from ratiobench.bench.results.row import Row
from ratiobench.bench.tables.cells import Table, count_cell, make_cell
from ratiobench.bench.tables.ratios import format_decimal, format_number, interval_text
from ratiobench.bench.tables.rows import Results, is_known
from ratiobench.bench.tables.text import CELL, align_columns, check_title
from ratiobench.instances.errors import make_printable

STRIP = 62.0
"""Height of the strip of the bound."""
LOG = 4
"""Largest ratio up to which its axis is linear."""
BOUND = {
    "verdicts": "of the family's main check, with the number of runs",
    "bound_least": "exact: the least bound on OPT/ALG by that check over the runs; empty where it bounds none",
    "bound_most": "exact: the largest",
    "least_lower": "exact: the least ratio of a run, at least",
    "worst_lower": "exact: the largest ratio of a run, at least",
    "worst_upper": "exact: at most",
}
"""Columns of NAME.csv behind those of figures of means."""
METHOD = (
    "A sign is the mean of OPT/ALG over the runs of a value: its thick bar is certified by the intervals on OPT, its "
    "thin line reaches from the least to the largest ratio of a run. A hollow diamond is the least bound of the "
    "theorem over the runs, its line reaches to the largest; the theorem's assumptions may fail, as the table says."
)


@dataclass(frozen=True)
class SweepFigure(Means):
    """Ratios over the values of a parameter, with the bound of the main theorem."""

    bounds: pd.DataFrame
    check: str
    facts: str
    legend = METHOD

    @classmethod
    def draw(cls, found: Results, plot: Plot, family: Family) -> Self:
        """The means of the ratio, with verdicts and bounds, from the results."""
        chosen = replace(plot, kind="ratio")
        rows, values = take_means(found, chosen, family), CaseValues(found, chosen)
        check = family.headline if family.headline in found.checks else ""
        bounds = [_bound(values.of(row["group"], row["algorithm"]), check) for row in rows.means.to_dict("records")]
        frame = pd.DataFrame(bounds, columns=list(BOUND), dtype=object)
        least, largest = frame["least_lower"], frame["worst_upper"]
        means = rows.means.assign(low=least, high=largest, spread="least to largest of a run")
        rows = replace(rows, means=means)
        return cls(plot, family.unit, rows, found.sense, frame, check, _facts(found, values))

    def files(self) -> dict[str, pd.DataFrame]:
        """NAME.csv."""
        means = self.rows.means.drop(columns=["low", "high", "spread"])
        return {f"{self.plot.name}.csv": pd.concat([means, self.bounds], axis=1)}

    def shared_rows(self) -> dict[str, pd.DataFrame]:
        """Nothing: its intervals are not those of other figures."""
        return {}

    def draw_charts(self) -> list[Chart]:
        """One chart; none before anything has run."""
        if not self.rows.means["mean_lower"].notna().any():
            return []
        return [Chart("", draw_sweep(self), wide=True)]

    def _lines(self) -> list[dict[str, str]]:
        """A line per value and algorithm."""
        places = dict(zip(self.plot.groups, shorten_groups(self.plot.groups), strict=True))
        found = []
        joined = zip(self.rows.means.to_dict("records"), self.bounds.to_dict("records"), strict=True)
        for row, bound in joined:
            line = {
                self.plot.axis.lower(): places[row["group"]],
                "algorithm": f"{row['algorithm']}{' *' * bool(row['oracle'])}",
                f"mean {self.sense.ratio}": _between(row["mean_lower"], row["mean_upper"]),
                "least to largest": f"{_rough(bound['least_lower'])} to {_rough(bound['worst_upper'], up=True)}",
                "runs": str(row["cases"]) + f" + {row['unbounded']} unbounded" * bool(row["unbounded"]),
            }
            if self.check:
                line |= {check_title(self.check): bound["verdicts"] or "-", "bound": _bound_text(bound)}
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


def _bound(rows: Sequence[Row], check: str) -> dict[str, Any]:
    bounds = [each for row in rows if check and (each := bound_of(row, check)) is not None]
    counted = Counter(str(row.verdict(check)) for row in rows if check and is_known(row.verdict(check)))
    ends = [(row.ratio_upper, row.ratio_lower) for row in rows if is_known(row.ratio_upper)]
    upper, lower = max((each for each, _ in ends), default=None), max((each for _, each in ends), default=None)
    return {
        "verdicts": ", ".join(f"{count} {name}" for name, count in counted.items()),
        "bound_least": min(bounds, default=None),
        "bound_most": max(bounds, default=None),
        "least_lower": min((each for _, each in ends), default=None),
        "worst_lower": lower,
        "worst_upper": upper,
    }


def _between(lower: Any, upper: Any) -> str:
    return interval_text(lower, upper) if is_known(lower) else "-"


def _rough(value: Any, up: bool = False) -> str:
    return format_decimal(Fraction(value), 2, up=up) if is_known(value) else "-"


def _bound_text(row: Mapping[Any, Any]) -> str:
    """The least and the largest bound, rounded down and up to whole numbers."""
    if not is_known(row["bound_least"]):
        return "-"
    least, most = row["bound_least"] // 1, -(-row["bound_most"] // 1)
    return f"{format_number(least)} to {format_number(most)}" if most > least + 1 else format_number(least)


def draw_sweep(figure: SweepFigure) -> str:
    """The strip of the bound, and below it a line per algorithm with its intervals."""
    means = figure.rows.shown
    groups = [group for group in figure.plot.groups if (means["group"] == group).any()]
    names = list(dict.fromkeys(means["algorithm"]))
    known = [row for row in means.to_dict("records") if is_known(row["mean_lower"])]
    tops = [min(float(row["high"]), 1.5 * float(row["mean_upper"])) for row in known if is_known(row["high"])]
    high = max([1.1, *(float(row["mean_upper"]) for row in known), *tops])
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
    joined = zip(figure.rows.means.to_dict("records"), figure.bounds.to_dict("records"), strict=True)
    for row, bound in joined:
        if is_known(bound["bound_least"]):
            ends = float(bound["bound_least"]), float(bound["bound_most"])
            found.setdefault(str(row["algorithm"]), []).append((groups.index(row["group"]), *ends))
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
