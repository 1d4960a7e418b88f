"""The family `tenants` as a Gymnasium environment: one step per job, reward in 1/100 micro-dollar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import gymnasium
import numpy as np

from ratiobench.bench.evaluation.cases import TINY
from ratiobench.environments.episodes import ReplayedEnvironment, check_action, find_episodes
from ratiobench.formulations.tenants.check import check
from ratiobench.online.referee.simulator import LogEntry, Question
from ratiobench.online.tenants.protocol import View
from ratiobench.online.tenants.replay import replay
from ratiobench.online.tenants.simulator import Simulator

__all__ = ["TenantsEnvironment"]

JOB_FEATURES = 3
CANDIDATE_FEATURES = 4
GPU_FEATURES = 2


class TenantsEnvironment(ReplayedEnvironment):
    """Put each new job into the queue of a GPU.

    An episode is one instance. Action j takes candidate j (from 0 on), the places in queues that add least to the cost
    of all jobs as they are planned now. `info["action_mask"]` says which exist; an action that does not exist takes the
    first. The reward is the added cost, negated: the return is the negated cost of the solution, exactly.

    Parameters
    ----------
    instances : `tiny` (drawn by `seed`), `parts` (of the standard set), or instances or their files.
    k : candidates of a job.
    seed, count : of the tiny instances.

    Attributes
    ----------
    metadata : of Gymnasium; there are no render modes.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  (as Gymnasium declares it)

    def __init__(self, instances: str | Iterable[Any] = TINY, k: int = 8, *, seed: int = 1, count: int = 10) -> None:
        self._episodes = find_episodes("tenants", instances, seed, count)
        self._k = k
        self._gpus = max(each.gpus for each, _ in self._episodes)
        size = JOB_FEATURES + CANDIDATE_FEATURES * k + GPU_FEATURES * self._gpus
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (size,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(k)

    def _begin(self) -> None:
        self._simulator = Simulator(self._instance, "")
        self._questions: Iterator[Question] = self._simulator.questions(False)
        self._log: list[LogEntry] = []
        self._cost = 0
        self._ask()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Place the present job.

        Parameters
        ----------
        action : a number in 0..k-1.

        Returns
        -------
        Observation, reward (negated cost), whether the episode ended, False (episodes are not cut off), and a mapping
        with `action_mask`; at the end also the figures of the episode.
        """
        action = check_action(self.action_space, action)
        self._actions.append(action)
        chosen = self._candidates[action if action < len(self._candidates) else 0]
        added, gpu, queue = chosen
        assert self._question is not None
        queues = [list(each) for each in self._question.view.queues]
        queues[gpu] = list(queue)
        index = self._question.indices[0]
        self._log.append(LogEntry("arrival", index, self._simulator.take("arrival", index, queues)))
        self._cost += added
        self._ask()
        info: dict[str, Any] = {"action_mask": self.action_masks()}
        ended = self._question is None
        if ended:
            info |= self._end()
        return self._see(), float(-added), ended, False, info

    def action_masks(self) -> Any:
        """Return which actions exist.

        Returns
        -------
        (k,) booleans.
        """
        mask = np.zeros(self._k, np.bool_)
        mask[: len(self._candidates)] = True
        return mask

    def _ask(self) -> None:
        """Take the next job, and find its places."""
        self._question = next(self._questions, None)
        self._candidates: list[tuple[int, int, Sequence[int]]] = []
        if self._question is not None:
            self._candidates = _places(self._question, self._simulator.public, self._k)

    def _see(self) -> Any:
        """Deadline and run time of the job; candidates; work that waits on every GPU."""
        seen = np.zeros(self.observation_space.shape or (), np.float32)
        if self._question is None:
            return seen
        view, job = self._question.view, self._question.arrivals[0]
        horizon = max(1, *job.run, job.deadline - view.now, *(int(free) - view.now for free in view.free))
        seen[:JOB_FEATURES] = (
            max(0, job.deadline - view.now) / horizon,
            min(job.run) / horizon,
            job.cost_sensitivity / 100,
        )
        least, at = self._candidates[0][0], JOB_FEATURES
        for added, gpu, queue in self._candidates:
            place = list(queue).index(job.index)
            kind = int(self._simulator.public.gpu_type[gpu])
            share = least / added if added > 0 else 1.0
            seen[at : at + CANDIDATE_FEATURES] = 1.0, share, place / len(queue), job.run[kind] / horizon
            at += CANDIDATE_FEATURES
        at = JOB_FEATURES + CANDIDATE_FEATURES * self._k
        for gpu, queue in enumerate(view.queues):
            seen[at + 2 * gpu] = (int(view.free[gpu]) - view.now) / horizon
            seen[at + 2 * gpu + 1] = len(queue) / max(1, len(view.waiting))
        return np.clip(seen, 0.0, 1.0, out=seen)

    def _end(self) -> dict[str, Any]:
        """The cost, recounted by the independent checker, and the interval on OPT where one is known."""
        report = check(self._instance, replay(self._instance, self._log))
        assert not report.violations, report.violations[0]
        assert report.cost == self._cost
        found: dict[str, Any] = {"cost": self._cost}
        if self._ends is not None:
            lower, upper = self._ends
            found |= {"opt_lower": lower, "opt_upper": upper, "share": lower / self._cost if self._cost else 1.0}
        return found


def _places(question: Question, public: Any, k: int) -> list[tuple[int, int, Sequence[int]]]:
    """(added cost, GPU, its queue) of the places that add least, in the order of added cost."""
    view, job = question.view, question.arrivals[0]
    jobs = {each.index: each for each in view.waiting}
    found: list[tuple[int, int, Sequence[int]]] = []
    for gpu, queue in enumerate(view.queues):
        before = _planned(queue, gpu, view, public, jobs)
        for place in range(len(queue) + 1):
            trial = (*queue[:place], job.index, *queue[place:])
            found.append((_planned(trial, gpu, view, public, jobs) - before, gpu, trial))
    return sorted(found, key=lambda each: (each[0], each[1], tuple(each[2])))[:k]


def _planned(queue: Sequence[int], gpu: int, view: View, public: Any, jobs: dict[int, Any]) -> int:
    """What the jobs of a queue cost if nothing more arrives, 1/100 micro-dollar."""
    kind, tick, total = int(public.gpu_type[gpu]), int(view.free[gpu]), 0
    for i in queue:
        tick += jobs[i].run[kind]
        total += public.cost(jobs[i], kind, tick)
    return total
