"""Own policies of family `cluster` through every command that takes one, `explain`, and schedules as SWF."""

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ratiobench
from ratiobench.bench.cli import main
from ratiobench.bench.cluster import FAMILY
from ratiobench.bench.evaluation.cases import tiny_cases
from ratiobench.instances.cluster.logs import import_logs
from ratiobench.instances.cluster.model import Instance
from ratiobench.instances.cluster.waits import PARTS, blocked
from ratiobench.instances.io.errors import InputError
from tests.support.cluster_policies import Eager, Fifo, Idle
from tests.support.cluster_rules import run_policy
from tests.support.commands import json_of, printed, refused

GUIDE = Path(ratiobench.__file__).parents[1] / "docs" / "guide" / "backtest.md"
EAGER = """
class Eager:
    def schedule(self, now, waiting, cluster):
        return list(waiting)
"""
RANDOM = """
import os

class Random:
    def schedule(self, now, waiting, cluster):
        def fits(job):
            return ((cluster.free >= job.gpus) & (cluster.pool == job.pools[0])).sum() >= job.nodes

        fitting = [job for job in waiting if fits(job)]
        if fitting:
            cluster.ask_at(now + 1 + os.urandom(1)[0])
        return fitting[: os.urandom(1)[0] % 2]
"""


def log(**keys: Any) -> Instance:
    """A generated day of 16 jobs on two nodes, with waits."""
    return FAMILY.make({"kind": "month", "seed": "e", "days": 1, "nodes": 1, "jobs": 16, "load": 400, **keys})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with policies and a log."""
    [code] = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), flags=re.DOTALL)
    for name, text in (("shortest", code), ("eager", EAGER), ("chance", RANDOM)):
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "log.json").write_text(FAMILY.dumps(log()))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_play_gives_the_figures_of_simulate() -> None:
    """Listed rules, a class, an object; a broken rule is one row."""
    instances = [log(), log(seed="other")]
    for policy in ("easy:order=shortest", Fifo):
        table = ratiobench.play(instances, policy)
        runs = [ratiobench.simulate(instance, policy) for instance in instances]
        assert table.value_exact.tolist() == [run.welfare for run in runs]
        assert table.valid.all()
    assert ratiobench.play(instances, Fifo()).value.tolist() == table.value.tolist()
    for broken, rule in ((Eager, "fits"), (Idle, "every job")):
        table = ratiobench.play(instances[:1], broken)
        assert not table.valid[0]
        assert table.violation[0].startswith(rule)
    with pytest.raises(InputError, match="import path"):
        ratiobench.play(instances, "shortest:ShortestFirst")


def test_a_class_of_a_notebook_runs_isolated_and_carries_no_answer() -> None:
    class Local(Fifo):
        """Without an import path."""

    assert ratiobench.simulate(log(), Local).welfare == ratiobench.simulate(log(), Fifo).welfare
    schedule = run_policy(log(), "easy").schedule

    class Knows(Fifo):
        def schedule(self, now: int, waiting: Any, cluster: Any) -> Any:
            return [job for job in waiting if schedule.start[job.index] == now]

    with pytest.raises(InputError, match=r"must not know, an object of .*Schedule"):
        ratiobench.simulate(log(), Knows)


def test_evaluate_grades_a_policy_and_says_where_it_loses(folder: Path) -> None:
    found = ratiobench.evaluate("shortest.py", family="cluster", stage="tiny", tiny=3)
    document = found.document()
    assert found.valid
    values = {row["name"]: (row["lower"], row["upper"], row["value"]) for row in document["instances"]}
    for case in tiny_cases(FAMILY, 1, 3):
        lower, upper, value = values[case.name]
        assert (lower, upper) == (case.lower, case.upper)
        assert (
            lower
            == upper
            <= value
            == FAMILY.check_solution(case.instance, _replayed(case.instance)).document()["welfare"]
        )
    losses = document["worst"]["losses"]
    assert losses == sorted(losses, key=lambda row: -row["loss"])
    assert all(row["start"] > row["best_start"] for row in losses)


def _replayed(instance: Instance) -> Any:
    return ratiobench.simulate(instance, "shortest:ShortestFirst").decisions


def test_a_policy_that_breaks_a_rule_has_score_0_and_one_reason(folder: Path) -> None:
    found = ratiobench.evaluate("eager.py", family="cluster", tiny=3)
    assert (found.valid, found.combined_score) == (False, 0)
    assert re.match(r"tiny_\w+: fits: job \d+: job \d+ does not fit at \d+$", found.reason)


@pytest.mark.parametrize(
    ("file", "status", "failed"), [("shortest", 0, set()), ("eager", 1, {"rules"}), ("chance", 1, {"determinism"})]
)
def test_check_algorithm_finds_what_is_wrong(
    file: str, status: int, failed: set[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check-algorithm", f"{file}.py", "--family", "cluster", "--tiny", "2", "--json"]) == status
    rows = json.loads(capsys.readouterr().out)["requirements"]
    assert {row["name"] for row in rows if row["state"] == "failed"} == failed


def test_a_suite_runs_own_policies_beside_listed_ones(folder: Path) -> None:
    """The row of a policy that breaks a rule is not valid, and the others are there."""
    (folder / "mine.toml").write_text(
        'algorithms = ["easy", "shortest:ShortestFirst", "eager:Eager"]\n'
        '[[instance]]\nrecipe = "month"\ndays = 1\nnodes = 1\njobs = 16\nload = 400\nseed = "e"\n'
    )
    assert main(["run", "mine.toml", "--out", "results", "--quiet"]) in (0, 1)
    rows = ratiobench.results("results").rows.set_index("algorithm")
    assert rows.state.to_dict() == {"easy": "ok", "shortest:ShortestFirst": "ok", "eager:Eager": "invalid"}
    assert rows.welfare["shortest:ShortestFirst"] == FAMILY.run(log(), "shortest:ShortestFirst").welfare
    assert rows.reason["eager:Eager"].startswith("fits: ")


def test_explain_splits_the_waits(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The causes add up to the mean wait; the jobs that wait longer are those of the schedules."""
    tables = json_of(capsys, "explain", "log.json", "--algorithm", "fcfs", "--html", "explained.html")["tables"]
    run, best = run_policy(log(), "fcfs").schedule, FAMILY.solve(log(), _settings()).solution
    waits, least = blocked(log(), run), blocked(log(), best)
    for row, part in zip(tables[0]["rows"], PARTS, strict=False):
        assert [_number(cell) for cell in row[1:]] == [round(each.means()[part] / 6) / 10 for each in (waits, least)]
    assert tables[0]["rows"][2][1] != "0"
    later = waits.total - least.total
    first = log().jobs.ids[int(later.argmax())]
    assert tables[-1]["rows"][0][0] == first
    assert tables[-1]["title"].startswith(f"{(later > 0).sum()} of {len(later)} jobs wait longer")
    assert {re.findall(r"by (\w+)", table["title"])[0] for table in tables[1:-1]} == {"user", "width"}
    assert "Mean wait of a job by cause" in (folder / "explained.html").read_text()


