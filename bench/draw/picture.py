"""A picture that notebooks show and that can be saved: charts of a page, one below the other, as one SVG document."""

from __future__ import annotations

import base64
import contextlib
import importlib
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from ratiobench.bench.draw.document import make_document
from ratiobench.instances.io.errors import InputError, install_command, make_printable, shorten
from ratiobench.instances.io.files import write_atomically

_HEAD = 24
"""Points above a chart for its heading."""
_SCALE = 4 / 3
"""Pixels of a point."""
CONVERTERS = {
    "rsvg-convert": ("--format={form}",),
    "inkscape": ("--pipe", "--export-type={form}", "--export-filename=-"),
}
"""Programs that make PDF or PNG of SVG on standard input, with their arguments."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing.

    Parameters
    ----------
    title : what it shows.
    svg : the document, with its own colours, light and dark.
    """

    title: str
    svg: str = field(repr=False)

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        """An image of its own: nothing of its style reaches the notebook."""
        data = base64.b64encode(self.svg.encode()).decode()
        return f'<img style="max-width: 100%" alt="{escape(self.title)}" src="data:image/svg+xml;base64,{data}">'

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture as a file, whole or not at all.

        Parameters
        ----------
        path : ``NAME.svg``; or ``NAME.pdf`` or ``NAME.png``, which the package `cairosvg` or a program in `CONVERTERS`
            makes of the SVG where one is installed.

        Raises
        ------
        InputError : another ending, nothing installed that converts, or a file that cannot be written.
        """
        file = Path(path)
        ending = file.suffix.lower()
        if ending in ("", ".svg"):
            data = self.svg.encode()
        elif ending in (".pdf", ".png"):
            data = convert(self.svg, ending[1:], str(file))
        else:
            raise InputError(str(file), "", f"a picture is saved as .svg, .pdf or .png, not as {shorten(ending)}")
        write_atomically(file, data)
        return file


MAGIC = {"pdf": b"%PDF", "png": b"\x89PNG\r\n"}
"""How files of a format begin."""


def convert(svg: str, form: str, source: str) -> bytes:
    """Convert a picture by the first converter that is installed.

    Parameters
    ----------
    svg : the document.
    form : ``pdf`` or ``png``.
    source : the file or option that an error names.

    Raises
    ------
    InputError : no converter is installed, or none made a file of the format; it says how to install one.
    """
    svg = _plain_colours(svg)
    with contextlib.suppress(ImportError, OSError):  # not installed, or without its library
        made: bytes = getattr(importlib.import_module("cairosvg"), f"svg2{form}")(bytestring=svg.encode())
        if made.startswith(MAGIC[form]):
            return made
    for program, arguments in CONVERTERS.items():
        found = shutil.which(program)
        if found is not None:
            words = [part.format(form=form) for part in arguments]
            done = subprocess.run([found, *words], input=svg.encode(), capture_output=True, timeout=60, check=False)
            if done.returncode == 0 and done.stdout.startswith(MAGIC[form]):
                return done.stdout
    names = ", ".join(CONVERTERS)
    problem = f"nothing is installed that makes {form.upper()} of SVG (the Python package cairosvg, or {names})"
    raise InputError(source, "", f"{problem}: {install_command('figures')}; or take SVG")


def _plain_colours(svg: str) -> str:
    """The drawing in its light colours, without variables and ``:is()`` of CSS, which converters do not know."""
    colours = dict(re.findall(r"(--[\w-]+): ([^;}]+)", svg.partition("@media")[0]))
    svg = re.sub(r"[^{}<>]*:is\([^{}<>]*\{", lambda found: f"{', '.join(_alternatives(found[0][:-1]))} {{", svg)
    svg = re.sub(r"@media \([^)]*\) \{ :root \{[^}]*\} \}", "", svg, flags=re.DOTALL)
    return re.sub(r"var\((--[\w-]+)\)", lambda found: colours.get(found[1], "#000").strip(), svg)


def _alternatives(selectors: str) -> list[str]:
    """Selectors of CSS with every ``:is(a, b)`` written out."""
    found: list[str] = []
    for each in re.split(r",(?![^()]*\))", selectors.strip()):
        inside = re.search(r":is\(([^()]*)\)", each)
        if inside is None:
            found.append(each.strip())
            continue
        for part in inside[1].split(","):
            found += _alternatives(each[: inside.start()] + part.strip() + each[inside.end() :])
    return found


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
