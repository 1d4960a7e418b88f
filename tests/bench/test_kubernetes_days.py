"""From a log of Kubernetes to the best policy, as an operator does it: `import`, then `backtest`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ratiobench.bench.cli.main import main
from ratiobench.instances.lora import read
from tests.support.kubernetes_log import CLUSTER, Load, loads, pods, workloads


@pytest.fixture(scope="module")
def made() -> list[Load]:
    """Three hundred submissions of four days."""
    return loads()


def write(folder: Path, document: dict[str, Any]) -> list[str]:
    """The log and the cluster as files, and the words of an import."""
    (folder / "log.json").write_text(json.dumps(document, indent=2), encoding="utf-8")
    (folder / "cluster.toml").write_text(CLUSTER, encoding="utf-8")
    return ["import", str(folder / "log.json"), "--cluster", str(folder / "cluster.toml"), "--list-price", "2"]


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_workloads_of_kueue_are_imported(
    made: list[Load], version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All but those that still run, or are wider than the cluster; gangs of masters and workers among them."""
    words = write(tmp_path, workloads(made, version))
    assert main([*words, "--format", "kueue", "--out", str(tmp_path / "days")]) == 0
    told = capsys.readouterr().out
    running = sum(load.fate == "running" for load in made)
    wide = sum(
        load.fate != "running" and load.flavor == "h100"
        and sum(count for _, count, gpus in load.sets if gpus == 8) > 3 for load in made
    )  # fmt: skip
    assert running
    assert wide
    left = f"{running} without an end, {wide} wider than any node type has nodes"
    assert f"imported {300 - running - wide} of 300 jobs: {left}" in told
    days = [read(path) for path in sorted((tmp_path / "days").glob("*.json.gz"))]
    assert len(days) == 4
    gangs = sum(int((day.parts > 1).sum()) for day in days)
    assert gangs > 50
    assert {each.user for day in days for each in day.labels.values()} == {"nlp", "vision", "speech", "intern"}


def test_pods_are_imported_as_the_jobs_that_they_were(
    made: list[Load], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As many jobs as submissions that have ended, as wide, and as long but for seconds between their pods."""
    words = write(tmp_path, pods(made))
    assert main([*words, "--format", "k8s", "--out", str(tmp_path / "days")]) == 0
    running = sum(load.fate == "running" for load in made)
    assert f"imported {300 - running} of 300 jobs: {running} without an end" in capsys.readouterr().out
    report = json.loads((tmp_path / "days" / "import.json").read_text())
    assert report["imported"] == 300 - running
    basis = [read(path).origin["basis"] for path in (tmp_path / "days").glob("*.json.gz")]
    seconds = sum(each["gpu_seconds"] for each in basis)
    asked = sum(
        load.seconds * sum(count * gpus for _, count, gpus in load.sets) for load in made if load.fate != "running"
    )
    assert 0.99 * asked < seconds <= asked


def test_the_wrong_format_is_named(made: list[Load], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = write(tmp_path, workloads(made[:3]))
    assert main([*words, "--format", "k8s", "--dry-run"]) == 2
    assert (
        capsys.readouterr()
        .err.splitlines()[-1]
        .endswith("log.json: 3 jobs, all left out: 3 Workloads, which --format kueue reads")
    )
    words = write(tmp_path, pods(made[:3]))
    assert main([*words, "--format", "kueue", "--dry-run"]) == 2
    assert "Jobs and Pods, which --format k8s reads" in capsys.readouterr().err


def test_a_backtest_on_the_days_of_a_log(made: list[Load], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A recommendation, with what was left out and assumed, on days of forty jobs with gangs."""
    words = write(tmp_path, workloads(made[::2]))
    assert main([*words, "--format", "kueue", "--tail", "1d", "--out", str(tmp_path / "days")]) == 0
    capsys.readouterr()
    policies = ["greedy", "pricelist", "queue:backfill=easy", "queue:order=bid,backfill=easy"]
    arguments = ["backtest", str(tmp_path / "days"), "--algorithms", *policies, "--out", str(tmp_path / "results")]
    assert main([*arguments, "--workers", "1"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "has the largest welfare" in told
    assert "run once, without a pause, on several nodes at once in equal parts" in told
    assert "left out: without an end" in told
    assert "deadlines by a rule: 3 times the fewest slots of the time limit" in told
    page = (tmp_path / "results" / "backtest.html").read_text(encoding="utf-8")
    assert "queue:order=bid,backfill=easy" in page
