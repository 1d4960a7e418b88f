"""Reading the studies of bidders: utility over the bid, piece by piece, and what was charged; exact."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple, TypeVar

SAMPLE = 10  # Tasks shown of those that were charged, as in the paper
Shown = TypeVar("Shown")


@dataclass(frozen=True, slots=True)
class CurvePiece:
    """A piece of a bidder's curve, on which utility is linear in the bid; exact."""

    valuation: Fraction  # of the task, the same in all pieces
    bid_from: Fraction  # bid_from, bid_to: its ends
    bid_to: Fraction
    from_included: bool  # from_included, to_included: whether they belong to it
    to_included: bool
    utility_from: Fraction  # utility_from, utility_to: utility at the ends
    utility_to: Fraction

    @property
    def ends(self) -> tuple[PieceEnd, PieceEnd]:
        """The lower end, then the upper one."""
        return (
            PieceEnd(self.bid_from, self.utility_from, self.from_included),
            PieceEnd(self.bid_to, self.utility_to, self.to_included),
        )


class PieceEnd(NamedTuple):
    """An end of a piece: its bid, the utility there, and whether it belongs to the piece."""

    bid: Fraction
    utility: Fraction
    is_included: bool


@dataclass(frozen=True, slots=True)
class Charge:
    """An admitted task: what it bids and pays, and what it costs the provider; exact."""

    task: str
    bid: Fraction
    payment: Fraction
    outlay: Fraction


def read_curve(rows: Sequence[Mapping[str, str]]) -> list[CurvePiece]:
    """The pieces of a stored study of kind `curve`."""
    return [
        CurvePiece(
            **{name: Fraction(row[name]) for name in ("valuation", "bid_from", "bid_to", "utility_from", "utility_to")},
            from_included=row["from_included"] == "true",
            to_included=row["to_included"] == "true",
        )
        for row in rows
    ]


def read_charges(rows: Sequence[Mapping[str, str]]) -> list[Charge]:
    """The tasks of a stored study of kind `charges`."""
    return [Charge(row["task"], *(Fraction(row[name]) for name in ("bid", "payment", "outlay"))) for row in rows]


class BidRange(StrEnum):
    """Which bids gain most."""

    AT = "the bid"
    ABOVE = "bids above"
    BELOW = "bids below"
    NEAR = "bids close to"  # No bid gains as much as those close enough to this one nearly do


@dataclass(frozen=True, slots=True)
class BestBids:
    """The bids that gain most, exact."""

    bid: Fraction  # one of them, or the end of their piece where it does not belong to it
    utility: Fraction  # what they gain, or nearly gain
    where: BidRange  # they lie as seen from `bid`
    other: Fraction  # the other end of their piece; `bid` for a single one
    closed: bool = True  # whether the other end belongs to the piece
    endless: bool = False  # whether they are all bids above `bid`, to the end of the curve

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


def find_best(pieces: Sequence[CurvePiece]) -> tuple[Fraction, BestBids]:
    """The utility of the truthful bid, and the best bids: the truthful one unless another gains more."""
    valuation = pieces[0].valuation
    truthful = utility_of(next(piece for piece in pieces if has_bid(piece, valuation)), valuation)
    found = BestBids(valuation, truthful, BidRange.AT, valuation)
    highest = max(piece.bid_to for piece in pieces)
    for piece in pieces:
        low, high = piece.ends
        for end, other, beyond in ((low, high, BidRange.ABOVE), (high, low, BidRange.BELOW)):
            if end.utility > found.utility:
                where = _where(end, other, beyond)
                endless = where is BidRange.ABOVE and other.bid == highest
                found = BestBids(end.bid, end.utility, where, other.bid, other.is_included, endless)
    return truthful, found


def _where(end: PieceEnd, other: PieceEnd, beyond: BidRange) -> BidRange:
    """The bids of a piece that gain what its end would, as seen from the end; `beyond` is the piece's side of it."""
    if end.is_included:
        return BidRange.AT
    return beyond if end.utility == other.utility else BidRange.NEAR


def has_bid(piece: CurvePiece, bid: Fraction) -> bool:
    """Whether the bid belongs to the piece."""
    low, high = piece.ends
    return (low.bid < bid or (low.bid == bid and low.is_included)) and (
        bid < high.bid or (bid == high.bid and high.is_included)
    )


def utility_of(piece: CurvePiece, bid: Fraction) -> Fraction:
    """The utility of a bid on the line between the ends of a piece."""
    (low, start, _), (high, end, _) = piece.ends
    return start if low == high else start + (end - start) * (bid - low) / (high - low)


def take_sample(rows: Sequence[Shown]) -> list[Shown]:
    """At most `SAMPLE` rows, evenly spaced, in order, the first and the last among them."""
    if len(rows) <= SAMPLE:
        return list(rows)
    return [rows[round(place * (len(rows) - 1) / (SAMPLE - 1))] for place in range(SAMPLE)]
