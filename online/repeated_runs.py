"""One algorithm on many small instances, as fast as the protocol allows: what a search for bad instances tries.

An algorithm of ours runs in this process. Anyone's own lives in one process of its own for all instances, and is built
anew for each: what its module or class keeps may go from one instance to the next, and whether it peeks is not asked.
So nothing here is a verdict; a run that counts is made by `ratiobench.online.run`.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Generic

from ratiobench.formulations.report import Exact
from ratiobench.online.outcome import Violation
from ratiobench.online.referee.isolation import Runner
from ratiobench.online.referee.simulator import RuleViolation, simulate
from ratiobench.online.registry import Instance
from ratiobench.online.run import Environment, run


class RepeatedRuns(Generic[Instance]):
    """An algorithm by its name, ready for instance after instance; close it in the end.

    `text`: the algorithm's name with options, or an import path.
    """

    def __init__(self, game: Environment[Instance], text: str) -> None:
        self._game, self._text = game, text
        self._spec = game.registry.parse(text)
        self._player: Runner | None = None

    def __enter__(self) -> RepeatedRuns[Instance]:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the algorithm's process, if it has one."""
        if self._player is not None:
            self._player.close()
        self._player = None

    def value(self, instance: Instance) -> tuple[Exact, Sequence[Violation]]:
        """What the algorithm makes of the instance, and what it broke."""
        if self._spec.entry is not None:
            played = run(self._game, instance, self._text)
            return played.welfare, played.violations
        registry = self._game.registry
        table = self._game.table(instance, registry.content_hash(instance))
        try:
            runner = self._ready()
            constants = registry.settle_constants(self._spec, runner.constants, instance)
            runner.start(table.public, {constant.name: constant.value for constant in constants})
            transcript = simulate(table, runner.ask, batch=runner.batch)
            log, violations = transcript.log, transcript.violations
        except RuleViolation as error:
            log, violations = [], [error.violation(table)]
        if any(violation.rule in ("timeout", "memory", "crash", "peeks") for violation in violations):
            self.close()  # its process is gone, or may be
        judged = self._game.judge(instance, log, violations)
        return judged.value, judged.violations

    def _ready(self) -> Runner:
        if self._player is None:
            self._player = Runner(self._spec, self._game.registry.protocol, _nothing)
        else:
            self._player.rebuild()
        return self._player


def _nothing(path: Any) -> bool:
    """The instances of a search lie in no file that could be read."""
    return False
