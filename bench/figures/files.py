"""The figures of a suite as files of their own, for a README or a talk: SVG with its own colours, light and dark."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from ratiobench.bench.figures.suite_figure import SuiteFigure
from ratiobench.instances.files import make_folder, write_atomically


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


def make_document(svg: str) -> str:
    """An element of the page as a document that has the page's colours, light and dark."""
    sheet = files("ratiobench.bench.page").joinpath("page.css").read_text(encoding="utf-8")
    light = re.search(r"^:root \{.*?\}", sheet, re.DOTALL | re.MULTILINE)
    dark = re.search(r"^@media \(prefers-color-scheme: dark\) \{ :root \{.*?\} \}", sheet, re.DOTALL | re.MULTILINE)
    assert light is not None
    assert dark is not None
    charts = files("ratiobench.bench.page").joinpath("charts.css").read_text(encoding="utf-8")
    style = (
        f"{light[0]}\n{dark[0]}\n{charts}"
        "svg { color: var(--ink); background: var(--paper); font-family: system-ui, sans-serif; }"
    )
    opening = svg.index(">")
    return (
        f'{svg[:opening]} xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
        f"<style>\n{style}\n</style>{svg[opening + 1 :]}\n"
    )
