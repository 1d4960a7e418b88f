"""EDF: the earliest deadline first, pre-emptive; what does not fit is passed over.

Fixed, each job gets the share that its user asked for. Elastic, the largest useful level that is free (the artifact's
EDF); with `levels=measured` the largest measured one, at most min(64, batch), even where a smaller one is faster: a
model's table ends there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ratiobench.instances.edgeflow.model import CLOUD, Job
from ratiobench.online.edgeflow.policy import COMMON, Sharing
from ratiobench.online.edgeflow.protocol import Answer, View
from ratiobench.online.edgeflow.registry import Entry, Option, register

MEASURED_LIMIT = 64


class EarliestDeadline(Sharing):
    def __init__(self, elastic: bool, measured: bool) -> None:
        self._elastic, self._measured = elastic, measured

    def share(self, view: View, new: Sequence[Job]) -> Answer:
        free, named = view.gpus, {}
        for i in sorted(view.index.tolist(), key=lambda i: (self.jobs[i].deadline, i)):
            gpus = self._level(self.jobs[i], free) if self._elastic else self.requested(self.jobs[i])
            if 0 < gpus <= free:
                named[i] = (CLOUD, gpus)
                free -= gpus
        return Answer(named)

    def _level(self, job: Job, free: int) -> int:
        if self._measured:
            most = min(free, MEASURED_LIMIT)
            return max((gpus for gpus in self.public.models[job.model].gpus if gpus <= most), default=0)
        return max((gpus for gpus, _ in self.useful[job.model] if gpus <= free), default=0)


def _make(options: Mapping[str, str]) -> EarliestDeadline:
    return EarliestDeadline(options["share"] == "elastic", options["levels"] == "measured")


register(
    Entry(
        "edf",
        "earliest deadline first, pre-emptive",
        "1",
        {
            "share": Option("requested", ("requested", "elastic"), "elastic: the largest level that is free"),
            "levels": Option("useful", ("useful", "measured"), "measured: the largest level, even where it is slower"),
            **COMMON,
        },
        _make,
    )
)
