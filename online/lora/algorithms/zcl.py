r"""`zcl`: the price law of Zhou, Chakrabarty and Lukose for each resource of each cell.

The law of the online knapsack problem (Budget Constrained Bidding in Keyword Auctions and Online Knapsack Problems,
WINE 2008), Psi(z) = (U e / L)^z (L / e), which is the optimal posted price of one divisible resource whose tasks are
worth between L and U per unit (Zhang, Li, Wu, 1704.05511, treat several types of resources with it). Here each node's
compute and memory have one each, from densities L = X / U up to X at the load 1 - eps:

    low   lam(y) = (L / e) (e U)^(y / (1 - eps))
    flat  the same, but never below L (less 2^-24, so that a density of L is admitted): what most papers draw
    zero  0 as long as the price above is below L, then that price

Claim (Lemma P): OPT <= max(1, B) ALG + zeta sum C X with B = ((e U)^(eps / (1 - eps)) - 1) / eps, which tends to
1 + ln U as eps -> 0, and zeta = 1 / (e U) of `low`, 1 / U of `flat`. `zero` jumps, which Lemma P does not allow:
nothing is proved of it where a task has several cells or resources.

What it must know in advance: X_c, X_m, eps and U, as `posted`; truthful as every posted price (Theorem T).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from ratiobench.online.lora.mechanism import MARGIN, OPTIONS, WITHIN
from ratiobench.online.lora.price_laws import E_ABOVE, JUST_BELOW, LOAD_CONSTANTS, LoadLaw, LoadPrices, register_law
from ratiobench.online.lora.registry import Option, read_margin, require_positive

JUMPS = "prices that jump from 0 to L are not covered by Lemma P"


def settle(start: str, constants: Mapping[str, Fraction], share: Fraction) -> tuple[LoadLaw, LoadLaw]:
    spread = max(Fraction(1), require_positive("zcl", "spread", constants["spread"]))

    def law(top: Fraction) -> LoadLaw:
        least = None if start == "low" else top / spread * (JUST_BELOW if start == "flat" else 1)
        return LoadLaw(top, 1 / (E_ABOVE * spread), 1 - share, least=least, jump=start == "zero")

    return law(constants["cap_compute"]), law(constants["cap_memory"])


def _make(options: Mapping[str, str], exact: bool) -> LoadPrices:
    start = options["start"]
    return LoadPrices(
        "zcl",
        (*LOAD_CONSTANTS, "spread"),
        lambda constants, share: settle(start, constants, share),
        exact=exact,
        margin=read_margin("zcl", options),
        problem=JUMPS if start == "zero" else "",
    )


def _state(options: Mapping[str, str]) -> str:
    if options["start"] == "zero":
        return "none for several cells: prices jump"
    return f"OPT <= B ALG + zeta sum CX, B -> 1 + ln U, {WITHIN} (Lemma P)"


START = Option("low", ("low", "flat", "zero"), "an empty cell costs L/e, L, or 0 until the rise from L/e has reached L")

register_law(
    "zcl",
    "exponential prices of what a cell holds, from L/e to X (Zhou, Chakrabarty, Lukose 2008; Lemma P)",
    {"start": START, "margin": MARGIN, **OPTIONS},
    _make,
    _state,
)
