"""The search for an instance that violates a claim, or comes closest: random starts, local search, shrinking.

A search goes in rounds. Each starts from a random candidate (or from the best so far, shaken) and changes it at random,
taking what scores higher and, some of the time, what scores a little lower. The first violation is shrunk as long as
the claim is still violated. A family without random changes has rounds of one try.

Random words come from a stream that is named by claim, limits, seed and round. No decision uses a floating-point number
or a clock, so a search limited by tries finds the same on any machine, interrupted or not.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from fractions import Fraction
from typing import Any, Generic, NamedTuple, TypeVar

from ratiobench.bench.family.capabilities import CounterexampleSearch, SearchFunction, SearchResult, SearchSettings
from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.instances.io.errors import InputError, require_known, shorten
from ratiobench.instances.io.seeds import RandomNumbers

BACK = 400  # Tries without a better candidate after which a round goes back to its best one
SLACK = (Fraction(0), Fraction(0), Fraction(1, 100), Fraction(1, 10))  # Part of the score that a change may lose
SHRINKING = 0.3  # Part of a time limit that is left for making the best one smaller
Document = dict[str, Any]
Candidate = TypeVar("Candidate")  # An instance in the form that a family changes, in JSON values


class Measure(NamedTuple):
    """The two sides of a claim; `score` grows with left against right and passes 1 if the claim is violated."""

    left: Fraction
    right: Fraction
    score: Fraction

    @property
    def violated(self) -> bool:
        return self.left > self.right


class Found(NamedTuple, Generic[Candidate]):
    candidate: Candidate
    measure: Measure


class SearchProblem(ABC, Generic[Candidate]):
    """A claim, and the candidates among which a violation is searched for."""

    state_format: str  # of the file of a search's state
    version = 1  # of what is drawn, and its order: a search begun by another version is not taken up
    shrinking: int  # most candidates that one shrinking measures
    patience = 0  # tries without a better candidate after which a round ends; 0: each try is a random start
    polish = 0  # random changes in a row without success with which shrinking ends
    is_exact = True  # whether `measure` and the audit always agree; otherwise the audit may refute more

    def __init__(self, name: str, statement: str, algorithm: str, nodes: int) -> None:
        self.name, self.statement, self.algorithm = name, statement, algorithm
        self.nodes = nodes  # the limit where `SearchSettings.nodes` is not given

    @abstractmethod
    def name_stream(self, limits: SearchSettings, number: int, tries: int) -> tuple[str | int, ...]:
        """The names of the random words of a round; `number` counts rounds, `tries` the tries before it."""

    @abstractmethod
    def draw(self, draws: RandomNumbers, limits: SearchSettings) -> Candidate: ...

    def change(self, candidate: Candidate, draws: RandomNumbers, limits: SearchSettings) -> Candidate:
        raise NotImplementedError

    def prepare(self, candidate: Candidate, limits: SearchSettings, number: int) -> Candidate | None:
        """The candidate as it is measured in this round; None if it is outside the limits."""
        return candidate

    @abstractmethod
    def measure(self, candidate: Candidate, floor: Fraction = Fraction(-1)) -> Measure | None:
        """The sides of the claim; None if it does not apply, or if the score is surely not above the floor."""

    @abstractmethod
    def smaller(self, candidate: Candidate, /) -> Iterable[Candidate]:
        """Candidates with something less, the largest parts first."""

    @abstractmethod
    def size(self, candidate: Candidate, /) -> tuple[int, ...]:
        """What makes a witness small: tasks first, and with random changes then slots and nodes."""

    @abstractmethod
    def restore(self, data: Any, source: str, key: str) -> Candidate: ...

    @abstractmethod
    def make_instance(self, candidate: Candidate, name: str, origin: Document) -> Any: ...

    @abstractmethod
    def check(self, instance: Any) -> Check | None:
        """The audit's verdict; None if the claim is about other runs."""

    def search_exactly(self, settings: SearchSettings, tell: Callable[[str], None]) -> SearchResult:
        raise InputError("--exact", "", f"there is no such search for {self.name}")

    def conclude(self, result: SearchResult, found: Found[Candidate] | None, settings: SearchSettings) -> SearchResult:
        if found is None:
            return result
        left, right, score = found.measure
        about = "The largest score of all instances of a bounded size" if settings.exact else "Found by a search"
        label, more = label_witness(result, settings)
        origin = {"about": f"{about} for {self.name}: {self.statement}", "left": str(left), "right": str(right), **more}
        instance = self.make_instance(found.candidate, f"{self.name}_{label}", origin)
        check, violated = self.check(instance), found.measure.violated
        if check is not None and (check.status is Verdict.VIOLATED) != violated and (violated or self.is_exact):
            raise AssertionError(f"the search finds {found.measure} and the audit {check}: one of the two is wrong")
        return replace(result, violated=violated, left=left, right=right, score=score, instance=instance, check=check)


