"""Family `edgeflow`: elastic training jobs with deadlines on cloud GPUs and on idle edge servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ratiobench.bench.family.capabilities import (
    Certificates,
    Claims,
    CompilationSteps,
    CounterexampleSearch,
    EvaluationSupport,
    Explainer,
    MeasureFunction,
    TimelineFunction,
)
from ratiobench.bench.family.contract import Family, SolutionReport
from ratiobench.bench.family.source import Source
from ratiobench.bench.family.suite import NamedSummary, SolveSettings, Suite
from ratiobench.formulations.report import SolveReport
from ratiobench.instances.io.keys import Form

if TYPE_CHECKING:
    from ratiobench.instances.edgeflow.model import Instance
    from ratiobench.instances.edgeflow.solution import Solution
    from ratiobench.online.run import Environment

# Solvers, kernels and generators are imported where they are used, so that `list` and `check` start at once.


class EdgeflowFamily(Family):
    """Elastic training jobs on cloud GPUs and on edge servers."""

    name = "edgeflow"
    unit = "jobs"
    objective = "met"
    size = ("jobs", "gpus", "windows")
    whole_values = True

    # The problem.

    @property
    def format(self) -> str:
        from ratiobench.instances.edgeflow.format import FORMAT

        return FORMAT

    def parse(self, data: Any, source: str) -> Instance:
        from ratiobench.instances.edgeflow.format import parse

        return parse(data, source)

    def dumps(self, instance: Instance) -> str:
        from ratiobench.instances.edgeflow.format import dumps

        return dumps(instance)

    def identity(self, instance: Instance) -> str:
        from ratiobench.instances.edgeflow.format import content_hash

        return content_hash(instance)

    def describe(self, instance: Instance) -> Mapping[str, Any]:
        from ratiobench.instances.edgeflow.quantities import describe

        return describe(instance)

    def generate(self, recipe: Mapping[str, Any]) -> Instance:
        from ratiobench.instances.edgeflow.generate import generate

        return generate(recipe)

    def recipe_forms(self) -> Sequence[Form]:
        from ratiobench.instances.edgeflow.generate import recipes

        return recipes()

    def traces(self) -> Sequence[NamedSummary]:
        from ratiobench.instances.edgeflow.arrivals import traces

        return NamedSummary.several(traces())

    def solution_document(self, solution: Solution) -> dict[str, Any]:
        from ratiobench.instances.edgeflow.solution import solution_document

        return solution_document(solution)

    def parse_solution(self, instance: Instance, data: Any, source: str) -> Solution:
        from ratiobench.instances.edgeflow.solution import parse_solution

        return parse_solution(data, source)

    def own_suites(self) -> Sequence[Suite]:
        from ratiobench.bench.edgeflow.suites import suites

        return suites()

    # The optimum.

    @property
    def solver_version(self) -> str:
        from ratiobench.formulations.edgeflow.solve import VERSION

        return VERSION

    def formulations(self) -> Sequence[NamedSummary]:
        from ratiobench.formulations.edgeflow.solve import formulations

        return NamedSummary.several(formulations())

    def solve(self, instance: Instance, settings: SolveSettings, start: Solution | None = None) -> SolveReport:
        from ratiobench.formulations.edgeflow.solve import solve

        return solve(instance, **asdict(settings), start=start)

    def check_solution(self, instance: Instance, solution: Solution) -> SolutionReport:
        from ratiobench.formulations.edgeflow.check import check

        return check(instance, solution)

    @property
    def certificates(self) -> Certificates:
        from ratiobench.formulations.edgeflow.certificate import write
        from ratiobench.formulations.edgeflow.verify import PROVES, verify

        def solve(instance: Instance, settings: SolveSettings, start: Solution | None = None) -> SolveReport:
            from ratiobench.formulations.edgeflow.solve import solve

            return solve(instance, **asdict(settings), start=start, certified=True)

        return Certificates(solve, write, verify, PROVES)

    def export(self, instance: Instance, kind: str, formulation: str) -> str:
        from ratiobench.formulations.edgeflow.solve import export

        return export(instance, kind, formulation)

    # Online algorithms.

    @property
    def evaluation(self) -> EvaluationSupport:
        from ratiobench.bench.edgeflow.evaluation import EVALUATION

        return EVALUATION

    @property
    def environment(self) -> Environment[Instance]:
        from ratiobench.online.edgeflow.run import ENVIRONMENT

        return ENVIRONMENT

    @property
    def compilation_steps(self) -> CompilationSteps:
        from ratiobench.bench.edgeflow.compilation import compilation_steps

        return compilation_steps

    @property
    def timeline(self) -> TimelineFunction:
        from ratiobench.bench.edgeflow.timeline import timeline

        return timeline

    # The theory.

    @property
    def claims(self) -> Claims:
        from ratiobench.bench.edgeflow.claims import THEORY

        return THEORY

    @property
    def counterexample_search(self) -> CounterexampleSearch:
        from ratiobench.bench.edgeflow.counterexample_search import COUNTEREXAMPLES

        return COUNTEREXAMPLES

    @property
    def explainer(self) -> Explainer:
        from ratiobench.bench.edgeflow.explanation import EXPLAINER

        return EXPLAINER

    @property
    def measures(self) -> MeasureFunction:
        from ratiobench.bench.edgeflow.measures import measures

        return measures

    @property
    def measure_names(self) -> Sequence[str]:
        from ratiobench.bench.edgeflow.measures import MEASURES

        return MEASURES

    def sources(self) -> Sequence[Source]:
        from ratiobench.bench.edgeflow.sources import SOURCES

        return SOURCES


FAMILY = EdgeflowFamily()
