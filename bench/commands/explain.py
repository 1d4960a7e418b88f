"""The command `explain`: one run on a small instance, arrival by arrival."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ratiobench.bench.commands.command import Command
from ratiobench.bench.commands.shared import InstanceOptions, IsolationOptions, SolveOptions
from ratiobench.bench.commands.texts import name_the_file, require_writable
from ratiobench.bench.options import File, Text, option
from ratiobench.bench.running.options import ALGORITHM, one_algorithm
from ratiobench.instances.io.files import write_atomically
from ratiobench.online.run_context import run_context


@dataclass(frozen=True, kw_only=True)
class Explain(SolveOptions, IsolationOptions, InstanceOptions):
    """Options of `explain`."""

    algorithm: str = one_algorithm(ALGORITHM, "", "the family's")
    claim: str = option("claim that is evaluated at the end", Text(), "NAME", default="", told="the family's headline")
    html: Path | None = option("also write a page, in one file", File(), "OUT")


def run(options: Explain) -> Any:
    """Explain the run."""
    from ratiobench.bench.report.explain import explain

    require_writable(options.html)
    family, instance = options.read()
    settings = options.settings(family)
    with name_the_file(options.file, instance), run_context(options.context(family, options.file, options.html)):
        return explain(family, instance, options.algorithm, options.claim, settings)


def text(options: Explain, found: Any) -> Iterator[str]:
    """The explanation."""
    from ratiobench.bench.report import explain as explanations

    yield explanations.text(found)


def document(options: Explain, found: Any) -> dict[str, Any]:
    """The arrivals with candidates and decisions, and the claim."""
    from ratiobench.bench.report.explain import explain_document

    return explain_document(found)


def write(options: Explain, found: Any) -> Iterator[str]:
    """The page."""
    if options.html is not None:
        from ratiobench.bench.report.explain import render_explanation

        write_atomically(options.html, render_explanation(found).encode())
        yield f"page: {options.html}"


EXPLAIN = Command(Explain, run, text=text, document=document, write=write, busy="solving, running and checking")
