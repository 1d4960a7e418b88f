"""Reading and writing of files, the same for every family: strict JSON, gzip, and replacement in one step."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import itertools
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import threading
import tomllib
import zlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from queue import Empty, Queue
from typing import IO, Any, NamedTuple

from ratiobench.instances.io import packing
from ratiobench.instances.io.errors import SHOWN, InputError, make_printable, shorten, suggest_name

_LOOKED_AT = 10_000  # Files of a folder among which one of a similar name is looked for
_DUPLICATES = 1_000  # Objects with a key that stands twice among which the first of a document is looked for


@dataclass(frozen=True, slots=True)
class HugeInteger:
    """An integer literal too long to be worth converting."""

    text: str

    def __str__(self) -> str:
        return self.text


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


class Place(NamedTuple):
    """Where a value stands in a document: the place of what holds it (None: nothing does), its key or index there."""

    holder: Place | None
    step: str | int

    def __str__(self) -> str:
        steps = []
        place: Place | None = self
        while place is not None:
            step = place.step
            steps.append(f"[{step}]" if isinstance(step, int) else f".{make_printable(step, SHOWN)}" if step else "")
            place = place.holder
        return "".join(reversed(steps)).removeprefix(".")


def iterate_values(document: Any, name: str = "") -> Iterator[tuple[Place, Any]]:
    """Every value in a decoded document, the document first, each with its place; any depth, in memory for one path."""
    # A stack and not recursion: the JSON reader allows deeper nesting than Python's calls do. Places are written out
    # only when somebody asks for it: paths can be far longer than the document.
    stack: list[tuple[Place | None, Iterator[tuple[str | int, Any]]]] = [(None, iter([(name, document)]))]
    while stack:
        holder, rest = stack[-1]
        for step, value in rest:
            place = Place(holder, step)
            yield place, value
            if isinstance(value, dict | list):
                inside = value.items() if isinstance(value, dict) else enumerate(value)
                stack.append((place, iter(inside)))
                break
        else:
            stack.pop()


def load_json(data: bytes, source: str, most: int | None = None) -> Any:
    """The JSON value, of at most `most` values, in plain, gzip or packed `data`; strict about duplicates."""
    most = packing.MOST if most is None else most
    twice = 0

    def decoded(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal twice
        unique = dict(pairs)
        if len(unique) == len(pairs) or twice == _DUPLICATES:
            return unique
        twice += 1
        return _Twice(pairs)

    try:
        if packing.is_packed(data):
            return packing.unpack(data, source, _limit.get(), most)
        if data[:2] == b"\x1f\x8b":
            data = _bounded(gzip.GzipFile(fileobj=io.BytesIO(data)), source, "unpacked, ")
        if packing.count_values(data) > most:  # would take far more memory than its bytes
            raise InputError(source, "", f"it has more than {most} values, the most that is read")
        text = data.decode("utf-8")
        found = json.loads(text, object_pairs_hook=decoded, parse_constant=float, parse_int=_integer_literal)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(source, "", f"not a complete gzip file: {error}") from None
    except UnicodeDecodeError as error:
        raise InputError(source, "", f"not UTF-8 text at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise InputError(source, f"line {error.lineno} column {error.colno}", f"not JSON: {error.msg}") from None
    except RecursionError:
        raise InputError(source, "", "not JSON that can be read: nested too deeply") from None
    except MemoryError:
        raise _too_large(source) from None
    if twice:
        place, value = next((place, value) for place, value in iterate_values(found) if type(value) is _Twice)
        key, first, second = value.twice
        problem = f"the key is given twice in one object ({shorten(first)}, then {shorten(second)}); once is allowed"
        raise InputError(source, str(Place(place, key)), problem)
    return found


_TOML_BYTES = 10**6
_TOML_DOTS = 100
_QUOTED = re.compile(rb"""\"(?:[^\"\\]|\\.)*\"|'[^']*'""")


