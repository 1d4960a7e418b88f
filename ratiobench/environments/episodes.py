"""The instances of an environment's episodes, with the intervals on OPT that are known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ratiobench.bench.commands.shared import read_given
from ratiobench.bench.evaluation.cases import PARTS, TINY, entries_of, find_family, known_interval, set_case, tiny_cases
from ratiobench.bench.family.standard import read_set
from ratiobench.instances.io.errors import InputError


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
        chosen = read_set()
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
