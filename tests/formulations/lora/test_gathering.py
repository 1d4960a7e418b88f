"""Free room is gathered without a change in what runs, and a search that gathers fills it."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.formulations.lora.bound.lagrangian import DualBound, dual_bound
from ratiobench.formulations.lora.bound.pricing import Pool, Pricer, pool
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.heuristic import consolidation, improve
from ratiobench.formulations.lora.heuristic.consolidation import (
    STEPS,
    consolidate,
    exchange_slots,
    find_types_without_patterns,
)
from ratiobench.formulations.lora.heuristic.improve import heuristic
from ratiobench.formulations.lora.heuristic.insertion import Workspace, begin, new_workspace
from ratiobench.formulations.lora.heuristic.state import State, running_cells, solution_of_state, state_of
from ratiobench.formulations.lora.solve import solve
from ratiobench.instances.lora import Decision, Instance
from ratiobench.instances.lora.generate import generate
from tests.support.samples import samples

DAY = "1970-03-02"


def _day(tasks: int, nodes: int, seed: int, sizes: str = "own") -> Instance:
    own = {"sizes": sizes, "seed": ["gathering", seed]}
    size = {"tasks": tasks, "nodes": nodes, "slots": 24, "start": 60}
    return generate({"kind": "paper", "name": "day", "arrivals": {"trace": "pai", "day": DAY}, **own, **size})


Solution = tuple[Decision | None, ...]
Found = tuple[Instance, DualBound, Solution]


def _found(seed: int, sizes: str, *, gathers: bool) -> Found:
    """A day, its bound, and the solution of a search that does not fill over time, and gathers or does not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(improve, "_fill_over_time", lambda *_: None)
        if not gathers:
            patch.setattr(improve, "consolidate", lambda *_: None)
        instance = _day(120, 6, seed, sizes)
        p = pool(instance)
        bound = dual_bound(Pricer(p))
        return instance, bound, heuristic(instance, p, bound).solution


@pytest.fixture(scope="module")
def scattered() -> list[Found]:
    """Solutions of days whose free capacity no search has gathered."""
    return [_found(seed, "own", gathers=False) for seed in range(4)]


def _worked(instance: Instance, bound: DualBound, solution: Solution) -> tuple[Pool, Workspace, State]:
    p = pool(instance)
    desk = new_workspace(p, [None] * len(p.nodes), bound.rent, 1)
    s = state_of(instance, p, solution)
    begin(p, desk, s)
    return p, desk, s


