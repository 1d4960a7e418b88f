"""Checked access to the fields of decoded JSON documents, the same for every family's format.

Nothing is clipped or guessed: whatever is not allowed is an `InputError` that names the file, the field and the value.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.files import HugeInteger, iterate_values

LIMIT = 2**40  # The largest number in an instance


class Fields:
    """Checked access to the fields of one JSON object.

    `source`: the file as the user named it; `path`: where the object stands in it; empty for the whole; `allowed`,
    `optional`: its fields; any other, or a missing one that is not optional, is an error.
    """

    __slots__ = ("data", "path", "source")

    def __init__(self, source: str, path: str, data: Any, allowed: set[str], optional: set[str]) -> None:
        self.source, self.path = source, path
        if not isinstance(data, dict):
            raise InputError(source, path or "document", f"{shorten(data)} is not an object")
        self.data: dict[str, Any] = data
        for key in data:
            if key not in allowed:
                raise InputError(source, self.at(key), f"unknown field; allowed: {', '.join(sorted(allowed))}")
        missing = sorted(allowed - optional - data.keys())
        if missing:
            others = f", and so {'are' if len(missing) > 2 else 'is'} {', '.join(missing[1:])}" * (len(missing) > 1)
            raise InputError(source, self.at(missing[0]), f"the field is missing{others}")

    def at(self, key: str) -> str:
        """The path of a field."""
        return f"{self.path}.{key}" if self.path else key

    def integer(self, key: str, low: int, high: int = LIMIT) -> int:
        """The field as an integer in low..high; booleans and floats are not integers."""
        return integer(self.source, self.at(key), self.data[key], low, high)

    def text(self, key: str) -> str:
        """The field as a non-empty string."""
        value = self.data[key]
        if not isinstance(value, str) or not value:
            raise InputError(self.source, self.at(key), f"{shorten(value)} is not a non-empty string")
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise InputError(self.source, self.at(key), "holds a lone surrogate, which is not text") from None
        return value

    def items(self, key: str, length: int | None = None, what: str = "") -> list[Any]:
        """The field as a list (of the given length)."""
        return items(self.source, self.at(key), self.data[key], length, what)

    def integers(self, key: str, low: int, length: int, what: str) -> list[int]:
        """The field as a list of integers of at least `low`."""
        path = self.at(key)
        values = self.items(key, length, what)
        return [integer(self.source, f"{path}[{j}]", value, low, LIMIT) for j, value in enumerate(values)]


def integer(source: str, path: str, value: Any, low: int, high: int) -> int:
    """`value` if it is an integer in low..high; booleans and floats are not integers."""
    if type(value) is int:
        if low <= value <= high:
            return value
        raise InputError(source, path, f"{shorten(value)} is not in {low}..{high}")
    if isinstance(value, HugeInteger):
        raise InputError(source, path, f"{shorten(value)} is not in {low}..{high}")
    raise InputError(source, path, f"{shorten(value)} is not an integer in {low}..{high}")


def are_integers(values: Collection[Any], low: int, high: int) -> bool:
    """Whether all values are integers in low..high, asked of many at once; booleans and floats are not integers."""
    return not values or (set(map(type, values)) == {int} and low <= min(values) and max(values) <= high)


def items(source: str, path: str, value: Any, length: int | None, what: str) -> list[Any]:
    """`value` if it is a list (of the given length)."""
    if not isinstance(value, list):
        raise InputError(source, path, f"{shorten(value)} is not a list")
    if length is not None and len(value) != length:
        raise InputError(source, path, f"{len(value)} entries; {length} needed, {what}")
    return value


def decisions_of(source: str, data: Any) -> list[Any]:
    """The decisions in the document of a solution, whose further keys are ignored."""
    if not isinstance(data, dict):
        raise InputError(source, "document", f"{shorten(data)} is not an object")
    if "decisions" not in data:
        raise InputError(source, "decisions", "the field is missing")
    return items(source, "decisions", data["decisions"], None, "")


def origin_of(source: str, origin: Any) -> dict[str, Any]:
    """Any object whose numbers can be written and read back; it says where the instance comes from."""
    if not isinstance(origin, dict):
        raise InputError(source, "origin", f"{shorten(origin)} is not an object")
    for place, value in iterate_values(origin, "origin"):
        if isinstance(value, HugeInteger) or (type(value) is int and abs(value) >= 10**29):
            raise InputError(source, str(place), f"{shorten(value)} has more than 29 digits")
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(source, str(place), f"{shorten(value)} is not a finite number")
    return origin
