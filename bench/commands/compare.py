"""The command `compare`: two folders of results side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratiobench.bench.commands.command import Command
from ratiobench.bench.commands.texts import require_writable
from ratiobench.bench.options import File, Options, argument, option, switch
from ratiobench.instances.io.files import write_atomically

if TYPE_CHECKING:
    from ratiobench.bench.report.folders import Comparison


@dataclass(frozen=True, kw_only=True)
class Compare(Options):
    """Options of `compare`."""

    a: Path = argument("folder of the results of a run", File(), "A")
    b: Path = argument("folder of the results of another run", File(), "B")
    names: bool = switch("list the cases that only one of the two folders has")
    csv: Path | None = option("write the rows of both folders side by side", File(), "FILE")


def run(options: Compare) -> Comparison:
    """Read both and compare."""
    from ratiobench.bench.report.folders import compare

    require_writable(options.csv)
    return compare(options.a, options.b)


def text(options: Compare, found: Comparison) -> Iterator[str]:
    """What differs."""
    from ratiobench.bench.report import folders as compare

    yield compare.text(found, names=options.names)


def document(options: Compare, found: Comparison) -> Any:
    """All rows."""
    from ratiobench.bench.report import folders as compare

    return compare.document(found)


def write(options: Compare, found: Comparison) -> None:
    """The rows as CSV."""
    from ratiobench.bench.report.folders import as_csv

    if options.csv:
        write_atomically(options.csv, as_csv(found))


COMPARE = Command(Compare, run, text=text, document=document, write=write, busy="reading results")
