"""Hold, ours: no job is declined; at every event a plan meets as many jobs as it can, and keeps running jobs.

Plan (Moore-Hodgson): the jobs that can still be met are filled by deadline (`ratiobench.online.edgeflow.plan.fill`);
where one cannot be filled, the largest of those filled and of itself is left out, and filling goes on from there. The
size of a job is the GPU seconds that it still takes on the smallest level that alone would meet it, times (1 + part
left) / 2: who has come far is left out last. Stalls to come are charged.

There are two such plans: in one a running job first tries to go on as it runs, to its end. That one is taken unless the
other meets over 3 % more jobs. Of GPUs that it leaves, running jobs first get their level back; then a step goes to
whom it makes the least dear, over the GPU seconds that the plan takes for the job; but not to change what runs for less
than 60 overheads of time. Edge servers: who would end there in time, the most remaining GPU time first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from ratiobench.instances.arrays import IntArray
from ratiobench.instances.edgeflow.model import Job, Public
from ratiobench.online.edgeflow.plan import DROP_LARGEST, LEVEL, USED, restore, spread
from ratiobench.online.edgeflow.planner import RULES, FloatArray, Planner, PlanResult, exclude_jobs
from ratiobench.online.edgeflow.policy import COMMON, Sharing
from ratiobench.online.edgeflow.protocol import Answer, View
from ratiobench.online.edgeflow.registry import Entry, Option, register

PATIENCE = 60  # A running job changes its level for a step that saves more than so many of its overheads
WORTH = 3  # Percent of jobs more that a plan must meet before what runs is stopped for it


class Hold(Sharing):
    arithmetic = "float"

    def __init__(self, options: Mapping[str, str]) -> None:
        self._edge = RULES.get(options["edge"])

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        super().start(public, constants)
        self.planner = Planner(public)

    def share(self, view: View, new: Sequence[Job]) -> Answer:
        planner = self.planner
        planner.learn(new)
        planner.update_state(view)
        onedge = self._edge(planner, view, view.index.tolist()) if self._edge else []
        return self._answer(view, onedge, self._plan(exclude_jobs(self._alive(view), onedge)))

    def _alive(self, view: View) -> list[int]:
        """Who would end in time with all GPUs from now on."""
        planner, index = self.planner, view.index
        model = planner.model[index]
        fast = planner.speeds[model, np.maximum(planner.top[model], 0)]
        alive: list[int] = index[fast * (planner.deadline[index] - view.second) >= view.left].tolist()
        return alive

    def _plan(self, jobs: list[int]) -> PlanResult:
        size = self._sizes(np.array(jobs, np.int64))
        held = self.planner.plan(jobs, DROP_LARGEST, hold=True, stalls=True, weight=size)
        if held.whole:
            return held
        other = self.planner.plan(jobs, DROP_LARGEST, stalls=True, weight=size)
        return other if other.count * (100 - WORTH) > held.count * 100 else held

    def _sizes(self, index: IntArray) -> FloatArray:
        planner = self.planner
        size = np.zeros(len(planner.deadline))
        if not len(index):
            return size
        model, left = planner.model[index], planner.left[index]
        speeds, levels = planner.speeds[model], planner.levels[model]
        span = np.maximum(1, planner.due[index] - planner.second)
        enough = (speeds * span[:, None] >= left[:, None]) & (levels > 0)
        first = np.where(enough.any(axis=1), enough.argmax(axis=1), 0)
        row = np.arange(len(index))
        need = left / np.maximum(speeds[row, first], 1) * levels[row, first]
        size[index] = need * (1 + left / np.array([self.jobs[i].work for i in index.tolist()])) / 2
        return size

    def _answer(self, view: View, onedge: Sequence[int], planned: PlanResult) -> Answer:
        planner, inside = self.planner, planned.inside > 0
        index, at, used = planned.index[inside], planned.found[inside, LEVEL].copy(), planned.found[inside, USED]
        model, present = planner.model[index], planner.level[index]
        free = restore(view.gpus, model, at, present, planner.levels)
        spread(
            free, planner.left[index], planner.deadline[index], model, at, np.where(present >= 0, present, -2),
            PATIENCE * planner.overhead[model], used.copy(), planner.levels, planner.speeds, planner.top, 1,
        )  # fmt: skip
        return planner.answer(index, at, onedge, planned.change())


register(
    Entry(
        "hold",
        "ours: at every event a plan for as many jobs as possible; running jobs are kept in the plan",
        "2",
        {"edge": Option("ending", ("none", *RULES), "none: the cloud alone; others as elasticflow's"), **COMMON},
        Hold,
    )
)
