"""What is kept on disk is read as it was written, or not at all."""

from pathlib import Path

import pytest

from ratiobench.instances.io import disk_cache
from ratiobench.instances.io.disk_cache import code_mark, recall, store


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RATIOBENCH_CACHE", str(tmp_path))
    return tmp_path / "kept"


def test_what_was_kept_is_read_under_the_very_same_key() -> None:
    assert recall(["a", 1]) is None
    store(["a", 1], b"content")
    assert recall(["a", 1]) == b"content"
    assert recall(["a", 2]) is None


@pytest.mark.parametrize(
    "damage", [lambda old: old[:-1] + b"T", lambda old: old[:20], lambda old: b"", lambda old: old + b"x"]
)
def test_a_damaged_entry_is_as_if_it_were_not_there(folder: Path, damage: object) -> None:
    store("key", b"content")
    [entry] = folder.iterdir()
    entry.write_bytes(damage(entry.read_bytes()))  # type: ignore[operator]
    assert recall("key") is None
    store("key", b"content")
    assert recall("key") == b"content"


def test_nothing_is_kept_where_no_folder_is_named_or_none_can_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RATIOBENCH_CACHE", "")
    store("key", b"content")
    assert recall("key") is None
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RATIOBENCH_CACHE", str(tmp_path / "file"))
    store("key", b"content")
    assert recall("key") is None
    assert not (tmp_path / "home").exists()
    monkeypatch.delenv("RATIOBENCH_CACHE")
    store("key", b"content")
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["ratiobench"]


def test_the_oldest_half_goes_when_there_are_too_many(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_cache, "MOST", 9)
    for number in range(10):
        store(number, b"content")
        assert recall(number) == b"content"
    assert len(list(folder.iterdir())) == 5


def test_the_mark_of_code_changes_with_any_of_its_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "marked" / "inner"
    package.mkdir(parents=True)
    for path in (package.parent / "__init__.py", package / "__init__.py"):
        path.write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    marks = []
    for text in ("a = 1", "a = 2", "a = 1"):
        (package / "part.py").write_text(text)
        code_mark.cache_clear()
        marks.append(code_mark(("marked",)))
    code_mark.cache_clear()
    assert marks[0] == marks[2] != marks[1]
