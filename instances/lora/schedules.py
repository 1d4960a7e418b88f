"""The kinds of schedules that the tasks of an instance may have."""

from __future__ import annotations

from enum import Enum


class ScheduleKind(Enum):
    """Which schedules tasks may have: the field `run` of format `ratiobench/lora/2`; `any` where it is absent.

    The checkers and the enumeration state the rule of a kind themselves: they share no code with what they check.
    """

    ANY = "any"  # Problem P: at most one node per slot, another one in every slot if need be
    ONE_NODE = "one-node"  # The same node in all slots: 'a particular compute node' (main paper, section 3.1)
