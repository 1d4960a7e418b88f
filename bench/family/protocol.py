"""A family of problems as the commands, suites and the store see it; each family registers one of these.

A family lives in ``instances/NAME``, ``formulations/NAME``, ``online/NAME`` and ``bench/NAME``; the last one's package
defines ``FAMILY: Family``. Nothing outside those folders knows a family by name: they are found by looking, and one
that lives elsewhere is named by its module in the environment variable RATIOBENCH_FAMILIES (comma-separated).
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import instances
from bench.family.checks import Check
from formulations.report import SolveReport
from instances.errors import InputError, shown
from online.outcome import OnlineRun


@dataclass(frozen=True, slots=True)
class Listed:
    """A name and the one sentence that `list` prints beside it."""

    name: str
    summary: str


@dataclass(frozen=True, slots=True)
class SolveSettings:
    """How hard to look for OPT.

    Parameters
    ----------
    formulation, backend : names, or ``auto``.
    effort : work units (never seconds), the same figures on any machine.
    gap : relative gap at which to stop early.
    seconds : a time limit by hand; marks the report `time_limited`.
    """

    formulation: str = "auto"
    backend: str = "auto"
    effort: int = 1
    gap: float = 0.0
    seconds: float | None = None


YESTERDAY = "prior=yesterday"
"""In an algorithm's name: its constants come from the case's `prior`, an instance other than the one under test."""


@dataclass(frozen=True, slots=True)
class Study:
    """A table about one algorithm on one instance beside its run, for a figure.

    Parameters
    ----------
    kind : what the family makes: ``curve``, ``charges``, ...
    algorithm : name with options.
    task : whom it is about; None for all.
    """

    kind: str
    algorithm: str
    task: int | None = None

    @property
    def name(self) -> str:
        """What identifies it on an instance, but for the algorithm's version."""
        return f"{self.kind} {'' if self.task is None else f'task {self.task} '}{self.algorithm}"


@dataclass(frozen=True, slots=True)
class Case:
    """One instance of a suite with what is run on it.

    Parameters
    ----------
    name : unique in the suite.
    group : cases of one group are comparable; means are taken within a group.
    recipe : what `Family.generate` needs to make the instance (JSON values).
    algorithms : names with options, in the order of the table.
    solve : the settings of the reference.
    prior : recipe of the instance from which algorithms named with `YESTERDAY` take their constants.
    studies : tables to be made beside the runs.
    """

    name: str
    recipe: Mapping[str, Any]
    algorithms: tuple[str, ...]
    solve: SolveSettings = SolveSettings()
    group: str = "all"
    prior: Mapping[str, Any] | None = None
    studies: tuple[Study, ...] = ()


@dataclass(frozen=True, slots=True)
class Printed:
    """A figure that a paper prints: in this group, by how many percent `algorithm` is better than `than`."""

    group: str
    algorithm: str
    than: str
    percent: str


@dataclass(frozen=True, slots=True)
class PrintedMean:
    """A figure that a paper prints: the mean of `algorithm` in this group, in the family's unit, as it is printed."""

    group: str
    algorithm: str
    value: str


@dataclass(frozen=True, slots=True)
class Plot:
    """A figure of a suite's page.

    Parameters
    ----------
    name : of its files and its place on the page.
    title : its heading.
    kind : ``welfare``, ``reached``, ``ratio``, ``revenue``, ``admitted``, ``seconds`` (per task, of all that a run
        takes), ``deciding`` (seconds of all decisions of a run, with what the referee does between
        them), or a measure of the family: means over the cases of each group, with their 95 % intervals; or ``curve``,
        ``charges`` (the studies of the cases of the groups).
    groups : places on its axis, in order.
    axis : what the groups vary.
    algorithms : whom it shows; empty for all.
    printed, printed_means : what the paper prints for it.
    note : a sentence below it.
    hindsight : (label, algorithms): of these, the one with the largest welfare of each case, known only afterwards, is
        shown under the label.
    """

    name: str
    title: str
    kind: str
    groups: tuple[str, ...]
    axis: str
    algorithms: tuple[str, ...] = ()
    printed: tuple[Printed, ...] = ()
    note: str = ""
    hindsight: tuple[tuple[str, tuple[str, ...]], ...] = ()
    printed_means: tuple[PrintedMean, ...] = ()


@dataclass(frozen=True, slots=True)
class Suite:
    """A named list of cases.

    Parameters
    ----------
    name, summary : for `list` and the page.
    cases : in the order of the tables.
    plots : figures made of them beside those that every suite has.
    small : the same groups at a small scale (`run --scale small`); empty where there is no such scale.
    """

    name: str
    summary: str
    cases: tuple[Case, ...]
    plots: tuple[Plot, ...] = ()
    small: tuple[Case, ...] = ()


class Family(Protocol):
    """What a family offers. Instances and solutions are the family's own objects, opaque here.

    `format` is the name of its file format, `unit` the unit of its welfare, `headline` the name of the check whose
    verdict stands beside the ratio in tables (empty: none), `audits` the version of all checks: stored ones of another
    version are made again.
    """

    name: str
    format: str
    unit: str
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


