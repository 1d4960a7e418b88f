"""A claim: statement, source, proof status, and its check on a case, a run on an instance with the interval on OPT."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from ratiobench.bench.family.capabilities import Claims, Statement
from ratiobench.bench.family.checks import ANOTHER, Check, Verdict
from ratiobench.bench.family.explanation import Conclusion, Sentence
from ratiobench.formulations.report import SolveReport
from ratiobench.online.outcome import OnlineRun

__all__ = ["Case", "CaseProtocol", "Claim", "ClaimScope", "audit", "find_claim", "make_claims"]

Instance = TypeVar("Instance")


class CaseProtocol(Protocol):
    """What every case has."""

    @property
    def run(self) -> OnlineRun: ...


class Case(NamedTuple, Generic[Instance]):
    """A run on an instance, with the interval on OPT; a family may have its own, with figures that checks share."""

    instance: Instance
    run: OnlineRun
    reference: SolveReport


CaseType = TypeVar("CaseType", bound=CaseProtocol)


@dataclass(frozen=True, slots=True)
class ClaimScope:
    """The runs that a claim is about."""

    whom: str
    concerns: Callable[[OnlineRun], bool]
    always_shown: bool = False


EVERY_RUN = ClaimScope("every algorithm", lambda run: True)


def _always(case: Any) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(Statement, Generic[CaseType]):
    """One claim, in words and with its check."""

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
        return Check(self.name, Verdict.NOT_APPLICABLE, None, None, reason)


ClaimType = TypeVar("ClaimType", bound=Claim[Any])


def find_claim(claims: Sequence[ClaimType], name: str) -> ClaimType:
    return next(claim for claim in claims if claim.name == name)


def audit(claims: Sequence[Claim[CaseType]], case: CaseType, names: Collection[str] | None = None) -> list[Check]:
    """Check claims on one run, in the order of the table: those of these names, else all that apply to the run."""
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
    """The capability `Family.claims` from a table of claims, in the order of the audits."""

    def audit_run(
        instance: Any, run: OnlineRun, reference: SolveReport, names: Collection[str] | None = None
    ) -> list[Check]:
        return audit(claims, case(instance, run, reference), names)

    signs = (*notation, *(sign for claim in claims for sign in claim.signs))
    return Claims(version, signs, tuple(claims), audit_run)