def label_witness(result: SearchResult, settings: SearchSettings) -> tuple[str, Document]:
    """The end of a witness's name, and what its origin says of the search, with which it can be found again."""
    return ("exact", {}) if settings.exact else (f"seed{settings.seed}", {"seed": settings.seed, "tries": result.tries})


class LocalSearch(Generic[Candidate]):
    """The state of a search, and its steps; `tell` gets a line of progress about once a second."""

    def __init__(
        self, problem: SearchProblem[Candidate], settings: SearchSettings, tell: Callable[[str], None]
    ) -> None:
        self.problem, self.settings, self.limits, self._tell = problem, settings, settings, tell
        self.tries = self.before = 0  # before: tries of an interrupted search
        self.began = self._told = time.monotonic()
        self.until = self.began + (math.inf if settings.seconds is None else settings.seconds)
        # What must not change when a search is taken up; `bounded` where it is set, as in states of old.
        left_out = ("tries", "seconds") if settings.bounded else ("tries", "seconds", "bounded")
        own = {key: value for key, value in asdict(settings).items() if key not in left_out}
        self._head: Document = {"format": problem.state_format, "version": problem.version, "claim": problem.name}
        self._head["settings"] = own
        self.best: Found[Candidate] | None = None  # of all rounds, shrunk when it violates the claim
        self._begin_round(0)

    def _begin_round(self, number: int, skip: int = 0) -> None:
        self.number, self.step = number, 0  # the present round; steps since its last better candidate
        self.here: Found[Candidate] | None = None  # here, top: present and best candidate of the round
        self.top: Found[Candidate] | None = None
        self.draws = RandomNumbers(*self.problem.name_stream(self.limits, number, self.tries), skip=skip)

    @property
    def done(self) -> bool:
        if self.best is None or not self.best.measure.violated:
            return False
        return not self.settings.smaller or self.limits.tasks < 1

    def advance(self) -> bool:
        """One try; whether the best of all changed."""
        self.tries += 1
        floor = Fraction(-1)
        if self.here is None:
            candidate = self._start()
        else:
            changes = 1 + self.draws.draw_below(3)
            candidate = self._change(self.here.candidate, self.draws, self.limits, changes)
            floor = self.here.measure.score * (1 - SLACK[self.draws.draw_below(len(SLACK))])
        self.step += 1
        prepared = self.problem.prepare(candidate, self.limits, self.number)
        is_better = False
        if prepared is not None and (self.here is None or prepared != self.here.candidate):
            measure = self._measure(prepared, floor)
            if measure is not None and measure.score >= floor:
                is_better = self._accept(Found(prepared, measure))
        if self.step >= self.problem.patience:
            self._begin_round(self.number + 1)
        elif self.step % BACK == 0 and self.top is not None:
            self.here = self.top
        return is_better

    def _start(self) -> Candidate:
        best, problem = self.best, self.problem
        is_shaken = problem.patience and self.number % 3 == 2
        if not is_shaken or best is None or problem.size(best.candidate)[0] > self.limits.tasks:
            return problem.draw(self.draws, self.limits)
        return self._change(best.candidate, self.draws, self.limits, self.draws.draw_between(3, 12))

    def _change(self, candidate: Candidate, draws: RandomNumbers, limits: SearchSettings, changes: int) -> Candidate:
        for _ in range(changes):
            candidate = self.problem.change(candidate, draws, limits)
        return candidate

    def _accept(self, found: Found[Candidate]) -> bool:
        """Go on from here; whether it is the best of all. A violation is shrunk, and ends the round."""
        self.here = found
        if self.top is not None and found.measure.score <= self.top.measure.score:
            return False
        self.top, self.step = found, 0
        if found.measure.violated:
            self.best = self.shrink(found)
            self.limits = replace(self.limits, tasks=self.problem.size(self.best.candidate)[0] - 1)
            self._begin_round(0)
            return True
        if self.best is not None and found.measure.score <= self.best.measure.score:
            return False
        self.best = found
        return True

    def shrink(self, found: Found[Candidate]) -> Found[Candidate]:
        """The smallest one found that still violates the claim, or comes as close."""
        problem, left, (_, _, score) = self.problem, self.problem.shrinking, found.measure
        must_violate = found.measure.violated

        def first_smaller(candidates: Iterable[Candidate], than: Found[Candidate]) -> Found[Candidate] | None:
            nonlocal left
            limit = problem.size(than.candidate)
            for candidate in candidates:
                if problem.size(candidate) < limit:
                    if not left or time.monotonic() >= self.until:
                        return None
                    left -= 1
                    measure = self._measure(candidate, Fraction(0))
                    if measure is not None and (measure.violated if must_violate else measure.score >= score):
                        return Found(candidate, measure)
            return None

        def reduce(found: Found[Candidate]) -> Found[Candidate]:
            while less := first_smaller(problem.smaller(found.candidate), found):
                found = less
            return found

        found, patience = reduce(found), problem.polish
        draws = RandomNumbers("hunt", problem.version, "shrink", self.settings.seed, problem.name)
        while patience and left and time.monotonic() < self.until:
            patience -= 1
            tasks, slots, nodes, *_ = problem.size(found.candidate)
            limits = replace(self.settings, tasks=tasks, slots=slots, nodes=nodes, largest=2**40)
            changed = self._change(found.candidate, draws, limits, 1 + draws.draw_below(4))
            if less := first_smaller([changed], found):
                found, patience = reduce(less), problem.polish
        return found

    def _measure(self, candidate: Candidate, floor: Fraction) -> Measure | None:
        if time.monotonic() - self._told >= 1:
            self._told = time.monotonic()
            closest = "none yet"
            if self.best is not None:
                violated = " (violated)" if self.best.measure.violated else ""
                closest = f"{float(self.best.measure.score):.4f}{violated}"
            rate = (self.tries - self.before) / (self._told - self.began)
            self._tell(f"{self.tries:,} tries, {rate:,.0f}/s, round {self.number}, closest {closest}")
        return self.problem.measure(candidate, floor)

    def document(self) -> Document:
        found = {"here": self.here, "top": self.top, "best": self.best}
        return {
            **self._head,
            "tries": self.tries,
            "round": self.number,
            "step": self.step,
            "words": self.draws.used,
            "tasks": self.limits.tasks,
            **{key: None if value is None else value.candidate for key, value in found.items()},
        }

    def load(self, data: Any, source: str) -> None:
        if not isinstance(data, dict):
            raise InputError(source, "", f"{shorten(data)} is not an object")
        for key, own in self._head.items():
            if data.get(key) != own:
                here, this = (
                    str(dict(value)) if isinstance(value, Mapping) else shorten(value) for value in (data.get(key), own)
                )
                raise InputError(source, key, f"{here} is not this search's: {this}")
        for key in ("tries", "round", "step", "words", "tasks"):
            if type(data.get(key)) is not int or data[key] < 0:
                raise InputError(source, key, f"{shorten(data.get(key))} is not an integer of at least 0")
        self.tries = self.before = data["tries"]
        self.limits = replace(self.limits, tasks=data["tasks"])
        self._begin_round(data["round"], skip=data["words"])
        self.step = data["step"]
        self.here, self.top, self.best = (self._restore(data, source, key) for key in ("here", "top", "best"))

    def _restore(self, data: Document, source: str, key: str) -> Found[Candidate] | None:
        if data.get(key) is None:
            return None
        candidate = self.problem.restore(data[key], source, key)
        measure = self.problem.measure(candidate)
        if measure is None:
            raise InputError(source, key, "the claim does not apply to the instance")
        return Found(candidate, measure)

    def drive(self, keep: Callable[[Mapping[str, Any]], None]) -> SearchResult:
        """Search until nothing is left to look for or a limit is reached; `keep` gets the state of every better one."""
        settings, problem = self.settings, self.problem
        state = self.document()
        try:
            while not self.done and (settings.tries is None or self.tries < settings.tries):
                is_better = self.advance()
                state = self.document()
                if is_better:
                    keep(state)
                if settings.seconds is not None and time.monotonic() >= self.until - SHRINKING * settings.seconds:
                    break
        finally:
            keep(state)  # an interrupt in the middle of a try leaves the state before it
        best = self.best
        if best is not None and not best.measure.violated:
            best = self.shrink(best)
        fresh, seconds = self.tries - self.before, time.monotonic() - self.began
        result = SearchResult(
            problem.name, problem.statement, problem.algorithm, False, self.tries, fresh, seconds,
            against=settings.against,
        )  # fmt: skip
        return problem.conclude(result, best, settings)


def search_problem(
    problem: SearchProblem[Any],
    settings: SearchSettings,
    state: Any = None,
    source: str = "",
    keep: Callable[[Mapping[str, Any]], None] = lambda _: None,
    tell: Callable[[str], None] = lambda _: None,
) -> SearchResult:
    if settings.exact:
        return problem.search_exactly(settings, tell)
    search = LocalSearch(problem, settings, tell)
    if state is not None:
        search.load(state, source)
    return search.drive(keep)


def make_search(
    problems: Mapping[str, SearchProblem[Any]], worst: SearchFunction | None = None
) -> CounterexampleSearch:
    """The capability `Family.counterexample_search` from a problem by claim."""

    def search(claim: str, *args: Any, **kwargs: Any) -> SearchResult:
        require_known(claim, problems, "claim")
        return search_problem(problems[claim], *args, **kwargs)

    return CounterexampleSearch(lambda: list(problems), search, worst)
