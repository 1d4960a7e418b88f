"""The rows of a run with one type per column, as pandas likes them; `Results.exact` has the same rows in fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pandas as pd

from bench.tables.rows import COLUMNS, Results, is_known

SECONDS = {"case": "string", "algorithm": "string", "stage": "string", "seconds": "float64"}
"""Types of the columns of `Results.seconds`."""
_TYPES = {
    "state": "category",
    "opt_status": "category",
    "opt_proof": "category",
    "ratio_kind": "category",
    "constants_source": "category",
    "arithmetic": "category",
    "admitted": "Int64",
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


def types(found: Results) -> dict[str, str]:
    """The type of every column of `rows`, whatever stands in it.

    Figures are float64, empty ones NaN: the double nearest to the exact figure, which may lie on either side of it.
    Whole numbers are Int64, yes or no is boolean, words of a fixed list are categories, all other text is string.
    """
    chosen = dict.fromkeys(found.exact.columns, "string") | _TYPES
    chosen |= dict.fromkeys((*_FIGURES, *found.measures, *found.accounts), "float64")
    chosen |= {name: "float64" for name, meaning in COLUMNS.items() if meaning.startswith("float:")}
    for check in found.checks:
        chosen |= {check: "category", f"{check}_left": "float64", f"{check}_right": "float64"}
    return chosen


def typed(found: Results) -> pd.DataFrame:
    """`found.exact` with the types of `types`, columns and rows in the same order."""
    columns = {}
    for name, kind in types(found).items():
        cells: list[Any] = [value if is_known(value) else None for value in found.exact[name]]
        if kind == "float64":
            cells = [None if value is None else _double(value) for value in cells]
        columns[name] = pd.Series(cells, index=found.exact.index, dtype=kind)
    return pd.DataFrame(columns, index=found.exact.index, columns=found.exact.columns)


def _double(value: Any) -> float:
    """The nearest double; infinite beyond all of them."""
    if isinstance(value, float):
        return value
    exact = Fraction(value)
    try:
        return float(exact)
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")
