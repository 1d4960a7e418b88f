"""The figures of a suite as SVG files, for a README, a talk or a paper."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ratiobench.bench.draw.document import make_document
from ratiobench.bench.report.shared.suite_figure import SuiteFigure
from ratiobench.instances.io.files import make_folder, write_atomically


def write_pictures(drawn: Sequence[SuiteFigure], folder: Path, others: Mapping[str, str] | None = None) -> list[Path]:
    """Write every chart of the suite's figures: NAME.svg if a figure has one, else NAME-GROUP.svg or NAME-STUDY.svg."""
    charts = {
        "-".join(filter(None, [figure.plot.name, _slug(chart.name)])): chart.svg
        for figure in drawn
        for chart in figure.charts
    }
    make_folder(folder)
    written = []
    for name, svg in (charts | dict(others or {})).items():
        written.append(folder / f"{name}.svg")
        write_atomically(written[-1], make_document(svg).encode())
    return written


def _slug(text: str) -> str:
    """A part of a file's name."""
    return re.sub(r"\W+", "-", text).strip("-").lower()
