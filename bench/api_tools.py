"""More commands as functions (see `ratiobench.bench.api`): `audit`, `check`, `search`, `compare`, `generate`,
`imported`.

Tables are pandas DataFrames: figures as float64, the exact figure beside each as ``NAME_exact`` (integers, fractions).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

from ratiobench.bench.api import AnyPath, instances_of, read_given, single_node
from ratiobench.bench.family.capabilities import ImportReport, ImportSettings, SearchResult, SearchSettings
from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.registry import (
    families,
    find_claim_search,
    find_importer,
    find_suite,
    find_worst_case_search,
)
from ratiobench.bench.family.suite import SolveSettings
from ratiobench.bench.family.suite_file import suite_of
from ratiobench.bench.running.runner import at_scale, named_cases
from ratiobench.bench.tables import ratios
from ratiobench.bench.tables.compare import SHOWN
from ratiobench.bench.tables.compare import compare as _compare
from ratiobench.formulations.report import SolveReport
from ratiobench.instances.errors import InputError, not_one_of, shorten
from ratiobench.instances.files import load_json, read_bytes
from ratiobench.instances.numerals import seconds_of
from ratiobench.online.outcome import OnlineRun
from ratiobench.online.run_context import RunContext, run_context
from ratiobench.online.user_algorithm import name_algorithms

AUDIT_TYPES: Mapping[str, Any] = {
    "claim": "string",
    "verdict": pd.CategoricalDtype([each.value for each in Verdict]),
    "left": "float64",
    "right": "float64",
    "reason": "string",
}
"""Types of the columns of `audit`; the exact sides, `witness`, `figures` and `failing` hold Python objects."""
_EXACT = ("opt_lower", "opt_upper", "welfare", "ratio_lower", "ratio_upper")


def audit(
    file: Any,
    algorithm: object,
    claims: Iterable[str] | str = (),
    *,
    effort: int = 1,
    seconds: float | None = None,
    formulation: str = "auto",
    backend: str = "auto",
    prior: Any = None,
    claim: Iterable[str] | str = (),
) -> pd.DataFrame:
    """What the theory claims, checked on one run: a row per claim ``left <= right``, with its verdict.

    Parameters
    ----------
    file : an instance or its file.
    algorithm : name with options, import path, class, or object of such a class.
    claims : these only, by name; empty for all.
    effort, seconds, formulation, backend : of the solve for OPT, as those of `ratiobench.opt`.
    prior : the other day that ``prior=yesterday`` in the name stands for.
    claim : the same as `claims`, by the name that the command has for it.

    Returns
    -------
    Columns as `AUDIT_TYPES`, and ``failing``: the assumptions of the claim's proof that fail on the run, None where the
    check does not separate them from the claim. ``attrs`` has ``algorithm``, ``valid``, ``value``, ``lower``, ``upper``
    (exact) and ``ratio`` (text).

    Raises
    ------
    InputError : what cannot be used, a claim that the audits do not check among it.
    """
    family, chosen = read_given(file)
    other = None if prior is None else read_given(prior)[1]
    (name,), handed = name_algorithms([algorithm], instances_of(family))
    reference = family.solve(chosen, SolveSettings(formulation, backend, effort, 0.0, seconds))
    with run_context(RunContext(own=handed)):
        run = family.run(chosen, name, other)
        checks = family.audit(chosen, run, reference, [*_several(claims), *_several(claim)])
    rows = [
        {
            "claim": check.name,
            "verdict": check.status.value,
            "left": check.left,
            "right": check.right,
            "reason": check.reason,
            "left_exact": check.left,
            "right_exact": check.right,
            "witness": None if check.witness is None else dict(check.witness),
            "figures": dict(check.figures),
            "failing": None if check.failing is None else list(check.failing),
        }
        for check in checks
    ]
    columns = [*AUDIT_TYPES, "left_exact", "right_exact", "witness", "figures", "failing"]
    frame = pd.DataFrame(rows, columns=columns, dtype=object)
    for side in ("left", "right"):
        frame[side] = [None if value is None else float(value) for value in frame[side]]
    frame = frame.astype(dict(AUDIT_TYPES))
    ratio = ratios.ratio(reference.lower, reference.upper, run.welfare, family.sense)
    frame.attrs = {
        "algorithm": run.label, "valid": run.valid, "value": run.welfare, "lower": reference.lower,
        "upper": reference.upper, "ratio": str(ratio),
    }  # fmt: skip
    return frame


@dataclass(frozen=True)
class CrossChecked:
    """The answers of solvers for one instance, and whether they agree.

    Parameters
    ----------
    rows : a row for each formulation and solver: ``formulation``, ``backend``, ``solver`` (version), ``columns``,
        ``rows``, ``build_seconds``, ``solve_seconds``, ``status``, ``solver_bound`` and ``solver_value`` as the solver
        states them, ``verified`` (exact value of its solution), ``agrees``, ``reason``.
    verdict : ``all agree``, or who differs.
    lower, upper : the best verified value, and the least bound that nothing contradicts, in the family's unit.
    """

    rows: pd.DataFrame
    verdict: str
    lower: int | None
    upper: int | None

    @property
    def agree(self) -> bool:
        """No solver is contradicted."""
        return self.verdict == "all agree"

    def __repr__(self) -> str:
        return f"<CrossChecked: {self.verdict}, {len(self.rows)} rows, OPT in [{self.lower}, {self.upper}]>"


def crosscheck(file: Any, *, effort: int = 1, seconds: float | None = None) -> CrossChecked:
    """Solve P as printed, built in PuLP and in OR-Tools, with HiGHS and CBC, and compare with the certified interval.

    Parameters
    ----------
    file : an instance or its file.
    effort : units of work for each row, >= 1; tiny instances are solved to the end.
    seconds : a time limit of each row in place of the effort.

    Returns
    -------
    CrossChecked with a row for each formulation and solver.

    Raises
    ------
    InputError : a family without such a check, or an option out of range.

    Examples
    --------
    >>> import ratiobench as rb
    >>> rb.crosscheck("day.json").verdict
    'all agree'

    Source: main paper, problem (4).
    """
    family, chosen = read_given(file)
    found = family.crosscheck(chosen, effort=effort, seconds=seconds)
    return CrossChecked(pd.DataFrame(found.documents()), found.verdict, found.lower, found.upper)


def _several(names: Iterable[str] | str) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def check(file: Any, judged: Any, *, migration: bool = True, no_migration: bool = False) -> Mapping[str, Any]:
    """Verify a solution, or the certificate of an interval on OPT, exactly, by code that shares nothing with solvers.

    Parameters
    ----------
    file : an instance or its file.
    judged : a run (`ratiobench.simulate`), a report (`ratiobench.opt`), the document of a solution or of a certificate,
        or its file.
    migration, no_migration : False, or True: every task has to stay on one node, too, as ``--no-migration``.

    Returns
    -------
    ``valid``; of a solution its value, ``violations`` and more; of a certificate ``lower``, ``upper``, ``problem``.
    """
    family, chosen = read_given(file)
    if isinstance(judged, OnlineRun | SolveReport):
        decisions = judged.decisions if isinstance(judged, OnlineRun) else judged.solution
        document, source = family.solution_document(decisions), "solution"
    elif isinstance(judged, Mapping):
        document, source = dict(judged), "document"
    else:
        data, source = read_bytes(judged)
        document = load_json(data, source)
    if isinstance(document, dict) and "certificate" in str(document.get("format")):
        if family.certificates is None:
            raise InputError(source, "", f"the family {family.name} has no certificates")
        return family.certificates.check(chosen, document, source)
    return (family.check if migration and not no_migration else single_node(family).check)(chosen, document, source)


def search(
    claim: str = "",
    *,
    algorithm: object = None,
    tasks: int = 6,
    slots: int = 5,
    nodes: int | None = None,
    largest: int = 200,
    seed: int = 0,
    tries: int = 3000,
    seconds: float | None = None,
    smaller: bool = False,
) -> SearchResult:
    """Look for an instance that violates a claim, or on which an algorithm is furthest from OPT.

    Parameters
    ----------
    claim : its name (any other name lists them); empty: the worst ratio of `algorithm` is looked for.
    algorithm : name with options, import path, class, or object; without a claim only.
    tasks, slots, nodes, largest : the largest numbers of the instances that are tried.
    seed : of everything random.
    tries : instances tried in all; left aside with `seconds`, a limit by which the result depends on the machine.
    smaller : after a violation go on for one with fewer tasks.

    Returns
    -------
    ``violated``, ``left``, ``right``, ``score``, ``instance``, ``check``, ``tries``, ...

    Raises
    ------
    InputError : both or neither of claim and algorithm, and what cannot be searched for.
    """
    if bool(claim) == (algorithm is not None):
        raise InputError("search", "", "needs either a claim or an algorithm")
    limit = tries if seconds is None else None
    settings = SearchSettings(tasks, slots, nodes, largest, seed, limit, seconds, smaller)
    if claim:
        _, hunt = find_claim_search(claim)
        return hunt(claim, settings, None, "", lambda _: None, lambda _: None)
    family, hunt = find_worst_case_search()
    (name,), handed = name_algorithms([algorithm], instances_of(family))
    with run_context(RunContext(own=handed)):
        return hunt(name, settings, None, "", lambda _: None, lambda _: None)


def compare(a: AnyPath, b: AnyPath) -> pd.DataFrame:
    """Two folders of results side by side: a row per case and algorithm of either.

    Returns
    -------
    ``case``, ``algorithm``, ``differs`` (names of what differs, ``; `` between them), then each figure of A and of B as
    ``NAME_a``, ``NAME_b`` (float64), and exact ones once more as ``NAME_a_exact``, ``NAME_b_exact``; ``attrs`` has
    ``unlike`` (what the runs had different) and ``seconds`` (a frame: B over A by stage, with its interval).
    """
    found = _compare(Path(a), Path(b))
    columns: dict[str, Any] = {
        "case": pd.Series([row.case for row in found.rows], dtype="string"),
        "algorithm": pd.Series([row.algorithm for row in found.rows], dtype="string"),
        "differs": pd.Series(["; ".join(row.differs) for row in found.rows], dtype="string"),
    }
    for name in SHOWN:
        for side in "ab":
            cells = [getattr(row, side).get(name) for row in found.rows]
            if name in _EXACT or name == "seconds":
                floats = [None if cell is None else float(cell) for cell in cells]
                columns[f"{name}_{side}"] = pd.Series(floats, dtype="float64")
            else:
                columns[f"{name}_{side}"] = pd.Series(cells, dtype="string")
            if name in _EXACT:
                columns[f"{name}_{side}_exact"] = pd.Series(cells, dtype=object)
    frame = pd.DataFrame(columns)
    paces = [
        (each.stage, each.algorithm, each.pairs, each.median, each.low, each.high, each.beyond_noise)
        for each in found.paces
    ]
    names = ["stage", "algorithm", "pairs", "median", "low", "high", "beyond_noise"]
    frame.attrs = {"unlike": list(found.unlike), "seconds": pd.DataFrame(paces, columns=names)}
    return frame


@dataclass(frozen=True)
class Imported:
    """What became of a log of jobs.

    Parameters
    ----------
    instances : in the order of time.
    report : how many jobs were imported, how many left out by which rule, what is assumed; ``text()``, ``document()``.
    """

    instances: Sequence[Any]
    report: ImportReport

    def __repr__(self) -> str:
        return f"<Imported: {len(self.instances)} instances>"


_OPTIONS = {"slot": "slot_seconds", "tail": "tail_seconds", "from": "first", "from_": "first", "to": "last"}
"""Options of `import`, and the fields of `ImportSettings` that they set."""


def imported(log: AnyPath, cluster: AnyPath, form: str = "", *, family: str = "", **laws: Any) -> Imported:
    """Instances of a log of real jobs, one per day or per some days; nothing is written.

    Parameters
    ----------
    log, cluster : the log, and the file with nodes and tariff.
    form : format of the log (``list logs``); ``format`` as well, as the command has it.
    family : what the jobs become; the first family that reads logs.
    laws : what stands in for what the log does not say: fields of
        `ratiobench.bench.family.capabilities.ImportSettings`, such as ``columns``, ``days``, ``slot_seconds``,
        ``slack``, ``price``, ``seed``; or options of the command: ``slot``, ``tail`` (seconds, or texts such as
        ``"10m"``), ``from_``, ``to``.

    Raises
    ------
    InputError : among others, a line that cannot be read: it names the file, the line, the column and the value.
    """
    _, reader = find_importer(family or None)
    known = [name for name in ImportSettings.__slots__ if name not in ("form", "cluster")]
    form = laws.pop("format", form)
    if not form:
        raise InputError("imported", "format", "is missing: the format of the log, as `list logs` names it")
    given: dict[str, Any] = {}
    for name, value in laws.items():
        law = _OPTIONS.get(name, name)
        if law not in known or law in given:
            problem = not_one_of(name, [*known, *_OPTIONS]) if law not in known else f"{law} is given twice"
            raise InputError("imported", "", problem)
        given[law] = _law(law, value)
    settings = replace(ImportSettings(form, Path(cluster)), **given)
    report, found = reader.read(Path(log), settings, lambda _: None)
    return Imported(list(found), report)


def generate(what: AnyPath, *, only: Sequence[str] | str = (), scale: str = "full", **keys: Any) -> dict[str, Any]:
    """Instances by the names of their cases; nothing is written.

    Parameters
    ----------
    what : name of a suite, a file of one's own (``my.toml``), or a recipe (``list recipes``).
    only, scale : of a suite, as those of `ratiobench.run`.
    keys : of a recipe, such as ``tasks=3000, vendors={"count": 2}``; a list makes a grid.

    Raises
    ------
    InputError : naming the key and the value that cannot be used.
    """
    if keys:
        document = {"instance": [{"recipe": str(what), **keys}]}
        family, suite = suite_of(document, str(what), Path(), families(), alone=True)
    else:
        family, suite = find_suite(str(what))
    patterns = (only,) if isinstance(only, str) else tuple(only)
    return {case.name: family.make(case.recipe) for case in named_cases(at_scale(suite, scale), patterns)}


def _law(name: str, value: Any) -> Any:
    """A law as the command has it: decimals as they are written (0.1 is a tenth), days as ISO text or dates."""
    try:
        if name == "slack":
            found: Any = Fraction(str(value))
            sound = found >= 1
        elif name == "price":
            low, high = value if isinstance(value, Sequence) and not isinstance(value, str) else (value, value)
            found = Fraction(str(low)), Fraction(str(high))
            sound = 0 <= found[0] <= found[1] <= 10**6
        elif name in ("days", "slot_seconds", "tail_seconds"):
            found = seconds_of(value) if isinstance(value, str) and name != "days" else value
            sound = type(found) is int and found >= (name != "tail_seconds")
        elif name in ("first", "last"):
            found = date.fromisoformat(value) if isinstance(value, str) else value
            sound = found is None or isinstance(found, date)
        else:
            return value
    except (ValueError, TypeError, ZeroDivisionError):
        sound = False
    if not sound:
        raise InputError("imported", name, f"{shorten(str(value))} cannot be used; `import --help` says what can")
    return found
