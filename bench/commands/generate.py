"""The command `generate`: instance files of a suite, of a file of recipes, or of one recipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ratiobench.bench.commands.command import NAME, Command
from ratiobench.bench.commands.shared import SuitePartOptions
from ratiobench.bench.options import File, Text, argument, required
from ratiobench.instances.io.errors import make_printable

Written = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Generate(SuitePartOptions):
    """Options of `generate`."""

    suite: str = argument(
        "name of a suite, a file FILE.toml, or a recipe RECIPE:KEY=VALUE,... (`list recipes`)", Text(), "SUITE"
    )
    out: Path = required("folder to write; it is created", File(), "DIR")


def run(options: Generate) -> Written:
    """Write the files."""
    from ratiobench.bench.running.runner import generate_suite, scale_suite

    family, suite = options.find()
    return generate_suite(family, scale_suite(suite, options.scale), options.out, options.only, options.tier)


def text(options: Generate, found: Written) -> Iterator[str]:
    """A line per file; notes go to the error stream."""
    for each in found:
        yield f"{each['file']}  {each['instance']}"
        for note in each.get("notes", ()):
            print(f"{NAME}: {make_printable(each['case'], 200)}: {make_printable(note, 300)}", file=sys.stderr)


GENERATE = Command(Generate, run, text=text, document=lambda options, found: found, busy="making instances")
