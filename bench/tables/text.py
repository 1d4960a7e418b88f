"""The rows of results as text for people: exact figures rounded, outward."""

from __future__ import annotations

import math
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import SWEEP
from ratiobench.bench.results.row import Row
from ratiobench.bench.tables import ratios
from ratiobench.bench.tables.crosscheck import answer_lines
from ratiobench.bench.tables.rows import DECIDING, Results, by_group, group_means, is_known, online_seconds
from ratiobench.bench.tables.wins import count_wins
from ratiobench.instances.errors import make_printable

NAMED = 2
"""Failing assumptions that a cell names; of more it gives the number."""
LISTED = 40
"""Cases up to which the text for a terminal has a table for each."""
WIDTH = 120
"""Columns of a terminal for tables that wrap."""
WORD = 36
"""Letters of a word that no column breaks."""
CELL, LAST_CELL = 200, 1000
"""Characters of a cell in a text table: the last one of a row makes no other row longer."""


def escape_lines(text: str) -> str:
    """The text with what cannot be printed (terminal escapes) escaped as in Python, line by line."""
    return "\n".join("".join(c if c.isprintable() else repr(c)[1:-1] for c in line) for line in text.split("\n"))


def format_number(value: Fraction | int | None, *, up: bool = False) -> str:
    """An exact figure for reading: thousands apart; a fraction as at most three decimals, rounded down, or up."""
    if not is_known(value):
        return "-"
    return ratios.format_number(Fraction(value), up=up)  # type: ignore[arg-type]


_WHAT_MEANS = {
    Sense.MOST: "How much of the upper bound each algorithm reaches, mean over the cases of a group:",
    Sense.LEAST: "How near each algorithm comes to the lower bound, mean over the cases of a group:",
}


_WHAT_WINS = "Your algorithm against each other one: in how many cases its value is better, exactly:"
_WHAT_REPEATED = (
    "mean of N runs: the algorithm draws; its figures are means of runs with seeds of their own. What is `about` is\n"
    "an estimate of the ratio of OPT and E[ALG], which nothing certifies; the 95 % interval of E[ALG] is Student's t."
)


def ratio_text(row: Row, sense: Sense = Sense.MOST) -> str:
    """The ratio as the tables print it."""
    if is_known(row.ratio_lower):
        if not is_known(row.ratio_upper):
            return ratios.open_text(row.ratio_lower)
        about = "about " if row.ratio_kind == ratios.Kind.ESTIMATE else ""
        return about + ratios.interval_text(row.ratio_lower, row.ratio_upper)
    if row.ratio_kind == ratios.Kind.UNDEFINED:
        ends = row.behind_lower, row.behind_upper
        whole = all(Fraction(end).denominator == 1 for end in ends)
        return f"{sense.difference} in {ratios.interval_text(*ends, 0 if whole else 6)}"
    return row.ratio_kind or "-"


def expected_text(row: Row) -> str:
    """The 95 % interval of E[ALG], where the row is a mean of runs, rounded outward."""
    if row.welfare_low is None or row.welfare_high is None:
        return "-"
    ends = (Fraction(row.welfare_low), Fraction(row.welfare_high))
    if min(map(abs, ends)) >= 1000:
        ends = (Fraction(math.floor(ends[0])), Fraction(math.ceil(ends[1])))
    return f"{ratios.format_number(ends[0])} to {ratios.format_number(ends[1], up=True)}"


def admitted_text(value: Any) -> str:
    """How many were admitted: a whole number, of a mean of runs at most three decimals."""
    if not is_known(value):
        return "-"
    return format_number(value) if Fraction(value).denominator > 1 else str(value)


def opt_text(row: Row, unit: str) -> str:
    """The interval on OPT with its proof, in words."""
    if row.opt_status == "failed":
        return f"OPT unknown: {make_printable(row.opt_lower_source, LAST_CELL)}"
    proof, formulation, backend = (
        make_printable(str(each), CELL) for each in (row.opt_proof, row.opt_formulation, row.opt_backend)
    )
    version = make_printable(row.opt_solver, CELL) if row.opt_solver and backend != "none" else ""
    proof = f"proof: {proof}, {formulation} / {backend} {version}".rstrip()
    limited = ", time-limited" if row.opt_time_limited else ""
    if row.opt_status == "optimal":
        return f"OPT = {ratios.format_truncated(row.opt_upper)} {unit} ({proof}{limited})"
    interval = f"[{format_number(row.opt_lower)}, {format_number(row.opt_upper, up=True)}]"
    return f"OPT in {interval} {unit}, gap {ratios.percent(row.opt_gap or 0.0)} ({proof}{limited})"


