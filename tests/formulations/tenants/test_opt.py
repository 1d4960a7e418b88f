"""Tenants offline: exact methods against brute force, the dual bound, local search, models, and solve."""

from dataclasses import replace
from functools import partial
from itertools import permutations, product
from math import comb, factorial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.formulations import backends
from ratiobench.formulations.report import Proof, Status
from ratiobench.formulations.tenants import models, subsets
from ratiobench.formulations.tenants import solve as solving
from ratiobench.formulations.tenants.check import check
from ratiobench.formulations.tenants.dual import HORIZON_LIMIT, Prices
from ratiobench.formulations.tenants.local_search import Search, anneal, rebuild
from ratiobench.formulations.tenants.solve import export, formulations, solve
from ratiobench.formulations.tenants.subsets import (
    JOBS_LIMIT,
    WAYS_LIMIT,
    enumerate_optimum,
    priced_optimum,
    subsets_optimum,
    ways,
)
from ratiobench.formulations.tenants.tables import queues_of, solution_of, tables
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.tenants.format import FORMAT, document, parse
from ratiobench.instances.tenants.generate import expected, generate, named, names
from ratiobench.instances.tenants.model import Instance, Start
from tests.support.samples import samples
from tests.support.strategies.tenants import tiny_instances
from tests.tools.tenants_bounds import Found, examine, tiny


def made(jobs: list[Any], types: Any = ((1, 2), (1, 1)), theta: int = 1, late: int = 1) -> Instance:
    """An instance of jobs (release, deadline, sensitivity, runs) on types (count, price)."""
    keys = ("release", "deadline", "cost_sensitivity", "run")
    return parse(
        {
            "format": FORMAT,
            "name": "made",
            "tick_seconds": 60,
            "gpu_types": [{"name": f"t{k}", "count": c, "price": p} for k, (c, p) in enumerate(types)],
            "theta": theta,
            "late_penalty": late,
            "jobs": [dict(zip(keys, job, strict=True)) for job in jobs],
        }
    )


def test_bounds_brute_force_and_schedules_stand_in_order_on_tiny_instances() -> None:
    found = Found()
    for seed in range(60):
        examine(seed, found)
    assert found.exact > 50
    assert found.refused > 50


# The check.


@settings(max_examples=samples(60))
@given(tiny_instances(max_jobs=3), st.randoms(use_true_random=False))
def test_the_check_computes_the_cost_and_its_parts(instance: Instance, random: Any) -> None:
    """Of any schedule without overlap, idle time included."""
    kinds, free = instance.gpu_type.tolist(), [0] * instance.gpus
    starts, total, public = [], 0, instance.public()
    for j in range(instance.jobs):
        job, gpu = instance.job(j), random.randrange(instance.gpus)
        tick = max(free[gpu], job.release) + random.randrange(3)
        free[gpu] = tick + job.run[kinds[gpu]]
        starts.append(Start(gpu, tick))
        total += public.cost(job, kinds[gpu], free[gpu])
    report = check(instance, tuple(starts))
    assert report.valid
    assert report.value == report.cost == total == sum(report.per_gpu)
    assert report.placed == instance.jobs
    assert report.spread >= 0


@pytest.mark.parametrize(
    ("starts", "broken"),
    [
        ([[0, 1], [0, 3]], "(every job) 2 decisions for 3 jobs"),
        ([[0, 1], [0, 3], None], "(every job) job 2: has no start; every job is run"),
        ([[0, 0], [0, 3], [1, 2]], "(release) job 0: starts at 0, before its release at 1"),
        ([[0, 1], [0, 2], [1, 2]], "(overlap) job 1: starts at 2 on GPU 0, where job 0 runs until 3"),
        ([[0, 1], [0, 3], [2, 2]], "(gpu) job 2: starts on GPU 2 at 2; GPUs are 0..1, ticks are integers"),
        ([[0, 1], [0, 3], [1, True]], "(gpu) job 2: starts on GPU 1 at true; GPUs are 0..1, ticks are integers"),
    ],
)
def test_the_check_refuses_what_is_no_schedule(starts: list[Any], broken: str) -> None:
    instance = made([(1, 3, 50, [2, 4]), (1, 3, 50, [2, 4]), (2, 3, 50, [1, 1])])
    report = check(instance, tuple(None if start is None else Start(*start) for start in starts))
    assert not report.valid
    assert report.value is None
    assert broken in report.document()["violations"]


