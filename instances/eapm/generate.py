"""The single entry to all instances: a recipe (JSON values) in, an instance out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from instances.eapm import workload
from instances.eapm.format import read
from instances.eapm.model import Instance
from instances.eapm.named import named
from instances.errors import InputError, shown
from instances.recipe import Fields


def generate(recipe: Mapping[str, Any]) -> Instance:
    """The instance that a recipe names; the same recipe gives the same instance on any machine.

    Recipes are ``{"kind": "table1" | "users" | "orders", ...}`` (see `instances.eapm.workload.Recipe`),
    ``{"kind": "named", "name": NAME}`` for the shipped instances and ``{"kind": "file", "path": PATH}``.

    Raises
    ------
    InputError : naming the key and the value that cannot be used.
    """
    kind = recipe.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise InputError("recipe", "kind", f"{shown(kind)} is none of {', '.join(sorted(_KINDS))}")
    return _KINDS[kind](recipe)


def _named(recipe: Mapping[str, Any]) -> Instance:
    return named(Fields("", recipe, {"kind", "name"}).text("name"))


def _file(recipe: Mapping[str, Any]) -> Instance:
    return read(Fields("", recipe, {"kind", "path"}).text("path"))


_KINDS: dict[str, Callable[[Mapping[str, Any]], Instance]] = {
    "table1": workload.generate,
    "users": workload.generate,
    "orders": workload.generate,
    "named": _named,
    "file": _file,
}
