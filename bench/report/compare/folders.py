"""Two result folders side by side: versions of an algorithm, machines, efforts.

Exact figures that differ are differences. Seconds are measurements: they differ always, so per algorithm and stage the
cases of both folders are paired, and the ratio of their seconds is called different only beyond noise (`Pace`).
"""

from __future__ import annotations

import csv
import io
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from ratiobench.bench.report.shared.cells import csv_cell
from ratiobench.bench.report.shared.text import CELL, align_columns, format_number, ratio_text
from ratiobench.bench.results.read import Results, is_known, read_results
from ratiobench.bench.storage.store import EMPTY, STORE, Store
from ratiobench.instances.io.errors import InputError, make_printable

# Columns of which any difference is one; verdicts of checks and the instance are compared as well
EXACT = ("state", "opt_lower", "opt_upper", "welfare", "true_welfare", "revenue", "admitted", "constants")
# Columns that stand side by side in the CSV file, as NAME_a and NAME_b
SHOWN = ("opt_lower", "opt_upper", "welfare", "ratio_lower", "ratio_upper", "seconds", "state", "algorithm_key")
SHORTEST = 0.001  # Seconds: pairs that are both shorter are all timer and no work
CONFIDENCE = 0.95
MARGIN = 1.05  # Ratios of seconds nearer to 1 than this are the same, however many cases say otherwise


@dataclass(frozen=True, slots=True)
class Row:
    """One algorithm on one case in both folders."""

    case: str  # case, algorithm: of both
    algorithm: str
    # names of what differs: columns of `EXACT`, ``instance``, names of checks, ``OPT contradiction`` (the intervals of
    # one instance do not meet, so one of them is wrong), ``only A``, ``only B``.
    differs: tuple[str, ...]
    a: Mapping[str, Any]  # a, b: the columns of `SHOWN` in either; empty where the row is missing
    b: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds of one stage of one algorithm, B over A, over the cases that both have.

    The interval is that of the sign test for the median of the paired ratios: order statistics, exact at 95 % or more
    whatever the distribution, from six pairs on. It is marked when all of it is more than 5 % away from 1; of equals,
    one in twenty at most is marked by chance. Pairs that are exactly equal were measured once and shared; they are left
    out, and so are those below a millisecond. The first piece of a kind in a new worker loads its compiled code, and
    that is in its seconds: a run that was stopped often has more of these.
    """

    stage: str  # stage, algorithm: what was timed
    algorithm: str
    pairs: int  # cases
    # median, low, high: ratio B/A and its interval; None without pairs, or with too few for an interval.
    median: float | None
    low: float | None = None
    high: float | None = None

    @property
    def beyond_noise(self) -> bool:
        """Whether the whole interval is more than 5 % away from 1."""
        return self.low is not None and self.high is not None and (self.low > MARGIN or self.high < 1 / MARGIN)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two folders side by side."""

    a: str  # a, b: the folders
    b: str
    suites: tuple[str, str]  # of both
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
            tuple(_differences(rows_a.get(address), rows_b.get(address), checks)),
            _shown(rows_a.get(address)),
            _shown(rows_b.get(address)),
        )
        for address in dict.fromkeys((*rows_a, *rows_b))
    ]
    return Comparison(
        str(a),
        str(b),
        (str(left.about["suite"]), str(right.about["suite"])),
        list(_unlike(left, right)),
        rows,
        list(_paces(left, right)),
    )


def _read(folder: Path) -> Results:
    with Store.open(folder / STORE, create=False) as store:
        found = read_results(store)
    if not found.about:
        raise InputError(str(folder / STORE), "", EMPTY)
    return found


def _rows(found: Results) -> dict[tuple[str, str], dict[str, Any]]:
    spent = {(case, name): seconds for (stage, name, case), seconds in _seconds(found).items() if stage == "online"}
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for row, cells in zip(found.records, found.exact.to_dict("records"), strict=True):
        address = (row.case, row.algorithm)
        rows[address] = {str(key): value if is_known(value) else None for key, value in cells.items()}
        rows[address] |= {"seconds": spent.get(address), "ratio": ratio_text(row, found.sense)}
    return rows


def _shown(row: Mapping[str, Any] | None) -> dict[str, Any]:
    return {} if row is None else {name: row.get(name) for name in (*SHOWN, "ratio")}


