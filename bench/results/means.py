"""Means over the cases of a group: the share of OPT, and every quantity that figures show.

A mean is exact. Where the cases of a group are a sample, draws of one law with different seeds, its interval is that
of Student's t (`intervals.mean`). Fixed cases, such as days of a trace, have no interval: each of them is shown. `low`
and `high` are those of Student's t all the same, as if the cases were a sample. Where every case is an interval itself
(OPT, the ratio), the interval begins at that of the mean of the lower ends and ends at that of the mean of the upper.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pandas as pd

from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import Plot
from ratiobench.bench.results import intervals, ratios
from ratiobench.bench.results.read import DECIDING, Results, online_seconds
from ratiobench.bench.results.remarks import label_of_runs, remarks_of_runs
from ratiobench.bench.results.row import Row
from ratiobench.bench.storage.store import StoredCase

# Columns of the shares of OPT, of which `reached` is certain and `parts` are those of every case, in ascending order.
# `lower` and `upper` are for any OPT in its interval, of means of runs at the ends of theirs. All are exact.
SHARES = (
    "group", "algorithm", "name", "label", "cases", "reached", "lower", "upper", "parts", "unbounded", "undefined",
    "invalid", "failed", "oracle", "said",
)  # fmt: skip
IRREGULAR = ("unbounded", "undefined", "invalid", "failed")  # Columns of counts of cases that are not in order
# Columns of the means of a figure: `mean_lower` and `mean_upper` are exact (of times floats) and equal where every case
# is a number; `low` and `high` are the floats of the 95 % interval as if cases were a sample, empty for one case;
# `unbounded` counts ratios with a least value at most, `left_out` other cases without a figure, `said` has remarks.
COLUMNS = (
    "plot", "kind", "group", "algorithm", "cases", "mean_lower", "mean_upper", "low", "high", "unbounded", "left_out",
    "oracle", "said",
)  # fmt: skip
# Columns that only pictures and pages need: fixed cases one by one, and what the algorithm is called
SHOWN = ("parts", "name", "label")
OPT_LABEL = "OPT"  # The algorithm of the rows of OPT among those of a figure of welfare


def by_group(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.group, row.algorithm), []).append(row)
    return groups


def group_shares(rows: Iterable[Row], sense: Sense) -> pd.DataFrame:
    """The share of OPT that each algorithm reaches, as a mean over the cases of each group: columns `SHARES`."""
    lines = []
    for (group, algorithm), part in by_group(rows).items():
        usable = [row for row in part if row.ratio_kind is not None]
        known = [row for row in usable if row.reached is not None]
        parts = sorted(Fraction(row.reached) for row in known)
        ends = [share_of(row, sense) for row in known]
        line = {"group": group, "algorithm": algorithm, "cases": len(parts), "reached": mean(parts), "parts": parts}
        line |= {"lower": mean([low for low, _ in ends]), "upper": mean([high for _, high in ends])}
        unbounded = sum(row.ratio_kind == ratios.Kind.UNBOUNDED for row in usable)
        line |= {"unbounded": unbounded, "undefined": len(usable) - len(known)}
        line |= {state: sum(row.state == state for row in part) for state in ("invalid", "failed")}
        lines.append(line | _describe_runs(part, usable))
    return pd.DataFrame(lines, columns=SHARES, dtype=object)


def _describe_runs(rows: Sequence[Row], shown: Sequence[Row]) -> dict[str, Any]:
    """What an algorithm's runs are called; remarks are those on the runs that are shown."""
    name, remarks = rows[0].name, [row.remarks for row in shown]
    words = {"name": name, "label": label_of_runs(name, remarks), "said": remarks_of_runs(name, remarks)}
    return words | {"oracle": any(row.is_oracle for row in rows)}


