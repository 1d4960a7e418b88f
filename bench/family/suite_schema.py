"""The JSON Schema of a suite's file, from the descriptions by which `ratiobench.bench.family.suite_file` checks it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.grids import RUNS
from ratiobench.bench.family.suite_file import CASE, LISTS, PLOT, STUDY, SUITE
from ratiobench.instances.io.keys import Form, Key, Schema, Seed

FILE = "suite.schema.json"
"""Its name, in the family's folder of `instances`."""
_MORE = (
    "The reader checks more than a schema can say: keys that exclude each other, names that differ, groups that have a "
    "case. Dates may be TOML's."
)


def make_schema(family: Family) -> Schema:
    """The schema of files with suites of the family."""
    forms = list(family.recipes().values())
    properties = _properties(SUITE, grid=False)
    properties["family"] = {"const": family.name, "description": "the family of problems"}
    properties["groups"] = {"type": "object", "additionalProperties": {"type": "string"}}
    instances = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/instance"}}
    lists = {name: {"type": "array", "items": _closed(keys)} for name, keys in LISTS.items()}
    plot = _closed(PLOT, lists)
    plot["required"] = ["name"]
    study = _closed(STUDY)
    study["required"] = ["kind", "algorithm"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"ratiobench/{family.name}/suite",
        "title": f"A suite of one's own, family {family.name}, as TOML",
        "description": _MORE,
        "type": "object",
        "additionalProperties": False,
        "required": ["instance"],
        "properties": {
            **properties, "instance": instances, "small": instances, "plot": {"type": "array", "items": plot},
        },
        "$defs": {
            "instance": {"oneOf": [{"$ref": f"#/$defs/{form.name}"} for form in forms]},
            **{form.name: _instance(form) for form in forms},
            "case": _properties(CASE, grid=False),
            "studies": {"type": "array", "items": study},
        },
    }  # fmt: skip


def _instance(form: Form) -> Schema:
    """One kind of recipe with what stands beside it."""
    own = _properties(form.keys, grid=True)
    again = {name: {"$ref": f"#/$defs/{form.name}/properties/{name}"} for name in (*own, "prior")}
    run = {"type": "object", "additionalProperties": False, "properties": again}
    one = {**run, "properties": {name: again[name] for name in own}}
    number = {"type": "integer", "minimum": 1, "maximum": RUNS}
    shared = {key.name: {"$ref": f"#/$defs/case/{key.name}"} for key in CASE}
    return {
        "description": form.summary,
        "type": "object",
        "additionalProperties": False,
        "required": ["recipe"],
        "properties": {
            **shared,
            "recipe": {"const": form.name},
            **own,
            "runs": {"anyOf": [number, {"type": "array", "minItems": 1, "items": run}]},
            "prior": one,
            "study": {"$ref": "#/$defs/studies"},
        },
    }


def _closed(keys: Sequence[Key], more: Mapping[str, Any] | None = None) -> Schema:
    properties = _properties(keys, grid=False) | dict(more or {})
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _properties(keys: Sequence[Key], *, grid: bool) -> dict[str, Schema]:
    """The keys by their first names; those with further names are objects."""
    found: dict[str, Schema] = {}
    for head in dict.fromkeys(key.name.partition(".")[0] for key in keys):
        inside = [key for key in keys if key.name.startswith(f"{head}.")]
        options = [_value(key, grid) for key in keys if key.name == head]
        if inside:
            short = [
                Key(key.name[len(head) + 1 :], key.kind, key.meaning, key.default, key.unit, key.default_text)
                for key in inside
            ]
            properties = _properties(short, grid=grid)
            options.append({"type": "object", "additionalProperties": False, "properties": properties})
        found[head] = options[0] if len(options) == 1 else {"anyOf": options}
    return found


def _value(key: Key, grid: bool) -> Schema:
    row = key.row()
    text = "; ".join(filter(None, [key.meaning, row["unit"], row["default"] and f"default {row['default']}"]))
    one = key.kind.schema()
    if not grid:
        return {"description": text, **one}
    several = {"type": "array", "minItems": 1, "items": one}
    if isinstance(key.kind, Seed):  # its own list is no value of a file: a list is a grid
        one = one["anyOf"][0]
    return {"description": text, "anyOf": [one, several]}
