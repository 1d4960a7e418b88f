"""The shipped instances: tiny hand-made ones that show what the second paper's rule and lemma get wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from instances.eapm.format import read
from instances.eapm.model import Instance
from instances.errors import InputError, shown

_FOLDER = Path(__file__).with_name("named")
_EXPECTED = "expected.json"


def names() -> tuple[str, ...]:
    """The names of the shipped instances, in alphabetical order."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.json") if path.name != _EXPECTED))


def path(name: str) -> Path:
    """The file of a shipped instance.

    Raises
    ------
    InputError : when there is none of that name.
    """
    if name not in names():
        raise InputError("named instances", "name", f"{shown(name)} is none of {', '.join(names())}")
    return _FOLDER / f"{name}.json"


def named(name: str) -> Instance:
    """A shipped instance."""
    return read(path(name))


@lru_cache(maxsize=1)
def _table() -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = json.loads((_FOLDER / _EXPECTED).read_text(encoding="utf-8"))
    return table


def expected(name: str) -> Mapping[str, Any]:
    """What is known exactly about a shipped instance: ``opt``, ``greedy`` and ``average``, fractions in strings."""
    path(name)
    return dict(_table()[name])
