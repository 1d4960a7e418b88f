"""A drawing as a file of its own: SVG with the colours of the page, light and dark."""

from __future__ import annotations

import re
from importlib.resources import files


def make_document(svg: str) -> str:
    """An element of the page as a document that has the page's colours, light and dark."""
    sheet = files("ratiobench.bench.draw").joinpath("page.css").read_text(encoding="utf-8")
    light = re.search(r"^:root \{.*?\}", sheet, re.DOTALL | re.MULTILINE)
    dark = re.search(r"^@media \(prefers-color-scheme: dark\) \{ :root \{.*?\} \}", sheet, re.DOTALL | re.MULTILINE)
    assert light is not None
    assert dark is not None
    charts = files("ratiobench.bench.draw").joinpath("charts.css").read_text(encoding="utf-8")
    style = (
        f"{light[0]}\n{dark[0]}\n{charts}"
        "svg { color: var(--ink); background: var(--paper); font-family: system-ui, sans-serif; }"
    )
    opening = svg.index(">")
    return (
        f'{svg[:opening]} xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
        f"<style>\n{style}\n</style>{svg[opening + 1 :]}\n"
    )
