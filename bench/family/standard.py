"""Standard sets: published instances with certificates of OPT, ``bench/standard/NAME.json`` and ``NAME/ENTRY.cert``."""

from __future__ import annotations

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ratiobench.bench.family.suite import Case, Suite, is_informed
from ratiobench.instances.io import packing
from ratiobench.instances.io.documents import Digest, Part, read_document
from ratiobench.instances.io.errors import InputError, explain_unknown_name, require_known, shorten
from ratiobench.instances.io.files import iterate_values, line_of, read_bytes, sha256_of, write_atomically, write_text

if TYPE_CHECKING:
    from ratiobench.formulations.report import Exact

FORMAT = "ratiobench/standard/1"
HERE = Path(__file__).resolve().parents[1] / "standard"
# The columns of a history, `NAME.history.csv` beside the manifest
HISTORY = ("instance", "date", "lower", "upper", "seconds", "machine", "command")
MAIN = "R1"  # The set that is meant where none is named; the later ones add instances to it
# The suite of the first family in the main set; those of others have the family's name, or the set's, behind it
SUITE = "standard"

_PRINTABLE = r"^[^\x00-\x1f\x7f-\x9f]*$"
Word = Annotated[str, Meta(pattern="^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$", title="a name of letters, digits, _, . and -")]
Day = Annotated[str, Meta(pattern=r"^([0-9]{4}-[0-9]{2}-[0-9]{2})?$", title="a day YYYY-MM-DD")]
Line = Annotated[str, Meta(max_length=300, pattern=_PRINTABLE, title="a line of text")]
Seconds = Annotated[float, Meta(ge=0, le=1e12)]
# A figure as `json_number` writes it
End = (
    Annotated[int, Meta(ge=-(2**62), le=2**62)]
    | Annotated[str, Meta(pattern="^-?[0-9]{1,40}/[1-9][0-9]{0,39}$", title='a fraction "p/q"')]
)
Key = Annotated[str, Meta(max_length=40, pattern=_PRINTABLE)]


class First(Part, frozen=True):
    """How hard an instance is: the interval and the seconds of the first solve."""

    lower: End
    upper: End
    seconds: Seconds


class Record(Part, frozen=True):
    lower: End
    upper: End
    certificate: Digest  # of the file that proves it
    date: Day  # UTC
    command: Line
    seconds: Seconds  # that it took, all efforts together
    machine: Line  # the class of machine


class Entry(Part, frozen=True, omit_defaults=True):
    name: Word  # name, tier: what it is called, and how large it is in a word; names of files
    tier: Word
    family: Word  # of its problem
    recipe: dict[str, Any]
    instance: Annotated[str, Meta(pattern="^([0-9a-f]{64})?$", title="a SHA-256")] = ""  # empty until somebody made it
    size: dict[Key, int | float | Key | None] | None = None  # a few figures about it
    first: First | None = None
    best: Record | None = None  # the best that is known; None as long as nothing is

    def count(self, figure: str) -> int:
        value = (self.size or {}).get(figure)
        return value if isinstance(value, int) else 0


class Manifest(Part, frozen=True):
    format: Literal["ratiobench/standard/1"]
    name: Word
    released: Day
    algorithms: dict[str, list[Line]]
    entries: Annotated[list[Entry], Meta(max_length=10_000)]


@dataclass(frozen=True, slots=True)
class StandardSet:
    name: str  # with its version
    path: Path  # of the manifest
    released: str  # when, ISO 8601; empty before
    algorithms: Mapping[str, Sequence[str]]  # per family, what `run` runs beside the user's own
    entries: Sequence[Entry]  # in order

    @property
    def folder(self) -> Path:
        return self.path.with_suffix("")

    def certificate(self, entry: Entry) -> Path:
        return self.folder / f"{entry.name}{packing.SUFFIX}"

    @property
    def digest(self) -> str:
        """SHA-256 of what never changes: names, tiers, recipes and hashes of the entries."""
        return sha256_of([[each.name, each.tier, each.family, each.recipe, each.instance] for each in self.entries])

    def find(self, name: str) -> Entry:
        known = {each.name: each for each in self.entries}
        require_known(name, known, str(self.path), "name", "standard list")
        return known[name]

    @property
    def history(self) -> Path:
        """The file with every interval that was recorded, the oldest first."""
        return self.path.with_suffix(".history.csv")

    def read_history(self) -> list[dict[str, str]]:
        data = read_bytes(self.history)[0] if self.history.exists() else b""
        return list(csv.DictReader(io.StringIO(data.decode())))

    def add_to_history(self, name: str, record: Record) -> None:
        text = io.StringIO()
        rows = csv.DictWriter(text, HISTORY, lineterminator="\n")
        old = read_bytes(self.history)[0] if self.history.exists() else b""
        if not old:
            rows.writeheader()
        rows.writerow({"instance": name} | {column: getattr(record, column) for column in HISTORY[1:]})
        write_atomically(self.history, old + text.getvalue().encode())

    def write(self) -> None:
        rows = msgspec.to_builtins(self.entries)
        head = {"format": FORMAT, "name": self.name, "released": self.released, "algorithms": dict(self.algorithms)}
        lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
        text = json.dumps(head, indent=1)[:-2] + f',\n "entries": [\n{lines}\n ]\n}}\n'
        write_atomically(self.path, text.encode())
        _read.cache_clear()