def _differences(a: Mapping[str, Any] | None, b: Mapping[str, Any] | None, checks: Sequence[str]) -> Iterator[str]:
    if a is None or b is None:
        yield "only B" if a is None else "only A"
        return
    if a["instance"] != b["instance"]:
        yield "instance"
    elif all(each[end] is not None for each in (a, b) for end in ("opt_lower", "opt_upper")) and (
        a["opt_lower"] > b["opt_upper"] or b["opt_lower"] > a["opt_upper"]
    ):
        yield "OPT contradiction"
    for name in (*EXACT, *checks):
        if a.get(name) != b.get(name):
            yield name


def _unlike(a: Results, b: Results) -> Iterator[tuple[str, str, str]]:
    for name in ("suite", "effort", "only", "rows"):
        values = [found.about.get(name) for found in (a, b)]
        if values[0] != values[1]:
            yield name, _told(values[0]), _told(values[1])
    for part in ("code", "machine", "packages"):
        one, other = (found.about.get("provenance", {}).get(part, {}) for found in (a, b))
        for name in dict.fromkeys((*one, *other)):
            if one.get(name) != other.get(name) and name != "free memory":
                yield name, _told(one.get(name)), _told(other.get(name))
    keys_a, keys_b = _versions(a), _versions(b)
    for name in keys_a:
        if name in keys_b and keys_a[name] != keys_b[name]:
            yield f"version of {name}", " or ".join(keys_a[name]), " or ".join(keys_b[name])


def _told(value: Any) -> str:
    return "-" if value in (None, [], "") else ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _versions(found: Results) -> dict[str, list[str]]:
    """The keys of every algorithm, and of the solves, but for what belongs to a case (its yesterday)."""
    keys: dict[str, dict[str, None]] = {}
    for case in found.cases:
        for name, key in case.algorithms:
            keys.setdefault(str(name), {})[str(key).split(" | ")[0]] = None
        keys.setdefault("OPT", {})[case.solve_key] = None
        keys.setdefault("audits", {})[case.audits] = None
    return {name: list(found) for name, found in keys.items()}


def _seconds(found: Results) -> dict[tuple[str, str, str], float]:
    """Seconds by stage, algorithm and case; of several runs the last."""
    columns = (found.seconds[name] for name in ("stage", "algorithm", "case", "seconds"))
    return {address: seconds for *address_, seconds in zip(*columns, strict=True) if (address := tuple(address_))}


def _paces(a: Results, b: Results) -> Iterator[Pace]:
    timed = [_seconds(found) for found in (a, b)]
    instances = [{case.name: case.instance for case in found.cases} for found in (a, b)]
    pairs: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for (stage, algorithm, case), seconds in timed[0].items():
        mine = pairs.setdefault((stage, algorithm), [])
        other = timed[1].get((stage, algorithm, case))
        if other is None or seconds == other or instances[0].get(case) != instances[1].get(case):
            continue
        if max(seconds, other) >= SHORTEST and min(seconds, other) > 0:
            mine.append((seconds, other))
    for (stage, algorithm), found in pairs.items():
        if found:
            yield pace(stage, algorithm, [other / one for one, other in found])


def pace(stage: str, algorithm: str, ratios: Sequence[float]) -> Pace:
    """The median of paired ratios with the interval of the sign test."""
    ordered = sorted(ratios)
    median = math.exp(statistics.median(map(math.log, ordered)))
    # The interval from the k-th smallest to the k-th largest misses with probability 2 P(Binomial(n, 1/2) < k).
    count, missed, left_out = len(ordered), 0, 0
    while True:
        missed += math.comb(count, left_out)
        if Fraction(2 * missed, 2**count) > 1 - Fraction(str(CONFIDENCE)):
            break
        left_out += 1
    if left_out == 0:
        return Pace(stage, algorithm, count, median)
    return Pace(stage, algorithm, count, median, ordered[left_out - 1], ordered[-left_out])


