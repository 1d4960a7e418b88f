"""Batches on residual capacities: best sets of single nodes, packings, bounds and relaxations, against enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.formulations.backends import installed_version, solve
from ratiobench.formulations.lora import batch, exhaustive_search
from ratiobench.formulations.lora.batch import packed_slot, solve_batch
from ratiobench.formulations.lora.bound import pricing, residual
from ratiobench.formulations.lora.bound.pricing import Pricer, pool
from ratiobench.formulations.lora.bound.residual import Residual, best_fill, residual_bound
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.exhaustive_search import search_exhaustively
from ratiobench.formulations.lora.heuristic import improve, insertion
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.formulations.lora.models.pooled import relaxed_model
from ratiobench.instances.lora import Instance, parse
from ratiobench.instances.lora.format import FORMAT
from ratiobench.instances.lora.named import named
from ratiobench.online.lora.run import ENVIRONMENT, run
from tests.support.kernels import callable_kernel
from tests.support.samples import samples
from tests.support.strategies.lora import tiny_instances

best_fill_of = callable_kernel(best_fill)
few = st.integers(1, 9)
rows = st.lists(st.tuples(few, few, few, st.integers(0, 3)), min_size=1, max_size=4)


def _columns(rows: list[tuple[int, ...]]) -> list[np.ndarray]:
    return [np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)]


@given(rows=rows, room=st.integers(0, 20), room_mb=st.integers(0, 20))
def test_a_node_s_best_set_is_the_best(rows: list[tuple[int, int, int, int]], room: int, room_mb: int) -> None:
    """Against every count of every class; with no steps at all it is a bound from above."""
    rent, rate, memory, most = _columns(rows)
    best = 0
    for counts in product(*(range(n + 1) for n in most.tolist())):
        if np.dot(counts, rate) <= room and np.dot(counts, memory) <= room_mb:
            best = max(best, int(np.dot(counts, rent)))
    assert best_fill_of(rent, rate, memory, most, room, room_mb, 10_000) == best
    assert best_fill_of(rent, rate, memory, most, room, room_mb, 0) >= best


@given(
    sizes=st.lists(st.tuples(few, few), min_size=1, max_size=6),
    nodes=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=3),
)
def test_a_slot_packs_where_it_can(sizes: list[tuple[int, int]], nodes: list[tuple[int, int]]) -> None:
    """A node for every cell exactly where some assignment has room; what is assigned always fits."""
    rate, memory = _columns(sizes)
    free, free_mb = _columns(nodes)

    def fits(to: np.ndarray) -> bool:
        return all(rate[to == k].sum() <= free[k] and memory[to == k].sum() <= free_mb[k] for k in range(len(free)))

    found = packed_slot(rate, memory, free, free_mb, 1_000_000)
    assert fits(found)
    possible = any(fits(np.array(to)) for to in product(range(len(free)), repeat=len(rate)))
    assert bool((found >= 0).all()) == possible


def _empty(instance: Instance) -> tuple[np.ndarray, np.ndarray]:
    public = instance.public("")
    types = public.type_of_node
    shape = (instance.nodes, instance.slots)
    return tuple(np.broadcast_to(each[types][:, None], shape).copy() for each in (public.compute, public.memory_mb))  # type: ignore[return-value]


def _without_vendors(instance: Instance) -> bool:
    return not len(instance.vendor_price)


@settings(max_examples=samples(80), deadline=None)
@given(instance=tiny_instances(max_nodes=3, max_slots=4).filter(_without_vendors))
def test_bound_and_programs_enclose_the_optimum(instance: Instance) -> None:
    """On empty nodes a batch is the instance: the dual bound, the pooled program and the exact one, by enumeration."""
    best, _ = enumerate_optimum(instance)
    free, free_mb = _empty(instance)
    answer = solve_batch(instance, free, free_mb)
    assert answer.lower == best
    assert answer.upper >= best
    p = pool(instance)
    if not p.tasks:
        return
    capacity = Residual(p, free, free_mb)
    bound = residual_bound(Pricer(p, parallel=False), capacity)
    assert bound.upper >= best
    everywhere = set(product(range(len(p.nodes)), range(instance.slots)))
    for apart, exact in ((set(), False), (everywhere, True)):
        model = relaxed_model(capacity, bound, apart).model
        result = solve("highs", model)
        assert result.bound is not None
        assert result.bound >= best - 1e-6
        assert not exact or abs(result.bound - best) < 1e-6


@settings(max_examples=samples(150), deadline=None)
@given(instance=tiny_instances(max_nodes=3, max_slots=4).filter(_without_vendors))
def test_looking_at_everything_finds_the_optimum(instance: Instance) -> None:
    best, _ = enumerate_optimum(instance)
    free, free_mb = _empty(instance)
    value, solution = search_exhaustively(instance, range(instance.tasks), free, free_mb, 0)
    assert value == best
    if best:
        told = check(instance, solution)
        assert (told.valid, told.welfare) == (True, best)
    assert search_exhaustively(instance, range(instance.tasks), free, free_mb, best) == (best, None)


def test_looking_at_everything_stops_where_there_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """By steps, by tasks and by slots: nothing is known then."""
    instance = named("tiny_contention")
    state = _empty(instance)
    assert search_exhaustively(instance, range(instance.tasks), *state, 0) is not None
    monkeypatch.setattr(exhaustive_search, "STEPS", 50)
    assert search_exhaustively(instance, range(instance.tasks), *state, 0) is None
    monkeypatch.undo()
    monkeypatch.setattr(exhaustive_search, "DEPTH", 2)
    assert search_exhaustively(instance, range(instance.tasks), *state, 0) is None


def test_large_numbers_make_no_tiny_batch_modest(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver compares doubles, so that its bound on rows of large numbers stays above the best answer to two tasks.

    Without the look at everything the answer is the same, and said to be at a limit.
    """
    node = {"name": "n", "count": 1, "compute": 402_653_187, "memory_mb": 167_772_164, "tariff": [1]}
    rows = [(81_570_696, 41_141_837, 23, 50_401_878, 0), (166_106_341, 172_732_998, 11, 399_667_132, 2)]
    tasks = [
        {"arrival": 1, "deadline": 1, "memory_mb": memory, "work": work, "bid": bid, "rate": [rate],
         "energy_wh": [energy], "vendors": []}
        for memory, work, bid, rate, energy in rows
    ]  # fmt: skip
    head = {"format": FORMAT, "name": "large", "slots": 1, "slot_seconds": 600, "base_memory_mb": 3}
    instance = parse({**head, "node_types": [node], "tasks": tasks})
    result = run(instance, "titan")
    highs = f"(HiGHS {installed_version('highs')})"
    assert (result.label, result.welfare) == (f"titan {highs}", 23)
    monkeypatch.setattr(batch._Batch, "_see_all", lambda self: None)
    modest = run(instance, "titan")
    assert (modest.label, modest.welfare) == (f"titan (at limit 1 of 1, gap 15 %) {highs}", 23)


def test_nothing_is_compiled_once_it_is_warm() -> None:
    """Kernels have one signature each, whatever the batch: compiling is in no algorithm's seconds."""

    def signatures() -> dict[str, int]:
        kernels = [
            value for module in (batch, residual, insertion, improve, pricing) for value in vars(module).values()
        ]
        return {each.__name__: len(each.signatures) for each in kernels if hasattr(each, "signatures")}

    batch.warm(ENVIRONMENT.small())
    warm = signatures()
    for name in ("tiny_contention", "tiny_vendors", "tiny_two_types"):
        run(named(name), "titan")
    assert signatures() == warm
