"""What ran in the end: cells that changed their node, tasks decided later, runs that ended before what was booked.

Late binding: a task is promised node types and slots; its node in a slot may change until the slot begins.

P asks for a node per slot, not when it is chosen. With its admission of a task an algorithm may move cells of tasks
that were admitted before to other nodes of the same type, in slots later than the present one (`Late`); the books hold
a node for every cell at any moment, so what was promised can always be kept. What ran is a solution of P like any
other: OPT is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ratiobench.instances.lora.feasibility import killed
from ratiobench.instances.lora.model import Instance, IntArray
from ratiobench.instances.lora.solution import Decision, Solution
from ratiobench.online.referee.simulator import ARRIVAL, Log, LogEntry

SETTLE = "settle"
"""The event that a run ended before what was booked; its answer is the payment in micro-dollars."""
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


class FinalSchedule(NamedTuple):
    """What ran.

    Parameters
    ----------
    solution : the decisions, with the cells in which each task ran.
    moved : cells that changed their node.
    waited : tasks that were told to wait.
    left : those of them that were never decided: no schedule could serve them any more, or the last slot was over.
    killed, late : runs that were ended at their limit, and others that are void.
    """

    solution: Solution
    moved: int = 0
    waited: int = 0
    left: int = 0
    killed: int = 0
    late: int = 0


def settle_log(instance: Instance, log: Log) -> FinalSchedule:
    """What ran in a run of this log."""
    waited = {entry.about for entry in log if entry.event == ARRIVAL and isinstance(entry.answer, str)}
    others = [entry for entry in log if entry.event != ARRIVAL and entry.answer is not None]
    decided = {i for entry in others if entry.event != SETTLE for i, _ in entry.answer.decisions}
    settled = {entry.about: entry.answer for entry in others if entry.event == SETTLE}
    solution, moved = _settle(_answers(log), instance.tasks)
    over = killed(instance).tolist()
    ran = tuple(
        [
            None if decision is None else _what_ran(instance, i, _settled_payment(decision, settled, i), over[i])
            for i, decision in enumerate(solution)
        ]
    )
    void = [i for i, decision in enumerate(ran) if decision is not None and decision.void]
    ended = sum(bool(over[i]) for i in void)
    return FinalSchedule(ran, moved, len(waited), len(waited - decided), ended, len(void) - ended)


def _settled_payment(decision: Decision, settled: Mapping[int | None, int], i: int) -> Decision:
    """The decision with the payment that was settled when its run ended early, if it was."""
    return decision._replace(payment=settled[i]) if i in settled else decision


def _answers(log: Log) -> Iterator[tuple[int, Any]]:
    """(task, answer) in the order in which they were given, WAIT left out."""
    for entry in log:
        if entry.event == ARRIVAL and entry.about is not None:
            if entry.answer is not None and not isinstance(entry.answer, str):
                yield entry.about, entry.answer
        elif _is_of_slot(entry):
            yield from entry.answer.decisions


def _is_of_slot(entry: LogEntry) -> bool:
    """Whether it decides tasks that waited."""
    return entry.event not in (ARRIVAL, SETTLE) and entry.answer is not None


def count_cells_run(cells: Sequence[tuple[int, int]], rates: Sequence[int], work: int) -> int:
    """How many of the cells, which are in slot order, have begun when the work is done; all where it never is.

    Parameters
    ----------
    rates : samples in each cell.
    work : samples.
    """
    done, at = 0, 0
    while at < len(cells) and done < work:
        slot = cells[at][1]
        while at < len(cells) and cells[at][1] == slot:
            done += rates[at]
            at += 1
    return at


def _what_ran(instance: Instance, i: int, decision: Decision, over: bool) -> Decision:
    """The decision with the cells in which the task ran, and whether that is void."""
    if not decision.cells:
        return decision
    work = int(instance.work[i])
    if instance.limit[i]:
        cells = sorted(decision.cells, key=lambda cell: cell[1])
        kind = _type_of_node(instance)
        rates = instance.rate[i].tolist()
        speeds = [rates[kind[node]] for node, _ in cells]
        ran = count_cells_run(cells, speeds, work)
        unfinished = sum(speeds[:ran]) < work
        if ran < len(cells):
            decision = decision._replace(cells=tuple(cells[:ran]))
        if unfinished or over:
            return decision._replace(void=True)
    late = max(slot for _, slot in decision.cells) > instance.deadline[i]
    return decision._replace(void=True) if late else decision


def _type_of_node(instance: Instance) -> IntArray:
    return instance.public("").type_of_node


def settle_moves(answers: Iterable[Any]) -> tuple[Solution, int]:
    """What was decided in the end, and how many cells changed their node.

    Parameters
    ----------
    answers : of the tasks in order: a Decision, a Late, or None.
    """
    given = list(answers)
    return _settle(((i, answer) for i, answer in enumerate(given) if answer is not None), len(given))


def _settle(answers: Iterable[tuple[int, Any]], tasks: int) -> tuple[Solution, int]:
    """The decisions by task, from (task, answer) in the order in which they were given; how many cells moved."""
    cells: list[dict[int, int] | None] = [None] * tasks
    decisions: list[Decision | None] = [None] * tasks
    changed: set[int] = set()
    moved = 0
    for i, answer in answers:
        late = isinstance(answer, Late)
        for task, slot, node in answer.moves if late else ():
            before = decisions[task]
            assert before is not None
            there = cells[task]
            if there is None:
                there = cells[task] = {t: k for k, t in before.cells}
            there[slot] = node
            changed.add(task)
            moved += 1
        decisions[i] = answer.decision if late else answer
    for task in changed:
        decision, there = decisions[task], cells[task]
        assert decision is not None
        assert there is not None
        decisions[task] = decision._replace(cells=tuple((k, t) for t, k in there.items()))
    return tuple(decisions), moved
