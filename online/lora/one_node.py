"""Algorithms that keep every task on one node (`migrate=no`): one copy per node, on a cluster of that node alone.

Nothing that such an algorithm knows of a node (prices, loads) concerns another one: every copy finds its best schedule,
the best of all by the algorithm's own rule is taken (ties: the smallest list of (slot, node)), and that copy alone
settles it. No theorem was proved of these forms, and they leave no trace for audits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np

from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.model import Public, Task
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.protocol import View
from ratiobench.online.lora.registry import Entry, Option, Spec, entries

_OPTION = "migrate"


def is_one_node(spec: Spec) -> bool:
    """Whether an algorithm of this name keeps every task on one node by itself."""
    return spec.entry is not None and spec.options.get(_OPTION) == "no"


def restrict(spec: Spec) -> Spec:
    """The name of the form for tasks that stay on one node; InputError for an algorithm of ours without one."""
    if spec.entry is None:  # anyone's own reads it in the public part itself
        return spec
    if _OPTION not in spec.entry.options:
        able = ", ".join(name for name, entry in entries().items() if _OPTION in entry.options)
        raise InputError("--no-migration", spec.head, f"no form that keeps tasks on one node; {able} have one")
    return replace(spec, options={**spec.options, _OPTION: "no"})


class NodeAnswer(NamedTuple):
    """The best schedule of a search."""

    key: tuple[Any, ...]  # what the algorithm ranks schedules by, the least first
    cells: tuple[tuple[int, int], ...]  # (node, slot)
    answer: Any  # what `settle` needs of it


class SearchAlgorithm(Protocol):
    """An algorithm without other state than one per node, whose `decide` is `settle` of what `find` finds."""

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None: ...

    def find(self, task: Task, view: View) -> NodeAnswer | None:
        """The best schedule, whether it will be taken or not; None without any. It changes nothing."""
        ...

    def settle(self, task: Task, view: View, found: NodeAnswer | None) -> Decision | None:
        """The decision about what was found; prices and loads move."""
        ...


class OneNode:
    """An algorithm in its form without migration."""

    def __init__(self, make: Callable[[], SearchAlgorithm]) -> None:
        self._make = make
        prototype = make()
        for name in ("constants", "margin", "widened", "remarks", "arithmetic"):
            if hasattr(prototype, name):
                setattr(self, name, getattr(prototype, name))

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """One blank copy per node type; a node has its own once something is settled on it."""
        self._constants = dict(constants)
        self._parts = [replace(public, node_types=(replace(kind, count=1),)) for kind in public.node_types]
        self._kind = public.type_of_node.tolist()
        self._blank = [self._copy(g) for g in range(len(self._parts))]
        self._own: dict[int, SearchAlgorithm] = {}
        self._settled = np.zeros((public.nodes, public.slots), np.bool_)
        arithmetic = {getattr(copy, "arithmetic", "integer") for copy in self._blank}
        self.arithmetic = arithmetic.pop() if len(arithmetic) == 1 else "float"

    def _copy(self, g: int) -> SearchAlgorithm:
        copy = self._make()
        copy.start(self._parts[g], self._constants)
        return copy

    def decide(self, task: Task, view: View) -> Decision | None:
        tasks = [replace(task, rate=task.rate[g : g + 1], cost=task.cost[g : g + 1]) for g in range(len(self._parts))]
        span = slice(task.arrival - 1, task.deadline)
        used: list[bool] = np.logical_or.reduce(self._settled[:, span], axis=1).tolist()
        idle: set[int] = set()
        best: tuple[tuple[Any, ...], int, NodeAnswer, View] | None = None
        for k, g in enumerate(self._kind):
            if not used[k]:  # nodes of a type on which nothing was settled within the window are alike
                if g in idle:
                    continue
                idle.add(g)
            tables = view.compute, view.memory_mb, view.tasks
            part = View(view.slot, *(table[k : k + 1] for table in tables))
            found = self._own.get(k, self._blank[g]).find(tasks[g], part)
            if found is not None:
                key = (*found.key, [(slot, k) for _, slot in found.cells])
                if best is None or key < best[0]:
                    best = (key, k, found, part)
        if best is None:
            return None
        _, k, found, part = best
        g = self._kind[k]
        if k not in self._own:
            self._own[k] = self._copy(g)
        decision = self._own[k].settle(tasks[g], part, found)
        self._settled[k, [slot - 1 for _, slot in found.cells]] = True
        return None if decision is None else decision._replace(cells=tuple((k, slot) for _, slot in decision.cells))

    @property
    def counts(self) -> dict[str, int]:
        total: Counter[str] = Counter(dict.fromkeys(getattr(self._blank[0], "counts", {}), 0))
        for copy in self._own.values():
            total.update(getattr(copy, "counts", {}))
        return dict(total)


def with_one_node(entry: Entry) -> Entry:
    """The entry with the option `migrate`; its algorithm is a `SearchAlgorithm` one."""

    def make(options: Mapping[str, str]) -> Any:
        return OneNode(lambda: entry.make(options)) if options[_OPTION] == "no" else entry.make(options)

    meaning = "tasks may run on another node in every slot, or every task stays on one"
    return replace(entry, options={**entry.options, _OPTION: Option("yes", ("yes", "no"), meaning)}, make=make)
