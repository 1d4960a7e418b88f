"""The pictures of Figures 7, 8 and 12 in docs/results/paper.md, from the committed means.

`python -m tools.readme_pictures` writes them to bench/lora/results; a test compares them.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from ratiobench.bench.family.registry import find_suite
from ratiobench.bench.report.means.data import make_rows
from ratiobench.bench.report.means.figure import Means
from ratiobench.bench.report.shared.pictures import write_pictures
from ratiobench.bench.results.means import Mean
from tools.readme_tables import PAPER, figures

PLOTS = ("fig7", "fig8", "fig12")


def read_means(plot: str) -> list[Mean]:
    """The committed means of a figure."""
    table = figures()
    return [
        Mean(
            plot,
            row["kind"],
            row["group"],
            row["algorithm"],
            int(row["cases"]),
            *(Fraction(row[end]) if row[end] else None for end in ("mean_lower", "mean_upper")),
            *(float(row[end]) if row[end] else None for end in ("low", "high")),
            int(row["unbounded"]),
            int(row["left_out"]),
            row["oracle"] == "True",
            row["said"],
        )
        for row in table[table["plot"] == plot].to_dict("records")
    ]


def write(folder: Path) -> list[Path]:
    """Draw the figures into a folder."""
    family, suite = find_suite("paper")
    drawn = []
    for plot in suite.plots:
        if plot.name in PLOTS:
            rows = make_rows(plot, family, family.sense, read_means(plot.name))
            drawn.append(Means(plot, family.unit, rows, family.sense))
    return write_pictures(drawn, folder)


if __name__ == "__main__":
    for file in write(PAPER.parent):
        print(file)
