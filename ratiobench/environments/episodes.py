"""What the environments of all families share: instances with intervals on OPT, episodes, and copies within one."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import gymnasium
import numpy as np

from ratiobench.bench.commands.shared import read_given
from ratiobench.bench.evaluation.cases import PARTS, PUBLISHED, TINY, find_cases, find_family, known_interval
from ratiobench.bench.evaluation.result import grade
from ratiobench.bench.family.standard import set_of
from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.online.referee.simulator import LogEntry, Question

Episode = tuple[Any, tuple[int, int] | None]  # An instance, and the interval on its OPT if one is known


def find_episodes(name: str, given: str | Iterable[Any], seed: int, count: int) -> list[Episode]:
    """The instances of a family: `tiny`, `parts`, a file, or instances and files; InputError for one of another."""
    family = find_family(name)
    if isinstance(given, str) and given in (TINY, PARTS):
        makers = find_cases(family, set_of(name), given, seed if given == TINY else PUBLISHED, count)
        cases = [make() for make in makers.values()]
        return [(case.instance, (int(case.lower), int(case.upper))) for case in cases]
    found: list[Episode] = []
    for item in [given] if isinstance(given, str) else given:
        owner, instance = read_given(item)
        if owner.name != name:
            raise InputError("instances", "", f"an instance of the family {owner.name}; the environment is of {name}")
        ends = known_interval(owner, instance)
        found.append((instance, None if ends is None else (int(ends[0]), int(ends[1]))))
    if not found:
        raise InputError("instances", "", "none is given")
    return found


class FamilyEnvironment(gymnasium.Env):  # type: ignore[misc]
    """An environment of one family, an instance per episode.

    The family gives `_size` (of an observation), `_begin` (lays out the instance, and its questions), `_observe` (the
    figures of an observation), `_take` (does what an action means, and asks; the reward), and for the questions
    `_find_candidates` and `_answer` (of those that the agent is not asked).
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}
    _FAMILY: ClassVar[str]
    _FIGURE: ClassVar[str]  # what `info` calls the value of an episode
    _REJECTIONS: ClassVar[int] = 1  # actions before those that take a candidate
    # Attributes that an episode makes, by its instance and its actions alone; a copy, which cannot have its generator,
    # takes the actions again
    _of_episode: frozenset[str] = frozenset()
    _chosen: int | None = None  # the number of the instance
    _actions: list[Any]  # of the episode so far
    _simulator: Any
    _questions: Iterator[Any]  # of the family's referee; of `lora` the numbers of the tasks
    _question: Any  # the one that the agent decides; None at the end
    _candidates: Any  # of the present question, a sequence
    _value: Any  # of the objective so far

    def __init__(self, instances: str | Iterable[Any] = TINY, k: int = 8, *, seed: int = 1, count: int = 10) -> None:
        self._episodes = find_episodes(self._FAMILY, instances, seed, count)
        self._k = k
        self._length = self._size()
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (self._length,), np.float32)
        self.action_space: Any = gymnasium.spaces.Discrete(k + self._REJECTIONS)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode.

        Parameters
        ----------
        seed : of the drawn instance; None to go on with the present random stream.
        options : `instance` is the number of the instance; without it an instance is drawn.

        Returns
        -------
        The first observation, and a mapping with `instance` (name) and `action_mask`.

        Raises
        ------
        InputError : there is no instance of this number.
        """
        super().reset(seed=seed)
        number, count = (options or {}).get("instance"), len(self._episodes)
        if number is not None and number not in range(count):
            raise InputError("options", "instance", f"{shorten(number)} is not a number in 0..{count - 1}")
        self._start(int(self.np_random.integers(count)) if number is None else int(number))
        return self._see(), {"instance": str(self._instance.name), "action_mask": self.action_masks()}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action.

        Parameters
        ----------
        action : of the action space.

        Returns
        -------
        Observation, reward, whether the episode ended, False (episodes are not cut off), and a mapping with
        `action_mask`; at the end also the figures of the episode.

        Raises
        ------
        InputError : a number beyond the action space.
        """
        number = self._number(action)
        self._actions.append(copy.copy(action))
        reward = self._take(number)
        seen = self._see()
        info: dict[str, Any] = {"action_mask": self.action_masks()}
        if ended := self._question is None:
            value = info[self._FIGURE] = self._judge()
            if self._ends is not None:
                lower, upper = self._ends
                share, _ = grade(find_family(self._FAMILY).sense, value, lower, upper)
                info |= {"opt_lower": lower, "opt_upper": upper, "share": float(share)}
        return seen, float(reward), ended, False, info

    def action_masks(self) -> Any:
        """Return which actions exist, for MaskablePPO of sb3-contrib.

        Returns
        -------
        A boolean per action.
        """
        return np.arange(self._k + self._REJECTIONS) < len(self._candidates) + self._REJECTIONS

    def _number(self, action: Any) -> int:
        """The action as an integer; InputError for a number beyond the space."""
        number = int(action)
        if not 0 <= number < self.action_space.n:
            raise InputError("action", "", f"{shorten(action)} is not in 0..{self.action_space.n - 1}")
        return number

    def _start(self, chosen: int, actions: Iterable[Any] = ()) -> None:
        self._chosen, self._actions = chosen, []
        lasting = self.__dict__.keys() - self._of_episode
        self._instance, self._ends = self._episodes[chosen]
        self._log: list[LogEntry] = []
        self._value = 0
        self._begin()
        self._ask()
        self._of_episode = frozenset(self.__dict__.keys() - lasting)
        for action in actions:
            self.step(action)

    def _judge(self) -> Any:
        """The value of the episode, recounted by the family's independent checker."""
        environment = find_family(self._FAMILY).environment
        assert environment is not None
        judged = environment.judge(self._instance, self._log, ())
        assert not judged.violations, judged.violations[0]
        assert math.isclose(judged.value, self._value, rel_tol=1e-9 if isinstance(self._value, float) else 0)
        return judged.value

    def _is_asked(self, question: Question) -> bool:
        """Whether the agent answers a question of the referee."""
        return True

    def _ask(self) -> None:
        """Go on to the next question to the agent, and find its candidates; answer the others."""
        self._candidates = ()
        for question in self._questions:
            if self._is_asked(question):
                self._question = question
                self._candidates = self._find_candidates(question)
                return
            self._answer(question)
        self._question = None

    def _see(self) -> Any:
        """The observation, in [0, 1]; zeros at the end."""
        figures = [0.0] * self._length if self._question is None else self._observe()
        return np.clip(np.array(figures, np.float32), 0.0, 1.0)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in self._of_episode}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._chosen is not None:
            self._start(self._chosen, self._actions)
