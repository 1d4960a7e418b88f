"""Evaluation of a policy on stages of instances, of which each is run only if the one before went well enough."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from fractions import Fraction

from ratiobench.bench.evaluation.cases import STAGES, EvaluationCase, entries_of, find_cases, recalled, require_support
from ratiobench.bench.evaluation.isolation import isolate_runs
from ratiobench.bench.evaluation.result import (
    CaseResult,
    Evaluation,
    EvaluationSettings,
    Shipped,
    StageResult,
    feedback_lines,
    grade,
    round_down,
)
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.standard import StandardSet, StoredRun, interval_of, read_runs
from ratiobench.bench.family.suite import is_informed
from ratiobench.bench.results.ratios import require_bound
from ratiobench.bench.running.heartbeat import set_current
from ratiobench.bench.running.machine import usable_cores
from ratiobench.bench.storage.payload import json_number, read_exact
from ratiobench.formulations.report import Exact
from ratiobench.instances.io.errors import InputError, make_printable, shorten
from ratiobench.online.outcome import OnlineRun, Source
from ratiobench.online.policy_file import Policy, PolicyError, is_policy_file, read_policy
from ratiobench.online.referee import sandbox
from ratiobench.online.remarks import BUBBLEWRAP, NO_ISOLATION
from ratiobench.online.run_context import RunContext, run_context

SLACK = 0.05  # Seconds: a budget that is nearer to its end than that has ended
SPENT, ENDED = "the budget is spent", "the budget ended during the run"  # Why an instance was not run
RIVALS = 3  # Shipped algorithms that are run on instances of which no run is stored
MOST_WORKERS = 4  # Runs that go on at once, at most: the referee of all of them is this process


def evaluate_policy(text: str, family: Family, chosen: StandardSet, settings: EvaluationSettings) -> Evaluation:
    require_support(family)
    policy, refused = Policy(text, text), ""
    is_file = is_policy_file(text)
    is_shipped = not is_file and family.is_shipped(text)
    if is_shipped:
        family.validate_algorithm(text)
    try:
        policy = read_policy(text)
    except PolicyError as error:
        refused = str(error)
    stages = {
        stage: {
            name: make
            for name, make in find_cases(family, chosen, stage, settings.seed, settings.count).items()
            if not settings.only or any(fnmatchcase(name, pattern) for pattern in settings.only)
        }
        for stage in settings.stages
    }
    if not any(stages.values()):
        patterns = shorten(", ".join(settings.only))
        raise InputError("--only", "", f"no instance of {', '.join(settings.stages)} has a name like {patterns}")
    with contextlib.ExitStack() as stack:
        isolation: str | None = None
        if not is_shipped:
            isolation = isolate_runs(stack, family, policy, sandbox.requested(settings.isolate), several=True)
            if not is_file:
                with run_context(RunContext(isolate=isolation)):
                    family.validate_algorithm(text)
        runner = _Runner(family, policy, settings.budget, isolation or NO_ISOLATION, refused)
        results, graded, stopped = _run_stages(runner, stages, settings)
    broken = next((each for each in results if each.state == "invalid"), None)
    reason = refused or ("" if broken is None else f"{broken.name}: {broken.reason}")
    ran = [each for each in results if each.state == "ok"]
    score = Fraction(0) if reason else _mean([each.share for each in results])
    missed = [each.headroom for each in ran if each.headroom is not None]
    seconds = sum(each.run.seconds for each in ran if each.run is not None)
    cases = [each.case for each in ran if each.case is not None]
    arrivals = sum(each.arrivals for each in cases)
    worst = max((each for each in ran if each.headroom), key=lambda result: result.headroom or 0, default=None)
    found = Evaluation(
        policy=policy.shown, family=family, set_name=chosen.name, settings=settings, valid=not reason,
        reason=make_printable(reason, 500), combined_score=round_down(score),
        headroom=round_down(_mean(missed)) if missed else None, stages=graded, results=results,
        shipped=_best_shipped(family, chosen, cases), stopped=stopped, time_limited=runner.ended, isolation=isolation,
        seconds=seconds, seconds_per_decision=seconds / arrivals if arrivals else None,
        loss=None if worst is None else worst.explain(), worst="" if worst is None else worst.name,
        notes=tuple(runner.notes),
    )  # fmt: skip
    return replace(found, feedback=tuple(feedback_lines(found, worst)))


def _run_stages(
    runner: _Runner, stages: Mapping[str, Mapping[str, Callable[[], EvaluationCase]]], settings: EvaluationSettings
) -> tuple[list[CaseResult], list[StageResult], str]:
    """Run stage after stage; all instances' results, the stages, and why it stopped early, if it did."""
    results: list[CaseResult] = []
    graded: list[StageResult] = []
    stopped = ""
    for stage, cases in stages.items():
        here: list[CaseResult] = []
        is_followed = stage != list(stages)[-1]
        with contextlib.closing(runner.run_all(() if stopped else cases.values())) as runs:
            for name, result in zip(cases, runs, strict=False):
                here.append(result)
                if result.state == "invalid":
                    stopped = f"stopped at {name}, where the policy broke a rule"
                elif result.reason in (SPENT, ENDED):
                    stopped = f"stopped at {name}: the budget of {settings.budget:g} s is spent"
                if stopped:
                    break
        here += [CaseResult(name, stage, "not run") for name in list(cases)[len(here) :]]
        results += here
        ran = sum(each.state != "not run" for each in here)
        share = _mean([each.share for each in here])
        passed = not stopped and share >= Fraction(settings.threshold)
        if ran:
            graded.append(StageResult(stage, len(here), ran, share, passed))
        if not stopped and stage == settings.last and is_followed:
            stopped = f"stopped after stage {stage}, as asked"
        elif not stopped and not passed and here and is_followed:
            reached = f"{100 * round_down(share):.1f} % of OPT is below the threshold of {100 * settings.threshold:g} %"
            stopped = f"stopped after stage {stage}: {reached}"
    return results, graded, stopped


