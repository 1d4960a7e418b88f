"""Figures of means, the kind of every quantity and measure: panels of groups or lines over them, and their data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import pandas as pd

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import Plot
from ratiobench.bench.figures.charts import draw_group, draw_lines, find_span, find_spans, is_lines
from ratiobench.bench.figures.data import MeanRows, take_means
from ratiobench.bench.figures.suite_figure import Chart, SuiteFigure, Text
from ratiobench.bench.tables.cells import Table, count_cell, make_cell, mean_cell
from ratiobench.bench.tables.remarks import remarks_below
from ratiobench.bench.tables.rows import Results, is_known
from ratiobench.bench.tables.text import CELL, align_columns
from ratiobench.instances.errors import make_printable

METHOD = (
    "Mean over the cases of each group, which are repetitions, the best on top; the line is the 95 % interval of the "
    "mean by Student's t. Where OPT is an interval, so is the mean (a bar), and its line covers both ends. "
    "Figures are in the table."
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
        return self.rows.means.empty

    def files(self) -> dict[str, pd.DataFrame]:
        """NAME.csv; NAME_printed.csv and NAME_paper.csv where the paper prints something."""
        name, rows = self.plot.name, self.rows
        found = {f"{name}.csv": rows.means, f"{name}_printed.csv": rows.printed, f"{name}_paper.csv": rows.beside}
        return {file: frame for file, frame in found.items() if len(frame) or frame is rows.means}

    def shared_rows(self) -> Mapping[str, pd.DataFrame]:
        """All means of the suite in one file, small enough to keep; what is printed for them in two more."""
        rows = self.rows
        return {"figures.csv": rows.means, "printed.csv": rows.printed, "printed_means.csv": rows.beside}

    def draw_charts(self) -> list[Chart]:
        """One chart of lines where that means something, else a panel per group; none before anything has run."""
        rows = self.rows
        if not rows.means["mean_lower"].notna().any():
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
        if len(rows.printed):
            found += [Text(_COMPARED), _table_of_printed(rows.printed)]
        if len(rows.beside):
            found += [Text("The paper's means beside ours."), _table_of_printed_means(rows.beside)]
        if left_out := _left_out(rows.means).strip():
            found.append(Text(left_out, css="method"))
        return [*found, _table_of_means(rows)] if len(rows.means) else found

    def text(self) -> str:
        """What papers print beside what was found; empty where they print nothing."""
        lines = [
            {
                "group": str(row["group"]),
                "algorithm": str(row["algorithm"]),
                "paper": row["paper"],
                "ours": _rounded(row["mean"]),
                "95 % interval": _interval(row, ".2f"),
            }
            for row in self.rows.beside.to_dict("records")
        ]
        lines += [
            {
                "group": str(row["group"]),
                "algorithm": f"{row['algorithm']} over {row['than']}",
                "paper": f"{row['paper_percent']} %",
                "ours": f"{_rounded(row['percent'])} %" if is_known(row["percent"]) else "-",
                "95 % interval": _interval(row, ".2f"),
            }
            for row in self.rows.printed.to_dict("records")
        ]
        if not lines:
            return ""
        title = make_printable(self.plot.title, CELL)
        return f"{title}: what the paper prints, and ours:\n{align_columns(lines, indent='  ')}"


def _cases(means: pd.DataFrame, group: str) -> str:
    counts = [int(count) for count in means.loc[means["group"] == group, "cases"]]
    low, high = min(counts), max(counts)
    if high == 1:
        return "One case: no interval."
    return f"{high} cases." if low == high else f"{low} to {high} cases."


def _left_out(means: pd.DataFrame) -> str:
    """What no mean contains, and what is said of the runs behind them, in words."""
    parts = []
    for row in means.to_dict("records"):
        for kind, words in (("unbounded", "unbounded"), ("left_out", "without a figure")):
            if row[kind]:
                total = row["cases"] + row["unbounded"] + row["left_out"]
                parts.append(f"{row['group']}, {row['algorithm']}: {row[kind]} of {total} cases {words}")
    left_out = (
        f" Not in the means (an arrow at the edge where cases are unbounded): {'; '.join(parts)}." if parts else ""
    )
    return left_out + remarks_below(means.to_dict("records"))


def _table_of_means(rows: MeanRows) -> Table:
    head = ["group", "algorithm", "cases", "mean, at least", "mean, at most", "95 %, from", "to", "unbounded"]
    body = [
        [
            make_cell(row["group"]),
            make_cell(rows.labels.get((row["group"], row["algorithm"]), row["algorithm"]) + " *" * bool(row["oracle"])),
            count_cell(row["cases"]),
            *(mean_cell(row[name], up=name == "mean_upper") for name in ("mean_lower", "mean_upper", "low", "high")),
            *(count_cell(row[name]) for name in ("unbounded", "left_out")),
        ]
        for row in rows.means.to_dict("records")
    ]
    return Table("Means", [*head, "left out"], body, folded="The figure as a table")


def _table_of_printed(printed: pd.DataFrame) -> Table:
    head = ["group", "algorithm", "better than", "paper, %", "ours, %", "95 % interval", "cases"]
    body = []
    for row in printed.to_dict("records"):
        if is_known(row["percent"]):
            percent = Fraction(row["percent"])
            ours = make_cell(f"{float(percent):.2f}", sort=float(percent), title=str(percent), numeric=True)
            interval = _interval(row, ".2f", "unbounded" if row["cases"] > 1 else "one case: none")
        else:
            ours = make_cell("not positive below" if row["cases"] else "-", numeric=True)
            interval = "-"
        names = (make_cell(row[name]) for name in ("group", "algorithm", "than"))
        body.append([*names, count_cell(row["paper_percent"]), ours, make_cell(interval), count_cell(row["cases"])])
    return Table("Printed", head, body)


def _table_of_printed_means(beside: pd.DataFrame) -> Table:
    head = ["group", "algorithm", "paper", "ours", "95 % interval", "cases"]
    body = [
        [
            make_cell(row["group"]),
            make_cell(row["algorithm"]),
            make_cell(row["paper"], sort=float(row["paper"]), numeric=True),
            mean_cell(row["mean"]),
            make_cell(_interval(row, ".6g")),
            count_cell(row["cases"]),
        ]
        for row in beside.to_dict("records")
    ]
    return Table("Means that the paper prints", head, body)


def _rounded(value: Fraction | float | None) -> str:
    return f"{float(value):.2f}" if is_known(value) and value is not None else "-"


def _interval(row: Mapping[Any, Any], form: str, unknown: str = "-") -> str:
    return f"{row['low']:{form}} to {row['high']:{form}}" if is_known(row["low"]) else unknown
