"""The tables of the page that have a row per run: all rows, and the verdicts of one check."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from bench.family.checks import Verdict
from bench.family.column import Family
from bench.page.markup import Column, cell, exact, folded, rows_table
from bench.tables import ratios
from bench.tables.rows import Results, is_known, online_seconds
from bench.tables.text import check_title, ratio_text

LISTED = 3000
"""Rows of checks on a page, all checks together; the rest is in results.csv."""
_ORDER = (Verdict.VIOLATED, Verdict.UNDECIDED, Verdict.HOLDS, Verdict.NOT_APPLICABLE)


def all_rows(found: Results, family: Family, rows: Sequence[Mapping[Any, Any]]) -> str:
    """Every run, to be sorted and filtered; row n has the id `row-n`."""
    spent = online_seconds(found)
    check = family.headline if family.headline in found.checks else ""
    head: list[str | Column] = ["case", Column("group", True), Column("algorithm", True), "OPT, at least"]
    head += ["OPT, at most", "gap", "proof", f"{family.objective}, {family.unit}", "OPT/ALG", "ALG/upper", "admitted"]
    head += [*(check_title(name) for name in found.measures), "constants", "arithmetic"]
    head += [Column(check_title(check), True), "bound"] if check else []
    head += ["seconds", Column("state", True)]
    body = [_row(row, check, found.measures, spent.get((row["case"], row["algorithm"]))) for row in rows]
    ids = [f"row-{place}" for place in range(len(rows))]
    return rows_table(head, body, "All rows", ids=ids, filtered=True)


def _row(row: Mapping[Any, Any], check: str, measures: Sequence[str], seconds: float | None) -> list[str]:
    cells = [
        cell(row["case"]),
        cell(row["group"]),
        cell(row["label"]),
        exact(row["opt_lower"]),
        exact(row["opt_upper"]),
        cell(ratios.percent(row["opt_gap"]) if is_known(row["opt_gap"]) else "-", sort=row["opt_gap"], number=True),
        cell(row["opt_proof"] if is_known(row["opt_proof"]) else "-"),
        exact(row["welfare"]),
        cell(ratio_text(row), sort=_ratio_order(row), number=True),
        exact(row["reached"]),
        cell(row["admitted"] if is_known(row["admitted"]) else "-", sort=row["admitted"], number=True),
        *(exact(row[name]) for name in measures),
        cell(_constants(row), title=_constants_title(row)),
        cell(row["arithmetic"] if is_known(row["arithmetic"]) else "-"),
    ]
    if check:
        verdict = row[check] if is_known(row[check]) else "-"
        cells += [cell(verdict, css=verdict.replace(" ", "-")), exact(row[f"{check}_right"])]
    reason = "" if row["state"] == "ok" else f"{row['state']}: {row['reason']}"
    cells += [
        cell("-" if seconds is None else f"{seconds:.3f}", sort=seconds, number=True),
        cell(row["state"], css=row["state"]) if not reason else _failed(row["state"], reason),
    ]
    return cells


def _ratio_order(row: Mapping[Any, Any]) -> Any:
    """What OPT/ALG is sorted by, as JavaScript reads numbers: unbounded is more than any, undefined is unknown."""
    return "Infinity" if row["ratio_kind"] == ratios.Kind.UNBOUNDED else row["ratio_upper_float"]


def _failed(state: str, reason: str) -> str:
    """The state to choose rows by, the reason to read."""
    return f'<td class="{escape(state)} wrap" data-c="{escape(state)}">{escape(reason)}</td>'


def _constants(row: Mapping[Any, Any]) -> str:
    source = row["constants_source"] if is_known(row["constants_source"]) else "-"
    return f"{source} *" if "oracle" in source else source


def _constants_title(row: Mapping[Any, Any]) -> str:
    if not is_known(row["constants"]):
        return ""
    return ", ".join(f"{each['name']} = {each['value']} ({each['source']})" for each in json.loads(row["constants"]))


def checks(found: Results, family: Family, rows: Sequence[Mapping[Any, Any]]) -> str:
    """A folded table per check, the headline's first; what was violated stands on top."""
    if not found.checks:
        return ""
    names = sorted(found.checks, key=lambda check: check != family.headline)
    most = max(20, LISTED // len(names))
    is_open = len(rows) <= 100
    sections = [_check(rows, name, most, is_open and name == family.headline) for name in names]
    return (
        '<h2 id="checks">The checks, run by run</h2><p>A claim is left &le; right. Every figure is exact and shown '
        "rounded; the fraction is in its tool tip and in <code>results.csv</code>.</p>" + "\n".join(sections)
    )


def _check(rows: Sequence[Mapping[Any, Any]], check: str, most: int, is_open: bool) -> str:
    """The verdicts of one check with the exact figures behind them."""
    places = [place for place, row in enumerate(rows) if is_known(row[check])]
    places.sort(key=lambda place: _ORDER.index(Verdict(rows[place][check])))
    counts = [(verdict.value, sum(rows[place][check] == verdict for place in places)) for verdict in Verdict]
    summary = ", ".join(f"{count} {name}" for name, count in counts if count)
    shown = places[:most]
    figures = [json.loads(rows[place][f"{check}_figures"]) for place in shown]
    names = list(dict.fromkeys(name for each in figures for name in each))
    head = ["case", "algorithm", "verdict", "left", "right", "claim, or why not", *names]
    body = [
        [
            f'<td><a href="#row-{place}">{escape(str(rows[place]["case"]))}</a></td>',
            cell(rows[place]["algorithm"]),
            cell(rows[place][check], css=rows[place][check].replace(" ", "-")),
            exact(rows[place][f"{check}_left"]),
            exact(rows[place][f"{check}_right"]),
            cell(rows[place][f"{check}_reason"] or "", css="wrap"),
            *(exact(each.get(name)) for name in names),
        ]
        for place, each in zip(shown, figures, strict=True)
    ]
    rest = len(places) - len(shown)
    more = f"<p>{rest} more in <code>results.csv</code>.</p>" if rest else ""
    title = check_title(check)
    return (
        f'<section id="check-{escape(check)}">'
        + folded(f"{title}: {summary}.", rows_table(head, body, title) + more, is_open=is_open)
        + "</section>"
    )
