"""The referee: it owns the state and the clock, hears each decision once, and books what stands.

Tasks that wait stay here, undecided, with no claim on anything. While there are any, the algorithm is asked slot by
slot where something has changed.

An algorithm gets read-only pictures of the state; the books that decide are separate arrays that it never holds. Each
answer is copied on receipt, checked against (4a)-(4k) in integers, and final. At the end the whole solution is verified
again by `ratiobench.formulations.lora.check`, which shares nothing with this file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from ratiobench.instances.lora.model import NO_LABELS, Instance, Labels, Public, RunningJob, Task, Vendor, freeze
from ratiobench.instances.lora.schedules import KINDS, RUNS, ScheduleKind
from ratiobench.instances.lora.solution import PAYMENT_LIMIT, Decision
from ratiobench.online.answers import refusal
from ratiobench.online.lora.final_schedule import SETTLE, count_cells_run
from ratiobench.online.lora.protocol import (
    SLOT,
    WAIT,
    Ended,
    Running,
    Settlement,
    Starts,
    Usage,
    View,
    plain,
    plain_starts,
)
from ratiobench.online.referee.simulator import Question, RuleViolation

_FEW_CELLS = 8  # Up to so many cells are booked one by one, faster than as arrays
_FEW_COSTS = 2**14  # Up to so many costs of an instance are multiplied out at once, and not task by task


class CapacityState:
    """What is free on each node and slot; two copies, of which algorithms see one.

    `late`: runs may end after the deadline; `running`: jobs from before that run when the first slot begins. They hold
    their nodes as long as was planned, and give them back when they end.
    """

    def __init__(self, public: Public, *, late: bool = False, running: Sequence[RunningJob] = ()) -> None:
        nodes, slots = public.nodes, public.slots
        types = public.type_of_node
        self._type_of = types.tolist()
        self._slots = slots
        free = [np.repeat(amount[types][:, None], slots, axis=1) for amount in (public.compute, public.memory_mb)]
        # Plain integers to decide by: a decision looks at its cells one at a time.
        self._compute, self._memory = (array.tolist() for array in free)
        self._shown = [*free, np.zeros((nodes, slots), np.int64)]
        self._late = late
        self._running: dict[int, _Run] = {}
        self._ends: list[tuple[int, int]] = []
        self._early: list[tuple[int, int]] = []
        self._used: tuple[dict[str, int], dict[str, int]] = ({}, {})
        self._before = running
        self._is_labelled = any(job.labels.user or job.labels.group for job in running)
        """Whether some run has had a user or a group: without any there is no usage to be counted."""
        for j, job in enumerate(running):
            for node in job.nodes:
                for slot in range(1, job.planned + 1):
                    self._add(node, slot, job.compute, job.memory_mb, 1)
            size, end = len(job.nodes) * job.last, job.last + 1
            # Numbers below 0: it is no task.
            self._running[-1 - j] = _Run(1, job.planned, end, (), job.memory_mb, "done", size, job.labels)
            heappush(self._ends, (end, -1 - j))

    def view(self, slot: int, waiting: tuple[Task, ...] = (), ended: tuple[Ended, ...] = ()) -> View:
        """The state as the algorithm sees it."""
        pictures = []
        for array in self._shown:
            picture = array.view()
            picture.setflags(write=False)
            pictures.append(picture)
        running = tuple(Running(i, each.first, each.last) for i, each in self._running.items() if i >= 0)
        compute, memory_mb, tasks = pictures
        return View(slot, compute, memory_mb, tasks, waiting, running, ended, self._usage(slot))

    def _usage(self, slot: int) -> Usage:
        if not self._is_labelled:
            return Usage({}, {})
        used = tuple(dict(each) for each in self._used)
        for each in self._running.values():
            each.add_to(used, slot)
        return Usage(*used)

    @property
    def next_end(self) -> int | None:
        """The first slot after some run's end, of those that have not been told to have ended."""
        return self._ends[0][0] if self._ends else None

    @property
    def next_early_end(self) -> int | None:
        """The first slot after the end of some run that ends before what was booked, of those that have not ended."""
        return self._early[0][0] if self._early else None

    def pop_early_end(self, slot: int) -> int | None:
        """The next task whose run has ended early before the slot; None without one."""
        return heappop(self._early)[1] if self._early and self._early[0][0] <= slot else None

    def end_runs(self, slot: int) -> list[Ended]:
        """Let end what has ended before the slot, and give back what it does not need."""
        ended = []
        while self._ends and self._ends[0][0] <= slot:
            end, i = heappop(self._ends)
            run = self._running.pop(i)
            for k, t, rate in run.rest:
                self._add(k, t, -rate, -run.memory_mb, -1)
            run.add_to(self._used, end)
            if i >= 0:
                ended.append(Ended(i, end, run.how))
                continue
            job = self._before[-1 - i]
            for k in job.nodes:
                for t in range(end, job.planned + 1):
                    self._add(k, t, -job.compute, -job.memory_mb, -1)
        return ended

    def take(self, task: Task, answer: Any, work: int | None = None) -> Decision | str | None:
        """Copy, check and book an answer to an arrival; Foul names the first equation that it breaks.

        `work`: samples that the task really takes, where that is not its `work`.
        """
        decision = _copied(task.index, answer)
        if decision is None or decision == WAIT:
            return None if decision is None else WAIT
        if isinstance(decision, Starts | int):
            raise RuleViolation("protocol", task.index, refusal(answer, "Decision of integers", TypeError()))
        assert not isinstance(decision, str)
        self.admit(task, decision, work)
        return decision

    def admit(self, task: Task, decision: Decision, work: int | None = None) -> None:
        """Check and book a decision; Foul names the first equation that it breaks."""
        self._judge(task, decision)
        self._book(task, decision, work)

    def _add(self, node: int, slot: int, *amounts: int) -> None:
        """So many samples, megabytes and tasks are on the node in the slot, or fewer than before."""
        compute, memory_mb, tasks = amounts
        self._compute[node][slot - 1] -= compute
        self._memory[node][slot - 1] -= memory_mb
        shown, place = self._shown, (node, slot - 1)
        shown[0][place] -= compute
        shown[1][place] -= memory_mb
        shown[2][place] += tasks

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
            if slot > deadline and task.limit is None and not self._late:
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
        if done < task.work and not (task.limit is not None and self._slots in slots):
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

    def _book(self, task: Task, decision: Decision, work: int | None) -> None:
        """Take the decision's cells off what is free, and note when the run ends."""
        if decision.cells:
            self._note_end(task, decision, task.work if work is None else work)
        rates = task.rate.tolist()
        if len(decision.cells) <= _FEW_CELLS:
            for node, slot in decision.cells:
                self._add(node, slot, rates[self._type_of[node]], task.memory_mb, 1)
            return
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

    def _note_end(self, task: Task, decision: Decision, work: int) -> None:
        """The run ends when its work is done, or at its limit."""
        slots = [slot for _, slot in decision.cells]
        first, last, how = min(slots), max(slots), "done"
        rest: tuple[tuple[int, int, int], ...] = ()
        if task.limit is not None:
            cells = sorted(decision.cells, key=lambda cell: cell[1])
            speeds = task.rate[[self._type_of[node] for node, _ in cells]].tolist()
            ran = count_cells_run(cells, speeds, work)
            rest = tuple([(*cell, rate) for cell, rate in zip(cells[ran:], speeds[ran:], strict=True)])
            how = "killed" if work > task.limit else "done"
            end = cells[ran - 1][1] + 1
        else:
            end = last + 1
        self._is_labelled = self._is_labelled or bool(task.labels.user or task.labels.group)
        used = len(slots) - len(rest)
        self._running[task.index] = _Run(first, last, end, rest, task.memory_mb, how, used, task.labels)
        heappush(self._ends, (end, task.index))
        if rest:
            heappush(self._early, (end, task.index))


