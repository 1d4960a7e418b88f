"""Axes: where values stand, round values to mark, and how these are written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# From which value on, divided by what, with which letter
_SIZES = ((1e12, 1e12, " T"), (1e9, 1e9, " G"), (1e6, 1e6, " M"), (9999.5, 1e3, " k"))


def format_compactly(value: float) -> str:
    """Four digits with k, M, G or T behind them; 10,000 is the first with a k."""
    if not math.isfinite(value):
        return "-"
    for least, size, letter in _SIZES:
        if abs(value) >= least:
            return f"{value / size:.4g}{letter}"
    return f"{value:.4g}"


def format_ticks(values: Sequence[float], log: bool = False) -> list[str]:
    """The numbers of an axis: plain ones where it is logarithmic, else all with the k, M, G or T of the largest."""
    if log:
        return [f"{value:,.12g}" for value in values]
    largest = max(map(abs, values), default=0.0)
    size, letter = next(((size, letter) for least, size, letter in _SIZES if largest >= least), (1.0, ""))
    return [f"{value / size:.5g}{letter if value else ''}" for value in values]


@dataclass(frozen=True, slots=True)
class Scale:
    """Where values stand: `low` at `start`, `high` at `end`, by their logarithms or not."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The place of a value, which may lie beyond the ends."""
        return self.start + (self.end - self.start) * self.share(value)

    def share(self, value: float) -> float:
        """The same as a share of the way."""
        low, high = self.low, self.high
        if self.log:
            value, low, high = math.log(max(value, 1e-300)), math.log(low), math.log(high)
        return (value - low) / (high - low) if high > low else 0.5

    def clip(self, value: float) -> float:
        """The place of a value, or of the end beyond which it lies."""
        return self(min(max(value, self.low), self.high))

    def ticks(self, most: int = 5) -> list[float]:
        """At most about so many round values between the ends."""
        if not self.log:
            return _round_values(self.low, self.high, most)
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        for steps in ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0)):
            found = [step * 10.0**power for power in range(first, last + 1) for step in steps]
            found = [value for value in found if self.low <= value * (1 + 1e-9) and value <= self.high * (1 + 1e-9)]
            if len(found) > 2:
                return found[:: -(-len(found) // (most + 1))]
        return _round_values(self.low, self.high, most)


def _round_values(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2, 2.5 or 5 times a power of ten."""
    if not high > low:
        return [low]
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(each * power for each in (1, 2, 2.5, 5, 10) if each * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [0.0 if number == 0 else float(f"{number * step:.12g}") for number in range(first, last + 1)]


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis shows: from where to where, its title, and its marks where they are no round numbers."""

    low: float
    high: float
    title: str = ""
    log: bool = False
    most: int = 4
    labels: Sequence[tuple[float, str]] = ()

    def scale(self, start: float, end: float) -> Scale:
        """The axis between two places."""
        return Scale(self.low, self.high, start, end, self.log)

    def marks(self) -> list[tuple[float, str]]:
        """Values with their texts."""
        if self.labels:
            return list(self.labels)
        values = self.scale(0, 1).ticks(self.most)
        return list(zip(values, format_ticks(values, self.log), strict=True))