def share_of(row: Row, sense: Sense) -> tuple[Fraction, Fraction]:
    """The least and the largest share of OPT of a row that has one; of a mean of runs for both ends of its interval."""
    values = [row.welfare]
    if row.is_mean:
        values = [Fraction(end) for end in (row.welfare_low, row.welfare_high) if end is not None] or values
    shares = [ratios.share(row.opt_lower, row.opt_upper, value, sense) for value in values]
    known = [share for share in shares if share is not None]
    if len(known) < len(shares):
        return min(Fraction(row.reached), Fraction(0)), Fraction(1)
    return min(low for low, _ in known), max(high for _, high in known)


def mean(values: Sequence[Fraction]) -> Fraction | None:
    return _sum(values) / len(values) if values else None


def _sum(values: Sequence[Fraction]) -> Fraction:
    """The exact sum, by halves: denominators grow, so it is many times as fast as one after the other."""
    half = len(values) // 2
    return _sum(values[:half]) + _sum(values[half:]) if half else Fraction(values[0])


@dataclass(frozen=True, slots=True)
class Quantity:
    title: str  # what the axis says, with places for what depends on the family
    money: bool = False  # whether it is in the family's unit
    timed: bool = False  # whether a clock decides it: its means are floats, its axis is logarithmic
    linear: bool = False  # whether its axis stays linear however far the means are apart


# Those of every family, by the plot's kind; all others are measures of the family
QUANTITIES = {
    "welfare": Quantity("mean {objective}", money=True, linear=True),
    "reached": Quantity("mean of {reached}", linear=True),
    "ratio": Quantity("mean of {ratio} (1 is optimal)", linear=True),
    "revenue": Quantity("mean revenue", money=True, linear=True),
    "admitted": Quantity("mean of admitted tasks", linear=True),
    "seconds": Quantity("mean of seconds per task", timed=True),  # of all that a run takes
    "deciding": Quantity("mean seconds of a run's decisions", timed=True),  # with what the referee does between them
}


def find_quantity(kind: str) -> Quantity:
    return QUANTITIES.get(kind, Quantity(f"mean of {kind.replace('_', ' ')}"))


class CaseValues:
    """The figure of every case of a plot: an interval [lower, upper] or nothing."""

    def __init__(self, results: Results, plot: Plot) -> None:
        self.plot = plot
        rows = [row for row in results.first_records if row.group in plot.groups]
        self.rows = choose_in_hindsight(rows, plot.hindsight, results.sense)
        present = dict.fromkeys(row.algorithm for row in self.rows)
        wanted = [*plot.algorithms, *results.about.get("algorithms", ())] if plot.algorithms else list(present)
        self.algorithms = [name for name in dict.fromkeys(wanted) if name in present]
        self.groups = by_group(self.rows)
        self.deciding = online_seconds(results, DECIDING)
        self.tasks = {case.name: case.describe.get("tasks") for case in results.cases}
        spent = online_seconds(results).items()
        per_task = {key: Fraction(seconds) / int(count) for key, seconds in spent if (count := self.tasks.get(key[0]))}
        self._timed: dict[str, Mapping[tuple[str, str], Any]] = {"seconds": per_task, "deciding": self.deciding}

    def value(self, row: Row, kind: str) -> tuple[Fraction, Fraction] | None:
        if row.state != "ok":
            return None
        if kind == "ratio":
            lower, upper = row.ratio_lower, row.ratio_upper
        elif kind in self._timed:
            lower = upper = self._timed[kind].get((row.case, row.algorithm))
        else:
            lower = upper = row.measures[kind] if kind in row.measures else getattr(row, kind, None)
        return None if lower is None or upper is None else (Fraction(lower), Fraction(upper))


