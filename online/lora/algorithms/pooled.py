r"""`pooled`, Theorem A for pools: one price per unit of weight for each node type and slot, for tasks of mixed sizes.

A task's weight on a type is w = max(s / C, r / D). With y = sum w / K over what a type's K nodes hold in a slot,

    loss=none:  psi(y) = (X / G) (q^y - 1),  q = (1 + G)^(1 / (1 - eps)),
    loss=Z:     psi(y) = Z X q^y,            q = Z^(-1 / (1 - eps)),

X being the least of X_c C and X_m D, at least a task's worth per unit of weight. A task is offered the fullest node
with free capacity.

Claim (Theorem A for pools). If X_c, X_m and eps bound those of the day, with B = (q^(eps / K) - 1) K / eps for the type
of the fewest nodes and Omega at least the weight of what fits a node,

    loss=none:  OPT <= (max(1, Omega B) + Omega B U / G) ALG,  U >= sum X w / b_il of each admitted schedule;
    loss=Z:     OPT <= max(1, Omega B) ALG + Z sum Omega K X over types and slots.

A sale is a part eps / K of the pool at most, in place of eps of a node: B is about ln(1 + G) / (1 - eps), and not
exponential in 1 / eps as in Theorem A. `docs/theory/baselines.md` has the proof.

What it must know in advance: X_c, X_m, eps and, to choose G only, U (`spread`). Truthful in the bid (Theorem T).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ratiobench.instances.lora.model import Public, Task
from ratiobench.online.lora.mechanism import MARGIN, OPTIONS, WITHIN, settle_share
from ratiobench.online.lora.price_laws import LOAD_CONSTANTS, TOO_LARGE, LoadLaw, WeightPrices, read_loss, register_law
from ratiobench.online.lora.registry import Option, read_margin
from ratiobench.online.lora.traces import Cell, PoolTerms

_DOUBLINGS = 200


def make_law(top: Fraction, zeta: Fraction, share: Fraction) -> LoadLaw:
    """The rise from zeta `top` on an empty pool to `top` where the part 1 - eps is sold."""
    return LoadLaw(top, zeta, 1 - share)


@lru_cache(maxsize=256)
def choose_zeta(spread: Fraction, share: Fraction, nodes: int) -> Fraction:
    """1 / (1 + G) with the least B (1 + U / G), of G = 2^j - 1."""
    best: tuple[Fraction, Fraction] | None = None
    for j in range(1, _DOUBLINGS):
        growth = make_law(Fraction(1), Fraction(1, 2**j), share).growth(share / nodes)
        if growth is None or (best is not None and growth > best[0]):
            break
        factor = growth * (1 + spread / (2**j - 1))
        if best is None or factor < best[0]:
            best = factor, Fraction(1, 2**j)
    return Fraction(1, 2) if best is None else best[1]


class Pools(WeightPrices):
    """The price of a type and slot as a function of the weight that is sold there; without `zeta` it begins at 0."""

    fullest = True

    def __init__(self, zeta: Fraction | None, margin: Fraction, *, exact: bool) -> None:
        super().__init__(exact=exact)
        self._zeta, self.margin = zeta, margin
        self.constants = LOAD_CONSTANTS if zeta is not None else (*LOAD_CONSTANTS, "spread")
        self.widened = tuple(name for name in self.constants if name != "largest_share")

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        super().start(public, constants)
        used = {key: value * (self.margin if key in self.widened else 1) for key, value in constants.items()}
        share, counts = settle_share("pooled", used), [kind.count for kind in public.node_types]
        zeta = choose_zeta(used["spread"], share, min(counts)) if self._zeta is None else self._zeta
        tops = [min(used["cap_compute"] * size, used["cap_memory"] * mb) for size, mb in self._sizes]
        # From 0: the rise to X (1 + 1/G) from X / G, less X / G.
        self._less = [top * zeta / (1 - zeta) if self._zeta is None else Fraction(0) for top in tops]
        self._laws = [make_law(top + less, zeta, share) for top, less in zip(tops, self._less, strict=True)]
        growth = self._laws[0].growth(share / min(counts))
        self._load = [[Fraction(0)] * public.slots for _ in counts]
        dtype = object if self._exact else np.float64
        self.prices = [np.full(public.slots, self._price(g, Fraction(0)), dtype) for g in range(len(counts))]
        self._terms = PoolTerms(
            growth=Fraction(0) if growth is None else growth,
            gain=None if self._zeta is not None else 1 / zeta - 1,
            tops=tuple(tops),
            caps=(used["cap_compute"], used["cap_memory"]),
            share=used["largest_share"],
            start=tuple(Fraction(row[0]) for row in self.prices),
            prices=(),
            problem=TOO_LARGE if growth is None else "",
        )

    def _price(self, g: int, load: Fraction) -> Fraction | float:
        price = self._laws[g].price(load) - self._less[g]
        return price if self._exact else float(price)

    def moved(self, task: Task, cells: tuple[Cell, ...] | None) -> None:
        for k, t in cells or ():
            g = self._kind[k]
            self._load[g][t - 1] += self.weigh_exactly(task, g) / self._public.node_types[g].count
            self.prices[g][t - 1] = self._price(g, self._load[g][t - 1])

    @property
    def terms(self) -> PoolTerms:
        return self._terms._replace(prices=tuple(tuple(map(Fraction, row.tolist())) for row in self.prices))


def _make(options: Mapping[str, str], exact: bool) -> Pools:
    zeta = None if options["loss"] == "none" else read_loss("pooled", options)
    return Pools(zeta, read_margin("pooled", options), exact=exact)


def _state(options: Mapping[str, str]) -> str:
    if options["loss"] == "none":
        return f"OPT <= (max(1, Omega B) + Omega B U/G) ALG, B about ln(1+G)/(1-eps), {WITHIN} (Theorem A for pools)"
    return f"OPT <= max(1, Omega B) ALG + {options['loss']} sum Omega K X, {WITHIN} (Theorem A for pools)"


register_law(
    "pooled",
    "one exponential price per node type and slot, by weight, for mixed sizes (Theorem A for pools)",
    {
        "loss": Option("none", None, "none: prices begin at 0, and nothing is lost; Z: they begin at Z X"),
        "margin": MARGIN,
        **OPTIONS,
    },
    _make,
    _state,
)
