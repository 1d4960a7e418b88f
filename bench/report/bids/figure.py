"""The kinds `curve` and `charges`: the studies of the cases of the groups, a chart each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import pandas as pd

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.suite import Plot
from ratiobench.bench.report.bids.charts import draw_charges, draw_curve
from ratiobench.bench.report.bids.data import SAMPLE, BidRange, Charge, CurvePiece, find_best, read_charges, read_curve
from ratiobench.bench.report.shared.suite_figure import Chart, SuiteFigure, Text
from ratiobench.bench.report.shared.text import format_number
from ratiobench.bench.results.read import Results, StudyTable


@dataclass(frozen=True)
class Studies(SuiteFigure):
    """The studies of one kind, in the order of the suite."""

    studies: Sequence[StudyTable]

    @classmethod
    def draw(cls, found: Results, plot: Plot, family: Family) -> Self:
        """Those of the plot's kind, groups and algorithms."""
        wanted = [*plot.algorithms, *found.about.get("algorithms", ())]
        chosen = [
            each
            for each in found.studies
            if each.study.kind == plot.kind
            and each.group in plot.groups
            and (not plot.algorithms or each.study.algorithm in wanted)
        ]
        return cls(plot, family.unit, chosen)

    @property
    def is_empty(self) -> bool:
        """Whether no study belongs to it."""
        return not self.studies

    def files(self) -> dict[str, pd.DataFrame]:
        """NAME.csv."""
        return {f"{self.plot.name}.csv": list_studies(self.studies)}

    def draw_charts(self) -> list[Chart]:
        """One per study that could be made."""
        return [self.draw_study(each) for each in self.studies if each.rows]

    def shown(self) -> list[Text]:
        """The studies that could not be made, with the reasons."""
        missing = [
            f"{each.case}, {each.study.name}: {each.reason or 'no rows'}" for each in self.studies if not each.rows
        ]
        return [Text(f"Without a figure: {'; '.join(missing)}.")] if missing else []

    @abstractmethod
    def draw_study(self, study: StudyTable) -> Chart:
        """The chart of one study."""


class Curves(Studies):
    """Utility over the bid of one task."""

    def draw_study(self, study: StudyTable) -> Chart:
        """The curve, and what the best bid gains."""
        heading = f"{study.case}: task {study.study.task}, {study.study.algorithm}"
        curve = read_curve(study.rows)
        svg = draw_curve(curve, f"{self.plot.name} {heading}", self.unit)
        return Chart(f"{study.case} {study.study.name}", svg, heading, _best_bid(curve))


class Charges(Studies):
    """What the admitted bid and pay, and what they cost the provider."""

    def draw_study(self, study: StudyTable) -> Chart:
        """Some of the admitted tasks, and counts over all of them."""
        heading = f"{study.case}: {study.study.algorithm}"
        charges = read_charges(study.rows)
        svg = draw_charges(charges, f"{self.plot.name} {heading}", self.unit)
        return Chart(f"{study.case} {study.study.name}", svg, heading, _counts(charges))


def _best_bid(curve: Sequence[CurvePiece]) -> str:
    truthful, top = find_best(curve)
    valuation = format_number(curve[0].valuation)
    if top.utility == truthful:
        return f"No bid gains more than the valuation {valuation}, which gains {format_number(truthful)}."
    verb = {BidRange.AT: "gains", BidRange.NEAR: "gain nearly"}.get(top.where, "gain")
    best = f"{top.describe(format_number)} {verb} {format_number(top.utility)}"
    return f"The valuation {valuation} gains {format_number(truthful)}; {best}."


def _counts(charges: Sequence[Charge]) -> str:
    return (
        f"{min(len(charges), SAMPLE)} of {len(charges)} admitted tasks, evenly spaced. Of all of them "
        f"{sum(each.payment < each.outlay for each in charges)} pay less than they cost the provider, "
        f"{sum(each.bid < each.payment for each in charges)} more than they bid."
    )


def list_studies(tables: Sequence[StudyTable]) -> pd.DataFrame:
    """The rows of studies one below the other, with whose they are; one row with the reason for a study without."""
    lines: list[dict[str, Any]] = []
    for each in tables:
        head = {"case": each.case, "group": each.group, "algorithm": each.study.algorithm}
        lines += [head | dict(row) for row in each.rows] or [head | {"reason": each.reason}]
    return pd.DataFrame(lines, dtype=object)
