"""The commands `list`, `generate` and `warm`."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ratiobench.bench.cli.arguments import Command, add_part_of_suite, find_part
from ratiobench.bench.cli.parser import NAME, complete_by, suite_names
from ratiobench.bench.cli.printing import print_json
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import families, find_calibrator, find_suite
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import Listed, Suite
from ratiobench.formulations import backends
from ratiobench.instances.errors import InputError, make_printable, not_one_of
from ratiobench.instances.keys import Form

_KINDS: Mapping[str, Callable[[Family], Sequence[Listed | Suite | Form]]] = {
    "suites": lambda family: family.suites(),
    "axes": lambda family: [
        Listed(f"{suite.name} --over {each.name}", each.summary) for suite in family.suites() for each in suite.axes
    ],
    "algorithms": lambda family: family.algorithms(),
    "formulations": lambda family: family.formulations(),
    "traces": lambda family: family.traces(),
    "gpus": lambda family: () if family.calibrator is None else family.calibrator.gpus(()),
    "logs": lambda family: () if family.log_import is None else family.log_import.formats(),
    "constructions": lambda family: family.constructions(),
    "recipes": lambda family: list(family.recipes().values()),
    "claims": lambda family: [
        Listed(each.name, f"{each.statement} ({each.source}; {each.standing})")
        for each in family.statements()
        if not each.proof
    ],
    "backends": lambda family: _backends(family),
    "searches": lambda family: () if family.counterexample_search is None else family.counterexample_search.claims(),
    "problems": lambda family: [_describe_problem(family)],
    "families": lambda family: family.constructions(),
    "sources": lambda family: [Listed(each.name, f"{each.citation}. Gives {each.gives}") for each in family.sources()],
}
"""`families` is what `constructions` were called before: not to be confused with families of problems."""


def add_list(command: Command) -> None:
    """The command `list`."""
    sub = command("list", _list, "what there is")
    sub.add_argument(
        "what",
        choices=list(_KINDS),
        help="problems: the families of problems with their file formats; constructions (before: families): parametric "
        "constructions of instances, members of which `generate` and `run` make; recipes: what they make instances of, "
        "with every key; the others as they are called",
    )
    sub.add_argument(
        "given",
        metavar="NAME",
        nargs="*",
        help="these alone, such as a recipe with its keys; of gpus files of `calibrate`, which are listed too",
    )
    sub.add_argument("--json", action="store_true", help="one JSON document on standard output")


def add_generate(command: Command) -> None:
    """The command `generate`."""
    sub = command("generate", _generate, "write the instance files of a suite, a file of recipes, or one recipe")
    sub.set_defaults(busy="making instances")
    complete_by(
        sub.add_argument(
            "suite", metavar="SUITE", help="or a file FILE.toml, or a recipe, RECIPE:KEY=VALUE,...: `list recipes`"
        ),
        suite_names,
    )
    sub.add_argument("--out", metavar="DIR", type=Path, required=True, help="folder of the files; it is made")
    add_part_of_suite(sub)
    sub.add_argument("--json", action="store_true", help="one JSON document on standard output")


def add_warm(command: Command) -> None:
    """The command `warm`."""
    sub = command("warm", _warm, "compile and cache what is compiled")
    complete_by(sub.add_argument("suites", metavar="SUITE", nargs="*", help="only what these suites need"), suite_names)


def _list(options: argparse.Namespace) -> int:
    kinds = dict(_KINDS)
    names: list[str] = [] if options.what == "gpus" else options.given
    if options.what == "gpus" and options.given:
        own, files = find_calibrator(), list(map(Path, options.given))
        kinds["gpus"] = lambda family: own.gpus(files) if family.calibrator is own else ()
    known = {each.name for family in families().values() for each in kinds[options.what](family)} if names else ()
    for name in names:
        if name not in known:
            raise InputError(f"list {options.what}", "", not_one_of(name, sorted(known), f"list {options.what}"))
    found: list[dict[str, Any]] = [
        {"family": family.name, "name": each.name, "summary": each.summary}
        | ({"keys": [key.row() for key in each.keys]} if isinstance(each, Form) else {})
        for family in families().values()
        for each in kinds[options.what](family)
        if each.name in names or not names
    ]
    if options.json:
        print_json(found)
        return 0
    if options.what == "recipes":
        print("\n".join(filter(None, (_recipe_text(family, names) for family in families().values()))))
        return 0
    width = max((len(each["name"]) for each in found), default=0)
    for family in dict.fromkeys(each["family"] for each in found):
        print(f"{family}:")
        for each in found:
            if each["family"] == family:
                print(f"  {each['name'].ljust(width)}  {each['summary']}")
    if options.what == "families":
        print("These are constructions of instances, `list constructions`. Families of problems: `list problems`.")
    return 0


def _recipe_text(family: Family, names: Collection[str]) -> str:
    """The family's recipes, or those of the names, each with a line per key: name, unit, range, default, meaning."""
    forms = [form for form in family.recipes().values() if form.name in names or not names]
    lines = [f"{family.name}:"] if forms else []
    for form in forms:
        rows = [key.row() for key in form.keys]
        lines += ["", f"  {form.name}: {form.summary}"]
        head = {"name": "key", "unit": "unit", "range": "range", "default": "default", "meaning": "meaning"}
        columns = ("name", "unit", "range", "default")
        width = {column: min(34, max(len(row[column]) for row in (head, *rows))) for column in columns}
        for row in (head, *rows):
            cells = [row[column].ljust(width[column]) for column in columns]
            lines.append("    " + "  ".join([*cells, row["meaning"]]).rstrip())
    return "\n".join(lines)


def _describe_problem(family: Family) -> Listed:
    """A family of problems: the format of its files, its objective, its suites."""
    best = "most" if family.sense is Sense.MOST else "least"
    suites = ", ".join(suite.name for suite in family.suites())
    return Listed(family.format, f"the {best} {family.objective} is best ({family.unit}); suites: {suites}")


def _backends(family: Family) -> list[Listed]:
    """The solvers that a family uses, and for which formulations."""
    found = []
    for name in backends.backends():
        solved = [each.name for each in family.formulations() if re.search(rf"\[.*\b{name}\b.*\]", each.summary)]
        if solved:
            extra = "; optional, with the extra of this name" * (name in backends.EXTRAS)
            found.append(Listed(name, f"solves {', '.join(solved)}{extra}"))
    return found


def _generate(options: argparse.Namespace) -> int:
    from ratiobench.bench.running.runner import at_scale, generate_suite

    family, suite = find_part(options)
    written = generate_suite(family, at_scale(suite, options.scale), options.out, options.only, options.tier)
    if options.json:
        print_json(written)
    else:
        for each in written:
            print(f"{each['file']}  {each['instance']}")
            for note in each.get("notes", ()):
                print(f"{NAME}: {make_printable(each['case'], 200)}: {make_printable(note, 300)}", file=sys.stderr)
    return 0


def _warm(options: argparse.Namespace) -> int:
    from ratiobench.bench.running import kernel_record
    from ratiobench.bench.running.kernel_compilation import compile_all

    chosen: dict[str, Collection[str] | None] = {}
    for name in options.suites:
        family, suite = find_suite(name)
        runs = [run for case in suite.cases for run in (*case.algorithms, *(study.algorithm for study in case.studies))]
        chosen[family.name] = list(dict.fromkeys([*(chosen.get(family.name) or ()), *runs]))
    todo = chosen or dict.fromkeys(families())
    compile_all(todo)
    for family_name, names in todo.items():
        kernel_record.remember(family_name, names)
    return 0
