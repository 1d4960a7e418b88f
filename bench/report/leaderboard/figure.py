"""The kind `leaderboard`: a table of algorithms, the best mean first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

import pandas as pd

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import Plot
from ratiobench.bench.report.means.data import CaseValues
from ratiobench.bench.report.shared.cells import Cell, Table, exact_cell, make_cell
from ratiobench.bench.report.shared.suite_figure import SuiteFigure
from ratiobench.bench.results import intervals
from ratiobench.bench.results.means import LeaderboardRow, make_leaderboard_frame
from ratiobench.bench.results.read import Results, is_known
from ratiobench.bench.results.remarks import label_of_runs, remarks_of_runs
from ratiobench.online.outcome import Source


@dataclass(frozen=True)
class Leaderboard(SuiteFigure):
    """A row per algorithm: the best first, those that used oracle constants below all others."""

    rows: Sequence[LeaderboardRow]
    sense: Sense

    @classmethod
    def draw(cls, found: Results, plot: Plot, family: Family) -> Self:
        """The rows, from the results."""
        values = CaseValues(found, replace(plot, kind="reached"))
        rows = [_line(values, algorithm, family) for algorithm in values.algorithms]
        rows.sort(key=lambda row: (row.is_oracle, -(row.mean_reached or Fraction(-1))))
        return cls(plot, family.unit, rows, found.sense)

    @property
    def is_empty(self) -> bool:
        """Whether nothing belongs to it."""
        return not self.rows

    def files(self) -> dict[str, pd.DataFrame]:
        """NAME.csv."""
        return {f"{self.plot.name}.csv": make_leaderboard_frame(self.rows)}

    def shown(self) -> Sequence[Table]:
        """Figures rounded down, what is known of each algorithm, then the groups."""
        groups = list(dict.fromkeys(group for row in self.rows for group in row.groups))
        about = list(dict.fromkeys(name for row in self.rows for name in row.proof_status))
        head = ["algorithm", f"mean {self.sense.reached}", "cases from, to", *about, "constants", "decisions/s"]
        body = [_cells(row, about, groups) for row in self.rows]
        return [Table("Leaderboard", [*head, *groups], body, css="text")]


def _line(values: CaseValues, algorithm: str, family: Family) -> LeaderboardRow:
    rows = [row for row in values.rows if row.algorithm == algorithm]
    parts = {
        group: [v[0] for v in (values.value(r, "reached") for r in rows if r.group == group) if v is not None]
        for group in values.plot.groups
    }
    every = [each for part in parts.values() for each in part]
    whole = intervals.mean(every)
    timed = [row for row in rows if row.state == "ok" and (row.case, algorithm) in values.deciding]
    seconds = sum(values.deciding[row.case, algorithm] for row in timed)
    decided = sum(int(values.tasks.get(row.case) or 0) for row in timed)
    ran = [row.sources for row in rows if is_known(row.constants)]
    sources = {str(source) for each in ran for source in each or ("none",)}
    runs = [row.remarks for row in rows if values.value(row, "reached")]
    return LeaderboardRow(
        algorithm=algorithm,
        cases=whole.cases,
        mean_reached=whole.mean,
        low=whole.low,
        high=whole.high,
        decisions_per_second=decided / seconds if seconds else None,
        constants="+".join(sorted(sources)) or "none",
        proof_status=family.proof_status_of(algorithm),
        groups={group: intervals.mean(part).mean for group, part in parts.items()},
        remarks=remarks_of_runs(algorithm, runs),
        label=label_of_runs(algorithm, runs),
        is_oracle=any(Source.ORACLE in each for each in ran),
        least=min(every, default=None),
        most=max(every, default=None),
    )


def _cells(row: LeaderboardRow, about: Sequence[str], groups: Sequence[str]) -> list[Cell]:
    pace = row.decisions_per_second
    cases = "-" if row.least is None or row.most is None else f"{float(row.least):.3f} to {float(row.most):.3f}"
    return [
        make_cell(row.label),
        exact_cell(row.mean_reached),
        make_cell(cases),
        *(make_cell(row.proof_status.get(name)) for name in about),
        make_cell(row.constants),
        make_cell("-" if pace is None else f"{pace:,.0f}", sort=pace, numeric=True),
        *(exact_cell(row.groups.get(group)) for group in groups),
    ]
