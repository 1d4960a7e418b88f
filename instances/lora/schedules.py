"""The kinds of schedules that a task may have, and the runs of tasks that are never paused."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ratiobench.instances.errors import InputError

if TYPE_CHECKING:
    from ratiobench.instances.lora.model import Instance, Public, Task


class ScheduleKind(Enum):
    """Which schedules a task may have: the field `run` of format `ratiobench/lora/2`; `any` where it is absent.

    The checkers and the enumeration state the rule of a kind themselves: they share no code with what they check.
    """

    ANY = "any"
    """Problem P: at most one node per slot, another one in every slot if need be."""
    ONE_NODE = "one-node"
    """The same node in all slots: 'a particular compute node' (main paper, section 3.1)."""
    RIGID = "rigid"
    """One node, without a pause: exactly as many slots in a row as the work takes on that node."""
    GANG = "gang"
    """Several nodes of one type at the same time, all of them without a pause."""


KINDS = tuple(ScheduleKind)
"""The kinds by the number that stands for them in an instance's column `run`."""
RUNS = (ScheduleKind.RIGID, ScheduleKind.GANG)
"""The kinds whose schedules are runs: slots in a row, the same nodes in all of them."""


class Run(NamedTuple):
    """The runs of a task on one node type.

    Parameters
    ----------
    type : node type g.
    length : n_ig, slots that the work takes there.
    last : the last slot in which a run may begin. The first one is that of the chosen pre-processing option.
    """

    type: int
    length: int
    last: int


def list_runs(task: Task, public: Public) -> list[Run]:
    """The node types on which a task that is never paused can run, with the length of its run; (R3) to (R5).

    A type has none where a part of the task does not fit an empty node, where there are fewer nodes than parts, or
    where no run ends in time.
    """
    found = []
    earliest = min(option.first for option in task.options)
    for g, node in enumerate(public.node_types):
        rate = int(task.rate[g])
        fits = 0 < rate <= node.compute and task.memory_mb <= node.memory_mb - public.base_memory_mb
        if fits and task.parts <= node.count:
            length = -(-task.work // (task.parts * rate))
            if earliest + length - 1 <= task.deadline:
                found.append(Run(g, length, task.deadline - length + 1))
    return found


def restrict(instance: Instance, kind: ScheduleKind) -> Instance:
    """The same instance whose tasks may have schedules of this kind only; those that may have fewer keep theirs.

    Parameters
    ----------
    kind : `ONE_NODE` or `RIGID`. A gang needs several nodes at once, and stays one.

    Raises
    ------
    ValueError : for another kind.
    """
    from dataclasses import replace

    if kind not in (ScheduleKind.ONE_NODE, ScheduleKind.RIGID):
        raise ValueError(f"no instance is restricted to {kind.value}")
    run = np.maximum(instance.run, KINDS.index(kind)).astype(np.int8)
    run.setflags(write=False)
    return replace(instance, run=run, cache={})


def require_any(instance: Instance, what: str) -> None:
    """Refuse an instance of which some task may not have every schedule of P.

    Parameters
    ----------
    what : what takes only such instances, in words: the beginning of the message.

    Raises
    ------
    InputError : naming the first task.
    """
    other = np.flatnonzero(instance.run)
    if len(other):
        i = int(other[0])
        kind = KINDS[int(instance.run[i])].value
        raise InputError(instance.name, f"tasks[{i}].run", f"{what} only instances whose tasks are `any`; it is {kind}")


def find_kind(instance: Instance) -> ScheduleKind | None:
    """The kind of all tasks of an instance, `ANY` where there are none; None where they differ."""
    kinds = np.unique(instance.run)
    return KINDS[int(kinds[0])] if len(kinds) == 1 else None if len(kinds) else ScheduleKind.ANY
