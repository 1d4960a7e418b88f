"""Policies for tenants as a user would bring them: honest ones, and ones that break a rule, each in its own way.

They are run by their import path, in a process of their own; this module must import nothing heavy.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


class Honest:
    """All that wait, in order of release, on the GPU that is free first."""

    def start(self, public: Any, constants: Mapping[str, Any]) -> None:
        self.kinds = public.gpu_type.tolist()

    def decide(self, job: Any, view: Any) -> Any:
        free = view.free.tolist()
        queues: list[list[int]] = [[] for _ in free]
        for each in view.waiting:
            best = free.index(min(free))
            queues[best].append(each.index)
            free[best] += each.run[self.kinds[best]]
        return queues


class Batched(Honest):
    """The same, once a tick, in arrays."""

    def decide_batch(self, jobs: Sequence[Any], view: Any) -> list[Any]:
        return [*(None for _ in jobs[1:]), [np.array(queue, dtype=np.int64) for queue in self.decide(jobs[-1], view)]]


class Answers(Honest):
    """Answers the second job with what its option says."""

    ODD: Mapping[str, Any] = {
        "text": "00",
        "number": 7,
        "short": [[0]],
        "long": [[0], [1], []],
        "unknown": [[0, 99], [1]],
        "twice": [[0, 1], [1]],
        "floats": [[0.0], [1]],
        "float_array": [np.array([0.0]), [1]],
        "table": [np.array([[0]]), [1]],
        "true": [[True], [0]],
        "huge": [[10**400], [1]],
        "none_inside": [None, [1]],
        "mapping": {0: [0], 1: [1]},
    }

    def __init__(self, options: Mapping[str, str]) -> None:
        self.odd = self.ODD[options["odd"]]

    def decide(self, job: Any, view: Any) -> Any:
        return self.odd if job.index == 1 else super().decide(job, view)


class Restarts(Honest):
    def decide(self, job: Any, view: Any) -> Any:
        return [[0], [each.index for each in view.waiting if each.index]]


class Forgets(Honest):
    def decide(self, job: Any, view: Any) -> Any:
        return [[i for i in queue if i != 3] for queue in super().decide(job, view)]


class Silent(Honest):
    def decide(self, job: Any, view: Any) -> Any:
        return None


class Alters(Honest):
    def decide(self, job: Any, view: Any) -> Any:
        answer = super().decide(job, view)
        if job.index == 0:
            self.first = answer
        else:
            self.first[0].append(5)
        return answer


class Gambles(Honest):
    def decide(self, job: Any, view: Any) -> Any:
        queues: list[list[int]] = [[] for _ in view.free]
        queues[random.SystemRandom().randrange(len(queues))] = [each.index for each in view.waiting]
        return queues


class Writes(Honest):
    def decide(self, job: Any, view: Any) -> Any:
        view.free[0] = 0
        return super().decide(job, view)
