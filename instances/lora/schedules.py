"""The kinds of schedules that a task may have."""

from __future__ import annotations

from enum import Enum


class ScheduleKind(Enum):
    """Which schedules a task may have: the field `run` of format `ratiobench/lora/2`; `any` where it is absent.

    The checkers and the enumeration state the rule of a kind themselves: they share no code with what they check.
    """

    ANY = "any"  # Problem P: at most one node per slot, another one in every slot if need be
    ONE_NODE = "one-node"  # The same node in all slots: 'a particular compute node' (main paper, section 3.1)
    RIGID = "rigid"  # One node, without a pause: exactly as many slots in a row as the work takes on that node
    GANG = "gang"  # Several nodes of one type at the same time, all of them without a pause


KINDS = tuple(ScheduleKind)  # The kinds by the number that stands for them in an instance's column `run`
# The kinds whose schedules are runs: slots in a row, the same nodes in all of them
RUNS = (ScheduleKind.RIGID, ScheduleKind.GANG)
