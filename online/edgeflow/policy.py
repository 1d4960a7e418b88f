"""What our policies share, and the options that all of them have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from ratiobench.instances.edgeflow.model import Job, Public
from ratiobench.online.edgeflow.protocol import Answer, View
from ratiobench.online.edgeflow.registry import Option

# The options of every policy; the game reads them
COMMON: Mapping[str, Option] = {
    "late": Option("drop", ("drop", "keep"), "drop: a job is gone at its deadline; keep: it runs to its end, late"),
    "windows": Option("known", ("known", "hidden"), "hidden: only the edge servers that are there now are known"),
}


class Sharing(ABC):
    """A policy that answers every event alike, from the state."""

    arithmetic = "integer"

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        self.public = public
        self.useful = [model.useful(public.gpus) for model in public.models]
        self.jobs: dict[int, Job] = {}

    def decide_batch(self, jobs: Sequence[Job], view: View) -> Sequence[Any]:
        for job in jobs:
            self.jobs[job.index] = job
        return [*(None for _ in jobs[1:]), self.share(view, jobs)]

    def at_change(self, events: Any, view: View) -> Answer:
        return self.share(view, ())

    @abstractmethod
    def share(self, view: View, new: Sequence[Job]) -> Answer:
        """Who runs from now on."""

    def requested(self, job: Job) -> int:
        """The share that its user asked for; 0 if the cloud has fewer GPUs."""
        return job.gpus if job.gpus <= self.public.gpus else 0
