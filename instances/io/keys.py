"""The keys of recipes, each described once: checks and tables for people follow from the descriptions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol

from ratiobench.instances.io.errors import (
    InputError,
    explain_unknown_key,
    join_path,
    require_known,
    shorten,
    suggest_name,
)
from ratiobench.instances.io.fields import LIMIT, fraction_of, integer, text_of_fraction

_WHOLE = re.compile(r"-?[0-9]{1,18}", re.ASCII)


class Kind(Protocol):
    @property
    def range(self) -> str: ...  # in words
    def checked(self, source: str, field: str, value: Any) -> Any: ...
    def parsed(self, text: str) -> Any:  # from a text of the command line, without a check
        return text


def _number_or_text(text: str) -> Any:
    return int(text) if _WHOLE.fullmatch(text) else text


@dataclass(frozen=True)
class _Bounded(Kind):
    low: int
    high: int = LIMIT


class Integer(_Bounded):
    @property
    def range(self) -> str:
        power = self.high >= LIMIT and self.high.bit_count() == 1
        return f"{self.low}..{f'2^{self.high.bit_length() - 1}' if power else self.high}"

    def checked(self, source: str, field: str, value: Any) -> int:
        return integer(source, field, value, self.low, self.high)

    def parsed(self, text: str) -> Any:
        return _number_or_text(text)


@dataclass(frozen=True)
class Text(Kind):
    """A text that is not empty; `path`: the name of a file, from the folder of the file that names it."""

    path: bool = False

    @property
    def range(self) -> str:
        return "file" if self.path else "text"

    def checked(self, source: str, field: str, value: Any) -> str:
        if not isinstance(value, str) or not value:
            raise InputError(source, field, f"{shorten(value)} is not a non-empty string")
        return value


@dataclass(frozen=True)
class Switch(Kind):
    range = "true|false"

    def checked(self, source: str, field: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise InputError(source, field, f"{shorten(value)} is neither true nor false")
        return value

    def parsed(self, text: str) -> Any:
        return {"true": True, "false": False}.get(text, text)


@dataclass(frozen=True)
class Choice(Kind):
    options: tuple[str, ...]

    @property
    def range(self) -> str:
        return "|".join(self.options)

    def checked(self, source: str, field: str, value: Any) -> str:
        require_known(value, self.options, source, field)
        return str(value)


@dataclass(frozen=True)
class Day(Kind):
    range = "YYYY-MM-DD"

    def checked(self, source: str, field: str, value: Any) -> str:
        if type(value) is date:
            return value.isoformat()
        if not isinstance(value, str) or not re.fullmatch(r"\d{4}-\d\d-\d\d", value, re.ASCII):
            raise InputError(source, field, f"{shorten(value)} is not a day YYYY-MM-DD")
        return value


class Span(_Bounded):
    """Two integers [from, to] in low..high; on the command line A-B."""

    @property
    def range(self) -> str:
        return f"[from, to] in {self.low}..{self.high}"

    def checked(self, source: str, field: str, value: Any) -> tuple[int, int]:
        if not isinstance(value, list | tuple) or len(value) != 2:
            problem = f"{shorten(value)} is not a list of two integers [from, to]; in a name FROM-TO"
            raise InputError(source, field, problem)
        start = integer(source, f"{field}[0]", value[0], self.low, self.high)
        return start, integer(source, f"{field}[1]", value[1], start, self.high)

    def parsed(self, text: str) -> Any:
        start, dash, end = text.partition("-")
        return [_number_or_text(start), _number_or_text(end)] if dash else text


class Several(_Bounded):
    """Some integers in low..high; on the command line A+B."""

    @property
    def range(self) -> str:
        return f"list of {self.low}..{self.high}"

    def checked(self, source: str, field: str, value: Any) -> tuple[int, ...]:
        if not isinstance(value, list | tuple) or not value:
            raise InputError(source, field, f"{shorten(value)} is not a non-empty list of integers")
        return tuple(integer(source, f"{field}[{j}]", item, self.low, self.high) for j, item in enumerate(value))

    def parsed(self, text: str) -> Any:
        return [_number_or_text(part) for part in text.split("+")]


@dataclass(frozen=True)
class Seed(Kind):
    """What names random streams: a text, an integer, or a list of them."""

    range = "text|integer|list of them"

    def checked(self, source: str, field: str, value: Any) -> tuple[str | int, ...]:
        names = value if isinstance(value, list | tuple) else [value]
        for name in names:
            if type(name) is not int and not isinstance(name, str):
                raise InputError(source, field, f"{shorten(name)} is neither a string nor an integer")
            if type(name) is int and abs(name) > LIMIT:
                raise InputError(source, field, f"{shorten(name)} is not in -2^40..2^40")
        if not names:
            raise InputError(source, field, "an empty list; at least one name is needed")
        return tuple(names)

    def parsed(self, text: str) -> Any:
        return _number_or_text(text)


@dataclass(frozen=True)
class Ratio(Kind):
    """An exact fraction in low..high: text such as "1.05" or "21/20", an integer, a number of a TOML file."""

    low: Fraction
    high: Fraction

    @property
    def range(self) -> str:
        return f"{text_of_fraction(self.low)}..{text_of_fraction(self.high)}"

    def checked(self, source: str, field: str, value: Any) -> Fraction:
        return fraction_of(source, field, str(value) if isinstance(value, Decimal) else value, self.low, self.high)


@dataclass(frozen=True)
class Either(Kind):
    """A name or a list: `named` for texts, `listed` for all else."""

    named: Choice
    listed: Span

    @property
    def range(self) -> str:
        return f"{self.named.range}|{self.listed.range}"

    def checked(self, source: str, field: str, value: Any) -> Any:
        return (self.named if isinstance(value, str) else self.listed).checked(source, field, value)

    def parsed(self, text: str) -> Any:
        return text if text in self.named.options else self.listed.parsed(text)


LISTS = Several, Span, Either  # Kinds of which a list of integers is one value; else a list in a file is several values


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a recipe, which is a nested object."""

    name: str  # with the names of the objects that contain it, ``vendors.count``
    kind: Kind
    meaning: str  # in a few words
    default: Any = None  # the value where it is not given; None where there is none
    unit: str = ""
    default_text: str = ""  # the default in words, where it is no value
    place: str = ""  # its path in the recipe, where that is not its name

    def row(self) -> dict[str, str]:
        default = self.default_text or ("" if self.default is None else text_of(self.default))
        return {
            "name": self.name, "range": self.kind.range, "unit": self.unit, "default": default, "meaning": self.meaning,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Form:
    name: str  # on the command line and in files
    summary: str  # what it makes, in a sentence
    keys: tuple[Key, ...]  # in the order of the table
    fixed: Mapping[str, Any]  # what every such recipe has besides, its ``kind`` in the first place
    read: Callable[[Mapping[str, Any]], object]  # checks a recipe as a whole; InputError names a key by its place
    label: str = ""  # place of the instance's name, where such recipes have one

    def recipe(self, source: str, field: str, given: Mapping[str, Any], label: str = "") -> dict[str, Any]:
        found: dict[str, Any] = dict(self.fixed)
        for key in self.keys:
            path, value = join_path(field, key.name), key.default if key.place else None
            if key.name in given:
                value = key.kind.checked(source, path, given[key.name])
            if value is not None:
                put(found, key.place or key.name, make_json_value(value), source, path)
        if self.label and label and self.label not in found:
            found[self.label] = label
        try:
            self.read(found)
        except InputError as error:
            if error.source not in ("", "recipe"):  # it names a file of its own
                raise InputError(source, field, str(error)) from None
            names = {key.place: key.name for key in self.keys if key.place}
            place, bracket, rest = error.field.partition("[")
            path = join_path(field, names.get(place, place) + bracket + rest)
            raise InputError(source, path, error.problem) from None
        return found


def put(into: dict[str, Any], place: str, value: Any, source: str, field: str) -> None:
    """Set the value at the place in a nested object; InputError if a value is in the way."""
    *outer, last = place.split(".")
    for name in outer:
        into = into.setdefault(name, {})
        if not isinstance(into, dict):
            raise InputError(source, field, f"`{place}` and `{name}` are both given; at most one is allowed")
    if last in into:
        raise InputError(source, field, "a part of it is given already; at most one of them is allowed")
    into[last] = value


def make_json_value(value: Any) -> Any:
    """A checked value as JSON has it: a fraction as text, a tuple as a list."""
    if isinstance(value, Fraction):
        return text_of_fraction(value)
    return list(value) if isinstance(value, tuple) else value


def nest(values: Mapping[str, Any]) -> dict[str, Any]:
    """Checked values by the names of their keys as a recipe has them; None for those that it does not have."""
    recipe: dict[str, Any] = {}
    for name, value in values.items():
        if value is not None:
            put(recipe, name, make_json_value(value), "", name)
    return recipe


def text_of(value: Any) -> str:
    """A value in a table or a name: lists without brackets but for spans."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(str, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def flatten(
    keys: Sequence[Key], data: Any, source: str, field: str = "", path: str = "", beside: Sequence[str] = ()
) -> Iterator[tuple[str, Any]]:
    """The values of a nested object by the names of the keys; `beside`: other names that an error may suggest."""
    if not isinstance(data, Mapping):
        raise InputError(source, join_path(field, path), f"{shorten(data)} is not an object")
    names = [key.name for key in keys]
    for each, value in data.items():
        name = join_path(path, str(each))
        holds = any(other.startswith(f"{name}.") for other in names)
        if holds and (isinstance(value, Mapping) or name not in names):
            yield from flatten(keys, value, source, field, name, beside)
        elif name in names:
            yield name, value
        else:
            near = suggest_name(str(each), beside)
            raise InputError(source, join_path(field, name), explain_unknown_key(name, names, near))


class Values(Mapping[str, Any]):
    """The checked values of a recipe by the names of its keys; of a key that is not given its default, or None."""

    def __init__(self, source: str, keys: Sequence[Key], data: Any) -> None:
        self.source, self.known = source, {key.name: key for key in keys}
        if isinstance(data, Mapping) and "kind" not in self.known:
            data = {name: value for name, value in data.items() if name != "kind"}
        values = flatten(keys, data, source)
        self.given = {name: self.known[name].kind.checked(source, name, value) for name, value in values}

    def __getitem__(self, name: str) -> Any:
        if name in self.given:
            return self.given[name]
        default = self.known[name].default
        return None if default is None else self.known[name].kind.checked(self.source, name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self.known)

    def __len__(self) -> int:
        return len(self.known)

    def needed(self, name: str) -> Any:
        if self[name] is None:
            raise InputError(self.source, name, "the key is missing")
        return self[name]


def rename_key(key: Key, name: str) -> Key:
    return replace(key, name=name, place=key.place or key.name)
