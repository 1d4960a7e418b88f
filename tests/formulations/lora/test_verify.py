"""The checker of certificates: nothing that was changed passes, and what is wrong is named."""

import copy
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ratiobench.formulations.checksums import CertificateError
from ratiobench.formulations.lora import certificate as certificates
from ratiobench.formulations.lora import verify as checker
from ratiobench.formulations.lora.certificate import Certificate, parse
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum, list_schedules
from ratiobench.formulations.lora.solve import solve
from ratiobench.formulations.lora.verify import Steps, dual_bound, tell_sum, verify, welfare
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora import Decision, Instance
from ratiobench.instances.lora import parse as parse_instance
from ratiobench.instances.lora.format import content_hash
from ratiobench.instances.lora.format import document as instance_document
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.named import named
from tests.support.certificates import (
    Document,
    checked_bound,
    claimed,
    dual_by_enumeration,
    instances,
    proofs,
    refused,
    resealed,
)
from tests.support.lora_documents import make_instance, make_node
from tests.support.samples import of_sample, samples

ROOT = Path(__file__).resolve().parents[3]


@settings(max_examples=samples(300))
@given(st.data())
def test_the_checkers_view_of_schedules_is_that_of_check(data: st.DataObject) -> None:
    """Schedules that break any of (4a)-(4k) are refused, the others are worth the same, whatever they are."""
    instance = data.draw(instances())
    node, slot = st.integers(-1, instance.nodes), st.integers(0, instance.slots + 1)
    likely = st.tuples(st.integers(0, instance.nodes - 1), st.integers(1, instance.slots))
    decisions: list[Decision | None] = []
    for i in range(instance.tasks):
        menu = list_schedules(instance, instance.task(i))
        own = st.sampled_from([schedule.decision for schedule in menu]) if menu else st.none()
        cells = st.lists(likely | st.tuples(node, slot), max_size=instance.slots).map(tuple)
        odd = st.builds(Decision, st.none() | st.integers(-1, 2), cells, st.none())
        decision = data.draw(st.one_of(st.none(), own, own, own, odd))
        if decision and data.draw(st.integers(1, 4)) == 4:  # one cell more, or another vendor
            more = data.draw(likely)
            decision = data.draw(
                st.sampled_from([decision._replace(cells=(*decision.cells, more)), decision._replace(vendor=None)])
            )
        decisions.append(decision)
    if data.draw(st.integers(1, 10)) == 10:
        decisions.append(None)
    report = check(instance, tuple(decisions))
    value = _outcome(instance, tuple(decisions))
    assert report.valid == isinstance(value, int)
    assert value == report.welfare or not report.valid
    with pytest.MonkeyPatch.context() as one_by_one:
        one_by_one.setattr(checker, "_Plain", lambda *_: SimpleNamespace(tasks=set(), total=0, overload=True))
        assert _outcome(instance, tuple(decisions)) == value


def _outcome(instance: Instance, decisions: tuple[Decision | None, ...]) -> int | str:
    """What a schedule is worth, or the first thing wrong with it."""
    try:
        return welfare(instance, decisions)
    except CertificateError as error:
        return str(error)


