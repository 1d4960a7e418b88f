"""What an online run produced, in a form that every family shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ratiobench.instances.io.display import format_number, make_html
from ratiobench.instances.io.errors import make_printable

if TYPE_CHECKING:
    from ratiobench.formulations.report import Exact
    from ratiobench.online.remarks import Remarks

__all__ = ["Constant", "OnlineRun", "Source", "Violation"]


class Source(StrEnum):
    """Where a declared constant of an algorithm comes from."""

    ORACLE = "oracle"  # Computed from the instance under test, future included
    PRIOR = "prior"  # Computed from another instance
    HISTORY = "history"  # Computed from the days before the one under test, by the run that judges day after day
    GIVEN = "given"  # Stated by the user


@dataclass(frozen=True, slots=True)
class Constant:
    """A number that an algorithm must know before the first arrival, with its source."""

    name: str  # as the algorithm declares it
    value: Fraction
    source: Source
    detail: str = ""  # of the source, in words


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that an algorithm broke."""

    rule: str  # an equation of the problem, or `protocol`, `peeks`, ...
    task: int | None  # number of the arrival at which it happened; None where it is not about a single one
    detail: str  # what happened, in words
    noun: str = "task"  # the family's word for an arrival

    def __str__(self) -> str:
        where = "" if self.task is None else f"{self.noun} {self.task}: "
        return f"{self.rule}: {where}{self.detail}"


@dataclass(frozen=True, slots=True)
class OnlineRun:
    """One run of an algorithm under the referee.

    Parameters
    ----------
    algorithm : the name as asked for, options included.
    remarks : facts that are shown beside the name.
    version : version of the algorithm's code; part of the key of stored results.
    valid : no rule was broken.
    violations : what the referee caught.
    welfare : in the family's unit, of the decisions that stood; meaningless for ratios unless `valid`.
    true_welfare : the same by valuations; the same where bidders are not asked.
    revenue : sum of payments, or None without a payment rule.
    admitted : number of admitted tasks.
    decisions : the family's solution.
    constants : the declared constants with their sources.
    arithmetic : exact, float or integer.
    counts : things counted on the way (drops, batches at a limit, ...).
    arrivals : their number; 0 where it was not counted.
    seconds : wall time of the decisions, for information.
    trace : what the algorithm exposes for audits (prices, chosen schedules), or None.
    history : what it was shown of earlier days, in words; empty where there was nothing.
    batch : whether it answered all arrivals of a moment together.
    """

    algorithm: str
    remarks: Remarks
    version: str
    valid: bool
    violations: tuple[Violation, ...]
    welfare: Exact
    true_welfare: Exact
    revenue: Exact | None
    admitted: int
    decisions: Any
    constants: tuple[Constant, ...]
    arithmetic: str
    counts: Mapping[str, int] = field(default_factory=dict)
    arrivals: int = 0
    seconds: float = 0.0
    trace: Any = None
    history: str = ""
    batch: bool = False

    @property
    def label(self) -> str:
        """The name with its remarks, e.g. ``NAME (at limit 5 of 144, gap 0.32 %)`` or ``NAME (admit=profitable)``."""
        return self.remarks.label

    @property
    def sources(self) -> frozenset[Source]:
        """Where its constants come from."""
        return frozenset(constant.source for constant in self.constants)

    def __repr__(self) -> str:
        label = make_printable(self.label, 80)
        return f"<OnlineRun {label}: {format_number(self.welfare)}, {self._admitted}, {self._verdict}>"

    @property
    def _admitted(self) -> str:
        return f"{self.admitted} of {self.arrivals} admitted" if self.arrivals else f"{self.admitted} admitted"

    @property
    def _verdict(self) -> str:
        if self.valid:
            return "valid"
        return f"INVALID ({make_printable(str(self.violations[0]), 80) if self.violations else ''})"

    def _repr_html_(self) -> str:
        facts = {
            "value": format_number(self.welfare),
            **({} if self.true_welfare == self.welfare else {"by valuations": format_number(self.true_welfare)}),
            **({} if self.revenue is None else {"revenue": format_number(self.revenue)}),
            "admitted": self._admitted,
            "verdict": self._verdict,
            "seconds": f"{self.seconds:.3f}",
        }
        rows = [(each.name, each.value, each.source.value, each.detail) for each in self.constants[:20]]
        return make_html(self.label, facts, ("constant", "value", "source", "from"), rows)
