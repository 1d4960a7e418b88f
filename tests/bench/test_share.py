"""Results that runs share: nothing is computed twice, and a library in trouble costs a line and no result."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ratiobench.bench.cli.main import main
from ratiobench.bench.family.registry import find_suite
from ratiobench.bench.results.read import read_results
from ratiobench.bench.running.options import RunOptions
from ratiobench.bench.running.runner import run_suite
from ratiobench.bench.storage.store import Store, StoredResult
from tests.bench.test_run import start, table
from tests.support.toy_runs import toy  # noqa: F401

pytestmark = pytest.mark.usefixtures("toy")


def run(suite: str, out: Path, share: Path | None = None, **options: Any) -> str:
    """Run a suite, without a report; its table."""
    run_suite(*find_suite(suite), RunOptions(out=out, workers=1, quiet=True, share=share, **options))
    with Store.open(out / "results.sqlite", create=False) as store:
        return read_results(store).rows.to_csv()


def work_done(log: Path) -> list[str]:
    """What was computed, generation of instances apart; the log is emptied."""
    lines = [line for line in log.read_text().splitlines() if not line.startswith("generate")]
    log.write_text("")
    return lines


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the toy family notes its work."""
    path = tmp_path / "log"
    path.touch()
    monkeypatch.setenv("TOY_LOG", str(path))
    return path


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """The library of these tests; neither it nor its folder is there yet."""
    return tmp_path / "shared" / "library.sqlite"


def test_a_second_suite_with_the_same_instances_computes_nothing_again(tmp_path: Path, log: Path, shared: Path) -> None:
    """Another folder, and another suite with one of the cases: the same table as without a library, and no work."""
    first = run("toy", tmp_path / "one", shared)
    work_done(log)
    assert run("toy", tmp_path / "two", shared) == first
    run("toy-none", tmp_path / "three", shared)
    assert work_done(log) == []
    # What was found is an own result from then on.
    shared.unlink()
    assert run("toy", tmp_path / "two") == first
    assert work_done(log) == []
    assert run("toy", tmp_path / "alone") == first
    assert work_done(log) != []


def test_another_effort_is_another_result(tmp_path: Path, log: Path, shared: Path) -> None:
    """`effort=2` solves again, and says so; toy0 and toy2 had effort 1, toy1 and toy3 had 2."""
    run("toy", tmp_path / "one", shared)
    work_done(log)
    run("toy", tmp_path / "two", shared, effort=2)
    solved = [line.rsplit(" ", 1)[1] for line in work_done(log) if line.startswith("opt")]
    assert sorted(solved) == ["2", "2", "4", "4"]
    with Store.open(tmp_path / "two" / "results.sqlite") as store:
        assert store.about()["effort"] == 2
        assert [case.solve["effort"] for case in store.cases()] == [2, 4, 2, 4, 2]


def test_fresh_reads_nothing_and_replaces(tmp_path: Path, log: Path, shared: Path) -> None:
    """All work is done again; the library then holds the new pieces, and others of it stay."""
    run("toy", tmp_path / "out", shared)
    first = sorted(work_done(log))
    with Store.open(shared) as library:
        library.put(StoredResult("opt", "ab", "k", True, {"lower": 1}))
        library.connection.execute("UPDATE pieces SET seconds = 1e9")
    run("toy", tmp_path / "out", shared, fresh=True)
    assert sorted(work_done(log)) == first
    with Store.open(shared) as library:
        assert library.connection.execute("SELECT key FROM pieces WHERE seconds = 1e9").fetchall() == [("k",)]


def test_failures_are_not_shared(tmp_path: Path, log: Path, shared: Path) -> None:
    """A second folder tries what failed in the first, and nothing else."""
    first = run("toy-bad", tmp_path / "one", shared)
    work_done(log)
    assert run("toy-bad", tmp_path / "two", shared) == first
    assert sorted(line.split()[-1] for line in work_done(log)) == ["dies", "raises"]


def test_a_library_that_stays_locked_is_one_line_and_costs_nothing(
    tmp_path: Path, log: Path, shared: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run ends with all its results in its own store; the next run gives them to the library."""
    monkeypatch.setattr("ratiobench.bench.storage.store.PATIENCE", 0.2)
    shared.parent.mkdir()
    Store.open(shared).close()
    with closing(sqlite3.connect(shared, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        first = run("toy", tmp_path / "out", shared)
        errors = capsys.readouterr().err
    assert errors.count("\n") == 1
    assert "another process has locked the result store" in errors
    assert "goes on without the library" in errors
    work_done(log)
    assert run("toy", tmp_path / "out", shared) == first
    assert run("toy", tmp_path / "two", shared) == first
    assert work_done(log) == []


def test_an_unsound_library_is_refused_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, status 2, no folder; the same where the library's place cannot be made."""
    bad = tmp_path / "bad.sqlite"
    bad.write_bytes(b"garbage " * 200)
    for place in (bad, bad / "below.sqlite"):
        assert main(["run", "toy", "--out", str(tmp_path / "out"), "--share", str(place)]) == 2
        assert capsys.readouterr().err.count("\n") == 1
        assert sorted(tmp_path.iterdir()) == [bad]
        assert bad.read_bytes() == b"garbage " * 200


def test_two_runs_at_once_share_one_library(tmp_path: Path, shared: Path) -> None:
    """Both write it piece by piece, and neither complains; both tables are the same."""
    more = ["--share", str(shared)]
    processes = [start("toy", tmp_path / name, tmp_path / "log", 0.01, *more) for name in ("one", "two")]
    for process in processes:
        _, errors = process.communicate()
        assert process.returncode == 0, errors
        assert "library" not in errors
    assert table(tmp_path / "one") == table(tmp_path / "two")


def test_by_default_all_suites_below_one_folder_share(
    tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --out the library is results/pieces.sqlite; with --out there is none."""
    monkeypatch.chdir(tmp_path)
    assert main(["run", "toy", "--quiet"]) == 0
    assert (tmp_path / "results" / "pieces.sqlite").is_file()
    work_done(log)
    assert main(["run", "toy-none", "--quiet"]) == 1
    assert work_done(log) == []
    assert main(["run", "toy-none", "--quiet", "--out", "named"]) == 1
    assert work_done(log) != []
    assert [path.parent.name for path in tmp_path.rglob("pieces.sqlite")] == ["results"]
