"""The command `crosscheck`."""

from __future__ import annotations

import argparse

from ratiobench.bench.cli.arguments import Command, add_file, positive, read_given_instance, seconds
from ratiobench.bench.cli.printing import name_the_file, print_json
from ratiobench.bench.family.contract import Family
from ratiobench.bench.running.heartbeat import now_at
from ratiobench.bench.tables.crosscheck import crosscheck_lines, interval_of
from ratiobench.formulations.crosscheck import CrossCheck
from ratiobench.instances.errors import make_printable

WIDEST = 600
"""Characters of a reason."""


def add_crosscheck(command: Command) -> None:
    """The command `crosscheck`."""
    summary = "P as printed, built in PuLP and in OR-Tools, by HiGHS and by CBC, beside the certified interval"
    sub = command("crosscheck", _crosscheck, summary)
    sub.set_defaults(busy="cross-checking")
    add_file(sub)
    sub.add_argument("--effort", type=positive, default=1, metavar="N", help="units of work for each row (1)")
    sub.add_argument("--seconds", type=seconds, metavar="S", help="time limit of each row in place of the effort")
    sub.add_argument("--json", action="store_true", help="one JSON document on standard output")


def _crosscheck(options: argparse.Namespace) -> int:
    family, instance = read_given_instance(options.file)
    with name_the_file(options.file, instance):
        found = family.crosscheck(instance, effort=options.effort, seconds=options.seconds, tell=now_at)
    if options.json:
        ends = {"lower": found.lower, "upper": found.upper}
        about = {"instance": family.identity(instance), "verdict": found.verdict, **ends}
        print_json(about | {"optimal": found.optimal(), "answered": found.answered(), "rows": found.documents()})
        return 0
    from ratiobench.bench.tables.text import aligned  # with pandas, which no other command should wait for

    print(aligned(crosscheck_lines(found)), end="")
    for row, why in zip(found.rows, found.differs, strict=True):
        told = why or ("" if row.answer.answered and not row.answer.message else row.answer.message)
        if told:
            print(make_printable(f"{row.answer.formulation} / {row.answer.backend}: {told}", WIDEST))
    _print_verdict(found, family)
    return 0


def _print_verdict(found: CrossCheck, family: Family) -> None:
    ended = f"{found.optimal()} of {len(found.rows)} rows end as optimal"
    print(f"{found.verdict}: {interval_of(found)} {family.unit} ({ended})")
