"""Timings as CSV, text and a page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files

from bench.perf.measured import Bars, Curves, Measured, Part, Value
from bench.running import provenance


def csv(measured: Measured) -> str:
    """The rows as CSV, numbers in full, None as nothing."""
    import io
    from csv import writer

    text = io.StringIO()
    lines = writer(text, lineterminator="\n")
    lines.writerow(measured.columns)
    lines.writerows(["" if row[name] is None else row[name] for name in measured.columns] for row in measured.rows)
    return text.getvalue()


def text_table(measured: Measured) -> str:
    """The rows as aligned text."""
    body = [[_shown(row[name]) for name in measured.columns] for row in measured.rows]
    width = [max(map(len, column)) for column in zip(measured.columns, *body, strict=True)]
    numeric = [all(not isinstance(row[name], str) for row in measured.rows) for name in measured.columns]
    lines = []
    for line in ([*measured.columns], *body):
        cells = [cell.rjust(w) if right else cell.ljust(w) for cell, w, right in zip(line, width, numeric, strict=True)]
        lines.append("  " + "  ".join(cells).rstrip())
    return "\n".join(lines)


def _shown(value: Value) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return value


def page(done: Sequence[tuple[Part, Measured]], quick: bool, warm: float) -> str:
    """One HTML page with the tables and figures; it needs nothing from a network."""
    body = ["<h1>Speed, side by side</h1>"]
    size = " Small sizes only (--quick)." if quick else ""
    body.append(
        "<p>Every comparison was made within one run, in turns, after a first call that may compile and does not "
        f"count. Compiling beforehand took {warm:.1f} s. Read the ratios; seconds are those of one machine.{size}</p>"
    )
    for part, measured in done:
        body.append(f"<h2>{escape(part.name)}</h2><p>{escape(part.summary)}</p>")
        body.extend(f"<p>{escape(note)}</p>" for note in measured.notes)
        body.append('<div class="grid">' + "\n".join(map(_figure, measured.figures)) + "</div>")
        body.append(_html_table(measured))
    about = provenance.collect()
    body.append("<h2>Provenance</h2>")
    for name, pairs in about.items():
        body.append(f"<h3>{escape(name)}</h3><p>{escape(', '.join(' '.join(pair) for pair in pairs.items()))}</p>")
    style = files("bench.page").joinpath("page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>ratiobench: speed</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def _figure(figure: Bars | Curves) -> str:
    from bench.figures import overview

    if isinstance(figure, Bars):
        svg = overview.bars_figure(figure.bars, figure.title, figure.axis)
    else:
        svg = overview.curves_figure(figure.curves, figure.title, figure.x, figure.y)
    return f"<figure><h3>{escape(figure.title)}</h3>{svg}</figure>"


def _html_table(measured: Measured) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in measured.columns)
    lines = "\n".join(
        "<tr>"
        + "".join(
            f"<td{'' if isinstance(row[name], str) else ' class=n'}>{escape(_shown(row[name]))}</td>"
            for name in measured.columns
        )
        + "</tr>"
        for row in measured.rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>\n{lines}\n</tbody></table></div>'
