"""`dual-plan`: tasks wait, and start by a plan that is computed again whenever something changes.

The plan has a start and nodes for the waiting tasks that gain by a run (`ratiobench.online.lora.planning`): a run costs
its vendor, its operation, and `scale` times the prices of `ratiobench.online.lora.dual_prices` for its nodes and slots.
These are of the dual of earlier days, solved again with the waiting tasks as part of the demand: what later tasks are
expected to pay for the same capacity. Per slot that a planned run waits it also costs `delay` times the bid: without
that, runs would wait for hours for slots that are cheaper by cents. Tasks whose planned run begins in the present slot
start; all else is planned again. Every task is run as a rigid one or, with parts, as a gang. No payments.

Without earlier days the prices are of the waiting tasks alone. No guarantee. A run of a task with a limit is planned
for its limit, and must by that end before the deadline.

The constants were chosen on days that docs/studies/plan.md lists. Those of docs/results/clusters.md are others.

Source: a plan of all waiting jobs by simulated annealing is from Zheng, Zhou, Yang, Lan, Wang, "Exploring plan-based
scheduling for large-scale computing systems", CLUSTER 2016, there for waiting times, without bids, deadlines or rents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from ratiobench.instances.lora.model import Public, Task
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.algorithms.dual import OPTIONS, DualPriced, read_whole
from ratiobench.online.lora.dual_prices import Demand, free_nodes, join_demands, read_demand
from ratiobench.online.lora.one_node import RUNS
from ratiobench.online.lora.planning import Run, TaskRuns, make_plan, read_runs
from ratiobench.online.lora.protocol import WAIT, View
from ratiobench.online.lora.registry import Entry, Option, fraction, register
from ratiobench.online.spec import state_always


class DualPlan(DualPriced):
    """See the module."""

    arithmetic = "float"

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__("dual-plan", options)
        self._blocks = read_whole("dual-plan:blocks", options["blocks"], 10**6)
        self._delay = float(fraction("dual-plan:delay", options["delay"]))

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """Prices before the day, and nothing waits."""
        self._public, self._prices = public, self.begin(public)
        self._runs: dict[int, TaskRuns] = {}
        self._demands: dict[int, Demand] = {}
        self._plan: dict[int, Run] = {}
        self._plans = 0

    def decide_batch(self, tasks: Sequence[Task], view: View) -> Sequence[str]:
        """Everything waits."""
        for task in tasks:
            demand = read_demand([task], self._public)
            self._prices.count(demand)
            runs = read_runs(task, self._public)
            if runs is not None:
                self._runs[task.index], self._demands[task.index] = runs, demand
        return [WAIT] * len(tasks)

    def at_slot(self, view: View) -> tuple[dict[int, Decision], int | None]:
        """The tasks whose planned run begins now; it is asked again in the slot in which the next one does."""
        now, public = view.slot - 1, self._public
        for ended in view.ended:
            if ended.how == "left":
                self._forget(ended.task)
        for index in [i for i, runs in self._runs.items() if int(runs.high.max()) < now]:
            self._forget(index)
        if not self._runs:
            return {}, None
        demand = join_demands(list(self._demands.values()))
        self._prices.solve(now, free_nodes(view.compute, view.memory_mb, public), demand)
        self._plans += 1
        self._plan = make_plan(
            list(self._runs.values()), public, now, np.stack([view.compute, view.memory_mb]),
            self._scale * self._prices.nu, self._delay, self._plan, self._blocks, self._plans,
        )  # fmt: skip
        starts = {}
        for index, run in list(self._plan.items()):
            if run.start == now:
                cells = tuple((k, t) for t in range(run.start + 1, run.end + 1) for k in run.nodes)
                starts[index] = Decision(None if run.vendor < 0 else run.vendor, cells)
                self._forget(index)
        moments = [run.start for run in self._plan.values()]
        moments += [first for runs in self._runs.values() if (first := int(runs.low.min())) > now]
        return starts, min(moments) + 1 if moments else None

    def _forget(self, index: int) -> None:
        """The task has started, left, or has no run any more."""
        for table in (self._runs, self._demands, self._plan):
            table.pop(index, None)


register(
    Entry(
        "dual-plan",
        "tasks wait, and start by a plan computed again at each change, with rents from the dual of earlier days",
        "1",
        OPTIONS
        | {
            "scale": Option("0.5", None, "part of the prices that a run pays as rent in the plan"),
            "delay": Option("0.0002", None, "part of its bid that a run loses in the plan per slot that it waits"),
            "blocks": Option("500", None, "changes of a plan that annealing tries, at most; 0: list schedules alone"),
        },
        DualPlan,
        standing=state_always(guarantee="none", truthful="no payments"),
        learns=True,
        forms=frozenset({RUNS}),
    )
)
