"""`capped`, cap(B, scale) of Theorem C: exponential prices up to a part of the largest value density.

The rule of `ratiobench.online.lora.mechanism` with v = 1 and eta = B X' / ((1 + B eps)^(1/eps) - 1), where
X'_c = scale max b_i / M_i and X'_m = scale max b_i / (r_i ceil(M_i / s_max)): a full cell costs X', which is less than
Theorem A asks for, so the room test is needed and the ratio is not known beforehand.

Claim (Theorem C). On every run OPT <= D_cert <= Gamma' ALG + Leak, with Gamma' = max(1, B) + the largest
(eta_c S + eta_m R) / b_il of an admitted schedule and Leak = what tasks could still gain at the final prices beyond
what they gained on arrival. Beforehand OPT <= (Gamma' + U / (1 - eps)) ALG, as for `greedy`.

What it must know in advance: max b_i / M_i (`alpha`), max b_i / (r_i ceil(M_i / s_max)) (`memory_density`) and
`largest_share`; when unknown, from another day by prior=FILE. The claim needs nothing of them, so there is no margin.
Truthful with any such constants (Theorem T). B = 2 and scale = 0.35 come from tests on generated days (no theorem).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from ratiobench.instances.io.errors import InputError
from ratiobench.online.lora.mechanism import register_mechanism, settle_share
from ratiobench.online.lora.registry import Option, fraction
from ratiobench.online.lora.roots import gain_below
from ratiobench.online.lora.traces import Rule


def settle(options: Mapping[str, str], constants: Mapping[str, Fraction]) -> Rule:
    share = settle_share("capped", constants)
    growth, scale = (fraction(f"capped:{key}", options[key]) for key in ("growth", "scale"))
    if growth == 0:
        raise InputError("algorithm", "capped:growth", f"{options['growth']} is not above 0")
    g = gain_below(1 + growth * share, 1 / share)
    return Rule(
        growth=growth,
        eta_c=growth * scale * constants["alpha"] / g,
        eta_m=growth * scale * constants["memory_density"] / g,
        by_bbar=False,
        gain=g,
    )


register_mechanism(
    "capped",
    "exponential prices up to a part of the largest density; a certificate per run (Theorem C)",
    "OPT <= (Gamma' + U/(1-eps)) ALG, and a certificate with every run (Theorem C)",
    ("alpha", "memory_density", "largest_share"),
    settle,
    {
        "growth": Option("2", None, "B"),
        "scale": Option("0.35", None, "part of max b/M and max b/(r ceil(M/s_max)) that a full cell is priced at"),
    },
)
