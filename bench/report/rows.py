"""The answer of a run (shares of OPT, what to doubt) and its rows, as text for a terminal and as tables of the page."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from ratiobench.bench import show
from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import find_suite_if_any
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import SWEEP
from ratiobench.bench.report.claims import ClaimSummary, fallen_text
from ratiobench.bench.report.compare import compare_runs, count_wins, take_significance
from ratiobench.bench.report.pictures import GROUPS, list_share_rows
from ratiobench.bench.results import ratios
from ratiobench.bench.results.means import IRREGULAR, by_group, group_shares, mean, share_of
from ratiobench.bench.results.read import DECIDING, Results, online_seconds
from ratiobench.bench.results.remarks import is_user_algorithm
from ratiobench.bench.results.row import Row
from ratiobench.bench.storage.store import UNAUDITED
from ratiobench.formulations.versions import list_unpinned
from ratiobench.instances.io.errors import make_printable

LISTED = 40  # Cases up to which the text for a terminal has a table for each
ROWS = 2000  # Rows up to which the page has them all; more are in results.csv only
WINS = "Your algorithm against every other one, by exact values: number of cases in which yours is better, worse, ...:"
REPEATED = (
    "mean of N runs: the algorithm is randomised; its figures are means of runs with different seeds. A ratio with\n"
    "`about` is an estimate of OPT over E[ALG], which is not certified; the 95 % interval of E[ALG] is Student's t."
)
DOUBTS = 5  # Sentences of what to doubt
SHOWN = 12  # Algorithms on the last screen of a run, beside one's own


def list_sweep_groups(results: Results) -> set[str]:
    """The groups that are values of a sweep: the sweep's table shows them."""
    return {group for plot in results.plots if plot.kind == SWEEP for group in plot.groups}


def take_shares(results: Results) -> pd.DataFrame:
    swept = list_sweep_groups(results)
    rows = [row for row in results.records if row.group not in swept] or results.records
    return group_shares(rows, results.sense)


def group_words(results: Results) -> Mapping[str, str]:
    suite = find_suite_if_any(results.about)
    return {} if suite is None else suite.groups


def name_groups(shares: pd.DataFrame, words: Mapping[str, str]) -> dict[str, str]:
    cases = {str(group): int(count) for group, count in shares.groupby("group", sort=False)["cases"].max().items()}
    return {group: f"{words.get(group, group)}, {show.count_text(count, 'case')}" for group, count in cases.items()}


def share_lines(shares: pd.DataFrame, words: Mapping[str, str]) -> show.Lines:
    """A row per algorithm, the best on top: its share of OPT in each group; of many groups mean, least and largest."""
    titles = {group: f"share of OPT: {name}" for group, name in name_groups(shares, words).items()}
    most = shares.groupby("group", sort=False)["cases"].max()
    lines = []
    for algorithm in list_share_rows(shares):
        rows = show.rows_of(shares[shares["algorithm"] == algorithm])
        known = [row for row in rows if row.reached is not None]
        line = {"Algorithm": f"{make_printable(rows[0].name, 80)}{' *' * any(row.oracle for row in rows)}"}
        parts = rows[0].parts if len(titles) == 1 else sorted(row.reached for row in known)
        if len(titles) <= GROUPS:
            line |= dict.fromkeys(titles.values(), "-")
            for row in known:
                partly = f" on {row.cases} of {most[row.group]}" if row.cases < most[row.group] else ""
                line[titles[row.group]] = ratios.share_text(row.lower, row.upper) + partly
        else:
            line["groups of cases"] = str(len(parts))
            line["share of OPT, mean of groups"] = ratios.share_percent(mean(parts) or 0) if parts else "-"
        if len(titles) == 1 or len(titles) > GROUPS:
            what = "case" if len(titles) == 1 else "group"
            for word, end in (("least", parts[:1]), ("largest", parts[-1:])):
                line[f"{word} {what}"] = ratios.share_percent(end[0]) if end else "-"
        if shares[list(IRREGULAR)].any(axis=None):
            counts = {name: sum(getattr(row, name) for row in rows) for name in IRREGULAR}
            line["not in order"] = ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "-"
        lines.append(line)
    return lines


def list_doubts(results: Results) -> list[str]:
    """At most `DOUBTS` sentences on what must not be overlooked, the gravest first."""
    rows = results.records
    doubts = [] if rows else ["Nothing has run yet."]
    unbounded = "with costs although OPT is 0"
    if results.sense is Sense.MOST:
        unbounded = "without gain although OPT is above 0"
    for words, column, value in (
        ("invalid (a rule was broken)", "state", "invalid"),
        ("without an answer (failed)", "state", "failed"),
        ("not run yet", "state", "missing"),
        (f"{unbounded} (an unbounded ratio)", "ratio_kind", ratios.Kind.UNBOUNDED),
        ("without a ratio, since OPT may be negative or 0", "ratio_kind", ratios.Kind.UNDEFINED),
    ):
        if names := [row.name for row in rows if getattr(row, column) == value]:
            are, named = "is" if len(names) == 1 else "are", show.list_names(list(dict.fromkeys(names)))
            doubts.append(f"{len(names)} of {show.count_text(len(rows), 'run')} {are} {words}: {named}.")
    if unknown := list(dict.fromkeys(row.case for row in rows if row.opt_lower is None)):
        doubts.append(f"OPT is not known for {show.count_text(len(unknown), 'case')}: {show.list_names(unknown)}.")
    if charged := Counter(row.name for row in rows if row.remarks.overcharged):
        counts = [f"{name} in {show.count_text(count, 'run')}" for name, count in charged.most_common()]
        doubts.append(f"Charges above the bid: {show.list_names(counts)}.")
    if named := show.list_names(list(dict.fromkeys(row.name for row in rows if row.is_oracle))):
        text = "given constants computed from the instance under test, its future included (oracle)"
        doubts.append(f"* ({named}): {text}.")
    if named := show.list_names(list(dict.fromkeys(row.name for row in rows if row.is_mean))):
        doubts.append(f"{named}: means of several runs, with a 95 % interval of the expected value, not certified.")
    for name in results.about.get("algorithms", ()):
        if without := [case.name for case in results.cases if name not in [run for run, _ in case.algorithms]]:
            doubts.append(f"{make_printable(name, 80)} is left out where no other day is: {show.list_names(without)}.")
    if rows and (unlike := list_unpinned(results.about.get("provenance", {}).get("packages", {}))):
        doubts.append(f"Solvers are not those of the published figures, so intervals may differ: {', '.join(unlike)}.")
    if any(case.audits == UNAUDITED for case in results.cases):
        doubts.append("Claims were not checked on these runs; with --audits they are.")
    return doubts if len(doubts) <= DOUBTS else [*doubts[: DOUBTS - 1], " ".join(doubts[DOUBTS - 1 :])]


