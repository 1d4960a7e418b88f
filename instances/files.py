"""Reading and writing of files, the same for every family: strict JSON, gzip, and replacement in one step."""

from __future__ import annotations

import gzip
import json
import os
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any

from instances.errors import InputError


class HugeInteger:
    """An integer literal too long to be worth converting; keeps its text for the message."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


class _Duplicate(Exception):
    pass


def _integer_literal(text: str) -> int | HugeInteger:
    return int(text) if len(text) <= 30 else HugeInteger(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for key, value in pairs:
        if key in seen:
            raise _Duplicate(key)
        seen[key] = value
    return seen


def _constant(text: str) -> float:
    return float(text.replace("Infinity", "inf"))


def load_json(data: bytes, source: str) -> Any:
    """The JSON value in `data` (gzip is recognised by its first bytes); strict about duplicates and encoding."""
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(source, "", f"not a complete gzip file: {error}") from None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(source, "", f"not UTF-8 text at byte {error.start}") from None
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer_literal)
    except _Duplicate as error:
        raise InputError(source, str(error), "the key stands twice in one object; once is allowed") from None
    except json.JSONDecodeError as error:
        raise InputError(source, f"line {error.lineno} column {error.colno}", f"not JSON: {error.msg}") from None
    except RecursionError:
        raise InputError(source, "", "not JSON that can be read: nested too deeply") from None


def read_bytes(path: str | os.PathLike[str]) -> tuple[bytes, str]:
    """The content of a file, and its name for messages; `-` is standard input."""
    if str(path) == "-":
        return sys.stdin.buffer.read(), "<stdin>"
    try:
        return Path(path).read_bytes(), str(path)
    except OSError as error:
        raise InputError(str(path), "", f"cannot be read: {error.strerror or error}") from None


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Replace the file in one step, so that an interruption leaves the old file or the new one."""
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise InputError(str(path), "", f"cannot be written: {error.strerror or error}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise InputError(str(path), "", f"cannot be written: {error.strerror or error}") from None
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_json(path: str | os.PathLike[str], document: Any) -> None:
    """Write a JSON document on one line, whole or not at all; gzip when the name ends in .gz (same bytes always)."""
    data = (json.dumps(document, separators=(",", ":"), allow_nan=False) + "\n").encode()
    if str(path).endswith(".gz"):
        data = gzip.compress(data, compresslevel=6, mtime=0)
    write_atomically(path, data)
