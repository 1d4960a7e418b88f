"""Checked access to the keys of a recipe; whatever cannot be used is an InputError that names the key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from instances.errors import InputError, shown
from instances.fields import LIMIT, integer

SOURCE = "recipe"

T = TypeVar("T")


class Fields:
    """The keys of one object of a recipe.

    Parameters
    ----------
    path : where the object stands in the recipe; empty for the recipe itself.
    data : the object.
    allowed : its keys; any other is an error.
    """

    __slots__ = ("data", "path")

    def __init__(self, path: str, data: Any, allowed: set[str]) -> None:
        self.path = path
        if not isinstance(data, Mapping):
            raise InputError(SOURCE, path, f"{shown(data)} is not an object")
        self.data: Mapping[str, Any] = data
        for key in data:
            if key not in allowed:
                raise InputError(SOURCE, self.at(str(key)), f"unknown key; allowed: {', '.join(sorted(allowed))}")

    def at(self, key: str) -> str:
        """The key with its path."""
        return f"{self.path}.{key}" if self.path else key

    def has(self, key: str) -> bool:
        """Whether the key is given."""
        return key in self.data

    def get(self, key: str, default: Any = None) -> Any:
        """The value as it stands; an error if it is missing and there is no default."""
        value = self.data.get(key, default)
        if value is None:
            raise self.error(key, "the key is missing" if key not in self.data else "null is not allowed")
        return value

    def integer(self, key: str, low: int, high: int = LIMIT, default: int | None = None) -> int:
        """An integer in low..high; booleans and floats are not integers."""
        return integer(SOURCE, self.at(key), self.get(key, default), low, high)

    def text(self, key: str, default: str | None = None) -> str:
        """A non-empty string."""
        value = self.get(key, default)
        if not isinstance(value, str) or not value:
            raise self.error(key, f"{shown(value)} is not a non-empty string")
        return value

    def choice(self, key: str, options: tuple[str, ...], default: str | None = None) -> str:
        """One of the options."""
        value = self.get(key, default)
        if not isinstance(value, str) or value not in options:
            raise self.error(key, f"{shown(value)} is none of {', '.join(options)}")
        return value

    def span(self, key: str, low: int, high: int, default: tuple[int, int]) -> tuple[int, int]:
        """Two integers [from, to] with low <= from <= to <= high."""
        value = self.get(key, list(default))
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise self.error(key, f"{shown(value)} is not a list of two integers [from, to]")
        start = integer(SOURCE, f"{self.at(key)}[0]", value[0], low, high)
        return start, integer(SOURCE, f"{self.at(key)}[1]", value[1], start, high)

    def integers(self, key: str, default: tuple[int, ...]) -> list[int]:
        """A non-empty list of positive integers."""
        value = self.get(key, list(default))
        if not isinstance(value, list | tuple) or not value:
            raise self.error(key, f"{shown(value)} is not a non-empty list of integers")
        return [integer(SOURCE, f"{self.at(key)}[{j}]", item, 1, LIMIT) for j, item in enumerate(value)]

    def seed(self) -> tuple[str | int, ...]:
        """The key `seed`: a string, an integer or a list of them, which names random streams; 0 where not given."""
        value = self.get("seed", [0])
        names = value if isinstance(value, list | tuple) else [value]
        for name in names:
            if type(name) is not int and not isinstance(name, str):
                raise self.error("seed", f"{shown(name)} is neither a string nor an integer")
        if not names:
            raise self.error("seed", "an empty list; at least one name is needed")
        return tuple(names)

    def error(self, key: str, problem: str) -> InputError:
        """The error of a key."""
        return InputError(SOURCE, self.at(key), problem)


def generated(recipe: Mapping[str, Any], kinds: Mapping[str, Callable[[Mapping[str, Any]], T]]) -> T:
    """What the maker of the recipe's kind makes of it.

    Raises
    ------
    InputError : for a kind that is not there; and whatever the maker raises.
    """
    kind = recipe.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        raise InputError(SOURCE, "kind", f"{shown(kind)} is none of {', '.join(sorted(kinds))}")
    return kinds[kind](recipe)


def existing(named: Callable[[str], T], read: Callable[[str], T]) -> dict[str, Callable[[Mapping[str, Any]], T]]:
    """The makers of kinds `named` and `file`, which every family has: a shipped instance, and one in a file."""
    return {
        "named": lambda recipe: named(Fields("", recipe, {"kind", "name"}).text("name")),
        "file": lambda recipe: read(Fields("", recipe, {"kind", "path"}).text("path")),
    }
