"""What is said beside the names of runs is said of their means: in text, on the page, in CSV files."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

from ratiobench.bench.cli.main import main
from ratiobench.bench.tables.remarks import MOST, label_of_runs, remarks_of_runs, said_below, with_remarks
from tests.support.toy_family import made, toy  # noqa: F401

LIMITS = ("titan (at limit 5 of 144, gap 0.32 %)", "titan", "titan (at limit 1 of 2, gap 0.099 %)")
CHARGED = "pdftsp:units=canonical (canonical-observed) (charged above their bid: 1 of 2 admitted)"


@pytest.mark.parametrize(
    ("algorithm", "labels", "said"),
    [
        ("titan", LIMITS, "at limit in 2 of 3 runs, worst gap 0.32 %"),
        ("titan", LIMITS[:1], "at limit 5 of 144, gap 0.32 %"),
        ("titan", ("titan (at limit 1 of 1, gap 9 %)", "titan (at limit 1 of 1, gap 10 %)"),
         "at limit in 2 of 2 runs, worst gap 10 %"),
        ("titan", ("titan", "titan"), ""),
        ("titan", (), ""),
        ("online:rule=exact-step", ("online:rule=exact-step (at limit 3 of 7)", "online:rule=exact-step"),
         "at limit in 1 of 2 runs"),
        ("pdftsp:units=canonical", (CHARGED, "pdftsp:units=canonical"),
         "canonical-observed in 1 of 2 runs and charged above their bid in 1 of 2 runs"),
        ("eft", ("eft (admit=profitable)",) * 3, "admit=profitable"),
        ("eft:admit=all", ("eft (admit=all)",) * 3, ""),
        ("online:shares=excluded", ("online (shares=excluded, makespan=true)",) * 2, "makespan=true"),
        ("mine:Class:odd=a (b)", ("mine:Class:odd=a (b) (two (of them)) (isolated)",) * 2,
         "two (of them) and isolated"),
        ("mine:Class", ("mine:Class (open (never closed", "mine:Class (\x1b[2J)"),
         r"open (never closed in 1 of 2 runs and \x1b[2J in 1 of 2 runs"),
        ("best of two", ("pdftsp:alpha=2 (oracle constants)", "pdftsp:alpha=3"), "oracle constants in 1 of 2 runs"),
    ],
)  # fmt: skip
def test_what_is_said_of_runs_is_counted(algorithm: str, labels: Sequence[str], said: str) -> None:
    """Known kinds by their names, all else as it stands; of one run as it stands."""
    assert remarks_of_runs(algorithm, labels) == said


@pytest.mark.parametrize(
    ("algorithm", "labels", "label"),
    [
        ("eft:admit=all", ("eft (admit=all)",) * 2, "eft (admit=all)"),
        ("eft", ("eft (admit=profitable)",) * 2, "eft (admit=profitable)"),
        ("online:shares=excluded", ("online (shares=excluded, makespan=true)",),
         "online (shares=excluded, makespan=true)"),
        ("pdftsp:units=canonical", (CHARGED,), CHARGED.replace(") (", " and ")),
        ("eft:admit=all", ("eft (admit=all) (late)", "eft (admit=all)"), "eft (admit=all) (late in 1 of 2 runs)"),
        ("titan", LIMITS, "titan (at limit in 2 of 3 runs, worst gap 0.32 %)"),
        ("eft:admit=all", (), "eft:admit=all"),
        ("mine:Class:admit=all", ("mine:Class:admit=all (admit=all)",), "mine:Class:admit=all"),
    ],
)  # fmt: skip
def test_means_are_called_as_their_runs_are(algorithm: str, labels: Sequence[str], label: str) -> None:
    """Options stand where the labels have them, remarks with their count behind that."""
    assert label_of_runs(algorithm, labels) == label


def test_many_different_things_are_a_number() -> None:
    """And long ones are shortened."""
    said = remarks_of_runs("a", [f"a (number {n})" for n in range(MOST + 9)])
    assert said.endswith(f"number {MOST - 1} in 1 of {MOST + 9} runs and 9 more")
    assert len(remarks_of_runs("a", [f"a ({'x' * 10_000})"] * 2)) < 200


def test_a_note_names_groups_only_where_they_differ() -> None:
    """A figure of many groups says once what is the same in all."""
    means = [
        {"group": group, "algorithm": name, "said": said}
        for group, said in (("one", "at limit 1 of 2, gap 3 %"), ("two", ""))
        for name, said in (("titan", said), ("eft", "admit=profitable"), ("greedy", ""))
    ]
    told = " Remarks on the runs behind the means: titan in one: at limit 1 of 2, gap 3 %; eft: admit=profitable."
    assert said_below(means) == told
    assert said_below(means[2:3]) == ""
    assert with_remarks("titan", "it") == "titan (it)"
    assert with_remarks("titan", "") == "titan"


@pytest.fixture
def folder(toy: None, tmp_path: Path) -> Path:  # noqa: F811
    """Results with figures, in which one run of `first` was at a limit."""
    out = made("toy-plots", tmp_path / "out")
    _label(out, "first (at limit 3 of 4, gap 50 %)")
    return out


def _label(out: Path, label: str) -> None:
    with sqlite3.connect(out / "results.sqlite") as connection:
        chosen = "stage = 'online' AND key LIKE 'first %'"
        query = f"SELECT instance, key, payload FROM pieces WHERE {chosen} ORDER BY instance LIMIT 1"
        instance, key, payload = connection.execute(query).fetchone()
        text = json.dumps(json.loads(payload) | {"label": label})
        query = f"UPDATE pieces SET payload = ? WHERE {chosen} AND instance = ? AND key = ?"
        connection.execute(query, (text, instance, key))


@pytest.mark.usefixtures("toy")
def test_means_say_what_their_runs_say(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The text's table of means, figures.csv, every figure's note and table, the leaderboard."""
    capsys.readouterr()
    assert main(["report", str(folder)]) == 0
    means = capsys.readouterr().out.partition("mean over the cases of a group:")[2]
    assert "first (at limit" in means
    rows = pd.read_csv(folder / "results.csv")
    assert "said" not in rows
    assert not rows["algorithm"].str.contains("limit").any()
    figures = pd.read_csv(folder / "figures.csv", keep_default_na=False)
    assert figures.columns[-1] == "said"
    told = figures[figures["said"] != ""]
    assert len(told)
    assert set(told["algorithm"]) == {"first"}
    assert told["said"].str.startswith("at limit ").all()
    assert not figures["algorithm"].str.contains("limit").any()
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Remarks on the runs behind the means: first" in page
    assert "first (at limit" in page


@pytest.mark.usefixtures("toy")
def test_text_of_a_store_is_safe_on_a_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing that a terminal obeys, no line of 100,000 characters, wherever in the store it stands."""
    evil = "\x1b]0;owned\x07\x1b[2J\nA line of its own"
    _label(folder, f"first ({evil}{'x' * 100_000})")
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
