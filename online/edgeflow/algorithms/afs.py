"""AFS: GPUs go step by step to whom a step shortens the total of finish times most; not deadline-aware.

A step is the next power of two among the job's useful levels. Of two jobs, a with the shorter remaining time at its
present share (at its first level where it has none) and b: where both have none, a goes first; where one has none,
that one; else b exactly if its gain over its next speed is larger than a's over its present one, the gain being speed
per GPU of the step. Compared in whole numbers; ties by deadline, then by index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from ratiobench.instances.edgeflow.model import CLOUD, Job, Public
from ratiobench.online.edgeflow.plan import divide
from ratiobench.online.edgeflow.planner import tables
from ratiobench.online.edgeflow.policy import COMMON, Sharing
from ratiobench.online.edgeflow.protocol import Answer, View
from ratiobench.online.edgeflow.registry import Entry, register

PRODUCT_LIMIT = 2**62  # Products up to it fit the kernel's integers; Python's take those that may be larger


class Afs(Sharing):
    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        super().start(public, constants)
        self._tables = tables(public)
        levels, speeds, _ = self._tables
        slow = np.maximum(1, speeds[:, 0]).tolist()
        self._scale = [lcm(*slow) // speed for speed in slow]  # times these, times at first levels are whole numbers
        self._fastest = max(1, int(speeds.max(initial=0)))
        self._is_small = self._fastest**2 * int(levels.max(initial=0)) <= PRODUCT_LIMIT

    def share(self, view: View, new: Sequence[Job]) -> Answer:
        levels, speeds, top = self._tables
        model = np.array([self.jobs[i].model for i in view.index.tolist()], np.int64)
        has = top[model] >= 0
        index, left, model = view.index[has], view.left[has], model[has]
        due = np.array([self.jobs[i].deadline for i in index.tolist()], np.int64)
        rank = np.argsort(np.lexsort((index, due)))
        times = [work * self._scale[m] for work, m in zip(left.tolist(), model.tolist(), strict=True)]
        order = np.array(sorted(range(len(times)), key=lambda j: (times[j], rank[j])), np.int64)
        given: Sequence[Any] = (left, model, rank, order, np.full(len(index), -1, np.int64), levels, speeds, top)
        if self._is_small and int(left.max(initial=0)) * self._fastest <= PRODUCT_LIMIT:
            divide(view.gpus, *given)
        else:
            given = [each.astype(object) for each in given]
            getattr(divide, "py_func", divide)(view.gpus, *given)
        at = given[4].astype(np.int64)
        gpus = levels[model, np.maximum(at, 0)].tolist()
        return Answer({i: (CLOUD, gpus[j]) for j, i in enumerate(index.tolist()) if at[j] >= 0})


register(
    Entry(
        "afs",
        "GPUs step by step to the jobs whose finish times they shorten most; not deadline-aware",
        "2",
        COMMON,
        lambda options: Afs(),
    )
)
