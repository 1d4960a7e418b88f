"""`posted`, Theorem A: exponential posted prices, with a competitive ratio that is known beforehand.

The rule of `ratiobench.online.lora.mechanism` with v = 1, eta_c = B X_c / G, eta_m = B X_m / G and
G = (1 + B eps)^((1 - eps)/eps) - 1.

Claim (Theorem A). If X_c >= max b_i / s_ik, X_m >= max b_i / r_i, 1 > eps >= max {s_ik / C_kp, r_i / (C_km - r_b)} and
U >= (X_c S + X_m R) / b_il for every schedule that is admitted, then no cell is ever overfilled, also without the room
test; the mechanism is truthful and rational; and OPT <= D <= Gamma ALG with Gamma = max(1, B) + B U / G.

What it must know in advance: X_c, X_m (`cap_compute`, `cap_memory`), eps (`largest_share`) and, for a good B only, U
(`spread`). Unknown: taken from another day by prior=FILE, times margin=NUMBER; 1.5 was enough on 45 days
(`docs/results/mechanisms.md`). Too small an X or eps loses the guarantee, and the check says which, by how much. Too
large an X or U costs about ln of the factor. With eps = 1 no theorem holds; the prices are then made for eps = 1/2.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from ratiobench.instances.io.errors import InputError
from ratiobench.online.lora.mechanism import WITHIN, register_mechanism, settle_share
from ratiobench.online.lora.registry import Option, fraction
from ratiobench.online.lora.roots import gain_below
from ratiobench.online.lora.traces import Rule


def gain(growth: Fraction, share: Fraction) -> Fraction:
    """G = (1 + B eps)^((1 - eps) / eps) - 1, from below."""
    return gain_below(1 + growth * share, (1 - share) / share)


@lru_cache(maxsize=256)
def best_growth(spread: Fraction, share: Fraction) -> Fraction:
    """The B with the least Gamma = max(1, B) + B U / G on a grid of 8 per octave, in decimals of a fixed length."""
    with localcontext() as context:
        context.prec = 28
        eps = Decimal(share.numerator) / share.denominator
        most = Decimal(spread.numerator) / spread.denominator

        def gamma(growth: Fraction) -> Decimal:
            b = Decimal(growth.numerator) / growth.denominator
            return max(Decimal(1), b) + b * most / (((1 + b * eps).ln() * (1 - eps) / eps).exp() - 1)

        return min(
            (Fraction(8 + j, 8) * Fraction(2) ** octave for octave in range(-3, 21) for j in range(8)), key=gamma
        )


def settle(options: Mapping[str, str], constants: Mapping[str, Fraction]) -> Rule:
    share = settle_share("posted", constants)
    if options["growth"] == "auto":
        growth = best_growth(constants["spread"], share)
    else:
        growth = fraction("posted:growth", options["growth"])
        if growth <= 0:
            raise InputError("algorithm", "posted:growth", f"{options['growth']} is not above 0")
    g = gain(growth, share)
    if g == 0:
        raise InputError("algorithm", "posted:growth", f"with {growth} and a largest share of {share} G is 0")
    return Rule(
        growth=growth,
        eta_c=growth * constants["cap_compute"] / g,
        eta_m=growth * constants["cap_memory"] / g,
        by_bbar=False,
        gain=g,
        tested=options["room"] == "tested" or constants["largest_share"] >= 1,
    )


register_mechanism(
    "posted",
    "exponential posted prices, OPT <= Gamma ALG with Gamma known beforehand (Theorem A)",
    f"OPT <= Gamma ALG, Gamma known beforehand, {WITHIN} (Theorem A)",
    ("cap_compute", "cap_memory", "largest_share", "spread"),
    settle,
    {
        "growth": Option("auto", None, "B; auto: the one with the least Gamma"),
        "room": Option(
            "tested", ("tested", "ignored"), "skip cells without free capacity, or leave that to the prices"
        ),
    },
    ("cap_compute", "cap_memory", "spread"),
)
