"""The figures of a later run of some algorithms take the place of theirs in the committed tables."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.tools import readme_tables

LINES = [
    {"plot": "reached", "group": "a", "algorithm": "old", "mean": "1/2", "said": ""},
    {"plot": "reached", "group": "a", "algorithm": "new", "mean": "1/3", "said": "x"},
    {"plot": "reached", "group": "b", "algorithm": "new", "mean": "1/4", "said": ""},
]


def _folder(path: Path, **about: object) -> Path:
    path.mkdir()
    (path / "provenance.json").write_text(json.dumps({"suite": "toy", **about}), encoding="utf-8")
    return path


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A committed table of a whole run, and its provenance."""
    monkeypatch.setattr(readme_tables, "PAPER", tmp_path / "results" / "paper.csv")
    (tmp_path / "results").mkdir()
    readme_tables.take(_folder(tmp_path / "whole"), {tmp_path / "results" / "toy.csv": pd.DataFrame(LINES)})
    return tmp_path / "results"


def test_lines_of_some_algorithms_are_replaced(results: Path, tmp_path: Path) -> None:
    """In their places, all others as they were; a whole run replaces all, and what was told of the part."""
    table = results / "toy.csv"
    before = table.read_text(encoding="utf-8").splitlines()
    assert before[1:] == ["reached,a,old,1/2,", "reached,a,new,1/3,x", "reached,b,new,1/4,"]
    better = pd.DataFrame([line | {"mean": "9/10", "said": ""} for line in (LINES[2], LINES[1])])
    readme_tables.take(_folder(tmp_path / "part", rows=["n*"]), {table: better})
    after = table.read_text(encoding="utf-8").splitlines()
    assert after == [before[0], before[1], "reached,a,new,9/10,", "reached,b,new,9/10,"]
    assert sorted(each.name for each in results.iterdir()) == [
        "toy.csv", "toy_provenance.json", "toy_rows_provenance.json",
    ]  # fmt: skip
    readme_tables.take(_folder(tmp_path / "again"), {table: pd.DataFrame(LINES)})
    assert table.read_text(encoding="utf-8").splitlines() == before
    assert not (results / "toy_rows_provenance.json").exists()


@pytest.mark.parametrize(
    "lines",
    [[LINES[1] | {"group": "c"}], [{**LINES[1], "more": "1"}], [LINES[1] | {"algorithm": "other"}]],
    ids=["group", "column", "algorithm"],
)
def test_other_lines_are_refused(lines: list[dict[str, str]], results: Path, tmp_path: Path) -> None:
    """Nothing is written then."""
    before = {each: each.read_bytes() for each in results.iterdir()}
    with pytest.raises(ValueError, match=r"toy\.csv: other lines or columns"):
        readme_tables.take(_folder(tmp_path / "part", rows=["n*"]), {results / "toy.csv": pd.DataFrame(lines)})
    assert {each: each.read_bytes() for each in results.iterdir()} == before


def test_lines_that_are_missing_are_refused(results: Path, tmp_path: Path) -> None:
    """An algorithm of the part must have all lines that it has in the table."""
    with pytest.raises(ValueError, match="other lines"):
        readme_tables.take(_folder(tmp_path / "part", rows=["n*"]), {results / "toy.csv": pd.DataFrame(LINES[1:2])})
