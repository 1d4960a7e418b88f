"""Lookahead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from instances.seeds import Stream
from instances.tenants.model import IntArray, Job, Public
from online.tenants.algorithms.insertion import BEST_PLACE, PASSES
from online.tenants.plans import Jobs, Plan
from online.tenants.policy import Planner
from online.tenants.protocol import Queues, View
from online.tenants.registry import Entry, Option, register
from online.tenants.rollout import look_ahead


class Lookahead(Planner):
    def __init__(self, o) -> None:
        self.S, self.L, self.soon, self.passes, self.hold, self.wide = (
            int(o[k]) for k in ("scen", "jobs", "soon", "passes", "hold", "wide")
        )
        self.least, self.block = int(o["least"]), int(o["block"])

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        super().start(public, constants)
        self._stream = Stream("ratiobench/tenants/lookahead")
        self._seen: list[Job] = []
        self._gaps: list[int] = []
        self._last = None
        self.counts = {"tried": 0}

    def decide_batch(self, jobs: Sequence[Job], view: View) -> Sequence[Queues | None]:
        self._jobs = jobs
        for i, job in enumerate(jobs):
            if self._last is not None:
                self._gaps.append(job.release - self._last)
            self._last = job.release
            self._seen.append(job)
        return super().decide_batch(jobs, view)

    def plan(self, jobs: Jobs, plan: Plan, view: View, places: dict[int, int], new: IntArray) -> None:
        self.keep(plan, view, places)
        S, L = self.S, self.L
        w = len(view.waiting)
        draws = self._stream.integers(0, 2**40, 2 * S * L)
        if len(self._gaps) < self.least or not sum(self._gaps):
            self.add(jobs, plan, BEST_PLACE, self._missing(plan, w), PASSES)
            return
        self.add(jobs, plan, BEST_PLACE, self._missing(plan, w), PASSES)
        pick = (draws[: S * L] % len(self._seen)).reshape(S, L)
        gaps = np.array(self._gaps)[(draws[S * L :] % len(self._gaps))].reshape(S, L)
        if self.block:
            k = len(self._gaps)
            at = (draws[:S][:, None] + np.arange(L)) % k
            gaps = np.array(self._gaps)[at]
            if self.block == 1:
                pick = at + 1
        release = view.now + np.maximum(1, gaps.cumsum(axis=1))
        # the pool
        from online.tenants.plans import tables_of

        pool = tables_of(self.public, self._seen)
        flat = pick.ravel()
        rel = release.ravel()
        both = Jobs(
            np.concatenate((jobs.release, rel)),
            np.concatenate((jobs.deadline, pool.deadline[flat] - pool.release[flat] + rel)),
            np.concatenate((jobs.weight, pool.weight[flat])),
            np.concatenate((jobs.run, pool.run[flat])),
            np.concatenate((jobs.money, pool.money[flat])),
            jobs.late,
        )
        later = np.arange(w, w + S * L).reshape(S, L)
        wide_plan = Plan(
            plan.kind,
            plan.free,
            np.concatenate((plan.queue, np.zeros((len(plan.kind), L + 1), np.int64)), axis=1),
            plan.length,
        )
        mean_gap = sum(self._gaps) / len(self._gaps)
        soon = plan.free <= view.now + self.soon * mean_gap
        self.counts["tried"] += look_ahead(both, wide_plan, soon, later, self.passes, self.hold, self.wide)
        plan.queue[:, :] = wide_plan.queue[:, : plan.queue.shape[1]]

    def _missing(self, plan, w):
        there = {int(j) for g, c in enumerate(plan.length) for j in plan.queue[g, :c]}
        return np.array([j for j in range(w) if j not in there], dtype=np.int64)


register(
    Entry(
        "lookahead",
        "x",
        "1",
        {
            k: Option(d, None, "x")
            for k, d in dict(scen="8", jobs="8", soon="2", passes="5", hold="0", least="4", block="0", wide="0").items()
        },
        Lookahead,
    )
)
