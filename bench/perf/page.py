"""Timings as CSV, text and a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ratiobench.bench.family.capabilities import Benchmark
from ratiobench.bench.perf.measurement import Bars, Measurement, Value
from ratiobench.bench.running import provenance

if TYPE_CHECKING:  # pandas and Jinja are loaded where a page is made
    from ratiobench.bench.report.shared.cells import Cell
    from ratiobench.bench.report.shared.suite_figure import Chart


def format_csv(measured: Measurement) -> str:
    """The rows as CSV, numbers in full, None as nothing."""
    import io
    from csv import writer

    text = io.StringIO()
    lines = writer(text, lineterminator="\n")
    lines.writerow(measured.columns)
    lines.writerows(["" if row[name] is None else row[name] for name in measured.columns] for row in measured.rows)
    return text.getvalue()


def format_table(measured: Measurement) -> str:
    """The rows as aligned text."""
    body = [[_shown(row[name]) for name in measured.columns] for row in measured.rows]
    width = [max(map(len, column)) for column in zip(measured.columns, *body, strict=True)]
    numeric = [all(not isinstance(row[name], str) for row in measured.rows) for name in measured.columns]
    lines = []
    for line in ([*measured.columns], *body):
        cells = [cell.rjust(w) if right else cell.ljust(w) for cell, w, right in zip(line, width, numeric, strict=True)]
        lines.append("  " + "  ".join(cells).rstrip())
    return "\n".join(lines)


def _shown(value: Value) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return value


def render_page(done: Sequence[tuple[Benchmark, Measurement]], quick: bool, warm: float) -> str:
    """One HTML page with the tables and figures; it needs nothing from a network."""
    from ratiobench.bench.report.shared.render import render

    parts = [PartOfPage(part, measured, _table(measured), _charts(measured)) for part, measured in done]
    return render("perf/perf.html", parts=parts, quick=quick, warm=warm, provenance=provenance.collect())


@dataclass(frozen=True, slots=True)
class PartOfPage:
    """What was measured, as the page shows it."""

    part: Benchmark
    measured: Measurement
    table: Sequence[Sequence[Cell]]
    charts: Sequence[Chart]


def _charts(measured: Measurement) -> list[Chart]:
    from ratiobench.bench.draw import plots
    from ratiobench.bench.report.shared.suite_figure import Chart

    charts = []
    for figure in measured.figures:
        if isinstance(figure, Bars):
            svg = plots.draw_bars(figure.bars, figure.title, figure.axis)
        else:
            svg = plots.draw_curves(figure.curves, figure.title, figure.x, figure.y)
        charts.append(Chart(figure.title, svg, figure.title))
    return charts


def _table(measured: Measurement) -> list[list[Cell]]:
    from ratiobench.bench.report.shared.cells import Cell

    return [
        [Cell(_shown(row[name]), "" if isinstance(row[name], str) else "n") for name in measured.columns]
        for row in measured.rows
    ]
