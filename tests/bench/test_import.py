"""The command `import`: files and report, or one line of error and nothing written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.cli.main import main
from instances.lora.format import read

LOG = "submit,duration,gpus\n2026-03-01T08:00:00Z,900,2\n2026-03-02T08:00:00Z,900,1\n2026-03-02T09:00:00Z,900,64\n"
CLUSTER = "usd_per_kwh = 0.1\n[[node]]\nname = 'a'\ncount = 1\ngpus = 8\nmemory_gb = 16\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a log and a cluster."""
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(LOG)
    Path("cluster.toml").write_text(CLUSTER)
    return tmp_path


BASE = ["import", "log.csv", "--format", "csv", "--cluster", "cluster.toml"]


def test_a_log_becomes_instances_and_a_report(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One per day; the report is printed, and beside them; all of it again as JSON."""
    assert main([*BASE, "--out", "days"]) == 0
    said = capsys.readouterr().out
    assert "imported 2 of 3 jobs: 1 wider than a node\n" in said
    assert "2 instances, in days" in said
    assert sorted(path.name for path in Path("days").iterdir()) == [
        "import.json", "log-2026-03-01.json.gz", "log-2026-03-02.json.gz",
    ]  # fmt: skip
    assert read("days/log-2026-03-02.json.gz").tasks == 1
    report = json.loads(Path("days/import.json").read_text())
    assert main([*BASE, "--out", "days", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again == report | {"files": ["log-2026-03-01.json.gz", "log-2026-03-02.json.gz"]}
    assert (report["jobs"], report["imported"], report["left_out"]) == (3, 2, {"wider than a node": 1})


def test_a_dry_run_writes_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says what the run itself would."""
    assert main([*BASE, "--dry-run", "--days", "7", "--slot", "5m", "--price", "2", "--slack", "1.5"]) == 0
    assert "1 instances, nothing was written" in capsys.readouterr().out
    assert sorted(path.name for path in here.iterdir()) == ["cluster.toml", "log.csv"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--format", "xls"], "xls"),
        (["--columns", "submit"], "submit"),
        (["--columns", "cost=a"], "cost"),
        (["--from", "soon"], "soon"),
        (["--from", "2026-03-02", "--to", "2026-03-01"], "--to"),
        (["--slot", "5 minutes"], "5 minutes"),
        (["--slot", "0"], "--slot"),
        (["--price", "3-1"], "3-1"),
        (["--slack", "0.5"], "0.5"),
        (["--family", "nobody"], "nobody"),
        (["--cluster", "log.csv"], "log.csv"),
        (["--to", "2025-01-01"], "all left out"),
    ],
)
def test_what_cannot_be_is_one_line_and_nothing_is_written(
    words: list[str], problem: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 2."""
    try:
        status = main([*BASE, "--out", "days", *words])
    except SystemExit as end:
        status = int(str(end.code))
    assert status == 2
    lines = capsys.readouterr().err.splitlines()
    assert len([line for line in lines if not line.startswith("...")]) == 1
    assert problem in lines[-1]
    assert not Path("days").exists()


def test_an_error_on_the_way_leaves_nothing_behind(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A bid that the format does not hold, on the last day: the first day's file is not there either."""
    rows = zip(LOG.splitlines(), ("bid", "1", "9999999999", "1"), strict=True)
    Path("log.csv").write_text("".join(f"{row},{bid}\n" for row, bid in rows))
    assert main([*BASE, "--out", "days"]) == 2
    assert "log.csv" in capsys.readouterr().err
    assert not Path("days").exists()
