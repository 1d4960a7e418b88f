"""Instances in which jobs from before run when the first slot begins: format, rules, OPT, exact models, policies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ratiobench.bench.family.day_facts import read_facts
from ratiobench.bench.lora.days import RUNS_ONLY, day_facts
from ratiobench.bench.lora.gantt import gantt
from ratiobench.bench.report.timeline.gantt import draw_gantt
from ratiobench.formulations.lora.certificate import document as certificate_document
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.crosscheck import crosscheck
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.formulations.lora.solve import export, solve
from ratiobench.formulations.lora.verify import verify
from ratiobench.formulations.report import Proof
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.changes import apply_change
from ratiobench.instances.lora.feasibility import load
from ratiobench.instances.lora.format import FORMAT_2, content_hash, document, parse
from ratiobench.instances.lora.history import join
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.restriction import exclude_killed, only_runs, restrict
from ratiobench.instances.lora.schedules import ScheduleKind
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.protocol import WAIT
from ratiobench.online.lora.run import run
from ratiobench.online.lora.simulator import Simulator
from tests.formulations.lora.test_rigid_models import little_search  # noqa: F401
from tests.formulations.lora.test_runs import GANG, made
from tests.support.examples import Examples, on_examples, optimum_of
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_full_instances


def full(instance: Instance, *jobs: dict[str, Any]) -> Instance:
    """The instance with these running jobs; each holds all of its nodes' compute, and 1 MB, unless it says so."""
    return parse(
        document(instance) | {"format": FORMAT_2, "running": [{"compute": 4, "memory_mb": 1} | j for j in jobs]}
    )


def enclose(instance: Instance) -> None:
    """Check a tiny instance that begins full: its document, its optimum, its interval and its certificate."""
    assert content_hash(parse(document(instance))) == content_hash(instance)
    optimum, best = enumerate_optimum(instance)
    found = check(instance, best)
    assert found.valid
    assert found.welfare == optimum
    empty = replace(instance, running=(), cache={})
    assert optimum <= enumerate_optimum(empty)[0]
    report = solve(instance, certified=True, backend="none")
    assert report.lower <= optimum <= report.upper
    assert check(instance, report.solution).welfare == report.lower
    if report.certificate is not None:
        document_of = certificate_document(report.certificate)
        verdict = verify(instance, document_of)
        assert verdict.valid, verdict.problem
        assert report.certificate.lower <= optimum <= report.certificate.upper
        if instance.running:
            assert not verify(empty, document_of).valid


@on_examples(tiny_full_instances(), samples(120))
def test_the_interval_encloses_brute_force_and_its_certificate_is_valid(instance: Instance) -> None:
    """`nox -s crosscheck` takes 300 and more."""
    enclose(instance)


@pytest.mark.usefixtures("little_search")
@on_examples(tiny_full_instances(), samples(60))
def test_every_exact_model_has_the_optimum_of_brute_force(instance: Instance) -> None:
    runs = restrict(instance, ScheduleKind.RIGID)
    optimum, best = enumerate_optimum(runs)
    assert check(runs, best).valid
    if not only_runs(runs):
        return
    for formulation, backend in (("rigid", "highs"), ("rigid-cpsat", "cpsat")):
        report = solve(runs, formulation=formulation, backend=backend)
        assert report.lower == optimum == report.upper or report.proof is Proof.TRIVIAL, (formulation, report)


POLICIES = (
    "greedy", "eft", "ntm", "pdftsp", "posted", "bbar-rule", "capped", "minimal-edit", "dual-posted", "dual-queue",
    "dual-plan", "pricelist", "quota", "queue", "queue:backfill=easy", "queue:order=value,backfill=conservative",
    "queue:order=multifactor,backfill=first-fit,leave=never",
)  # fmt: skip


FULL = Examples(tiny_full_instances(), samples(40), content_hash)


