"""The enumerator: right on cases worked by hand, bounded in size, and the golden values of the shipped instances."""

import json
from pathlib import Path
from typing import Any

import pytest

import ratiobench.instances.lora
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.models import enumerate as enumerate_module
from ratiobench.formulations.lora.models.enumerate import TASK_LIMIT, enumerate_optimum, list_schedules
from ratiobench.formulations.lora.solve import solve
from ratiobench.formulations.report import Proof
from ratiobench.instances.lora import Decision, Instance, read
from tests.support.lora_documents import make_instance, make_node

NAMED = Path(ratiobench.instances.lora.__file__).with_name("named")
BOUNDS = NAMED / "bounds.json"


def instance_of(tasks: list[dict[str, Any]], slots: int = 3, count: int = 1, compute: int = 2) -> Instance:
    """Tasks on one node type with tariff 1; a task's fields override a plain one's."""
    plain = {"bid": 10, "energy_wh": [1]}
    return make_instance(slots, [make_node(compute, 9, count, tariff=[1] * slots)], [plain | task for task in tasks])


def test_all_schedules_of_a_task_are_listed_also_those_that_are_no_minimal_covers() -> None:
    """Work 2 at rate 1 in 3 slots on one node: three pairs of slots and all three slots."""
    instance = instance_of([{"work": 2}])
    found = {schedule.decision.cells: schedule.value for schedule in list_schedules(instance, instance.task(0))}
    assert found == {((0, 1), (0, 2)): 8, ((0, 1), (0, 3)): 8, ((0, 2), (0, 3)): 8, ((0, 1), (0, 2), (0, 3)): 7}


def test_a_vendor_costs_its_price_and_its_delay() -> None:
    """The cheap vendor leaves one slot, which is not enough for work 2."""
    offers = [{"price": 1, "delay": 2}, {"price": 4, "delay": 1}]
    instance = instance_of([{"work": 2, "vendors": offers}])
    assert enumerate_optimum(instance) == (10 - 4 - 2, (Decision(1, ((0, 2), (0, 3))),))
    instance = instance_of([{"work": 1, "vendors": offers}])
    assert enumerate_optimum(instance) == (10 - 1 - 1, (Decision(0, ((0, 3),)),))


def test_capacity_makes_tasks_compete() -> None:
    """Three tasks of rate 1 in one slot on a node of compute 2: the two best."""
    instance = instance_of([{"bid": bid} for bid in (5, 7, 6)], slots=1)
    value, solution = enumerate_optimum(instance)
    assert value == 7 + 6 - 2
    assert solution[0] is None


def test_losing_tasks_are_rejected() -> None:
    assert enumerate_optimum(instance_of([{"bid": 1, "work": 2}])) == (0, (None,))


def test_enumeration_refuses_what_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many tasks, too many ways to place one task, too many steps."""
    with pytest.raises(ValueError, match="at most 8"):
        enumerate_optimum(instance_of([{}] * (TASK_LIMIT + 1)))
    with pytest.raises(ValueError, match="ways to place it"):
        enumerate_optimum(instance_of([{}], slots=10, count=2))
    with pytest.raises(ValueError, match="ways to place it"):
        enumerate_optimum(instance_of([{}], slots=1, count=2**40))
    monkeypatch.setattr(enumerate_module, "STEP_LIMIT", 20_000)
    with pytest.raises(ValueError, match="more than 20000 steps"):
        enumerate_optimum(instance_of([{"work": 2, "bid": 100 + i} for i in range(8)], slots=7, compute=1))


def test_a_refusal_is_told_by_solve_and_leaves_an_interval() -> None:
    """`enumerate` asked for by name on something large: the trivial bound and a message."""
    report = solve(instance_of([{}] * (TASK_LIMIT + 1)), "enumerate")
    assert report.lower <= report.upper
    assert "enumerate: 9 tasks" in report.message


def test_the_proof_names_its_source() -> None:
    report = solve(instance_of([{"bid": bid} for bid in (5, 7, 6)], slots=1), "enumerate")
    assert (report.lower, report.upper, report.proof, report.backend) == (11, 11, Proof.ENUMERATION, "none")


def bounds() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(BOUNDS.read_text())
    return data


def test_every_shipped_tiny_instance_has_a_golden_value() -> None:
    """None is forgotten, and brute force is among its proofs."""
    tiny = {path.stem for path in NAMED.glob("tiny_*.json")}
    assert tiny
    assert tiny <= set(bounds())
    assert all("enumerate" in bounds()[name]["proved_by"] for name in tiny)


@pytest.mark.parametrize("name", sorted(bounds()))
def test_golden_values_are_what_every_prover_finds(name: str) -> None:
    """The stored optimum, recomputed by each formulation and backend that is stored beside it."""
    instance = read(NAMED / f"{name}.json")
    entry = bounds()[name]
    assert len(entry["proved_by"]) >= 2
    for prover in entry["proved_by"]:
        formulation, _, backend = prover.partition("+")
        report = solve(instance, formulation, backend or "none")
        assert (report.lower, report.upper) == (entry["opt"], entry["opt"]), prover
        assert check(instance, report.solution).welfare == entry["opt"]
