"""Family `tenants`: jobs of many tenants on GPUs of several types; lateness, time and money in one cost, least best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ratiobench.bench.family.capabilities import Certificates, Claims, EvaluationSupport, Explainer, MeasureFunction
from ratiobench.bench.family.contract import Family, SolutionReport
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.source import Source
from ratiobench.bench.family.suite import NamedSummary, SolveSettings, Suite
from ratiobench.formulations.report import SolveReport
from ratiobench.instances.io.keys import Form

if TYPE_CHECKING:
    from ratiobench.instances.tenants.model import Instance
    from ratiobench.instances.tenants.solution import Solution
    from ratiobench.online.run import Environment

# Solvers, kernels and generators are imported where they are used, so that `list` and `check` start at once.


class TenantsFamily(Family):
    """Jobs of many tenants on GPUs of several types."""

    name = "tenants"
    unit = "1/100 micro-dollar"
    objective = "cost"
    sense = Sense.LEAST
    size = ("jobs", "gpus", "types")
    whole_values = True
    dollars = Fraction(1, 10**8)

    # The problem.

    @property
    def format(self) -> str:
        from ratiobench.instances.tenants.format import FORMAT

        return FORMAT

    def parse(self, data: Any, source: str) -> Instance:
        from ratiobench.instances.tenants.format import parse

        return parse(data, source)

    def dumps(self, instance: Instance) -> str:
        from ratiobench.instances.tenants.format import dumps

        return dumps(instance)

    def identity(self, instance: Instance) -> str:
        from ratiobench.instances.tenants.format import content_hash

        return content_hash(instance)

    def describe(self, instance: Instance) -> Mapping[str, Any]:
        from ratiobench.instances.tenants.quantities import describe

        return describe(instance)

    def generate(self, recipe: Mapping[str, Any]) -> Instance:
        from ratiobench.instances.tenants.generate import generate

        return generate(recipe)

    def recipe_forms(self) -> Sequence[Form]:
        from ratiobench.instances.tenants.generate import recipes

        return recipes()

    def solution_document(self, solution: Solution) -> dict[str, Any]:
        from ratiobench.instances.tenants.solution import solution_document

        return solution_document(solution)

    def parse_solution(self, instance: Instance, data: Any, source: str) -> Solution:
        from ratiobench.instances.tenants.solution import parse_solution

        return parse_solution(data, source)

    def own_suites(self) -> Sequence[Suite]:
        from ratiobench.bench.tenants.suites import suites

        return suites()

    # The optimum.

    @property
    def solver_version(self) -> str:
        from ratiobench.formulations.tenants.solve import VERSION

        return VERSION

    def formulations(self) -> Sequence[NamedSummary]:
        from ratiobench.formulations.tenants.solve import formulations

        return NamedSummary.several(formulations())

    def solve(self, instance: Instance, settings: SolveSettings, start: Solution | None = None) -> SolveReport:
        from ratiobench.formulations.tenants.solve import solve

        return solve(instance, **asdict(settings), start=start)

    def check_solution(self, instance: Instance, solution: Solution) -> SolutionReport:
        from ratiobench.formulations.tenants.check import check

        return check(instance, solution)

    @property
    def certificates(self) -> Certificates:
        from ratiobench.formulations.tenants.certificate import write
        from ratiobench.formulations.tenants.verify import PROVES, verify

        def solve(instance: Instance, settings: SolveSettings, start: Solution | None = None) -> SolveReport:
            from ratiobench.formulations.tenants.solve import solve

            return solve(instance, **asdict(settings), start=start, certified=True)

        return Certificates(solve, write, verify, PROVES)

    def export(self, instance: Instance, kind: str, formulation: str) -> str:
        from ratiobench.formulations.tenants.solve import export

        return export(instance, kind, formulation)

    def warm(self) -> None:
        from ratiobench.formulations.tenants.solve import warm

        warm()
        super().warm()

    # Online algorithms.

    @property
    def evaluation(self) -> EvaluationSupport:
        from ratiobench.bench.tenants.evaluation import EVALUATION

        return EVALUATION

    @property
    def environment(self) -> Environment[Instance]:
        from ratiobench.online.tenants.run import ENVIRONMENT

        return ENVIRONMENT

    # The theory.

    @property
    def claims(self) -> Claims:
        from ratiobench.bench.tenants.claims import THEORY

        return THEORY

    @property
    def explainer(self) -> Explainer:
        from ratiobench.bench.tenants.explanation import EXPLAINER

        return EXPLAINER

    @property
    def measures(self) -> MeasureFunction:
        from ratiobench.bench.tenants.measures import measures

        return measures

    @property
    def measure_names(self) -> Sequence[str]:
        from ratiobench.bench.tenants.measures import MEASURES

        return MEASURES

    def sources(self) -> Sequence[Source]:
        from ratiobench.bench.tenants.sources import SOURCES

        return SOURCES


FAMILY = TenantsFamily()
