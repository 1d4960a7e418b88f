"""`quota`: limits on what groups have at once, in front of any policy, as Kueue's ClusterQueues.

A task of a group that is named in the file waits until the group has quota for it on some node type; of several types
the first in the order of the cluster. Then it goes to the policy, which sees it arrive now, and may run it on that type
alone. It holds its quota until it has ended, or is rejected. Within a group no task is passed over: one that waits for
quota blocks those behind it (`StrictFIFO`); one that is larger than all quota that it might ever get is rejected.
Groups that are not named have no limit.

    [groups.research]
    cohort = "all"                       # groups of a cohort lend each other what they do not use
    borrow = true                        # whether this one borrows; false where it is left out
    nodes = { A100 = 4, A40 = 2.5 }      # by node type; 0 where it is left out

A part counts as the share that it takes of a node's compute.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from ratiobench.instances.io.errors import InputError, explain_unknown_name, shorten
from ratiobench.instances.io.files import load_toml, read_bytes
from ratiobench.instances.lora.model import Public, Task, Vendor, freeze
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.one_node import RUNS
from ratiobench.online.lora.protocol import WAIT, View
from ratiobench.online.lora.registry import REGISTRY, Entry, Option, register
from ratiobench.online.spec import Spec, state_always

_LARGEST = 10**9


@dataclass(frozen=True, slots=True)
class Group:
    """A group's quota in nodes by type, its cohort (its own name where it has none), and whether it borrows."""

    nodes: Mapping[str, Fraction]
    cohort: tuple[str, str]
    borrow: bool = False


def read_quotas(path: str) -> Mapping[str, Group]:
    """Read a file of quotas."""
    data, source = read_bytes(path)
    table = load_toml(data, source)
    groups = table.get("groups")
    if set(table) != {"groups"} or not isinstance(groups, dict) or not groups:
        raise InputError(source, "groups", "a file of quotas has tables [groups.NAME], and nothing else")
    found = {}
    for name, each in groups.items():
        where = f"groups.{name}"
        if not isinstance(each, dict):
            raise InputError(source, where, f"{shorten(each)} is no table")
        for key in each:
            if key not in ("cohort", "borrow", "nodes"):
                raise InputError(source, f"{where}.{key}", explain_unknown_name(key, ["cohort", "borrow", "nodes"]))
        nodes, cohort, borrow = each.get("nodes"), each.get("cohort"), each.get("borrow", False)
        if not isinstance(nodes, dict):
            raise InputError(source, f"{where}.nodes", "a group needs nodes = { TYPE = NUMBER, ... }")
        if cohort is not None and not isinstance(cohort, str):
            raise InputError(source, f"{where}.cohort", f"{shorten(cohort)} is no text")
        if not isinstance(borrow, bool):
            raise InputError(source, f"{where}.borrow", f"{shorten(borrow)} is neither true nor false")
        limits = {kind: _number(source, f"{where}.nodes.{kind}", value) for kind, value in nodes.items()}
        found[name] = Group(limits, ("group", name) if cohort is None else ("cohort", cohort), borrow)
    return found


def _number(source: str, key: str, value: Any) -> Fraction:
    good = isinstance(value, int | Decimal) and not isinstance(value, bool) and math.isfinite(value)
    if not good or not 0 <= value <= _LARGEST or len(str(value)) > 30:
        raise InputError(source, key, f"{shorten(value)} is no number in 0..{_LARGEST}")
    return Fraction(value)


def inner_spec(options: Mapping[str, str]) -> Spec:
    """The policy behind the quotas."""
    head, _, rest = options["policy"].partition(";")
    parts = rest.split(";") if rest else []
    if options["leave"] == "never":
        parts.append("leave=never")
    spec = REGISTRY.parse(":".join(filter(None, [head, ",".join(parts)])))
    if spec.entry is None or spec.entry.learns or RUNS not in spec.entry.forms or spec.head == "quota":
        raise InputError("algorithm", "quota:policy", f"{shorten(head)} cannot run behind quotas")
    if REGISTRY.declared(spec):
        problem = f"{shorten(head)} needs constants ({REGISTRY.declared(spec)[0]}), and quotas have none to give"
        raise InputError("algorithm", "quota:policy", problem)
    return spec


