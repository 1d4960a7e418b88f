"""What the referee sends to the process of a user's algorithm: pickles without what that process has already.

Of an array go the words that differ from the array in the same place of the last message; a record (an object of a
class that the family's protocol names in `sent_once`, and never changes) goes once, then as a number. The receiver
makes every array of bytes that nobody can alter: no algorithm can spoil those that come later.
"""

from __future__ import annotations

import io
import pickle
from typing import IO, Any

import numpy as np

_LEAST_BYTES = 256  # Of an array whose changes are looked for; a smaller one goes whole
_PLACE = np.dtype(np.int32)


class Sender:
    """The referee's end."""

    def __init__(self, sent_once: tuple[type, ...] = ()) -> None:
        self.classes = frozenset(sent_once)
        self.records: dict[int, tuple[int, Any]] = {}  # by `id`, which a record has alone while it is kept
        self._before: dict[int, np.ndarray[Any, Any]] = {}

    def pack(self, message: Any) -> bytes:
        """The message in bytes; the receiver must read every one, in order."""
        body, buffers = io.BytesIO(), list[pickle.PickleBuffer]()
        _Pickler(body, buffers, self).dump(message)
        changes = [self._describe(place, buffer.raw()) for place, buffer in enumerate(buffers)]
        return pickle.dumps(changes, pickle.HIGHEST_PROTOCOL) + body.getvalue()

    def _describe(self, place: int, data: memoryview) -> bytes | tuple[bytes, bytes]:
        """An array's bytes, or which of its words have changed, and what they are now."""
        if data.nbytes < _LEAST_BYTES:
            return bytes(data)
        # As integers: NaN differs from itself, and the two zeros do not from each other.
        now, before = np.frombuffer(data, _word(data.nbytes)), self._before.get(place)
        if before is None or before.nbytes != now.nbytes:
            self._before[place] = now.copy()
            return bytes(data)
        (changed,) = (now != before).nonzero()
        if len(changed) * (_PLACE.itemsize + now.itemsize) >= now.nbytes:
            before[:] = now
            return bytes(data)
        before[changed] = values = now[changed]
        return changed.astype(_PLACE).tobytes(), values.tobytes()


def _word(size: int) -> type[np.int64] | type[np.int8]:
    return np.int8 if size % 8 else np.int64


class _Pickler(pickle.Pickler):
    """Pickles a message without the cells of arrays, which go into `buffers`, and without records sent before."""

    def __init__(self, body: io.BytesIO, buffers: list[pickle.PickleBuffer], sender: Sender) -> None:
        super().__init__(body, pickle.HIGHEST_PROTOCOL, buffer_callback=buffers.append)
        self._classes, self._records = sender.classes, sender.records
        self._new: Any = None

    def reducer_override(self, value: Any) -> Any:
        """See that an array which NumPy puts into no buffer comes out read-only, too."""
        if not isinstance(value, np.ndarray):
            return NotImplemented
        reduced: Any = value.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        if any(isinstance(part, pickle.PickleBuffer) for part in reduced[1]):
            return reduced
        return (*reduced[:3], None, None, _restore)

    def persistent_id(self, value: Any) -> Any:
        """The number of a record that was sent before; of a new one its number and the record itself."""
        if type(value) not in self._classes or value is self._new:
            return None
        if id(value) in self._records:
            return self._records[id(value)][0]
        self._records[id(value)] = len(self._records), value
        self._new = value
        return self._records[id(value)]


def _restore(array: np.ndarray[Any, Any], state: Any) -> None:
    array.__setstate__(state)
    array.setflags(write=False)


class Receiver:
    """The end in the algorithm's process."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._records: dict[int, Any] = {}
        self._words: dict[int, np.ndarray[Any, Any]] = {}
        self._bytes: dict[int, bytes] = {}

    def receive(self) -> Any:
        """The next message; EOFError if there are no more."""
        changes = pickle.load(self._pipe)
        buffers = [self._apply(place, change) for place, change in enumerate(changes)]
        return _Unpickler(self._pipe, buffers, self._records).load()

    def _apply(self, place: int, change: bytes | tuple[bytes, bytes]) -> bytes:
        """The bytes of an array."""
        if isinstance(change, bytes):
            if len(change) >= _LEAST_BYTES:
                self._words[place] = np.frombuffer(change, _word(len(change))).copy()
                self._bytes[place] = change
            return change
        changed, values = change
        if changed:
            words = self._words[place]
            words[np.frombuffer(changed, _PLACE)] = np.frombuffer(values, words.dtype)
            self._bytes[place] = words.tobytes()
        return self._bytes[place]


class _Unpickler(pickle.Unpickler):
    """Reads a message."""

    def __init__(self, pipe: IO[bytes], buffers: list[bytes], records: dict[int, Any]) -> None:
        super().__init__(pipe, buffers=buffers)
        self._records = records

    def persistent_load(self, about: Any) -> Any:
        """A record; the number that a `_Pickler` gave it, or the number and the record itself."""
        if isinstance(about, int):
            return self._records[about]
        number, record = about
        self._records[number] = record
        return record