def check_text(row: Row, check: str) -> str:
    """The verdict of a check on a run: ``holds (bound 1,489; bbar >= 1 fails)``, or the verdict alone.

    A check that separates a claim from the assumptions of its proof shows both, and the right side rounded up; the
    exact figures have columns of their own.
    """
    if not is_known(row.verdict(check)):
        return "-"
    failing, right = row.failing(check), row.checks[check].right
    if failing is None:
        return str(row.verdict(check))
    bound = f"bound {bound_text(Fraction(right))}; " if isinstance(right, str) else ""
    return f"{row.verdict(check)} ({bound}{assumptions_text(failing)})"


def bound_text(value: Fraction) -> str:
    """An upper bound rounded up: to three decimals, from 1,000 on to a whole number."""
    return format_number(Fraction(math.ceil(value)) if value >= 1000 else value, up=True)


def assumptions_text(failing: Sequence[str]) -> str:
    """``bbar >= 1 fails``; of several the first two and the number of the others; that they hold where none fails."""
    if not failing:
        return "assumptions hold"
    rest = len(failing) - NAMED
    names = [*failing[:NAMED], *([f"{rest} more"] if rest > 0 else [])]
    joined = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    return f"{joined} {'fails' if len(failing) == 1 else 'fail'}"


def check_title(check: str) -> str:
    """``theorem9_repaired`` as `Theorem 9 repaired`, ``theorem_z`` as `Theorem Z`."""
    words = re.sub(r"^(theorem|lemma|algorithm)(?=\d)", r"\1 ", check.replace("_", " "))
    words = re.sub(r"^(theorem|lemma) ([a-z])\b", lambda found: f"{found[1]} {found[2].upper()}", words)
    return words[:1].upper() + words[1:]


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
    parts += _reasons(found.records, head) if head else []
    if len(found.repetitions):
        parts.append(_WHAT_REPEATED)
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
    line["seconds"] = f"{spent.get((row.case, row.algorithm), 0.0):.3f}"
    line["state"] = row.state if row.state == "ok" else f"{row.state}: {row.reason}"
    return line


def align_columns(lines: Sequence[Mapping[str, str]], indent: str = "", width: int = 0) -> str:
    """Rows under their headings; figures to the right, words to the left; every cell safe to print.

    With a `width` headings and cells of words are wrapped so that no line is longer, as far as words allow.
    """
    names = list(lines[0])
    most = {name: LAST_CELL if name == names[-1] or width else CELL for name in names}
    lines = [{name: make_printable(line[name], most[name]) for name in names} for line in lines]
    widths = {name: max(len(name), *(len(line[name]) for line in lines)) for name in names}
    if width:
        _narrow(widths, lines, width - len(indent) - 2 * (len(names) - 1))

    def shown(line: Mapping[str, str]) -> Iterator[str]:
        cells = {name: textwrap.wrap(line[name], widths[name]) if width else [line[name]] for name in names}
        for place in range(max(map(len, cells.values()))):
            parts = {name: cell[place] if place < len(cell) else "" for name, cell in cells.items()}
            row = [(str.ljust if _is_words(name) else str.rjust)(parts[name], widths[name]) for name in names]
            yield (indent + "  ".join(row)).rstrip()

    return "\n".join([*shown({name: name for name in names}), *(row for line in lines for row in shown(line))]) + "\n"


def _is_words(heading: str) -> bool:
    return heading in ("algorithm", "group", "state") or (heading[:1].isupper() and "/" not in heading)


def _narrow(widths: dict[str, int], lines: Sequence[Mapping[str, str]], most: int) -> None:
    """Make the widest columns narrower until all fit; figures are not broken, nor words of up to `WORD` letters."""
    least: dict[str, int] = {}
    for name in widths:
        cells = [line[name] for line in lines]
        parts = name.split() + ([word for cell in cells for word in cell.split()] if _is_words(name) else cells)
        least[name] = min(WORD, max(map(len, parts), default=1))
    while sum(widths.values()) > most:
        wide = [name for name in widths if widths[name] > least[name]]
        if not wide:
            return
        widths[max(wide, key=lambda name: widths[name])] -= 1