def answer_lines(results: Results, claims: Sequence[ClaimSummary]) -> list[str]:
    """The last screen of `run` and `report`: shares of OPT, what to doubt, claims that fell."""
    lines = []
    if agreement := show.agreement_text(results.solvers):
        lines += textwrap.wrap(agreement, show.WIDTH, subsequent_indent="  ")
    shares = take_shares(results)
    table = list(zip(list_share_rows(shares), share_lines(shares, group_words(results)), strict=True))
    shown = [line for place, (name, line) in enumerate(table) if place < SHOWN or is_user_algorithm(name)]
    lines += show.align_columns(shown, width=show.WIDTH).splitlines()
    if len(shown) < len(table):
        lines.append(f"{len(table) - len(shown)} more algorithms are on the page.")
    for doubt in list_doubts(results):
        lines += textwrap.wrap(doubt, show.WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    return [*lines, *fallen_text(claims)]


def results_text(results: Results, family: Family) -> str:
    head = family.headline if family.headline in results.checks else ""
    spent = online_seconds(results, DECIDING)
    swept = list_sweep_groups(results)
    listed = [row for row in results.records if row.group not in swept]
    parts = [*_case_parts(results, family, listed, head, spent), *_mean_parts(results, listed, head)]
    if (comparison := compare_runs(results)) is not None:
        if wins := count_wins(comparison):
            parts += [WINS, show.align_columns(wins, indent="  ")]
        if (tests := take_significance(comparison)) is not None:
            parts.append(tests.text())
    parts += _reasons(results.records, head)
    if len(results.repetitions):
        parts.append(REPEATED)
    if any(row.state == "ok" and (row.case, row.algorithm) not in spent for row in results.records):
        parts.append("seconds -: the run is stored with the standard set; with --rerun it is made here.")
    if any(row.is_oracle for row in results.records):
        parts.append("* its constants are computed from the instance under test, future included (oracle).")
    return "\n".join(parts)


def _case_parts(
    results: Results, family: Family, listed: Sequence[Row], head: str, spent: Mapping[tuple[str, str], float]
) -> Iterator[str]:
    if (count := len({row.case for row in listed})) > LISTED:
        yield f"{count} cases, {len(results.exact)} rows: all of them are on the page and in results.csv.\n"
        return
    for case in results.cases:
        if rows := [row for row in listed if row.case == case.name]:
            size = make_printable(size_text(case.describe), show.LAST_CELL) or "no instance"
            text = show.solver_lines(results.solvers[case.name], family.unit) if case.name in results.solvers else []
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


def _mean_parts(results: Results, listed: Sequence[Row], head: str) -> Iterator[str]:
    shares = group_shares(listed, results.sense)
    if not len(shares):
        return
    rows = by_group(listed)
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
    words = "How near each algorithm comes to the lower bound"
    if results.sense is Sense.MOST:
        words = "How much of the upper bound on OPT each algorithm reaches"
    yield f"{words}, mean over the cases of a group:"
    yield show.align_columns(lines, indent="  ")


def _reasons(rows: Sequence[Row], check: str) -> Iterator[str]:
    for verdict in (Verdict.UNDECIDED, Verdict.NOT_APPLICABLE):
        if reasons := [row.checks[check].reason for row in rows if row.verdict(check) == verdict]:
            heads = [re.split(r"[:(]", reason)[0].strip() for reason in reasons]
            yield f"{show.check_title(check)} {verdict}: {_counted(heads)}."
    if failing := [name for row in rows for name in row.failing(check) or ()]:
        yield f"{show.check_title(check)}, assumptions of its proof that fail: {_counted(failing)}."


def _counted(texts: Any) -> str:
    counts = Counter(texts).most_common()
    return "; ".join(f"{make_printable(text, show.CELL)} ({show.count_text(count, 'row')})" for text, count in counts)


def row_lines(results: Results, family: Family) -> show.Lines:
    rows, sense, unit = results.records, results.sense, family.unit
    head = family.headline if family.headline in results.checks else ""
    deciding = online_seconds(results, DECIDING)
    is_paid = any(row.revenue is not None for row in rows)
    lines = []
    for row in rows:
        seconds = deciding.get((row.case, row.algorithm))
        has_share = row.state == "ok" and row.reached is not None
        line: dict[str, Any] = {
            "Case": row.case,
            "Group": row.group,
            "Algorithm": f"{row.label}{' *' * row.is_oracle}",
            sense.ratio: show.ratio_text(row, sense),
            "share of OPT": ratios.share_text(*share_of(row, sense)) if has_share else "-",
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
