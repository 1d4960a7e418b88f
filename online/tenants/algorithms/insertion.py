"""Insertion, and insertion with moves."""

from __future__ import annotations

from ratiobench.formulations.tenants.tables import Jobs
from ratiobench.instances.tenants.model import IntArray
from ratiobench.online.tenants.plans import Plan, Planner, arrange, fill_plan
from ratiobench.online.tenants.protocol import View
from ratiobench.online.tenants.registry import Entry, register

PASSES = 30  # Most passes over the waiting jobs at one release
BEST_PLACE = -1


class Insertion(Planner):
    def __init__(self, passes: int) -> None:
        self._passes = passes

    def plan(self, jobs: Jobs, plan: Plan, view: View, places: dict[int, int], new: IntArray) -> None:
        fill_plan(plan, view.queues, places)
        arrange(jobs, plan, self.price, BEST_PLACE, new, self._passes)


register(Entry("insertion", "each new job at the place of a queue where it costs least", "1", {},
               lambda options: Insertion(0)))  # fmt: skip
register(Entry("replan", f"insertion, then moves of single waiting jobs, at most {PASSES} passes", "1", {},
               lambda options: Insertion(PASSES)))  # fmt: skip
