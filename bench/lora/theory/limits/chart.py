"""The figure: proved factors and limits over the spread theta of values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from ratiobench.bench.draw.document import make_document
from ratiobench.bench.draw.plots import draw_curves
from ratiobench.bench.lora.theory.limits import formulas
from ratiobench.bench.lora.theory.limits.table import Parameters, factor_posted
from ratiobench.online.lora.registry import entries

THETAS = (2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
"""Spreads of values that are drawn."""
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
    base = Parameters()
    points = [replace(base, theta=Fraction(theta)) for theta in THETAS]
    known = entries()
    named = {f"{name} ({theorem})": curve for name, (theorem, curve) in _PROVED.items() if name in known}
    curves = [
        (name, [(float(point.theta), curve(point)) for point in points]) for name, curve in {**named, **_LIMITS}.items()
    ]
    title = f"Proved factors and limits of every algorithm, eps = 1/{base.units}, {base.nodes} nodes of each type"
    return make_document(draw_curves(curves, title, "spread of values, theta", "OPT/ALG"))
