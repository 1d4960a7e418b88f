"""Certificates: what they claim is true, the checker is right by brute force, and nothing that was changed passes."""

from __future__ import annotations

import copy
import gzip
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bench.cli.main import main
from bench.family.known import families
from formulations import worker
from formulations.lora import certificate as certificates
from formulations.lora import verify as checker
from formulations.lora.bound.lagrangian import Capacity
from formulations.lora.bound.pricing import Pricer, pool
from formulations.lora.certificate import Certificate, ClassPrice, parse, seal
from formulations.lora.check import check
from formulations.lora.models.enumerate import enumerate_optimum, schedules
from formulations.lora.solve import solve
from formulations.lora.verify import Steps, Wrong, dual_bound, verify, welfare
from formulations.report import Proof, Termination
from instances.errors import InputError
from instances.files import load_json
from instances.lora import Decision, Instance
from instances.lora import parse as parse_instance
from instances.lora.format import content_hash
from instances.lora.format import document as instance_document
from instances.lora.generate import generate
from instances.lora.named import named, names, path
from tests.support.strategies import tiny_documents, tiny_instances
from tests.support.toy_family import FAMILY, toy  # noqa: F401

ROOT = Path(__file__).resolve().parents[3]
Document = dict[str, Any]


@pytest.fixture(scope="module", autouse=True)
def _workers_end_with_the_module() -> Iterator[None]:
    yield
    worker.close_all()


def claimed(instance: Instance) -> Document:
    """A certificate's document as found without any solver."""
    found = solve(instance, backend="none", certified=True).certificate
    assert isinstance(found, Certificate)
    return certificates.document(found)


def resealed(document: Document) -> Document:
    """The document with the seal that its content asks for: what a forger would write."""
    return document | {"sha256": seal(parse(document)[0])}


def refused(instance: Instance, document: Document) -> bool:
    """Whether the checker refuses it, as malformed or as not true."""
    try:
        return not verify(instance, document).valid
    except InputError:
        return True


def checked_bound(instance: Instance, proof: Certificate) -> int:
    """The upper end as the checker computes it."""
    return dual_bound(instance, proof.unit, proof.lam, proof.phi, proof.classes)


def dual_by_enumeration(instance: Instance, proof: Certificate) -> int:
    """The dual bound from the lists of all schedules of each task and all patterns of each type, in Python integers."""
    kinds = [g for g, node in enumerate(instance.node_types) for _ in range(node.count)]
    room = [node.memory_mb - instance.base_memory_mb for node in instance.node_types]
    nothing = (0,) * instance.slots
    pi = {each[:3]: each.price for each in proof.classes}
    lam, phi = proof.lam, proof.phi
    total = 0
    for g, node in enumerate(instance.node_types):
        here = [each for each in proof.classes if each.kind == g]
        fitting = patterns([(each.rate, each.memory_mb) for each in here], node.compute, room[g])
        for t in range(instance.slots):
            best = max(sum(n * each.price[t] for n, each in zip(count, here, strict=True)) for count in fitting)
            total += node.count * (node.compute * lam[g][t] + room[g] * phi[g][t] + best)
    for i in range(instance.tasks):
        best, r = 0, int(instance.memory_mb[i])
        for value, decision in schedules(instance, instance.task(i)):
            cells = [(kinds[node], slot - 1, int(instance.rate[i, kinds[node]])) for node, slot in decision.cells]
            if all(s <= instance.node_types[g].compute and r <= room[g] for g, _, s in cells):
                paid = sum(lam[g][t] * s + phi[g][t] * r + pi.get((g, s, r), nothing)[t] for g, t, s in cells)
                best = max(best, proof.unit * value - paid)
        total += best
    return total // proof.unit


