"""The table of results as an Apache Parquet file; needs the package `pyarrow`."""

from __future__ import annotations

import importlib
import io
from pathlib import Path

import pandas as pd

from ratiobench.bench.results import repetitions
from ratiobench.bench.results.read import COLUMNS, is_known
from ratiobench.instances.io.errors import InputError, install_command
from ratiobench.instances.io.files import write_atomically

FILE = "results.parquet"
_TYPES = {"admitted": "Int64", "repetitions": "Int64", "opt_time_limited": "boolean"}


def require() -> None:
    """Refuse, before any work, where `pyarrow` is not installed.

    Raises
    ------
    InputError : it is not.
    """
    try:
        importlib.import_module("pyarrow")
    except ImportError:
        problem = f"needs the package `pyarrow`, which is not installed: {install_command('parquet')}"
        raise InputError("--parquet", "", problem) from None


def apply_types(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with one type per column: floats where `COLUMNS` says so, else text as in the CSV file, None as null."""
    columns = {}
    for name in rows.columns:
        cells = [value if is_known(value) else None for value in rows[name]]
        meaning = COLUMNS.get(name) or repetitions.COLUMNS.get(name, "")
        kind = "Float64" if meaning.startswith("float:") else _TYPES.get(name, "string")
        if kind == "Int64" and not all(value is None or int(value) == value for value in cells):
            kind = "string"  # means of runs
        if kind == "string":
            cells = [None if value is None else str(value) for value in cells]
        columns[name] = pd.Series(cells, dtype=kind)
    return pd.DataFrame(columns)


def write(rows: pd.DataFrame, path: Path) -> None:
    """Write the rows, whole or not at all; the same bytes for the same rows and versions.

    Raises
    ------
    InputError : without `pyarrow`, or where the file cannot be written.
    """
    require()
    data = io.BytesIO()
    apply_types(rows).to_parquet(data, engine="pyarrow", index=False)
    write_atomically(path, data.getvalue())
