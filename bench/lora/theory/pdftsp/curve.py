"""A bidder's utility over its own bid: lines between breakpoints, and the bid that gains most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from ratiobench.instances.io.fields import LIMIT
from ratiobench.online.lora.traces import Cell


class Line(NamedTuple):
    """at + slope * bid."""

    at: Fraction
    slope: Fraction = Fraction(0)

    def __call__(self, bid: Fraction) -> Fraction:
        return self.at + self.slope * bid

    def crosses(self, other: Line) -> Fraction:
        return (other.at - self.at) / (self.slope - other.slope)


class Piece(NamedTuple):
    """An interval of bids with one outcome."""

    low: Fraction  # low, high: its ends; low_in, high_in: whether they belong to it
    high: Fraction
    low_in: bool
    high_in: bool
    admitted: bool  # whether the task wins
    payment: Line | None  # what it pays then, as a function of its bid; None where it loses
    cells: tuple[Cell, ...]  # the schedule that it wins with; empty where it loses

    def has(self, bid: Fraction) -> bool:
        return self.low < bid < self.high or (bid == self.low and self.low_in) or (bid == self.high and self.high_in)


@dataclass(frozen=True, slots=True)
class Curve:
    """Outcome and utility (15) of one task for every bid in 0..2^40, all other bids as they are."""

    task: int  # task, valuation: whose, and v_i
    valuation: int
    rule: str  # payment rule, printed (14) or critical
    pieces: tuple[Piece, ...]  # in ascending order, without gaps

    def piece(self, bid: Fraction | int) -> Piece:
        return next(piece for piece in self.pieces if piece.has(Fraction(bid)))

    def payment(self, bid: Fraction | int) -> Fraction | None:
        """p_i at a bid; None if the task loses."""
        line = self.piece(bid).payment
        return None if line is None else line(Fraction(bid))

    def utility(self, bid: Fraction | int) -> Fraction:
        """v_i - p_i if the task wins, 0 if it loses (15)."""
        return self.utility_in(self.piece(bid), Fraction(bid))

    def utility_in(self, piece: Piece, bid: Fraction) -> Fraction:
        """The utility of a bid inside a piece, or the limit at an end that does not belong to it."""
        return Fraction(0) if piece.payment is None else self.valuation - piece.payment(bid)

    def best(self) -> tuple[Fraction, Fraction]:
        """(bid, utility): the truthful bid if none is better, else the best bid that can be named."""
        # A supremum at an open end is not attained: then an integer near it, or else a bid that gains half as much.
        truth = Fraction(self.valuation)
        best = truth, self.utility(truth)
        for piece in self.pieces:
            for bid in _candidates(piece, self.valuation, self.utility(truth)):
                if self.utility(bid) > best[1]:
                    best = bid, self.utility(bid)
        return best

    def rows(self) -> Iterator[dict[str, str]]:
        for piece in self.pieces:
            ends = piece.low, piece.high
            paid = ["" if piece.payment is None else str(piece.payment(bid)) for bid in ends]
            utility = [str(self.utility_in(piece, bid)) for bid in ends]
            yield {
                "task": str(self.task),
                "valuation": str(self.valuation),
                "rule": self.rule,
                "bid_from": str(piece.low),
                "bid_to": str(piece.high),
                "from_included": str(piece.low_in).lower(),
                "to_included": str(piece.high_in).lower(),
                "admitted": str(piece.admitted).lower(),
                "payment_from": paid[0],
                "payment_to": paid[1],
                "utility_from": utility[0],
                "utility_to": utility[1],
                "schedule": " ".join(f"{k}@{t}" for k, t in piece.cells),
            }


def read_curve(rows: Sequence[Mapping[str, str]]) -> Curve:
    """The utilities of a stored curve: each piece has the payment that its utilities at both ends say."""
    task, valuation = int(rows[0]["task"]), int(rows[0]["valuation"])
    pieces = []
    for row in rows:
        low, high = Fraction(row["bid_from"]), Fraction(row["bid_to"])
        first, last = (valuation - Fraction(row[f"utility_{end}"]) for end in ("from", "to"))
        slope = (last - first) / (high - low) if low < high else Fraction(0)
        ends_in = row["from_included"] == "true", row["to_included"] == "true"
        pieces.append(Piece(low, high, *ends_in, True, Line(first - slope * low, slope), ()))
    return Curve(task, valuation, "", tuple(pieces))


def make_threshold_curve(
    task: int, valuation: int, rule: str, cost: Fraction | None, payment: Fraction, cells: tuple[Cell, ...]
) -> Curve:
    """The curve of an offer that no bid moves: the task wins above its cost (None: never), for the same payment."""
    top = Fraction(LIMIT)
    if cost is None or cost >= top:
        pieces = [Piece(Fraction(0), top, True, True, False, None, ())]
    else:
        paid = Line(payment)
        pieces = [Piece(max(cost, Fraction(0)), top, cost < 0, True, True, paid, cells)]
        if cost >= 0:
            pieces.insert(0, Piece(Fraction(0), cost, True, True, False, None, ()))
    return Curve(task, valuation, rule, tuple(pieces))


def _candidates(piece: Piece, valuation: int, truthful: Fraction) -> Iterator[Fraction]:
    """Bids of a piece among which is one that gains, if any bid of the piece does; integers first."""
    if piece.payment is None:
        yield piece.low if piece.low_in else (piece.low + piece.high) / 2
        return
    rising = piece.payment.slope < 0  # utility grows with the bid
    end, included = (piece.high, piece.high_in) if rising else (piece.low, piece.low_in)
    whole = Fraction(end.__floor__() if rising else end.__ceil__())
    for near in (whole, whole - 1 if rising else whole + 1):
        if piece.has(near):
            yield near
    if included:
        yield end
    else:
        supremum = valuation - piece.payment(end)
        yield (piece.low + piece.high) / 2
        if supremum > truthful and piece.payment.slope:
            halfway = (valuation - (supremum + truthful) / 2 - piece.payment.at) / piece.payment.slope
            if piece.has(halfway):
                yield halfway
