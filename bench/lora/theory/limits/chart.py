"""The figure: proved factors and limits over the spread theta of values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from ratiobench.bench.draw.document import make_document
from ratiobench.bench.draw.plots import draw_curves
from ratiobench.bench.lora.theory.limits import formulas
from ratiobench.online.lora.algorithms.posted import best_growth, gain
from ratiobench.online.lora.registry import entries

THETAS = (2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
"""Spreads of values that are drawn."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """A class of unit instances, with memories in proportion to bids.

    Parameters
    ----------
    theta : largest value of a task over the least.
    units : n, tasks that fit a node in a slot.
    nodes : K, of each type.
    """

    theta: Fraction
    units: int = 16
    nodes: int = 2

    @property
    def share(self) -> Fraction:
        """eps."""
        return Fraction(1, self.units)

    @property
    def spread(self) -> Fraction:
        """U, the least that it can be."""
        return self.theta + 1

    @property
    def total(self) -> int:
        """N."""
        return self.units * self.nodes


def factor_posted(given: Parameters) -> Fraction:
    """Theorem A: Gamma = max(1, B) + B U / G at the B and the G that the mechanism takes."""
    growth = best_growth(given.spread, given.share)
    return max(Fraction(1), growth) + growth * given.spread / gain(growth, given.share)


_Curve = Callable[[Parameters], float]

_PROVED: Mapping[str, tuple[str, _Curve]] = {
    "minimal-edit": ("Theorem B", lambda p: formulas.factor_minimal_edit(float(p.spread), float(p.share))),
    "greedy": ("Theorem G", lambda p: formulas.factor_greedy(float(p.spread), float(p.share))),
    "posted": ("Theorem A", lambda p: float(factor_posted(p))),
    "units": ("Theorem A', one cell", lambda p: formulas.factor_units(p.total, float(p.theta))),
}
_LIMITS: Mapping[str, _Curve] = {
    "limit, deterministic: N4": lambda p: formulas.bound_units(p.total, float(p.theta)),
    "limit, several node types: N3": lambda p: formulas.bound_any_choice(float(p.theta)),
    "limit, all algorithms: N1": lambda p: formulas.bound_theta(float(p.theta)),
}


def draw_limits() -> str:
    """An SVG document: proved factors of the registered mechanisms, then the limits, both axes logarithmic."""
    points = [Parameters(Fraction(theta)) for theta in THETAS]
    known = entries()
    named = {f"{name} ({theorem})": curve for name, (theorem, curve) in _PROVED.items() if name in known}
    curves = [
        (name, [(float(point.theta), curve(point)) for point in points]) for name, curve in {**named, **_LIMITS}.items()
    ]
    first = points[0]
    title = f"Proved factors and limits of every algorithm, eps = {first.share}, {first.nodes} nodes of each type"
    return make_document(draw_curves(curves, title, "spread of values, theta", "OPT/ALG"))
