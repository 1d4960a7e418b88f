"""An algorithm that draws, run several times on a case: one row with the means of its runs, an estimate of E[ALG].

OPT/E[ALG] is estimated by the ends of OPT over the mean of the runs. Nothing certifies it: E[ALG] itself is within the
95 % interval of the mean (Student's t) in about 95 of 100 such rows.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.results import intervals, ratios
from ratiobench.bench.results.remarks import remarks_of_runs
from ratiobench.online.remarks import Remarks

# Columns of results.csv behind all others, where an algorithm was run more than once on a case
COLUMNS = {
    "repetitions": "runs of which the row's figures are means, each with a seed of its own; empty for a single run",
    "welfare_low": "float: lower end of the 95 % interval of E[ALG] (Student's t)",
    "welfare_high": "float: its upper end",
    "expected_ratio_low": "float: the ratio of OPT and E[ALG] is no less, if E[ALG] is in that interval",
    "expected_ratio_high": "float: nor more; empty where there is no upper end",
}
# Columns of the table of all these runs
EACH = ("case", "algorithm", "repetition", "state", "reason", "welfare", "true_welfare", "revenue", "admitted")
_WORST = (Verdict.VIOLATED, Verdict.UNDECIDED, Verdict.HOLDS, Verdict.NOT_APPLICABLE)
Row = Mapping[str, Any]


def list_runs(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """The runs of an algorithm on a case, in the columns of `EACH`."""
    for number, row in enumerate(rows, 1):
        yield {name: row.get(name) for name in EACH} | {"repetition": number}


def mean_row(rows: Sequence[Row], sense: Sense, checks: Sequence[str] = ()) -> dict[str, Any]:
    """One row for the runs of an algorithm on a case: means; or, where a run is not `ok`, the first of these.

    Every exact figure is the mean over the runs. A check has the worst verdict of them, with the figures of the first
    run that has it.
    """
    count = len(rows)
    for number, row in enumerate(rows, 1):
        if row["state"] != "ok":
            return {**row, "reason": f"repetition {number} of {count}: {row['reason']}"}
    first = rows[0]
    remarks = replace(_common_remarks(str(first["algorithm"]), [row["remarks"] for row in rows]), repetitions=count)
    reasons = [
        f"repetition {number} of {count}: {row['reason']}" for number, row in enumerate(rows, 1) if row["reason"]
    ]
    figures = dict.fromkeys(key for row in rows for key, value in row.items() if isinstance(value, Fraction))
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update(json.loads(row["counts"]))
    admitted = _mean([row["admitted"] for row in rows])
    folded = {
        **first,
        **{figure: _mean([row.get(figure) for row in rows]) for figure in figures},
        "admitted": admitted if admitted is None or admitted.denominator > 1 else admitted.numerator,
        "label": remarks.label,
        "remarks": remarks,
        "reason": reasons[0] if reasons else "",
        "counts": json.dumps(counts),
        "repetitions": count,
    }
    for check in checks:
        folded |= _worst(rows, check)
    expected = intervals.mean([Fraction(row["welfare"]) for row in rows])
    folded |= {"welfare_low": expected.low, "welfare_high": expected.high}
    lower, upper = first["opt_lower"], first["opt_upper"]
    if lower is None or upper is None:
        return folded
    folded |= ratios.columns(lower, upper, folded["welfare"], sense)
    if folded["ratio_kind"] == ratios.Kind.INTERVAL:
        folded["ratio_kind"] = ratios.Kind.ESTIMATE.value
    low, high = _expected_ratio(float(lower), float(upper), expected, sense)
    return folded | {"expected_ratio_low": low, "expected_ratio_high": high}


def _common_remarks(name: str, runs: Sequence[Remarks]) -> Remarks:
    """Those on every run; where they differ, each with the number of runs that have it, in words."""
    if len(set(runs)) == 1:
        return runs[0]
    text = remarks_of_runs(name, runs)
    return Remarks(name, notes=(text,) if text else ())


def _mean(values: Sequence[Any]) -> Fraction | None:
    """The exact mean; None where a value is missing."""
    return None if any(value is None for value in values) else sum(map(Fraction, values), Fraction(0)) / len(values)


def _worst(rows: Sequence[Row], check: str) -> dict[str, Any]:
    verdicts = [row.get(check) for row in rows]
    worst = next((verdict for verdict in _WORST if verdict in verdicts), None)
    if worst is None:
        return {}
    place = verdicts.index(worst)
    parts = ("left", "right", "figures", "failing")
    shown = {key: rows[place].get(key) for key in (check, *(f"{check}_{part}" for part in parts))}
    reason = rows[place].get(f"{check}_reason") or ""
    if worst is not Verdict.NOT_APPLICABLE:
        reason = f"{reason} (in {verdicts.count(worst)} of {len(rows)} runs; the figures are those of run {place + 1})"
    return shown | {f"{check}_reason": reason.strip()}


def _expected_ratio(
    lower: float, upper: float, expected: intervals.Estimate, sense: Sense
) -> tuple[float | None, float | None]:
    """Within what the ratio of OPT and E[ALG] lies, if both are in their intervals; at least 1."""
    low, high = expected.low, expected.high
    if low is None or high is None or lower < 0:
        return None, None
    if sense is Sense.LEAST:
        return (max(1.0, low / upper) if upper else None), (max(1.0, high / lower) if lower else None)
    return (max(1.0, lower / high) if high > 0 else None), (max(1.0, upper / low) if low > 0 else None)
