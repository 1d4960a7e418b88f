"""Grids: one table of a suite's file as the recipes of its instances.

A list of values makes as many instances, `runs` repeats them, and texts may have ``{run}``, the number of the run.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from ratiobench.bench.family.contract import FILE, Family
from ratiobench.instances.io.errors import MEANT, InputError, join_path, shorten, suggest_name
from ratiobench.instances.io.files import load_json, read_bytes
from ratiobench.instances.io.keys import Form, Text, flatten, text_of

CASES = 10_000  # Most cases of a file
RUNS = 1000  # Most runs of an instance
NAME = 100  # Most bytes of a name that is made of a grid
Runs = Annotated[int, Meta(ge=1, le=RUNS)] | Annotated[tuple[dict[str, Any], ...], Meta(min_length=1, max_length=RUNS)]
_PLACEHOLDER = re.compile(r"\{([\w.]+)\}")


class Variant(NamedTuple):
    """One place of a grid."""

    values: Mapping[str, Any]  # of the recipe, by the names of its keys
    prior: Mapping[str, Any] | None  # what is different in the recipe of the prior; None without a prior
    varied: Sequence[str]  # the keys in which places differ
    run: int | None  # its number; None where nothing is repeated

    def words(self) -> dict[str, str]:
        """What the placeholders of a name stand for."""
        words = {key: format_value(value) for key, value in self.values.items()}
        return words if self.run is None else words | {"run": str(self.run)}


class Grid:
    """The table of one entry of a file, for a kind of recipe.

    `source`, `field`: the file, and where the table stands in it, for messages; `others`: names of keys that may stand
    beside those of the recipe.
    """

    def __init__(
        self, source: str, field: str, folder: Path, family: Family, form: Form, others: Sequence[str] = ()
    ) -> None:
        self.source, self.field, self.folder, self.family, self.form = source, field, folder, family, form
        self.others = others

    def variants(
        self, table: Mapping[str, Any], repeated: Runs | None, day: Mapping[str, Any] | None
    ) -> Iterator[Variant]:
        """Every place of the grid: the last key of the table varies first, but for the runs.

        `repeated`: how many runs, or what is different in each; `day`: what is different in the prior.
        """
        grid = {name: self._choices(name, value, self.field) for name, value in self._flat(table, self.field)}
        runs = list(self._runs(repeated, join_path(self.field, "runs")))
        before = dict(self._singles(day or {}, join_path(self.field, "prior")))
        number = prod(map(len, grid.values())) * len(runs)
        if number > CASES:
            raise InputError(self.source, self.field, f"the grid has {number} places; {CASES} are allowed")
        varied = [name for name, choices in grid.items() if len(choices) > 1]
        for place in product(*grid.values()):
            for run, (changes, changed) in enumerate(runs):
                for name in changes:
                    if name in varied:
                        where = join_path(self.field, f"runs[{run}]", name)
                        raise InputError(self.source, where, "a list makes a grid of it already; not both")
                values = dict(zip(grid, place, strict=True)) | changes
                if isinstance(repeated, int):
                    self._tell_apart(values)
                counted = None if repeated is None else run
                prior = None
                if day is not None or changed:
                    prior = self._numbered(self._another_day(values, before | changed), counted)
                yield Variant(self._numbered(values, counted), prior, varied, counted)

    def _tell_apart(self, values: dict[str, Any]) -> None:
        """Runs that differ in nothing get the number of the run into their seed."""
        if any(map(_mentions_run, values.values())):
            return
        if not self._seeded:
            raise InputError(
                self.source, join_path(self.field, "runs"), "no value has {run} in it: all runs are the same"
            )
        values["seed"] = _longer(values, "run {run}")

    def _another_day(self, values: Mapping[str, Any], prior: dict[str, Any]) -> dict[str, Any]:
        """What is different in a prior: at least the seed, or it would have the tasks of the day itself."""
        return {"seed": _longer(values, "yesterday"), **prior} if self._seeded else prior

    @property
    def _seeded(self) -> bool:
        return any(key.name == "seed" for key in self.form.keys)

    def _numbered(self, values: Mapping[str, Any], run: int | None) -> dict[str, Any]:
        words = {} if run is None else {"run": str(run)}
        return {name: self._fill(value, words, join_path(self.field, name)) for name, value in values.items()}

    def _fill(self, value: Any, words: Mapping[str, str], field: str) -> Any:
        if isinstance(value, list):
            return [self._fill(each, words, field) for each in value]
        return fill(value, words, self.source, field) if isinstance(value, str) else value

    def _flat(self, table: Any, field: str) -> Iterator[tuple[str, Any]]:
        """The table by the names of keys; of an unknown key also what is near of those that stand beside."""
        try:
            yield from flatten(self.form.keys, table, self.source, field)
        except InputError as error:
            near = suggest_name(error.field.rpartition(".")[2], self.others)
            if "unknown key" not in error.problem or MEANT in error.problem or not near:
                raise
            raise InputError(self.source, error.field, error.problem + near) from None

    def _choices(self, name: str, value: Any, field: str) -> list[Any]:
        """The values of a key in the grid: a list is several, unless it is one value by itself."""
        kind = next(key.kind for key in self.form.keys if key.name == name)
        found = [value]
        if isinstance(value, list) and not (kind.lists and all(type(each) is int for each in value)):
            found = value
        if not found:
            raise InputError(self.source, join_path(field, name), "an empty list; at least one value is needed")
        if isinstance(kind, Text) and kind.path:
            return [file for each in found for file in self._files(each, join_path(field, name))]
        return found

    def _files(self, value: Any, field: str) -> list[str]:
        """The files that a path, a pattern or a folder stands for; instances are read to see that they are some."""
        given = self.folder / Text(path=True).checked(self.source, field, value)
        if self.form is not FILE:
            return [str(given)]
        if os.path.isdir(given):
            paths = sorted(given.glob("*.json.gz")) or sorted(given.glob("*.json"))
        elif glob.has_magic(str(value)) and not os.path.exists(given):
            paths = sorted(map(Path, glob.glob(str(given))))
        else:
            paths = [given]
        if not paths or "\0" in str(given):
            raise InputError(self.source, field, f"{shorten(value)}: there is no such file")
        for path in paths:
            data, source = read_bytes(path)
            document = load_json(data, source)
            form = document.get("format") if isinstance(document, Mapping) else None
            if form not in self.family.formats:
                known = " or ".join(map(repr, self.family.formats))
                raise InputError(source, "format", f"{shorten(form)} is not {known}")
            self.family.parse(document, source)
        return [str(path) for path in paths]

    def _runs(self, runs: Runs | None, field: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """What changes from run to run, of the recipe and of its prior."""
        if runs is None or isinstance(runs, int):
            yield from [({}, {})] * (runs or 1)
            return
        for j, table in enumerate(runs):
            own = {name: value for name, value in table.items() if name != "prior"}
            prior = self._singles(table.get("prior", {}), f"{field}[{j}].prior")
            yield dict(self._singles(own, f"{field}[{j}]")), dict(prior)

    def _singles(self, table: Any, field: str) -> Iterator[tuple[str, Any]]:
        for name, value in self._flat(table, field):
            choices = self._choices(name, value, field)
            if len(choices) > 1:
                problem = f"{shorten(value)}: one value is needed here, not a grid"
                raise InputError(self.source, join_path(field, name), problem)
            yield name, choices[0]


def _longer(values: Mapping[str, Any], name: str) -> list[Any]:
    seed = values.get("seed", 0)
    return [*(seed if isinstance(seed, list) else [seed]), name]


def _mentions_run(value: Any) -> bool:
    return any(map(_mentions_run, value)) if isinstance(value, list) else isinstance(value, str) and "{run}" in value


def format_value(value: Any) -> str:
    """A value in a name."""
    return "-".join(map(format_value, value)) if isinstance(value, list) else text_of(value)


def fill(text: str, words: Mapping[str, str], source: str, field: str) -> str:
    """The text with these words in the place of ``{NAME}``; InputError for a name that is none of them."""
    for name in _PLACEHOLDER.findall(text):
        if name not in words:
            known = ", ".join(f"{{{each}}}" for each in words) or "none here"
            raise InputError(source, field, f"{shorten(f'{{{name}}}')} stands for nothing; known: {known}")
    return _PLACEHOLDER.sub(lambda match: words[match.group(1)], text)


def shorten_name(name: str, most: int = NAME) -> str:
    """The name in at most so many bytes: of a longer one the beginning, and a sign of the whole."""
    whole = name.encode(errors="surrogatepass")
    if len(whole) <= most:
        return name
    sign = hashlib.sha256(whole).hexdigest()[:10]
    return whole[: most - len(sign) - 1].decode(errors="ignore").rstrip(" ,") + f"~{sign}"


def name_file(text: str, source: str, field: str) -> str:
    """The text, if a file can have it as its name."""
    if not text.isprintable() or re.search(r"[/\\]|^\.|^$", text) or len(text.encode()) > 200:
        raise InputError(source, field, f"{shorten(text)} is no name for a file (no / and \\, up to 200 bytes)")
    return text
