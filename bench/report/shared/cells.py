"""Tables for the page as plain records: cells with exact figures rounded to be read, headings, links to take along."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pandas as pd

from ratiobench.bench.family.contract import Family
from ratiobench.bench.report.shared.money import exact_text, value_text
from ratiobench.bench.report.shared.text import format_number
from ratiobench.bench.results.read import is_known

EMBEDDED = 400_000  # Bytes of a CSV file up to which the page itself carries it


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table."""

    text: str  # what is read
    css: str = ""  # its classes
    sort: str | None = None  # the number it is sorted by, empty where there is none; None: it is sorted by its text
    title: str = ""  # its tool tip
    choice: str = ""  # the value to choose rows by, where the text is not that value
    href: str = ""  # where a link over the text leads
    small: str = ""  # what stands behind it in small letters
    loud: str = ""  # what stands behind it and must not be overlooked


@dataclass(frozen=True, slots=True)
class Column:
    """A heading."""

    name: str  # what is read
    chosen: bool = False  # whether rows can be chosen by the values below it
    key: str = ""  # what it is called in an address; empty where no address names it
    term: str = ""  # the place on the page that explains it; empty for none


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is sorted by its headings."""

    label: str  # what it is called where it is not seen
    head: Sequence[str | Column]  # a heading per column
    rows: Sequence[Sequence[Cell]]  # cells, as many as headings
    ids: Sequence[str] = ()  # what links to the rows refer to; empty, or one per row
    css: str = ""  # a class of the table
    folded: str = ""  # the sentence under which it is folded away; empty: it is not

    @property
    def columns(self) -> list[Column]:
        """The headings as columns."""
        return [Column(each) if isinstance(each, str) else each for each in self.head]


@dataclass(frozen=True, slots=True)
class Download:
    """A CSV file beside the page."""

    name: str  # of the file
    link: str  # the file as an address that holds it; empty above `EMBEDDED` bytes: the page then says where it lies


def make_cell(value: Any, *, css: str = "", sort: Any = None, title: str = "", numeric: bool = False) -> Cell:
    """A cell with text; `sort` is the number that a `numeric` one is sorted by."""
    if not numeric:
        return Cell(str(value), css, title=title)
    return Cell(str(value), f"n {css}".rstrip(), _sort_key(sort), title)


def _sort_key(value: Any) -> str:
    """A number as JavaScript reads it, to nine digits; empty where there is none."""
    if isinstance(value, str):
        return value
    return f"{float(value):.9g}" if is_known(value) else ""


def exact_cell(value: Any, *, up: bool = False) -> Cell:
    """A cell with an exact figure: rounded to read (down, or up), the fraction as its tool tip; words stay words."""
    if not is_known(value):
        return make_cell("-", numeric=True)
    try:
        figure = Fraction(value)
    except (ValueError, TypeError):
        return make_cell(value)
    title = "" if figure.denominator == 1 else str(figure)
    return make_cell(format_number(figure, up=up), sort=float(figure), title=title, numeric=True)


def value_cell(value: Any, family: Family, *, up: bool | None = None, small: str = "") -> Cell:
    """A cell with a value of the family's objective: money in its unit, the exact figure as its tool tip.

    A bound is rounded to its side: `up` says to which.
    """
    if not is_known(value):
        return make_cell("-", numeric=True)
    if family.dollars is None:
        return exact_cell(value, up=up is True)
    text = value_text(value, family, up=up)
    return Cell(text, "n", _sort_key(value), exact_text(value, family), small=small)


def mean_cell(value: Any, *, up: bool = False) -> Cell:
    """A cell with a mean: exact ones as `exact_cell` has them, floats with six digits."""
    if not isinstance(value, float) or not is_known(value):
        return exact_cell(value, up=up)
    return make_cell(f"{value:,.0f}" if abs(value) >= 1e6 else f"{value:.6g}", sort=value, numeric=True)


def count_cell(value: Any) -> Cell:
    """A cell with a number as it stands."""
    return make_cell(value, sort=value, numeric=True)


_FORMULA = re.compile(r"[=@\t\r]|[+-](?!inf|nan)[A-Za-z(=@]")


def csv_cell(value: Any) -> Any:
    """The value as a cell of CSV: a quotation mark before what a spreadsheet would run as a formula."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def csv_of(frame: pd.DataFrame) -> bytes:
    """A table as CSV: names of suites, files and algorithms come from outside, and are no formulas."""
    printable = frame.copy(deep=False)
    for name in frame.select_dtypes(["object", "string"]).columns:
        printable[name] = pd.Series([csv_cell(value) for value in frame[name]], index=frame.index, dtype=object)
    return printable.to_csv(index=False, lineterminator="\n").encode()


def make_download(name: str, frame: pd.DataFrame) -> Download:
    """The link that saves a table as the CSV file that lies beside the page, byte for byte."""
    data = csv_of(frame)
    if len(data) > EMBEDDED:
        return Download(name, "")
    return Download(name, f"data:text/csv;charset=utf-8;base64,{base64.b64encode(data).decode()}")
