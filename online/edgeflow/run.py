"""One run of a policy of family `edgeflow` under the referee."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ratiobench.formulations.edgeflow.check import check
from ratiobench.instances.arrays import freeze
from ratiobench.instances.edgeflow import format as documents
from ratiobench.instances.edgeflow.model import EDGE, Instance, Model, Piece, Solution, Window
from ratiobench.instances.io.errors import InputError, explain_unknown_name
from ratiobench.online import run as runs
from ratiobench.online.edgeflow.registry import REGISTRY
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


_NEVER = 2**62


def replay(instance: Instance, log: Log, *, keep_late: bool = False) -> Solution:
    """When, where and on how many GPUs every job ran, as the answers in the log say.

    A piece ends where the next answer says so, where the work is done, where its edge window closes, and, unless late
    jobs are kept, at the deadline.
    """
    edges = {t for window in instance.edge for t in (window.start, window.end)}
    answers = {entry.answer.second: entry.answer[0] for entry in log if entry.answer is not None}  # a second's last
    lines: list[list[tuple[int, int, int]]] = [[] for _ in range(instance.jobs)]
    running: dict[int, tuple[int, int]] = {}
    for second in sorted(edges | answers.keys()):
        was = running
        if second in edges:
            running = {i: mode for i, mode in running.items() if mode[0] != EDGE}
        if second in answers:
            running = {i: (place, gpus) for i, place, gpus in answers[second]}
        for i in was.keys() | running.keys():
            place, gpus = running.get(i, (EDGE, 0))
            if was.get(i) != running.get(i) or (second in edges and place == EDGE):
                lines[i].append((second, place, gpus))
    return tuple(tuple(_pieces(instance, i, lines[i], keep_late)) for i in range(instance.jobs))


def _pieces(instance: Instance, i: int, answers: list[tuple[int, int, int]], keep_late: bool) -> Iterator[Piece]:
    """The pieces of one job; `answers`: (second, place, GPUs) in the order of time, 0 GPUs for a pause."""
    model = instance.models[instance.model[i]]
    left, last = int(instance.work[i]), _NEVER if keep_late else int(instance.deadline[i])
    before, ready = Piece(0, 0, 0, 0), 0
    for k, (start, place, gpus) in enumerate(answers):
        if gpus == 0:
            continue
        if (before.end, before.place, before.gpus) != (start, place, gpus):
            ready = start + model.overhead_s
            ready += model.edge_overhead_s if before.gpus and before.place != place else 0
        speed = model.edge_speed if place == EDGE else model.speed[model.gpus.index(gpus)]
        done = max(start, ready) - -left // speed
        end = min(done, last, answers[k + 1][0] if k + 1 < len(answers) else _NEVER)
        if start < end:
            before = Piece(start, end, place, gpus)
            yield before
        if end == done:
            return
        left -= speed * max(0, end - max(start, ready))
