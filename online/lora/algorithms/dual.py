"""`dual-posted`, `dual-queue`: prices for runs from earlier days, posted at arrival or used to order a queue.

The prices nu_gt of a node of type g in slot t are those of `ratiobench.online.lora.dual_prices`: of the dual of earlier
days' tasks, solved again in each slot with arrivals, for the tasks expected later and the nodes that are left.

`dual-posted` answers at arrival: the cheapest run with room at `scale` times these prices, if the bid is above its cost
(operation and vendor included), which is what it pays. Prices depend on earlier days, on how much work has come and on
what is free, not on the bid, so it is truthful in the bid (Theorem T). It takes tasks of every kind.

`dual-queue` lets tasks wait, as `queue` does, with backfilling of the same names. In each slot the tasks that wait are
ordered by what they would gain by a run that begins now, per node-slot: the bid less operation and `scale` times the
prices. A task that gains nothing now does not start. The tasks that wait are part of the demand for which prices are
solved. No payments.

Without earlier days prices begin at 0; `dual-posted` then takes the cheapest run, as `greedy` does, and `dual-queue`
learns from the tasks that wait. No guarantee. `scale` and the constants of the prices were chosen on five days: Philly
2017-10-05 and 10-17, Helios 2020-05-03 and 05-10, ITP cluster 8, day 20. Those of docs/results/clusters.md are others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.lora.history import require_cluster
from ratiobench.instances.lora.model import Instance, IntArray, Public, Task
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.algorithms.queue import Queue
from ratiobench.online.lora.dual_prices import Demand, DualPrices, free_nodes, read_demand
from ratiobench.online.lora.one_node import RUNS
from ratiobench.online.lora.protocol import View
from ratiobench.online.lora.registry import Entry, Option, fraction, register
from ratiobench.online.lora.runs import find_cheapest, first_slot
from ratiobench.online.spec import state_always

_EVERY = 10  # Arrivals of a slot after which `dual-posted` solves prices again


def read_whole(name: str, text: str, most: int) -> int:
    """The whole number of an option."""
    value = fraction(name, text)
    if value.denominator != 1 or value > most:
        raise InputError("algorithm", name, f"{shorten(text)} is no whole number in 0..{most}")
    return int(value)


class DualPriced:
    """Options, history and prices of the algorithms with learned prices for runs."""

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        self._scale = float(fraction(f"{name}:scale", options["scale"]))
        self._rounds = read_whole(f"{name}:rounds", options["rounds"], 1000)
        self._history: Instance | None = None

    def learn(self, history: Instance | None, tested: Instance) -> Mapping[str, Fraction]:
        """Keep the earlier days; InputError where they are of other nodes or slots."""
        if history is not None:
            require_cluster(history, tested)
        self._history = history
        return {}

    def begin(self, public: Public) -> DualPrices:
        """The prices before the day."""
        return DualPrices(public, self._history, self._rounds)


class DualPosted(DualPriced):
    """See the module."""

    arithmetic = "float"

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__("dual-posted", options)

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """Prices before the day."""
        self._public, self._prices = public, self.begin(public)
        self._slot, self._since = 0, 0
        self._none = read_demand([], public)

    def decide(self, task: Task, view: View) -> Decision | None:
        """The cheapest run, if the bid is above its cost."""
        self._prices.count(read_demand([task], self._public))
        self._since += 1
        if task.arrival != self._slot or self._since >= _EVERY:
            self._prices.solve(task.arrival - 1, free_nodes(view.compute, view.memory_mb, self._public), self._none)
            self._slot, self._since = task.arrival, 0
        first = first_slot(task)
        if first > task.deadline:
            return None
        span = slice(first - 1, task.deadline)
        public = self._public
        share = np.maximum(task.rate / np.maximum(1, public.compute), task.memory_mb / np.maximum(1, public.memory_mb))
        by_type = self._scale * share[:, None] * self._prices.nu[:, span]
        price = np.ascontiguousarray(by_type[public.type_of_node])
        found = find_cheapest(task, public, price, view.room(task, public)[:, span])
        if found is None:
            return None
        cost = math.ceil(found.cost)
        if task.bid <= cost:
            return None
        vendor = found.option if task.vendors else None
        return Decision(vendor, found.cells, cost)


class DualQueue(DualPriced, Queue):
    """See the module."""

    arithmetic = "float"

    def __init__(self, options: Mapping[str, str]) -> None:
        DualPriced.__init__(self, "dual-queue", options)
        Queue.__init__(self, {**options, "order": "fcfs", "weights": "none"})

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """Prices before the day, and nothing waits."""
        Queue.start(self, public, constants)
        self._prices = self.begin(public)
        self._demands: dict[int, Demand] = {}

    def decide_batch(self, tasks: Sequence[Task], view: View) -> Sequence[str]:
        """Everything waits."""
        self._prices.count(read_demand(tasks, self._public))
        return Queue.decide_batch(self, tasks, view)

    def choose_order(self, here: IntArray, view: View) -> IntArray:
        """The rows of the tasks that gain something now, by what they gain per node-slot."""
        demand = read_demand([self._tasks[i] for i in self._rows.index[here].tolist()], self._public)
        self._prices.solve(view.slot - 1, free_nodes(view.compute, view.memory_mb, self._public), demand)
        gain: NDArray[Any] = self._prices.gains(view.slot - 1, demand, self._scale)
        order = np.argsort(-gain, kind="stable")
        return here[order[gain[order] > 0]]


OPTIONS = {
    "scale": Option("0.7", None, "part of the prices that a task pays"),
    "rounds": Option("20", None, "steps each time that prices are computed again; 0: those of earlier days stay"),
}
register(
    Entry(
        "dual-posted",
        "prices for runs from the dual of earlier days, solved again within the day; posted at arrival",
        "2",
        OPTIONS,
        DualPosted,
        standing=state_always(guarantee="none", truthful="in the bid"),
        learns=True,
        forms=frozenset({RUNS}),
    )
)
register(
    Entry(
        "dual-queue",
        "tasks wait, ordered by what they gain at prices from the dual of earlier days and of those that wait",
        "2",
        OPTIONS
        | {
            "backfill": Option("easy", ("none", "easy", "conservative", "first-fit"), "as of `queue`"),
            "leave": Option("deadline", ("deadline", "never"), "never: tasks wait on when their deadline has passed"),
            "window": Option("all", None, "conservative: slots ahead in which runs are promised"),
            "depth": Option("all", None, "conservative: tasks of the queue that are looked at"),
        },
        DualQueue,
        standing=state_always(guarantee="none", truthful="no payments"),
        learns=True,
        forms=frozenset({RUNS}),
    )
)
