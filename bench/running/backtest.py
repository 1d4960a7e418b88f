"""A backtest as a suite: every day is a case, and what is known of a day are the days before it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.family.column import Family
from bench.family.known import find_suite, read_instance
from bench.family.suite import HISTORY, TIMELINE, Case, SolveSettings, Study, Suite
from instances.errors import InputError, shown
from instances.files import load_json, read_bytes

ALL = "all"
GROUP = "days"
_SUFFIXES = (".json.gz", ".json")
_REPORT = "import.json"
"""What `import` writes beside the instances."""


@dataclass(frozen=True, slots=True)
class Day:
    """A day: its name, and what makes its instance (`bench.running.work.read_given`)."""

    name: str
    recipe: Mapping[str, Any]


def find_days(source: Path) -> tuple[Family, list[Day]]:
    """The days of a folder, in the order of their names, numbers by their size; or of a file of recipes, in its order.

    Every instance of a folder is read.

    Raises
    ------
    InputError : neither, a file that is no instance or of another family than the first, the same name twice.
    """
    if source.suffix == ".toml":
        owner, suite = find_suite(str(source))
        return owner, [Day(case.name, case.recipe) for case in suite.cases]
    if not source.is_dir():
        raise InputError(
            str(source), "", "is no folder and no .toml; `import LOG --out DIR` makes a folder with a file per day"
        )
    files = [path for path in source.iterdir() if path.name.endswith(_SUFFIXES) and path.name != _REPORT]
    family: Family | None = None
    days: dict[str, Day] = {}
    for path in sorted(files, key=lambda path: _natural(_name(path))):
        data, where = read_bytes(path)
        found, _ = read_instance(load_json(data, where), where)
        family = family or found
        if found is not family:
            raise InputError(where, "format", f"an instance of {found.name}; the first day is one of {family.name}")
        if _name(path) in days:
            raise InputError(where, "", f"the day {shown(_name(path))} is there twice, as .json and as .json.gz")
        days[_name(path)] = Day(_name(path), {"kind": "file", "path": str(path)})
    if family is None:
        raise InputError(str(source), "", "there is no instance file (.json or .json.gz) in this folder")
    return family, list(days.values())


def _name(path: Path) -> str:
    return next(path.name.removesuffix(suffix) for suffix in _SUFFIXES if path.name.endswith(suffix))


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


def split_names(text: str) -> list[str]:
    """The algorithms in ``a,b:key=value,key=value,...``: what has an equals sign goes on with the options before it."""
    names: list[str] = []
    for part in filter(None, text.split(",")):
        if names and "=" in part.partition(":")[0]:
            names[-1] += f",{part}"
        else:
            names.append(part)
    return names


def make_backtest(
    family: Family, days: Sequence[Day], algorithms: Sequence[str], history: int, source: str = "DIR"
) -> Suite:
    """The suite of a backtest: the first `history` days are history alone, every other one is a case.

    An algorithm that needs constants takes them from the `history` days before the day that it is judged on.

    Raises
    ------
    InputError : too few days, days that cannot be joined, an algorithm that cannot be used.
    """
    if len(days) <= history:
        count = f"{len(days)} day{'s' * (len(days) != 1)}"
        problem = f"{count} in {source}: with --history {history} at least {history + 1} are needed"
        raise InputError("--history", "", problem)
    chosen = [
        name for each in algorithms for name in ([a.name for a in family.algorithms()] if each == ALL else [each])
    ]
    if not chosen:
        raise InputError("--algorithms", "", "none is named")
    for name in chosen:
        given = re.search(r"\bprior=[^,]*", name)
        if given and given[0] != HISTORY:  # a file may be of a day that is judged
            problem = f"{shown(name)}: leave `{given[0]}` out; constants come from the days before by themselves"
            raise InputError("--algorithms", "", problem)
    names = tuple(dict.fromkeys(family.informed(name, HISTORY) for name in chosen))
    if history > 1:
        family.join([family.make(day.recipe) for day in days[:history]])
    studies = tuple(Study(TIMELINE, name) for name in names) if family.timeline is not None else ()
    cases = [
        Case(day.name, day.recipe, names, SolveSettings(), GROUP, _before(days[place - history : place]), studies)
        for place, day in enumerate(days)
        if place >= history
    ]
    return Suite(
        f"backtest of {source}",
        f"{len(cases)} days one by one, each with what was known from the {history} day{'s' * (history > 1)} before it",
        tuple(cases),
        history=history,
        command=("backtest", source, "--algorithms", ",".join(algorithms), "--history", str(history)),
    )


def _before(days: Sequence[Day]) -> Mapping[str, Any]:
    return days[0].recipe if len(days) == 1 else {"kind": "joined", "recipes": [day.recipe for day in days]}
