"""The figures of a suite as files of their own, for a README, a talk or a paper.

SVG has its own colours, light and dark; PDF and PNG are made of it in the light ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ratiobench.bench.draw.document import make_document
from ratiobench.bench.draw.picture import convert
from ratiobench.bench.report.shared.suite_figure import SuiteFigure
from ratiobench.instances.io.files import make_folder, write_atomically

FORMATS = ("svg", "pdf", "png")


def write_pictures(
    drawn: Sequence[SuiteFigure],
    folder: Path,
    formats: Sequence[str] = FORMATS[:1],
    others: Mapping[str, str] | None = None,
) -> list[Path]:
    """Write every chart of the suite's figures: NAME.svg where a figure has one, else NAME-GROUP.svg or NAME-STUDY.svg.

    Parameters
    ----------
    formats : of `FORMATS`; a file in each for every chart.
    others : more charts, by their files' names.

    Raises
    ------
    InputError : a folder that cannot be written, or a format for which no converter is installed.
    """
    charts = {
        "-".join(filter(None, [figure.plot.name, _slug(chart.name)])): chart.svg
        for figure in drawn
        for chart in figure.charts
    }
    documents = {name: make_document(svg) for name, svg in (charts | dict(others or {})).items()}
    made = {
        f"{name}.{form}": document.encode() if form == "svg" else convert(document, form, "--figures-as")
        for name, document in documents.items()
        for form in formats
    }
    make_folder(folder)
    written = []
    for name, data in made.items():
        write_atomically(folder / name, data)
        written.append(folder / name)
    return written


def _slug(text: str) -> str:
    """A part of a file's name."""
    return re.sub(r"\W+", "-", text).strip("-").lower()
