"""ElasticFlow: a job is let in if a plan meets it and all that were let in before; a declined one never comes back.

The plan fills the jobs by deadline, each with the least share that suffices (`online.edgeflow.plan.fill`). GPUs that it
leaves go, step by step, to whom they cost least. Plans end min(30 s, 2 % of the window) before the deadline, for the
stalls to come; the artifact's do not (`margin=none`). The artifact works in slots: `slot=60` makes arrivals and
completions act at the next multiple. `edge=any` is the ablation ElasticFlow+Edge: free
edge servers take let-in jobs that fit, by deadline; `edge=ending` takes those alone that end there in time, the largest
first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from instances.edgeflow.model import CLOUD, EDGE, Job, Public
from instances.errors import InputError, shown
from online.edgeflow.admission import ADMITS
from online.edgeflow.placement import RULES, without
from online.edgeflow.planner import Planned, Planner
from online.edgeflow.policy import Sharing, with_common
from online.edgeflow.protocol import WINDOW, Answer, View
from online.edgeflow.registry import Entry, Option, register
from online.edgeflow.sharing import spread

SLOT_LIMIT = 86_400


class ElasticFlow(Sharing):
    """See the module; parameters as the options."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._admit = ADMITS[options["admit"]]
        self._sign = -1 if options["spare"] == "large" else 1
        self._margin = options["margin"] != "none"
        self._edge = RULES.get(options.get("edge", ""))
        self._slot = _slot(options["slot"])

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """Nobody has been let in."""
        super().start(public, constants)
        self.planner = Planner(public, margin=self._margin)
        self.admitted: set[int] = set()
        self._coming: list[Job] = []

    def share(self, view: View, new: Sequence[Job]) -> Answer:
        """What runs goes on until the slot begins; then all that has happened counts."""
        self.planner.learn(new)
        self._coming += new
        if self._slot and view.second % self._slot:
            closed = any(event.kind == WINDOW for event in view.events)
            rows = zip(view.index.tolist(), view.place.tolist(), view.share.tolist(), strict=True)
            running = [row for row in rows if row[2] and not (closed and row[1] == EDGE)]
            named = {i: (place, gpus) for i, place, gpus in running}
            return Answer(named, view.second - view.second % self._slot + self._slot)
        self.planner.see(view)
        here = set(view.index.tolist())
        coming, self._coming = [job for job in self._coming if job.index in here], []
        return self.allocate(view, [i for i in view.index.tolist() if i in self.admitted], coming)

    def allocate(self, view: View, admitted: list[int], coming: Sequence[Job]) -> Answer:
        """Admission, placement, plan, spare GPUs."""
        planner = self.planner
        onedge = self._edge(planner, view, admitted) if self._edge else []
        cloud = without(admitted, onedge)
        taken = self._admit(coming, lambda jobs: planner.plan([*cloud, *jobs]).whole)
        self.admitted.update(taken)
        if self._edge and taken:
            onedge = self._edge(planner, view, [*admitted, *taken])
        return self.answer(view, onedge, planner.plan(without([*admitted, *taken], onedge), 1))

    def answer(self, view: View, onedge: Sequence[int], planned: Planned) -> Answer:
        """The plan's levels, with steps for the GPUs that it leaves; everybody in the plan's list may have some."""
        planner = self.planner
        index = planned.index
        model = planner.model[index]
        at = np.where(planned.inside > 0, planned.found[:, 1], -1)
        used = int(np.where(at >= 0, planner.levels[model, np.maximum(at, 0)], 0).sum())
        none = np.full(len(index), -2, np.int64)
        spread(
            view.gpus - used, planner.left[index], planner.deadline[index], model, at, none, none, none,
            planner.levels, planner.speeds, planner.top, self._sign,
        )  # fmt: skip
        gpus = planner.levels[model, np.maximum(at, 0)].tolist()
        named = {i: (CLOUD, gpus[j]) for j, i in enumerate(index.tolist()) if at[j] >= 0}
        named |= dict.fromkeys(onedge, (EDGE, 1))
        wake = planned.change()
        if self._slot and wake is not None:
            wake = -(-wake // self._slot) * self._slot
        return Answer(named, wake)


def _slot(text: str) -> int:
    if not text.isdecimal() or int(text) > SLOT_LIMIT:
        problem = f"{shown(text)} is no whole number of seconds from 0 to {SLOT_LIMIT}"
        raise InputError("algorithm", "elasticflow:slot", problem)
    return int(text)


OPTIONS: Mapping[str, Option] = {
    "admit": Option("one", ("one", "batch"), "batch: jobs of one second (slot) are let in or declined together"),
    "spare": Option("small", ("small", "large"), "spare GPUs where they cost the least, or (artifact) the most"),
    "margin": Option("stalls", ("stalls", "none"), "none: plans leave no time before deadlines for stalls"),
    "slot": Option("0", None, "seconds: arrivals and completions act at the next multiple; 0: at once"),
}

register(
    Entry(
        "elasticflow",
        "admission by a plan that meets all that were let in, with the least share that suffices",
        "1",
        with_common(
            edge=Option(
                "none", ("none", *RULES), "any: free edge servers take jobs that fit; ending: that end there in time"
            ),
            **OPTIONS,
        ),
        ElasticFlow,
    )
)