def text(found: Comparison, names: bool = False) -> str:
    """The comparison for a terminal; `!` marks what differs.

    names : say which cases and algorithms stand in one of the folders only, not just how many.
    """
    suites = [make_printable(name, CELL) for name in found.suites]
    parts = [f"A: {found.a} (suite {suites[0]})\nB: {found.b} (suite {suites[1]})"]
    if found.unlike:
        parts.append("The runs are unlike in:")
        parts.append(_aligned([{"What": what, "A": one, "B": other} for what, one, other in found.unlike]))
    # A folder with a part of the other's cases: what stands alone is counted, and in the CSV file.
    parts.append(_aligned([_line(row) for row in found.rows if row.a and row.b]))
    alone = [line for side in "AB" for line in _alone(found, side, names)]
    parts += [*alone, *([] if names or not alone else ["  (--names says which)"]), *([""] if alone else [])]
    if found.paces:
        rule = "median over the cases of both, and its interval (sign test, at least 95 %), marked from 5 % on"
        parts.append(f"Seconds, B over A: {rule}:")
        parts.append(_aligned([_pace_line(each) for each in found.paces]))
    different = found.different
    count = sum(not (row.a and row.b) for row in different)
    marked = sum(each.beyond_noise for each in found.paces)
    parts.append(
        f"{len(found.rows)} rows: {len(different) - count} differ, {count} in one folder only. "
        f"Seconds: {marked} of {len(found.paces)} stages differ beyond noise."
    )
    return "\n".join(parts)


def _alone(found: Comparison, side: str, names: bool) -> Iterator[str]:
    """What stands in one folder only: whole cases, and algorithms in cases that the other one has, too."""
    here, there = ("a", "b") if side == "A" else ("b", "a")
    other = {row.case for row in found.rows if getattr(row, there)}
    rows = [row for row in found.rows if getattr(row, here) and not getattr(row, there)]
    whole = [row for row in rows if row.case not in other]
    parts = [row for row in rows if row.case in other]
    for what, chosen in (("case", whole), ("algorithm", parts)):
        called = list(dict.fromkeys(str(getattr(row, what)) for row in chosen))
        if not called:
            continue
        count = f"{len(called)} {what}{'s' * (len(called) != 1)}"
        shared = "" if what == "case" else " in cases of both"
        listed = f": {', '.join(make_printable(each, CELL) for each in called)}" if names else ""
        yield f"only in {side}: {count}{shared} ({len(chosen)} row{'s' * (len(chosen) != 1)}){listed}"


def _aligned(lines: Sequence[Mapping[str, str]]) -> str:
    return align_columns(lines, indent="  ") if lines else ""


def _line(row: Row) -> dict[str, str]:
    def both(name: str, message: Any) -> dict[str, str]:
        return {f"{name} {side}": message(each.get(name)) for side, each in (("A", row.a), ("B", row.b))}

    def seconds(value: Any) -> str:
        return "-" if value is None else f"{value:.3f}"

    return {
        "Case": row.case,
        "algorithm": row.algorithm,
        **{f"value {side}": format_number(each.get("welfare")) for side, each in (("A", row.a), ("B", row.b))},
        **both("ratio", lambda value: value or "-"),
        **both("seconds", seconds),
        "Differs": f"! {', '.join(row.differs)}" if row.differs else "",
    }


def _pace_line(each: Pace) -> dict[str, str]:
    interval = "too few pairs" if each.low is None or each.high is None else f"[{each.low:.3g}, {each.high:.3g}]"
    return {
        "Stage": each.stage,
        "algorithm": each.algorithm,
        "pairs": str(each.pairs),
        "B/A": "-" if each.median is None else f"{each.median:.3g}",
        "interval": interval,
        "Differs": ("! slower" if each.low is not None and each.low > 1 else "! faster") if each.beyond_noise else "",
    }


def as_csv(found: Comparison) -> str:
    """One line per row: case, algorithm, differs, then every column of `SHOWN` of A and of B; exact fractions."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(["case", "algorithm", "differs", *(f"{name}_{side}" for name in SHOWN for side in "ab")])
    for row in found.rows:
        cells = [each.get(name) for name in SHOWN for each in (row.a, row.b)]
        about = [row.case, row.algorithm, "; ".join(row.differs), *("" if c is None else str(c) for c in cells)]
        lines.writerow(map(csv_cell, about))
    return out.getvalue()


def document(found: Comparison) -> dict[str, Any]:
    """The comparison as JSON values; exact figures are fractions in strings."""

    def plain(row: Mapping[str, Any]) -> dict[str, Any] | None:
        if not row:
            return None
        return {name: str(value) if isinstance(value, Fraction) else value for name, value in row.items()}

    return {
        "a": found.a,
        "b": found.b,
        "suites": list(found.suites),
        "unlike": [{"what": what, "a": one, "b": other} for what, one, other in found.unlike],
        "rows": [
            {
                "case": row.case,
                "algorithm": row.algorithm,
                "differs": list(row.differs),
                "a": plain(row.a),
                "b": plain(row.b),
            }
            for row in found.rows
        ],
        "seconds": [asdict(each) | {"beyond_noise": each.beyond_noise} for each in found.paces],
        "different": len(found.different),
    }
