"""One row of results: an algorithm on a case, exact figures, the facts beside its name, and the verdicts of checks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any

from ratiobench.online.outcome import Source
from ratiobench.online.remarks import Remarks


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The verdict of one check on a run, and the figures behind it."""

    verdict: str  # holds, violated, undecided or not applicable
    left: str | None = None  # left, right: both sides as exact text; None where there is none
    right: str | None = None
    reason: str = ""  # why it decided nothing, or what the sides are
    figures: str = "{}"  # further figures as a JSON object
    # assumptions of the claim's proof that fail on the run; None where the check does not say.
    failing: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """An algorithm on a case; figures that are not known are None.

    Fields are those columns of results.csv (`ratiobench.bench.results.read.COLUMNS`) that reports show, and these.
    """

    case: str
    group: str
    algorithm: str
    remarks: Remarks  # the facts beside the algorithm's name; `label` renders them
    called: str = ""  # what a report calls the algorithm (`report --label`); empty for its name
    instance: str = ""
    state: str = "missing"
    reason: str = ""
    opt_status: str = "failed"
    opt_lower: Any = None
    opt_lower_source: str = ""
    opt_upper: Any = None
    opt_proof: str | None = None
    opt_formulation: str | None = None
    opt_backend: str | None = None
    opt_solver: str | None = None
    opt_gap: float | None = None
    opt_time_limited: bool | None = None
    welfare: Any = None
    revenue: Any = None
    admitted: Any = None
    ratio_kind: str | None = None
    ratio_lower: Any = None
    ratio_upper: Any = None
    reached: Any = None
    behind_lower: Any = None
    behind_upper: Any = None
    constants: str | None = None
    sources: frozenset[Source] = frozenset()  # where its constants come from
    vendors: Any = None
    energy: Any = None
    bids: Any = None
    profit: Any = None
    repetitions: int | None = None
    welfare_low: float | None = None
    welfare_high: float | None = None
    measures: Mapping[str, Fraction | None] = field(default_factory=dict)  # the family's measures, by name
    checks: Mapping[str, CheckResult] = field(default_factory=dict)  # the checks' results, by name

    @property
    def name(self) -> str:
        return self.called or self.algorithm

    @property
    def label(self) -> str:
        return self.remarks.label

    @property
    def is_oracle(self) -> bool:
        """Whether constants come from the instance under test."""
        return Source.ORACLE in self.sources

    @property
    def is_mean(self) -> bool:
        """Whether the figures are means of runs."""
        return self.repetitions is not None and self.repetitions > 1

    def verdict(self, check: str) -> str | None:
        """The verdict of a check; None where it was not made."""
        result = self.checks.get(check)
        return None if result is None else result.verdict

    def failing(self, check: str) -> Sequence[str] | None:
        """The assumptions of a claim's proof that fail on the run; None where its check does not say."""
        result = self.checks.get(check)
        return None if result is None else result.failing


_FIELDS = {field.name for field in fields(Row)} - {"measures", "checks"}


def make_row(cells: Mapping[str, Any], checks: Iterable[str] = (), measures: Iterable[str] = ()) -> Row:
    """The row of these cells, by column; cells of NaN or None are not known.

    `checks`, `measures`: names of those that the cells have.
    """
    known = {name: value for name, value in cells.items() if value is not None and value == value}
    return Row(
        **{name: value for name, value in known.items() if name in _FIELDS},
        measures={name: known.get(name) for name in measures},
        checks={name: _check(name, known) for name in checks if name in known},
    )


def _check(name: str, known: Mapping[str, Any]) -> CheckResult:
    failing = known.get(f"{name}_failing")
    return CheckResult(
        known[name],
        known.get(f"{name}_left"),
        known.get(f"{name}_right"),
        known.get(f"{name}_reason", ""),
        known.get(f"{name}_figures", "{}"),
        None if failing is None else json.loads(failing),
    )
