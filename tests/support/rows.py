"""Rows of results made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ratiobench.bench.results.row import Row, make_row
from ratiobench.online.remarks import Remarks


def made_row(algorithm: str = "x", checks: Sequence[str] = (), **cells: Any) -> Row:
    """A row of these cells, by column; its name has no remarks unless these are among them."""
    told = {"case": "", "group": "", "remarks": Remarks(algorithm), "algorithm": algorithm}
    return make_row(told | cells, checks)
