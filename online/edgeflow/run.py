"""One run of a policy of family `edgeflow` under the referee."""

from __future__ import annotations

from collections.abc import Sequence

from ratiobench.formulations.edgeflow.check import check
from ratiobench.instances.arrays import freeze
from ratiobench.instances.edgeflow import format as documents
from ratiobench.instances.edgeflow.model import Instance, Model, Window
from ratiobench.instances.io.errors import InputError, explain_unknown_name
from ratiobench.online import run as runs
from ratiobench.online.edgeflow.registry import REGISTRY
from ratiobench.online.edgeflow.replay import replay
from ratiobench.online.edgeflow.simulator import Simulator
from ratiobench.online.outcome import OnlineRun, Violation
from ratiobench.online.referee.simulator import Log
from ratiobench.online.run import Environment, Judgement
from ratiobench.online.spec import Spec

LATE = {"drop": False, "keep": True}
WINDOWS = {"known": False, "hidden": True}


class EdgeflowEnvironment(Environment[Instance]):
    """Jobs on the GPUs of a cloud and on edge servers, event by event.

    `keep_late`, `hidden`: as the table's. Every algorithm of ours sets them by its options `late` and `windows`;
    anyone's own does where it is named with them, and is handed them as all others.
    """

    registry = REGISTRY

    def __init__(self, *, keep_late: bool = False, hidden: bool = False) -> None:
        self._keep_late, self._hidden = keep_late, hidden

    def admit(self, instance: Instance, spec: Spec) -> tuple[EdgeflowEnvironment, Spec]:
        """The game with the options of this algorithm; InputError for a value that neither has."""
        chosen = []
        for name, allowed in (("late", LATE), ("windows", WINDOWS)):
            value = spec.options.get(name, next(iter(allowed)))
            if value not in allowed:
                raise InputError("algorithm", f"{spec.head}:{name}", explain_unknown_name(value, allowed))
            chosen.append(allowed[value])
        return _ENVIRONMENTS[chosen[0], chosen[1]], spec

    def arrivals(self, instance: Instance) -> int:
        """Jobs."""
        return instance.jobs

    def table(self, instance: Instance, seed: str) -> Simulator:
        """The clock and the books; nothing is drawn."""
        return Simulator(instance, keep_late=self._keep_late, hidden=self._hidden)

    def first_half(self, instance: Instance) -> Instance:
        """The first half of the jobs (whole seconds, at least one), as an instance of its own."""
        return runs.cut_after_half(documents, instance, "jobs", instance.submit)

    def judge(self, instance: Instance, log: Log, violations: Sequence[Violation]) -> Judgement:
        """The number of jobs met, by `ratiobench.formulations.edgeflow.check`."""
        solution = replay(instance, log, keep_late=self._keep_late)
        report = check(instance, solution)
        found = list(violations) or [Violation(*breach) for breach in report.violations]
        met = int(report.value or 0)
        return Judgement(solution, found, met, met, counts={"moves": report.moves})

    def small(self) -> Instance:
        """Two models, four jobs, four GPUs, an edge window."""
        models = (Model("a", (1, 2, 4), (10, 18, 30), 6, 1, 2), Model("b", (1, 2), (7, 13), 0, 2, 0))
        submit, deadline, model = freeze([0, 0, 5, 20]), freeze([40, 30, 60, 90]), freeze([0, 1, 0, 1])
        work, share = freeze([300, 90, 200, 100]), freeze([2, 1, 4, 1])
        return Instance("warm", {}, 4, 8, (Window(2, 50, 1),), models, submit, deadline, model, work, share)


_BOTH = (False, True)
_ENVIRONMENTS = {
    (late, hidden): EdgeflowEnvironment(keep_late=late, hidden=hidden) for late in _BOTH for hidden in _BOTH
}
ENVIRONMENT = _ENVIRONMENTS[False, False]


def run(instance: Instance, text: str, prior: Instance | None = None) -> OnlineRun:
    """One run of the algorithm under the referee; parameters and errors as `ratiobench.online.run.run`."""
    return runs.run(ENVIRONMENT, instance, text, prior=prior)
