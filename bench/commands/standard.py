"""The commands `standard ...`: published instances with certificates of OPT."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

from ratiobench.bench import arguments as arg
from ratiobench.bench.arguments import Outcome, Steps, command
from ratiobench.bench.commands.shared import amount_of, interval_text
from ratiobench.bench.family.registry import families
from ratiobench.bench.family.standard import MAIN, Entry, StandardSet, read_set
from ratiobench.bench.family.suite import SolveSettings
from ratiobench.bench.report import standard as tables
from ratiobench.bench.running.heartbeat import set_current
from ratiobench.bench.show import align_columns
from ratiobench.bench.storage.payload import json_number
from ratiobench.instances.io.errors import InputError, make_printable, require_known

WEEKS = "weeks"  # The tier of which no runs are stored
Set = Annotated[str, arg.Option(arg.Anything("text"), "NAME", "name of the set, or its manifest FILE.json")]
Tiers = Annotated[Any, arg.Option(arg.Text(), "TIER", "only entries of these tiers", several=True)]
Families = Annotated[Any, arg.Option(arg.Text(), "NAME", "only entries of these families", several=True)]
Entries = Annotated[Any, arg.Option(arg.Text(), "NAME", "only entries with these names (* ? [...])", several=True)]


def read_known(name: str) -> StandardSet:
    """The set, all of whose families exist."""
    chosen = read_set(name)
    for entry in chosen.entries:
        require_known(entry.family, families(), str(chosen.path), f"{entry.name}.family")
    return chosen


def choose(
    set: str, tier: Sequence[str], family: Sequence[str], names: Sequence[str]
) -> tuple[StandardSet, list[Entry]]:
    """The set, and those of its entries that are chosen."""
    chosen = read_known(set)
    entries = list(chosen.entries)
    for key, words in (("tier", tier), ("family", family)):
        for word in words:
            require_known(word, dict.fromkeys(getattr(each, key) for each in chosen.entries), f"--{key}")
        entries = [each for each in entries if not words or getattr(each, key) in words]
    for pattern in names:
        if not any(fnmatchcase(each.name, pattern) for each in chosen.entries):
            chosen.find(pattern)
    entries = [each for each in entries if not names or any(fnmatchcase(each.name, pattern) for pattern in names)]
    if not entries:
        raise InputError("NAME", "", f"no entry of {chosen.name} is all of that")
    return chosen, entries


@command()
def list_entries(
    names: Entries = (), *, set: Set = MAIN, tier: Tiers = (), family: Families = ()
) -> Steps[list[Entry]]:
    """List the entries, with the intervals on OPT."""
    chosen, entries = choose(set, tier, family, names)
    rows = []
    for each in entries:
        best = None if each.best is None else {"lower": each.best.lower, "upper": each.best.upper}
        about = {"name": each.name, "tier": each.tier, "family": each.family, "instance": each.instance}
        rows.append(about | {"size": each.size, "recipe": each.recipe, "best": best})
    about = {"set": chosen.name, "released": chosen.released, "sha256": chosen.digest}
    yield Outcome(lambda: entries, lambda: about | {"entries": rows})
    yield align_columns(tables.entry_lines(entries)).rstrip()


@command("checking")
def verify(
    names: Entries = (), *, set: Set = MAIN, tier: Tiers = (), family: Families = (), workers: arg.Workers = None
) -> Steps[Mapping[str, str]]:
    """Check every certificate with the independent checker."""
    from ratiobench.bench.running.standard import check_set

    chosen, entries = choose(set, tier, family, names)
    began, problems = time.monotonic(), {}  # of each certificate what is wrong with it; empty for nothing
    for number, (name, problem) in enumerate(check_set(chosen, entries, workers), 1):
        problems[name] = make_printable(problem, 400) if problem else ""
        if problem:
            yield f"{name}: NOT VALID: {problems[name]}"
        set_current(f"checking, {number} of {len(entries)} done", again=True)
    rows = [{"name": name, "valid": not text, "problem": text or None} for name, text in problems.items()]
    document = {"set": chosen.name, "valid": not any(problems.values()), "certificates": rows}
    yield Outcome(lambda: problems, lambda: document, lambda: int(any(problems.values())))
    valid = sum(not problem for problem in problems.values())
    yield f"{chosen.name}: {valid} of {len(problems)} certificates valid, {time.monotonic() - began:.0f} s"


@command("reading", keeps=lambda values: True)
def improve(
    names: Entries = (),
    *,
    set: Set = MAIN,
    tier: Tiers = (),
    family: Families = (),
    effort: arg.Count = None,
    seconds: arg.Seconds = None,
    gap: arg.Gap = 0.0,
) -> Steps[list[dict[str, Any]]]:
    """Improve intervals, from the best known solutions.

    Parameters
    ----------
    effort : units of work for each entry.
    seconds : time limit of each entry in seconds, in place of units of work.
    """
    from ratiobench.bench.running.standard import improve as improve_entry

    chosen, entries = choose(set, tier, family, names)
    settings = SolveSettings(effort=amount_of(effort, seconds), gap=gap, seconds=seconds)
    rows: list[dict[str, Any]] = []
    for entry in entries:
        chosen, before, after = improve_entry(chosen, entry, settings)
        moved, unit = before != after, families()[entry.family].unit
        ends = {
            name: None if each is None else {"lower": json_number(each[0]), "upper": json_number(each[1])}
            for name, each in (("before", before), ("after", after))
        }
        rows.append({"name": entry.name, "improved": moved} | ends)
        yield f"{entry.name}: {'better' if moved else 'no better interval was found'}"
        if before is not None and moved:
            yield interval_text(*before, unit, " was")
        yield interval_text(*after, unit)
    yield Outcome(lambda: rows, lambda: rows)


@command("reading", keeps=lambda values: True)
def store_runs(
    names: Entries = (),
    *,
    set: Set = MAIN,
    tier: Tiers = (),
    family: Families = (),
    out: Annotated[Path | None, arg.Option(arg.File(), "DIR")] = None,
    workers: arg.Workers = None,
) -> Steps[dict[str, int]]:
    """Run all shipped algorithms, and store their runs with the set.

    Parameters
    ----------
    out : folder in which an interrupted command goes on; by default results/runs-SET.
    """
    from ratiobench.bench.running.standard import store_runs as store

    chosen, entries = choose(set, tier, family, names)
    short = [entry for entry in entries if entry.tier != WEEKS]
    if not short:
        raise InputError("NAME", "", "runs on weeks are not stored: a week takes each algorithm minutes")
    counts = store(chosen, short, out or Path("results") / f"runs-{chosen.name}", workers)
    yield Outcome(lambda: counts, lambda: counts)
    yield from (f"{name}: {count} runs stored" for name, count in counts.items())


@command(json=False)
def table(*, set: Set = MAIN, write: Annotated[Path | None, arg.Option(arg.File(), "FILE")] = None) -> Steps[str]:
    """Print the set's table as Markdown.

    Parameters
    ----------
    write : write the table between its marks in this file, and its figures beside the file.
    """
    chosen = read_known(set)
    text = tables.describe_set(chosen, families()) if write is None else ""
    yield Outcome(lambda: text)
    if write is None:
        yield text.removesuffix("\n")
        return
    tables.write_table(chosen, families(), write)
    for picture in tables.draw_growth(chosen, families()):
        picture.save(write.parent / f"{picture.name}.svg")


@command("making instances", keeps=lambda values: True)
def fetch(
    names: Entries = (),
    *,
    set: Set = MAIN,
    tier: Tiers = (),
    family: Families = (),
    out: Annotated[Path, arg.Option(arg.File(), "DIR")],
) -> Steps[list[str]]:
    """Write the instances as files.

    Parameters
    ----------
    out : folder to write; it is created.
    """
    from ratiobench.bench.running.standard import fetch as fetch_entries

    chosen, entries = choose(set, tier, family, names)
    files = list(map(str, fetch_entries(chosen, entries, out)))
    yield Outcome(lambda: files, lambda: files)
    yield from files
