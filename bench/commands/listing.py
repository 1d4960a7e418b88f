"""The command `list`: what there is."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from ratiobench.bench.arguments import Choice, Option, Outcome, Text, command
from ratiobench.bench.family.registry import families
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import NamedSummary, Suite
from ratiobench.formulations import backends
from ratiobench.instances.io.errors import InputError, explain_unknown_name
from ratiobench.instances.io.keys import Form
from ratiobench.instances.io.plugins import BACKENDS, find_plugins

if TYPE_CHECKING:
    from ratiobench.bench.family.contract import Family

_KINDS: Mapping[str, Callable[[Family], Sequence[NamedSummary | Suite | Form]]] = {
    "suites": lambda family: family.suites(),
    "algorithms": lambda family: family.algorithms(),
    "formulations": lambda family: NamedSummary.several(family.formulations()),
    "traces": lambda family: NamedSummary.several(family.traces()),
    "logs": lambda family: NamedSummary.several(family.log_formats),
    "constructions": lambda family: NamedSummary.several(family.constructions()),
    "recipes": lambda family: list(family.recipes().values()),
    "claims": lambda family: [
        NamedSummary(each.name, f"{each.statement} ({each.source}; {each.standing})")
        for each in family.statements()
        if not each.proof
    ],
    "backends": lambda family: _backends(family),
    "problems": lambda family: [_describe_problem(family)],
    "sources": lambda family: [
        NamedSummary(each.name, f"{each.citation}. Gives {each.gives}") for each in family.sources
    ],
}


@command()
def list_names(
    what: Annotated[str, Option(Choice(tuple(_KINDS)))],
    names: Annotated[Any, Option(Text(), "NAME", several=True)] = (),
) -> Outcome[list[dict[str, Any]]]:
    """List suites, algorithms, claims, recipes, ...

    Parameters
    ----------
    what : kind of names to list. problems: families of problems with their file formats; constructions: parametric
        instances, which `generate` and `run` make; recipes: descriptions of instances, with every key.
    names : names to list, all if none is given: one algorithm with its options explained, one recipe with its keys.
    """
    entries = _KINDS[what]
    known = {each.name for family in families().values() for each in entries(family)} if names else ()
    for name in names:
        if name not in known:
            raise InputError(f"list {what}", "", explain_unknown_name(name, sorted(known), f"list {what}"))
    rows = [
        {"family": family.name, "name": each.name, "summary": each.summary}
        | ({"keys": [key.row() for key in each.keys]} if isinstance(each, Form) else {})
        | ({"options": [*family.describe_options(each.name)]} if what == "algorithms" else {})
        for family in families().values()
        for each in entries(family)
        if each.name in names or not names
    ]
    return Outcome(lambda: rows, _lines(what, names, rows), lambda: rows)


def _lines(what: str, names: Collection[str], rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The entries by family; recipes with their keys, algorithms that are named with their options."""
    if what == "recipes":
        yield "\n".join(filter(None, (_recipe_text(family, names) for family in families().values())))
        return
    width = max((len(row["name"]) for row in rows), default=0)
    for family in dict.fromkeys(row["family"] for row in rows):
        yield f"{family}:"
        for row in rows:
            if row["family"] == family and what == "algorithms" and names:
                yield from _algorithm_lines(row)
            elif row["family"] == family:
                yield f"  {row['name'].ljust(width)}  {row['summary']}"
    if what == "algorithms" and not names:
        yield "`list algorithms NAME` explains the options of one."


def _recipe_text(family: Family, names: Collection[str]) -> str:
    """The family's recipes, or those of the names, each with a line per key: name, unit, range, default, meaning."""
    forms = [form for form in family.recipes().values() if form.name in names or not names]
    lines = [f"{family.name}:"] if forms else []
    for form in forms:
        head = {"name": "key", "unit": "unit", "range": "range", "default": "default", "meaning": "meaning"}
        lines += ["", f"  {form.name}: {form.summary}", *_table_lines(head, [key.row() for key in form.keys])]
    return "\n".join(lines)


def _algorithm_lines(entry: Mapping[str, Any]) -> Iterator[str]:
    """An algorithm with a line per option: name, values, default, meaning."""
    rows = entry["options"]
    yield ""
    yield f"  {entry['name']}: {re.split(_OPTION, entry['summary'])[0] if rows else entry['summary']}"
    if rows:
        head = {"name": "option", "values": "values", "default": "default", "meaning": "meaning"}
        yield from _table_lines(head, rows)


_OPTION = r"; (?=[\w-]+=)"  # Before the options in the summary of an algorithm


def _table_lines(head: Mapping[str, str], rows: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """A line per row, in columns; the last column is as long as it is."""
    *columns, last = head
    width = {column: min(34, max(len(row[column]) for row in (head, *rows))) for column in columns}
    for row in (head, *rows):
        cells = [row[column].ljust(width[column]) for column in columns]
        yield "    " + "  ".join([*cells, row[last]]).rstrip()


def _describe_problem(family: Family) -> NamedSummary:
    """A family of problems: the format of its files, its objective, its suites."""
    best = "most" if family.sense is Sense.MOST else "least"
    suites = ", ".join(suite.name for suite in family.suites())
    return NamedSummary(family.format, f"the {best} {family.objective} is best ({family.unit}); suites: {suites}")


def _backends(family: Family) -> list[NamedSummary]:
    found = []
    for name in backends.backends():
        solved = [each for each, summary in family.formulations() if re.search(rf"\[.*\b{name}\b.*\]", summary)]
        if solved:
            extra = "; optional, with the extra of this name" * (name in backends.EXTRAS)
            found.append(NamedSummary(name, f"solves {', '.join(solved)}{extra}"))
    linear = [name for name, summary in family.formulations() if re.search(r"\[.*\bhighs\b.*\]", summary)]
    for name, plugin in find_plugins(BACKENDS).items() if linear else ():
        found.append(NamedSummary(name, f"solves {', '.join(linear)}; plug-in of {plugin.origin}"))
    return found
