"""The single entry to all instances: a recipe (JSON values) in, an instance out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ratiobench.instances.io.keys import Form
from ratiobench.instances.io.recipe import make_existing_kinds, make_instance, make_named_form
from ratiobench.instances.tenants import workload
from ratiobench.instances.tenants.format import read
from ratiobench.instances.tenants.model import Instance
from ratiobench.instances.tenants.named import named, names


def generate(recipe: Mapping[str, Any]) -> Instance:
    """The instance that a recipe names; the same recipe gives the same instance on any machine.

    Recipes are ``{"kind": "batch" | "online" | "log", ...}`` (see `ratiobench.instances.tenants.workload.KEYS`),
    ``{"kind": "named", "name": NAME}`` for the shipped instances and ``{"kind": "file", "path": PATH}``.
    """
    return make_instance(recipe, _KINDS)


def recipes() -> tuple[Form, ...]:
    """The kinds of recipes by the names that files and the command line have for them, with their keys."""
    return (*workload.forms(), make_named_form(names()))


_KINDS: dict[str, Callable[[Mapping[str, Any]], Instance]] = {
    **dict.fromkeys(workload.KEYS, workload.generate),
    **make_existing_kinds(named, read),
}
