"""Competitive ratios as intervals, since OPT is known within one; decides alone whether most or least is best."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ratiobench.bench.family.sense import Sense
from ratiobench.instances.io.display import format_decimal as format_decimal
from ratiobench.instances.io.display import format_number as format_number

if TYPE_CHECKING:
    from ratiobench.formulations.report import Exact


class Kind(StrEnum):
    INTERVAL = "interval"
    OPEN = "open"  # It has a least value only: OPT may be 0, and where it is, the ratio is unbounded
    # The algorithm earned nothing (or lost) where something could be earned, or had costs where none are needed
    UNBOUNDED = "unbounded"
    ESTIMATE = "estimate"  # An interval over the mean of several runs: no certificate
    UNDEFINED = "undefined"  # None of these: the difference between OPT and ALG says what can be said


@dataclass(frozen=True, slots=True)
class Ratio:
    """OPT/ALG, or ALG/OPT if least is best; ends are None unless `kind` is an interval, `upper` if it is open."""

    kind: Kind
    lower: Fraction | None = None
    upper: Fraction | None = None

    def __str__(self) -> str:
        if self.lower is None:
            return self.kind.value
        return open_text(self.lower) if self.upper is None else interval_text(self.lower, self.upper)


def open_text(lower: Exact) -> str:
    return f"at least {format_decimal(lower, up=False)}"


def ratio(lower: Exact, upper: Exact, value: Exact, sense: Sense = Sense.MOST) -> Ratio:
    """The interval of the ratio for OPT in [lower, upper] and ALG = value; at least 1 when nothing is wrong.

    Most is best: OPT/ALG. ALG > 0 gives [lower/ALG, upper/ALG], `lower` no less than 0; ALG = upper = 0 gives 1;
    ALG <= 0 < lower is unbounded; everything else is undefined: where all of OPT is negative, a quotient says nothing.
    Least is best: ALG/OPT. lower > 0 gives [ALG/upper, ALG/lower]; ALG = lower = 0 gives 1; of ALG > 0 = lower the
    ratio is at least ALG/upper, and unbounded for upper = 0; with a negative `lower` it is undefined.
    """
    if upper < lower or (upper < 0 and upper < value and sense is Sense.MOST):
        raise ValueError(f"OPT in [{lower}, {upper}] is no interval, or none that holds {value}")
    if sense is Sense.LEAST:
        return _least_ratio(lower, upper, value)
    if upper < 0:
        return Ratio(Kind.UNDEFINED)
    lower = max(0, lower)
    if value > 0:
        return Ratio(Kind.INTERVAL, Fraction(lower) / Fraction(value), Fraction(upper) / Fraction(value))
    if value == 0 == upper:
        return Ratio(Kind.INTERVAL, Fraction(1), Fraction(1))
    return Ratio(Kind.UNBOUNDED if lower > 0 else Kind.UNDEFINED)


def _least_ratio(lower: Exact, upper: Exact, value: Exact) -> Ratio:
    if value < lower:
        raise ValueError(f"a cost of {value} is below the bound {lower} on OPT")
    if lower < 0:
        return Ratio(Kind.UNDEFINED)
    if lower > 0:
        return Ratio(Kind.INTERVAL, Fraction(value) / Fraction(upper), Fraction(value) / Fraction(lower))
    if value == 0:
        return Ratio(Kind.INTERVAL, Fraction(1), Fraction(1))
    return Ratio(Kind.OPEN, Fraction(value) / Fraction(upper)) if upper > 0 else Ratio(Kind.UNBOUNDED)


def columns(lower: Exact, upper: Exact, value: Exact, sense: Sense) -> dict[str, Any]:
    interval, part = ratio(lower, upper, value, sense), certain_share(lower, upper, value, sense)
    least, most = shortfall(lower, upper, value, sense)
    exact = {"ratio_lower": interval.lower, "ratio_upper": interval.upper, "reached": part}
    floats = {f"{name}_float": None if end is None else float(end) for name, end in exact.items()}
    return {"ratio_kind": interval.kind.value, "behind_lower": least, "behind_upper": most} | exact | floats


def beats_bound(lower: Exact, upper: Exact, value: Exact, sense: Sense) -> bool:
    """Whether a verified value is better than what is proved of OPT: one of the two must be wrong."""
    return value > upper if sense is Sense.MOST else value < lower


def require_bound(
    lower: Exact, upper: Exact, value: Exact, sense: Sense, run: str, bound: str = "the bound on OPT"
) -> None:
    """AssertionError if the verified value of a run is better than what is proved of OPT."""
    if beats_bound(lower, upper, value, sense):
        raise AssertionError(f"{run} is better than {bound}: one of the two is wrong")


def is_better(one: Exact, other: Exact, sense: Sense) -> bool:
    return one > other if sense is Sense.MOST else one < other


def shortfall(lower: Exact, upper: Exact, value: Exact, sense: Sense) -> tuple[Exact, Exact]:
    """How far ALG = value is behind OPT in [lower, upper]: at least, at most."""
    return (lower - value, upper - value) if sense is Sense.MOST else (value - upper, value - lower)


def gap(lower: Exact, upper: Exact) -> float:
    """(upper - lower) / |upper|; 0 if both are 0, infinite if only the upper end is."""
    if lower == upper:
        return 0.0
    return float(Fraction(upper - lower) / Fraction(max(upper, -upper))) if upper else float("inf")


def certain_share(lower: Exact, upper: Exact, value: Exact, sense: Sense = Sense.MOST) -> Fraction | None:
    """The part of OPT that was certainly reached: ALG/upper, or lower/ALG; None if the bound rules none out."""
    if sense is Sense.LEAST:
        if lower < 0:
            return None
        return Fraction(lower) / Fraction(value) if value > 0 else Fraction(1)
    if upper > 0:
        return Fraction(value) / Fraction(upper)
    return Fraction(1) if value == 0 == upper else None


def share(lower: Exact, upper: Exact, value: Exact, sense: Sense = Sense.MOST) -> tuple[Fraction, Fraction] | None:
    """The part of OPT that was reached: at least, at most; None if OPT may be negative, or 0 beside a loss."""
    low = certain_share(lower, upper, value, sense)
    if low is None:
        return None
    if sense is Sense.LEAST:
        return low, min(Fraction(1), Fraction(upper) / Fraction(value)) if value > 0 else Fraction(1)
    if lower > 0:
        return (low, min(Fraction(1), Fraction(value) / lower)) if value > 0 else (Fraction(value) / lower, low)
    return (low, Fraction(1)) if value >= 0 else None


def interval_text(lower: Exact, upper: Exact, digits: int = 3) -> str:
    low, high = format_decimal(lower, digits, up=False), format_decimal(upper, digits, up=True)
    return low if low == high else f"[{low}, {high}]"


def format_truncated(value: Exact, digits: int = 3) -> str:
    """An exact figure for reading; dots follow if decimals were cut off."""
    size = abs(Fraction(value))
    cut = format_decimal(size, digits, up=False)
    whole, point, places = cut.partition(".")
    dots = "" if Fraction(cut) == size else "..."
    return f"{'-' if value < 0 else ''}{int(whole):,}{point}{places}{dots}"


def ends_text(lower: Exact, upper: Exact) -> str:
    if lower == upper:
        return format_truncated(upper)
    return f"[{format_number(lower)}, {format_number(upper, up=True)}]"


def share_percent(share: Exact, *, up: bool = False) -> str:
    """A share in percent with one digit, rounded down, or `up`; ``0 %`` and ``100 %`` are exactly that."""
    if share in (0, 1):
        return f"{int(100 * share)} %"
    text = format_decimal(100 * Fraction(share), 1, up=up)
    return f"{text}{'' if '.' in text else '.0'} %"


def percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def share_text(low: Fraction, high: Fraction) -> str:
    """A share within [low, high]: ``82.1 %`` if both ends round down to it, else ``at least`` or both."""
    one, other = (share_percent(end) for end in (low, high))
    if one == other and (low == high or not one.startswith(("0.0 ", "-0.0 "))):
        return one
    return f"at least {one}" if high == 1 else range_text(low, high)


def range_text(low: Fraction, high: Fraction) -> str:
    """Both ends of a range of shares in percent, rounded outward."""
    least, most = share_percent(low), share_percent(high, up=True)
    return least if least == most else f"{least.removesuffix(' %')} to {most}"