@pytest.mark.parametrize("policy", POLICIES)
def test_runs_of_all_policies_are_valid_and_below_the_optimum(policy: str) -> None:
    def holds(instance: Instance) -> None:
        result = run(instance, policy)
        assert result.valid, result.violations
        report = check(instance, result.decisions)
        assert report.valid
        assert report.welfare == result.welfare <= optimum_of(instance)
        assert result.trace is None or not instance.running

    FULL.check(holds)


def test_days_that_begin_full_are_the_history_that_they_are_without_such_jobs() -> None:
    """Of earlier days tasks count: joined, and one alone as `prior`; a policy then runs on a day that begins full."""
    tasks = ({"run": "rigid", "rate": [2, 2]}, {"run": "rigid", "rate": [2, 2], "bid": 30})
    days = [replace(made(*tasks), name=f"day {n}", cache={}) for n in (1, 2)]
    begun = [full(day, {"nodes": [0], "last": 2}) for day in days]
    assert document(join(begun)) == document(join(days))
    today = full(days[0], {"nodes": [1], "last": 1})
    for name in ("posted", "bbar-rule", "capped", "dual-posted"):
        text = f"{name}:prior=history"
        first, second, alone = (run(today, text, prior=past) for past in (join(begun), join(days), begun[1]))
        assert first.valid, first.violations
        assert (first.decisions, first.constants) == (second.decisions, second.constants)
        assert [each.value for each in alone.constants] == [each.value for each in first.constants]


@pytest.mark.parametrize(
    ("job", "field", "problem"),
    [
        ({"nodes": [0], "last": 5}, "running[0].last", "5 is not in 1..4"),
        ({"nodes": [], "last": 1}, "running[0].nodes", "empty"),
        ({"nodes": [1, 0], "last": 1}, "running[0].nodes[1]", "0 is not above 1"),
        ({"nodes": [3], "last": 1}, "running[0].nodes[0]", "3 is not in 0..2"),
        ({"nodes": [0], "last": 2, "planned": 1}, "running[0].planned", "1 is not in 2..4"),
        ({"nodes": [0], "last": 1, "compute": 5}, "running[0].compute", "hold 5 of node 0, which has 4"),
        ({"nodes": [0], "last": 1, "memory_mb": 5}, "running[0].memory_mb", "hold 5 of node 0, which has 4"),
        ({"nodes": [0], "last": 1, "priority": 5}, "running[0].priority", "unknown field"),
    ],
)
def test_what_is_wrong_with_a_running_job_is_named(job: dict[str, Any], field: str, problem: str) -> None:
    with pytest.raises(InputError) as error:
        full(made({}), job)
    assert error.value.field == field
    assert problem in error.value.problem


def test_an_instance_without_running_jobs_is_what_it_was() -> None:
    """An empty list is no list; with a job the hash is another, and so is the load."""
    empty, one = made({}), full(made({}), {"nodes": [0], "last": 2})
    assert document(full(empty)) == document(empty)
    assert content_hash(full(empty)) == content_hash(empty)
    assert content_hash(one) != content_hash(empty)
    assert document(one)["running"] == [{"nodes": [0], "compute": 4, "memory_mb": 1, "last": 2}]
    assert load(one) * (4 * 3 * 4 - 8) == load(empty) * 4 * 3 * 4
    first = document(empty)
    with pytest.raises(InputError, match="unknown field"):
        parse(first | {"running": []})


def test_a_job_that_runs_takes_its_nodes_from_all_others() -> None:
    """A node of three is free, another one from slot 3 on: two gangs of two nodes, one after the other, do not fit."""
    gang = GANG | {"rate": [4, 4], "work": 16}
    assert solve(made(gang, gang)).lower == 20
    instance = full(made(gang, gang), {"nodes": [1], "last": 2})
    assert solve(instance).lower == solve(instance).upper == 10
    report = check(instance, (Decision(None, tuple((k, t) for t in (2, 3) for k in (0, 1))), None))
    assert [each.rule for each in report.violations] == ["4f"]
    assert "node 1 slot 2" in report.violations[0].detail