def read_set(name: str | os.PathLike[str] = MAIN) -> StandardSet:
    """The shipped set of this name, or the one in a manifest, a path that ends in ``.json``."""
    path = Path(name) if str(name).endswith(".json") else HERE / f"{name}.json"
    if path.parent == HERE and not path.exists():
        raise InputError("--set", "", explain_unknown_name(str(name), shipped_sets()))
    return _read(path, path.stat().st_mtime_ns if path.exists() else 0)


def shipped_sets() -> list[str]:
    return sorted(path.stem for path in HERE.glob("*.json"))


def set_of(family: str) -> StandardSet:
    """The main set, or else the first shipped one with instances of the family."""
    sets = list_sets()
    return next((one for one in sets if any(entry.family == family for entry in one.entries)), sets[0])


def list_sets() -> list[StandardSet]:
    return [read_set(name) for name in sorted(shipped_sets(), key=lambda name: name != MAIN)]


@lru_cache(maxsize=4)
def _read(path: Path, _: int) -> StandardSet:
    found = read_document(path, Manifest)
    names = Counter(entry.name for entry in found.entries)
    if twice := next((name for name, number in names.items() if number > 1), None):
        raise InputError(str(path), "entries.name", f"{shorten(twice)} is given twice")
    for k, entry in enumerate(found.entries):
        for place, value in iterate_values(entry.recipe):
            problem, depth, holder = "", 1, place.holder
            while holder is not None:
                holder, depth = holder.holder, depth + 1
            if depth > 20:
                problem = "is nested more than 20 deep"
            if place.step in ("path", "log", "calibration") and isinstance(value, str):
                problem = f"names the file {shorten(value)}; an entry is made by a recipe alone, the same everywhere"
            if problem:
                raise InputError(str(path), f"entries[{k}].recipe", problem)
    return StandardSet(found.name, path, found.released, found.algorithms, tuple(found.entries))


def suite_of(
    chosen: StandardSet, family: str, day_before: Callable[[Mapping[str, Any]], Mapping[str, Any] | None]
) -> Suite | None:
    """The instances of a family in a set as a suite; their OPT comes from the certificates."""
    entries = [each for each in chosen.entries if each.family == family and each.best]
    if not entries:
        return None
    parts = [*([] if chosen.name == MAIN else [chosen.name]), *([] if chosen.entries[0].family == family else [family])]
    algorithms = tuple(chosen.algorithms.get(family, ()))
    cases = tuple(
        Case(
            each.name,
            each.recipe,
            tuple(name for name in algorithms if not is_informed(name) or before is not None),
            group=each.tier,
            prior=before,
            certificate=f"{chosen.name}/{each.name}",
        )
        for each in entries
        for before in [day_before(each.recipe)]
    )
    tiers = ", ".join(dict.fromkeys(each.tier for each in entries))
    summary = f"The standard set {chosen.name} ({tiers}): OPT comes from verified certificates"
    return Suite("-".join([SUITE, *parts]), summary, cases, audited=False)  # its runs take the algorithms' time


def find_certificate(address: str) -> Path:
    name, _, entry = address.rpartition("/")
    chosen = read_set(name)
    if chosen.find(entry).best is None:
        raise InputError(address, "", "nothing is known of its OPT yet (`standard improve`)")
    return chosen.certificate(chosen.find(entry))


def interval_of(record: Record | First) -> tuple[Exact, Exact]:
    lower, upper = (end if isinstance(end, int) else Fraction(end) for end in (record.lower, record.upper))
    return lower, upper


# Stored runs: the shipped algorithms on the instances of a set, `bench/standard/NAME.runs.json.gz`, which `standard
# runs` writes. `run` shows them where it would run the same version of the same algorithm on the same instance, and
# `evaluate` compares a policy with the best of them.


class StoredRun(Part, frozen=True):
    entry: str
    instance: str  # SHA-256 of its content
    algorithm: str  # with its options
    key: str  # what a folder of results has: its version, the solver, where its prices are from
    run: dict[str, Any]  # as `run_payload` gives it; `seconds` is None: another machine's say nothing here
    measures: dict[str, str | int | None]  # the family's, as text

    def __post_init__(self) -> None:
        if missing := sorted({"valid", "welfare", "constants", "seconds"} - self.run.keys()):  # what is read here
            raise InputError("", f"run.{missing[0]}", "the field is missing")

    @property
    def is_oracle(self) -> bool:
        return any(constant["source"] == "oracle" for constant in self.run["constants"])


class Runs(Part, frozen=True):
    format: Literal["ratiobench/standard-runs/1"]
    runs: list[StoredRun]


def path_of(chosen: StandardSet) -> Path:
    return chosen.path.with_suffix(".runs.json.gz")


def read_runs(chosen: StandardSet) -> Mapping[tuple[str, str], StoredRun]:
    path = path_of(chosen)
    return _read_runs(path, path.stat().st_mtime_ns) if path.exists() else {}


@lru_cache(maxsize=4)
def _read_runs(path: Path, _: int) -> Mapping[tuple[str, str], StoredRun]:
    return {(run.entry, run.algorithm): run for run in read_document(path, Runs).runs}


def write_runs(chosen: StandardSet, runs: Iterable[StoredRun]) -> None:
    place = {entry.name: number for number, entry in enumerate(chosen.entries)}
    order = sorted(runs, key=lambda each: (place[each.entry], each.algorithm))
    lines = ",\n".join(line_of(msgspec.to_builtins(each)) for each in order)
    write_text(path_of(chosen), f'{{"format": "ratiobench/standard-runs/1", "runs": [\n{lines}\n]}}\n')
