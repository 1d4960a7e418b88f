"""What a planning policy knows of jobs and models, as tables, its plans, and who runs on the edge servers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ratiobench.instances.arrays import IntArray
from ratiobench.instances.edgeflow.model import CLOUD, EDGE, Job, Public
from ratiobench.online.edgeflow import plan as kernels
from ratiobench.online.edgeflow.plan import CHANGE, COLUMNS, NEVER
from ratiobench.online.edgeflow.protocol import PAUSED, Answer, View

FloatArray = NDArray[np.float64]
# Margin of a plan: it ends so many seconds before the deadline, or 2 % of the job's window if that is less, for stalls
# to come
MARGIN_S = 30


@dataclass(frozen=True, slots=True, eq=False)
class PlanResult:
    """The jobs in order of deadlines, who is planned, and the kernel's columns."""

    index: IntArray
    inside: IntArray
    found: IntArray
    count: int

    @property
    def whole(self) -> bool:
        return self.count == len(self.index)

    def jobs(self) -> list[int]:
        planned: list[int] = self.index[self.inside > 0].tolist()
        return planned

    def change(self) -> int | None:
        """The second at which the plan changes first."""
        changes = self.found[self.inside.astype(bool), CHANGE]
        first = int(changes.min()) if len(changes) else NEVER
        return None if first == NEVER else first


