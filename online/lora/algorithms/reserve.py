r"""`reserve`, Theorem A+: prices that start at a reserve, with a factor that does not depend on the spread of values.

lam(y) = zeta X zeta^(-y / (1 - eps)): an empty cell costs zeta X per unit, one that is loaded by 1 - eps costs X.

Claim (Theorem A+). If X_c, X_m and eps bound those of the day, OPT <= max(1, B) ALG + zeta sum_j C_j X_j, the sum over
compute and memory of all nodes and slots, with B = (zeta^(-eps / (1 - eps)) - 1) / eps, which tends to ln(1 / zeta) as
eps -> 0. There is no U in it: what the day is worth is given up to zeta sum C X once, not per task.

What it must know in advance: X_c, X_m and eps; truthful as every posted price (Theorem T).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from ratiobench.online.lora.mechanism import MARGIN, OPTIONS, WITHIN
from ratiobench.online.lora.price_laws import LOAD_CONSTANTS, LoadLaw, LoadPrices, read_loss, register_law
from ratiobench.online.lora.registry import Option, read_margin

LOSS = Option("1/1000", None, "zeta: an empty cell costs this times X, at most 1; zeta sum CX is the additive loss")


def _make(options: Mapping[str, str], exact: bool) -> LoadPrices:
    zeta = read_loss("reserve", options)

    def settle(constants: Mapping[str, Fraction], share: Fraction) -> tuple[LoadLaw, LoadLaw]:
        return tuple(LoadLaw(constants[top], zeta, 1 - share) for top in LOAD_CONSTANTS[:2])  # type: ignore[return-value]

    return LoadPrices("reserve", LOAD_CONSTANTS, settle, exact=exact, margin=read_margin("reserve", options))


register_law(
    "reserve",
    "exponential prices of what a cell holds, from a reserve zeta X to X (Theorem A+)",
    {"loss": LOSS, "margin": MARGIN, **OPTIONS},
    _make,
    lambda options: f"OPT <= B ALG + {options['loss']} sum CX, B -> ln(1/zeta), {WITHIN} (Theorem A+)",
)
