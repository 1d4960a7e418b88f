"""`queue`: tasks wait in a queue, and start when there is room, as clusters run jobs.

Every task is run as a rigid one or, with parts, as a gang: slots in a row, and as many as its work takes. Tasks that
may pause or move have fewer schedules here than they may have. The queue does not look at whether a task is worth its
energy, and charges nothing.

Orders: `fcfs` (first come, first served), `sjf` (fewest slots where it takes the fewest, by its limit), `edf` (earliest
deadline), `value` (largest bid per node-slot), `bid`, and `multifactor` (the sum of weighted factors of Slurm's plugin
of that name, with the names of `slurm.conf` in a TOML file, `weights=FILE`; all are 0 without one, as Slurm's are).
Ties: the earlier task.

Backfill: with `none` a task that cannot start blocks all behind it. With `easy` the first of these is promised its
earliest start, and tasks that do not delay it may start. With `conservative` all of these are promised one: `depth`
tasks of the queue are looked at, and starts up to `window` slots ahead, as by Slurm's `bf_max_job_test` and
`bf_window`. With `first-fit` nothing is promised. Promises are made anew whenever something changes. A task that has no
run in time on what is booked, or whose pre-processing is not done, blocks none.

A run of a task with a limit is planned for its limit, and must by that end before the deadline. With `leave=never` no
task leaves the queue at its deadline; a run that ends later earns nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.lora.model import IntArray, Public, Task
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.multifactor import Priorities, Weights, read_weights
from ratiobench.online.lora.one_node import RUNS
from ratiobench.online.lora.protocol import WAIT, View
from ratiobench.online.lora.registry import Entry, Option, register
from ratiobench.online.lora.search.queueing import CONSERVATIVE, EASY, FIRST_FIT, NONE, plan_starts
from ratiobench.online.spec import state_always

_MODES = {"none": NONE, "easy": EASY, "conservative": CONSERVATIVE, "first-fit": FIRST_FIT}
_ORDERS = ("fcfs", "sjf", "edf", "value", "bid", "multifactor")
_ALL = 2**40  # More slots or tasks than there are


class Queue:
    """See the module."""

    arithmetic = "integer"

    def __init__(self, options: Mapping[str, str]) -> None:
        self._order, self._mode = options["order"], _MODES[options["backfill"]]
        self._never = options["leave"] == "never"
        self._window, self._depth = _read_number(options, "window"), _read_number(options, "depth")
        self._weights = None
        if self._order == "multifactor":
            self._weights = Weights() if options["weights"] == "none" else read_weights(options["weights"])
        elif options["weights"] != "none":
            raise InputError("algorithm", "queue:weights", f"only order=multifactor has weights; it is {self._order}")

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """Nothing waits."""
        self._public = public
        self._first_node = public.first_node
        self._capacity = public.compute, public.memory_mb, np.diff(public.first_node)
        self._tasks: dict[int, Task] = {}
        self._rows = _Rows(len(public.node_types))
        self._priorities = None if self._weights is None else Priorities(self._weights, public)

    def decide_batch(self, tasks: Sequence[Task], view: View) -> Sequence[str]:
        """Everything waits."""
        for task in tasks:
            self._add(task)
        return [WAIT] * len(tasks)

    def _add(self, task: Task) -> None:
        compute, memory, count = self._capacity
        usable = (task.rate > 0) & (task.rate <= compute) & (task.memory_mb <= memory) & (task.parts <= count)
        length = np.where(usable, -(-task.work // np.maximum(1, task.parts * task.rate)), 0)
        self._tasks[task.index] = task
        if not usable.any():
            return
        end = self._public.slots if self._never else task.deadline
        first = min(option.first for option in task.options)
        self._rows.add(
            (task.index, task.memory_mb, task.parts, end, first, self._never and task.limit is not None),
            task.rate, length, self._rank(task, usable, length),
        )  # fmt: skip

    def _rank(self, task: Task, usable: NDArray[np.bool_], length: IntArray) -> float:
        """What the queue is ordered by, the least first."""
        if self._order == "sjf":
            return float(length[usable].min())
        if self._order == "edf":
            return float(task.deadline)
        if self._order == "value":
            size = task.parts * length[usable] * task.rate[usable] / self._capacity[0][usable]
            return -float(task.bid / size.min())
        return -float(task.bid) if self._order == "bid" else 0.0

    def at_slot(self, view: View) -> tuple[dict[int, Decision], int | None]:
        """The tasks that start now; it is asked again when the pre-processing of some task is done."""
        for ended in view.ended:
            self._rows.remove(ended.task)
            if ended.how == "left":
                self._tasks.pop(ended.task, None)
        rows = self._rows
        here = rows.waiting()
        wake = min((first for first in rows.first[here].tolist() if first > view.slot), default=None)
        order = self.choose_order(here[rows.first[here] <= view.slot], view)
        runs, nodes = plan_starts(
            view.slot - 1, view.compute.copy(), view.memory_mb.copy(), self._first_node, order, rows.tasks, rows.rate,
            rows.length, rows.cut, self._mode, self._window, self._depth,
        )  # fmt: skip
        starts = {}
        for (row, _, end), chosen in zip(runs.tolist(), nodes, strict=True):
            task = self._tasks.pop(int(rows.index[row]))
            there = sorted(chosen[: task.parts].tolist())
            cells = tuple((k, t) for t in range(view.slot, end + 1) for k in there)
            done = [option for option in task.options if option.first <= view.slot]
            starts[task.index] = Decision(min(done, key=lambda option: option.price).vendor, cells)
            rows.remove(task.index)
            if self._priorities is not None:
                self._priorities.begin(task, view.slot)
        return starts, wake

    def choose_order(self, here: IntArray, view: View) -> IntArray:
        """The rows of tasks that wait and could start, in the order of the queue."""
        rank: NDArray[Any] = self._rows.rank[here]
        if self._priorities is not None:
            self._priorities.go_to(view.slot, view.ended)
            rank = -self._priorities.of([self._tasks[i] for i in self._rows.index[here].tolist()], view.slot)
        found: IntArray = here[np.argsort(rank, kind="stable")]
        return found


def _read_number(options: Mapping[str, str], name: str) -> int:
    """The number of slots or tasks that an option states; `all` for no limit."""
    text = options[name]
    if text == "all":
        return _ALL
    if not text.isascii() or not text.isdigit() or not 0 < len(text) <= 9 or int(text) == 0:
        problem = f"{shorten(text)} is neither `all` nor a whole number of at least 1"
        raise InputError("algorithm", f"queue:{name}", problem)
    return int(text)


class _Rows:
    """The tasks as tables that grow: one row each, in the order of arrival."""

    def __init__(self, types: int) -> None:
        self._used, self._place = 0, dict[int, int]()
        self._alive = np.zeros(64, np.bool_)
        self.tasks = np.zeros((64, 3), np.int64)
        self.index, self.first = np.zeros(64, np.int64), np.zeros(64, np.int64)
        self.cut = np.zeros(64, np.bool_)
        self.rank = np.zeros(64)
        self.rate, self.length = np.zeros((64, types), np.int64), np.zeros((64, types), np.int64)

    def add(self, row: tuple[Any, ...], rate: IntArray, length: IntArray, rank: float) -> None:
        """(index, MB, parts, last slot of a run, first slot, whether it may be cut off), and by type the rest."""
        if self._used == len(self._alive):
            for name in ("_alive", "tasks", "index", "first", "cut", "rank", "rate", "length"):
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.zeros_like(old)]))
        at = self._used
        self._used += 1
        self._place[row[0]] = at
        self._alive[at] = True
        self.index[at], self.tasks[at], self.first[at], self.cut[at] = row[0], row[1:4], row[4], row[5]
        self.rate[at], self.length[at], self.rank[at] = rate, length, rank

    def remove(self, index: int) -> None:
        at = self._place.pop(index, None)
        if at is not None:
            self._alive[at] = False

    def waiting(self) -> IntArray:
        return np.flatnonzero(self._alive).astype(np.int64)


register(
    Entry(
        "queue",
        "tasks wait, and start in order when capacity is free: FCFS, SJF, EDF, backfilling, as clusters run jobs",
        "1",
        {
            "order": Option("fcfs", _ORDERS, "which task is first; value: by bid per node-slot"),
            "backfill": Option(
                "none",
                tuple(_MODES),
                "which tasks may start before one that comes earlier in the queue and cannot start",
            ),
            "leave": Option("deadline", ("deadline", "never"), "never: tasks wait on when their deadline has passed"),
            "window": Option("all", None, "conservative: slots ahead in which runs are promised"),
            "depth": Option("all", None, "conservative: tasks of the queue that are looked at"),
            "weights": Option("none", None, "TOML file of multifactor, with the names of slurm.conf; none: all are 0"),
        },
        Queue,
        standing=state_always(guarantee="none", truthful="no payments"),
        forms=frozenset({RUNS}),
        files=lambda options: [options["weights"]],
    )
)
