"""`minimal-edit`, Theorem B: the least change to pdFTSP that makes its analysis right.

Updates (7)-(8), but the schedule is chosen by the linear reduced cost F', prices move on admission only, and
alpha = X_c / (2^(1-eps) - 1), beta = X_m / (2^(1-eps) - 1): the rule of `linear` with B = 1 and v = bbar_il.

Claim (Theorem B). With X_c, X_m, eps as in `posted` and bbar_il >= 1 on admitted schedules, no cell is overfilled,
also without the room test, and OPT <= D <= (1 + max{alpha, beta}) ALG; no rho. Without bbar >= 1 (a matter of the units
of money, samples and MB) the room test is what keeps to capacity, and Theorem C's certificate is what remains.

Why. A task of relative size d multiplies lambda + alpha by at least 1 + d >= 2^d, so a cell without room is priced at
alpha (2^(1-eps) - 1) = X_c or more. D grows by b_il + bbar (alpha S + beta R) at most, and bbar (S + R) = b_il.

What it must know in advance: `cap_compute`, `cap_memory`, `largest_share`; when unknown, from another day by
prior=FILE, times margin=NUMBER. The bound is linear in the prices, like that of the zero-price `greedy` (Theorem G).

On whole days (as in `posted`, load 1.6, nine days) no margin makes the theorem apply: bbar >= 1 fails on the admitted
schedules, whose least bbar is 0.0003 to 0.005 micro-dollars per sample and MB, and a unit of money in which it is 1
raises alpha and beta as many times. A margin of 1.5 costs 16 to 18 % of the welfare, one of 4 costs 36 to 39 %.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from instances.errors import InputError
from online.lora.linear import Rule, register_mechanism
from online.lora.posted import settle_share
from online.lora.roots import gain_below


def settle(options: Mapping[str, str], constants: Mapping[str, Fraction]) -> Rule:
    """alpha = X_c / (2^(1 - eps) - 1), beta = X_m / (2^(1 - eps) - 1)."""
    share = settle_share("minimal-edit", constants)
    g = gain_below(Fraction(2), 1 - share)
    if g == 0:
        raise InputError("algorithm", "minimal-edit:largest_share", f"{share} leaves 2^(1 - share) - 1 no digit")
    return Rule(
        growth=Fraction(1),
        eta_c=constants["cap_compute"] / g,
        eta_m=constants["cap_memory"] / g,
        by_bbar=True,
        gain=g,
    )


register_mechanism(
    "minimal-edit",
    "pdFTSP with additive prices moved on admission only, OPT <= (1 + max{alpha, beta}) ALG (Theorem B)",
    ("cap_compute", "cap_memory", "largest_share"),
    settle,
    {},
    ("cap_compute", "cap_memory"),
)
