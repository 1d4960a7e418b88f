"""What is said beside the names of runs is said of their means: in text, on the page, in CSV files."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ratiobench.bench.cli import main
from ratiobench.bench.results.remarks import MOST, label_of_runs, remarks_of_runs
from ratiobench.instances.io.documents import convert
from ratiobench.instances.io.errors import InputError
from ratiobench.online.remarks import Part, Remarks
from tests.support.toy_runs import made, toy  # noqa: F401

LIMITS = (
    Remarks("titan", limit=Part(5, 144), gap_ppm=3200),
    Remarks("titan"),
    Remarks("titan", limit=Part(1, 2), gap_ppm=990),
)
CHARGED = Remarks("pdftsp:units=canonical", notes=("canonical-observed",), overcharged=Part(1, 2))
EFT = {admit: Remarks("eft", (f"admit={admit}",)) for admit in ("all", "profitable")}
ONLINE = Remarks("online", ("shares=excluded", "makespan=true"))


def noted(name: str, *notes: str, **more: Any) -> Remarks:
    """A run with these words beside its name."""
    return Remarks(name, notes=notes, **more)


@pytest.mark.parametrize(
    ("algorithm", "runs", "said"),
    [
        ("titan", LIMITS, "at limit in 2 of 3 runs, worst gap 0.32 %"),
        ("titan", LIMITS[:1], "at limit 5 of 144, gap 0.32 %"),
        ("titan", [Remarks("titan", limit=Part(1, 1), gap_ppm=gap) for gap in (90_000, 100_000)],
         "at limit in 2 of 2 runs, worst gap 10 %"),
        ("titan", [Remarks("titan")] * 2, ""),
        ("titan", (), ""),
        ("online:rule=exact-step", (Remarks("online:rule=exact-step", limit=Part(3, 7)),
                                    Remarks("online:rule=exact-step")), "at limit in 1 of 2 runs"),
        ("pdftsp:units=canonical", (CHARGED, Remarks("pdftsp:units=canonical")),
         "canonical-observed in 1 of 2 runs and charged above their bid in 1 of 2 runs"),
        ("eft", [EFT["profitable"]] * 3, "admit=profitable"),
        ("eft:admit=all", [EFT["all"]] * 3, ""),
        ("online:shares=excluded", [ONLINE] * 2, "makespan=true"),
        ("mine:Class:odd=a (b)", [noted("mine:Class:odd=a (b)", "two (of them)", isolated="Landlock")] * 2,
         "two (of them) and isolated by Landlock"),
        ("mine:Class", (noted("mine:Class", "open (never closed"), noted("mine:Class", "\x1b[2J")),
         r"open (never closed in 1 of 2 runs and \x1b[2J in 1 of 2 runs"),
        ("best of two", (noted("pdftsp:alpha=2", "oracle constants"), Remarks("pdftsp:alpha=3")),
         "oracle constants in 1 of 2 runs"),
    ],
)  # fmt: skip
def test_remarks_of_runs_are_counted(algorithm: str, runs: Sequence[Remarks], said: str) -> None:
    """Known kinds by their names, all else as it stands; of one run as it stands."""
    assert remarks_of_runs(algorithm, runs) == said


@pytest.mark.parametrize(
    ("algorithm", "runs", "label"),
    [
        ("eft:admit=all", [EFT["all"]] * 2, "eft (admit=all)"),
        ("eft", [EFT["profitable"]] * 2, "eft (admit=profitable)"),
        ("online:shares=excluded", (ONLINE,), "online (shares=excluded, makespan=true)"),
        ("pdftsp:units=canonical", (CHARGED,), CHARGED.label.replace(") (", " and ")),
        ("eft:admit=all", (EFT["all"].with_notes("late"), EFT["all"]), "eft (admit=all) (late in 1 of 2 runs)"),
        ("titan", LIMITS, "titan (at limit in 2 of 3 runs, worst gap 0.32 %)"),
        ("eft:admit=all", (), "eft:admit=all"),
        ("mine:Class:admit=all", (noted("mine:Class:admit=all", "admit=all"),), "mine:Class:admit=all"),
    ],
)  # fmt: skip
def test_means_are_called_as_their_runs_are(algorithm: str, runs: Sequence[Remarks], label: str) -> None:
    """Options stand where the labels have them, remarks with their count behind that."""
    assert label_of_runs(algorithm, runs) == label


@pytest.mark.parametrize(
    "remarks",
    [
        replace(LIMITS[2], solvers=("HiGHS 1.15.1",)),
        CHARGED,
        ONLINE,
        Remarks("greedy"),
        noted("mine:Class:odd=a (b)", "two (of them)", starts=("a", "b"), isolated="bubblewrap"),
        noted("x", overcharged=Part(1, 2), single_node=True),
    ],
)
def test_stored_remarks_are_read_as_they_were(remarks: Remarks) -> None:
    assert convert(json.loads(json.dumps(remarks.document())), Remarks, "store") == remarks


@pytest.mark.parametrize(
    "document",
    [{}, {"name": 1}, {"name": "x", "limit": [1]}, {"name": "x", "limit": [1, -2]}, {"name": "x", "notes": "a"},
     {"name": "x", "isolated": True}, {"name": "x", "isolated": "well"}, {"name": "x", "gap_ppm": 1.5},
     {"name": "x", "said": "a"}],
)  # fmt: skip
def test_remarks_that_no_run_stored_are_refused(document: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        convert(document, Remarks, "store")


def test_how_a_run_was_isolated_is_in_its_label() -> None:
    labels = [Remarks("x", isolated=each).label for each in ("bubblewrap", "Landlock", "none")]
    assert labels == ["x (isolated by bubblewrap)", "x (isolated by Landlock)", "x (not isolated)"]


def test_many_different_things_are_a_number() -> None:
    said = remarks_of_runs("a", [noted("a", f"number {n}") for n in range(MOST + 9)])
    assert said.endswith(f"number {MOST - 1} in 1 of {MOST + 9} runs and 9 more")
    assert len(remarks_of_runs("a", [noted("a", "x" * 10_000)] * 2)) < 200


@pytest.fixture
def folder(toy: None, tmp_path: Path) -> Path:  # noqa: F811
    """Results with figures, in which one run of `first` was at a limit."""
    out = made("toy-plots", tmp_path / "out")
    _store_remarks(out, Remarks("first", limit=Part(3, 4), gap_ppm=500_000))
    return out


def _store_remarks(out: Path, remarks: Remarks) -> None:
    with sqlite3.connect(out / "results.sqlite") as connection:
        chosen = "stage = 'online' AND key LIKE 'first %'"
        query = f"SELECT instance, key, payload FROM pieces WHERE {chosen} ORDER BY instance LIMIT 1"
        instance, key, payload = connection.execute(query).fetchone()
        text = json.dumps(json.loads(payload) | {"label": remarks.label, "remarks": remarks.document()})
        query = f"UPDATE pieces SET payload = ? WHERE {chosen} AND instance = ? AND key = ?"
        connection.execute(query, (text, instance, key))


@pytest.mark.usefixtures("toy")
def test_means_say_what_their_runs_say(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The text's table of means, and the tables of the page; never results.csv."""
    capsys.readouterr()
    assert main(["report", str(folder)]) == 0
    means = capsys.readouterr().out.partition("mean over the cases of a group:")[2]
    assert "first (at limit" in means
    rows = pd.read_csv(folder / "results.csv")
    assert not rows["algorithm"].str.contains("limit").any()
    assert "first (at limit" in (folder / "report.html").read_text(encoding="utf-8").replace("<wbr>", "")


