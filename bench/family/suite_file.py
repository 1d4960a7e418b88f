"""A suite in a TOML file, or a recipe on the command line: read, checked, made a `Suite`."""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from itertools import chain, product
from math import prod
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ratiobench.bench.family import suite as suites
from ratiobench.bench.family.contract import FILE, Family
from ratiobench.formulations.report import NO_BACKEND
from ratiobench.instances.io.documents import Name, Part, convert, require_different
from ratiobench.instances.io.errors import (
    MEANT,
    InputError,
    explain_unknown_key,
    explain_unknown_name,
    join_path,
    name_source,
    require_known,
    shorten,
    suggest_name,
)
from ratiobench.instances.io.files import load_json, load_toml, read_bytes
from ratiobench.instances.io.keys import LISTS, Kind, Text, flatten, text_of

SUFFIX = ".toml"
CASES = 10_000  # Most cases of a file
NAME = 100  # Most bytes of a name that is made of a grid
Runs = (
    Annotated[int, Meta(ge=1, le=suites.REPEATS)]
    | Annotated[tuple[dict[str, Any], ...], Meta(min_length=1, max_length=suites.REPEATS)]
)

Effort = Annotated[int, Meta(ge=1, le=10**6)]
Gap = Annotated[float, Meta(ge=0, le=0.999)]
TimeLimit = Annotated[float, Meta(ge=0.001, le=10**7)]


class HindsightTable(Part, frozen=True):
    label: Name
    algorithms: tuple[Name, ...]


class PlotTable(Part, frozen=True):
    name: Annotated[str, Meta(pattern=r"^[\w-]{1,100}$", title="a name of letters, digits, _ and -")]  # of its files
    title: Name = ""  # heading; its name, if there is none
    kind: Name = "welfare"  # welfare, reached, ratio, seconds, ..., or a measure
    groups: tuple[Name, ...] = ()  # places on the axis; all groups, if there are none
    axis: Name = "cases"  # what the groups vary
    algorithms: tuple[Name, ...] = ()  # those that it shows; all, if there are none
    note: Name = ""  # a sentence below it
    printed: tuple[suites.PrintedGain, ...] = ()
    hindsight: tuple[HindsightTable, ...] = ()
    printed_means: tuple[suites.PrintedMean, ...] = ()


class InstanceTable(Part, frozen=True, kw_only=True):
    """What stands beside the keys of a recipe; None: as in the suite."""

    recipe: Name  # kind of recipe: `list recipes`
    name: Name = ""  # of the case and of its file, different from case to case; made of the grid, if there is none
    group: Name = ""  # cases of one group are comparable; the grid without seeds, if there is none
    algorithms: tuple[Name, ...] | None = None
    formulation: Name | None = None
    backend: Name | None = None
    effort: Effort | None = None
    gap: Gap | None = None
    seconds: TimeLimit | None = None
    study: tuple[suites.Study, ...] = ()
    runs: Runs | None = None  # how often the instance is repeated, or what is different in each run
    prior: dict[str, Any] | None = None  # what is different on the day before


class SuiteTable(Part, frozen=True, kw_only=True):
    """A suite; the tables of its instances have the keys of `InstanceTable`, of a recipe and of a grid."""

    name: Name = ""  # the file's, if there is none
    summary: Name = ""  # a sentence for the page
    family: Name = ""  # of problems: `list problems`; that of the recipes, if there is none
    algorithms: tuple[Name, ...] = ()  # to run: names with options, or package.module:Class
    formulation: Name = "auto"  # model of OPT: `list formulations`
    backend: Name = "auto"  # its solver
    effort: Effort = 1  # amount of work on OPT
    gap: Gap = 0.0  # relative gap at which to stop
    seconds: TimeLimit | None = None  # time limit on OPT; marks the results
    repeat: Annotated[int, Meta(ge=1, le=suites.REPEATS)] = 1  # runs of an algorithm that draws
    verdicts_first: bool = False  # begin the page with claims
    crosscheck: bool = False  # solve the program as its paper prints it by several solvers, too
    groups: dict[str, str] = msgspec.field(default_factory=dict)  # groups in words
    instance: Annotated[tuple[dict[str, Any], ...], Meta(min_length=1)]
    small: tuple[dict[str, Any], ...] = ()
    plot: tuple[PlotTable, ...] = ()


