"""The answer of a run: the share of OPT of each algorithm, and what to doubt."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import pandas as pd

from ratiobench.bench.family.registry import find_suite_if_any
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import SWEEP
from ratiobench.bench.report.claims import ClaimSummary, fallen_text
from ratiobench.bench.report.crosscheck import agreement_text
from ratiobench.bench.report.pictures import GROUPS, list_share_rows
from ratiobench.bench.results import ratios
from ratiobench.bench.results.means import IRREGULAR, group_shares, mean
from ratiobench.bench.results.read import Results
from ratiobench.bench.results.remarks import is_user_algorithm
from ratiobench.bench.results.row import Row
from ratiobench.bench.show import WIDTH, Lines, align_columns, count_text, list_names, rows_of
from ratiobench.bench.storage.store import UNAUDITED
from ratiobench.formulations.versions import list_unpinned
from ratiobench.instances.io.errors import make_printable

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
    return {group: f"{words.get(group, group)}, {count_text(count, 'case')}" for group, count in cases.items()}


def share_lines(shares: pd.DataFrame, words: Mapping[str, str]) -> Lines:
    """A row per algorithm, the best on top: its share of OPT in each group; of many groups mean, least and largest."""
    called = name_groups(shares, words)
    groups = {key: row for row in rows_of(shares) for key in [(row.algorithm, row.group)]}
    most = shares.groupby("group", sort=False)["cases"].max()
    lines = []
    for algorithm in list_share_rows(shares):
        rows = [groups[algorithm, group] for group in called if (algorithm, group) in groups]
        line = {"Algorithm": f"{make_printable(rows[0].name, 80)}{' *' * any(row.oracle for row in rows)}"}
        parts = rows[0].parts if len(called) == 1 else sorted(row.reached for row in rows if row.reached is not None)
        ends = [ratios.share_percent(end) for end in (parts[0], parts[-1])] if parts else ["-", "-"]
        if len(called) <= GROUPS:
            for group, name in called.items():
                row = groups.get((algorithm, group))
                cell = "-"
                if row is not None and row.reached is not None:
                    partly = f" on {row.cases} of {most[group]}" if row.cases < most[group] else ""
                    cell = ratios.share_text(row.lower, row.upper) + partly
                line[f"share of OPT: {name}"] = cell
            if len(called) == 1:
                line |= dict(zip(("least case", "largest case"), ends, strict=True))
        else:
            line["groups of cases"] = str(len(parts))
            line["share of OPT, mean of groups"] = ratios.share_percent(mean(parts) or 0) if parts else "-"
            line |= dict(zip(("least group", "largest group"), ends, strict=True))
        counts = {name: sum(getattr(row, name) for row in rows) for name in IRREGULAR}
        line["not in order"] = ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "-"
        lines.append(line)
    if all(line["not in order"] == "-" for line in lines):
        for line in lines:
            del line["not in order"]
    return lines


def list_doubts(results: Results) -> list[str]:
    """At most `DOUBTS` sentences on what must not be overlooked, the gravest first."""
    lines = list(_doubts(results))
    return lines if len(lines) <= DOUBTS else [*lines[: DOUBTS - 1], " ".join(lines[DOUBTS - 1 :])]


def _doubts(results: Results) -> Iterator[str]:
    rows, sense = results.records, results.sense
    if not rows:
        yield "Nothing has run yet."
    unbounded = {
        Sense.MOST: "without gain although OPT is above 0 (an unbounded ratio)",
        Sense.LEAST: "with costs although OPT is 0 (an unbounded ratio)",
    }
    kinds: tuple[tuple[str, Callable[[Row], bool]], ...] = (
        ("invalid (a rule was broken)", lambda row: row.state == "invalid"),
        ("without an answer (failed)", lambda row: row.state == "failed"),
        ("not run yet", lambda row: row.state == "missing"),
        (unbounded[sense], lambda row: row.ratio_kind == ratios.Kind.UNBOUNDED),
        ("without a ratio, since OPT may be negative or 0", lambda row: row.ratio_kind == ratios.Kind.UNDEFINED),
    )
    for words, is_chosen in kinds:
        names = Counter(row.name for row in rows if is_chosen(row))
        if count := names.total():
            are = "is" if count == 1 else "are"
            yield f"{count} of {count_text(len(rows), 'run')} {are} {words}: {list_names(list(names))}."
    if unknown := list(dict.fromkeys(row.case for row in rows if row.opt_lower is None)):
        yield f"OPT is not known for {count_text(len(unknown), 'case')}: {list_names(unknown)}."
    charged = Counter(row.name for row in rows if row.remarks.overcharged)
    if charged:
        counts = [f"{name} in {count_text(count, 'run')}" for name, count in charged.most_common()]
        yield f"Charges above the bid: {list_names(counts)}."
    if oracle := list(dict.fromkeys(row.name for row in rows if row.is_oracle)):
        yield (
            f"* ({list_names(oracle)}): given constants computed from the instance under test, its future included "
            "(oracle)."
        )
    if drawn := list(dict.fromkeys(row.name for row in rows if row.is_mean)):
        yield f"{list_names(drawn)}: means of several runs, with a 95 % interval of the expected value, not certified."
    for name in results.about.get("algorithms", ()):
        without = [case.name for case in results.cases if name not in [each for each, _ in case.algorithms]]
        if without:
            yield f"{make_printable(name, 80)} is left out where no other day is: {list_names(without)}."
    unlike = list_unpinned(results.about.get("provenance", {}).get("packages", {}))
    if unlike and rows:
        yield f"Solvers are not those of the published figures, so intervals may differ: {', '.join(unlike)}."
    if any(case.audits == UNAUDITED for case in results.cases):
        yield "Claims were not checked on these runs; with --audits they are."


def answer_lines(results: Results, claims: Sequence[ClaimSummary]) -> list[str]:
    """The last screen of `run` and `report`: shares of OPT, what to doubt, claims that fell."""
    lines = []
    if agreement := agreement_text(results.solvers):
        lines += textwrap.wrap(agreement, WIDTH, subsequent_indent="  ")
    shares = take_shares(results)
    table = list(zip(list_share_rows(shares), share_lines(shares, group_words(results)), strict=True))
    shown = [line for place, (name, line) in enumerate(table) if place < SHOWN or is_user_algorithm(name)]
    lines += align_columns(shown, width=WIDTH).splitlines()
    if len(shown) < len(table):
        lines.append(f"{len(table) - len(shown)} more algorithms are on the page.")
    for doubt in list_doubts(results):
        lines += textwrap.wrap(doubt, WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    return [*lines, *fallen_text(claims)]
