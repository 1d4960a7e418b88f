"""Two folders of results side by side: versions of an algorithm, machines, efforts."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

from ratiobench.bench.results.read import Results, online_seconds, read_folder
from ratiobench.bench.show import CELL, align_columns, count_text, format_number, ratio_text
from ratiobench.instances.io.errors import make_printable

# Columns of which any difference is one; verdicts of checks and the instance are compared as well
EXACT = ("state", "opt_lower", "opt_upper", "welfare", "true_welfare", "revenue", "admitted", "constants")
# Columns that stand side by side, as NAME_a and NAME_b; the first five are exact figures
SHOWN = ("opt_lower", "opt_upper", "welfare", "ratio_lower", "ratio_upper", "seconds", "state", "algorithm_key")
PIECE = ["stage", "algorithm", "case"]  # What a measurement of seconds is about
SHORTEST = 0.001  # Seconds: pairs that are both shorter are all timer and no work
MARGIN = 1.05  # Ratios of seconds nearer to 1 than this are the same, however many cases say otherwise


@dataclass(frozen=True, slots=True)
class Comparison:
    a: str
    b: str
    suites: tuple[str, str]
    unlike: Sequence[Mapping[str, str]]  # ``what``, ``a``, ``b``: machine, packages, versions of algorithms and solves
    # a row per case and algorithm of either, in the order of A, then those of B alone: ``case``, ``algorithm``; in
    # ``a`` and ``b`` the columns of `SHOWN` and the ``ratio`` in words, empty where it is missing; in ``differs`` the
    # names of what differs: columns of `EXACT`, ``instance``, names of checks, ``OPT contradiction`` (the intervals of
    # one instance do not meet, so one of them is wrong), ``only A``, ``only B``.
    rows: Sequence[Mapping[str, Any]]
    seconds: Sequence[Mapping[str, Any]]  # by ``stage`` and ``algorithm``, as `compare_pace` says


def compare(a: Path, b: Path) -> Comparison:
    left, right = read_folder(a), read_folder(b)
    rows_a, rows_b = _rows(left), _rows(right)
    checks = [name for name in left.checks if name in right.checks]
    rows = []
    for address in dict.fromkeys((*rows_a, *rows_b)):
        a_cells, b_cells = rows_a.get(address, {}), rows_b.get(address, {})
        row: dict[str, Any] = {"case": address[0], "algorithm": address[1]}
        row["differs"] = list(_differences(a_cells, b_cells, checks))
        for side, cells in (("a", a_cells), ("b", b_cells)):
            row[side] = {name: cells[name] for name in (*SHOWN, "ratio") if cells}
        rows.append(row)
    suites = (str(left.about["suite"]), str(right.about["suite"]))
    mine, theirs = _circumstances(left), _circumstances(right)
    unlike = [
        {"what": name, "a": _plain(mine.get(name)), "b": _plain(theirs.get(name))}
        for name in dict.fromkeys((*mine, *theirs))
        if mine.get(name) != theirs.get(name) and (name in mine.keys() & theirs or not name.startswith("version of "))
    ]
    return Comparison(str(a), str(b), suites, unlike, rows, list(_paces(left, right)))


def _rows(results: Results) -> dict[tuple[str, str], dict[str, Any]]:
    spent, sense = online_seconds(results), results.sense
    rows = {(row.case, row.algorithm): row for row in results.records}
    return {
        address: row.cells() | {"seconds": spent.get(address), "ratio": ratio_text(row, sense)}
        for address, row in rows.items()
    }


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


def _circumstances(results: Results) -> dict[str, Any]:
    """What two runs may have different; versions are the keys but for what belongs to a case (its yesterday)."""
    about = {name: results.about.get(name) for name in ("suite", "effort", "only", "rows")}
    for part in ("code", "machine", "packages"):
        about |= results.about.get("provenance", {}).get(part, {})
    about.pop("free memory", None)
    versions: dict[str, dict[str, None]] = {}
    for case in results.cases:
        pairs = [(name, key.split(" | ")[0]) for name, key in case.algorithms]
        for name, key in (*pairs, ("OPT", case.solve_key), ("audits", case.audits)):
            versions.setdefault(f"version of {name}", {})[key] = None
    return about | {name: " or ".join(keys) for name, keys in versions.items()}


def _plain(value: Any) -> str:
    return "-" if value in (None, [], "") else ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _paces(a: Results, b: Results) -> Iterator[dict[str, Any]]:
    """Seconds by stage and algorithm, B over A, over the cases of both that are the same instance."""
    instances = [{case.name: case.instance for case in results.cases} for results in (a, b)]
    left, right = (results.seconds.drop_duplicates(PIECE, keep="last") for results in (a, b))
    pairs = left.merge(right, on=PIECE, suffixes=("_a", "_b"))
    pairs = pairs[pairs["case"].map(instances[0]) == pairs["case"].map(instances[1])]
    least, most = (pairs[["seconds_a", "seconds_b"]].agg(end, axis=1) for end in ("min", "max"))
    pairs = pairs[(least < most) & (least > 0) & (most >= SHORTEST)]  # equal seconds were measured once and shared
    for (stage, algorithm), part in pairs.groupby(["stage", "algorithm"], sort=False):
        yield {"stage": stage, "algorithm": algorithm} | compare_pace((part["seconds_b"] / part["seconds_a"]).tolist())


def compare_pace(ratios: Sequence[float]) -> dict[str, Any]:
    """The number of paired ratios, their median, its interval by the sign test, and whether that is beyond noise."""
    ordered = sorted(ratios)
    median = math.exp(statistics.median(map(math.log, ordered)))
    # The interval from the k-th smallest to the k-th largest misses with probability 2 P(Binomial(n, 1/2) < k).
    count, missed, left_out = len(ordered), 0, 0
    while Fraction(2 * (missed + math.comb(count, left_out)), 2**count) <= Fraction(5, 100):
        missed += math.comb(count, left_out)
        left_out += 1
    low, high = (ordered[left_out - 1], ordered[-left_out]) if left_out else (None, None)
    beyond_noise = low is not None and high is not None and (low > MARGIN or high < 1 / MARGIN)
    return {"pairs": count, "median": median, "low": low, "high": high, "beyond_noise": beyond_noise}


def text(comparison: Comparison, names: bool = False) -> str:
    """The comparison for a terminal; `!` marks what differs; `names`: say what stands in one folder only."""
    suites = [make_printable(name, CELL) for name in comparison.suites]
    parts = [f"A: {comparison.a} (suite {suites[0]})\nB: {comparison.b} (suite {suites[1]})"]
    if comparison.unlike:
        lines = [{name.capitalize(): cell for name, cell in line.items()} for line in comparison.unlike]
        parts += ["The runs are unlike in:", align_columns(lines, indent="  ")]
    # A folder with a part of the other's cases: what stands alone is counted, and in the CSV file.
    both = [row for row in comparison.rows if row["a"] and row["b"]]
    parts.append(align_columns([_line(row) for row in both], indent="  "))
    if alone := [line for side in "AB" for line in _alone(comparison, side, names)]:
        parts += [*alone, *([] if names else ["  (--names says which)"]), ""]
    if comparison.seconds:
        rule = "median over the cases of both, and its interval (sign test, at least 95 %), marked from 5 % on"
        lines = []
        for pace in comparison.seconds:
            line = {"Stage": pace["stage"], "algorithm": pace["algorithm"], "pairs": str(pace["pairs"])}
            low, high = pace["low"], pace["high"]
            interval = "too few pairs" if low is None else f"[{low:.3g}, {high:.3g}]"
            differs = ("! slower" if low > 1 else "! faster") if pace["beyond_noise"] else ""
            lines.append(line | {"B/A": f"{pace['median']:.3g}", "interval": interval, "Differs": differs})
        parts += [f"Seconds, B over A: {rule}:", align_columns(lines, indent="  ")]
    different = sum(bool(row["differs"]) for row in both)
    marked = sum(pace["beyond_noise"] for pace in comparison.seconds)
    parts.append(
        f"{len(comparison.rows)} rows: {different} differ, {len(comparison.rows) - len(both)} in one folder only. "
        f"Seconds: {marked} of {len(comparison.seconds)} stages differ beyond noise."
    )
    return "\n".join(parts)


def _alone(comparison: Comparison, side: str, names: bool) -> Iterator[str]:
    rows = [row for row in comparison.rows if row["differs"] == [f"only {side}"]]
    other = {row["case"] for row in comparison.rows if row["b" if side == "A" else "a"]}
    for what, is_whole in (("case", True), ("algorithm", False)):
        chosen = [row for row in rows if (row["case"] not in other) is is_whole]
        if called := list(dict.fromkeys(row[what] for row in chosen)):
            shared = "" if is_whole else " in cases of both"
            listed = f": {', '.join(make_printable(name, CELL) for name in called)}" if names else ""
            yield f"only in {side}: {count_text(len(called), what)}{shared} ({count_text(len(chosen), 'row')}){listed}"


def _line(row: Mapping[str, Any]) -> dict[str, str]:
    sides = (("A", row["a"]), ("B", row["b"]))
    return {
        "Case": row["case"],
        "algorithm": row["algorithm"],
        **{f"value {side}": format_number(cells["welfare"]) for side, cells in sides},
        **{f"ratio {side}": cells["ratio"] or "-" for side, cells in sides},
        **{f"seconds {side}": "-" if cells["seconds"] is None else f"{cells['seconds']:.3f}" for side, cells in sides},
        "Differs": f"! {', '.join(row['differs'])}" if row["differs"] else "",
    }


def exact_frame(comparison: Comparison) -> pd.DataFrame:
    """One line per row: case, algorithm, differs, then every column of `SHOWN` of A and of B; exact fractions."""
    lines = []
    for row in comparison.rows:
        line = {"case": row["case"], "algorithm": row["algorithm"], "differs": "; ".join(row["differs"])}
        lines.append(line | {f"{name}_{side}": row[side].get(name) for name in SHOWN for side in "ab"})
    return pd.DataFrame(lines, dtype=object)


def as_frame(comparison: Comparison) -> pd.DataFrame:
    """The rows of both folders for a notebook: figures as float64, exact ones once more as ``NAME_exact``."""
    exact, frame = exact_frame(comparison), pd.DataFrame()
    for name in map(str, exact):
        figure = name[:-2]
        frame[name] = exact[name].astype("float64" if figure in SHOWN[:6] else "string")
        if figure in SHOWN[:5]:
            frame[f"{name}_exact"] = exact[name]
    pace = ("stage", "algorithm", "pairs", "median", "low", "high", "beyond_noise")
    unlike = [tuple(line.values()) for line in comparison.unlike]
    frame.attrs = {"unlike": unlike, "seconds": pd.DataFrame(comparison.seconds, columns=pace)}
    return frame


def document(comparison: Comparison) -> dict[str, Any]:
    whole = asdict(comparison)
    for row in whole["rows"]:
        for side in "ab":
            cells = row[side].items()
            row[side] = {name: str(cell) if isinstance(cell, Fraction) else cell for name, cell in cells} or None
    return whole | {"different": sum(bool(row["differs"]) for row in comparison.rows)}