_SOLVE = [field.name for field in fields(suites.SolveSettings)]
_SOLVERS = re.compile(r"\[([^][]*)\]$")  # In the summary of a formulation: the backends that it goes with
_PLACEHOLDER = re.compile(r"\{([\w.]+)\}")
_UNSAFE = re.compile(r"[^\w.=+-]")


def read_suite(path: str, families: Mapping[str, Family], taken: Sequence[str]) -> tuple[Family, suites.Suite]:
    """The suite in a file, and its family; `taken` are names that it may not have."""
    data, source = read_bytes(path)
    table = load_toml(data, source)
    name = table.get("name", Path(path).name.removesuffix(SUFFIX))
    if isinstance(name, str) and name in taken:
        raise InputError(source, "name", f"{shorten(name)} is the name of a suite that is there; give another `name`")
    return suite_of({**table, "name": name}, source, Path(path).parent, families)


def read_recipe(text: str, families: Mapping[str, Family]) -> tuple[Family, suites.Suite] | None:
    """The suite of the one instance that ``RECIPE:KEY=VALUE,...`` names; None if no family has such a recipe."""
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
            raise InputError(head, name, explain_unknown_key(name, known))
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
) -> tuple[Family, suites.Suite]:
    top = convert(data, SuiteTable, source)
    failures: list[tuple[str, InputError]] = []
    for family in _candidates(top, source, families):
        try:
            cases, small = (
                _cases(tables, "" if alone else name, partial(_Table, source, folder, family, top))
                for name, tables in (("instance", top.instance), ("small", top.small))
            )
        except InputError as error:
            failures.append((family.name, error))
            continue
        name_file(top.name or source, source, "name")
        plots = tuple(_plots(source, top.plot, family, cases, small))
        known = dict.fromkeys(case.group for case in (*cases, *small))
        for group in top.groups:
            if group not in known:
                problem = f"no group; known: {_some(known)}{suggest_name(group, known)}"
                raise InputError(source, join_path("groups", group), problem)
        suite = suites.Suite(
            name=top.name or source,
            summary=top.summary,
            cases=cases,
            plots=plots,
            small=small,
            groups=top.groups,
            verdicts_first=top.verdicts_first,
            repeat=top.repeat,
            crosscheck=top.crosscheck,
            file="" if alone else source,
        )
        return family, suite
    raise _told_together(failures)


def _told_together(failures: Sequence[tuple[str, InputError]]) -> InputError:
    """The error, if several families know all recipes and none makes an instance: of those that know what was meant."""
    own = [(name, error) for name, error in failures if error.field != "format"] or failures
    if len({error.field for _, error in own}) > 1 or len({error.problem for _, error in own}) == 1:
        return own[0][1]
    own = [(name, error) for name, error in own if MEANT in error.problem] or own
    first = own[0][1]
    return InputError(first.source, first.field, "; ".join(f"in {name}: {error.problem}" for name, error in own))


def _candidates(top: SuiteTable, source: str, families: Mapping[str, Family]) -> list[Family]:
    if top.family:
        require_known(top.family, families, source, "family")
        return [families[top.family]]
    able = list(families.values())
    known = list(dict.fromkeys(name for family in able for name in family.recipes()))
    for name, tables in (("instance", top.instance), ("small", top.small)):
        for j, table in enumerate(tables):
            recipe = table.get("recipe")
            if not isinstance(recipe, str):
                continue  # said where the table is read
            able = [family for family in able if recipe in family.recipes()]
            if not able:
                problem = f"is no recipe; known: {', '.join(known)}{suggest_name(recipe, known)}"
                if recipe in known:
                    problem = "is a recipe of another family than those above"
                raise InputError(source, f"{name}[{j}].recipe", f"{shorten(recipe)} {problem}")
    return able


def _cases(
    tables: Sequence[dict[str, Any]], name: str, make: Callable[[str, dict[str, Any]], _Table]
) -> tuple[suites.Case, ...]:
    found: dict[str, suites.Case] = {}
    for j, values in enumerate(tables):
        table = make(f"{name}[{j}]" if name else "", values)
        for case in table.cases():
            if case.name in found:
                problem = f"two cases are called {shorten(case.name)}; give a name with {{run}} or {{KEY}} in it"
                raise table.error("name", problem)
            if len(found) == CASES:
                raise table.error("", f"more than {CASES} cases")
            found[case.name] = case
    return tuple(found.values())


