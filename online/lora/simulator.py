"""The referee: it owns the state and the clock, hears each decision once, and books what stands.

An algorithm gets read-only pictures of the state; the books that decide are separate arrays that it never holds. Each
answer is copied on receipt, checked against (4a)-(4k) in integers, and final. At the end the whole solution is verified
again by `ratiobench.formulations.lora.check`, which shares nothing with this file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ratiobench.instances.lora.model import NO_LABELS, Instance, Public, Task, freeze
from ratiobench.instances.lora.schedules import KINDS, RUNS, ScheduleKind
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.answers import refusal
from ratiobench.online.lora.final_schedule import Late, Move
from ratiobench.online.lora.protocol import View, plain
from ratiobench.online.referee.simulator import Question, RuleViolation


class _Admitted:
    """What may be moved of an admitted task."""

    __slots__ = ("_cells", "kind", "memory_mb", "rates")

    def __init__(
        self, cells: Sequence[tuple[int, int]] | dict[int, int], rates: list[int], memory_mb: int, kind: ScheduleKind
    ) -> None:
        self._cells = cells
        self.rates, self.memory_mb, self.kind = rates, memory_mb, kind

    def __deepcopy__(self, memo: dict[int, Any]) -> _Admitted:
        cells = dict(self._cells) if isinstance(self._cells, dict) else self._cells
        return _Admitted(cells, self.rates, self.memory_mb, self.kind)

    def nodes(self) -> dict[int, int]:
        """The node in each slot; few algorithms ask."""
        if not isinstance(self._cells, dict):
            self._cells = {slot: node for node, slot in self._cells}
        return self._cells


class CapacityState:
    """What is free on each node and slot; two copies, of which algorithms see one."""

    def __init__(self, public: Public) -> None:
        nodes, slots = public.nodes, public.slots
        types = public.type_of_node
        self._type_of = types.tolist()
        self._slots = slots
        free = [np.repeat(amount[types][:, None], slots, axis=1) for amount in (public.compute, public.memory_mb)]
        # Plain integers to decide by: a decision looks at its cells one at a time.
        self._compute, self._memory = (array.tolist() for array in free)
        self._shown = [*free, np.zeros((nodes, slots), np.int64)]
        self._admitted: dict[int, _Admitted] = {}

    def view(self, slot: int) -> View:
        """The state as the algorithm sees it."""
        pictures = []
        for array in self._shown:
            picture = array.view()
            picture.setflags(write=False)
            pictures.append(picture)
        return View(slot, *pictures)

    def take(self, task: Task, answer: Any) -> Decision | Late | None:
        """Copy, check and book an answer; Foul names the first equation that it breaks."""
        plain_answer = _copied(task.index, answer)
        if plain_answer is None:
            return None
        if isinstance(plain_answer, Late):
            self._move(task, plain_answer.moves)
        decision = plain_answer.decision if isinstance(plain_answer, Late) else plain_answer
        self._judge(task, decision)
        self._book(task, decision)
        return plain_answer

    def _move(self, task: Task, moves: Sequence[Move]) -> None:
        """Let cells of earlier tasks change nodes, all at once."""
        for who, slot, node in moves:
            earlier = self._admitted.get(who)
            what = f"moves the cell of task {who} in slot {slot}"
            if earlier is None or slot not in earlier.nodes():
                raise RuleViolation("moves", task.index, f"{what}, which has none there")
            if slot <= task.arrival:
                raise RuleViolation("moves", task.index, f"{what}, which has begun: it is slot {task.arrival}")
            if earlier.kind is not ScheduleKind.ANY:
                raise RuleViolation("R2", task.index, f"{what}: that task stays on its nodes")
            before = earlier.nodes()[slot]
            if not (0 <= node < len(self._type_of) and self._type_of[node] == self._type_of[before]):
                raise RuleViolation("moves", task.index, f"{what} to node {node}, which is no node of its type")
            rate = earlier.rates[self._type_of[node]]
            self._add(before, slot, -rate, -earlier.memory_mb, -1)
            self._add(node, slot, rate, earlier.memory_mb, 1)
            earlier.nodes()[slot] = node
        for _, slot, node in moves:
            for equation, table in (("4f", self._compute), ("4g", self._memory)):
                if table[node][slot - 1] < 0:
                    raise RuleViolation(equation, task.index, f"moves too much to node {node} in slot {slot}")

    def _add(self, node: int, slot: int, *amounts: int) -> None:
        """So many samples, megabytes and tasks are on the node in the slot, or fewer than before."""
        for table, amount in zip((self._compute, self._memory), amounts, strict=False):
            table[node][slot - 1] -= amount
        for picture, amount in zip(self._shown, (-amounts[0], -amounts[1], amounts[2]), strict=True):
            picture[node, slot - 1] += amount

    def _judge(self, task: Task, decision: Decision) -> None:
        """Foul names the first equation that a decision breaks."""
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
        cells: set[tuple[int, int]] = set()
        early, late = ("R5", "R5") if task.run in RUNS else ("4c", "4d")
        for node, slot in decision.cells:
            if not (0 <= node < len(self._type_of) and 1 <= slot <= self._slots):
                raise RuleViolation("4h", task.index, f"node {node} slot {slot} does not exist")
            if slot in slots and task.parts == 1:
                raise RuleViolation("4b", task.index, f"two cells in slot {slot}")
            slots.add(slot)
            if (node, slot) in cells:
                raise RuleViolation("4h", task.index, f"node {node} slot {slot} stands twice")
            cells.add((node, slot))
            if slot < first:
                raise RuleViolation(early, task.index, f"runs in slot {slot}, before {first}")
            if slot > deadline:
                raise RuleViolation(late, task.index, f"runs in slot {slot}, after the deadline {deadline}")
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
        if task.run is not ScheduleKind.ANY and cells:
            self._judge_kind(task, cells, slots)
        if done < task.work:
            raise RuleViolation("4e", task.index, f"work done {done} < {task.work}")

    def _judge_kind(self, task: Task, cells: set[tuple[int, int]], slots: set[int]) -> None:
        """(R1) to (R4) of a task that may not have every schedule of P."""
        nodes = sorted({node for node, _ in cells})
        if len(nodes) > task.parts:
            problem = f"runs on nodes {nodes[0]} and {nodes[1]}; it may run on {task.parts}, the same in all slots"
            raise RuleViolation("R2", task.index, problem)
        if len(cells) < task.parts * len(slots):
            problem = f"runs on {task.parts} nodes, but {len(cells)} cells are in {len(slots)} slots"
            raise RuleViolation("R1", task.index, problem)
        if len({self._type_of[node] for node in nodes}) > 1:
            raise RuleViolation("R3", task.index, f"runs on nodes {nodes[0]} and {nodes[-1]} of two types")
        if task.run in RUNS:
            if max(slots) - min(slots) + 1 > len(slots):
                raise RuleViolation("R4", task.index, f"pauses between slots {min(slots)} and {max(slots)}")
            length = -(-task.work // (task.parts * int(task.rate[self._type_of[nodes[0]]])))
            if len(slots) > length:
                raise RuleViolation("R4", task.index, f"runs in {len(slots)} slots where {length} do its work")

    def _book(self, task: Task, decision: Decision) -> None:
        """Take the decision's cells off what is free."""
        self._admitted[task.index] = _Admitted(decision.cells, task.rate.tolist(), task.memory_mb, task.run)
        rates = task.rate.tolist()
        places, taken = [], []
        for node, slot in decision.cells:
            rate = rates[self._type_of[node]]
            self._compute[node][slot - 1] -= rate
            self._memory[node][slot - 1] -= task.memory_mb
            places.append(node * self._slots + slot - 1)
            taken.append(rate)
        # No cell stands twice in a decision that was judged: (4b).
        at = np.array(places, dtype=np.int64)
        compute, memory, tasks = (array.reshape(-1) for array in self._shown)
        compute[at] -= np.array(taken, dtype=np.int64)
        memory[at] -= task.memory_mb
        tasks[at] += 1