def patterns(sizes: Sequence[tuple[int, int]], compute: int, room: int) -> list[tuple[int, ...]]:
    """All counts of cells of these samples and megabytes that fit on a node, maximal or not."""
    found: list[tuple[tuple[int, ...], int, int]] = [((), compute, room)]
    for rate, memory in sizes:
        found = [
            ((*count, n), left - n * rate, left_mb - n * memory)
            for count, left, left_mb in found
            for n in range(min(left // rate, left_mb // memory) + 1)
        ]
    return [count for count, _, _ in found]


def classes_of(instance: Instance) -> list[tuple[int, int, int]]:
    """Type, rate and memory of every cell that some task could run in."""
    found = {
        (g, int(instance.rate[i, g]), int(instance.memory_mb[i]))
        for i in range(instance.tasks)
        for g in range(len(instance.node_types))
        if instance.rate[i, g] > 0
    }
    return sorted(found)


@st.composite
def contended_instances(draw: st.DrawFn) -> Instance:
    """A tiny instance whose tasks want more than there is: each stands three times, and bids pay for any cost."""
    document = draw(tiny_documents(max_tasks=2, max_slots=3))
    document["tasks"] = [copy.deepcopy(task) for task in document["tasks"] for _ in range(3)]
    if draw(st.booleans()):  # up to four node types
        document["node_types"].append(document["node_types"][0] | {"name": "one more", "count": 1})
        for task in document["tasks"]:
            task["rate"].append(draw(st.integers(0, 4)))
            key = "cost" if "cost" in task else "energy_wh"
            task[key].append(draw(st.sampled_from(task[key])))
    for node in document["node_types"]:
        node["compute"] += draw(st.integers(0, 3))
    for task in document["tasks"]:
        task["bid"] = draw(st.integers(20, 60))
        task["work"] = draw(st.integers(1, 2 * (task["deadline"] - task["arrival"] + 1)))
    return parse_instance(document)


def instances() -> st.SearchStrategy[Instance]:
    """Tiny instances, half of them with contention."""
    return st.booleans().flatmap(lambda contended: contended_instances() if contended else tiny_instances())


@st.composite
def proofs(draw: st.DrawFn) -> tuple[Instance, Certificate]:
    """A tiny instance with dual prices, most of them of the size of bids, some far beyond 64 bits.

    Most have prices of classes: of some of the tasks' own, and now and then of one that no task has.
    """
    instance = draw(instances())
    unit: int = 2 ** draw(st.sampled_from([0, 1, 5, 20]))
    top = draw(st.sampled_from([1, 3, 12])) * unit
    if draw(st.integers(1, 5)) == 5:
        unit, top = 2**40, 2**62
    row = st.tuples(*[st.integers(0, top)] * instance.slots)
    nothing = ((0,) * instance.slots,) * len(instance.node_types)
    # Prices of samples, of megabytes or of classes may be the large ones.
    table = st.tuples(*[row] * len(instance.node_types)) | st.just(nothing)
    other = st.tuples(st.integers(0, len(instance.node_types) - 1), st.integers(1, 9), st.integers(1, 9))
    listed = {each for each in classes_of(instance) if draw(st.integers(0, 3)) > 0}
    if draw(st.integers(1, 4)) == 4:
        listed.add(draw(other))
    if draw(st.integers(1, 4)) == 4:
        listed = set()
    return instance, Certificate(
        instance=content_hash(instance),
        unit=unit,
        lam=draw(table),
        phi=draw(table),
        classes=tuple(ClassPrice(*each, draw(row)) for each in draw(st.permutations(sorted(listed)))),
        upper=0,
        lower=0,
        decisions=(None,) * instance.tasks,
    )


def test_the_interval_contains_the_optimum_on_200_tiny_instances_and_the_checker_accepts_it() -> None:
    """By brute force; among them two and three node types, vendors, negative tariffs and costs, rates 0."""
    seen: Counter[str] = Counter()

    @settings(max_examples=200)
    @given(instances())
    def contains(instance: Instance) -> None:
        optimum, _ = enumerate_optimum(instance)
        document = claimed(instance)
        assert document["lower"] <= optimum <= document["upper"]
        verdict = verify(instance, json.loads(json.dumps(document)))
        assert verdict.valid, verdict.problem
        costs = [instance.cost(i) for i in range(instance.tasks)]
        features = {
            "two types": len(instance.node_types) == 2,
            "three types": len(instance.node_types) >= 3,
            "vendors": len(instance.vendor_price) > 0,
            "negative tariff": any(node.tariff.min() < 0 for node in instance.node_types),
            "negative cost": any(cost.min() < 0 for cost in costs),
            "rate 0": bool((instance.rate == 0).any()),
            "prices of classes": len(document["classes"]) > 0,
            "several classes": len(document["classes"]) > 1,
            "gap": document["lower"] < document["upper"],
        }
        seen.update(name for name, here in features.items() if here)

    contains()
    enough = {"two types": 20, "three types": 20, "vendors": 20, "negative tariff": 20, "negative cost": 20}
    enough |= {"rate 0": 20, "prices of classes": 40, "several classes": 20, "gap": 5}
    few = {name: seen[name] for name, number in enough.items() if seen[name] < number}
    assert not few


@settings(max_examples=300)
@given(proofs())
def test_the_checkers_bound_is_the_dual_value_by_enumeration_whatever_the_prices(
    drawn: tuple[Instance, Certificate],
) -> None:
    """Never below the optimum, with any prices of classes; prices of 2^62 leave 64 bits, Python's integers go on."""
    instance, proof = drawn
    upper = checked_bound(instance, proof)
    assert upper == dual_by_enumeration(instance, proof)
    assert upper >= enumerate_optimum(instance)[0]


@pytest.mark.parametrize("resource", ["lam", "phi", "classes"])
def test_prices_of_one_resource_beyond_64_bits_leave_no_task_a_profit(resource: str) -> None:
    """Each alone takes the checker out of 64 bits; nothing wraps around to a price that is worth paying."""
    instance = named("tiny_two_types")
    nothing = ((0,) * instance.slots,) * 2
    huge = (2**61 + 12345,) * instance.slots
    light = tuple(ClassPrice(*each, (7,) * instance.slots) for each in classes_of(instance))
    plain = Certificate("", 1, nothing, nothing, light, 0, 0, (None,) * instance.tasks)
    heavy = tuple(each._replace(price=huge) for each in light) if resource == "classes" else (huge,) * 2
    changed: dict[str, Any] = {resource: heavy}
    proof = replace(plain, **changed)
    assert checked_bound(instance, proof) == dual_by_enumeration(instance, proof)


SIZES = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=4, unique=True)


@settings(max_examples=300)
@given(SIZES, st.integers(1, 20), st.integers(1, 20), st.integers(0, 2**62), st.data())
def test_the_best_pattern_is_found_to_the_unit(
    sizes: list[tuple[int, int]], compute: int, room: int, top: int, data: st.DataObject
) -> None:
    """By all counts that fit: the maximal ones are those that the checker lists, each once, and it misses no value."""
    fitting = patterns(sizes, compute, room)
    known = set(fitting)
    maximal = [
        count
        for count in fitting
        if not any((*count[:c], count[c] + 1, *count[c + 1 :]) in known for c in range(len(sizes)))
    ]
    found = [tuple(count) for count in checker._maximal_patterns(sizes, compute, room, Steps(1)).tolist()]
    assert sorted(found) == sorted(maximal)
    price = data.draw(st.lists(st.tuples(*[st.integers(0, top)] * len(sizes)), min_size=1, max_size=3))
    classes = [ClassPrice(0, *size, tuple(line[c] for line in price)) for c, size in enumerate(sizes)]
    best = sum(max(sum(n * p for n, p in zip(count, line, strict=True)) for count in fitting) for line in price)
    assert checker._patterns_worth(classes, compute, room, Steps(1)) == best


def optimisers(instance: Instance, rent: Any, lam: Any, phi: Any, listed: Sequence[bool]) -> tuple[int, Certificate]:
    """The optimiser's bound at prices in micro-dollars, and its integer prices as a certificate.

    Parameters
    ----------
    rent : (C, T) per cell; lam, phi : (G, T) per sample and MB.
    listed : by type, whether the optimiser may use its patterns.
    """
    tasks = pool(instance)
    capacity = Capacity(tasks)
    capacity.patterns = tuple(each if may else None for each, may in zip(capacity.patterns, listed, strict=True))
    found = capacity.proved(Pricer(tasks), rent, lam, phi)
    table = zip(tasks.class_kind.tolist(), tasks.class_rate.tolist(), tasks.class_memory.tolist(), strict=True)
    classes = tuple(
        ClassPrice(*each, tuple(price)) for each, price in zip(table, found.pi.tolist(), strict=True) if any(price)
    )
    lam, phi = (tuple(map(tuple, prices.tolist())) for prices in (found.lam, found.phi))
    return found.upper, Certificate("", found.unit, lam, phi, classes, 0, 0, ())


@settings(max_examples=300)
@given(instances(), st.data())
def test_the_checkers_bound_is_the_optimisers_at_random_prices(instance: Instance, data: st.DataObject) -> None:
    """Two programmes that share nothing, one number, for types with their patterns and types without."""
    tasks = pool(instance)
    kinds, slots = len(instance.node_types), instance.slots
    listed = data.draw(st.lists(st.booleans(), min_size=kinds, max_size=kinds))
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    scale = data.draw(st.sampled_from([0.1, 1.0, 10.0, 1e9]))
    rent = random.exponential(scale, (len(tasks.class_kind), slots))
    lam, phi = random.exponential(scale, (2, kinds, slots))
    upper, proof = optimisers(instance, rent, lam, phi, listed)
    assert checked_bound(instance, proof) == upper == dual_by_enumeration(instance, proof)


@pytest.mark.parametrize("nodes", [{"a100": 2, "a40": 2}, {"a40": 3}])
def test_the_checkers_bound_is_the_optimisers_on_a_traces_tasks(nodes: dict[str, int]) -> None:
    """Rates of thousands, windows of dozens of slots, vendors."""
    recipe = {"kind": "paper", "name": "day", "seed": ["certificate"], "arrivals": {"trace": "philly"}}
    instance = generate(recipe | {"tasks": 150, "nodes": nodes})
    tasks = pool(instance)
    random = np.random.default_rng(5)
    lam, phi = random.exponential(1.0, (2, len(nodes), instance.slots)) * np.array([0.5, 0.1])[:, None, None]
    rent = 0.8 * (
        tasks.class_rate[:, None] * lam[tasks.class_kind] + tasks.class_memory[:, None] * phi[tasks.class_kind]
    )
    for listed in ([True] * len(nodes), [False] * len(nodes)):
        upper, proof = optimisers(instance, rent, lam, phi, listed)
        assert bool(proof.classes) is listed[0]
        assert checked_bound(instance, proof) == upper


@settings(max_examples=300)
@given(st.data())
def test_the_checkers_view_of_schedules_is_that_of_check(data: st.DataObject) -> None:
    """Schedules that break any of (4a)-(4k) are refused, the others are worth the same, whatever they are."""
    instance = data.draw(instances())
    node, slot = st.integers(-1, instance.nodes), st.integers(0, instance.slots + 1)
    likely = st.tuples(st.integers(0, instance.nodes - 1), st.integers(1, instance.slots))
    decisions: list[Decision | None] = []
    for i in range(instance.tasks):
        menu = schedules(instance, instance.task(i))
        own = st.sampled_from([schedule.decision for schedule in menu]) if menu else st.none()
        cells = st.lists(likely | st.tuples(node, slot), max_size=instance.slots).map(tuple)
        odd = st.builds(Decision, st.none() | st.integers(-1, 2), cells)
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
    try:
        value = welfare(instance, tuple(decisions))
    except Wrong:
        assert not report.valid
    else:
        assert report.valid
        assert value == report.welfare


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

    @settings(max_examples=100)
    @given(instances())
    def collect(instance: Instance) -> None:
        found.append((instance, claimed(instance)))

    collect()
    assert sum(len(document["classes"]) > 0 for _, document in found) >= 10
    return found


@pytest.mark.parametrize("change", CHANGES, ids=[change.__name__[1:] for change in CHANGES])
@settings(max_examples=60)
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
@settings(max_examples=80)
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
    """The paths to all numbers of a JSON value."""
    if isinstance(value, dict | list):
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        return [place for key, inner in entries for place in _places(inner, (*at, key))]
    return [at] if type(value) is int else []


@settings(max_examples=250)
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
    task = {"deadline": 3, "memory_mb": 1, "bid": 9, "energy_wh": [0, 0]}
    node = {"compute": 5, "memory_mb": 9, "count": 1, "tariff": [0] * 4}
    instance = parse_instance(
        {
            "format": "ratiobench/lora/1",
            "name": "two tasks",
            "slots": 4,
            "slot_seconds": 600,
            "base_memory_mb": 1,
            "node_types": [node | {"name": "a"}, node | {"name": "b"}],
            "tasks": [
                task | {"arrival": 1, "work": 2, "rate": [2, 0], "vendors": [{"price": 1, "delay": 1}]},
                task | {"arrival": 3, "work": 4, "rate": [4, 4], "vendors": []},
            ],
        }
    )
    solution = (decision, Decision(None, ((0, 3),)))
    assert check(instance, solution).valid == (not problem)
    if problem:
        with pytest.raises(Wrong, match=f"^{re.escape(problem)}$"):
            welfare(instance, solution)
    else:
        assert welfare(instance, solution) == check(instance, solution).welfare == 17


def test_what_would_take_the_checker_for_ever_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many amounts of remaining work, classes or patterns; the limits stand far above the benchmark's instances."""
    instance = named("tiny_contention")
    document = claimed(instance)
    with monkeypatch.context() as lowered:
        lowered.setattr(checker, "AMOUNTS_LIMIT", 1)
        assert "amounts of remaining work, too many to check" in verify(instance, document).problem
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
    with pytest.raises(Wrong, match=r"^classes: too many patterns to check$"):
        checker._maximal_patterns([(2**15, 1), (1, 2), (1, 1)], 2**40, 2**40, Steps(1))


def test_small_files_do_not_keep_the_checker_busy_for_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """16 KB of instance and 40 KB of certificate that would take 2,400,000,000 steps; the refusal says the numbers."""
    slots = 4_000
    node = {"count": 1, "compute": 500, "memory_mb": 9, "tariff": [0] * slots}
    task = {"arrival": 1, "deadline": slots, "memory_mb": 1, "work": 300_000, "bid": 5, "rate": [1, 499]}
    instance = parse_instance(
        {
            "format": "ratiobench/lora/1",
            "name": "long",
            "slots": slots,
            "slot_seconds": 1,
            "base_memory_mb": 1,
            "node_types": [node | {"name": "a"}, node | {"name": "b"}],
            "tasks": [task | {"energy_wh": [0, 0], "vendors": []}],
        }
    )
    nothing = ((0,) * slots,) * 2
    proof = Certificate(content_hash(instance), 1, nothing, nothing, (), 5, 0, (None,))
    assert re.fullmatch(
        r"task 0: 2[34]\d{8} steps are needed and 19\d{8} of 2001000000 left: too many to check",
        verify(instance, certificates.document(proof)).problem,
    )
    short = instance_document(instance)
    short["tasks"][0]["work"] = slots * 499 + 1
    impossible = parse_instance(short)
    monkeypatch.setattr(checker, "AMOUNTS_LIMIT", 0)
    assert dual_bound(impossible, 1, nothing, nothing, ()) == 0  # no schedule can do it: no table is built


def test_steps_are_counted_over_tasks_and_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one task and what all classes take is taken from the same account."""
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
    code = "import sys, formulations.lora.verify; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    ours = {name for name in loaded if name.split(".")[0] in {"bench", "formulations", "instances", "online"}}
    own = {name for name in ours if not name.startswith("instances")}
    assert own == {
        "formulations",
        "formulations.lora",
        "formulations.lora.certificate",
        "formulations.lora.verify",
        "formulations.sealing",
    }
    instances = {name for name in ours if name.startswith("instances")}
    assert instances <= {
        "instances", "instances.errors", "instances.fields", "instances.files", "instances.lora",
        "instances.lora.format", "instances.lora.model", "instances.lora.solution",
    }  # fmt: skip
    assert not {"numba", "scipy", "highspy", "ortools", "pulp"} & set(loaded)


@pytest.mark.parametrize("name", [name for name in names() if name.startswith("tiny_")])
def test_small_instances_have_a_certificate_when_it_is_asked_for(name: str) -> None:
    """Enumeration needs no dual prices; asked for a certificate, the solve finds some, and its answer stays optimal."""
    instance = named(name)
    assert solve(instance, "enumerate").certificate is None
    report = solve(instance, "enumerate", certified=True)
    assert isinstance(report.certificate, Certificate)
    assert report.lower == report.upper == report.certificate.lower <= report.certificate.upper
    assert verify(instance, certificates.document(report.certificate)).valid


def test_a_bound_without_competition_is_certified_by_prices_of_zero() -> None:
    """Where the sum of what each task is worth alone is attained, so is the certificate's upper end."""
    report = solve(named("thm5_T5_3tasks"), "enumerate", certified=True)
    assert isinstance(report.certificate, Certificate)
    assert report.proof is Proof.TRIVIAL
    assert (report.certificate.lower, report.certificate.upper) == (312, 312)


def test_a_file_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    """Plain and gzipped; the same bytes every time."""
    found = solve(named("tiny_vendors"), "enumerate", certified=True).certificate
    assert isinstance(found, Certificate)
    contents = []
    for name in ("a.json", "b.json.gz", "c.json.gz"):
        certificates.write(found, tmp_path / name)
        assert certificates.read(tmp_path / name) == (found, seal(found))
        contents.append((tmp_path / name).read_bytes())
    assert contents[1] == contents[2]
    assert gzip.decompress(contents[1]) == contents[0]
    assert [each.name for each in sorted(tmp_path.iterdir())] == ["a.json", "b.json.gz", "c.json.gz"]


CLASS: Document = {"type": 0, "rate": 1, "memory_mb": 1, "price": [0]}
MALFORMED: list[tuple[Any, str]] = [
    ([], "document"),
    ({"format": "ratiobench/lora/1"}, "format"),
    ({"unit": 2.0}, "unit"),
    ({"unit": True}, "unit"),
    ({"unit": 0}, "unit"),
    ({"upper": None}, "upper"),
    ({"upper": 2**80}, "upper"),
    ({"lower": "5"}, "lower"),
    ({"lower": -1}, "lower"),
    ({"lam": 7}, "lam"),
    ({"lam": [7]}, "lam[0]"),
    ({"phi": [[0, 0.5]]}, "phi[0][1]"),
    ({"nu": []}, "nu"),
    ({"classes": {}}, "classes"),
    ({"classes": [[0, 1, 1, [0]]]}, "classes[0]"),
    ({"classes": [CLASS | {"type": "0"}]}, "classes[0].type"),
    ({"classes": [CLASS, CLASS | {"rate": 1.0}]}, "classes[1].rate"),
    ({"classes": [CLASS | {"memory_mb": 2**63}]}, "classes[0].memory_mb"),
    ({"classes": [CLASS | {"price": 1}]}, "classes[0].price"),
    ({"classes": [CLASS | {"price": [0, True]}]}, "classes[0].price[1]"),
    ({"classes": [CLASS | {"weight": 1}]}, "classes[0].weight"),
    ({"classes": [{key: CLASS[key] for key in ("type", "rate", "price")}]}, "classes[0].memory_mb"),
    ({"instance": "abc"}, "instance"),
    ({"sha256": 5}, "sha256"),
    ({"decisions": 5}, "decisions"),
    ({"decisions": [{"cells": []}]}, "decisions[0].vendor"),
    ({"extra": 1}, "extra"),
]


@pytest.mark.parametrize(("fields", "field"), MALFORMED, ids=[json.dumps(fields)[:40] for fields, _ in MALFORMED])
def test_what_is_no_certificate_is_unusable_input_in_one_line(
    fields: Any, field: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 2, the field is named, nothing on standard output."""
    document = claimed(named("tiny_vendors")) | fields if isinstance(fields, dict) else fields
    file = tmp_path / "certificate.json"
    file.write_text(json.dumps(document))
    assert main(["check", str(path("tiny_vendors")), "--certificate", str(file)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert f"{file}: {field}: " in captured.err


def test_opt_writes_a_certificate_that_check_accepts_and_refuses_once_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commands end to end on a contended trace: a dual, a schedule, a capacity, a bid."""
    file, proof = tmp_path / "instance.json", tmp_path / "proof.json.gz"
    recipe = {"kind": "paper", "name": "part", "seed": ["certificate"], "arrivals": {"trace": "helios"}}
    instance = generate(recipe | {"tasks": 40, "start": 60, "slots": 24, "quiet": 4, "nodes": {"a100": 1, "a40": 1}})
    file.write_text(json.dumps(instance_document(instance)))
    assert main(["opt", str(file), "--backend", "none", "--certificate", str(proof), "--json"]) == 0
    opt = json.loads(capsys.readouterr().out)
    assert opt["certified"] == {"lower": opt["lower"], "upper": opt["upper"]}
    assert 0 < opt["lower"] < opt["upper"]

    def said(instance_file: Path, certificate: Path) -> Any:
        assert main(["check", str(instance_file), "--certificate", str(certificate), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    good = {"valid": True, "lower": opt["lower"], "upper": opt["upper"], "problem": None}
    assert said(file, proof) == good
    assert main(["check", str(file), "--certificate", str(proof)]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"valid\nOPT in [{opt['lower']:,}, {opt['upper']:,}] micro-dollars, gap ")

    document = load_json(proof.read_bytes(), "")
    for field in ("lam", "decisions"):
        changed = copy.deepcopy(document)
        if field == "lam":
            changed["lam"][0][12] += 1
        else:
            changed["decisions"][next(i for i, each in enumerate(changed["decisions"]) if each)] = None
        (tmp_path / "changed.json").write_text(json.dumps(changed))
        assert said(file, tmp_path / "changed.json")["valid"] is False
        assert main(["check", str(file), "--certificate", str(tmp_path / "changed.json")]) == 0
        assert capsys.readouterr().out.startswith("NOT VALID\n")
    for field in ("compute", "bid"):
        other = instance_document(instance)
        (other["node_types"] if field == "compute" else other["tasks"])[0][field] += 1
        (tmp_path / "other.json").write_text(json.dumps(other))
        verdict = said(tmp_path / "other.json", proof)
        assert (verdict["valid"], verdict["problem"]) == (False, "the certificate is about another instance")


def test_opt_says_when_its_certificate_proves_less_than_its_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A bound by enumeration or by a solver in floating point cannot be certified, the Lagrangian one can."""
    proof = tmp_path / "proof.json"
    command = ["opt", str(path("tiny_contention")), "--formulation", "enumerate", "--certificate", str(proof)]
    assert main(command) == 0
    upper = json.loads(proof.read_text())["upper"]
    line = f"the certificate proves no more than {upper:,}: a bound by enumeration cannot be certified"
    assert line in capsys.readouterr().out.splitlines()
    assert main(["check", str(path("tiny_contention")), "--certificate", str(proof)]) == 0
    assert f"{upper:,}] micro-dollars" in capsys.readouterr().out


def test_a_family_without_certificates_works_and_says_so_when_one_is_asked_for(
    toy: None,  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`opt` and `check` as ever; with --certificate status 2, one line, no file."""
    file = tmp_path / "toy.json"
    file.write_text(FAMILY.dumps(FAMILY.generate({"seed": 1, "size": 8, "room": 3})))
    assert families()["toy"].certificates is None
    assert families()["lora"].certificates is not None
    assert main(["opt", str(file), "--json"]) == 0
    assert "certified" not in json.loads(capsys.readouterr().out)
    missing = str(tmp_path / "certificate.json")
    assert main(["opt", str(file), "--certificate", missing]) == 2
    assert main(["check", str(file), "--certificate", str(file)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("the family toy has no certificates\n") == 2
    assert not Path(missing).exists()


def test_an_instance_too_large_for_dual_prices_gives_its_interval_and_says_that_no_certificate_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 1: what was asked for is not there; the answer is printed all the same."""
    report = replace(solve(named("tiny_vendors"), "enumerate"), message="lagrangian: too large")
    assert report.termination is Termination.NONE
    monkeypatch.setattr("formulations.lora.solve.solve", lambda *_, **__: report)
    proof = tmp_path / "proof.json"
    assert main(["opt", str(path("tiny_vendors")), "--certificate", str(proof)]) == 1
    captured = capsys.readouterr()
    assert f"OPT = {report.upper:,}" in captured.out
    assert "lagrangian: too large" in captured.out
    assert captured.err == f"ratiobench: {proof}: not written, no certificate was found\n"
    assert not proof.exists()


def test_check_takes_a_solution_or_a_certificate(capsys: pytest.CaptureFixture[str]) -> None:
    """One of the two, and standard input for one file at most."""
    file = str(path("tiny_vendors"))
    for arguments in (["check", file], ["check", file, "a.json", "--certificate", "b.json"]):
        with pytest.raises(SystemExit) as exit_:
            main(arguments)
        assert exit_.value.code == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert main(["check", "-", "--certificate", "-"]) == 2
