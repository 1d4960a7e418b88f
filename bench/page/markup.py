"""Pieces of HTML: cells with exact figures, tables, panels of figures, files to take along."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import Any

from bench.tables import text as words
from bench.tables.rows import is_known

EMBEDDED = 400_000
"""Bytes of a CSV file up to which the page itself carries it."""
FOLDED = 12
"""Panels in a row of figures above which they are folded away."""
DRAWN = 40
"""Panels above which none is drawn: each costs a tenth of a second and twenty kilobytes."""


@dataclass(frozen=True, slots=True)
class Column:
    """A heading, and whether rows can be chosen by the values below it."""

    name: str
    chosen: bool = False


def rows_table(
    head: Sequence[str | Column],
    body: Sequence[Sequence[str]],
    label: str,
    *,
    ids: Sequence[str] = (),
    filtered: bool = False,
    css: str = "",
) -> str:
    """A sortable table in a box of its own that scrolls; `filtered`: with a box and lists to choose rows by.

    `body` are cells as `cell` and `exact` make them, `ids` what links to rows refer to; `css` is a class of the table.
    """
    columns = [Column(each) if isinstance(each, str) else each for each in head]
    headings = "".join(f'<th scope="col"{" data-choose" * each.chosen}>{escape(each.name)}</th>' for each in columns)
    names = [f' id="{escape(name)}"' for name in ids] or [""] * len(body)
    lines = "\n".join(f"<tr{name}>{''.join(cells)}</tr>" for name, cells in zip(names, body, strict=True))
    kinds = " ".join(filter(None, ["sortable", "filtered" * filtered, css]))
    return (
        f'<div class="scroll{" tall" * (len(body) > 25)}" tabindex="0" role="region" aria-label="{escape(label)}">'
        f'<table class="{kinds}"><thead><tr>{headings}</tr></thead><tbody>\n{lines}\n</tbody></table></div>'
    )


def cell(text: Any, *, css: str = "", sort: Any = None, title: str = "", number: bool = False) -> str:
    """A cell with text; `sort` is the number it is sorted by, where the text is not the number itself."""
    attributes = f' class="{escape(" ".join(filter(None, ["n" * number, css])))}"' if number or css else ""
    if number:
        attributes += f' data-v="{escape(str(sort if sort is not None else "")) if is_known(sort) else ""}"'
    if title:
        attributes += f' title="{escape(title)}"'
    return f"<td{attributes}>{escape(str(text))}</td>"


def exact(value: Any, *, up: bool = False) -> str:
    """A cell with an exact figure: rounded to read (down, or up), the fraction as its tool tip; words stay words."""
    if not is_known(value):
        return cell("-", number=True)
    try:
        figure = Fraction(value)
    except (ValueError, TypeError):
        return cell(value)
    title = "" if figure.denominator == 1 else str(figure)
    return cell(words.number(figure, up=up), sort=float(figure), title=title, number=True)


def breakable(name: Any) -> str:
    """A long name that may be broken where its parts end."""
    return re.sub(r"([:,_/]|&amp;)(?=.)", r"\1<wbr>", escape(str(name)))


def code(*lines: str) -> str:
    """Commands, one below the other."""
    return "<br>".join(f"<code>{escape(line)}</code>" for line in lines)


def panels(drawn: Iterable[tuple[str, str, str]], *, heading: str = "h3") -> str:
    """Figures side by side as (heading, SVG, note)."""
    cells = [
        f"<figure><{heading}>{breakable(head)}</{heading}>{svg}<figcaption>{escape(note)}</figcaption></figure>"
        for head, svg, note in drawn
    ]
    return '<div class="grid">' + "\n".join(cells) + "</div>"


def folded(summary: str, content: str, *, is_open: bool = False) -> str:
    """Content that opens on demand."""
    return f"<details{' open' * is_open}><summary>{escape(summary)}</summary>{content}</details>"


def download(name: str, data: bytes, what: str) -> str:
    """A link that saves the data as a file; above `EMBEDDED` bytes it is only said where the file lies."""
    if len(data) > EMBEDDED:
        return f"<p>{escape(what)}: <code>{escape(name)}</code> in the folder of the results.</p>"
    link = f"data:text/csv;charset=utf-8;base64,{base64.b64encode(data).decode()}"
    return (
        f'<p>{escape(what)}: <a download="{escape(name)}" href="{link}">{escape(name)}</a> '
        "(also in the folder of the results).</p>"
    )