def _copied(index: int, answer: Any) -> Decision | Late | None:
    """The answer as a Decision of plain integers; Foul if it is none."""
    try:
        return plain(answer)
    except (TypeError, ValueError) as error:
        raise RuleViolation("protocol", index, refusal(answer, "Decision of integers", error)) from None


def batches(instance: Instance) -> Iterator[list[int]]:
    """The tasks slot by slot, in list order."""
    group: list[int] = []
    for i, slot in enumerate(instance.arrival.tolist()):
        if group and slot != instance.arrival[group[0]]:
            yield group
            group = []
        group.append(i)
    if group:
        yield group


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

    def task(self, i: int) -> Task:
        """Task i, made anew."""
        instance = self._instance
        cost = instance.cost(i)
        if i in instance.explicit_cost:  # else it was multiplied out for this very call
            cost = freeze(cost)
        return Task(
            i, *self._whole[i], freeze(instance.rate[i]), cost, instance.vendors(i), KINDS[instance.run[i]],
            int(instance.parts[i]), int(instance.limit[i]) or None, instance.labels.get(i, NO_LABELS),
        )  # fmt: skip


class Simulator:
    """The books and the arrivals of one run on one instance; `books` of another table are gone on with."""

    noun = "task"

    def __init__(self, instance: Instance, seed: str, *, books: CapacityState | None = None) -> None:
        self.public = instance.public(seed)
        self.arrivals = instance.tasks
        self._instance, self._arrivals = instance, Arrivals(instance)
        self.books = CapacityState(self.public) if books is None else books

    def questions(self, batch: bool) -> Iterator[Question]:
        """Task by task or slot by slot; the tasks of one slot share its view."""
        for group in batches(self._instance):
            view = self.books.view(int(self._instance.arrival[group[0]]))
            for part in [group] if batch else [[i] for i in group]:
                yield Question(part, [self._arrivals.task(i) for i in part], view)

    def take(self, event: str, index: int | None, answer: Any) -> Decision | Late | None:
        """Judge an answer and book it; None for a rejection."""
        assert index is not None
        return None if answer is None else self.books.take(self._instance.task(index), answer)

    def copied(self, event: str, index: int | None, answer: Any) -> Decision | Late | None:
        """The answer as a Decision of plain integers; Foul if it is none."""
        assert index is not None
        return _copied(index, answer)
