"""One JSON object of any size whose bulk is a list under one key: its entries are decoded one after another."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.text_files import TextFile

LONGEST_ENTRY = 2**22  # Characters of an entry of the list, and of the value of any other key
_CHUNK = 2**18
_TOKEN = 16  # No token but a text is longer: an error farther from the end of what was read is none of what is missing
_SPACE = re.compile(r"[ \t\r\n]*")


class _Reader:
    """The text of the file around the place that is read, and values decoded from it."""

    def __init__(self, file: TextFile, source: str) -> None:
        self._file, self._source = file, source
        self._text, self._at, self._ended = "", 0, False
        self._lines, self._columns = 0, 0  # in front of the text
        self._decode = json.JSONDecoder().raw_decode

    def _more(self) -> bool:
        """Drop what was read and add at least as much as is left; whether there was anything to add."""
        if self._ended:
            return False
        self._lines, self._columns = self._place(self._at)
        rest = self._text[self._at :]
        added = self._file.read(max(_CHUNK, len(rest)))
        self._ended = not added
        self._text, self._at = rest + added, 0
        return bool(added)

    def fail(self, problem: str, at: int | None = None) -> InputError:
        line, column = self._place(self._at if at is None else at)
        return InputError(self._source, f"line {line + 1} column {column + 1}", problem)

    def _place(self, at: int) -> tuple[int, int]:
        """Line and column, from 0, of a place in the text."""
        breaks = self._text.count("\n", 0, at)
        column = at - self._text.rfind("\n", 0, at) - 1 if breaks else self._columns + at
        return self._lines + breaks, column

    def peek(self) -> str:  # The next character that is no white space; empty at the end
        while True:
            found = _SPACE.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def take(self, wanted: str) -> str:
        found = self.peek()
        if not found or found not in wanted:
            told = f"{shorten(found)} where" if found else "the file ends where"
            raise self.fail(f"not JSON: {told} {' or '.join(wanted)} is needed")
        self._at += 1
        return found

    def begin(self, mark: str, end: str) -> str:
        """Take an opening mark; a comma if an entry follows, else the end, which is taken."""
        self.take(mark)
        return self.take(end) if self.peek() == end else ","

    def value(self, what: str) -> Any:
        self.peek()
        while True:
            error, start = None, self._at
            try:
                found, end = self._decode(self._text, start)
                # What ends with the text may go on behind it, as a number does.
                if end < len(self._text) or self._ended:
                    if end - start > LONGEST_ENTRY:
                        break
                    self._at = end
                    return found
            except json.JSONDecodeError as caught:
                error = caught
            except RecursionError:
                raise InputError(self._source, what, "not JSON that can be read: nested too deeply") from None
            except ValueError:
                raise InputError(self._source, what, "an integer of more digits than can be read") from None
            if len(self._text) - start > LONGEST_ENTRY:
                break
            cut = error is None or error.pos > len(self._text) - _TOKEN or error.msg.startswith("Unterminated string")
            if not (cut and self._more()) and error is not None:
                raise self.fail(f"not JSON: {error.msg}", self._at + error.pos - start) from None
        raise InputError(self._source, what, f"longer than {LONGEST_ENTRY} characters, the most that is read")


def iterate_entries(file: TextFile, source: str, key: str) -> Iterator[tuple[str, Any]]:
    """The entries of the list under `key`, and the values of all other keys, in the order of the file."""
    reader = _Reader(file, source)
    if reader.peek() != "{":
        raise InputError(source, "", f"not a JSON object with a list `{key}`")
    there, mark = False, reader.begin("{", "}")
    while mark == ",":
        if reader.peek() != '"':
            raise reader.fail("not JSON: a name in double quotes is needed")
        name = reader.value("a key")
        reader.take(":")
        if name == key:
            there = True
            yield from _list(reader, source, key)
        else:
            yield name, reader.value(name)
        mark = reader.take(",}")
    if reader.peek():
        raise reader.fail("not JSON: there is text after the object")
    if not there:
        raise InputError(source, key, "the field is missing")


def _list(reader: _Reader, source: str, key: str) -> Iterator[tuple[str, Any]]:
    if reader.peek() != "[":
        raise InputError(source, key, f"{shorten(reader.value(key))} is not a list")
    mark, index = reader.begin("[", "]"), 0
    while mark == ",":
        path = f"{key}[{index}]"
        yield path, reader.value(path)
        mark, index = reader.take(",]"), index + 1
