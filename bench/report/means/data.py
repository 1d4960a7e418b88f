"""The rows of figures of means: over the cases of a group, with their 95 % intervals, and what papers print for them.

A mean is exact. Where the cases of a group are a sample, draws of one law with different seeds, its interval is that
of Student's t (`intervals.mean`). Fixed cases, such as days of a trace, have no interval: each of them is shown. In
CSV files `low` and `high` are those of Student's t, as if the cases were a sample. Where every case is an interval
itself (OPT, the ratio), the interval begins at that of the mean of the lower ends and ends at that of the mean of the
upper ends.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import Plot
from ratiobench.bench.report.shared.text import check_title, ratio_words
from ratiobench.bench.results import intervals
from ratiobench.bench.results.means import OPT_LABEL, GainBesidePaper, Mean, MeanBesidePaper
from ratiobench.bench.results.ratios import Kind, is_better
from ratiobench.bench.results.read import DECIDING, Results, is_known, online_seconds
from ratiobench.bench.results.remarks import label_of_runs, remarks_of_runs
from ratiobench.bench.results.row import Row
from ratiobench.bench.storage.store import StoredCase

_ENDLESS = (Kind.UNBOUNDED, Kind.OPEN)


@dataclass(frozen=True, slots=True)
class Quantity:
    """What figures of means can show of every case."""

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
    # Of all that a run takes.
    "seconds": Quantity("mean of seconds per task", timed=True),
    # All decisions of a run, with what the referee does between them.
    "deciding": Quantity("mean seconds of a run's decisions", timed=True),
}


# The part of OPT that is certainly reached, in words
REACHED = {Sense.MOST: "ALG / upper bound on OPT", Sense.LEAST: "lower bound on OPT / ALG"}


def find_quantity(kind: str) -> Quantity:
    """What figures of means of this kind show."""
    title = check_title(kind)
    return QUANTITIES.get(kind, Quantity(f"mean of {title[:1].lower()}{title[1:]}"))


@dataclass(frozen=True, slots=True)
class MeanRows:
    """The rows of a figure of means."""

    plot: Plot  # what was asked for
    axis: str  # what is shown, in words
    means: Sequence[Mean]  # in the order of groups and algorithms
    printed: Sequence[GainBesidePaper]  # one per comparison that the paper prints
    beside: Sequence[MeanBesidePaper]  # one per mean that the paper prints
    # how many of what the axis counts one unit of the means is: money is drawn in dollars.
    scale: Fraction = Fraction(1)

    @property
    def shown(self) -> Sequence[Mean]:
        """The means as they are drawn."""
        if self.scale == 1:
            return self.means

        def scaled(value: Fraction | float | None) -> Fraction | None:
            return None if value is None else self.scale * Fraction(value)

        def rounded(value: float | None) -> float | None:
            return None if value is None else float(self.scale * Fraction(value))

        return [
            replace(
                each,
                lower=scaled(each.lower),
                upper=scaled(each.upper),
                low=rounded(each.low),
                high=rounded(each.high),
                parts=tuple(self.scale * part for part in each.parts),
            )
            for each in self.means
        ]

    @property
    def drawn(self) -> list[Mean]:
        """Those of `shown` with a figure."""
        return [each for each in self.shown if each.ends is not None]

    @property
    def groups(self) -> list[str]:
        """The figure's groups that have a row, in its order."""
        present = {each.group for each in self.means}
        return [group for group in self.plot.groups if group in present]


def take_means(found: Results, plot: Plot, family: Family) -> MeanRows:
    """The rows of a figure of means, from the results."""
    values = CaseValues(found, plot)
    means, printed = list(_means(values)), list(_printed(values))
    return make_rows(plot, family, found.sense, means, printed, list(_beside(plot, means)))


