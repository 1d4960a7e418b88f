"""JSON inside a store that `run` did not write: one line that names store, case and field, status 2."""

import contextlib
import json
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ratiobench.bench.storage.payload import read_piece
from ratiobench.bench.storage.store import Store
from ratiobench.instances.io.errors import InputError
from tests.support.commands import refused
from tests.support.toy_runs import made, toy  # noqa: F401

pytestmark = pytest.mark.usefixtures("toy")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made("toy", tmp_path_factory.mktemp("toy"), "--only", "toy0")


MISSING = object()
FORGED: list[tuple[str, str, Any, str]] = [
    ("opt", "lower", "much", "case 'toy0', opt.lower: 'much' is not an integer"),
    ("opt", "upper", 1.5, "case 'toy0', opt.upper: 1.5 is not an integer"),
    ("opt", "proof", MISSING, "case 'toy0', opt.proof: the field is missing"),
    ("opt", "upper", -(10**9), "is above the upper end -1000000000"),
    ("opt", "lower", "1/2", "case 'toy0', opt.lower: '1/2' is not an integer"),
    ("online", "welfare", "1/3", "case 'toy0', online.welfare: '1/3' is not an integer"),
    ("online", "welfare", "1e99999", "case 'toy0', online.welfare: '1e99999' is not an integer"),
    ("online", "welfare", 10**4000, "case 'toy0', online.welfare: an integer of 13288 bits is not an integer in its"),
    ("online", "welfare", 10**9, "case 'toy0', online of 'above:mark=50', welfare: 1000000000 is above the bound"),
    ("online", "admitted", 10**18, f"case 'toy0', online.admitted: {10**18} of 8 tasks"),
    ("online", "violations", [{"rule": 3}], "case 'toy0', online.violations[0]: an object is not text"),
    ("online", "violations", ["a rule"], "case 'toy0', online.valid: true with 1 violations"),
    ("online", "counts", {"batches": "many"}, "case 'toy0', online.counts.batches: 'many' is not an integer in"),
    ("online", "seconds", float("nan"), "case 'toy0', online.seconds: nan is not in 0..1e+12"),
    ("online", "seconds", float("inf"), "case 'toy0', online.seconds: inf is not in 0..1e+12"),
    (
        "online",
        "algorithm",
        "greedy",
        "case 'toy0', online.algorithm: 'greedy' is not the one of its key 'above:mark=50 v1'",
    ),
    ("audit", "measures", {"share": "1e99"}, "case 'toy0', audit.measures.share: '1e99' is neither an integer nor a"),
    ("online", "welfare", [], "case 'toy0', online.welfare: a list of 0 is not an integer"),
    ("online", "welfare", "1/0", "case 'toy0', online.welfare: '1/0' is not an integer"),
    ("online", "valid", "yes", "case 'toy0', online.valid: 'yes' is not true or false"),
    ("online", "admitted", True, "case 'toy0', online.admitted: true is not an integer"),
    ("online", "remarks", MISSING, "case 'toy0', online.remarks: the field is missing"),
    ("online", "remarks", {}, "case 'toy0', online.remarks.name: the field is missing"),
    ("online", "constants", [7], "case 'toy0', online.constants[0]: 7 is not an object"),
    ("online", "constants", [{"name": "a"}], "case 'toy0', online.constants[0].value: the field is missing, and so"),
    ("online", "seconds", "1", "case 'toy0', online.seconds: '1' is neither a number"),
    ("online", "accounts", 7, "case 'toy0', online.accounts: 7 is neither an object nor null"),
    ("online", "accounts", {"vendors": 0, "energy": 0}, "case 'toy0', online.accounts.bids: the field is missing"),
    ("online", "accounts", {"vendors": 0, "energy": "1/2", "bids": 9}, "online.accounts.energy: '1/2' is not an"),
    ("online", "accounts", {"vendors": 0, "energy": 0, "bids": 1}, "accounts: bids - vendors - energy is not"),
    ("audit", "checks", [{}], "case 'toy0', audit.checks[0].name: the field is missing"),
    (
        "audit",
        "checks",
        [{"name": "half", "status": "holds", "left": 1, "right": 2, "reason": "", "figures": {}, "failing": 3}],
        "case 'toy0', audit.checks[0].failing: 3 is neither a list nor null",
    ),
    ("audit", "checks", "none", "case 'toy0', audit.checks: 'none' is not a list"),
    ("audit", "measures", {"share": "x" * 10_000}, "case 'toy0', audit.measures.share: 'xxx"),
    ("case", "algorithms", 3, "case 'toy0'.algorithms: 3 is not a list"),
    ("case", "algorithms", [["first"]], "case 'toy0'.algorithms[0]: 1 entries; 2 needed"),
    ("case", "instance", MISSING, "case 'toy0'.instance: the field is missing"),
    ("case", "more", 1, "case 'toy0'.more: unknown key"),
    ("about", "plots", [{"name": 1}], "about.plots[0].name: 1 is not text"),
]


