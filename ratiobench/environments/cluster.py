"""The family `cluster` as a Gymnasium environment: one step per start, reward in units of the cost."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ratiobench.environments.episodes import FamilyEnvironment
from ratiobench.instances.cluster.model import make_costs
from ratiobench.online.cluster.kernel import can_start, start_waiting
from ratiobench.online.cluster.protocol import Job
from ratiobench.online.cluster.run import PASS, Simulator, show_cluster
from ratiobench.online.cluster.state import NOW, RUNNING
from ratiobench.online.referee.simulator import LogEntry, Question

__all__ = ["ClusterEnvironment"]

JOB_FEATURES = 5
HOUR = 3600  # A time t is seen as t / (t + HOUR)
AHEAD = (0, HOUR // 4, HOUR, 4 * HOUR, 24 * HOUR)  # Seconds from now at which the observation has the planned free GPUs


class ClusterEnvironment(FamilyEnvironment):
    """Start one of the waiting jobs, or nothing more at this pass.

    An episode is one instance. At every second with an event after which some job waits, action j starts the j-th
    waiting job, in order of submit, on its best-fit nodes; the same second is then asked again. Action 0 ends the pass.
    `info["action_mask"]` says which of the first k waiting jobs fit; an action that does not exist ends the pass. On an
    idle cluster something must start: there action 0 does not exist, and the first job that fits starts in its place.
    The reward is what the cost grew since the step before, negated: the return is the negated cost of the schedule.
    Observations never have lengths of jobs; rewards of the costs `wait-gpu-hours` and `slowdown` depend on them.

    Parameters
    ----------
    instances : `tiny` (drawn by `seed`), `parts` (of the standard set), or instances or their files.
    k : waiting jobs that are seen.
    seed, count : of the tiny instances.
    """

    _FAMILY, _FIGURE = "cluster", "cost"

    def _size(self) -> int:
        pools = max(len(instance.pools) for instance, _ in self._episodes)
        return JOB_FEATURES * self._k + len(AHEAD) * pools + 1

    def _begin(self) -> None:
        self._simulator = Simulator(self._instance)
        self._questions = self._simulator.questions(True)
        self._costs = make_costs(self._instance.jobs, self._instance.cost)
        self._starts: list[tuple[int, None]] = []

    def _take(self, action: int) -> float:
        mask = self.action_masks()
        if not mask[0] and not mask[action]:
            action = int(mask.argmax())
        if action and mask[action]:
            job = self._candidates.pop(action - 1)
            start_waiting(self._simulator.state, job.index, -1)
            self._starts.append((job.index, None))
        if not mask[action] or not action or not self._candidates:
            self._log.append(LogEntry(PASS, None, (tuple(self._starts), ())))
            self._starts = []
            self._ask()
        before, self._value = self._value, self._cost_by_now()
        return float(before - self._value)

    def action_masks(self) -> Any:
        """Return which actions exist: which of the first k waiting jobs fit, and whether the pass can end.

        Returns
        -------
        (k + 1,) booleans.
        """
        mask, state = np.zeros(self._k + 1, np.bool_), self._simulator.state
        for place in range(min(self._k, len(self._candidates))):
            mask[place + 1] = can_start(state, place)
        mask[0] = state.clock[RUNNING] > 0 or not mask.any()
        return mask

    def _is_asked(self, question: Question) -> bool:
        return question.event == PASS

    def _find_candidates(self, question: Question) -> list[Job]:
        return list(question.arrivals[0][1])

    def _answer(self, question: Question) -> None:
        self._log += [LogEntry(question.event, index, None) for index in question.indices]

    def _cost_by_now(self) -> float:
        """What the jobs that are released have cost up to now."""
        now, start = int(self._simulator.state.clock[NOW]), self._simulator.schedule().start
        counted = (start >= 0) | (self._instance.jobs.release <= now)
        numerators = self._costs.numerators(np.where(start < 0, now, start))[counted]
        return float((numerators / self._costs.unit[counted]).sum())

    def _observe(self) -> list[float]:
        """The first waiting jobs; the GPUs of each pool that are planned to be free; how many jobs wait."""
        figures: list[float] = []
        instance, now, mask = self._instance, self._question.arrivals[0][0], self.action_masks()
        for place, job in enumerate(self._candidates[: self._k]):
            limit, waited = (math.inf if job.limit is None else job.limit), max(0, now - job.submit)
            figures += [1.0, mask[place + 1], job.nodes * job.gpus / instance.capacity]
            figures += [1 / (1 + HOUR / limit), waited / (waited + HOUR)]
        figures += [0.0] * (JOB_FEATURES * self._k - len(figures))
        cluster = show_cluster(self._simulator.state, self._simulator.jobs, {})
        for q, pool in enumerate(instance.pools):
            free = int(cluster.free[cluster.pool == q].sum())
            ends = [(run.start + run.job.limit, run.job) for run in cluster.running if run.pool == q and run.job.limit]
            for ahead in AHEAD:
                freed = sum(job.nodes * job.gpus for end, job in ends if end <= now + ahead and ahead)
                figures.append((free + freed) / (pool.nodes * pool.gpus))
        figures += [0.0] * (self._length - 1 - len(figures))
        return [*figures, len(self._candidates) / (1 + len(self._candidates))]
