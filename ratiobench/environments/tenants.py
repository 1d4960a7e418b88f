"""The family `tenants` as a Gymnasium environment: one step per job, reward in 1/100 micro-dollar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ratiobench.environments.episodes import FamilyEnvironment
from ratiobench.online.referee.simulator import LogEntry, Question
from ratiobench.online.tenants.protocol import View
from ratiobench.online.tenants.simulator import Simulator

__all__ = ["TenantsEnvironment"]

JOB_FEATURES = 3
CANDIDATE_FEATURES = 4
GPU_FEATURES = 2


class TenantsEnvironment(FamilyEnvironment):
    """Put each new job into the queue of a GPU.

    An episode is one instance. Action j takes candidate j (from 0 on), the places in queues that add least to the cost
    of all jobs as they are planned now. `info["action_mask"]` says which exist; an action that does not exist takes the
    first. The reward is the added cost, negated: the return is the negated cost of the solution, exactly.

    Parameters
    ----------
    instances : `tiny` (drawn by `seed`), `parts` (of the standard set), or instances or their files.
    k : candidates of a job.
    seed, count : of the tiny instances.
    """

    _FAMILY, _FIGURE, _REJECTIONS = "tenants", "cost", 0

    def _size(self) -> int:
        gpus = max(int(instance.gpus) for instance, _ in self._episodes)
        return JOB_FEATURES + CANDIDATE_FEATURES * self._k + GPU_FEATURES * gpus

    def _begin(self) -> None:
        self._simulator = Simulator(self._instance, "")
        self._questions = self._simulator.questions(False)

    def _take(self, action: int) -> float:
        added, gpu, queue = self._candidates[action if action < len(self._candidates) else 0]
        queues = [list(row) for row in self._question.view.queues]
        queues[gpu] = list(queue)
        index = self._question.indices[0]
        self._log.append(LogEntry("arrival", index, self._simulator.take("arrival", index, queues)))
        self._value += added
        self._ask()
        return float(-added)

    def _find_candidates(self, question: Question) -> list[tuple[int, int, Sequence[int]]]:
        """(added cost, GPU, its queue) of the places that add least, in the order of added cost."""
        view, job, public = question.view, question.arrivals[0], self._simulator.public
        jobs = {waiting.index: waiting for waiting in view.waiting}
        found: list[tuple[int, int, Sequence[int]]] = []
        for gpu, queue in enumerate(view.queues):
            before = _planned(queue, gpu, view, public, jobs)
            for place in range(len(queue) + 1):
                trial = (*queue[:place], job.index, *queue[place:])
                found.append((_planned(trial, gpu, view, public, jobs) - before, gpu, trial))
        return sorted(found, key=lambda candidate: (candidate[0], candidate[1], tuple(candidate[2])))[: self._k]

    def _observe(self) -> list[float]:
        """Deadline and run time of the job; candidates; work that waits on every GPU."""
        view, job = self._question.view, self._question.arrivals[0]
        horizon = max(1, *job.run, job.deadline - view.now, *(int(free) - view.now for free in view.free))
        figures = [max(0, job.deadline - view.now) / horizon, min(job.run) / horizon, job.cost_sensitivity / 100]
        least = self._candidates[0][0]
        for added, gpu, queue in self._candidates:
            place = list(queue).index(job.index)
            kind = int(self._simulator.public.gpu_type[gpu])
            share = least / added if added > 0 else 1.0
            figures += [1.0, share, place / len(queue), job.run[kind] / horizon]
        figures += [0.0] * CANDIDATE_FEATURES * (self._k - len(self._candidates))
        for gpu, queue in enumerate(view.queues):
            figures += [(int(view.free[gpu]) - view.now) / horizon, len(queue) / max(1, len(view.waiting))]
        return figures + [0.0] * (self._length - len(figures))


def _planned(queue: Sequence[int], gpu: int, view: View, public: Any, jobs: dict[int, Any]) -> int:
    """What the jobs of a queue cost if nothing more arrives, 1/100 micro-dollar."""
    kind, tick, total = int(public.gpu_type[gpu]), int(view.free[gpu]), 0
    for i in queue:
        tick += jobs[i].run[kind]
        total += public.cost(jobs[i], kind, tick)
    return total
