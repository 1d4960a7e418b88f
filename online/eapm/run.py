"""One run of an algorithm for EAPM under the referee."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ratiobench.formulations.eapm.check import check
from ratiobench.instances.eapm.format import FORMAT, document, parse
from ratiobench.instances.eapm.model import Instance
from ratiobench.online import run as runs
from ratiobench.online.eapm.registry import REGISTRY
from ratiobench.online.eapm.simulator import Simulator
from ratiobench.online.outcome import OnlineRun, Violation
from ratiobench.online.referee.simulator import Log, decisions_of
from ratiobench.online.run import Environment, Judgement


class EapmEnvironment(Environment[Instance]):
    """The loads of the machines, user by user."""

    registry = REGISTRY

    def arrivals(self, instance: Instance) -> int:
        """Users."""
        return instance.users

    def table(self, instance: Instance, seed: str) -> Simulator:
        """The loads; nothing is drawn."""
        return Simulator(instance)

    def first_half(self, instance: Instance) -> Instance:
        """The first half of the users, at least one, as an instance of its own."""
        data = document(instance)
        data["users"] = data["users"][: (instance.users + 1) // 2]
        return parse(data, "the first half")

    def judge(self, instance: Instance, log: Log, violations: Sequence[Violation]) -> Judgement:
        """Profit rate, by `ratiobench.formulations.eapm.check`."""
        solution = tuple(decisions_of(log, instance.users))
        verdict = check(instance, solution)
        # Where a foul has ended the run, the verifier misses the users after it: a consequence, not another foul.
        found = list(violations) or [Violation(*breach) for breach in verdict.violations]
        value = Fraction(0) if verdict.value is None else verdict.value
        return Judgement(solution, found, value, verdict.placed)

    def small(self) -> Instance:
        """Two machines, two types of task, four users."""
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


def run(instance: Instance, text: str, prior: Instance | None = None) -> OnlineRun:
    """One run of the algorithm under the referee; parameters and errors as `ratiobench.online.run.run`."""
    return runs.run(ENVIRONMENT, instance, text, prior=prior)
