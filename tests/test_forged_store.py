"""JSON inside a store that `run` did not write: one line that names store, case and field, status 2."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from bench.cli.main import main
from tests.toy_family import made, toy  # noqa: F401

pytestmark = pytest.mark.usefixtures("toy")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of one case."""
    return made("toy", tmp_path_factory.mktemp("toy"), "--only", "toy0")


MISSING = object()
FORGED: list[tuple[str, str, Any, str]] = [
    ("opt", "lower", "much", "case 'toy0', opt, lower: 'much' is not what"),
    ("opt", "upper", 1.5, "case 'toy0', opt, upper: 1.5 is not what"),
    ("opt", "proof", MISSING, "case 'toy0', opt, proof: the field is missing"),
    ("opt", "upper", -(10**9), "case 'toy0'"),
    ("online", "welfare", [], "case 'toy0', online, welfare: a list of 0 is not what"),
    ("online", "welfare", "1/0", "case 'toy0', online, welfare: '1/0' is not what"),
    ("online", "valid", "yes", "case 'toy0', online, valid: 'yes' is not what"),
    ("online", "admitted", True, "case 'toy0', online, admitted: true is not what"),
    ("online", "constants", [7], "case 'toy0', online, constants[0]: 7 is not an object"),
    ("online", "constants", [{"name": "a"}], "case 'toy0', online, constants[0], value: the field is missing"),
    ("online", "seconds", None, "case 'toy0', online, seconds: null is not what"),
    ("audit", "checks", [{}], "case 'toy0', audit, checks[0], name: the field is missing"),
    ("audit", "checks", "none", "case 'toy0', audit, checks: 'none' is not what"),
    ("audit", "measures", {"share": "x" * 10_000}, "case 'toy0', audit, measures, share: 'xxx"),
    ("case", "algorithms", 3, "case 'toy0', algorithms: 3 is not a list"),
    ("case", "algorithms", [["first"]], "case 'toy0'"),
    ("case", "instance", MISSING, "case 'toy0', instance: the field is missing"),
    ("case", "more", 1, "case 'toy0', 'more': there is no such field"),
    ("about", "plots", [{"name": 1}], "about, plots"),
]


@pytest.mark.parametrize(("table", "name", "value", "words"), FORGED)
def test_a_forged_field_is_named(
    table: str, name: str, value: Any, words: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever stands there instead."""
    out = shutil.copytree(folder, tmp_path / "out")
    place, column = {"case": ("cases", "content"), "about": ("about", "content")}.get(table, ("pieces", "payload"))
    chosen = f" WHERE stage = '{table}'" if place == "pieces" else ""
    with sqlite3.connect(out / "results.sqlite") as connection:
        [text] = connection.execute(f"SELECT {column} FROM {place}{chosen} LIMIT 1").fetchone()
        document = json.loads(text)
        document.pop(name, None)
        if value is not MISSING:
            document[name] = value
        connection.execute(f"UPDATE {place} SET {column} = ?{chosen}", (json.dumps(document),))
    _refused(out, words, capsys)


@pytest.mark.parametrize("text", ["", "nonsense", "[1]", "7", "[" * 100_000])
@pytest.mark.parametrize("where", ["pieces SET payload", "cases SET content", "about SET content"])
def test_what_is_no_json_object_is_named(
    where: str, text: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In every table of the store."""
    out = shutil.copytree(folder, tmp_path / "out")
    with sqlite3.connect(out / "results.sqlite") as connection:
        connection.execute(f"UPDATE {where} = ?", (text,))
    _refused(out, "is not a JSON object as `run` stores it", capsys)


def _refused(out: Path, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["report", str(out)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"ratiobench: {out / 'results.sqlite'}: ")
    assert words in line
    assert len(line) < 400 + len(str(out))
