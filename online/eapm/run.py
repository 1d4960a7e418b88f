"""One run of an algorithm for EAPM under the referee."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from ratiobench.formulations.eapm.check import check
from ratiobench.instances.eapm.format import FORMAT, document, parse
from ratiobench.instances.eapm.model import Decision, Instance, User, freeze
from ratiobench.online import run as runs
from ratiobench.online.eapm.protocol import View, plain
from ratiobench.online.eapm.registry import REGISTRY
from ratiobench.online.outcome import Violation
from ratiobench.online.referee.simulator import Log, Question, RuleViolation, copy_answer, decisions_of
from ratiobench.online.run import Environment, Judgement


class Simulator:
    """The loads, the profit, and the rules; shares nothing with `check`, which verifies the whole solution again."""

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
        for i, (kind, tasks, price) in enumerate(self._users):
            user = User(i, tasks, price, *self._shown[kind])
            yield Question([i], [user], View(freeze(self._load), self._profit))

    def take(self, event: str, index: int | None, answer: Any) -> Decision:
        """Rules are named by the equations, (5) and (7)."""
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
        return copy_answer(plain, "list of integers", index, answer)


class EapmEnvironment(Environment[Instance]):
    registry = REGISTRY

    def arrivals(self, instance: Instance) -> int:
        return instance.users

    def table(self, instance: Instance, seed: str) -> Simulator:
        return Simulator(instance)

    def first_half(self, instance: Instance) -> Instance:
        data = document(instance)
        data["users"] = data["users"][: (instance.users + 1) // 2]
        return parse(data, "the first half")

    def judge(self, instance: Instance, log: Log, violations: Sequence[Violation]) -> Judgement:
        solution = tuple(decisions_of(log, instance.users))
        verdict = check(instance, solution)
        # Where a foul has ended the run, the verifier misses the users after it: a consequence, not another foul.
        found = list(violations) or [Violation(*breach) for breach in verdict.violations]
        value = Fraction(0) if verdict.value is None else verdict.value
        return Judgement(solution, found, value, verdict.placed)

    def small(self) -> Instance:
        return parse(
            {
                "format": FORMAT,
                "name": "warm",
                "energy_price": 1,
                "machines": ["a", "b"],
                "task_types": [
                    {"name": "slow", "etc_ms": [2, 5], "apc_mw": [3, 1]},
                    {"name": "fast", "etc_ms": [1, 1], "apc_mw": [2, 1]},
                ],
                "users": [{"type": i % 2, "tasks": 1 + 3 * i, "price": 40} for i in range(4)],
            },
            "warm",
        )


ENVIRONMENT = EapmEnvironment()
run = partial(runs.run, ENVIRONMENT)
