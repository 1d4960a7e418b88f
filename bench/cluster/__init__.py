"""Family `cluster`: the jobs of a batch cluster in whole seconds; waits or slowdown are the cost, least best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from ratiobench.bench.family.contract import SolutionReport
from ratiobench.bench.family.packages import PackagedFamily
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import NamedSummary, SolveSettings
from ratiobench.instances.io.errors import InputError, explain_unknown_name
from ratiobench.instances.io.files import sha256_of

if TYPE_CHECKING:
    from ratiobench.bench.family.capabilities import Certificates
    from ratiobench.formulations.cluster.check import CheckReport
    from ratiobench.formulations.crosscheck import CrossCheck
    from ratiobench.formulations.report import SolveReport
    from ratiobench.instances.cluster.model import Instance, Schedule
    from ratiobench.instances.io.keys import Form
    from ratiobench.online.outcome import OnlineRun


class Checked(NamedTuple):
    """What the exact check says, as commands print it."""

    report: CheckReport
    jobs: int

    def document(self) -> dict[str, Any]:
        """Convert to JSON values; `welfare` is the cost."""
        valid, violations = self.report.valid, [str(violation) for violation in self.report.violations]
        cost = self.report.cost or Fraction(0)
        return {"valid": valid, "admitted": self.jobs * valid, "welfare": cost, "violations": violations}


# Solvers, kernels and generators are imported where they are used, so that `list` and `check` start at once.


class ClusterFamily(PackagedFamily):
    """A batch cluster and its jobs."""

    name = "cluster"
    unit = "units of the cost"
    objective = "cost"
    sense = Sense.LEAST
    size = ("jobs", "gpus", "pools")
    claims = None  # no paper claims anything about it

    # The problem.

    def identity(self, instance: Instance) -> str:
        content = super().identity(instance)
        return content if instance.cost == "wait" else sha256_of([content, instance.cost])

    def describe(self, instance: Instance) -> Mapping[str, Any]:
        jobs = instance.jobs
        span = int(jobs.submit.max(initial=instance.begin)) - instance.begin
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

    @property
    def solution_formats(self) -> Mapping[str, Callable[[Instance, Schedule], str]]:
        from ratiobench.instances.cluster.solution import write_swf

        return {".swf": write_swf}

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

    def solve(self, instance: Instance, settings: SolveSettings, start: Schedule | None = None) -> SolveReport:
        return _solve(instance, settings, start)

    def check_solution(self, instance: Instance, solution: Schedule) -> SolutionReport:
        from ratiobench.formulations.cluster.check import check

        return Checked(check(instance, instance.cost, solution), len(instance.jobs))

    @property
    def certificates(self) -> Certificates:
        from ratiobench.formulations.cluster.certificate import document, join, parse

        def solve(instance: Instance, settings: SolveSettings, start: Schedule | None = None) -> SolveReport:
            return _solve(instance, settings, start, certified=True)

        def join_documents(solved: Any, bounded: Any) -> dict[str, Any]:
            return document(join(parse(solved), parse(bounded)))

        return replace(super().certificates, solve=solve, join=join_documents)

    def crosscheck(
        self,
        instance: Instance,
        *,
        effort: int = 1,
        seconds: float | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> CrossCheck:
        from ratiobench.formulations.cluster.crosscheck import crosscheck

        return crosscheck(instance, effort, seconds, tell)

    # Online algorithms.

    def run(self, instance: Instance, algorithm: str, prior: Any = None) -> OnlineRun:
        from ratiobench.online.cluster.run import run

        return run(instance, algorithm, prior)

    def warm(self) -> None:
        from ratiobench.online.run import list_choices

        small = self.environment.small()
        for name in list_choices(self.environment):
            self.run(small, name)
        self.solve(small, SolveSettings())


def _solve(instance: Instance, settings: SolveSettings, start: Schedule | None, certified: bool = False) -> SolveReport:
    """Solve by the instance's cost; the message has the interval as a mean, which people read."""
    from ratiobench.bench.cluster.measures import mean_text
    from ratiobench.formulations.cluster.solve import solve

    report = solve(instance, instance.cost, **asdict(settings), start=start, certified=certified)
    mean = mean_text(instance, report.lower, report.upper)
    return replace(report, message="; ".join(filter(None, (mean, report.message))))


FAMILY = ClusterFamily()
