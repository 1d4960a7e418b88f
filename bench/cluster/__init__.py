"""Family `cluster`: the jobs of a batch cluster in whole seconds; waits or slowdown are the cost, least best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from ratiobench.bench.family.capabilities import Certificates, MeasureFunction
from ratiobench.bench.family.contract import Family, SolutionReport
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.source import Source
from ratiobench.bench.family.suite import NamedSummary, SolveSettings, Suite
from ratiobench.formulations.crosscheck import CrossCheck
from ratiobench.formulations.report import SolveReport
from ratiobench.instances.io.errors import InputError, explain_unknown_name
from ratiobench.instances.io.files import sha256_of
from ratiobench.instances.io.keys import Form

if TYPE_CHECKING:
    from ratiobench.instances.cluster.model import Instance, Schedule
    from ratiobench.online.outcome import OnlineRun
    from ratiobench.online.run import Environment

# Solvers, kernels and generators are imported where they are used, so that `list` and `check` start at once.


class ClusterFamily(Family):
    """A batch cluster and its jobs."""

    name = "cluster"
    unit = "units of the cost"
    objective = "cost"
    sense = Sense.LEAST
    size = ("jobs", "gpus", "pools")

    # The problem.

    @property
    def format(self) -> str:
        from ratiobench.instances.cluster.format import FORMAT

        return FORMAT

    def parse(self, data: Any, source: str) -> Instance:
        from ratiobench.instances.cluster.format import parse

        return parse(data, source)

    def dumps(self, instance: Instance) -> str:
        from ratiobench.instances.cluster.format import dumps

        return dumps(instance)

    def identity(self, instance: Instance) -> str:
        from ratiobench.instances.cluster.format import content_hash

        content = content_hash(instance)
        return content if instance.cost == "wait" else sha256_of([content, instance.cost])

    def describe(self, instance: Instance) -> Mapping[str, Any]:
        jobs, span = instance.jobs, 0
        if len(jobs):
            span = int(jobs.submit[-1]) - instance.begin
        asked = int((jobs.width * jobs.run)[jobs.submit >= instance.begin].sum())
        return {
            "jobs": len(jobs),
            "gpus": instance.capacity,
            "pools": len(instance.pools),
            "days": round(span / 86_400, 2),
            "load": round(asked / (span * instance.capacity), 3) if span > 0 else None,
            "cost": instance.cost,
        }

    def generate(self, recipe: Mapping[str, Any]) -> Instance:
        from ratiobench.instances.cluster.recipes import make

        return make(recipe)

    def recipe_forms(self) -> Sequence[Form]:
        from ratiobench.instances.cluster.recipes import forms

        return forms()

    def solution_document(self, solution: Schedule) -> dict[str, Any]:
        from ratiobench.bench.cluster.solution import solution_document

        return solution_document(solution)

    def parse_solution(self, instance: Instance, data: Any, source: str) -> Schedule:
        from ratiobench.bench.cluster.solution import parse_solution

        return parse_solution(data, source)

    def own_suites(self) -> Sequence[Suite]:
        from ratiobench.bench.cluster.suites import suites

        return suites()

    def with_cost(self, instance: Instance, cost: str) -> Instance:
        from ratiobench.instances.cluster.model import COSTS

        if cost not in COSTS:
            raise InputError("--cost", "", explain_unknown_name(cost, COSTS))
        return replace(instance, cost=cost, cache={})

    @property
    def commands(self) -> Sequence[Callable[..., Any]]:
        from ratiobench.bench.cluster.commands import backtest, import_logs

        return import_logs, backtest

    def log_formats(self) -> Sequence[NamedSummary]:
        from ratiobench.bench.cluster.commands import LOGS

        return NamedSummary.several(LOGS)

    # The optimum.

    @property
    def solver_version(self) -> str:
        from ratiobench.formulations.cluster.solve import VERSION

        return VERSION

    def formulations(self) -> Sequence[NamedSummary]:
        from ratiobench.formulations.cluster.solve import formulations

        return NamedSummary.several(formulations())

    def solve(self, instance: Instance, settings: SolveSettings, start: Schedule | None = None) -> SolveReport:
        from ratiobench.formulations.cluster.solve import solve

        return _with_mean(instance, solve(instance, instance.cost, **asdict(settings), start=start))

    def check_solution(self, instance: Instance, solution: Schedule) -> SolutionReport:
        from ratiobench.bench.cluster.solution import check_schedule

        return check_schedule(instance, solution)

    @property
    def certificates(self) -> Certificates:
        from ratiobench.formulations.cluster.certificate import document, join, parse, write
        from ratiobench.formulations.cluster.verify import PROVES, verify

        def solve(instance: Instance, settings: SolveSettings, start: Schedule | None = None) -> SolveReport:
            from ratiobench.formulations.cluster.solve import solve

            report = solve(instance, instance.cost, **asdict(settings), start=start, certified=True)
            return _with_mean(instance, report)

        def join_documents(solved: Any, bounded: Any) -> dict[str, Any]:
            return document(join(parse(solved), parse(bounded)))

        return Certificates(solve, write, verify, PROVES, join=join_documents)

    def crosscheck(
        self,
        instance: Instance,
        *,
        effort: int = 1,
        seconds: float | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> CrossCheck:
        from ratiobench.bench.cluster.crosscheck import crosscheck

        return crosscheck(instance, effort, seconds, tell)

    # Online algorithms.

    @property
    def environment(self) -> Environment[Instance]:
        from ratiobench.online.cluster.run import ENVIRONMENT

        return ENVIRONMENT

    def run(self, instance: Instance, algorithm: str, prior: Any = None) -> OnlineRun:
        from ratiobench.online.cluster.run import run

        return run(instance, algorithm, prior)

    def warm(self) -> None:
        from ratiobench.online.cluster.run import ENVIRONMENT, run
        from ratiobench.online.run import list_choices

        small = ENVIRONMENT.small()
        for name in list_choices(ENVIRONMENT):
            run(small, name)
        self.solve(small, SolveSettings())

    # The theory.

    @property
    def measures(self) -> MeasureFunction:
        from ratiobench.bench.cluster.measures import measures

        return measures

    @property
    def measure_names(self) -> Sequence[str]:
        from ratiobench.bench.cluster.measures import MEASURES

        return MEASURES

    def sources(self) -> Sequence[Source]:
        from ratiobench.bench.cluster.sources import SOURCES

        return SOURCES


def _with_mean(instance: Instance, report: SolveReport) -> SolveReport:
    """The report with the interval as a mean, which people read, in its message."""
    from ratiobench.bench.cluster.measures import mean_text

    line = mean_text(instance, report.lower, report.upper)
    return replace(report, message="; ".join(filter(None, (line, report.message))))


FAMILY = ClusterFamily()
