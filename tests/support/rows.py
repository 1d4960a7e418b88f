"""Rows of results made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ratiobench.bench.family.sense import Sense
from ratiobench.bench.results import ratios
from ratiobench.bench.results.read import COLUMNS
from ratiobench.bench.results.row import Row, make_row
from ratiobench.online.remarks import Remarks


def made_row(algorithm: str = "x", checks: Sequence[str] = (), **cells: Any) -> Row:
    """A row of these cells, by column; its name has no remarks unless these are among them."""
    told = {"case": "", "group": "", "remarks": Remarks(algorithm), "algorithm": algorithm}
    return make_row(told | cells, checks)


def result_cells(case: str, algorithm: str, value: int | None, lower: int = 90, upper: int = 100, **more: Any) -> Any:
    """The cells of a row whose run has this value beside OPT in [lower, upper]; without a value it has not run."""
    sense = more.pop("sense", Sense.MOST)
    cells = dict.fromkeys(COLUMNS) | {"case": case, "group": more.pop("group", "g"), "algorithm": algorithm}
    cells |= {"label": algorithm, "remarks": Remarks(algorithm), "sources": frozenset(), "instance": case}
    cells |= {"state": "missing", "opt_lower": lower, "opt_upper": upper}
    if value is not None:
        cells |= {"state": "ok", "welfare": Fraction(value), **ratios.columns(lower, upper, Fraction(value), sense)}
    return cells | more
