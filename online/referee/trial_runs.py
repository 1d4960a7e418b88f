"""Anyone's algorithm on many instances in one process: quick, and hints only.

A run that counts has a process of its own (`ratiobench.online.referee.isolation`): here an algorithm that is started
again may remember what it was told before, in itself, in its modules, in files. So what comes of a rehearsal proves
nothing until a run of its own says the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from ratiobench.instances.io.errors import InputError
from ratiobench.online.referee.isolation import Runner
from ratiobench.online.referee.limits import Echo
from ratiobench.online.referee.simulator import Log, RuleViolation, Simulator, simulate
from ratiobench.online.spec import Spec


class TrialRuns:
    """An algorithm that is started anew for every run, and built anew after one that was not valid.

    `protocol`: the family's module that says what an answer is.
    """

    def __init__(self, spec: Spec, protocol: str) -> None:
        self._spec, self._protocol = spec, protocol
        self._player: Runner | None = None
        self._echo = Echo(spec.name)
        self.processes = 0

    def play(self, table: Simulator, constants: Mapping[str, Fraction]) -> Log | None:
        """The log of a run; None for a run that is not valid."""
        try:
            if self._player is None:
                self.processes += 1
                self._player = Runner(self._spec, self._protocol, lambda path: False, self._echo)
            self._player.start(table.public, constants)
            transcript = simulate(table, self._player.ask, batch=self._player.batch)
        except (RuleViolation, InputError):
            self.close()
            return None
        if transcript.violations:
            self.close()
            return None
        return transcript.log

    def close(self) -> None:
        """End the process."""
        if self._player is not None:
            self._player.close()
            self._player = None
