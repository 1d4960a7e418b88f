"""EdgeFlow, reconstructed: its paper's rule for off-loading is not in the text that we have, so this is our reading.

At every event: (1) jobs on an edge server stay while they end there in time. (2) Where GPUs and servers are free,
admitted jobs that would end there in time go, the largest remaining GPU time first. (3) Where the plan fails, or a new
job would be declined: among the cloud jobs that could use a larger share, by deadline less the end at that share,
largest first, the one moves that would end there in time and frees most GPUs; then the plan is made again, as long as
there are servers. The rest is ElasticFlow, with its options. Each rule can be turned off: `stay=no`, `offload=no`,
`rescue=no`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ratiobench.instances.edgeflow.model import EDGE, Job
from ratiobench.online.edgeflow.algorithms.elasticflow import OPTIONS, ElasticFlow
from ratiobench.online.edgeflow.plan import DROP_FAILED, KEEP_ALL, LEVEL
from ratiobench.online.edgeflow.planner import PlanResult, exclude_jobs, find_ending, find_largest, find_staying
from ratiobench.online.edgeflow.policy import COMMON
from ratiobench.online.edgeflow.protocol import Answer, View
from ratiobench.online.edgeflow.registry import Entry, Option, register
from ratiobench.online.remarks import Remarks

_YES = ("yes", "no")
_OPTIONS: Mapping[str, Option] = {
    "stay": Option("yes", _YES, "rule 1: jobs on an edge server stay if they end there in time"),
    "offload": Option("yes", _YES, "rule 2: free servers take jobs while GPUs are free"),
    "rescue": Option("yes", _YES, "rule 3: jobs move to servers where the plan fails or a job would be declined"),
    **OPTIONS,
    **COMMON,
}


class EdgeFlow(ElasticFlow):
    name = "edgeflow"

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        self._stay, self._offload, self._rescue = (options[name] == "yes" for name in ("stay", "offload", "rescue"))
        changed = [f"{key}={value}" for key, value in sorted(options.items()) if value != _OPTIONS[key].default]
        name = ":".join(filter(None, ("edgeflow", ",".join(changed))))
        self.remarks = Remarks(name, notes=("reconstructed",))

    def allocate(self, view: View, admitted: list[int], coming: Sequence[Job]) -> Answer:
        """The three rules around ElasticFlow's admission and plan."""
        onedge = find_staying(self.planner, view, admitted) if self._stay else []
        # A plan that fails for jobs that are admitted already.
        onedge, planned = self._rescued(view, admitted, onedge, DROP_FAILED)
        tested = admitted if self._blocks else planned.jobs()
        moved = onedge

        def fits(jobs: Sequence[int]) -> bool:
            nonlocal moved
            tried, planned = self._rescued(view, [*tested, *jobs], moved, KEEP_ALL)
            moved = tried if planned.whole else moved
            return planned.whole

        taken = self._admit(coming, fits)
        onedge = moved
        self.admitted.update(taken)
        here = [*admitted, *taken]
        planned = self.planner.plan(exclude_jobs(here, onedge), DROP_FAILED)
        if self._offload and len(onedge) < view.servers and self._idle(planned, view) > 0:
            able = find_ending(self.planner, view, exclude_jobs(here, onedge))
            onedge = [*onedge, *find_largest(self.planner, able, view.servers - len(onedge))]
            planned = self.planner.plan(exclude_jobs(here, onedge), DROP_FAILED)
        return self.answer(view, onedge, planned)

    def _idle(self, planned: PlanResult, view: View) -> int:
        """GPUs that the plan leaves now."""
        level = planned.found[:, LEVEL]
        model = self.planner.model[planned.index]
        used = np.where((planned.inside > 0) & (level >= 0), self.planner.levels[model, np.maximum(level, 0)], 0)
        return view.gpus - int(used.sum())

    def _rescued(self, view: View, jobs: Sequence[int], onedge: list[int], rule: int) -> tuple[list[int], PlanResult]:
        """Who is on the edge so that the plan of the others is whole, if that can be, and the plan."""
        planned = self.planner.plan(exclude_jobs(jobs, onedge), rule)
        while not planned.whole and self._rescue and len(onedge) < view.servers:
            mover = self._mover(view, planned)
            if mover is None:
                break
            onedge = [*onedge, mover]
            planned = self.planner.plan(exclude_jobs(jobs, onedge), rule)
        return onedge, planned

    def _mover(self, view: View, planned: PlanResult) -> int | None:
        """The third rule's choice among the jobs in the cloud."""
        planner = self.planner
        index = find_ending(planner, view, planned.index.tolist())
        index = index[planner.place[index] != EDGE]
        level, model = planner.level[index], planner.model[index]
        able = level < planner.top[model]
        index, level, model = index[able], level[able], model[able]
        if not len(index):
            return None
        end = planner.second - (-planner.left[index] // planner.speeds[model, level + 1])
        gpus = np.where(level >= 0, planner.levels[model, np.maximum(level, 0)], 0)
        due = planner.deadline[index]
        first = np.lexsort((index, due, -gpus, end - due))[0]
        return int(index[first])


register(
    Entry(
        "edgeflow",
        "ElasticFlow with three rules for edge servers; reconstructed, not the authors' code",
        "3",
        _OPTIONS,
        EdgeFlow,
    )
)
