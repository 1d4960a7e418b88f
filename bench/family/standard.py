"""Standard sets: published lists of instances with certificates of OPT, `bench/standard/NAME.json`.

An entry is a recipe and the SHA-256 of what it makes; that never changes once a set is released. Beside it stands the
best interval that is known on OPT, proved by the certificate `bench/standard/NAME/ENTRY.cert`, which may get better.
What a manifest says is a claim: `ratiobench.bench.running.standard` checks all of it.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratiobench.bench.family.suite import Case, Suite, is_informed
from ratiobench.instances.io import packing
from ratiobench.instances.io.errors import InputError, explain_unknown_name, make_printable, shorten
from ratiobench.instances.io.files import load_json, read_bytes, sha256_of, write_atomically

if TYPE_CHECKING:
    from ratiobench.formulations.report import Exact

FORMAT = "ratiobench/standard/1"
HERE = Path(__file__).resolve().parents[1] / "standard"
# The columns of a history, `NAME.history.csv` beside the manifest
HISTORY = ("instance", "date", "lower", "upper", "seconds", "machine", "command")
MAIN = "R1"  # The set that is meant where none is named; the later ones add instances to it
# The suite of the first family in the main set; those of others have the family's name, or the set's, behind it
SUITE = "standard"


@dataclass(frozen=True, slots=True)
class Record:
    """The best interval that is known, and how it was found."""

    lower: int | str  # lower, upper: as `json_number` writes figures: integers, or fractions in strings
    upper: int | str
    certificate: str  # SHA-256 of the file that proves it
    date: str  # UTC, ISO 8601
    command: str
    seconds: float  # that it took, all efforts together
    machine: str  # the class of machine


@dataclass(frozen=True, slots=True)
class Entry:
    """An instance of a set."""

    name: str  # name, tier: what it is called, and how large it is in a word; names of files
    tier: str
    family: str  # of its problem
    recipe: Mapping[str, Any]
    instance: str = ""  # SHA-256 of its content; empty as long as nobody has made it (an unreleased set)
    size: Mapping[str, Any] | None = None  # a few figures about it
    first: Mapping[str, Any] | None = None  # how hard it is: `lower`, `upper` and `seconds` of the first solve
    best: Record | None = None  # the best that is known; None as long as nothing is


@dataclass(frozen=True, slots=True)
class StandardSet:
    """A set of instances."""

    name: str  # with its version
    path: Path  # of the manifest
    released: str  # when, ISO 8601; empty before
    algorithms: Mapping[str, Sequence[str]]  # per family, what `run` runs beside the user's own
    entries: Sequence[Entry]  # in order

    @property
    def folder(self) -> Path:
        """Where the certificates are."""
        return self.path.with_suffix("")

    def certificate(self, entry: Entry) -> Path:
        """The file of an entry's certificate."""
        return self.folder / f"{entry.name}{packing.SUFFIX}"

    @property
    def digest(self) -> str:
        """SHA-256 of what never changes: names, tiers, recipes and hashes of the entries."""
        return sha256_of([[each.name, each.tier, each.family, each.recipe, each.instance] for each in self.entries])

    def find(self, name: str) -> Entry:
        """The entry of this name; InputError where there is none."""
        known = {each.name: each for each in self.entries}
        if name not in known:
            raise InputError(str(self.path), "name", explain_unknown_name(name, known, "standard list"))
        return known[name]

    def replace_entry(self, entry: Entry) -> StandardSet:
        """The set with this entry in the place of the one of its name."""
        return replace(self, entries=tuple(entry if each.name == entry.name else each for each in self.entries))

    @property
    def history(self) -> Path:
        """The file with all intervals that were recorded, the oldest first: a row for each improvement."""
        return self.path.with_suffix(".history.csv")

    def read_history(self) -> list[dict[str, str]]:
        """The rows of the history under `HISTORY`; none where there is no such file."""
        if not self.history.exists():
            return []
        data, _ = read_bytes(self.history)
        return list(csv.DictReader(io.StringIO(data.decode())))

    def add_to_history(self, entry: Entry) -> None:
        """Add the best known interval of an entry, with its date, its command, its seconds and its machine."""
        if entry.best is None:
            return
        best = entry.best
        row = (entry.name, best.date, best.lower, best.upper, best.seconds, best.machine, best.command)
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        old = read_bytes(self.history)[0] if self.history.exists() else b""
        rows.writerows([row] if old else [HISTORY, row])
        write_atomically(self.history, old + text.getvalue().encode())

    def write(self) -> None:
        """Write the manifest, whole or not at all."""
        rows = [{key: value for key, value in asdict(each).items() if value} for each in self.entries]
        head = {"format": FORMAT, "name": self.name, "released": self.released, "algorithms": dict(self.algorithms)}
        lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
        text = json.dumps(head, indent=1)[:-2] + f',\n "entries": [\n{lines}\n ]\n}}\n'
        write_atomically(self.path, text.encode())
        _read.cache_clear()


