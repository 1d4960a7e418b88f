"""What an online algorithm is, what it sees, and what it answers.

An algorithm is any object with `start` and `decide` (or `decide_batch`). It never sees an instance: it gets the public
part, the constants that it declares, one arrival at a time and the room that is left. Optional attributes that the
referee reads after the run: `label` (str, what must be said beside the name), `arithmetic` (str), `counts` (mapping of
ints), `trace` (for audits).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np

from instances.lora.model import IntArray, Public, Task
from instances.lora.solution import Decision
from online.answers import whole

__all__ = ["Algorithm", "BatchAlgorithm", "Decision", "Public", "Task", "View", "plain"]

NUMBER_LIMIT = 2**53
"""No number in an answer is larger: more than any node, slot or sum of bids."""


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """The state of the cluster that the referee shows: read-only, for this decision.

    Parameters
    ----------
    slot : the present slot (the task's arrival).
    compute : (K, T) samples per slot still free on each node; column t-1 is slot t.
    memory_mb : (K, T) MB still free, the base model already taken off.
    tasks : (K, T) number of tasks on the node in the slot.
    """

    slot: int
    compute: IntArray
    memory_mb: IntArray
    tasks: IntArray

    def room(self, task: Task, public: Public) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
        """(K, T) cells that can take the task: rate > 0 and enough compute and memory free."""
        rate = task.rate[public.type_of_node][:, None]
        fits: np.ndarray[tuple[int, int], np.dtype[np.bool_]] = (
            (rate > 0) & (rate <= self.compute) & (task.memory_mb <= self.memory_mb)
        )
        return fits


@runtime_checkable
class Algorithm(Protocol):
    """Decides task by task."""

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """Called once, before the first arrival, with the values of the constants it declares in `constants`."""
        ...

    def decide(self, task: Task, view: View) -> Decision | None:
        """The final answer for the task: its schedule and charge, or None to reject it."""
        ...


@runtime_checkable
class BatchAlgorithm(Protocol):
    """Decides the arrivals of one slot together."""

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """Called once, before the first arrival."""
        ...

    def decide_batch(self, tasks: Sequence[Task], view: View) -> Sequence[Decision | None]:
        """The final answers for all tasks that arrived in the view's slot, in their order."""
        ...


def plain(answer: Any) -> Decision | None:
    """An answer in builtin types, detached from whatever the algorithm keeps; itself if nothing in it can be altered.

    Raises
    ------
    TypeError, ValueError : when it is neither None nor (vendor, cells, payment) in integers; what an algorithm's own
        types raise when they are unpacked goes through.
    """
    if answer is None:
        return None
    if _settled(answer):
        return answer  # type: ignore[no-any-return]
    if not isinstance(answer, tuple | list):
        raise TypeError(answer)
    vendor, cells, payment = answer
    if not isinstance(cells, tuple | list | np.ndarray):
        raise TypeError(cells)
    return Decision(
        None if vendor is None else whole(vendor, NUMBER_LIMIT),
        tuple((whole(node, NUMBER_LIMIT), whole(slot, NUMBER_LIMIT)) for node, slot in cells),
        None if payment is None else whole(payment, NUMBER_LIMIT),
    )


def _settled(answer: Any) -> bool:
    """Whether the answer is a Decision of tuples and ints through and through: no copy of it could be safer."""
    if type(answer) is not Decision or type(answer.cells) is not tuple:
        return False
    for cell in answer.cells:
        if type(cell) is not tuple or len(cell) != 2:
            return False
        node, slot = cell
        if type(node) is not int or type(slot) is not int:
            return False
        if not (-NUMBER_LIMIT <= node <= NUMBER_LIMIT and -NUMBER_LIMIT <= slot <= NUMBER_LIMIT):
            return False
    return all(
        value is None or (type(value) is int and abs(value) <= NUMBER_LIMIT)
        for value in (answer.vendor, answer.payment)
    )