@runtime_checkable
class Valuing(Family, Protocol):
    """A family whose objective is not called welfare, in two words at most; no family has to."""

    objective: str


def objective(family: Family) -> str:
    """What the values of the family's solutions are called."""
    return family.objective if isinstance(family, Valuing) else "welfare"


@runtime_checkable
class Certifying(Family, Protocol):
    """A family whose intervals on OPT can have certificates; commands ask with isinstance, no family has to."""

    def solve_certified(self, instance: Any, settings: SolveSettings) -> SolveReport:
        """As `solve`, with whatever more work the report's `certificate` needs; None in it when none could be had."""
        ...

    def write_certificate(self, certificate: Any, path: Path) -> None:
        """Write the certificate of a report to a file, whole or not at all."""
        ...

    def check_certificate(self, instance: Any, data: Any, source: str) -> Mapping[str, Any]:
        """Exact verification of a decoded certificate, by code of its own: ``valid lower upper problem`` at least.

        `problem` is the first thing wrong, in one line, None when valid; InputError if it is no certificate at all.
        """
        ...


@runtime_checkable
class Staying(Family, Protocol):
    """A family whose tasks may move from node to node, and can be kept from it (`--no-migration`); no family has to."""

    def solve_staying(self, instance: Any, settings: SolveSettings, start: Any = None) -> SolveReport:
        """As `solve`: the optimum with every task on one node, or an interval on it."""
        ...

    def run_staying(self, instance: Any, algorithm: str, prior: Any = None) -> OnlineRun:
        """As `run`, under a referee that refuses decisions on two nodes; InputError for an algorithm that cannot."""
        ...

    def check_staying(self, instance: Any, data: Any, source: str) -> Mapping[str, Any]:
        """As `check`, with the constraint that a task stays on one node."""
        ...


@dataclass(frozen=True, slots=True)
class HuntSettings:
    """How far a search for a counterexample goes.

    Parameters
    ----------
    tasks, slots, nodes : at most so many; nodes None: the claim's own default.
    largest : the largest number in an instance.
    seed : of everything random.
    tries : instances tried in all, those of an interrupted search included; None for no limit.
    seconds : a time limit by hand; the result then depends on the machine.
    smaller : go on after the first violation, for one with fewer tasks, until a limit is reached.
    """

    tasks: int = 6
    slots: int = 5
    nodes: int | None = None
    largest: int = 200
    seed: int = 0
    tries: int | None = None
    seconds: float | None = None
    smaller: bool = False


@dataclass(frozen=True, slots=True)
class Hunted:
    """What a search for a counterexample found.

    Parameters
    ----------
    claim, statement, algorithm : what was searched for, and whose runs were looked at.
    violated : whether the claim is violated on `instance`.
    tries, fresh : instances tried in all, and in this run of the search.
    seconds : of this run.
    left, right : the two sides of the claim left <= right on `instance`; None where no instance had any.
    score : how close: above 1 when violated.
    instance : the witness, or the closest.
    check : the audit's verdict on it; None where the audit has no check of this name.
    """

    claim: str
    statement: str
    algorithm: str
    violated: bool
    tries: int
    fresh: int
    seconds: float
    left: Fraction | None = None
    right: Fraction | None = None
    score: Fraction | None = None
    instance: Any = None
    check: Check | None = None


@runtime_checkable
class Hunting(Family, Protocol):
    """A family that can look for instances that violate a claim; commands ask with isinstance, no family has to."""

    def claims(self) -> Sequence[Listed]:
        """The claims that can be searched for."""
        ...

    def hunt(
        self,
        claim: str,
        settings: HuntSettings,
        state: Any,
        source: str,
        keep: Callable[[Mapping[str, Any]], None],
        tell: Callable[[str], None],
    ) -> Hunted:
        """Search, from the state of an earlier search (None: from the start; `source` names its file).

        `keep` is called with the state (JSON values) after every improvement and at the end, `tell` with a line of
        progress about once a second. InputError for a claim or state that cannot be used.
        """
        ...


@runtime_checkable
class Ranking(Family, Protocol):
    """A family that says what is known of its algorithms, for leaderboards; no family has to."""

    def standing(self, algorithm: str) -> Mapping[str, str]:
        """What is proved or known, by heading: ``guarantee``, ``truthful``, ...; the same headings for all."""
        ...


@runtime_checkable
class Measuring(Family, Protocol):
    """A family with figures about a run beside its welfare; no family has to."""

    def measures(self, instance: Any, run: OnlineRun, checks: Sequence[Check]) -> Mapping[str, Fraction | None]:
        """Exact figures by name, the same names for every run; None where one is undefined. Versioned by `audits`.

        `checks` are the run's audits.
        """
        ...


