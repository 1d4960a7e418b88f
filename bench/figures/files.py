"""The figures of a suite as files of their own, for a README or a talk: SVG with its own colours, light and dark."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

from bench.figures import bidding, charts, content
from bench.figures.content import Drawn
from instances.files import make_folder, write_atomically


def write_pictures(drawn: Sequence[Drawn], folder: Path, unit: str) -> list[Path]:
    """Write every figure of the suite: NAME.svg where it is one chart of lines, else NAME-GROUP.svg per group or study.

    Raises
    ------
    InputError : a folder that cannot be written.
    """
    make_folder(folder)
    written = []
    for each in drawn:
        for name, svg in _charts(each, unit):
            path = folder / f"{name}.svg"
            write_atomically(path, standalone(svg).encode())
            written.append(path)
    return written


def _charts(drawn: Drawn, unit: str) -> Iterator[tuple[str, str]]:
    plot = drawn.plot
    if plot.kind == content.LEADERBOARD:
        return
    if plot.kind in content.STUDIED:
        panel = bidding.curve_panel if plot.kind == "curve" else bidding.charges_panel
        for each in drawn.studies:
            if each.rows:
                name = f"{plot.name}-{_file(f'{each.case} {each.study.name}')}"
                yield name, panel(each.rows, name, unit)
        return
    if not drawn.means["mean_lower"].notna().any():
        return
    if charts.is_lines(plot, drawn.means):
        yield plot.name, charts.lines_chart(drawn, charts.span(drawn))
        return
    for group, shown in charts.spans(drawn).items():
        yield f"{plot.name}-{_file(group.removeprefix(f'{plot.name}: '))}", charts.group_panel(drawn, group, shown)


def _file(text: str) -> str:
    """A part of a file's name."""
    return re.sub(r"\W+", "-", text).strip("-").lower()


def standalone(svg: str) -> str:
    """An element of the page as a document that has the page's colours, light and dark."""
    sheet = files("bench.page").joinpath("page.css").read_text(encoding="utf-8")
    light = re.search(r"^:root \{.*?\}", sheet, re.DOTALL | re.MULTILINE)
    dark = re.search(r"^@media \(prefers-color-scheme: dark\) \{ :root \{.*?\} \}", sheet, re.DOTALL | re.MULTILINE)
    assert light is not None
    assert dark is not None
    style = (
        f"{light[0]}\n{dark[0]}\n"
        "svg { color: var(--ink); background: var(--paper); font-family: system-ui, sans-serif; }"
    )
    opening = svg.index(">")
    return (
        f'{svg[:opening]} xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
        f"<style>\n{style}\n</style>{svg[opening + 1 :]}\n"
    )
