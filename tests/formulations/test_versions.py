"""A stored result that a solver had a part in is not reused with another version of the solver."""

import importlib.metadata
from pathlib import Path

import pytest

from ratiobench.bench.family.registry import families, find_suite
from ratiobench.bench.family.suite import SolveSettings
from ratiobench.bench.report.rows import list_doubts
from ratiobench.bench.results.read import read_folder
from ratiobench.bench.running.runner import RunOptions, run_suite
from ratiobench.bench.show import opt_text
from ratiobench.bench.storage.store import STORE, Store
from ratiobench.formulations import versions
from ratiobench.formulations.versions import PACKAGES, PINNED, list_unpinned, package_versions

ROOT = Path(__file__).resolve().parents[2]


def other_highs(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if another version of highspy were installed."""
    real = importlib.metadata.version
    monkeypatch.setattr(
        versions.importlib.metadata, "version", lambda name: "9.9.9" if name == "highspy" else real(name)
    )


def test_the_pinned_versions_are_those_of_the_constraints() -> None:
    """One fact in two places: an installed package has no constraints file."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if "==" in line)
    assert {name: pins[name] for name in PINNED} == dict(PINNED)
    assert set(PINNED) <= set(PACKAGES.values())


def test_a_key_names_what_may_be_asked() -> None:
    assert [part.split()[0] for part in package_versions().split(", ")] == ["highspy", "ortools", "pulp"]
    assert package_versions("cbc") == f"pulp {importlib.metadata.version('pulp')}"
    assert package_versions("none") == ""


@pytest.mark.parametrize("family", ["lora", "eapm", "edgeflow", "tenants"])
def test_another_version_is_another_key(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    house = families()[family]
    settings = [SolveSettings(), SolveSettings(backend="none")]
    before = [house.solve_key(each) for each in settings]
    other_highs(monkeypatch)
    after = [house.solve_key(each) for each in settings]
    assert before[0] != after[0]
    assert before[1] == after[1]
    monkeypatch.setattr(type(house), "solver_version", property(lambda self: "another"))
    assert not {house.solve_key(each) for each in settings} & {*before, *after}


def test_titan_s_runs_are_kept_apart_by_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A resumed run with another HiGHS solves and plays again what HiGHS had a part in, and nothing else."""
    family, suite = find_suite("tiny")

    def keys() -> list[set[str]]:
        options = RunOptions(out=tmp_path, workers=1, quiet=True, only=("tiny_vendors",), rows=("titan", "greedy"))
        run_suite(family, suite, options)
        with Store.open(tmp_path / STORE, create=False) as store:
            [case] = store.cases()
            assert all(store.get("online", case.instance, key) for _, key in case.algorithms)
            assert store.get("opt", case.instance, case.solve_key)
            return [{key} for _, key in case.algorithms] + [{case.solve_key}]

    titan, greedy, opt = keys()
    other_highs(monkeypatch)
    again = keys()
    assert "9.9.9" in "".join(again[0])
    assert again[0] != titan
    assert again[1] == greedy
    assert again[2] != opt


def test_a_run_says_which_solver_and_where_it_is_not_the_published_one(tmp_path: Path) -> None:
    """The version stands in the row of OPT; another one than the pinned one is a sentence of the answer."""
    family, suite = find_suite("tiny")
    run_suite(family, suite, RunOptions(out=tmp_path, workers=1, quiet=True, only=("tiny_vendors",), rows=("greedy",)))
    found = read_folder(tmp_path)
    row = found.records[0]
    assert f"tight / highs {row.opt_solver}" in opt_text(row, family.unit)
    assert list_unpinned({"highspy": "1.16.0", "numpy": "1"}) == ["highspy 1.16.0 (1.15.1 in constraints.txt)"]
    made = {**found.about["provenance"], "packages": {**PINNED, "highspy": "1.16.0"}}
    found.about["provenance"] = made  # type: ignore[index]
    assert any("highspy 1.16.0 (1.15.1 in constraints.txt)" in line for line in list_doubts(found))