class _Clock:
    """Wall time during which at least one run goes on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._active, self._total = 0, 0.0  # runs that go on; while there are any, the total lacks the present time

    def _add(self, runs: int) -> None:
        with self._lock:
            if 0 in (self._active, self._active + runs):
                self._total -= runs * time.perf_counter()
            self._active += runs

    def __enter__(self) -> None:
        self._add(1)

    def __exit__(self, *_: object) -> None:
        self._add(-1)

    def seconds(self) -> float:
        with self._lock:
            return self._total + (time.perf_counter() if self._active else 0.0)


@dataclass
class _Runner:
    """Runs the policy on one instance after another, within the budget."""

    family: Family
    policy: Policy
    budget: float
    isolation: str
    refused: str  # why the policy cannot be run; empty if it can
    clock: _Clock = field(default_factory=_Clock)
    ended: bool = False  # by the budget
    notes: dict[str, None] = field(default_factory=dict)

    def run_all(self, makers: Iterable[Callable[[], EvaluationCase]]) -> Generator[CaseResult, None, None]:
        """The results in order. Without a sandbox several runs go on at once, each in its own process."""
        # While the policy's process decides, this one waits: with one run at a time one core has nothing to do.
        if self.policy.algorithm is None or self.isolation == BUBBLEWRAP:
            yield from (self.run(make()) for make in makers)
            return
        workers = min(MOST_WORKERS, 2 * usable_cores())
        pool, waiting = ThreadPoolExecutor(workers), deque[Future[CaseResult]]()
        try:
            for make in makers:
                waiting.append(pool.submit(self.run, make()))
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except (KeyboardInterrupt, SystemExit):
            self.budget = -math.inf  # which ends the runs at work
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    def run(self, case: EvaluationCase) -> CaseResult:
        if self.refused:
            return _invalid(case, self.refused)
        left = self.seconds_left()
        if left <= SLACK:
            self.ended = True
            return CaseResult(case.name, case.stage, "not run", reason=SPENT)
        alone = self.isolation == BUBBLEWRAP  # else several runs go on at once
        context = RunContext(left, self.isolation, self.policy.own, left=self.seconds_left, alone=alone)
        set_current(f"running {case.name}")
        try:
            with self.clock, run_context(context):
                run = self.family.run(case.instance, self.policy.name)
        except InputError as error:
            if self.policy.algorithm is None or error.source != "algorithm":
                raise
            return _invalid(case, self.policy.with_shown_name(error.problem))
        return self._judge(case, run)

    def seconds_left(self) -> float:
        return self.budget - self.clock.seconds()

    def _judge(self, case: EvaluationCase, run: OnlineRun) -> CaseResult:
        for note in run.remarks.starts:
            self.notes[f"the policy starts the program {note}"] = None
        if Source.ORACLE in run.sources:
            self.notes["constants of the very instance under test are used (oracle)"] = None
        if not run.valid:
            first = run.violations[0]
            if first.rule == "timeout" and self.seconds_left() <= SLACK:
                self.ended = True
                return CaseResult(case.name, case.stage, "not run", reason=ENDED)
            return _invalid(case, self.policy.with_shown_name(str(first)))
        sense = case.family.sense
        bound = f"the bound on OPT of {case.name}"
        require_bound(Fraction(case.lower), Fraction(case.upper), run.welfare, sense, run.label, bound)
        share, headroom = grade(sense, run.welfare, case.lower, case.upper)
        return CaseResult(case.name, case.stage, "ok", case, run, share, headroom)


def _invalid(case: EvaluationCase, reason: str) -> CaseResult:
    return CaseResult(case.name, case.stage, "invalid", case, reason=reason)


def _mean(values: Sequence[Fraction]) -> Fraction:
    """The mean; 0 of nothing."""
    return sum(values, Fraction(0)) / max(1, len(values))


def _best_shipped(family: Family, chosen: StandardSet, cases: Sequence[EvaluationCase]) -> Shipped | None:
    """Of the family's shipped algorithms the one with the largest mean share on these instances."""
    # Runs stored with the set count where they are of the same instance and version; on other instances the `RIVALS`
    # that are best by the stored runs are run, or those that the family names where none is stored.
    stored = _stored_values(family, chosen)
    others = any(case.name not in values for values in stored.values() for case in cases)
    ranked = sorted(stored, key=lambda name: _mean_share(family, chosen, stored[name]), reverse=True)
    found = []
    for name in (ranked[:RIVALS] if others else ranked) or require_support(family).policies if cases else ():
        runs = stored.get(name, {})
        pairs = [(case, _shipped_value(name, case, runs.get(case.name))) for case in cases]
        values = {case.name: value for case, value in pairs if value is not None}
        if len(values) == len(cases):
            grades = [grade(family.sense, values[case.name], case.lower, case.upper) for case in cases]
            share, missed = map(_mean, zip(*grades, strict=True))
            found.append(Shipped(name, values, share, missed))
    return max(found, key=lambda each: each.share, default=None)