def make_rows(
    plot: Plot,
    family: Family,
    sense: Sense,
    means: Sequence[Mean],
    printed: Sequence[GainBesidePaper] = (),
    beside: Sequence[MeanBesidePaper] = (),
) -> MeanRows:
    """The rows of a figure of means, with the words of its axis; money is drawn in dollars."""
    quantity, axis = find_quantity(plot.kind), find_quantity(plot.kind).title
    if plot.kind in QUANTITIES:
        axis = axis.format(objective=family.objective, reached=REACHED[sense], ratio=ratio_words(sense))
    if not quantity.money:
        return MeanRows(plot, axis, means, printed, beside)
    unit = family.unit if family.dollars is None else "dollars"
    return MeanRows(plot, f"{axis}, {unit}", means, printed, beside, family.dollars or Fraction(1))


class CaseValues:
    """The figure of every case: an interval [lower, upper] or nothing."""

    def __init__(self, found: Results, plot: Plot) -> None:
        self.plot = plot
        rows = [row for row in found.first_records if row.group in plot.groups]
        self.rows = choose_in_hindsight(rows, plot.hindsight, found.sense)
        present = dict.fromkeys(str(row.algorithm) for row in self.rows)
        wanted = [*plot.algorithms, *found.about.get("algorithms", ())] if plot.algorithms else list(present)
        self.algorithms = [name for name in dict.fromkeys(wanted) if name in present]
        self.samples = _find_samples(found.cases)
        self.tasks = {case.name: case.describe.get("tasks") for case in found.cases}
        self.seconds = online_seconds(found)
        self.deciding = online_seconds(found, DECIDING)

    def of(self, group: str, algorithm: str) -> list[Row]:
        """The rows of an algorithm in a group."""
        return [row for row in self.rows if row.group == group and row.algorithm == algorithm]

    def value(self, row: Row, kind: str) -> tuple[Fraction, Fraction] | None:
        """The figure of a valid run, as an interval; None where there is none."""
        if row.state != "ok":
            return None
        if kind == "seconds":
            seconds, tasks = self.seconds.get((row.case, row.algorithm)), self.tasks.get(row.case)
            if seconds is None or not tasks:
                return None
            return (Fraction(seconds) / int(tasks),) * 2
        if kind == "deciding":
            alone = self.deciding.get((row.case, row.algorithm))
            return None if alone is None else (Fraction(alone),) * 2
        if kind == "ratio":
            lower, upper = row.ratio_lower, row.ratio_upper
        else:
            lower = upper = row.measures[kind] if kind in row.measures else getattr(row, kind, None)
        return None if lower is None or upper is None else (Fraction(lower), Fraction(upper))


def choose_in_hindsight(rows: Sequence[Row], groups: Sequence[tuple[str, Sequence[str]]], sense: Sense) -> list[Row]:
    """The rows with, per case and (label, algorithms), the algorithm of the best value once more under the label.

    Of the algorithms only the first one of each label keeps its own place: the others are there to be chosen from.
    """
    hidden = {name for _, names in groups for name in names[1:]} - {names[0] for _, names in groups}
    found = [row for row in rows if row.algorithm not in hidden]
    for label, names in groups:
        best: dict[str, Row] = {}
        for row in rows:
            if row.algorithm in names and row.state == "ok":
                other = best.get(row.case)
                if other is None or is_better(row.welfare, other.welfare, sense):
                    best[row.case] = row
        for row in best.values():
            of_case = [i for i, other in enumerate(found) if other.case == row.case]
            after = [i for i in of_case if found[i].algorithm == names[0]] or of_case
            found.insert(after[-1] + 1 if after else len(found), replace(row, algorithm=label))
    return found


