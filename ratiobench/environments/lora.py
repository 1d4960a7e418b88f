"""The family `lora` as a Gymnasium environment: one step per arrival, reward in micro-dollars."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import gymnasium
import numpy as np

from ratiobench.bench.evaluation.cases import TINY
from ratiobench.environments import agent
from ratiobench.environments.episodes import FamilyEnvironment
from ratiobench.formulations.lora.covering.schedules import STATE_LIMIT
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.model import ScheduleKind
from ratiobench.online.referee.simulator import ARRIVAL, LogEntry

__all__ = ["LoraEnvironment"]


class LoraEnvironment(FamilyEnvironment):
    """Admit and schedule tasks as they arrive.

    An episode is one instance. Action 0 rejects the task; action j takes candidate j, the schedules with the largest
    gains (bid less vendor and energy) that still fit. `info["action_mask"]` and `action_masks()` say which exist; an
    action that does not exist rejects. The reward is the gain in whole micro-dollars, so the return is the welfare.

    Parameters
    ----------
    instances : `tiny` (drawn by `seed`, OPT proved), `parts` (of the standard set, with certified intervals), or
        instances or their files, of tasks that may have every schedule of P.
    k : candidates of a task.
    continuous : the action sets a price per sample for each node type, in [0, 1] of `price_scale`; the candidate with
        the largest gain above its price is taken, if there is one.
    seed, count : of the tiny instances.
    verify : check the decisions of every episode by the independent checker; a difference is an AssertionError.

    Attributes
    ----------
    types, width : node types and slots of the observation, the most that an instance has.
    price_scale : largest bid per sample of the instances, micro-dollars.

    Raises
    ------
    InputError : an instance of another family or with tasks that may not move.
    """

    _FAMILY, _FIGURE = "lora", "welfare"

    def __init__(
        self,
        instances: str | Iterable[Any] = TINY,
        k: int = 8,
        *,
        continuous: bool = False,
        seed: int = 1,
        count: int = 10,
        verify: bool = False,
    ) -> None:
        super().__init__(instances, k, seed=seed, count=count)
        self._continuous, self._verify = continuous, verify
        if continuous:
            self.action_space = gymnasium.spaces.Box(0.0, 1.0, (self.types,), np.float32)

    def _size(self) -> int:
        instances = [instance for instance, _ in self._episodes]
        for instance in instances:
            if instance.schedules is not ScheduleKind.ANY:
                kind = instance.schedules.value
                raise InputError(instance.name, "tasks[0].run", f"{kind}; only tasks that are `any`")
        self._arrays = [agent.task_arrays(list(map(each.task, range(each.tasks)))) for each in instances]
        self.types = max(len(instance.node_types) for instance in instances)
        self.width = max(int(instance.slots) for instance in instances)
        densities = [bid / np.maximum(work, 1) for (_, _, work, bid, _, _), _ in self._arrays]
        self.price_scale = max(float(each.max()) if len(each) else 1.0 for each in densities)
        return int(agent.observation_size(self._k, self.types, self.width))

    def _begin(self) -> None:
        assert self._chosen is not None
        self._tasks, self._vendors = self._arrays[self._chosen]
        self._cluster = kind, _, capacity = agent.cluster_arrays(self._instance.public(""))
        compute, memory = (np.repeat(row[kind][:, None], self._instance.slots, axis=1) for row in capacity)
        self._free = compute, memory
        self._found = agent.empty_candidates(self._k, self.width)
        self._questions = iter(range(self._instance.tasks))

    def _find_candidates(self, i: int) -> range:
        """The numbers of the actions that take a candidate."""
        state = self._tasks, self._vendors, self._free, self._cluster
        return range(1, agent.find_candidates(i, *state, STATE_LIMIT, self._found) + 1)

    def _number(self, action: Any) -> int:
        return self._priced(action) if self._continuous else super()._number(action)

    def _take(self, action: int) -> float:
        i, gain, decision = self._question, 0, None
        if action in self._candidates:
            gains, options, cells, lengths = self._found
            j = action - 1
            gain = int(gains[j])
            agent.book(i, cells[j], lengths[j], self._tasks, self._free, self._cluster[0])
            if self._verify:
                vendor = int(options[j]) if self._instance.vendors(i) else None
                decision = agent.decision_of(vendor, cells[j, : lengths[j]])
        self._log.append(LogEntry(ARRIVAL, i, decision))
        self._value += gain
        self._ask()
        return gain

    def _see(self) -> Any:
        i, slot = -1, self._instance.slots
        if self._question is not None:
            i, slot = self._question, int(self._instance.arrival[self._question])
        state = len(self._candidates), self._tasks, self._free, self._cluster, self._found
        seen = agent.observe(i, slot, *state, self.types, self.width, self.price_scale)
        return np.clip(seen, 0.0, 1.0, out=seen)

    def _priced(self, action: Any) -> int:
        """The candidate with the largest gain above its price, from 1 on; 0 for none."""
        gains, _, cells, lengths = self._found
        best, most, rate = 0, 0.0, self._instance.rate[self._question]
        for j in range(len(self._candidates)):
            kinds = self._cluster[0][cells[j, : lengths[j], 0]]
            price = float((np.asarray(action)[kinds] * rate[kinds]).sum()) * self.price_scale
            if gains[j] - price > most:
                best, most = j + 1, gains[j] - price
        return best

    def _judge(self) -> Any:
        """The welfare; recounted by the independent checker where `verify` asks for it."""
        return super()._judge() if self._verify else self._value
