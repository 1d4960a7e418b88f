"""Family `lora`: problem P, online scheduling and pricing of multi-LoRA fine-tuning tasks (main paper, section 2)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

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
    LogImport,
    Studies,
    TimelineFunction,
)
from ratiobench.bench.family.day_facts import DayFacts
from ratiobench.bench.family.packages import PackagedFamily
from ratiobench.bench.family.suite import NamedSummary, Suite
from ratiobench.formulations.crosscheck import CrossCheck, CrossCheckRow

if TYPE_CHECKING:
    from ratiobench.instances.lora.model import Instance
    from ratiobench.online.outcome import OnlineRun

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

    def load_setting(self, instance: Instance) -> Mapping[str, str]:
        from ratiobench.instances.lora.history import load_setting

        return load_setting(instance)

    def start_time(self, instance: Instance) -> str:
        from ratiobench.instances.lora.history import start_time

        return start_time(instance)

    def day_facts(self, instance: Instance) -> DayFacts:
        from ratiobench.bench.lora.days import day_facts

        return day_facts(instance)

    def list_changes(self, instance: Instance, text: str) -> Sequence[str]:
        from ratiobench.instances.lora.changes import list_changes

        return list_changes(instance, text)

    def change(self, instance: Instance, change: str) -> Instance:
        from ratiobench.instances.lora.changes import apply_change

        return apply_change(instance, change)

    @property
    def assumption_changes(self) -> Mapping[str, str]:
        from ratiobench.instances.lora.changes import ASSUMPTIONS

        return ASSUMPTIONS

    @property
    def capacity_change(self) -> str:
        return "nodes=+1"

    def change_effect(self, change: str) -> str:
        from ratiobench.instances.lora.changes import find_effect

        return find_effect(change)

    @property
    def log_import(self) -> LogImport:
        from ratiobench.bench.lora.log_import import LOG_IMPORT

        return LOG_IMPORT

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
        from ratiobench.instances.lora.restriction import restrict
        from ratiobench.instances.lora.schedules import ScheduleKind

        return restrict(instance, ScheduleKind.ONE_NODE)

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

    def default_policies(self, kinds: Collection[str], prices: str = "") -> Sequence[str]:
        from ratiobench.bench.lora.days import default_policies

        return default_policies(kinds, prices)

    def refusal(self, algorithm: str, kind: str) -> str:
        from ratiobench.bench.lora.days import refusal

        return refusal(algorithm, kind)

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
        from ratiobench.bench.lora.studies import STUDIES, study

        return Studies(study, STUDIES)

    def proved_of_all_kinds(self, algorithm: str) -> Mapping[str, str]:
        from ratiobench.bench.lora.proof_status import proved_of_all_kinds

        return proved_of_all_kinds(algorithm)

    @property
    def proof_status(self) -> Callable[[str], Mapping[str, str]]:
        from ratiobench.bench.lora.proof_status import proof_status

        return proof_status

    def bound_checks(self, algorithm: str) -> Sequence[str]:
        from ratiobench.bench.lora.proof_status import bound_checks

        return bound_checks(algorithm)

    def readings(self) -> Sequence[str]:
        from ratiobench.bench.lora.readings import READINGS

        return READINGS

    def describe_run(self, instance: Instance, run: OnlineRun) -> str:
        from ratiobench.bench.lora.measures import describe_jobs

        return describe_jobs(instance, run)


FAMILY = LoraFamily()
