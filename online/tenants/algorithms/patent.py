"""The patent's search over the jobs that wait, at every release, in each reading of what its page has lost.

F = g + h + l. g is the cost of what is placed, by the family's statement; what h and l are the page does not show. Of
the jobs that are not placed, h sums (E: mean run over the GPUs, P: mean price, ES = 1 - CS, D: ticks to the deadline
from now, at least 1)

    ratio        (E / D) (theta ES + P CS)
    ratio-money  (E / D) (theta ES E + P CS E), the same in money
    slack        max(0, E - D) + theta ES E + CS P E
    slack-late   the same with the late penalty times max(0, E - D)
    least        what the job costs at least: now, on an idle GPU of its best type; never above what it will cost
    zero         0

and l is the standard deviation of the cost over the GPUs. The search ends at the smallest F with everything placed,
which is another function than the cost where l counts.

h is summed in fractions: F is multiplied by their common denominator where that fits into 64 bits, else by the largest
number that does, and each job's h is rounded down. l is rounded to 1/100 micro-dollar.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import lcm

import numpy as np

from ratiobench.formulations.tenants.tables import Jobs
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.tenants.model import IntArray, Job, Public
from ratiobench.online.remarks import Part, Remarks
from ratiobench.online.tenants.beam import beam
from ratiobench.online.tenants.bestfirst import NODES, best_first
from ratiobench.online.tenants.plans import Plan, Planner
from ratiobench.online.tenants.protocol import View
from ratiobench.online.tenants.registry import Entry, Option, register

WIDTH, EXPANSIONS = 100, 1_000_000
LIMIT = 2**61  # F stays below it


class Means:
    """What h knows of a job; times 100."""

    def __init__(self, public: Public, job: Job, now: int) -> None:
        gpus = sum(kind.count for kind in public.gpu_types)
        self.run = Fraction(sum(k.count * r for k, r in zip(public.gpu_types, job.run, strict=True)), gpus)
        price = Fraction(sum(kind.count * kind.price for kind in public.gpu_types), gpus)
        self.left, self.late = max(1, job.deadline - now), public.late_penalty
        self.worth = (100 - job.cost_sensitivity) * public.theta + job.cost_sensitivity * price  # of a tick
        self.over = 100 * max(Fraction(0), self.run - self.left)
        # On an idle GPU of the best type.
        self.least = min(public.cost(job, k, max(now, job.release) + run) for k, run in enumerate(job.run))


# What a job that is not placed adds to h, 1/100 micro-dollar
HEURISTICS: Mapping[str, Callable[[Means], Fraction | int]] = {
    "ratio": lambda job: job.run / job.left * job.worth,
    "ratio-money": lambda job: job.run / job.left * job.worth * job.run,
    "slack": lambda job: job.over + job.worth * job.run,
    "slack-late": lambda job: job.late * job.over + job.worth * job.run,
    "least": lambda job: job.least,
    "zero": lambda job: 0,
}


def scale_values(values: list[Fraction | int], bound: int) -> tuple[IntArray, int]:
    """The values times a whole number, rounded down, and that number; `bound` is no less than any g or l."""
    fractions = [Fraction(value) for value in values]
    most = max(1, LIMIT // (2 * bound + int(sum(fractions)) + 1))
    scale = min(most, lcm(*(value.denominator for value in fractions)))
    ceiling = LIMIT // max(1, len(values))
    return np.array([min(ceiling, int(value * scale)) for value in fractions], dtype=np.int64), scale


class Patent(Planner):
    def __init__(self, options: Mapping[str, str]) -> None:
        self._search, self._load = options["search"], options["load"] == "yes"
        self._value = HEURISTICS[options["h"]]
        self._width = _whole("width", options["width"], 100_000)
        self._most = _whole("expansions", options["expansions"], 10**9)
        chosen = [f"{key}={value}" for key, value in sorted(options.items()) if value != OPTIONS[key].default]
        self._name = f"patent:{','.join(chosen)}" if chosen else "patent"
        self._batches = self._cut = 0
        self.counts: dict[str, int] = {"cut_short": 0, "expanded": 0} if self._search == "best-first" else {}

    def plan(self, jobs: Jobs, plan: Plan, view: View, places: dict[int, int], new: IntArray) -> None:
        self._batches += 1
        latest = int(plan.free.max()) + int(jobs.run.max(axis=1).sum())
        bound = sum(max(self.public.cost(job, k, latest) for k in range(len(job.run))) for job in view.waiting)
        rest, scale = scale_values([self._value(Means(self.public, job, view.now)) for job in view.waiting], bound)
        if self._search == "beam":
            beam(jobs, plan, rest, scale, self._load, self._width)
            return
        expanded, cut = best_first(jobs, plan, self.price, rest, scale, self._load, self._most, NODES)
        self.counts["expanded"] += expanded
        if cut:
            self.counts["cut_short"] += 1

    @property
    def remarks(self) -> Remarks:
        """The name, and at how many releases the search did not come to its end."""
        cut = self.counts.get("cut_short", 0)
        return Remarks(self._name, limit=Part(cut, self._batches) if cut else None)


def _whole(name: str, text: str, most: int) -> int:
    if not (text.isdecimal() and len(text) <= 10 and 1 <= int(text) <= most):
        raise InputError("algorithm", f"patent:{name}", f"{shorten(text)} is not a whole number from 1 to {most}")
    return int(text)


OPTIONS = {
    "search": Option("beam", ("beam", "best-first"), "how it goes through the states"),
    "width": Option(str(WIDTH), None, "states of a layer that a beam keeps"),
    "expansions": Option(str(EXPANSIONS), None, "best-first stops after so many states, and appends the other jobs"),
    "h": Option("ratio", tuple(HEURISTICS), "estimate that is added for jobs that are not placed yet"),
    "load": Option("yes", ("yes", "no"), "whether the deviation of the cost over the GPUs is added"),
}
register(Entry("patent", "the patent's heuristic search over all waiting jobs", "1", OPTIONS, Patent))
