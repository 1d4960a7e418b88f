"""Figures of means, the kind of every quantity and measure: panels of groups or lines over them, and their data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import pandas as pd

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import Plot
from ratiobench.bench.report.means.charts import draw_group, draw_lines, find_span, find_spans, is_lines
from ratiobench.bench.report.means.data import MeanRows, take_means
from ratiobench.bench.report.shared.cells import Table, count_cell, make_cell, mean_cell
from ratiobench.bench.report.shared.suite_figure import Chart, SuiteFigure, Text
from ratiobench.bench.report.shared.text import CELL, align_columns
from ratiobench.bench.results import means
from ratiobench.bench.results.means import GainBesidePaper, Mean, MeanBesidePaper, make_record_frame
from ratiobench.bench.results.read import Results
from ratiobench.bench.results.remarks import remarks_below
from ratiobench.instances.io.errors import make_printable

METHOD = (
    "Mean over the cases of each group, the best on top. Where the cases are draws of one law with different seeds, "
    "the line is the 95 % interval of the mean by Student's t; fixed cases, such as days of a trace, are a circle "
    "each. Where OPT is an interval, so is the mean (a bar), and its line covers both ends. Figures are in the table."
)
_COMPARED = (
    "What the paper prints beside what was found: 100 (mean / mean - 1) over the same cases, its interval by Fieller's "
    "theorem (Student's t for the ratio of two paired means)."
)


@dataclass(frozen=True)
class Means(SuiteFigure):
    """Means over the cases of each group, with their intervals, and what papers print beside them."""

    rows: MeanRows
    sense: Sense
    legend = METHOD

    @classmethod
    def draw(cls, found: Results, plot: Plot, family: Family) -> Self:
        """The means, from the results."""
        return cls(plot, family.unit, take_means(found, plot, family), found.sense)

    @property
    def is_empty(self) -> bool:
        """Whether no case belongs to it."""
        return not self.rows.means

    def files(self) -> dict[str, pd.DataFrame]:
        """NAME.csv; NAME_printed.csv and NAME_paper.csv where the paper prints something."""
        own = {f"{self.plot.name}.csv": "figures.csv"}
        if self.rows.printed:
            own[f"{self.plot.name}_printed.csv"] = "printed.csv"
        if self.rows.beside:
            own[f"{self.plot.name}_paper.csv"] = "printed_means.csv"
        frames = self._frames()
        return {file: frames[shared] for file, shared in own.items()}

    def shared_rows(self) -> Mapping[str, pd.DataFrame]:
        """All means of the suite in one file, small enough to keep; what is printed for them in two more."""
        return self._frames()

    def _frames(self) -> dict[str, pd.DataFrame]:
        """The rows as tables, by the names of the files that figures share."""
        rows = self.rows
        return {
            "figures.csv": make_record_frame(rows.means, means.COLUMNS),
            "printed.csv": make_record_frame(rows.printed, means.PRINTED),
            "printed_means.csv": make_record_frame(rows.beside, means.PRINTED_MEANS),
        }

    def draw_charts(self) -> list[Chart]:
        """One chart of lines where that means something, else a panel per group; none before anything has run."""
        rows = self.rows
        if not rows.drawn:
            return []
        if is_lines(self.plot, rows.means):
            return [Chart("", draw_lines(rows, find_span(rows)), wide=True)]
        spans = find_spans(rows)
        own = " The axis is the group's own." if len(set(spans.values())) > 1 else ""
        names = {group: group.removeprefix(f"{self.plot.name}: ") for group in spans}
        return [
            Chart(name, draw_group(rows, group, spans[group], self.sense), name, _cases(rows.means, group) + own)
            for group, name in names.items()
        ]

    def details(self) -> list[Text | Table]:
        """What the paper prints beside ours, what is in no mean, and the means as a table."""
        rows = self.rows
        found: list[Text | Table] = []
        if rows.printed:
            found += [Text(_COMPARED), _table_of_printed(rows.printed)]
        if rows.beside:
            found += [Text("The paper's means beside ours."), _table_of_printed_means(rows.beside)]
        if left_out := _left_out(rows.means).strip():
            found.append(Text(left_out, css="method"))
        return [*found, _table_of_means(rows.means)] if rows.means else found

    def text(self) -> str:
        """What papers print beside what was found; empty where they print nothing."""
        lines = [
            {
                "group": each.group,
                "algorithm": each.algorithm,
                "paper": each.paper,
                "ours": _rounded(each.mean),
                "95 % interval": _interval(each, ".6g"),
            }
            for each in self.rows.beside
        ]
        lines += [
            {
                "group": each.group,
                "algorithm": f"{each.algorithm} over {each.than}",
                "paper": f"{each.paper_percent} %",
                "ours": f"{_rounded(each.percent)} %" if each.percent is not None else "-",
                "95 % interval": _interval(each, ".2f"),
            }
            for each in self.rows.printed
        ]
        if not lines:
            return ""
        title = make_printable(self.plot.title, CELL)
        return f"{title}: what the paper prints, and ours:\n{align_columns(lines, indent='  ')}"


def _cases(means: Sequence[Mean], group: str) -> str:
    counts = [each.cases for each in means if each.group == group]
    low, high = min(counts), max(counts)
    if high == 1:
        return "One case: no interval."
    return f"{high} cases." if low == high else f"{low} to {high} cases."


def _left_out(means: Sequence[Mean]) -> str:
    """The cases that no mean contains, and the remarks on the runs behind the means, in words."""
    parts = []
    for each in means:
        for count, words in ((each.unbounded, "unbounded"), (each.left_out, "without a figure")):
            if count:
                total = each.cases + each.unbounded + each.left_out
                parts.append(f"{each.group}, {each.algorithm}: {count} of {total} cases {words}")
    left_out = (
        f" Not in the means (an arrow at the edge where cases are unbounded): {'; '.join(parts)}." if parts else ""
    )
    return left_out + remarks_below(means)


def _table_of_means(means: Sequence[Mean]) -> Table:
    head = ["group", "algorithm", "cases", "mean, at least", "mean, at most", "95 %, from", "to", "unbounded"]
    body = [
        [
            make_cell(each.group),
            make_cell((each.label or each.algorithm) + " *" * each.is_oracle),
            count_cell(each.cases),
            mean_cell(each.lower),
            mean_cell(each.upper, up=True),
            *map(mean_cell, each.interval or (None, None)),
            count_cell(each.unbounded),
            count_cell(each.left_out),
        ]
        for each in means
    ]
    return Table("Means", [*head, "left out"], body, folded="The figure as a table")


def _table_of_printed(printed: Sequence[GainBesidePaper]) -> Table:
    head = ["group", "algorithm", "better than", "paper, %", "ours, %", "95 % interval", "cases"]
    body = []
    for each in printed:
        if each.percent is not None:
            percent = float(each.percent)
            ours = make_cell(f"{percent:.2f}", sort=percent, title=str(each.percent), numeric=True)
            interval = _interval(each, ".2f", "unbounded" if each.cases > 1 else "one case: none")
        else:
            ours = make_cell("not positive below" if each.cases else "-", numeric=True)
            interval = "-"
        names = (make_cell(name) for name in (each.group, each.algorithm, each.than))
        body.append([*names, count_cell(each.paper_percent), ours, make_cell(interval), count_cell(each.cases)])
    return Table("Printed", head, body)


def _table_of_printed_means(beside: Sequence[MeanBesidePaper]) -> Table:
    head = ["group", "algorithm", "paper", "ours", "95 % interval", "cases"]
    body = [
        [
            make_cell(each.group),
            make_cell(each.algorithm),
            make_cell(each.paper, sort=float(each.paper), numeric=True),
            mean_cell(each.mean),
            make_cell(_interval(each, ".6g")),
            count_cell(each.cases),
        ]
        for each in beside
    ]
    return Table("Means that the paper prints", head, body)


def _rounded(value: Fraction | float | None) -> str:
    return "-" if value is None else f"{float(value):.2f}"


def _interval(row: GainBesidePaper | MeanBesidePaper, form: str, unknown: str = "-") -> str:
    return unknown if row.low is None or row.high is None else f"{row.low:{form}} to {row.high:{form}}"
