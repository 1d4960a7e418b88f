"""The search over amounts of work, for tasks with too many count vectors: the schedule that the other search finds."""

import math
from collections import Counter
from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ratiobench.online.lora.run import run as play
from ratiobench.online.lora.search import additive
from tests.support.lora_documents import make_instance, make_node
from tests.support.samples import samples

Case = tuple[Any, ...]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A task on three or four types with nodes of whole prices, and vendors."""
    types = draw(st.integers(3, 4))
    counts = draw(st.lists(st.integers(1, 2), min_size=types, max_size=types))
    slots = draw(st.integers(3, 7))
    unit = draw(st.integers(1, 3))
    rate = np.array(draw(st.lists(st.integers(1, 6), min_size=types, max_size=types)), np.int64) * unit
    work = draw(st.integers(1, 25))
    first_node = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    nodes = int(first_node[-1])

    def numbers(low: int, high: int, *shape: int) -> np.ndarray:
        size = int(np.prod(shape))
        return np.array(draw(st.lists(st.integers(low, high), min_size=size, max_size=size))).reshape(shape)

    dear = draw(st.integers(0, 2))  # with few different prices many schedules cost the same
    lam, phi = (numbers(0, dear, nodes, slots).astype(np.float64) for _ in range(2))
    compute, memory = numbers(0, 20, nodes, slots).astype(np.int64), np.full((nodes, slots), 9, np.int64)
    capacity = np.array([[20] * types, [9] * types], np.int64)
    cost = numbers(-dear, dear, types, slots).astype(np.int64)
    starts = np.array(sorted(draw(st.lists(st.integers(1, slots), min_size=1, max_size=2))), np.int64)
    prices = numbers(0, 3, len(starts)).astype(np.int64)
    load = (1, work, slots)
    return lam, phi, compute, memory, True, (first_node, capacity), load, rate, cost, starts, prices


@given(cases())
@settings(max_examples=samples(200), suppress_health_check=[HealthCheck.filter_too_much])
def test_both_searches_find_the_same_schedule(case: Case) -> None:
    """Costs are whole, so sums are exact; negative ones too. Count vectors are above the limit, amounts are not."""
    _, _, _, _, _, _, (_, work, slots), rate, _, starts, _ = case
    width = slots + 1 - min(starts)
    caps = [min(width, -(-work // each)) + 1 for each in sorted(rate.tolist())[1:]]
    amounts = -(-work // math.gcd(*rate.tolist())) + 1
    assume(amounts < math.prod(caps))
    by_counts = additive.cheapest_schedule(*case, 10**6)
    found = additive.cheapest_schedule(*case, amounts)
    assert found[:2] == by_counts[:2]
    assert found[2].tolist() == by_counts[2].tolist()
    assert found[3:] == by_counts[3:]
    assert additive.cheapest_schedule(*case, amounts - 1)[1] in (-2, -1)


def test_minutes_on_three_types_of_nodes() -> None:
    """A job of eighteen hours in its window of twenty: greedy has the cheapest schedule."""
    rates = [1200, 960, 600]
    task = {"work": 1200 * 1080, "bid": 10**9, "rate": rates, "energy_wh": [3, 2, 1]}
    instance = make_instance(1200, [make_node(rate, 9, tariff=[1] * 1200) for rate in rates], [task])
    run = play(instance, "greedy")
    assert run.valid
    assert run.decisions[0] is not None
    # 1.0 x + 0.8 y + 0.5 z >= 1080 with x + y + z <= 1200 at 3 x + 2 y + z, the least there is.
    used = Counter(node for node, _ in run.decisions[0].cells)
    assert 3 * used[0] + 2 * used[1] + used[2] == min(
        3 * x + 2 * y + z
        for x in range(1201)
        for y in range(1201 - x)
        for z in [max(0, -(-(1080 * 1200 - 1200 * x - 960 * y) // 600))]
        if x + y + z <= 1200
    )