@settings(max_examples=samples(300), deadline=None)
@given(st.data())
def test_the_least_cost_on_two_types_is_that_of_enumeration(data: st.DataObject) -> None:
    """Costs of either sign, in 64 bits and beyond, whatever is known before and wherever the search begins."""
    width, top = data.draw(st.integers(1, 5)), data.draw(st.sampled_from([1, 4, 100, 2**56, 2**75]))
    entry = st.integers(data.draw(st.sampled_from([0, -top])), top)
    rows = data.draw(st.lists(st.lists(entry, min_size=width, max_size=width), min_size=2, max_size=2))
    rate = np.array(data.draw(st.lists(st.integers(1, 9), min_size=2, max_size=2)))
    work = data.draw(st.integers(1, 9 * width + 1))
    choices = [
        (sum(int(rate[g]) for g in choice if g < 2), sum(rows[g][t] for t, g in enumerate(choice) if g < 2))
        for choice in product(range(3), repeat=width)
    ]
    costs = [cost for done, cost in choices if done >= work]
    limit = width * max(abs(value) for row in rows for value in row) + data.draw(st.integers(1, top))
    cost = np.array(rows, dtype=np.int64 if 8 * limit < 2**63 else object)
    counts = [min(width, -(-work // int(s)) + int((row < 0).sum())) for s, row in zip(rate, cost, strict=True)]
    no_gain = data.draw(st.sampled_from([4 * limit, -limit]) | st.integers(-limit, limit))
    start, known = data.draw(st.none() | st.integers(-3 * top, 3 * top)), -3 * limit
    if costs:
        known = data.draw(st.sampled_from([known, min(costs), min(costs) - 1]))
    found, _ = checker._by_split(cost, rate, work, 3 * limit, counts, "", Steps(10**6), no_gain, known, start)
    if not costs:
        assert found > limit
    elif min(costs) < no_gain:
        assert found == min(costs)
    else:
        assert no_gain <= found <= min(costs)


def _entry(draw: Callable[..., Any], document: Document) -> tuple[list[int], int]:
    """A row of dual prices and a place in it."""
    tables = [document["lam"], document["phi"], [each["price"] for each in document["classes"]]]
    row = draw(st.sampled_from(draw(st.sampled_from([table for table in tables if table]))))
    return row, draw(st.integers(0, len(row) - 1))


def _admitted(draw: Callable[..., Any], document: Document) -> int:
    found = [i for i, decision in enumerate(document["decisions"]) if decision]
    assume(found)
    return int(draw(st.sampled_from(found)))


def _dual(draw: Callable[..., Any], document: Document) -> None:
    row, at = _entry(draw, document)
    row[at] += draw(st.sampled_from([-1, 1, -document["unit"], document["unit"], 2**50, -(2**50)]))


def _shape(draw: Callable[..., Any], document: Document) -> None:
    if document["classes"] and draw(st.booleans()):
        row = draw(st.sampled_from(document["classes"]))["price"]
        draw(st.sampled_from([row.pop, lambda: row.append(0)]))()
        return
    table = document[draw(st.sampled_from(["lam", "phi"]))]
    row = draw(st.sampled_from(table))
    draw(st.sampled_from([table.pop, row.pop, lambda: row.append(0), lambda: table.append([0] * len(row))]))()


def _unit(draw: Callable[..., Any], document: Document) -> None:
    document["unit"] = draw(st.sampled_from([1, 2, 3, 2**19, 2**20, 2**21, 2**20 + 1, 0, -1]))


def _some_class(draw: Callable[..., Any], document: Document) -> Document:
    assume(document["classes"])
    chosen: Document = draw(st.sampled_from(document["classes"]))
    return chosen


def _class(draw: Callable[..., Any], document: Document) -> None:
    """Another type, rate or memory: the price moves to another class."""
    key = draw(st.sampled_from(["type", "rate", "memory_mb"]))
    _some_class(draw, document)[key] += draw(st.sampled_from([-1, 1, 2, -9]))


def _class_lowered(draw: Callable[..., Any], document: Document) -> None:
    row = _some_class(draw, document)["price"]
    priced = [slot for slot, price in enumerate(row) if price > 0]
    assume(priced)
    slot = draw(st.sampled_from(priced))
    row[slot] = draw(st.sampled_from([0, row[slot] // 2, row[slot] - 1]))


def _class_dropped(draw: Callable[..., Any], document: Document) -> None:
    document["classes"].remove(_some_class(draw, document))


def _class_twice(draw: Callable[..., Any], document: Document) -> None:
    each = copy.deepcopy(_some_class(draw, document))
    if draw(st.booleans()):
        each["price"] = [price // 2 for price in each["price"]]
    document["classes"].append(each)


def _class_added(draw: Callable[..., Any], document: Document) -> None:
    row = [draw(st.sampled_from([0, 1, document["unit"], 40 * document["unit"]])) for _ in document["lam"][0]]
    kind, rate, memory = (draw(st.integers(low, 5)) for low in (-1, -1, -1))
    document["classes"].append({"type": kind, "rate": rate, "memory_mb": memory, "price": row})


def _class_prices_exchanged(draw: Callable[..., Any], document: Document) -> None:
    assume(len(document["classes"]) > 1)
    at = draw(st.integers(1, len(document["classes"]) - 1))
    one, other = document["classes"][at - 1 : at + 1]
    one["price"], other["price"] = other["price"], one["price"]


def _class_order(draw: Callable[..., Any], document: Document) -> None:
    document["classes"] = draw(st.permutations(document["classes"]))


def _upper(draw: Callable[..., Any], document: Document) -> None:
    document["upper"] += draw(st.sampled_from([-1, 1, 1000, -document["upper"] + document["lower"]]))


def _lower(draw: Callable[..., Any], document: Document) -> None:
    document["lower"] += draw(st.sampled_from([-1, 1, document["upper"] - document["lower"]]))


def _cell(draw: Callable[..., Any], document: Document) -> None:
    cells = document["decisions"][_admitted(draw, document)]["cells"]
    assume(cells)
    cell = draw(st.sampled_from(cells))
    cell[draw(st.integers(0, 1))] += draw(st.sampled_from([-1, 1, 2]))


def _cells(draw: Callable[..., Any], document: Document) -> None:
    cells = document["decisions"][_admitted(draw, document)]["cells"]
    if cells and draw(st.booleans()):
        cells.pop(draw(st.integers(0, len(cells) - 1)))
    else:
        cells.append(draw(st.sampled_from([[0, 1], [0, 2], [1, 1], *cells])))


def _vendor(draw: Callable[..., Any], document: Document) -> None:
    document["decisions"][_admitted(draw, document)]["vendor"] = draw(st.sampled_from([None, 0, 1, 2, -1]))


def _payment(draw: Callable[..., Any], document: Document) -> None:
    document["decisions"][_admitted(draw, document)]["payment"] = draw(st.integers(0, 9))


def _dropped(draw: Callable[..., Any], document: Document) -> None:
    document["decisions"][_admitted(draw, document)] = None


def _moved(draw: Callable[..., Any], document: Document) -> None:
    decisions = document["decisions"]
    i, j = _admitted(draw, document), draw(st.integers(0, len(decisions) - 1))
    decisions[i], decisions[j] = copy.deepcopy(decisions[j]), decisions[i]


def _length(draw: Callable[..., Any], document: Document) -> None:
    if document["decisions"] and draw(st.booleans()):
        document["decisions"].pop()
    else:
        document["decisions"].append(None)


def _instance(draw: Callable[..., Any], document: Document) -> None:
    at = draw(st.integers(0, 63))
    digit = draw(st.sampled_from("0123456789abcdef"))
    document["instance"] = document["instance"][:at] + digit + document["instance"][at + 1 :]


def _type(draw: Callable[..., Any], document: Document) -> None:
    """A number of another type that some languages take for the same one; or none at all."""
    kind = draw(st.sampled_from([float, str, lambda value: value == 1, lambda _: None, lambda value: [value]]))
    row, at = _entry(draw, document)
    i = _admitted(draw, document)
    cells = document["decisions"][i]["cells"] or [[0, 0]]
    places: list[tuple[Any, Any]] = [(document, "upper"), (document, "lower"), (document, "unit"), (row, at)]
    places += [(cells[0], 0), (cells[0], 1)]
    if document["classes"]:
        places += [(document["classes"][0], key) for key in ("type", "rate", "memory_mb", "price")]
        places += [(document["classes"], 0), (document, "classes")]
    holder, key = draw(st.sampled_from(places))
    assume(type(holder[key]) is int or kind not in (float, str))
    holder[key] = kind(holder[key])


def _keys(draw: Callable[..., Any], document: Document) -> None:
    holder = draw(st.sampled_from([document, *document["classes"]]))
    if draw(st.booleans()):
        holder["note"] = 1
    else:
        del holder[draw(st.sampled_from(sorted(holder)))]


def _format(draw: Callable[..., Any], document: Document) -> None:
    document["format"] = draw(st.sampled_from(["ratiobench/lora-certificate/1", "ratiobench/lora/1", "", None, 1]))


def _seal(draw: Callable[..., Any], document: Document) -> None:
    document["sha256"] = draw(st.sampled_from(["0" * 64, document["sha256"].upper(), document["sha256"][:-1], None, 1]))


CHANGES = [
    _dual, _shape, _unit, _upper, _lower, _cell, _cells, _vendor, _payment, _dropped, _moved, _length, _instance, _type,
    _keys, _format, _seal,
]  # fmt: skip


CLASS_CHANGES = [
    _class, _class_lowered, _class_dropped, _class_twice, _class_added, _class_prices_exchanged, _class_order,
]  # fmt: skip


@pytest.fixture(scope="module")
def claims() -> list[tuple[Instance, Document]]:
    """Tiny instances with what the optimiser claims about them, found once: that takes longer than to judge it."""
    found: list[tuple[Instance, Document]] = []

    @settings(max_examples=samples(100))
    @given(instances())
    def collect(instance: Instance) -> None:
        found.append((instance, claimed(instance)))

    collect()
    assert sum(len(document["classes"]) > 0 for _, document in found) >= of_sample(10, 100)
    return found


@pytest.mark.parametrize("change", CHANGES, ids=[change.__name__[1:] for change in CHANGES])
@settings(max_examples=samples(60))
@given(data=st.data())
def test_a_changed_certificate_is_refused_and_a_forged_seal_cannot_make_it_lie(
    claims: list[tuple[Instance, Document]], change: Callable[..., None], data: st.DataObject
) -> None:
    """As it stands it is always refused; sealed anew it may pass only if what it then says is true, by brute force."""
    instance, document = data.draw(st.sampled_from(claims))
    changed = copy.deepcopy(document)
    change(data.draw, changed)
    assume(json.dumps(changed) != json.dumps(document))
    assert refused(instance, changed)
    try:
        forged = resealed(changed)
    except InputError:
        return
    if change in (_upper, _lower, _instance):
        assert refused(instance, forged)
    elif not refused(instance, forged):
        assert_true(instance, forged)


@pytest.mark.parametrize("change", CLASS_CHANGES, ids=[change.__name__[1:] for change in CLASS_CHANGES])
@settings(max_examples=samples(40))
@given(drawn=proofs(), data=st.data())
def test_a_change_of_class_prices_is_refused_unless_it_is_sealed_anew_and_proves_the_same_upper_end(
    change: Callable[..., None], drawn: tuple[Instance, Certificate], data: st.DataObject
) -> None:
    """What it proves is known by enumeration: lowered, dropped, doubled, moved or added prices, true certificates."""
    instance, proof = drawn
    assume(proof.classes or change is _class_added)
    proof = replace(proof, upper=checked_bound(instance, proof))
    assume(proof.upper < 2**62)
    document = certificates.document(proof)
    assert verify(instance, document).valid
    changed = copy.deepcopy(document)
    change(data.draw, changed)
    assume(changed != document)
    assert refused(instance, changed)
    said, _ = parse(changed)
    verdict = verify(instance, resealed(changed))
    known = {each[:3] for each in said.classes}
    if len(known) < len(said.classes) or not all(
        0 <= g < len(instance.node_types) and s > 0 and r > 0 for g, s, r in known
    ):
        assert verdict.problem.startswith("classes[")
        return
    truth = dual_by_enumeration(instance, said)
    if truth == proof.upper:
        assert verdict.valid
        assert_true(instance, resealed(changed))
    else:
        assert verdict.problem == f"upper: {proof.upper} claimed; the prices prove {truth}"


def assert_true(instance: Instance, document: Document) -> None:
    """What an accepted certificate says is so: its schedule, its dual value, and the optimum between them."""
    accepted, _ = parse(document)
    report = check(instance, accepted.decisions)
    assert report.valid
    assert report.welfare == accepted.lower
    assert min(map(min, [*accepted.lam, *accepted.phi, *(each.price for each in accepted.classes)])) >= 0
    assert len({each[:3] for each in accepted.classes}) == len(accepted.classes)
    assert all(each.rate > 0 and each.memory_mb > 0 for each in accepted.classes)
    assert dual_by_enumeration(instance, accepted) == accepted.upper
    assert accepted.lower <= enumerate_optimum(instance)[0] <= accepted.upper


def test_every_class_price_of_a_certificate_matters_on_a_crowded_cluster() -> None:
    """Any class left out, or priced at nothing in one of its dearest slots, and the upper end is another one."""
    recipe = {"kind": "paper", "name": "part", "seed": ["certificate"], "arrivals": {"trace": "helios"}}
    instance = generate(recipe | {"tasks": 60, "start": 60, "slots": 24, "quiet": 4, "nodes": {"a100": 1, "a40": 1}})
    document = claimed(instance)
    assert len(document["classes"]) >= 4
    for j, each in enumerate(document["classes"]):
        without = copy.deepcopy(document)
        del without["classes"][j]
        assert verify(instance, resealed(without)).problem.startswith("upper: ")
        problems = []
        for slot in np.argsort(each["price"])[-5:]:
            lowered = copy.deepcopy(document)
            lowered["classes"][j]["price"][slot] = 0
            problems.append(verify(instance, resealed(lowered)).problem)
        assert any(problem.startswith("upper: ") for problem in problems)


def _places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict | list):
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        return [place for key, inner in entries for place in _places(inner, (*at, key))]
    return [at] if type(value) is int else []


@settings(max_examples=samples(250))
@given(data=st.data())
def test_the_certificate_of_another_instance_is_refused_however_alike_they_are(
    claims: list[tuple[Instance, Document]], data: st.DataObject
) -> None:
    """Any number of the instance changed by one or more: capacity, bid, tariff, rate, window, vendor, ..."""
    instance, document = data.draw(st.sampled_from(claims))
    other = instance_document(instance)
    place = data.draw(st.sampled_from(_places(other)))
    holder = other
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] += data.draw(st.sampled_from([-2, -1, 1, 2, 5]))
    try:
        changed = parse_instance(other)
    except InputError:
        assume(False)
    assert refused(changed, document)
    assert verify(instance, document).valid
    forged = resealed(document | {"instance": content_hash(changed)})
    if not refused(changed, forged):
        assert_true(changed, forged)


def test_the_first_thing_wrong_is_named() -> None:
    """One line for each kind of change on one instance, with the figures."""
    instance = named("tiny_contention")
    document = claimed(instance)
    assert verify(instance, document) == (True, "", parse(document)[0])
    lower, upper = document["lower"], document["upper"]

    def problem(**fields: Any) -> str:
        return verify(instance, copy.deepcopy(document) | fields).problem

    assert problem(upper=upper - 1) == f"upper: {upper - 1} claimed; the prices prove {upper}"
    assert problem(lower=lower + 1) == f"lower: {lower + 1} claimed; the schedule is worth {lower}"
    assert problem(unit=3) == "unit: 3 is not a power of two"
    assert problem(instance="0" * 64) == "the certificate is about another instance"
    assert problem(sha256="0" * 64) == "sha256: the certificate was changed after it was made"
    assert problem(lam=document["lam"][:1]) == "lam: not one price per node type and slot"
    negative = copy.deepcopy(document["phi"])
    negative[1][2] = -1
    assert problem(phi=negative) == "phi[1][2]: -1 is negative"
    assert document["classes"]

    def class_problem(**fields: Any) -> str:
        return problem(classes=[document["classes"][0] | fields, *document["classes"][1:]])

    price = document["classes"][0]["price"]
    assert class_problem(type=-1) == "classes[0].type: there is no node type -1"
    assert class_problem(type=2) == "classes[0].type: there is no node type 2"
    assert class_problem(rate=0) == "classes[0].rate: 0 is not positive"
    assert class_problem(memory_mb=-3) == "classes[0].memory_mb: -3 is not positive"
    assert class_problem(price=price[1:]) == "classes[0].price: not one price per slot"
    assert class_problem(price=[*price[:-1], -7]) == f"classes[0].price[{len(price) - 1}]: -7 is negative"
    twice = [*document["classes"], document["classes"][0]]
    assert problem(classes=twice) == f"classes[{len(twice) - 1}]: the class stands twice"
    assert problem(classes=document["classes"][1:]).startswith(f"upper: {upper} claimed; the prices prove ")
    assert problem(decisions=[]) == f"0 decisions for {instance.tasks} tasks"
    same = [copy.deepcopy(next(filter(None, document["decisions"])))] * instance.tasks
    assert problem(decisions=same).startswith("(4")


@pytest.mark.parametrize(
    ("decision", "problem"),
    [
        (Decision(0, ((0, 2),)), ""),
        (Decision(None, ((0, 2),)), "(4a, 4j) task 0: vendor None"),
        (Decision(1, ((0, 2),)), "(4h) task 0: vendor 1"),
        (Decision(0, ((0, 2), (1, 2))), "(4b) task 0: two cells in one slot"),
        (Decision(0, ((0, 1),)), "(4c, 4d) task 0: slot 1 is outside its window"),
        (Decision(0, ((0, 4),)), "(4c, 4d) task 0: slot 4 is outside its window"),
        (Decision(0, ()), "(4e) task 0: 0 of 2 samples done"),
        (Decision(0, ((0, 2), (0, 3))), "(4f) node 0 slot 3: compute 6 > 5"),
        (Decision(0, ((2, 2),)), "(4h) task 0: there is no node 2"),
        (Decision(0, ((0, 2), (1, 3))), "(4k) task 0: rate 0 on node 1"),
    ],
)
def test_each_constraint_is_checked_by_itself(decision: Decision, problem: str) -> None:
    """A task of rate 2 and a vendor, beside one of rate 4 in slot 3 of the same node of 5 samples per slot."""
    tasks: list[dict[str, Any]] = [
        {"deadline": 3, "work": 2, "bid": 9, "rate": [2, 0], "vendors": [{"price": 1, "delay": 1}]},
        {"arrival": 3, "deadline": 3, "work": 4, "bid": 9, "rate": [4, 4]},
    ]
    instance = make_instance(4, [make_node(5, 9)] * 2, tasks, base_memory_mb=1)
    solution = (decision, Decision(None, ((0, 3),)))
    assert check(instance, solution).valid == (not problem)
    if problem:
        with pytest.raises(CertificateError, match=f"^{re.escape(problem)}$"):
            welfare(instance, solution)
    else:
        assert welfare(instance, solution) == check(instance, solution).welfare == 17


def test_what_would_take_the_checker_for_ever_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many amounts of remaining work, classes or patterns; the limits stand far above the benchmark's instances."""
    instance = named("tiny_contention")
    document = claimed(instance)
    with monkeypatch.context() as lowered:
        lowered.setattr(checker, "AMOUNTS_LIMIT", 1)
        three = named("tiny_three_types")
        assert "amounts of remaining work, too many to check" in verify(three, claimed(three)).problem
    many = document | {
        "classes": [
            {"type": 0, "rate": 1, "memory_mb": 1 + memory, "price": [1] * instance.slots} for memory in range(3)
        ]
    }
    assert "too many" not in verify(instance, many).problem
    for limit in ("COUNTS_LIMIT", "MAXIMAL_LIMIT"):
        with monkeypatch.context() as lowered:
            lowered.setattr(checker, limit, 2)
            assert verify(instance, many).problem == "classes: too many patterns to check"
    with pytest.raises(CertificateError, match=r"^classes: too many patterns to check$"):
        checker._maximal_patterns([(2**15, 1), (1, 2), (1, 1)], 2**40, 2**40, Steps(1))


def test_small_files_do_not_keep_the_checker_busy_for_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """24 KB of instance and 60 KB of certificate that would take 6,000,000,000 steps; the refusal says the numbers."""
    slots = 4_000
    task = {"work": 500_000, "bid": 5, "rate": [1, 499, 250_000]}
    instance = make_instance(slots, [make_node(250_000, 9)] * 3, [task], base_memory_mb=1)
    nothing = ((0,) * slots,) * 3
    proof = Certificate(content_hash(instance), 1, nothing, nothing, (), 5, 0, (None,))
    assert re.fullmatch(
        r"task 0: [56]\d{9} steps are needed and 49\d{8} of 5001000000 left: too many to check",
        verify(instance, certificates.document(proof)).problem,
    )
    short = instance_document(instance)
    short["tasks"][0]["work"] = slots * 250_000 + 1
    impossible = parse_instance(short)
    monkeypatch.setattr(checker, "AMOUNTS_LIMIT", 0)
    assert dual_bound(impossible, 1, nothing, nothing, ()) == 0  # no schedule can do it: no table is built


def test_steps_are_counted_over_tasks_and_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = named("tiny_contention")
    document = claimed(instance)
    monkeypatch.setattr(checker, "STEPS_PER_TASK", 0)
    monkeypatch.setattr(checker, "STEPS_LIMIT", 2_000)
    assert re.fullmatch(r"task [1-5]: \d+ steps .* of 2000 left: too many to check", verify(instance, document).problem)
    classes = [{"type": 0, "rate": 1, "memory_mb": 1, "price": [1] * instance.slots}]
    monkeypatch.setattr(checker, "STEPS_LIMIT", 3)
    assert verify(instance, document | {"classes": classes}).problem.startswith("classes: ")


def test_the_checker_loads_nothing_of_the_optimiser() -> None:
    """Of this project the readers of files and the form of certificates; no compiler of kernels, no solver."""
    code = "import sys, ratiobench.formulations.lora.verify; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    ours = {name.removeprefix("ratiobench.") for name in loaded if name.startswith("ratiobench.")}
    own = {name for name in ours if not name.startswith("instances")}
    assert own == {
        "formulations", "formulations.lora", "formulations.lora.certificate", "formulations.lora.verify",
        "formulations.checksums",
    }  # fmt: skip
    instances = {name for name in ours if name.startswith("instances")}
    assert instances <= {
        "instances", "instances.arrays", "instances.io", "instances.io.display", "instances.io.documents",
        "instances.io.errors", "instances.io.fields", "instances.io.files", "instances.io.packing", "instances.lora",
        "instances.lora.format", "instances.lora.model", "instances.lora.solution",
    }  # fmt: skip
    assert not {"numba", "scipy", "highspy", "ortools", "pulp"} & set(loaded)


@pytest.mark.parametrize("name", ["thm5_T5_3tasks", "tiny_contention", "tiny_vendors", "tiny_two_types"])
def test_the_bound_is_told_as_a_sum_that_adds_up(name: str) -> None:
    """What all nodes earn and each task gains, to the end that the prices prove; of branches their number."""
    instance = named(name)
    whole = solve(instance, certified=True).certificate
    assert whole is not None
    told = tell_sum(instance, certificates.document(whole))
    if len(whole.tree) > 1:
        assert told == f"in numbers: {whole.upper} is the largest bound of {len(whole.tree) // 2 + 1} branches"
    one = replace(whole, tree=(), more=(), cells=())
    told = tell_sum(instance, certificates.document(one))
    found = re.fullmatch(r"in numbers: nodes (\S+) \+ tasks (.+?) = ([^ ,]+)(?:, rounded down \d+)? >= any .*", told)
    assert found is not None
    parts = [Fraction(part.removesuffix("...")) for part in (found[1], *found[2].split(" + "))]
    total = Fraction(found[3].removesuffix("..."))
    assert 0 <= total - sum(parts) <= Fraction(len(parts), 1000)
    assert int(total) == dual_bound(instance, one.unit, *one.tables[0][:3])
