"""Family `lora`: problem P, online scheduling and pricing of multi-LoRA fine-tuning tasks (main paper, section 2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ratiobench.bench.family.packages import PackagedFamily
from ratiobench.bench.family.suite import NamedSummary, Suite

if TYPE_CHECKING:
    from ratiobench.bench.family.capabilities import (
        AccountFunction,
        BidCurve,
        Bidding,
        Certificates,
        Claims,
        CompilationSteps,
        CounterexampleSearch,
        GanttFunction,
        Limits,
        Studies,
        TimelineFunction,
    )
    from ratiobench.formulations.crosscheck import CrossCheck, CrossCheckRow
    from ratiobench.instances.lora.model import Instance

# Solvers, kernels and generators are imported where they are used, so that `list` and `check` start at once.


class LoraFamily(PackagedFamily):
    """Online scheduling and pricing of multi-LoRA fine-tuning tasks."""

    name = "lora"
    unit = "micro-dollars"
    headline = "theorem5"
    size = ("tasks", "slots", "nodes")
    whole_values = True
    dollars = Fraction(1, 1_000_000)

    # The problem.

    @property
    def formats(self) -> tuple[str, ...]:
        from ratiobench.instances.lora.format import FORMAT, FORMAT_2

        return (FORMAT, FORMAT_2)

    def traces(self) -> Sequence[NamedSummary]:
        from ratiobench.instances.lora.arrivals import traces

        return NamedSummary.several(traces())

    def constructions(self) -> Sequence[NamedSummary]:
        from ratiobench.instances.lora.constructions import constructions

        return NamedSummary.several(constructions())

    def parametric_suite(self, text: str) -> Suite | None:
        from ratiobench.bench.lora.suites import member

        return member(text)

    def join(self, instances: Sequence[Instance]) -> Instance:
        from ratiobench.instances.lora.history import join

        return join(instances)

    # The optimum.

    def value_limit(self, instance: Instance) -> int:
        # Tables of prices and a tree; then a cell in each slot for each task, of which a week uses a tenth.
        return 2**22 + instance.tasks * instance.slots

    def day_before(self, recipe: Mapping[str, Any]) -> Mapping[str, Any] | None:
        from ratiobench.bench.lora.paper_suites import day_before

        return day_before(recipe)

    @property
    def certificates(self) -> Certificates:
        from ratiobench.formulations.lora.verify import tell_sum

        return replace(super().certificates, sum_text=tell_sum)

    def without_migration(self, instance: Instance) -> Instance:
        return instance.without_migration()

    def crosscheck(
        self,
        instance: Instance,
        *,
        effort: int = 1,
        seconds: float | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> CrossCheck:
        from ratiobench.formulations.lora.crosscheck import crosscheck

        return crosscheck(instance, effort=effort, seconds=seconds, tell=tell)

    @property
    def printed_key(self) -> str:
        from ratiobench.formulations.lora.crosscheck import printed_key

        return printed_key()

    def solve_printed(self, instance: Instance) -> Sequence[CrossCheckRow]:
        from ratiobench.formulations.lora.crosscheck import solve_printed

        return solve_printed(instance)

    # Online algorithms.

    @property
    def compilation_steps(self) -> CompilationSteps:
        from ratiobench.bench.lora.compilation import compilation_steps

        return compilation_steps

    @property
    def timeline(self) -> TimelineFunction:
        from ratiobench.bench.lora.timeline import timeline

        return timeline

    @property
    def gantt(self) -> GanttFunction:
        from ratiobench.bench.lora.gantt import gantt

        return gantt

    @property
    def bidding(self) -> Bidding:
        """Exact curves, constants that come from the bids following the bid; else by trying bids."""
        from ratiobench.bench.family.capabilities import Bidding
        from ratiobench.bench.lora.theory.bidder import audit_bidder, curve

        def utility_curve(instance: Instance, algorithm: str, task: int) -> BidCurve:
            return curve(instance, self.run(instance, algorithm), task)

        return Bidding(utility_curve, audit_bidder)

    # The theory.

    @property
    def claims(self) -> Claims:
        from ratiobench.bench.lora.theory.claims import THEORY

        return THEORY

    @property
    def counterexample_search(self) -> CounterexampleSearch:
        """Local search over tiny instances, in exact arithmetic."""
        from ratiobench.bench.family.capabilities import CounterexampleSearch
        from ratiobench.bench.lora.counterexamples.search import search_counterexample
        from ratiobench.bench.lora.counterexamples.worst import search_worst_case
        from ratiobench.bench.lora.theory.claims import list_searches

        return CounterexampleSearch(
            lambda: [NamedSummary(name, how.statement) for name, how in list_searches().items()],
            search_counterexample,
            search_worst_case,
        )

    @property
    def limits(self) -> Limits:
        """Theorems N1 and N3."""
        from ratiobench.bench.lora.theory.limits import LIMITS

        return LIMITS

    @property
    def accounts(self) -> AccountFunction:
        from ratiobench.bench.lora.measures import accounts

        return accounts

    @property
    def studies(self) -> Studies:
        from ratiobench.bench.family.capabilities import Studies
        from ratiobench.bench.lora.studies import STUDIES, study

        return Studies(study, STUDIES)

    @property
    def proof_status(self) -> Callable[[str], Mapping[str, str]]:
        from ratiobench.bench.lora.proof_status import proof_status

        return proof_status

    def readings(self) -> Sequence[str]:
        from ratiobench.bench.lora.readings import READINGS

        return READINGS


FAMILY = LoraFamily()
