"""Late binding: cells that change their node before their slot begins, and room that is made."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratiobench.bench.lora.counterexamples.tiny import Job, Kind, TinyInstance, instance
from ratiobench.formulations.lora.check import check
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.final_schedule import MOVED, Late, Move, settle_moves
from ratiobench.online.lora.run import run
from ratiobench.online.lora.search.repacking import free_capacity
from tests.support.kinds import one_node
from tests.support.samples import samples

OWN = "tests.support.movers:Mover"


def _three(*, begun: bool = False) -> Instance:
    """Tasks of 4, 6 and 10 on two nodes of 10 (a third is of another type), all in slot 2; the last may be late."""
    kinds = (Kind(2, 10, 10), Kind(1, 10, 10))
    sizes = zip((1, 1, 2 if begun else 1), (4, 6, 10), strict=True)
    return instance(
        TinyInstance(2, kinds, tuple(Job(arrival, 2, 1, size, 50, (size, size)) for arrival, size in sizes))
    )


def test_a_task_moves_and_makes_room() -> None:
    found = run(_three(), OWN)
    assert found.valid
    assert found.admitted == 3
    assert found.counts[MOVED] == 1
    assert "late binding: 1 cells moved" in found.label
    assert [each.cells for each in found.decisions if each is not None] == [((0, 2),), ((0, 2),), ((1, 2),)]
    assert not check(_three(), found.decisions).violations


@pytest.mark.parametrize(
    ("how", "rule", "word"),
    [
        ("begun", "moves", "has begun"),
        ("unknown", "moves", "task 7 in slot 2, which has none there"),
        ("other", "moves", "node 2, which is no node of its type"),
        ("full", "4f", "node 1 slot 2"),
        ("text", "protocol", "node 0 is not an integer"),
        ("short", "protocol", "is not (task, slot, node)"),
    ],
)
def test_what_may_not_move(how: str, rule: str, word: str) -> None:
    found = run(_three(begun=how == "begun"), f"{OWN}:how={how}")
    assert [violation.rule for violation in found.violations] == [rule]
    assert word in found.violations[0].detail


def test_to_move_twice_in_one_answer_is_to_move() -> None:
    assert run(_three(), f"{OWN}:how=again").valid


def test_without_migration_nothing_moves() -> None:
    found = run(one_node(_three()), OWN)
    assert "stays on its nodes" in found.violations[0].detail


def test_bound_applies_moves_in_order() -> None:
    first = Decision(None, ((0, 1), (0, 2)), 3)
    answers = [first, None, Late(Decision(None, ((0, 2),), 1), (Move(0, 2, 1),)), Late(first, (Move(0, 2, 3),))]
    solution, moved = settle_moves(answers)
    assert moved == 2
    assert solution[0] == Decision(None, ((0, 1), (3, 2)), 3)


SIZES = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=5)


@settings(max_examples=samples(150), deadline=None)
@given(SIZES, st.integers(1, 3))
def test_room_is_room_and_one_node_is_never_missed(sizes: list[tuple[int, int]], nodes: int) -> None:
    """What is found fits; where all fits some way, the first ways miss few: never on one node, or with one task."""
    rate, memory = (np.array(column, np.int64) for column in zip(*sizes, strict=True))
    node = np.full(len(sizes), -1, np.int64)
    free = [[10, 10] for _ in range(nodes)]
    for i, (a, b) in enumerate(sizes[:-1]):
        k = next((k for k in range(nodes) if free[k][0] >= a and free[k][1] >= b), None)
        if k is None:
            return
        free[k][0] -= a
        free[k][1] -= b
        node[i] = k
    before = node[:-1].copy()
    there = before.copy()
    k = free_capacity(rate[:-1].copy(), memory[:-1].copy(), there, nodes, 10, 10, int(rate[-1]), int(memory[-1]))
    if k < 0:
        assert (there == before).all()
        ways = itertools.product(range(nodes), repeat=len(sizes))
        if nodes == 1 or len(sizes) == 1:
            assert not any(_fits(sizes, way, nodes) for way in ways)
    else:
        assert _fits(sizes, (*there.tolist(), k), nodes)


def _fits(sizes: list[tuple[int, int]], way: tuple[int, ...], nodes: int) -> bool:
    return all(
        sum(size[part] for size, node in zip(sizes, way, strict=True) if node == k) <= 10
        for k in range(nodes)
        for part in (0, 1)
    )


def test_learned_binds_late() -> None:
    """A cell that only a move makes is sold."""
    kinds = (Kind(2, 10, 10),)
    jobs = (
        *(Job(1, 3, 1, size, 50, (size,)) for size in (4, 4, 6, 6)),
        *(Job(2, 3, 1, 10, 50, (10,)) for _ in range(3)),
    )
    today = instance(TinyInstance(3, kinds, jobs))
    late = run(today, "learned:binding=late")
    assert late.valid
    assert late.welfare >= run(today, "learned").welfare
