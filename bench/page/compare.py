"""The section in which algorithms stand against each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench.figures.compare import (
    compare_runs,
    draw_profile,
    draw_scatter,
    list_parts,
    list_profiles,
    take_profiles,
    tell_pair,
)
from bench.tables.cells import Table
from bench.tables.rows import Results


@dataclass(frozen=True, slots=True)
class Compared:
    """What the section shows.

    Parameters
    ----------
    a, b : the two that are compared where nobody chooses others.
    scatter, profile : the charts.
    said : on how many cases which of the two is better.
    data : what a script needs to compare any two.
    table : the profiles.
    """

    a: str
    b: str
    scatter: str
    profile: str
    said: str
    data: Mapping[str, Any]
    table: Table


def compare_algorithms(found: Results) -> Compared | None:
    """The section; None with a single case or algorithm."""
    comparison = compare_runs(found)
    if comparison is None:
        return None
    a, b = comparison.pair
    profiles = take_profiles(comparison)
    return Compared(
        a,
        b,
        draw_scatter(comparison, a, b),
        draw_profile(profiles),
        tell_pair(comparison, a, b),
        list_parts(comparison),
        list_profiles(profiles),
    )
