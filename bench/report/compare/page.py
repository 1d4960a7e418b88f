"""The section in which algorithms stand against each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ratiobench.bench.report.compare.algorithms import (
    Comparison,
    compare_runs,
    describe_pair,
    draw_profile,
    draw_scatter,
    list_parts,
    list_profiles,
    take_profiles,
)
from ratiobench.bench.report.compare.significance import CHOSEN, PAIRED, list_pairs, take_significance
from ratiobench.bench.report.compare.wins import count_wins
from ratiobench.bench.report.shared.cells import Table, count_cell, make_cell
from ratiobench.bench.results.read import Results


@dataclass(frozen=True, slots=True)
class ComparisonSection:
    """What the section shows."""

    a: str  # a, b: the two that are compared where nobody chooses others
    b: str
    scatter: str  # scatter, profile: the charts
    profile: str
    said: str  # on how many cases which of the two is better
    data: Mapping[str, Any]  # what a script needs to compare any two
    table: Table  # the profiles
    wins: Table | None  # how often one's own algorithm beats each other one; None where none ran
    # which algorithms differ, by tests over the cases; None where only one runs on most cases.
    significance: SignificanceSection | None
    counterexamples: int  # cases that are left out of all this


@dataclass(frozen=True, slots=True)
class SignificanceSection:
    """What the page shows of the tests."""

    conclusion: Sequence[str]  # what they say, and what the cases and pairing mean
    table: Table | None  # all pairs; None with too few cases


def draw_comparison(found: Results) -> dict[str, str]:
    """The performance profile by the name of its file, if there is one."""
    comparison = compare_runs(found)
    return {} if comparison is None else {"profile": draw_profile(take_profiles(comparison))}


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
        _test(comparison),
        comparison.counterexamples,
    )


def _test(comparison: Comparison) -> SignificanceSection | None:
    tests = take_significance(comparison)
    if tests is None:
        return None
    sentences = [tests.conclusion(), PAIRED, CHOSEN]
    if tests.skipped:
        sentences.append(f"{tests.skipped} cases are not among the N, since a run is missing or none is valid.")
    if tests.left_out:
        names = ", ".join(comparison.names.get(name, name) for name in tests.left_out)
        sentences.append(f"Not compared, since they were to run on fewer cases: {names}.")
    return SignificanceSection(sentences, list_pairs(tests) if tests.pairs else None)


def _list_wins(found: Results) -> Table | None:
    rows = [each.row() for each in count_wins(found.records, found.sense)]
    if not rows:
        return None
    body = [[count_cell(cell) if isinstance(cell, int) else make_cell(cell) for cell in row.values()] for row in rows]
    return Table("Your algorithm against every other one", [name.lower() for name in rows[0]], body)
