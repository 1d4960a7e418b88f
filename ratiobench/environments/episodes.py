"""The instances of episodes with the intervals on OPT that are known, and environments that can be copied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import gymnasium

from ratiobench.bench.commands.shared import read_given
from ratiobench.bench.evaluation.cases import PARTS, TINY, entries_of, find_family, known_interval, set_case, tiny_cases
from ratiobench.bench.family.standard import set_of
from ratiobench.instances.io.errors import InputError, shorten


def find_episodes(
    name: str, given: str | Iterable[Any], seed: int, count: int
) -> list[tuple[Any, tuple[int, int] | None]]:
    """Instances with their intervals on OPT, None where none is known.

    Parameters
    ----------
    name : of the family.
    given : `tiny`, `parts`, a file, or instances and files.
    seed, count : of the tiny instances.

    Raises
    ------
    InputError : an instance of another family, or none at all.
    """
    family = find_family(name)
    if given in (TINY, PARTS):
        chosen = set_of(name)
        cases = (
            tiny_cases(family, seed, count)
            if given == TINY
            else [set_case(chosen, entry, PARTS) for entry in entries_of(family, chosen, PARTS)]
        )
        return [(case.instance, (int(case.lower), int(case.upper))) for case in cases]
    found: list[tuple[Any, tuple[int, int] | None]] = []
    for each in [given] if isinstance(given, str) else given:
        owner, instance = read_given(each)
        if owner.name != name:
            raise InputError("instances", "", f"an instance of the family {owner.name}; the environment is of {name}")
        ends = known_interval(owner, instance)
        found.append((instance, None if ends is None else (int(ends[0]), int(ends[1]))))
    if not found:
        raise InputError("instances", "", "none is given")
    return found


def check_action(space: Any, action: Any) -> int:
    """Return the action as an integer.

    Parameters
    ----------
    space : the discrete action space.
    action : a number in it.

    Raises
    ------
    InputError : a number beyond it.
    """
    number = int(action)
    if not 0 <= number < space.n:
        raise InputError("action", "", f"{shorten(action)} is not in 0..{space.n - 1}")
    return number


class EpisodesEnvironment(gymnasium.Env):  # type: ignore[misc]
    """An environment that begins each episode with one of its instances; `_start` lays it out and gives its name."""

    _episodes: Sequence[Any]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode.

        Parameters
        ----------
        seed : of the drawn instance; None to go on with the present random stream.
        options : `instance` is the number of the instance; without it an instance is drawn.

        Returns
        -------
        The first observation, and a mapping with `instance` (name) and `action_mask`.
        """
        super().reset(seed=seed)
        number = (options or {}).get("instance")
        name = self._start(int(self.np_random.integers(len(self._episodes))) if number is None else int(number))
        return self._see(), {"instance": name, "action_mask": self.action_masks()}


class ReplayedEnvironment(EpisodesEnvironment):
    """An environment whose episode goes on in a generator, which cannot be copied: a copy takes all actions again."""

    _episodes: list[tuple[Any, tuple[int, int] | None]]
    _actions: list[int]  # of the episode so far
    _chosen: int | None = None  # the number of its instance
    # Attributes that an episode makes, by its instance and its actions alone
    _OF_EPISODE = (
        "_instance", "_ends", "_simulator", "_questions", "_question", "_candidates", "_log", "_jobs", "_shares",
        "_met", "_cost", "_costs", "_starts",
    )  # fmt: skip

    def _start(self, chosen: int, actions: Iterable[int] = ()) -> str:
        """Begin an episode, and take these actions; the name of its instance."""
        self._chosen, self._actions = chosen, []
        self._instance, self._ends = self._episodes[chosen]
        self._begin()
        for action in actions:
            self.step(action)
        return str(self._instance.name)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in self._OF_EPISODE}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._chosen is not None:
            self._start(self._chosen, self._actions)