@pytest.mark.usefixtures("toy")
def test_text_of_a_store_is_safe_on_a_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing that a terminal obeys, no line of 100,000 characters, wherever in the store it stands."""
    evil = "\x1b]0;owned\x07\x1b[2J\nA line of its own"
    _store_remarks(folder, noted("first", f"{evil}{'x' * 100_000}"))
    with sqlite3.connect(folder / "results.sqlite") as connection:
        for instance, key, text in connection.execute(
            "SELECT instance, key, payload FROM pieces WHERE stage = 'opt'"
        ).fetchall():
            forged = json.loads(text) | dict.fromkeys(("proof", "formulation", "backend"), evil)
            query = "UPDATE pieces SET payload = ? WHERE stage = 'opt' AND instance = ? AND key = ?"
            connection.execute(query, (json.dumps(forged), instance, key))
        for name, text in connection.execute("SELECT name, content FROM cases").fetchall():
            forged = json.loads(text)
            forged |= {"group": forged["group"] + evil, "describe": {**forged["describe"], evil: 1}}
            connection.execute("UPDATE cases SET content = ? WHERE name = ?", (json.dumps(forged), name))
        [(about,)] = connection.execute("SELECT content FROM about").fetchall()
        forged = json.loads(about)
        forged["plots"] = [each | {"title": each["title"] + evil} for each in forged["plots"]]
        forged["plots"] = [each | {"groups": [group + evil for group in each["groups"]]} for each in forged["plots"]]
        connection.execute("UPDATE about SET content = ?", (json.dumps(forged),))
    capsys.readouterr()
    for command in (["report", str(folder)], ["compare", str(folder), str(folder)]):
        assert main(command) == 0
        lines = capsys.readouterr().out.split("\n")
        assert all(line.isprintable() for line in lines)
        assert max(map(len, lines)) < 1500
        assert not any(line.startswith("A line") for line in lines)