def read_set(name: str | os.PathLike[str] = MAIN) -> StandardSet:
    """The shipped set of this name, or the one in a manifest of one's own, a path that ends in ``.json``."""
    path = Path(name) if str(name).endswith(".json") else HERE / f"{name}.json"
    if path.parent == HERE and not path.exists():
        raise InputError("--set", "", explain_unknown_name(str(name), shipped_sets()))
    return _read(path, path.stat().st_mtime_ns if path.exists() else 0)


def shipped_sets() -> list[str]:
    """The names of the sets that are shipped."""
    return sorted(path.stem for path in HERE.glob("*.json"))


@lru_cache(maxsize=4)
def _read(path: Path, _: int) -> StandardSet:
    data, source = read_bytes(path)
    found = load_json(data, source)
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InputError(source, "format", f"it is no manifest of a standard set ({FORMAT})")
    head = (("name", _WORD), ("released", _DAY))
    for field, form in head:
        if not isinstance(found.get(field), str) or not re.fullmatch(form, found[field]):
            raise InputError(source, field, f"{shorten(found.get(field))} is not as `standard` writes it")
    algorithms, rows = found.get("algorithms"), found.get("entries")
    if not isinstance(algorithms, dict) or not all(_is_texts(names) for names in algorithms.values()):
        raise InputError(source, "algorithms", "is no object of lists of names")
    if not isinstance(rows, list):
        raise InputError(source, "entries", f"{shorten(rows)} is no list")
    if len(rows) > _MOST:
        raise InputError(source, "entries", f"{shorten(rows)}; at most {_MOST} are read")
    entries = [_entry(source, f"entries[{k}]", row) for k, row in enumerate(rows)]
    names = Counter(entry.name for entry in entries)
    if twice := next((name for name, number in names.items() if number > 1), None):
        raise InputError(source, "entries.name", f"{shorten(twice)} is given twice")
    return StandardSet(found["name"], path, found["released"], algorithms, tuple(entries))


_WORD, _HASH, _DAY = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", "[0-9a-f]{64}", r"(\d{4}-\d\d-\d\d)?"
_END = r"-?\d{1,40}/[1-9]\d{0,39}"
_FILES = ("path", "log", "calibration")  # Keys of recipes that name files
_MOST = 10_000  # Entries of a set
_DEPTH = 20  # No recipe is nested deeper


def _is_texts(names: Any) -> bool:
    return isinstance(names, list) and all(isinstance(each, str) and len(each) <= 300 for each in names)


def _is_end(value: Any) -> bool:
    """Whether it is a figure as `json_number` writes it."""
    if isinstance(value, str):
        return re.fullmatch(_END, value) is not None
    return type(value) is int and abs(value) < 2**100


