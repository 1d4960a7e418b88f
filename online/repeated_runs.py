"""One algorithm on many small instances, a user's own in one process for all of them: quick, and hints only.

What its module or class keeps may go from one run to the next, and whether it peeks is not asked: nothing here is a
verdict. A run that counts is made by `ratiobench.online.run`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Generic

from ratiobench.formulations.report import Exact
from ratiobench.instances.io.errors import InputError
from ratiobench.online.outcome import Violation
from ratiobench.online.referee.arrival_count import start_counting
from ratiobench.online.referee.isolation import Runner
from ratiobench.online.referee.limits import Echo
from ratiobench.online.referee.simulator import Log, RuleViolation, Simulator, complete
from ratiobench.online.registry import Instance
from ratiobench.online.run import Environment, run
from ratiobench.online.spec import Spec


def _nothing(path: str) -> bool:
    """The instances here lie in no file that could be read."""
    return False


def _build(runner: Runner) -> Runner:
    try:
        complete(runner.build())
    except BaseException:
        runner.close()
        raise
    return runner


class _OneProcess:
    """What ends the process of a user's algorithm."""

    _player: Runner | None = None

    def close(self) -> None:
        """End the algorithm's process, if it has one."""
        if self._player is not None:
            self._player.close()
        self._player = None


class TrialRuns(_OneProcess):
    """A user's algorithm that is started anew for every run, and built anew after one that was not valid."""

    def __init__(self, spec: Spec, protocol: str) -> None:
        self._spec, self._protocol, self._echo = spec, protocol, Echo(spec.name)
        self.processes = 0

    def play(self, table: Simulator, constants: Mapping[str, Fraction]) -> Log | None:
        """The log of a run; None for a run that is not valid."""
        try:
            if self._player is None:
                self.processes += 1
                self._player = _build(Runner(self._spec, self._protocol, _nothing, self._echo))
            transcript = complete(self._player.play(table, constants, start_counting(table.arrivals)))
            if not transcript.violations:
                return transcript.log
        except (RuleViolation, InputError):
            pass
        self.close()
        return None


class RepeatedRuns(_OneProcess, Generic[Instance]):
    """An algorithm by its name, built anew for instance after instance; close it in the end."""

    def __init__(self, game: Environment[Instance], text: str) -> None:
        self._game, self._text = game, text
        self._spec = game.registry.parse(text)

    def __enter__(self) -> RepeatedRuns[Instance]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def value(self, instance: Instance) -> tuple[Exact, Sequence[Violation]]:
        """What the algorithm makes of the instance, and what it broke."""
        if self._spec.entry is not None:
            played = run(self._game, instance, self._text)
            return played.welfare, played.violations
        registry = self._game.registry
        table = self._game.table(instance, registry.content_hash(instance))
        try:
            if self._player is None:
                self._player = _build(Runner(self._spec, registry.protocol, _nothing))
            else:
                complete(self._player.rebuild())
            constants = registry.settle_constants(self._spec, self._player.constants, instance)
            values = {constant.name: constant.value for constant in constants}
            transcript = complete(self._player.play(table, values, start_counting(table.arrivals)))
            log, violations = transcript.log, transcript.violations
        except RuleViolation as error:
            log, violations = [], [error.violation(table)]
        if any(violation.rule in ("timeout", "memory", "crash", "peeks") for violation in violations):
            self.close()  # its process is gone, or may be
        judged = self._game.judge(instance, log, violations)
        return judged.value, judged.violations
