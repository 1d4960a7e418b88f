"""Theorems A, B, C and G, the dual and misreports where tasks are rigid, gangs or of several kinds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.lora.theory.basis.run_dual import dual_of
from ratiobench.bench.lora.theory.claims import audit
from ratiobench.bench.lora.theory.payments.kind_misreports import is_usable
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum, list_schedules
from ratiobench.formulations.report import Proof, SolveReport, Status, Termination
from ratiobench.instances.lora import Instance, document, parse
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.run import run
from tests.formulations.lora.test_runs import GANG, made
from tests.online.lora.test_later import cluster
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances_of_kinds

Rule = Callable[[Sequence[int]], int]


class Guard:
    """Theorem H with proposed prices 0 and rho 0: tasks that fill a node, three nodes of one type, four slots."""

    def __init__(self, beta: int, worth: int, rule: Rule) -> None:
        self.beta, self.worth, self.rule = beta, worth, rule
        self.credit = [self.least(3)] * 4
        self.taken: list[set[int]] = [set(), set(), set()]
        self.tasks: list[dict[str, Any]] = []
        self.welfare = 0

    def least(self, free: int) -> Fraction:
        """Phi(N)."""
        return self.worth / (1 + Fraction(self.beta, 3)) ** free

    def free(self, slot: int) -> int:
        return sum(slot not in node for node in self.taken)

    def sell(self, first: int, last: int) -> int | None:
        """The node of a task that bids the least that is above its cost; None where no node is free in all slots."""
        slots = range(first, last + 1)
        nodes = [k for k, node in enumerate(self.taken) if not node & set(slots)]
        if not nodes:
            return None
        prices = [max(Fraction(0), (self.least(self.free(t) - 1) - self.credit[t - 1]) * 3 / self.beta) for t in slots]
        node = self.rule(nodes)
        for t, price in zip(slots, prices, strict=True):
            assert price <= self.credit[t - 1]
            self.taken[node].add(t)
            self.credit[t - 1] += self.beta * price / 3
            assert self.credit[t - 1] >= self.least(self.free(t))
        bid = math.floor(sum(prices)) + 1
        self.welfare += bid
        self.tasks.append(runs_in(first, last, bid))
        return node


@pytest.mark.parametrize("beta", [30, 200])
@pytest.mark.parametrize(("rule", "same"), [(min, True), (max, True), ("turns", False)])
def test_theorem_h_is_false_for_runs_whatever_rule_chooses_the_nodes(beta: int, rule: Any, same: bool) -> None:
    """The proof's tasks: every slot has a free node, no node is free in all, and OPT is above the bound."""
    turns = iter((0, 1, 2, 0, 1))
    guard = Guard(beta, 10**9, rule if callable(rule) else lambda nodes: nodes[next(turns) % len(nodes)])
    assert (guard.sell(1, 1) == guard.sell(4, 4)) is same
    for first, last in [(1, 2), (2, 4)] if same else [(1, 4)]:
        assert guard.sell(first, last) is not None
    assert all(guard.free(t) for t in range(1, 5))
    assert guard.sell(1, 4) is None
    optimum, _ = enumerate_optimum(cluster(*guard.tasks, runs_in(1, 4, guard.worth), nodes=(3,), slots=4))
    assert optimum > max(1, beta) * guard.welfare + 4 * 3 * guard.least(3)


def runs_in(first: int, last: int, bid: int) -> dict[str, Any]:
    """A task that arrives in slot 1 and can run in these slots only: its pre-processing takes the slots before."""
    vendors = [{"price": 0, "delay": first - 1}]
    return {"arrival": 1, "deadline": last, "work": last - first + 1, "bid": bid, "vendors": vendors}


OURS = ("dual_certificate", "theorem_a", "theorem_b", "theorem_c", "theorem_c_a_priori", "theorem_g")
CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    """Tiny, without limits, some task not `any`, and costs that are not negative."""
    data = document(draw(tiny_instances_of_kinds()))
    for task in data["tasks"]:
        task.pop("limit", None)
        if "cost" in task:
            task["cost"] = [[abs(value) for value in row] for row in task["cost"]]
    for kind in data["node_types"]:
        kind["tariff"] = [abs(value) for value in kind["tariff"]]
    instance = parse(data)
    assume(set(instance.run.tolist()) - {0, 1})
    return instance


def audited(instance: Instance, algorithm: str, names: tuple[str, ...] = OURS) -> dict[str, Check]:
    """The checks of a run, against OPT by brute force."""
    optimum, best = enumerate_optimum(instance)
    report = SolveReport(
        Status.OPTIMAL, optimum, optimum, best, Proof.ENUMERATION, "-", "none", Termination.NONE, False, 0.0
    )
    return {check.name: check for check in audit(instance, run(instance, algorithm), report, names)}