def _is_seconds(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < 1e12


def _is_told(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 300 and value.isprintable()


def _is_size(value: Any) -> bool:
    return isinstance(value, dict) and all(
        _is_told(key)
        and len(key) <= 40
        and (
            each is None
            or _is_end(each)
            or (type(each) is float and abs(each) < 1e15)
            or (_is_told(each) and len(each) <= 40)
        )
        for key, each in value.items()
    )


def _depth(value: Any, left: int = _DEPTH) -> int:
    """How much of the depth is left below the value; negative where it is nested too deeply."""
    if left < 0 or not isinstance(value, dict | list):
        return left
    inside = value.values() if isinstance(value, dict) else value
    return min((_depth(each, left - 1) for each in inside), default=left)


_FIRST: Mapping[str, Callable[[Any], bool]] = {"lower": _is_end, "upper": _is_end, "seconds": _is_seconds}
_BEST: Mapping[str, Callable[[Any], bool]] = {
    **_FIRST,
    "certificate": lambda value: isinstance(value, str) and re.fullmatch(_HASH, value) is not None,
    "date": lambda value: isinstance(value, str) and re.fullmatch(_DAY, value) is not None,
    "command": _is_told,
    "machine": _is_told,
}


def _is_all(fields: Mapping[str, Callable[[Any], bool]]) -> Callable[[Any], bool]:
    """A test for objects with exactly these fields, or None."""
    return lambda value: (
        value is None
        or (
            isinstance(value, dict) and value.keys() == fields.keys() and all(fields[key](value[key]) for key in fields)
        )
    )


_ENTRY: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(
        ("name", "tier", "family"), lambda value: isinstance(value, str) and re.fullmatch(_WORD, value) is not None
    ),
    "recipe": lambda value: isinstance(value, dict) and _depth(value) >= 0,
    "instance": lambda value: isinstance(value, str) and re.fullmatch(f"({_HASH})?", value) is not None,
    "size": lambda value: value is None or _is_size(value),
    "first": _is_all(_FIRST),
    "best": _is_all(_BEST),
}


def _entry(source: str, place: str, row: Any) -> Entry:
    """An entry of a manifest; InputError for the first field that is not as it should be."""
    if not isinstance(row, dict):
        raise InputError(source, place, f"{shorten(row)} is not an object")
    for field in ("name", "tier", "family", "recipe"):
        if field not in row:
            raise InputError(source, f"{place}.{field}", "the field is missing")
    for field, value in row.items():
        if field not in _ENTRY:
            raise InputError(
                source, f"{place}.{make_printable(field, 40)}", f"unknown field; allowed: {', '.join(_ENTRY)}"
            )
        if not _ENTRY[field](value):
            raise InputError(source, f"{place}.{field}", f"{shorten(value)} is not as `standard` writes it")
    if (named := next(_files_in(row["recipe"]), None)) is not None:
        problem = f"names the file {shorten(named)}; an entry is made by a recipe alone, the same everywhere"
        raise InputError(source, f"{place}.recipe", problem)
    best = row.get("best")
    return Entry(**row | {"best": Record(**best) if best else None})


def _files_in(recipe: Any) -> Iterator[str]:
    if isinstance(recipe, dict):
        yield from (recipe[key] for key in _FILES if isinstance(recipe.get(key), str))
    if isinstance(recipe, dict | list):
        for value in recipe.values() if isinstance(recipe, dict) else recipe:
            yield from _files_in(value)


DayBefore = Callable[[Mapping[str, Any]], Mapping[str, Any] | None]


def suites_of(family: str, day_before: DayBefore) -> tuple[Suite, ...]:
    """Each shipped set's instances of a family as a suite, where it has any; their OPT comes from the certificates.

    Its runs take the algorithms' time: claims are checked where that is asked for.
    """
    found = (
        suite_of(read_set(name), family, day_before) for name in sorted(shipped_sets(), key=lambda name: name != MAIN)
    )
    return tuple(suite for suite in found if suite is not None)


def suite_of(chosen: StandardSet, family: str, day_before: DayBefore) -> Suite | None:
    """A set's instances of a family as a suite; None where it has none."""
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
    return Suite("-".join([SUITE, *parts]), summary, cases, audited=False)


def find_certificate(address: str) -> Path:
    """The file of the certificate ``SET/ENTRY``; InputError where there is none."""
    name, _, entry = address.partition("/")
    chosen = read_set(name)
    found = chosen.find(entry)
    if found.best is None:
        raise InputError(address, "", "nothing is known of its OPT yet (`standard improve`)")
    return chosen.certificate(found)


def interval_of(record: Record) -> tuple[Exact, Exact]:
    """The interval of a record."""
    lower, upper = (end if isinstance(end, int) else Fraction(end) for end in (record.lower, record.upper))
    return lower, upper