def _stored_values(family: Family, chosen: StandardSet) -> dict[str, dict[str, StoredRun]]:
    """The stored runs of a family by algorithm and entry, of algorithms that know nothing in advance and are valid."""
    entries = {entry.name for entry in chosen.entries if entry.family == family.name}
    found: dict[str, dict[str, StoredRun]] = {}
    unfair: set[str] = set()
    for run in read_runs(chosen).values():
        if run.entry in entries and run.key.partition(" | ")[0] == family.algorithm_key(run.algorithm):
            found.setdefault(run.algorithm, {})[run.entry] = run
            if run.is_oracle or is_informed(run.algorithm) or not run.run["valid"]:
                unfair.add(run.algorithm)
    return {name: runs for name, runs in found.items() if name not in unfair}


def _mean_share(family: Family, chosen: StandardSet, runs: Mapping[str, StoredRun]) -> Fraction:
    """The mean share of OPT over the set's instances that an evaluation takes; 0 for those without a stored run."""
    entries = [entry for stage in STAGES[1:] for entry in entries_of(family, chosen, stage)]
    shares = [
        grade(family.sense, read_exact(runs[entry.name].run["welfare"]), *interval_of(entry.best))[0]
        for entry in entries
        if entry.best and entry.name in runs
    ]
    return sum(shares, Fraction(0)) / max(1, len(entries))


def _shipped_value(name: str, case: EvaluationCase, stored: StoredRun | None) -> Exact | None:
    """What a shipped algorithm is worth on an instance, kept on disk; None where its run is not valid."""
    if stored is not None and stored.instance == case.identity:
        return read_exact(stored.run["welfare"])
    family = case.family

    def run() -> int | str | None:
        set_current(f"running {name} on {case.name}")
        run = family.run(case.instance, name)
        return json_number(run.welfare) if run.valid else None

    key = ["shipped value", family.name, case.identity, family.algorithm_key(name), family.solver_key(name)]
    value = recalled(key, run)
    return None if value is None else read_exact(value)
