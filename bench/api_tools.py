"""More commands as functions (see `ratiobench.bench.api`): `audit`, `check`, `search`, `limit`, `compare`, `generate`.

Tables are pandas DataFrames: figures as float64, the exact figure beside each as ``NAME_exact`` (integers, fractions).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ratiobench.bench.api import AnyPath, listed
from ratiobench.bench.cluster.commands import import_logs
from ratiobench.bench.commands import audit as commands_audit
from ratiobench.bench.commands import bridge
from ratiobench.bench.commands import check as commands_check
from ratiobench.bench.commands import crosscheck as commands_crosscheck
from ratiobench.bench.commands import limit as commands_limit
from ratiobench.bench.commands import search as commands_search
from ratiobench.bench.commands.audit import Audit
from ratiobench.bench.commands.check import Check
from ratiobench.bench.commands.crosscheck import Crosscheck
from ratiobench.bench.commands.functions import as_function
from ratiobench.bench.commands.limit import Limit
from ratiobench.bench.commands.search import RUNS, Search
from ratiobench.bench.commands.shared import SuitePartOptions, read_given
from ratiobench.bench.family.capabilities import SearchResult
from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.registry import families, find_limits, find_worst_case_search
from ratiobench.bench.family.suite_file import suite_of
from ratiobench.bench.report.folders import SHOWN
from ratiobench.bench.report.folders import compare as _compare
from ratiobench.bench.running.runner import filter_cases, scale_suite
from ratiobench.formulations.report import SolveReport
from ratiobench.instances.io.files import read_bytes
from ratiobench.online.outcome import OnlineRun
from ratiobench.online.user_algorithm import name_algorithms

__all__ = ["audit", "check", "compare", "crosscheck", "generate", "imported", "limit", "search"]

# Types of the columns of `audit`; the exact sides, `witness`, `figures` and `failing` hold Python objects
AUDIT_TYPES: Mapping[str, Any] = {
    "claim": "string",
    "verdict": pd.CategoricalDtype([each.value for each in Verdict]),
    "left": "float64",
    "right": "float64",
    "reason": "string",
}
imported = bridge.as_function(import_logs)
_EXACT = ("opt_lower", "opt_upper", "welfare", "ratio_lower", "ratio_upper")


@as_function(Audit, without=("file", "algorithm", "claim", "task", "curve", "csv"), others={"prior": None})
def audit(file: Any, algorithm: object, claims: Iterable[str] | str = (), **options: Any) -> pd.DataFrame:
    """Check the claims of the theory on one run: a row per claim ``left <= right``, with its verdict.

    Parameters
    ----------
    file : an instance or its file.
    algorithm : name with options, import path, class, or object of such a class.
    claims : these only, by name; empty for all.
    prior : another day, from which an algorithm with ``prior=yesterday`` in its name takes its constants.
    {options}

    Returns
    -------
    Columns as `AUDIT_TYPES`, and ``failing``: the assumptions of the claim's proof that fail on the run, None where the
    check does not separate them from the claim. ``attrs`` has ``algorithm``, ``valid``, ``value``, ``lower``, ``upper``
    (exact) and ``ratio`` (text).

    Raises
    ------
    InputError : a file, algorithm or option that cannot be used, or a claim that audits do not check.

    Examples
    --------
    >>> import ratiobench
    >>> from ratiobench.instances.lora.named import named
    >>> table = ratiobench.audit(named("thm5_T5_3tasks"), "greedy")
    >>> "violated" in list(table["verdict"])
    False
    """
    family, _ = read_given(file)
    (name,), handed = name_algorithms([algorithm], family.secret_types())
    found = commands_audit.audit_run(Audit(file=file, algorithm=name, claim=_names(claims), own=handed, **options))
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
        for check in found.checks
    ]
    columns = [*AUDIT_TYPES, "left_exact", "right_exact", "witness", "figures", "failing"]
    frame = pd.DataFrame(rows, columns=columns, dtype=object)
    for side in ("left", "right"):
        frame[side] = [None if value is None else float(value) for value in frame[side]]
    frame = frame.astype(dict(AUDIT_TYPES))
    frame.attrs = {
        "algorithm": found.run.label, "valid": found.run.valid, "value": found.run.welfare,
        "lower": found.reference.lower, "upper": found.reference.upper, "ratio": str(found.ratio),
    }  # fmt: skip
    return frame


@dataclass(frozen=True)
class CrossCheckResult:
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


@as_function(Crosscheck, without=("file",))
def crosscheck(file: Any, **options: Any) -> CrossCheckResult:
    """Solve P as printed, built in PuLP and in OR-Tools, with HiGHS and CBC, and compare with the certified interval.

    Parameters
    ----------
    file : an instance or its file.
    {options}

    Returns
    -------
    A `CrossCheckResult` with a row for each formulation and solver.

    Raises
    ------
    InputError : a family without such a check, or an option out of range.

    Examples
    --------
    >>> import ratiobench
    >>> from ratiobench.instances.lora.named import named
    >>> ratiobench.crosscheck(named("thm5_T5_3tasks")).verdict  # doctest: +SKIP
    'all agree'

    Source: main paper, problem (4).
    """
    found = commands_crosscheck.run(Crosscheck(file=file, **options)).answers
    return CrossCheckResult(pd.DataFrame(found.documents()), found.verdict, found.lower, found.upper)


@as_function(Check, without=("file", "solution", "certificate", "explain"))
def check(file: Any, judged: Any, **options: Any) -> Mapping[str, Any]:
    """Verify a solution, or the certificate of an interval on OPT, exactly, by code that shares nothing with solvers.

    Parameters
    ----------
    file : an instance or its file.
    judged : a run (`ratiobench.simulate`), a report (`ratiobench.opt`), the document of a solution or of a certificate,
        or its file.
    {options}

    Returns
    -------
    ``valid``; of a solution its value, ``violations`` and more; of a certificate ``lower``, ``upper``, ``problem``.

    Raises
    ------
    InputError : a document that is neither a solution nor a certificate, or of another instance.

    Examples
    --------
    >>> import ratiobench
    >>> from ratiobench.instances.lora.named import named
    >>> instance = named("thm5_T5_3tasks")
    >>> ratiobench.check(instance, ratiobench.simulate(instance, "greedy"))["valid"]
    True
    """
    family, instance = read_given(file)
    if isinstance(judged, OnlineRun | SolveReport):
        judged = family.solution_document(judged.decisions if isinstance(judged, OnlineRun) else judged.solution)
    document = judged if isinstance(judged, Mapping) else family.load_document(instance, *read_bytes(judged))
    given = document if judged == "-" else judged
    proof = commands_check.is_certificate(document)
    chosen = Check(file=instance, solution=None if proof else given, certificate=given if proof else None, **options)
    found = commands_check.run(chosen)
    list(commands_check.write(chosen, found))
    return found.verdict


def _names(given: Iterable[str] | str) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _silent(line: str) -> None:
    """Drop a line of progress."""


@as_function(Search, without=("claim", "algorithm", "against", "out", "resume"), defaults={"tries": RUNS})
def search(claim: str = "", *, algorithm: object = None, against: object = "", **options: Any) -> SearchResult:
    """Look for an instance that violates a claim, or on which an algorithm is furthest from OPT or from another one.

    Parameters
    ----------
    claim : its name (any other name lists them); empty: the worst ratio of `algorithm` is looked for.
    algorithm : name with options, import path, class, or object; without a claim only.
    against : another algorithm; its value replaces OPT.
    {options}

    Returns
    -------
    ``violated``, ``left``, ``right``, ``score``, ``instance``, ``check``, ``tries``, ...

    Raises
    ------
    InputError : both or neither of claim and algorithm, and what cannot be searched for.

    Examples
    --------
    >>> import ratiobench
    >>> ratiobench.search(algorithm="greedy", tries=10).tries
    10
    """
    if algorithm is None or claim:
        chosen = Search(claim=claim, algorithm=str(algorithm or ""), against=str(against or ""), **options)
        return commands_search.run(chosen, _silent).result
    family, _ = find_worst_case_search()
    names, handed = name_algorithms([algorithm, *([against] if against else [])], family.secret_types())
    chosen = Search(algorithm=names[0], against=names[1] if len(names) > 1 else "", own=handed, **options)
    return commands_search.run(chosen, _silent).result


# Types of the columns of `limit`
LIMIT_TYPES: Mapping[str, Any] = {
    "algorithm": "string",
    "state": "string",
    "reason": "string",
    "level": "string",
    "arrivals": "Int64",
    "opt": "float64",
    "alg": "float64",
    "ratio": "float64",
    "worst": "boolean",
    "bound": "float64",
}


@as_function(Limit, without=("name", "algorithms", "csv"))
def limit(name: str, algorithm: object, **options: Any) -> pd.DataFrame:
    """OPT/ALG at every prefix of an instance on which no algorithm can do well, beside what none can beat.

    Parameters
    ----------
    name : family or recipe, such as ``rising`` or ``limit:rising:theta=20,K=1``; any other name lists them.
    algorithm : one or several: names with options, import paths, classes, or objects.
    {options}

    Returns
    -------
    A row per algorithm and prefix: columns as `LIMIT_TYPES` (`opt` and `alg` in the unit of the family, `ratio`
    infinite where ALG is 0, `bound` the limit of every algorithm), and ``alg_exact``, ``ratio_exact`` (None:
    unbounded), ``bound_exact``. An algorithm without figures has one row, with its `state` and `reason`. ``attrs`` has
    ``recipe``, ``note``, ``theorem`` and ``bound`` (exact).

    Raises
    ------
    InputError : a family, key, algorithm or number that cannot be used.

    Examples
    --------
    >>> import ratiobench
    >>> table = ratiobench.limit("rising:theta=4,K=1", "greedy")
    >>> max(table["ratio_exact"])
    Fraction(4, 1)
    """
    family, _ = find_limits()
    names, handed = name_algorithms(listed(algorithm), family.secret_types())
    found = commands_limit.run(Limit(name=name, algorithms=tuple(names), own=handed, **options))
    rows = commands_limit.rows(found)
    exact = ("alg", "ratio", "bound")
    frame = pd.DataFrame(rows, columns=[*LIMIT_TYPES], dtype=object)
    for column in exact:
        frame[f"{column}_exact"] = [None if value == "unbounded" else value for value in frame[column]]
        frame[column] = [
            None if value is None else float("inf") if value == "unbounded" else float(value) for value in frame[column]
        ]
    frame = frame.astype(dict(LIMIT_TYPES))
    case = found.case
    frame.attrs = {"recipe": case.recipe, "note": case.note, "theorem": case.theorem, "bound": case.bound}
    return frame


def compare(a: AnyPath, b: AnyPath) -> pd.DataFrame:
    """Compare two folders of results.

    Parameters
    ----------
    a, b : folders of results, as `ratiobench.run` names them.

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


