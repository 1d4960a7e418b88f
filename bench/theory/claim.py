"""A claim of a paper or of this project: statement, source, proof status, and its check on a run.

A family keeps a table of claims, from which audits, searches and pages take all that they print. A check gets a case: a
run on an instance with the interval on OPT. `Case` is the plain one; a family may have its own, with figures that
several checks share.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from ratiobench.bench.family.capabilities import Case, Claims, Statement
from ratiobench.bench.family.checks import ANOTHER, Check, Verdict
from ratiobench.bench.family.explanation import Conclusion, Sentence
from ratiobench.formulations.report import SolveReport
from ratiobench.online.outcome import OnlineRun

__all__ = ["Case", "CaseProtocol", "Claim", "ClaimScope", "audit", "find_claim", "make_claims"]


class CaseProtocol(Protocol):
    """What every case has."""

    @property
    def run(self) -> OnlineRun:
        """The run that is checked."""
        ...


CaseType = TypeVar("CaseType", bound=CaseProtocol)


@dataclass(frozen=True, slots=True)
class ClaimScope:
    """The runs that a claim is about.

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


EVERY_RUN = ClaimScope("every algorithm", lambda run: True)


def _always(case: Any) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(Statement, Generic[CaseType]):
    """One claim, in words and with its check.

    Parameters
    ----------
    name : of its check.
    statement : in the notation of the paper.
    source : where the paper, or this project, states it.
    standing : proof status.
    assumptions : in words, without which the check says `not applicable`.
    proof_assumes : in words, what the published proof needs and the claim does not say; its check gives a verdict all
        the same, and names what fails.
    repaired : the repaired form of a false claim; empty where nothing is to be repaired.
    about : the runs that it is about.
    applies : why it says nothing of a run, asked before its check; "" where it does. Claims that show figures all the
        same say it in their check.
    check : the claim on one run; None where no run can show or refute it.
    proof : of the standing, where there is no check.
    flaw : of a false claim that is argued for, in a sentence, which step of the argument fails.
    asked : no paper claims it of these runs: this project asks it.
    signs : (sign, meaning) pairs that only this statement has, beside the family's notation.

    Notes
    -----
    Parameters of several methods:

    case : the run that is checked, with its instance and the interval on OPT.
    """

    about: ClaimScope = EVERY_RUN
    applies: Callable[[CaseType], str] = _always
    check: Callable[[CaseType], Check] | None = None
    signs: tuple[tuple[str, str], ...] = ()

    def is_shown(self, run: OnlineRun) -> bool:
        """Whether a whole audit of the run shows the claim."""
        return self.check is not None and (self.about.always_shown or self.about.concerns(run))

    def check_run(self, case: CaseType) -> Check:
        """Check the claim on one run; `not applicable` if the claim is about other runs."""
        assert self.check is not None, f"{self.name} is settled by proof"
        if not self.is_shown(case.run):
            return self.not_applicable(f"{ANOTHER}{self.about.whom}")
        problem = self.applies(case)
        return self.not_applicable(problem) if problem else replace(self.check(case), name=self.name)

    def end_explanation(self, check: Check, why: str = "Why") -> Conclusion:
        """The end of an explained run: both sides, and the flaw of the argument under the heading `why`."""
        steps: list[Sentence] = []
        if check.witness:
            steps.append(["Witness: " + ", ".join(f"{key} {value}" for key, value in check.witness.items()) + "."])
        if self.flaw:
            steps.append([f"{why}: {self.flaw}"])
        if self.repaired:
            steps.append([f"Repaired: {self.repaired}"])
        sides: Sentence = [check.reason]
        if check.left is not None and check.right is not None:
            sign = " > " if check.status is Verdict.VIOLATED else " <= "
            sides = [check.left, sign, check.right, f" ({check.reason})"]
        return Conclusion(self.name, self.statement, self.source, str(self.standing), check.status, sides, steps)

    def not_applicable(self, reason: str) -> Check:
        """Make the check of a run to which the claim does not apply.

        Parameters
        ----------
        reason : why it does not apply.

        Returns
        -------
        A check with the verdict `not applicable`.

        Examples
        --------
        >>> from ratiobench.bench.theory.claim import Claim
        >>> claim = Claim(name="mine", statement="OPT <= 2 ALG", source="my paper", standing="proved")
        >>> claim.not_applicable("no task arrives").status.value
        'not applicable'
        """
        return Check(self.name, Verdict.NOT_APPLICABLE, None, None, reason)


ClaimType = TypeVar("ClaimType", bound=Claim[Any])


def find_claim(claims: Sequence[ClaimType], name: str) -> ClaimType:
    """The claim of this name; StopIteration without one."""
    return next(claim for claim in claims if claim.name == name)


def audit(claims: Sequence[Claim[CaseType]], case: CaseType, names: Collection[str] | None = None) -> list[Check]:
    """Check claims on one run, in the order of the table.

    Parameters
    ----------
    claims : the family's table of claims.
    case : the run, with its instance and the interval on OPT.
    names : the claims to check, without the work of the others; None for all that apply to the run.

    Returns
    -------
    The checks, in the order of the table.
    """
    return [
        claim.check_run(case)
        for claim in claims
        if claim.check is not None and (claim.is_shown(case.run) if names is None else claim.name in names)
    ]


def make_claims(
    claims: Sequence[Claim[CaseType]],
    version: str,
    notation: Sequence[tuple[str, str]],
    case: Callable[[Any, OnlineRun, SolveReport], CaseType],
) -> Claims:
    """Make the capability `Family.claims` from a table of claims.

    Parameters
    ----------
    claims : the table, in the order of the audits.
    version : of all checks; raise it with every claim that is added and every check whose outcome changes.
    notation : (sign, meaning) pairs; the claims' own signs are added to them.
    case : makes the case that checks get from (instance, run, OPT).

    Returns
    -------
    The capability.
    """

    def audit_run(
        instance: Any, run: OnlineRun, reference: SolveReport, names: Collection[str] | None = None
    ) -> list[Check]:
        return audit(claims, case(instance, run, reference), names)

    signs = (*notation, *(sign for claim in claims for sign in claim.signs))
    return Claims(version, signs, tuple(claims), audit_run)