class _Table:
    """A recipe with what is run on it, and its grid of cases, read for one family; `field` is empty for it alone."""

    def __init__(
        self, source: str, folder: Path, family: Family, top: SuiteTable, field: str, table: dict[str, Any]
    ) -> None:
        self.source, self.field, self.folder, self.family, self.top = source, field, folder, family, top
        shared = InstanceTable.__struct_fields__
        self.about = convert({key: table[key] for key in table if key in shared}, InstanceTable, source, field)
        self.values = {key: table[key] for key in table if key not in shared}
        forms, recipe = family.recipes(), self.about.recipe
        if recipe not in forms:
            problem = f"{shorten(recipe)} is no recipe of {family.name}; known: {', '.join(forms)}"
            raise self.error("recipe", problem + suggest_name(recipe, forms))
        self.form = forms[recipe]
        self.is_seeded = any(key.name == "seed" for key in self.form.keys)

    def error(self, place: str, problem: str) -> InputError:
        return InputError(self.source, join_path(self.field, place), problem)

    def _case(
        self, given: Mapping[str, Any], other: Mapping[str, Any] | None, varied_keys: Sequence[str], run: int | None
    ) -> suites.Case:
        """One place of the grid: values of the recipe, what is different in its prior, the number of the run."""
        form, about = self.form, self.about
        words = {key: format_value(value) for key, value in given.items()}
        words |= {"recipe": form.name} | ({} if run is None else {"run": str(run)})
        files = [key.name for key in form.keys if isinstance(key.kind, Text) and key.kind.path and key.name in words]
        words |= {key: Path(words[key]).name for key in files}  # names of files are no paths
        varied = {key: f"{key} {words[key]}" for key in varied_keys}
        numbered = [] if run is None else [f"run {run}"]
        name = ", ".join([*varied.values(), *numbered])
        group = ", ".join(text for key, text in varied.items() if key != "seed")
        if not form.label and len(given) == 1:  # an instance that has a name
            [value] = given.values()
            name, group = (Path(str(value)).name.partition(".json")[0], "") if isinstance(value, str) else (name, group)
        name = self._filled(about.name or shorten_name(name or form.name), words, "name")
        group = self._filled(about.group or group or "all", words, "group")
        name_file(name, self.source, join_path(self.field, "name"))
        own = {key: getattr(about, key) for key in _SOLVE}
        settings = {key: getattr(self.top, key) if own[key] is None else own[key] for key in _SOLVE}
        for key in ("formulation", "backend"):
            if problem := self._unsolvable(key, settings["formulation"], settings["backend"]):
                raise InputError(self.source, key, problem) if own[key] is None else self.error(key, problem)
        recipe = form.recipe(self.source, self.field, given, name if self.field else "")
        prior = None
        if other is not None:
            prior = form.recipe(self.source, join_path(self.field, "prior"), {**given, **other}, f"before {name}")
        algorithms = self.top.algorithms if about.algorithms is None else about.algorithms
        return suites.Case(name, recipe, algorithms, suites.SolveSettings(**settings), group, prior, about.study)

    def _unsolvable(self, key: str, formulation: str, backend: str) -> str:
        """What is wrong with the key `formulation` or `backend`; empty if nothing is."""
        if formulation == backend == "auto":
            return ""
        known = {"auto": "", **dict(self.family.formulations())}
        if key == "formulation":
            return "" if formulation in known else explain_unknown_name(formulation, known)
        able = {name: _SOLVERS.findall(summary) for name, summary in known.items()}
        able["auto"] = [f"{NO_BACKEND}, {', '.join(chain(*able.values()))}"]
        names = dict.fromkeys(["auto", *filter(None, ", ".join(able[formulation]).split(", "))])
        if backend in names or len(names) == 1:
            return ""
        return f"of formulation {formulation}: {explain_unknown_name(backend, names)}"

    def cases(self) -> Iterator[suites.Case]:
        """Every place of the grid; the last key of the table varies first, but for the runs."""
        known = self.family.study_kinds
        for j, study in enumerate(self.about.study):
            if known is None:
                break
            if study.kind not in known:
                raise self.error(f"study[{j}].kind", explain_unknown_name(study.kind, known))
            if known[study.kind] and study.task is None:
                problem = f"the key is missing: a study of kind {study.kind} is about one task"
                raise self.error(f"study[{j}].task", problem)
        repeated, day = self.about.runs, self.about.prior
        grid = {name: self._choices(name, value, "") for name, value in self._flat(self.values, "")}
        runs = list(self._runs())
        before = dict(self._singles(day or {}, "prior"))
        number = prod(map(len, grid.values())) * len(runs)
        if number > CASES:
            raise self.error("", f"the grid has {number} places; {CASES} are allowed")
        varied = [name for name, choices in grid.items() if len(choices) > 1]
        for place in product(*grid.values()):
            for run, (changes, changed) in enumerate(runs):
                for name in changes:
                    if name in varied:
                        raise self.error(f"runs[{run}].{name}", "a list makes a grid of it already; not both")
                values = dict(zip(grid, place, strict=True)) | changes
                if isinstance(repeated, int) and not any(map(_mentions_run, values.values())):
                    if not self.is_seeded:
                        raise self.error("runs", "no value has {run} in it: all runs are the same")
                    values["seed"] = _longer(values, "run {run}")
                counted = None if repeated is None else run
                prior = None
                if day is not None or changed:
                    # At least the seed is different, or it would have the tasks of the day itself.
                    seed = {"seed": _longer(values, "yesterday")} if self.is_seeded else {}
                    prior = self._numbered(seed | before | changed, counted)
                yield self._case(self._numbered(values, counted), prior, varied, counted)

    def _numbered(self, values: Mapping[str, Any], run: int | None) -> dict[str, Any]:
        words = {} if run is None else {"run": str(run)}
        return {name: self._filled(value, words, name) for name, value in values.items()}

    def _filled(self, value: Any, words: Mapping[str, str], place: str) -> Any:
        """A value with these words in the place of ``{NAME}``."""
        if isinstance(value, list):
            return [self._filled(part, words, place) for part in value]
        if not isinstance(value, str):
            return value
        for name in _PLACEHOLDER.findall(value):
            if name not in words:
                known = ", ".join(f"{{{word}}}" for word in words) or "none here"
                raise self.error(place, f"{shorten(f'{{{name}}}')} stands for nothing; known: {known}")
        return _PLACEHOLDER.sub(lambda match: words[match.group(1)], value)

    def _flat(self, table: Any, place: str) -> Iterator[tuple[str, Any]]:
        beside = InstanceTable.__struct_fields__
        return flatten(self.form.keys, table, self.source, join_path(self.field, place), beside=beside)

    def _choices(self, name: str, value: Any, place: str) -> list[Any]:
        """The values of a key in the grid: a list is several, unless it is one value by itself."""
        kind = next(key.kind for key in self.form.keys if key.name == name)
        found = [value]
        if isinstance(value, list) and not (isinstance(kind, LISTS) and all(type(part) is int for part in value)):
            found = value
        place = join_path(place, name)
        if not found:
            raise self.error(place, "an empty list; at least one value is needed")
        if isinstance(kind, Text) and kind.path:
            return [file for part in found for file in self._files(part, place)]
        return found

    def _files(self, value: Any, place: str) -> list[str]:
        """The files that a path, a pattern or a folder stands for, each of which has an instance."""
        given = self.folder / Text(path=True).checked(self.source, join_path(self.field, place), value)
        if self.form is not FILE:
            return [str(given)]
        if os.path.isdir(given):
            paths = sorted(given.glob("*.json.gz")) or sorted(given.glob("*.json"))
        elif glob.has_magic(str(value)) and not os.path.exists(given):
            paths = sorted(map(Path, glob.glob(str(given))))
        else:
            paths = [given]
        if not paths or "\0" in str(given):
            raise self.error(place, f"{shorten(value)}: there is no such file")
        for path in paths:
            data, source = read_bytes(path)
            document = load_json(data, source)
            form = document.get("format") if isinstance(document, Mapping) else None
            if form not in self.family.formats:
                known = " or ".join(map(repr, self.family.formats))
                raise InputError(source, "format", f"{shorten(form)} is not {known}")
            self.family.parse(document, source)
        return [str(path) for path in paths]

    def _runs(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """What is different in each run, and what on the day before."""
        runs = self.about.runs
        for j, table in enumerate(runs if isinstance(runs, tuple) else [{}] * (runs or 1)):
            own = {name: value for name, value in table.items() if name != "prior"}
            prior = self._singles(table.get("prior", {}), f"runs[{j}].prior")
            yield dict(self._singles(own, f"runs[{j}]")), dict(prior)

    def _singles(self, table: Any, place: str) -> Iterator[tuple[str, Any]]:
        for name, value in self._flat(table, place):
            choices = self._choices(name, value, place)
            if len(choices) > 1:
                raise self.error(join_path(place, name), f"{shorten(value)}: one value is needed here, not a grid")
            yield name, choices[0]


def _longer(values: Mapping[str, Any], name: str) -> list[Any]:
    seed = values.get("seed", 0)
    return [*(seed if isinstance(seed, list) else [seed]), name]


def _mentions_run(value: Any) -> bool:
    return any(map(_mentions_run, value)) if isinstance(value, list) else isinstance(value, str) and "{run}" in value


def format_value(value: Any) -> str:
    return "-".join(map(format_value, value)) if isinstance(value, list) else text_of(value)


def shorten_name(name: str, most: int = NAME) -> str:
    """The name in at most so many bytes: of a longer one the beginning, and a sign of the whole."""
    whole = name.encode(errors="surrogatepass")
    if len(whole) <= most:
        return name
    sign = hashlib.sha256(whole).hexdigest()[:10]
    return whole[: most - len(sign) - 1].decode(errors="ignore").rstrip(" ,") + f"~{sign}"


def name_file(text: str, source: str, field: str) -> None:
    if not text.isprintable() or re.search(r"[/\\]|^\.|^$", text) or len(text.encode()) > 200:
        raise InputError(source, field, f"{shorten(text)} is no name for a file (no / and \\, up to 200 bytes)")


def _some(groups: Iterable[str]) -> str:
    return ", ".join(list(groups)[:50])


def _plots(
    source: str, tables: Sequence[PlotTable], family: Family, cases: Sequence[suites.Case], small: Sequence[suites.Case]
) -> Iterator[suites.Plot]:
    """The figures; one that would show nothing is refused."""
    studies = family.study_kinds
    shows = [name for name in suites.STUDIED if studies is None or name in studies]
    measures = () if family.measures is None else family.measure_names
    kinds = [*suites.QUANTITIES, suites.LEADERBOARD, suites.SWEEP, *shows, *(measures or ())]
    full = tuple(dict.fromkeys(case.group for case in cases))
    groups = dict.fromkeys([*full, *(case.group for case in small)])
    studied = {study.kind for case in (*cases, *small) for study in case.studies}
    with name_source(source):
        require_different("plot[].name", [table.name for table in tables])
    for j, table in enumerate(tables):
        field = f"plot[{j}]"
        if table.name in suites.TAKEN:
            problem = f"{shorten(table.name)} is the name of another file of a report"
            raise InputError(source, f"{field}.name", problem)
        if table.kind not in kinds and measures is not None:
            raise InputError(source, f"{field}.kind", explain_unknown_name(table.kind, kinds))
        if table.kind in {*suites.STUDIED} - studied:
            problem = f"{shorten(table.kind)} shows studies, and no instance has a [[instance.study]] of this kind"
            raise InputError(source, f"{field}.kind", problem)
        printed = [*(gain.group for gain in table.printed), *(mean.group for mean in table.printed_means)]
        for group in (*table.groups, *printed):
            if group not in groups:
                problem = f"{shorten(group)} is not one of {_some(groups)}{suggest_name(group, groups)}"
                raise InputError(source, f"{field}.groups", problem)
        hindsight = tuple((best.label, best.algorithms) for best in table.hindsight)
        changes = {"title": table.title or table.name, "groups": table.groups or full, "hindsight": hindsight}
        yield suites.Plot(**(msgspec.structs.asdict(table) | changes))
