"""A family's folder of shipped instances: their files by name, and the table of what is known exactly about them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from instances.errors import InputError, shown

EXPECTED = "expected.json"
_TABLES = (EXPECTED, "bounds.json")


def names(folder: Path) -> tuple[str, ...]:
    """The names of the instances in the folder, in alphabetical order."""
    return tuple(sorted(path.stem for path in folder.glob("*.json") if path.name not in _TABLES))


def path(folder: Path, name: str) -> Path:
    """The file of a shipped instance.

    Raises
    ------
    InputError : when there is none of that name.
    """
    if name not in (known := names(folder)):
        raise InputError("named instances", "name", f"{shown(name)} is none of {', '.join(known)}")
    return folder / f"{name}.json"


@cache
def expected(folder: Path) -> Mapping[str, Mapping[str, Any]]:
    """What the folder's table holds, by instance."""
    table: dict[str, dict[str, Any]] = json.loads((folder / EXPECTED).read_text(encoding="utf-8"))
    return table
