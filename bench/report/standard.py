"""The standard set as a table for terminals and for a page in the documentation, and how it grows with size."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.standard import Entry, StandardSet, interval_of
from ratiobench.bench.report.pictures import Picture, label_ends, style_of, use_thousands
from ratiobench.bench.results import ratios
from ratiobench.bench.show import Lines
from ratiobench.instances.io.errors import InputError, make_printable
from ratiobench.instances.io.files import read_bytes, write_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

BEGIN, END = "<!-- table: begin -->\n", "<!-- table: end -->"
NARROW = Fraction(1, 1000)  # A first solve that leaves a smaller gap makes an instance `medium`
LEAST = 0.001  # Percent; nothing smaller is told apart in the picture of gaps


def entry_lines(entries: Sequence[Entry]) -> Lines:
    """A row per entry: what is known of OPT, since when and by which command, and how far the first solve came."""
    lines = []
    for entry in entries:
        best = None if entry.best is None else interval_of(entry.best)
        is_closed = best is not None and best[0] == best[1]
        difficulty = tried = "-"
        if entry.first is not None:
            first = interval_of(entry.first)
            is_narrow = ratios.gap(*first) < NARROW
            difficulty = "easy" if first[0] == first[1] else "medium" if is_narrow else "hard"
            tried = f"{_gap_text(first)} in {entry.first.seconds:.0f} s"
        sizes = []
        for key, value in (entry.size or {}).items():
            size = f"{value:.2f}" if isinstance(value, float) else make_printable(str(value), 40)
            sizes.append(f"{key} {'-' if value is None else size}")
        line = {"Instance": entry.name, "Tier": entry.tier, "Size": ", ".join(sizes) or "not made yet"}
        line |= {"OPT": "-", "gap": "-"} if best is None else {"OPT": ratios.ends_text(*best), "gap": _gap_text(best)}
        line |= {"State": "closed" if is_closed else "open", "Difficulty": difficulty, "First solve": tried}
        line["Since"] = "-" if entry.best is None else entry.best.date
        # A closed interval is never replaced: date and command are those of the proof.
        lines.append(line | {"First proved by": entry.best.command if entry.best is not None and is_closed else "-"})
    return lines


def _gap_text(ends: tuple[Any, Any]) -> str:
    return "proved" if ends[0] == ends[1] else ratios.percent(ratios.gap(*ends))


def write_table(chosen: StandardSet, families: Mapping[str, Family], path: Path) -> None:
    parts = re.split(f"({BEGIN}|{END})", read_bytes(path)[0].decode())
    if parts[1::2] != [BEGIN, END]:
        raise InputError(str(path), "", f"it has no lines {BEGIN.strip()!r} and {END!r}, between which the table goes")
    parts[2] = describe_set(chosen, families)
    write_text(path, "".join(parts))


def describe_set(chosen: StandardSet, families: Mapping[str, Family]) -> str:
    return "\n".join(_describe(chosen, families)) + "\n"


def _describe(chosen: StandardSet, families: Mapping[str, Family]) -> Iterator[str]:
    table = entry_lines(chosen.entries)
    closed = sum(line["State"] == "closed" for line in table)
    size = sum(chosen.certificate(entry).stat().st_size for entry in chosen.entries if entry.best is not None)
    yield f"{chosen.name} has {len(table)} instances: {closed} are closed, {len(table) - closed} open."
    yield f"It was released {chosen.released or 'not yet'}; its certificates have {size / 1e6:.1f} MB."
    yield f"The SHA-256 of names, recipes and instances, which never change, is `{chosen.digest}`.\n"
    beside = ("Since", "First proved by")  # the history has them
    for name in dict.fromkeys(entry.family for entry in chosen.entries):
        family = families[name]
        yield f"#### Family `{name}`\n\nValues in {family.unit}; the {family.sense.value} is best.\n"
        rows = [line for line, entry in zip(table, chosen.entries, strict=True) if entry.family == name]
        shown = [{key: cell for key, cell in line.items() if key not in beside} for line in rows]
        yield from _markdown([line | {"Instance": f"`{line['Instance']}`"} for line in shown])
    known, steps = {entry.name for entry in chosen.entries}, []
    for step in (step for step in chosen.read_history() if step["instance"] in known):
        ends = Fraction(step["lower"]), Fraction(step["upper"])
        line = {"Instance": f"`{step['instance']}`", "Date": step["date"], "OPT": ratios.ends_text(*ends)}
        line |= {"gap": _gap_text(ends), "Command": f"`{step['command']}`"}
        steps.append(line | {"seconds in all": step["seconds"], "Machine": step["machine"]})
    if steps:
        yield "#### History\n\nEvery interval that was recorded, in the order of the instances. A narrower interval"
        yield "replaces another one after its certificate was verified.\n"
        yield from _markdown(steps)


def _markdown(lines: Lines) -> Iterator[str]:
    yield f"| {' | '.join(lines[0])} |\n|{'---|' * len(lines[0])}"
    yield from (f"| {' | '.join(line.values())} |" for line in lines)
    yield ""


def draw_growth(chosen: StandardSet, families: Mapping[str, Family]) -> Iterator[Picture]:
    """Seconds, and gap in percent, of the first solve over how many arrive: medians of the instances of one size."""
    import pandas as pd

    solves = []
    for entry in chosen.entries:
        size = entry.count(families[entry.family].size[0])
        if entry.first is not None and size:
            ends = interval_of(entry.first)
            gap = max(LEAST, 100 * ratios.gap(*ends)) if ends[0] < ends[1] else None
            solves.append((entry.family, size, max(0.01, entry.first.seconds), gap))
    table = pd.DataFrame(solves, columns=["family", "size", "seconds", "gap"]).astype({"seconds": float, "gap": float})
    for name, title, words in (
        ("seconds", "Seconds of the first solve", "seconds"),
        ("gap", "Gap after the first solve", f"gap, percent ({LEAST} or less)"),
    ):
        medians = table.pivot_table(name, "size", "family", "median", sort=False)
        if len(medians):
            yield Picture(title, partial(_draw_curves, medians=medians, words=words), name=f"growth-{name}")


def _draw_curves(axes: Axes, medians: pd.DataFrame, words: str) -> None:
    ends = []
    for number, name in enumerate(medians):
        curve, style = medians[name].dropna().sort_index(), style_of(number)
        axes.plot(curve.index, curve, markersize=4, linewidth=1.2, **style)
        ends.append((curve.iloc[-1], str(name), style["color"]))
    axes.set(xscale="log", yscale="log", xlabel="tasks, jobs or users", ylabel=words)
    axes.grid(color="#dddddd", linewidth=0.6)
    use_thousands(axes, "x")
    use_thousands(axes, "y")
    label_ends(axes, ends)
