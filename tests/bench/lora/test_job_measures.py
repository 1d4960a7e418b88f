"""What users of a cluster ask of a run: waits, slowdowns, who is done in time; and what is said of its proofs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from ratiobench.bench.cli.main import main
from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.contract import NOT_ABOUT_THESE
from ratiobench.bench.lora import FAMILY
from ratiobench.bench.lora.counterexamples.tiny import tiny_instance_of
from ratiobench.bench.lora.explain.candidates import list_plans
from ratiobench.bench.lora.measures import ALWAYS, MEASURES
from ratiobench.bench.lora.proof_status import IN_BID, IN_BID_AND_KIND, WHERE_KNOWN
from ratiobench.bench.lora.timeline import DEAR, FULL, IMPOSSIBLE, find_reasons
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.formulations.lora.solve import solve
from ratiobench.instances.lora import document, parse, write
from ratiobench.instances.lora.named import named, path
from ratiobench.online.lora.run import run
from ratiobench.online.remarks import Remarks
from tests.online.lora.test_later import cluster


def test_waits_slowdowns_and_users() -> None:
    """On one node: runs of 3, 2 and 1 slots one after another; the last one waits in vain."""
    instance = cluster(
        {"work": 3, "user": "a"}, {"work": 2, "user": "b", "limit": 3}, {"work": 1, "user": "b"},
        {"work": 4, "deadline": 6}, {"work": 3, "arrival": 7, "limit": 1, "energy_wh": [2], "vendors": []}, nodes=(1,),
    )  # fmt: skip
    result = run(instance, "queue")
    assert [each and each.cells[0][1] for each in result.decisions] == [1, 4, 6, None, 7]
    found = FAMILY.measures(instance, result, ())
    assert tuple(found) == MEASURES == FAMILY.measure_names
    slow = [Fraction(1), Fraction(5, 2), Fraction(6), Fraction(1)]
    assert found["wait_mean_s"] == Fraction(600 * (0 + 3 + 5 + 0), 4)
    assert found["wait_p95_s"] == 600 * 5
    assert found["slowdown"] == sum(slow) / 4
    assert found["met_share"] == Fraction(3, 4)
    assert (found["killed"], found["left"]) == (1, 1)
    a, b = slow[0], (slow[1] + slow[2]) / 2
    assert found["jain_users"] == (a + b) ** 2 / (2 * (a * a + b * b))
    assert found["jain_groups"] is None
    assert found["admitted_share"] == Fraction(3, 4)
    assert FAMILY.accounts is not None
    account = FAMILY.accounts(instance, result)
    assert account == {"vendors": 0, "energy": 2, "bids": 30}
    assert result.welfare == 28


def test_other_instances_have_the_measures_that_they_had() -> None:
    instance = named("tiny_vendors")
    assert tuple(FAMILY.measures(instance, run(instance, "greedy"), ())) == ALWAYS
    assert tuple(FAMILY.measures(instance, run(instance, "queue"), ())) == MEASURES


@pytest.mark.parametrize("name", ["greedy", "pdftsp", "queue"])
def test_theorems_about_p_are_not_told_of_gangs(name: str) -> None:
    """But those whose proofs hold for tasks of all kinds, and where."""
    instance = cluster({"run": "gang", "nodes": 2, "work": 4}, {"run": "any"})
    result = run(instance, name)
    assert result.remarks.unproved
    assert Remarks.from_document({**result.remarks.document(), "options": [], "notes": []}).unproved
    status = FAMILY.proof_status_of(name, [result.remarks])
    assert set(status) == {"guarantee", "truthful"}
    told = [text for text in status.values() if "Theorem" in text]
    assert all(text.endswith(WHERE_KNOWN) for text in told)
    assert bool(told) == (name == "greedy")
    assert FAMILY.proof_status_of("greedy", [Remarks("greedy")])["guarantee"].endswith("(Theorem G)")


@pytest.mark.parametrize(
    ("name", "truthful"),
    [
        ("greedy", IN_BID_AND_KIND),
        ("posted:prior=yesterday", IN_BID_AND_KIND),
        ("dual-posted", IN_BID),
        ("pricelist", IN_BID_AND_KIND),
        ("posted", "no: constants"),
        ("greedy:migrate=no", "not examined"),
        ("pdftsp:prior=yesterday", "no: (14)"),
        ("queue", "no payments"),
    ],
)
def test_theorem_t_is_about_tasks_of_every_kind(name: str, truthful: str) -> None:
    """As far as bid and kind go; guarantees where they are proved of all kinds."""
    found = FAMILY.proof_status_of(name, [Remarks(name, unproved=True)])
    assert found["truthful"] == truthful or (truthful.startswith("no") and found["truthful"].startswith(truthful))
    proved = found["guarantee"].endswith(WHERE_KNOWN)
    assert proved == (name in ("greedy", "posted", "posted:prior=yesterday"))
    assert proved or found["guarantee"] == NOT_ABOUT_THESE or found["guarantee"].startswith("no")


def test_reasons_of_rejections() -> None:
    """A gang on too few nodes, one without room, one that was declined."""
    gang = {"run": "gang", "nodes": 2, "work": 4}
    instance = cluster({**gang, "nodes": 3}, {**gang, "deadline": 2}, {**gang, "deadline": 3}, gang)
    result = run(instance, "greedy")
    assert [each is not None for each in result.decisions] == [False, True, False, True]
    assert find_reasons(instance, result.decisions) == {0: IMPOSSIBLE, 2: FULL}
    assert find_reasons(instance, (None,) * 4) == {0: IMPOSSIBLE, 1: DEAR, 2: DEAR, 3: DEAR}


def test_theorem_g_is_checked_on_gangs() -> None:
    """Where tasks are small enough, their lengths are known and nodes begin empty."""
    small = {"rate": [1], "memory_mb": 1, "work": 2}
    instance = cluster({**small, "run": "gang", "nodes": 2}, {**small, "run": "any"})
    data = document(instance)
    data["node_types"][0] |= {"compute": 4, "memory_mb": 9}
    held = {"nodes": [0], "compute": 1, "memory_mb": 0, "last": 1}
    for change, more, verdict in (
        ({"run": "any"}, {}, Verdict.HOLDS),
        ({"run": "rigid"}, {}, Verdict.HOLDS),
        ({"run": "gang", "nodes": 2}, {}, Verdict.HOLDS),
        ({"run": "rigid", "limit": 3}, {}, None),
        ({"run": "rigid"}, {"running": [held]}, None),
    ):
        tasks = [{**data["tasks"][1], **change}] * 2
        tested = parse(data | {"tasks": tasks} | more)
        result = run(tested, "greedy")
        value, solution = enumerate_optimum(tested)
        report = replace(solve(named("tiny_vendors")), lower=value, upper=value, solution=solution)
        checks = {check.name: check for check in FAMILY.audit(tested, result, report)}
        assert (checks["theorem_g"].status if "theorem_g" in checks else None) is verdict


def test_an_explanation_lists_the_schedules_of_the_kind() -> None:
    instance = cluster(
        {"run": "gang", "nodes": 2, "work": 4, "deadline": 3}, {"run": "one-node", "work": 2}, nodes=(3,), slots=5
    )
    gang, one = (list_plans(instance, tiny_instance_of(instance), instance.task(i)) for i in range(2))
    assert gang is not None
    assert len(gang) == 3 * 2
    assert all(plan.cells[0][1] + 1 == plan.cells[-1][1] and plan.work == 4 for plan in gang)
    assert one is not None
    assert len(one) == 3 * 5 * 4 // 2


def test_the_command_tells_of_waits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "day.json"
    write(cluster({"work": 3}, {"work": 2}, {"work": 4, "deadline": 4}, nodes=(1,)), file)
    assert main(["simulate", str(file), "--algorithm", "queue", "--no-opt"]) == 0
    line = "wait 15.0 min in the mean, 95 % at most 30 min; slowdown 1.75; 66.7 % of those that can be are done in time"
    assert capsys.readouterr().out.splitlines()[-1] == f"{line}; 1 left"
    assert main(["simulate", str(path("tiny_vendors")), "--algorithm", "greedy", "--no-opt"]) == 0
    assert "wait" not in capsys.readouterr().out
