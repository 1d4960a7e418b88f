"""The commands as functions, for notebooks and scripts: `import bench; bench.run("quick")`.

Tables are pandas DataFrames with the columns of `tables.table.COLUMNS`: `rows` has figures as floats, one type
per column, for pandas to work with; `exact` has the same rows with every figure as an integer or a fraction. Workers
are processes of their own that run nothing of the caller's script, so it needs no main guard.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.family.column import Family
from bench.family.known import families, find_suite, read_instance
from bench.family.parts import Staying
from bench.family.suite import SolveSettings
from bench.running.runner import RunOptions, places, run_suite
from bench.storage.store import EMPTY, STORE, Store
from bench.tables.frames import SECONDS, typed
from bench.tables.rows import Results, StudyTable
from bench.tables.rows import read_results as _results
from formulations.report import UNLIMITED, SolveReport
from instances.errors import InputError, shown
from instances.files import load_json, read_bytes
from online.outcome import OnlineRun
from online.referee import sandbox
from online.terms import Terms, under

__all__ = [
    "InputError",
    "OnlineRun",
    "Results",
    "SolveReport",
    "StudyTable",
    "instance",
    "online",
    "opt",
    "results",
    "run",
]

AnyPath = str | os.PathLike[str]


def run(
    suite: str,
    algorithms: Sequence[str] | str = (),
    out: AnyPath | None = None,
    *,
    only: Sequence[str] | str = (),
    workers: int | None = None,
    dask: str | None = None,
    effort: int = 1,
    scale: str = "full",
    limit: float | None = None,
    isolate: bool = False,
    share: AnyPath | None = None,
    fresh: bool = False,
    retry_failed: bool = False,
    quiet: bool = True,
) -> Results:
    """Run a suite, or what is missing of it, and read its tables.

    Parameters
    ----------
    suite : name of the suite.
    algorithms : further algorithms in every case, one or several: names with options, or import paths
        ``package.module:Class``.
    out : folder of the results; ``results/SUITE`` by default.
    only : patterns of names of cases; empty for all.
    workers : number of processes; None for one per core.
    dask : address of a dask scheduler, instead of processes of our own.
    effort : how many times the suite's own effort goes into OPT.
    scale : ``full`` or ``small``.
    limit : seconds after which a piece of work is given up.
    isolate : run anyone's own algorithms in a sandbox.
    share : file of the library of results; by default that of ``results``, and none where `out` is named.
    fresh, retry_failed : forget earlier results, or the failed ones, first.
    quiet : no progress on the error stream.

    Returns
    -------
    The tables: ``rows`` (`tables.table.COLUMNS`) and, in fractions, ``exact``; ``seconds``, ``studies``. Failures
    are rows with a reason.

    Raises
    ------
    InputError : a suite, algorithm or folder that cannot be used.
    """
    family, chosen = find_suite(suite)
    own = None if out is None else Path(out)
    folder, library = places(own, None if share is None else Path(share), chosen.name, scale)
    options = RunOptions(
        out=folder,
        workers=workers,
        dask=dask,
        fresh=fresh,
        retry_failed=retry_failed,
        quiet=quiet,
        limit=limit,
        isolate=isolate,
        algorithms=(algorithms,) if isinstance(algorithms, str) else tuple(algorithms),
        share=library,
        only=(only,) if isinstance(only, str) else tuple(only),
        effort=effort,
        scale=scale,
    )
    run_suite(family, chosen, options)
    return results(folder)


def results(folder: AnyPath) -> Results:
    """The tables of a folder in which a suite was run.

    Raises
    ------
    InputError : no results there.
    """
    path = Path(folder) / STORE
    with Store.open(path, create=False) as store:
        found = _results(store)
    if not found.about:
        raise InputError(str(path), "", EMPTY)
    return replace(found, rows=typed(found), seconds=found.seconds.astype(SECONDS))


def instance(file: AnyPath) -> Any:
    """The instance in a file (.json, .json.gz, or - for standard input), of whatever family its format says."""
    return _read(file)[1]


def opt(
    file: Any,
    *,
    effort: int | None = None,
    gap: float = 0.0,
    seconds: float | None = None,
    formulation: str = "auto",
    backend: str = "auto",
    migration: bool = True,
) -> SolveReport:
    """OPT, or a certified interval on it: ``lower``, ``upper``, ``proof``, ``solution``, ...

    Parameters
    ----------
    file : an instance or its file.
    effort : amount of work; 1, or with `seconds` as much as they allow.
    gap, seconds, formulation, backend : as those of the command ``opt``.
    migration : False: every task on one node, as ``--no-migration``.
    """
    family, chosen = _read(file)
    amount = effort or (1 if seconds is None else UNLIMITED)
    settings = SolveSettings(formulation, backend, amount, gap, seconds)
    return family.solve(chosen, settings) if migration else _staying(family).solve(chosen, settings)


def online(
    file: Any,
    algorithm: str,
    *,
    prior: Any = None,
    limit: float | None = None,
    isolate: bool = False,
    migration: bool = True,
) -> OnlineRun:
    """One online run under the referee: ``welfare``, ``valid``, ``decisions``, ``constants``, ...

    Parameters
    ----------
    file : an instance or its file.
    algorithm : name with options, or import path.
    prior : the other day (an instance or its file) that ``prior=yesterday`` in the name stands for.
    limit : seconds after which the run is stopped, a violation.
    isolate : run anyone's own algorithm in a sandbox (`online.referee.sandbox`).
    migration : False: every task on one node, as ``--no-migration``.

    Raises
    ------
    InputError : among others, where there is to be a sandbox and cannot be one.
    """
    if isolate:
        sandbox.require()
    family, chosen = _read(file)
    other = None if prior is None else _read(prior)[1]
    with under(Terms(limit, isolate)):
        return (family.run if migration else _staying(family).run)(chosen, algorithm, other)


def _staying(family: Family) -> Staying:
    if family.staying is None:
        raise InputError("migration", "", f"in the family {family.name} no task moves from node to node")
    return family.staying


def _read(given: Any) -> tuple[Family, Any]:
    """The instance and its family; files say by their format whose they are, objects by who can write such a file."""
    if isinstance(given, str | os.PathLike):
        data, source = read_bytes(given)
        return read_instance(load_json(data, source), source)
    for family in families().values():
        try:
            family.dumps(given)
        except Exception:  # anything but an instance of this family
            continue
        return family, given
    raise InputError("instance", "", f"{shown(str(given))} is neither an instance of a known family nor a file")
