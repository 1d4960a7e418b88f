"""Tiresias (2D-LAS): the less service a job has attained (seconds times GPUs), the sooner it runs; not deadline-aware.

Queues by attained service, at 3250 and 7200 GPU seconds (the artifact's); within a queue in order of submission, at the
requested share. A lower queue is pre-empted by a higher one; the policy wakes when a job crosses into the next queue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from ratiobench.instances.edgeflow.model import CLOUD, Job, Public
from ratiobench.online.edgeflow.policy import COMMON, Sharing
from ratiobench.online.edgeflow.protocol import Answer, View
from ratiobench.online.edgeflow.registry import Entry, register

QUEUES = (3250, 7200)  # Attained GPU seconds at which a job falls into the next queue


class LeastAttained(Sharing):
    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        super().start(public, constants)
        self._attained: dict[int, int] = {}
        self._second = 0

    def share(self, view: View, new: Sequence[Job]) -> Answer:
        here = view.index.tolist()
        for i, gpus in zip(here, view.share.tolist(), strict=True):
            self._attained[i] = self._attained.get(i, 0) + gpus * (view.second - self._second)
        self._second = view.second
        free, named = view.gpus, {}
        wake = None
        for i in sorted(here, key=lambda i: (self._queue(i), i)):
            gpus = self.requested(self.jobs[i])
            if not 0 < gpus <= free:
                continue
            named[i] = (CLOUD, gpus)
            free -= gpus
            queue = self._queue(i)
            if queue < len(QUEUES):
                crosses = view.second - -(QUEUES[queue] - self._attained[i]) // gpus
                wake = crosses if wake is None else min(wake, crosses)
        return Answer(named, wake)

    def _queue(self, i: int) -> int:
        return sum(self._attained[i] >= limit for limit in QUEUES)


register(
    Entry(
        "tiresias",
        "least attained service first, in three queues, pre-emptive; not deadline-aware",
        "1",
        COMMON,
        lambda options: LeastAttained(),
    )
)
