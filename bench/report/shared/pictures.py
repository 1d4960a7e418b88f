"""The figures of a suite as files of their own, for a README or a talk: SVG with its own colours, light and dark."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ratiobench.bench.draw.document import make_document
from ratiobench.bench.report.shared.suite_figure import SuiteFigure
from ratiobench.instances.io.files import make_folder, write_atomically


def write_pictures(drawn: Sequence[SuiteFigure], folder: Path) -> list[Path]:
    """Write every chart of the suite's figures: NAME.svg where a figure has one, else NAME-GROUP.svg or NAME-STUDY.svg.

    Raises
    ------
    InputError : a folder that cannot be written.
    """
    make_folder(folder)
    written = []
    for figure in drawn:
        for chart in figure.charts:
            path = folder / f"{'-'.join(filter(None, [figure.plot.name, _slug(chart.name)]))}.svg"
            write_atomically(path, make_document(chart.svg).encode())
            written.append(path)
    return written


def _slug(text: str) -> str:
    """A part of a file's name."""
    return re.sub(r"\W+", "-", text).strip("-").lower()
