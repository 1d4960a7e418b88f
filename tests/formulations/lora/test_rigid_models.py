"""The exact models of rigid tasks and gangs agree with brute force, and leave nothing out that matters."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from ratiobench.formulations import backends
from ratiobench.formulations.lora import slot_cuts
from ratiobench.formulations.lora import solve as solve_module
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.crosscheck import crosscheck, pairs
from ratiobench.formulations.lora.models import rigid
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.formulations.lora.models.formulation import registry, solution_of, vector_of
from ratiobench.formulations.lora.solve import solve
from ratiobench.formulations.report import Proof, Termination
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora import Decision, Instance
from ratiobench.instances.lora.restriction import exclude_killed, restrict
from ratiobench.instances.lora.schedules import ScheduleKind
from tests.formulations.lora.test_models import contended_instance, model_of, optimum_of, without
from tests.formulations.lora.test_runs import GANG, made
from tests.support.examples import on_examples
from tests.support.samples import of_sample, samples
from tests.support.strategies.lora import tiny_instances_of_kinds


def runs_of(instance: Instance) -> Instance:
    """The instance with every task rigid or a gang; no task with more work than its limit can be served."""
    return exclude_killed(restrict(instance, ScheduleKind.RIGID))


@pytest.fixture
def little_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before each of the solvers the same search; the less it finds, the more is left to them."""
    monkeypatch.setattr(solve_module, "RUN_SEARCH", 1)


def agree(instance: Instance) -> int:
    """Every formulation with every installed solver proves what brute force finds; the optimum."""
    optimum, best = enumerate_optimum(instance)
    canonical = rigid.canonical(instance, best)
    assert check(instance, canonical).welfare >= optimum
    for pair in pairs(ScheduleKind.RIGID):
        report = solve(instance, *pair)
        assert (report.lower, report.upper, report.message) == (optimum, optimum, ""), pair
        assert check(instance, report.solution).welfare == optimum
        if instance.tasks:
            assert report.solver is not None
            assert (report.solver.status, report.solver.verified) == (Termination.OPTIMAL, optimum), pair
    return optimum


@pytest.mark.usefixtures("little_search")
@on_examples(tiny_instances_of_kinds(), samples(60))
def test_all_installed_pairs_agree_with_brute_force_on_any_tiny_instance(instance: Instance) -> None:
    """Gangs, limits below the work, vendors, delays, negative tariffs, explicit costs, memory."""
    if instance.tasks:
        agree(runs_of(instance))


def contended_runs(number: int) -> Instance:
    """Rigid tasks that compete on one to two nodes, every third a gang where a type has two."""
    instance = contended_instance(number)
    if instance.node_types[0].count > 1:
        gang = np.arange(instance.tasks) % 3 == 1
        parts, run = np.where(gang, 2, 1), np.where(gang, 3, 2).astype(np.int8)
        return replace(instance, parts=parts, run=run, cache={})
    return restrict(instance, ScheduleKind.RIGID)


@pytest.mark.usefixtures("little_search")
def test_all_installed_pairs_agree_with_brute_force_under_contention() -> None:
    """On a sample; `nox -s crosscheck` takes 300 and more."""
    positive = sum(agree(contended_runs(number)) > 0 for number in range(samples(30)))
    assert positive > of_sample(20, 30)


@pytest.mark.parametrize("number", range(0, 60, 7))
def test_the_solution_of_a_vector_is_the_solution(number: int) -> None:
    """Renumbered by `canonical`, the optimum satisfies every row of the model and is read back as it was."""
    instance = contended_runs(number)
    optimum, best = enumerate_optimum(instance)
    model = model_of(instance, "rigid")
    solution = rigid.canonical(instance, best)
    vector = vector_of(model.columns, solution)
    assert model.violation(vector) == 0
    assert round(float(model.objective @ vector)) == optimum
    assert solution_of(instance, model.columns, vector) == solution


def test_no_row_is_idle() -> None:
    """On some instance each kind of row decides; the order of nodes and (s <= r) only tighten the relaxation."""
    undecided = {"once", "parts", "compute", "memory"}
    gangs = [made(*[{"run": "rigid", "memory_mb": 3}] * 3, GANG | {"rate": [4]}, slots=2, counts=(3,))]
    for instance in [*map(contended_runs, range(60)), *gangs]:
        model = model_of(instance, "rigid")
        optimum = optimum_of(model)
        assert optimum_of(without(model, "order|part_")) == optimum
        undecided -= {each for each in sorted(undecided) if optimum_of(without(model, each)) != optimum}
        if not undecided:
            break
    assert undecided == set()


def cuts_of(instance: Instance) -> list[rigid.SlotCut]:
    """The inequalities on what fits on a node together, from the process of HiGHS."""
    reply = backends.call("highs", "ratiobench.formulations.lora.slot_cuts:find", instance)
    assert reply.termination is None, reply.message
    found: list[rigid.SlotCut] = reply.value
    return found


