"""A JSON object read entry by entry: the same values as of the whole, in little memory, and one error."""

import json
from pathlib import Path
from typing import Any

import pytest

from ratiobench.instances.io import json_items
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.json_items import iterate_entries
from ratiobench.instances.io.text_files import open_text
from tests.support.documents import refusal_of


def entries(tmp_path: Path, text: str, key: str = "jobs") -> list[tuple[str, Any]]:
    path = tmp_path / "log.json"
    path.write_text(text, encoding="utf-8")
    with open_text(path) as file:
        return list(iterate_entries(file, "log", key))


VALUES = [{"a": [1, 2.5e3, -7], "b": 'q"\\ü€😀'}, [], "x]},", None, True, 12345, {"jobs": [{}]}]


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 2**18])
@pytest.mark.parametrize("indent", [None, 2])
def test_entries_are_those_of_the_whole(
    chunk: int, indent: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the text is cut, and whatever stands before and behind the list."""
    monkeypatch.setattr(json_items, "_CHUNK", chunk)
    text = json.dumps({"meta": {"n": 17}, "n": 305, "jobs": VALUES, "errors": [], "last": 2}, indent=indent)
    expected = [("meta", {"n": 17}), ("n", 305)]
    expected += [(f"jobs[{j}]", value) for j, value in enumerate(VALUES)]
    assert entries(tmp_path, f"\n {text} \n") == [*expected, ("errors", []), ("last", 2)]
    assert entries(tmp_path, '{"jobs" : [ ] }') == []


@pytest.mark.parametrize("chunk", [1, 5, 2**18])
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1 "jobs": []}', "line 1 column 9: not JSON: '\"' where , or } is needed"),
        ("{a: 1}", "line 1 column 2: not JSON: a name in double quotes is needed"),
        ('{"jobs": [\n1,\n2,]}', "line 3 column 3: not JSON: Expecting value"),
        ('{"jobs": [1\n', "line 2 column 1: not JSON: the file ends where , or ] is needed"),
        ('{"jobs": ["abc', "line 1 column 11: not JSON: Unterminated string starting at"),
        ('{"jobs": [' + "9" * 5000 + "]}", "jobs[0]: an integer of more digits than can be read"),
    ],
)
def test_what_is_no_json_is_one_error(
    chunk: int, text: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_items, "_CHUNK", chunk)
    assert refusal_of(entries, tmp_path, text).startswith(f"log: {problem}")


def test_an_entry_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it ends or not; one that is just short enough is read."""
    monkeypatch.setattr(json_items, "LONGEST_ENTRY", 1000)
    monkeypatch.setattr(json_items, "_CHUNK", 64)
    fit = "x" * 998
    assert entries(tmp_path, json.dumps({"jobs": [fit]})) == [("jobs[0]", fit)]
    for text in (json.dumps({"jobs": [1, fit + "x"]}), '{"jobs": [1, "' + "x" * 5000):
        with pytest.raises(InputError, match=r"jobs\[1\]: longer than 1000 characters, the most that is read"):
            entries(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"jobs": [{"a": nil, ' + '"b": 5, ' * 900_000 + '"c": 5}]}', "line 1 column 17: not JSON: Expecting value"),
        ('{"jobs": [' + "[" * 200_000 + "]}", "jobs[0]: not JSON that can be read: nested too deeply"),
    ],
)
def test_what_is_no_json_is_found_in_large_texts(text: str, problem: str, tmp_path: Path) -> None:
    assert refusal_of(entries, tmp_path, text).startswith(f"log: {problem}")
