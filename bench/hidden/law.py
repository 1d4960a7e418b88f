"""The law of a hidden set: recipes of a standard set in which the seed, and what else may vary, is drawn."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from ratiobench.bench.evaluation.cases import DAYS, PARTS, entries_of, require_support
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.standard import Entry, StandardSet
from ratiobench.instances.io.errors import InputError, make_printable, shorten
from ratiobench.instances.io.files import load_json, read_bytes, sha256_of
from ratiobench.instances.io.seeds import Stream

FORMAT = "ratiobench/law/1"
HIDDEN_STAGES = (PARTS, DAYS)
"""Stages that a hidden set has."""
MOST = 200
"""Templates of a law, and values of a choice."""
_SEED = "seed"


@dataclass(frozen=True, slots=True)
class Template:
    """The law of one hidden instance.

    Parameters
    ----------
    like : the entry of the standard set that is its published counterpart; empty for none.
    stage : `parts` or `days`.
    recipe : of the counterpart; every key `seed` in it is replaced, and the name.
    choices : values of keys (`a.b` is key b of key a) of which one is drawn.
    """

    like: str
    stage: str
    recipe: Mapping[str, Any]
    choices: Mapping[str, Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Law:
    """The law of a hidden set.

    Parameters
    ----------
    family : of its instances.
    published : the standard set of the counterparts.
    templates : one per instance.
    """

    family: str
    published: str
    templates: Sequence[Template]

    def document(self) -> dict[str, Any]:
        """The law as JSON values."""
        rows = [
            {"like": each.like, "stage": each.stage, "recipe": dict(each.recipe), "choices": dict(each.choices)}
            for each in self.templates
        ]
        return {"format": FORMAT, "family": self.family, "published": self.published, "templates": rows}

    @property
    def digest(self) -> str:
        """SHA-256 of the document in canonical form."""
        return sha256_of(self.document())

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages that it has instances of, in order."""
        return tuple(stage for stage in HIDDEN_STAGES if any(each.stage == stage for each in self.templates))

    def draw_entries(self, seed: str) -> list[Entry]:
        """The entries of the hidden set, without hashes and certificates.

        Parameters
        ----------
        seed : secret, hexadecimal. What is drawn for one instance tells nothing of the seed, or of other instances:
            HMAC-SHA256 of its number is the key of all its draws.
        """
        return [self._draw(seed, number, each) for number, each in enumerate(self.templates)]

    def _draw(self, seed: str, number: int, template: Template) -> Entry:
        key = hmac.new(bytes.fromhex(seed), f"{self.family} {number}".encode(), sha256).hexdigest()
        recipe = _with_seed(deepcopy(dict(template.recipe)), ["hidden", key])
        stream = Stream("choices", key)
        for path, values in sorted(template.choices.items()):
            *holders, last = path.split(".")
            place = recipe
            for name in holders:
                place = place[name]
            place[last] = values[stream.integer(0, len(values) - 1)]
        name = f"hidden_{number}_{template.like or template.stage}"[:100]
        return Entry(name, template.stage, self.family, recipe | {"name": name})


def _with_seed(recipe: Any, seed: Sequence[str]) -> Any:
    """The recipe with this value of every key `seed`."""
    if isinstance(recipe, dict):
        return {key: list(seed) if key == _SEED else _with_seed(value, seed) for key, value in recipe.items()}
    return [_with_seed(each, seed) for each in recipe] if isinstance(recipe, list) else recipe


def default_law(family: Family, chosen: StandardSet, stages: Sequence[str], count: int) -> Law:
    """The law of hidden counterparts of a standard set's instances.

    Parameters
    ----------
    stages : which of `parts` and `days`.
    count : instances of each stage, at most; spread over the sizes of the standard set's.

    Raises
    ------
    InputError : no instance of these stages is drawn from a seed.
    """
    support = require_support(family)
    templates: list[Template] = []
    for stage in stages:
        entries = [each for each in entries_of(family, chosen, stage) if _SEED in each.recipe]
        number = min(count, len(entries))
        for k in range(number):
            entry = entries[(2 * k + 1) * len(entries) // (2 * number)]
            recipe = {key: value for key, value in entry.recipe.items() if key != "name"}
            templates.append(Template(entry.name, stage, recipe, support.hidden_choices(recipe)))
    if not templates:
        raise InputError("--set", "hidden", f"{chosen.name} has no instance of {', '.join(stages)} drawn from a seed")
    return Law(family.name, chosen.name, tuple(templates))


def read_law(path: Any) -> Law:
    """The law in a JSON file.

    Raises
    ------
    InputError : naming the file, the field and the value.
    """
    data, source = read_bytes(path)
    return parse_law(load_json(data, source), source)


def parse_law(document: Any, source: str) -> Law:
    """The law in a decoded document.

    Raises
    ------
    InputError : naming the source, the field and the value.
    """
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError(source, "format", f"it is no law of a hidden set ({FORMAT})")
    for field in ("family", "published"):
        if not isinstance(document.get(field), str):
            raise InputError(source, field, f"{shorten(document.get(field))} is not a name")
    rows = document.get("templates")
    if not isinstance(rows, list) or not 0 < len(rows) <= MOST:
        raise InputError(source, "templates", f"{shorten(rows)} is not a list of 1 to {MOST} templates")
    if unknown := set(document) - {"format", "family", "published", "templates"}:
        raise InputError(source, make_printable(min(unknown), 40), "unknown field")
    return Law(
        document["family"],
        document["published"],
        tuple(_template(source, f"templates[{k}]", row) for k, row in enumerate(rows)),
    )


def _template(source: str, place: str, row: Any) -> Template:
    if not isinstance(row, dict) or set(row) != {"like", "stage", "recipe", "choices"}:
        raise InputError(source, place, f"{shorten(row)} has not exactly the fields like, stage, recipe, choices")
    if row["stage"] not in HIDDEN_STAGES:
        raise InputError(source, f"{place}.stage", f"{shorten(row['stage'])} is not one of {', '.join(HIDDEN_STAGES)}")
    if not isinstance(row["like"], str) or len(row["like"]) > 60:
        raise InputError(source, f"{place}.like", f"{shorten(row['like'])} is not a name of an entry")
    if not isinstance(row["recipe"], dict) or _SEED not in row["recipe"]:
        raise InputError(source, f"{place}.recipe", "is not a recipe with a key seed")
    if not isinstance(row["choices"], dict):
        raise InputError(source, f"{place}.choices", f"{shorten(row['choices'])} is not an object")
    for path, values in row["choices"].items():
        field = f"{place}.choices.{make_printable(path, 60)}"
        if not isinstance(values, list) or not 0 < len(values) <= MOST:
            raise InputError(source, field, f"{shorten(values)} is not a list of 1 to {MOST} values")
        *holders, last = path.split(".")
        holder: Any = row["recipe"]
        for name in holders:
            holder = holder.get(name) if isinstance(holder, dict) else None
        if not isinstance(holder, dict) or last not in holder:
            raise InputError(source, field, "the recipe has no such key")
    return Template(row["like"], row["stage"], row["recipe"], row["choices"])
