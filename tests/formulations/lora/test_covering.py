"""The schedule space of a task against enumeration: cheapest covers, minimal covers, count vectors."""

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ratiobench.formulations.lora.covering.schedules import (
    StateSpaceTooLarge,
    cheapest_cover,
    minimal_covers,
    space,
    standalone_value,
    states,
)
from ratiobench.instances.io.fields import LIMIT
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora.model import Instance, IntArray, Public, Task
from tests.support.literal import Cells, schedules
from tests.support.lora_documents import make_instance, make_node
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances

SEEDS = st.integers(0, 2**20)


def _prices(public: Public, seed: int, low: int, high: int) -> tuple[IntArray, NDArray[np.bool_], IntArray]:
    """Random cell costs per type and slot, cells closed at random (one in six), and a node of the type for each."""
    stream = Stream("test_schedules", seed)
    shape = (len(public.node_types), public.slots)
    size = shape[0] * shape[1]
    cost = stream.integers(low, high, size).reshape(shape)
    usable = stream.integers(1, 6, size).reshape(shape) > 1
    counts = np.array([node.count for node in public.node_types])[:, None]
    node = public.first_node[:-1, None] + stream.integers(0, 10**6, size).reshape(shape) % counts
    return cost, usable, node


def _cheapest_by_enumeration(
    task: Task, public: Public, cost: NDArray[Any], usable: NDArray[np.bool_], node: IntArray, unit: int
) -> tuple[Any, int, Cells] | None:
    types = public.type_of_node.tolist()
    graded = []
    for option, cells in schedules(task, public):
        if all(usable[types[k], t - 1] and node[types[k], t - 1] == k for k, t in cells):
            total = task.options[option].price * unit + sum(cost[types[k], t - 1].item() for k, t in cells)
            graded.append((total, option, len(cells), [(t, k) for k, t in cells]))
    if not graded:
        return None
    total, option, _, listed = min(graded)
    return total, option, tuple((k, t) for t, k in listed)


@settings(max_examples=samples(250))
@given(
    instance=tiny_instances(max_tasks=2),
    seed=SEEDS,
    ends=st.sampled_from([(-4, 3), (-1, 1), (0, 3), (0, 1), (0, 0)]),
    unit=st.sampled_from([1, 3]),
)
def test_the_cheapest_cover_is_the_first_of_the_enumerated(
    instance: Instance, seed: int, ends: tuple[int, int], unit: int
) -> None:
    """Cost, option and cells; costs tie often and may be negative, and every vendor stands there twice."""
    public = instance.public("")
    cost, usable, node = _prices(public, seed, *ends)
    for i in range(instance.tasks):
        task = replace(instance.task(i), vendors=instance.vendors(i) * 2)
        cover = cheapest_cover(task, public, cost, usable, node, unit)
        assert (None if cover is None else tuple(cover)) == _cheapest_by_enumeration(
            task, public, cost, usable, node, unit
        )


@settings(max_examples=samples(100))
@given(instance=tiny_instances(max_tasks=2), seed=SEEDS)
def test_costs_in_doubles_give_the_same_covers(instance: Instance, seed: int) -> None:
    """Eighths add up exactly in doubles, so nothing may differ from enumeration."""
    public = instance.public("")
    whole, usable, node = _prices(public, seed, -20, 60)
    cost = whole / 8.0
    for i in range(instance.tasks):
        task = instance.task(i)
        cover = cheapest_cover(task, public, cost, usable, node)
        assert (None if cover is None else tuple(cover)) == _cheapest_by_enumeration(
            task, public, cost, usable, node, 1
        )


@settings(max_examples=samples(150))
@given(instance=tiny_instances(max_tasks=2), every=st.booleans())
def test_minimal_covers_are_the_enumerated_ones(instance: Instance, every: bool) -> None:
    """Per option and count vector: S, n, slowest rate used, least and largest operational cost."""
    public = instance.public("")
    types = public.type_of_node.tolist()
    for i in range(instance.tasks):
        task = instance.task(i)
        wanted: defaultdict[tuple[int, tuple[int, ...]], list[int]] = defaultdict(list)
        for option, cells in schedules(task, public):
            rates = [int(task.rate[types[k]]) for k, _ in cells]
            if every or sum(rates) - min(rates) < task.work:
                used = [types[k] for k, _ in cells]
                counts = tuple(used.count(g) for g in range(len(public.node_types)))
                wanted[option, counts].append(sum(int(task.cost[types[k], t - 1]) for k, t in cells))
        expected = sorted(
            (
                option,
                task.options[option].price,
                sum(x * int(s) for x, s in zip(counts, task.rate, strict=True)),
                sum(counts),
                min(int(s) for x, s in zip(counts, task.rate, strict=True) if x),
                min(costs),
                max(costs),
            )
            for (option, counts), costs in wanted.items()
        )
        found = sorted(
            (menu.option, menu.price, *(int(column[j]) for column in menu[2:]))
            for menu in minimal_covers(task, public, every_cover=every)
            for j in range(len(menu.work))
        )
        assert found == expected


