"""Family `cluster` behind the common commands: opt, check, crosscheck, simulate with own policies, suites."""

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import ratiobench
from ratiobench.bench.cli import main
from ratiobench.bench.cluster import FAMILY
from ratiobench.bench.family.suite import SolveSettings
from ratiobench.instances.cluster.logs import READERS
from ratiobench.instances.cluster.model import COSTS, Instance
from ratiobench.instances.io.errors import InputError
from tests.online.cluster.random_logs import draw_log
from tests.support.cluster_policies import Eager, Fifo, Idle, Reads, Sleepless, Wrong
from tests.support.cluster_rules import run_policy


def log(**keys: Any) -> Instance:
    """A generated log of 30 jobs."""
    return FAMILY.make({"kind": "month", "seed": "family", "days": 2, "nodes": 2, "jobs": 30, **keys})


def test_an_own_policy_runs_isolated_and_is_judged() -> None:
    run = ratiobench.simulate(log(), Fifo)
    assert run.valid, run.violations
    assert run.admitted == run.arrivals == len(log().jobs)
    assert run.welfare == FAMILY.check_solution(log(), run.decisions).document()["welfare"]
    assert run.welfare >= FAMILY.solve(log(), SolveSettings(seconds=1)).lower


@pytest.mark.parametrize(("page", "name"), [("guide/backtest", "ShortestFirst"), ("tutorials/batch", "LeastArea")])
def test_the_policies_of_the_pages_run_as_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str, name: str
) -> None:
    """They are not worse than the order of submits."""
    text = (Path(ratiobench.__file__).parents[1] / "docs" / f"{page}.md").read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    (tmp_path / f"of_{name}.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    run = ratiobench.simulate(log(load=95), f"of_{name}:{name}")
    assert run.valid, run.violations
    assert run.welfare <= FAMILY.run(log(load=95), "fcfs").welfare


@pytest.mark.parametrize(
    ("policy", "rule"), [(Eager, "fits"), (Idle, "every job"), (Wrong, "protocol"), (Reads, "error")]
)
def test_a_policy_that_breaks_a_rule_is_named(policy: type, rule: str) -> None:
    run = ratiobench.simulate(log(load=95), policy)
    assert not run.valid
    assert run.violations[0].rule == rule


def test_a_policy_that_only_asks_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ratiobench.online.cluster.run.MOST_ASKED", 100)
    run = ratiobench.simulate(log(jobs=5), Sleepless)
    assert str(run.violations[0]) == "protocol: asks for more than 150 seconds"


def test_the_judge_replays_the_log_of_any_run() -> None:
    """The figures of a listed rule, taken from the kernel, are those of the exact check."""
    for seed in range(30):
        instance = draw_log(seed)
        run = FAMILY.run(instance, "easy")
        assert run.valid, (seed, run.violations)
        assert run.decisions.start.tolist() == run_policy(instance, "easy").schedule.start.tolist()
        assert run.welfare == int((run.decisions.start - instance.jobs.submit).sum())


@pytest.mark.parametrize("cost", ["wait", "slowdown"])
def test_opt_is_certified_in_every_cost(cost: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, solution, proof = (str(tmp_path / name) for name in ("log.json", "solution.json", "proof.cert"))
    Path(file).write_text(FAMILY.dumps(log(jobs=10)))
    assert main(["opt", file, "--cost", cost, "--seconds", "1", "--solution", solution, "--certificate", proof]) == 0
    assert "mean" in capsys.readouterr().out
    assert main(["check", file, solution, "--cost", cost]) == 0
    assert main(["check", file, "--certificate", proof]) == 0
    shown = capsys.readouterr().out
    assert "NOT VALID" not in shown
    assert f"OPT ({cost})" in shown
    for words in (
        ["check", file],
        ["simulate", file, "-a", "easy"],
    ):  # a certificate of one cost proves nothing of others
        assert main([*words, "--cost", "wait-gpus", "--certificate", proof]) == 2
        assert f"the certificate is about {cost}, not wait-gpus" in capsys.readouterr().err
    runs = [FAMILY.run(FAMILY.with_cost(log(jobs=10), cost), name).welfare for name in ("easy", "fcfs")]
    report = ratiobench.opt(file, cost=cost, seconds=1)
    assert all(report.lower <= Fraction(value) for value in runs)


def test_a_schedule_that_is_not_valid_has_no_cost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The least cost is best, so 0 would be the best one."""
    file, solution = tmp_path / "log.json", tmp_path / "solution.json"
    file.write_text(FAMILY.dumps(log()))
    document = FAMILY.solution_document(run_policy(log(), "easy").schedule)
    document["decisions"][0][0] = -1
    solution.write_text(json.dumps(document))
    assert main(["check", str(file), str(solution)]) == 1
    verdict, *figures, problem = capsys.readouterr().out.splitlines()
    assert (verdict, figures) == ("NOT VALID", ["admitted 0", "cost -"])
    assert problem.startswith("(release) job 0: starts at -1, before its release")


def test_a_cost_is_part_of_the_identity_of_what_is_judged() -> None:
    assert len({FAMILY.identity(FAMILY.with_cost(log(), cost)) for cost in COSTS}) == len(COSTS)
    with pytest.raises(InputError, match="'waits' is not one of"):
        FAMILY.with_cost(log(), "waits")


def test_solvers_agree_on_a_small_log() -> None:
    found = FAMILY.crosscheck(log(jobs=5, nodes=1, load=300))
    assert found.agree, found.verdict
    assert [row.answer.formulation for row in found.rows] == ["enumeration", "cp-sat", "prices"]
    with pytest.raises(InputError, match="slowdown is no integer"):
        FAMILY.crosscheck(FAMILY.with_cost(log(), "slowdown"))


def test_every_suite_makes_its_instances() -> None:
    for suite in FAMILY.own_suites():
        for case in suite.cases:
            instance = FAMILY.make(case.recipe)
            assert 20 <= len(instance.jobs) <= case.recipe["jobs"], case.name
            assert instance.cost in case.group


def test_solutions_are_read_back() -> None:
    schedule = run_policy(log(), "easy").schedule
    again = FAMILY.parse_solution(FAMILY.solution_document(schedule), "s.json")
    assert [each.tolist() for each in (again.start, again.pool, again.node)] == [
        each.tolist() for each in (schedule.start, schedule.pool, schedule.node)
    ]
    for data, message in (({}, "the field is missing"), ({"decisions": [[1]], "nodes": []}, "decisions")):
        with pytest.raises(InputError, match=message):
            FAMILY.parse_solution(data, "s.json")


def test_every_format_is_listed() -> None:
    assert set(dict(FAMILY.log_formats)) == set(READERS)
