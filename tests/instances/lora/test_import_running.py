"""Days that begin full: jobs of a log that run at midnight hold their nodes; tails in which no window is cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ratiobench.bench.cli.main import main
from ratiobench.instances.lora import read
from ratiobench.instances.lora.format import SLOT_LIMIT, content_hash
from ratiobench.instances.lora.import_running import find_tail
from ratiobench.instances.lora.model import Instance, RunningJob

CLUSTER = """
usd_per_kwh = 0.1
[[node]]
name = "old"
count = 1
gpus = 8
memory_gb = 80
speed = 0.5
[[node]]
name = "new"
count = 2
gpus = 8
memory_gb = 80
"""
LOG = """submit,start,duration,gpus,limit,user,group
2026-03-01T20:00:00Z,2026-03-01T22:00:00Z,14400,8,28800,ada,a
2026-03-01T23:00:00Z,,7200,4,,bob,
2026-03-01T23:30:00Z,2026-03-02T00:30:00Z,3600,8,,cy,
2026-03-01T23:50:00Z,2026-03-01T23:50:00Z,600,8,,dan,
2026-03-01T23:55:00Z,2026-03-01T23:56:00Z,3600,8,,eve,
2026-03-01T23:55:00Z,2026-03-01T23:57:00Z,3600,8,,flo,
2026-03-02T01:00:00Z,2026-03-02T01:00:00Z,200000,8,,gus,
2026-03-02T02:00:00Z,2026-03-02T02:00:00Z,3600,16,,hal,
"""


def imported(tmp_path: Path, *words: str) -> tuple[dict[str, Instance], dict[str, Any]]:
    """The instances by day, and the report."""
    (tmp_path / "log.csv").write_text(LOG)
    (tmp_path / "cluster.toml").write_text(CLUSTER)
    out = tmp_path / "-".join(("out", *words)).replace("--", "")
    usual = ["--format", "csv", "--cluster", str(tmp_path / "cluster.toml"), "--out", str(out)]
    assert main(["import", str(tmp_path / "log.csv"), *usual, *words]) == 0
    days = {file.name[4:14]: read(file) for file in out.glob("log-*.json.gz")}
    return days, json.loads((out / "import.json").read_text())


def test_jobs_that_run_at_midnight_hold_their_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On the type whose speed is that of the log first, with what is left of their work and of their limit."""
    days, _ = imported(tmp_path, "--begin", "full")
    text = capsys.readouterr().out
    first, second = days["2026-03-01"], days["2026-03-02"]
    assert first.running == ()
    held = [(job.nodes, job.last, job.planned, job.labels.user, job.labels.group) for job in second.running]
    # ada runs 2 h more and claims 6 h; bob has no start, 1 h and 4 of 8 GPUs on the other new node; cy waits at
    # midnight, dan has ended; eve has the old node, at half the speed; flo finds none.
    assert held == [((1,), 12, 36, "ada", "a"), ((2,), 6, 6, "bob", ""), ((0,), 12, 12, "eve", "")]
    assert second.running[1].compute * 2 == second.running[0].compute
    assert "3 jobs from before run when an instance begins, and hold 27 GPU-hours of its nodes." in text
    assert "Of 1 of these the log has no start" in text
    assert "1 jobs that ran, too, find no room on these nodes" in text
    assert second.origin["begin"] == "full"
    told = {each["what"]: each for each in second.origin["basis"]["assumptions"]}
    assert told["jobs from before hold their nodes until they end (--begin full)"]["jobs"] == 3
    assert told["jobs from before without room on these nodes"]["jobs"] == 1
    only, _ = imported(tmp_path, "--begin", "full", "--from", "2026-03-02")
    assert only["2026-03-02"].running == second.running  # jobs of days that were not asked for hold nodes, too


def test_an_import_without_it_is_what_it_was(tmp_path: Path) -> None:
    """Nodes are empty, and the tasks are the same with it."""
    empty, _ = imported(tmp_path)
    full, _ = imported(tmp_path, "--begin", "full")
    for day, instance in empty.items():
        assert instance.running == ()
        assert "begin" not in instance.origin
        assert (content_hash(instance) == content_hash(full[day])) == (not full[day].running)
        assert instance.work.tolist() == full[day].work.tolist()


def test_no_window_is_cut_with_a_tail_as_long_as_it_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A job of more than two days is in, with its whole window of three times as long."""
    days, _ = imported(tmp_path)
    assert "no schedule can finish in their window: 1." in capsys.readouterr().out
    days, report = imported(tmp_path, "--tail", "auto")
    assert "0 are cut at the end of their instance" in capsys.readouterr().out
    second = days["2026-03-02"]
    assert second.slots == 6 + 3 * 334
    assert int(second.deadline.max()) == second.slots
    assert [each["servable"] for each in report["instances"]] == [each["tasks"] for each in report["instances"]]


def test_a_tail_ends_where_an_instance_can_have_no_more_slots() -> None:
    assert find_tail([3, 200], 600, 1, SLOT_LIMIT) == 200 * 600 - 86_400
    assert find_tail([3, 200], 600, 1, 150) == 150 * 600 - 86_400
    assert find_tail([3], 600, 1, SLOT_LIMIT) == 0


def test_the_entry_of_a_gang_is_on_nodes_of_one_type(tmp_path: Path) -> None:
    """A job of 16 GPUs runs on both new nodes."""
    (tmp_path / "log.csv").write_text("submit,duration,gpus\n2026-03-01T23:00:00Z,7200,16\n2026-03-02T01:00:00Z,60,1\n")
    (tmp_path / "cluster.toml").write_text(CLUSTER)
    words = ["--format", "csv", "--cluster", str(tmp_path / "cluster.toml"), "--begin", "full", "--from", "2026-03-02"]
    assert main(["import", str(tmp_path / "log.csv"), *words, "--out", str(tmp_path / "days")]) == 0
    [file] = (tmp_path / "days").glob("*.json.gz")
    [job] = read(file).running
    assert isinstance(job, RunningJob)
    assert (job.nodes, job.last) == ((1, 2), 6)
