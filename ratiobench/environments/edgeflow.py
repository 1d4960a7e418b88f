"""The family `edgeflow` as a Gymnasium environment: one step per job, reward in jobs that meet their deadline."""

from __future__ import annotations

import numpy as np

from ratiobench.environments.episodes import FamilyEnvironment
from ratiobench.instances.edgeflow.model import CLOUD, EDGE, Job
from ratiobench.online.edgeflow.protocol import CHANGE, Event, View
from ratiobench.online.edgeflow.simulator import Simulator
from ratiobench.online.referee.simulator import LogEntry, Question

__all__ = ["EdgeflowEnvironment"]

JOB_FEATURES = 3
CANDIDATE_FEATURES = 4
CLUSTER_FEATURES = 3
TIMES = 16  # Times at which the observation has the load that is due


class EdgeflowEnvironment(FamilyEnvironment):
    """Admit each new job on a share of the cluster, or give it up.

    An episode is one instance. Action 0 gives the job up; action j admits it with candidate j: an edge server, or a
    number of GPUs, on which it would meet its deadline if it ran from now on; the one with the fewest GPU-seconds
    first. `info["action_mask"]` and `action_masks()` say which exist; an action that does not exist gives the job up.
    At every event admitted jobs run by earliest deadline, each on its share, and what does not fit waits; a job of an
    edge server that finds none free runs on the fewest GPUs that are in time. The reward is the number of jobs that
    were completed since the step before, so the return is the number of jobs that meet their deadline.

    Parameters
    ----------
    instances : `tiny` (drawn by `seed`), `parts` (of the standard set), or instances or their files.
    k : candidates of a job.
    seed, count : of the tiny instances.

    Raises
    ------
    InputError : an instance of another family.
    """

    _FAMILY, _FIGURE = "edgeflow", "met"

    def _size(self) -> int:
        return JOB_FEATURES + CANDIDATE_FEATURES * self._k + CLUSTER_FEATURES + TIMES

    def _begin(self) -> None:
        self._simulator = _Simulator(self._instance)
        self._questions = self._simulator.questions(False)
        self._jobs: dict[int, Job] = {}
        self._shares: dict[int, tuple[int, int]] = {}

    def _take(self, action: int) -> float:
        job = self._question.arrivals[0]
        self._jobs[job.index] = job
        if 0 < action <= len(self._candidates):
            self._shares[job.index] = self._candidates[action - 1][1:3]
        self._answer(self._question)
        self._ask()
        reward = self._simulator.completed - self._value
        self._value += reward
        return float(reward)

    def _is_asked(self, question: Question) -> bool:
        return question.event != CHANGE

    def _answer(self, question: Question) -> None:
        index = question.indices[0]
        shares = self._plan(question.view)
        self._log.append(LogEntry(question.event, index, self._simulator.take(question.event, index, shares)))

    def _plan(self, view: View) -> dict[int, tuple[int, int]]:
        """Admitted jobs by earliest deadline, as long as their shares are free."""
        free, servers, named = view.gpus, view.servers, {}
        left = dict(zip(view.index.tolist(), view.left.tolist(), strict=True))
        for i in sorted((i for i in left if i in self._shares), key=lambda i: (self._jobs[i].deadline, i)):
            place, gpus = self._shares[i]
            if place == EDGE and servers:
                servers -= 1
                named[i] = (EDGE, 1)
                continue
            if place == EDGE:
                gpus = self._fewest(i, left[i], view)
            if 0 < gpus <= free:
                free -= gpus
                named[i] = (CLOUD, gpus)
        return named

    def _fewest(self, i: int, left: int, view: View) -> int:
        """The fewest GPUs on which a job is in time from now on; 0 for none."""
        job, model = self._jobs[i], self._instance.models[self._jobs[i].model]
        time = job.deadline - view.second - model.overhead_s - model.edge_overhead_s
        return next((gpus for gpus, speed in model.useful(view.gpus) if left <= time * speed), 0)

    def _find_candidates(self, question: Question) -> list[tuple[int, int, int, int]]:
        """(GPU-seconds, place, GPUs, seconds) on which the job alone would be in time, the fewest GPU-seconds first."""
        job, view = question.arrivals[0], question.view
        model, found = self._instance.models[job.model], []
        if view.servers and model.edge_speed:
            seconds = model.overhead_s - -job.work // model.edge_speed
            found.append((0, EDGE, 1, seconds))
        for gpus, speed in model.useful(view.gpus):
            seconds = model.overhead_s - -job.work // speed
            found.append((gpus * seconds, CLOUD, gpus, seconds))
        return sorted(each for each in found if view.second + each[3] <= job.deadline)[: self._k]

    def _observe(self) -> list[float]:
        """Window and work of the job; candidates; busy GPUs and servers; the load that is due at `TIMES` times."""
        view, job = self._question.view, self._question.arrivals[0]
        window = max(1, job.deadline - view.second)
        here = [(i, left) for i, left in zip(view.index.tolist(), view.left.tolist(), strict=True) if i in self._shares]
        horizon = max([window, *(self._jobs[i].deadline - view.second for i, _ in here)])
        shortest = min((each[3] for each in self._candidates), default=window)
        figures = [window / horizon, shortest / window, len(here) / (1 + len(here))]
        for cost, place, _, seconds in self._candidates:
            figures += [1.0, float(place == EDGE), seconds / window, cost / (window * view.gpus)]
        figures += [0.0] * CANDIDATE_FEATURES * (self._k - len(self._candidates))
        gpus_in_use, servers_in_use = int(view.share[view.place == CLOUD].sum()), int((view.place == EDGE).sum())
        figures += [gpus_in_use / view.gpus, servers_in_use / max(1, view.servers), view.servers / (1 + view.servers)]
        ends, loads = [], []
        for i, left in here:
            model, (place, gpus) = self._instance.models[self._jobs[i].model], self._shares[i]
            if place == CLOUD:
                ends.append(self._jobs[i].deadline - view.second)
                loads.append(gpus * left / dict(model.useful(view.gpus))[gpus])
        due, load = np.array(ends, dtype=float), np.array(loads, dtype=float)
        times = horizon * np.arange(1, TIMES + 1) / TIMES
        return figures + [load[due <= time].sum() / (view.gpus * time) for time in times]


class _Simulator(Simulator):
    """The referee of the family, which counts the jobs that are completed."""

    completed = 0

    def _complete(self) -> list[Event]:
        found = super()._complete()
        self.completed += len(found)
        return found