# Exact methods.


@settings(max_examples=samples(15))
@given(tiny_instances(max_jobs=4))
def test_every_formulation_finds_the_optimum(instance: Instance) -> None:
    opt, _ = enumerate_optimum(instance)
    for name in ("subsets", "enumeration", "auto"):
        report = solve(instance, name)
        assert report.lower == report.upper == opt
        assert report.status is Status.OPTIMAL
        assert check(instance, report.solution).value == opt


@pytest.mark.parametrize("seed", [3, 8, 11])
def test_cp_sat_finds_the_optimum(seed: int) -> None:
    instance = tiny(seed)
    opt, _ = enumerate_optimum(instance)
    model = backends.call("cpsat", f"{models.__name__}:intervals", tables(instance)).value
    result = backends.solve("cpsat", model.text)
    assert result.bound == -opt
    assert check(instance, model.solution(tables(instance), result.values)).value == opt
    assert solve(instance, "cp-sat").upper == opt


@pytest.mark.parametrize("load", ["", "2"])
def test_fourteen_jobs_are_solved_exactly(load: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without releases, and the dual bound and the search stand around it."""
    kind: dict[str, Any] = {"kind": "online", "load": load} if load else {"kind": "batch"}
    instance = generate(kind | {"jobs": JOBS_LIMIT, "gpus": [1, 1, 1], "seed": 40})
    exact = solve(instance)
    assert (exact.formulation, exact.proof, exact.status) == ("subsets", Proof.DYNAMIC_PROGRAMMING, Status.OPTIMAL)
    monkeypatch.setattr(solving, "REBUILDS", 2_000)
    monkeypatch.setattr(solving, "MOVES", 100_000)
    around = solve(instance, "dual")
    assert around.lower <= exact.lower == around.upper


def test_the_page_counts_24_deployments_of_3_jobs_on_2_gpus() -> None:
    """One ordered queue per GPU; `ways` is an upper bound."""
    instance = made([(0, 5, 50, [2])] * 3, types=((2, 1),))
    queues = {
        tuple(tuple(j for j in order if places[j] == g) for g in range(2))
        for order in permutations(range(3))
        for places in product(range(2), repeat=3)
    }
    assert instance.gpus == 2
    assert len(queues) == factorial(3) * comb(3 + 2 - 1, 2 - 1) == 24
    assert ways(instance) == 48 >= len(queues)


def test_too_many_jobs_for_an_exact_method_are_refused_in_words() -> None:
    instance = generate({"kind": "batch", "jobs": 15})
    for name, most in (("subsets", 14), ("cp-sat", 12)):
        with pytest.raises(InputError, match=f"{name} is for at most {most} jobs, not 15"):
            solve(instance, name)
    assert ways(instance) > WAYS_LIMIT
    with pytest.raises(ValueError, match="at most 14"):
        subsets_optimum(tables(instance))
    with pytest.raises(InputError, match="dual goes with none, not cpsat"):
        solve(instance, "dual", "cpsat")
    with pytest.raises(InputError, match="is not one of auto, dual"):
        solve(instance, "duel")


# The dual bound.


def test_prices_of_zero_prove_zero_and_least_costs_their_sum() -> None:
    problem = tables(generate({"kind": "batch", "jobs": 20}))
    prices = Prices(problem)
    assert prices.judge(np.zeros(20, np.int64)) == 0
    assert prices.judge(problem.least) == prices.bound == sum(problem.least.tolist())


@settings(max_examples=samples(25))
@given(tiny_instances(max_jobs=4), st.integers(2, 9))
def test_money_times_c_makes_everything_c_times_as_much(instance: Instance, times: int) -> None:
    data = document(instance)
    scaled = parse(
        data
        | {"theta": times * instance.theta, "late_penalty": times * instance.late_penalty}
        | {"gpu_types": [kind | {"price": times * kind["price"]} for kind in data["gpu_types"]]}
    )
    assert solve(scaled).upper == times * solve(instance).upper
    prices = np.arange(instance.jobs) * 100 + 37
    assert Prices(tables(scaled)).judge(times * prices) == times * Prices(tables(instance)).judge(prices)


@settings(max_examples=samples(25))
@given(tiny_instances(max_jobs=4))
def test_another_gpu_never_raises_opt(instance: Instance) -> None:
    data = document(instance)
    data["gpu_types"][0]["count"] += 1
    assert solve(parse(data)).upper <= solve(instance).upper


def test_a_job_that_always_pays_is_priced_up_to_the_horizon() -> None:
    """Where time costs nothing no price would ever end the sequences."""
    instance = made([(0, 5, 100, [3, 4]), (2, 5, 100, [3, 9])], theta=0, late=0)
    problem = tables(instance)
    assert problem.horizon == 2 + 4 + 9
    assert Prices(problem).judge(np.array([10**6, 10**6])) <= solve(instance).lower == 400 + 600


def test_long_times_cap_prices_and_leave_a_bound() -> None:
    instance = made([(j * 10**6, j * 10**6 + 5, 6 * j, [2**20, 2**19]) for j in range(16)], theta=5, late=9)
    report = solve(instance, seconds=3.0)
    assert 0 < report.lower <= report.upper
    assert report.time_limited
    assert HORIZON_LIMIT < 2**20


# Edge cases.


def test_no_job_costs_nothing() -> None:
    report = solve(made([]))
    assert report.lower == report.upper == 0
    assert report.solution == ()


@pytest.mark.parametrize("name", names())
def test_named_instances_are_solved_by_every_way(name: str) -> None:
    instance, opt = named(name), expected(name)["opt"]
    assert solve(instance).upper == opt
    around = solve(instance, "dual")
    assert around.lower <= opt == around.upper


def test_many_equal_gpus_and_equal_jobs() -> None:
    """More GPUs than jobs: each job alone; equal jobs on one GPU: one after another."""
    assert solve(made([(0, 9, 0, [3])] * 3, ((1000, 5),))).upper == 3 * 300
    assert solve(made([(0, 9, 0, [3])] * 3, ((1, 5),))).upper == 100 * (3 + 6 + 9)


def test_money_alone_sends_every_job_to_its_cheapest_gpu() -> None:
    instance = made([(0, 10**6, 100, [r, 7 - r]) for r in range(1, 7)] * 4)
    report = solve(instance)
    assert report.lower == report.upper == 4 * 100 * sum(min(2 * r, 7 - r) for r in range(1, 7))


def test_nothing_costs_anything() -> None:
    report = solve(made([(0, 0, 100, [2, 3])] * 20, ((1, 0), (2, 0)), 0, 0))
    assert report.lower == report.upper == 0
    assert report.status is Status.OPTIMAL


# Search and solve.


def test_local_search_is_deterministic_and_keeps_every_job() -> None:
    problem = tables(generate({"kind": "online", "jobs": 30, "gpus": [1, 1, 1], "load": "2", "wait": "runs"}))
    search = Search(problem)
    begun = search.build_list_schedule(np.argsort(problem.deadline, kind="stable"))
    costs = [check(problem.instance, solution_of(problem, begun)).cost]
    for found in (
        search.cool(partial(rebuild, 10), begun, 1, 300, 1.0, 1e-3),
        search.cool(anneal, begun, 1, 20_000, 0.1, 1e-3),
    ):
        report = check(problem.instance, solution_of(problem, found))
        assert report.valid
        assert report.placed == 30
        assert report.cost < costs[0]
        costs.append(report.cost)
        assert queues_of(problem, solution_of(problem, found)) == found
    assert costs == [14217497520, 7994793653, 7994793653]


def test_sets_at_prices_are_exact_whatever_the_prices_are() -> None:
    """Against convolution over all sets: below any upper end OPT and its schedule; where that is OPT, no schedule."""
    for seed in range(12):
        kind: dict[str, Any] = {"kind": "online", "load": "2", "wait": "runs"} if seed % 2 else {"kind": "batch"}
        instance = generate({**kind, "seed": seed, "jobs": 3 + seed % 5, "gpus": [1, seed % 3, 2]})
        problem = tables(instance)
        value, _ = subsets_optimum(problem)
        prices = (problem.least * np.random.default_rng(seed).uniform(0, 2, problem.jobs)).astype(np.int64)
        for upper in (value + 1, 3 * value):
            found, solution = priced_optimum(problem, prices, upper)
            assert solution is not None
            assert found == value == check(instance, solution).cost
        assert priced_optimum(problem, prices, value) == (value, None)


def test_more_jobs_than_subsets_takes_are_exact_at_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound alone leaves this batch open; beyond the limits nothing is parted, and a note says why."""
    for name, less in (("REBUILDS", 200), ("MOVES", 20_000), ("ROUNDS", 200)):
        monkeypatch.setattr(solving, name, less)
    instance = generate({"kind": "batch", "jobs": JOBS_LIMIT + 1, "gpus": [1, 1, 1], "seed": 3})
    report = solve(instance)
    assert (report.status, report.proof) == (Status.OPTIMAL, Proof.DYNAMIC_PROGRAMMING)
    assert check(instance, report.solution).cost == report.upper
    for name in ("JOINS_LIMIT", "SETS_LIMIT", "PRICED_LIMIT"):
        with monkeypatch.context() as one:
            one.setattr(subsets, name, 1)
            wide = solve(instance)
        assert wide.status is Status.INTERVAL
        assert "priced subsets: " in wide.message
        assert wide.lower <= report.lower <= wide.upper


def test_two_solves_say_the_same_and_more_effort_is_never_wider(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, less in (("REBUILDS", 200), ("MOVES", 20_000), ("ROUNDS", 200)):
        monkeypatch.setattr(solving, name, less)
    instance = generate({"kind": "batch", "jobs": 20, "gpus": [1, 1, 2], "seed": 8})
    reports = [solve(instance, effort=effort) for effort in (1, 1, 3)]
    assert replace(reports[0], seconds=0.0, trail=()) == replace(reports[1], seconds=0.0, trail=())
    assert reports[0].lower <= reports[2].lower <= reports[2].upper <= reports[0].upper
    assert all(low <= high for _, low, high in reports[2].trail)


def test_a_start_is_verified_and_used() -> None:
    instance = named("waits")
    best = solve(instance).solution
    assert solve(instance, "dual", start=best).upper == expected("waits")["opt"]
    assert "start: dropped, it breaks (every job)" in solve(instance, start=()).message


def test_forty_jobs_are_enclosed_within_a_thousandth() -> None:
    report = solve(generate({"kind": "batch", "jobs": 40, "seed": 77}), gap=0.001)
    assert report.upper - report.lower <= 0.001 * report.lower


def test_formulations_are_listed() -> None:
    assert [name for name, _ in formulations()] == ["dual", "subsets", "cp-sat", "enumeration", "auto"]


# The exported model.


@pytest.mark.parametrize("seed", [3, 5, 11, 21])
def test_the_time_indexed_programs_optimum_is_opt(seed: int) -> None:
    instance = tiny(seed)
    problem = tables(instance)
    model = models.time_indexed(problem, models.starts(problem))
    result = backends.solve("highs", model)
    assert result.bound == pytest.approx(-enumerate_optimum(instance)[0])


def test_export_writes_both_texts_and_refuses_what_is_too_large() -> None:
    instance = named("load_blinds")
    assert "x_0_1_0" in export(instance, "lp")
    assert export(instance, "mps", "time-indexed").startswith("NAME")
    for kind, formulation in (("pdf", "auto"), ("mps", "dual")):
        with pytest.raises(InputError):
            export(instance, kind, formulation)
    with pytest.raises(InputError, match="columns; at most 200,000 are written"):
        export(generate({"kind": "batch", "jobs": 100}), "lp")
    with pytest.raises(InputError, match="no job"):
        export(made([]), "lp")


def test_a_time_limit_holds_where_there_are_many_jobs() -> None:
    instance = generate({"kind": "batch", "jobs": 2000, "gpus": [10, 10, 20]})
    solving.warm()
    report = solve(instance, seconds=1.0)
    assert report.time_limited
    assert report.seconds < 8.0
    assert 0 < report.lower < report.upper
