"""The command `list`: what there is."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from ratiobench.bench.arguments import Choice, Option, Outcome, Steps, Text, command
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import families
from ratiobench.bench.family.sense import Sense
from ratiobench.formulations import backends
from ratiobench.instances.io.errors import require_known
from ratiobench.instances.io.plugins import BACKENDS, find_plugins

_KINDS: Mapping[str, Callable[[Family], Iterable[tuple[str, str]]]] = {
    "suites": lambda family: [(suite.name, suite.summary) for suite in family.suites()],
    "algorithms": lambda family: family.algorithms(),
    "formulations": lambda family: family.formulations(),
    "traces": lambda family: family.traces(),
    "logs": lambda family: family.log_formats,
    "constructions": lambda family: family.constructions(),
    "recipes": lambda family: [(name, form.summary) for name, form in family.recipes().items()],
    "claims": lambda family: [
        (each.name, f"{each.statement} ({each.source}; {each.standing})")
        for each in family.statements()
        if not each.proof
    ],
    "backends": lambda family: _backends(family),
    "problems": lambda family: [(family.format, _describe_problem(family))],
    "sources": lambda family: [(each.name, f"{each.citation}. Gives {each.gives}") for each in family.sources],
}


@command()
def list_names(
    what: Annotated[str, Option(Choice(tuple(_KINDS)), "WHAT")],
    names: Annotated[Any, Option(Text(), "NAME", several=True)] = (),
) -> Steps[list[dict[str, Any]]]:
    """List suites, algorithms, claims, recipes, ...

    Parameters
    ----------
    what : kind of names to list. problems: families of problems with their file formats; constructions: parametric
        instances, which `generate` and `run` make; recipes: descriptions of instances, with every key.
    names : names to list, all if none is given: one algorithm with its options explained, one recipe with its keys.
    """
    entries = {family: list(_KINDS[what](family)) for family in families().values()}
    for name in names:
        known = sorted({known for pairs in entries.values() for known, _ in pairs})
        require_known(name, known, f"list {what}", "", f"list {what}")
    rows = [
        {"family": family.name, "name": name, "summary": summary}
        | ({"keys": [key.row() for key in family.recipes()[name].keys]} if what == "recipes" else {})
        | ({"options": [*family.describe_options(name)]} if what == "algorithms" else {})
        for family, pairs in entries.items()
        for name, summary in pairs
        if name in names or not names
    ]
    yield Outcome(lambda: rows, lambda: rows)
    yield from _lines(what, rows, bool(names))


def _lines(what: str, rows: Sequence[dict[str, Any]], is_named: bool) -> Iterator[str]:
    details = "keys" if what == "recipes" else "options" if what == "algorithms" and is_named else ""
    width = max((len(row["name"]) for row in rows), default=0)
    for family, group in itertools.groupby(rows, lambda row: row["family"]):
        yield f"{family}:"
        for row in group:
            if details:
                yield from _detail_lines(row, details)
            else:
                yield f"  {row['name'].ljust(width)}  {row['summary']}"
    if what == "algorithms" and not is_named:
        yield "`list algorithms NAME` explains the options of one."


# The columns of the keys of a recipe, and of the options of an algorithm; the heading of names is what they name
_COLUMNS = {
    "keys": ("name", "unit", "range", "default", "meaning"),
    "options": ("name", "values", "default", "meaning"),
}


def _detail_lines(entry: Mapping[str, Any], details: str) -> Iterator[str]:
    """An entry with a line per key or option, in columns; the last column is as long as it is."""
    rows = entry[details]
    has_options = details == "options" and rows  # The summary has them, too
    yield ""
    yield f"  {entry['name']}: {re.split(_OPTION, entry['summary'])[0] if has_options else entry['summary']}"
    if not rows:
        return
    *columns, last = _COLUMNS[details]
    rows = [{name: name for name in (*columns, last)} | {"name": details.removesuffix("s")}, *rows]
    widths = {column: min(34, max(len(row[column]) for row in rows)) for column in columns}
    for row in rows:
        cells = [row[column].ljust(width) for column, width in widths.items()]
        yield "    " + "  ".join([*cells, row[last]]).rstrip()


_OPTION = r"; (?=[\w-]+=)"  # Before the options in the summary of an algorithm


def _describe_problem(family: Family) -> str:
    best = "most" if family.sense is Sense.MOST else "least"
    suites = ", ".join(suite.name for suite in family.suites())
    return f"the {best} {family.objective} is best ({family.unit}); suites: {suites}"


def _backends(family: Family) -> Iterator[tuple[str, str]]:
    solvers = {name: ", ".join(re.findall(r"\[(.*)\]", summary)) for name, summary in family.formulations()}
    for name in backends.backends():
        if solved := [each for each, able in solvers.items() if re.search(rf"\b{name}\b", able)]:
            extra = "; optional, with the extra of this name" * (name in backends.EXTRAS)
            yield name, f"solves {', '.join(solved)}{extra}"
    linear = [name for name, able in solvers.items() if re.search(r"\bhighs\b", able)]
    for name, plugin in find_plugins(BACKENDS).items() if linear else ():
        yield name, f"solves {', '.join(linear)}; plug-in of {plugin.origin}"
