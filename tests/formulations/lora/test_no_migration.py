"""Without migration: checker, optimum, bounds, heuristic and commands agree with looking at everything."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

import ratiobench
from ratiobench.bench.cli import main
from ratiobench.bench.family.registry import families, find_suite
from ratiobench.formulations.lora.bound.lagrangian import dual_bound
from ratiobench.formulations.lora.bound.pricing import Pricer, pool
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.models import one_node as models
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.formulations.lora.models.formulation import registry
from ratiobench.formulations.lora.solve import solve
from ratiobench.formulations.report import Proof, Status
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora import Decision, Instance, parse
from ratiobench.instances.lora.format import document
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.model import ScheduleKind
from tests.formulations.lora.test_models import contended_instance, model_of, optimum_of, without
from tests.support.lora_documents import make_instance, make_node
from tests.support.samples import of_sample, samples
from tests.support.strategies.lora import tiny_instances


def swap() -> Instance:
    """Two nodes, each taken in one of two slots by a task that can run nowhere else; the third needs both slots.

    With migration it takes what is left and OPT is 5 + 5 + 7; on one node it displaces one of the others.
    """
    tasks: list[dict[str, Any]] = [
        {"deadline": 1, "bid": 5, "rate": [1, 0]},
        {"work": 2, "bid": 7},
        {"arrival": 2, "bid": 5, "rate": [0, 1]},
    ]
    return make_instance(2, [make_node(1, 1)] * 2, tasks)


MOVING = (Decision(None, ((0, 1),)), Decision(None, ((1, 1), (0, 2))), Decision(None, ((1, 2),)))


def written(folder: Path, instance: Instance) -> str:
    path = folder / "instance.json"
    path.write_text(json.dumps(document(instance)))
    return str(path)


def test_the_checker_refuses_a_migrating_solution() -> None:
    """Valid for P; without migration one breach more, which names task and nodes."""
    assert check(swap(), MOVING).valid
    report = check(swap().without_migration(), MOVING)
    assert [str(breach) for breach in report.violations] == ["(R2) task 1: runs on nodes 0, 1; it may run on 1"]
    assert report.welfare == 17
    stay = (None, Decision(None, ((0, 1), (0, 2))), MOVING[2])
    assert check(swap().without_migration(), stay).valid


def test_the_two_optima_differ() -> None:
    """17 with migration, 12 without; every way of `solve` says so."""
    assert enumerate_optimum(swap())[0] == solve(swap()).lower == 17
    assert enumerate_optimum(swap().without_migration())[0] == 12
    for formulation in ("auto", "one-node", "enumerate"):
        report = solve(swap().without_migration(), formulation)
        assert (report.status, report.lower, report.upper) == (Status.OPTIMAL, 12, 12)
        assert check(swap().without_migration(), report.solution).valid
    heuristic = solve(swap().without_migration(), backend="none")
    assert heuristic.lower == 12
    assert heuristic.upper in range(12, 18)


def wide_instance(number: int) -> Instance:
    """A contended instance on three nodes of one type, so that order and renumbering of nodes have work to do."""
    data = document(contended_instance(number))
    data["slots"] = 3
    data["node_types"] = [node | {"count": 3, "tariff": node["tariff"][:3]} for node in data["node_types"][:1]]
    data["tasks"] = [
        task
        | {"arrival": min(2, task["arrival"]), "deadline": min(3, task["deadline"]), "rate": task["rate"][:1]}
        | {key: task[key][:1] for key in ("energy_wh", "cost") if key in task}
        for task in data["tasks"] * 2
    ][:6]
    data["tasks"].sort(key=lambda task: task["arrival"])
    return parse(data)


def test_the_interval_is_that_of_brute_force() -> None:
    """On small contended instances: solver and enumeration agree; bounds alone and search alone are on their sides."""
    differ = 0
    cases = [*map(contended_instance, range(samples(40))), *map(wide_instance, range(samples(20)))]
    for instance in cases:
        free, _ = enumerate_optimum(instance)
        optimum, _ = enumerate_optimum(instance.without_migration())
        assert optimum <= free
        differ += optimum < free
        report = solve(instance.without_migration(), "one-node")
        assert (report.lower, report.upper, report.message) == (optimum, optimum, ""), instance.name
        assert check(instance.without_migration(), report.solution).valid
        assert models.standalone_bound(instance) >= optimum
        tasks = pool(instance)
        dual = dual_bound(Pricer(tasks))
        assert optimum <= models.lagrangian_bound(tasks, dual) <= dual.upper
        model = model_of(instance, "one-node")
        assert len(model.columns) == models.columns(instance)
    assert differ > of_sample(2, 60)


def test_the_search_finds_the_optimum_of_small_instances() -> None:
    missed = 0
    for number in range(15):
        instance = wide_instance(number) if number % 2 else contended_instance(number)
        optimum, _ = enumerate_optimum(instance.without_migration())
        report = solve(instance.without_migration(), backend="none")
        assert report.lower <= optimum <= report.upper
        assert check(instance.without_migration(), report.solution).welfare == report.lower
        assert report.message == ""
        missed += report.lower < optimum
    assert missed <= 1


@settings(max_examples=samples(60))
@given(tiny_instances())
def test_any_tiny_instance_is_solved_without_migration(instance: Instance) -> None:
    """Rates of 0, negative costs, vendors, windows that are empty: the same optimum by model and by enumeration."""
    optimum, solution = enumerate_optimum(instance.without_migration())
    verdict = check(instance.without_migration(), solution)
    assert (verdict.valid, verdict.welfare) == (True, optimum)
    report = solve(instance.without_migration())
    assert (report.lower, report.upper, report.message) == (optimum, optimum, "")


def test_each_row_of_the_model_matters() -> None:
    """Without one kind of them some optimum is wrong; without the order of nodes none is."""
    undecided = {"stay", "run", "work", "compute", "memory"}
    for number in range(60):
        instance = contended_instance(number)
        model = model_of(instance, "one-node")
        optimum = optimum_of(model)
        assert optimum_of(without(model, "order")) == optimum
        undecided -= {each for each in sorted(undecided) if optimum_of(without(model, each)) != optimum}
        if not undecided:
            break
    assert not undecided


def test_a_bound_without_migration_is_none_on_opt() -> None:
    """`--formulation one-node` alone is about P: the model's bound of 12 is not taken for one on OPT, which is 17."""
    assert registry()["one-node"].schedules is ScheduleKind.ONE_NODE
    report = solve(swap(), "one-node")
    assert (report.lower, report.upper) == (17, 17)
    assert report.proof is not Proof.BRANCH_AND_BOUND