@runtime_checkable
class Studying(Family, Protocol):
    """A family that makes tables about algorithms for figures; no family has to."""

    def study(self, instance: Any, study: Study, prior: Any = None) -> Sequence[Mapping[str, str]]:
        """The rows of a study, all with the same keys, exact figures; InputError for one that cannot be made."""
        ...


@dataclass(frozen=True, slots=True)
class Statement:
    """A claim in words: one that audits check, or one that no run can show and a proof settles.

    Parameters
    ----------
    name : of its check.
    statement, source : the claim, and who makes it.
    standing : what is known about it in general: ``proved``, ``false``, ...
    assumptions : without which its check says `not applicable`.
    repaired : what holds instead; empty where nothing is to be repaired.
    proof : of the standing, in a few sentences, where no check is made; empty for a claim that audits check.
    """

    name: str
    statement: str
    source: str
    standing: str
    assumptions: str
    repaired: str
    proof: str = ""


@runtime_checkable
class Claiming(Family, Protocol):
    """A family whose checks are claims of papers, with a page on what holds; no family has to."""

    def statements(self) -> Sequence[Statement]:
        """Those settled by proof, then those that audits check, in the order of the audits."""
        ...


@runtime_checkable
class Interpreting(Family, Protocol):
    """A family that says how it reads its paper where that can be read in more than one way; no family has to."""

    def readings(self) -> Sequence[str]:
        """A sentence or two each, for the page."""
        ...


@runtime_checkable
class Explaining(Family, Protocol):
    """A family that says what the signs in its statements mean; no family has to."""

    def notation(self) -> Sequence[tuple[str, str]]:
        """(sign, meaning) pairs, in the order in which they are best read."""
        ...


@runtime_checkable
class Selecting(Family, Protocol):
    """A family that can check some of its claims without the work of the others; no family has to."""

    def audit_claims(
        self, instance: Any, run: OnlineRun, reference: SolveReport, claims: Collection[str]
    ) -> Sequence[Check]:
        """The checks of these names of statements; of one that is about another algorithm that it does not apply."""
        ...


@dataclass(frozen=True, slots=True)
class BidCurve:
    """One bidder's outcome, payment and utility over its bid.

    Parameters
    ----------
    rows : one per piece, all with the same keys, the last of them ``known``: `exact` or `tried`.
    note : how the rows were found and what they leave open, where they are not exact; else empty.
    """

    rows: Sequence[Mapping[str, str]]
    note: str = ""


@runtime_checkable
class Bidding(Family, Protocol):
    """A family whose algorithms can be auctions; commands ask with isinstance, no family has to."""

    def utility_curve(self, instance: Any, algorithm: str, task: int) -> BidCurve:
        """One bidder's outcome, payment and utility: of every bid, or of as many as are tried.

        InputError for a task that does not exist and an algorithm that is no auction.
        """
        ...

    def audit_bidder(self, instance: Any, run: OnlineRun, task: int, claims: Collection[str] = ()) -> Sequence[Check]:
        """What one bidder gains by misreporting, with more work than an audit of all has; of these claims, if any.

        InputError for a task that does not exist.
        """
        ...


@lru_cache(maxsize=1)
def families() -> Mapping[str, Family]:
    """All families, by name: the `bench.NAME` of every package `instances.NAME`, and those named by the environment."""
    modules = sorted(f"bench.{module.name}" for module in pkgutil.iter_modules(instances.__path__) if module.ispkg)
    modules += [name.strip() for name in os.environ.get("RATIOBENCH_FAMILIES", "").split(",") if name.strip()]
    found: dict[str, Family] = {}
    for module in modules:
        family = getattr(importlib.import_module(module), "FAMILY", None)
        if family is not None:
            if family.name in found:
                raise InputError(module, "FAMILY.name", f"{family.name!r} is the name of another family")
            found[family.name] = family
    return found


def find_suite(name: str) -> tuple[Family, Suite]:
    """The suite of this name, or of the member of a parametric family that it names, and its family.

    Raises
    ------
    InputError : when there is none.
    """
    known = {suite.name: (family, suite) for family in families().values() for suite in family.suites()}
    if name not in known:
        for family in families().values():
            member = family.member(name)
            if member is not None:
                return family, member
        raise InputError("suite", "", f"{shown(name)} is not one of {', '.join(sorted(known))}")
    return known[name]


def family_of_format(name: object) -> Family | None:
    """The family whose file format has this name."""
    return next((family for family in families().values() if family.format == name), None)


def read_instance(document: object, source: str) -> tuple[Family, Any]:
    """The instance in a decoded document, and its family, known by the format that it names.

    Raises
    ------
    InputError : no object, no known format, no instance.
    """
    if not isinstance(document, Mapping):
        raise InputError(source, "document", f"{shown(document)} is not an object")
    if "format" not in document:
        raise InputError(source, "format", "the field is missing")
    family = family_of_format(document["format"])
    if family is None:
        known = ", ".join(repr(each.format) for each in families().values())
        raise InputError(source, "format", f"{shown(document['format'])} is not one of {known}")
    return family, family.parse(document, source)
