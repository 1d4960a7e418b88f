"""The shipped instances: the counterexamples of the theory with their exact figures, and tiny hand-made ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from instances.errors import InputError, shown
from instances.lora.format import read
from instances.lora.model import Instance

_FOLDER = Path(__file__).with_name("named")
_EXPECTED = "expected.json"
_BOUNDS = "bounds.json"


def names() -> tuple[str, ...]:
    """The names of the shipped instances, in alphabetical order."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.json") if path.name not in (_EXPECTED, _BOUNDS)))


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
    """What is known exactly about a shipped instance: figures are fractions in strings, verdicts are booleans.

    Figures of the algorithm are those of pdFTSP as printed, with the exact schedule search and units as given.
    An absent key means that the figure is not known or does not apply.
    """
    path(name)
    return dict(_table().get(name, {}))
