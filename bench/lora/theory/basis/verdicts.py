"""How exact comparisons become verdicts; what a run in doubles leaves open is undecided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ratiobench.bench.family.checks import Check, Verdict
from ratiobench.bench.lora.theory.basis.case import Case, Figures
from ratiobench.bench.lora.theory.basis.facts import ROUNDING
from ratiobench.formulations.report import Exact

CLOSE = "float prices: the two sides are closer than rounding"


def compare(
    case: Case,
    left: Fraction | int | None,
    right: Fraction | int | None,
    reason: str = "",
    *,
    problem: str = "",
    witness: Mapping[str, Any] | None = None,
    figures: Figures | None = None,
    scale: Fraction | int | None = None,
) -> Check:
    """The check of left <= right, both exact; sides that are None say that nothing stands against the claim."""
    sides = None if left is None else Fraction(left), None if right is None else Fraction(right)
    shown = figures or {}
    if problem:
        return Check("", Verdict.NOT_APPLICABLE, *sides, problem, None, shown)
    first, second = (side or Fraction(0) for side in sides)
    if sides == (None, None):
        scale = 0
    doubt = _doubt(case, first, second, abs(first) + abs(second) if scale is None else scale)
    if doubt:
        return Check("", Verdict.UNDECIDED, *sides, doubt, None, shown)
    violated = None not in sides and first > second
    verdict = Verdict.VIOLATED if violated else Verdict.HOLDS
    return Check("", verdict, *sides, reason, witness if violated else None, shown)


def leave_open(case: Case, reason: str, figures: Figures | None = None) -> Check:
    """The check of a claim that was not followed to its end."""
    doubt = _doubt(case, Fraction(0), Fraction(0), 0)
    return Check("", Verdict.UNDECIDED, None, None, doubt or reason, None, figures or {})


def compare_optimum(case: Case, claim: str, bound: Fraction) -> Check:
    """The check of OPT <= bound, with the interval on OPT."""
    if case.lower <= bound < case.upper:
        reason = f"{claim}: the interval on OPT straddles the bound"
        check = leave_open(case, reason, case.figures())
        return replace(check, left=Fraction(case.upper), right=bound)
    side = case.lower if case.lower > bound else case.upper
    witness = {"opt_lower": case.lower, "bound": str(bound)}
    return compare(case, side, bound, claim, witness=witness, figures=case.figures())


def compare_ratio(
    case: Case, claim: str, welfare: Exact, factor: Fraction | None, problem: str, figures: Figures
) -> Check:
    """The check of OPT <= factor * welfare; a None, undefined, factor decides only what holds with every factor."""
    if problem:
        left = figures["ratio_upper"]
        left = left if isinstance(left, Fraction) else None
        right = None if case.trace is None else factor  # a bound on pdFTSP says nothing of others
        return Check("", Verdict.NOT_APPLICABLE, left, right, problem, None, figures)
    bound = Fraction(0) if factor is None else factor * welfare
    # The lower end of OPT decides against the claim, the upper end for it.
    verdict = Verdict.UNDECIDED
    if case.upper <= bound and (factor is not None or welfare >= 0):
        verdict = Verdict.HOLDS
    elif case.lower > bound and (factor is not None or welfare <= 0):
        verdict = Verdict.VIOLATED
    side = case.lower if verdict is Verdict.VIOLATED else case.upper
    if welfare > 0:
        left = Fraction(side, welfare)
    else:
        left = Fraction(1) if side == 0 == welfare else None
    reason = claim
    if verdict is Verdict.UNDECIDED:
        open_ = "the bound is undefined" if factor is None else "the interval on OPT straddles the bound"
        reason = f"{claim}: {open_}"
    elif factor is None:
        reason = f"{claim}: the bound is undefined, and the verdict is the same with any"
    elif left is None:
        reason = f"{claim}: the algorithm's side is {welfare}, the ratio is unbounded"
    doubt = _doubt(case, Fraction(side), bound, side + bound)
    if doubt and verdict is not Verdict.UNDECIDED:
        verdict, reason = Verdict.UNDECIDED, doubt
    witness = {"opt_lower": case.lower, "welfare": welfare} if verdict is Verdict.VIOLATED else None
    return Check("", verdict, left, factor, reason, witness, figures)


def _doubt(case: Case, left: Fraction, right: Fraction, scale: Fraction | int) -> str:
    """Why a run in doubles may have decided otherwise than the algorithm that the theorem is about."""
    if case.trace is None or case.trace.exact or case.observations is None:
        return ""
    if case.observations.doubtful is not None:
        return f"float prices: F of task {case.observations.doubtful} is within rounding of 0"
    if scale and abs(left - right) <= Fraction(ROUNDING) * scale:
        return CLOSE
    return ""
