"""Speed, side by side: every comparison within one run, in turns, with nothing compiled while a clock runs.

A family offers its measurements as ``PARTS`` in a module ``perf`` beside its ``FAMILY``. What is reported are medians
of several turns and their ratios; seconds are those of one machine with whatever else it was doing.
"""

from __future__ import annotations

import importlib
import importlib.util
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path

from bench.family.known import families
from bench.running import provenance
from instances.errors import InputError, shown
from instances.files import write_atomically

Value = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Bars:
    """A figure: one positive number per row."""

    title: str
    axis: str
    bars: Sequence[tuple[str, float]]


@dataclass(frozen=True, slots=True)
class Curves:
    """A figure: named curves of positive points."""

    title: str
    x: str
    y: str
    curves: Sequence[tuple[str, Sequence[tuple[float, float]]]]


@dataclass(frozen=True, slots=True)
class Measured:
    """What a part found.

    Parameters
    ----------
    columns : names of the table's columns, in order.
    rows : values by column; floats are written in full to the CSV file and to four digits elsewhere.
    figures : for the page.
    notes : sentences that have to be read with the figures.
    """

    columns: tuple[str, ...]
    rows: Sequence[Mapping[str, Value]]
    figures: Sequence[Bars | Curves] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """One comparison: `measure(quick, say)` runs it, telling `say` what it is at."""

    name: str
    summary: str
    measure: Callable[[bool, Callable[[str], None]], Measured]


@dataclass(frozen=True, slots=True)
class Turns:
    """Seconds of one contender: its first call, which may compile, and the median of the calls after it."""

    first: float
    median: float


def in_turns(contenders: Mapping[str, Callable[[], object]], turns: int) -> dict[str, Turns]:
    """Time the contenders one after the other, `turns` times round, after a first call of each that does not count."""
    first = {name: _seconds(call) for name, call in contenders.items()}
    spent: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(turns):
        for name, call in contenders.items():
            spent[name].append(_seconds(call))
    return {name: Turns(first[name], statistics.median(spent[name])) for name in contenders}


def _seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def parts() -> dict[str, Part]:
    """The parts of all families, by name."""
    found: dict[str, Part] = {}
    for family in families().values():
        module = f"{type(family).__module__}.perf"
        if not _exists(module):
            continue
        for part in importlib.import_module(module).PARTS:
            if part.name in found:
                raise InputError(module, "PARTS", f"{part.name!r} is the name of another part")
            found[part.name] = part
    return found


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the family's module is no package
        return False


def run(names: Sequence[str], out: Path, quick: bool) -> int:
    """Run the parts (all, if none is named), print their tables, write PART.csv and perf.html into the folder.

    Raises
    ------
    InputError : for a part that does not exist.
    """
    known = parts()
    for name in names:
        if name not in known:
            raise InputError("part", "", f"{shown(name)} is not one of {', '.join(known)}")
    chosen = [known[name] for name in dict.fromkeys(names or known)]
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(str(out), "", f"cannot be made: {error.strerror}") from None
    warm = sum(_seconds(family.warm) for family in families().values())
    print(f"compiling, or loading what was compiled: {warm:.1f} s, in no figure below", file=sys.stderr)
    done: list[tuple[Part, Measured]] = []
    for part in chosen:
        measured = part.measure(quick, lambda text, part=part: print(f"{part.name}: {text}", file=sys.stderr))  # type: ignore[misc]
        done.append((part, measured))
        write_atomically(out / f"{part.name}.csv", csv(measured).encode())
        print(f"{part.name}: {part.summary}\n{text_table(measured)}")
        for note in measured.notes:
            print(f"  {note}")
        print(flush=True)
    write_atomically(out / "perf.html", page(done, quick, warm).encode())
    print(f"page: {out / 'perf.html'}")
    return 0


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
