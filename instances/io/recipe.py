"""What the recipes of all families have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from ratiobench.instances.io.errors import InputError, require_known
from ratiobench.instances.io.keys import Choice, Form, Key, Text, Values

SOURCE = "recipe"

T = TypeVar("T")


def make_instance(recipe: Mapping[str, Any], kinds: Mapping[str, Callable[[Mapping[str, Any]], T]]) -> T:
    kind = recipe.get("kind")
    require_known(kind, sorted(kinds), SOURCE, "kind")
    return kinds[str(kind)](recipe)


def read_values(recipe: Mapping[str, Any], keys: Mapping[str, tuple[Key, ...]]) -> Values:
    """The values of a recipe, whose kind says which keys it has."""
    kind = Choice(tuple(keys)).checked(SOURCE, "kind", recipe.get("kind"))
    return Values(SOURCE, keys[kind], recipe)


def make_forms(
    keys: Mapping[str, tuple[Key, ...]], summaries: Mapping[str, str], read: Callable[[Mapping[str, Any]], object]
) -> tuple[Form, ...]:
    """Kinds of recipes whose first key is the name of the instance."""
    return tuple(Form(kind, summaries[kind], keys[kind][1:], {"kind": kind}, read, "name") for kind in keys)


def make_existing_kinds(
    named: Callable[[str], T], read: Callable[[str], T]
) -> dict[str, Callable[[Mapping[str, Any]], T]]:
    """The makers of kinds `named` and `file`, which every family has: a shipped instance, and one in a file."""

    def needed(recipe: Mapping[str, Any], key: Key) -> str:
        return str(Values(SOURCE, (key,), recipe).needed(key.name))

    return {"named": lambda recipe: named(needed(recipe, _NAME)), "file": lambda recipe: read(needed(recipe, PATH))}


def make_named_form(names: Sequence[str]) -> Form:
    """The kind of recipe `named` as files and the command line have it."""
    which = Key("instance", Choice(tuple(names)), "one of these", default_text="to be given", place="name")

    def read(recipe: Mapping[str, Any]) -> None:
        if "name" not in recipe:
            raise InputError(SOURCE, "instance", "the key is missing")

    return Form("named", "a shipped instance", (which,), {"kind": "named"}, read)


_NAME = Key("name", Text(), "of a shipped instance")
PATH = Key(
    "path", Text(path=True), "instance file, a pattern such as days/*.json.gz, or a folder", default_text="to be given"
)
