"""What the paper claims, and what holds instead: one object per claim, each with its check.

The order is the paper's: lemmas and theorems as printed, each followed by the form that can be proved; then what the
paper leaves open about capacity and money. Units are those of the run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from bench.checks import Check
from bench.lora import lemma4, theorem5, truth
from bench.lora.case import Case, Figures
from online.lora.referee import play
from online.lora.registry import parse
from online.outcome import OnlineRun


class Standing(StrEnum):
    """What is known about a claim in general."""

    PROVED = "proved"
    """As stated, under the assumptions named."""
    FALSE = "false"
    """There is a shipped counterexample."""
    OPEN = "a property of runs"
    """Neither claimed nor proved: true of some runs."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim.

    Parameters
    ----------
    name : of its check.
    statement : in the notation of the paper.
    source : where the paper, or this project, states it.
    standing : what is known in general.
    assumptions : without which the check says `not applicable`.
    repaired : what holds instead of a false claim; empty where nothing is to be repaired.
    check : the claim on one run.
    """

    name: str
    statement: str
    source: str
    standing: Standing
    assumptions: str
    repaired: str
    check: Callable[[Case], Check]


def lemma1(case: Case) -> Check:
    """D^I <= (1 + A) P~."""
    claim = "D^I <= (1+A) P~"
    problem = case.problem()
    if problem or case.seen is None:
        return case.decide("lemma1", None, None, claim, problem=problem)
    almost = case.seen.almost_feasible
    bound = (1 + max(case.used)) * almost
    figures: Figures = {"d_printed": case.printed_dual, "almost_feasible_welfare": almost, "A": max(case.used)}
    witness = {"d_printed": str(case.printed_dual), "almost_feasible_welfare": almost}
    return case.decide("lemma1", case.printed_dual, bound, claim, problem=problem, witness=witness, figures=figures)


def lemma2(case: Case) -> Check:
    """F <= 0 for every selected schedule that uses a cell whose virtual load has reached a capacity."""
    claim = "F <= 0 for a schedule on a full cell"
    problem = case.problem() or case.negative() or case.foreign_constants(smaller=True) or case.small_bbar()
    full = [step for step in case.steps if step.full is not None]
    worst = max(full, key=lambda step: Fraction(step.offer.value or 0), default=None)
    figures: Figures = {"offers_on_full_cells": len(full)}
    if worst is None or worst.full is None:
        return case.decide("lemma2", None, None, f"{claim}; no offer uses one", problem=problem, figures=figures)
    value = Fraction(worst.offer.value or 0)
    witness = {
        "task": worst.offer.task,
        "schedule": [list(cell) for cell in worst.offer.cells],
        "cell": list(worst.full),
        "F": str(value),
    }
    scale = int(case.instance.bid[worst.offer.task])
    return case.decide("lemma2", value, 0, claim, problem=problem, witness=witness, figures=figures, scale=scale)


def _lemma3(case: Case, name: str, claim: str, factor: Fraction | None, problem: str, figures: Figures) -> Check:
    almost = case.seen.almost_feasible if case.seen is not None else None
    welfare = case.run.welfare
    figures = {"almost_feasible_welfare": almost, "welfare": welfare, "dropped": len(case.dropped), **figures}
    bound = None if factor is None else factor * welfare
    witness = None
    if case.dropped:
        first = case.dropped[0]
        witness = {
            "task": first.offer.task,
            "schedule": [list(cell) for cell in first.offer.cells],
            "cell": None if first.misfit is None else list(first.misfit),
            "dropped": [step.offer.task for step in case.dropped],
        }
    if problem:
        almost = bound = None
    return case.decide(name, almost, bound, claim, problem=problem, witness=witness, figures=figures)


def lemma3(case: Case) -> Check:
    """P~ <= rho P."""
    return _lemma3(case, "lemma3", "P~ <= rho P", case.rho, case.outside_theorem5(), case.rhos())


def lemma3_repaired(case: Case) -> Check:
    """P~ <= rho_L P."""
    figures: Figures = {"rho_L": case.rho_l}
    return _lemma3(case, "lemma3_repaired", "P~ <= rho_L P", case.rho_l, case.outside_selected(), figures)


def drops(case: Case) -> Check:
    """At most one dropped task per cell: what Lemma 2 gives for line 12."""
    problem = case.outside_selected()
    cells = case.public.nodes * case.public.slots
    left = None if problem else len(case.dropped)
    return case.decide(
        "drops", left, None if problem else cells, "dropped tasks <= cells (k, t)", problem=problem, scale=0
    )


def overflow(case: Case) -> Check:
    """Whether Algorithm 1 without line 8 would keep the capacities; the witness is the first cell that overflows."""
    claim = "virtual load / capacity <= 1 without the room test"
    problem = case.problem() or case.half_printed()
    if problem:
        return case.decide("overflow", None, None, claim, problem=problem)
    largest, where = case.virtual_peak()
    figures: Figures = {"dropped": len(case.dropped)}
    witness = None if where is None else {"cell": list(where), "load_over_capacity": str(largest)}
    return case.decide("overflow", largest, 1, claim, witness=witness, figures=figures, scale=0)


RERUN_LIMIT = 1000
"""Most tasks of an instance that an audit runs once more."""


def ghost_updates(case: Case) -> Check:
    """Whether the prices that dropped tasks leave behind change a later decision: decided otherwise <= 0."""
    claim = "tasks decided otherwise when prices move on admission only"
    problem = case.problem() or case.half_printed()
    if problem or case.trace is None:
        return case.decide("ghost_updates", None, None, claim, problem=problem)
    if not case.dropped:
        figures: Figures = {"dropped": 0, "welfare": case.run.welfare, "welfare_admitted_only": case.run.welfare}
        return case.decide("ghost_updates", 0, 0, f"{claim}; none was dropped", figures=figures, scale=0)
    if case.instance.tasks > RERUN_LIMIT:
        problem = f"{case.instance.tasks} tasks; at most {RERUN_LIMIT} are run again"
        return case.decide("ghost_updates", None, None, claim, problem=problem)
    other = _on_admission_only(case)
    changed = [
        i
        for i, (a, b) in enumerate(zip(case.run.decisions, other.decisions, strict=True))
        if (a is None) != (b is None)
    ]
    figures = {"dropped": len(case.dropped), "welfare": case.run.welfare, "welfare_admitted_only": other.welfare}
    witness = {"task": changed[0], "tasks": changed} if changed else None
    return case.decide("ghost_updates", len(changed), 0, claim, witness=witness, figures=figures, scale=0)


def _on_admission_only(case: Case) -> OnlineRun:
    """The same run, constants included, with prices that move on admission only."""
    run = case.run
    spec = parse(run.algorithm)
    assert spec.entry is not None
    options = spec.entry.settle(dict(spec.options) | {"updates": "admitted"}, case.instance.tasks)
    return play(case.instance, spec.entry.make(options), run.algorithm, run.version, run.constants, "")


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "theorem5",
        "OPT <= rho (1 + max{alpha, beta}) ALG",
        "main paper, Theorem 5",
        Standing.FALSE,
        "e >= 0; bbar >= 1 on minimal schedules; alpha, beta of this instance; valid run",
        "OPT <= kappa rho_L (1 + A) ALG (theorem5_repaired); as printed when every minimal schedule has one cell",
        theorem5.theorem5,
    ),
    Claim(
        "theorem5_repaired",
        "OPT <= kappa rho_L (1 + A) ALG",
        "Theorem 5' (a) and (b) of this project",
        Standing.PROVED,
        "e >= 0; bbar >= 1 on schedules with F > 0; alpha, beta at least this instance's; search=exact; updates=all",
        "",
        theorem5.theorem5_repaired,
    ),
    Claim(
        "theorem5_repaired_a",
        "OPT <= kappa (1 + A) P~",
        "Theorem 5' (a) of this project",
        Standing.PROVED,
        "search=exact; with a negative cost kappa runs over all covers",
        "",
        theorem5.theorem5_repaired_a,
    ),
    Claim(
        "lemma1",
        "D^I <= (1 + A) P~",
        "main paper, Lemma 1",
        Standing.PROVED,
        "none",
        "",
        lemma1,
    ),
    Claim(
        "lemma2",
        "no schedule with F > 0 uses a cell whose virtual load has reached a capacity",
        "main paper, Lemma 2, with F <= 0 where it says F < 0",
        Standing.PROVED,
        "e >= 0; s <= C_p and r <= C_m - r_b on candidate nodes; bbar >= 1 on schedules with F > 0; "
        "alpha, beta at least this instance's",
        "",
        lemma2,
    ),
    Claim(
        "lemma3",
        "P~ <= rho P",
        "main paper, Lemma 3",
        Standing.FALSE,
        "as for theorem5",
        "P~ <= rho_L P (lemma3_repaired)",
        lemma3,
    ),
    Claim(
        "lemma3_repaired",
        "P~ <= rho_L P",
        "Theorem 5' (b) of this project",
        Standing.PROVED,
        "as for theorem5_repaired; any search",
        "",
        lemma3_repaired,
    ),
    Claim(
        "lemma4",
        "(mu, lambda, phi) after the last task satisfies (6a) for every schedule",
        "main paper, Lemma 4",
        Standing.FALSE,
        "none",
        "(mu, kappa lambda, kappa phi) does (lemma4_repaired); sum C lambda + sum C phi + sum max(0, max F') bounds "
        "OPT at any prices",
        lemma4.lemma4,
    ),
    Claim(
        "lemma4_repaired",
        "(mu, kappa lambda, kappa phi) satisfies (6a) for every schedule",
        "Theorem 5' (a) of this project",
        Standing.PROVED,
        "search=exact",
        "",
        lemma4.lemma4_repaired,
    ),
    Claim(
        "weak_duality",
        "OPT <= D^I",
        "main paper, (16), last step",
        Standing.FALSE,
        "none",
        "OPT <= D(lambda, phi) with mu_i = max(0, max F') for any prices",
        lemma4.weak_duality,
    ),
    Claim(
        "theorem3",
        "no bid is better than the valuation",
        "main paper, Theorem 3, alpha and beta from the bids",
        Standing.FALSE,
        "units given; search=exact where alpha or beta follow the bid",
        "with public constants and the payment b - F it is a take-it-or-leave-it price: truthful in the bid",
        truth.theorem3,
    ),
    Claim(
        "theorem3_fixed_constants",
        "no bid is better than the valuation when no constant follows the bid",
        "main paper, Theorem 3",
        Standing.FALSE,
        "none",
        "true for payment=critical; for (14) when every e = 0",
        truth.theorem3_fixed_constants,
    ),
    Claim(
        "theorem3_types",
        "no narrower window, more work or more memory than the true one gains",
        "main paper, section 2 (the bid contains them); not claimed",
        Standing.FALSE,
        "constants kept; exact prices",
        "true when the schedule is the cheapest among those with room (a choice that sees the room)",
        truth.theorem3_types,
    ),
    Claim(
        "theorem4",
        "a truthful bid never pays more than its valuation",
        "main paper, Theorem 4, for truthful bids",
        Standing.PROVED,
        "e >= 0, or payment=critical",
        "",
        truth.theorem4,
    ),
    Claim(
        "theorem4_literal",
        "no bid at all ends in a loss",
        "main paper, Definition 3 as printed",
        Standing.FALSE,
        "none",
        "for truthful bids (theorem4)",
        truth.theorem4_literal,
    ),
    Claim(
        "provider_deficit",
        "every admitted task pays at least its vendor and its operation",
        "asked of (14) by this project",
        Standing.FALSE,
        "none",
        "true for payment=critical: b - F = q + sum e + prices",
        truth.provider_deficit,
    ),
    Claim(
        "drops",
        "at most one task is dropped per cell",
        "main paper, proof of Lemma 3",
        Standing.PROVED,
        "as for lemma3_repaired",
        "",
        drops,
    ),
    Claim(
        "overflow",
        "without line 8 no capacity would be exceeded",
        "asked of Algorithm 1 by this project",
        Standing.FALSE,
        "updates=all",
        "prices that reach max b/s at C - s do it: exponential prices on admission",
        overflow,
    ),
    Claim(
        "ghost_updates",
        "the prices that dropped tasks leave change no decision",
        "asked of Algorithm 1, line 7, by this project",
        Standing.FALSE,
        "updates=all",
        "",
        ghost_updates,
    ),
)
"""Every claim that an audit checks, in the order of its output."""
