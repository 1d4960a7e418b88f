"""Family `eapm`: bags of tasks on heterogeneous machines, for profit per unit time (second paper)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

from bench.family.checks import Check
from bench.family.parts import Statement
from bench.family.sense import Sense
from bench.family.suite import Listed, SolveSettings, Suite
from formulations.report import SolveReport
from instances.eapm.format import FORMAT, content_hash, dumps, parse
from instances.eapm.model import Instance
from instances.eapm.solution import Solution, parse_solution, solution_document
from online.outcome import OnlineRun

# Solvers, kernels and generators are imported where they are used, so that `list` and `check` start at once.


class EapmFamily:
    """The adapter between the commands and the family's four floors."""

    name = "eapm"
    format = FORMAT
    unit = "units/s"
    sense = Sense.MOST
    objective = "profit rate"
    headline = ""
    audits = "2"

    def parse(self, data: Any, source: str) -> Instance:
        """The instance in a decoded JSON document."""
        return parse(data, source)

    def dumps(self, instance: Instance) -> str:
        """The instance as the text of its file."""
        return dumps(instance)

    def identity(self, instance: Instance) -> str:
        """SHA-256 of the instance's content."""
        return content_hash(instance)

    def describe(self, instance: Instance) -> Mapping[str, Any]:
        """Size of the instance."""
        from instances.eapm.quantities import figures

        return figures(instance)

    def generate(self, recipe: Mapping[str, Any]) -> Instance:
        """The instance that a recipe names."""
        from instances.eapm.generate import generate

        return generate(recipe)

    def suites(self) -> Sequence[Suite]:
        """The family's suites."""
        from bench.eapm.suites import suites

        return suites()

    def algorithms(self) -> Sequence[Listed]:
        """The registered online algorithms."""
        from online.eapm.registry import algorithms

        return [Listed(name, summary) for name, summary in algorithms()]

    def formulations(self) -> Sequence[Listed]:
        """The formulations with their backends."""
        from formulations.eapm.solve import formulations

        return [Listed(name, summary) for name, summary in formulations()]

    def traces(self) -> Sequence[Listed]:
        """None: its users are drawn."""
        return []

    def families(self) -> Sequence[Listed]:
        """None."""
        return []

    def member(self, text: str) -> Suite | None:
        """None: there are no parametric families."""
        return None

    def solve(self, instance: Instance, settings: SolveSettings, start: Solution | None = None) -> SolveReport:
        """OPT or a certified interval."""
        from formulations.eapm.solve import solve

        return solve(instance, **asdict(settings), start=start)

    def solve_certified(self, instance: Instance, settings: SolveSettings) -> SolveReport:
        """OPT or an interval, with the bound by machine prices computed for the certificate in any case."""
        from formulations.eapm.solve import solve

        return solve(instance, **asdict(settings), certified=True)

    def write_certificate(self, certificate: Any, path: Path) -> None:
        """The document `ratiobench/eapm-certificate/1`."""
        from formulations.eapm.certificate import write

        write(certificate, path)

    def check_certificate(self, instance: Instance, data: Any, source: str) -> Mapping[str, Any]:
        """Both ends recomputed by the independent checker."""
        from formulations.eapm.verify import verify

        verdict = verify(instance, data, source)
        return {
            "valid": verdict.valid,
            "lower": verdict.certificate.lower,
            "upper": verdict.certificate.upper,
            "problem": verdict.problem or None,
        }

    def solution_document(self, solution: Solution) -> dict[str, Any]:
        """A solution as JSON values."""
        return solution_document(solution)

    def solution(self, instance: Instance, data: Any, source: str) -> Solution:
        """The solution in a decoded document; only its shape is judged."""
        return parse_solution(data, source)

    def run(self, instance: Instance, algorithm: str, prior: Instance | None = None) -> OnlineRun:
        """One run under the referee."""
        from online.eapm.run import run

        return run(instance, algorithm, prior=prior)

    def algorithm_key(self, algorithm: str) -> str:
        """Canonical name and code version; anyone's own class must exist and can be built."""
        from online.eapm.registry import REGISTRY, canonical
        from online.referee.isolation import require_buildable

        key = canonical(algorithm)
        require_buildable(REGISTRY, algorithm)
        return key

    def solve_key(self, settings: SolveSettings) -> str:
        """Settings and code version of the solve."""
        from formulations.eapm.solve import VERSION

        chosen = ",".join(f"{key}={value}" for key, value in asdict(settings).items() if value is not None)
        return f"{chosen} version {VERSION}"

    def audit(self, instance: Instance, run: OnlineRun, reference: SolveReport) -> Sequence[Check]:
        """The paper's claims about its algorithm, in the reading of this run."""
        from bench.eapm.claims import audit

        return audit(instance, run)

    def statements(self) -> Sequence[Statement]:
        """The paper's claims in words."""
        from bench.eapm.claims import STATEMENTS

        return STATEMENTS

    def notation(self) -> Sequence[tuple[str, str]]:
        """The signs of the statements."""
        from bench.eapm.claims import NOTATION

        return NOTATION

    def measures(self, instance: Instance, run: OnlineRun, checks: Sequence[Check]) -> Mapping[str, Fraction | None]:
        """Energy and makespan against their least, and how often the printed equations go wrong."""
        from bench.eapm.measures import measures

        return measures(instance, run)

    def check(self, instance: Instance, data: Any, source: str) -> Mapping[str, Any]:
        """Exact verification of a solution document against (5)-(7)."""
        from formulations.eapm.check import check

        report = check(instance, parse_solution(data, source))
        return {
            "valid": report.valid,
            "welfare": report.value,
            "profit": report.profit,
            "energy_cost": report.energy_cost,
            "makespan_ms": report.makespan_ms,
            "admitted": report.placed,
            "violations": [str(violation) for violation in report.violations],
        }

    def export(self, instance: Instance, kind: str, formulation: str) -> str:
        """The model as MPS or LP text."""
        from formulations.eapm.solve import export

        return export(instance, kind, formulation)

    def warm(self) -> None:
        """Compile and cache the kernels."""
        from formulations.eapm import solve
        from online.eapm.run import GAME
        from online.run import warm

        solve.warm()
        warm(GAME)


FAMILY = EapmFamily()
