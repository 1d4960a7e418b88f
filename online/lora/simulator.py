"""The referee: it checks each decision against (4a)-(4k) in integers, and books it for good.

At the end `ratiobench.formulations.lora.check`, which shares nothing with this file, verifies the whole solution again.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np

from ratiobench.instances.lora.model import Instance, Public, ScheduleKind, Task, Vendor, freeze
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.answers import refusal
from ratiobench.online.lora.protocol import View, plain
from ratiobench.online.referee.simulator import Question, RuleViolation

_FEW_CELLS = 8  # Up to so many cells are booked one by one, faster than as arrays
_FEW_COSTS = 2**14  # Up to so many costs of an instance are multiplied out at once, and not task by task


class CapacityState:
    """What is free on each node and slot; two copies, of which algorithms see one, read-only."""

    def __init__(self, public: Public) -> None:
        nodes, slots = public.nodes, public.slots
        types = self._types = public.type_of_node
        self._type_of = types.tolist()
        self._slots = slots
        self._one_node = public.schedules is ScheduleKind.ONE_NODE
        free = [np.repeat(amount[types][:, None], slots, axis=1) for amount in (public.compute, public.memory_mb)]
        # Plain integers to decide by: a decision looks at its cells one at a time.
        self._compute, self._memory = (array.tolist() for array in free)
        self._shown = [*free, np.zeros((nodes, slots), np.int64)]

    def __deepcopy__(self, memo: dict[int, Any]) -> CapacityState:
        twin = copy(self)
        twin._compute, twin._memory = ([list(row) for row in rows] for rows in (self._compute, self._memory))
        twin._shown = [array.copy() for array in self._shown]
        return twin

    def view(self, slot: int) -> View:
        pictures = []
        for array in self._shown:
            picture = array.view()
            picture.setflags(write=False)
            pictures.append(picture)
        return View(slot, *pictures)

    def take(self, task: Task, answer: Any) -> Decision | None:
        """Copy, check and book an answer; RuleViolation names the first equation that it breaks."""
        decision = copied(task.index, answer)
        if decision is not None:
            self._judge(task, decision)
            self._book(task, decision)
        return decision

    def _judge(self, task: Task, decision: Decision) -> None:
        options = task.options
        if decision.vendor is None:
            if task.vendors:
                raise RuleViolation("4a", task.index, "admitted without a vendor for its pre-processing")
            first = task.arrival
        elif not task.vendors:
            raise RuleViolation("4j", task.index, f"vendor {decision.vendor} for a task without pre-processing")
        elif not 0 <= decision.vendor < len(options):
            raise RuleViolation("4h", task.index, f"vendor {decision.vendor} is not in 0..{len(options) - 1}")
        else:
            first = options[decision.vendor].first
        done = 0
        rates, size, deadline = task.rate.tolist(), task.memory_mb, task.deadline
        slots: set[int] = set()
        for node, slot in decision.cells:
            if not (0 <= node < len(self._type_of) and 1 <= slot <= self._slots):
                raise RuleViolation("4h", task.index, f"node {node} slot {slot} does not exist")
            if slot in slots:
                raise RuleViolation("4b", task.index, f"two cells in slot {slot}")
            slots.add(slot)
            if slot < first:
                raise RuleViolation("4c", task.index, f"runs in slot {slot}, before {first}")
            if slot > deadline:
                raise RuleViolation("4d", task.index, f"runs in slot {slot}, after the deadline {deadline}")
            rate = rates[self._type_of[node]]
            if rate == 0:
                raise RuleViolation("4k", task.index, f"runs on node {node}, where its rate is 0")
            free = self._compute[node][slot - 1]
            if rate > free:
                raise RuleViolation("4f", task.index, f"node {node} slot {slot}: needs {rate} samples, {free} are free")
            free = self._memory[node][slot - 1]
            if size > free:
                raise RuleViolation("4g", task.index, f"node {node} slot {slot}: needs {size} MB, {free} are free")
            done += rate
        if self._one_node and len(nodes := sorted({node for node, _ in decision.cells})) > 1:
            problem = f"runs on nodes {nodes[0]} and {nodes[1]}; it may run on 1, the same in all slots"
            raise RuleViolation("R2", task.index, problem)
        if done < task.work:
            raise RuleViolation("4e", task.index, f"work done {done} < {task.work}")

    def _book(self, task: Task, decision: Decision) -> None:
        compute, memory, tasks = self._shown
        rates = task.rate.tolist()
        few = len(decision.cells) <= _FEW_CELLS
        for node, slot in decision.cells:
            rate = rates[self._type_of[node]]
            self._compute[node][slot - 1] -= rate
            self._memory[node][slot - 1] -= task.memory_mb
            if few:
                compute[node, slot - 1] -= rate
                memory[node, slot - 1] -= task.memory_mb
                tasks[node, slot - 1] += 1
        if not few:
            # No cell stands twice in a decision that was judged: (4b).
            nodes, slots = np.array(decision.cells).T
            compute[nodes, slots - 1] -= task.rate[self._types[nodes]]
            memory[nodes, slots - 1] -= task.memory_mb
            tasks[nodes, slots - 1] += 1


def copied(index: int | None, answer: Any) -> Decision | None:
    try:
        return plain(answer)
    except (TypeError, ValueError) as error:
        raise RuleViolation("protocol", index, refusal(answer, "Decision of integers", error)) from None


@lru_cache(maxsize=4096)
def _trusted_task(instance: Instance, i: int) -> Task:
    """Task i as decisions are judged by it: no algorithm ever gets it."""
    return instance.task(i)


def _has_few_costs(instance: Instance) -> bool:
    return instance.tasks * len(instance.node_types) * instance.slots <= _FEW_COSTS


class Arrivals:
    """The tasks of an instance as algorithms get them: with arrays of their own, whose `base` leads nowhere."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._whole = list(
            zip(
                instance.arrival.tolist(), instance.deadline.tolist(), instance.memory_mb.tolist(),
                instance.work.tolist(), instance.bid.tolist(),
                strict=True,
            )
        )  # fmt: skip
        self._first_vendor = instance.vendor_start.tolist()
        self._offers = list(zip(instance.vendor_price.tolist(), instance.vendor_delay.tolist(), strict=True))
        self._costs = instance.costs() if _has_few_costs(instance) else None

    def task(self, i: int) -> Task:
        instance = self._instance
        if self._costs is not None:
            cost = freeze(self._costs[i])
        else:
            cost = instance.cost(i)
            if i in instance.explicit_cost:  # else it was multiplied out for this very call
                cost = freeze(cost)
        first, last = self._first_vendor[i : i + 2]
        vendors = tuple([Vendor(*offer) for offer in self._offers[first:last]])
        return Task(i, *self._whole[i], freeze(instance.rate[i]), cost, vendors)