def test_a_policy_sees_what_was_planned_and_gets_back_what_is_free() -> None:
    """Until its end a job holds its node as its user claims; then the queue is asked, and the next one starts."""
    instance = full(
        made({"run": "rigid", "deadline": 4, "rate": [4]}, counts=(1,)), {"nodes": [0], "last": 2, "planned": 4}
    )
    result = run(instance, "queue")
    assert result.valid
    assert result.decisions[0] is not None
    assert {slot for _, slot in result.decisions[0].cells} == {3}
    assert run(instance, "greedy").decisions == (None,)  # it answers at arrival, when nothing is known to be free


class Looks:
    """Waits, and notes what it is shown."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def start(self, public: Any, constants: Any) -> None:
        pass

    def decide(self, task: Any, view: Any) -> str:
        return WAIT

    def at_slot(self, view: Any) -> dict[int, Any]:
        self.seen.append((view.slot, view.running, view.ended, dict(view.usage.group), view.compute[0].tolist()))
        return {}


def test_users_of_running_jobs_count_in_usage() -> None:
    """A job from before is no task, but what it has run counts for its group."""
    instance = full(made({"deadline": 4}), {"nodes": [0, 1], "last": 2, "planned": 3, "group": "a"})
    simulator, policy = Simulator(instance, ""), Looks()
    for question in simulator.questions(batch=False):
        if question.arrivals:
            simulator.take(question.event, question.indices[0], WAIT)
        else:
            policy.at_slot(question.view)
            simulator.take(question.event, None, {})
    assert policy.seen[0] == (1, (), (), {"a": 0}, [0, 0, 0, 4])
    assert policy.seen[1] == (3, (), (), {"a": 4}, [0, 0, 4, 4])


def test_nodes_of_a_what_if_are_those_on_which_nothing_runs() -> None:
    instance = full(made({}, counts=(3, 1)), {"nodes": [1, 3], "last": 2}, {"nodes": [2], "last": 1})
    more, less = (apply_change(instance, f"nodes.g0={each}") for each in ("+1", "-1"))
    assert [job.nodes for job in more.running] == [(1, 4), (2,)]
    assert [job.nodes for job in less.running] == [(0, 2), (1,)]
    for each in (more, less):
        assert content_hash(parse(document(each))) == content_hash(each)
    with pytest.raises(InputError, match="jobs run on 2 of these nodes"):
        apply_change(instance, "nodes.g0=-2")


def test_models_of_empty_nodes_are_refused() -> None:
    instance = full(made({}), {"nodes": [0], "last": 1})
    with pytest.raises(InputError, match="here jobs run on some"):
        solve(instance, formulation="tight")
    with pytest.raises(InputError, match="on empty nodes"):
        crosscheck(instance)
    with pytest.raises(InputError, match="on empty nodes"):
        export(instance, "lp")
    runs = restrict(instance, ScheduleKind.RIGID)
    assert {row.answer.verified for row in crosscheck(runs).rows} == {10}
    assert "r_0_0_1_1" in export(runs, "lp")
    assert np.array_equal(exclude_killed(runs).held()[0][0], [4, 0, 0, 0])


def test_the_chart_of_nodes_shows_what_runs_from_before() -> None:
    """Below what starts later, until its end; and its nodes are not empty in the facts of a day."""
    instance = full(made({"run": "rigid", "rate": [2, 2]}), {"nodes": [0], "last": 2, "compute": 2, "group": "a"})
    chart = gantt(instance, (Decision(None, ((0, 1), (0, 2))),))
    before, task = chart.tasks
    assert (before.kind, [tuple(block) for block in before.blocks]) == ("from before", [(0, 0, 2, 0.0, 0.5)])
    assert before.title == "from before, job 0: node 0 (g0), until slot 2, group a"
    assert [tuple(block) for block in task.blocks] == [(0, 0, 2, 0.5, 1.0)]
    assert "1 from before" in draw_gantt(chart)
    facts = day_facts(instance)
    assert (facts.empty, facts.kind) == (False, RUNS_ONLY)
    assert read_facts(facts.document(), "", "") == facts
    assert day_facts(replace(instance, running=(), cache={})).empty
