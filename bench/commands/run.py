"""The commands `run`, `backtest` and `report`: a suite, days one by one, and their tables and page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar

from ratiobench.bench.commands.command import Command
from ratiobench.bench.commands.shared import SuitePartOptions
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.day_facts import BY
from ratiobench.bench.family.suite import Suite
from ratiobench.bench.options import Choice, File, Integer, Options, Text, argument, option, switch
from ratiobench.bench.running.heartbeat import set_current
from ratiobench.bench.running.interrupts import postpone_interrupt
from ratiobench.bench.running.options import ALGORITHM, ExecutionOptions, RunOptions, several_algorithms
from ratiobench.instances.io.errors import InputError
from ratiobench.online.run_context import RunContext, run_context

HISTORY = 365


@dataclass(frozen=True, kw_only=True)
class Run(RunOptions, SuitePartOptions):
    """Options of `run`."""


@dataclass(frozen=True, slots=True)
class _Days:
    """How many days of history a backtest takes."""

    range: ClassVar[str] = f"1..{HISTORY}"

    def parsed(self, text: str) -> Any:
        return Integer(1, HISTORY).parsed(text)

    def checked(self, source: str, field: str, value: Any) -> int:
        if value == 0:
            problem = "0 would take the constants of a day from the day itself (oracle), which a backtest excludes"
            raise InputError(source, field, f"{problem}; at least 1")
        return Integer(1, HISTORY).checked(source, field, value)


@dataclass(frozen=True, kw_only=True)
class Backtest(ExecutionOptions):
    """Options of `backtest`."""

    days: Path = argument(
        "folder with an instance file per day, as `import` makes it, or a file of recipes, one per day",
        File(),
        "DIR|TOML",
    )
    algorithms: tuple[str, ...] = several_algorithms(f"{ALGORITHM}, or `all`; by default those that suit the jobs", ())
    add: tuple[str, ...] = option("policies to run in addition to those", Text(), "NAME", several=True)
    history: int = option("days of history for constants; the first N days are not judged", _Days(), "N", default=1)
    by: str = option("measure by which policies are ranked", Choice(BY), default=BY[0])
    what_if: tuple[str, ...] = option(
        "run the days again after a change: nodes.TYPE=+1, nodes=+1 (each type in turn), load=1.5, bids=flat, "
        "limits=true, gangs=out, run=any",
        Text(),
        "CHANGE",
        several=True,
    )
    out: Path | None = option("folder of the results", File(), "DIR", told="results/backtest-DIR")


@dataclass(frozen=True, kw_only=True)
class Report(Options):
    """Options of `report`."""

    folder: Path = argument("folder of the results, as `run --out` names it", File(), "DIR")
    figures: Path | None = option("also write the figures as SVG files", File(), "FOLDER")
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


def backtest(options: Backtest) -> Reported:
    """Run every policy on every day, as `run` does."""
    from ratiobench.bench.running.backtest import find_days, make_backtest, order_of
    from ratiobench.bench.running.runner import find_folder

    family, days = find_days(options.days)
    with run_context(RunContext(isolate=family.choose_isolation(options.isolate))):
        suite = make_backtest(
            family, days, options.algorithms, options.history, str(options.days), order_of(options.days), options.by,
            options.what_if, options.add,
        )  # fmt: skip
    out = find_folder(options.out, name_of(options.days))
    return _run_and_show(family, suite, run_options(options, out=out))


def name_of(days: Path | None) -> str:
    """The name of the folder of a backtest's results, where none is given; None: days in memory."""
    return f"backtest-{'instances' if days is None else days.resolve().name.removesuffix('.toml')}"


def run_options(options: Backtest, **others: Any) -> RunOptions:
    """How the suite of a backtest is run."""
    return RunOptions(**{each.name: getattr(options, each.name) for each in fields(ExecutionOptions)} | others)


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

    status = write_report(options.folder, {}, options.figures, show=_show(options))
    return Reported(options.folder, status)


RUN = Command(
    "run",
    "run a suite or resume it, and write the report",
    Run,
    run,
    document=document,
    status=lambda found: found.status,
    busy="getting ready",
    keeps=True,
)
BACKTEST = Command(
    "backtest", "run policies on every day of a log, and recommend one", Backtest, backtest, document=document,
    status=lambda found: found.status, busy="reading the days", keeps=True,
)  # fmt: skip
REPORT = Command(
    "report", "write tables, CSV files, the page and figures from the results in a folder", Report, report,
    document=document, status=lambda found: found.status, busy="reading results and drawing",
)  # fmt: skip