@settings(max_examples=samples(150))
@given(instance=tiny_instances(max_tasks=2))
def test_the_standalone_value_is_the_best_enumerated_one(instance: Instance) -> None:
    """Alone on an empty cluster; never below 0, which is rejecting."""
    public = instance.public("")
    types = public.type_of_node.tolist()
    for i in range(instance.tasks):
        task = instance.task(i)
        values = [
            task.bid - task.options[option].price - sum(int(task.cost[types[k], t - 1]) for k, t in cells)
            for option, cells in schedules(task, public)
        ]
        assert standalone_value(task, public) == max([0, *values])


@settings(max_examples=samples(150))
@given(
    rates=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    work=st.integers(1, 12),
    width=st.integers(1, 5),
    data=st.data(),
)
def test_count_vectors_are_those_that_can_matter(rates: list[int], work: int, width: int, data: st.DataObject) -> None:
    """Each once, the empty one first, with S, n and the places of its predecessors; nothing that matters is missing."""
    negative = data.draw(st.lists(st.integers(0, width), min_size=len(rates), max_size=len(rates)))
    x = states(np.array(rates), work, width, np.array(negative))
    counts = [tuple(row) for row in x.counts.tolist()]
    assert len(set(counts)) == len(counts)
    assert sum(counts[0]) == 0
    wanted = set()
    for code in np.ndindex(*([width + 1] * len(rates))):
        used = [s for s, n in zip(rates, code, strict=True) if n]
        total = sum(s * n for s, n in zip(rates, code, strict=True))
        short = not used or total < work + max(used)
        if sum(code) <= width and (short or all(n <= few for n, few in zip(code, negative, strict=True))):
            wanted.add(tuple(code))
    assert set(counts) == wanted
    for j, row in enumerate(counts):
        assert x.work[j] == sum(s * n for s, n in zip(rates, row, strict=True))
        assert x.cells[j] == sum(row)
        for g, n in enumerate(row):
            fewer = tuple(m - (h == g) for h, m in enumerate(row))
            assert (x.less[j, g] == -1) if n == 0 else (counts[x.less[j, g]] == fewer)


def test_the_lower_node_comes_first_also_across_types() -> None:
    """Rates 1 and 3, work 4, two slots at no cost: node 0 then node 1, not the other way round and not node 1 twice."""
    instance = make_instance(2, [make_node(3, 2)] * 2, [{"work": 4, "bid": 9, "rate": [1, 3]}])
    everywhere = np.ones((2, 2), np.bool_)
    first = np.array([[0, 0], [1, 1]])
    cover = cheapest_cover(instance.task(0), instance.public(""), np.zeros((2, 2), np.int64), everywhere, first)
    assert cover is not None
    assert cover.cells == ((0, 1), (1, 2))


def test_a_state_space_that_cannot_be_held_is_refused() -> None:
    """Six types and 40 slots would be thousands of millions of count vectors: an error, not a dead machine."""
    with pytest.raises(StateSpaceTooLarge, match=r"6 node types and 40 slots.*longer slots \(`import --slot 10m`"):
        states(np.arange(1, 7), 10**6, 40)


@settings(max_examples=samples(100))
@given(instance=tiny_instances(max_tasks=3))
def test_the_window_holds_exactly_the_usable_slots(instance: Instance) -> None:
    """Arrival plus delay to the deadline, both included; types with 0 < rate <= C_p and memory, if that is enough."""
    public = instance.public("")
    for i in range(instance.tasks):
        task = instance.task(i)
        menu = space(task, public)
        for n, option in enumerate(task.options):
            slots = set(range(menu.first + int(menu.offsets[n]), menu.last + 1))
            assert slots == set(range(option.first, task.deadline + 1))
        able = [
            g
            for g, node in enumerate(instance.node_types)
            if 0 < task.rate[g] <= node.compute and task.memory_mb + instance.base_memory_mb <= node.memory_mb
        ]
        if menu.width * max((int(task.rate[g]) for g in able), default=0) < task.work:
            able = []  # nobody can do the work in time
        assert menu.types.tolist() == able
        assert menu.rates.tolist() == [int(task.rate[g]) for g in able]


def test_enormous_values_stay_exact() -> None:
    """At the limits of the format (2^40 per cell cost, 2^40 rates) sums are those of Python's integers."""
    slots = 300
    fields = dict.fromkeys(("memory_mb", "work", "bid"), LIMIT) | {
        "rate": [LIMIT // 256, LIMIT // 256 + 1],
        "cost": [[LIMIT - t for t in range(slots)], [LIMIT] * slots],
        "vendors": [{"price": LIMIT, "delay": 0}],
    }
    instance = make_instance(slots, [make_node(LIMIT, LIMIT)] * 2, [fields])
    task, public = instance.task(0), instance.public("")
    everywhere = np.ones(task.cost.shape, np.bool_)
    cover = cheapest_cover(task, public, task.cost, everywhere, np.array([[0], [1]]) + np.zeros_like(task.cost))
    assert cover is not None
    last = sum(LIMIT - t for t in range(slots - 256, slots))
    assert cover.cost == LIMIT + last
    assert Fraction(cover.cost) == LIMIT + sum(int(task.cost[0, t - 1]) for _, t in cover.cells)
