"""ElasticFlow: a job is admitted if one plan meets it and the jobs admitted before; a declined job never comes back.

The plan fills the jobs by deadline, each with the least share that suffices (`ratiobench.online.edgeflow.plan.fill`).
GPUs that it leaves go, step by step, to the job for which a step costs least.

A newcomer is tested together with those admitted jobs that can still be planned, so an admitted job that will miss its
deadline blocks nobody. In the artifact it does: its function `estimate_all_jobs` asks for a plan of all admitted jobs
(`block=artifact`). A newcomer must end min(30 s, 2 % of its window) before its deadline, for stalls to come; once it is
admitted, plans use its true deadline. The artifact has no such margin (`margin=none`); `margin=all` keeps it for
admitted jobs, too.

The artifact works in slots: `slot=60` makes arrivals and completions act at the next multiple. `edge=any` is the
ablation ElasticFlow+Edge: free edge servers take admitted jobs that fit, by deadline; `edge=ending` takes only those
that end there in time, the largest first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from ratiobench.instances.edgeflow.model import EDGE, Job, Public
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.online.edgeflow.plan import DROP_FAILED, LEVEL, spread
from ratiobench.online.edgeflow.planner import RULES, Planner, PlanResult, exclude_jobs
from ratiobench.online.edgeflow.policy import COMMON, Sharing
from ratiobench.online.edgeflow.protocol import WINDOW, Answer, View
from ratiobench.online.edgeflow.registry import Entry, Option, register

SLOT_LIMIT = 86_400
Fits = Callable[[Sequence[int]], bool]  # Whether one plan meets these jobs and those admitted before


def admit_one_by_one(new: Sequence[Job], fits: Fits) -> list[int]:
    """In order of arrival: each job that fits beside those before it."""
    taken: list[int] = []
    for job in new:
        if fits([*taken, job.index]):
            taken.append(job.index)
    return taken


def admit_together(new: Sequence[Job], fits: Fits) -> list[int]:
    """All or none, as the artifact treats the arrivals of a slot."""
    jobs = [job.index for job in new]
    return jobs if jobs and fits(jobs) else []


ADMITS = {"one": admit_one_by_one, "batch": admit_together}  # By the value of the option `admit`


class ElasticFlow(Sharing):
    name = "elasticflow"

    def __init__(self, options: Mapping[str, str]) -> None:
        self._admit = ADMITS[options["admit"]]
        self._sign = -1 if options["spare"] == "large" else 1
        self._margin = options["margin"]
        self._blocks = options["block"] == "artifact"
        self._edge = RULES.get(options.get("edge", ""))
        self._slot = _slot(self.name, options["slot"])

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        super().start(public, constants)
        self.planner = Planner(public, margin=self._margin != "none")
        self.admitted: set[int] = set()
        self._coming: list[Job] = []

    def share(self, view: View, new: Sequence[Job]) -> Answer:
        """Leave running jobs as they are until the slot begins; then take all events into account."""
        self.planner.learn(new)
        self._coming += new
        if self._slot and view.second % self._slot:
            closed = any(event.kind == WINDOW for event in view.events)
            rows = zip(view.index.tolist(), view.place.tolist(), view.share.tolist(), strict=True)
            running = [row for row in rows if row[2] and not (closed and row[1] == EDGE)]
            named = {i: (place, gpus) for i, place, gpus in running}
            return Answer(named, view.second - view.second % self._slot + self._slot)
        self.planner.update_state(view)
        here = set(view.index.tolist())
        coming, self._coming = [job for job in self._coming if job.index in here], []
        admitted = [i for i in view.index.tolist() if i in self.admitted]
        if self._margin == "newcomers":
            self.planner.end_margin(admitted)
        return self.allocate(view, admitted, coming)

    def allocate(self, view: View, admitted: list[int], coming: Sequence[Job]) -> Answer:
        planner = self.planner
        onedge = self._edge(planner, view, admitted) if self._edge else []
        cloud = exclude_jobs(admitted, onedge)
        tested = cloud if self._blocks or not coming else planner.plan(cloud, DROP_FAILED).jobs()
        taken = self._admit(coming, lambda jobs: planner.plan([*tested, *jobs]).whole)
        self.admitted.update(taken)
        if self._edge and taken:
            onedge = self._edge(planner, view, [*admitted, *taken])
        return self.answer(view, onedge, planner.plan(exclude_jobs([*admitted, *taken], onedge), DROP_FAILED))

    def answer(self, view: View, onedge: Sequence[int], planned: PlanResult) -> Answer:
        """The plan's levels, and steps for the GPUs that it leaves; a job that the plan drops may have some, too."""
        planner = self.planner
        index = planned.index
        model = planner.model[index]
        at = np.where(planned.inside > 0, planned.found[:, LEVEL], -1)
        used = int(np.where(at >= 0, planner.levels[model, np.maximum(at, 0)], 0).sum())
        none = np.full(len(index), -2, np.int64)
        spread(
            view.gpus - used, planner.left[index], planner.deadline[index], model, at, none, none, none,
            planner.levels, planner.speeds, planner.top, self._sign,
        )  # fmt: skip
        wake = planned.change()
        if self._slot and wake is not None:
            wake = -(-wake // self._slot) * self._slot
        return planner.answer(index, at, onedge, wake)


def _slot(name: str, text: str) -> int:
    if not text.isdecimal() or int(text) > SLOT_LIMIT:
        problem = f"{shorten(text)} is no whole number of seconds from 0 to {SLOT_LIMIT}"
        raise InputError("algorithm", f"{name}:slot", problem)
    return int(text)


OPTIONS: Mapping[str, Option] = {
    "admit": Option("one", ("one", "batch"), "batch: jobs of one second (slot) are admitted or declined together"),
    "spare": Option("small", ("small", "large"), "spare GPUs where they cost the least, or (artifact) the most"),
    "block": Option(
        "none", ("none", "artifact"), "artifact: an admitted job that no plan can meet blocks every newcomer"
    ),
    "margin": Option(
        "newcomers", ("newcomers", "all", "none"), "whose plans end before the deadline, to leave time for stalls"
    ),
    "slot": Option("0", None, "seconds: arrivals and completions act at the next multiple; 0: at once"),
}

register(
    Entry(
        "elasticflow",
        "admission by a plan that meets all admitted jobs, with the least share that suffices",
        "2",
        {
            "edge": Option(
                "none", ("none", *RULES), "any: free edge servers take jobs that fit; ending: that end there in time"
            ),
            **OPTIONS,
            **COMMON,
        },
        ElasticFlow,
    )
)
