"""One run of a policy of family `edgeflow` under the referee."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product

from ratiobench.formulations.edgeflow.check import check
from ratiobench.instances.arrays import freeze
from ratiobench.instances.edgeflow import format as documents
from ratiobench.instances.edgeflow.model import EDGE, Instance, Model, Piece, Solution, Window
from ratiobench.instances.io.errors import InputError, explain_unknown_name
from ratiobench.online import run as runs
from ratiobench.online.edgeflow.policy import COMMON
from ratiobench.online.edgeflow.registry import REGISTRY
from ratiobench.online.edgeflow.simulator import Simulator
from ratiobench.online.outcome import Violation
from ratiobench.online.referee.simulator import Log
from ratiobench.online.run import Environment, Judgement
from ratiobench.online.spec import Spec


class EdgeflowEnvironment(Environment[Instance]):
    """Jobs on the GPUs of a cloud and on edge servers; `keep_late`, `hidden`: as the simulator's.

    Every algorithm of ours sets them by its options `late` and `windows`, a user's own if it is named with them.
    """

    registry = REGISTRY

    def __init__(self, keep_late: bool = False, hidden: bool = False) -> None:
        self._keep_late, self._hidden = keep_late, hidden

    def admit(self, instance: Instance, spec: Spec) -> tuple[EdgeflowEnvironment, Spec]:
        chosen = {name: spec.options.get(name, option.default) for name, option in COMMON.items()}
        for name, value in chosen.items():
            if value not in (allowed := COMMON[name].allowed or ()):
                raise InputError("algorithm", f"{spec.head}:{name}", explain_unknown_name(value, allowed))
        return _ENVIRONMENTS[chosen["late"] == "keep", chosen["windows"] == "hidden"], spec

    def arrivals(self, instance: Instance) -> int:
        return instance.jobs

    def table(self, instance: Instance, seed: str) -> Simulator:
        return Simulator(instance, keep_late=self._keep_late, hidden=self._hidden)

    def first_half(self, instance: Instance) -> Instance:
        return runs.cut_after_half(documents, instance, "jobs", instance.submit)

    def judge(self, instance: Instance, log: Log, violations: Sequence[Violation]) -> Judgement:
        solution = replay(instance, log, keep_late=self._keep_late)
        report = check(instance, solution)
        found = list(violations) or [Violation(*breach) for breach in report.violations]
        met = int(report.value or 0)
        return Judgement(solution, found, met, met, counts={"moves": report.moves})

    def small(self) -> Instance:
        models = (Model("a", (1, 2, 4), (10, 18, 30), 6, 1, 2), Model("b", (1, 2), (7, 13), 0, 2, 0))
        submit, deadline, model = freeze([0, 0, 5, 20]), freeze([40, 30, 60, 90]), freeze([0, 1, 0, 1])
        work, share = freeze([300, 90, 200, 100]), freeze([2, 1, 4, 1])
        return Instance("warm", {}, 4, 8, (Window(2, 50, 1),), models, submit, deadline, model, work, share)


_ENVIRONMENTS = {each: EdgeflowEnvironment(*each) for each in product((False, True), repeat=2)}
ENVIRONMENT = _ENVIRONMENTS[False, False]
run = partial(runs.run, ENVIRONMENT)


_NEVER = 2**62


def replay(instance: Instance, log: Log, *, keep_late: bool = False) -> Solution:
    """The pieces of every job, from the log alone, without the simulator's clock and books.

    A piece ends at the next answer that says so, when the work is done, when its edge window closes, and, unless late
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
