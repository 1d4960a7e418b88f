"""Which way an objective is better: most (welfare, profit) or least (a cost, a tardiness)."""

from __future__ import annotations

from enum import StrEnum


class Sense(StrEnum):
    """Whether the most or the least of the objective is best."""

    MOST = "most"
    LEAST = "least"

    @property
    def verified(self) -> str:
        """The end of the interval on OPT that a verified solution gives."""
        return "lower" if self is Sense.MOST else "upper"

    @property
    def bound(self) -> str:
        """The end of the interval on OPT that a proof gives."""
        return "upper" if self is Sense.MOST else "lower"

    @property
    def ratio(self) -> str:
        """The ratio as tables head it: never below 1 when nothing is wrong."""
        return "OPT/ALG" if self is Sense.MOST else "ALG/OPT"

    @property
    def difference(self) -> str:
        """How far an algorithm is behind OPT, where no ratio says it."""
        return "OPT - ALG" if self is Sense.MOST else "ALG - OPT"

    @property
    def reached(self) -> str:
        """The part that is certainly reached, as tables head it: never above 1 when nothing is wrong."""
        return "ALG/upper" if self is Sense.MOST else "lower/ALG"

    @property
    def best(self) -> str:
        """What the best value of several is called."""
        return "largest" if self is Sense.MOST else "least"
