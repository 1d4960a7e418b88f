"""A family's folder of shipped instances: their files by name, and the table of what is known exactly about them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from ratiobench.instances.io.errors import require_known

EXPECTED = "expected.json"
_TABLES = (EXPECTED, "bounds.json")
Instance = TypeVar("Instance")


@dataclass(frozen=True, slots=True)
class ShippedInstances(Generic[Instance]):
    folder: Path  # where they lie, with the table `EXPECTED`
    read: Callable[[Path], Instance]  # what reads one

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(path.stem for path in self.folder.glob("*.json") if path.name not in _TABLES))

    def path(self, name: str) -> Path:
        require_known(name, self.names(), "named instances", "name")
        return self.folder / f"{name}.json"

    def named(self, name: str) -> Instance:
        return self.read(self.path(name))

    def expected(self, name: str) -> Mapping[str, Any]:
        """What is known exactly about a shipped instance; nothing, where the table does not name it."""
        self.path(name)
        return dict(_table(self.folder).get(name, {}))


@cache
def _table(folder: Path) -> Mapping[str, Mapping[str, Any]]:
    table: dict[str, dict[str, Any]] = json.loads((folder / EXPECTED).read_text(encoding="utf-8"))
    return table
