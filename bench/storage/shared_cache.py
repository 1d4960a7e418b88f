"""Results that suites share: a second store beside a run's own, in which every finished piece of work is found again.

What a run has stays in its own store, whatever becomes of the library: a library that cannot be written any more (a
lock that does not end, a full disk) costs one line and no result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ratiobench.bench.storage.store import Store, StoredResult, StoreError
from ratiobench.instances.io.errors import InputError

LIBRARY = "pieces.sqlite"
"""File of the library that the suites below one folder share."""

_SHARED = ("opt", "online", "audit", "study")


@dataclass(slots=True)
class SharedCache:
    """A run's own store, and the library that it takes from and gives to.

    Parameters
    ----------
    own : the store of the run's folder.
    library : the shared one; None for none.
    reads : whether pieces are taken from the library; they are given to it in any case.
    warn : told, in one line, when the library is given up.
    """

    own: Store
    library: Store | None
    reads: bool
    warn: Callable[[str], None]

    def get(self, stage: str, instance: str, key: str) -> StoredResult | None:
        """The piece at this address from the own store, or else from the library, of which it becomes an own one."""
        piece = self.own.get(stage, instance, key)
        if piece is not None:
            self._give(piece, replace=False)
            return piece
        if stage not in _SHARED or not self.reads:
            return None
        piece = self._take(stage, instance, key)
        if piece is None or not piece.ok:
            return None
        self.own.put(piece)
        return piece

    def put(self, *pieces: StoredResult) -> None:
        """Keep the pieces in the own store, all or none; then give those that others can use to the library."""
        self.own.put(*pieces)
        self._give(*pieces)

    def _give(self, *pieces: StoredResult, replace: bool = True) -> None:
        useful = [piece for piece in pieces if piece.ok and piece.stage in _SHARED]
        if self.library is None or not useful:
            return
        try:
            if not replace:
                useful = [piece for piece in useful if not self.library.has(*piece.address)]
            if useful:
                self.library.put(*useful)
        except (StoreError, InputError) as error:
            self._give_up(error)

    def _take(self, stage: str, instance: str, key: str) -> StoredResult | None:
        if self.library is None:
            return None
        try:
            return self.library.get(stage, instance, key)
        except (StoreError, InputError) as error:
            self._give_up(error)
            return None

    def _give_up(self, error: Exception) -> None:
        self.library = None
        self.warn(f"{error}; this run goes on without the library and keeps its results in {self.own.path}")


def open_shared_cache(path: Path | None) -> Store | None:
    """The library if it is there already and sound; None where none is wanted or none is there.

    Raises
    ------
    InputError : a file that is not a sound store.
    """
    return Store.open(path) if path is not None and path.exists() else None