def test_a_crowded_day_has_an_interval_that_the_checker_confirms() -> None:
    """A part of a day, effort 1: both ends, on real nodes, reproducibly."""
    recipe = next(case.recipe for case in find_suite("quick")[1].cases if case.name == "pai_40")
    instance = generate({**recipe, "tasks": 24})
    report, again = (solve(instance.without_migration(), backend="none") for _ in range(2))
    assert check(instance.without_migration(), report.solution).welfare == report.lower
    assert 0.9 * report.upper < report.lower <= report.upper
    assert (report.lower, report.upper, report.solution) == (again.lower, again.upper, again.solution)


@pytest.mark.parametrize("formulation", ["tight", "cpsat", "printed", "nonsense"])
def test_formulations_of_p_are_refused(formulation: str) -> None:
    with pytest.raises(InputError, match="not one of auto, one-node, enumerate"):
        solve(swap().without_migration(), formulation)


# ---------------------------------------------------------------------------------------------------- commands


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit status and both streams of a command."""
    status = main(arguments)
    return status, *capsys.readouterr()


def test_opt_says_that_nothing_migrates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Text and JSON; the solution passes `check --no-migration`, the one of plain `opt` does not."""
    file, solution = written(tmp_path, swap()), str(tmp_path / "solution.json")
    status, out, _ = told(capsys, "opt", file, "--no-migration", "--solution", solution)
    assert (status, out.splitlines()[0]) == (0, "OPT without migration = 12 micro-dollars")
    assert "a verified solution that keeps every task on one node" in out
    assert told(capsys, "check", file, solution, "--no-migration")[1].startswith("valid\n")
    status, out, _ = told(capsys, "opt", file, "--no-migration", "--json")
    about: dict[str, Any] = json.loads(out)
    assert (about["migration"], about["lower"], about["upper"], about["formulation"]) == (False, 12, 12, "one-node")
    assert told(capsys, "opt", file, "--solution", solution)[1].startswith("OPT = 17")
    assert told(capsys, "check", file, solution)[1].startswith("valid\n")
    status, out, _ = told(capsys, "check", file, solution, "--no-migration")
    assert (status, out.splitlines()[0]) == (1, "NOT VALID")
    assert "(R2) task 1: runs on nodes 0, 1" in out
    assert "migration" not in json.loads(told(capsys, "opt", file, "--json")[1])
    assert ratiobench.opt(file, no_migration=True).lower == 12


def test_certificates_of_tasks_that_stay_on_one_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A certificate proves both ends without migration, and nothing of OPT with it; one of OPT does not fit either."""
    file, certificate = written(tmp_path, swap()), str(tmp_path / "certificate.json")
    status, out, _ = told(capsys, "opt", file, "--no-migration", "--certificate", certificate)
    assert (status, out.splitlines()[0]) == (0, "OPT without migration = 12 micro-dollars")
    status, out, _ = told(capsys, "check", file, "--no-migration", "--certificate", certificate)
    assert out.startswith("valid\nOPT without migration in [12, ")
    status, out, _ = told(capsys, "check", file, "--certificate", certificate)
    assert out.startswith("NOT VALID\n")
    assert (
        told(capsys, "simulate", file, "--no-migration", "--algorithm", "greedy", "--certificate", certificate)[0] == 0
    )
    assert told(capsys, "opt", file, "--certificate", certificate)[0] == 0
    assert told(capsys, "check", file, "--no-migration", "--certificate", certificate)[1].startswith("NOT VALID\n")


def test_a_family_in_which_nothing_moves_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """EAPM places a bag for good: one line, exit 2."""
    eapm = families()["eapm"]
    path = tmp_path / "eapm.json"
    path.write_text(eapm.dumps(eapm.generate(eapm.suites()[0].cases[0].recipe)))
    status, out, err = told(capsys, "opt", str(path), "--no-migration")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "eapm" in err
