"""Rules that insert, and rules that append: new jobs to the queues, or all waiting jobs in an order of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np

from ratiobench.formulations.tenants.tables import Jobs
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.tenants.model import IntArray, Public
from ratiobench.online.tenants.plans import CHEAPEST, FASTEST, GREEDY, LEAST_LOADED, Plan, Planner, arrange, fill_plan
from ratiobench.online.tenants.protocol import View
from ratiobench.online.tenants.registry import Entry, register

PASSES = 30  # Most passes over the waiting jobs at one release
BEST_PLACE = -1


class NewJobs(Planner):
    """Each new job into the queues that there are by a rule of `arrange`, then moves in so many passes."""

    def __init__(self, rule: int, passes: int = 0) -> None:
        self._rule, self._passes = rule, passes

    def plan(self, jobs: Jobs, plan: Plan, view: View, places: dict[int, int], new: IntArray) -> None:
        fill_plan(plan, view.queues, places)
        arrange(jobs, plan, self.price, self._rule, new, self._passes)


Order = Callable[[Jobs], IntArray]


def sort_by_deadline(jobs: Jobs) -> IntArray:
    return np.argsort(jobs.deadline, kind="stable")


def sort_by_release(jobs: Jobs) -> IntArray:
    return np.argsort(jobs.release, kind="stable")


def sort_by_weight(jobs: Jobs) -> IntArray:
    """Least shortest run over the weight of the job's time first, exact; those of no weight last."""
    shortest, weight = jobs.run.min(axis=1).tolist(), jobs.weight.tolist()
    keys = [(not w, Fraction(r, w) if w else r) for r, w in zip(shortest, weight, strict=True)]
    return np.array(sorted(range(len(keys)), key=lambda place: (keys[place], place)), dtype=np.int64)


class SortedLists(Planner):
    def __init__(self, order: Order) -> None:
        self._order = order

    def plan(self, jobs: Jobs, plan: Plan, view: View, places: dict[int, int], new: IntArray) -> None:
        arrange(jobs, plan, self.price, GREEDY, self._order(jobs), 0)


class RandomLists(Planner):
    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        super().start(public, constants)
        self._stream = Stream("ratiobench/tenants/random", public.seed)

    def plan(self, jobs: Jobs, plan: Plan, view: View, places: dict[int, int], new: IntArray) -> None:
        draws = self._stream.integers(0, 2**62 - 1, len(view.waiting))
        arrange(jobs, plan, self.price, GREEDY, np.argsort(draws, kind="stable"), 0)


def _tails(name: str, summary: str, rule: int) -> None:
    register(Entry(name, summary, "1", {}, lambda options: NewJobs(rule)))


def _sorted(name: str, summary: str, order: Order) -> None:
    register(Entry(name, f"waiting jobs sorted {summary}, each on the tail where it costs least", "1", {},
                   lambda options: SortedLists(order)))  # fmt: skip


register(Entry("insertion", "each new job at the place of a queue where it costs least", "1", {},
               lambda options: NewJobs(BEST_PLACE)))  # fmt: skip
register(Entry("replan", f"insertion, then moves of single waiting jobs, at most {PASSES} passes", "1", {},
               lambda options: NewJobs(BEST_PLACE, PASSES)))  # fmt: skip
_tails("greedy", "each new job on the tail where it costs least", GREEDY)
_tails("least-loaded", "each new job on the tail that is free first", LEAST_LOADED)
_tails("fastest", "each new job on the tail where it ends first", FASTEST)
_tails("cheapest", "each new job on the GPU where its run takes the least money", CHEAPEST)
_sorted("edf", "by deadline", sort_by_deadline)
_sorted("fifo", "by release", sort_by_release)
_sorted("wspt", "by shortest run over the weight of their time", sort_by_weight)
register(
    Entry("random", "waiting jobs in a random order, each on the tail where it costs least", "1", {},
          lambda options: RandomLists(), randomised=True)
)  # fmt: skip
