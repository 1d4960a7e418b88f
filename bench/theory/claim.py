"""A claim: statement, source, proof status, and its check on a case, a run on an instance with the interval on OPT."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from ratiobench.bench.family.capabilities import Claims, Statement
from ratiobench.bench.family.checks import ANOTHER, Case, Check, Verdict
from ratiobench.bench.family.explanation import Conclusion, Sentence
from ratiobench.formulations.report import SolveReport
from ratiobench.online.outcome import OnlineRun

__all__ = ["Case", "Claim", "ClaimScope", "find_claim", "make_claims"]


class CaseProtocol(Protocol):
    """What every case has: `Case` is the plain one; a family may have its own, with figures that checks share."""

    @property
    def run(self) -> OnlineRun: ...


CaseType = TypeVar("CaseType", bound=CaseProtocol)


@dataclass(frozen=True, slots=True)
class ClaimScope:
    whom: str  # in words, behind "a claim about"
    concerns: Callable[[OnlineRun], bool]
    always_shown: bool = False  # a whole audit of other runs, too, shows the claim: that it does not apply


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(Statement, Generic[CaseType]):
    about: ClaimScope = ClaimScope("every algorithm", lambda run: True)
    # Why it says nothing of a run, asked before its check; "" if it does.
    applies: Callable[[CaseType], str] = lambda case: ""
    check: Callable[[CaseType], Check] | None = None  # None if no run can show or refute it
    signs: tuple[tuple[str, str], ...] = ()  # (sign, meaning) pairs beside the family's notation

    def is_shown(self, run: OnlineRun) -> bool:
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
        return Check(self.name, Verdict.NOT_APPLICABLE, None, None, reason)


ClaimType = TypeVar("ClaimType", bound=Claim[Any])


def find_claim(claims: Sequence[ClaimType], name: str) -> ClaimType:
    return next(claim for claim in claims if claim.name == name)


def make_claims(
    claims: Sequence[Claim[CaseType]],
    version: str,
    notation: Sequence[tuple[str, str]],
    make_case: Callable[[Any, OnlineRun, SolveReport], CaseType],
) -> Claims:
    """The capability `Family.claims` from a table of claims, in the order of the audits."""

    def audit(
        instance: Any, run: OnlineRun, reference: SolveReport, names: Collection[str] | None = None
    ) -> list[Check]:
        case = make_case(instance, run, reference)
        asked = (claim for claim in claims if claim.check is not None)
        return [
            claim.check_run(case) for claim in asked if (claim.is_shown(run) if names is None else claim.name in names)
        ]

    return Claims(version, (*notation, *(sign for claim in claims for sign in claim.signs)), tuple(claims), audit)
