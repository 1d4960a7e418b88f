"""The commands `run`, `report`, `compare` and `perf`."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from ratiobench.bench.cli.arguments import (
    ALGORITHM,
    Command,
    add_algorithms,
    add_isolate,
    add_part_of_suite,
    effort,
    find_part,
    positive,
    seconds,
    up_to,
)
from ratiobench.bench.cli.parser import complete_by, suite_names
from ratiobench.bench.cli.printing import complain, print_json, require_writable
from ratiobench.bench.running.heartbeat import now_at
from ratiobench.bench.storage.store import REPEATS
from ratiobench.instances.files import write_atomically

if TYPE_CHECKING:
    from ratiobench.bench.running.runner import RunOptions


def add_run(command: Command) -> None:
    """The command `run`."""
    sub = command("run", _run, "run a suite, resume it, report")
    sub.set_defaults(keeps=True, busy="getting ready")
    suite = sub.add_argument("suite", metavar="SUITE", help="as `list suites` names them, or FILE.toml")
    complete_by(suite, suite_names)
    add_algorithms(sub, suite, f"these are run in every case beside the suite's own: {ALGORITHM}")
    sub.add_argument("--alone", action="store_true", help="run the algorithms of --algorithm without the suite's own")
    add_part_of_suite(sub)
    sub.add_argument(
        "--rows",
        metavar="PATTERN",
        action="append",
        default=[],
        help="of the suite's algorithms these only (* ? [...]); may be repeated",
    )
    sub.add_argument("--solve", action="store_true", help="compute OPT afresh where a shipped certificate has it")
    sub.add_argument(
        "--repeat", type=up_to(REPEATS), default=1, metavar="N", help="run algorithms that draw N times, and take means"
    )
    add_running(sub, out="results/SUITE")


def add_running(sub: argparse.ArgumentParser, out: str) -> None:
    """How cases are run: where to, by whom, with how much work."""
    sub.add_argument(
        "--audits",
        action=argparse.BooleanOptionalAction,
        help="check the claims on every run, or leave that out (out in the standard sets)",
    )
    sub.add_argument("--out", metavar="DIR", type=Path, help=f"folder of the results ({out})")
    sub.add_argument("--workers", type=positive, metavar="N", help="worker processes (one per core)")
    sub.add_argument("--dask", metavar="ADDRESS", help="a dask scheduler instead of processes of this machine")
    sub.add_argument(
        "--effort", type=effort, default=1, metavar="N", help="N times the suite's work on OPT; `high` is 8 times"
    )
    sub.add_argument("--limit", type=seconds, metavar="S", help="give a piece of work up after this many seconds")
    add_isolate(sub)
    sub.add_argument(
        "--share",
        metavar="FILE",
        type=Path,
        help="where runs find each other's results (results/pieces.sqlite; with --out none)",
    )
    sub.add_argument("--fresh", action="store_true", help="forget earlier results, and take none from --share")
    sub.add_argument("--retry-failed", action="store_true", help="try failed pieces again")
    sub.add_argument("--quiet", action="store_true", help="no progress")


def add_report(command: Command) -> None:
    """The command `report`."""
    sub = command("report", _report, "tables, CSV and the page, from the results in a folder")
    sub.set_defaults(busy="reading results and drawing")
    sub.add_argument("folder", metavar="DIR", type=Path, help="folder of the results, as `run --out` names it")
    sub.add_argument("--parquet", action="store_true", help="write results.parquet as well")
    sub.add_argument("--figures", metavar="FOLDER", type=Path, help="write the suite's figures as SVG files as well")


def add_compare(command: Command) -> None:
    """The command `compare`."""
    sub = command("compare", _compare, "two folders of results side by side, with what differs beyond noise")
    sub.set_defaults(busy="reading results")
    sub.add_argument("a", metavar="A", type=Path, help="folder of the results of a run")
    sub.add_argument("b", metavar="B", type=Path, help="folder of the results of another run")
    sub.add_argument("--names", action="store_true", help="name the cases that one of the two folders has alone")
    sub.add_argument("--csv", metavar="FILE", type=Path, help="write the rows side by side")
    sub.add_argument("--json", action="store_true", help="one JSON document on standard output")


def add_perf(command: Command) -> None:
    """The command `perf`."""
    sub = command("perf", _perf, "speed, side by side, in one run")
    sub.set_defaults(busy="measuring")
    sub.add_argument("parts", metavar="PART", nargs="*", help="all parts, if none is named")
    sub.add_argument("--out", metavar="DIR", type=Path, default=Path("results/perf"), help="folder of the results")
    sub.add_argument("--quick", action="store_true", help="small sizes only")


def _run(options: argparse.Namespace) -> int:
    from ratiobench.bench.running.runner import places, run_suite

    family, suite = find_part(options)
    out, share = places(options.out, options.share, suite.name, options.scale, suite.over)
    stop_on_sigterm(options)
    spent = run_suite(family, suite, run_options(options, out, share))
    now_at("writing the tables and the page")
    return show(out, spent)


def stop_on_sigterm(options: argparse.Namespace) -> None:
    """End at a signal as at Ctrl-C."""

    def end(*_: object) -> NoReturn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # `timeout` sends it twice; it is said once
        sys.exit(complain(options, "terminated; what was finished is kept", 143))

    signal.signal(signal.SIGTERM, end)


def run_options(options: argparse.Namespace, out: Path, share: Path | None) -> RunOptions:
    """What the command line says of a run."""
    from ratiobench.bench.running.runner import RunOptions

    return RunOptions(
        out=out,
        workers=options.workers,
        dask=options.dask,
        fresh=options.fresh,
        retry_failed=options.retry_failed,
        quiet=options.quiet,
        limit=options.limit,
        isolate=options.isolate,
        algorithms=tuple(options.algorithm),
        alone=getattr(options, "alone", False),
        share=share,
        only=tuple(options.only),
        rows=tuple(getattr(options, "rows", ())),
        tiers=tuple(getattr(options, "tier", ())),
        solve=getattr(options, "solve", False),
        audits=getattr(options, "audits", None),
        effort=options.effort,
        scale=options.scale,
        repeat=options.repeat,
    )


def _report(options: argparse.Namespace) -> int:
    if not options.parquet:
        return show(options.folder, {}, options.figures)
    from ratiobench.bench.api import results
    from ratiobench.bench.tables import parquet

    parquet.require()
    status = show(options.folder, {}, options.figures)
    parquet.write(results(options.folder).exact, options.folder / parquet.FILE)
    return status


def show(folder: Path, spent: dict[str, float], figures: Path | None = None) -> int:
    """Print the tables, write CSV and page; status 1 when something failed."""
    from ratiobench.bench.report import write_report

    return write_report(folder, spent, figures)


def _compare(options: argparse.Namespace) -> int:
    from ratiobench.bench.tables import compare

    require_writable(options.csv)
    found = compare.compare(options.a, options.b)
    if options.json:
        print_json(compare.document(found))
    else:
        print(compare.text(found, names=options.names))
    if options.csv:
        sys.stdout.flush()
        write_atomically(options.csv, compare.as_csv(found).encode())
    return 0


def _perf(options: argparse.Namespace) -> int:
    from ratiobench.bench.perf import command

    return command.run(options.parts, options.out, options.quick)