class Quota:
    """See the module."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._groups = {} if options["file"] == "none" else read_quotas(options["file"])
        spec = inner_spec(options)
        assert spec.entry is not None
        self._inner = spec.entry.make(spec.entry.settle(dict(spec.options), 2**20))
        self.arithmetic = getattr(self._inner, "arithmetic", "integer")

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """Nobody holds anything."""
        for name, group in self._groups.items():
            for kind in group.nodes:
                names = [node.name for node in public.node_types]
                if kind not in names:
                    raise InputError("algorithm", f"quota:groups.{name}.nodes", explain_unknown_name(kind, names))
        self._public = public
        self._inner.start(public, constants)
        self._held: dict[int, tuple[str, int, Fraction]] = {}
        self._used: dict[tuple[Any, int], Fraction] = {}
        self._queues: dict[str, deque[Task]] = {}
        self._new: list[Task] = []
        self._released: dict[int, Task] = {}
        self._limits: dict[tuple[Any, int], Fraction] = {}
        for name, group in self._groups.items():
            for g, node in enumerate(public.node_types):
                own = group.nodes.get(node.name, Fraction(0))
                self._limits[name, g] = own
                self._limits[group.cohort, g] = self._limits.get((group.cohort, g), Fraction(0)) + own

    def decide_batch(self, tasks: Sequence[Task], view: View) -> Sequence[str]:
        """All tasks wait; those whose group has quota are decided in the same slot."""
        for task in tasks:
            if task.labels.group in self._groups:
                self._queues.setdefault(task.labels.group, deque()).append(task)
            else:
                self._new.append(task)
        return [WAIT] * len(tasks)

    def at_slot(self, view: View) -> tuple[dict[int, Decision | None], int | None]:
        """What has quota goes to the policy, which then decides."""
        for ended in view.ended:
            self._give_back(ended.task)
            if ended.how == "left":
                self._forget(ended.task)
        answers: dict[int, Decision | None] = {}
        went = [*self._new, *self._admit(view, answers)]
        self._new = []
        went.sort(key=lambda task: task.index)
        free = [array.copy() for array in (view.compute, view.memory_mb, view.tasks)]
        shown = replace(view, compute=free[0], memory_mb=free[1], tasks=free[2], waiting=())
        batch = hasattr(self._inner, "decide_batch")
        for group in [went] if batch and went else [[task] for task in went]:
            given = self._inner.decide_batch(group, shown) if batch else [self._inner.decide(group[0], shown)]
            for task, answer in zip(group, given, strict=True):
                if answer == WAIT:
                    self._released[task.index] = task
                else:
                    self._answer(task, answer, answers, free)
        wake = None
        if hasattr(self._inner, "at_slot") and self._released:
            starts, wake = self._inner.at_slot(replace(shown, waiting=tuple(self._released.values())))
            for i, decision in starts.items():
                self._answer(self._released.pop(i), decision, answers, free)
        if None in answers.values() and any(self._queues.values()):  # quota was given back just now
            wake = view.slot + 1
        return answers, wake

    def _answer(
        self, task: Task, decision: Decision | None, answers: dict[int, Decision | None], free: list[Any]
    ) -> None:
        """The policy's decision about a task; what it takes is no longer free."""
        answers[task.index] = decision
        if decision is None:
            self._give_back(task.index)
            return
        kind = self._public.type_of_node
        for k, t in decision.cells:
            free[0][k, t - 1] -= task.rate[kind[k]]
            free[1][k, t - 1] -= task.memory_mb
            free[2][k, t - 1] += 1

    def _admit(self, view: View, answers: dict[int, Decision | None]) -> list[Task]:
        """The tasks that get quota now, from the head of each group's queue, the earliest first."""
        found = []
        queues = dict(self._queues)
        while heads := [(queue[0].index, name) for name, queue in queues.items() if queue]:
            _, name = min(heads)
            task = queues[name][0]
            shares = self._shares(task)
            if not any(self._may_ever(name, g, share) for g, share in shares.items()):
                queues[name].popleft()
                answers[task.index] = None
                continue
            g = next((g for g, share in shares.items() if self._fits(name, g, share)), None)
            if g is None:
                del queues[name]
                continue
            queues[name].popleft()
            self._hold(task.index, name, g, shares[g], 1)
            found.append(self._arrive(task, g, view.slot))
        return found

    def _shares(self, task: Task) -> dict[int, Fraction]:
        """What the task takes of each type on which it can run, in nodes."""
        public = self._public
        return {
            g: task.parts * Fraction(int(task.rate[g]), node.compute)
            for g, node in enumerate(public.node_types)
            if 0 < task.rate[g] <= node.compute
            and task.memory_mb <= node.memory_mb - public.base_memory_mb
            and task.parts <= node.count
        }

    def _may_ever(self, name: str, g: int, share: Fraction) -> bool:
        group = self._groups[name]
        return share <= self._limits[group.cohort if group.borrow else name, g]

    def _fits(self, name: str, g: int, share: Fraction) -> bool:
        """Whether the group, and its cohort together, stay within their quota."""
        group = self._groups[name]
        keys: list[Any] = [group.cohort] if group.borrow else [name, group.cohort]
        return all(self._used.get((key, g), 0) + share <= self._limits[key, g] for key in keys)

    def _hold(self, i: int, name: str, g: int, share: Fraction, sign: int) -> None:
        for key in (name, self._groups[name].cohort):
            self._used[key, g] = self._used.get((key, g), Fraction(0)) + sign * share
        if sign > 0:
            self._held[i] = name, g, share

    def _give_back(self, i: int) -> None:
        held = self._held.pop(i, None)
        if held is not None:
            self._hold(i, *held, -1)

    def _forget(self, i: int) -> None:
        self._released.pop(i, None)
        self._new = [task for task in self._new if task.index != i]
        for queue in self._queues.values():
            for task in queue:
                if task.index == i:
                    queue.remove(task)
                    break

    def _arrive(self, task: Task, g: int, slot: int) -> Task:
        """The task as one that arrives now and can run on one type only; its vendors began when it came."""
        rate = np.zeros_like(task.rate)
        rate[g] = task.rate[g]
        gone = slot - task.arrival
        vendors = tuple(Vendor(each.price, max(0, each.delay - gone)) for each in task.vendors)
        return replace(task, rate=freeze(rate), arrival=slot, vendors=vendors)


def _files(options: Mapping[str, str]) -> Sequence[str]:
    spec = inner_spec(options)
    assert spec.entry is not None
    return [options["file"], *spec.entry.files(spec.options)]


register(
    Entry(
        "quota",
        "limits on what groups have at once, with borrowing in cohorts, in front of a policy (Kueue's ClusterQueues)",
        "1",
        {
            "file": Option("none", None, "TOML file of quotas; none: no limits"),
            "policy": Option("queue", None, "NAME, or NAME;option=value;... of one of these that needs no constants"),
            "leave": Option("deadline", ("deadline", "never"), "never: tasks wait on when their deadline has passed"),
        },
        Quota,
        standing=state_always(guarantee="none", truthful="not examined"),
        forms=frozenset({RUNS}),
        files=_files,
    )
)
