"""The command `standard`: published instances with certificates of OPT."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ratiobench.bench.commands.command import Command, Group, Listed
from ratiobench.bench.commands.shared import amount_of
from ratiobench.bench.commands.texts import interval_text
from ratiobench.bench.family.registry import families
from ratiobench.bench.family.standard import MAIN, Entry, StandardSet, read_set
from ratiobench.bench.family.suite import SolveSettings
from ratiobench.bench.options import EFFORT, GAP, SECONDS, File, Options, Text, argument, option, required
from ratiobench.bench.report import standard as tables
from ratiobench.bench.running.heartbeat import set_current
from ratiobench.bench.storage.payload import json_number
from ratiobench.instances.io.errors import InputError, explain_unknown_name, make_printable, shorten

WEEKS = "weeks"  # The tier of which no runs are stored


@dataclass(frozen=True, kw_only=True)
class PartOfSet(Options):
    """Which entries of which set."""

    set: str = option("name of the set, or its manifest FILE.json", Text(), "NAME", default=MAIN)
    tier: tuple[str, ...] = option("only entries of these tiers", Text(), "TIER", several=True)
    family: tuple[str, ...] = option("only entries of these families", Text(), "NAME", several=True)
    names: tuple[str, ...] = argument("only entries with these names (* ? [...])", Text(), "NAME", several=True)

    def read(self) -> StandardSet:
        """The set, all of whose families exist."""
        chosen = read_set(self.set)
        for entry in chosen.entries:
            if entry.family not in families():
                raise InputError(
                    str(chosen.path), f"{entry.name}.family", explain_unknown_name(entry.family, families())
                )
        return chosen

    def find(self) -> tuple[StandardSet, list[Entry]]:
        """The set, and those of its entries that are chosen."""
        chosen = self.read()
        for name, given in (("tier", self.tier), ("family", self.family)):
            for word in given:
                if word not in (known := dict.fromkeys(getattr(each, name) for each in chosen.entries)):
                    raise InputError(f"--{name}", "", f"{shorten(word)} is not one of {', '.join(known)}")
        entries = [
            each
            for each in chosen.entries
            if (not self.tier or each.tier in self.tier)
            and (not self.family or each.family in self.family)
            and (not self.names or any(fnmatchcase(each.name, pattern) for pattern in self.names))
        ]
        for pattern in self.names:
            if not any(fnmatchcase(each.name, pattern) for each in chosen.entries):
                chosen.find(pattern)
        if not entries:
            raise InputError("NAME", "", f"no entry of {chosen.name} is all of that")
        return chosen, entries


@dataclass(frozen=True, kw_only=True)
class Verify(PartOfSet):
    """Options of `standard verify`."""

    workers: int | None = option("number of processes", EFFORT, "N", told="one per core")


@dataclass(frozen=True, kw_only=True)
class Improve(PartOfSet):
    """Options of `standard improve`."""

    effort: int | None = option("units of work for each entry", EFFORT, "N")
    seconds: float | None = option("time limit of each entry in seconds, in place of units of work", SECONDS, "S")
    gap: float = option("relative gap at which to stop", GAP, "G", default=0.0)


@dataclass(frozen=True, kw_only=True)
class Runs(PartOfSet):
    """Options of `standard runs`."""

    out: Path | None = option("folder in which an interrupted command goes on", File(), "DIR", told="results/runs-SET")
    workers: int | None = option("number of processes", EFFORT, "N", told="one per core")


@dataclass(frozen=True, kw_only=True)
class Table(PartOfSet):
    """Options of `standard table`."""

    write: Path | None = option(
        "write the table between its marks in this file, and its figures beside the file", File(), "FILE"
    )


@dataclass(frozen=True, kw_only=True)
class Fetch(PartOfSet):
    """Options of `standard fetch`."""

    out: Path = required("folder to write; it is created", File(), "DIR")


def _list_text(options: PartOfSet, found: tuple[StandardSet, list[Entry]]) -> Iterator[str]:
    yield tables.terminal_text(found[1])


def _list_document(options: PartOfSet, found: tuple[StandardSet, list[Entry]]) -> dict[str, Any]:
    chosen, entries = found
    rows = []
    for each in entries:
        best = None if each.best is None else {"lower": each.best.lower, "upper": each.best.upper}
        about = {"name": each.name, "tier": each.tier, "family": each.family, "instance": each.instance}
        rows.append(about | {"size": each.size, "recipe": each.recipe, "best": best})
    return {"set": chosen.name, "released": chosen.released, "sha256": chosen.digest, "entries": rows}


@dataclass(frozen=True, slots=True)
class _Verified:
    """The certificates of a set by name, each with what is wrong with it; empty for nothing."""

    name: str
    problems: Mapping[str, str]
    seconds: float

    @property
    def wrong(self) -> int:
        return sum(map(bool, self.problems.values()))


def _verify(options: Verify) -> _Verified:
    """Check every certificate, printing those that are not valid as they are found."""
    from ratiobench.bench.running.standard import check_set

    chosen, entries = options.find()
    began = time.monotonic()
    problems: dict[str, str] = {}
    for number, found in enumerate(check_set(chosen, entries, options.workers), 1):
        problems[found.name] = make_printable(found.problem, 400) if found.problem else ""
        if found.problem and not options.json:
            print(f"{found.name}: NOT VALID: {problems[found.name]}", flush=True)
        set_current(f"checking, {number} of {len(entries)} done", again=True)
    return _Verified(chosen.name, problems, time.monotonic() - began)


def _verify_text(options: Verify, found: _Verified) -> Iterator[str]:
    count = len(found.problems)
    yield f"{found.name}: {count - found.wrong} of {count} certificates valid, {found.seconds:.0f} s"


def _verify_document(options: Verify, found: _Verified) -> dict[str, Any]:
    rows = [{"name": name, "valid": not text, "problem": text or None} for name, text in found.problems.items()]
    return {"set": found.name, "valid": not found.wrong, "certificates": rows}


def _improve(options: Improve) -> list[dict[str, Any]]:
    """Search on for every entry, printing what came of it; the same as JSON values."""
    from ratiobench.bench.running.standard import improve

    chosen, entries = options.find()
    effort = amount_of(options.effort, options.seconds)
    settings = SolveSettings(effort=effort, gap=options.gap, seconds=options.seconds)
    rows: list[dict[str, Any]] = []
    for entry in entries:
        found = improve(chosen, entry, settings, set_current)
        chosen = found.chosen
        before, after = (
            None if each is None else {"lower": json_number(each[0]), "upper": json_number(each[1])}
            for each in (found.before, found.after)
        )
        rows.append({"name": entry.name, "improved": found.moved, "before": before, "after": after})
        if options.json:
            continue
        print(f"{entry.name}: {'better' if found.moved else 'no better interval was found'}")
        if found.before is not None and found.moved:
            print(interval_text(*found.before, families()[entry.family].unit, " was"))
        print(interval_text(*found.after, families()[entry.family].unit))
        sys.stdout.flush()
    return rows


def _rows_document(options: Any, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return found


def _runs(options: Runs) -> Mapping[str, int]:
    """Run the shipped algorithms on the entries and store what they are worth."""
    from ratiobench.bench.running.standard import store_runs

    chosen, entries = options.find()
    short = [entry for entry in entries if entry.tier != WEEKS]
    if not short:
        raise InputError("NAME", "", "runs on weeks are not stored: a week takes each algorithm minutes")
    return store_runs(
        chosen, short, options.out or Path("results") / f"runs-{chosen.name}", options.workers, set_current
    )


def _runs_text(options: Runs, found: Mapping[str, int]) -> Iterator[str]:
    yield from (f"{name}: {count} runs stored" for name, count in found.items())


def _table(options: Table) -> str:
    """The table as Markdown; empty where it is written into the file, with its figures beside it."""
    chosen = options.read()
    if options.write is None:
        return tables.describe_set(chosen, families())
    from ratiobench.bench.report.standard import draw_growth

    tables.write_table(chosen, families(), options.write)
    for picture in draw_growth(chosen, families()):
        picture.save(options.write.parent / f"{picture.name}.svg")
    return ""


def _table_text(options: Table, found: str) -> Iterator[str]:
    if found:
        yield found.removesuffix("\n")


def _fetch(options: Fetch) -> list[str]:
    """Make the files, printing their names as they are written."""
    from ratiobench.bench.running.standard import fetch

    chosen, entries = options.find()
    files = []
    for path in fetch(chosen, entries, options.out, set_current):
        files.append(str(path))
        if not options.json:
            print(path)
    return files


def _fetch_document(options: Fetch, found: list[str]) -> list[str]:
    return found


LIST = Command(PartOfSet, PartOfSet.find, text=_list_text, document=_list_document)
VERIFY = Command(
    Verify,
    _verify,
    text=_verify_text,
    document=_verify_document,
    status=lambda found: int(found.wrong > 0),
    busy="checking",
)
IMPROVE = Command(Improve, _improve, document=_rows_document, busy="reading")
RUNS = Command(Runs, _runs, text=_runs_text, document=lambda options, found: dict(found), busy="reading", keeps=True)
TABLE = Command(Table, _table, text=_table_text)
FETCH = Command(Fetch, _fetch, document=_fetch_document, busy="making instances")
STANDARD = Group(
    (
        Listed("list", "list the entries, with the intervals on OPT", lambda: LIST),
        Listed("verify", "check every certificate with the independent checker", lambda: VERIFY),
        Listed("improve", "improve intervals, from the best known solutions", lambda: IMPROVE),
        Listed("runs", "run all shipped algorithms, and store their runs with the set", lambda: RUNS),
        Listed("table", "print the set's table as Markdown", lambda: TABLE),
        Listed("fetch", "write the instances as files", lambda: FETCH),
    )
)
