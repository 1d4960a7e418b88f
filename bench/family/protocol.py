"""A family of problems as the commands, suites and the store see it; each family registers one of these.

A family lives in ``instances/NAME``, ``formulations/NAME``, ``online/NAME`` and ``bench/NAME``; the last one's package
defines ``FAMILY: Family``. Nothing outside those folders knows a family by name: they are found by looking, and one
that lives elsewhere is named by its module in the environment variable RATIOBENCH_FAMILIES (comma-separated).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from bench.family.checks import Check
from bench.family.sense import Sense
from bench.family.suite import Listed, SolveSettings, Suite
from formulations.report import SolveReport
from online.outcome import OnlineRun


class Family(Protocol):
    """What a family offers. Instances and solutions are the family's own objects, opaque here.

    `format` is the name of its file format, `unit` the unit of its objective, `sense` which way that is better,
    `headline` the name of the check whose verdict stands beside the ratio in tables (empty: none), `audits` the version
    of all checks: stored ones of another version are made again.
    """

    name: str
    format: str
    unit: str
    sense: Sense
    headline: str
    audits: str

    def parse(self, data: Any, source: str) -> Any:
        """The instance in a decoded JSON document; InputError if it is not one."""
        ...

    def dumps(self, instance: Any) -> str:
        """The instance as the text of its file."""
        ...

    def identity(self, instance: Any) -> str:
        """SHA-256 of the instance's content."""
        ...

    def describe(self, instance: Any) -> Mapping[str, Any]:
        """Figures to show beside the instance: name, origin, tasks, nodes, slots, load, ..."""
        ...

    def generate(self, recipe: Mapping[str, Any]) -> Any:
        """The instance that a case's recipe names."""
        ...

    def suites(self) -> Sequence[Suite]:
        """The family's suites."""
        ...

    def algorithms(self) -> Sequence[Listed]:
        """The family's online algorithms."""
        ...

    def formulations(self) -> Sequence[Listed]:
        """The family's formulations, with the backends of each in the summary."""
        ...

    def traces(self) -> Sequence[Listed]:
        """The traces that drive the family's generators."""
        ...

    def families(self) -> Sequence[Listed]:
        """The parametric families of instances, with their parameters in the summary."""
        ...

    def member(self, text: str) -> Suite | None:
        """The member of a parametric family that ``NAME:KEY=VALUE,...`` names, as a suite of one case; None if NAME is
        none of them. InputError for parameters that cannot be used.
        """
        ...

    def solve(self, instance: Any, settings: SolveSettings, start: Any = None) -> SolveReport:
        """OPT or an interval on it; `start` is a solution to begin from. InputError for names that do not exist."""
        ...

    def solution_document(self, solution: Any) -> dict[str, Any]:
        """A solution as JSON values: ``{"decisions": [...]}``."""
        ...

    def solution(self, instance: Any, data: Any, source: str) -> Any:
        """The solution in a decoded solution document; InputError if it is not one."""
        ...

    def run(self, instance: Any, algorithm: str, prior: Any = None) -> OnlineRun:
        """One run under the referee; `prior` is the instance that `YESTERDAY` in the algorithm's name stands for.

        InputError for an algorithm or option that does not exist.
        """
        ...

    def algorithm_key(self, algorithm: str) -> str:
        """The algorithm's canonical name, options and code version: its part of a stored result's key."""
        ...

    def solve_key(self, settings: SolveSettings) -> str:
        """The settings and the code version of the solve: its part of a stored result's key."""
        ...

    def audit(self, instance: Any, run: OnlineRun, reference: SolveReport) -> Sequence[Check]:
        """The theory's claims on one run, against the interval on OPT."""
        ...

    def check(self, instance: Any, data: Any, source: str) -> Mapping[str, Any]:
        """Exact verification of a decoded solution file: keys ``valid welfare admitted violations`` at least."""
        ...

    def export(self, instance: Any, kind: str, formulation: str) -> str:
        """The model as MPS or LP text."""
        ...

    def warm(self) -> None:
        """Compile and cache what is compiled."""
        ...
