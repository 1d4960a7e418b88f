"""The section 'Claims and verdicts'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.report.claims.verdicts import ClaimSummary, frame
from ratiobench.bench.report.shared.cells import Download, Table, make_download
from ratiobench.bench.report.shared.text import format_number


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """One claim."""

    settled: ClaimSummary  # the claim with its verdicts and its witness
    counts: Sequence[tuple[str, int]]  # how many runs gave each verdict, without those that none gave
    violated: int  # how many violate it
    # it is proved, yet a run violates it: an error of ours, which must not look like any other red cell.
    is_alarming: bool
    sides: str  # both sides on the witness, for reading; empty without
    exact: str  # the same exactly, with the reason
    # where the witness is told step by step; empty: by a command, whoever wants it; None: nowhere.
    explained: str | None = None

    @property
    def is_idle(self) -> bool:
        """Whether it applies to no run here, and no proof settles it."""
        return not self.settled.statement.proof and not self.settled.counts.keys() - {Verdict.NOT_APPLICABLE}


@dataclass(frozen=True, slots=True)
class ClaimSection:
    """What the section shows."""

    table: Table  # the frame of the table, without its rows
    # the claims that some run says something about, or that a proof settles; those that fall first.
    rows: Sequence[ClaimRow]
    idle: Sequence[ClaimRow]  # those that apply to no run here
    notation: Sequence[tuple[str, str]]  # signs of their statements, with their meaning
    commands: Sequence[str]  # what shows the witnesses
    file: Download  # the table as CSV
    sizes: Sequence[str]  # by what an instance is smaller than another, most important first
    statements: Mapping[str, str]  # every claim in words, by name


def make_claims(
    settled: Sequence[ClaimSummary],
    notation: Sequence[tuple[str, str]] = (),
    explained: Mapping[str, str] | None = None,
) -> ClaimSection | None:
    """Claim, standing, verdicts here, smallest witness, repaired form; None without claims."""
    if not settled:
        return None
    head = ["claim", "statement", "in general", "in these runs", "smallest witness here", "repaired form"]
    rows = sorted((_row(each, (explained or {}).get(each.statement.name)) for each in settled), key=_order)
    return ClaimSection(
        Table("Claims and verdicts", head, (), css="text claims"),
        [row for row in rows if not row.is_idle],
        [row for row in rows if row.is_idle],
        notation,
        [each.command for each in settled if each.command],
        make_download("claims.csv", frame(settled)),
        list(dict.fromkeys(name for each in settled for name in each.sizes)),
        {each.statement.name: each.statement.statement for each in settled},
    )


def _order(row: ClaimRow) -> int:
    """An error of ours first, then what is violated, what is undecided, what holds, what a proof settles."""
    if row.is_alarming or row.violated:
        return 0 if row.is_alarming else 1
    if row.settled.statement.proof:
        return 4
    return 2 if row.settled.counts[Verdict.UNDECIDED] else 3


def _row(each: ClaimSummary, explained: str | None) -> ClaimRow:
    violated = each.counts[Verdict.VIOLATED]
    counts = [(verdict.value, each.counts[verdict]) for verdict in Verdict if each.counts[verdict]]
    sides = exact = ""
    left, right = each.sides
    if each.witness is not None and left is not None:
        sides = f"{_short(left)} > {_short(right)}"
        reason = each.witness.checks[each.statement.name].reason
        exact = f"{left} > {'?' if right is None else right}: {reason}"
    return ClaimRow(
        each, counts, violated, each.statement.standing == "proved" and violated > 0, sides, exact, explained
    )


def _short(figure: Any) -> str:
    """Three decimals, or three digits where those would be zeros."""
    if figure is None:
        return "?"
    value = Fraction(figure)
    return format_number(value) if not value or abs(value) >= Fraction(1, 100) else f"{float(value):.3g}"
