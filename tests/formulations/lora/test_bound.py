"""The bound of a certificate: it contains the optimum, and is the dual value by enumeration and by the optimiser."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.formulations.lora import verify as checker
from ratiobench.formulations.lora.bound.lagrangian import Capacity
from ratiobench.formulations.lora.bound.pricing import Pricer, pool
from ratiobench.formulations.lora.certificate import Certificate, ClassPrice
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.formulations.lora.verify import Steps, verify
from ratiobench.instances.lora import Instance
from ratiobench.instances.lora.generate import generate
from ratiobench.instances.lora.named import named
from tests.support.certificates import (
    checked_bound,
    claimed,
    classes_of,
    dual_by_enumeration,
    instances,
    patterns,
    proofs,
)
from tests.support.samples import samples


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
    enough = {"two types": 5, "three types": 5, "vendors": 5, "negative tariff": 5, "negative cost": 5}
    enough |= {"rate 0": 5, "prices of classes": 10, "several classes": 5, "gap": 2}  # examples may be drawn anew
    few = {name: seen[name] for name, number in enough.items() if seen[name] < number}
    assert not few


@settings(max_examples=samples(300))
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


@settings(max_examples=samples(300))
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
    listed = checker._maximal_patterns(sizes, compute, room, Steps(1))
    assert sorted(map(tuple, listed.tolist())) == sorted(maximal)
    price = data.draw(st.lists(st.tuples(*[st.integers(0, top)] * len(sizes)), min_size=1, max_size=3))
    classes = [ClassPrice(0, *size, tuple(line[c] for line in price)) for c, size in enumerate(sizes)]
    best = sum(max(sum(n * p for n, p in zip(count, line, strict=True)) for count in fitting) for line in price)
    assert checker._patterns_worth(classes, listed, None, Steps(1)) == best
    # With no more cells of a class than there are tasks for it.
    most = data.draw(st.lists(st.tuples(*[st.integers(0, 3)] * len(sizes)), min_size=len(price), max_size=len(price)))
    best = sum(
        max(sum(min(n, m) * p for n, m, p in zip(count, caps, line, strict=True)) for count in fitting)
        for caps, line in zip(most, price, strict=True)
    )
    present = {each[:3]: np.array([caps[c] for caps in most]) for c, each in enumerate(classes)}
    assert checker._patterns_worth(classes, listed, present, Steps(1)) == best


def optimisers(instance: Instance, rent: Any, lam: Any, phi: Any, listed: Sequence[bool]) -> tuple[int, Certificate]:
    """The optimiser's bound at prices in micro-dollars, and its integer prices as a certificate.

    `rent`: (C, T) per cell; lam, phi : (G, T) per sample and MB.
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


@settings(max_examples=samples(300))
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