class Planner:
    """Tables of the models and columns of the jobs; `margin`: plans end before the deadline, until `end_margin`."""

    def __init__(self, public: Public, *, margin: bool = True) -> None:
        self.public, self._margin = public, margin
        self.levels, self.speeds, self.top = tables(public)
        self.edge_speed = np.array([m.edge_speed for m in public.models], np.int64)
        self.overhead = np.array([m.overhead_s for m in public.models], np.int64)
        self.edge_overhead = np.array([m.edge_overhead_s for m in public.models], np.int64)
        size = 64
        self.deadline, self.due, self.model = (np.zeros(size, np.int64) for _ in range(3))
        # Of the jobs that are here, as seen last.
        self.left, self.place, self.level, self.last, self.ready = (np.zeros(size, np.int64) for _ in range(5))
        self.second = 0

    def learn(self, jobs: Iterable[Job]) -> None:
        for job in jobs:
            while job.index >= len(self.deadline):
                for name in ("deadline", "due", "model", "left", "place", "level", "last", "ready"):
                    column = getattr(self, name)
                    setattr(self, name, np.concatenate([column, np.zeros_like(column)]))
            i = job.index
            self.deadline[i], self.model[i] = job.deadline, job.model
            margin = min(MARGIN_S, (job.deadline - job.submit) // 50) if self._margin else 0
            self.due[i] = job.deadline - margin

    def end_margin(self, jobs: Sequence[int]) -> None:
        self.due[jobs] = self.deadline[jobs]

    def update_state(self, view: View) -> None:
        here = view.index
        self.second = view.second
        self.left[here], self.place[here] = view.left, view.place
        self.last[here], self.ready[here] = view.last, view.ready
        self.level[here] = self._level_of(here, view)

    def _level_of(self, here: IntArray, view: View) -> IntArray:
        """Position of the present share among the levels; -1 if the job does not run in the cloud."""
        same = (self.levels[self.model[here]] == view.share[:, None]) & (view.place == CLOUD)[:, None]
        return np.asarray(np.where(same.any(axis=1), same.argmax(axis=1), -1))

    def order_jobs(self, jobs: Sequence[int] | IntArray) -> IntArray:
        index = np.asarray(jobs, dtype=np.int64)
        return np.asarray(index[np.lexsort((index, self.deadline[index]))])

    def plan(
        self,
        jobs: Sequence[int] | IntArray,
        rule: int = kernels.KEEP_ALL,
        *,
        hold: bool = False,
        stalls: bool = False,
        weight: FloatArray | None = None,
    ) -> PlanResult:
        index = self.order_jobs(jobs)
        n = len(index)
        model = self.model[index]
        level = self.level[index]
        stall = np.zeros(n, np.int64)
        if stalls:
            stall = np.where(level >= 0, np.maximum(0, self.ready[index] - self.second), self.stall(index, CLOUD))
        inside, found = np.ones(n, np.int64), np.zeros((n, COLUMNS), np.int64)
        count = kernels.plan(
            self.second, self.public.gpus, self.due[index], self.left[index], stall, self.ready[index], model,
            level if hold else np.full(n, -1, np.int64), weight[index] if weight is not None else np.zeros(n),
            self.levels, self.speeds, self.top, rule, inside, found,
        )  # fmt: skip
        return PlanResult(index, inside, found, int(count))

    def stall(self, index: IntArray, place: int) -> IntArray:
        """Seconds that a start at this place takes now."""
        model, last = self.model[index], self.last[index]
        across = (last != PAUSED) & (last != place)
        return np.asarray(self.overhead[model] + np.where(across, self.edge_overhead[model], 0))

    def edge_end(self, index: IntArray) -> IntArray:
        """The second at which each job would end on an edge server from now on; NEVER if it does not fit there."""
        speed = self.edge_speed[self.model[index]]
        on = self.place[index] == EDGE
        begin = np.where(on, np.maximum(self.ready[index], self.second), self.second + self.stall(index, EDGE))
        return np.asarray(np.where(speed > 0, begin - (-self.left[index] // np.maximum(speed, 1)), NEVER))

    def answer(self, index: IntArray, at: IntArray, onedge: Iterable[int], wake: int | None) -> Answer:
        """The jobs at these levels (-1: none) in the cloud, the others on the edge."""
        gpus = self.levels[self.model[index], np.maximum(at, 0)].tolist()
        named = {i: (CLOUD, gpus[j]) for j, i in enumerate(index.tolist()) if at[j] >= 0}
        return Answer(named | dict.fromkeys(onedge, (EDGE, 1)), wake)


def tables(public: Public) -> tuple[IntArray, IntArray, IntArray]:
    """(models, L) useful levels and their speeds, and the last level of each model (-1: none)."""
    useful = [model.useful(public.gpus) for model in public.models]
    width = max([len(each) for each in useful] + [1])
    levels, speeds = np.zeros((len(useful), width), np.int64), np.zeros((len(useful), width), np.int64)
    for m, each in enumerate(useful):
        for k, (gpus, speed) in enumerate(each):
            levels[m, k], speeds[m, k] = gpus, speed
    return levels, speeds, np.array([len(each) - 1 for each in useful], np.int64)


def choose_by_deadline(planner: Planner, view: View, jobs: Iterable[int]) -> list[int]:
    """Jobs on a server stay; free ones take any job that fits the memory there, by deadline (ElasticFlow+Edge)."""
    index = _fitting(planner, jobs)
    on = planner.place[index] == EDGE
    order = np.lexsort((index, planner.deadline[index], ~on))
    return _take_first(index[order], view.servers)


def choose_in_time(planner: Planner, view: View, jobs: Iterable[int]) -> list[int]:
    """Jobs that end on a server in time: those on one, then those with the most remaining GPU time."""
    index = find_ending(planner, view, jobs)
    on = planner.place[index] == EDGE
    staying = _take_first(index[on], view.servers)
    return [*staying, *find_largest(planner, index[~on], view.servers - len(staying))]


def find_staying(planner: Planner, view: View, jobs: Iterable[int]) -> list[int]:
    """Jobs on a server that end there in time, before it is gone (EdgeFlow's first rule)."""
    index = find_ending(planner, view, jobs)
    return _take_first(index[planner.place[index] == EDGE], view.servers)


def find_largest(planner: Planner, index: IntArray, count: int) -> list[int]:
    """The jobs with the most remaining GPU time at their smallest level (EdgeFlow's second rule)."""
    work = find_remaining_work(planner, index)
    order = np.lexsort((index, planner.deadline[index], -work))
    return _take_first(index[order], count)


def find_ending(planner: Planner, view: View, jobs: Iterable[int]) -> IntArray:
    """Jobs that fit on a server and end there in time, and before it is gone if that is known."""
    index = _fitting(planner, jobs)
    last = planner.deadline[index]
    if view.until is not None:
        last = np.minimum(last, view.until)
    return np.asarray(index[planner.edge_end(index) <= last])


def find_remaining_work(planner: Planner, index: IntArray) -> IntArray:
    """GPU seconds of the work that is left, at the smallest level, rounded up."""
    model = planner.model[index]
    slow = np.maximum(planner.speeds[model, 0], 1)
    return np.asarray(-(-planner.left[index] // slow) * planner.levels[model, 0])


def _take_first(index: IntArray, count: int) -> list[int]:
    jobs: list[int] = index[: max(0, count)].tolist()
    return jobs


def _fitting(planner: Planner, jobs: Iterable[int]) -> IntArray:
    index = np.fromiter(jobs, np.int64)
    return np.asarray(index[planner.edge_speed[planner.model[index]] > 0])


def exclude_jobs(jobs: Sequence[int], others: Iterable[int]) -> list[int]:
    gone = set(others)
    return [i for i in jobs if i not in gone]


RULES = {"any": choose_by_deadline, "ending": choose_in_time}  # By the value of ElasticFlow's option `edge`
