"""A family whose parts stand in the modules of the same names in `ratiobench`'s four packages.

Solvers, kernels and generators are imported when a member is used, so that `list` and `check` start at once.
"""

# mypy: disable-error-code="no-any-return"
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ratiobench.bench.family.contract import Family, SolutionReport
from ratiobench.bench.family.suite import NamedSummary, SolveSettings, Suite

if TYPE_CHECKING:
    from ratiobench.bench.family.capabilities import Certificates, Claims, EvaluationSupport, Explainer, MeasureFunction
    from ratiobench.bench.family.source import Source
    from ratiobench.formulations.report import SolveReport
    from ratiobench.instances.io.keys import Form
    from ratiobench.online.run import Environment


class PackagedFamily(Family):
    """What the families of this project define alike."""

    def _find(self, package: str, module: str, member: str) -> Any:
        return getattr(import_module(f"ratiobench.{package}.{self.name}.{module}"), member)

    # The problem.

    @property
    def format(self) -> str:
        return self._find("instances", "format", "FORMAT")

    def parse(self, data: Any, source: str) -> Any:
        return self._find("instances", "format", "parse")(data, source)

    def dumps(self, instance: Any) -> str:
        return self._find("instances", "format", "dumps")(instance)

    def identity(self, instance: Any) -> str:
        return self._find("instances", "format", "content_hash")(instance)

    def describe(self, instance: Any) -> Mapping[str, Any]:
        return self._find("instances", "quantities", "describe")(instance)

    def generate(self, recipe: Mapping[str, Any]) -> Any:
        return self._find("instances", "generate", "generate")(recipe)

    def recipe_forms(self) -> Sequence[Form]:
        return self._find("instances", "generate", "recipes")()

    def solution_document(self, solution: Any) -> dict[str, Any]:
        return self._find("instances", "solution", "solution_document")(solution)

    def parse_solution(self, instance: Any, data: Any, source: str) -> Any:
        return self._find("instances", "solution", "parse_solution")(data, source)

    def own_suites(self) -> Sequence[Suite]:
        return self._find("bench", "suites", "suites")()

    # The optimum.

    @property
    def solver_version(self) -> str:
        return self._find("formulations", "solve", "VERSION")

    def formulations(self) -> Sequence[NamedSummary]:
        return NamedSummary.several(self._find("formulations", "solve", "formulations")())

    def solve(self, instance: Any, settings: SolveSettings, start: Any = None) -> SolveReport:
        return self._find("formulations", "solve", "solve")(instance, **asdict(settings), start=start)

    def check_solution(self, instance: Any, solution: Any) -> SolutionReport:
        return self._find("formulations", "check", "check")(instance, solution)

    @property
    def certificates(self) -> Certificates:
        from ratiobench.bench.family.capabilities import Certificates

        def solve(instance: Any, settings: SolveSettings, start: Any = None) -> SolveReport:
            return self._find("formulations", "solve", "solve")(
                instance, **asdict(settings), start=start, certified=True
            )

        write = self._find("formulations", "certificate", "write")
        verify, proves = (self._find("formulations", "verify", member) for member in ("verify", "PROVES"))
        return Certificates(solve, write, verify, proves)

    def export(self, instance: Any, kind: str, formulation: str) -> str:
        return self._find("formulations", "solve", "export")(instance, kind, formulation)

    # Online algorithms.

    @property
    def environment(self) -> Environment[Any]:
        return self._find("online", "run", "ENVIRONMENT")

    @property
    def evaluation(self) -> EvaluationSupport:
        return self._find("bench", "evaluation", "EVALUATION")

    # The theory.

    @property
    def claims(self) -> Claims | None:
        return self._find("bench", "claims", "THEORY")

    @property
    def explainer(self) -> Explainer:
        return self._find("bench", "explanation", "EXPLAINER")

    @property
    def measures(self) -> MeasureFunction:
        return self._find("bench", "measures", "measures")

    @property
    def measure_names(self) -> Sequence[str]:
        return self._find("bench", "measures", "MEASURES")

    def sources(self) -> Sequence[Source]:
        return self._find("bench", "sources", "SOURCES")
