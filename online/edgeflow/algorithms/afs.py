"""AFS: GPUs go step by step to whom a step shortens the total of finish times most; not deadline-aware.

A step is the next power of two among the job's useful levels. Of two jobs, a with the shorter remaining time at its
present share (at its first level where it has none) and b: where both have none, a goes first; where one has none,
that one; else b exactly if its gain over its next speed is larger than a's over its present one, the gain being speed
per GPU of the step. Compared in whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from instances.edgeflow.model import CLOUD, Job
from online.edgeflow.policy import Sharing, with_common
from online.edgeflow.protocol import Answer, View
from online.edgeflow.registry import Entry, register


class _Bid:
    """A job in the round: its level so far (-1: none)."""

    __slots__ = ("index", "left", "level", "levels")

    def __init__(self, index: int, left: int, levels: Sequence[tuple[int, int]]) -> None:
        self.index, self.left, self.levels, self.level = index, left, levels, -1

    @property
    def now(self) -> tuple[int, int]:
        """(GPUs, speed) at its present level."""
        return self.levels[self.level] if self.level >= 0 else (0, 0)

    @property
    def step(self) -> int:
        """GPUs to the next level."""
        return self.levels[self.level + 1][0] - self.now[0]

    @property
    def alone(self) -> Fraction:
        """Remaining time at its first level."""
        return Fraction(self.left, self.levels[0][1])


def _goes_first(one: _Bid, other: _Bid) -> _Bid:
    """Who gets the step, of two that have a share."""
    (_, mine), (_, yours) = one.now, other.now
    is_shorter = (one.left * yours, one.index) < (other.left * mine, other.index)
    a, b = (one, other) if is_shorter else (other, one)
    (_, slow), (_, fast) = a.now, a.levels[a.level + 1]
    (_, low), (_, high) = b.now, b.levels[b.level + 1]
    # gain_b / T_b(next) > gain_a / T_a(now)
    return b if (high - low) * a.step * slow > (fast - slow) * b.step * high else a


class Afs(Sharing):
    """See the module."""

    def share(self, view: View, new: Sequence[Job]) -> Answer:
        """Steps until none fits."""
        pairs = zip(view.index.tolist(), view.left.tolist(), strict=True)
        bids = [_Bid(i, left, self.useful[self.jobs[i].model]) for i, left in pairs]
        free = view.gpus
        for bid in sorted((bid for bid in bids if bid.levels), key=lambda bid: (bid.alone, bid.index)):
            if bid.step <= free:
                free -= bid.step
                bid.level = 0
        bids = [bid for bid in bids if bid.level >= 0]
        while able := [bid for bid in bids if bid.level + 1 < len(bid.levels) and bid.step <= free]:
            best = able[0]
            for bid in able[1:]:
                best = _goes_first(best, bid)
            free -= best.step
            best.level += 1
        return Answer({bid.index: (CLOUD, bid.now[0]) for bid in bids})


register(
    Entry(
        "afs",
        "GPUs step by step to whom they shorten the finish times most; not deadline-aware",
        "1",
        with_common(),
        lambda options: Afs(),
    )
)
