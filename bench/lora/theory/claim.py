"""What a claim is: one entry of the table `claims`, from which audits, searches and pages take all that they say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from ratiobench.bench.family.capabilities import Statement
from ratiobench.bench.family.checks import ANOTHER, Check, Verdict
from ratiobench.bench.lora.theory.basis.case import Case
from ratiobench.online.outcome import OnlineRun


class Standing(StrEnum):
    """What is known about a claim in general."""

    PROVED = "proved"
    """As stated, under the assumptions named."""
    FALSE = "false"
    """There is a shipped counterexample, or a proof."""
    PROVED_BY_T = "proved for Theorem T's"
    """Of mechanisms that Theorem T is about; of others it is asked."""


@dataclass(frozen=True, slots=True)
class About:
    """Whose runs a claim is about.

    Parameters
    ----------
    whom : in words, behind "a claim about".
    concerns : whether a run is one of them.
    always_shown : whether a whole audit shows the claim of other runs, too (then its check says that it does not
        apply, with figures of the run where it has some).
    """

    whom: str
    concerns: Callable[[OnlineRun], bool]
    always_shown: bool = False


@dataclass(frozen=True, slots=True)
class Hunt:
    """How a violation of the claim is searched for (`ratiobench.bench.lora.hunt`).

    The two sides of the claim on a sketch are measured by the function of the claim's name in
    `ratiobench.bench.lora.hunt.targets`, which stands above the theory and is looked up when a search begins.

    Parameters
    ----------
    statement : the claim in one sentence, with its source.
    algorithm : whose run is checked.
    costs : least operational cost to try: None for no costs, else 0 or a negative number.
    vendors : whether tasks may have vendors.
    raised : bids are raised until every minimal schedule has bbar >= 1: always, never (0) or once in so many starts.
    nodes : number of nodes at which to search by default.
    """

    statement: str
    algorithm: str = "pdftsp"
    costs: int | None = None
    vendors: bool = False
    raised: int = 1
    nodes: int = 1


def _always(case: Case) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One claim: what it says, who says it, what is known of it, and how it is checked.

    Parameters
    ----------
    name : of its check.
    statement : in the notation of the paper.
    source : where the paper, or this project, states it.
    standing : what is known in general.
    assumptions : in words, without which the check says `not applicable`.
    proof_assumes : in words, what the published proof needs and the claim does not say; its check gives a verdict all
        the same, and names what fails.
    repaired : what holds instead of a false claim; empty where nothing is to be repaired.
    about : whose runs it is about.
    applies : why it says nothing of a run, asked before its check; "" where it does. Claims that show figures all the
        same say it in their check.
    check : the claim on one run; None where no run can show or refute it.
    check_one : the claim about a single bidder, with much more work; None where it is not about bidders.
    proof : of the standing, where there is no check.
    flaw : of a false claim that is argued for, in a sentence, which step of the argument fails.
    hunt : how a violation is searched for; None where it is not.
    asked : nobody claims it of the runs that it is about: this project asks it.
    signs : (sign, meaning) of what stands in no other claim's statement, behind those of `notation`.
    """

    name: str
    statement: str
    source: str
    standing: Standing
    assumptions: str = "none"
    proof_assumes: str = ""
    repaired: str = ""
    about: About
    applies: Callable[[Case], str] = _always
    check: Callable[[Case], Check] | None = None
    check_one: Callable[[Case, int], Check] | None = None
    proof: str = ""
    flaw: str = ""
    hunt: Hunt | None = None
    asked: bool = False
    signs: tuple[tuple[str, str], ...] = ()

    def is_shown(self, run: OnlineRun) -> bool:
        """Whether a whole audit of the run shows the claim."""
        return self.check is not None and (self.about.always_shown or self.about.concerns(run))

    def check_run(self, case: Case) -> Check:
        """The claim on one run; `not applicable` where it is about others."""
        assert self.check is not None, f"{self.name} is settled by proof"
        if not self.is_shown(case.run):
            return self._not_applicable(f"{ANOTHER}{self.about.whom}")
        problem = self.applies(case)
        return self._not_applicable(problem) if problem else self.check(case)

    def check_bidder(self, case: Case, task: int) -> Check:
        """The claim about one bidder of a run that it is about."""
        assert self.check_one is not None, f"{self.name} is not about one bidder"
        problem = self.applies(case)
        return self._not_applicable(problem) if problem else self.check_one(case, task)

    def _not_applicable(self, reason: str) -> Check:
        return Check(self.name, Verdict.NOT_APPLICABLE, None, None, reason)

    def state(self) -> Statement:
        """The claim in words."""
        return Statement(
            self.name,
            self.statement,
            self.source,
            self.standing.value,
            self.assumptions,
            self.repaired,
            self.proof,
            self.flaw,
            self.asked,
            self.proof_assumes,
        )
