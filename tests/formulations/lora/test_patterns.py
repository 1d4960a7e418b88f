"""Patterns, mixtures and packings against brute force and against a linear programme solved by HiGHS."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.formulations.backends import Limits
from ratiobench.formulations.backends import solve as solve_linear
from ratiobench.formulations.linear import LinearModel
from ratiobench.formulations.lora.bound.lagrangian import Capacity, dual_bound
from ratiobench.formulations.lora.bound.patterns import (
    ACTIVE,
    CLASSES,
    maximal_patterns,
    node_patterns,
    node_values,
    supplies,
)
from ratiobench.formulations.lora.bound.pricing import Pricer, pool
from ratiobench.formulations.lora.heuristic.packing import FILLS, REFILLS, fractional_packing, pack_nodes
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.formulations.report import Termination
from ratiobench.instances.lora import Instance
from ratiobench.instances.lora import parse as parse_instance
from tests.support.kernels import callable_kernel
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_documents, tiny_instances

packed, packed_fractionally = callable_kernel(pack_nodes), callable_kernel(fractional_packing)
SIZES = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=4)
Sizes = list[tuple[int, int]]


def arrays(sizes: Sizes) -> tuple[Any, Any]:
    """Rates and memories as the kernels take them."""
    rate, memory = np.array(sizes, dtype=np.int64).T
    return np.ascontiguousarray(rate), np.ascontiguousarray(memory)


def listed(sizes: Sizes, compute: int, room: int) -> Any:
    """Maximal patterns; there are few here."""
    found = maximal_patterns(*arrays(sizes), compute, room)
    assert found is not None
    return found


def fitting(sizes: Sizes, compute: int, room: int) -> list[tuple[int, ...]]:
    """All counts that fit on a node, maximal or not, from all counts that fit one class at a time."""
    ranges = [range(min(compute // s, room // r) + 1) for s, r in sizes]
    return [
        count
        for count in product(*ranges)
        if sum(n * s for n, (s, _) in zip(count, sizes, strict=True)) <= compute
        and sum(n * r for n, (_, r) in zip(count, sizes, strict=True)) <= room
    ]


@st.composite
def nodes_with_room(draw: st.DrawFn, largest: int = 20) -> tuple[Sizes, int, int]:
    """Classes and a node that holds at least one cell of each."""
    sizes = draw(SIZES)
    compute = draw(st.integers(max(s for s, _ in sizes), largest))
    return sizes, compute, draw(st.integers(max(r for _, r in sizes), largest))


@settings(max_examples=samples(300))
@given(SIZES, st.integers(1, 16), st.integers(1, 16))
def test_the_maximal_patterns_are_those_of_all_counts_that_leave_no_room(sizes: Sizes, compute: int, room: int) -> None:
    """Each once; classes too large for the node, and classes that are alike, among them."""
    known = set(fitting(sizes, compute, room))
    maximal = [
        count
        for count in known
        if not any((*count[:c], count[c] + 1, *count[c + 1 :]) in known for c in range(len(sizes)))
    ]
    assert sorted(map(tuple, listed(sizes, compute, room).tolist())) == sorted(maximal)


def test_types_with_no_classes_or_too_many_patterns_have_none() -> None:
    """The search ends at its limits instead of listing millions."""
    none = np.zeros(0, np.int64)
    assert maximal_patterns(none, none, 5, 5) is None
    one = np.ones(CLASSES + 1, np.int64)
    assert maximal_patterns(one, one, 1, 1) is None
    assert listed([(1, 1)] * CLASSES, 1, 1).shape == (CLASSES, CLASSES)
    assert maximal_patterns(one[:6], one[:6], 60, 60) is None


@settings(max_examples=samples(60))
@given(instance=tiny_instances())
def test_every_type_of_a_small_instance_lists_the_patterns_of_its_own_classes(instance: Instance) -> None:
    """The classes are the cells that some task can run in, in order; types without such a task have no patterns."""
    tasks = pool(instance)
    found = node_patterns(tasks)
    for g, each in enumerate(found):
        own = np.flatnonzero(tasks.class_kind == g)
        if each is None:
            assert len(own) == 0
            continue
        assert list(range(each.first, each.last)) == own.tolist()
        sizes = list(zip(tasks.class_rate[own].tolist(), tasks.class_memory[own].tolist(), strict=True))
        assert len(set(sizes)) == len(sizes)
        node = instance.node_types[g]
        room = node.memory_mb - instance.base_memory_mb
        assert set(map(tuple, each.cells.tolist())) <= set(fitting(sizes, node.compute, room))


@settings(max_examples=samples(200))
@given(nodes_with_room(), st.integers(1, 2**50), st.data())
def test_a_nodes_value_is_exact_and_no_count_that_fits_earns_more(
    node: tuple[Sizes, int, int], top: int, data: st.DataObject
) -> None:
    """Integer prices beyond what doubles hold, against all counts that fit."""
    sizes, compute, room = node
    slots = data.draw(st.integers(1, 3))
    rows = [data.draw(st.lists(st.integers(0, top), min_size=slots, max_size=slots)) for _ in sizes]
    values = node_values(listed(sizes, compute, room), np.array(rows, dtype=np.int64))
    known = fitting(sizes, compute, room)
    for t in range(slots):
        assert int(values[t]) == max(sum(n * row[t] for n, row in zip(count, rows, strict=True)) for count in known)


@settings(max_examples=samples(200))
@given(nodes_with_room(), st.integers(0, 2**32), st.integers(0, 3), st.sampled_from([0.003, 0.1, 1.0]))
def test_a_mixture_follows_the_demand_and_stays_within_its_nodes(
    node: tuple[Sizes, int, int], seed: int, idle: int, penalty: float
) -> None:
    """Masses are not negative and sum to the nodes, the supply is theirs, and no step raises the penalty."""
    sizes, compute, room = node
    random = np.random.default_rng(seed)
    slots, classes = 3, len(sizes)
    count = listed(sizes, compute, room)
    share = np.array([max(s / compute, r / room) for s, r in sizes])
    nodes = random.uniform(0.5, 9.0, slots)
    price = random.exponential(1.0, (classes, slots)) * (random.random((classes, slots)) < 0.8)
    used = random.exponential(4.0, (classes, slots)) * (random.random((classes, slots)) < 0.8)
    index = np.full((slots, ACTIVE), -1, np.int64)
    mass = np.zeros((slots, ACTIVE))
    limit = np.zeros((classes, slots))

    def step(steps: int) -> Any:
        supplies(count, share, nodes, price, used, penalty, steps, index, mass, limit)
        assert (mass >= 0.0).all()
        assert (mass[index < 0] == 0.0).all()
        assert mass.sum(axis=1) == pytest.approx(nodes, rel=1e-9)
        for t in range(slots):
            there = index[t][index[t] >= 0]
            assert len(set(there.tolist())) == len(there)
            supply = share * (mass[t][index[t] >= 0][:, None] * count[there]).sum(axis=0)
            assert limit[:, t] == pytest.approx(supply, rel=1e-9, abs=1e-12)
        return (np.maximum(0.0, price + penalty * (used - limit)) ** 2).sum(axis=0)

    before = step(1)
    for _ in range(6 + 10 * idle):
        after = step(1)
        assert (after <= before * (1 + 1e-9) + 1e-12).all()
        before = after
    # More nodes, other demand: the mixture grows with them, and goes on from there.
    nodes *= random.uniform(0.5, 2.0)
    used[:] = random.exponential(4.0, used.shape)
    before = step(0)
    assert (step(5) <= before * (1 + 1e-9) + 1e-12).all()


@settings(max_examples=samples(60))
@given(nodes_with_room(12), st.integers(0, 2**32))
def test_a_mixture_ends_where_no_other_pattern_would_do_better(node: tuple[Sizes, int, int], seed: int) -> None:
    """The penalty is convex: at its least, what the best pattern earns is what those of the mixture earn on average."""
    sizes, compute, room = node
    random = np.random.default_rng(seed)
    count = listed(sizes, compute, room)
    share = np.array([max(s / compute, r / room) for s, r in sizes])
    classes = len(sizes)
    nodes = np.array([random.uniform(1.0, 6.0)])
    price, used = random.exponential(1.0, (classes, 1)), random.exponential(4.0, (classes, 1))
    index, mass, limit = np.full((1, ACTIVE), -1, np.int64), np.zeros((1, ACTIVE)), np.zeros((classes, 1))
    supplies(count, share, nodes, price, used, 0.3, 2_000, index, mass, limit)
    worth = share * np.maximum(0.0, price + 0.3 * (used - limit))[:, 0]
    best = float((count @ worth).max())
    there = index[0] >= 0
    earned = float((mass[0][there] * (count[index[0][there]] @ worth)).sum() / nodes[0])
    assert earned == pytest.approx(best, rel=0.01, abs=1e-9)


@settings(max_examples=samples(200))
@given(
    nodes_with_room(), st.booleans(), st.integers(1, 8), st.sampled_from([(FILLS, REFILLS), (4, 0)]),
    st.integers(0, 2**32), st.data(),
)  # fmt: skip
def test_a_packing_overfills_no_node_and_places_or_returns_every_cell(
    node: tuple[Sizes, int, int], patterns: bool, nodes: int, effort: tuple[int, int], seed: int, data: st.DataObject
) -> None:
    """With the type's maximal patterns and without them; a cell that is left over fits on no node in the end.

    Without refillings it may: whole patterns that the demand cuts short are not looked at again (52 of 187,000 tries).
    """
    sizes, compute, room = node
    rate, memory = arrays(sizes)
    demand = np.array([data.draw(st.integers(0, 12)) for _ in sizes], dtype=np.int64)
    value = np.random.default_rng(seed).exponential(1.0, len(sizes)) + 1e-3
    count = listed(sizes, compute, room).astype(np.float64) if patterns else np.zeros((0, len(sizes)))
    take = np.full((nodes, len(sizes)), 7, np.int64)
    wanted = demand.copy()
    left = packed(
        count, rate, memory, value, demand, compute, room, nodes, np.array([seed + 1], np.uint64), take, *effort
    )
    assert (demand == wanted).all()
    assert (take >= 0).all()
    assert (left >= 0).all()
    assert (left + take.sum(axis=0) == demand).all()
    assert (take @ rate <= compute).all()
    assert (take @ memory <= room).all()
    # A cell is left over only where nodes are short: no node has room for one that is.
    for c in np.flatnonzero(left) if effort[1] else ():
        assert not ((take @ rate + rate[c] <= compute) & (take @ memory + memory[c] <= room)).any()


def fewest_nodes(patterns: Any, demand: Any) -> float:
    """min sum_a y_a with sum_a y_a n_a >= demand, y >= 0, by HiGHS."""
    count, classes = patterns.shape
    result = solve_linear(
        "highs",
        LinearModel(
            name="packing",
            objective=np.full(count, -1.0),
            lower=np.zeros(count),
            upper=np.full(count, 1e6),
            integer=np.zeros(count, np.bool_),
            row_start=np.arange(classes + 1, dtype=np.int64) * count,
            index=np.tile(np.arange(count, dtype=np.int64), classes),
            value=patterns.T.reshape(-1).astype(np.float64),
            row_lower=demand.astype(np.float64),
            row_upper=np.full(classes, np.inf),
            columns=tuple(f"y_{a}" for a in range(count)),
            rows=tuple(f"class_{c}" for c in range(classes)),
        ),
        Limits(),
    )
    assert result.termination is Termination.OPTIMAL
    assert result.values is not None
    return float(result.values.sum())


@settings(max_examples=samples(100))
@given(nodes_with_room(14), st.data())
def test_the_fractional_packing_is_that_of_the_linear_programme(
    node: tuple[Sizes, int, int], data: st.DataObject
) -> None:
    """It holds the demand; its weights price no pattern above a node and the demand at what it takes; HiGHS agrees."""
    sizes, compute, room = node
    patterns = listed(sizes, compute, room).astype(np.float64)
    demand = np.array([data.draw(st.integers(0, 30)) for _ in sizes], dtype=np.float64)
    weight, level = np.empty(len(sizes)), np.empty(len(sizes))
    column = np.empty(len(sizes), np.int64)
    packed_fractionally(patterns, demand, weight, column, level)
    assert (level >= -1e-9).all()
    assert (weight >= -1e-6).all()
    assert (patterns @ weight <= 1 + 1e-6).all()
    basic = column >= 0
    held = (level[basic][:, None] * patterns[column[basic]]).sum(axis=0)
    assert (held >= demand - 1e-6).all()
    taken = float(level[basic].sum())
    assert taken == pytest.approx(float(weight @ demand), rel=1e-6, abs=1e-6)
    assert taken == pytest.approx(fewest_nodes(patterns, demand), rel=1e-6, abs=1e-6)


@st.composite
def crowded_instances(draw: st.DrawFn) -> Instance:
    """Tiny instances whose tasks stand twice and pay for any cost."""
    document = draw(tiny_documents(max_tasks=3, max_slots=3))
    document["tasks"] = [task for task in document["tasks"] for _ in range(2)]
    for task in document["tasks"]:
        task["bid"] += 20
    return parse_instance(document)


@settings(max_examples=samples(150))
@given(st.booleans().flatmap(lambda crowded: crowded_instances() if crowded else tiny_instances()), st.data())
def test_the_bound_is_never_below_the_optimum(instance: Instance, data: st.DataObject) -> None:
    """By brute force: at the prices found, and at random ones for types with their patterns and types without."""
    tasks = pool(instance)
    pricer = Pricer(tasks)
    optimum, _ = enumerate_optimum(instance)
    assert optimum <= dual_bound(pricer).upper
    capacity = Capacity(tasks)
    capacity.patterns = tuple(each if data.draw(st.booleans()) else None for each in capacity.patterns)
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    scale = data.draw(st.sampled_from([0.0, 0.3, 3.0]))
    rent = random.exponential(scale, (len(tasks.class_kind), instance.slots))
    lam, phi = random.exponential(scale, (2, len(instance.node_types), instance.slots))
    found = capacity.proved(pricer, rent, lam, phi)
    assert optimum <= found.upper
    paid = found.rent
    whole = pricer.floats(paid).surplus.sum() + capacity.value(paid, found.lam / found.unit, found.phi / found.unit)
    assert found.upper == pytest.approx(float(whole), rel=1e-9, abs=1.0)
