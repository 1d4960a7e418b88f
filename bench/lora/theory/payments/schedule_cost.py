"""The least cost of a schedule at additive prices, found again: no code is shared with the searches of the mechanisms.

From the last slot to the first, the pairs (work done, cost) that some choice of cells gives, less those that another
pair matches in both. The cost of a choice is the sum of its cells in this order, then the vendor's price: the order in
which the mechanisms add doubles. Rounding is monotone, so leaving out dominated pairs loses nothing in doubles either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ratiobench.instances.lora.model import Task


class StepLimitReached(Exception):
    """The allowance of additions is used up."""


class StepBudget:
    """Counts additions."""

    def __init__(self, left: int) -> None:
        self._left = left

    def spend(self, additions: int) -> None:
        """So many more; OutOfSteps if they were not allowed any more."""
        self._left -= additions
        if self._left < 0:
            raise StepLimitReached


class Row(NamedTuple):
    """A node type in a task's window: its rate, and per slot the cost of its cheapest open cell, None without one."""

    rate: int
    costs: Sequence[Any]


def find_least_cost(task: Task, rows: Sequence[Row], first: int, steps: StepBudget, unit: int = 1) -> Any:
    """The least vendor price plus cell costs over all schedules, or None where no schedule does the work.

    `rows`: the node types that can hold the task; column 0 is slot `first`; `first`: the first slot that any vendor
    leaves usable; `unit`: what one micro-dollar is in the cell costs.
    """
    starts: dict[int, list[int]] = {}
    for option in task.options:
        starts.setdefault(option.first, []).append(option.price * unit)
    best = None
    pairs: list[tuple[int, Any]] = [(0, 0)]
    for slot in range(task.deadline, first - 1, -1):
        reached = list(pairs)
        for rate, costs in rows:
            cost = costs[slot - first]
            if cost is not None:
                reached += [(min(task.work, done + rate), spent + cost) for done, spent in pairs]
        steps.spend(len(reached))
        pairs = _undominated(reached)
        if pairs[0][0] == task.work:
            for price in starts.get(slot, ()):
                total = pairs[0][1] + price
                best = total if best is None or total < best else best
    return best


def _undominated(pairs: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
    """Most work first, each pair cheaper than all before it."""
    pairs.sort(key=lambda pair: (-pair[0], pair[1]))
    selection = [pairs[0]]
    for pair in pairs:
        if pair[1] < selection[-1][1]:
            selection.append(pair)
    return selection
