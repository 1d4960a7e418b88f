"""What our policies share: they are asked once a tick, with all jobs that wait, and answer with all queues."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from ratiobench.formulations.tenants.tables import Jobs
from ratiobench.instances.tenants.model import IntArray, Job, Public
from ratiobench.online.tenants.plans import Plan, arrange, empty_plan, fill_plan, queues_of, tables_of
from ratiobench.online.tenants.protocol import Queues, View


class Planner(ABC):
    """A policy that makes new queues at every release."""

    arithmetic = "integer"

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """Nothing is known of the jobs."""
        self.public = public
        self.price: IntArray = np.array([kind.price for kind in public.gpu_types], dtype=np.int64)

    def decide_batch(self, jobs: Sequence[Job], view: View) -> Sequence[Queues | None]:
        """One answer for all that are released in this tick."""
        tables = tables_of(self.public, view.waiting)
        plan = empty_plan(self.public, view.free, len(view.waiting))
        places = {job.index: place for place, job in enumerate(view.waiting)}
        new = np.array([places[job.index] for job in jobs], dtype=np.int64)
        self.plan(tables, plan, view, places, new)
        return [*(None for _ in jobs[1:]), queues_of(plan, [job.index for job in view.waiting])]

    @abstractmethod
    def plan(self, jobs: Jobs, plan: Plan, view: View, places: dict[int, int], new: IntArray) -> None:
        """Put every waiting job into the empty plan; `new`: the places of those that are released now."""

    def add(self, jobs: Jobs, plan: Plan, rule: int, order: IntArray, passes: int = 0) -> None:
        """`ratiobench.online.tenants.plans.arrange`."""
        arrange(jobs, plan, self.price, rule, order, passes)

    def keep(self, plan: Plan, view: View, places: dict[int, int]) -> None:
        """The queues that there are."""
        fill_plan(plan, view.queues, places)
