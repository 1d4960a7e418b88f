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

from ratiobench.bench.family.suite import REPEATS
from ratiobench.instances.io.documents import convert
from ratiobench.instances.io.errors import CommandError, InputError, shorten

VERSION = 2
_APPLICATION = 0x52424E43  # "RBNC" in SQLite's header, to know our own files

PATIENCE = 60.0  # Seconds to wait while another process writes the same store

EMPTY = "holds no results; `run SUITE --out DIR` with this folder as DIR makes them"

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


STORE = "results.sqlite"  # The file of a folder of results


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


UNAUDITED = "none"  # In place of the version of audits: no claim is checked


@dataclass(frozen=True, slots=True)
class StoredCase:
    """A case of the suite as it was run: what `report` needs to lay out the table."""

    name: str
    group: str
    instance: str  # SHA-256 of its content; empty when it could not be generated
    recipe: Mapping[str, Any]
    describe: Mapping[str, Any]  # the family's figures about it
    algorithms: Sequence[
        Annotated[Sequence[str], Meta(min_length=2, max_length=2)]
    ]  # (name as asked for, key) pairs in the order of the table
    solve: Mapping[str, Any]  # the settings of the reference
    solve_key: str
    audits: str = ""  # version of the family's audits, `UNAUDITED` where nothing is checked
    prior: str = ""  # SHA-256 of the instance that some algorithms take their constants from; empty without one
    prior_recipe: Mapping[str, Any] | None = None
    # the tables to be made: kind, algorithm, task (or None), key.
    studies: Sequence[Annotated[Sequence[Any], Meta(min_length=4, max_length=4)]] = field(default_factory=list)
    # Of algorithms that draw: number of runs
    repeats: Mapping[str, Annotated[int, Meta(ge=2, le=REPEATS)]] = field(default_factory=dict)
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
    def open(cls, path: Path, *, create: bool = True) -> Store:
        if not create and not os.path.isfile(path):  # False as well for a name that is too long
            raise InputError(str(path), "", "there is no result store here; `run` makes one")
        if os.path.exists(path) and not os.path.isfile(path):
            raise InputError(str(path), "", "cannot be opened: it is no regular file")
        with _plain_words(path):
            connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
        store = cls(path, connection)
        try:
            store._prepare(create)
        except BaseException:
            connection.close()
            raise
        return store

    def _prepare(self, create: bool) -> None:
        with _plain_words(self.path):
            application, version = (self._one(f"PRAGMA {name}") for name in ("application_id", "user_version"))
            tables = self._one("SELECT count(*) FROM sqlite_master")
            if tables and application != _APPLICATION:
                raise InputError(str(self.path), "", "an SQLite file, but not a result store of ratiobench")
            if tables and version != VERSION:
                problem = f"a store of version {version}; this program reads {VERSION}: run the suite into a new folder"
                raise InputError(str(self.path), "", problem)
            if self._one("PRAGMA quick_check(1)") != "ok":
                raise sqlite3.DatabaseError("malformed")
            if not tables and not create:
                raise InputError(str(self.path), "", EMPTY)
            if not tables:
                self.connection.executescript(
                    f"BEGIN IMMEDIATE; {_TABLES} PRAGMA application_id = {_APPLICATION}; "
                    f"PRAGMA user_version = {VERSION}; COMMIT;"
                )

    def _one(self, query: str) -> Any:
        return self.connection.execute(query).fetchone()[0]

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

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
        with _plain_words(self.path):
            row = self.connection.execute(query, (stage, instance, key)).fetchone()
        if row is None:
            return None
        ok, payload, solution, seconds = row
        return StoredResult(
            stage, instance, key, bool(ok), self._object(payload, f"{stage} of {key}"), solution, seconds
        )

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
        with self._transaction():
            self.connection.execute(
                "INSERT OR REPLACE INTO about VALUES ('run', ?)", (json.dumps(about, sort_keys=True),)
            )
            known = [name for (name,) in self.connection.execute("SELECT name FROM cases")]
            gone = [(name,) for name in known if name not in cases]
            self.connection.executemany("DELETE FROM cases WHERE name = ?", gone)

    def about(self) -> dict[str, Any]:
        with _plain_words(self.path):
            row = self.connection.execute("SELECT content FROM about WHERE name = 'run'").fetchone()
        return {} if row is None else self._object(row[0], "about")

    def put_case(self, position: int, case: StoredCase) -> None:
        content = json.dumps({name: getattr(case, name) for name in StoredCase.__slots__})
        with self._transaction():
            self.connection.execute("INSERT OR REPLACE INTO cases VALUES (?, ?, ?)", (case.name, position, content))

    def cases(self) -> list[StoredCase]:
        with _plain_words(self.path):
            rows = self.connection.execute("SELECT name, content FROM cases ORDER BY position, name").fetchall()
        return [
            convert(self._object(content, f"case {name}"), StoredCase, str(self.path), f"case {shorten(name)}")
            for name, content in rows
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
            what = (
                "another process has locked the result store" if "locked" in text else "the result could not be stored"
            )
            raise StoreError(f"{path}: {what} ({text}); earlier results are kept") from None
        raise InputError(
            str(path), "", f"not a sound result store ({text}); move it away or name another folder with --out"
        ) from None
