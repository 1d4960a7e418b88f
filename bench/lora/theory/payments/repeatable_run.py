"""A run again, with another report of one task, by the referee and nothing else.

Constants that came from the bids are computed from the report; the others, and the stream of algorithms that draw,
stay. Tasks that arrive after the slot of the report cannot change its outcome and are left out. A user's own algorithm
gets most reports in one process (`online.repeated_runs`): these answers are hints, verdicts come from runs in
processes of their own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from ratiobench.instances.lora.format import content_hash, document, parse
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.constants import CONSTANTS
from ratiobench.online.lora.registry import REGISTRY
from ratiobench.online.lora.registry import parse as parse_name
from ratiobench.online.lora.replay import Checkpoints
from ratiobench.online.lora.run import ENVIRONMENT, solution_of
from ratiobench.online.outcome import OnlineRun, Source
from ratiobench.online.repeated_runs import TrialRuns
from ratiobench.online.run import run_built, run_isolated

PROCESS = 400  # What a run in a process of its own costs, in decisions: about a quarter of a second
Answer = tuple[bool, Decision | None]  # Whether a run was valid, and a task's decision in it


class Report(NamedTuple):
    bid: int
    arrival: int
    deadline: int
    work: int
    memory_mb: int


def follows_bids(run: OnlineRun) -> bool:
    """Whether a constant of the run was computed from the instance, its bids included."""
    return any(constant.source is Source.ORACLE for constant in run.constants)


class RepeatableRun:
    """A run that can be repeated with other reports, as far as `allowance` decisions go."""

    def __init__(
        self,
        instance: Instance,
        run: OnlineRun,
        allowance: int,
        *,
        keep: bool = False,
        courses: list[Checkpoints] | None = None,
    ) -> None:
        # keep: constants stay, those that came from the bids included; courses: the run that others go on with, too
        self.instance, self._run = instance, run
        self._spec = parse_name(run.algorithm)
        self.own = self._spec.entry is None  # whether the algorithm is a user's own
        self._environment, _ = ENVIRONMENT.admit(instance, self._spec)
        self._seed = content_hash(instance)
        self.moving = follows_bids(run) and not keep
        self.answers: dict[tuple[int, Report], Answer] = {}
        self.left = allowance
        self._arrivals: list[int] = instance.arrival.tolist()
        self._rehearsal: TrialRuns | None = None
        self._courses = [] if courses is None else courses
        self.failed = 0

    @cached_property
    def _data(self) -> dict[str, Any]:
        return document(self.instance)

    def truth(self, i: int) -> Report:
        of = self.instance
        return Report._make(int(part[i]) for part in (of.valuation, of.arrival, of.deadline, of.work, of.memory_mb))

    def is_reproducible(self) -> bool:
        """Whether an algorithm of ours decides as it did, if the allowance is enough; a user's own was asked before."""
        if self._spec.entry is None or self.instance.tasks > self.left:
            return True
        self.left -= self.instance.tasks
        decisions = self._decisions(self._data["tasks"], self._data["tasks"], 0, alone=False)
        return decisions is not None and list(decisions) == list(self._run.decisions)

    def cost(self, i: int, report: Report) -> int:
        """What it takes to try this report, in decisions."""
        return self._place(i, report)[1] + (self.instance.tasks if self.moving else 0)

    def _place(self, i: int, report: Report) -> tuple[int, int]:
        """The task's place at this report, and how many tasks have come when the slot of the report is over."""
        come = bisect_right(self._arrivals, report.arrival)
        place = i if report.arrival == self._arrivals[i] else come - 1
        return place, max(place + 1, come)

    def decision(self, i: int, report: Report, *, alone: bool = False) -> Answer:
        """Whether the run was valid, and the task's decision in it; of a user's own algorithm a hint unless `alone`."""
        self.left -= self.cost(i, report) + (PROCESS if alone else 0)
        assert self.left >= 0, "who asks looks at `left` first"
        place, come = self._place(i, report)
        tasks = list(self._data["tasks"])
        lying = tasks.pop(i) | report._asdict() | {"valuation": report.bid}
        tasks.insert(place, lying)
        try:
            decisions = self._decisions(tasks, tasks[:come], i, alone=alone)
        except Exception:  # whatever goes wrong in an algorithm that gets another report shows nothing
            decisions = None
        self.failed += decisions is None
        found = self.answers[i, report] = (False, None) if decisions is None else (True, decisions[place])
        return found

    def close(self) -> None:
        if self._rehearsal is not None:
            self._rehearsal.close()

    def _decisions(
        self, every: list[dict[str, Any]], some: list[dict[str, Any]], true: int, *, alone: bool
    ) -> Sequence[Decision | None] | None:
        """The decisions of a run on some tasks, the first `true` of them unchanged; None if it is not valid."""
        part = parse(self._data | {"tasks": some}, "a report")
        whole = parse(self._data | {"tasks": every}, "a report") if self.moving else part
        constants = tuple(
            replace(constant, value=CONSTANTS[constant.name](whole)[0])
            if self.moving and constant.source is Source.ORACLE and constant.name in CONSTANTS
            else constant
            for constant in self._run.constants
        )
        spec, values = self._spec, {constant.name: constant.value for constant in constants}
        if spec.entry is not None:
            course = self._goes_on(values)
            if course is not None:
                judged = course.play(part, true)
                return None if judged.violations else judged.decisions
            algorithm = self._make(whole)
            played = run_built(self._environment, part, algorithm, spec.name, spec.entry.version, constants, self._seed)
        elif alone:
            named = replace(spec, given=values, prior="")
            played = run_isolated(self._environment, part, named, self._seed, once=True)
        else:
            if self._rehearsal is None:
                self._rehearsal = TrialRuns(replace(spec, given={}, prior=""), REGISTRY.protocol)
            before = self._rehearsal.processes
            found = self._rehearsal.play(self._environment.table(part, self._seed), values)
            self.left -= PROCESS * (self._rehearsal.processes - before)
            return None if found is None else solution_of(part, found)
        decisions: Sequence[Decision | None] = played.decisions
        return decisions if played.valid else None

    def _make(self, tested: Instance) -> Any:
        spec = self._spec
        assert spec.entry is not None
        algorithm = spec.entry.make(spec.entry.settle(dict(spec.options), self.instance.tasks))
        if spec.entry.learns:
            algorithm.learn(self._run.trace.history, tested if self.moving else self.instance)
        return algorithm

    def _goes_on(self, values: dict[str, Fraction]) -> Checkpoints | None:
        """The run from the middle on; None if it begins anew with each report."""
        entry = self._spec.entry
        if entry is None or not entry.learns or self.moving:
            return None
        if not self._courses:
            self._courses.append(Checkpoints(self.instance, self._make(self.instance), values, self._seed))
        return self._courses[0]
