"""A picture that notebooks show and that can be saved: charts of a page, one below the other, as one SVG document."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from ratiobench.bench.draw.document import make_document
from ratiobench.instances.io.errors import InputError, make_printable, shorten
from ratiobench.instances.io.files import write_atomically

_HEAD = 24  # Points above a chart for its heading
_SCALE = 4 / 3  # Pixels of a point


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing."""

    title: str  # what it shows
    svg: str = field(repr=False)  # the document, with its own colours, light and dark

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        """An image of its own: nothing of its style reaches the notebook."""
        data = base64.b64encode(self.svg.encode()).decode()
        return f'<img style="max-width: 100%" alt="{escape(self.title)}" src="data:image/svg+xml;base64,{data}">'

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture as an SVG file, whole or not at all.

        `path`: ``NAME.svg``.
        """
        file = Path(path)
        if file.suffix.lower() not in ("", ".svg"):
            raise InputError(str(file), "", f"a picture is saved as .svg, not as {shorten(file.suffix)}")
        write_atomically(file, self.svg.encode())
        return file


def stack_charts(title: str, charts: Sequence[tuple[str, str]]) -> Picture:
    """Charts (heading, SVG element) one below the other."""
    parts, down, wide = [], 0.0, 0.0
    for heading, svg in charts:
        found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
        assert found is not None
        width, height = float(found[1]), float(found[2])
        text = escape(make_printable(heading, 80))
        parts.append(f'<text x="4" y="{down + 16:g}" font-weight="bold" fill="currentColor">{text}</text>')
        parts.append(svg.replace("<svg ", f'<svg y="{down + _HEAD:g}" width="{width:g}" height="{height:g}" ', 1))
        down, wide = down + _HEAD + height, max(wide, width)
    size = f'width="{wide * _SCALE:g}" height="{down * _SCALE:g}" viewBox="0 0 {wide:g} {down:g}"'
    opening = f'<svg role="img" aria-label="{escape(title)}" font-size="12" {size}>'
    return Picture(title, make_document(f"{opening}{''.join(parts)}</svg>"))
