"""How figures, names and tables are shown."""

from __future__ import annotations

import csv
import io
import math
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.explanation import Figure, Sentence
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.results import ratios
from ratiobench.bench.results.row import Row
from ratiobench.formulations.report import Exact, solver_number
from ratiobench.instances.io.errors import make_printable
from ratiobench.instances.io.files import write_atomically

if TYPE_CHECKING:
    from ratiobench.formulations.crosscheck import CrossCheck

NAMED = 2  # Failing assumptions that a cell names; of more it gives the number
WIDTH = 118  # Columns of a terminal for tables that wrap
WORD = 36  # Letters of a word that no column breaks
CELL, LAST_CELL = 200, 1000  # Characters of a cell in a text table: the last one of a row makes no other row longer
SENTENCE = 300  # Characters of words in a sentence; more are cut off
SOLVERS = {"highs": "HiGHS", "cbc": "CBC", "scip": "SCIP", "gurobi": "Gurobi", "cpsat": "CP-SAT"}  # By their authors
Lines = Sequence[Mapping[str, str]]  # A table: its rows have the same keys, which are the headings


def escape_lines(text: str) -> str:
    """The text with what cannot be printed (terminal escapes) escaped as in Python, line by line."""
    return "\n".join("".join(c if c.isprintable() else repr(c)[1:-1] for c in line) for line in text.split("\n"))


def count_text(count: int, noun: str) -> str:
    """``1 case``, ``2 cases``."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def list_names(names: Sequence[str], most: int = 3) -> str:
    shown = ", ".join(make_printable(name, 80) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def rows_of(table: Any) -> list[Any]:
    return list(table.itertuples(index=False))


def format_number(value: Any, *, up: bool = False) -> str:
    """An exact figure: thousands apart; a fraction with at most three decimals, rounded down, or `up`."""
    return ratios.format_number(Fraction(value), up=up) if value is not None else "-"


def ratio_text(row: Row, sense: Sense = Sense.MOST) -> str:
    if row.ratio_lower is not None:
        if row.ratio_upper is None:
            return ratios.open_text(row.ratio_lower)
        about = "about " if row.ratio_kind == ratios.Kind.ESTIMATE else ""
        return about + ratios.interval_text(row.ratio_lower, row.ratio_upper)
    if row.ratio_kind == ratios.Kind.UNDEFINED:
        ends = row.behind_lower, row.behind_upper
        whole = all(Fraction(end).denominator == 1 for end in ends)
        return f"{sense.difference} in {ratios.interval_text(*ends, 0 if whole else 6)}"
    return row.ratio_kind or "-"


def expected_text(row: Row) -> str:
    if row.welfare_low is None or row.welfare_high is None:
        return "-"
    ends = (Fraction(row.welfare_low), Fraction(row.welfare_high))
    if min(map(abs, ends)) >= 1000:
        ends = (Fraction(math.floor(ends[0])), Fraction(math.ceil(ends[1])))
    return f"{ratios.format_number(ends[0])} to {ratios.format_number(ends[1], up=True)}"


def admitted_text(value: Any) -> str:
    if value is None:
        return "-"
    return format_number(value) if Fraction(value).denominator > 1 else str(value)


def opt_text(row: Row, unit: str) -> str:
    if row.opt_status == "failed":
        return f"OPT unknown: {make_printable(row.opt_lower_source, LAST_CELL)}"
    proof, formulation, backend = (
        make_printable(str(part), CELL) for part in (row.opt_proof, row.opt_formulation, row.opt_backend)
    )
    version = make_printable(row.opt_solver, CELL) if row.opt_solver and backend != "none" else ""
    proof = f"proof: {proof}, {formulation} / {backend} {version}".rstrip()
    limited = ", time-limited" if row.opt_time_limited else ""
    gap = "" if row.opt_status == "optimal" else f", gap {ratios.percent(row.opt_gap or 0.0)}"
    ends = ratios.ends_text(row.opt_lower, row.opt_upper)
    return f"OPT {'in' if gap else '='} {ends} {unit}{gap} ({proof}{limited})"


def check_text(row: Row, check: str) -> str:
    """``holds (bound 1,489; bbar >= 1 fails)``, or the verdict alone if the check separates no assumptions."""
    if row.verdict(check) is None:
        return "-"
    failing, right = row.failing(check), row.checks[check].right
    if failing is None:
        return str(row.verdict(check))
    bound = ""
    if isinstance(right, str):  # rounded up: to three decimals, from 1,000 on to a whole number
        value = Fraction(right)
        bound = f"bound {format_number(math.ceil(value) if value >= 1000 else value, up=True)}; "
    return f"{row.verdict(check)} ({bound}{assumptions_text(failing)})"


def assumptions_text(failing: Sequence[str]) -> str:
    """``bbar >= 1 fails``; of several the first two and the number of the others."""
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


def align_columns(lines: Sequence[Mapping[str, str]], indent: str = "", width: int = 0) -> str:
    """Rows under their headings, safe to print; with a `width` headings and words are wrapped to it."""
    if not lines:
        return ""
    names = list(lines[0])
    most = {name: LAST_CELL if name == names[-1] or width else CELL for name in names}
    lines = [{name: make_printable(line[name], most[name]) for name in names} for line in lines]
    widths = {name: max(len(name), *(len(line[name]) for line in lines)) for name in names}
    if width:
        _narrow(widths, lines, width - len(indent) - 2 * (len(names) - 1))

    rows = []
    for line in ({name: name for name in names}, *lines):
        cells = [
            (textwrap.wrap(line[name], widths[name], break_on_hyphens=False) or [""]) if width else [line[name]]
            for name in names
        ]
        rows += [list(row) for row in zip_longest(*cells, fillvalue="")]
    return "".join(f"{indent}{row}".rstrip() + "\n" for row in pad_cells(rows, [is_words(name) for name in names]))


def pad_cells(rows: Sequence[Sequence[str]], words: Sequence[bool]) -> list[str]:
    columns = []
    for column, is_left in zip(zip(*rows, strict=True), words, strict=True):
        width = max(map(len, column))
        columns.append([cell.ljust(width) if is_left else cell.rjust(width) for cell in column])
    return ["  ".join(row) for row in zip(*columns, strict=True)]


def is_words(heading: str) -> bool:
    """Whether the column below a heading has words: it begins with a capital letter, unless it is a figure's."""
    is_figure = "/" in heading or heading.startswith("GPU-h")
    return heading in ("algorithm", "group", "state") or (heading[:1].isupper() and not is_figure)


