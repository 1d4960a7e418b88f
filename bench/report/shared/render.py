"""HTML from the templates beside the topics; all text is escaped unless it was marked as markup here."""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ratiobench.bench.family.source import Source
from ratiobench.bench.report.shared.cells import Table
from ratiobench.bench.report.shared.glossary import algorithm_place
from ratiobench.bench.report.shared.sentences import exact_text, figure_text, render_parts
from ratiobench.bench.report.shared.text import check_title

SHEETS = ("page", "charts")  # Style sheets of every page, and scripts of those with results


def render(template: str, **values: Any) -> str:
    """The document that a template makes of the values; it has the style sheet and needs nothing from a network."""
    sheet = Markup(
        "".join(files("ratiobench.bench.draw").joinpath(f"{name}.css").read_text("utf-8") for name in SHEETS)
    )
    return load_templates().get_template(template).render(sheet=sheet, **values) + "\n"


def load_scripts() -> Markup:
    """The scripts of a page of results, each in an element of its own; without them all of it is there."""
    return Markup(
        "</script>\n<script>\n".join(
            files("ratiobench.bench.draw").joinpath(f"{name}.js").read_text("utf-8") for name in SHEETS
        )
    )


@cache
def load_templates() -> Environment:
    """The templates of `bench`, by their paths in it, read when they are first used."""
    made = Environment(
        loader=PackageLoader("ratiobench.bench", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.do"],
    )
    made.filters |= {
        "algorithm_place": algorithm_place,
        "breakable": make_breakable,
        "check_title": check_title,
        "cite": link_sources,
        "code_words": mark_code,
        "css_class": lambda words: words.replace(" ", "-"),
        "drawing": Markup,
        "exact": exact_text,
        "figure": figure_text,
        "packed": pack,
        "signs": lambda words: words.replace("<=", "≤").replace(">=", "≥"),
    }
    made.filters["tell"] = render_parts
    made.tests["table"] = lambda part: isinstance(part, Table)
    return made


def pack(markup: Markup) -> Markup:
    """Markup compressed (gzip) and written in 64 letters, the same bytes at any time."""
    return Markup(base64.b64encode(gzip.compress(markup.encode(), mtime=0)).decode())


def make_breakable(name: Any) -> Markup:
    """A long name that may be broken where its parts end."""
    return Markup(re.sub(r"([:,_/]|&amp;)(?=.)", r"\1<wbr>", str(escape(name))))


def link_sources(text: str, sources: Sequence[Source]) -> Markup:
    """A sentence in which the names of sources lead to their citations on the same page."""
    anchors = {str(escape(each.name)): each.anchor for each in sources}
    if not anchors:
        return escape(text)
    names = re.compile(rf"\b({'|'.join(map(re.escape, anchors))})\b")
    return Markup(names.sub(lambda found: f'<a href="#{anchors[found[0]]}">{found[0]}</a>', str(escape(text))))


def mark_code(text: str) -> Markup:
    """A sentence whose words between backquotes are code."""
    return Markup(re.sub("`(.*?)`", r"<code>\1</code>", str(escape(text))))
