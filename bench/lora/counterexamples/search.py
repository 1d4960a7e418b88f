"""The search for an instance that violates a claim, or comes closest: random starts, local search, then `shrink`.

A search goes in rounds; each starts from a random sketch (or from the best so far, shaken) and changes it at random,
taking what scores higher and, some of the time, what scores a little lower. Random words come from a stream named by
claim, limits, seed and round, and no decision uses a floating-point number or a clock, so a search limited by tries
gives the same result on any machine, interrupted or not. The first violation is shrunk: fewest tasks, then slots, then
nodes, then smallest numbers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

from ratiobench.bench.family.capabilities import SearchResult, SearchSettings
from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.lora.counterexamples.exhaustive import BOUNDS, search_all
from ratiobench.bench.lora.counterexamples.moves import (
    Bounds,
    RandomNumbers,
    apply_random_move,
    draw_start,
    is_within,
    measure_size,
    raise_bids,
)
from ratiobench.bench.lora.counterexamples.shrink import shrink
from ratiobench.bench.lora.counterexamples.targets import Measure, Target, find_target, measure_tiny
from ratiobench.bench.lora.counterexamples.tiny import Job, Kind, TinyInstance, TinyLimitExceeded, instance, memory_unit
from ratiobench.bench.lora.theory.basis.case import Case
from ratiobench.bench.lora.theory.claims import CLAIMS
from ratiobench.bench.theory.search import Search
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.formulations.report import Proof, SolveReport, Status, Termination
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.model import Instance

VERSION = 1  # Of the moves and their order: a search begun by another version is not taken up
STATE = "ratiobench/lora-hunt/1"
PATIENCE = 3000  # Tries without a better sketch after which a round ends
BACK = 400  # Tries without a better sketch after which a round goes back to its best one
_SLACK = (Fraction(0), Fraction(0), Fraction(1, 100), Fraction(1, 10))


@dataclass(slots=True)
class _Found:
    """A sketch with its measure."""

    sketch: TinyInstance
    measure: Measure


class _Mark(NamedTuple):
    """A state of `Search`, see there; `words` were drawn in the round."""

    tries: int
    number: int
    step: int
    words: int
    tasks: int
    here: _Found | None
    top: _Found | None
    best: _Found | None


class LocalSearch(Search[_Mark]):
    """The state of a local search, and its steps.

    `number`, `step`: the present round; steps since its last better sketch; `here`, `top`: present sketch and best one
    of the round; None before a start that can be measured was found; `best`: the best of all rounds, shrunk as soon as
    it violates the claim; `tasks`: most tasks to try (falls below a violation's when smaller ones are looked for).
    """

    def __init__(self, target: Target, settings: SearchSettings) -> None:
        super().__init__(settings)
        self.target, self.pace = target, target.pace
        self.number = self.step = 0
        self.here: _Found | None = None
        self.top: _Found | None = None
        self.best: _Found | None = None
        self.tasks = settings.tasks
        self.draws = self._stream(0)

    def _stream(self, skip: int) -> RandomNumbers:
        s = self.settings
        limits = f"{self.tasks} {s.slots} {s.nodes} {s.largest}"
        return RandomNumbers("hunt", VERSION, self.target.name, limits, s.seed, self.number, skip=skip)

    @property
    def bounds(self) -> Bounds:
        """What sketches may hold at present."""
        s, target = self.settings, self.target
        return Bounds(self.tasks, s.slots, s.nodes or target.nodes, s.largest, target.costs, target.vendors)

    @property
    def done(self) -> bool:
        """Whether nothing is left to look for."""
        if self.best is None or not self.best.measure.violated:
            return False
        return not self.settings.smaller or self.tasks < 1

    def advance(self) -> bool:
        """One try; whether the best of all changed."""
        self.tries += 1
        bounds = self.bounds
        if self.here is None:
            sketch, floor = self._begin(bounds), Fraction(-1)
        else:
            sketch = self.here.sketch
            for _ in range(1 + self.draws.draw_below(3)):
                sketch = apply_random_move(sketch, self.draws, bounds)
            floor = self.here.measure.score * (1 - _SLACK[self.draws.draw_below(len(_SLACK))])
        self.step += 1
        try:
            if self._raise():
                sketch = raise_bids(sketch)
        except TinyLimitExceeded:
            return self._turn()
        if not sketch.jobs or not is_within(sketch, bounds) or (self.here and sketch == self.here.sketch):
            return self._turn()
        measure = measure_tiny(self.target, sketch, floor)
        if measure is None or measure.score < floor:
            return self._turn()
        self.here = _Found(sketch, measure)
        if self.top is None or measure.score > self.top.measure.score:
            self.top, self.step = self.here, 0
            return self._better()
        return self._turn()

    def _begin(self, bounds: Bounds) -> TinyInstance:
        if self.best is not None and self.number % 3 == 2 and len(self.best.sketch.jobs) <= bounds.tasks:
            sketch = self.best.sketch
            for _ in range(self.draws.draw_between(3, 12)):
                sketch = apply_random_move(sketch, self.draws, bounds)
            return sketch
        return draw_start(self.draws, bounds)

    def _raise(self) -> bool:
        """Whether bids are raised to bbar >= 1 in this round."""
        return self.target.raised > 0 and self.number % self.target.raised == 0

    def _turn(self) -> bool:
        """What follows a try that was no improvement: on, back to the best of the round, or a new round."""
        if self.step >= PATIENCE:
            self.number, self.step, self.here, self.top = self.number + 1, 0, None, None
            self.draws = self._stream(0)
        elif self.step % BACK == 0 and self.top is not None:
            self.here = self.top
        return False

    def _better(self) -> bool:
        """Whether the round's new best is the best of all; a violation is shrunk, and ends the round."""
        assert self.top is not None
        top = self.top
        if not top.measure.violated:
            if self.best is None or top.measure.score > self.best.measure.score:
                self.best = top
                return True
            return False
        small = self.shrunk(top.sketch, Fraction(1))
        measure = measure_tiny(self.target, small)
        assert measure is not None
        if self.best is None or not self.best.measure.violated or measure_size(small) < measure_size(self.best.sketch):
            self.best = _Found(small, measure)
        self.tasks = len(small.jobs) - 1
        self.number, self.step, self.here, self.top = 0, 0, None, None
        self.draws = self._stream(0)
        return True

    def shrunk(self, sketch: TinyInstance, score: Fraction) -> TinyInstance:
        """A smaller sketch that still violates the claim, or comes as close."""
        names = ("hunt", VERSION, "shrink", self.settings.seed)
        return shrink(self.target, sketch, score, names)

    def mark(self) -> _Mark:
        """Where the search stands between two tries."""
        words = self.draws.used
        return _Mark(self.tries, self.number, self.step, words, self.tasks, self.here, self.top, self.best)

    def document(self, mark: _Mark) -> dict[str, Any]:
        """A state as JSON values."""

        def plain(found: _Found | None) -> Any:
            return None if found is None else found.sketch

        return {
            "format": STATE,
            "version": VERSION,
            "claim": self.target.name,
            "settings": self.settings_document(),
            "tries": mark.tries,
            "round": mark.number,
            "step": mark.step,
            "words": mark.words,
            "tasks": mark.tasks,
            "here": plain(mark.here),
            "top": plain(mark.top),
            "best": plain(mark.best),
        }

    def load(self, data: Any, source: str) -> None:
        """Take up a search where `document` left it."""
        self.require_own(data, source, ("tries", "round", "step", "words", "tasks"))
        self.tries, self.number, self.step, self.tasks = data["tries"], data["round"], data["step"], data["tasks"]
        self.draws = self._stream(data["words"])
        self.here, self.top, self.best = (self._restored(data, key, source) for key in ("here", "top", "best"))

    def progress(self, rate: float) -> str:
        """A line about the progress."""
        best = self.best
        closest = "none yet" if best is None else f"{float(best.measure.score):.4f}"
        violated = " (violated)" if best is not None and best.measure.violated else ""
        return f"{self.tries:,} tries, {rate:,.0f}/s, round {self.number}, closest {closest}{violated}"

    def _restored(self, data: Mapping[str, Any], key: str, source: str) -> _Found | None:
        if data.get(key) is None:
            return None
        try:
            slots, kinds, jobs = data[key]
            sketch = TinyInstance(slots, tuple(Kind(*kind) for kind in kinds), tuple(_job(*job) for job in jobs))
            instance(sketch)
            measure = measure_tiny(self.target, sketch)
        except (TypeError, ValueError, IndexError) as error:
            raise InputError(source, key, f"is no sketch of an instance: {error}") from None
        if measure is None:
            raise InputError(source, key, "the claim does not apply to the sketch")
        return _Found(sketch, measure)


def _job(
    arrival: int, deadline: int, memory: int, work: int, bid: int, rates: list[int], costs: Any, vendors: Any
) -> Job:
    return Job(
        arrival, deadline, memory, work, bid, tuple(rates), tuple(map(tuple, costs)),
        tuple((price, delay) for price, delay in vendors),
    )  # fmt: skip


def search_counterexample(
    claim: str,
    settings: SearchSettings,
    state: Any = None,
    source: str = "",
    keep: Callable[[Mapping[str, Any]], None] = lambda _: None,
    tell: Callable[[str], None] = lambda _: None,
) -> SearchResult:
    """Look for an instance that violates the claim, or comes closest to it.

    `state`, `source`: what an earlier search kept, and the file it stands in; None to begin; `tell`: called with a line
    about the progress, about once a second.
    """
    if settings.exact:
        return _search_exactly(find_target(claim), settings, tell)
    search = LocalSearch(find_target(claim), settings)
    if state is not None:
        search.load(state, source)
    fresh, seconds = search.drive(keep, tell)
    return _result(search, seconds, fresh)


def _search_exactly(target: Target, settings: SearchSettings, tell: Callable[[str], None]) -> SearchResult:
    """The instance with the largest score of all in a space, under the referee and with the audit's verdict."""
    began = time.monotonic()
    found = search_all(target, settings, tell, BOUNDS.get(target.name))
    seconds, measured = time.monotonic() - began, found.measured
    result = SearchResult(
        target.name, target.statement, target.algorithm, False, measured, measured, seconds, notes=found.notes()
    )
    if found.best is None or found.measure is None:
        return result
    left, right, score = found.measure
    origin = {
        "about": f"The largest score of all instances of a bounded size for {target.name}: {target.statement}",
        "left": str(left),
        "right": str(right),
    }
    witness = instance(found.best, f"{target.name}_exact", origin, memory_unit(target.algorithm))
    check = confirm(target, witness)
    if check is not None and (check.status is Verdict.VIOLATED) != found.measure.violated:
        raise AssertionError(f"the search finds {found.measure} and the audit {check}: one of the two is wrong")
    return replace(
        result, violated=found.measure.violated, left=left, right=right, score=score, instance=witness, check=check
    )


def _result(search: LocalSearch, seconds: float, fresh: int) -> SearchResult:
    """The best sketch, shrunk, under the referee and with the audit's verdict."""
    best, target = search.best, search.target
    if best is None:
        return SearchResult(target.name, target.statement, target.algorithm, False, search.tries, fresh, seconds)
    sketch = best.sketch
    if not best.measure.violated:
        sketch = search.shrunk(sketch, best.measure.score)
    measure = measure_tiny(target, sketch)
    assert measure is not None
    origin = {
        "about": f"Found by a search for {target.name}: {target.statement}",
        "left": str(measure.left),
        "right": str(measure.right),
        "seed": search.settings.seed,
        "tries": search.tries,
    }
    name = f"{target.name}_seed{search.settings.seed}"
    found = instance(sketch, name, origin, memory_unit(target.algorithm))
    check = confirm(target, found)
    if check is not None and (check.status is Verdict.VIOLATED) != measure.violated:
        raise AssertionError(f"the search finds {measure} and the audit {check}: one of the two is wrong")
    return SearchResult(
        target.name, target.statement, target.algorithm, measure.violated, search.tries, fresh, seconds,
        measure.left, measure.right, measure.score, found, check,
    )  # fmt: skip


def confirm(target: Target, found: Instance) -> Check | None:
    """The audit's check of the target's name on a run under the referee; None where the claim is about other runs.

    OPT is that of the enumeration, or an interval where there is too much to look at.
    """
    from ratiobench.online.lora.run import run

    try:
        best, solution = enumerate_optimum(found)
        report = SolveReport(
            Status.OPTIMAL, best, best, solution, Proof.ENUMERATION, "enumerate", "none", Termination.NONE, False, 0.0
        )
    except ValueError:  # too large to look at everything
        from ratiobench.formulations.lora.solve import solve

        report = solve(found)
    result = run(found, target.algorithm)
    claim = next(claim for claim in CLAIMS if claim.name == target.name)
    return claim.check_run(Case(found, result, report)) if claim.about.concerns(result) else None
