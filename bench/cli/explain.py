"""The command `explain`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ratiobench.bench.cli.arguments import (
    ALGORITHM,
    Command,
    add_algorithm,
    add_file,
    add_solving,
    read_given_instance,
    solve_settings,
)
from ratiobench.bench.cli.printing import name_the_file, require_writable
from ratiobench.instances.files import write_atomically


def add_explain(command: Command) -> None:
    """The command `explain`."""
    sub = command("explain", _explain, "one run on a small instance, arrival by arrival, and both sides of a claim")
    sub.set_defaults(busy="solving, running and checking")
    add_file(sub)
    add_algorithm(sub, f"{ALGORITHM} (the family's)", required=False)
    sub.add_argument("--claim", metavar="NAME", default="", help="the claim at the end (the family's headline)")
    sub.add_argument("--html", metavar="OUT", type=Path, help="write a page as well, in one file")
    add_solving(sub)


def _explain(options: argparse.Namespace) -> int:
    from ratiobench.bench.tables.explanations import explain, text

    require_writable(options.html)
    family, instance = read_given_instance(options.file)
    settings = solve_settings(options, family)
    with name_the_file(options.file, instance):
        found = explain(family, instance, options.algorithm, options.claim, settings)
    print(text(found))
    if options.html is not None:
        from ratiobench.bench.page.explanations import render_explanation

        write_atomically(options.html, render_explanation(found).encode())
        print(f"page: {options.html}")
    return 0
