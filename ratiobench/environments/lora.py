"""The family `lora` as a Gymnasium environment: one step per arrival, reward in micro-dollars."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import gymnasium
import numpy as np

from ratiobench.bench.evaluation.cases import TINY
from ratiobench.environments import candidates
from ratiobench.environments.episodes import FamilyEnvironment
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.covering.schedules import STATE_LIMIT
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.model import Instance, ScheduleKind
from ratiobench.instances.lora.solution import Decision

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
    _OF_EPISODE = (*FamilyEnvironment._OF_EPISODE, "_arrays", "_free", "_found", "_decisions")

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
        self._all_arrays = [_Arrays(instance) for instance, _ in self._episodes]
        self.types = max(len(arrays.first_node) - 1 for arrays in self._all_arrays)
        self.width = max(int(instance.slots) for instance, _ in self._episodes)
        self.price_scale = max(arrays.dearest for arrays in self._all_arrays)
        return candidates.TASK_FEATURES + candidates.CANDIDATE_FEATURES * self._k + 2 * self.types * self.width

    def _begin(self) -> None:
        assert self._chosen is not None
        self._arrays = self._all_arrays[self._chosen]
        per_type, kind = self._arrays.cluster[2], self._arrays.kind
        compute, memory = (np.repeat(row[kind][:, None], self._instance.slots, axis=1) for row in per_type)
        self._free = (compute, memory)
        self._found = candidates.empty_candidates(self._k, self.width)
        self._decisions: list[Decision | None] = []
        self._ask_about(0)

    def _ask_about(self, i: int) -> None:
        """Find the candidates of task i, if there is one."""
        arrays, count = self._arrays, 0
        self._question = i if i < self._instance.tasks else None
        if self._question is not None:
            given = (arrays.task, arrays.vendors, self._free, arrays.cluster)
            count = candidates.find_candidates(i, *given, STATE_LIMIT, self._found)
        self._candidates = range(1, count + 1)

    def _number(self, action: Any) -> int:
        return self._priced(action) if self._continuous else super()._number(action)

    def _take(self, action: int) -> float:
        i, reward, decision = self._question, 0, None
        if action in self._candidates:
            gains, options, cells, lengths = self._found
            j = action - 1
            reward = int(gains[j])
            candidates.book(i, cells[j], lengths[j], self._arrays.task, self._free, self._arrays.kind)
            if self._verify:
                vendor = int(options[j]) if self._instance.vendors(i) else None
                decision = candidates.decision_of(vendor, cells[j, : lengths[j]])
        self._decisions.append(decision)
        self._value += reward
        self._ask_about(i + 1)
        return reward

    def _see(self) -> Any:
        arrays, i = self._arrays, self._question
        i, slot = (-1, self._instance.slots) if i is None else (i, arrays.arrival[i])
        seen = np.empty(self.observation_space.shape or (), np.float32)
        candidates.observe(
            i, slot, len(self._candidates), arrays.task, self._free, arrays.cluster, self._found, self.types,
            self.width, self.price_scale, seen,
        )  # fmt: skip
        return np.clip(seen, 0.0, 1.0, out=seen)

    def _priced(self, action: Any) -> int:
        """The candidate with the largest gain above its price, from 1 on; 0 for none."""
        gains, _, cells, lengths = self._found
        best, most, rate = 0, 0.0, self._instance.rate[self._question]
        for j in range(len(self._candidates)):
            kinds = self._arrays.kind[cells[j, : lengths[j], 0]]
            price = float((np.asarray(action)[kinds] * rate[kinds]).sum()) * self.price_scale
            if gains[j] - price > most:
                best, most = j + 1, gains[j] - price
        return best

    def _judge(self) -> int:
        """The welfare; recounted by the independent checker where `verify` asks for it."""
        if self._verify:
            report = check(self._instance, tuple(self._decisions))
            assert report.valid, report.violations[0]
            assert report.welfare == self._value
        return int(self._value)


class _Arrays:
    """An instance as arrays."""

    def __init__(self, instance: Instance) -> None:
        if instance.schedules is not ScheduleKind.ANY:
            kind = instance.schedules.value
            raise InputError(instance.name, "tasks[0].run", f"{kind}; only tasks that are `any`")
        public = instance.public("")
        self.kind, self.first_node = public.type_of_node, public.first_node
        capacity = np.ascontiguousarray([public.compute, public.memory_mb])
        self.cluster = (self.kind, self.first_node, capacity)
        self.arrival = instance.arrival.tolist()
        options = [instance.task(i).options for i in range(instance.tasks)]
        most = max(map(len, options), default=1)
        first, price = np.zeros((2, instance.tasks, most), np.int64)
        for i, row in enumerate(options):
            for o, option in enumerate(row):
                first[i, o], price[i, o] = option.first, option.price
        self.vendors = (first, price, np.array(list(map(len, options)), dtype=np.int64))
        cost = np.array([instance.cost(i) for i in range(instance.tasks)], dtype=np.int64)
        columns = (instance.deadline, instance.memory_mb, instance.work, instance.bid)
        self.task = (*map(np.array, columns), np.array(instance.rate), cost)
        pairs = zip(instance.bid, instance.work, strict=True)
        self.dearest = float(max((bid / max(1, work) for bid, work in pairs), default=1.0))