@pytest.mark.parametrize("algorithm", ["posted", "minimal-edit", "bbar-rule", "capped", "greedy", "posted:arith=float"])
@settings(max_examples=samples(60), deadline=None, suppress_health_check=CHECKS)
@given(instance=instances())
def test_theorems_hold_for_tasks_of_all_kinds(algorithm: str, instance: Instance) -> None:
    """None is violated on instances drawn at random, and those about the run are asked."""
    found = audited(instance, algorithm)
    assert all(check.status is not Verdict.VIOLATED for check in found.values()), found
    always = "theorem_g" if algorithm == "greedy" else "theorem_c"
    if always == "theorem_c" or "eps < 1 fails" not in found[always].reason:
        assert found[always].status is not Verdict.NOT_APPLICABLE, found[always]


@settings(max_examples=samples(150), deadline=None, suppress_health_check=CHECKS)
@given(instance=instances(), data=st.data())
def test_the_dual_is_that_of_all_schedules_by_brute_force(instance: Instance, data: st.DataObject) -> None:
    """At prices drawn at random each task adds the largest F' of its schedules, and D is at least OPT."""
    price = st.fractions(0, 5, max_denominator=4)
    cells = [(k, t) for k in range(instance.nodes) for t in range(1, instance.slots + 1)]
    lam, phi = ({cell: data.draw(price) for cell in cells} for _ in range(2))
    found = dual_of(instance).exact(lam, phi)
    kind = instance.public("").type_of_node.tolist()
    public, total = instance.public(""), Fraction(0)
    for (k, t), value in lam.items():
        total += int(public.compute[kind[k]]) * value + int(public.memory_mb[kind[k]]) * phi[k, t]
    for i in range(instance.tasks):
        task = instance.task(i)
        best = Fraction(0)
        for each in list_schedules(instance, task):
            cells_of = each.decision.cells
            types = [public.node_types[kind[k]] for k, _ in cells_of]
            fits = all(
                task.rate[kind[k]] <= node.compute and task.memory_mb <= node.memory_mb - public.base_memory_mb
                for (k, _), node in zip(cells_of, types, strict=True)
            )
            rent = sum(
                (lam[k, t] * int(task.rate[kind[k]]) + phi[k, t] * task.memory_mb for k, t in cells_of), Fraction(0)
            )
            best = max(best, each.value - rent) if fits else best
        assert Fraction(found.surplus[i], found.unit) == best
        total += best
    assert found.value == total >= enumerate_optimum(instance)[0]
    _, scaled = dual_of(instance).rescale(lam, phi)
    assert enumerate_optimum(instance)[0] <= scaled <= found.value


def test_nothing_is_proved_where_limits_are_shown_or_jobs_run_from_before() -> None:
    """A run that is killed takes the node from one that is worth 10, and no factor of nothing reaches that."""
    killed = {"run": "rigid", "rate": [4], "work": 16, "limit": 12, "deadline": 4, "bid": 30}
    short = {"run": "rigid", "rate": [4], "work": 16, "deadline": 4}
    instance = made(killed, short, counts=(1,))
    result = run(instance, "greedy")
    assert result.welfare <= 0 < enumerate_optimum(instance)[0]
    assert result.trace is None
    assert audited(instance, "greedy")["theorem_g"].status is Verdict.NOT_APPLICABLE
    half = {"run": "rigid", "rate": [2], "work": 4}
    assert audited(made(half, half, counts=(1,)), "greedy")["theorem_g"].status is Verdict.HOLDS


@pytest.mark.parametrize("algorithm", ["greedy", "posted:constants=public", "pricelist"])
@settings(max_examples=samples(30), deadline=None, suppress_health_check=CHECKS)
@given(instance=instances())
def test_no_claim_of_another_kind_gains_where_theorem_t_holds(algorithm: str, instance: Instance) -> None:
    if "public" in algorithm:
        algorithm = "posted:cap_compute=50,cap_memory=50,largest_share=1/2,spread=10"
    found = audited(instance, algorithm, ("way_misreport",))["way_misreport"]
    assert found.status in (Verdict.UNDECIDED, Verdict.NOT_APPLICABLE), found


def test_a_claim_that_gains_is_found() -> None:
    """A task that may pause says that it may not, and pays half; what it gets it can use."""
    instance = made({"run": "one-node", "rate": [2]}, {"run": "rigid", "rate": [2]}, counts=(1,))
    found = audited(instance, "tests.support.haggler:Haggler", ("way_misreport",))["way_misreport"]
    assert found.status is Verdict.VIOLATED
    assert found.witness == {"task": 0, "run": "rigid", "nodes": 1, "work": 4, "gain": "5"}


def test_what_a_task_can_use() -> None:
    instance = made({"run": "rigid"}, GANG, {"run": "one-node"}, {})
    row = Decision(None, ((0, 1), (0, 2)))
    pause, moved = Decision(None, ((0, 1), (0, 3))), Decision(None, ((0, 1), (1, 2)))
    both = Decision(None, tuple((k, t) for k in (0, 1) for t in (2, 3)))
    apart = Decision(None, ((0, 1), (0, 2), (2, 1), (2, 2)))
    assert [is_usable(instance, 0, each) for each in (row, pause, moved, both)] == [True, False, False, True]
    assert [is_usable(instance, 1, each) for each in (row, both, apart)] == [False, True, False]
    assert [is_usable(instance, 2, each) for each in (row, pause, moved)] == [True, True, False]
    assert [is_usable(instance, 3, each) for each in (row, pause, moved)] == [True, True, True]
