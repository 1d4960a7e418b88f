"""How exact comparisons become verdicts, and what claims assume of a run.

Each `explain_` function says why a claim does not apply, and "" if it does; what a run in doubles leaves open is
undecided.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ratiobench.bench.family.checks import ANOTHER, Check, Verdict
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
    left = Fraction(1) if side == welfare == 0 else None
    if welfare > 0:
        left = Fraction(side, welfare)
    reason = claim
    if verdict is Verdict.UNDECIDED:
        reason += ": the bound is undefined" if factor is None else ": the interval on OPT straddles the bound"
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


def explain_invalid(case: Case) -> str:
    return "" if case.run.valid else "the run is not valid"


def explain_outside_paper(case: Case) -> str:
    """A valid run of pdFTSP, and a task with a schedule: what all claims of the paper are about."""
    if case.trace is None:
        return f"{ANOTHER}pdFTSP"
    return explain_invalid(case) or ("" if case.facts.scheduled else "no task has a schedule")


def explain_outside_algorithm1(case: Case) -> str:
    """That, and prices that move as line 7 says."""
    return explain_outside_paper(case) or explain_half_printed(case)


def explain_not_printed(case: Case) -> str:
    """A valid run of Algorithm 1 as printed, whatever its units and constants: what Theorem 5 is about."""
    if case.trace is None:
        return f"{ANOTHER}pdFTSP"
    return explain_invalid(case) or explain_half_printed(case)


def find_failing_assumptions(case: Case) -> dict[str, str]:
    """The assumptions of the proof of Theorem 5 that fail (Lemma 2's, the paper's alpha and beta), with figures."""
    found = {}
    ends = case.bbar_range
    if ends is not None and ends[0] < 1:
        found["bbar >= 1"] = f"the least bbar over {case.basis} schedules is {_decimal(ends[0])}"
    if explain_negative_cost(case):
        found["costs >= 0"] = explain_negative_cost(case)
    for name, ratio, used, own in _constants(case):
        if used != own:
            found[f"{name} = {ratio}"] = f"{_decimal(used)} was used, {_decimal(own)} is"
    return found


def explain_outside_lemma3(case: Case) -> str:
    """The assumptions of Lemma 3, which are those of the proof of Theorem 5."""
    problem = _explain_outside_proof(case, or_larger=False)
    if problem or case.observations is None:
        return problem
    if case.bbar_range is None:
        return f"rho undefined: task {case.facts.unprofitable} has a minimal b_il <= 0, and no schedule has F > 0"
    least = case.bbar_range[0]
    return "" if least >= 1 else f"bbar >= 1 fails: least bbar over {case.basis} schedules is {_decimal(least)}"


def explain_outside_selected(case: Case) -> str:
    """The assumptions of the proofs that need bbar >= 1 on the selected schedules only."""
    return _explain_outside_proof(case, or_larger=True) or explain_small_bbar(case)


def _explain_outside_proof(case: Case, *, or_larger: bool) -> str:
    """Costs >= 0, prices that move as line 7 says, and the constants of the paper."""
    return (
        explain_outside_paper(case)
        or explain_negative_cost(case)
        or explain_half_printed(case)
        or explain_foreign_constants(case, or_larger=or_larger)
    )


def explain_outside_dual(case: Case) -> str:
    """The assumptions of Theorem 5' (a): a maximiser of (9), whatever the costs and constants."""
    return explain_outside_paper(case) or explain_no_maximiser(case)


def explain_negative_cost(case: Case) -> str:
    return "" if case.facts.negative is None else f"negative cost (task {case.facts.negative})"


def explain_no_maximiser(case: Case) -> str:
    if case.trace is not None and case.trace.search != "exact":
        return "the proof needs a maximiser of (9); search=printed is none"
    return ""


def explain_half_printed(case: Case) -> str:
    if case.trace is not None and case.trace.updates != "all":
        return "prices moved on admission only; line 7 moves them for every F > 0"
    return ""


def explain_small_bbar(case: Case) -> str:
    if case.observations is not None and case.observations.positive and case.observations.bbar_min < 1:
        return f"bbar >= 1 fails on a selected schedule: {_decimal(case.observations.bbar_min)}"
    return ""


def explain_foreign_constants(case: Case, *, or_larger: bool) -> str:
    """alpha and beta equal to (with `or_larger`: at least) max b/M and max b/r of this instance."""
    for name, _, used, own in _constants(case):
        if used < own or (used != own and not or_larger):
            return f"{name} is not this instance's: {_decimal(used)} was used, {_decimal(own)} is"
    return ""


def _constants(case: Case) -> list[tuple[str, str, Fraction, Fraction]]:
    """(name, largest ratio that it is in the paper, value in the run, value by the paper) of alpha and beta."""
    (alpha, beta), known = case.alpha_beta, case.facts
    return [("alpha", "max b/M", alpha, known.alpha), ("beta", "max b/r", beta, known.beta)]


def _decimal(value: Fraction) -> str:
    return f"{float(value):.6g}"