def _means(values: CaseValues) -> Iterator[Mean]:
    plot = values.plot
    for group in plot.groups:
        if plot.kind == "welfare":
            yield from _optimum(values, group)
        for algorithm in values.algorithms:
            rows = values.of(group, algorithm)
            if not rows:
                continue
            unbounded = [row for row in rows if plot.kind == "ratio" and row.ratio_kind in _ENDLESS]
            valued = [(row, values.value(row, plot.kind)) for row in rows]
            figures = [pair for _, pair in valued if pair is not None]
            behind = [row for row, pair in valued if pair is not None] + unbounded
            yield replace(
                _mean(plot, group, algorithm, figures, values.samples),
                unbounded=len(unbounded),
                left_out=len(rows) - len(unbounded) - len(figures),
                is_oracle=any(row.is_oracle for row in rows),
                remarks=remarks_of_runs(algorithm, [row.remarks for row in behind]),
                label=label_of_runs(algorithm, [row.remarks for row in behind]),
            )


def _optimum(values: CaseValues, group: str) -> Iterator[Mean]:
    """OPT of every case once, as an interval."""
    cases = {row.case: row for row in values.rows if row.group == group}
    figures = [(Fraction(row.opt_lower), Fraction(row.opt_upper)) for row in cases.values() if is_known(row.opt_lower)]
    if cases:
        yield replace(_mean(values.plot, group, OPT_LABEL, figures, values.samples), left_out=len(cases) - len(figures))


def _find_samples(cases: Sequence[StoredCase]) -> set[str]:
    """The groups whose cases are a sample: recipes of one law that differ in their seed, and name, only."""
    laws: dict[str, list[str]] = {}
    for case in cases:
        parts = [_without_seed(each) for each in (case.recipe, case.prior_recipe, case.history_recipe)]
        laws.setdefault(case.group, []).append(json.dumps(parts, sort_keys=True, default=str))
    return {group for group, found in laws.items() if len(set(found)) == 1}


def _without_seed(recipe: Any) -> Any:
    if isinstance(recipe, Mapping):
        return {key: _without_seed(value) for key, value in recipe.items() if key not in ("seed", "name")}
    return recipe


def _mean(
    plot: Plot, group: str, algorithm: str, figures: Sequence[tuple[Fraction, Fraction]], samples: Collection[str]
) -> Mean:
    lower, upper = (intervals.mean([pair[end] for pair in figures]) for end in (0, 1))
    low: Fraction | float | None = lower.mean
    high: Fraction | float | None = upper.mean
    if find_quantity(plot.kind).timed:  # measured by a clock: digits beyond a float's say nothing
        low, high = (None if each is None else float(each) for each in (low, high))
    parts = () if group in samples or len(figures) < 2 else tuple(sorted(pair[0] for pair in figures))
    return Mean(plot.name, plot.kind, group, algorithm, lower.cases, low, high, lower.low, upper.high, parts=parts)


def _printed(values: CaseValues) -> Iterator[GainBesidePaper]:
    """What the paper prints beside what was found, over the cases in which both algorithms have a figure."""
    kind = values.plot.kind
    if kind == "ratio" or find_quantity(kind).timed:
        kind = "welfare"
    for figure in values.plot.printed:
        ours, others = (
            {row.case: values.value(row, kind) for row in values.of(figure.group, name)}
            for name in (figure.algorithm, figure.than)
        )
        pairs = [(ours[case], others.get(case)) for case in ours]
        both = [(a[0], b[0]) for a, b in pairs if a is not None and b is not None]
        found = intervals.improvement([a for a, _ in both], [b for _, b in both])
        yield GainBesidePaper(
            plot=values.plot.name,
            group=figure.group,
            algorithm=figure.algorithm,
            than=figure.than,
            paper_percent=figure.percent,
            cases=found.cases,
            percent=found.mean,
            low=found.low,
            high=found.high,
        )


def _beside(plot: Plot, means: Sequence[Mean]) -> Iterator[MeanBesidePaper]:
    ours = {(each.group, each.algorithm): each for each in means}
    for figure in plot.printed_means:
        mean = ours.get((figure.group, figure.algorithm))
        if mean is not None:
            yield MeanBesidePaper(
                plot=plot.name,
                group=figure.group,
                algorithm=figure.algorithm,
                paper=figure.value,
                cases=mean.cases,
                mean=mean.lower,
                low=mean.low,
                high=mean.high,
            )
