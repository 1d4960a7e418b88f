"""Searches tiny instances for a violated claim, or for an algorithm's worst OPT/ALG."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ratiobench.bench.family.capabilities import SearchResult, SearchSettings
from ratiobench.bench.family.checks import Check
from ratiobench.bench.lora.counterexamples import moves, tiny
from ratiobench.bench.lora.counterexamples.exhaustive import BOUNDS, search_all
from ratiobench.bench.lora.counterexamples.moves import Bounds
from ratiobench.bench.lora.counterexamples.targets import MEASURES, ClaimInapplicable, Trial, require
from ratiobench.bench.lora.counterexamples.tiny import Job, Kind, TinyInstance, TinyLimitExceeded
from ratiobench.bench.lora.theory.basis.case import Case
from ratiobench.bench.lora.theory.claims import CLAIMS, ProofStatus, SearchSpace
from ratiobench.bench.theory import search
from ratiobench.bench.theory.claim import find_claim
from ratiobench.bench.theory.search import Document, Found, Measure
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.seeds import RandomNumbers
from ratiobench.instances.lora.model import Instance
from ratiobench.online.lora.run import ENVIRONMENT, run
from ratiobench.online.repeated_runs import RepeatedRuns

# The score of an instance on which the algorithm earns nothing and OPT something; no ratio reaches it: OPT is at most 8
# tasks times 10^6
UNBOUNDED = Fraction(10**12)


class TinyProblem(search.SearchProblem[TinyInstance]):
    state_format, patience, shrinking, polish = "ratiobench/lora-hunt/1", 3000, 40_000, 4000
    enough: Fraction | None = None  # no score is larger
    smaller, size = staticmethod(moves.list_smaller), staticmethod(moves.measure_size)

    def __init__(self, name: str, space: SearchSpace, sides: Callable[[Trial, Fraction], Measure]) -> None:
        super().__init__(name, space.statement, space.algorithm, space.nodes)
        self.space, self.sides = space, sides

    def name_stream(self, limits: SearchSettings, number: int, tries: int) -> tuple[str | int, ...]:
        sizes = f"{limits.tasks} {limits.slots} {limits.nodes} {limits.largest}"
        return "hunt", self.version, self.name, sizes, limits.seed, number

    def bounds(self, limits: SearchSettings) -> Bounds:
        nodes = limits.nodes or self.nodes
        return Bounds(limits.tasks, limits.slots, nodes, limits.largest, self.space.costs, self.space.vendors)

    def draw(self, draws: RandomNumbers, limits: SearchSettings) -> TinyInstance:
        return moves.draw_start(draws, self.bounds(limits))

    def change(self, candidate: TinyInstance, draws: RandomNumbers, limits: SearchSettings) -> TinyInstance:
        return moves.apply_random_move(candidate, draws, self.bounds(limits))

    def prepare(self, candidate: TinyInstance, limits: SearchSettings, number: int) -> TinyInstance | None:
        """With bids raised to bbar >= 1, in the rounds that the space names."""
        try:
            if self.space.raised and number % self.space.raised == 0:
                candidate = moves.raise_bids(candidate)
        except TinyLimitExceeded:
            return None
        return candidate if moves.is_within(candidate, self.bounds(limits)) else None

    def measure(self, candidate: TinyInstance, floor: Fraction = Fraction(-1)) -> Measure | None:
        try:
            return self.sides(Trial(candidate), floor)
        except (ClaimInapplicable, TinyLimitExceeded, InputError):  # InputError: a number that no file may hold
            return None

    def restore(self, data: Any, source: str, key: str) -> TinyInstance:
        try:
            slots, kinds, jobs = _freeze(data)
            sketch = TinyInstance(slots, tuple(Kind(*kind) for kind in kinds), tuple(Job(*job) for job in jobs))
            tiny.instance(sketch)
        except (TypeError, ValueError, IndexError) as error:
            raise InputError(source, key, f"is no sketch of an instance: {error}") from None
        return sketch

    def make_instance(self, candidate: TinyInstance, name: str, origin: Document) -> Instance:
        return tiny.instance(candidate, name, origin, tiny.memory_unit(self.algorithm))

    def check(self, instance: Instance) -> Check | None:
        from ratiobench.formulations.lora.solve import solve

        claim, result = find_claim(CLAIMS, self.name), run(instance, self.algorithm)
        return claim.check_run(Case(instance, result, solve(instance))) if claim.about.concerns(result) else None

    def search_exactly(self, settings: SearchSettings, tell: Callable[[str], None]) -> SearchResult:
        began = time.monotonic()
        found = search_all(self.measure, settings, tell, BOUNDS.get(self.name), self.enough)
        result = SearchResult(
            self.name, self.statement, self.algorithm, False, found.measured, found.measured, time.monotonic() - began,
            notes=found.notes(), against=settings.against,
        )  # fmt: skip
        return self.conclude(result, found.best, settings)


def _freeze(value: Any) -> Any:
    return tuple(map(_freeze, value)) if isinstance(value, list) else value


class RatioProblem(TinyProblem):
    """OPT/ALG of an algorithm, or the value of another one (`rival`) over ALG; an unbounded ratio is a violation."""

    shrinking, polish, enough = 4000, 400, UNBOUNDED

    def __init__(
        self, algorithm: str, settings: SearchSettings, player: RepeatedRuns[Any], rival: RepeatedRuns[Any] | None
    ) -> None:
        against = settings.against
        name = f"worst {algorithm} against {against}" if against else f"worst {algorithm}"
        statement = f"value of {against} over that of {algorithm}" if against else f"OPT/ALG of {algorithm}"
        space = SearchSpace(statement, algorithm, costs=0, vendors=True, raised=0, nodes=2)
        super().__init__(name, space, self._compute_ratio)
        self._player, self._rival, self._passes_over = player, rival, settings.bounded
        # The first rule that the algorithm broke, on how many sketches it broke one, and on how many it earned nothing.
        self._broke, self._invalid, self._unbounded = "", 0, 0

    def _compute_ratio(self, trial: Trial, floor: Fraction) -> Measure:
        require(trial.most > 0)
        given = self.make_instance(trial.sketch, "sketch", {})
        value, violations = self._player.value(given)
        if violations:
            self._invalid += 1
            self._broke = self._broke or str(violations[0])
        earned = Fraction(value)
        require(not violations and (earned <= 0 or trial.most > floor * earned))
        if self._rival is None:
            reference = Fraction(trial.optimum)
        else:
            value, violations = self._rival.value(given)
            reference = Fraction(0) if violations else Fraction(value)
        require(reference > 0)
        if earned > 0:
            return Measure(*3 * [reference / earned])
        self._unbounded += self._passes_over
        require(not self._passes_over)
        return Measure(UNBOUNDED, Fraction(0), UNBOUNDED)

    def conclude(
        self, result: SearchResult, found: Found[TinyInstance] | None, settings: SearchSettings
    ) -> SearchResult:
        """Runs the algorithm on the witness once more under the whole referee."""
        if found is None and self._broke:
            tried = "" if settings.exact else " that was tried"
            raise InputError("algorithm", self.algorithm, f"breaks a rule on every instance{tried}: {self._broke}")
        if found is None:
            return result
        opt, against = Fraction(Trial(found.candidate).optimum), settings.against
        about = f"Found by a local search for a large {self.statement}."
        if settings.exact:
            about = f"The largest {self.statement} of all instances of a bounded size."
        label, more = search.label_witness(result, settings)
        witness = self.make_instance(found.candidate, f"worst_{label}", {"about": about, "opt": str(opt), **more})
        notes = [*result.notes, *self._list_notes(result, found.measure, settings)]
        played = run(witness, self.algorithm)
        if not played.valid:
            notes.append(f"Under the whole referee its run on this instance is INVALID: {played.violations[0]}")
        best, earned = opt, Fraction(played.welfare)
        if against:
            beside = run(witness, against)
            best = Fraction(beside.welfare)
            if not beside.valid:
                notes.append(f"Under the whole referee the run of {against} is INVALID: {beside.violations[0]}")
        ratio = None if earned <= 0 else best / earned
        if played.valid and found.measure.score != (UNBOUNDED if ratio is None else ratio):
            notes.append("It earns another value here than during the search: it keeps something from run to run.")
        return replace(
            result, violated=ratio is None, left=best, right=earned, score=ratio, instance=witness, notes=tuple(notes)
        )

    def _list_notes(self, result: SearchResult, measure: Measure, settings: SearchSettings) -> Iterator[str]:
        if not settings.exact:
            yield (
                f"Tried: up to {settings.tasks} tasks, {settings.slots} slots, {settings.nodes or self.nodes} nodes, "
                f"no number above {settings.largest}; larger ones may be worse."
            )
            if measure.violated and (settings.tries is None or result.tries < settings.tries):
                yield "The search ended here, before its limit: no ratio is larger than an unbounded one."
        if self._unbounded:
            yield (
                f"On {self._unbounded:,} instances it earned nothing, where OPT is above 0: their ratio is unbounded, "
                "and they were passed over (--bounded)."
            )
        if self._invalid:
            yield f"On {self._invalid:,} instances it broke a rule; they were not counted. The first: {self._broke}"


def search_worst_case(algorithm: str, settings: SearchSettings, *args: Any, **kwargs: Any) -> SearchResult:
    """Search for the instance with the largest OPT/ALG; other parameters as for `search_problem`."""
    with ExitStack() as stack:
        player = stack.enter_context(RepeatedRuns(ENVIRONMENT, algorithm))
        rival = stack.enter_context(RepeatedRuns(ENVIRONMENT, settings.against)) if settings.against else None
        return search.search_problem(RatioProblem(algorithm, settings, player, rival), settings, *args, **kwargs)


# False claims, for which a search ends, first
PROBLEMS = {
    claim.name: TinyProblem(claim.name, claim.search, MEASURES[claim.name])
    for claim in sorted(CLAIMS, key=lambda claim: claim.standing is not ProofStatus.FALSE)
    if claim.search is not None
}
COUNTEREXAMPLES = search.make_search(PROBLEMS, search_worst_case)
