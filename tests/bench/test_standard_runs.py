"""Runs stored with the standard sets: current, right, shown by `run`, and what `evaluate` compares a policy with."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from msgspec import structs

import ratiobench
from ratiobench.bench.cli import main
from ratiobench.bench.evaluation import evaluate
from ratiobench.bench.evaluation.cases import entries_of
from ratiobench.bench.family.registry import families
from ratiobench.bench.family.standard import (
    StandardSet,
    StoredRun,
    path_of,
    read_runs,
    read_set,
    set_of,
    shipped_sets,
    write_runs,
)
from ratiobench.bench.running.standard import make_entry
from ratiobench.bench.storage.payload import read_exact
from tests.support.commands import refused
from tests.support.documents import refusal_of

R1 = read_set()
MANY = 2_000  # Tasks of a day beyond which not all runs are stored
both_sets = pytest.mark.parametrize("chosen", [read_set(name) for name in shipped_sets()], ids=lambda each: each.name)


@both_sets
def test_every_stored_run_is_of_the_algorithm_of_today_on_the_instance_of_the_set(chosen: StandardSet) -> None:
    """A version that was raised, or an instance that was replaced, needs `standard runs` again."""
    entries = {entry.name: entry for entry in chosen.entries}
    runs = read_runs(chosen)
    for (name, algorithm), run in runs.items():
        family = families()[entries[name].family]
        assert run.instance == entries[name].instance, (name, algorithm)
        assert f"{run.key} | ".startswith(f"{family.algorithm_key(algorithm)} | "), (name, algorithm)
    for entry in chosen.entries:
        if entry.tier != "weeks" and not (entry.tier == "days" and entry.size.get("tasks", 0) > MANY):
            asked = {name for name in chosen.algorithms[entry.family] if "prior=" not in name}
            assert asked <= {algorithm for name, algorithm in runs if name == entry.name}, entry.name


@pytest.mark.parametrize("family", families())
def test_stored_runs_are_what_a_run_gives(family: str) -> None:
    """The smallest entries that are no hand-made ones, every algorithm with a stored run that knows nothing before."""
    chosen = set_of(family)
    entries = entries_of(families()[family], chosen, "parts")[:2]
    for entry in entries:
        contract, instance = make_entry(entry)
        stored = {algorithm: run for (name, algorithm), run in read_runs(chosen).items() if name == entry.name}
        assert len(stored) >= 4
        for algorithm, run in stored.items():
            if "prior=" in algorithm:
                continue
            again = contract.run(instance, algorithm)
            figures = again.welfare, again.admitted, again.valid
            assert figures == (read_exact(run.run["welfare"]), run.run["admitted"], run.run["valid"]), algorithm


def test_run_shows_stored_runs_and_makes_them_again_where_that_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All figures but the seconds are the same; one's own algorithm is run in any case."""
    words = ["run", "standard", "--only", "part_40_pai", "--rows", "greedy", "eft", "--workers", "1", "--quiet"]
    assert main([*words, "--out", str(tmp_path / "stored")]) == 0
    shown = capsys.readouterr().out
    assert shown.count("  -  ok") == 2
    assert "seconds -: the run is stored with the standard set; with --rerun it is made here." in shown
    for folder in ("stored", "made"):  # in the folder that has the stored ones, and in a new one
        assert main([*words, "--rerun", "--out", str(tmp_path / folder)]) == 0
        assert "seconds -" not in capsys.readouterr().out
    assert main([*words, "--out", str(tmp_path / "again")]) == 0
    rows = [ratiobench.results(tmp_path / name).exact for name in ("again", "made")]
    assert rows[0].equals(rows[1])
    assert len(rows[0]) == 2


def test_a_stored_run_of_another_version_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = {address: structs.replace(run, key="greedy version 0") for address, run in read_runs(R1).items()}
    monkeypatch.setattr("ratiobench.bench.running.runner.read_runs", lambda _: runs)
    words = ["run", "standard", "--only", "part_40_pai", "--rows", "greedy", "--workers", "1", "--quiet"]
    assert main([*words, "--out", str(tmp_path)]) == 0
    assert ratiobench.results(tmp_path).frame("seconds")["seconds"].notna().all()


def test_evaluate_names_the_best_of_the_stored_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """No algorithm that knows its instance counts; on instances without a stored run the best three are run."""
    family = families()["eapm"]
    entries = entries_of(family, R1, "parts")
    stored: Mapping[tuple[str, str], StoredRun] = read_runs(R1)

    def share(name: str) -> Fraction:
        pairs = [(entry.best, stored[entry.name, name].run["welfare"]) for entry in entries if entry.best]
        return sum((Fraction(value) / Fraction(best.upper) for best, value in pairs), Fraction(0)) / len(entries)

    names = {algorithm for entry, algorithm in stored if entry == entries[0].name}
    best = max(sorted(names), key=share)
    found = ratiobench.evaluate("greedy", family="eapm", stage=["parts"])
    assert found.shipped is not None
    assert (found.shipped.name, found.shipped.share) == (best, share(best))
    oracle = {"constants": [{"source": "oracle"}]}
    known = {
        key: structs.replace(run, run={**run.run, **oracle}) if key[1] == best else run for key, run in stored.items()
    }
    monkeypatch.setattr(evaluate, "read_runs", lambda _: known)
    found = ratiobench.evaluate("greedy", family="eapm", stage=["parts"])
    assert found.shipped is not None
    assert found.shipped.name == max(sorted(names - {best}), key=share)


def test_standard_runs_writes_what_it_ran_and_keeps_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The runs of the named entries are replaced; interrupted or not, the file is whole."""
    shutil.copy(R1.path, tmp_path / "R1.json")
    copy = read_set(tmp_path / "R1.json")
    first, *others = [run for run in read_runs(R1).values() if run.entry in ("eapm_one_machine", "eapm_free_energy")]
    write_runs(copy, [structs.replace(first, run={**first.run, "welfare": 7}), *others])
    words = ["standard", "runs", first.entry, "--set", str(copy.path), "--out", str(tmp_path / "out"), "--workers", "1"]
    assert main(words) == 0
    assert "eapm: " in capsys.readouterr().out
    assert {key: structs.replace(run, key="") for key, run in read_runs(copy).items()} == {
        (run.entry, run.algorithm): structs.replace(run, key="") for run in (first, *others)
    }
    assert "runs on weeks are not stored" in refused(capsys, "standard", "runs", "week_50000_500_pai")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[]", "R1.runs.json.gz: document: a list of 0 is not an object"),
        ('{"format": "ratiobench/standard-runs/1", "runs": [7]}', "R1.runs.json.gz: runs[0]: 7 is not an object"),
        (
            json.dumps(
                {"format": "ratiobench/standard-runs/1", "runs": [dict.fromkeys(StoredRun.__struct_fields__, "")]}
            ),
            "R1.runs.json.gz: runs[0].run: '' is not an object",
        ),
    ],
)
def test_a_file_of_other_content_is_refused(text: str, problem: str, tmp_path: Path) -> None:
    chosen = replace(R1, path=tmp_path / "R1.json")
    path_of(chosen).write_text(text)
    assert problem in refusal_of(read_runs, chosen)
