"""Checked access to the JSON objects of a log: what is absent or null has a default, what is wrong is one error."""

from __future__ import annotations

from typing import Any, Self

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.lora.logs.base import LARGEST, moment


class Entry:
    """A JSON object of a log.

    `source`: the file as the user named it; `path`: where the object stands in it, or in its holder where that is
    given.
    """

    __slots__ = ("_holder", "_step", "data", "source")

    def __init__(self, source: str, path: str, data: Any, holder: Entry | None = None) -> None:
        self.source, self._holder, self._step, self.data = source, holder, path, data
        if not isinstance(data, dict):
            raise InputError(source, self.path, f"{shorten(data)} is not an object")

    @property
    def path(self) -> str:
        """Where the object stands; written out for errors only."""
        return self._step if self._holder is None else f"{self._holder.path}.{self._step}"

    def fail(self, key: str, problem: str) -> InputError:
        """The error for a field."""
        return InputError(self.source, f"{self.path}.{key}", problem)

    def object(self, key: str) -> Self:
        """The field as an object, an empty one where it is absent."""
        found = self.data.get(key)
        return type(self)(self.source, key, {} if found is None else found, self)

    def items(self, key: str) -> list[Any]:
        """The field as a list, an empty one where it is absent."""
        found = self.data.get(key)
        if found is None:
            return []
        if not isinstance(found, list):
            raise self.fail(key, f"{shorten(found)} is not a list")
        return found

    def objects(self, key: str) -> list[Self]:
        """The field as a list of objects."""
        return [type(self)(self.source, f"{key}[{j}]", each, self) for j, each in enumerate(self.items(key))]

    def text(self, key: str, default: str = "") -> str:
        """The field as a text."""
        found = self.data.get(key)
        if found is None:
            return default
        if not isinstance(found, str):
            raise self.fail(key, f"{shorten(found)} is not a text")
        return found

    def integer(self, key: str, low: int = 0) -> int | None:
        """The field as an integer in low..10^11; None where it is absent."""
        found = self.data.get(key)
        if found is None:
            return None
        if type(found) is not int or not low <= found <= LARGEST:
            raise self.fail(key, f"{shorten(found)} is not an integer in {low}..10^11")
        return found

    def moment(self, key: str) -> int | None:
        """The field, a time such as 2026-03-01T08:30:00Z, in seconds from 1970; None where it is absent."""
        found = self.data.get(key)
        if found is None:
            return None
        if not isinstance(found, str):
            raise self.fail(key, f"{shorten(found)} is not a time such as 2026-03-01T08:30:00Z")
        try:
            return moment(found, "", key, self.source)
        except InputError as error:
            raise self.fail(key, error.problem) from None
