"""The result store: exact round trips, all or nothing, and one clear line for every way it can be unusable."""

from dataclasses import replace
from pathlib import Path

import pytest

from ratiobench.bench.storage.store import Store, StoredCase, StoredResult, StoreError
from ratiobench.instances.io.errors import InputError
from tests.support.documents import refusal_of

PIECE = StoredResult("opt", "ab12", "key 1", True, {"lower": 2**70, "ratio": "1/3"}, b"\x00\xff", 0.5)


def test_pieces_read_back_identical(tmp_path: Path) -> None:
    """Large integers, fractions in strings and bytes survive; another process sees them after closing."""
    with Store.open(tmp_path / "s.sqlite") as store:
        store.put(PIECE)
        assert store.get("opt", "ab12", "key 2") is None
    with Store.open(tmp_path / "s.sqlite", create=False) as store:
        assert store.get("opt", "ab12", "key 1") == PIECE


def test_a_piece_with_the_same_address_is_replaced_not_counted_twice(tmp_path: Path) -> None:
    """Two writes of one piece of work leave one row."""
    again = StoredResult("opt", "ab12", "key 1", False, {"reason": "x"})
    with Store.open(tmp_path / "s.sqlite") as store:
        store.put(PIECE)
        store.put(again)
        assert store.get("opt", "ab12", "key 1") == again
        assert store.connection.execute("SELECT count(*) FROM pieces").fetchone() == (1,)


def test_of_a_writing_that_fails_nothing_is_kept(tmp_path: Path) -> None:
    """The second of two pieces cannot be stored: the first one is not, either."""
    broken = replace(PIECE, key="key 2", solution=object())  # type: ignore[arg-type]
    with Store.open(tmp_path / "s.sqlite") as store:
        with pytest.raises(Exception, match="type 'object' is not supported"):
            store.put(PIECE, broken)
        assert store.get("opt", "ab12", "key 1") is None


def test_two_writers_share_one_store(tmp_path: Path) -> None:
    """Two open stores on one file write in turn, and each sees the other's rows."""
    other = StoredResult("online", "ab12", "eft", True, {})
    with Store.open(tmp_path / "s.sqlite") as one, Store.open(tmp_path / "s.sqlite") as two:
        one.put(PIECE)
        two.put(other)
        assert one.get(*other.address) == other
        assert two.get(*PIECE.address) == PIECE


def test_a_lock_that_does_not_end_is_one_line_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write is refused as a whole, what was there can be read, and the next write goes through."""
    monkeypatch.setattr("ratiobench.bench.storage.store.PATIENCE", 0.1)
    with Store.open(tmp_path / "s.sqlite") as one, Store.open(tmp_path / "s.sqlite") as two:
        one.put(PIECE)
        one.connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another process has locked the result store") as caught:
            two.put(StoredResult("online", "ab12", "eft", True, {}))
        assert "\n" not in str(caught.value)
        assert two.get(*PIECE.address) is not None
        assert two.get("online", "ab12", "eft") is None
        one.connection.execute("COMMIT")
        two.put(StoredResult("online", "ab12", "eft", True, {}))
        assert one.get("online", "ab12", "eft") is not None


def test_only_failed_pieces_are_forgotten_when_asked(tmp_path: Path) -> None:
    """Retrying forgets failures and nothing else; a fresh start forgets everything."""
    failed = StoredResult("audit", "ab12", "k", False, {"reason": "x"})
    with Store.open(tmp_path / "s.sqlite") as store:
        store.put(PIECE, failed)
        store.clear(failed_only=True)
        assert store.get(*failed.address) is None
        assert store.get(*PIECE.address) == PIECE
        store.clear()
        assert store.get(*PIECE.address) is None


def test_cases_keep_the_order_of_the_suite_and_drop_what_left_it(tmp_path: Path) -> None:
    """Cases come back by position; `begin` forgets those that the suite no longer has."""
    cases = [StoredCase(name, "g", "h", {"seed": 1}, {}, [["a", "a v1"]], {"effort": 1}, "k") for name in "zya"]
    with Store.open(tmp_path / "s.sqlite") as store:
        for position, case in enumerate(cases):
            store.put_case(position, case)
        assert store.cases() == cases
        store.begin({"suite": "s"}, ["z", "a"])
        assert [case.name for case in store.cases()] == ["z", "a"]
        assert store.about() == {"suite": "s"}


def test_a_full_disk_is_one_line_and_loses_nothing(tmp_path: Path) -> None:
    """When the file cannot grow, the write fails as a whole, earlier rows stay, and the store goes on working."""
    with Store.open(tmp_path / "s.sqlite") as store:
        store.put(PIECE)
        [pages] = store.connection.execute("PRAGMA page_count").fetchone()
        store.connection.execute(f"PRAGMA max_page_count = {pages}")
        large = StoredResult("online", "cd", "big", True, {"text": "x" * 10**6})
        with pytest.raises(StoreError, match="full") as caught:
            store.put(StoredResult("online", "cd", "small", True, {}), large)
        assert "\n" not in str(caught.value)
        assert store.get("opt", "ab12", "key 1") == PIECE
        assert store.get("online", "cd", "small") is None
        store.connection.execute("PRAGMA max_page_count = 1000000")
        store.put(large)
        assert store.get(*large.address) == large


def _garbage(path: Path) -> None:
    path.write_bytes(b"not a database at all, but long enough to be read as one" * 50)


def _torn(path: Path) -> None:
    with Store.open(path) as store:
        store.put(*(StoredResult("opt", str(i), "k", True, {"text": "x" * 500}) for i in range(100)))
    data = bytearray(path.read_bytes())
    data[4096:12288] = b"\x55" * 8192
    path.write_bytes(bytes(data))


def _foreign(path: Path) -> None:
    import sqlite3

    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE other (x)")
    connection.close()


def _newer(path: Path) -> None:
    with Store.open(path) as store:
        store.connection.execute("PRAGMA user_version = 99")


@pytest.mark.parametrize(
    ("damage", "problem"),
    [(_garbage, "not a database"), (_torn, ""), (_foreign, "not a result store of ratiobench"), (_newer, "version 99")],
)
def test_an_unsound_store_is_one_line_and_is_left_as_it_is(tmp_path: Path, damage: object, problem: str) -> None:
    """Garbage, overwritten pages, someone else's database, a newer version: refused, named, and not touched."""
    path = tmp_path / "s.sqlite"
    assert callable(damage)
    damage(path)
    before = path.read_bytes()
    told = refusal_of(Store.open(path).__enter__)
    assert told.startswith(str(path))
    assert problem in told
    assert path.read_bytes() == before


def test_a_place_that_cannot_be_opened_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "s.sqlite").mkdir()
    for path in (tmp_path / "s.sqlite", tmp_path / "none" / "s.sqlite"):
        with pytest.raises(InputError, match="cannot be opened"), Store.open(path):
            pass
    with pytest.raises(InputError, match="no result store"), Store.open(tmp_path / "other.sqlite", create=False):
        pass
    assert not (tmp_path / "other.sqlite").exists()
