"""What a family may have besides, one protocol each; commands ask for it where they need it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from bench.family.checks import Check
from bench.family.protocol import Family
from bench.family.suite import Listed, SolveSettings, Study
from formulations.report import SolveReport
from online.outcome import OnlineRun


@runtime_checkable
class Valuing(Family, Protocol):
    """A family whose objective is not called welfare, in two words at most; no family has to."""

    objective: str


def objective(family: Family) -> str:
    """What the values of the family's solutions are called."""
    return family.objective if isinstance(family, Valuing) else "welfare"


class Step(NamedTuple):
    """Something to be compiled: its name, about how many seconds of one core it takes, and the call that does it."""

    name: str
    seconds: float
    work: Callable[[], object]


@runtime_checkable
class Compiling(Family, Protocol):
    """A family with kernels that take seconds to compile; `warm` compiles them side by side, no family has to."""

    def compiling(self, algorithms: Collection[str] | None) -> Sequence[Sequence[Step]]:
        """Steps in groups, each for a process: no two groups may compile from the same file.

        algorithms : names that are to be run, and audited; None for all there are, with all of their options.
        """
        ...


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
