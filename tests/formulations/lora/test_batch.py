"""Batches on residual capacities: best sets of single nodes, packings and bounds, against enumeration and CP-SAT."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ortools.sat.python import cp_model

from formulations.lora import batch, branch_and_price, exhaustive
from formulations.lora.batch import solve_batch
from formulations.lora.bound import pricing, residual, simplex
from formulations.lora.bound.pricing import Pricer, pool
from formulations.lora.bound.residual import Residual, best_fill, residual_bound
from formulations.lora.branch_and_price import packed_slot
from formulations.lora.check import check
from formulations.lora.exhaustive import exhausted
from formulations.lora.heuristic import improve, insertion
from formulations.lora.models.enumerate import enumerate_optimum
from instances.lora import Instance, parse
from instances.lora.format import FORMAT
from instances.lora.named import named
from instances.lora.solution import Solution
from instances.lora.strategies import tiny_instances
from instances.seeds import Stream
from online.lora.run import GAME, run

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
    cells = np.zeros(len(rent), dtype=np.int64)
    assert best_fill(rent, rate, memory, most, room, room_mb, 10_000, cells) == best == np.dot(cells, rent)
    assert np.dot(cells, rate) <= room
    assert np.dot(cells, memory) <= room_mb
    assert best_fill(rent, rate, memory, most, room, room_mb, 0, cells) >= best


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

    found, proved = packed_slot(rate, memory, free, free_mb, 1_000_000)
    assert fits(found)
    possible = any(fits(np.array(to)) for to in product(range(len(free)), repeat=len(rate)))
    assert bool((found >= 0).all()) == possible == (not proved)
    few, proved = packed_slot(rate, memory, free, free_mb, 0)
    assert fits(few)
    assert not proved or not possible


def _empty(instance: Instance) -> tuple[np.ndarray, np.ndarray]:
    public = instance.public("")
    types = public.type_of_node
    shape = (instance.nodes, instance.slots)
    return tuple(np.broadcast_to(each[types][:, None], shape).copy() for each in (public.compute, public.memory_mb))  # type: ignore[return-value]


def _without_vendors(instance: Instance) -> bool:
    return not len(instance.vendor_price)


@settings(max_examples=80, deadline=None)
@given(instance=tiny_instances(max_nodes=3, max_slots=4).filter(_without_vendors))
def test_bounds_enclose_the_optimum(instance: Instance) -> None:
    """On empty nodes a batch is the instance: the dual bound and the whole answer, against enumeration."""
    best, _ = enumerate_optimum(instance)
    free, free_mb = _empty(instance)
    answer = solve_batch(instance, free, free_mb)
    assert answer.lower == best
    assert answer.upper >= best
    p = pool(instance)
    if p.tasks:
        assert residual_bound(Pricer(p, parallel=False), Residual(p, free, free_mb)).upper >= best


def _batch(seed: int) -> tuple[Instance, np.ndarray, np.ndarray]:
    """Some ten tasks on a few nodes of two types of which others have taken a part; nothing is drawn outside."""
    stream = Stream("batch", seed)
    node_types = [
        {"name": f"n{g}", "count": 3, "compute": 20, "memory_mb": 30, "tariff": stream.integers(0, 3, 6).tolist()}
        for g in range(2)
    ]
    tasks = []
    for _ in range(12):
        first, last = sorted(stream.integers(1, 6, 2).tolist())
        rate = stream.integers(3, 11, 2).tolist()
        work = max(rate) * int(stream.integers(1, last - first + 1, 1)[0])
        bid = work * int(stream.integers(1, 4, 1)[0])
        energy = stream.integers(0, 2, 2).tolist()
        tasks.append(
            {"arrival": first, "deadline": last, "memory_mb": int(stream.integers(3, 15, 1)[0]), "work": work,
             "bid": bid, "rate": rate, "energy_wh": energy, "vendors": []}
        )  # fmt: skip
    tasks.sort(key=lambda task: task["arrival"])
    head = {"format": FORMAT, "name": f"batch {seed}", "slots": 6, "slot_seconds": 600, "base_memory_mb": 0}
    instance = parse({**head, "node_types": node_types, "tasks": tasks})
    free = stream.integers(0, 20, 36).reshape(6, 6)
    return instance, free, stream.integers(0, 30, 36).reshape(6, 6)


def _optimum(instance: Instance, free: np.ndarray, free_mb: np.ndarray) -> int:
    """The batch word by word for CP-SAT: one cell a slot at most, the work done, no node beyond what it has left."""
    model = cp_model.CpModel()
    types = instance.public("").type_of_node
    cells = {}
    value = []
    for i in range(instance.tasks):
        admitted = model.new_bool_var("")
        value.append(int(instance.bid[i]) * admitted)
        window = range(int(instance.arrival[i]), int(instance.deadline[i]) + 1)
        for k, t in product(range(instance.nodes), window):
            cells[i, k, t] = model.new_bool_var("")
            value.append(-int(instance.cost(i)[types[k], t - 1]) * cells[i, k, t])
        for t in window:
            model.add(sum(cells[i, k, t] for k in range(instance.nodes)) <= admitted)
        done = sum(int(instance.rate[i, types[k]]) * cells[i, k, t] for k, t in product(range(instance.nodes), window))
        model.add(done >= int(instance.work[i]) * admitted)
    for k, t in product(range(instance.nodes), range(1, instance.slots + 1)):
        mine = [(i, x) for (i, at, slot), x in cells.items() if (at, slot) == (k, t)]
        model.add(sum(int(instance.rate[i, types[k]]) * x for i, x in mine) <= int(free[k, t - 1]))
        model.add(sum(int(instance.memory_mb[i]) * x for i, x in mine) <= int(free_mb[k, t - 1]))
    model.maximize(sum(value))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.solve(model) == cp_model.OPTIMAL
    return round(solver.objective_value)


def _checked(instance: Instance, solution: Solution, free: np.ndarray, free_mb: np.ndarray) -> int:
    """The welfare of a solution that breaks nothing: the checker's word, and nodes only what they have left."""
    told = check(instance, solution)
    assert told.valid, told.violations
    types = instance.public("").type_of_node
    free, free_mb = free.copy(), free_mb.copy()
    for i, decision in enumerate(solution):
        for k, t in () if decision is None else decision.cells:
            free[k, t - 1] -= instance.rate[i, types[k]]
            free_mb[k, t - 1] -= instance.memory_mb[i]
    assert min(free.min(), free_mb.min()) >= 0
    return int(told.welfare)


