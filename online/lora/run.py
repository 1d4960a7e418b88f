"""One run of an algorithm for problem P under the referee."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ratiobench.formulations.lora.check import check
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora import format as documents
from ratiobench.instances.lora.format import FORMAT, parse
from ratiobench.instances.lora.model import Instance, ScheduleKind
from ratiobench.instances.lora.solution import Solution
from ratiobench.online import run as runs
from ratiobench.online.lora.constants import OBSERVED
from ratiobench.online.lora.one_node import is_one_node, restrict
from ratiobench.online.lora.protocol import posted
from ratiobench.online.lora.registry import REGISTRY
from ratiobench.online.lora.simulator import Simulator
from ratiobench.online.outcome import Constant, OnlineRun, Violation
from ratiobench.online.referee.simulator import Log
from ratiobench.online.remarks import Part
from ratiobench.online.run import Environment, Judgement
from ratiobench.online.spec import Spec

# Most cells (node, slot) of a cluster that an online run keeps books of; five tables of 8 bytes each
CELL_LIMIT = 20_000_000
# The count of admitted tasks that are charged more than they bid; it is there where it is not 0
CHARGED_ABOVE = "charged_above_bid"


class LoraEnvironment(Environment[Instance]):
    """Tasks on nodes and slots; `one_node`: an algorithm of the form `migrate=no` keeps every task on one node."""

    registry = REGISTRY

    def __init__(self, one_node: bool = False) -> None:
        self._one_node = one_node

    def _restrict(self, instance: Instance) -> Instance:
        return instance.without_migration() if self._one_node else instance

    def admit(self, instance: Instance, spec: Spec) -> tuple[LoraEnvironment, Spec]:
        """InputError for a cluster too large, or an algorithm that has no form for these schedules."""
        stays = instance.schedules is ScheduleKind.ONE_NODE
        if stays:
            spec = restrict(spec)
        cells = instance.nodes * instance.slots
        if cells > CELL_LIMIT:
            problem = f"{instance.nodes} nodes x {instance.slots} slots; an online run takes at most {CELL_LIMIT} cells"
            raise InputError(instance.name, "node_types", problem)
        return ONE_NODE_ENVIRONMENT if stays or is_one_node(spec) else ENVIRONMENT, spec

    def arrivals(self, instance: Instance) -> int:
        return instance.tasks

    def table(self, instance: Instance, seed: str) -> Simulator:
        return Simulator(self._restrict(instance), seed)

    def first_half(self, instance: Instance) -> Instance:
        return runs.cut_after_half(documents, instance, "tasks", instance.arrival)

    def judge(self, instance: Instance, log: Log, violations: Sequence[Violation]) -> Judgement:
        solution = solution_of(instance, log)
        verdict = check(self._restrict(instance), solution)
        found = list(violations) + [Violation(*breach) for breach in verdict.violations]
        # No rule of the problem forbids it, but no bidder would agree, so it stands beside the name wherever that does.
        above = _charged_above_bid(instance, solution)
        return Judgement(
            solution, found, verdict.welfare, verdict.admitted, verdict.true_welfare, verdict.revenue,
            Part(above, verdict.admitted) if above else None,
            self._one_node, {CHARGED_ABOVE: above} if above else {},
        )  # fmt: skip

    def small(self) -> Instance:
        task = {
            "arrival": 1, "deadline": 3, "memory_mb": 1, "work": 3, "bid": 9, "rate": [2, 1], "energy_wh": [1, 1],
            "vendors": [{"price": 0, "delay": 0}, {"price": 1, "delay": 1}],
        }  # fmt: skip
        nodes = [{"name": str(g), "count": 2, "compute": 4, "memory_mb": 4, "tariff": [0, 0, 0]} for g in range(2)]
        day = {"name": "warm", "slots": 3, "slot_seconds": 600, "base_memory_mb": 1}
        return parse({"format": FORMAT, **day, "node_types": nodes, "tasks": [task, task]}, "warm")

    def settled(self, algorithm: Any, constants: tuple[Constant, ...]) -> tuple[Constant, ...]:
        margin = getattr(algorithm, "margin", 1)
        if margin == 1:
            return constants
        text = f"used {margin} times as large"
        return tuple(
            replace(c, detail=", ".join(filter(None, (c.detail, text)))) if c.name in algorithm.widened else c
            for c in constants
        )

    def remarks(self, constants: tuple[Constant, ...]) -> tuple[str, ...]:
        return (OBSERVED,) if any(OBSERVED in constant.detail for constant in constants) else ()

    def trace(self, instance: Instance, exposed: Any) -> Any:
        return posted(exposed, instance.public(""))


ENVIRONMENT, ONE_NODE_ENVIRONMENT = LoraEnvironment(), LoraEnvironment(one_node=True)


def solution_of(instance: Instance, log: Log) -> Solution:
    """The decisions in the log of a run."""
    found = {entry.about: entry.answer for entry in log}
    return tuple(found.get(i) for i in range(instance.tasks))


def _charged_above_bid(instance: Instance, solution: Solution) -> int:
    pairs = zip(solution, instance.bid.tolist(), strict=True)
    return sum(each is not None and each.payment is not None and each.payment > bid for each, bid in pairs)


def run(instance: Instance, text: str, seed: str | None = None, prior: Instance | None = None) -> OnlineRun:
    """One run of the algorithm on the instance under the referee: see `ratiobench.online.run.run`."""
    return runs.run(ENVIRONMENT, instance, text, seed, prior)
