"""The referee: it owns the loads, hears each decision once, and books what stands.

An algorithm gets copies of the loads; the books that decide are plain integers that it never holds. Each answer is
copied on receipt, checked against (5) and (7) in integers, and final. At the end the whole solution is verified again
by `ratiobench.formulations.eapm.check`, which shares nothing with this file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ratiobench.instances.eapm.model import Instance, User, freeze
from ratiobench.instances.eapm.solution import Decision
from ratiobench.online.answers import refusal
from ratiobench.online.eapm.protocol import View, plain
from ratiobench.online.referee.simulator import Question, RuleViolation


class Simulator:
    """The loads, the profit, and the rules, for one run on one instance."""

    noun = "user"

    def __init__(self, instance: Instance) -> None:
        self.public = instance.public()
        self.arrivals = instance.users
        # Plain integers to decide by, arrays of their own to show: three per type of task, for they are read-only.
        self._etc, self._cost = instance.etc_ms.tolist(), instance.cost.tolist()
        tables = zip(self._etc, self._cost, (instance.etc_ms * instance.apc_mw).tolist(), strict=True)
        self._shown = [(freeze(etc), freeze(cost), freeze(energy)) for etc, cost, energy in tables]
        self._users = list(zip(instance.kind.tolist(), instance.tasks.tolist(), instance.price.tolist(), strict=True))
        self._load = [0] * len(instance.machines)
        self._profit = 0

    def questions(self, batch: bool) -> Iterator[Question]:
        """User by user; there are no batches, for nothing arrives together."""
        for i, (kind, tasks, price) in enumerate(self._users):
            user = User(i, tasks, price, *self._shown[kind])
            yield Question([i], [user], View(freeze(self._load), self._profit))

    def take(self, event: str, index: int | None, answer: Any) -> Decision:
        """Copy an answer, check it and book it; Foul names the equation that it breaks."""
        assert index is not None
        decision = self.copied(event, index, answer)
        kind, tasks, price = self._users[index]
        machines = len(self._load)
        if len(decision) != machines:
            raise RuleViolation("protocol", index, f"{len(decision)} shares for {machines} machines")
        for j, share in enumerate(decision):
            if share < 0:
                raise RuleViolation("7", index, f"machine {j} gets {share} tasks")
        if sum(decision) != tasks:
            raise RuleViolation("5", index, f"{sum(decision)} tasks placed, the bag has {tasks}")
        self._profit += price
        for j, share in enumerate(decision):
            self._load[j] += share * self._etc[kind][j]
            self._profit -= share * self._cost[kind][j]
        return decision

    def copied(self, event: str, index: int | None, answer: Any) -> Decision:
        """The answer as a tuple of plain integers; Foul if it is none."""
        try:
            return plain(answer)
        except (TypeError, ValueError) as error:
            raise RuleViolation("protocol", index, refusal(answer, "list of integers", error)) from None
