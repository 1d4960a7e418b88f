"""Packed JSON: a document as a small file (xz); the values that stand at one place of it are a column.

``I`` integers, ``D`` integers by differences: variable-length bytes, the sign in the lowest bit. ``N`` values of which
some are null: a bit for each, then the column of the others. ``O`` objects with the same keys: the keys, then a column
per key. ``T`` lists of one length: the length, then a column per place. ``L`` lists of any length: the column of
lengths, then that of what is in them, one list after another. ``J`` anything else: JSON text.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from itertools import accumulate, islice
from typing import Any

from ratiobench.instances.io.errors import InputError

MAGIC = b"RBPACK1\n"
SUFFIX = ".cert"  # Of files that are written packed
_SHORT = 8  # Lists of one length are taken apart by places up to this many
_WINDOW = 2**24
_BITS = 1024  # No integer is longer
_WORD = 256  # Bits of an integer that count as one value
_FEW = 64  # Integers up to which they are read one by one
_LONG = 9  # Bytes of an integer that fit into 64 bits with its sign
MOST = 2**24  # Values that a document has at most, lists and objects among them, unless its reader passes another limit
_CORRUPT = "not a complete packed document"


def is_packed(data: bytes) -> bool:
    return data.startswith(MAGIC)


def pack(document: Any) -> bytes:
    """The document of JSON values (integers, no floats beyond text) in packed form."""
    out = bytearray()
    _write(out, [document])
    window = min(_WINDOW, max(4096, len(out)))
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": window}]
    return MAGIC + lzma.compress(bytes(out), format=lzma.FORMAT_XZ, check=lzma.CHECK_SHA256, filters=filters)


def unpack(data: bytes, source: str, limit: int, most: int = MOST) -> Any:
    """The document of at most `most` values in packed bytes, of which at most `limit` are unpacked."""
    content = content_of(data, source, limit)
    try:
        cursor = _Cursor(content, most)
        (document,) = cursor.column(1)
        if cursor.place != len(content):
            raise ValueError
    except TooManyValues:
        raise InputError(source, "", f"packed, it has more than {most} values, the most that is read") from None
    except (ValueError, LookupError, RecursionError):
        raise InputError(source, "", _CORRUPT) from None
    return document


def content_of(data: bytes, source: str, limit: int) -> bytes:
    """The columns in packed bytes, texts in them as they are."""
    reader = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=4 * _WINDOW)
    try:
        content = reader.decompress(data[len(MAGIC) :], limit + 1)
    except lzma.LZMAError:
        raise InputError(source, "", _CORRUPT) from None
    if len(content) > limit:
        raise InputError(source, "", f"unpacked, more than {limit} bytes, the most that is read")
    if not reader.eof or reader.unused_data:
        raise InputError(source, "", _CORRUPT)
    return content


class TooManyValues(Exception):
    """A document has more values than its reader allows."""


def count_values(text: bytes) -> int:
    """Count the commas and opening brackets in JSON text: at least half of its values, before any is decoded."""
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _write(out: bytearray, values: list[Any]) -> None:
    kinds = set(map(type, values))
    if kinds == {int} and max(map(abs, values)).bit_length() < _BITS:
        plain = _bytes_of(values)
        steps = _bytes_of(b - a for a, b in zip([0, *values], values, strict=False))
        out += b"D" + steps if len(steps) < len(plain) else b"I" + plain
    elif type(None) in kinds and len(kinds) > 1:
        flags = sum(1 << place for place, value in enumerate(values) if value is not None)
        out += b"N" + flags.to_bytes((len(values) + 7) // 8, "little")
        _write(out, [value for value in values if value is not None])
    elif kinds == {dict} and values[0] and all(list(value) == list(values[0]) for value in values):
        out += b"O"
        _write_text(out, list(values[0]))
        for key in values[0]:
            _write(out, [value[key] for value in values])
    elif kinds == {list}:
        lengths = set(map(len, values))
        if len(lengths) == 1 and 0 < (length := lengths.pop()) <= _SHORT:
            out += b"T" + _bytes_of([length])
            for place in range(length):
                _write(out, [value[place] for value in values])
        else:
            out += b"L"
            _write(out, [len(value) for value in values])
            _write(out, [each for value in values for each in value])
    else:
        out += b"J"
        _write_text(out, values)


def _write_text(out: bytearray, values: list[Any]) -> None:
    text = json.dumps(values, separators=(",", ":"), allow_nan=False).encode()
    out += _bytes_of([len(text)]) + text


def _bytes_of(numbers: Any) -> bytes:
    """Integers, the sign in the lowest bit, seven bits a byte, the lowest first, the eighth set where more follow."""
    out = bytearray()
    for number in numbers:
        left = 2 * number if number >= 0 else -2 * number - 1
        while left > 127:
            out.append(left & 127 | 128)
            left >>= 7
        out.append(left)
    return bytes(out)


class _Cursor:
    """A place in unpacked bytes, from which columns are read. Every value read takes a bit at least."""

    def __init__(self, content: bytes, most: int) -> None:
        self.content, self.place, self.left = content, 0, most
        import numpy as np

        self.bytes = np.frombuffer(content, dtype=np.uint8)

    def column(self, number: int) -> list[Any]:
        kind = self._take(1)
        self._count(number)
        if kind == b"I":
            return self._integers(number)
        if kind == b"D":
            steps = self._integers(number)
            # A long first value and steps of 0 would be as many long integers: bits are counted as well as values.
            self._count(number * (sum(map(abs, steps)).bit_length() // _WORD))
            return list(accumulate(steps))
        if kind == b"N":
            flags = int.from_bytes(self._take((number + 7) // 8), "little")
            known = [int(digit) for digit in reversed(f"{flags:0{number}b}")]  # the lowest bit is the first value's
            if len(known) > number:
                raise ValueError
            others = iter(self.column(sum(known)))
            return [next(others) if flag else None for flag in known]
        if kind == b"O":
            keys = self._text()
            if not keys or len(set(keys)) < len(keys) or any(type(key) is not str for key in keys):
                raise ValueError
            columns = [self.column(number) for _ in keys]
            return [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]
        if kind == b"T":
            (length,) = self._integers(1)
            if not 0 < length <= _SHORT:
                raise ValueError
            return [list(row) for row in zip(*[self.column(number) for _ in range(length)], strict=True)]
        if kind == b"L":
            lengths = self.column(number)
            if any(type(length) is not int or length < 0 for length in lengths) or sum(lengths) > 8 * len(self.content):
                raise ValueError
            inside = iter(self.column(sum(lengths)))
            return [list(islice(inside, length)) for length in lengths]
        if kind == b"J":
            return self._text(number)
        raise ValueError

    def _count(self, number: int) -> None:
        self.left -= number
        if self.left < 0:
            raise TooManyValues

    def _take(self, number: int) -> bytes:
        if number > len(self.content) - self.place:
            raise LookupError
        self.place += number
        return self.content[self.place - number : self.place]

    def _text(self, number: int | None = None) -> list[Any]:
        (length,) = self._integers(1)
        text = self._take(max(0, length))
        self._count(count_values(text))
        found = json.loads(text, object_pairs_hook=_once)
        if type(found) is not list or number not in (None, len(found)):
            raise ValueError
        return found

    def _integers(self, number: int) -> list[int]:
        """The next integers: many short ones at once, others one by one."""
        import numpy as np

        size = 2 * number
        while number > _FEW:
            ends = self.place + np.flatnonzero(self.bytes[self.place : self.place + size] < 128)[:number]
            if len(ends) == number:
                begin = np.concatenate(([self.place], ends[:-1] + 1))
                length = ends - begin + 1
                if int(length.max()) > _LONG:
                    break
                value = np.zeros(number, dtype=np.int64)
                for step in range(int(length.max())):
                    more = np.flatnonzero(length > step)
                    value[more] |= (self.bytes[begin[more] + step] & 127).astype(np.int64) << 7 * step
                self.place = int(ends[-1]) + 1
                signed: list[int] = ((value >> 1) ^ -(value & 1)).tolist()
                return signed
            if self.place + size >= len(self.content):
                break
            size *= 2
        return list(self._each_integer(number))

    def _each_integer(self, number: int) -> Iterator[int]:
        content, place = self.content, self.place
        for _ in range(number):
            value = shift = 0
            while content[place] > 127:
                value |= (content[place] & 127) << shift
                shift += 7
                place += 1
                if shift > _BITS:
                    raise ValueError
            value |= content[place] << shift
            place += 1
            yield -(value + 1 >> 1) if value & 1 else value >> 1
        self.place = place
