"""The search for the instance on which an algorithm has the worst OPT/ALG: the same local search, aimed at the ratio.

The value of another algorithm may stand in the place of OPT: where is the one worst beside the other?

The algorithm is run by the referee on every sketch. What is found is a lower bound on the algorithm's worst ratio, and
no more: a local search over tiny instances proves nothing about those that it did not try.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from fractions import Fraction
from typing import Any

from ratiobench.bench.family.capabilities import CounterexampleSearch, SearchResult, SearchSettings
from ratiobench.bench.family.suite import NamedSummary
from ratiobench.bench.lora.counterexamples.exhaustive import search_all
from ratiobench.bench.lora.counterexamples.search import LocalSearch, search_counterexample
from ratiobench.bench.lora.counterexamples.targets import ClaimInapplicable, Measure, Target, Trial, measure_tiny
from ratiobench.bench.lora.counterexamples.tiny import TinyInstance, bound_optimum, instance, memory_unit
from ratiobench.bench.lora.theory.claims import list_searches
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora.model import Instance
from ratiobench.online.lora.run import ENVIRONMENT, run
from ratiobench.online.repeated_runs import RepeatedRuns

# The score of an instance on which the algorithm earns nothing and OPT something; no ratio reaches it: OPT is at most 8
# tasks times 10^6
UNBOUNDED = Fraction(10**12)
SILENCE = 2.0  # Seconds after which a line about the progress is due, also while a sketch is made smaller


class _Ratio:
    """OPT/ALG on a sketch, or the other algorithm's value over ALG, with what was broken on the way.

    `broke`, `invalid`: the first rule that the algorithm broke, and on how many sketches it broke one; `unbounded`: on
    how many sketches it earned nothing, where these are passed over (`bounded`).
    """

    def __init__(
        self,
        player: RepeatedRuns[Any],
        megabytes: int,
        tell: Callable[[str], None],
        other: RepeatedRuns[Any] | None = None,
        bounded: bool = False,
    ) -> None:
        self._player, self._tell, self._other, self._bounded = player, tell, other, bounded
        self._megabytes = megabytes
        self.broke, self.invalid, self.unbounded = "", 0, 0
        self.measured, self.largest = 0, Fraction(0)
        self._began = self._told = time.monotonic()

    def measure(self, trial: Trial, floor: Fraction) -> Measure:
        """The ratio as the score; unbounded ones violate the claim that there are none."""
        if bound_optimum(trial.menus) <= 0:
            raise ClaimInapplicable
        value, violations = self._player.value(self._instance(trial))
        self._count()
        if violations:
            self.invalid += 1
            self.broke = self.broke or str(violations[0])
            raise ClaimInapplicable
        earned = Fraction(value)
        if earned > 0 and bound_optimum(trial.menus) <= floor * earned:
            raise ClaimInapplicable
        reference = self._reference(trial)
        if reference <= 0:
            raise ClaimInapplicable
        if earned <= 0 and self._bounded:
            self.unbounded += 1
            raise ClaimInapplicable
        if earned <= 0:
            self.largest = UNBOUNDED
            return Measure(UNBOUNDED, Fraction(0), UNBOUNDED)
        ratio = reference / earned
        self.largest = max(self.largest, ratio)
        return Measure(ratio, ratio, ratio)

    def _reference(self, trial: Trial) -> Fraction:
        """OPT, or the value of the other algorithm, 0 where it breaks a rule."""
        if self._other is None:
            return Fraction(trial.optimum)
        value, violations = self._other.value(self._instance(trial))
        return Fraction(0) if violations else Fraction(value)

    def _instance(self, trial: Trial) -> Instance:
        return instance(trial.sketch, megabytes=self._megabytes)

    def _count(self) -> None:
        self.measured += 1
        now = time.monotonic()
        if now - self._told >= SILENCE:
            self._told = now
            rate = self.measured / (now - self._began)
            worst = "unbounded" if self.largest == UNBOUNDED else f"{float(self.largest):.4f}"
            self._tell(f"{self.measured:,} runs, {rate:,.0f}/s, worst ratio so far {worst}")


def search_worst_case(
    algorithm: str,
    settings: SearchSettings,
    state: Any = None,
    source: str = "",
    keep: Callable[[Mapping[str, Any]], None] = lambda _: None,
    tell: Callable[[str], None] = lambda _: None,
) -> SearchResult:
    """Look for the instance with the largest OPT/ALG of the algorithm, or with the largest value of `settings.against`
    over ALG; parameters as for `search_counterexample`.
    """
    against = settings.against
    with ExitStack() as stack:
        runner = stack.enter_context(RepeatedRuns(ENVIRONMENT, algorithm))
        other = stack.enter_context(RepeatedRuns(ENVIRONMENT, against)) if against else None
        ratio = _Ratio(runner, memory_unit(algorithm), tell, other, settings.bounded)
        target = Target(
            statement=f"value of {against} over that of {algorithm}" if against else f"OPT/ALG of {algorithm}",
            algorithm=algorithm,
            costs=0,
            vendors=True,
            raised=0,
            nodes=2,
            name=f"worst {algorithm} against {against}" if against else f"worst {algorithm}",
            measure=ratio.measure,
            shrinking=4000,
            polish=400,
            pace=4,
        )
        search = LocalSearch(target, settings)
        if settings.exact:
            return _search_exactly(target, search, ratio)
        if state is not None:
            search.load(state, source)
        fresh, seconds = search.drive(keep, lambda line: None)
        best = search.best
        if best is None:
            if ratio.broke:
                raise InputError(
                    "algorithm", algorithm, f"breaks a rule on every instance that was tried: {ratio.broke}"
                )
            return SearchResult(
                target.name, target.statement, algorithm, False, search.tries, fresh, seconds, against=against
            )
        sketch = best.sketch
        if not best.measure.violated:
            sketch = search.shrunk(sketch, best.measure.score)
        notes = [
            f"Tried: up to {settings.tasks} tasks, {settings.slots} slots, {settings.nodes or target.nodes} nodes, no "
            f"number above {settings.largest}; larger ones may be worse."
        ]
        if best.measure.violated and (settings.tries is None or search.tries < settings.tries):
            notes.append("The search ended here, before its limit: no ratio is larger than an unbounded one.")
        if ratio.unbounded:
            notes.append(
                f"On {ratio.unbounded:,} instances it earned nothing, where OPT is above 0: their ratio is unbounded, "
                "and they were passed over (--bounded)."
            )
        if ratio.invalid:
            notes.append(
                f"On {ratio.invalid:,} instances it broke a rule; they were not counted. The first: {ratio.broke}"
            )
        again = measure_tiny(target, sketch)
        score = UNBOUNDED if again is None else again.score
        return _told(target, search, sketch, score, notes, fresh, seconds)


def _search_exactly(target: Target, search: LocalSearch, ratio: _Ratio) -> SearchResult:
    """The instance with the largest ratio of all in a space; runs that break a rule are named, not counted."""
    began = time.monotonic()
    found = search_all(target, search.settings, lambda line: None, enough=UNBOUNDED)
    seconds = time.monotonic() - began
    search.tries, notes = found.measured, found.notes()
    if ratio.invalid:
        notes.append(f"On {ratio.invalid:,} instances it broke a rule; they were not counted. The first: {ratio.broke}")
    if found.best is None or found.measure is None:
        if ratio.broke:
            raise InputError("algorithm", target.algorithm, f"breaks a rule on every instance: {ratio.broke}")
        return SearchResult(
            target.name, target.statement, target.algorithm, False, found.measured, found.measured, seconds,
            notes=notes, against=search.settings.against,
        )  # fmt: skip
    return _told(target, search, found.best, found.measure.score, notes, found.measured, seconds)


def _told(
    target: Target,
    search: LocalSearch,
    sketch: TinyInstance,
    score: Fraction,
    notes: list[str],
    fresh: int,
    seconds: float,
) -> SearchResult:
    """The instance, the algorithm run on it once more by the whole referee, in a fresh process where it has one."""
    opt, against = Fraction(Trial(sketch).optimum), search.settings.against
    seed = search.settings.seed
    origin: dict[str, Any] = {
        "about": f"Found by a local search for a large {target.statement}.",
        "opt": str(opt),
        "seed": seed,
        "tries": search.tries,
    }
    if search.settings.exact:
        origin = {"about": f"The largest {target.statement} of all instances of a bounded size.", "opt": str(opt)}
    name = "worst_exact" if search.settings.exact else f"worst_seed{seed}"
    found = instance(sketch, name, origin, memory_unit(target.algorithm))
    played = run(found, target.algorithm)
    if not played.valid:
        notes = [*notes, f"Under the whole referee its run on this instance is INVALID: {played.violations[0]}"]
    beside = run(found, against) if against else None
    if beside is not None and not beside.valid:
        notes = [*notes, f"Under the whole referee the run of {against} is INVALID: {beside.violations[0]}"]
    best = opt if beside is None else Fraction(beside.welfare)
    earned = Fraction(played.welfare)
    ratio = None if earned <= 0 else best / earned
    if played.valid and score != (UNBOUNDED if ratio is None else ratio):
        notes = [*notes, "It earns another value here than during the search: it keeps something from run to run."]
    return SearchResult(
        target.name, target.statement, target.algorithm, ratio is None, search.tries, fresh, seconds,
        best, earned, ratio, found, None, tuple(notes), against,
    )  # fmt: skip


COUNTEREXAMPLES = CounterexampleSearch(
    lambda: [NamedSummary(name, how.statement) for name, how in list_searches().items()],
    search_counterexample,
    search_worst_case,
)
