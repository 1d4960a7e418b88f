"""The rows of results as text for a terminal and as a table of the page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ratiobench.bench import show
from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.report.answer import list_sweep_groups
from ratiobench.bench.report.compare import compare_runs, count_wins, take_significance
from ratiobench.bench.report.crosscheck import answer_lines
from ratiobench.bench.results import ratios
from ratiobench.bench.results.means import IRREGULAR, by_group, group_shares
from ratiobench.bench.results.read import DECIDING, Results, online_seconds
from ratiobench.bench.results.row import Row
from ratiobench.instances.io.errors import make_printable

LISTED = 40  # Cases up to which the text for a terminal has a table for each
ROWS = 2000  # Rows up to which the page has them all; more are in results.csv only
WINS = "Your algorithm against every other one, by exact values: number of cases in which yours is better, worse, ...:"
REPEATED = (
    "mean of N runs: the algorithm is randomised; its figures are means of runs with different seeds. A ratio with\n"
    "`about` is an estimate of OPT over E[ALG], which is not certified; the 95 % interval of E[ALG] is Student's t."
)


def results_text(results: Results, family: Family) -> str:
    head = family.headline if family.headline in results.checks else ""
    spent = online_seconds(results, DECIDING)
    parts = [*_case_parts(results, family, head, spent), *_mean_parts(results, head)]
    if len(results.cases) > 1:
        if wins := count_wins(results.records, results.sense):
            parts += [WINS, show.align_columns(wins, indent="  ")]
        comparison = compare_runs(results)
        tests = None if comparison is None else take_significance(comparison)
        if comparison is not None and tests is not None:
            parts.append(tests.text(comparison.names))
    parts += _reasons(results.records, head) if head else []
    if len(results.repetitions):
        parts.append(REPEATED)
    if any(row.state == "ok" and (row.case, row.algorithm) not in spent for row in results.records):
        parts.append("seconds -: the run is stored with the standard set; with --rerun it is made here.")
    if any(row.is_oracle for row in results.records):
        parts.append("* its constants are computed from the instance under test, future included (oracle).")
    return "\n".join(parts)


def _case_parts(results: Results, family: Family, head: str, spent: Mapping[tuple[str, str], float]) -> Iterator[str]:
    swept = list_sweep_groups(results)
    cases: dict[str, list[Row]] = {}
    for row in results.records:
        if row.group not in swept:
            cases.setdefault(row.case, []).append(row)
    if len(cases) > LISTED:
        yield f"{len(cases)} cases, {len(results.exact)} rows: all of them are on the page and in results.csv.\n"
        return
    for case in results.cases:
        if case.name in cases:
            rows = cases[case.name]
            size = make_printable(size_text(case.describe), show.LAST_CELL) or "no instance"
            text = answer_lines(results.solvers[case.name], family.unit) if case.name in results.solvers else []
            yield "\n  ".join(
                [f"{make_printable(case.name, show.CELL)}: {size}", show.opt_text(rows[0], family.unit), *text]
            )
            lines = [_line(row, head, spent, family.objective, results) for row in rows]
            yield show.align_columns(lines, indent="  ")


def size_text(described: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in described.items() if isinstance(value, int | float))


def _line(row: Row, head: str, spent: Mapping[tuple[str, str], float], value: str, results: Results) -> dict[str, str]:
    line = {"algorithm": f"{row.label}{' *' * row.is_oracle}", value: show.format_number(row.welfare)}
    if len(results.repetitions):
        line["95 % interval"] = show.expected_text(row)
    line |= {results.sense.ratio: show.ratio_text(row, results.sense), "admitted": show.admitted_text(row.admitted)}
    if head:
        line[show.check_title(head)] = show.check_text(row, head)
    seconds = spent.get((row.case, row.algorithm))
    line["seconds"] = "-" if seconds is None else f"{seconds:.3f}"
    line["state"] = row.state if row.state == "ok" else f"{row.state}: {row.reason}"
    return line


def _mean_parts(results: Results, head: str) -> Iterator[str]:
    swept = list_sweep_groups(results)
    shares = group_shares([row for row in results.records if row.group not in swept], results.sense)
    if not len(shares):
        return
    rows = by_group(results.records)
    odd = [name for name in IRREGULAR if name == "unbounded" or shares[name].any()]
    lines = []
    for share in show.rows_of(shares):
        line = {"group": share.group, "algorithm": share.label}
        line |= {f"mean {results.sense.reached}": show.format_number(share.reached), "cases": str(share.cases)}
        line |= {name: str(getattr(share, name)) for name in odd}
        if head:
            counts = Counter(row.verdict(head) for row in rows[share.group, share.algorithm])
            verdicts = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts[verdict])
            line[show.check_title(head)] = verdicts or "-"
        lines.append(line)
    words = {
        Sense.MOST: "How much of the upper bound on OPT each algorithm reaches",
        Sense.LEAST: "How near each algorithm comes to the lower bound",
    }
    yield f"{words[results.sense]}, mean over the cases of a group:"
    yield show.align_columns(lines, indent="  ")


def _reasons(rows: Sequence[Row], check: str) -> Iterator[str]:
    for verdict in (Verdict.UNDECIDED, Verdict.NOT_APPLICABLE):
        reasons = [row.checks[check].reason for row in rows if row.verdict(check) == verdict]
        if reasons:
            heads = [re.split(r"[:(]", reason)[0].strip() for reason in reasons]
            yield f"{show.check_title(check)} {verdict}: {_counted(heads)}."
    failing = [name for row in rows for name in row.failing(check) or ()]
    if failing:
        yield f"{show.check_title(check)}, assumptions of its proof that fail: {_counted(failing)}."


def _counted(texts: Any) -> str:
    counts = Counter(texts).most_common()
    return "; ".join(f"{make_printable(text, show.CELL)} ({show.count_text(count, 'row')})" for text, count in counts)


def row_lines(results: Results, family: Family) -> show.Lines:
    rows = results.records
    head = family.headline if family.headline in results.checks else ""
    sense, unit = results.sense, family.unit
    deciding = online_seconds(results, DECIDING)
    is_paid = any(row.revenue is not None for row in rows)
    lines = []
    for row in rows:
        seconds, share = deciding.get((row.case, row.algorithm)), None
        if row.state == "ok" and row.opt_lower is not None:
            share = ratios.share(row.opt_lower, row.opt_upper, row.welfare, sense)
        line: dict[str, Any] = {
            "Case": row.case,
            "Group": row.group,
            "Algorithm": f"{row.label}{' *' * row.is_oracle}",
            sense.ratio: show.ratio_text(row, sense),
            "share of OPT": "-" if share is None else ratios.share_text(*share),
            f"{family.objective}, {unit}": show.format_number(row.welfare),
            "admitted": show.admitted_text(row.admitted),
            "State": row.state if not row.reason or row.state == "ok" else f"{row.state}: {row.reason}",
            f"lower end of OPT, {unit}": show.format_number(row.opt_lower),
            f"upper end of OPT, {unit}": show.format_number(row.opt_upper, up=True),
            "gap, percent": "-" if row.opt_gap is None else f"{100 * row.opt_gap:.3g}",
            "Proof": row.opt_proof or "-",
        }
        if len(results.repetitions):
            line["95 % interval of E[ALG]"] = show.expected_text(row)
        if is_paid:
            line[f"revenue, {unit}"] = show.format_number(row.revenue)
        line |= {f"{name}, {unit}": show.format_number(getattr(row, name)) for name in results.accounts}
        line |= {name.replace("_", " "): show.format_number(row.measures.get(name)) for name in results.measures}
        if head:
            line[show.check_title(head)] = show.check_text(row, head)
        line["seconds of decisions"] = "-" if seconds is None else f"{seconds:.3g}"
        line["Constants"] = row.constants_source or "none"
        lines.append(line)
    return lines
