"""Family `lora`: problem P, online scheduling and pricing of multi-LoRA fine-tuning tasks (main paper, section 2)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

from bench.family.checks import Check
from bench.family.parts import BidCurve, Hunted, HuntSettings, Statement, Step
from bench.family.suite import Listed, SolveSettings, Study, Suite
from formulations.report import SolveReport
from instances.lora.format import FORMAT, content_hash, dumps, parse
from instances.lora.model import Instance
from instances.lora.solution import Solution, parse_solution, solution_document
from online.outcome import OnlineRun

# Solvers, kernels and generators are imported where they are used, so that `list` and `check` start at once.


class LoraFamily:
    """The adapter between the commands and the family's four floors."""

    name = "lora"
    format = FORMAT
    unit = "micro-dollars"
    headline = "theorem5"
    audits = "7"

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
        """Size and load of the instance."""
        from instances.lora.fitting import load, servable

        return {
            "tasks": instance.tasks,
            "servable": int(servable(instance).sum()),
            "nodes": instance.nodes,
            "slots": instance.slots,
            "load": round(float(load(instance)), 3),
        }

    def generate(self, recipe: Mapping[str, Any]) -> Instance:
        """The instance that a recipe names."""
        from instances.lora.generate import generate

        return generate(recipe)

    def suites(self) -> Sequence[Suite]:
        """The family's suites."""
        from bench.lora.suites import suites

        return suites()

    def algorithms(self) -> Sequence[Listed]:
        """The registered online algorithms."""
        from online.lora.registry import algorithms

        return [Listed(name, summary) for name, summary in algorithms()]

    def formulations(self) -> Sequence[Listed]:
        """The formulations with their backends."""
        from formulations.lora.solve import formulations

        return [Listed(name, summary) for name, summary in formulations()]

    def traces(self) -> Sequence[Listed]:
        """The traces whose arrivals are shipped or can be read."""
        from instances.lora.arrivals import traces

        return [Listed(name, summary) for name, summary in traces()]

    def families(self) -> Sequence[Listed]:
        """The parametric families of counterexamples."""
        from instances.lora.constructions import families

        return [Listed(f"{each.name}:{','.join(each.parameters)}", each.summary) for each in families().values()]

    def member(self, text: str) -> Suite | None:
        """A member of a parametric family, with the algorithms of the suite `theory`."""
        from bench.lora.suites import member

        return member(text)

    def solve(self, instance: Instance, settings: SolveSettings, start: Solution | None = None) -> SolveReport:
        """OPT or a certified interval."""
        from formulations.lora.solve import solve

        return solve(instance, **asdict(settings), start=start)

    def solve_certified(self, instance: Instance, settings: SolveSettings) -> SolveReport:
        """OPT or an interval, with the Lagrangian bound computed for the certificate in any case."""
        from formulations.lora.solve import solve

        return solve(instance, **asdict(settings), certified=True)

    def solve_staying(self, instance: Instance, settings: SolveSettings, start: Solution | None = None) -> SolveReport:
        """The optimum with every task on one node, or a certified interval on it."""
        from formulations.lora.solve import solve

        return solve(instance, **asdict(settings), start=start, migration=False)

    def write_certificate(self, certificate: Any, path: Path) -> None:
        """The document `ratiobench/lora-certificate/2`."""
        from formulations.lora.certificate import write

        write(certificate, path)

    def check_certificate(self, instance: Instance, data: Any, source: str) -> Mapping[str, Any]:
        """Both ends recomputed by the independent checker."""
        from formulations.lora.verify import verify

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
        from online.lora.registry import run

        return run(instance, algorithm, prior=prior)

    def run_staying(self, instance: Instance, algorithm: str, prior: Instance | None = None) -> OnlineRun:
        """One run under a referee that refuses decisions on two nodes."""
        from online.lora.registry import run

        return run(instance, algorithm, prior=prior, migration=False)

    def algorithm_key(self, algorithm: str) -> str:
        """Canonical name and code version; anyone's own class must exist and can be built."""
        from online.lora.registry import buildable, canonical

        key = canonical(algorithm)
        buildable(algorithm)
        return key

    def solve_key(self, settings: SolveSettings) -> str:
        """Settings and code version of the solve."""
        from formulations.lora.solve import VERSION

        chosen = ",".join(f"{key}={value}" for key, value in asdict(settings).items() if value is not None)
        return f"{chosen} version {VERSION}"

    def audit(self, instance: Instance, run: OnlineRun, reference: SolveReport) -> Sequence[Check]:
        """The theory's claims on one run."""
        from bench.lora.theory.audit import audit

        return audit(instance, run, reference)

    def audit_claims(
        self, instance: Instance, run: OnlineRun, reference: SolveReport, claims: Collection[str]
    ) -> Sequence[Check]:
        """Some of the theory's claims on one run."""
        from bench.lora.theory.audit import audit_claims

        return audit_claims(instance, run, reference, claims)

    def measures(self, instance: Instance, run: OnlineRun, checks: Sequence[Check]) -> Mapping[str, Fraction | None]:
        """Certificate and revenue over welfare, shares of tasks served, of long ones served, of compute used."""
        from bench.lora.measures import measures

        return measures(instance, run, checks)

    def standing(self, algorithm: str) -> Mapping[str, str]:
        """The guarantee that is proved, and truthfulness."""
        from bench.lora.standing import standing

        return standing(algorithm)

    def study(self, instance: Instance, study: Study, prior: Instance | None = None) -> Sequence[Mapping[str, str]]:
        """Utility curves and charges."""
        from bench.lora.studies import study as make

        return make(instance, study, prior)

    def statements(self) -> Sequence[Statement]:
        """The paper's claims, with proofs or with their repairs, then the guarantees of the corrected mechanisms."""
        from bench.lora.theory.statements import statements

        return statements()

    def notation(self) -> Sequence[tuple[str, str]]:
        """The signs of the statements."""
        from bench.lora.theory.statements import NOTATION

        return NOTATION

    def readings(self) -> Sequence[str]:
        """How the main paper is read."""
        from bench.lora.readings import READINGS

        return READINGS

    def claims(self) -> Sequence[Listed]:
        """The claims that can be searched for."""
        from bench.lora.hunt.search import available

        return [Listed(name, target.statement) for name, target in available().items()]

    def hunt(
        self,
        claim: str,
        settings: HuntSettings,
        state: Any,
        source: str,
        keep: Callable[[Mapping[str, Any]], None],
        tell: Callable[[str], None],
    ) -> Hunted:
        """Local search over tiny instances, in exact arithmetic."""
        from bench.lora.hunt.search import hunt

        return hunt(claim, settings, state, source, keep, tell)

    def utility_curve(self, instance: Instance, algorithm: str, task: int) -> BidCurve:
        """The curve of one bidder, constants that come from the bids following the bid: exact, else by trying bids."""
        from bench.lora.theory.bidder import curve

        return curve(instance, self.run(instance, algorithm), task)

    def audit_bidder(
        self, instance: Instance, run: OnlineRun, task: int, claims: Collection[str] = ()
    ) -> Sequence[Check]:
        """Misreports of one bidder: Theorem 3 of pdFTSP, truthfulness of any other payments."""
        from bench.lora.theory.bidder import audit_bidder

        return audit_bidder(instance, run, task, claims)

    def check(self, instance: Instance, data: Any, source: str, *, migration: bool = True) -> Mapping[str, Any]:
        """Exact verification of a solution document against (4a)-(4k)."""
        from formulations.lora.check import check

        report = check(instance, parse_solution(data, source), migration=migration)
        return {
            "valid": report.valid,
            "welfare": report.welfare,
            "true_welfare": report.true_welfare,
            "revenue": report.revenue,
            "admitted": report.admitted,
            "violations": [str(violation) for violation in report.violations],
        }

    def check_staying(self, instance: Instance, data: Any, source: str) -> Mapping[str, Any]:
        """The same, and every task on one node."""
        return self.check(instance, data, source, migration=False)

    def export(self, instance: Instance, kind: str, formulation: str) -> str:
        """The model as MPS or LP text."""
        from formulations.lora.solve import export

        return export(instance, kind, formulation)

    def warm(self) -> None:
        """Compile and cache the kernels."""
        for group in self.compiling(None):
            for step in group:
                step.work()

    def compiling(self, algorithms: Collection[str] | None) -> Sequence[Sequence[Step]]:
        """What `warm` compiles, in groups for processes side by side."""
        from bench.lora.warming import compiling

        return compiling(algorithms)


FAMILY = LoraFamily()