@pytest.mark.parametrize(("table", "name", "value", "words"), FORGED)
def test_a_forged_field_is_named(
    table: str, name: str, value: Any, words: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = shutil.copytree(folder, tmp_path / "out")
    place, column = {"case": ("cases", "content"), "about": ("about", "content")}.get(table, ("pieces", "payload"))
    chosen = f" WHERE stage = '{table}'" if place == "pieces" else ""
    with sqlite3.connect(out / "results.sqlite") as connection:
        if chosen:  # one piece of the stage
            [key] = connection.execute(f"SELECT key FROM pieces{chosen} LIMIT 1").fetchone()
            chosen += f" AND key = '{key}'"
        [text] = connection.execute(f"SELECT {column} FROM {place}{chosen}").fetchone()
        document = json.loads(text)
        document.pop(name, None)
        if name == "welfare":
            document.pop("accounts", None)  # they would not fit any more
        if value is not MISSING:
            document[name] = value
        connection.execute(f"UPDATE {place} SET {column} = ?{chosen}", (json.dumps(document),))
    _refused(out, words, capsys)


def test_payloads_of_two_algorithms_are_told_apart(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = shutil.copytree(folder, tmp_path / "out")
    with sqlite3.connect(out / "results.sqlite") as connection:
        chosen = "SELECT payload FROM pieces WHERE stage = 'online' AND key LIKE 'first%'"
        connection.execute(f"UPDATE pieces SET payload = ({chosen}) WHERE stage = 'online' AND key LIKE 'one%'")
    _refused(out, "case 'toy0', online.algorithm: 'first' is not the one of its key 'one v1'", capsys)


def test_fractions_stay_where_values_are_no_integers(folder: Path) -> None:
    with Store.open(folder / "results.sqlite", create=False) as store:
        [case] = store.cases()
        piece = store.get("online", case.instance, case.algorithms[0][1])
    assert piece is not None
    for text, fits in (("1/3", True), ("2/6", False), ("0.5", False), ("1_0", False), (f"1{'0' * 31}/3", False)):
        payload = {key: value for key, value in piece.payload.items() if key != "accounts"}
        other = replace(piece, payload={**payload, "welfare": text})
        with contextlib.nullcontext() if fits else pytest.raises(InputError, match="welfare"):
            read_piece(other, folder, case)
        with pytest.raises(InputError, match="welfare"):
            read_piece(other, folder, case, whole=True)


@pytest.mark.parametrize("text", ["", "nonsense", "[1]", "7", "[" * 100_000])
@pytest.mark.parametrize("where", ["pieces SET payload", "cases SET content", "about SET content"])
def test_what_is_no_json_object_is_named(
    where: str, text: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = shutil.copytree(folder, tmp_path / "out")
    with sqlite3.connect(out / "results.sqlite") as connection:
        connection.execute(f"UPDATE {where} = ?", (text,))
    _refused(out, "is not a JSON object as `run` stores it", capsys)


def _refused(out: Path, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(capsys, "report", str(out))
    assert line.startswith(f"ratiobench: {out / 'results.sqlite'}: ")
    assert words in line
    assert "Error" not in line
    assert len(line) < 400 + len(str(out))
