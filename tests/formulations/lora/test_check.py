"""The exact verifier: every constraint violated on purpose is caught and named by its equation."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.formulations.lora.check import check
from ratiobench.instances.io.fields import LIMIT
from ratiobench.instances.lora import Instance, parse
from ratiobench.instances.lora.solution import Decision, Solution
from tests.support.literal import Cells, schedules
from tests.support.lora_documents import make_document, make_node
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances


def _task(**fields: Any) -> dict[str, Any]:
    return {
        "arrival": 1, "deadline": 4, "memory_mb": 2, "work": 6, "bid": 50, "rate": [3, 2, 0], "energy_wh": [1, 2, 0],
        "vendors": [],
    } | fields  # fmt: skip


def _document(**fields: Any) -> dict[str, Any]:
    """Nodes 0 (type a), 1 and 2 (type b), 3 (type c, where rates are 0 except for task 2)."""
    nodes = [make_node(5, 9, tariff=[1, 2, 3, 4, 5]), make_node(9, 5, 2, tariff=[5, 4, 3, 2, 1]), make_node(4, 5)]
    vendors = [{"price": 7, "delay": 1}, {"price": 5, "delay": 2}]
    tasks = [
        _task(),
        _task(arrival=2, vendors=vendors, valuation=60, rate=[2, 3, 0]),
        _task(arrival=2, rate=[2, 2, 4], energy_wh=[0, 0, 3], deadline=5),
    ]
    return make_document(5, nodes, tasks, base_memory_mb=1) | fields


# Task 0: slots 1, 2 on node 0 (costs 1, 2); task 1: vendor 0 (7), slots 3, 4 on node 1 (costs 6, 4); task 2: node 2, 3.
VALID: Solution = (
    Decision(None, ((0, 1), (0, 2)), 10),
    Decision(0, ((1, 3), (1, 4)), None),
    Decision(None, ((2, 2), (3, 5)), 4),
)


@pytest.fixture(scope="module")
def instance() -> Instance:
    """Three tasks on four nodes of three types."""
    return parse(_document())


def _replaced(i: int, **fields: Any) -> Solution:
    return tuple(d._replace(**fields) if j == i and d is not None else d for j, d in enumerate(VALID))


def test_the_valid_solution_passes_with_its_figures(instance: Instance) -> None:
    """Welfare by bids, by valuations, revenue: added up by hand."""
    report = check(instance, VALID)
    assert report.valid
    assert report.violations == ()
    assert report.welfare == (50 - 1 - 2) + (50 - 7 - 6 - 4) + 50
    assert report.true_welfare == report.welfare + 10
    assert (report.revenue, report.admitted) == (14, 3)


def test_rejecting_everything_is_valid(instance: Instance) -> None:
    report = check(instance, (None, None, None))
    assert (report.valid, report.welfare, report.revenue, report.admitted) == (True, 0, None, 0)


# Each mutation breaks one constraint and nothing else: (equation, task named, solution).
MUTATIONS: dict[str, tuple[str, int | None, Solution]] = {
    "no vendor for a task that needs one": ("4a", 1, _replaced(1, vendor=None)),
    "two nodes in a slot": ("4b", 2, _replaced(2, cells=((2, 2), (0, 3), (1, 2), (3, 5)))),
    "before the arrival": ("4c", 2, _replaced(2, cells=((2, 1), (3, 5)))),
    "before the vendor is done": ("4c", 1, _replaced(1, vendor=1)),
    "after the deadline": ("4d", 1, _replaced(1, cells=((1, 3), (1, 5)))),
    "work not covered": ("4e", 0, _replaced(0, cells=((0, 1),))),
    "no cells at all": ("4e", 0, _replaced(0, cells=())),
    "vendor out of range": ("4h", 1, _replaced(1, vendor=2)),
    "negative vendor": ("4h", 1, _replaced(1, vendor=-1)),
    "node out of range": ("4h", 0, _replaced(0, cells=((0, 1), (0, 2), (4, 3)))),
    "negative node": ("4h", 0, _replaced(0, cells=((0, 1), (0, 2), (-1, 3)))),
    "slot 0": ("4h", 2, _replaced(2, cells=((2, 0), (2, 2), (3, 5)))),
    "slot after the last": ("4h", 2, _replaced(2, cells=((2, 2), (3, 5), (3, 6)))),
    "a cell twice": ("4h", 2, _replaced(2, cells=((2, 2), (2, 2), (3, 5)))),
    "too few decisions": ("4h", None, VALID[:2]),
    "too many decisions": ("4h", None, (*VALID, None)),
    "a vendor for a task without pre-processing": ("4j", 0, _replaced(0, vendor=0)),
    "a cell where the rate is 0": ("4k", 0, _replaced(0, cells=((0, 1), (0, 2), (3, 3)))),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_single_violation_is_named_by_its_equation(instance: Instance, name: str) -> None:
    equation, task, solution = MUTATIONS[name]
    report = check(instance, solution)
    assert not report.valid
    assert [(breach.rule, breach.task) for breach in report.violations] == [(equation, task)]
    assert str(report.violations[0]).startswith(f"({equation})")


def test_compute_one_sample_over_is_4f(instance: Instance) -> None:
    """Rates 3 and 2 on C_p = 5 fit exactly; on C_p = 4 they do not, and nothing else breaks."""
    together = (VALID[0], None, Decision(None, ((0, 2), (3, 5))))
    assert check(instance, together).valid
    document = _document()
    document["node_types"][0]["compute"] = 4
    breach = check(parse(document), together).violations
    assert [(b.rule, b.task, b.detail) for b in breach] == [("4f", None, "node 0 slot 2: compute 5 > 4")]


def test_memory_one_megabyte_over_is_4g(instance: Instance) -> None:
    """Two tasks of 2 MB with the base model's 1 MB fill 5 MB exactly; with a base of 2 MB they do not fit."""
    together = (None, Decision(0, ((1, 3), (1, 4))), Decision(None, ((1, 3), (3, 5))))
    assert check(instance, together).valid
    breach = check(parse(_document(base_memory_mb=2)), together).violations
    assert [(b.rule, b.task, b.detail) for b in breach] == [("4g", None, "node 1 slot 3: memory 6 > 5")]


