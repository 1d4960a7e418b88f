"""Two result folders side by side: versions of an algorithm, machines, efforts.

Exact figures that differ are differences. Seconds are measurements: they differ always, so per algorithm and stage the
cases of both folders are paired, and the ratio of their seconds is called different only beyond noise (`Pace`).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

from ratiobench.bench.report.tables import csv_of
from ratiobench.bench.results.read import Results, read_results
from ratiobench.bench.results.row import is_known
from ratiobench.bench.show import CELL, align_columns, count_text, format_number, ratio_text
from ratiobench.bench.storage.store import EMPTY, STORE, Store
from ratiobench.instances.io.errors import InputError, make_printable

# Columns of which any difference is one; verdicts of checks and the instance are compared as well
EXACT = ("state", "opt_lower", "opt_upper", "welfare", "true_welfare", "revenue", "admitted", "constants")
# Columns that stand side by side in the CSV file, as NAME_a and NAME_b
SHOWN = ("opt_lower", "opt_upper", "welfare", "ratio_lower", "ratio_upper", "seconds", "state", "algorithm_key")
SHORTEST = 0.001  # Seconds: pairs that are both shorter are all timer and no work
CONFIDENCE = Fraction(95, 100)
MARGIN = 1.05  # Ratios of seconds nearer to 1 than this are the same, however many cases say otherwise


@dataclass(frozen=True, slots=True)
class Row:
    """One algorithm on one case in both folders."""

    case: str
    algorithm: str
    # names of what differs: columns of `EXACT`, ``instance``, names of checks, ``OPT contradiction`` (the intervals of
    # one instance do not meet, so one of them is wrong), ``only A``, ``only B``.
    differs: tuple[str, ...]
    a: Mapping[str, Any]  # a, b: the columns of `SHOWN` in either, and the ratio in words; empty where it is missing
    b: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds of one stage of one algorithm, B over A, over the cases that both have.

    The interval is that of the sign test for the median of the paired ratios: order statistics, exact at 95 % or more
    whatever the distribution, from six pairs on. It is marked when all of it is more than 5 % away from 1. Pairs that
    are exactly equal were measured once and shared; they are left out, and so are those below a millisecond.
    """

    stage: str
    algorithm: str
    pairs: int  # cases
    median: float
    low: float | None = None  # low, high: ends of the interval; None with too few pairs
    high: float | None = None

    @property
    def beyond_noise(self) -> bool:
        """Whether the whole interval is more than 5 % away from 1."""
        return self.low is not None and self.high is not None and (self.low > MARGIN or self.high < 1 / MARGIN)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two folders side by side."""

    a: str
    b: str
    suites: tuple[str, str]
    # what the runs had different: (what, in A, in B): machine, packages, versions of algorithms and of solves.
    unlike: Sequence[tuple[str, str, str]]
    rows: Sequence[Row]  # all rows of either, in the order of A, then those of B alone
    paces: Sequence[Pace] = field(default_factory=list)  # seconds by stage and algorithm

    @property
    def different(self) -> list[Row]:
        """Rows in which something exact differs, or that only one folder has."""
        return [row for row in self.rows if row.differs]


def compare(a: Path, b: Path) -> Comparison:
    """Read two result folders and put them side by side."""
    left, right = _read(a), _read(b)
    rows_a, rows_b = _rows(left), _rows(right)
    checks = [name for name in left.checks if name in right.checks]
    rows = [
        Row(
            *address,
            tuple(_differences(rows_a.get(address, {}), rows_b.get(address, {}), checks)),
            _shown(rows_a.get(address, {})),
            _shown(rows_b.get(address, {})),
        )
        for address in dict.fromkeys((*rows_a, *rows_b))
    ]
    suites = (str(left.about["suite"]), str(right.about["suite"]))
    return Comparison(str(a), str(b), suites, list(_unlike(left, right)), rows, list(_paces(left, right)))


def _read(folder: Path) -> Results:
    with Store.open(folder / STORE, create=False) as store:
        results = read_results(store)
    if not results.about:
        raise InputError(str(folder / STORE), "", EMPTY)
    return results


def _rows(results: Results) -> dict[tuple[str, str], dict[str, Any]]:
    seconds = _seconds(results)
    rows = {}
    for row, cells in zip(results.records, results.exact.to_dict("records"), strict=True):
        address = (row.case, row.algorithm)
        rows[address] = {str(key): value if is_known(value) else None for key, value in cells.items()}
        spent = seconds.get(("online", row.algorithm, row.case))
        rows[address] |= {"seconds": spent, "ratio": ratio_text(row, results.sense)}
    return rows


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row.get(name) for name in (*SHOWN, "ratio")} if row else {}


def _differences(a: Mapping[str, Any], b: Mapping[str, Any], checks: Sequence[str]) -> Iterator[str]:
    if not a or not b:
        yield "only A" if a else "only B"
        return
    if a["instance"] != b["instance"]:
        yield "instance"
    elif all(row[end] is not None for row in (a, b) for end in ("opt_lower", "opt_upper")) and (
        a["opt_lower"] > b["opt_upper"] or b["opt_lower"] > a["opt_upper"]
    ):
        yield "OPT contradiction"
    yield from (name for name in (*EXACT, *checks) if a.get(name) != b.get(name))


def _unlike(a: Results, b: Results) -> Iterator[tuple[str, str, str]]:
    for name in ("suite", "effort", "only", "rows"):
        one, other = a.about.get(name), b.about.get(name)
        if one != other:
            yield name, _plain(one), _plain(other)
    for part in ("code", "machine", "packages"):
        one, other = (results.about.get("provenance", {}).get(part, {}) for results in (a, b))
        for name in dict.fromkeys((*one, *other)):
            if one.get(name) != other.get(name) and name != "free memory":
                yield name, _plain(one.get(name)), _plain(other.get(name))
    keys_a, keys_b = _versions(a), _versions(b)
    for name in keys_a:
        if name in keys_b and keys_a[name] != keys_b[name]:
            yield f"version of {name}", " or ".join(keys_a[name]), " or ".join(keys_b[name])


def _plain(value: Any) -> str:
    return "-" if value in (None, [], "") else ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _versions(results: Results) -> dict[str, list[str]]:
    """The keys of every algorithm, and of the solves, but for what belongs to a case (its yesterday)."""
    keys: dict[str, dict[str, None]] = {}
    for case in results.cases:
        pairs = [(name, key.split(" | ")[0]) for name, key in case.algorithms]
        for name, key in (*pairs, ("OPT", case.solve_key), ("audits", case.audits)):
            keys.setdefault(name, {})[key] = None
    return {name: list(versions) for name, versions in keys.items()}


def _seconds(results: Results) -> dict[tuple[str, str, str], float]:
    """Seconds by stage, algorithm and case; of several runs the last."""
    columns = (results.seconds[name] for name in ("stage", "algorithm", "case", "seconds"))
    return {(stage, algorithm, case): seconds for stage, algorithm, case, seconds in zip(*columns, strict=True)}


def _paces(a: Results, b: Results) -> Iterator[Pace]:
    left, right = _seconds(a), _seconds(b)
    instances = [{case.name: case.instance for case in results.cases} for results in (a, b)]
    pairs: dict[tuple[str, str], list[float]] = {}
    for (stage, algorithm, case), seconds in left.items():
        other = right.get((stage, algorithm, case))
        if other is None or seconds == other or instances[0].get(case) != instances[1].get(case):
            continue
        if max(seconds, other) >= SHORTEST and min(seconds, other) > 0:
            pairs.setdefault((stage, algorithm), []).append(other / seconds)
    for (stage, algorithm), ratios in pairs.items():
        yield pace(stage, algorithm, ratios)


def pace(stage: str, algorithm: str, ratios: Sequence[float]) -> Pace:
    """The median of paired ratios with the interval of the sign test."""
    ordered = sorted(ratios)
    median = math.exp(statistics.median(map(math.log, ordered)))
    # The interval from the k-th smallest to the k-th largest misses with probability 2 P(Binomial(n, 1/2) < k).
    count, missed, left_out = len(ordered), 0, 0
    while Fraction(2 * (missed + math.comb(count, left_out)), 2**count) <= 1 - CONFIDENCE:
        missed += math.comb(count, left_out)
        left_out += 1
    ends = (ordered[left_out - 1], ordered[-left_out]) if left_out else (None, None)
    return Pace(stage, algorithm, count, median, *ends)


def text(comparison: Comparison, names: bool = False) -> str:
    """The comparison for a terminal; `!` marks what differs.

    `names`: say which cases and algorithms stand in one of the folders only, not just how many.
    """
    suites = [make_printable(name, CELL) for name in comparison.suites]
    parts = [f"A: {comparison.a} (suite {suites[0]})\nB: {comparison.b} (suite {suites[1]})"]
    if comparison.unlike:
        parts.append("The runs are unlike in:")
        parts.append(_aligned([{"What": what, "A": one, "B": other} for what, one, other in comparison.unlike]))
    # A folder with a part of the other's cases: what stands alone is counted, and in the CSV file.
    parts.append(_aligned([_line(row) for row in comparison.rows if row.a and row.b]))
    alone = [line for side in "AB" for line in _alone(comparison, side, names)]
    parts += [*alone, *([] if names or not alone else ["  (--names says which)"]), *([""] if alone else [])]
    if comparison.paces:
        rule = "median over the cases of both, and its interval (sign test, at least 95 %), marked from 5 % on"
        parts.append(f"Seconds, B over A: {rule}:")
        parts.append(_aligned([_pace_line(pace) for pace in comparison.paces]))
    different = comparison.different
    count = sum(not (row.a and row.b) for row in different)
    marked = sum(pace.beyond_noise for pace in comparison.paces)
    parts.append(
        f"{len(comparison.rows)} rows: {len(different) - count} differ, {count} in one folder only. "
        f"Seconds: {marked} of {len(comparison.paces)} stages differ beyond noise."
    )
    return "\n".join(parts)


def _alone(comparison: Comparison, side: str, names: bool) -> Iterator[str]:
    """What stands in one folder only: whole cases, and algorithms in cases that the other one has, too."""
    here, there = ("a", "b") if side == "A" else ("b", "a")
    other = {row.case for row in comparison.rows if getattr(row, there)}
    rows = [row for row in comparison.rows if getattr(row, here) and not getattr(row, there)]
    for what, is_whole in (("case", True), ("algorithm", False)):
        chosen = [row for row in rows if (row.case not in other) is is_whole]
        called = list(dict.fromkeys(str(getattr(row, what)) for row in chosen))
        if called:
            shared = "" if is_whole else " in cases of both"
            listed = f": {', '.join(make_printable(name, CELL) for name in called)}" if names else ""
            yield f"only in {side}: {count_text(len(called), what)}{shared} ({count_text(len(chosen), 'row')}){listed}"


def _aligned(lines: Sequence[Mapping[str, str]]) -> str:
    return align_columns(lines, indent="  ") if lines else ""


def _line(row: Row) -> dict[str, str]:
    sides = (("A", row.a), ("B", row.b))
    return {
        "Case": row.case,
        "algorithm": row.algorithm,
        **{f"value {side}": format_number(cells["welfare"]) for side, cells in sides},
        **{f"ratio {side}": cells["ratio"] or "-" for side, cells in sides},
        **{f"seconds {side}": "-" if cells["seconds"] is None else f"{cells['seconds']:.3f}" for side, cells in sides},
        "Differs": f"! {', '.join(row.differs)}" if row.differs else "",
    }


def _pace_line(pace: Pace) -> dict[str, str]:
    interval = "too few pairs" if pace.low is None or pace.high is None else f"[{pace.low:.3g}, {pace.high:.3g}]"
    return {
        "Stage": pace.stage,
        "algorithm": pace.algorithm,
        "pairs": str(pace.pairs),
        "B/A": f"{pace.median:.3g}",
        "interval": interval,
        "Differs": ("! slower" if pace.low is not None and pace.low > 1 else "! faster") if pace.beyond_noise else "",
    }


def as_csv(comparison: Comparison) -> bytes:
    """One line per row: case, algorithm, differs, then every column of `SHOWN` of A and of B; exact fractions."""
    lines = []
    for row in comparison.rows:
        cells = {f"{name}_{side}": part.get(name) for name in SHOWN for side, part in (("a", row.a), ("b", row.b))}
        lines.append({"case": row.case, "algorithm": row.algorithm, "differs": "; ".join(row.differs), **cells})
    return csv_of(pd.DataFrame(lines, dtype=object))


def document(comparison: Comparison) -> dict[str, Any]:
    """The comparison as JSON values; exact figures are fractions in strings."""

    def plain(row: Mapping[str, Any]) -> dict[str, Any] | None:
        return {name: str(value) if isinstance(value, Fraction) else value for name, value in row.items()} or None

    return {
        "a": comparison.a,
        "b": comparison.b,
        "suites": list(comparison.suites),
        "unlike": [{"what": what, "a": one, "b": other} for what, one, other in comparison.unlike],
        "rows": [
            {
                "case": row.case,
                "algorithm": row.algorithm,
                "differs": list(row.differs),
                "a": plain(row.a),
                "b": plain(row.b),
            }
            for row in comparison.rows
        ],
        "seconds": [asdict(pace) | {"beyond_noise": pace.beyond_noise} for pace in comparison.paces],
        "different": len(comparison.different),
    }
