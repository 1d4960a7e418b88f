"""Files of one kind, read and written: what every family's instances and certificates have in common."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from ratiobench.instances.io import packing
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.files import load_json, read_bytes, sha256_of, text_of, write_atomically, write_text

Written = TypeVar("Written")
Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class Documents(Generic[Read, Written]):
    """How a kind of file is read and written."""

    # (decoded document, its name in messages) -> what the file holds; InputError on the first thing that the format
    # does not allow.
    parse: Callable[[Any, str], Read]
    document: Callable[[Written], dict[str, Any]]  # the JSON document that `parse` reads
    text: Callable[[dict[str, Any]], str] = text_of

    def read(self, path: str | os.PathLike[str]) -> Read:
        """Read and validate a file (.json or .json.gz, `-` for standard input)."""
        return self.loads(*read_bytes(path))

    def loads(self, data: bytes | str, source: str = "<string>") -> Read:
        """Parse and validate a text; `source` is its name in messages."""
        return self.parse(load_json(data.encode() if isinstance(data, str) else data, source), source)

    def dumps(self, held: Written) -> str:
        """The file as text; the same on every run."""
        return self.text(self.document(held))

    def write(self, held: Written, path: str | os.PathLike[str]) -> None:
        """Write the file, whole or not at all; gzip when the name ends in .gz, packed when it ends in .cert."""
        if str(path).endswith(packing.SUFFIX):
            write_atomically(path, packing.pack(self.document(held)))
        else:
            write_text(path, self.dumps(held))


def require_format(data: Any, source: str, form: str) -> None:
    """InputError where an object says that it has another format."""
    if isinstance(data, dict) and data.get("format") != form:
        raise InputError(source, "format", f"{shorten(data.get('format'))} is not {form!r}")


def hash_once(cache: dict[str, str], form: str, content: Callable[[], dict[str, Any]]) -> str:
    """SHA-256 of what an instance's file says but for its name and origin, as the cache has it or into the cache."""
    if "hash" not in cache:
        cache["hash"] = sha256_of({"format": form, **content()})
    return cache["hash"]


_STEP = re.compile(r"\.([A-Za-z_]\w*)|\[(\d+|\.\.\.)\]")


def convert(data: Any, kind: type[Any], source: str) -> Any:
    """Validate decoded JSON (or TOML) as this type; the error names the field and its value."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$")
        path, value = path.rstrip("`"), data
        for key, index in _STEP.findall(path):
            inside = value.get(key) if key else value[int(index)] if index.isdigit() else None
            if inside is None:
                break
            value = inside
        problem = problem[0].lower() + problem[1:]
        problem = problem if isinstance(value, dict) else f"{shorten(value)}: {problem}"
        raise InputError(source, path.removeprefix("."), problem) from None
