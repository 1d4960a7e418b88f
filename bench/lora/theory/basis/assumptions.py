"""What claims assume of a run: each function says why a claim does not apply, and nothing ("") where it does."""

from __future__ import annotations

from fractions import Fraction

from bench.family.checks import ANOTHER
from bench.lora.theory.basis.case import Case


def invalid(case: Case) -> str:
    """A valid run."""
    return "" if case.run.valid else "the run is not valid"


def outside_paper(case: Case) -> str:
    """A valid run of pdFTSP, and a task with a schedule: what all claims of the paper are about."""
    if case.trace is None:
        return f"{ANOTHER}pdFTSP"
    if invalid(case):
        return invalid(case)
    return "" if case.known.scheduled else "no task has a schedule"


def outside_algorithm1(case: Case) -> str:
    """That, and prices that move as line 7 says."""
    return outside_paper(case) or half_printed(case)


def outside_theorem5(case: Case) -> str:
    """The assumptions of Lemma 3 and Theorem 5, as printed."""
    problem = outside_paper(case) or negative_cost(case) or half_printed(case) or foreign_constants(case, smaller=False)
    if problem or case.seen is None:
        return problem
    if case.rho is None:
        return f"rho undefined: task {case.known.unprofitable} has a minimal b_il <= 0, and no schedule has F > 0"
    least = case.known.bbar_min if case.basis == "minimal" else case.seen.bbar_min
    return "" if least >= 1 else f"bbar >= 1 fails: least bbar over {case.basis} schedules is {_decimal(least)}"


def outside_selected(case: Case) -> str:
    """The assumptions of the proofs that need bbar >= 1 on the selected schedules only."""
    problem = outside_paper(case) or negative_cost(case) or half_printed(case) or foreign_constants(case, smaller=True)
    return problem or small_bbar(case)


def outside_dual(case: Case) -> str:
    """The assumptions of Theorem 5' (a): a maximiser of (9), whatever the costs and constants."""
    return outside_paper(case) or no_maximiser(case)


def negative_cost(case: Case) -> str:
    """Costs >= 0."""
    return "" if case.known.negative is None else f"negative cost (task {case.known.negative})"


def no_maximiser(case: Case) -> str:
    """A search that finds a schedule of the largest F."""
    if case.trace is not None and case.trace.search != "exact":
        return "the proof needs a maximiser of (9); search=printed is none"
    return ""


def half_printed(case: Case) -> str:
    """Prices that move for every F > 0."""
    if case.trace is not None and case.trace.updates != "all":
        return "prices moved on admission only; line 7 moves them for every F > 0"
    return ""


def small_bbar(case: Case) -> str:
    """bbar >= 1 on every schedule with F > 0."""
    if case.seen is not None and case.seen.positive and case.seen.bbar_min < 1:
        return f"bbar >= 1 fails on a selected schedule: {_decimal(case.seen.bbar_min)}"
    return ""


def foreign_constants(case: Case, *, smaller: bool) -> str:
    """alpha and beta equal to (with `smaller`: at least) max b/M and max b/r of this instance."""
    for name, used, own in zip(("alpha", "beta"), case.used, (case.known.alpha, case.known.beta), strict=True):
        if used < own or (used != own and not smaller):
            return f"{name} is not this instance's: {_decimal(used)} was used, {_decimal(own)} is"
    return ""


def _decimal(value: Fraction) -> str:
    return f"{float(value):.6g}"
