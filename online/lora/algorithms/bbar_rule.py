"""`bbar-rule`, Theorem C with updates by value density: what was admitted last says what a cell is worth.

The rule of `ratiobench.online.lora.mechanism` with B = 1, v = bbar_il of the admitted schedule, eta_c = median(b/M) /
median(bbar) / divisor and eta_m = median(b / (r ceil(M / s_max))) / median(bbar) / divisor. Tasks of median density
alone then take a full cell's price to the median density, since (e - 1) / 1.72 is about 1.

Claim (Theorem C): as for `capped`, OPT <= D_cert <= Gamma' ALG + Leak on every run, where Gamma' = max(1, B) + the
largest v (eta_c S + eta_m R) / b_il of an admitted schedule; with v = bbar_il that is at most 1 + max{eta_c, eta_m}.

What it must know in advance: the three medians over tasks with a schedule; bbar is taken of each task's cheapest
schedule in an empty cluster. When unknown, from another day by prior=FILE; no guarantee is lost when they differ.
Truthful with any such constants (Theorem T): the update follows the task's own bid only after its price is settled.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from ratiobench.instances.io.errors import InputError
from ratiobench.online.lora.mechanism import register_mechanism
from ratiobench.online.lora.registry import Option, fraction
from ratiobench.online.lora.traces import Rule


def settle(options: Mapping[str, str], constants: Mapping[str, Fraction]) -> Rule:
    divisor = fraction("bbar-rule:divisor", options["divisor"])
    for key, value in (("divisor", divisor), ("median_bbar", constants["median_bbar"])):
        if value == 0:
            raise InputError("algorithm", f"bbar-rule:{key}", "0 is not above 0")
    unit = constants["median_bbar"] * divisor
    return Rule(
        growth=Fraction(1),
        eta_c=constants["median_work_density"] / unit,
        eta_m=constants["median_memory_density"] / unit,
        by_bbar=True,
    )


register_mechanism(
    "bbar-rule",
    "prices moved by the admitted schedule's bbar, scaled by medians; a certificate per run (Theorem C)",
    "OPT <= (Gamma' + U/(1-eps)) ALG, and a certificate with every run (Theorem C)",
    ("median_work_density", "median_memory_density", "median_bbar"),
    settle,
    {"divisor": Option("1.72", None, "what the medians are divided by; e - 1 makes a full cell's price the median")},
)
