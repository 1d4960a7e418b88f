"""Family `eapm`: bags of tasks on heterogeneous machines, for profit per unit time (second paper)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ratiobench.bench.family.capabilities import Certificates, Claims, EvaluationSupport, Explainer, MeasureFunction
from ratiobench.bench.family.contract import Family, SolutionReport
from ratiobench.bench.family.source import Source
from ratiobench.bench.family.suite import NamedSummary, SolveSettings, Suite
from ratiobench.formulations.report import SolveReport
from ratiobench.instances.io.keys import Form

if TYPE_CHECKING:
    from ratiobench.instances.eapm.model import Instance
    from ratiobench.instances.eapm.solution import Solution
    from ratiobench.online.run import Environment

# Solvers, kernels and generators are imported where they are used, so that `list` and `check` start at once.


class EapmFamily(Family):
    """Bags of tasks on heterogeneous machines."""

    name = "eapm"
    unit = "units/s"
    objective = "profit rate"
    size = ("users", "tasks", "machines")

    # The problem.

    @property
    def format(self) -> str:
        from ratiobench.instances.eapm.format import FORMAT

        return FORMAT

    def parse(self, data: Any, source: str) -> Instance:
        from ratiobench.instances.eapm.format import parse

        return parse(data, source)

    def dumps(self, instance: Instance) -> str:
        from ratiobench.instances.eapm.format import dumps

        return dumps(instance)

    def identity(self, instance: Instance) -> str:
        from ratiobench.instances.eapm.format import content_hash

        return content_hash(instance)

    def describe(self, instance: Instance) -> Mapping[str, Any]:
        from ratiobench.instances.eapm.quantities import describe

        return describe(instance)

    def generate(self, recipe: Mapping[str, Any]) -> Instance:
        from ratiobench.instances.eapm.generate import generate

        return generate(recipe)

    def recipe_forms(self) -> Sequence[Form]:
        from ratiobench.instances.eapm.generate import recipes

        return recipes()

    def solution_document(self, solution: Solution) -> dict[str, Any]:
        from ratiobench.instances.eapm.solution import solution_document

        return solution_document(solution)

    def parse_solution(self, instance: Instance, data: Any, source: str) -> Solution:
        from ratiobench.instances.eapm.solution import parse_solution

        return parse_solution(data, source)

    def own_suites(self) -> Sequence[Suite]:
        from ratiobench.bench.eapm.suites import suites

        return suites()

    # The optimum.

    @property
    def solver_version(self) -> str:
        from ratiobench.formulations.eapm.solve import VERSION

        return VERSION

    def formulations(self) -> Sequence[NamedSummary]:
        from ratiobench.formulations.eapm.solve import formulations

        return NamedSummary.several(formulations())

    def solve(self, instance: Instance, settings: SolveSettings, start: Solution | None = None) -> SolveReport:
        from ratiobench.formulations.eapm.solve import solve

        return solve(instance, **asdict(settings), start=start)

    def check_solution(self, instance: Instance, solution: Solution) -> SolutionReport:
        from ratiobench.formulations.eapm.check import check

        return check(instance, solution)

    @property
    def certificates(self) -> Certificates:
        from ratiobench.formulations.eapm.certificate import write
        from ratiobench.formulations.eapm.verify import PROVES, verify

        def solve(instance: Instance, settings: SolveSettings, start: Solution | None = None) -> SolveReport:
            from ratiobench.formulations.eapm.solve import solve

            return solve(instance, **asdict(settings), start=start, certified=True)

        return Certificates(solve, write, verify, PROVES)

    def export(self, instance: Instance, kind: str, formulation: str) -> str:
        from ratiobench.formulations.eapm.solve import export

        return export(instance, kind, formulation)

    def warm(self) -> None:
        from ratiobench.formulations.eapm.solve import warm

        warm()
        super().warm()

    # Online algorithms.

    @property
    def evaluation(self) -> EvaluationSupport:
        from ratiobench.bench.eapm.evaluation import EVALUATION

        return EVALUATION

    @property
    def environment(self) -> Environment[Instance]:
        from ratiobench.online.eapm.run import ENVIRONMENT

        return ENVIRONMENT

    # The theory.

    @property
    def claims(self) -> Claims:
        from ratiobench.bench.eapm.claims import THEORY

        return THEORY

    @property
    def explainer(self) -> Explainer:
        from ratiobench.bench.eapm.explanation import EXPLAINER

        return EXPLAINER

    @property
    def measures(self) -> MeasureFunction:
        from ratiobench.bench.eapm.measures import measures

        return measures

    @property
    def measure_names(self) -> Sequence[str]:
        from ratiobench.bench.eapm.measures import MEASURES

        return MEASURES

    def sources(self) -> Sequence[Source]:
        from ratiobench.bench.eapm.sources import SOURCES

        return SOURCES


FAMILY = EapmFamily()
