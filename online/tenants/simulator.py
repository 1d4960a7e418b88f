"""The simulator of family `tenants`: the clock, the GPUs and their queues, in whole numbers.

`run.replay` finds the starts from the log, and `check` judges them; neither shares a line with this file.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from ratiobench.instances.tenants.model import Instance, Job, freeze
from ratiobench.online.referee.simulator import Question, RuleViolation, copy_answer
from ratiobench.online.tenants.protocol import Queues, View, plain


class Simulator:
    noun = "job"

    def __init__(self, instance: Instance, seed: str) -> None:
        self.public = instance.public(seed)
        self.arrivals = instance.jobs
        self._instance = instance
        self._kind = instance.gpu_type.tolist()
        self._now = 0
        self._free = [0] * instance.gpus
        self._queues: list[deque[int]] = [deque() for _ in self._free]
        self._waiting: dict[int, Job] = {}

    def questions(self, batch: bool) -> Iterator[Question]:
        """Tick by tick where jobs are released; at the end every job must have started."""
        jobs = [self._instance.job(j) for j in range(self.arrivals)]
        first = 0
        while first < self.arrivals:
            behind = first + 1
            while behind < self.arrivals and jobs[behind].release == jobs[first].release:
                behind += 1
            self._advance(jobs[first].release)
            new = jobs[first:behind]
            for asked in [new] if batch else [[job] for job in new]:
                self._waiting |= {job.index: job for job in asked}
                yield Question([job.index for job in asked], asked, self._view())
            first = behind
        for queue in self._queues:
            for j in queue:
                del self._waiting[j]
        for j in self._waiting:
            raise RuleViolation("every job", j, "stands in no queue after the last release, and never starts")

    def _advance(self, tick: int) -> None:
        """What starts before this tick; GPUs that are free in it wait for the answers."""
        for gpu, queue in enumerate(self._queues):
            while queue and max(self._free[gpu], self._now) < tick:
                job = self._waiting.pop(queue.popleft())
                self._free[gpu] = max(self._free[gpu], self._now) + job.run[self._kind[gpu]]
        self._now = tick

    def _view(self) -> View:
        free = freeze(np.maximum(np.array(self._free, dtype=np.int64), self._now))
        return View(self._now, free, tuple(self._waiting.values()), tuple(map(tuple, self._queues)))

    def copied(self, event: str, index: int | None, answer: Any) -> Queues | None:
        return copy_answer(plain, "list of queues", index, answer)

    def take(self, event: str, index: int | None, answer: Any) -> Queues | None:
        """Rules: ``queues`` (one per GPU), ``waiting`` (the job is here), ``once``."""
        queues = self.copied(event, index, answer)
        if queues is None:
            return None
        if len(queues) != len(self._free):
            raise RuleViolation("queues", index, f"{len(queues)} queues for {len(self._free)} GPUs")
        named = set[int]()
        for gpu, queue in enumerate(queues):
            for j in queue:
                if j not in self._waiting:
                    raise RuleViolation(
                        "waiting", index, f"job {j}, in GPU {gpu}'s queue, does not wait at {self._now}"
                    )
                if j in named:
                    raise RuleViolation("once", index, f"job {j} stands twice in the queues")
                named.add(j)
        self._queues = [deque(queue) for queue in queues]
        return queues
