"""Which way an objective is better: most (welfare, profit) or least (a cost, a tardiness)."""

from __future__ import annotations

from enum import StrEnum


class Sense(StrEnum):
    """Whether the most or the least of the objective is best."""

    verified: str  # the end of the interval on OPT that a verified solution gives
    bound: str  # the end of the interval on OPT that a proof gives
    ratio: str  # the ratio as tables head it: never below 1 when nothing is wrong
    difference: str  # how far an algorithm is behind OPT, where no ratio says it
    reached: str  # the part that is certainly reached, as tables head it: never above 1 when nothing is wrong
    best: str  # what the best value of several is called

    def __new__(cls, value: str, *words: str) -> Sense:
        member = str.__new__(cls, value)
        member._value_ = value
        member.verified, member.bound, member.ratio, member.difference, member.reached, member.best = words
        return member

    MOST = "most", "lower", "upper", "OPT/ALG", "OPT - ALG", "ALG/upper", "largest"
    LEAST = "least", "upper", "lower", "ALG/OPT", "ALG - OPT", "lower/ALG", "least"
