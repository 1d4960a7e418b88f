"""An algorithm that draws, run several times on a case: one row with the means of its runs, an estimate of E[ALG].

OPT/E[ALG] is estimated by the ends of OPT over the mean of the runs. Nothing certifies it: E[ALG] itself is within the
95 % interval of the mean (Student's t) in about 95 of 100 such rows.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from msgspec import structs

from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.results import intervals, ratios
from ratiobench.bench.results.remarks import remarks_of_runs
from ratiobench.bench.results.row import KINDS, Row
from ratiobench.bench.storage.pieces import Check
from ratiobench.online.remarks import Remarks

_WORST = (Verdict.VIOLATED, Verdict.UNDECIDED, Verdict.HOLDS, Verdict.NOT_APPLICABLE)


def mean_row(rows: Sequence[Row], sense: Sense) -> Row:
    """One row for the runs of an algorithm on a case: means; or, if a run is not `ok`, the first of these."""
    count = len(rows)
    reasons = [f"repetition {number} of {count}: {row.reason}" for number, row in enumerate(rows, 1)]
    for row, reason in zip(rows, reasons, strict=True):
        if row.state != "ok":
            return replace(row, reason=reason)
    first = rows[0]
    remarks = replace(_common_remarks(first.algorithm, [row.remarks for row in rows]), repetitions=count)
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update(json.loads(row.counts))
    admitted = _mean([row.admitted for row in rows])
    expected = intervals.mean([Fraction(row.welfare) for row in rows])
    figures: dict[str, Any] = {
        name: _mean([getattr(row, name) for row in rows]) for name, kind in KINDS.items() if kind == "exact"
    }
    figures["admitted"] = admitted if admitted is None or admitted.denominator > 1 else admitted.numerator
    if first.opt_lower is not None and first.opt_upper is not None:
        figures |= ratios.columns(first.opt_lower, first.opt_upper, figures["welfare"], sense)
        if figures["ratio_kind"] == ratios.Kind.INTERVAL:
            figures["ratio_kind"] = ratios.Kind.ESTIMATE.value
        low, high = _expected_ratio(float(first.opt_lower), float(first.opt_upper), expected, sense)
        figures |= {"expected_ratio_low": low, "expected_ratio_high": high}
    return replace(
        first,
        **figures,
        label=remarks.label,
        remarks=remarks,
        reason=next((reason for row, reason in zip(rows, reasons, strict=True) if row.reason), ""),
        counts=json.dumps(counts),
        repetitions=count,
        welfare_low=expected.low,
        welfare_high=expected.high,
        measures={name: _mean([row.measures.get(name) for row in rows]) for name in first.measures},
        checks={name: _find_worst(rows, name) for name in dict.fromkeys(name for row in rows for name in row.checks)},
    )


def _common_remarks(name: str, runs: Sequence[Remarks]) -> Remarks:
    """Those on every run; if they differ, each with the number of runs that have it."""
    if len(set(runs)) == 1:
        return runs[0]
    text = remarks_of_runs(name, runs)
    return Remarks(name, notes=(text,) if text else ())


def _mean(values: Sequence[Any]) -> Fraction | None:
    """The exact mean; None if a value is missing."""
    return None if any(value is None for value in values) else sum(map(Fraction, values), Fraction(0)) / len(values)


def _find_worst(rows: Sequence[Row], check: str) -> Check:
    verdicts = [row.verdict(check) for row in rows]
    worst = next(verdict for verdict in _WORST if verdict in verdicts)
    place = verdicts.index(worst)
    shown = rows[place].checks[check]
    if worst is Verdict.NOT_APPLICABLE:
        return shown
    runs = f"(in {verdicts.count(worst)} of {len(rows)} runs; the figures are those of run {place + 1})"
    return structs.replace(shown, reason=f"{shown.reason} {runs}".strip())


def _expected_ratio(
    lower: float, upper: float, expected: intervals.Estimate, sense: Sense
) -> tuple[float | None, float | None]:
    """The range of the ratio of OPT and E[ALG], if both are in their intervals; at least 1."""
    low, high = expected.low, expected.high
    if low is None or high is None or lower < 0:
        return None, None
    if sense is Sense.LEAST:
        return (max(1.0, low / upper) if upper else None), (max(1.0, high / lower) if lower else None)
    return (max(1.0, lower / high) if high > 0 else None), (max(1.0, upper / low) if low > 0 else None)
