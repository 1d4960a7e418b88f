"""The commands as functions, for notebooks and scripts: `import ratiobench; ratiobench.run("quick")`.

Tables are pandas DataFrames with the columns of `results.read.COLUMNS`: `rows` has figures as floats, one type
per column, for pandas to work with; `exact` has the same rows with every figure as an integer or a fraction. `frame`
takes from both what a notebook shows. Workers are processes of their own that run nothing of the caller's script, so it
needs no main guard.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ratiobench.bench.cluster import commands as commands_cluster
from ratiobench.bench.commands import bridge
from ratiobench.bench.commands import opt as commands_opt
from ratiobench.bench.commands import simulate as commands_simulate
from ratiobench.bench.commands.functions import as_function
from ratiobench.bench.commands.opt import Opt
from ratiobench.bench.commands.run import Run
from ratiobench.bench.commands.shared import read_given
from ratiobench.bench.commands.simulate import OF_TABLES, Simulate
from ratiobench.bench.evaluation.isolation import share_sandboxes
from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import families
from ratiobench.bench.results import read as _tables
from ratiobench.bench.results.frames import SECONDS, apply_types, make_frame
from ratiobench.bench.results.means import IRREGULAR, group_shares
from ratiobench.bench.results.read import StudyTable
from ratiobench.bench.results.remarks import with_remarks
from ratiobench.bench.running.runner import find_folder, run_suite
from ratiobench.bench.show import check_title, format_number, rows_of
from ratiobench.bench.storage.store import EMPTY, STORE, Store
from ratiobench.formulations.report import SolveReport
from ratiobench.instances.io.display import make_html
from ratiobench.instances.io.errors import InputError, make_printable, shorten
from ratiobench.online.outcome import OnlineRun
from ratiobench.online.referee import sandbox
from ratiobench.online.user_algorithm import name_algorithms

if TYPE_CHECKING:
    from ratiobench.bench.report.pictures import Picture

__all__ = [
    "InputError",
    "OnlineRun",
    "Results",
    "SolveReport",
    "StudyTable",
    "backtest",
    "instance",
    "opt",
    "results",
    "run",
    "simulate",
]

AnyPath = str | os.PathLike[str]
backtest = bridge.as_function(commands_cluster.backtest)
SHOWN = 60  # Rows of the table that a notebook shows of results


class Results(_tables.Results):
    """The tables of one folder (`ratiobench.bench.results.read.Results`), as notebooks show them."""

    @cached_property
    def rows(self) -> pd.DataFrame:
        """`exact` with a type per column: figures as float64, counts as Int64, names as string or category."""
        return apply_types(self)

    @property
    def family(self) -> Family | None:
        """The family of the results; None where it is not installed."""
        return families().get(str(self.about.get("family")))

    def frame(self, columns: str | Sequence[str] = (), *, exact: bool = False) -> pd.DataFrame:
        """Return the rows in twelve columns: names, ratio, share of OPT, value, counts, seconds, main claim.

        Parameters
        ----------
        columns : other columns, by their names in `rows`; ``"all"`` for all.
        exact : whether to add every exact figure, as an integer or a fraction, in ``NAME_exact``.

        Returns
        -------
        A DataFrame with a row per case and algorithm: figures as float64, counts as Int64, names and verdicts as
        categories, yes or no as boolean.

        Raises
        ------
        InputError : a column that does not exist.
        """
        return make_frame(self, columns, exact, "" if self.family is None else self.family.headline)

    def plot(self, group: str | None = None) -> Picture:
        """Draw the share of OPT of each algorithm, as a mean over the cases of a group.

        Parameters
        ----------
        group : name of one group; None for all groups in one picture.

        Returns
        -------
        A picture that notebooks show, and whose `save` writes ``NAME.svg``, ``NAME.pdf`` or ``NAME.png``.

        Raises
        ------
        InputError : no such group, or nothing to draw.
        """
        from ratiobench.bench.report.page import draw_share_picture

        groups = list(dict.fromkeys(row.group for row in self.records))
        if group is not None and group not in groups:
            raise InputError("plot", "group", f"{shorten(group)} is not one of {', '.join(groups) or 'none'}")
        picture = draw_share_picture(self, group or "")
        if picture is None:
            raise InputError("plot", "group", "no run has a share of OPT")
        return picture

    @property
    def _name(self) -> str:
        return make_printable(str(self.about.get("suite", "")), 80)

    @property
    def _size(self) -> str:
        states = Counter(map(str, self.exact["state"]))
        counted = ", ".join(f"{count} {state}" for state, count in states.items())
        cases = len(self.cases)
        return f"{cases} case{'s' * (cases != 1)}, {len(self.exact)} rows ({counted or 'none'})"

    def __repr__(self) -> str:
        return f"<Results {self._name}: {self._size}>"

    def _repr_html_(self) -> str:
        shares = group_shares(self.records, self.sense)
        groups = list(dict.fromkeys(shares["group"]))
        means = sorted(rows_of(shares), key=lambda row: (groups.index(row.group), *_best_first(row.reached)))
        rows = [
            (
                row.group,
                with_remarks(row.name, row.remarks) + " *" * row.oracle,
                format_number(row.reached),
                row.cases,
                ", ".join(f"{count} {kind}" for kind in IRREGULAR if (count := getattr(row, kind))),
            )
            for row in means[:SHOWN]
        ]
        facts = self._claims()
        if len(means) > SHOWN:
            facts["rows below"] = f"{SHOWN} of {len(means)}"
        if any(row.oracle for row in means):
            facts["*"] = "constants computed from the instance under test, future included (oracle)"
        head = ("group", "algorithm", f"mean {self.sense.reached}", "cases", "not in order")
        return make_html(f"{self._name}: {self._size}", facts, head, rows)

    def _claims(self) -> dict[str, str]:
        """The verdicts on the family's main claim, and which others fell."""
        counts = {check: Counter(map(str, self.exact[check].dropna())) for check in self.checks}
        headline = "" if self.family is None else self.family.headline
        facts = {}
        if headline in counts:
            verdicts = [(verdict.value, counts[headline][verdict.value]) for verdict in Verdict]
            facts[check_title(headline)] = ", ".join(f"{count} {verdict}" for verdict, count in verdicts if count)
        fell = {check: each[Verdict.VIOLATED.value] for check, each in counts.items() if each[Verdict.VIOLATED.value]}
        if fell:
            facts["violated, in rows"] = ", ".join(f"{check_title(check)} {count}" for check, count in fell.items())
        return facts


