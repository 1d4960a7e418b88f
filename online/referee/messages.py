"""What the referee sends to the process of a user's algorithm: pickles without what that process has already.

Of an array go the words that differ from the array in the same place of the last message; a record (an object of a
class that the family's protocol names in `sent_once`, and never changes) goes once, then as a number. The receiver
makes every array of bytes that nobody can alter: no algorithm can spoil those that come later.
"""

from __future__ import annotations

import copyreg
import io
import pickle
from typing import IO, Any

import numpy as np

_LEAST_BYTES = 256  # Of an array whose changes are looked for; a smaller one goes whole
_PLACE = np.dtype(np.int32)
Change = bytes | tuple[bytes, bytes]  # An array's bytes, or which of its words have changed, and what they are now


class Sender:
    """The referee's end."""

    def __init__(self, sent_once: tuple[type, ...] = ()) -> None:
        self._records: dict[int, tuple[int, Any]] = {}  # by `id`, which a record has alone while it is kept
        self._before: dict[int, np.ndarray[Any, Any]] = {}
        self._arrays = 0  # in the message so far
        self._body = io.BytesIO()
        self._pickler = pickle.Pickler(self._body, pickle.HIGHEST_PROTOCOL)
        reducers: dict[type, Any] = {np.ndarray: self._reduce_array, **dict.fromkeys(sent_once, self._reduce_record)}
        self._pickler.dispatch_table = copyreg.dispatch_table | reducers

    def pack(self, message: Any) -> bytes:
        """The message in bytes; the receiver must read every one, in order."""
        self._arrays = 0
        self._body.seek(0)
        self._body.truncate()
        self._pickler.clear_memo()
        self._pickler.dump(message)
        return self._body.getvalue()

    def _reduce_array(self, array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
        if array.dtype.hasobject:
            reduced: Any = array.__reduce_ex__(2)
            return (*reduced[:3], None, None, _restore)
        place, self._arrays = self._arrays, self._arrays + 1
        kind = array.dtype.str if array.dtype.names is None else array.dtype
        return _make_array, (place, self._describe(place, array), kind, array.shape)

    def _describe(self, place: int, array: np.ndarray[Any, Any]) -> Change:
        size = array.nbytes
        if size < _LEAST_BYTES:
            return array.tobytes()
        # As integers: NaN differs from itself, and the two zeros do not from each other.
        now = np.ascontiguousarray(array).reshape(-1).view(_word(size))
        before = self._before.get(place)
        if before is None or before.nbytes != size:
            self._before[place] = now.copy()
            return now.tobytes()
        (changed,) = (now != before).nonzero()
        if len(changed) * (_PLACE.itemsize + now.itemsize) >= size:
            before[:] = now
            return now.tobytes()
        before[changed] = values = now[changed]
        return changed.astype(_PLACE).tobytes(), values.tobytes()

    def _reduce_record(self, record: Any) -> tuple[Any, ...]:
        """The number of a record that was sent before; of a new one its number and the record itself."""
        if id(record) in self._records:
            return _recall, (self._records[id(record)][0],)
        number = len(self._records)
        self._records[id(record)] = number, record
        make, given, *state = record.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        return _make_record, (number, make, given), *state


def _word(size: int) -> type[np.int64] | type[np.int8]:
    return np.int8 if size % 8 else np.int64


def _restore(array: np.ndarray[Any, Any], state: Any) -> None:
    array.__setstate__(state)
    array.setflags(write=False)


def _make_array(*about: Any) -> Any:
    """Stands for `Receiver._make_array`."""


def _make_record(*about: Any) -> Any:
    """Stands for `Receiver._make_record`."""


def _recall(number: int) -> Any:
    """Stands for a record of a `Receiver`."""


class Receiver:
    """The end in the algorithm's process."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._records: dict[int, Any] = {}
        self._words: dict[int, np.ndarray[Any, Any]] = {}
        self._bytes: dict[int, bytes] = {}
        self.names: dict[tuple[str, str], Any] = {
            (__name__, "_make_array"): self._make_array,
            (__name__, "_make_record"): self._make_record,
            (__name__, "_recall"): self._records.__getitem__,
        }

    def receive(self) -> Any:
        """The next message; EOFError if there are no more."""
        return _Unpickler(self._pipe, self.names).load()

    def _make_array(self, place: int, change: Change, kind: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        if isinstance(change, tuple):
            changed, values = change
            if changed:
                words = self._words[place]
                words[np.frombuffer(changed, _PLACE)] = np.frombuffer(values, words.dtype)
                self._bytes[place] = words.tobytes()
            change = self._bytes[place]
        elif len(change) >= _LEAST_BYTES:
            self._words[place] = np.frombuffer(change, _word(len(change))).copy()
            self._bytes[place] = change
        return np.ndarray(shape, kind, change)

    def _make_record(self, number: int, make: Any, given: tuple[Any, ...]) -> Any:
        record = self._records[number] = make(*given)
        return record


class _Unpickler(pickle.Unpickler):
    """Reads a message."""

    def __init__(self, pipe: IO[bytes], names: dict[tuple[str, str], Any]) -> None:
        super().__init__(pipe)
        self._names = names

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._names:
            self._names[module, name] = super().find_class(module, name)
        return self._names[module, name]
