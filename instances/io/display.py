"""Decimals that are never rounded to the wrong side, and HTML for notebooks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from html import escape

from ratiobench.instances.io.errors import make_printable

CELL = 200  # Characters of a cell of a table in a notebook


def format_decimal(value: int | Fraction, digits: int = 3, *, up: bool) -> str:
    """The value as a decimal with at most `digits` places, rounded up or down (never to the nearest)."""
    scaled = Fraction(value) * 10**digits
    units = math.ceil(scaled) if up else math.floor(scaled)
    whole, places = divmod(abs(units), 10**digits)
    text = f"{'-' if units < 0 else ''}{whole}.{places:0{digits}d}"
    return text.rstrip("0").rstrip(".")


def format_number(value: int | Fraction, *, up: bool = False) -> str:
    """An exact figure for reading: thousands apart; a fraction as at most three decimals, rounded down, or up."""
    whole, point, places = format_decimal(value, up=up).partition(".")
    return f"{whole}{point}{places}" if whole == "-0" else f"{int(whole):,}{point}{places}"


def make_html(
    title: str, facts: Mapping[str, object], head: Sequence[str] = (), rows: Sequence[Sequence[object]] = ()
) -> str:
    """What a notebook shows of an object: a title, facts by their names, and a table below; everything escaped."""
    parts = [f"<p><strong>{_cell(title)}</strong></p>"]
    if facts:
        lines = (f'<tr><th scope="row">{_cell(name)}</th><td>{_cell(value)}</td></tr>' for name, value in facts.items())
        parts.append(f"<table>{''.join(lines)}</table>")
    if rows:
        names = "".join(f'<th scope="col">{_cell(name)}</th>' for name in head)
        lines = (f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>" for row in rows)
        parts.append(f"<table><thead><tr>{names}</tr></thead><tbody>{''.join(lines)}</tbody></table>")
    return f"<div>{''.join(parts)}</div>"


def _cell(value: object) -> str:
    return escape(make_printable(str(value), CELL))