class _Run(NamedTuple):
    """A run that has not ended."""

    first: int  # first, last: slots that are booked
    last: int
    end: int  # the first slot after its real end; how: it ends
    # (node, slot, samples) of the cells that are given back then; memory_mb: in each.
    rest: tuple[tuple[int, int, int], ...]
    memory_mb: int
    how: str
    cells: int  # it runs in
    labels: Labels

    def add_to(self, used: tuple[dict[str, int], ...], slot: int) -> None:
        """Add its cells before a slot to what its user and its group have used; those of a pause count, too."""
        cells = self.cells * max(0, min(slot, self.end) - self.first) // (self.end - self.first)
        for table, name in zip(used, (self.labels.user, self.labels.group), strict=True):
            if name:
                table[name] = table.get(name, 0) + cells


def _copied(index: int | None, answer: Any) -> Decision | Starts | str | int | None:
    try:
        return plain(answer)
    except (TypeError, ValueError) as error:
        raise RuleViolation("protocol", index, refusal(answer, "Decision of integers", error)) from None


def batches(instance: Instance) -> Iterator[list[int]]:
    """The tasks slot by slot, in list order."""
    slots = instance.arrival.tolist()
    group: list[int] = []
    for i, slot in enumerate(slots):
        if group and slot != slots[group[0]]:
            yield group
            group = []
        group.append(i)
    if group:
        yield group


