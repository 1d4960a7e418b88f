"""Stored runs: the shipped algorithms on the instances of a standard set, `bench/standard/NAME.runs.json.gz`.

`standard runs` writes them. `run` shows them where it would run the same version of the same algorithm on the same
instance, and `evaluate` compares a policy with the best of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from ratiobench.bench.family.standard import StandardSet
from ratiobench.instances.io.documents import Part, read_document
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.files import line_of, write_text

FORMAT = "ratiobench/standard-runs/1"
NEEDED = {"valid", "welfare", "constants", "seconds"}  # Of a run, for what is read here


class StoredRun(Part, frozen=True):
    """A run of a shipped algorithm on an instance of a set."""

    entry: str
    instance: str  # SHA-256 of its content
    algorithm: str  # with its options
    key: str  # what a folder of results has: its version, the solver, where its prices are from
    run: dict[str, Any]  # as `run_payload` gives it; `seconds` is None: another machine's say nothing here
    measures: dict[str, str | int | None]  # the family's, as text

    def __post_init__(self) -> None:
        if missing := sorted(NEEDED - self.run.keys()):
            raise InputError("", f"run.{missing[0]}", "the field is missing")

    @property
    def is_oracle(self) -> bool:
        """Whether constants come from the instance itself."""
        return any(constant["source"] == "oracle" for constant in self.run["constants"])


class Runs(Part, frozen=True):
    """The file."""

    format: Literal["ratiobench/standard-runs/1"]
    runs: list[StoredRun]


def path_of(chosen: StandardSet) -> Path:
    """The file beside the manifest."""
    return chosen.path.with_suffix(".runs.json.gz")


def read_runs(chosen: StandardSet) -> Mapping[tuple[str, str], StoredRun]:
    """The stored runs of a set by entry and algorithm; none where there is no such file."""
    path = path_of(chosen)
    return _read(path, path.stat().st_mtime_ns) if path.exists() else {}


@lru_cache(maxsize=4)
def _read(path: Path, _: int) -> Mapping[tuple[str, str], StoredRun]:
    return {(run.entry, run.algorithm): run for run in read_document(path, Runs).runs}


def write_runs(chosen: StandardSet, runs: Iterable[StoredRun]) -> None:
    """Write the runs in the order of the set's entries, whole or not at all."""
    place = {entry.name: number for number, entry in enumerate(chosen.entries)}
    order = sorted(runs, key=lambda each: (place[each.entry], each.algorithm))
    lines = ",\n".join(line_of(msgspec.to_builtins(each)) for each in order)
    write_text(path_of(chosen), f'{{"format": "{FORMAT}", "runs": [\n{lines}\n]}}\n')
