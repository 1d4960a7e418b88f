"""Which schedules the tasks of an instance may have: of one task that is never paused, of all, and fewer of them."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.feasibility import killed
from ratiobench.instances.lora.format import content_hash
from ratiobench.instances.lora.model import Instance, Public, Task
from ratiobench.instances.lora.schedules import KINDS, RUNS, ScheduleKind


class Run(NamedTuple):
    """The runs of a task on one node type."""

    type: int  # node type g
    length: int  # n_ig, slots that the work takes there
    last: int  # the last slot in which a run may begin. The first one is that of the chosen pre-processing option


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
    """The same instance whose tasks may have schedules of this kind only; those that may have fewer keep theirs."""
    if kind not in (ScheduleKind.ONE_NODE, ScheduleKind.RIGID):
        raise ValueError(f"no instance is restricted to {kind.value}")
    run = np.maximum(instance.run, KINDS.index(kind)).astype(np.int8)
    run.setflags(write=False)
    return replace(instance, run=run, cache={})


def exclude_killed(instance: Instance) -> Instance:
    """The same problem for solvers: a task with more work than its limit has rate 0 everywhere, and so no schedule.

    It keeps the name and the hash of the instance, whose solutions are the same. The instance itself where no task is
    such.
    """
    out = killed(instance)
    if not out.any():
        return instance
    rate = np.where(out[:, None], 0, instance.rate)
    rate.setflags(write=False)
    return replace(instance, rate=rate, cache={"hash": content_hash(instance)})


def only_runs(instance: Instance) -> bool:
    """Are there tasks, and all of them rigid or gangs?"""
    return instance.tasks > 0 and bool(np.isin(instance.run, [KINDS.index(kind) for kind in RUNS]).all())


def require_runs(instance: Instance, what: str) -> None:
    """Refuse an instance of which some task is neither rigid nor a gang."""
    other = np.flatnonzero(~np.isin(instance.run, [KINDS.index(kind) for kind in RUNS]))
    if len(other):
        i = int(other[0])
        kind = KINDS[int(instance.run[i])].value
        text = f"{what} instances whose tasks are all rigid or gangs; it is {kind}"
        raise InputError(instance.name, f"tasks[{i}].run", text)


def find_kind(instance: Instance) -> ScheduleKind | None:
    """The kind of all tasks of an instance, `ANY` where there are none; None where they differ."""
    kinds = set(instance.run.tolist())
    return KINDS[kinds.pop()] if len(kinds) == 1 else None if kinds else ScheduleKind.ANY
