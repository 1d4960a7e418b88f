"""Rules that append: new jobs to the tails of the queues, or all waiting jobs in an order of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np

from ratiobench.formulations.tenants.tables import Jobs
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.tenants.model import IntArray, Public
from ratiobench.online.tenants.plans import CHEAPEST, FASTEST, GREEDY, LEAST_LOADED, Plan, Planner
from ratiobench.online.tenants.protocol import View
from ratiobench.online.tenants.registry import Entry, register


class Tails(Planner):
    """Each new job, in order of arrival, on a tail that a rule chooses; nobody changes places."""

    def __init__(self, rule: int) -> None:
        self._rule = rule

    def plan(self, jobs: Jobs, plan: Plan, view: View, places: dict[int, int], new: IntArray) -> None:
        """The new jobs behind those that wait."""
        self.keep(plan, view, places)
        self.add(jobs, plan, self._rule, new)


Order = Callable[[Jobs], IntArray]


def sort_by_deadline(jobs: Jobs) -> IntArray:
    """Earliest deadline first."""
    return np.argsort(jobs.deadline, kind="stable")


def sort_by_release(jobs: Jobs) -> IntArray:
    """First come, first served."""
    return np.argsort(jobs.release, kind="stable")


def sort_by_weight(jobs: Jobs) -> IntArray:
    """Least shortest run over the weight of the job's time first; exact, and those of no weight last."""
    shortest, weight = jobs.run.min(axis=1).tolist(), jobs.weight.tolist()
    keys = [(not w, Fraction(r, w) if w else r) for r, w in zip(shortest, weight, strict=True)]
    return np.array(sorted(range(len(keys)), key=lambda place: (keys[place], place)), dtype=np.int64)


class SortedLists(Planner):
    """All that wait in an order, each on the tail where it costs least."""

    def __init__(self, order: Order) -> None:
        self._order = order

    def plan(self, jobs: Jobs, plan: Plan, view: View, places: dict[int, int], new: IntArray) -> None:
        """List scheduling."""
        self.add(jobs, plan, GREEDY, self._order(jobs))


class RandomLists(Planner):
    """All that wait in a random order, each on the tail where it costs least."""

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """The stream is named by the run's seed."""
        super().start(public, constants)
        self._stream = Stream("ratiobench/tenants/random", public.seed)

    def plan(self, jobs: Jobs, plan: Plan, view: View, places: dict[int, int], new: IntArray) -> None:
        """A new order at every release."""
        draws = self._stream.integers(0, 2**62 - 1, len(view.waiting))
        self.add(jobs, plan, GREEDY, np.argsort(draws, kind="stable"))


def _tails(name: str, summary: str, rule: int) -> None:
    register(Entry(name, summary, "1", {}, lambda options: Tails(rule)))


def _sorted(name: str, summary: str, order: Order) -> None:
    register(Entry(name, f"waiting jobs sorted {summary}, each on the tail where it costs least", "1", {},
                   lambda options: SortedLists(order)))  # fmt: skip


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
