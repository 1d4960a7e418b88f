"""The normal, the exponential and the gamma law on grids, drawn in integers: the same draws on any machine.

A law is a table of thresholds floor(2^64 P(X <= x)) over the points x of a grid, computed in decimal arithmetic (whose
exp and ln are correctly rounded everywhere), and a draw looks one 64-bit word up in it, as `Stream.poisson` does.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ratiobench.instances.eapm.model import IntArray
from ratiobench.instances.io.seeds import Stream

REACH = 9_300  # A normal draw is at most this many thousandths from 0; what lies outside has a probability below 2^-64
BITS = 60  # Fixed-point numbers here are integers in units of 2^-60

_DIGITS = Context(prec=30, rounding=ROUND_HALF_EVEN)


def normal(stream: Stream, size: int) -> IntArray:
    """Standard normal draws in thousandths; mean and variance differ from 0 and 1 by less than 2^-50."""
    return np.searchsorted(_normal_table(), stream.words(size), side="right").astype(np.int64) - REACH


def gamma(stream: Stream, cv: Fraction, size: int) -> IntArray:
    """Gamma draws in two-thousandths of the mean; cv in 1/50..1; right to a few thousandths."""
    return 2 * np.searchsorted(_gamma_table(cv), stream.words(size), side="right").astype(np.int64) + 1


def exponential(exponent: Fraction) -> int:
    """2^60 exp(x), rounded, for |x| <= 50."""
    with localcontext(_DIGITS):
        return int((_decimal(exponent).exp() * 2**BITS).to_integral_value())


@lru_cache(maxsize=8)
def exponentials(deviation: Fraction) -> tuple[int, ...]:
    """2^60 exp(deviation * k/1000), rounded, for k = -REACH..REACH."""
    with localcontext(_DIGITS):
        step = (_decimal(deviation) / 1000).exp()
        value = (_decimal(-deviation * REACH) / 1000).exp() * 2**BITS
        table = []
        for _ in range(2 * REACH + 1):
            table.append(int(value.to_integral_value()))
            value *= step
    return tuple(table)


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


@lru_cache(maxsize=1)
def _normal_table() -> NDArray[np.uint64]:
    with localcontext(_DIGITS):
        # From k to k + 1 the density falls by exp(-(2k + 1) / 2,000,000), and that factor itself by exp(-1e-6).
        half, ratio, fall = [Decimal(1)], Decimal("-0.0000005").exp(), Decimal("-0.000001").exp()
        for _ in range(REACH):
            half.append(half[-1] * ratio)
            ratio *= fall
        return _thresholds([*half[:0:-1], *half])


@lru_cache(maxsize=16)
def _gamma_table(cv: Fraction) -> NDArray[np.uint64]:
    if not Fraction(1, 50) <= cv <= 1:
        raise ValueError(f"coefficient of variation {cv} is not in 1/50..1")
    with localcontext(_DIGITS):
        shape = 1 / cv**2
        # The density at x = (2j + 1) / 2000 of the mean is x^(shape - 1) exp(-shape x), and by Chernoff's bound the
        # tail beyond x is below exp(-shape (x - 1 - ln x)), which is to be below exp(-46) < 2^-64.
        reach = Decimal(2)
        while _decimal(shape) * (reach - 1 - reach.ln()) < 46:
            reach += Decimal("0.1")
        points = int(1000 * reach)
        power = _powers(_decimal(shape - 1), 2 * points)
        decay, fall = (_decimal(-shape) / 2000).exp(), (_decimal(-shape) / 1000).exp()
        weights = []
        for j in range(points):
            weights.append(power[2 * j + 1] * decay)
            decay *= fall
        return _thresholds(weights)


def _powers(exponent: Decimal, limit: int) -> list[Decimal]:
    """v^exponent for odd v below the limit (1 for even v): logarithms of the primes only."""
    power = [Decimal(1)] * limit
    factor = list(range(limit))
    for v in range(3, limit, 2):
        if factor[v] == v:
            power[v] = (Decimal(v).ln() * exponent).exp()
            for multiple in range(v * v, limit, 2 * v):
                factor[multiple] = min(factor[multiple], v)
        else:
            power[v] = power[factor[v]] * power[v // factor[v]]
    return power


def _thresholds(weights: list[Decimal]) -> NDArray[np.uint64]:
    """floor(2^64 P(X <= x)) for every point but the last."""
    total, passed, thresholds = sum(weights), Decimal(0), []
    for weight in weights[:-1]:
        passed += weight
        thresholds.append(min(int(passed / total * 2**64), 2**64 - 1))
    return np.array(thresholds, dtype=np.uint64)