def _narrow(widths: dict[str, int], lines: Sequence[Mapping[str, str]], most: int) -> None:
    """Make the widest columns narrower until all fit; figures are not broken, nor words of up to `WORD` letters."""
    least: dict[str, int] = {}
    for name in widths:
        cells = [line[name] for line in lines]
        parts = name.split() + ([word for cell in cells for word in cell.split()] if is_words(name) else cells)
        least[name] = min(WORD, max(map(len, parts), default=1))
    while sum(widths.values()) > most and (wide := [name for name in widths if widths[name] > least[name]]):
        widths[max(wide, key=lambda name: widths[name])] -= 1


def write_csv(path: Path | None, rows: Sequence[Mapping[str, Any]]) -> None:
    if path is not None:
        write_atomically(path, csv_text(rows).encode())


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    table = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return text.getvalue()


def clock_text(second: int) -> str:
    """``8:10``, ``1 d 8:10`` on the day after; with seconds where there are some."""
    days, rest = divmod(second, 86_400)
    text = f"{rest // 3600}:{rest // 60 % 60:02}" + (f":{rest % 60:02}" if rest % 60 else "")
    return f"{days} d {text}" if days else text


def money_text(dollars: Exact, *, up: bool | None = None) -> str:
    """``$37.95``, below a dollar ``12.3 c``, below a tenth of a cent ``312 µ$``; to the nearest, or `up`."""
    amount = Fraction(dollars)
    size = abs(amount)
    if not size:
        return "$0"
    sign, unit, digits = "-" * (amount < 0), "", 2
    if size < 1:
        unit, size = (" c", 100 * size) if size >= Fraction(1, 1000) else (" µ$", 10**6 * size)
        digits, edge = 1, Fraction(10)  # three digits in all
        while size < edge and digits < 15:
            digits, edge = digits + 1, edge / 10
    if up is None:  # halves up
        size, up = size + Fraction(1, 2 * 10**digits), amount < 0
    whole, _, places = ratios.format_decimal(size, digits, up=up is (amount > 0)).partition(".")
    text = f"{int(whole):,}.{places:0<{digits}}"
    if unit == " µ$":
        text = text.rstrip("0").rstrip(".")
    return f"{sign}{text}{unit}" if unit else f"{sign}${text}"


