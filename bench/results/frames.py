"""The rows of a run with one type per column, as pandas likes them; `Results.exact` has the same rows in fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pandas as pd

from ratiobench.bench.results import repetitions
from ratiobench.bench.results.read import COLUMNS, Results, online_seconds
from ratiobench.bench.results.row import is_known
from ratiobench.instances.io.errors import InputError, shorten

# Types of the columns of `Results.seconds`
SECONDS = {"case": "string", "algorithm": "string", "stage": "string", "seconds": "float64"}
# Columns of a frame, unless others are named; behind them the verdict of the family's headline, where it has one, and
# what is known of means of runs, where there are some
FEW = (
    "case", "group", "algorithm", "state", "ratio_lower", "ratio_upper", "reached", "welfare", "admitted", "revenue",
    "seconds",
)  # fmt: skip
ALL = "all"
# Text that is one of a few in a run
_NAMES = ("case", "group", "algorithm", "label", "opt_lower_source", "opt_formulation", "opt_backend")
_TYPES = {
    "state": "category",
    "opt_status": "category",
    "opt_proof": "category",
    "ratio_kind": "category",
    "constants_source": "category",
    "arithmetic": "category",
    "admitted": "Int64",
    "repetitions": "Int64",
    "opt_time_limited": "boolean",
}
_FIGURES = (
    "opt_lower",
    "opt_upper",
    "welfare",
    "true_welfare",
    "revenue",
    "ratio_lower",
    "ratio_upper",
    "reached",
    "behind_lower",
    "behind_upper",
)


def list_types(found: Results) -> dict[str, str]:
    """The type of every column of `rows`, whatever stands in it.

    Figures are float64, empty ones NaN: the double nearest to the exact figure, which may lie on either side of it.
    Whole numbers are Int64, yes or no is boolean, words of a fixed list are categories, all other text is string. Of
    means of runs (`repeated`) the number of admitted tasks is float64, too.
    """
    chosen = dict.fromkeys(found.exact.columns, "string") | _TYPES
    chosen |= dict.fromkeys((*_FIGURES, *found.measures, *found.accounts), "float64")
    chosen |= {name: "float64" for name, meaning in COLUMNS.items() if meaning.startswith("float:")}
    for check in found.checks:
        chosen |= {check: "category", f"{check}_left": "float64", f"{check}_right": "float64"}
    if len(found.repetitions):
        chosen |= {name: "float64" for name, meaning in repetitions.COLUMNS.items() if meaning.startswith("float:")}
        chosen["admitted"] = "float64"
    return {name: chosen[name] for name in found.exact.columns}


def apply_types(found: Results) -> pd.DataFrame:
    """`found.exact` with the types of `list_types`, columns and rows in the same order."""
    columns = {}
    for name, kind in list_types(found).items():
        cells: list[Any] = [value if is_known(value) else None for value in found.exact[name]]
        if kind == "float64":
            cells = [None if value is None else _double(value) for value in cells]
        columns[name] = pd.Series(cells, index=found.exact.index, dtype=kind)
    return pd.DataFrame(columns, index=found.exact.index, columns=found.exact.columns)


def make_frame(
    found: Results, columns: str | Sequence[str] = (), exact: bool = False, headline: str = ""
) -> pd.DataFrame:
    """The rows for a notebook: names and verdicts are categories, in the order of the suite.

    `columns`: names of columns of `rows`, or ``seconds``; ``"all"`` for all of them; `FEW` if none is named; `exact`:
    behind every figure that is exact, ``NAME_exact`` has it as an integer or a fraction; `headline`: check whose
    verdict stands behind `FEW`, with the assumptions of its proof that fail; empty for none.
    """
    every = [*found.exact.columns, "seconds"]
    chosen = [columns] if isinstance(columns, str) and columns != ALL else list(columns)
    if columns == ALL:
        chosen = every
    elif not chosen:
        chosen = [*FEW, *([headline] if headline in found.checks else [])]
        chosen += [f"{headline}_failing"] if headline in found.asking else []
        chosen += ["repetitions", "welfare_low", "welfare_high"] if len(found.repetitions) else []
    for name in chosen:
        if name not in every:
            raise InputError("columns", "", f"{shorten(name)} is not one of {', '.join(every)}, nor {ALL!r}")
    sides = [f"{check}_{side}" for check in found.checks for side in ("left", "right")]
    figures = {*_FIGURES, *found.measures, *found.accounts, *sides, "admitted"}
    spent = online_seconds(found)
    rows, made = apply_types(found), {}
    for name in chosen:
        if name == "seconds":
            addresses = zip(found.exact["case"], found.exact["algorithm"], strict=True)
            made[name] = pd.Series([spent.get(each) for each in addresses], index=rows.index, dtype="float64")
            continue
        made[name] = rows[name]
        if name in _NAMES:
            order = list(dict.fromkeys(value for value in found.exact[name] if is_known(value)))
            made[name] = rows[name].astype(pd.CategoricalDtype(order))
        elif exact and name in figures:
            made[f"{name}_exact"] = found.exact[name].map(_exact).astype(object)
    return pd.DataFrame(made, index=rows.index)


def _exact(value: Any) -> Any:
    """An integer or a fraction, also where results.csv has it as text."""
    if not is_known(value):
        return None
    return Fraction(value) if isinstance(value, str) else value


def _double(value: Any) -> float:
    if isinstance(value, float):
        return value
    exact = Fraction(value)
    try:
        return float(exact)
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")
