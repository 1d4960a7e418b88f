"""Tables, files and pages: lines of cells as HTML, frames as CSV, and one template for all pages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ratiobench.bench.report.pictures import Picture
from ratiobench.bench.show import Lines, is_words

_FORMULA = re.compile(r"[=@\t\r]|[+-](?!inf|nan|[\d./eE+-]*$).")


@dataclass(frozen=True)
class Section:
    title: str
    parts: Sequence[Any]  # sentences, tables, words with their meanings, pictures, markup as it stands
    name: str = ""  # its place on the page, which the list of contents names; empty: it is not in that list
    folded: bool = False  # whether it opens on demand


def render_page(title: str, sections: Sequence[Section], lead: Sequence[Any] = ()) -> str:
    """A page that needs nothing from a network; all text is escaped."""
    loader = PackageLoader("ratiobench.bench", "report")
    how: Any = {"autoescape": True, "undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}
    environment = Environment(loader=loader, **how)
    environment.filters["part"] = part_html
    return environment.get_template("page.html").render(title=title, lead=lead, sections=sections) + "\n"


def part_html(part: Any) -> Markup:
    if isinstance(part, Markup):
        return part
    if isinstance(part, Mapping):
        terms = Markup("").join(Markup("<dt>{}</dt><dd>{}</dd>").format(word, text) for word, text in part.items())
        return Markup("<dl>{}</dl>").format(terms)
    if isinstance(part, str):
        return Markup("<p>{}</p>").format(mark_code(part))
    if isinstance(part, Picture):
        note = Markup("<figcaption>{}</figcaption>").format(part.note) if part.note else ""
        return Markup("<figure>{}{}</figure>").format(Markup(part.svg), note)
    return table_html(part)


def table_html(lines: Lines, label: str = "", ids: Sequence[str] = ()) -> Markup:
    """A table that is sorted by its headings, in a box of its own that scrolls; `ids` are places of its rows."""
    names = list(lines[0])
    classes = {name: "" if is_words(name) else ' class="n"' for name in names}
    head = "".join(f"<th scope='col'>{escape(name)}</th>" for name in names)
    rows = ""
    for place, line in enumerate(lines):
        cells = "".join(f"<td{classes[name]}>{breakable(line[name])}</td>" for name in names)
        rows += f'<tr id="{ids[place]}">{cells}</tr>\n' if ids else f"<tr>{cells}</tr>\n"
    caption = escape(label or f"Table of {', '.join(names[:4])}")
    return Markup(
        f'<div class="scroll{" tall" if len(lines) > 25 else ""}" tabindex="0" role="region" aria-label="{caption}">'
        f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody></table></div>"
    )


def breakable(text: Any) -> Markup:
    """A text in which long names may be broken where their parts end."""
    if isinstance(text, Markup):
        return text
    return Markup(re.sub(r"([:,_/]|&amp;)(?=\S)", r"\1<wbr>", str(escape(text))))


def list_html(texts: Sequence[Any], css: str = "") -> Markup:
    items = Markup("").join(Markup("<li>{}</li>").format(mark_code(text)) for text in texts)
    return Markup('<ul class="{}">{}</ul>').format(css, items)


def mark_code(text: Any) -> Markup:
    """A sentence whose words between backquotes are code."""
    return text if isinstance(text, Markup) else Markup(re.sub("`(.*?)`", r"<code>\1</code>", str(escape(text))))


def csv_of(frame: pd.DataFrame) -> bytes:
    """A table as CSV; a quotation mark stands before names from outside that a spreadsheet would run as a formula."""
    printable = frame.copy(deep=False)
    for name in frame.select_dtypes(["object", "string"]).columns:
        cells = [f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell for cell in frame[name]]
        printable[name] = pd.Series(cells, index=frame.index, dtype=object)
    return printable.to_csv(index=False, lineterminator="\n").encode()
