"""The section in which algorithms stand against each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ratiobench.bench.report.compare.algorithms import (
    compare_runs,
    describe_pair,
    draw_profile,
    draw_scatter,
    list_parts,
    list_profiles,
    take_profiles,
)
from ratiobench.bench.report.compare.wins import count_wins
from ratiobench.bench.report.shared.cells import Table, count_cell, make_cell
from ratiobench.bench.results.read import Results


@dataclass(frozen=True, slots=True)
class ComparisonSection:
    """What the section shows.

    Parameters
    ----------
    a, b : the two that are compared where nobody chooses others.
    scatter, profile : the charts.
    said : on how many cases which of the two is better.
    data : what a script needs to compare any two.
    table : the profiles.
    wins : how often one's own algorithm beats each other one; None where none ran.
    """

    a: str
    b: str
    scatter: str
    profile: str
    said: str
    data: Mapping[str, Any]
    table: Table
    wins: Table | None


def compare_algorithms(found: Results) -> ComparisonSection | None:
    """The section; None with a single case or algorithm."""
    comparison = compare_runs(found)
    if comparison is None:
        return None
    a, b = comparison.pair
    profiles = take_profiles(comparison)
    return ComparisonSection(
        a,
        b,
        draw_scatter(comparison, a, b),
        draw_profile(profiles),
        describe_pair(comparison, a, b),
        list_parts(comparison),
        list_profiles(profiles, comparison.names),
        _list_wins(found),
    )


def _list_wins(found: Results) -> Table | None:
    rows = [each.row() for each in count_wins(found.records, found.sense)]
    if not rows:
        return None
    body = [[count_cell(cell) if isinstance(cell, int) else make_cell(cell) for cell in row.values()] for row in rows]
    return Table("Your algorithm against each other one", [name.lower() for name in rows[0]], body)
