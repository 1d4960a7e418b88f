"""Rows of results made by hand."""

from fractions import Fraction
from typing import Any

from ratiobench.bench.family.sense import Sense
from ratiobench.bench.results import ratios
from ratiobench.bench.results.row import Row
from ratiobench.online.remarks import Remarks


def made_row(algorithm: str = "x", case: str = "", group: str = "g", **cells: Any) -> Row:
    """A row of these cells, by column; its name has no remarks unless these are among them."""
    remarks = cells.pop("remarks", Remarks(algorithm))
    return Row(case=case, group=group, algorithm=algorithm, remarks=remarks, label=remarks.label, **cells)


def result_row(case: str, algorithm: str, value: int | None, lower: int = 90, upper: int = 100, **more: Any) -> Row:
    """A row whose run has this value beside OPT in [lower, upper]; without a value it has not run."""
    sense = more.pop("sense", Sense.MOST)
    cells: dict[str, Any] = {"instance": case, "opt_lower": lower, "opt_upper": upper}
    if value is not None:
        cells |= {"state": "ok", "welfare": Fraction(value), **ratios.columns(lower, upper, Fraction(value), sense)}
    return made_row(algorithm, case, **cells | more)