def generate(
    what: AnyPath,
    *,
    only: Sequence[str] | str = (),
    tier: Sequence[str] | str = (),
    scale: str = "full",
    over: Sequence[str] | str = (),
    **keys: Any,
) -> dict[str, Any]:
    """Make the instances of a suite, a file of recipes, or one recipe; write nothing.

    Parameters
    ----------
    what : name of a suite, a file of your own (``my.toml``), or a recipe (``list recipes``).
    only, tier, scale, over : which cases of a suite, as in `ratiobench.run`.
    keys : of a recipe, such as ``tasks=3000, vendors={"count": 2}``; a list makes a grid.

    Returns
    -------
    Instances by the names of their cases.

    Raises
    ------
    InputError : a key or value that cannot be used; names both.

    Examples
    --------
    >>> import ratiobench
    >>> ratiobench.generate("paper", tasks=5, slots=6, nodes=2)["paper"].tasks
    5
    """
    chosen = SuitePartOptions(suite=str(what), only=_names(only), tier=_names(tier), scale=scale, over=_names(over))
    if keys:
        document = {"instance": [{"recipe": str(what), **keys}]}
        family, suite = suite_of(document, str(what), Path(), families(), alone=True)
    else:
        family, suite = chosen.find()
    cases = filter_cases(scale_suite(suite, chosen.scale), chosen.only, chosen.tier)
    return {case.name: family.make(case.recipe) for case in cases}