def test_explain_names_no_schedule_the_best_known_that_is_worse_than_the_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """However little time there is for OPT: the search begins from the run."""
    (folder / "long.json").write_text(FAMILY.dumps(log(jobs=300, days=2, load=1000)))
    words = ("explain", "long.json", "--algorithm", "easy:order=shortest", "--seconds", "0.01")
    together = json_of(capsys, *words)["tables"][0]["rows"][-1]
    assert _number(together[1]) >= _number(together[2])


def _settings() -> Any:
    from ratiobench.bench.family.suite import SolveSettings

    return SolveSettings()


def _number(cell: Any) -> float:
    return float(Fraction(cell)) if isinstance(cell, str) else float(cell)


def test_explain_of_a_run_that_is_not_valid_names_the_rule(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "explain", "log.json", "--algorithm", "eager:Eager").splitlines()
    assert lines[1].endswith("(INVALID run)")
    assert [line for line in lines if line.startswith("INVALID: fits: ")]
    assert not any("cause" in line for line in lines)


def test_audit_names_what_the_family_has_instead(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "audit", "log.json", "--algorithm", "easy")
    assert "has no claims" in refused(capsys, "explain", "log.json", "--claim", "theorem-5")


def test_a_schedule_written_as_swf_is_read_back(folder: Path) -> None:
    """The same submits, waits, run times, limits and widths; the import's counts are exact."""
    instance = log()
    assert main(["simulate", "log.json", "--algorithm", "easy", "--no-opt", "--solution", "easy.swf"]) == 0
    (folder / "cluster.toml").write_text(f'[[pools]]\nname = "p"\nnodes = {instance.capacity}\ngpus = 1\n')
    again, report = import_logs(("easy.swf",), "cluster.toml")
    assert report.summary()["jobs"] == len(instance.jobs)
    start = run_policy(instance, "easy").schedule.start
    ours = np.column_stack([instance.jobs.submit, start, instance.jobs.run, instance.jobs.width, instance.jobs.limit])
    jobs = again.jobs
    theirs = np.column_stack([jobs.submit, jobs.logged, jobs.run, jobs.width, jobs.limit])
    assert sorted(map(tuple, ours.tolist())) == sorted(map(tuple, theirs.tolist()))
    assert (start > instance.jobs.submit).any()
    assert main(["opt", "log.json", "--seconds", "1", "--solution", "best.swf"]) == 0
    assert len(import_logs(("best.swf",), "cluster.toml")[0].jobs) == len(instance.jobs)
