r"""`static`: one price per unit of weight for the whole day, drawn once before it.

A cell costs P w, w = max(s / C, r / D), on the first node with free capacity. P is L with probability 1 / (1 + ln
theta), else ln(P / L) is uniform on [0, ln theta] (Sun, Nekouyan Jazi, Tan, Boutaba, 2410.07378: static pricing for
online selection). It is drawn from the seed of the run; `--repeat` draws again. `split=m` is a deterministic twin: the
nodes of each type in m groups with the prices L theta^(j / m), j = 0..m-1. Nothing is proved of it.

What is proved, values per unit of weight lying in [L, theta L], costs and vendor prices being 0, in the mean over P:

    equal tasks of one cell in one slot        OPT <= (1 + ln theta) E[ALG], for any number of nodes
    the same with windows and types            times 2
    one node type, slackness sigma > 1         OPT <= (1 + 2 Omega sigma / (f (sigma - 1))) (1 + ln theta) E[ALG]
    one node type, schedules of at most L      OPT <= (1 + Omega L / f) (1 + ln theta) E[ALG]

(Theorem S2 is the third.) `price=0` is `greedy`, of which Theorem S is.

What it must know in advance: L and theta L (`least_density`, `largest_density`). Truthful in the bid (Theorem T), for
every outcome of the draw.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora.model import IntArray, Public
from ratiobench.online.lora.mechanism import OPTIONS
from ratiobench.online.lora.price_laws import JUST_BELOW, WeightPrices, exponential, logarithm, power, register_law
from ratiobench.online.lora.registry import Option, fraction, require_positive
from ratiobench.online.lora.traces import StaticTerms

MOST_GROUPS = 1000


def draw_price(low: Fraction, theta: Fraction, word: int) -> Fraction:
    """P of 64 random bits, u = word / 2^64: L where u is below 1 / (1 + ln theta), else L e^(u (1 + ln theta) - 1)."""
    part = Fraction(word, 2**64) * (1 + logarithm(theta)) - 1
    return low if part <= 0 else low * min(theta, exponential(part))


class StaticPrices(WeightPrices):
    """One price per unit of weight (without a given one it is drawn), or one per group of nodes."""

    def __init__(self, given: Fraction | None, groups: int, *, exact: bool) -> None:
        super().__init__(exact=exact)
        self._given, self._groups = given, groups
        self.constants = () if given is not None else ("least_density", "largest_density")

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        super().start(public, constants)
        low = theta = Fraction(1)
        if self._given is not None:
            price = self._given
        else:
            low = require_positive("static", "least_density", constants["least_density"])
            theta = max(Fraction(1), constants["largest_density"] / low)
            price = low
            if self._groups == 1:
                price = draw_price(low, theta, int(Stream(public.seed, "static").words(1)[0]))
        ladder = [price * (power(theta, Fraction(j, self._groups)) if j else 1) for j in range(self._groups)]
        counts = [kind.count for kind in public.node_types]
        steps = [ladder[k * self._groups // count] * JUST_BELOW for count in counts for k in range(count)]
        self._of_node = np.array(steps, object) if self._exact else np.array([float(each) for each in steps])
        first = self._of_node[public.first_node[:-1]]
        self.prices = [np.repeat(first[g : g + 1], public.slots) for g in range(len(counts))]
        drawn = self._given is None and self._groups == 1
        self.terms = StaticTerms(None if self._groups > 1 else price, low, theta, drawn)

    def cell_prices(self, g: int, span: slice, node: IntArray) -> NDArray[Any]:
        """(W,) the price of each cell's node; groups stand in the order of their prices: the first node is cheapest."""
        return np.asarray(self._of_node[node])


def _make(options: Mapping[str, str], exact: bool) -> StaticPrices:
    groups = fraction("static:split", options["split"])
    if groups.denominator != 1 or not 1 <= groups <= MOST_GROUPS:
        problem = f"{shorten(options['split'])} is no whole number in 1..{MOST_GROUPS}"
        raise InputError("algorithm", "static:split", problem)
    given = None if options["price"] == "drawn" else fraction("static:price", options["price"])
    if given is not None and groups > 1:
        raise InputError("algorithm", "static:price", "groups of nodes have prices of their own: drawn only")
    return StaticPrices(given, int(groups), exact=exact)


def _state(options: Mapping[str, str]) -> str:
    if options["split"] != "1" or options["price"] not in ("drawn", "0"):
        return "none"
    if options["price"] == "0":
        return "OPT <= (1 + 2 theta Omega sigma/(f(sigma-1))) ALG without costs (Theorem S)"
    return "in the mean OPT <= (1 + 2 Omega sigma/(f(sigma-1))) (1 + ln theta) ALG without costs, one type (Theorem S2)"


register_law(
    "static",
    "one price per unit of weight for the whole day, drawn before it (Theorem S2)",
    {
        "price": Option("drawn", None, "micro-dollars per unit of weight, the whole of a node and slot; or drawn"),
        "split": Option("1", None, "groups of nodes with fixed prices between L and theta L, in place of a draw"),
        **OPTIONS,
    },
    _make,
    _state,
    randomised=lambda options: options["price"] == "drawn" and options["split"] == "1",
)
