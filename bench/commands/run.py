"""Suites: `run`, `report`, `compare`, `warm`."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ratiobench.bench import arguments as arg
from ratiobench.bench.arguments import Outcome, Steps, command
from ratiobench.bench.family.registry import families, find_suite
from ratiobench.bench.family.suite import REPEATS
from ratiobench.bench.running.heartbeat import set_current
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.files import write_atomically
from ratiobench.online.user_algorithm import list_algorithms, name_algorithms

if TYPE_CHECKING:
    import pandas as pd

    from ratiobench.bench.report.notebook import Results


@command("getting ready", keeps=lambda values: True)
def run(
    suite: Annotated[Any, arg.Option(arg.Anything("text"), "SUITE")],
    algorithms: arg.Algorithms = (),
    out: Annotated[Any, arg.Option(arg.File(), "DIR", flags=("--out",))] = None,
    *,
    only: arg.Patterns = (),
    tier: arg.Groups = (),
    scale: arg.Scale = "full",
    over: arg.Axes = (),
    rows: arg.Patterns = (),
    add: Annotated[Any, arg.Option(arg.Anything("text"), "NAME", several=True)] = (),
    solve: bool = False,
    rerun: bool = False,
    repeat: Annotated[int, arg.Option(arg.Integer(1, REPEATS), "N")] = 1,
    audits: bool | None = None,
    effort: Annotated[Any, arg.Option(arg.EffortFactor(1, 10**6), "N")] = 1,
    limit: arg.Seconds = None,
    isolate: arg.Isolate = None,
    workers: arg.Workers = None,
    dask: Annotated[str | None, arg.Option(arg.Text(), "ADDRESS")] = None,
    fresh: bool = False,
    retry_failed: bool = False,
    quiet: bool = True,
) -> Steps[Results]:
    """Run a suite or resume it, and write the report.

    Workers are processes of their own that run nothing of the caller's script, so it needs no main guard.

    Parameters
    ----------
    suite : suite, as `list suites` names them, or FILE.toml.
    algorithms : algorithms to run in every case, without those of the suite: name[:key=value,...], as `list algorithms`
        names them, or package.module:Class. In Python also classes, or objects of them
        (`ratiobench.online.user_algorithm`).
    out : folder of the results; by default results/SUITE.
    rows : run only these of the suite's algorithms (* ? [...]).
    add : algorithms to run in every case, in addition to those of the suite.
    solve : compute OPT also if a shipped certificate proves it.
    rerun : run shipped algorithms also if their runs are stored with a standard set.
    repeat : runs of each randomised algorithm, of which means are taken.
    audits : check the claims on every run, or do not (by default not in the standard sets).
    effort : multiple of the suite's work on OPT; `high` is 8.
    limit : time limit of each solve and each run, in seconds.
    workers : worker processes; by default one per core.
    dask : address of a dask scheduler, to use in place of local processes.
    fresh : delete earlier results.
    retry_failed : repeat solves and runs that failed.
    quiet : print no progress.

    Returns
    -------
    The tables: ``rows`` (`results.row.Row`) and, in fractions, ``exact``; ``seconds``, ``studies``. Failures are
    rows with a reason. The command line prints the tables, and writes CSV files and the page.

    Raises
    ------
    InputError : a suite, algorithm, folder or number that cannot be used.

    Examples
    --------
    >>> import tempfile, ratiobench
    >>> folder = tempfile.TemporaryDirectory()
    >>> found = ratiobench.run("tiny", "greedy", folder.name, only="tiny_contention", workers=1)
    >>> found.frame()["welfare"].tolist()
    [28.0]
    >>> folder.cleanup()
    """
    from ratiobench.bench.running.runner import RunOptions, find_folder, run_suite

    exactly, added = list_algorithms(algorithms), list_algorithms(add)
    family, found = find_suite(str(suite))
    found = found.select_axes(over)
    names, own = name_algorithms([*exactly, *added], family.secret_types())
    folder = find_folder(out, found.name, scale, found.over)
    options = RunOptions(
        only=only, tier=tier, scale=scale, rows=rows, algorithms=names[: len(exactly)], add=names[len(exactly) :],
        solve=solve, rerun=rerun, repeat=repeat, audits=audits, effort=effort, limit=limit, isolate=isolate, out=folder,
        workers=workers, dask=dask, fresh=fresh, retry_failed=retry_failed, quiet=quiet, own=own,
    )  # fmt: skip
    spent = run_suite(family, found, options, _import_report_early)
    set_current("writing the tables and the page")
    yield from _report(folder, {"run": spent})


@contextlib.contextmanager
def _postpone_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end of the block, not inside: for imports of large packages."""
    # Inside an import of pandas it can be lost in a callback, which prints a traceback and goes on; and Python ends by
    # the signal, not with an exit status, after one inside the `exec` that makes a dataclass.
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    received: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if received:
        raise KeyboardInterrupt


