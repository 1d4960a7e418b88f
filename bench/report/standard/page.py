"""The page of a standard set in the documentation: instances, intervals, and the history of their improvements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.standard import Entry, StandardSet, interval_of
from ratiobench.bench.report.standard.table import gap_text, interval_text, size_text
from ratiobench.bench.results import ratios
from ratiobench.bench.storage.payload import read_exact

HEAD = ("instance", "tier", "size", "OPT", "gap", "state", "difficulty", "first solve")
STEPS = ("instance", "date", "OPT", "gap", "command", "seconds in all", "machine")
NARROW = Fraction(1, 1000)  # A first solve that leaves a smaller gap makes an instance `medium`


def difficulty(entry: Entry) -> str:
    """How far the first solve, at effort 1, came: `easy` (proved), `medium` (gap below 0.1 %), `hard`; `-` if none."""
    if entry.first is None:
        return "-"
    lower, upper = read_exact(entry.first["lower"]), read_exact(entry.first["upper"])
    if lower == upper:
        return "easy"
    return "medium" if ratios.gap(lower, upper) < NARROW else "hard"


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
    closed = sum(state(each) == "closed" for each in chosen.entries)
    size = sum(chosen.certificate(each).stat().st_size for each in chosen.entries if each.best is not None)
    number = len(chosen.entries)
    yield f"{chosen.name} has {number} instances: {closed} are closed, {number - closed} open."
    yield f"It was released {chosen.released or 'not yet'}; its certificates have {size / 1e6:.1f} MB."
    yield f"The SHA-256 of names, recipes and instances, which never change, is `{chosen.digest}`.\n"


def _instances(chosen: StandardSet, families: Mapping[str, Family]) -> Iterator[str]:
    for name in dict.fromkeys(each.family for each in chosen.entries):
        family = families[name]
        best = "least" if family.sense.value == "least" else "most"
        yield f"#### Family `{name}`\n\nValues in {family.unit}; the {best} is best.\n"
        yield from _table(HEAD, (_row(each) for each in chosen.entries if each.family == name))


def _row(entry: Entry) -> tuple[str, ...]:
    gap = "-" if entry.best is None else _gap(gap_text(interval_of(entry.best)))
    first = "-"
    if entry.first is not None:
        ends = read_exact(entry.first["lower"]), read_exact(entry.first["upper"])
        first = f"{_gap(gap_text(ends))} in {entry.first['seconds']:.0f} s"
    about = (f"`{entry.name}`", entry.tier, size_text(entry), interval_text(entry), gap)
    return (*about, state(entry), difficulty(entry), first)


def _gap(text: str) -> str:
    return "0" if text == "proved" else text


def _history(chosen: StandardSet) -> Iterator[str]:
    known = {each.name: each for each in chosen.entries}
    rows = []
    for step in chosen.read_history():
        if step["instance"] not in known:
            continue
        lower, upper = read_exact(_number(step["lower"])), read_exact(_number(step["upper"]))
        shown = f"[{ratios.format_number(lower)}, {ratios.format_number(upper, up=True)}]"
        if lower == upper:
            shown = ratios.format_truncated(upper)
        cells = (shown, _gap(gap_text((lower, upper))), f"`{step['command']}`", step["seconds"], step["machine"])
        rows.append((f"`{step['instance']}`", step["date"], *cells))
    if rows:
        yield "#### History\n\nEvery interval that was recorded, in the order of the instances. A narrower interval"
        yield "replaces another one after its certificate was verified.\n"
        yield from _table(STEPS, rows)


def _number(text: str) -> int | str:
    return text if "/" in text else int(text)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |\n|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""
