"""The table algorithm x group as LaTeX (booktabs): the certified share of OPT, with the interval that OPT leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from ratiobench.bench.family.contract import Family
from ratiobench.bench.report.shared.citation import Citation, escape_latex
from ratiobench.bench.results import ratios
from ratiobench.bench.results.read import Results, by_group, is_known
from ratiobench.bench.results.remarks import name_of_runs, remarks_of_runs
from ratiobench.bench.results.row import Row

FILE = "table.tex"
WIDE = 5
"""Groups in a table; more have tables of their own, one below the other."""
ORACLE = r"Constants are computed from the instance under test, future included (oracle)."


@dataclass(frozen=True, slots=True)
class GroupShare:
    """The mean share of OPT of an algorithm over the cases of a group.

    Parameters
    ----------
    low, high : ends of the mean share.
    cases : in the mean.
    planned : cases on which the algorithm was to run.
    reasons : why the others are not in the mean.
    """

    low: Fraction
    high: Fraction
    cases: int
    planned: int
    reasons: str = ""


@dataclass
class _Notes:
    """Footnotes by their text, lettered in the order in which they are called for."""

    letters: dict[str, str] = field(default_factory=dict)

    def mark(self, text: str) -> str:
        """The mark of a footnote, as a superscript."""
        number = len(self.letters)
        new = chr(97 + number) if number < 26 else f"{chr(96 + number // 26)}{chr(97 + number % 26)}"
        return self.letters.setdefault(text, new)


def latex_table(found: Results, family: Family, citation: Citation) -> str:
    r"""A document part with the tables, to be read by ``\input``; it needs the package booktabs.

    Parameters
    ----------
    found : the results.
    citation : of the run; it stands below the table and in a comment.
    """
    cells = _shares(found)
    groups = list(dict.fromkeys(group for group, _ in cells))
    parts = [_preamble(citation)]
    for first in range(0, len(groups), WIDE):
        parts.append(_table(found, family, cells, groups[first : first + WIDE], citation, first // WIDE))
    return "\n".join(parts)


def _preamble(citation: Citation) -> str:
    return f"% {citation.line}\n% Needs \\usepackage{{booktabs}}; cite.bib has the entries that cite the run.\n"


def _shares(found: Results) -> dict[tuple[str, str], GroupShare | None]:
    """Per group and algorithm the mean share; None where no case has one."""
    shares: dict[tuple[str, str], GroupShare | None] = {}
    for address, rows in by_group(found.first_records).items():
        parts: list[tuple[Fraction, Fraction]] = []
        odd: dict[str, int] = {}
        for row in rows:
            part = _share(row, found)
            if part is None:
                reason = row.state if row.state != "ok" else "without a share"
                odd[reason] = odd.get(reason, 0) + 1
            else:
                parts.append(part)
        if not parts:
            shares[address] = None
            continue
        low, high = (sum(column, Fraction(0)) / len(parts) for column in zip(*parts, strict=True))
        reasons = ", ".join(f"{count} {'not run' if reason == 'missing' else reason}" for reason, count in odd.items())
        shares[address] = GroupShare(low, high, len(parts), len(rows), reasons)
    return shares


def _share(row: Row, found: Results) -> tuple[Fraction, Fraction] | None:
    if row.state != "ok" or not all(map(is_known, (row.welfare, row.opt_lower, row.opt_upper))):
        return None
    return ratios.share(row.opt_lower, row.opt_upper, row.welfare, found.sense)


def _table(
    found: Results,
    family: Family,
    cells: dict[tuple[str, str], GroupShare | None],
    groups: Sequence[str],
    citation: Citation,
    number: int,
) -> str:
    runs: dict[str, list[Row]] = {}
    for row in found.first_records:
        if row.group in groups:
            runs.setdefault(row.algorithm, []).append(row)
    best = {group: _best(cells, group) for group in groups}
    notes, lines = _Notes(), []
    has_oracle = False
    for name, rows in runs.items():
        oracle = any(row.is_oracle for row in rows)
        has_oracle |= oracle
        remarks = [row.remarks for row in rows]
        said = remarks_of_runs(name, remarks)
        marks = ([r"\ast"] if oracle else []) + ([notes.mark(f"{escape_latex(said)}.")] if said else [])
        label = rf"\texttt{{{escape_latex(name_of_runs(name, remarks))}}}" + (
            rf"$^{{{','.join(marks)}}}$" if marks else ""
        )
        texts = [
            _cell(cells.get((group, name)), (group, name) in cells, name in best[group], notes) for group in groups
        ]
        lines.append(" & ".join([label, *texts]) + r" \\")
    counts = {group: len({row.case for row in found.first_records if row.group == group}) for group in groups}
    head = [rf"\textbf{{{escape_latex(group)}}} ({counts[group]})" for group in groups]
    below = [rf"$^{{\ast}}$ {ORACLE}"] * has_oracle
    below += [f"$^{{{mark}}}$ {text}" for text, mark in notes.letters.items()]
    below.append(f"Cite: {escape_latex(citation.line)}.")
    title = (
        f"{escape_latex(citation.suite)}: mean share of OPT ({escape_latex(family.objective)}) in \\%, by group "
        "(number of cases). $[a, b]$: the share is at least $a$ and at most $b$, since OPT is known within an "
        "interval only; a single number is such an interval up to rounding. Bold: the largest certified share of a "
        "group."
    )
    joined = "\\\\\n".join(below)
    body = "\n".join(lines)
    return (
        "\\begin{table}\n\\centering\n"
        f"\\caption{{{title}}}\n\\label{{tab:ratiobench-{citation.digest[:8]}-{number + 1}}}\n"
        f"\\begin{{tabular}}{{l{'r' * len(groups)}}}\n\\toprule\n"
        f"{' & '.join(['algorithm', *head])} \\\\\n\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}\n\n\\smallskip\n"
        f"\\begin{{minipage}}{{\\linewidth}}\\footnotesize\n{joined}\n\\end{{minipage}}\n\\end{{table}}\n"
    )


def _best(cells: dict[tuple[str, str], GroupShare | None], group: str) -> set[str]:
    """The algorithms with the largest certified share, of those with a share on all cases of the group."""
    mine = {name: share for (where, name), share in cells.items() if where == group and share is not None}
    most = max((share.cases for share in mine.values()), default=0)
    whole = {name: share.low for name, share in mine.items() if share.cases == most == share.planned}
    top = max(whole.values(), default=None)
    return {name for name, low in whole.items() if low == top}


def _cell(share: GroupShare | None, is_planned: bool, is_best: bool, notes: _Notes) -> str:
    if share is None:
        return "no figure" if is_planned else "--"
    low = _percent(share.low)
    text = low if _percent(share.high) == low else f"[{low}, {_percent(share.high, up=True)}]"
    text = rf"\textbf{{{text}}}" if is_best else text
    if share.cases < share.planned:
        note = f"Mean over {share.cases} of {share.planned} cases: {escape_latex(share.reasons)}."
        text += f"$^{{{notes.mark(note)}}}$"
    return text


def _percent(share: Fraction, *, up: bool = False) -> str:
    """A share with one digit, rounded outward, with a minus sign of mathematics."""
    text = ratios.share_percent(share, up=up).removesuffix(" %")
    text = text if "." in text else f"{text}.0"
    return f"${text}$" if text.startswith("-") else text
