"""The kinds of figures: a class each, in one table. Whatever is no name of it is a quantity whose means are shown.

A new kind is a module with a subclass of `SuiteFigure` and an entry here: the report, the page and the files of
pictures ask nothing but the methods of `SuiteFigure`.
"""

from __future__ import annotations

import re

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.suite import LEADERBOARD, STUDIED, SWEEP, TAKEN, Plot
from ratiobench.bench.report.bids.figure import Charges, Curves
from ratiobench.bench.report.leaderboard.figure import Leaderboard
from ratiobench.bench.report.means.data import QUANTITIES
from ratiobench.bench.report.means.figure import Means
from ratiobench.bench.report.shared.suite_figure import SuiteFigure
from ratiobench.bench.report.sweep.figure import SweepFigure
from ratiobench.bench.results.read import Results
from ratiobench.instances.io.errors import InputError, shorten

# Kinds of figures by name; a figure of any other kind is one of `Means`
KINDS: dict[str, type[SuiteFigure]] = dict(
    zip((*STUDIED, LEADERBOARD, SWEEP), (Curves, Charges, Leaderboard, SweepFigure), strict=True)
)


def draw_figure(found: Results, plot: Plot, family: Family) -> SuiteFigure:
    """The data of one figure."""
    known = (*QUANTITIES, *KINDS)
    if plot.kind not in known and found.measures and plot.kind not in found.measures:
        problem = f"{shorten(plot.kind)} is not one of {', '.join((*known, *found.measures))}"
        raise InputError("suite", f"plots, {plot.name}, kind", problem)
    if not re.fullmatch(r"[\w-]+", plot.name) or plot.name in TAKEN:
        problem = (
            f"{shorten(plot.name)} is no name for a file of its own (letters, digits, _ and -; not {', '.join(TAKEN)})"
        )
        raise InputError("suite", "plots", problem)
    return KINDS.get(plot.kind, Means).draw(found, plot, family)
