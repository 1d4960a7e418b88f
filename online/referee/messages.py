"""What the referee sends to the process of a user's algorithm: pickles without what that process has already.

An array goes as the cells that differ from the array in the same place of the last message, a record (an object of a
class that the family's protocol names in `sent_once`) goes once, then as a number. So a message grows with what has
happened since the last one, not with the view. The receiver makes every array anew, of bytes that nobody can alter: one
that an algorithm keeps shows what it showed, and no algorithm can spoil those that come later.
"""

from __future__ import annotations

import io
import pickle
from typing import IO, Any

import numpy as np

_LEAST_BYTES = 256  # Of an array whose changes are looked for; a smaller one goes whole
_INDEX = np.dtype(np.int32)


class Sender:
    """The referee's end.

    `sent_once`: classes of records, which never change; whoever sends one sends the same object each time.
    """

    def __init__(self, sent_once: tuple[type, ...] = ()) -> None:
        self.classes = frozenset(sent_once)
        self.numbers: dict[int, int] = {}
        self.records: list[Any] = []  # an object that is kept alive shares its `id` with none
        self.arrays: dict[int, np.ndarray[Any, Any]] = {}

    def pack(self, message: Any) -> bytes:
        """The message in bytes; the receiver must read every one, in order."""
        out = io.BytesIO()
        _Pickler(out, self).dump(message)
        return out.getvalue()


class _Pickler(pickle.Pickler):
    """Pickles one message."""

    def __init__(self, out: io.BytesIO, sender: Sender) -> None:
        super().__init__(out, protocol=pickle.HIGHEST_PROTOCOL)
        self._sender, self._place = sender, 0
        self._nested: set[int] = set()

    def persistent_id(self, value: Any) -> Any:
        """What stands for an array or a record; None for all else, which is pickled."""
        if id(value) in self._nested:  # in what stands for it
            self._nested.remove(id(value))
            return None
        if isinstance(value, np.ndarray):
            return self._describe(value)
        sender = self._sender
        if type(value) not in sender.classes:
            return None
        number = sender.numbers.get(id(value))
        if number is not None:
            return number
        number = sender.numbers[id(value)] = len(sender.records)
        sender.records.append(value)
        self._nested.add(id(value))
        return number, value

    def _describe(self, array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
        """The array whole or by its changes; as pickle has it, if its cells are no plain numbers."""
        kind = array.dtype
        if kind.kind not in "biuf" or kind.itemsize > 8:
            self._nested.add(id(array))
            return (array,)
        whole = kind.str, array.shape
        if array.nbytes < _LEAST_BYTES:
            return (-1, *whole, array.tobytes())
        place, self._place = self._place, self._place + 1
        # As integers: NaN differs from itself, and the two zeros do not from each other.
        now = np.ascontiguousarray(array).reshape(-1).view(f"i{kind.itemsize}")
        before = self._sender.arrays.get(place)
        if before is not None and before.dtype == now.dtype and before.shape == now.shape:
            changed = np.flatnonzero(now != before)
            if len(changed) * (_INDEX.itemsize + kind.itemsize) < array.nbytes:
                values = now[changed]
                before[changed] = values
                return (place, *whole, changed.astype(_INDEX).tobytes(), values.tobytes())
        self._sender.arrays[place] = now.copy()
        return (place, *whole, array.tobytes())


class Receiver:
    """The end in the algorithm's process."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self.pipe = pipe
        self.records: dict[int, Any] = {}
        self.cells: dict[int, np.ndarray[Any, Any]] = {}
        self.shown: dict[int, np.ndarray[Any, Any]] = {}

    def receive(self) -> Any:
        """The next message; EOFError if there are no more."""
        return _Unpickler(self.pipe, self).load()


class _Unpickler(pickle.Unpickler):
    """Reads one message."""

    def __init__(self, pipe: IO[bytes], receiver: Receiver) -> None:
        super().__init__(pipe)
        self._receiver = receiver

    def persistent_load(self, about: Any) -> Any:
        """What a `_Pickler` described."""
        receiver = self._receiver
        if type(about) is int:
            return receiver.records[about]
        if len(about) == 1:
            about[0].setflags(write=False)
            return about[0]
        if len(about) == 2:
            number, record = about
            receiver.records[number] = record
            return record
        place, kind, shape, *data = about
        if len(data) == 2:
            changed = np.frombuffer(data[0], _INDEX)
            cells, before = receiver.cells[place], receiver.shown[place]
            if not len(changed) and before.shape == shape and before.dtype.str == kind:
                return before
            cells[changed] = np.frombuffer(data[1], cells.dtype)
            data = [cells.tobytes()]
        elif place >= 0:
            receiver.cells[place] = np.frombuffer(data[0], f"i{np.dtype(kind).itemsize}").copy()
        array: np.ndarray[Any, Any] = np.ndarray(shape, kind, data[0])
        if place >= 0:
            receiver.shown[place] = array
        return array