def agree_with_cuts(instance: Instance) -> int:
    """With the inequalities the optimum of every model is the same, and each is one of what fits; their number."""
    cuts = cuts_of(instance)
    for cut in cuts:
        node = instance.node_types[cut.type]
        for size in range(1, len(cut.weight) + 1):
            for tasks in map(list, combinations(cut.weight, size)):
                rate, memory = int(instance.rate[tasks, cut.type].sum()), int(instance.memory_mb[tasks].sum())
                if rate <= node.compute and memory <= node.memory_mb - instance.base_memory_mb:
                    assert sum(cut.weight[i] for i in tasks) <= cut.limit
    optimum, _ = enumerate_optimum(instance)
    model = rigid.build(instance, cuts)
    assert optimum_of(model) == optimum
    reply = backends.call("cpsat", registry()["rigid-cpsat"].build, instance, cuts)
    result = backends.solve("cpsat", reply.value.text)
    assert result.stated_value == result.bound == optimum
    return len(cuts)


def test_inequalities_on_what_fits_together_cut_off_no_schedule() -> None:
    assert sum(agree_with_cuts(contended_runs(number)) for number in range(samples(60))) > of_sample(15, 60)


@settings(
    max_examples=samples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(instance=tiny_instances_of_kinds())
def test_inequalities_cut_off_no_schedule_of_any_tiny_instance(instance: Instance) -> None:
    """Gangs, memory, rates above compute."""
    agree_with_cuts(runs_of(instance))


def test_searches_among_what_fits_end_at_their_limits() -> None:
    """The patterns and the best of them by looking at every set; None where there are too many."""
    items = [slot_cuts.Item(*each) for each in ((3, 1, 5), (2, 2, 4), (2, 1, 3), (1, 3, 2), (4, 1, 6))]
    sets = [set(chosen) for size in range(6) for chosen in combinations(range(5), size)]
    fit = [c for c in sets if sum(items[i].rate for i in c) <= 5 and sum(items[i].memory for i in c) <= 4]
    maximal = [c for c in fit if not any(c < other for other in fit)]
    found = slot_cuts.list_patterns(items, 5, 4)
    assert found is not None
    assert sorted(map(sorted, found)) == sorted(map(sorted, maximal))
    assert slot_cuts.most_valuable(items, 5, 4) == max(sum(items[i].value for i in c) for c in fit)
    many = [slot_cuts.Item(100 + i, 1, 100 - i) for i in range(60)]
    assert slot_cuts.list_patterns(many, 1500, 60) is None
    assert slot_cuts.most_valuable(many, 3001, 60) is None


def test_a_day_of_rigid_tasks_is_proved_by_a_solver() -> None:
    """`auto` takes a solver where prices and search leave a gap at both ends, and names it with its answer."""
    tasks = [{"run": "rigid", "arrival": 1 + i // 3, "deadline": 9, "work": 3 + 2 * (i % 3), "bid": 30 + 9 * i % 13,
              "rate": [2 + i % 2], "memory_mb": 1 + i % 3} for i in range(9)]  # fmt: skip
    gang = GANG | {"arrival": 5, "rate": [2], "bid": 50}
    instance = made(*tasks, gang, slots=10, counts=(2,))
    report = solve(instance)
    none = solve(instance, backend="none")
    assert none.lower < none.upper
    assert none.lower < report.lower == report.upper < none.upper
    assert report.proof is Proof.CP_SAT
    assert (report.formulation, report.backend) == ("rigid-cpsat", "cpsat")
    assert report.solver is not None
    assert report.solver.verified == report.lower
    found = crosscheck(instance)
    assert (found.verdict, found.lower, found.upper) == ("all agree", report.lower, report.lower)


def test_a_mixture_is_refused_by_the_models_and_solved_without_them() -> None:
    """A task that may pause beside rigid ones: an interval by prices and search, no solver."""
    instance = made({"run": "rigid"}, {}, {"run": "one-node"})
    assert solve(instance).backend == "none"
    for formulation, backend in (("rigid", "auto"), ("rigid-cpsat", "auto"), ("auto", "highs")):
        with pytest.raises(InputError, match=r"tasks\[1\].run: .* rigid or gangs; it is any"):
            solve(instance, formulation, backend)
    with pytest.raises(InputError, match="rigid or gangs; it is any"):
        crosscheck(instance)


def test_a_bound_on_runs_is_none_on_opt_of_p() -> None:
    """Asked by name of tasks that may pause, the model has a solution; its bound is not taken for one on OPT."""
    task, short = {"work": 6, "bid": 9, "rate": [3]}, {"work": 4, "arrival": 2, "deadline": 2, "rate": [4]}
    instance = made(task, short, slots=3, counts=(1,))
    assert enumerate_optimum(instance)[0] == 19
    report = solve(instance, "rigid", "highs")
    assert report.solver is not None
    assert report.solver.bound == 10
    assert (report.lower, report.upper) == (19, 19)


def test_a_start_that_is_no_run_is_left_out_of_the_vector() -> None:
    instance = made({"run": "rigid"}, slots=4, counts=(1,))
    paused = (Decision(None, ((0, 1), (0, 3))),)
    assert rigid.canonical(instance, paused) == (None,)
