"""The command `standard`: published instances with certificates of OPT."""

from __future__ import annotations

import argparse
import sys
import time
from fnmatch import fnmatchcase
from pathlib import Path

from ratiobench.bench.cli.arguments import Command, gap, positive, seconds
from ratiobench.bench.cli.parser import complete_by
from ratiobench.bench.cli.printing import print_interval, print_json
from ratiobench.bench.family.registry import families
from ratiobench.bench.family.standard import NEWEST, Entry, StandardSet, read_set
from ratiobench.bench.family.suite import SolveSettings
from ratiobench.bench.running.heartbeat import now_at
from ratiobench.bench.tables import standard as tables
from ratiobench.formulations.report import UNLIMITED
from ratiobench.instances.errors import InputError, make_printable, not_one_of, shorten
from ratiobench.instances.files import write_atomically


def add_standard(command: Command) -> None:
    """The command `standard` with its parts."""
    sub = command("standard", _list, "the standard set: published instances with certificates of OPT")
    parts = sub.add_subparsers(metavar="PART", required=True)

    def part(name: str, run: object, summary: str, busy: str = "") -> argparse.ArgumentParser:
        found: argparse.ArgumentParser = parts.add_parser(name, help=summary, description=summary)
        found.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help="show where a failure was")
        found.add_argument(
            "--set", default=NEWEST, metavar="NAME", help=f"which set, or the manifest FILE.json of one ({NEWEST})"
        )
        found.add_argument("--tier", metavar="TIER", action="append", default=[], help="of this tier only")
        found.add_argument("--family", metavar="NAME", action="append", default=[], help="of this family only")
        complete_by(
            found.add_argument("names", metavar="NAME", nargs="*", help="these alone (* ? [...])"),
            lambda: [each.name for each in read_set().entries],
        )
        found.set_defaults(run=run, busy=busy)
        return found

    listed = part("list", _list, "what is in it, and what is known of OPT")
    listed.add_argument("--json", action="store_true", help="one JSON document on standard output")
    checked = part("verify", _verify, "check every certificate with the independent checker", "checking")
    checked.add_argument("--workers", type=positive, metavar="N", help="processes (one per core)")
    improved = part("improve", _improve, "search on from the best known solution", "reading")
    improved.add_argument("--effort", type=positive, metavar="N", help="amount of work: 1")
    improved.add_argument("--seconds", type=seconds, metavar="S", help="time limit in place of an amount of work")
    improved.add_argument("--gap", type=gap, default=0.0, metavar="G", help="relative gap at which to stop")
    table = part("table", _table, "the set's table as Markdown, as its README has it")
    table.add_argument(
        "--write", metavar="README", type=Path, help="put it between its marks in this file, and its figures beside it"
    )
    fetched = part("fetch", _fetch, "make the instances' files", "making instances")
    fetched.add_argument("--out", metavar="DIR", type=Path, required=True, help="folder of the files; it is made")


def _read(name: str) -> StandardSet:
    """The set, all of whose families exist."""
    chosen = read_set(name)
    for entry in chosen.entries:
        if entry.family not in families():
            raise InputError(str(chosen.path), f"{entry.name}.family", not_one_of(entry.family, families()))
    return chosen


def _chosen(options: argparse.Namespace) -> tuple[StandardSet, list[Entry]]:
    """The set, and those of its entries that the command line chooses."""
    chosen = _read(options.set)
    for name, given in (("tier", options.tier), ("family", options.family)):
        for word in given:
            if word not in (known := dict.fromkeys(getattr(each, name) for each in chosen.entries)):
                raise InputError(f"--{name}", "", f"{shorten(word)} is not one of {', '.join(known)}")
    entries = [
        each
        for each in chosen.entries
        if (not options.tier or each.tier in options.tier)
        and (not options.family or each.family in options.family)
        and (not options.names or any(fnmatchcase(each.name, pattern) for pattern in options.names))
    ]
    for pattern in options.names:
        if not any(fnmatchcase(each.name, pattern) for each in chosen.entries):
            chosen.find(pattern)
    if not entries:
        raise InputError("NAME", "", f"no entry of {chosen.name} is all of that")
    return chosen, entries


def _list(options: argparse.Namespace) -> int:
    chosen, entries = _chosen(options)
    if options.json:
        rows = []
        for each in entries:
            best = None if each.best is None else {"lower": each.best.lower, "upper": each.best.upper}
            about = {"name": each.name, "tier": each.tier, "family": each.family, "instance": each.instance}
            rows.append(about | {"size": each.size, "recipe": each.recipe, "best": best})
        print_json({"set": chosen.name, "released": chosen.released, "sha256": chosen.digest, "entries": rows})
        return 0
    print(tables.terminal_text(entries))
    return 0


def _verify(options: argparse.Namespace) -> int:
    from ratiobench.bench.running.standard import check_set

    chosen, entries = _chosen(options)
    began, wrong = time.monotonic(), 0
    for number, found in enumerate(check_set(chosen, entries, options.workers), 1):
        if found.problem:
            wrong += 1
            print(f"{found.name}: NOT VALID: {make_printable(found.problem, 400)}", flush=True)
        now_at(f"checking, {number} of {len(entries)} done", again=True)
    print(
        f"{chosen.name}: {len(entries) - wrong} of {len(entries)} certificates valid, {time.monotonic() - began:.0f} s"
    )
    return 1 if wrong else 0


def _improve(options: argparse.Namespace) -> int:
    from ratiobench.bench.running.standard import improve

    chosen, entries = _chosen(options)
    effort = options.effort or (1 if options.seconds is None else UNLIMITED)
    settings = SolveSettings(effort=effort, gap=options.gap, seconds=options.seconds)
    for entry in entries:
        found = improve(chosen, entry, settings, now_at)
        chosen = found.chosen
        print(f"{entry.name}: {'better' if found.moved else 'no better interval was found'}")
        if found.before is not None and found.moved:
            print_interval(*found.before, families()[entry.family].unit, " was")
        print_interval(*found.after, families()[entry.family].unit)
        sys.stdout.flush()
    return 0


def _table(options: argparse.Namespace) -> int:
    chosen = _read(options.set)
    if options.write is not None:
        from ratiobench.bench.figures.standard import draw_growth

        tables.write_readme(chosen, families(), options.write)
        for name, drawn in draw_growth(chosen, families()):
            write_atomically(options.write.parent / name, drawn.encode())
    else:
        print(tables.markdown(chosen, families()), end="")
    return 0


def _fetch(options: argparse.Namespace) -> int:
    from ratiobench.bench.running.standard import fetch

    chosen, entries = _chosen(options)
    for path in fetch(chosen, entries, options.out, now_at):
        print(path)
    return 0
