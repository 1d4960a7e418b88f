"""Competitive ratios as intervals: OPT is known within [lower, upper], so OPT/ALG is known within an interval too."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from formulations.report import Exact


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

    ALG > 0 gives [lower/ALG, upper/ALG], `lower` no less than 0; ALG = upper = 0 gives 1; ALG <= 0 < lower is
    unbounded; everything else is undefined: where all of OPT is negative, a quotient says nothing.

    Raises
    ------
    ValueError : for upper < lower, and for a welfare above a negative upper end: a proof or a run must be wrong.
    """
    if upper < lower or (upper < 0 and upper < welfare):
        raise ValueError(f"OPT in [{lower}, {upper}] is no interval, or none that holds {welfare}")
    if upper < 0:
        return Ratio(Kind.UNDEFINED)
    lower = max(0, lower)
    if welfare > 0:
        return Ratio(Kind.INTERVAL, Fraction(lower) / Fraction(welfare), Fraction(upper) / Fraction(welfare))
    if welfare == 0 == upper:
        return Ratio(Kind.INTERVAL, Fraction(1), Fraction(1))
    if lower > 0:
        return Ratio(Kind.UNBOUNDED)
    return Ratio(Kind.UNDEFINED)


def gap(lower: Exact, upper: Exact) -> float:
    """(upper - lower) / |upper|; 0 where both are 0, infinite where only the upper end is."""
    if lower == upper:
        return 0.0
    return float(Fraction(upper - lower) / Fraction(max(upper, -upper))) if upper else float("inf")


def reached(upper: Exact, welfare: Exact) -> Fraction | None:
    """ALG/upper: the part of OPT that was certainly reached (at least); None where upper = 0 > ALG or upper < 0."""
    if upper > 0:
        return Fraction(welfare) / Fraction(upper)
    return Fraction(1) if welfare == 0 == upper else None


@dataclass(frozen=True, slots=True)
class Mean:
    """Mean of ALG/upper over cases.

    Parameters
    ----------
    value : the exact mean over the cases where ALG/upper is defined; None when there are none.
    cases : how many those are.
    unbounded : cases with an unbounded OPT/ALG (they are in the mean with their ALG/upper <= 0).
    undefined : cases left out because the upper end is 0 > ALG, or negative.
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


def grouped(value: Exact, *, up: bool = False) -> str:
    """An exact figure for reading: thousands apart; a fraction as at most three decimals, rounded down, or up."""
    whole, point, places = decimal(value, up=up).partition(".")
    return f"{whole}{point}{places}" if whole == "-0" else f"{int(whole):,}{point}{places}"


def truncated(value: Exact) -> str:
    """An exact figure for reading; dots follow where decimals were cut off."""
    size = Fraction(max(value, -value))
    cut = decimal(size, up=False)
    dots = "" if Fraction(cut) == size else "..."
    return f"{'-' if value < 0 else ''}{grouped(Fraction(cut))}{dots}"


def percent(share: float) -> str:
    """A gap as a percentage with three significant digits."""
    return f"{100 * share:.3g} %"
