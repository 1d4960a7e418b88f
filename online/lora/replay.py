"""A run that is gone on with from the middle: what a task would get with another report."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from fractions import Fraction
from typing import Any, NamedTuple

from ratiobench.instances.lora.model import Instance
from ratiobench.online.lora.run import ENVIRONMENT
from ratiobench.online.lora.simulator import CapacityState, Simulator
from ratiobench.online.outcome import Violation
from ratiobench.online.referee.simulator import LogEntry, Question, simulate
from ratiobench.online.run import Judgement

MOST = 16  # Stops that are kept, beside the start


class _Stop(NamedTuple):
    books: CapacityState
    algorithm: Any
    log: list[LogEntry]
    violations: list[Violation]


class Checkpoints:
    """The run of an algorithm of ours that decides task by task and was built for this instance."""

    def __init__(self, instance: Instance, algorithm: Any, constants: Mapping[str, Fraction], seed: str) -> None:
        self._instance, self._seed = instance, seed
        table = Simulator(instance, seed)
        algorithm.start(table.public, dict(constants))
        self._stops = {0: _Stop(table.books, algorithm, [], [])}

    def play(self, part: Instance, place: int) -> Judgement:
        """The figures of the run on `part`, whose tasks before `place` are those of the instance."""
        end = self._go_on(self._stop(place), part, place, part.tasks)
        return ENVIRONMENT.judge(part, end.log, end.violations)

    def _stop(self, place: int) -> _Stop:
        if place not in self._stops:
            before = max(stop for stop in self._stops if stop <= place)
            self._stops[place] = self._go_on(self._stops[before], self._instance, before, place)
            if len(self._stops) > MOST + 1:
                del self._stops[next(stop for stop in self._stops if stop not in (0, place))]
        return self._stops[place]

    def _go_on(self, stop: _Stop, instance: Instance, begin: int, end: int) -> _Stop:
        # What an algorithm never alters in place its copies share: `__deepcopy__`.
        books, algorithm = deepcopy(stop.books), deepcopy(stop.algorithm)

        def ask(question: Question) -> list[Any]:
            return [algorithm.decide(question.arrivals[0], question.view)]

        transcript = simulate(Simulator(instance, self._seed, books=books), ask, batch=False, span=(begin, end))
        return _Stop(books, algorithm, stop.log + transcript.log, stop.violations + transcript.violations)
