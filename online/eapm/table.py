"""The referee: it owns the loads, hears each decision once, and books what stands.

An algorithm gets copies of the loads; the books that decide are plain integers that it never holds. Each answer is
copied on receipt, checked against (5) and (7) in integers, and final. At the end the whole solution is verified again
by `formulations.eapm.check`, which shares nothing with this file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from formulations.eapm.check import check
from instances.eapm.format import document, parse
from instances.eapm.model import Instance, User, frozen
from instances.eapm.solution import Decision
from online.answers import refusal
from online.eapm.protocol import View, plain
from online.eapm.registry import REGISTRY
from online.outcome import Constant, OnlineRun, Violation
from online.referee import isolation
from online.referee import table as referee
from online.referee.table import Foul, Question
from online.spec import Spec, version


class Table:
    """The loads, the profit, and the rules, for one run on one instance."""

    noun = "user"

    def __init__(self, instance: Instance) -> None:
        self.public = instance.public()
        self.arrivals = instance.users
        # Plain integers to decide by, arrays of their own to show: three per type of task, for they are read-only.
        self._etc, self._cost = instance.etc_ms.tolist(), instance.cost.tolist()
        tables = zip(self._etc, self._cost, (instance.etc_ms * instance.apc_mw).tolist(), strict=True)
        self._shown = [(frozen(etc), frozen(cost), frozen(energy)) for etc, cost, energy in tables]
        self._users = list(zip(instance.kind.tolist(), instance.tasks.tolist(), instance.price.tolist(), strict=True))
        self._load = [0] * len(instance.machines)
        self._profit = 0

    def questions(self, batch: bool) -> Iterator[Question]:
        """User by user; there are no batches, for nothing arrives together."""
        for i, (kind, tasks, price) in enumerate(self._users):
            user = User(i, tasks, price, *self._shown[kind])
            yield Question([i], [user], View(frozen(self._load), self._profit))

    def take(self, index: int, answer: Any) -> Decision:
        """Copy an answer, check it and book it; Foul names the equation that it breaks."""
        decision = self.copied(index, answer)
        kind, tasks, price = self._users[index]
        machines = len(self._load)
        if len(decision) != machines:
            raise Foul("protocol", index, f"{len(decision)} shares for {machines} machines")
        for j, share in enumerate(decision):
            if share < 0:
                raise Foul("7", index, f"machine {j} gets {share} tasks")
        if sum(decision) != tasks:
            raise Foul("5", index, f"{sum(decision)} tasks placed, the bag has {tasks}")
        self._profit += price
        for j, share in enumerate(decision):
            self._load[j] += share * self._etc[kind][j]
            self._profit -= share * self._cost[kind][j]
        return decision

    def copied(self, index: int, answer: Any) -> Decision:
        """The answer as a tuple of plain integers; Foul if it is none."""
        try:
            return plain(answer)
        except (TypeError, ValueError) as error:
            raise Foul("protocol", index, refusal(answer, "list of integers", error)) from None


def play(instance: Instance, algorithm: Any, name: str, version: str, constants: tuple[Constant, ...]) -> OnlineRun:
    """Run an algorithm of ours in this process."""
    values = {constant.name: constant.value for constant in constants}
    decisions, violations, seconds = referee.play(Table(instance), algorithm, values)
    return outcome(
        instance, decisions, violations, name, version, constants, seconds,
        label=getattr(algorithm, "label", name),
        arithmetic=getattr(algorithm, "arithmetic", "integer"),
        counts=dict(getattr(algorithm, "counts", {})),
        trace=getattr(algorithm, "trace", None),
    )  # fmt: skip


def play_isolated(instance: Instance, spec: Spec, prior: Instance | None = None) -> OnlineRun:
    """Run anyone's algorithm by its import path, in a process of its own: `online.referee.isolation` says how."""
    code = version(spec)
    played = isolation.play(REGISTRY, spec, instance, Table, _first_half, prior)
    return outcome(
        instance, played.decisions, played.violations, spec.name, code, played.constants, played.seconds,
        label=played.label,
        arithmetic="unknown",
        counts=dict(played.counts),
        trace=None,
    )  # fmt: skip


def _first_half(instance: Instance) -> Instance:
    """The first half of the users, at least one, as an instance of its own."""
    data = document(instance)
    data["users"] = data["users"][: (instance.users + 1) // 2]
    return parse(data, "the first half")


def outcome(
    instance: Instance,
    decisions: Sequence[Decision | None],
    violations: Sequence[Violation],
    name: str,
    version: str,
    constants: tuple[Constant, ...],
    seconds: float,
    *,
    label: str,
    arithmetic: str,
    counts: dict[str, int],
    trace: Any,
) -> OnlineRun:
    """The run's result, its figures taken from the independent verifier."""
    solution = tuple(decisions)
    verdict = check(instance, solution)
    # Where a foul has ended the run, the verifier misses the users after it: a consequence, not another foul.
    found = list(violations) or [Violation(b.equation, b.user, b.detail, Table.noun) for b in verdict.violations]
    value = Fraction(0) if verdict.value is None else verdict.value
    return OnlineRun(
        algorithm=name,
        label=label,
        version=version,
        valid=not found,
        violations=tuple(found),
        welfare=value,
        true_welfare=value,
        revenue=None,
        admitted=verdict.placed,
        decisions=solution,
        constants=constants,
        arithmetic=arithmetic,
        counts=counts,
        seconds=seconds,
        trace=trace,
    )
