"""Stored runs: the shipped algorithms on the instances of a standard set, `bench/standard/NAME.runs.json.gz`.

`standard runs` writes them. `run` shows them where it would run the same version of the same algorithm on the same
instance, and `evaluate` compares a policy with the best of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ratiobench.bench.family.standard import StandardSet
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.files import line_of, load_json, read_bytes, write_text

FORMAT = "ratiobench/standard-runs/1"
NEEDED = {"valid", "welfare", "constants", "seconds"}  # Of a run, for what is read here


class StoredRun(NamedTuple):
    """A run of a shipped algorithm on an instance of a set."""

    entry: str
    instance: str  # SHA-256 of its content
    algorithm: str  # with its options
    key: str  # what a folder of results has: its version, the solver, where its prices are from
    run: Mapping[str, Any]  # as `run_payload` gives it; `seconds` is None: another machine's say nothing here
    measures: Mapping[str, str | None]  # the family's, as text

    @property
    def is_oracle(self) -> bool:
        """Whether constants come from the instance itself."""
        return any(constant["source"] == "oracle" for constant in self.run["constants"])


def path_of(chosen: StandardSet) -> Path:
    """The file beside the manifest."""
    return chosen.path.with_suffix(".runs.json.gz")


def read_runs(chosen: StandardSet) -> Mapping[tuple[str, str], StoredRun]:
    """The stored runs of a set by entry and algorithm; none where there is no such file."""
    path = path_of(chosen)
    return _read(path, path.stat().st_mtime_ns) if path.exists() else {}


@lru_cache(maxsize=4)
def _read(path: Path, _: int) -> Mapping[tuple[str, str], StoredRun]:
    data, source = read_bytes(path)
    document = load_json(data, source)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError(source, "format", f"these are no stored runs ({FORMAT})")
    found = {}
    for number, row in enumerate(document.get("runs", ())):
        if not isinstance(row, dict) or row.keys() != {*StoredRun._fields} or NEEDED - {*row["run"]}:
            raise InputError(source, f"runs[{number}]", f"{shorten(row)} is not as `standard runs` writes it")
        found[row["entry"], row["algorithm"]] = StoredRun(**row)
    return found


def write_runs(chosen: StandardSet, runs: Iterable[StoredRun]) -> None:
    """Write the runs in the order of the set's entries, whole or not at all."""
    place = {entry.name: number for number, entry in enumerate(chosen.entries)}
    order = sorted(runs, key=lambda each: (place[each.entry], each.algorithm))
    lines = ",\n".join(line_of(each._asdict()) for each in order)
    write_text(path_of(chosen), f'{{"format": "{FORMAT}", "runs": [\n{lines}\n]}}\n')
