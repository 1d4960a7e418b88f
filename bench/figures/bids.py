"""Reading the studies of bidders: utility over the bid, piece by piece, and what was charged; exact."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

SAMPLE = 10
"""Tasks shown of those that were charged, as in the paper."""


class BidRange(StrEnum):
    """Which bids gain most."""

    AT = "the bid"
    ABOVE = "bids above"
    BELOW = "bids below"
    NEAR = "bids close to"
    """No bid gains as much as those close enough to this one nearly do."""


@dataclass(frozen=True, slots=True)
class BestBids:
    """The bids that gain most, exact.

    Parameters
    ----------
    bid : one of them, or the end of their piece where it does not belong to it.
    utility : what they gain, or nearly gain.
    where : they lie as seen from `bid`.
    other : the other end of their piece; `bid` for a single one.
    closed : whether the other end belongs to the piece.
    endless : whether they are all bids above `bid`, to the end of the curve.
    """

    bid: Fraction
    utility: Fraction
    where: BidRange
    other: Fraction
    closed: bool = True
    endless: bool = False

    def describe(self, number: Callable[[Fraction], str]) -> str:
        """Which bids these are, in words: `bids above 0 and up to 4`."""
        text = f"{self.where} {number(self.bid)}"
        if self.where is BidRange.ABOVE and not self.endless:
            text += f" and {'up to' if self.closed else 'below'} {number(self.other)}"
        if self.where is BidRange.BELOW and self.other > 0:
            text += f" and {'from' if self.closed else 'above'} {number(self.other)}" + " on" * self.closed
        return text

    def mark_place(self, right: Fraction) -> Fraction:
        """A bid to mark in a figure that ends at `right`: in the middle of the bids above or below an end."""
        if self.where in (BidRange.AT, BidRange.NEAR):
            return self.bid
        low, high = sorted((min(self.bid, right), min(self.other, right)))
        return (low + high) / 2


def find_best(rows: Sequence[Mapping[str, str]]) -> tuple[Fraction, BestBids]:
    """The utility of the truthful bid, and the best bids: the truthful one unless another gains more."""
    valuation = Fraction(rows[0]["valuation"])
    truthful = utility_of(next(row for row in rows if has_bid(row, valuation)), valuation)
    found = BestBids(valuation, truthful, BidRange.AT, valuation)
    highest = max(Fraction(row["bid_to"]) for row in rows)
    for row in rows:
        for end, other in (("from", "to"), ("to", "from")):
            gain = Fraction(row[f"utility_{end}"])
            if gain > found.utility:
                bid, far = Fraction(row[f"bid_{end}"]), Fraction(row[f"bid_{other}"])
                where, closed = _where(row, end, other), row[f"{other}_included"] == "true"
                found = BestBids(bid, gain, where, far, closed, where is BidRange.ABOVE and far == highest)
    return truthful, found


def _where(row: Mapping[str, str], end: str, other: str) -> BidRange:
    """The bids of a piece that gain what its end would, as seen from the end."""
    if row[f"{end}_included"] == "true":
        return BidRange.AT
    if row[f"utility_{end}"] != row[f"utility_{other}"]:
        return BidRange.NEAR
    return BidRange.ABOVE if end == "from" else BidRange.BELOW


def has_bid(row: Mapping[str, str], bid: Fraction) -> bool:
    """Whether the bid belongs to the piece."""
    low, high = Fraction(row["bid_from"]), Fraction(row["bid_to"])
    return (low < bid or (low == bid and row["from_included"] == "true")) and (
        bid < high or (bid == high and row["to_included"] == "true")
    )


def utility_of(row: Mapping[str, str], bid: Fraction) -> Fraction:
    """The utility of a bid on the line between the ends of a piece."""
    low, high = Fraction(row["bid_from"]), Fraction(row["bid_to"])
    start, end = Fraction(row["utility_from"]), Fraction(row["utility_to"])
    return start if low == high else start + (end - start) * (bid - low) / (high - low)


def take_sample(rows: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """At most `SAMPLE` rows, evenly spaced, in order, the first and the last among them."""
    if len(rows) <= SAMPLE:
        return list(rows)
    return [rows[round(place * (len(rows) - 1) / (SAMPLE - 1))] for place in range(SAMPLE)]
