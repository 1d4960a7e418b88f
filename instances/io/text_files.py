"""Text files of any size, line by line: plain or gzip, a file, a pipe or standard input."""

from __future__ import annotations

import csv
import gzip
import io
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.files import load_json, make_size_error, open_bytes, read_limit

LONGEST_LINE = 2**20  # Characters of a line, and of a row of CSV that goes on over several lines
_GZIP = b"\x1f\x8b"


class _Limited(io.RawIOBase):
    """A binary stream of which no more than `limit_file_size` is read; `how` says how the bytes are counted."""

    def __init__(self, stream: IO[bytes] | gzip.GzipFile, source: str, how: str = "") -> None:
        self._stream, self._source, self._how, self._left = stream, source, how, read_limit()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise make_size_error(self._source, self._how)
        buffer[: len(data)] = data
        return len(data)


class TextFile(io.TextIOWrapper):
    """An open text file: an iterator over its lines, each with its line break; `errors` as of `open`."""

    def __init__(self, stream: io.BufferedReader[_Limited], source: str, errors: str = "strict") -> None:
        super().__init__(stream, encoding="utf-8-sig", newline="", errors=errors)
        self._stream, self._source, self._line = stream, source, 0

    def readline(self, size: int = LONGEST_LINE + 1, /) -> str:  # type: ignore[override]
        line = super().readline(size)
        self._line += 1
        if len(line) > LONGEST_LINE:
            raise _long(self._source, self._line)
        return line

    def peek(self) -> bytes:  # The first bytes of the file, before any line was read
        return self._stream.peek()

    def is_json_list(self) -> bool:  # Whether the file, before any line was read, begins with a bracket
        return self.peek().removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["

    def json(self) -> Any:  # The whole file, before any line was read, as a JSON value
        return load_json(self._stream.read().removeprefix(b"\xef\xbb\xbf"), self._source)


@contextmanager
def open_text(path: str | os.PathLike[str], where: str = "", errors: str = "strict") -> Iterator[TextFile]:
    with open_bytes(path, where) as (raw, source):
        try:
            stream = io.BufferedReader(_Limited(raw, source))
            if stream.peek()[:2] == _GZIP:
                stream = io.BufferedReader(_Limited(gzip.GzipFile(fileobj=stream), source, "unpacked, "))
            yield TextFile(stream, source, errors)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise InputError(source, "", f"not a complete gzip file: {error}") from None
        except UnicodeDecodeError as error:
            raise InputError(source, "", f"not UTF-8 text at byte {error.start} of a block") from None


def rows(file: Iterable[str], source: str, delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file that are not blank, each with the number of its (last) line."""
    taken = 0

    def lines() -> Iterator[str]:
        nonlocal taken
        for line in file:
            taken += len(line)
            if taken > LONGEST_LINE:
                raise _long(source, reader.line_num + 1)
            yield line

    reader = csv.reader(lines(), delimiter=delimiter)
    try:
        for row in reader:
            taken = 0
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        raise InputError(source, f"line {reader.line_num}", f"not CSV: {error}") from None


def read_table(path: Path) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of a CSV file of this package, plain or gzip."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", newline="", encoding="ascii") as file:
        header, *table = csv.reader(file)
    return header, table


def read_number(text: str, source: str, field: str, what: str = "a number") -> float:
    """A number in 0..10^11 in a field of a log, such as a second of its clock."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1e11:
        raise InputError(source, field, f"{shorten(text)} is not {what} in 0..10^11")
    return value


def _long(source: str, line: int) -> InputError:
    return InputError(source, f"line {line}", f"longer than {LONGEST_LINE} characters, the most that is read")
