"""A suite of one's own in a TOML file, and a recipe on the command line: read, checked, made a `Suite`.

An instance of the file is a recipe with what is run on it; `ratiobench.bench.family.grids` makes its cases. What may
stand where is described in `SUITE`, `CASE`, `STUDY`, `PLOT` and by the families' recipes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratiobench.bench.family.grids import CASES, RUNS, Grid, Variant, fill, name_file, shorten_name
from ratiobench.bench.family.suite import (
    LEADERBOARD,
    QUANTITIES,
    STUDIED,
    SWEEP,
    TAKEN,
    Case,
    Plot,
    PrintedGain,
    PrintedMean,
    SolveSettings,
    Study,
    Suite,
)
from ratiobench.formulations.settings import NO_BACKEND
from ratiobench.instances.io.errors import MEANT, InputError, explain_unknown_name, join_path, shorten, suggest_name
from ratiobench.instances.io.files import load_toml, read_bytes
from ratiobench.instances.io.keys import Form, Integer, Key, Kind, Number, Switch, Text, Texts, Values

if TYPE_CHECKING:
    from ratiobench.bench.family.contract import Family

SUFFIX = ".toml"
_SOLVE = (
    Key("formulation", Text(), "model of OPT: `list formulations`", "auto"),
    Key("backend", Text(), "its solver", "auto"),
    Key("effort", Integer(1, 10**6), "amount of work on OPT", 1),
    Key("gap", Number(0, 0.999), "relative gap at which to stop", 0),
    Key("seconds", Number(0.001, 10**7), "time limit on OPT; marks the results", default_text="none"),
)
_ALGORITHMS = Key(
    "algorithms", Texts(), "algorithms to run: names with options, or package.module:Class", default_text="none"
)
SUITE = (
    Key("name", Text(), "of the suite", default_text="the file's"),
    Key("summary", Text(), "a sentence for the page", default_text="none"),
    Key("family", Text(), "of problems: `list problems`", default_text="that of the recipes"),
    _ALGORITHMS,
    *_SOLVE,
    Key("repeat", Integer(1, RUNS), "runs of an algorithm that draws", 1),
    Key("verdicts_first", Switch(), "begin the page with claims", default=False),
    Key("crosscheck", Switch(), "solve the program as its paper prints it by several solvers, too", default=False),
)
CASE = (
    Key("recipe", Text(), "kind of recipe: `list recipes`", default_text="to be given"),
    Key("name", Text(), "of the case and of its file; must differ from case to case", default_text="made of the grid"),
    Key("group", Text(), "cases of one group are comparable", default_text="the grid without seeds"),
    replace(_ALGORITHMS, default_text="those of the suite"),
    *(replace(key, default=None, default_text="as in the suite") for key in _SOLVE),
)
STUDY = (
    Key("kind", Text(), "curve, charges"),
    Key("algorithm", Text(), "algorithm that it is about"),
    Key("task", Integer(0), "one task", default_text="all"),
)
PLOT = (
    Key("name", Text(), "of its files"),
    Key("title", Text(), "heading", default_text="its name"),
    Key("kind", Text(), "welfare, reached, ratio, seconds, ..., or a measure", "welfare"),
    Key("groups", Texts(), "places on the axis", default_text="all groups"),
    Key("axis", Text(), "what the groups vary", "cases"),
    Key("algorithms", Texts(), "algorithms that it shows", default_text="all"),
    Key("note", Text(), "a sentence below it", default_text="none"),
)
HINDSIGHT = (Key("label", Text(), "of the best of several"), Key("algorithms", Texts(), "the several"))
PRINTED = (
    Key("group", Text(), "where"),
    Key("algorithm", Text(), "the better algorithm"),
    Key("than", Text(), "the algorithm that it is compared with"),
    Key("percent", Text(), "by how much, as printed"),
)
PRINTED_MEANS = (*PRINTED[:2], Key("value", Text(), "the mean, as printed"))
LISTS = {"printed": PRINTED, "printed_means": PRINTED_MEANS, "hindsight": HINDSIGHT}  # Lists of tables in a plot
_FIGURES = {"percent", "value"}  # What is printed as a number
_SOLVERS = re.compile(r"\[([^][]*)\]$")  # In the summary of a formulation: the backends that it goes with
_UNSAFE = re.compile(r"[^\w.=+-]")


def read_suite(path: str, families: Mapping[str, Family], taken: Sequence[str]) -> tuple[Family, Suite]:
    """The suite in a file, and its family. `taken` are names that it may not have."""
    data, source = read_bytes(path)
    table = load_toml(data, source)
    name = table.get("name", Path(path).name.removesuffix(SUFFIX))
    if isinstance(name, str) and name in taken:
        raise InputError(source, "name", f"{shorten(name)} is the name of a suite that is there; give another `name`")
    return suite_of({**table, "name": name}, source, Path(path).parent, families)


def read_recipe(text: str, families: Mapping[str, Family]) -> tuple[Family, Suite] | None:
    """The suite of the one instance that ``RECIPE:KEY=VALUE,...`` names; None where no family has such a recipe."""
    names = {name for family in families.values() for name in family.recipes()}
    head = max((name for name in names if text == name or text.startswith(f"{name}:")), key=len, default="")
    tail = text[len(head) + 1 :]
    found = [family.recipes()[head] for family in families.values() if head in family.recipes()]
    if not found:
        return None
    known: dict[str, Kind] = {key.name: key.kind for form in found for key in form.keys}
    values: dict[str, Any] = {}
    for part in filter(None, tail.split(",")):
        name, equals, value = part.partition("=")
        if name not in known:
            raise InputError(head, name, f"unknown key; known: {', '.join(known)}{suggest_name(name, known)}")
        if name in values or not equals:
            problem = "the key is given twice; once is allowed" if equals else f"{shorten(part)} is not KEY=VALUE"
            raise InputError(head, name, problem)
        values[name] = known[name].parsed(value)
    named = found[0].label or not values or ":" in head  # one of several recipes of a kind: its keys are the name
    label = {"name": shorten_name(_UNSAFE.sub("_", text), 150)} if named else {}
    family, suite = suite_of({"instance": [{"recipe": head, **label, **values}]}, head, Path(), families, alone=True)
    return family, replace(suite, name=text, summary=family.recipes()[head].summary)


def suite_of(
    data: Mapping[str, Any], source: str, folder: Path, families: Mapping[str, Family], *, alone: bool = False
) -> tuple[Family, Suite]:
    """The suite of a decoded document, and its family; files are named from `folder`."""
    tables = {name: _list_of(data, name, source) for name in ("instance", "small", "plot")}
    if not tables["instance"]:
        raise InputError(source, "instance", "there is no [[instance]]; at least one is needed")
    groups = data.get("groups", {})
    if not isinstance(groups, Mapping) or not all(isinstance(each, str) for each in groups.values()):
        raise InputError(source, "groups", f"{shorten(groups)} is not a table of texts: groups in words")
    top = Values(source, SUITE, {key: value for key, value in data.items() if key not in (*tables, "groups")})
    failures: list[tuple[str, InputError]] = []
    for family in _candidates(top, tables, source, families):
        reader = _Reader(source, folder, family, top, alone)
        try:
            cases, small = (reader.cases(tables[name], name) for name in ("instance", "small"))
        except InputError as error:
            failures.append((family.name, error))
            continue
        suite = Suite(
            name=name_file(top["name"] or source, source, "name"),
            summary=top["summary"] or "",
            cases=cases,
            plots=tuple(_plots(source, tables["plot"], family, cases, small)),
            small=small,
            groups=_worded(source, groups, cases, small),
            verdicts_first=top["verdicts_first"],
            repeat=top["repeat"],
            crosscheck=top["crosscheck"],
            file="" if alone else source,
        )
        return family, suite
    raise _told_together(failures)


def _told_together(failures: Sequence[tuple[str, InputError]]) -> InputError:
    """What is wrong, where several families know all recipes and none of them can make an instance.

    Where some of them know what was meant, they alone are heard.
    """
    own = [(name, error) for name, error in failures if error.field != "format"] or failures
    if len({error.field for _, error in own}) > 1 or len({error.problem for _, error in own}) == 1:
        return own[0][1]
    own = [(name, error) for name, error in own if MEANT in error.problem] or own
    first = own[0][1]
    return InputError(first.source, first.field, "; ".join(f"in {name}: {error.problem}" for name, error in own))


def _list_of(data: Mapping[str, Any], name: str, source: str) -> list[Any]:
    found = data.get(name, [])
    if not isinstance(found, list):
        raise InputError(source, name, f"{shorten(found)} is no list of tables: write [[{name}]]")
    return found


def _candidates(
    top: Values, tables: Mapping[str, list[Any]], source: str, families: Mapping[str, Family]
) -> list[Family]:
    if top["family"] is not None:
        if top["family"] not in families:
            problem = (
                f"{shorten(top['family'])} is none of {', '.join(families)}{suggest_name(top['family'], families)}"
            )
            raise InputError(source, "family", problem)
        return [families[top["family"]]]
    able = list(families.values())
    known = list(dict.fromkeys(name for family in able for name in family.recipes()))
    for name in ("instance", "small"):
        for j, table in enumerate(tables[name]):
            recipe = table.get("recipe") if isinstance(table, Mapping) else None
            if not isinstance(recipe, str):
                continue  # said where the table is read
            able = [family for family in able if recipe in family.recipes()]
            if not able:
                problem = f"is no recipe; known: {', '.join(known)}{suggest_name(recipe, known)}"
                if recipe in known:
                    problem = "is a recipe of another family than those above"
                raise InputError(source, f"{name}[{j}].recipe", f"{shorten(recipe)} {problem}")
    return able


class _Reader:
    """Tables to cases, of one family."""

    def __init__(self, source: str, folder: Path, family: Family, top: Values, alone: bool) -> None:
        self.source, self.folder, self.family, self.top, self.alone = source, folder, family, top, alone

    def cases(self, tables: Sequence[Any], name: str) -> tuple[Case, ...]:
        found: dict[str, Case] = {}
        for j, table in enumerate(tables):
            field = "" if self.alone else f"{name}[{j}]"
            for case in self._of_table(table, field):
                if case.name in found:
                    problem = f"two cases are called {shorten(case.name)}; give a name with {{run}} or {{KEY}} in it"
                    raise InputError(self.source, join_path(field, "name"), problem)
                if len(found) == CASES:
                    raise InputError(self.source, field, f"more than {CASES} cases")
                found[case.name] = case
        return tuple(found.values())

    def _of_table(self, table: Any, field: str) -> Iterator[Case]:
        if not isinstance(table, Mapping):
            raise InputError(self.source, field, f"{shorten(table)} is not a table")
        shared = [key.name for key in CASE]
        about = Values(self.source, CASE, {name: table[name] for name in table if name in shared}, field)
        forms = self.family.recipes()
        kind = about.needed("recipe")
        if kind not in forms:
            problem = f"{shorten(kind)} is no recipe of {self.family.name}; known: {', '.join(forms)}"
            raise InputError(self.source, join_path(field, "recipe"), problem + suggest_name(kind, forms))
        studies = tuple(self._studies(table.get("study", []), join_path(field, "study")))
        grid = Grid(self.source, field, self.folder, self.family, forms[kind], shared)
        for variant in grid.variants({name: table[name] for name in table if name not in shared}):
            yield self._case(forms[kind], about, variant, studies, field)

    def _studies(self, tables: Any, field: str) -> Iterator[Study]:
        if not isinstance(tables, list):
            raise InputError(self.source, field, f"{shorten(tables)} is no list of tables")
        for j, table in enumerate(tables):
            found = Values(self.source, STUDY, table, f"{field}[{j}]")
            study = Study(found.needed("kind"), found.needed("algorithm"), found["task"])
            known = self.family.study_kinds
            if known is not None and study.kind not in known:
                raise InputError(self.source, f"{field}[{j}].kind", explain_unknown_name(study.kind, known))
            if known is not None and known[study.kind] and study.task is None:
                problem = f"the key is missing: a study of kind {study.kind} is about one task"
                raise InputError(self.source, f"{field}[{j}].task", problem)
            yield study

    def _case(self, form: Form, about: Values, variant: Variant, studies: tuple[Study, ...], field: str) -> Case:
        words = variant.words() | {"recipe": form.name}
        files = [key.name for key in form.keys if isinstance(key.kind, Text) and key.kind.path and key.name in words]
        words |= {key: Path(words[key]).name for key in files}  # names of files are no paths
        varied = {key: f"{key} {words[key]}" for key in variant.varied}
        numbered = [] if variant.run is None else [f"run {variant.run}"]
        name = ", ".join([*varied.values(), *numbered])
        group = ", ".join(text for key, text in varied.items() if key != "seed")
        if not form.label and len(variant.values) == 1:  # an instance that has a name
            [(_, value)] = variant.values.items()
            name, group = (Path(str(value)).name.partition(".json")[0], "") if isinstance(value, str) else (name, group)
        name = fill(about["name"] or shorten_name(name or form.name), words, self.source, join_path(field, "name"))
        group = fill(about["group"] or group or "all", words, self.source, join_path(field, "group"))
        name_file(name, self.source, join_path(field, "name"))
        settings = {key.name: self.top[key.name] if about[key.name] is None else about[key.name] for key in _SOLVE}
        for key in ("formulation", "backend"):
            if problem := self._unsolvable(key, settings["formulation"], settings["backend"]):
                raise InputError(self.source, key if about[key] is None else join_path(field, key), problem)
        algorithms = self.top["algorithms"] if about["algorithms"] is None else about["algorithms"]
        recipe = form.recipe(self.source, field, variant.values, "" if self.alone else name)
        prior = None
        if variant.prior is not None:
            values = {**variant.values, **variant.prior}
            prior = form.recipe(self.source, join_path(field, "prior"), values, f"before {name}")
        return Case(name, recipe, tuple(algorithms or ()), SolveSettings(**settings), group, prior, studies)

    def _unsolvable(self, key: str, formulation: str, backend: str) -> str:
        """What is wrong with the key `formulation` or `backend`; empty where nothing is."""
        if formulation == backend == "auto":
            return ""
        known = {"auto": "", **{each.name: each.summary for each in self.family.formulations()}}
        if key == "formulation":
            return "" if formulation in known else explain_unknown_name(formulation, known)
        able = {each: _SOLVERS.findall(summary) for each, summary in known.items()}
        able["auto"] = [f"{NO_BACKEND}, {', '.join(chain(*able.values()))}"]
        names = dict.fromkeys(["auto", *filter(None, ", ".join(able[formulation]).split(", "))])
        return (
            ""
            if backend in names or len(names) == 1
            else f"of formulation {formulation}: " + explain_unknown_name(backend, names)
        )


def _worded(source: str, groups: Mapping[str, str], cases: Sequence[Case], small: Sequence[Case]) -> dict[str, str]:
    """What groups are called; InputError for one that has no case."""
    known = dict.fromkeys(case.group for case in (*cases, *small))
    for group in groups:
        if group not in known:
            raise InputError(
                source, join_path("groups", group), f"no group; known: {_some(known)}{suggest_name(group, known)}"
            )
    return dict(groups)


def _some(groups: Iterable[str]) -> str:
    return ", ".join(list(groups)[:50])


def _require_kind(source: str, field: str, plot: Plot, family: Family, cases: Sequence[Case]) -> None:
    """InputError for a kind of figure that would show nothing: no quantity, no measure, no studies of that kind."""
    studies = family.study_kinds
    shows = [kind for kind in STUDIED if studies is None or kind in studies]
    measures = family.measure_names
    known = [*QUANTITIES, LEADERBOARD, SWEEP, *shows, *(measures or ())]
    if plot.kind not in known and measures is not None:
        raise InputError(source, f"{field}.kind", explain_unknown_name(plot.kind, known))
    if plot.kind in STUDIED and not any(study.kind == plot.kind for case in cases for study in case.studies):
        problem = f"{shorten(plot.kind)} shows studies, and no instance has a [[instance.study]] of this kind"
        raise InputError(source, f"{field}.kind", problem)


def _plots(
    source: str, tables: Sequence[Any], family: Family, cases: Sequence[Case], small: Sequence[Case]
) -> Iterator[Plot]:
    """The figures; InputError for a kind or group that is none, and a name that stands twice."""
    full = tuple(dict.fromkeys(case.group for case in cases))
    groups = dict.fromkeys([*full, *(case.group for case in small)])
    names: set[str] = set()
    for j, table in enumerate(tables):
        field = f"plot[{j}]"
        if not isinstance(table, Mapping):
            raise InputError(source, field, f"{shorten(table)} is not a table")
        plot = _plot(source, field, table, full)
        if plot.name in names:
            raise InputError(source, f"{field}.name", f"{shorten(plot.name)} is given twice; names must differ")
        names.add(plot.name)
        _require_kind(source, field, plot, family, (*cases, *small))
        printed = [*(each.group for each in plot.printed), *(each.group for each in plot.printed_means)]
        for group in (*plot.groups, *printed):
            if group not in groups:
                problem = f"{shorten(group)} is not one of {_some(groups)}{suggest_name(group, groups)}"
                raise InputError(source, f"{field}.groups", problem)
        yield plot


def _plot(source: str, field: str, table: Mapping[str, Any], groups: tuple[str, ...]) -> Plot:
    parts: dict[str, list[dict[str, Any]]] = {}
    for name, keys in LISTS.items():
        listed = table.get(name, [])
        if not isinstance(listed, list):
            raise InputError(source, f"{field}.{name}", f"{shorten(listed)} is no list of tables")
        found = [Values(source, keys, each, f"{field}.{name}[{j}]") for j, each in enumerate(listed)]
        parts[name] = [{key.name: each.needed(key.name) for key in keys} for each in found]
        for j, each in enumerate(parts[name]):
            for key in _FIGURES & each.keys():
                if not re.fullmatch(r"-?[0-9]{1,15}(\.[0-9]{1,9})?", each[key], re.ASCII):
                    raise InputError(source, f"{field}.{name}[{j}].{key}", f"{shorten(each[key])} is not a number")
    about = Values(source, PLOT, {name: value for name, value in table.items() if name not in LISTS}, field)
    name = about.needed("name")
    if not re.fullmatch(r"[\w-]{1,100}", name):
        raise InputError(source, f"{field}.name", f"{shorten(name)} has other characters than letters, digits, _ and -")
    if name in TAKEN:
        raise InputError(source, f"{field}.name", f"{shorten(name)} is the name of another file of a report")
    return Plot(
        name=name,
        title=about["title"] or name,
        kind=about["kind"],
        groups=about["groups"] or groups,
        axis=about["axis"],
        algorithms=about["algorithms"] or (),
        printed=tuple(PrintedGain(**each) for each in parts["printed"]),
        note=about["note"] or "",
        hindsight=tuple((each["label"], each["algorithms"]) for each in parts["hindsight"]),
        printed_means=tuple(PrintedMean(**each) for each in parts["printed_means"]),
    )