def value_text(value: Exact, family: Family, *, up: bool | None = None) -> str:
    """A value of the family's objective: money, or a number without unit, rounded down unless `up`."""
    return format_number(value, up=up is True) if family.dollars is None else money_text(value * family.dollars, up=up)


def figure_text(value: Figure) -> str:
    """An exact figure with four digits or more, and dots if decimals were cut off; words on one line."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return make_printable(value, SENTENCE)
    size = abs(Fraction(value))
    digits = 3
    while size and size < Fraction(1, 10) and digits < 12:
        size, digits = size * 10, digits + 1
    return ratios.format_truncated(value, digits)


def sentence_text(sentence: Sentence) -> str:
    """A sentence with its figures; numbers that differ and would read alike are given exactly."""
    texts = [part if isinstance(part, str) else figure_text(part) for part in sentence]
    values: dict[str, set[Fraction]] = {}
    for part, text in zip(sentence, texts, strict=True):
        if not isinstance(part, str):
            values.setdefault(text, set()).add(Fraction(part))
    shown = [
        text if isinstance(part, str) or len(values[text]) == 1 else str(part)
        for part, text in zip(sentence, texts, strict=True)
    ]
    return "".join(" ".join(text.split("\n")) for text in shown).replace("....", "...")


def crosscheck_lines(crosscheck: CrossCheck) -> list[dict[str, str]]:
    def text(value: Any, show: Callable[[Any], str]) -> str:
        return "-" if value is None else show(value)

    return [
        {
            "Formulation": row.answer.formulation,
            "Solver": f"{row.answer.backend} {row.answer.solver}".strip(),
            "columns": text(row.answer.columns or None, "{:,}".format),
            "rows": text(row.answer.rows or None, "{:,}".format),
            "build s": f"{row.answer.build_seconds:.2f}",
            "solve s": f"{row.answer.solve_seconds:.2f}",
            "Status": row.answer.status.value,
            "bound": text(row.answer.bound, solver_number),
            "value": text(row.answer.value, solver_number),
            "verified": text(row.answer.verified, ratios.format_truncated),
            "Verdict": "differs" if why else "agrees" if row.answer.answered else "no answer",
        }
        for row, why in zip(crosscheck.rows, crosscheck.differs, strict=True)
    ]


def solver_lines(crosscheck: CrossCheck, unit: str) -> list[str]:
    """One sentence for each solver's answer for the program as printed, beside the interval on OPT."""
    lines = []
    for row, why in zip(crosscheck.rows, crosscheck.differs, strict=True):
        verdict = f"differs: it {why}" if why else "agrees" if row.answer.answered else row.answer.message
        lines.append(make_printable(f"P as printed, {row.answer.text()} {unit}: {verdict}", SENTENCE))
    return lines


def agreement_text(solvers: Mapping[str, CrossCheck]) -> str:
    if not solvers:
        return ""
    agree = sum(result.agree for result in solvers.values())
    asked = dict.fromkeys(row.answer.backend for result in solvers.values() for row in result.rows)
    named = " and ".join(SOLVERS.get(name, name) for name in asked)
    proved = sum(result.optimal() == len(result.rows) for result in solvers.values())
    text = f"{named} agree on {agree} of {len(solvers)} cases, and with the interval on OPT"
    return f"P as printed, built with PuLP: {text}; on {proved} both end as optimal."
