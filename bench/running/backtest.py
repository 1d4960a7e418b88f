"""A backtest as a suite: every day is a case, and what is known of a day are the days before it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.day_facts import GROUP, DayFacts
from ratiobench.bench.family.grids import name_file
from ratiobench.bench.family.registry import family_of, find_suite, read_instance
from ratiobench.bench.family.suite import EARLIER, HISTORY, TIMELINE, Case, SolveSettings, Study, Suite, is_informed
from ratiobench.bench.report.backtest.criteria import WELFARE, require_criterion
from ratiobench.instances.io.errors import InputError, make_printable, shorten
from ratiobench.instances.io.files import (
    PRICE_LIST,
    bare_name,
    list_instances,
    load_json,
    make_folder,
    read_bytes,
    write_text,
)

ALL = "all"


@dataclass(frozen=True, slots=True)
class Day:
    """A day."""

    name: str  # of its file, or of its case
    recipe: Mapping[str, Any]  # what makes its instance (`ratiobench.bench.running.work.read_given`)
    began: str = ""  # when its time begins, ISO 8601; empty where that is not known
    # what days of one load have in common, in words by heading.
    setting: Mapping[str, str] = field(default_factory=dict)
    facts: DayFacts = field(default_factory=DayFacts)  # what a backtest must know of it beside its runs
    instance: Any = None  # where it is in memory alone, until `write_days` has written it

    def make(self, family: Family) -> Any:
        """Its instance."""
        return family.make(self.recipe) if self.instance is None else self.instance


def find_days(source: Path) -> tuple[Family, list[Day]]:
    """The days of a folder, in the order of their names, numbers by their size; or of a file of recipes, in its order.

    Every instance is read, or made.
    """
    if source.suffix == ".toml":
        owner, suite = find_suite(str(source))
        return owner, [_day(owner, case.name, case.recipe, owner.make(case.recipe)) for case in suite.cases]
    if not os.path.isdir(source):  # False as well for a name that is too long
        raise InputError(
            str(source), "", "is no folder and no .toml; `import LOG --out DIR` makes a folder with a file per day"
        )
    family: Family | None = None
    days: dict[str, Day] = {}
    for path in list_instances(source):
        data, where = read_bytes(path)
        found, instance = read_instance(load_json(data, where), where)
        family = family or found
        if found is not family:
            raise InputError(where, "format", f"an instance of {found.name}; the first day is one of {family.name}")
        if bare_name(path) in days:
            raise InputError(where, "", f"the day {shorten(bare_name(path))} is there twice, as .json and as .json.gz")
        days[bare_name(path)] = _day(found, bare_name(path), {"kind": "file", "path": str(path)}, instance)
    if family is None:
        raise InputError(str(source), "", "there is no instance file (.json or .json.gz) in this folder")
    return family, list(days.values())


def name_days(instances: Iterable[Any] | Mapping[str, Any], folder: Path) -> tuple[Family, list[Day]]:
    """Days in memory, in their order, with the files of a folder to which `write_days` writes them.

    Each has its key as its name, else that of the instance.
    """
    family: Family | None = None
    days: dict[str, Day] = {}
    given = instances.items() if isinstance(instances, Mapping) else ((_called(each), each) for each in instances)
    for called, instance in given:
        found = family_of(instance)
        family = family or found
        name = name_file(re.sub(r"[/\\]", "_", str(called)), "days", "name")
        if found is not family:
            raise InputError("days", name, f"an instance of {found.name}; the first one is of {family.name}")
        if name in days:
            raise InputError("days", name, "two instances are called so; names of days differ")
        recipe = {"kind": "file", "path": str(folder / f"{name}.json.gz")}
        days[name] = replace(_day(family, name, recipe, instance), instance=instance)
    if family is None:
        raise InputError("days", "", "there is none")
    return family, list(days.values())


def write_days(family: Family, days: Iterable[Day]) -> None:
    """Write the days that `name_days` has named to their files."""
    for day in days:
        path = Path(day.recipe["path"])
        make_folder(path.parent)
        write_text(path, family.dumps(day.instance))


def _called(instance: Any) -> str:
    return str(getattr(instance, "name", "") or "day")


def _day(family: Family, name: str, recipe: Mapping[str, Any], instance: Any) -> Day:
    began, setting = family.start_time(instance), family.load_setting(instance)
    return Day(name, recipe, began, setting, family.day_facts(instance))


def order_of(source: Path) -> str:
    """In which order `find_days` has the days, in words."""
    return "of the file" if source.suffix == ".toml" else "of their file names"


def list_doubts(days: Sequence[Day], order: str) -> list[str]:
    """Why these may be no days of one load, one after another: a sentence for each kind of reason."""
    lines = []
    late = [(a, b) for a, b in pairwise(days) if a.began and b.began and b.began <= a.began]
    if late:
        a, b = late[0]
        more = f", and so on for {len(late) - 1} more" if len(late) > 1 else ""
        lines.append(
            f"in the order {order} {shorten(b.name)} ({b.began[:10]}) does not begin after {shorten(a.name)} "
            f"({a.began[:10]}){more}: what is known of a day is then not from the days before it"
        )
    first = days[0]
    for heading, words in first.setting.items():
        other = [day for day in days if day.setting.get(heading) != words]
        if other:
            more = f", and {len(other) - 1} more have other ones" if len(other) > 1 else ""
            theirs = other[0].setting.get(heading, "none")
            lines.append(
                f"{shorten(other[0].name)} has other {heading} ({make_printable(theirs, 100)}) than "
                f"{shorten(first.name)} ({make_printable(words, 100)}){more}: a backtest is about days of one cluster"
            )
    return lines


def make_backtest(
    family: Family,
    days: Sequence[Day],
    algorithms: Sequence[str],
    history: int,
    source: str = "DIR",
    order: str = "in which they were given",
    by: str = WELFARE.name,
    what_if: Sequence[str] = (),
    add: Sequence[str] = (),
) -> Suite:
    """The suite of a backtest: the first `history` days are history alone, every other one is a case."""
    if len(days) <= history:
        count = f"{len(days)} day{'s' * (len(days) != 1)}"
        problem = f"{count} in {source}: with --history {history} at least {history + 1} are needed"
        raise InputError("--history", "", problem)
    require_criterion(by, family)
    chosen, refused = choose_policies(family, days, algorithms, source, add)
    first = days[0].make(family) if what_if else None
    changes = list(
        dict.fromkeys(
            each for text in ",".join(what_if).split(",") if text for each in family.list_changes(first, text)
        )
    )
    undated = _check_priors(family, days[history:], chosen, changes)
    words = {name: EARLIER if family.is_learner(name) else HISTORY for name in chosen}
    names = tuple(dict.fromkeys(family.with_prior(name, word) for name, word in words.items()))
    learning = any(is_informed(name) == "earlier" for name in names)
    if history > 1 or learning:
        family.join([day.make(family) for day in days[: max(history, 2)]])
    studies = tuple(Study(TIMELINE, name) for name in names) if family.timeline is not None else ()
    cases = [
        Case(
            f"{day.name} {change}".rstrip(),
            _changed(day.recipe, change),
            names,
            SolveSettings(),
            change or GROUP,
            studies=() if change else studies,
            prior=_changed(_before(days[:place] if learning else days[place - history : place]), change),
            history=_changed(_before(days[place - history : place]), change) if learning else None,
        )
        for change in ("", *changes)
        for place, day in enumerate(days)
        if place >= history
    ]
    refusals = tuple(_tell_refused(refused))
    known = f"each with constants from the {history} day{'s' * (history > 1)} before it"
    if learning:
        known += " (learning algorithms: from all days before it)"
    doubts = (*list_doubts(days, order), *undated)
    lists = {"--algorithms": algorithms, "--add": add}
    named = [word for option, each in lists.items() if each for word in (option, ",".join(each))]
    return Suite(
        f"backtest of {source}",
        ". But ".join([f"{len(days) - history} days one by one, in the order {order}, {known}", *doubts]),
        tuple(cases),
        notes=(f"{len(days)} days in the order {order}: {days[0].name} to {days[-1].name}", *doubts, *refusals),
        history=history,
        audited=False,
        # A change may make the tasks of other kinds.
        kinds=() if changes else tuple(dict.fromkeys(day.facts.kind for day in days)),
        backtest={"by": by, "changes": changes, "facts": {day.name: day.facts.document() for day in days[history:]}},
        command=(
            "backtest",
            source,
            *named,
            *("--history", str(history)),
            *(("--by", by) if by != WELFARE.name else ()),
            *(("--what-if", ",".join(what_if)) if what_if else ()),
        ),
    )


def _changed(recipe: Mapping[str, Any], change: str) -> Mapping[str, Any]:
    return {"kind": "changed", "change": change, "recipe": recipe} if change else recipe


def _check_priors(family: Family, judged: Sequence[Day], names: Sequence[str], changes: Sequence[str]) -> list[str]:
    """Check the priors that names give themselves, before anything is computed."""
    undated: dict[str, str] = {}
    given = {name: option for name in names if (option := family.prior_option(name))}
    for name, option in given.items():
        if is_informed(name) == "yesterday" or (changes and not is_informed(name)):
            more = ", and are changed as the judged days are (--what-if)" * bool(changes)
            problem = f"{shorten(name)}: leave `{option}` out; constants come from the days before by themselves{more}"
            raise InputError("--algorithms", "", problem)
    named = [name for name in given if not is_informed(name)]
    for day in judged if named else ():
        instance = day.make(family)
        for name in named:
            if file := family.require_past(name, instance):
                undated.setdefault(name, file)
    return [
        f"no date shows that {shorten(file)}, which {shorten(name)} uses, is from before the judged days: "
        "its results may rest on information of these days"
        for name, file in undated.items()
    ]


def choose_policies(
    family: Family, days: Sequence[Day], algorithms: Sequence[str], source: str, add: Sequence[str] = ()
) -> tuple[list[str], list[tuple[str, str]]]:
    """The algorithms that can serve every day, and (name, reason) of the others.

    `algorithms`: names, or `ALL` for all of the family; empty: the family's own choice for arrivals of these kinds.
    """
    kinds = list(dict.fromkeys(day.facts.kind for day in days))
    prices = Path(source) / PRICE_LIST
    # At bids that are the list price nobody pays that price: it is for whole slots, and for the plan.
    has_prices = os.path.isfile(prices) and not any(day.facts.listed_bids for day in days)
    names = list(algorithms or family.default_policies(kinds, str(prices) if has_prices else ""))
    names += add
    names = [name for each in names for name in ([a.name for a in family.algorithms()] if each == ALL else [each])]
    if not names:
        raise InputError("--algorithms", "", "none is named")
    chosen, refused = [], []
    for name in dict.fromkeys(names):
        why = next(filter(None, (family.refusal(name, kind) for kind in kinds)), "")
        if why:
            refused.append((name, why))
        else:
            chosen.append(name)
    if not chosen:
        raise InputError("--algorithms", "", f"none can serve these days: {'; '.join(_tell_refused(refused))}")
    return chosen, refused


def _tell_refused(refused: Sequence[tuple[str, str]]) -> list[str]:
    """A line for each reason, with the names of those that are left out by it."""
    lines = []
    for why, each in groupby(sorted(refused, key=lambda pair: pair[1]), key=lambda pair: pair[1]):
        lines.append(f"left out: {', '.join(name for name, _ in each)} ({why})")
    return lines


def _before(days: Sequence[Day]) -> Mapping[str, Any]:
    return days[0].recipe if len(days) == 1 else {"kind": "joined", "recipes": [day.recipe for day in days]}