@lru_cache(maxsize=64)
def _kept_arrivals(instance: Instance) -> Arrivals:
    """The arrivals of a small instance, for further runs on it: tasks share no array with them."""
    return Arrivals(instance)


class Simulator:
    """The books and the arrivals of one run on one instance; `books` of another table are gone on with."""

    noun = "task"

    def __init__(self, instance: Instance, seed: str, *, books: CapacityState | None = None) -> None:
        self.public = instance.public(seed)
        self.arrivals = instance.tasks
        self._instance = instance
        self._arrivals = (_kept_arrivals if _has_few_costs(instance) else Arrivals)(instance)
        self.books = CapacityState(self.public) if books is None else books

    def questions(self, batch: bool) -> Iterator[Question]:
        """Task by task or slot by slot; the tasks of one slot share its view."""
        slots = self._instance.arrival.tolist()
        for slot, tasks in groupby(range(len(slots)), slots.__getitem__):
            view, group = self.books.view(slot), list(tasks)
            for part in [group] if batch else [[i] for i in group]:
                yield Question(part, [self._arrivals.task(i) for i in part], view)

    def take(self, event: str, index: int | None, answer: Any) -> Decision | None:
        if answer is None:
            return None
        assert index is not None
        return self.books.take(_trusted_task(self._instance, index), answer)

    def copied(self, event: str, index: int | None, answer: Any) -> Decision | None:
        return copied(index, answer)
