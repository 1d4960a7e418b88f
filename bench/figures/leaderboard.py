"""The kind `leaderboard`: a table of algorithms, the best mean first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

import pandas as pd

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import Plot
from ratiobench.bench.figures.data import CaseValues
from ratiobench.bench.figures.suite_figure import SuiteFigure
from ratiobench.bench.tables import intervals
from ratiobench.bench.tables.cells import Cell, Table, exact_cell, make_cell
from ratiobench.bench.tables.remarks import label_of_runs, remarks_of_runs
from ratiobench.bench.tables.rows import Results, is_known
from ratiobench.online.outcome import Source

COLUMNS = {
    "algorithm": "name with options",
    "cases": "cases with a figure, of all groups",
    "mean_reached": "exact mean over all cases of ALG/upper, of costs lower/ALG: at least this part of OPT is reached",
    "low": "float: lower end of its 95 % interval (Student's t)",
    "high": "float: its upper end",
    "decisions_per_second": "float: tasks over seconds of all decisions, by the clock",
    "constants": "what it had to know in advance: none, prior (another day), given, or oracle (the day itself)",
    "said": "what was said beside the name of the runs in the mean, in short",
}
"""Columns of a leaderboard's CSV file; before `said` what the family knows of it, and `mean in GROUP` per group."""


@dataclass(frozen=True)
class Leaderboard(SuiteFigure):
    """A row per algorithm in `board`: `COLUMNS`; `labels`: what the table calls it.

    Whoever used oracle constants stands below all others.
    """

    board: pd.DataFrame
    sense: Sense
    labels: Mapping[str, str]

    @classmethod
    def draw(cls, found: Results, plot: Plot, family: Family) -> Self:
        """The rows, from the results."""
        values = CaseValues(found, replace(plot, kind="reached"))
        lines = [_line(values, algorithm, family) for algorithm in values.algorithms]
        lines.sort(key=lambda line: (line["is_oracle"], -(line["mean_reached"] or Fraction(-1))))
        labels = {line["algorithm"]: line["label"] for line in lines}
        board = pd.DataFrame(lines, dtype=object).drop(columns=["label", "is_oracle"], errors="ignore")
        return cls(plot, family.unit, board, found.sense, labels)

    @property
    def is_empty(self) -> bool:
        """Whether nothing belongs to it."""
        return self.board.empty

    def files(self) -> dict[str, pd.DataFrame]:
        """NAME.csv."""
        return {f"{self.plot.name}.csv": self.board}

    def shown(self) -> Sequence[Table]:
        """Figures rounded down, what is known of each algorithm, then the groups."""
        groups = [name for name in self.board.columns if name.startswith("mean in ")]
        about = [name for name in self.board.columns if name not in COLUMNS and name not in groups]
        head = ["algorithm", f"mean {self.sense.reached}", "95 % interval", *about, "constants", "decisions/s"]
        head += [name.removeprefix("mean in ") for name in groups]
        return [
            Table(
                "Leaderboard",
                head,
                [_cells(row, self.labels[row["algorithm"]], about, groups) for row in _records(self.board)],
                css="text",
            )
        ]


def _line(values: CaseValues, algorithm: str, family: Family) -> dict[str, Any]:
    rows = [row for row in values.rows if row.algorithm == algorithm]
    parts = {
        group: [v[0] for v in (values.value(r, "reached") for r in rows if r.group == group) if v is not None]
        for group in values.plot.groups
    }
    whole = intervals.mean([each for part in parts.values() for each in part])
    timed = [row for row in rows if row.state == "ok" and (row.case, algorithm) in values.deciding]
    seconds = sum(values.deciding[row.case, algorithm] for row in timed)
    decided = sum(int(values.tasks.get(row.case) or 0) for row in timed)
    ran = [row.sources for row in rows if is_known(row.constants)]
    sources = {str(source) for each in ran for source in each or ("none",)}
    runs = [row.remarks for row in rows if values.value(row, "reached")]
    return {
        "algorithm": algorithm,
        "cases": whole.cases,
        "mean_reached": whole.mean,
        "low": whole.low,
        "high": whole.high,
        "decisions_per_second": decided / seconds if seconds else None,
        "constants": "+".join(sorted(sources)) or "none",
        **family.proof_status_of(algorithm, runs),
        **{f"mean in {group}": intervals.mean(part).mean for group, part in parts.items()},
        "said": remarks_of_runs(algorithm, runs),
        "label": label_of_runs(algorithm, runs),
        "is_oracle": any(Source.ORACLE in each for each in ran),
    }


def _records(board: pd.DataFrame) -> list[dict[Any, Any]]:
    return board.to_dict("records")


def _cells(row: dict[Any, Any], label: str, about: Sequence[str], groups: Sequence[str]) -> list[Cell]:
    pace = row["decisions_per_second"]
    return [
        make_cell(label),
        exact_cell(row["mean_reached"]),
        make_cell(f"{row['low']:.3f} to {row['high']:.3f}" if is_known(row["low"]) else "-"),
        *(make_cell(row[name]) for name in about),
        make_cell(row["constants"]),
        make_cell(f"{pace:,.0f}" if is_known(pace) else "-", sort=pace, numeric=True),
        *(exact_cell(row[name]) for name in groups),
    ]
