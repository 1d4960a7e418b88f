"""What an algorithm's prices were when each task arrived: the run once more, with somebody who takes notes."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from ratiobench.bench.lora.theory.basis.case import Cell
from ratiobench.instances.lora.format import content_hash
from ratiobench.instances.lora.model import Instance, Task
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.protocol import View
from ratiobench.online.lora.registry import REGISTRY
from ratiobench.online.lora.simulator import Simulator
from ratiobench.online.lora.traces import LinearTrace, PriceTrace
from ratiobench.online.outcome import OnlineRun
from ratiobench.online.referee.simulator import decisions_of, run_in_process


class Prices(NamedTuple):
    """lambda and phi of the cells where they are not 0, micro-dollars per sample and per MB."""

    lam: dict[Cell, Fraction]
    phi: dict[Cell, Fraction]


def take_prices(lam: Mapping[Cell, Fraction | float], phi: Mapping[Cell, Fraction | float]) -> Prices:
    """Prices as they stand in a trace, those that are not 0."""
    return Prices(*({cell: Fraction(x) for cell, x in of.items() if x} for of in (lam, phi)))


class _Recorder:
    """An algorithm of ours, with its prices before each decision."""

    def __init__(self, algorithm: Any) -> None:
        self._algorithm = algorithm
        self.seen: list[Prices] = []

    def start(self, public: Any, constants: Any) -> None:
        self._algorithm.start(public, constants)

    def decide(self, task: Task, view: View) -> Decision | None:
        trace = self._algorithm.trace
        self.seen.append(take_prices(trace.lam, trace.phi))
        decision: Decision | None = self._algorithm.decide(task, view)
        return decision


def replay_prices(instance: Instance, run: OnlineRun) -> list[Prices] | None:
    """The prices that each task met; None for an algorithm that does not show them while it runs."""
    spec = REGISTRY.parse(run.algorithm)
    if spec.entry is None or not isinstance(run.trace, PriceTrace | LinearTrace):
        return None
    recorder = _Recorder(spec.entry.make(spec.entry.settle(dict(spec.options), instance.tasks)))
    constants = {constant.name: constant.value for constant in run.constants}
    log = run_in_process(Simulator(instance, content_hash(instance)), recorder, constants).log
    if tuple(decisions_of(log, instance.tasks)) != tuple(run.decisions):
        raise AssertionError(f"{run.algorithm} decides otherwise when it is played again")
    return recorder.seen