def _import_report() -> None:
    import ratiobench.bench.report.page
    import ratiobench.bench.report.write  # noqa: F401
    from ratiobench.bench.report.pictures import load_matplotlib

    load_matplotlib()


@cache
def _import_report_early() -> None:
    """Import the report's modules in a thread: pandas and matplotlib take two seconds, and no result should wait."""
    threading.Thread(target=_import_report, daemon=True).start()


def _report(
    folder: Path, spent: Mapping[str, float], figures: Path | None = None, labels: dict[str, str] | None = None
) -> Steps[Results]:
    failed = []

    def write(show: Callable[[str], None]) -> None:
        with _postpone_interrupt():
            _import_report()
            from ratiobench.bench.report.write import write_report

        failed.append(write_report(folder, spent, figures, show, labels or {}))

    def document() -> dict[str, Any]:
        write(lambda text: None)
        from ratiobench.bench.report.write import results_document

        return results_document(folder)

    def result() -> Results:
        from ratiobench.bench.report.notebook import results

        return results(folder)

    if (yield Outcome(result, document, lambda: int(any(failed)))):
        write(print)


@command("reading results and drawing")
def report(
    folder: Annotated[Path, arg.Option(arg.File(), "DIR")],
    *,
    figures: Annotated[Path | None, arg.Option(arg.File(), "FOLDER")] = None,
    label: Annotated[Any, arg.Option(arg.Text(), "NAME=LABEL", several=True)] = (),
    quiet: bool = True,
) -> Steps[Results]:
    """Write tables, CSV files, the page and figures from the results in a folder.

    Parameters
    ----------
    folder : folder of the results, as `run --out` names it.
    figures : folder of the figures as SVG files; by default DIR/figures.
    label : what the report calls an algorithm.
    quiet : print no progress.
    """
    if figures is not None and figures.exists() and not figures.is_dir():
        raise InputError("--figures", "", f"{shorten(str(figures))} is no folder")
    labels: dict[str, str] = {}
    for pair in label:
        name, _, text = pair.rpartition("=")
        if not name or not text.strip():
            raise InputError("--label", "", f"{shorten(pair)} is not NAME=LABEL")
        labels[name] = text
    yield from _report(folder, {}, figures, labels)


@command("reading results")
def compare(
    a: Annotated[Path, arg.Option(arg.File(), "A")],
    b: Annotated[Path, arg.Option(arg.File(), "B")],
    *,
    names: bool = False,
    csv: arg.Output = None,
) -> Steps[pd.DataFrame]:
    """Compare two folders of results, with the differences beyond noise.

    Parameters
    ----------
    a : folder of the results of a run.
    b : folder of the results of another run.
    names : list the cases that only one of the two folders has.
    csv : write the rows of both folders side by side.

    Returns
    -------
    A DataFrame with a row per case and algorithm of either folder: ``case``, ``algorithm``, ``differs`` (names of the
    figures that differ, with semicolons between them), then each figure of A and of B as ``NAME_a``, ``NAME_b``
    (float64), and exact ones also as ``NAME_a_exact``, ``NAME_b_exact``. ``attrs`` has ``unlike`` (differences of
    versions and options) and ``seconds`` (a frame: B over A by stage, with intervals).

    Raises
    ------
    InputError : a folder without results.
    """
    from ratiobench.bench.report import folders
    from ratiobench.bench.report.tables import csv_of

    comparison = folders.compare(Path(a), Path(b))
    yield Outcome(lambda: folders.as_frame(comparison), lambda: folders.document(comparison))
    yield folders.text(comparison, names=names)
    if csv:
        write_atomically(csv, csv_of(folders.exact_frame(comparison)))


@command(json=False)
def warm(suites: Annotated[Any, arg.Option(arg.Text(), "NAME", several=True)] = ()) -> Steps[None]:
    """Compile the kernels, and cache them.

    Parameters
    ----------
    suites : compile only the kernels of these suites.
    """
    from ratiobench.bench.running.runner import compile_kernels

    chosen: dict[str, Collection[str] | None] = {}
    for name in suites:
        family, suite = find_suite(name)
        runs = [algorithm for case in suite.cases for algorithm in case.all_algorithms]
        chosen[family.name] = list(dict.fromkeys([*(chosen.get(family.name) or ()), *runs]))
    compile_kernels(chosen or dict.fromkeys(families()))
    yield Outcome(lambda: None)
