"""Late binding: a task is promised node types and slots; its node in a slot may change until the slot begins.

P asks for a node per slot, not when it is chosen. With its admission of a task an algorithm may move cells of tasks
that were admitted before to other nodes of the same type, in slots later than the present one (`Late`); the books hold
a node for every cell at any moment, so what was promised can always be kept. What ran is a solution of P like any
other: OPT is the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ratiobench.instances.lora.solution import Decision, Solution

MOVED = "cells_moved"
"""The count of cells that changed their node."""


class Move(NamedTuple):
    """The cell of a task that was admitted before, and the node on which it shall be."""

    task: int
    slot: int
    node: int


class Late(NamedTuple):
    """An admission, and the moves that make room for it: they happen together."""

    decision: Decision
    moves: tuple[Move, ...]


def settle_moves(answers: Iterable[Any]) -> tuple[Solution, int]:
    """What was decided in the end, and how many cells changed their node.

    Parameters
    ----------
    answers : of the tasks in order: a Decision, a Late, or None.
    """
    cells: list[dict[int, int] | None] = []
    decisions: list[Decision | None] = []
    moved = 0
    for answer in answers:
        late = isinstance(answer, Late)
        decision = answer.decision if late else answer
        for task, slot, node in answer.moves if late else ():
            there = cells[task]
            assert there is not None
            there[slot] = node
            moved += 1
        decisions.append(decision)
        cells.append(None if decision is None else {slot: node for node, slot in decision.cells})
    if not moved:
        return tuple(decisions), 0
    return tuple(
        None if each is None or there is None else each._replace(cells=tuple((k, t) for t, k in there.items()))
        for each, there in zip(decisions, cells, strict=True)
    ), moved
