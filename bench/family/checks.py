"""A check of a claim on one run: its verdict, and what it is made on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import msgspec

if TYPE_CHECKING:
    from ratiobench.formulations.report import SolveReport
    from ratiobench.online.outcome import OnlineRun

Instance = TypeVar("Instance")


class Verdict(StrEnum):
    HOLDS = "holds"
    VIOLATED = "violated"
    UNDECIDED = "undecided"
    NOT_APPLICABLE = "not applicable"


ANOTHER = "a claim about "  # How the reason of a check begins whose claim is about another algorithm


@dataclass(frozen=True, slots=True)
class Check:
    name: str  # as its statement is called, in lower case with ``_`` for spaces
    status: Verdict
    left: Fraction | None  # left, right: both sides of the claimed left <= right, exact; None if undefined
    right: Fraction | None
    reason: str = ""  # why it is undecided or not applicable, or what the sides are
    witness: Mapping[str, Any] | None = None  # what shows it (task, schedule, cell), JSON values
    # further exact figures behind the verdict (alpha, beta, rho, ...).
    figures: Mapping[str, Fraction | int | str | None] = field(default_factory=dict)
    # names of the assumptions of the claim's proof that fail on this run, where the claim as printed makes none: the
    # verdict compares its two sides all the same. None: the check does not ask.
    failing: Sequence[str] | None = None

    def document(self) -> dict[str, Any]:
        figures = {key: None if value is None else str(value) for key, value in self.figures.items()}
        document: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        return document | {"figures": figures}


class Case(NamedTuple, Generic[Instance]):
    """What a claim is checked on: a run on an instance, with the interval on OPT."""

    instance: Instance
    run: OnlineRun
    reference: SolveReport


def compare_sides(left: Fraction | int, right: Fraction | int, reason: str, *, sure: bool = True) -> Check:
    """The check of left <= right, still without a name; `sure`: left <= right proves the claim."""
    verdict = Verdict.VIOLATED if left > right else Verdict.HOLDS if sure else Verdict.UNDECIDED
    return Check("", verdict, Fraction(left), Fraction(right), reason)
