"""Numbers near the format's limit of 2^40: what solvers say in floating point is no proof until it is checked."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ratiobench.formulations import backends
from ratiobench.formulations.backends import BackendResult
from ratiobench.formulations.eapm import solve as eapm_solve
from ratiobench.formulations.eapm.aggregate import aggregate_users, split
from ratiobench.formulations.eapm.search import enumerate_optimum as enumerate_eapm
from ratiobench.formulations.engine import Clock
from ratiobench.formulations.linear import LinearModel
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.formulations.lora.solve import best_alone, solve, trivial_bound
from ratiobench.formulations.report import Proof, Termination
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora import Instance, parse
from ratiobench.instances.lora.solution import parse_solution, solution_document
from ratiobench.online.lora.run import run
from tests.formulations.lora.test_models import contended_instance
from tests.support.eapm_optimum import small
from tests.support.lora_documents import make_instance
from tests.support.samples import samples

TOP = 2**40


def instance_of(tasks: list[dict[str, Any]], slots: int, node: dict[str, Any], base: int = 0) -> Instance:
    return make_instance(slots, [node], tasks, base_memory_mb=base)


def where_cbc_finds_nothing() -> Instance:
    """CBC 5 calls 0 the optimum; the truth is 4,396,972,769,248."""
    return instance_of(
        [
            {"arrival": 1, "deadline": 2, "memory_mb": 2**38 - 1, "work": 1, "bid": TOP - 30, "rate": [1],
             "energy_wh": [2**30]},
            {"arrival": 1, "deadline": 2, "memory_mb": 2**38 - 1, "work": 169302731486, "bid": TOP - 1,
             "rate": [2**39 - 1], "cost": [[2**37, -TOP]]},
            {"arrival": 2, "deadline": 2, "memory_mb": 1, "work": 2**39, "bid": TOP - 1, "rate": [2**39],
             "energy_wh": [2**36]},
        ],
        2,
        {"compute": TOP - 1, "memory_mb": 2**39 - 1, "tariff": [1, 0]},
        base=1,
    )  # fmt: skip


def where_cbc_forgets_a_task() -> Instance:
    """CBC 5 calls 28,124,441,118 the optimum; the truth is 41,009,175,289."""
    return instance_of(
        [
            {"arrival": 1, "deadline": 4, "memory_mb": 2, "work": 10**9, "bid": 21540940562, "rate": [1520405708],
             "cost": [[2 * 10**9, 0, 2 * 10**9, 2 * 10**9]]},
            {"arrival": 1, "deadline": 4, "memory_mb": 2, "work": 16 * 10**9, "bid": 30124441116, "rate": [4776533344],
             "vendors": [{"price": 2 * 10**9, "delay": 0}], "energy_wh": [0]},
            {"arrival": 4, "deadline": 4, "memory_mb": 1, "work": 3 * 10**9, "bid": 22468234727, "rate": [3995121674],
             "cost": [[5 * 10**9, 2 * 10**9, 2 * 10**9, 3 * 10**9]]},
        ],
        4,
        {"compute": 4845357691, "memory_mb": 4, "tariff": [1, 3, 1, 0]},
    )  # fmt: skip


def where_highs_misses_an_exact_fit() -> Instance:
    """HiGHS 1.15 calls 1,047,135,960 the optimum; the truth is 1,520,687,745: two tasks fill the node."""
    task = {"arrival": 1, "deadline": 1, "memory_mb": 1}
    return instance_of(
        [
            task | {"work": 996862438, "bid": 748528756, "rate": [996862438], "energy_wh": [5747753]},
            task | {"work": 548749103, "bid": 555022329, "rate": [548749103], "energy_wh": [27156848]},
            task | {"work": 897582779, "bid": 793253752, "rate": [897582779], "cost": [[-253882208]]},
        ],
        1,
        {"compute": 1545611541, "memory_mb": 3, "tariff": [3]},
    )


def random_instance(seed: int) -> Instance:
    """Up to four tasks that compete, with rates, works, capacities and money anywhere between 1 and 2^40 - 1."""
    draw = Stream("large numbers", seed).integer

    def large() -> int:
        return draw(2**39, TOP - 1) >> draw(0, 12)

    slots = draw(1, 3)
    rates = [large() for _ in range(draw(2, 4))]
    compute = min(TOP - 1, max(rates) + draw(0, 1) * min(rates) - draw(0, 1))
    tasks = []
    for rate, arrival in zip(rates, sorted(draw(1, slots) for _ in rates), strict=True):
        deadline = draw(arrival, slots)
        task: dict[str, Any] = {"arrival": arrival, "deadline": deadline, "memory_mb": 1, "rate": [rate]}
        task["work"] = min(TOP - 1, rate * draw(1, deadline - arrival + 1))
        task["bid"] = large()
        if draw(0, 1):
            task["cost"] = [[large() * draw(-1, 1) >> 2 for _ in range(slots)]]
        else:
            task["energy_wh"] = [draw(0, 2**36)]
        if draw(0, 3) == 0:
            task["vendors"] = [{"price": large() >> 3, "delay": draw(0, 1)}]
        tasks.append(task)
    node = {"compute": compute, "memory_mb": draw(1, 4), "tariff": [draw(0, 3) for _ in range(slots)]}
    return instance_of(tasks, slots, node)


def with_bound(bound: float | None) -> Any:
    """A backend that finds nothing and says a bound."""

    def answer(_backend: str, model: LinearModel, *_: object) -> BackendResult:
        return BackendResult(Termination.OPTIMAL, np.zeros(len(model.columns)), bound)

    return answer


@pytest.mark.parametrize(
    "instance", [where_cbc_finds_nothing(), where_cbc_forgets_a_task(), where_highs_misses_an_exact_fit()]
)
@pytest.mark.parametrize("backend", ["highs", "cbc", "cpsat"])
def test_no_backend_proves_an_interval_without_the_optimum(instance: Instance, backend: str) -> None:
    """Instances on which CBC or HiGHS is sure of a wrong optimum: their bounds are refused, and the report says so."""
    optimum, _ = enumerate_optimum(instance)
    report = solve(instance, backend=backend)
    assert report.lower <= optimum <= report.upper
    assert (f"{backend}: bound refused, floating point is no proof" in report.message) is (backend != "cpsat")
    assert report.proof is not Proof.BRANCH_AND_BOUND
    assert report.lower > 0


@pytest.mark.parametrize("backend", ["highs", "cbc", "cpsat", "scip", "gurobi"])
def test_intervals_hold_the_optimum_of_random_instances_near_the_limit(backend: str) -> None:
    """Every seed against brute force, with every solver that is installed."""
    if backends.version(backend) is None:
        pytest.skip(f"{backend} is not installed")
    for seed in range(samples(40)):
        instance = random_instance(seed)
        optimum, _ = enumerate_optimum(instance)
        report = solve(instance, backend=backend)
        assert report.lower <= optimum <= report.upper, (seed, report.message)
        assert check(instance, report.solution).welfare == report.lower


@pytest.mark.parametrize("backend", ["highs", "cbc"])
def test_a_bound_is_believed_up_to_the_stated_number(backend: str) -> None:
    """2^22 in a row is believed, one more is not; money may be as large as it likes."""
    for rate, believed in ((2**22, True), (2**22 + 1, False)):
        tasks = [
            {"arrival": 1, "deadline": 1, "memory_mb": 1, "work": 1, "rate": [each], "cost": [[0]], "bid": 2**39 + each}
            for each in (rate, rate - 1)
        ]
        report = solve(instance_of(tasks, 1, {"compute": rate, "memory_mb": 9, "tariff": [0]}), backend=backend)
        assert report.lower == 2**39 + rate
        assert (report.proof is Proof.BRANCH_AND_BOUND) is believed
        assert ("refused" in report.message) is not believed


def test_a_floating_point_bound_is_held_against_the_best_single_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that finds nothing and 'proves' 0 is refuted without a search."""
    instance = contended_instance(0)
    optimum, _ = enumerate_optimum(instance)
    alone = check(instance, best_alone(instance))
    assert alone.valid
    assert alone.admitted == 1
    assert 0 < alone.welfare < optimum
    monkeypatch.setattr(backends, "solve", with_bound(0.0))
    report = solve(instance, "tight", "cbc")
    assert report.lower <= optimum <= report.upper
    assert f"bound 0 dropped, it is below the verified welfare {alone.welfare}" in report.message


