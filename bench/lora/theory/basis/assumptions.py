"""What claims assume of a run: each function says why a claim does not apply, and "" if it does."""

from __future__ import annotations

from fractions import Fraction

from ratiobench.bench.family.checks import ANOTHER
from ratiobench.bench.lora.theory.basis.case import Case


def explain_invalid(case: Case) -> str:
    return "" if case.run.valid else "the run is not valid"


def explain_outside_paper(case: Case) -> str:
    """A valid run of pdFTSP, and a task with a schedule: what all claims of the paper are about."""
    if case.trace is None:
        return f"{ANOTHER}pdFTSP"
    if explain_invalid(case):
        return explain_invalid(case)
    return "" if case.facts.scheduled else "no task has a schedule"


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
    problem = _explain_outside_proof(case, smaller=False)
    if problem or case.observations is None:
        return problem
    if case.bbar_range is None:
        return f"rho undefined: task {case.facts.unprofitable} has a minimal b_il <= 0, and no schedule has F > 0"
    least = case.bbar_range[0]
    return "" if least >= 1 else f"bbar >= 1 fails: least bbar over {case.basis} schedules is {_decimal(least)}"


def explain_outside_selected(case: Case) -> str:
    """The assumptions of the proofs that need bbar >= 1 on the selected schedules only."""
    return _explain_outside_proof(case, smaller=True) or explain_small_bbar(case)


def _explain_outside_proof(case: Case, *, smaller: bool) -> str:
    """Costs >= 0, prices that move as line 7 says, and the constants of the paper."""
    return (
        explain_outside_paper(case)
        or explain_negative_cost(case)
        or explain_half_printed(case)
        or explain_foreign_constants(case, smaller=smaller)
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


def explain_foreign_constants(case: Case, *, smaller: bool) -> str:
    """alpha and beta equal to (with `smaller`: at least) max b/M and max b/r of this instance."""
    for name, _, used, own in _constants(case):
        if used < own or (used != own and not smaller):
            return f"{name} is not this instance's: {_decimal(used)} was used, {_decimal(own)} is"
    return ""


def _constants(case: Case) -> list[tuple[str, str, Fraction, Fraction]]:
    """(name, largest ratio that it is in the paper, value in the run, value by the paper) of alpha and beta."""
    (alpha, beta), known = case.alpha_beta, case.facts
    return [("alpha", "max b/M", alpha, known.alpha), ("beta", "max b/r", beta, known.beta)]


def _decimal(value: Fraction) -> str:
    return f"{float(value):.6g}"
