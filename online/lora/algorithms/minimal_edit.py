"""`minimal-edit`, Theorem B: the least change to pdFTSP that makes its analysis right.

Updates (7)-(8), but the schedule is chosen by the linear reduced cost F', prices move on admission only, and
alpha = X_c / (2^(1-eps) - 1), beta = X_m / (2^(1-eps) - 1).

Claim (Theorem B). With X_c, X_m, eps as in `posted` and bbar_il >= 1 on admitted schedules, no cell is overfilled,
also without the room test, and OPT <= D <= (1 + max{alpha, beta}) ALG; no rho. Without bbar >= 1 the room test is what
keeps to capacity, and Theorem C's certificate is what remains.

Units. bbar >= 1 is a matter of the units of money, samples and MB. In file units (`units=given`) it fails on whole
days: the least bbar of an admitted schedule is below 0.003. `units=canonical` measures MB so that alpha = beta, and
money so that bbar = U b_il / (X_c S + X_m R), which is 1 or more where U is what it is in `posted`. Then the theorem
applies, and reads OPT <= (1 + U / (2^(1-eps) - 1)) ALG. Prices rise as many times faster, a cell soon holds one task,
and welfare is poor.

What it must know in advance: `cap_compute`, `cap_memory`, `largest_share`, with units=canonical `spread`; when unknown,
from another day by prior=FILE, times margin=NUMBER.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from ratiobench.instances.io.errors import InputError
from ratiobench.online.lora.mechanism import WITHIN, register_mechanism, settle_share
from ratiobench.online.lora.registry import Option
from ratiobench.online.lora.roots import gain_below
from ratiobench.online.lora.traces import Rule


def settle(options: Mapping[str, str], constants: Mapping[str, Fraction]) -> Rule:
    """alpha = X_c / (2^(1 - eps) - 1), beta = X_m / (2^(1 - eps) - 1), per sample and MB whatever the units of bbar."""
    share = settle_share("minimal-edit", constants)
    g = gain_below(Fraction(2), 1 - share)
    if g == 0:
        raise InputError("algorithm", "minimal-edit:largest_share", f"{share} leaves 2^(1 - share) - 1 no digit")
    weights = Fraction(1), Fraction(1)
    if options["units"] == "canonical":
        spread = constants["spread"]
        if spread <= 0:
            raise InputError("algorithm", "minimal-edit:spread", f"{spread} is not above 0")
        if constants["cap_compute"] > 0 or constants["cap_memory"] > 0:  # else nobody pays and prices stay at zero
            weights = constants["cap_compute"] / spread, constants["cap_memory"] / spread
    return Rule(
        growth=Fraction(1),
        eta_c=constants["cap_compute"] / g,
        eta_m=constants["cap_memory"] / g,
        by_bbar=True,
        gain=g,
        weights=weights,
    )


def needed(options: Mapping[str, str]) -> tuple[str, ...]:
    return ("cap_compute", "cap_memory", "largest_share", *(("spread",) if options["units"] == "canonical" else ()))


register_mechanism(
    "minimal-edit",
    "pdFTSP with additive prices moved on admission only, OPT <= (1 + max{alpha, beta}) ALG (Theorem B)",
    f"OPT <= (1 + max{{alpha, beta}}) ALG, {WITHIN} and bbar >= 1 (Theorem B)",
    needed,
    settle,
    {"units": Option("given", ("given", "canonical"), "units of bbar: the file's, or those that make it 1 or more")},
    ("cap_compute", "cap_memory", "spread"),
)