def load_toml(data: bytes, source: str) -> dict[str, Any]:
    """The table in a TOML text, with numbers that have a point as exact decimals."""
    if len(data) > _TOML_BYTES:
        raise InputError(source, "", f"{len(data)} bytes of TOML; at most {_TOML_BYTES} are read")
    # Inside a text of several lines a quote may open or close anything: then all dots count.
    plain = b'"""' not in data and b"'''" not in data
    for line, text in enumerate(data.splitlines(), start=1):
        if text.count(b".") > _TOML_DOTS and (_QUOTED.sub(b"", text) if plain else text).count(b".") > _TOML_DOTS:
            raise InputError(source, f"line {line}", f"more than {_TOML_DOTS} dots outside quotes; no key is so deep")
    try:
        return tomllib.loads(data.decode(), parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise InputError(source, "", f"not TOML: {error}") from None


READ_LIMIT = 2**30  # Bytes of a file that are read, packed and unpacked, unless `limit_file_size` says otherwise
_limit = ContextVar("_limit", default=READ_LIMIT)
_CHUNK = 2**20


@contextlib.contextmanager
def limit_file_size(size: int) -> Iterator[None]:
    """While it lasts, files of up to so many bytes are read, packed and unpacked; longer ones are an InputError."""
    before = _limit.set(size)
    try:
        yield
    finally:
        _limit.reset(before)


read_limit = _limit.get  # The bytes of a file that are read at most, here and now


def make_size_error(source: str, how: str = "") -> InputError:
    """The error for a file with more bytes than `limit_file_size` allows; `how` says how they were counted."""
    return InputError(source, "", f"{how}more than {_limit.get()} bytes, the most that is read")


def _bounded(stream: IO[bytes] | gzip.GzipFile, source: str, how: str = "") -> bytes:
    """All that is in the stream, if that is not more than the limit."""
    limit, found = _limit.get(), io.BytesIO()
    while chunk := stream.read(_CHUNK):
        found.write(chunk)
        if found.tell() > limit:
            raise make_size_error(source, how)
    return found.getvalue()


def _too_large(source: str) -> InputError:
    return InputError(source, "", "does not fit into the memory that there is")


@contextlib.contextmanager
def open_bytes(path: str | os.PathLike[str], where: str = "") -> Iterator[tuple[IO[bytes], str]]:
    """Open a file or pipe (`-`: standard input), with its name for messages."""
    source, more = str(path), where and f"; {where}"
    if not source:
        raise InputError("''", "", "the empty name is not that of a file; - is standard input")
    try:
        if source == "-":
            source = "<stdin>"
            yield sys.stdin.buffer, source
            return
        with _open_input(path, source) as file:
            yield file, source
    except gzip.BadGzipFile:  # an OSError as well
        raise
    except OSError as error:
        if where and isinstance(error, FileNotFoundError):
            raise InputError(source, "", f"there is no such file{more}") from None
        problem = f"cannot be read: {error.strerror or error}{_near(error, source)}{more}"
        raise InputError(source, "", problem) from None


_PATIENCE = 1.0  # Seconds that a named pipe waits for a program that writes to it


def _open_input(path: str | os.PathLike[str], source: str) -> IO[bytes]:
    try:
        kind = os.stat(path).st_mode
    except ValueError:  # a NUL
        raise InputError(source, "", "cannot be read: that is no name of a file") from None
    if stat.S_ISCHR(kind) or stat.S_ISBLK(kind):
        raise InputError(source, "", "cannot be read: it is a device; - is standard input")
    if stat.S_ISREG(kind) and os.path.realpath(path).startswith(("/proc/", "/sys/")):
        raise InputError(source, "", "cannot be read: it is a file of the kernel, which may have no end")
    # A pipe without a name, such as /dev/stdin and /dev/fd/63 may be, has its writer
    if stat.S_ISFIFO(kind) and os.path.exists(os.path.realpath(path)):
        return _open_named_pipe(path, source)
    return open(path, "rb")


def _open_named_pipe(path: str | os.PathLike[str], source: str) -> IO[bytes]:
    """Open a named pipe as soon as a program has opened it for writing; InputError where none does in time."""
    opened: Queue[IO[bytes] | OSError] = Queue()

    def wait_for_writer() -> None:
        try:
            opened.put(open(path, "rb"))  # noqa: SIM115  (closed by who takes it)
        except OSError as error:
            opened.put(error)

    threading.Thread(target=wait_for_writer, daemon=True).start()
    try:
        found = opened.get(timeout=_PATIENCE)
    except Empty:
        with contextlib.suppress(OSError):  # a writer that leaves at once, so that the thread ends
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
            end = opened.get(timeout=_PATIENCE)
            if not isinstance(end, OSError):
                end.close()
        raise InputError(source, "", "cannot be read: it is a named pipe that no program writes to") from None
    if isinstance(found, OSError):
        raise found
    return found


def read_bytes(path: str | os.PathLike[str]) -> tuple[bytes, str]:
    """The content of a file or pipe (`-`: standard input), and its name for messages."""
    if not isinstance(path, str | os.PathLike):
        raise InputError("", "", f"{shorten(path)} is not the name of a file")
    try:
        with open_bytes(path) as (file, source):
            return _bounded(file, source), source
    except MemoryError:
        raise _too_large(str(path)) from None


def _near(error: OSError, source: str) -> str:
    """If the file is not there, the one of a name like this in the same folder."""
    if not isinstance(error, FileNotFoundError):
        return ""
    folder, name = os.path.split(source)
    with contextlib.suppress(OSError), os.scandir(folder or os.curdir) as entries:
        return suggest_name(name, (each.name for each in itertools.islice(entries, _LOOKED_AT) if each.is_file()))
    return ""


def _writing_error(path: object, problem: object) -> InputError:
    return InputError(str(path), "", f"cannot be written: {problem}")


@contextlib.contextmanager
def _writing(path: object) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _writing_error(path, error.strerror or error) from None


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse what `write_atomically` could not write, before the work whose result it is to hold."""
    target = Path(path)
    if _is_special(path):
        if not os.access(target, os.W_OK):
            raise _writing_error(path, "permission denied")
    elif not target.parent.is_dir():
        raise _writing_error(path, "there is no such folder")
    else:
        with _writing(target):
            tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.").close()


def _is_special(path: str | os.PathLike[str]) -> bool:
    """A device or pipe: it is written to, never replaced; /dev/stdout is one even where it leads to a file."""
    target = Path(path)
    if target.is_dir():
        raise _writing_error(path, "it is a folder")
    return target.exists() and (not target.is_file() or Path(os.path.abspath(target)).parent == Path("/dev"))


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Replace the file in one step, so that an interruption leaves the old file or the new one."""
    target = Path(path)
    with _writing(path):
        if _is_special(path):
            with target.open("ab") as device:
                device.write(data)
            return
        with _writing(target):
            handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o644)
            os.replace(temporary, target)
        finally:
            Path(temporary).unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 text, whole or not at all; gzip when the name ends in .gz (same bytes always)."""
    data = text.encode()
    if str(path).endswith(".gz"):
        data = gzip.compress(data, compresslevel=6, mtime=0)
    write_atomically(path, data)


def line_of(document: Any) -> str:
    return _compact(document) + "\n"


def sha256_of(content: Any) -> str:
    """SHA-256 of JSON values in canonical form, in 64 hexadecimal digits: keys sorted, no spaces, ASCII."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def text_of(document: dict[str, Any]) -> str:
    """A JSON document as text, one line per field and per entry of a list."""
    lines = []
    for key, value in document.items():
        rows = ",\n".join(f"  {_compact(item)}" for item in value) if isinstance(value, list) else ""
        lines.append(f" {_compact(key)}: " + (f"[\n{rows}\n ]" if rows else _compact(value)))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def make_folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(str(path), "", f"the folder cannot be made: {error.strerror or error}") from None
    return path


@contextlib.contextmanager
def fill_folder(folder: Path) -> Iterator[Path]:
    """A folder whose files get into `folder` (made if need be, not left behind empty) at the end, or none of them."""
    new = not folder.exists()
    make_folder(folder)
    with _writing(folder / "files"):
        beside = Path(tempfile.mkdtemp(dir=folder, prefix=".files."))
    try:
        yield beside
        for file in sorted(beside.iterdir()):
            if (folder / file.name).is_dir():
                raise InputError(str(folder / file.name), "", "cannot be written: it is a folder")
        for file in sorted(beside.iterdir()):
            os.replace(file, folder / file.name)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        if new:
            with contextlib.suppress(OSError):
                folder.rmdir()


SUFFIXES = (".json.gz", ".json")  # Of instance files


def list_instances(folder: Path) -> list[Path]:
    """The instance files of a folder, in order of their names, numbers in them by value."""

    def order(path: Path) -> list[tuple[int, str]]:
        parts = re.split(r"(\d+)", path.name.removesuffix(".gz").removesuffix(".json"))
        return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]

    found = (path for path in folder.iterdir() if path.name.endswith(SUFFIXES))
    return sorted(found, key=order)
