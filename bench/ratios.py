"""Competitive ratios as intervals: OPT is known within [lower, upper], so OPT/ALG is known within an interval too."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

Exact = int | Fraction


class Kind(StrEnum):
    """What can be said of OPT/ALG."""

    INTERVAL = "interval"
    UNBOUNDED = "unbounded"
    """The algorithm earned nothing (or lost) where something could be earned."""
    UNDEFINED = "undefined"
    """Neither: the difference OPT - ALG says what can be said."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """OPT/ALG within [lower, upper], exact; both None unless `kind` is an interval."""

    kind: Kind
    lower: Fraction | None = None
    upper: Fraction | None = None

    def __str__(self) -> str:
        if self.lower is None or self.upper is None:
            return self.kind.value
        return interval_text(self.lower, self.upper)


def ratio(lower: Exact, upper: Exact, welfare: Exact) -> Ratio:
    """The interval of OPT/ALG for OPT in [lower, upper] and ALG = welfare.

    OPT >= 0 always (reject everything), so a negative `lower` counts as 0. ALG > 0 gives [lower/ALG, upper/ALG];
    ALG = upper = 0 gives 1; ALG <= 0 < lower is unbounded; everything else is undefined.

    Raises
    ------
    ValueError : for upper < lower or upper < 0, which no proof can have given.
    """
    lower = max(0, lower)
    if upper < lower:
        raise ValueError(f"OPT in [{lower}, {upper}] is no interval")
    if welfare > 0:
        return Ratio(Kind.INTERVAL, Fraction(lower) / Fraction(welfare), Fraction(upper) / Fraction(welfare))
    if welfare == 0 == upper:
        return Ratio(Kind.INTERVAL, Fraction(1), Fraction(1))
    if lower > 0:
        return Ratio(Kind.UNBOUNDED)
    return Ratio(Kind.UNDEFINED)


def reached(upper: Exact, welfare: Exact) -> Fraction | None:
    """ALG/upper: the part of OPT that was certainly reached (at least); None where upper = 0 > ALG."""
    if upper > 0:
        return Fraction(welfare) / Fraction(upper)
    return Fraction(1) if welfare == 0 else None


@dataclass(frozen=True, slots=True)
class Mean:
    """Mean of ALG/upper over cases.

    Parameters
    ----------
    value : the exact mean over the cases where ALG/upper is defined; None when there are none.
    cases : how many those are.
    unbounded : cases with an unbounded OPT/ALG (they are in the mean with their ALG/upper <= 0).
    undefined : cases left out because upper = 0 > ALG.
    """

    value: Fraction | None
    cases: int
    unbounded: int
    undefined: int


def mean(results: Iterable[tuple[Exact, Exact, Exact]]) -> Mean:
    """The mean of ALG/upper over (lower, upper, welfare) triples."""
    parts: list[Fraction] = []
    unbounded = undefined = 0
    for lower, upper, welfare in results:
        part = reached(upper, welfare)
        unbounded += ratio(lower, upper, welfare).kind is Kind.UNBOUNDED
        if part is None:
            undefined += 1
        else:
            parts.append(part)
    value = sum(parts, Fraction(0)) / len(parts) if parts else None
    return Mean(value, len(parts), unbounded, undefined)


def decimal(value: Exact, digits: int = 3, *, up: bool) -> str:
    """The value as a decimal with at most `digits` places, rounded up or down (never to the nearest)."""
    scale = 10**digits
    scaled = Fraction(value) * scale
    whole = -((-scaled.numerator) // scaled.denominator) if up else scaled.numerator // scaled.denominator
    sign, whole = ("-" if whole < 0 else ""), abs(whole)
    places = f"{whole % scale:0{digits}d}".rstrip("0") if digits else ""
    return f"{sign}{whole // scale}" + (f".{places}" if places else "")


def interval_text(lower: Exact, upper: Exact, digits: int = 3) -> str:
    """``[lower, upper]`` rounded outward, or the one number where both ends print exactly alike."""
    low, high = decimal(lower, digits, up=False), decimal(upper, digits, up=True)
    return low if low == high else f"[{low}, {high}]"