def test_the_best_single_task_is_the_best_of_all_tasks_alone() -> None:
    """On nodes of two types, with vendors: its welfare is the largest optimum of an instance with one of the tasks."""
    from ratiobench.instances.lora import document

    for number in range(20):
        instance = contended_instance(number)
        data = document(instance)
        alone = [enumerate_optimum(parse(data | {"tasks": [task]}))[0] for task in data["tasks"]]
        verdict = check(instance, best_alone(instance))
        assert (verdict.valid, verdict.welfare) == (True, max(alone))


def test_a_bound_that_a_later_solution_refutes_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong bound above what is known at the time: what the search finds then refutes it, and the next one stands."""
    instance = contended_instance(0)
    optimum, _ = enumerate_optimum(instance)
    wrong = float(check(instance, best_alone(instance)).welfare + 1)
    assert wrong < optimum
    monkeypatch.setattr(backends, "solve", with_bound(wrong))
    report = solve(instance, "tight", "highs")
    assert report.lower <= optimum <= report.upper <= trivial_bound(instance)
    assert report.proof in (Proof.TRIVIAL, Proof.LAGRANGIAN)
    assert f"branch-and-bound: bound {wrong:.0f} dropped, it is below the verified welfare" in report.message


def test_bounds_on_a_rate_are_dropped_alike() -> None:
    """EAPM: bounds that a better solution refutes go, the least one that it does not refute stands."""
    kinds, users = [{"name": "t", "etc_ms": [3, 5], "apc_mw": [7, 4]}], [{"type": 0, "tasks": 9, "price": 900}]
    problem = aggregate_users(small(kinds, users, ["a", "b"]))
    best, solution = enumerate_eapm(problem.instance)
    run = eapm_solve._Run(problem, "highs", Clock())
    run.bound(best * 3, Proof.TRIVIAL)
    run.offer(split(problem, problem.place_on(problem.cost.argmin(axis=1))), "cheapest")
    assert run.lower < best
    run.bound(best * 2, Proof.LAGRANGIAN)
    run.bound((run.lower + best) / 2, Proof.BRANCH_AND_BOUND)
    assert run.upper < best
    run.offer(solution, "better")
    assert (run.lower, run.upper, run.proof) == (best, best * 2, Proof.LAGRANGIAN)
    wrong = float((run.trail[0][1] + best) / 2)
    assert run.notes == [f"branch-and-bound: bound {wrong} dropped, it is below the verified rate {float(best)}"]
    run.bound(best - Fraction(1, 10**9), Proof.BRANCH_AND_BOUND)
    assert (run.upper, len(run.notes)) == (best * 2, 2)


def test_the_largest_number_of_the_rows_is_found_on_every_side() -> None:
    """Coefficients and both sides; neither infinities nor the objective nor bounds of columns."""
    model = LinearModel(
        "m", objective=np.array([9.0, -9.0]), lower=np.zeros(2), upper=np.array([9.0, np.inf]),
        integer=np.ones(2, bool), row_start=np.array([0, 2]), index=np.array([0, 1]), value=np.array([1.0, -2.0]),
        row_lower=np.array([-np.inf]), row_upper=np.array([1.0]), columns=("x", "y"), rows=("r",),
    )  # fmt: skip
    assert model.largest_in_rows() == 2
    assert replace(model, row_upper=np.array([-7.0])).largest_in_rows() == 7
    assert replace(model, row_lower=np.array([-6.0]), row_upper=np.array([np.inf])).largest_in_rows() == 6


def test_a_charge_may_be_as_far_below_zero_as_costs_add_up() -> None:
    """9,000 slots that pay 2^40 each take a charge beyond -2^53: no fault of the algorithm that asks for it."""
    cost = [0] * 1_000 + [-TOP] * 9_000
    task = {"arrival": 1, "deadline": 10_000, "memory_mb": 1, "work": 9_000, "bid": 7, "rate": [1], "vendors": []}
    node = {"count": 1, "compute": 1, "memory_mb": 1, "tariff": [0] * 10_000}
    instance = instance_of([task | {"cost": [cost]}], 10_000, node)
    result = run(instance, "greedy")
    assert result.violations == ()
    assert (result.revenue, result.welfare) == (-9_000 * TOP, 9_000 * TOP + 7)
    assert -(2**54) < -9_000 * TOP < -(2**53)
    assert parse_solution(solution_document(result.decisions), "written") == result.decisions
