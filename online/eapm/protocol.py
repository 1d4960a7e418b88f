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

from ratiobench.instances.eapm.model import Decision, IntArray, Public, User
from ratiobench.online.answers import read_part

__all__ = ["Algorithm", "Decision", "Public", "User", "View", "excess", "plain"]

NUMBER_LIMIT = 2**53  # No number in an answer is larger: more than any bag has tasks


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
        """Begin a run: called once, before the first arrival.

        Parameters
        ----------
        public : the public part of the instance.
        constants : values of the constants that the algorithm declares.
        """
        ...

    def decide(self, user: User, view: View) -> Decision:
        """Decide about the user that arrives.

        Parameters
        ----------
        user : the user.
        view : loads and profit so far, read-only.

        Returns
        -------
        (m,) how many of the user's tasks each machine gets; a list or an array is accepted.
        """
        ...


def plain(answer: Any) -> Decision:
    """Copy an answer in builtin types; an answer that nothing can alter is returned as it is.

    Parameters
    ----------
    answer : of an algorithm.

    Returns
    -------
    (m,) integers.

    Raises
    ------
    TypeError : it is no list, tuple or (m,) array of integers.
    InvalidAnswer : a share is no integer or too large.

    Examples
    --------
    >>> from ratiobench.online.eapm.protocol import plain
    >>> plain([2, 0, 1])
    (2, 0, 1)
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
    """Check that an answer has no more shares than there are machines, so that it can be sent.

    Parameters
    ----------
    answer : of an algorithm.
    public : the public part of the instance.

    Returns
    -------
    What is wrong, in words; None for nothing.
    """
    if isinstance(answer, tuple | list | np.ndarray) and len(answer) > len(public.machines):
        return f"{len(answer)} shares for {len(public.machines)} machines"
    return None
