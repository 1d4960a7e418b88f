"""The commands `run` and `report`: a suite, its tables and its page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ratiobench.bench.commands.command import Command
from ratiobench.bench.commands.shared import SuitePartOptions
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.suite import Suite
from ratiobench.bench.options import File, Options, Text, argument, option, switch
from ratiobench.bench.running.heartbeat import set_current
from ratiobench.bench.running.interrupts import postpone_interrupt
from ratiobench.bench.running.options import RunOptions
from ratiobench.instances.io.errors import InputError, shorten


@dataclass(frozen=True, kw_only=True)
class Run(RunOptions, SuitePartOptions):
    """Options of `run`."""


@dataclass(frozen=True, kw_only=True)
class Report(Options):
    """Options of `report`."""

    folder: Path = argument("folder of the results, as `run --out` names it", File(), "DIR")
    figures: Path | None = option("folder of the figures as SVG files", File(), "FOLDER", told="DIR/figures")
    label: tuple[str, ...] = option("what the report calls an algorithm", Text(), "NAME=LABEL", several=True)
    quiet: bool = switch("print no progress")


@dataclass(frozen=True, slots=True)
class Reported:
    """Results whose tables and pages are written."""

    folder: Path  # of the results
    status: int  # 1 when something failed, else 0


def run(options: Run) -> Reported:
    """Run what is missing of the suite, print the tables, write CSV and page; status 1 when something failed."""
    from ratiobench.bench.running.runner import find_folder

    family, suite = options.find()
    out = find_folder(options.out, suite.name, options.scale, suite.over)
    return _run_and_show(family, suite, replace(options, out=out))


def _run_and_show(family: Family, suite: Suite, options: RunOptions) -> Reported:
    from ratiobench.bench.running.runner import run_suite

    spent = run_suite(family, suite, options)
    set_current("writing the tables and the page")
    with postpone_interrupt():
        from ratiobench.bench.report.write import write_report  # with pandas, for which no result should wait

    return Reported(options.folder, write_report(options.folder, spent, show=_show(options)))


def _show(options: Options) -> Callable[[str], None]:
    """Where the texts of a report go: with --json the document is the only output."""
    return (lambda text: None) if options.json else print


def document(options: Options, found: Reported) -> dict[str, Any]:
    """The rows with their intervals, provenance, means, verdicts, and the answer."""
    from ratiobench.bench.report.document import results_document

    return results_document(found.folder)


def report(options: Report) -> Reported:
    """Print the tables, write CSV and page; status 1 when rows failed."""
    from ratiobench.bench.report.write import write_report

    labels: dict[str, str] = {}
    for pair in options.label:
        name, _, label = pair.rpartition("=")
        if not name or not label:
            raise InputError("--label", "", f"{shorten(pair)} is not NAME=LABEL")
        labels[name] = label
    status = write_report(options.folder, {}, options.figures, show=_show(options), labels=labels)
    return Reported(options.folder, status)


RUN = Command(Run, run, document=document, status=lambda found: found.status, busy="getting ready", keeps=True)
REPORT = Command(
    Report, report, document=document, status=lambda found: found.status, busy="reading results and drawing"
)
