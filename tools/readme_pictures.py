"""The pictures of Figures 7, 8 and 12 in docs/results/paper.md, from the committed means.

`python -m tools.readme_pictures` writes them to bench/lora/results; a test compares them.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pandas as pd

from ratiobench.bench.family.registry import find_suite
from ratiobench.bench.report.figures import draw_means
from tools.readme_tables import PAPER, figures

PLOTS = ("fig7", "fig8", "fig12")


def read_means(plot: str) -> pd.DataFrame:
    """The committed means of a figure."""
    table = figures()
    table = table[table["plot"] == plot].astype(object)
    for name, kind in (("mean_lower", Fraction), ("mean_upper", Fraction), ("low", float), ("high", float)):
        table[name] = pd.Series([kind(text) if text else None for text in table[name]], table.index, dtype=object)
    for name in ("unbounded", "left_out", "cases"):
        table[name] = table[name].map(int)
    return table.assign(
        oracle=table["oracle"] == "True", name=table["algorithm"], label="", parts=[[] for _ in range(len(table))]
    )


def write(folder: Path) -> list[Path]:
    """Draw the figures into a folder."""
    family, suite = find_suite("paper")
    return [
        picture.save(folder / f"{picture.name}.svg")
        for plot in suite.plots
        if plot.name in PLOTS
        for picture in draw_means(read_means(plot.name), plot, family, family.sense)
    ]


if __name__ == "__main__":
    for file in write(PAPER.parent):
        print(file)