@lru_cache(maxsize=4096)
def _trusted_task(instance: Instance, i: int) -> Task:
    """Task i as decisions are judged by it; no algorithm ever gets it."""
    return instance.task(i)


class Arrivals:
    """The tasks of an instance as algorithms get them: with arrays of their own, whose `base` leads nowhere."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        shown_work = np.where(instance.limit > 0, instance.limit, instance.work)
        self._whole = list(
            zip(
                instance.arrival.tolist(), instance.deadline.tolist(), instance.memory_mb.tolist(),
                shown_work.tolist(), instance.bid.tolist(),
                strict=True,
            )
        )  # fmt: skip
        # Plain integers: a task is made anew for every question.
        self._kinds = [KINDS[kind] for kind in instance.run.tolist()]
        self._parts, self._limits = instance.parts.tolist(), instance.limit.tolist()
        self._first_vendor = instance.vendor_start.tolist()
        self._offers = list(zip(instance.vendor_price.tolist(), instance.vendor_delay.tolist(), strict=True))
        few = instance.tasks * len(instance.node_types) * instance.slots <= _FEW_COSTS
        self._costs = instance.costs() if few else None

    def task(self, i: int) -> Task:
        """Task i, made anew."""
        instance = self._instance
        if self._costs is not None:
            cost = freeze(self._costs[i])
        else:
            cost = instance.cost(i)
            if i in instance.explicit_cost:  # else it was multiplied out for this very call
                cost = freeze(cost)
        first, last = self._first_vendor[i : i + 2]
        vendors = tuple([Vendor(*offer) for offer in self._offers[first:last]])
        return Task(
            i, *self._whole[i], freeze(instance.rate[i]), cost, vendors, self._kinds[i], self._parts[i],
            self._limits[i] or None, instance.labels.get(i, NO_LABELS),
        )  # fmt: skip


@lru_cache(maxsize=64)
def _kept_arrivals(instance: Instance) -> Arrivals:
    """The arrivals of a small instance, for further runs on it; tasks share no array with them."""
    return Arrivals(instance)


class Simulator:
    """The books and the arrivals of one run on one instance; `books` of another table are gone on with.

    `late`: no task leaves at its deadline; a run that ends later is void.
    """

    noun = "task"

    def __init__(
        self, instance: Instance, seed: str, *, books: CapacityState | None = None, late: bool = False
    ) -> None:
        self.public = instance.public(seed)
        self.arrivals = instance.tasks
        few = instance.tasks * len(instance.node_types) * instance.slots <= _FEW_COSTS
        self._instance, self._arrivals = instance, _kept_arrivals(instance) if few else Arrivals(instance)
        self.books = CapacityState(self.public, late=late, running=instance.running) if books is None else books
        self._late = late
        self._slot = 0
        self._waiting: dict[int, Task] = {}
        self._leaves: list[tuple[int, int]] = []
        self._ended: list[Ended] = []
        self._wake: int | None = None
        self._settles = books is None  # a run that is gone on with is asked about arrivals alone
        self._booked: dict[int, Decision] = {}

    def questions(self, batch: bool) -> Iterator[Question]:
        """Task by task or slot by slot, and while tasks wait in every slot in which something has changed.

        The tasks of one slot share its view.
        """
        for group in batches(self._instance):
            slot = int(self._instance.arrival[group[0]])
            yield from self._ask_between(slot)
            self._go_to(slot)
            yield from self._ask_to_settle()
            view = self.books.view(slot, ended=tuple(self._ended))
            for part in [group] if batch else [[i] for i in group]:
                yield Question(part, [self._arrivals.task(i) for i in part], view)
            yield from self._ask_about_waiting()
        yield from self._ask_between(self.public.slots + 1)

    def _ask_between(self, end: int) -> Iterator[Question]:
        """The questions in slots before this one in which nothing arrives."""
        while self._waiting or (self._settles and self.books.next_early_end is not None):
            moments = [self.books.next_early_end if self._settles else None]
            if self._waiting:
                moments += [self.books.next_end, self._wake, self._leaves[0][0] if self._leaves else None]
            slot = min((moment for moment in moments if moment is not None), default=end)
            if slot >= end:
                return
            self._go_to(slot)
            yield from self._ask_to_settle()
            if self._waiting or any(each.how == "left" for each in self._ended):
                yield from self._ask_about_waiting()

    def _go_to(self, slot: int) -> None:
        """The slot begins: runs have ended, and what can no longer be served leaves."""
        self._slot = slot
        self._ended += self.books.end_runs(slot)
        while self._leaves and self._leaves[0][0] <= slot:
            leaves, i = heappop(self._leaves)
            if self._waiting.pop(i, None) is not None:
                self._ended.append(Ended(i, leaves, "left"))
        if self._wake is not None and self._wake <= slot:
            self._wake = None

    def _ask_to_settle(self) -> Iterator[Question]:
        """The payments of the runs that have ended before what was booked."""
        while self._settles and (i := self.books.pop_early_end(self._slot)) is not None:
            booked, task = self._booked.pop(i), self._arrivals.task(i)
            cells = sorted(booked.cells, key=lambda cell: cell[1])
            kind, rates = self.public.type_of_node.tolist(), task.rate.tolist()
            ran = count_cells_run(cells, [rates[kind[node]] for node, _ in cells], int(self._instance.work[i]))
            view = self.books.view(self._slot, ended=tuple(self._ended))
            yield Question([i], [Settlement(task, booked, tuple(cells[:ran]))], view, SETTLE)

    def _ask_about_waiting(self) -> Iterator[Question]:
        if self._waiting or any(each.how == "left" for each in self._ended):
            view = self.books.view(self._slot, tuple(self._waiting.values()), tuple(self._ended))
            yield Question([None], [], view, SLOT)
        self._ended = []

    def take(self, event: str, index: int | None, answer: Any) -> Decision | Starts | str | int | None:
        """Judge an answer and book it; None for a rejection."""
        if answer is None:
            return None
        if event == SLOT:
            return self._take_starts(answer)
        assert index is not None
        if event == SETTLE:
            return self.copied(SETTLE, index, answer)
        task = _trusted_task(self._instance, index)
        if task.limit is None:
            taken = self.books.take(task, answer)
        else:
            task = self._arrivals.task(index)
            taken = self.books.take(task, answer, int(self._instance.work[index]))
            if isinstance(taken, Decision):
                self._booked[index] = taken
        if taken == WAIT:
            leaves = find_last_start(task, self.public, late=self._late) + 1
            if leaves > self._slot:
                self._waiting[index] = self._arrivals.task(index)
                heappush(self._leaves, (leaves, index))
            else:
                self._ended.append(Ended(index, self._slot, "left"))
        return taken

    def _take_starts(self, answer: Any) -> Starts:
        """Judge and book what starts, or is promised to, of what waits.

        Rules: `waiting` (a task is decided once, and only one that waits), `past` (no cell lies before the present
        slot), `wake`, and those of every decision.
        """
        starts = self.copied(SLOT, None, answer)
        assert isinstance(starts, Starts)
        for i, decision in starts.decisions:
            task = self._waiting.get(i)
            if task is None:
                about = i if 0 <= i < self.arrivals else None
                raise RuleViolation("waiting", about, f"task {i} does not wait in slot {self._slot}")
            if decision is not None:
                first = min((slot for _, slot in decision.cells), default=self._slot)
                if first < self._slot:
                    problem = f"runs in slot {first}, which has passed: it is slot {self._slot}"
                    raise RuleViolation("past", i, problem)
                self.books.admit(task, decision, int(self._instance.work[i]))
                if task.limit is not None:
                    self._booked[i] = decision
            del self._waiting[i]
        if starts.wake is not None and starts.wake <= self._slot:
            raise RuleViolation("wake", None, f"wake in slot {starts.wake}, asked in slot {self._slot}")
        self._wake = starts.wake
        return starts

    def copied(self, event: str, index: int | None, answer: Any) -> Decision | Starts | str | int | None:
        """The answer in plain integers; Foul if it is none."""
        if event == SETTLE:
            if type(answer) is not int or abs(answer) > PAYMENT_LIMIT:
                raise RuleViolation("protocol", index, refusal(answer, "payment in micro-dollars", TypeError()))
            return answer
        if event != SLOT:
            return _copied(index, answer)
        try:
            return plain_starts(answer)
        except (TypeError, ValueError) as error:
            raise RuleViolation("protocol", index, refusal(answer, "mapping of tasks to decisions", error)) from None


def find_last_start(task: Task, public: Public, *, late: bool) -> int:
    """The last slot in which some schedule of a task can begin on an empty cluster; 0 where there is none."""
    end = public.slots if late else task.deadline
    last = 0
    for g, node in enumerate(public.node_types):
        rate = int(task.rate[g])
        fits = 0 < rate <= node.compute and task.memory_mb <= node.memory_mb - public.base_memory_mb
        if fits and task.parts <= node.count:
            length = 1 if task.limit is not None else -(-task.work // (task.parts * rate))
            last = max(last, end - length + 1)
    earliest = min(option.first for option in task.options)
    return last if last >= earliest else 0
