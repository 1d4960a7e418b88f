"""The tables of the page that have a row per run: all rows, and the verdicts of one check."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from bench.family.checks import Verdict
from bench.family.column import Family
from bench.tables import ratios
from bench.tables.cells import Cell, Column, Table, exact_cell, make_cell
from bench.tables.rows import Results, is_known, online_seconds
from bench.tables.text import admitted_text, check_title, expected_text, ratio_text

LISTED = 3000
"""Rows of checks on a page, all checks together; the rest is in results.csv."""
_ORDER = (Verdict.VIOLATED, Verdict.UNDECIDED, Verdict.HOLDS, Verdict.NOT_APPLICABLE)


def list_rows(found: Results, family: Family, rows: Sequence[Mapping[Any, Any]]) -> Table:
    """Every run, to be sorted and filtered; row n has the id `row-n`."""
    spent = online_seconds(found)
    check = family.headline if family.headline in found.checks else ""
    head: list[str | Column] = ["case", Column("group", True), Column("algorithm", True), "OPT, at least"]
    head += ["OPT, at most", "gap", "proof", f"{family.objective}, {family.unit}", found.sense.ratio]
    head += [found.sense.reached, "admitted"]
    head += ["E[ALG], 95 % interval"] if len(found.repetitions) else []
    head += [*(check_title(name) for name in found.measures), "constants", "arithmetic"]
    head += [Column(check_title(check), True), "bound"] if check else []
    head += ["seconds", Column("state", True)]
    body = [_row(row, check, found, spent.get((row["case"], row["algorithm"]))) for row in rows]
    ids = [f"row-{place}" for place in range(len(rows))]
    return Table("All rows", head, body, ids, filtered=True)


def _row(row: Mapping[Any, Any], check: str, found: Results, seconds: float | None) -> list[Cell]:
    cells = [
        make_cell(row["case"]),
        make_cell(row["group"]),
        make_cell(row["label"]),
        exact_cell(row["opt_lower"]),
        exact_cell(row["opt_upper"]),
        make_cell(
            ratios.percent(row["opt_gap"]) if is_known(row["opt_gap"]) else "-", sort=row["opt_gap"], numeric=True
        ),
        make_cell(row["opt_proof"] if is_known(row["opt_proof"]) else "-"),
        exact_cell(row["welfare"]),
        make_cell(ratio_text(row, found.sense), sort=_ratio_order(row), numeric=True),
        exact_cell(row["reached"]),
        make_cell(admitted_text(row["admitted"]), sort=_plain(row["admitted"]), numeric=True),
        *([make_cell(expected_text(row), numeric=True)] if len(found.repetitions) else []),
        *(exact_cell(row[name]) for name in found.measures),
        make_cell(_constants(row), title=_constants_title(row)),
        make_cell(row["arithmetic"] if is_known(row["arithmetic"]) else "-"),
    ]
    if check:
        verdict = row[check] if is_known(row[check]) else "-"
        cells += [make_cell(verdict, css=verdict.replace(" ", "-")), exact_cell(row[f"{check}_right"])]
    reason = "" if row["state"] == "ok" else f"{row['state']}: {row['reason']}"
    cells += [
        make_cell("-" if seconds is None else f"{seconds:.3f}", sort=seconds, numeric=True),
        # The state to choose rows by, the reason to read.
        Cell(reason, f"{row['state']} wrap", choice=row["state"]) if reason else make_cell("ok", css="ok"),
    ]
    return cells


def _plain(value: Any) -> Any:
    """A figure as JavaScript reads it."""
    return float(value) if isinstance(value, Fraction) else value


def _ratio_order(row: Mapping[Any, Any]) -> Any:
    """What the ratio is sorted by, as JavaScript reads numbers: without an upper end it is more than any number."""
    return "Infinity" if row["ratio_kind"] in (ratios.Kind.UNBOUNDED, ratios.Kind.OPEN) else row["ratio_upper_float"]


def _constants(row: Mapping[Any, Any]) -> str:
    source = row["constants_source"] if is_known(row["constants_source"]) else "-"
    return f"{source} *" if "oracle" in source else source


def _constants_title(row: Mapping[Any, Any]) -> str:
    if not is_known(row["constants"]):
        return ""
    return ", ".join(f"{each['name']} = {each['value']} ({each['source']})" for each in json.loads(row["constants"]))


@dataclass(frozen=True, slots=True)
class CheckRows:
    """The verdicts of one check with the exact figures behind them.

    Parameters
    ----------
    name : of the check.
    table : a row per run, what was violated on top.
    summary : how many runs gave each verdict.
    left_out : how many runs the table leaves out.
    is_open : whether the table is shown from the start.
    """

    name: str
    table: Table
    summary: str
    left_out: int
    is_open: bool


def list_checks(found: Results, family: Family, rows: Sequence[Mapping[Any, Any]]) -> list[CheckRows]:
    """A table per check, the headline's first."""
    names = sorted(found.checks, key=lambda check: check != family.headline)
    most = max(20, LISTED // max(1, len(names)))
    is_short = len(rows) <= 100
    return [_check(rows, name, most, is_short and name == family.headline) for name in names]


def _check(rows: Sequence[Mapping[Any, Any]], check: str, most: int, is_open: bool) -> CheckRows:
    places = [place for place, row in enumerate(rows) if is_known(row[check])]
    places.sort(key=lambda place: _ORDER.index(Verdict(rows[place][check])))
    counts = [(verdict.value, sum(rows[place][check] == verdict for place in places)) for verdict in Verdict]
    shown = places[:most]
    figures = [json.loads(rows[place][f"{check}_figures"]) for place in shown]
    names = list(dict.fromkeys(name for each in figures for name in each))
    head = ["case", "algorithm", "verdict", "left", "right", "claim, or why not", *names]
    body = [
        [
            Cell(str(rows[place]["case"]), href=f"#row-{place}"),
            make_cell(rows[place]["algorithm"]),
            make_cell(rows[place][check], css=rows[place][check].replace(" ", "-")),
            exact_cell(rows[place][f"{check}_left"]),
            exact_cell(rows[place][f"{check}_right"]),
            make_cell(rows[place][f"{check}_reason"] or "", css="wrap"),
            *(exact_cell(each.get(name)) for name in names),
        ]
        for place, each in zip(shown, figures, strict=True)
    ]
    summary = ", ".join(f"{count} {name}" for name, count in counts if count)
    return CheckRows(check, Table(check_title(check), head, body), summary, len(places) - len(shown), is_open)
