"""What the paper claims, and what holds instead: one object per claim, each with its check.

The order is the paper's: lemmas and theorems as printed, each followed by the form that can be proved; then what the
paper leaves open about capacity and money. Units are those of the run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from bench.family.checks import Check
from bench.lora.theory.basis.case import Case
from bench.lora.theory.paper import algorithm1, algorithm2, lemma4, lemmas, theorem3, theorem5


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


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "theorem5",
        "OPT <= rho (1 + max{alpha, beta}) ALG",
        "main paper, Theorem 5",
        Standing.FALSE,
        "e >= 0; alpha, beta of this instance; updates=all; valid run; bbar >= 1 on the schedules that rho is taken "
        "over: the minimal ones or, where a minimal one has b_il <= 0, those of the run with F > 0 (basis: observed)",
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
        lemmas.lemma1,
    ),
    Claim(
        "lemma2",
        "no schedule with F > 0 uses a cell whose virtual load has reached a capacity",
        "main paper, Lemma 2, with F <= 0 where it says F < 0",
        Standing.PROVED,
        "e >= 0; s <= C_p and r <= C_m - r_b on candidate nodes; bbar >= 1 on schedules with F > 0; "
        "alpha, beta at least this instance's",
        "",
        lemmas.lemma2,
    ),
    Claim(
        "lemma3",
        "P~ <= rho P",
        "main paper, Lemma 3",
        Standing.FALSE,
        "as for theorem5",
        "P~ <= rho_L P (lemma3_repaired)",
        lemmas.lemma3,
    ),
    Claim(
        "lemma3_repaired",
        "P~ <= rho_L P",
        "Theorem 5' (b) of this project",
        Standing.PROVED,
        "as for theorem5_repaired; any search",
        "",
        lemmas.lemma3_repaired,
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
        "algorithm2",
        "Algorithm 2 finds a schedule of the largest F for every task, at the prices that it meets",
        "main paper, section 3: dynamic programming finds the optimal solution of (9) and (12)",
        Standing.FALSE,
        "exact prices; true increments, overshoot clipped at 0, first slot usable (search=printed)",
        "for every pair of prices keep the cells that are no dearer, and solve the additive covering programme "
        "(search=exact)",
        algorithm2.algorithm2,
    ),
    Claim(
        "theorem3",
        "no bid is better than the valuation",
        "main paper, Theorem 3, alpha and beta from the bids",
        Standing.FALSE,
        "undecided where canonical units follow the bid, or search=printed, unless a bid that moves no constant gains",
        "with public constants and the payment b - F it is a take-it-or-leave-it price: truthful in the bid",
        theorem3.theorem3,
    ),
    Claim(
        "theorem3_fixed_constants",
        "no bid is better than the valuation when no constant follows the bid",
        "main paper, Theorem 3",
        Standing.FALSE,
        "none",
        "true for payment=critical; for (14) when every e = 0",
        theorem3.theorem3_fixed_constants,
    ),
    Claim(
        "theorem3_types",
        "no narrower window, more work or more memory than the true one gains",
        "main paper, section 2 (the bid contains them); not claimed",
        Standing.FALSE,
        "constants kept; exact prices; every window inside the true one, larger work and memory, alone and together; "
        "undecided where not all of them could be followed (with search=printed only a few are, on large instances)",
        "true when the schedule is the cheapest among those with room (a choice that sees the room)",
        theorem3.theorem3_types,
    ),
    Claim(
        "theorem4",
        "a truthful bid never pays more than its valuation",
        "main paper, Theorem 4, for truthful bids",
        Standing.PROVED,
        "e >= 0, or payment=critical",
        "",
        theorem3.theorem4,
    ),
    Claim(
        "theorem4_literal",
        "no bid at all ends in a loss",
        "main paper, Definition 3 as printed",
        Standing.FALSE,
        "none",
        "for truthful bids (theorem4)",
        theorem3.theorem4_literal,
    ),
    Claim(
        "provider_deficit",
        "every admitted task pays at least its vendor and its operation",
        "asked of (14) by this project",
        Standing.FALSE,
        "none",
        "true for payment=critical: b - F = q + sum e + prices",
        theorem3.provider_deficit,
    ),
    Claim(
        "drops",
        "at most one task is dropped per cell",
        "main paper, proof of Lemma 3",
        Standing.PROVED,
        "as for lemma3_repaired",
        "",
        algorithm1.drops,
    ),
    Claim(
        "overflow",
        "without line 8 no capacity would be exceeded",
        "asked of Algorithm 1 by this project",
        Standing.FALSE,
        "updates=all",
        "prices that reach max b/s at C - s do it: exponential prices on admission",
        algorithm1.overflow,
    ),
    Claim(
        "ghost_updates",
        "the prices that dropped tasks leave change no decision",
        "asked of Algorithm 1, line 7, by this project",
        Standing.FALSE,
        "updates=all",
        "",
        algorithm1.ghost_updates,
    ),
)
"""Every claim that an audit checks, in the order of its output."""