def _holes(p: Pool, d: Workspace, s: State) -> float:
    """The sum over types and slots of the largest room of a node, in nodes."""
    spans = [slice(d.first_node[g], d.first_node[g + 1]) for g in range(len(p.nodes))]
    return float(sum((s.free[span].max(axis=0) / p.compute[g]).sum() for g, span in enumerate(spans)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("turn", [None, 0, 3])
def test_cells_change_nodes_of_their_type_and_nothing_else(
    seed: int, turn: int | None, scattered: list[Found], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same tasks in the same slots on the same types, feasible, with the free room that the places say."""
    monkeypatch.setattr(consolidation, "AT_ONCE", 30)
    instance = scattered[seed][0]
    p, d, s = _worked(*scattered[seed])
    assert find_types_without_patterns(d) == [0, 1]
    before, holes, versions = s.place.copy(), _holes(p, d, s), d.version.copy()
    welfare = s.welfare
    consolidate(p, s, d, turn)
    assert np.array_equal(np.where(before >= 0, d.type_of[before], -1), np.where(s.place >= 0, d.type_of[s.place], -1))
    solution = solution_of_state(instance, p, s)
    report = check(instance, solution)
    assert report.valid, report.violations
    assert report.welfare == welfare == s.welfare
    again = state_of(instance, p, solution)
    assert np.array_equal(again.free, s.free)
    assert np.array_equal(again.free_mb, s.free_mb)
    changed = _changed(p, d, before, s.place)
    assert changed.any()
    assert _holes(p, d, s) > holes
    assert ((d.version > versions).any(axis=0) == changed).all()
    if turn is not None:  # ten slots of three nodes each, the fourth time from slot 30 = 24 + 6 on
        assert set(np.flatnonzero(changed)) <= set(range(10 * turn % 24, 10 * turn % 24 + 10))


@pytest.mark.parametrize("sizes", ["own", "wide"])
@pytest.mark.parametrize("seed", range(3))
def test_tasks_exchange_slots_for_larger_pieces_of_free_capacity(seed: int, sizes: str) -> None:
    """The same tasks with as many cells of each type, feasible, at little cost, and free capacity in fewer pieces."""
    found = _found(seed, sizes, gathers=True)
    instance = found[0]
    p, d, s = _worked(*found)
    consolidate(p, s, d)
    before, welfare, pieces = _cells_by_type(p, d, s), s.welfare, _squares(p, d, s)
    exchange_slots(p, s, d)
    report = check(instance, solution_of_state(instance, p, s))
    assert report.valid, report.violations
    assert report.welfare == s.welfare
    assert np.array_equal(_cells_by_type(p, d, s), before)
    assert _squares(p, d, s) > pieces
    again = state_of(instance, p, solution_of_state(instance, p, s))
    assert np.array_equal(again.free, s.free)
    assert np.array_equal(again.free_mb, s.free_mb)
    assert np.array_equal(running_cells(p, s), d.running)
    assert s.welfare > 0.999 * welfare


def _cells_by_type(p: Pool, d: Workspace, s: State) -> np.ndarray:
    """(n, G) cells of each task."""
    count = np.zeros((p.tasks, len(p.nodes)), np.int64)
    tasks = np.repeat(np.arange(p.tasks), p.width)[s.place >= 0]
    np.add.at(count, (tasks, d.type_of[s.place[s.place >= 0]]), 1)
    return count


def _squares(p: Pool, d: Workspace, s: State) -> float:
    """Sum over nodes and slots of the square of the free part of the node."""
    return float(((s.free / p.compute[d.type_of][:, None]) ** 2).sum())


def _changed(p: Pool, d: Workspace, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """(T,) whether some cell of the slot stands on another node."""
    tasks = np.repeat(np.arange(p.tasks), p.width)
    slot = p.first[tasks] + np.arange(len(tasks)) - d.at[tasks]
    found = np.zeros(p.tariff.shape[1], np.bool_)
    found[slot[before != after]] = True
    return found


_ITEM = st.tuples(st.integers(0, 20), st.integers(1, 9), st.integers(1, 9))


@settings(max_examples=samples(300))
@given(items=st.lists(st.tuples(_ITEM, st.booleans()), max_size=8), room=st.integers(5, 40), room_mb=st.integers(5, 40))
def test_the_fuller_node_is_the_best_one_by_brute_force(items: list, room: int, room_mb: int) -> None:
    """Of all ways to put the items onto two nodes, where the given one is feasible."""
    items.sort(key=lambda each: -each[0][0])
    value, rate, memory = (np.array([each[j] for each, _ in items], np.int64) for j in range(3))
    best = np.array([inside for _, inside in items], np.bool_)

    def fits(chosen: np.ndarray) -> bool:
        return all(
            each[side].sum() <= most for each, most in ((rate, room), (memory, room_mb)) for side in (chosen, ~chosen)
        )

    if not fits(best):
        return
    start = value[best].sum()
    choices = (np.array(choice, np.bool_) for choice in product((False, True), repeat=len(items)))
    most = max(value[choice].sum() for choice in choices if fits(choice))
    least, least_mb = rate.sum() - room, memory.sum() - room_mb
    scratch = np.empty(len(items), np.int64)
    found = consolidation._fuller(
        len(items), value.astype(float), rate, memory, least, least_mb, room, room_mb, STEPS, scratch, best
    )
    assert fits(best)
    assert found == (most > start)
    assert value[best].sum() == most


@pytest.mark.nightly
def test_a_search_that_gathers_finds_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """On days whose tasks each have a size of their own, over several draws."""
    instances = [_day(150, 6, seed) for seed in range(10, 13)]
    with_it = [solve(each, backend="none").lower for each in instances]
    monkeypatch.setattr(improve, "consolidate", lambda *_: None)
    monkeypatch.setattr(improve, "_fill_over_time", lambda *_: None)
    without = [solve(each, backend="none").lower for each in instances]
    assert sum(with_it) > sum(without)
