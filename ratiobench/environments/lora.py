"""The family `lora` as a Gymnasium environment: one step per arrival, reward in micro-dollars."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import gymnasium
import numpy as np

from ratiobench.bench.evaluation.cases import TINY
from ratiobench.environments.candidates import CANDIDATE_FEATURES, TASK_FEATURES, book, find_candidates, observe
from ratiobench.environments.episodes import EpisodesEnvironment, check_action, find_episodes
from ratiobench.formulations.lora.check import check
from ratiobench.formulations.lora.covering.schedules import STATE_LIMIT
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.schedules import ScheduleKind
from ratiobench.instances.lora.solution import Decision

__all__ = ["LoraEnvironment"]


class LoraEnvironment(EpisodesEnvironment):
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
    metadata : of Gymnasium; there are no render modes.
    types, width : node types and slots of the observation, the most that an instance has.
    price_scale : largest bid per sample of the instances, micro-dollars.

    Raises
    ------
    InputError : an instance of another family or with tasks that may not move.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  (as Gymnasium declares it)

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
        self._episodes = [_Episode(*each) for each in find_episodes("lora", instances, seed, count)]
        self._k, self._continuous, self._verify = k, continuous, verify
        self.types = max(len(each.first_node) - 1 for each in self._episodes)
        self.width = max(each.instance.slots for each in self._episodes)
        self.price_scale = max(each.dearest for each in self._episodes)
        size = TASK_FEATURES + CANDIDATE_FEATURES * k + 2 * self.types * self.width
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (size,), np.float32)
        if continuous:
            self.action_space: Any = gymnasium.spaces.Box(0.0, 1.0, (self.types,), np.float32)
        else:
            self.action_space = gymnasium.spaces.Discrete(k + 1)
        self._found = (
            np.zeros(k, np.int64),
            np.zeros(k, np.int64),
            np.zeros((k, self.width, 2), np.int64),
            np.zeros(k, np.int64),
        )
        self._count = 0
        self._episode = self._episodes[0]
        self._next = 0

    def _start(self, chosen: int) -> str:
        self._episode = self._episodes[chosen]
        self._episode.begin()
        self._next, self._welfare = 0, 0
        self._decisions: list[Decision | None] = []
        return str(self._episode.instance.name)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Decide about the present task.

        Parameters
        ----------
        action : a number in 0..k; with `continuous` (node types,) prices in [0, 1].

        Returns
        -------
        Observation, reward in micro-dollars, whether the episode ended, False (episodes are not cut off), and a mapping
        with `action_mask`; at the end also the figures of the episode.
        """
        episode = self._episode
        chosen = self._priced(action) if self._continuous else check_action(self.action_space, action)
        reward = 0
        if self._verify:
            self._decisions.append(None)
        if 0 < chosen <= self._count:
            gains, options, cells, lengths = self._found
            j = chosen - 1
            reward = int(gains[j])
            book(self._next, cells[j], lengths[j], episode.task, episode.free, episode.kind)
            if self._verify:
                vendor = int(options[j]) if episode.instance.vendors(self._next) else None
                pairs = sorted(cells[j, : lengths[j]].tolist(), key=lambda cell: cell[1])
                self._decisions[-1] = Decision(vendor, tuple((node, slot) for node, slot in pairs), 0)
        self._welfare += reward
        self._next += 1
        ended = self._next >= episode.tasks
        seen = self._see()
        info: dict[str, Any] = {"action_mask": self.action_masks()}
        if ended:
            info |= self._end()
        return seen, float(reward), ended, False, info

    def action_masks(self) -> Any:
        """Return which actions exist, for MaskablePPO of sb3-contrib.

        Returns
        -------
        (k + 1,) booleans.
        """
        mask = np.zeros(self._k + 1, np.bool_)
        mask[: self._count + 1] = True
        return mask

    def _see(self) -> Any:
        """Find the candidates of the next task, and what the agent sees."""
        episode, i = self._episode, self._next
        self._count = 0
        if i < episode.tasks:
            self._count = find_candidates(
                i, episode.task, episode.vendors, episode.free, episode.cluster, STATE_LIMIT, self._found
            )
        seen = np.empty(self.observation_space.shape or (), np.float32)
        i, slot = (i, episode.arrival[i]) if i < episode.tasks else (-1, episode.instance.slots)
        observe(
            i,
            slot,
            self._count,
            episode.task,
            episode.free,
            episode.cluster,
            self._found,
            self.types,
            self.width,
            self.price_scale,
            seen,
        )
        return np.clip(seen, 0.0, 1.0, out=seen)

    def _priced(self, action: Any) -> int:
        """The candidate with the largest gain above its price, from 1 on; 0 for none."""
        gains, _, cells, lengths = self._found
        episode, best, most = self._episode, 0, 0.0
        rate = episode.instance.rate[self._next]
        for j in range(self._count):
            kinds = episode.kind[cells[j, : lengths[j], 0]]
            price = float((np.asarray(action)[kinds] * rate[kinds]).sum()) * self.price_scale
            if gains[j] - price > most:
                best, most = j + 1, gains[j] - price
        return best

    def _end(self) -> dict[str, Any]:
        """What an episode ends with: welfare, and the certified interval on OPT where one is known."""
        episode = self._episode
        if self._verify:
            report = check(episode.instance, tuple(self._decisions))
            assert report.valid, report.violations[0]
            assert report.welfare == self._welfare
        found: dict[str, Any] = {"welfare": self._welfare}
        if episode.ends is not None:
            lower, upper = episode.ends
            share = max(Fraction(0), Fraction(self._welfare) / Fraction(upper)) if upper > 0 else Fraction(1)
            found |= {"opt_lower": int(lower), "opt_upper": int(upper), "share": float(share)}
        return found


class _Episode:
    """An instance as arrays, and what is free in the present episode."""

    def __init__(self, instance: Instance, ends: tuple[int, int] | None) -> None:
        if instance.schedules is not ScheduleKind.ANY:
            kind = instance.schedules.value
            raise InputError(instance.name, "tasks[0].run", f"{kind}; only tasks that are `any`")
        public = instance.public("")
        self.instance, self.ends, self.tasks = instance, ends, instance.tasks
        self.kind, self.first_node = public.type_of_node, public.first_node
        self._capacity = np.ascontiguousarray([public.compute, public.memory_mb])
        self.cluster = (self.kind, self.first_node, self._capacity)
        self.arrival = instance.arrival.tolist()
        options = [instance.task(i).options for i in range(self.tasks)]
        most = max((len(each) for each in options), default=1)
        first, price = np.zeros((self.tasks, most), np.int64), np.zeros((self.tasks, most), np.int64)
        for i, each in enumerate(options):
            for o, option in enumerate(each):
                first[i, o], price[i, o] = option.first, option.price
        self.vendors = (first, price, np.array([len(each) for each in options], dtype=np.int64))
        cost = np.array([instance.cost(i) for i in range(self.tasks)], dtype=np.int64)
        columns = (instance.deadline, instance.memory_mb, instance.work, instance.bid)
        self.task = (*(np.array(column) for column in columns), np.array(instance.rate), cost)
        self.dearest = float(
            max((b / max(1, w) for b, w in zip(instance.bid, instance.work, strict=True)), default=1.0)
        )

    def begin(self) -> None:
        self.free = tuple(
            np.repeat(self._capacity[row][self.kind][:, None], self.instance.slots, axis=1) for row in (0, 1)
        )