def choose_in_hindsight(rows: Sequence[Row], groups: Sequence[tuple[str, Sequence[str]]], sense: Sense) -> list[Row]:
    """The rows, and per case and (label, algorithms) the best of these once more, under the label."""
    hidden = {name for _, names in groups for name in names[1:]} - {names[0] for _, names in groups}
    shown = [row for row in rows if row.algorithm not in hidden]
    for label, names in groups:
        best: dict[str, Row] = {}
        for row in rows:
            if row.algorithm in names and row.state == "ok":
                other = best.get(row.case)
                if other is None or ratios.is_better(row.welfare, other.welfare, sense):
                    best[row.case] = row
        for row in best.values():
            of_case = [i for i, other in enumerate(shown) if other.case == row.case]
            after = [i for i in of_case if shown[i].algorithm == names[0]] or of_case
            shown.insert(after[-1] + 1 if after else len(shown), replace(row, algorithm=label, called=label))
    return shown


def take_means(results: Results, plot: Plot) -> pd.DataFrame:
    """The means of a plot's quantity, a row per group and algorithm: columns `COLUMNS`, then `SHOWN`."""
    lines = list(_list_means(CaseValues(results, plot), _find_samples(results.cases)))
    return pd.DataFrame(lines, columns=[*COLUMNS, *SHOWN], dtype=object)


def _list_means(values: CaseValues, samples: set[str]) -> Iterator[dict[str, Any]]:
    plot = values.plot
    for group in plot.groups:
        is_sample = group in samples
        if plot.kind == "welfare" and (cases := {row.case: row for row in values.rows if row.group == group}):
            known = [row for row in cases.values() if row.opt_lower is not None]
            figures = [(Fraction(row.opt_lower), Fraction(row.opt_upper)) for row in known]
            opt = {"algorithm": OPT_LABEL, "name": OPT_LABEL, "unbounded": 0, "left_out": len(cases) - len(known)}
            yield _mean_line(plot, group, figures, is_sample) | opt | {"oracle": False, "said": "", "label": ""}
        endless = (ratios.Kind.UNBOUNDED, ratios.Kind.OPEN)
        for algorithm in values.algorithms:
            rows = values.groups.get((group, algorithm), [])
            if not rows:
                continue
            unbounded = [row for row in rows if plot.kind == "ratio" and row.ratio_kind in endless]
            valued = {row.case: pair for row in rows if (pair := values.value(row, plot.kind)) is not None}
            shown = [*(row for row in rows if row.case in valued), *unbounded]
            counts = {"unbounded": len(unbounded), "left_out": len(rows) - len(unbounded) - len(valued)}
            line = _mean_line(plot, group, list(valued.values()), is_sample)
            yield line | {"algorithm": algorithm} | counts | _describe_runs(rows, shown)


def _mean_line(plot: Plot, group: str, figures: Sequence[tuple[Fraction, Fraction]], is_sample: bool) -> dict[str, Any]:
    lower, upper = (intervals.mean([pair[end] for pair in figures]) for end in (0, 1))
    ends: list[Any] = [lower.mean, upper.mean]
    if find_quantity(plot.kind).timed:  # measured by a clock: digits beyond a float's say nothing
        ends = [None if end is None else float(end) for end in ends]
    parts = [] if is_sample or len(figures) < 2 else sorted(pair[0] for pair in figures)
    line = {"plot": plot.name, "kind": plot.kind, "group": group, "cases": lower.cases, "parts": parts}
    return line | {"mean_lower": ends[0], "mean_upper": ends[1], "low": lower.low, "high": upper.high}


def _find_samples(cases: Sequence[StoredCase]) -> set[str]:
    """The groups whose cases are a sample: recipes of one law that differ in their seed, and name, only."""

    def without_seed(recipe: Any) -> Any:
        if isinstance(recipe, Mapping):
            return {key: without_seed(value) for key, value in recipe.items() if key not in ("seed", "name")}
        return recipe

    laws: dict[str, set[str]] = {}
    for case in cases:
        recipes = [without_seed(recipe) for recipe in (case.recipe, case.prior_recipe, case.history_recipe)]
        laws.setdefault(case.group, set()).add(json.dumps(recipes, sort_keys=True, default=str))
    return {group for group, recipes in laws.items() if len(recipes) == 1}
