"""A standard set: its table for terminals and files, its page in the documentation, and how it grows with size."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.standard import Entry, StandardSet, interval_of
from ratiobench.bench.report.pictures import Picture, label_ends, style_of, use_thousands
from ratiobench.bench.results import ratios
from ratiobench.bench.show import pad_cells
from ratiobench.bench.storage.payload import read_exact
from ratiobench.instances.io.errors import InputError, make_printable
from ratiobench.instances.io.files import read_bytes, write_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BEGIN, END = "<!-- table: begin -->\n", "<!-- table: end -->"
HEAD = ("instance", "tier", "size", "OPT", "gap", "first solve", "since", "first proved by")
PAGE = ("instance", "tier", "size", "OPT", "gap", "state", "difficulty", "first solve")
STEPS = ("instance", "date", "OPT", "gap", "command", "seconds in all", "machine")
NARROW = Fraction(1, 1000)  # A first solve that leaves a smaller gap makes an instance `medium`
LEAST = 0.001  # Percent; nothing smaller is told apart in the picture of gaps


def size_text(entry: Entry) -> str:
    """The figures about its size in words."""
    return ", ".join(f"{key} {_figure(value)}" for key, value in (entry.size or {}).items()) or "not made yet"


def _figure(value: Any) -> str:
    return "-" if value is None else f"{value:.2f}" if isinstance(value, float) else make_printable(str(value), 40)


def gap_text(ends: tuple[Any, Any]) -> str:
    """How wide an interval is, or that it is a proof of the optimum."""
    return "proved" if ends[0] == ends[1] else ratios.percent(ratios.gap(*ends))


def interval_text(ends: tuple[Any, Any]) -> str:
    """What is known of OPT."""
    lower, upper = ends
    if lower == upper:
        return ratios.format_truncated(upper)
    return f"[{ratios.format_number(lower)}, {ratios.format_number(upper, up=True)}]"


def first_ends(entry: Entry) -> tuple[Any, Any] | None:
    """The interval of the first solve, at effort 1; None without one."""
    if entry.first is None:
        return None
    return read_exact(entry.first.lower), read_exact(entry.first.upper)


def rows_of(entries: Sequence[Entry]) -> list[tuple[str, ...]]:
    """Cells under `HEAD`."""
    rows: list[tuple[str, ...]] = []
    for entry in entries:
        opt = gap = since = by = "-"
        if entry.best is not None:
            ends = interval_of(entry.best)
            opt, gap, since = interval_text(ends), gap_text(ends), entry.best.date
            if ends[0] == ends[1]:  # a closed interval is never replaced: command and date are those of the proof
                by = entry.best.command
        rows.append((entry.name, entry.tier, size_text(entry), opt, gap, _first_text(entry), since, by))
    return rows


def _first_text(entry: Entry, proved: str = "proved") -> str:
    ends = first_ends(entry)
    if ends is None or entry.first is None:
        return "-"
    return f"{gap_text(ends).replace('proved', proved)} in {entry.first.seconds:.0f} s"


def terminal_text(entries: Sequence[Entry]) -> str:
    """The table in columns."""
    return "\n".join(line.rstrip() for line in pad_cells([HEAD, *rows_of(entries)], [True] * len(HEAD)))


def _megabytes(chosen: StandardSet) -> str:
    size = sum(chosen.certificate(entry).stat().st_size for entry in chosen.entries if entry.best is not None)
    return f"{size / 1e6:.1f}"


def _by_family(chosen: StandardSet) -> Iterator[tuple[str, list[Entry]]]:
    for name in dict.fromkeys(entry.family for entry in chosen.entries):
        yield name, [entry for entry in chosen.entries if entry.family == name]


def write_table(chosen: StandardSet, families: Mapping[str, Family], path: Path) -> None:
    """Put the table between its marks in a file."""
    text = read_bytes(path)[0].decode()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InputError(str(path), "", f"it has no lines {BEGIN.strip()!r} and {END!r}, between which the table goes")
    write_text(path, before + BEGIN + describe_set(chosen, families) + END + after)


# The page in the documentation.


def difficulty(entry: Entry) -> str:
    """How far the first solve came: `easy` (proved), `medium` (gap below 0.1 %), `hard`; `-` if none."""
    ends = first_ends(entry)
    if ends is None:
        return "-"
    if ends[0] == ends[1]:
        return "easy"
    return "medium" if ratios.gap(*ends) < NARROW else "hard"


def state(entry: Entry) -> str:
    """Whether OPT is known: `closed` or `open`."""
    if entry.best is None:
        return "open"
    lower, upper = interval_of(entry.best)
    return "closed" if lower == upper else "open"


def describe_set(chosen: StandardSet, families: Mapping[str, Family]) -> str:
    """The tables of the page as Markdown: the instances of each family, then every improvement in order."""
    return "\n".join([*_summary(chosen), *_instances(chosen, families), *_history(chosen)]) + "\n"


def _summary(chosen: StandardSet) -> Iterator[str]:
    closed = sum(state(entry) == "closed" for entry in chosen.entries)
    number = len(chosen.entries)
    yield f"{chosen.name} has {number} instances: {closed} are closed, {number - closed} open."
    yield f"It was released {chosen.released or 'not yet'}; its certificates have {_megabytes(chosen)} MB."
    yield f"The SHA-256 of names, recipes and instances, which never change, is `{chosen.digest}`.\n"


def _instances(chosen: StandardSet, families: Mapping[str, Family]) -> Iterator[str]:
    for name, entries in _by_family(chosen):
        family = families[name]
        best = "least" if family.sense.value == "least" else "most"
        yield f"#### Family `{name}`\n\nValues in {family.unit}; the {best} is best.\n"
        yield from _table(PAGE, map(_page_row, entries))


def _page_row(entry: Entry) -> tuple[str, ...]:
    ends = None if entry.best is None else interval_of(entry.best)
    opt, gap = ("-", "-") if ends is None else (interval_text(ends), _gap(ends))
    about = (f"`{entry.name}`", entry.tier, size_text(entry), opt, gap)
    return (*about, state(entry), difficulty(entry), _first_text(entry, "0"))


def _gap(ends: tuple[Any, Any]) -> str:
    return gap_text(ends).replace("proved", "0")


def _history(chosen: StandardSet) -> Iterator[str]:
    known = {entry.name for entry in chosen.entries}
    rows = []
    for step in chosen.read_history():
        if step["instance"] in known:
            ends = Fraction(step["lower"]), Fraction(step["upper"])
            cells = (interval_text(ends), _gap(ends), f"`{step['command']}`", step["seconds"], step["machine"])
            rows.append((f"`{step['instance']}`", step["date"], *cells))
    if rows:
        yield "#### History\n\nEvery interval that was recorded, in the order of the instances. A narrower interval"
        yield "replaces another one after its certificate was verified.\n"
        yield from _table(STEPS, rows)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |\n|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


# How seconds and gap grow with the size of an instance.

Curves = Mapping[str, Sequence[tuple[float, float]]]


def draw_growth(chosen: StandardSet, families: Mapping[str, Family]) -> Iterator[Picture]:
    """Seconds, and gap in percent, of the first solve over how many arrive: medians of the instances of one size.

    What was proved at once has no gap to show, and what is below `LEAST` is shown there.
    """
    seconds: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    gaps: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for entry in chosen.entries:
        number, ends = entry.count(families[entry.family].size[0]), first_ends(entry)
        if ends is None or entry.first is None or not number:
            continue
        seconds[entry.family][number].append(max(0.01, entry.first.seconds))
        if ends[0] < ends[1]:
            gaps[entry.family][number].append(max(LEAST, 100 * ratios.gap(*ends)))
    for name, title, words, points in (
        ("seconds", "Seconds of the first solve", "seconds", seconds),
        ("gap", "Gap after the first solve", f"gap, percent ({LEAST} or less)", gaps),
    ):
        if points:
            curves = {
                family: [(float(size), median(values)) for size, values in sorted(sizes.items())]
                for family, sizes in points.items()
            }
            yield Picture(title, partial(draw_curves, curves=curves, words=words), name=f"growth-{name}")


def draw_curves(axes: Axes, curves: Curves, words: str) -> None:
    """Named curves of positive points, both axes logarithmic."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    ends = []
    for number, (name, points) in enumerate(curves.items()):
        style = style_of(number)
        axes.plot(*zip(*points, strict=True), markersize=4, linewidth=1.2, **style)
        ends.append((points[-1][1], name, style["color"]))
    axes.set_xlabel("tasks, jobs or users")
    axes.set_ylabel(words)
    axes.grid(color="#dddddd", linewidth=0.6)
    use_thousands(axes, "x")
    use_thousands(axes, "y")
    label_ends(axes, ends)