def _best_first(mean: Fraction | None) -> tuple[bool, Fraction]:
    """Sorts means, those that are not known at the end."""
    return (True, Fraction(0)) if mean is None else (False, -mean)


@as_function(Run, without=("suite", "algorithms", "add", "out"), others={"add": ()}, defaults={"quiet": True})
def run(suite: str, algorithms: object = (), out: AnyPath | None = None, **options: Any) -> Results:
    """Run a suite, or the part of it that is missing, and read its tables.

    Parameters
    ----------
    suite : name of a suite, or a suite file of your own (``my.toml``).
    algorithms : exactly these are run in every case, one or several: names with options, import paths
        ``package.module:Class``, classes, or objects of such classes (`ratiobench.online.user_algorithm`). Empty: those
        of the suite.
    out : folder of the results; ``results/SUITE`` by default.
    add : algorithms that are run beside those of the suite.
    {options}

    Returns
    -------
    The tables: ``rows`` (`results.read.COLUMNS`) and, in fractions, ``exact``; ``seconds``, ``studies``. Failures are
    rows with a reason.

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
    exactly, added = listed(algorithms), listed(options.pop("add", ()))
    if exactly and options.get("rows"):
        raise InputError(
            "rows", "", "chooses of the suite's algorithms, of which none runs beside named ones; see `add`"
        )
    chosen = Run(suite=suite, out=_path(out), **options)
    family, found = chosen.find()
    names, handed = name_algorithms([*exactly, *added], family.secret_types())
    folder = find_folder(chosen.out, found.name, chosen.scale, found.over)
    named = replace(chosen, algorithms=names[: len(exactly)], add=names[len(exactly) :])
    run_suite(family, found, replace(named, own=handed, out=folder))
    return results(folder)


def results(folder: AnyPath) -> Results:
    """Read the tables of a folder in which a suite was run.

    Parameters
    ----------
    folder : as `run` names it, ``results/SUITE`` by default.

    Returns
    -------
    The tables: ``rows``, ``exact``, ``seconds``, ``studies``.

    Raises
    ------
    InputError : there are no results in the folder.
    """
    path = Path(folder) / STORE
    with Store.open(path, create=False) as store:
        found = _tables.read_results(store)
    if not found.about:
        raise InputError(str(path), "", EMPTY)
    parts = {part.name: getattr(found, part.name) for part in fields(found)}
    return Results(**parts | {"seconds": found.seconds.astype(SECONDS)})


def instance(file: AnyPath) -> Any:
    """Read an instance of any family.

    Parameters
    ----------
    file : path of a .json or .json.gz file; ``-`` for standard input.

    Returns
    -------
    The instance, of the class of the family that its format names.

    Raises
    ------
    InputError : a file that cannot be read or is no instance; names the file, the field and the value.

    Examples
    --------
    >>> import ratiobench
    >>> from ratiobench.instances.lora.named import path
    >>> ratiobench.instance(path("thm5_T5_3tasks")).slots
    5
    """
    return read_given(file)[1]


@as_function(Opt, without=("file",))
def opt(file: Any, **options: Any) -> SolveReport:
    """Compute OPT of an instance, or a certified interval on it.

    Parameters
    ----------
    file : an instance or its file.
    {options}

    Returns
    -------
    The report: ``lower`` <= OPT <= ``upper`` in the family's unit, ``proof`` of the upper end, ``solution`` that
    attains the lower end.

    Raises
    ------
    InputError : a file, instance or option that cannot be used.
    NoCertificateError : a certificate is to be written, and none was found.

    Examples
    --------
    >>> import ratiobench
    >>> from ratiobench.instances.lora.named import named
    >>> ratiobench.opt(named("thm5_T5_3tasks")).interval
    'OPT = 312'
    """
    chosen = Opt(file=file, **options)
    found = commands_opt.run(chosen)
    commands_opt.write(chosen, found)
    return found.report


@as_function(Simulate, without=("file", "algorithms", *OF_TABLES), others={"prior": None})
def simulate(file: Any, algorithm: Any, **options: Any) -> Any:
    """Run an online algorithm on an instance under the referee; or several of either.

    Parameters
    ----------
    file : an instance or its file; or a list of these.
    algorithm : name with options, import path, class, or object of such a class; or a list of these.
    prior : another day (an instance or its file), from which an algorithm with ``prior=yesterday`` in its name takes
        its constants.
    {options}

    Returns
    -------
    The run, an `OnlineRun`: ``welfare`` in the family's unit, ``valid``, ``decisions``, ``constants``, ... With a list
    of instances or a list of algorithms a list of runs in its order; with both, of each instance such a list.

    Raises
    ------
    InputError : an instance, algorithm or option that cannot be used; a sandbox that is asked for and cannot be made; a
        file for the decisions or the page of one run, where there are several.

    Examples
    --------
    >>> import ratiobench
    >>> from ratiobench.instances.lora.named import named
    >>> run = ratiobench.simulate(named("thm5_T5_3tasks"), "greedy")
    >>> run.valid, run.welfare, run.admitted
    (True, 312, 3)
    >>> [run.admitted for run in ratiobench.simulate([named("thm5_T5_3tasks"), named("tiny_contention")], "greedy")]
    [3, 3]
    """
    isolate = options.get("isolate")
    sandbox.choose(isolate)
    several, some = isinstance(file, list | tuple), isinstance(algorithm, list | tuple)
    files, algorithms = list(file) if several else [file], list(algorithm) if some else [algorithm]
    given = [read_given(each) for each in files]
    names, handed = name_algorithms(algorithms, {kind for family, _ in given for kind in family.secret_types()})
    if len(files) * len(names) != 1:
        for word in ("solution", "timeline"):
            if options.get(word) is not None:
                raise InputError(word, "", f"is of one run; {len(files) * len(names)} are asked for")
    rows: list[list[OnlineRun]] = []
    with contextlib.ExitStack() as stack:
        if len(files) * len(handed) > 1:
            used = {id(family): family for family, _ in given}.values()
            share_sandboxes(stack, used, sandbox.requested(isolate))
        for each in files:
            rows.append([])
            for name in names:
                chosen = Simulate(file=each, algorithms=(name,), own=handed, **options)
                found = commands_simulate.run(chosen)
                list(commands_simulate.write(chosen, found))
                rows[-1] += found.ended
    runs: list[Any] = rows if some else [row[0] for row in rows]
    return runs if several else runs[0]


def _path(given: AnyPath | None) -> Path | None:
    return None if given is None else Path(given)


def listed(algorithms: object) -> list[object]:
    """One algorithm or several: what cannot be gone through is one."""
    if isinstance(algorithms, str | type) or not isinstance(algorithms, Iterable):
        return [algorithms]
    return list(algorithms)
