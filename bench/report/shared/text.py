"""Figures, names and tables as text for people: exact figures rounded, outward."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ratiobench.bench.family.sense import Sense
from ratiobench.bench.results import ratios
from ratiobench.bench.results.read import is_known
from ratiobench.bench.results.row import Row
from ratiobench.instances.io.errors import make_printable

NAMED = 2  # Failing assumptions that a cell names; of more it gives the number
WIDTH = 120  # Columns of a terminal for tables that wrap
WORD = 36  # Letters of a word that no column breaks
CELL, LAST_CELL = 200, 1000  # Characters of a cell in a text table: the last one of a row makes no other row longer


def escape_lines(text: str) -> str:
    """The text with what cannot be printed (terminal escapes) escaped as in Python, line by line."""
    return "\n".join("".join(c if c.isprintable() else repr(c)[1:-1] for c in line) for line in text.split("\n"))


def format_number(value: Fraction | int | None, *, up: bool = False) -> str:
    """An exact figure for reading: thousands apart; a fraction as at most three decimals, rounded down, or up."""
    if not is_known(value):
        return "-"
    return ratios.format_number(Fraction(value), up=up)  # type: ignore[arg-type]


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
        cells = {name: _wrap(line[name], widths[name]) if width else [line[name]] for name in names}
        for place in range(max(map(len, cells.values()))):
            parts = {name: cell[place] if place < len(cell) else "" for name, cell in cells.items()}
            row = [(str.ljust if _is_words(name) else str.rjust)(parts[name], widths[name]) for name in names]
            yield (indent + "  ".join(row)).rstrip()

    return "\n".join([*shown({name: name for name in names}), *(row for line in lines for row in shown(line))]) + "\n"


def _wrap(cell: str, width: int) -> list[str]:
    return textwrap.wrap(cell, width, break_on_hyphens=False)


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


def ratio_words(sense: Sense) -> str:
    """The ratio as the axis of a figure has it."""
    return sense.ratio.replace("/", " / ")
