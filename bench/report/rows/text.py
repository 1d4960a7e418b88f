"""The rows of results as text for a terminal: exact figures rounded, outward."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import SWEEP
from ratiobench.bench.report.compare.significance import find_significance, significance_text
from ratiobench.bench.report.compare.wins import count_wins
from ratiobench.bench.report.rows.crosscheck import answer_lines
from ratiobench.bench.report.shared.text import (
    CELL,
    LAST_CELL,
    admitted_text,
    align_columns,
    check_text,
    check_title,
    expected_text,
    format_number,
    opt_text,
    ratio_text,
)
from ratiobench.bench.results.read import DECIDING, Results, by_group, group_means, online_seconds
from ratiobench.bench.results.row import Row
from ratiobench.instances.io.errors import make_printable

LISTED = 40  # Cases up to which the text for a terminal has a table for each


_WHAT_MEANS = {
    Sense.MOST: "How much of the upper bound on OPT each algorithm reaches, mean over the cases of a group:",
    Sense.LEAST: "How near each algorithm comes to the lower bound, mean over the cases of a group:",
}


_WHAT_WINS = (
    "Your algorithm against every other one, by exact values: number of cases in which yours is better, worse, ...:"
)


_WHAT_REPEATED = (
    "mean of N runs: the algorithm is randomised; its figures are means of runs with different seeds. A ratio with\n"
    "`about` is an estimate of OPT over E[ALG], which is not certified; the 95 % interval of E[ALG] is Student's t."
)


def list_sweep_groups(found: Results) -> set[str]:
    """The groups that are values of a sweep: the sweep's table shows them."""
    return {group for plot in found.plots if plot.kind == SWEEP for group in plot.groups}


def results_text(found: Results, family: Family) -> str:
    """The whole result as text tables for a terminal."""
    parts = []
    head = family.headline if family.headline in found.checks else ""
    spent = online_seconds(found, DECIDING)
    every: dict[str, list[Row]] = {}
    swept = list_sweep_groups(found)
    for row in found.records:
        if row.group not in swept:
            every.setdefault(row.case, []).append(row)
    if len(every) > LISTED:
        parts.append(f"{len(every)} cases, {len(found.rows)} rows: all of them are on the page and in results.csv.\n")
        every = {}
    for case in found.cases:
        if case.name not in every:
            continue
        rows = every[case.name]
        figures = ", ".join(f"{key} {value}" for key, value in case.describe.items() if isinstance(value, int | float))
        head_line = f"{make_printable(case.name, CELL)}: {make_printable(figures, LAST_CELL) or 'no instance'}"
        text = answer_lines(found.solvers[case.name], family.unit) if case.name in found.solvers else []
        parts.append("\n  ".join([head_line, opt_text(rows[0], family.unit), *text]))
        is_repeated = bool(len(found.repetitions))
        lines = [_line(row, head, spent, family.objective, found.sense, is_repeated) for row in rows]
        parts.append(align_columns(lines, indent="  "))
    rows_of = by_group(found.records)
    table = group_means([row for row in found.records if row.group not in swept], found.sense)
    if table:
        odd = [name for name in table[0].irregular if name == "unbounded" or any(row.irregular[name] for row in table)]
        lines = [
            {
                "group": row.group,
                "algorithm": row.label,
                f"mean {found.sense.reached}": format_number(row.reached),
                "cases": str(row.cases),
                **{name: str(row.irregular[name]) for name in odd},
                **({check_title(head): _verdicts(rows_of[row.group, row.algorithm], head)} if head else {}),
            }
            for row in table
        ]
        parts.append(_WHAT_MEANS[found.sense])
        parts.append(align_columns(lines, indent="  "))
    wins = count_wins(found.records, found.sense) if len(found.cases) > 1 else []
    if wins:
        parts.append(_WHAT_WINS)
        parts.append(
            align_columns([{name: str(value) for name, value in each.row().items()} for each in wins], indent="  ")
        )
    tests = find_significance(found) if len(found.cases) > 1 else None
    if tests is not None:
        parts.append(significance_text(tests))
    parts += _reasons(found.records, head) if head else []
    if len(found.repetitions):
        parts.append(_WHAT_REPEATED)
    if any(row.state == "ok" and (row.case, row.algorithm) not in spent for row in found.records):
        parts.append("seconds -: the run is stored with the standard set; with --rerun it is made here.")
    if any(row.is_oracle for row in found.records):
        parts.append("* its constants are computed from the instance under test, future included (oracle).")
    return "\n".join(parts)


def _reasons(rows: Sequence[Row], check: str) -> list[str]:
    """Why the check decided nothing, with the number of rows, most frequent first; figures are on the page."""
    lines = []
    for verdict in (Verdict.UNDECIDED, Verdict.NOT_APPLICABLE):
        reasons = [row.checks[check].reason for row in rows if row.verdict(check) == verdict]
        counted = Counter(re.split(r"[:(]", reason)[0].strip() for reason in reasons).most_common()
        if counted:
            why = "; ".join(f"{make_printable(reason, CELL)} ({_rows(count)})" for reason, count in counted)
            lines.append(f"{check_title(check)} {verdict}: {why}.")
    failing = Counter(name for row in rows for name in row.failing(check) or ())
    if failing:
        names = "; ".join(f"{make_printable(name, CELL)} ({_rows(count)})" for name, count in failing.most_common())
        lines.append(f"{check_title(check)}, assumptions of its proof that fail: {names}.")
    return lines


def _rows(count: int) -> str:
    return f"{count} row{'s' * (count != 1)}"


def _verdicts(rows: Sequence[Row], check: str) -> str:
    chosen = Counter(row.verdict(check) for row in rows)
    counted = [(verdict.value, chosen[verdict]) for verdict in Verdict]
    return ", ".join(f"{count} {name}" for name, count in counted if count) or "-"


def _line(
    row: Row, head: str, spent: Mapping[tuple[str, str], float], value: str, sense: Sense, is_repeated: bool
) -> dict[str, str]:
    mark = " *" * row.is_oracle
    line = {
        "algorithm": f"{row.label}{mark}",
        value: format_number(row.welfare),
        **({"95 % interval": expected_text(row)} if is_repeated else {}),
        sense.ratio: ratio_text(row, sense),
        "admitted": admitted_text(row.admitted),
    }
    if head:
        line[check_title(head)] = check_text(row, head)
    line["seconds"] = f"{spent[row.case, row.algorithm]:.3f}" if (row.case, row.algorithm) in spent else "-"
    line["state"] = row.state if row.state == "ok" else f"{row.state}: {row.reason}"
    return line