@pytest.mark.parametrize("seed", range(25))
def test_answers_on_what_is_left_are_optimal(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against CP-SAT on single nodes; each answer is checked exactly.

    Neither by a look at everything nor by insertion and search: the tree alone encloses the optimum, too.
    """
    instance, free, free_mb = _batch(seed)
    best = _optimum(instance, free, free_mb)
    answer = solve_batch(instance, free, free_mb)
    assert (answer.lower, answer.upper) == (best, best)
    assert _checked(instance, answer.solution, free, free_mb) == best
    monkeypatch.setattr(batch._Batch, "_see_all", lambda self: None)
    monkeypatch.setattr(batch._Batch, "_search", lambda self: None)
    monkeypatch.setattr(batch._Batch, "_inserted", lambda self, s, order, shares=(): s)
    alone = solve_batch(instance, free, free_mb)
    assert _checked(instance, alone.solution, free, free_mb) == alone.lower <= best <= alone.upper
    assert alone.lower == alone.upper == best


@settings(max_examples=150, deadline=None)
@given(instance=tiny_instances(max_nodes=3, max_slots=4).filter(_without_vendors))
def test_looking_at_everything_finds_the_optimum(instance: Instance) -> None:
    """From nothing and from the optimum itself; what it finds is a solution of that welfare."""
    best, _ = enumerate_optimum(instance)
    free, free_mb = _empty(instance)
    value, solution = exhausted(instance, range(instance.tasks), free, free_mb, 0)
    assert value == best
    if best:
        told = check(instance, solution)
        assert (told.valid, told.welfare) == (True, best)
    assert exhausted(instance, range(instance.tasks), free, free_mb, best) == (best, None)


def test_looking_at_everything_stops_where_there_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """By steps, by tasks and by slots: nothing is known then."""
    instance = named("tiny_contention")
    state = _empty(instance)
    assert exhausted(instance, range(instance.tasks), *state, 0) is not None
    monkeypatch.setattr(exhaustive, "STEPS", 50)
    assert exhausted(instance, range(instance.tasks), *state, 0) is None
    monkeypatch.undo()
    monkeypatch.setattr(exhaustive, "DEPTH", 2)
    assert exhausted(instance, range(instance.tasks), *state, 0) is None


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
    assert (result.label, result.welfare) == ("titan", 23)
    monkeypatch.setattr(batch._Batch, "_see_all", lambda self: None)
    modest = run(instance, "titan")
    assert (modest.label, modest.welfare) == ("titan (at limit 1 of 1, gap 15 %)", 23)


def test_nothing_is_compiled_once_it_is_warm() -> None:
    """Kernels have one signature each, whatever the batch: compiling is in no algorithm's seconds."""

    modules = (batch, branch_and_price, simplex, residual, insertion, improve, pricing)

    def signatures() -> dict[str, int]:
        kernels = [value for module in modules for value in vars(module).values()]
        return {each.__name__: len(each.signatures) for each in kernels if hasattr(each, "signatures")}

    batch.warm(GAME.small())
    warm = signatures()
    for name in ("tiny_contention", "tiny_vendors", "tiny_two_types"):
        run(named(name), "titan")
    assert signatures() == warm
