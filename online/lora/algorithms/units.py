r"""`units`, Theorem A': one price for each node type and slot, on the count of what is sold there.

The (i + 1)-st of the N units of a type and slot costs L lam(i), with lam(0) = 0 and

    lam(i + 1) = lam(i) + ((Gamma - 1) max(lam(i), 1) + lam(i)) / N,

Gamma being the least factor with lam(N) >= theta. N is the number of tasks that the type's nodes hold: all nodes of a
type have one price, so that tasks which fill a third of a node do not cost the factor that Theorem A has at eps = 1/3.

Claim (Theorem A'). Where every task takes one cell, n of any of the tasks fit a node of the type and n + 1 do not, and
values of a unit lie in [L, theta L]: OPT <= Gamma ALG (Ma and Simchi-Levi, Operations Research 2020). On other days a
task moves the price as if all tasks had its size, and nothing is proved.

What it must know in advance: L, theta L and N (`least_unit_value`, `largest_unit_value`, `fewest_units`). Truthful in
the bid (Theorem T).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ratiobench.instances.lora.model import Public, Task
from ratiobench.online.lora.mechanism import OPTIONS, WITHIN
from ratiobench.online.lora.price_laws import WeightPrices, register_law
from ratiobench.online.lora.public_constants import units_of
from ratiobench.online.lora.registry import Option, read_margin, require_positive
from ratiobench.online.lora.traces import Cell, UnitTerms

# lam is counted in whole 1/UNIT and rounded down: the proof allows smaller steps, and Gamma is found for these
UNIT = 2**40
FINENESS = 2**20  # Gamma is a multiple of 1/FINENESS


def step(lam: int, gamma: Fraction, units: int) -> int:
    """lam(i + 1) from lam(i), both in 1/UNIT; rounded down."""
    above = max(lam, UNIT)
    return lam + ((gamma.numerator - gamma.denominator) * above + gamma.denominator * lam) // (
        gamma.denominator * units
    )


def climb(gamma: Fraction, units: int) -> int:
    """lam(N) in 1/UNIT."""
    lam = 0
    for _ in range(units):
        lam = step(lam, gamma, units)
    return lam


@lru_cache(maxsize=256)
def find_gamma(units: int, theta: Fraction) -> Fraction:
    """The least multiple of 1/FINENESS with lam(units) >= theta; rounding is down, so that it suffices for sure."""
    units = min(units, 2**12)  # fewer need no less
    low, high = FINENESS, 2 * FINENESS
    while climb(Fraction(high, FINENESS), units) < theta * UNIT:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if climb(Fraction(middle, FINENESS), units) >= theta * UNIT else (middle, high)
    return Fraction(high, FINENESS)


class UnitPrices(WeightPrices):
    """The price of a unit by type and slot; every task takes one unit, of a size that is its own."""

    constants = ("least_unit_value", "largest_unit_value", "fewest_units")

    def __init__(self, margin: Fraction, *, exact: bool) -> None:
        super().__init__(exact=exact)
        self.margin, self.widened = margin, ("largest_unit_value",)

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        super().start(public, constants)
        for name in ("least_unit_value", "fewest_units"):
            require_positive("units", name, constants[name])
        self._low = constants["least_unit_value"] / self.margin
        self._theta = max(Fraction(1), self.margin * constants["largest_unit_value"] / self._low)
        self._gamma = find_gamma(max(1, int(constants["fewest_units"])), self._theta)
        self._lam = [[0] * public.slots for _ in public.node_types]
        dtype = object if self._exact else np.float64
        self.prices = [np.zeros(public.slots, dtype) for _ in public.node_types]

    def weigh(self, task: Task, g: int) -> int:
        return 1

    def moved(self, task: Task, cells: tuple[Cell, ...] | None) -> None:
        """The next unit of each cell's type and slot costs more."""
        for k, t in cells or ():
            g = self._kind[k]
            compute, memory = self._sizes[g]
            fit = units_of(compute, memory, int(task.rate[g]), task.memory_mb)
            lam = self._lam[g][t - 1] = step(self._lam[g][t - 1], self._gamma, fit * self._public.node_types[g].count)
            price = self._low * Fraction(lam, UNIT)
            self.prices[g][t - 1] = price if self._exact else float(price)

    @property
    def terms(self) -> UnitTerms:
        prices = tuple(tuple(Fraction(lam, UNIT) for lam in row) for row in self._lam)
        return UnitTerms(self._gamma, self._low, self._theta, prices)


register_law(
    "units",
    "one price per node type and slot on the count of equal units (Theorem A', tasks of one cell)",
    {"margin": Option("1", None, "L is the constant over this, and theta L the constant times this"), **OPTIONS},
    lambda options, exact: UnitPrices(read_margin("units", options), exact=exact),
    lambda options: f"equal tasks of one cell: OPT <= Gamma_N ALG, {WITHIN} (Theorem A'); else none",
)
