"""The single entry to all instances: a recipe (JSON values) in, an instance out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ratiobench.instances.io.keys import Form
from ratiobench.instances.io.recipe import make_existing_kinds, make_instance, make_named_form
from ratiobench.instances.lora import constructions, limits, paper
from ratiobench.instances.lora.format import read
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.named import named, names


def generate(recipe: Mapping[str, Any]) -> Instance:
    """The instance of a recipe ``{"kind": KIND, ...}`` (`_KINDS`), the same one on any machine."""
    return make_instance(recipe, _KINDS)


def recipes() -> tuple[Form, ...]:
    """The kinds of recipes by the names that files and the command line have for them, with their keys."""
    return (*paper.forms(), make_named_form(names()), *constructions.forms(), *limits.forms())


_KINDS: dict[str, Callable[[Mapping[str, Any]], Instance]] = {
    "family": constructions.generate,
    "limit": limits.generate,
    "paper": paper.generate,
    **make_existing_kinds(named, read),
}