def test_every_violation_is_listed(instance: Instance) -> None:
    solution = (Decision(3, ((9, 1),)), Decision(None, ((0, 1),)), None)
    equations = [breach.rule for breach in check(instance, solution).violations]
    assert equations == ["4j", "4h", "4e", "4a", "4c", "4e"]


def test_a_million_million_nodes_cost_nothing() -> None:
    """Node numbers are resolved by the cumulative counts: the last node of a type and the first of the next."""
    document = _document()
    document["node_types"][0]["count"] = document["node_types"][1]["count"] = LIMIT
    huge = parse(document)
    last = 2 * LIMIT
    assert check(huge, (Decision(None, ((LIMIT - 1, 1), (LIMIT - 1, 2))), None, None)).welfare == 50 - 1 - 2
    assert check(huge, (Decision(None, ((LIMIT, 1), (LIMIT, 2), (last - 1, 3))), None, None)).welfare == 50 - 10 - 8 - 6
    assert check(huge, (None, None, Decision(None, ((last, 4), (last, 5))))).valid
    assert not check(huge, (None, None, Decision(None, ((last, 4), (last + 1, 5))))).valid


def _welfare(instance: Instance, solution: Solution, value: Callable[[int], int]) -> int:
    """Objective (4) as printed: sum b_i u_i - sum q_in z_in - sum e_ikt x_ikt."""
    kind = instance.public("").type_of_node.tolist()
    total = 0
    for i, decision in enumerate(solution):
        if decision is not None:
            total += value(i)
            total -= 0 if decision.vendor is None else instance.vendors(i)[decision.vendor].price
            total -= sum(int(instance.cost(i)[kind[k], t - 1]) for k, t in decision.cells)
    return total


def _literal_verdict(instance: Instance, solution: Solution) -> bool:
    """(4a)-(4k) by membership in the enumerated schedules and a sum per cell."""
    public = instance.public("")
    kind = public.type_of_node.tolist()
    load: dict[tuple[int, int], list[int]] = {}
    for i, decision in enumerate(solution):
        if decision is None:
            continue
        task = instance.task(i)
        menu: set[tuple[int | None, Cells]] = {(task.options[n].vendor, cells) for n, cells in schedules(task, public)}
        if (decision.vendor, tuple(sorted(decision.cells, key=lambda cell: cell[1]))) not in menu:
            return False
        for k, t in decision.cells:
            here = load.setdefault((k, t), [0, 0])
            here[0] += int(task.rate[kind[k]])
            here[1] += task.memory_mb
    return all(c <= public.compute[kind[k]] and m <= public.memory_mb[kind[k]] for (k, _), (c, m) in load.items())


@settings(max_examples=samples(300))
@given(instance=tiny_instances(max_tasks=3), data=st.data())
def test_random_solutions_get_the_literal_verdict(instance: Instance, data: st.DataObject) -> None:
    """Random cells and vendors, and cells of true schedules: valid exactly when the literal reading says so."""
    public = instance.public("")
    decisions: list[Decision | None] = []
    for i in range(instance.tasks):
        task = instance.task(i)
        menu = [(task.options[n].vendor, cells) for n, cells in schedules(task, public)]
        kind = data.draw(st.sampled_from(["none", "true", "random"]))
        if kind == "none" or (kind == "true" and not menu):
            decisions.append(None)
        elif kind == "true":
            vendor, cells = data.draw(st.sampled_from(menu))
            decisions.append(Decision(vendor, cells))
        else:
            vendor = data.draw(st.none() | st.integers(0, 2))
            cell = st.tuples(st.integers(0, instance.nodes - 1), st.integers(1, instance.slots))
            decisions.append(Decision(vendor, tuple(data.draw(st.lists(cell, max_size=4)))))
    solution = tuple(decisions)
    report = check(instance, solution)
    assert report.valid == _literal_verdict(instance, solution)
    if report.valid:
        assert report.welfare == _welfare(instance, solution, lambda i: int(instance.bid[i]))
        assert report.true_welfare == _welfare(instance, solution, lambda i: int(instance.valuation[i]))
