"""What an online algorithm is, what it sees, and what it answers.

An algorithm is any object with `start` and `decide`. It never sees an instance: it gets the public part, the constants
that it declares, one user at a time (`ratiobench.instances.eapm.model.User`: tasks, price, etc_ms, cost, energy_uj) and
the loads that its answers have led to. It answers with a share of the bag for every machine.

Optional attributes: `constants` (names that it declares, read before the start), and, read by the referee after the
run, `label` (str, what must be said beside the name), `arithmetic` (str), `counts` (mapping of ints), `trace` (for
audits).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ratiobench.instances.eapm.model import IntArray, Public, User
from ratiobench.instances.eapm.solution import Decision
from ratiobench.online.answers import read_part

__all__ = ["Algorithm", "Decision", "Public", "User", "View", "excess", "plain"]

NUMBER_LIMIT = 2**53
"""No number in an answer is larger: more than any bag has tasks."""


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """The state that the referee shows: read-only, a copy for this decision.

    Parameters
    ----------
    load_ms : (m,) L_j, milliseconds of work that each machine has been given by the users before this one.
    profit : micro-units, prices less energy costs of the users before this one, exactly.
    """

    load_ms: IntArray
    profit: int


@runtime_checkable
class Algorithm(Protocol):
    """Decides user by user."""

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """Called once, before the first arrival, with the values of the constants it declares in `constants`."""
        ...

    def decide(self, user: User, view: View) -> Decision:
        """The final answer for the user: how many of the tasks each machine gets; a list or an array will do."""
        ...


def plain(answer: Any) -> Decision:
    """An answer in builtin types, detached from whatever the algorithm keeps; itself if nothing in it can be altered.

    Raises
    ------
    TypeError, ValueError : when it is no list, tuple or (m,) array of integers.
    """
    if type(answer) is tuple and all(type(x) is int and -NUMBER_LIMIT <= x <= NUMBER_LIMIT for x in answer):
        return answer
    if isinstance(answer, np.ndarray):
        if answer.ndim != 1 or not np.issubdtype(answer.dtype, np.integer):
            raise TypeError(answer)
    elif not isinstance(answer, tuple | list):
        raise TypeError(answer)
    return tuple(read_part(f"machine {j}'s share", x, NUMBER_LIMIT) for j, x in enumerate(answer))


def excess(answer: Any, public: Public) -> str | None:
    """What is wrong with an answer that has more shares than there are machines; else None.

    Such an answer is refused where it was made: it may be too long to be sent.
    """
    if isinstance(answer, tuple | list | np.ndarray) and len(answer) > len(public.machines):
        return f"{len(answer)} shares for {len(public.machines)} machines"
    return None
