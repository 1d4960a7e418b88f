"""Reading and writing of files, the same for every family: strict JSON, gzip, and replacement in one step."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any

from instances.errors import InputError, shown


class HugeInteger:
    """An integer literal too long to be worth converting; keeps its text for the message."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


class _Duplicate(Exception):
    pass


class _Twice(dict[str, Any]):
    """An object with a key that stands twice, with the key and both values."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(reversed(pairs))  # the first of two stays
        values: dict[str, Any] = {}
        for key, value in pairs:
            if key in values:
                self.twice = (key, values[key], value)
                break
            values[key] = value


def _integer_literal(text: str) -> int | HugeInteger:
    return int(text) if len(text) <= 30 else HugeInteger(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for key, value in pairs:
        if key in seen:
            raise _Duplicate(key)
        seen[key] = value
    return seen


def _lenient(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    return unique if len(unique) == len(pairs) else _Twice(pairs)


def _first_duplicate(text: str, source: str) -> InputError:
    """The error for a text with a key that stands twice: its path and both values."""
    # A stack and not recursion: the JSON reader allows deeper nesting than Python's calls do.
    stack: list[tuple[str, Any]] = [
        ("", json.loads(text, object_pairs_hook=_lenient, parse_constant=_constant, parse_int=_integer_literal))
    ]
    while stack:
        path, value = stack.pop()
        if isinstance(value, _Twice):
            key, first, second = value.twice
            problem = f"the key stands twice in one object ({shown(first)}, then {shown(second)}); once is allowed"
            return InputError(source, f"{path}.{key}" if path else key, problem)
        if isinstance(value, dict):
            stack += reversed([(f"{path}.{key}" if path else key, inner) for key, inner in value.items()])
        elif isinstance(value, list):
            stack += reversed([(f"{path}[{j}]", inner) for j, inner in enumerate(value)])
    raise AssertionError("no key stands twice")


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
    except _Duplicate:
        raise _first_duplicate(text, source) from None
    except json.JSONDecodeError as error:
        raise InputError(source, f"line {error.lineno} column {error.colno}", f"not JSON: {error.msg}") from None
    except RecursionError:
        raise InputError(source, "", "not JSON that can be read: nested too deeply") from None


def read_bytes(path: str | os.PathLike[str]) -> tuple[bytes, str]:
    """The content of a file, and its name for messages; `-` is standard input."""
    if not str(path):
        raise InputError("''", "", "the empty name is not that of a file; - is standard input")
    if str(path) == "-":
        return sys.stdin.buffer.read(), "<stdin>"
    try:
        return Path(path).read_bytes(), str(path)
    except OSError as error:
        raise InputError(str(path), "", f"cannot be read: {error.strerror or error}") from None


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse what `write_atomically` could not write, before the work whose result it is to hold; leaves nothing.

    Raises
    ------
    InputError : a folder, a folder that does not exist or takes no files, a device that cannot be written.
    """
    target = Path(path)
    if target.is_dir():
        raise InputError(str(path), "", "cannot be written: it is a folder")
    if _special(target):
        if not os.access(target, os.W_OK):
            raise InputError(str(path), "", "cannot be written: permission denied")
        return
    if not target.parent.is_dir():
        raise InputError(str(path), "", "cannot be written: there is no such folder")
    handle, temporary = _temporary(target)
    os.close(handle)
    Path(temporary).unlink()


def _special(target: Path) -> bool:
    """A device or pipe: it is written to, never replaced; /dev/stdout is one even where it leads to a file."""
    plain = target.is_file() or target.is_dir()
    return target.exists() and (not plain or Path(os.path.abspath(target)).parent == Path("/dev"))


def _temporary(target: Path) -> tuple[int, str]:
    """A new file beside the target."""
    try:
        return tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise InputError(str(target), "", f"cannot be written: {error.strerror or error}") from None


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Replace the file in one step, so that an interruption leaves the old file or the new one.

    Raises
    ------
    InputError : where that cannot be.
    """
    target = Path(path)
    if target.is_dir():
        raise InputError(str(path), "", "cannot be written: it is a folder")
    if _special(target):
        try:
            with target.open("ab") as device:
                device.write(data)
        except OSError as error:
            raise InputError(str(path), "", f"cannot be written: {error.strerror or error}") from None
        return
    handle, temporary = _temporary(target)
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


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 text, whole or not at all; gzip when the name ends in .gz (same bytes always)."""
    data = text.encode()
    if str(path).endswith(".gz"):
        data = gzip.compress(data, compresslevel=6, mtime=0)
    write_atomically(path, data)


def write_json(path: str | os.PathLike[str], document: Any) -> None:
    """Write a JSON document on one line; see `write_text`."""
    write_text(path, _compact(document) + "\n")


def sha256_of(content: Any) -> str:
    """SHA-256 of JSON values in canonical form, in 64 hexadecimal digits: keys sorted, no spaces, ASCII."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def text_of(document: dict[str, Any]) -> str:
    """A JSON document as text, one line per field and per entry of a list."""
    lines = [
        f" {_compact(key)}: {_rows(value) if isinstance(value, list) else _compact(value)}"
        for key, value in document.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _rows(items: list[Any]) -> str:
    return "[\n" + ",\n".join(f"  {_compact(item)}" for item in items) + "\n ]" if items else "[]"


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
