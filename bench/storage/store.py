"""The results of a run: one SQLite file, one row per finished or failed piece of work, keyed by content.

Only the process that runs a suite writes, one transaction per piece, so a killed run loses what was in the making and
nothing else. SQLite's rollback journal with full synchronisation is what makes that hold for `kill -9` too.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from ratiobench.bench.arguments import STORE as STORE
from ratiobench.bench.family.suite import REPEATS
from ratiobench.instances.io.documents import convert
from ratiobench.instances.io.errors import CommandError, InputError, shorten

VERSION = 2
_APPLICATION = 0x52424E43  # "RBNC" in SQLite's header, to know our own files
PATIENCE = 60.0  # Seconds to wait while another process writes the same store
EMPTY = "holds no results; `run SUITE --out DIR` with this folder as DIR makes them"
UNAUDITED = "none"  # In place of the version of audits: no claim is checked
_TABLES = """
CREATE TABLE IF NOT EXISTS pieces (
    stage TEXT NOT NULL, instance TEXT NOT NULL, key TEXT NOT NULL,
    ok INTEGER NOT NULL, payload TEXT NOT NULL, solution BLOB, seconds REAL NOT NULL,
    PRIMARY KEY (stage, instance, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS cases (
    name TEXT PRIMARY KEY, position INTEGER NOT NULL, content TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;
"""


class StoreError(CommandError):
    """The store could not be written (disk full, I/O error); what was in it before is still there."""


@dataclass(frozen=True, slots=True)
class StoredResult:
    stage: str  # ``generate``, ``opt``, ``solvers``, ``online``, ``audit`` or ``study``
    instance: str  # SHA-256 of the instance's content
    key: str  # what was done to it: canonical names, options and code version
    ok: bool  # False for a failure; then `payload` has ``reason``
    payload: Mapping[str, Any]  # JSON values; exact figures are integers or fractions in strings
    solution: bytes | None = None  # gzipped solution document, for `opt`
    seconds: float = 0.0  # wall time, for information

    @property
    def address(self) -> tuple[str, str, str]:
        return self.stage, self.instance, self.key


@dataclass(frozen=True, slots=True)
class StoredCase:
    """A case of the suite as it was run: what `report` needs to lay out the table."""

    name: str
    group: str
    instance: str  # SHA-256 of its content; empty when it could not be generated
    recipe: Mapping[str, Any]
    describe: Mapping[str, Any]  # the family's figures about it
    # (name as asked for, key) pairs in the order of the table.
    algorithms: Sequence[Annotated[Sequence[str], Meta(min_length=2, max_length=2)]]
    solve: Mapping[str, Any]  # the settings of the reference
    solve_key: str
    audits: str = ""  # version of the family's audits, `UNAUDITED` where nothing is checked
    prior: str = ""  # SHA-256 of the instance that some algorithms take their constants from; empty without one
    prior_recipe: Mapping[str, Any] | None = None
    # the tables to be made: kind, algorithm, task (or None), key.
    studies: Sequence[Annotated[Sequence[Any], Meta(min_length=4, max_length=4)]] = field(default_factory=list)
    repeats: Mapping[str, Annotated[int, Meta(ge=2, le=REPEATS)]] = field(default_factory=dict)  # of those that draw
    history: str = ""  # SHA-256 of several days before, which some algorithms learn from
    history_recipe: Mapping[str, Any] | None = None
    solvers_key: str = ""  # of the answers of several solvers for the program as printed; empty where none are asked

    def find_prior(self, word: str) -> str:
        """The instance that `yesterday` or `history` in an algorithm's name stands for; empty without one."""
        return (self.history if word == "history" else "") or self.prior if word else ""

    def runs(self) -> Iterator[tuple[str, int, str]]:
        """Every run: the algorithm's name, the number of the repetition from 1 on, and the key."""
        for name, key in self.algorithms:
            yield name, 1, key
            for number in range(2, self.repeats.get(name, 1) + 1):
                yield name, number, f"{key} | repetition {number}"

    def audit_key(self, algorithm_key: str) -> str:
        return f"{algorithm_key} | {self.solve_key} | audits {self.audits}"


@dataclass(slots=True)
class Store:
    """An open store. Use `Store.open`."""

    path: Path  # the file
    connection: sqlite3.Connection = field(repr=False)

    @classmethod
    @contextlib.contextmanager
    def open(cls, path: Path, *, create: bool = True) -> Iterator[Store]:
        if not create and not os.path.isfile(path):  # False as well for a name that is too long
            raise InputError(str(path), "", "there is no result store here; `run` makes one")
        if os.path.exists(path) and not os.path.isfile(path):
            raise InputError(str(path), "", "cannot be opened: it is no regular file")
        with _plain_words(path):
            store = cls(path, sqlite3.connect(path, timeout=PATIENCE, isolation_level=None))
        with contextlib.closing(store.connection):
            store._prepare(create)
            yield store

    def _prepare(self, create: bool) -> None:
        application, version = (self._rows(f"PRAGMA {name}")[0][0] for name in ("application_id", "user_version"))
        [(tables,)] = self._rows("SELECT count(*) FROM sqlite_master")
        if tables and application != _APPLICATION:
            raise InputError(str(self.path), "", "an SQLite file, but not a result store of ratiobench")
        if tables and version != VERSION:
            problem = f"a store of version {version}; this program reads {VERSION}: run the suite into a new folder"
            raise InputError(str(self.path), "", problem)
        with _plain_words(self.path):
            if self._rows("PRAGMA quick_check(1)") != [("ok",)]:
                raise sqlite3.DatabaseError("malformed")
            if not tables and not create:
                raise InputError(str(self.path), "", EMPTY)
            if not tables:
                head = f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {VERSION};"
                self.connection.executescript(f"BEGIN IMMEDIATE; {_TABLES} {head} COMMIT;")

    def _rows(self, query: str, *values: Any) -> list[Any]:
        with _plain_words(self.path):
            return self.connection.execute(query, values).fetchall()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with _plain_words(self.path), self.connection:  # which commits, or rolls back after an exception
            self.connection.execute("BEGIN IMMEDIATE")
            yield

    def put(self, *pieces: StoredResult) -> None:
        """Write the pieces, all or none; a piece with the same address is replaced."""
        rows = [
            (*piece.address, piece.ok, json.dumps(piece.payload), piece.solution, piece.seconds) for piece in pieces
        ]
        with self._transaction():
            self.connection.executemany("INSERT OR REPLACE INTO pieces VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def get(self, stage: str, instance: str, key: str) -> StoredResult | None:
        query = "SELECT ok, payload, solution, seconds FROM pieces WHERE stage = ? AND instance = ? AND key = ?"
        rows = self._rows(query, stage, instance, key)
        if not rows:
            return None
        ok, payload, *others = rows[0]
        return StoredResult(stage, instance, key, bool(ok), self._object(payload, f"{stage} of {key}"), *others)

    def _object(self, text: Any, what: str) -> dict[str, Any]:
        try:
            value = json.loads(text)
        except (ValueError, TypeError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise InputError(str(self.path), shorten(what), f"{shorten(text)} is not a JSON object as `run` stores it")
        return value

    def clear(self, *, failed_only: bool = False) -> None:
        with self._transaction():
            self.connection.execute("DELETE FROM pieces" + (" WHERE ok = 0" if failed_only else ""))

    def begin(self, about: Mapping[str, Any], cases: Sequence[str]) -> None:
        """Note what is being run, and forget cases that are not part of it any more."""
        content = json.dumps(about, sort_keys=True)
        with self._transaction():
            self.connection.execute("INSERT OR REPLACE INTO about VALUES ('run', ?)", (content,))
            gone = [row for row in self._rows("SELECT name FROM cases") if row[0] not in cases]
            self.connection.executemany("DELETE FROM cases WHERE name = ?", gone)

    def about(self) -> dict[str, Any]:
        rows = self._rows("SELECT content FROM about WHERE name = 'run'")
        return self._object(rows[0][0], "about") if rows else {}

    def put_case(self, position: int, case: StoredCase) -> None:
        content = json.dumps({name: getattr(case, name) for name in StoredCase.__slots__})
        with self._transaction():
            self.connection.execute("INSERT OR REPLACE INTO cases VALUES (?, ?, ?)", (case.name, position, content))

    def cases(self) -> list[StoredCase]:
        return [
            convert(self._object(content, f"case {name}"), StoredCase, str(self.path), f"case {shorten(name)}")
            for name, content in self._rows("SELECT name, content FROM cases ORDER BY position, name")
        ]


@contextlib.contextmanager
def _plain_words(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        text = str(error)
        if "unable to open" in text or "readonly" in text or "read-only" in text:
            raise InputError(str(path), "", f"the result store cannot be opened for writing ({text})") from None
        if isinstance(error, sqlite3.OperationalError) and "malformed" not in text:
            locked = "another process has locked the result store"
            what = locked if "locked" in text else "the result could not be stored"
            raise StoreError(f"{path}: {what} ({text}); earlier results are kept") from None
        problem = f"not a sound result store ({text}); move it away or name another folder with --out"
        raise InputError(str(path), "", problem) from None
