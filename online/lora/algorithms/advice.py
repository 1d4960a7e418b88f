r"""`advice`: a law of three pieces that sells a part of each cell at a price learned from earlier days.

The price rises from zeta X as that of `reserve` until it reaches the advised price, stays there for a part of the load,
and rises again up to X at the load 1 - eps. The advised prices are those that `learned` would begin the day with: the
dual prices of earlier days by node type and slot, split into compute and memory (`history=`). Without history the
reserve is the advice.

Claim (Lemma P). For any advice, right or wrong: OPT <= max(1, B) ALG + zeta sum_j C_j X_j with B = (zeta^(-eps /
reach) - 1) / eps, reach = (1 - eps) (1 - flat) being the part of the load over which the price rises. B tends to ln(1 /
zeta) / (1 - flat) as eps -> 0: what is sold at the advised price is paid for by a larger factor.

The idea of the three pieces: Sun et al., Pareto-Optimal Learning-Augmented Algorithms for Online Conversion Problems
(2021); Daneshvaramoli et al., 2406.18752, for fractional knapsacks. Truthful in the bid (Theorem T).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.lora.model import Instance, Public
from ratiobench.online.lora.algorithms.reserve import LOSS
from ratiobench.online.lora.learned.policy import LearnedPrices, Settings
from ratiobench.online.lora.mechanism import MARGIN, OPTIONS, WITHIN
from ratiobench.online.lora.price_laws import LOAD_CONSTANTS, LoadLaw, LoadPrices, read_loss, register_law
from ratiobench.online.lora.registry import Option, fraction, read_margin


class AdvisedPrices(LoadPrices):
    def learn(self, history: Instance | None) -> None:
        self._learned = LearnedPrices(Settings())
        self._learned.learn(history)

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        self._learned.start(public, {})
        tables = self._learned.final()
        heads = public.first_node[:-1].tolist()
        compute, memory = (
            [[Fraction(table.get((k, t), 0)) for t in range(1, public.slots + 1)] for k in heads] for table in tables
        )
        self._advice = compute, memory
        super().start(public, constants)


def _make(options: Mapping[str, str], exact: bool) -> AdvisedPrices:
    zeta, flat = read_loss("advice", options), fraction("advice:flat", options["flat"])
    if flat >= 1:
        raise InputError("algorithm", "advice:flat", f"{shorten(options['flat'])} is not below 1")

    def law(top: Fraction, share: Fraction) -> LoadLaw:
        return LoadLaw(top, zeta, (1 - share) * (1 - flat), width=(1 - share) * flat)

    def settle(constants: Mapping[str, Fraction], share: Fraction) -> tuple[LoadLaw, LoadLaw]:
        return law(constants["cap_compute"], share), law(constants["cap_memory"], share)

    return AdvisedPrices("advice", LOAD_CONSTANTS, settle, exact=exact, margin=read_margin("advice", options))


register_law(
    "advice",
    "exponential prices with a flat part at the prices that earlier days had (Lemma P, for any advice)",
    {
        "loss": LOSS,
        "flat": Option("1/2", None, "part of the load that is sold at the advised price, at least 0 and below 1"),
        "margin": MARGIN,
        **OPTIONS,
    },
    _make,
    lambda options: (
        f"OPT <= B ALG + {options['loss']} sum CX, B -> ln(1/zeta)/(1-{options['flat']}), {WITHIN}, "
        "for any advice (Lemma P)"
    ),
    learns=True,
)
