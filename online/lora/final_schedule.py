"""What ran in the end: tasks that were decided later, and runs that ended before what was booked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ratiobench.instances.lora.feasibility import killed
from ratiobench.instances.lora.model import Instance, IntArray
from ratiobench.instances.lora.solution import Decision, Solution
from ratiobench.online.referee.simulator import ARRIVAL, Log, LogEntry

SETTLE = "settle"  # The event that a run ended before what was booked; its answer is the payment in micro-dollars


class FinalSchedule(NamedTuple):
    """What ran."""

    solution: Solution  # the decisions, with the cells in which each task ran
    waited: int = 0  # tasks that were told to wait
    # those of them that were never decided: no schedule could serve them any more, or the last slot was over.
    left: int = 0
    killed: int = 0  # killed, late: runs that were ended at their limit, and others that are void
    late: int = 0


def settle_log(instance: Instance, log: Log) -> FinalSchedule:
    """What ran in a run of this log."""
    waited = {entry.about for entry in log if entry.event == ARRIVAL and isinstance(entry.answer, str)}
    others = [entry for entry in log if entry.event != ARRIVAL and entry.answer is not None]
    decided = {i for entry in others if entry.event != SETTLE for i, _ in entry.answer.decisions}
    settled = {entry.about: entry.answer for entry in others if entry.event == SETTLE}
    solution: list[Decision | None] = [None] * instance.tasks
    for i, answer in _answers(log):
        solution[i] = answer
    over = killed(instance).tolist()
    ran = tuple(
        [
            None if decision is None else _what_ran(instance, i, _settled_payment(decision, settled, i), over[i])
            for i, decision in enumerate(solution)
        ]
    )
    void = [i for i, decision in enumerate(ran) if decision is not None and decision.void]
    ended = sum(bool(over[i]) for i in void)
    return FinalSchedule(ran, len(waited), len(waited - decided), ended, len(void) - ended)


def _settled_payment(decision: Decision, settled: Mapping[int | None, int], i: int) -> Decision:
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
    return entry.event not in (ARRIVAL, SETTLE) and entry.answer is not None


def count_cells_run(cells: Sequence[tuple[int, int]], rates: Sequence[int], work: int) -> int:
    """How many of the cells, which are in slot order, have begun when the work is done; all where it never is.

    `rates`: samples in each cell; `work`: samples.
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
