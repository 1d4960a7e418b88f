"""The table of a standard set, in columns and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.standard import Entry, StandardSet, interval_of
from ratiobench.bench.results import ratios
from ratiobench.bench.storage.payload import read_exact
from ratiobench.instances.io.errors import InputError, make_printable
from ratiobench.instances.io.files import read_bytes, write_text

BEGIN, END = "<!-- table: begin -->\n", "<!-- table: end -->"
HEAD = ("instance", "tier", "size", "OPT", "gap", "first solve", "since", "first proved by")


def size_text(entry: Entry) -> str:
    """The figures about its size in words."""
    return ", ".join(f"{key} {_figure(value)}" for key, value in (entry.size or {}).items()) or "not made yet"


def _figure(value: Any) -> str:
    return "-" if value is None else f"{value:.2f}" if isinstance(value, float) else make_printable(str(value), 40)


def gap_text(ends: tuple[Any, Any]) -> str:
    """How wide an interval is, or that it is a proof of the optimum."""
    return "proved" if ends[0] == ends[1] else ratios.percent(ratios.gap(*ends))


def interval_text(entry: Entry) -> str:
    """What is known of OPT."""
    if entry.best is None:
        return "-"
    lower, upper = interval_of(entry.best)
    if lower == upper:
        return ratios.format_truncated(upper)
    return f"[{ratios.format_number(lower)}, {ratios.format_number(upper, up=True)}]"


def rows_of(entries: Sequence[Entry]) -> list[tuple[str, ...]]:
    """Cells under `HEAD`."""
    found: list[tuple[str, ...]] = []
    for entry in entries:
        gap = since = first = by = "-"
        if entry.best is not None:
            lower, upper = interval_of(entry.best)
            gap, since = gap_text((lower, upper)), entry.best.date
            if lower == upper:  # a closed interval is never replaced: the command and the date are those of the proof
                by = entry.best.command
        if entry.first is not None:
            ends = read_exact(entry.first["lower"]), read_exact(entry.first["upper"])
            first = f"{gap_text(ends)} in {entry.first['seconds']:.0f} s"
        found.append((entry.name, entry.tier, size_text(entry), interval_text(entry), gap, first, since, by))
    return found


def terminal_text(entries: Sequence[Entry]) -> str:
    """The table in columns."""
    rows = [HEAD, *rows_of(entries)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def markdown(chosen: StandardSet, families: Mapping[str, Family]) -> str:
    """A table per family, and a sentence about all of them."""
    known = [each for each in chosen.entries if each.best is not None]
    proved = sum(interval_of(each.best)[0] == interval_of(each.best)[1] for each in known if each.best is not None)
    size = sum(chosen.certificate(each).stat().st_size for each in known)
    parts = [
        f"{chosen.name}: {len(chosen.entries)} instances, {proved} proved optimal; certificates {size / 1e6:.1f} MB. "
        f"Released {chosen.released or 'not yet'}; SHA-256 of what never changes: `{chosen.digest}`.\n"
    ]
    for family in dict.fromkeys(each.family for each in chosen.entries):
        contract = families[family]
        entries = [each for each in chosen.entries if each.family == family]
        parts += [
            f"\n### {family} ({contract.unit}, {'least' if contract.sense.value == 'least' else 'most'} is best)\n\n"
        ]
        rows = [HEAD, ("---",) * len(HEAD), *rows_of(entries)]
        parts += ["".join(f"| {' | '.join(row)} |\n" for row in rows)]
    return "".join(parts)


def write_table(chosen: StandardSet, families: Mapping[str, Family], path: Path) -> None:
    """Put the table between its marks in a file."""
    text = read_bytes(path)[0].decode()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InputError(str(path), "", f"it has no lines {BEGIN.strip()!r} and {END!r}, between which the table goes")
    write_text(path, before + BEGIN + markdown(chosen, families) + END + after)
