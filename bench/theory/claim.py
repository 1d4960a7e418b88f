"""A claim: statement, source, proof status, and its check on a case, a run on an instance with the interval on OPT."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from ratiobench.bench.family.capabilities import Claims, Statement
from ratiobench.bench.family.checks import ANOTHER, Case, Check, Verdict
from ratiobench.bench.family.explanation import Conclusion, Sentence
from ratiobench.formulations.report import SolveReport
from ratiobench.online.outcome import OnlineRun

__all__ = ["Case", "Claim", "ClaimScope", "find_claim", "keep_by_content", "make_claims"]


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
        witness = ", ".join(f"{key} {value}" for key, value in (check.witness or {}).items())
        parts = {"Witness": witness and f"{witness}.", why: self.flaw, "Repaired": self.repaired}
        steps = [[f"{heading}: {text}"] for heading, text in parts.items() if text]
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


Instance = TypeVar("Instance")
Rest = ParamSpec("Rest")
Value = TypeVar("Value")
Maker = Callable[Concatenate[Instance, Rest], Value]


def keep_by_content(
    content_hash: Callable[[Instance], str], most: int
) -> Callable[[Maker[Instance, Rest, Value]], Maker[Instance, Rest, Value]]:
    """Keep what a function makes of an instance and further hashable arguments; at `most` of them all are dropped."""

    def keeping(make: Maker[Instance, Rest, Value]) -> Maker[Instance, Rest, Value]:
        cache: dict[tuple[Hashable, ...], Value] = {}

        @wraps(make)
        def find_or_make(instance: Instance, /, *args: Rest.args, **more: Rest.kwargs) -> Value:
            key = (content_hash(instance), *args, *more.items())
            if key not in cache:
                if len(cache) >= most:
                    cache.clear()
                cache[key] = make(instance, *args, **more)
            return cache[key]

        return find_or_make

    return keeping
