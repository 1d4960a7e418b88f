"""Join the lines of each entry of a docstring: numpydoc takes a first line for a type and the next ones for a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

NAMED = ("Parameters", "Attributes", "Raises")
"""Sections whose entries begin at the left margin, their further lines being indented."""
ONE = ("Returns", "Yields")
"""Sections of one entry."""


def join_lines(lines: list[str]) -> list[str]:
    """The docstring with each entry of a section in one line; paragraphs and other sections stay as they are.

    Parameters
    ----------
    lines : of the docstring.
    """
    found: list[str] = []
    section, open_ = "", False
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if below and not set(below) - {"-"}:
            section, open_ = line, False
        elif open_ and line.strip() and (section in ONE or (section in NAMED and line.startswith(" "))):
            found[-1] += f" {line.strip()}"
            continue
        elif set(line) - {"-"}:
            open_ = bool(line.strip())
        else:  # an empty line, or the line below a heading
            open_ = False
        found.append(line)
    return found


def _process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = join_lines(lines)


def setup(app: Sphinx) -> dict[str, bool]:
    """Before numpydoc reads the docstring."""
    app.connect("autodoc-process-docstring", _process, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
