"""What every kind of figure gives: its rows, its charts, what stands beside them on the page, and its CSV files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import pandas as pd

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.suite import Plot
from ratiobench.bench.report.shared.cells import Table
from ratiobench.bench.results.read import Results


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart of a figure."""

    name: str  # what tells its file from those of the figure's other charts; empty for the only one
    svg: str  # the drawing, an element of the page
    heading: str = ""  # heading, note: what stands above and below it on the page
    note: str = ""
    wide: bool = False  # it has no panels beside it


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph; `css` is its class."""

    text: str
    css: str = ""


@dataclass(frozen=True)
class SuiteFigure(ABC):
    """A figure that a suite asks for, with its data. A kind of figure is a subclass, named in
    `ratiobench.bench.report.kinds`.
    """

    plot: Plot  # what was asked for
    unit: str  # of the values of solutions
    legend: ClassVar[str] = ""  # How figures of this kind are read: said once on a page

    @classmethod
    @abstractmethod
    def draw(cls, found: Results, plot: Plot, family: Family) -> Self:
        """The figure's rows, from the results."""

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """Whether none of the cases that were run belongs to the figure (`run --only` leaves others out)."""

    @abstractmethod
    def files(self) -> dict[str, pd.DataFrame]:
        """The figure's data, by the names of its CSV files."""

    def shared_rows(self) -> Mapping[str, pd.DataFrame]:
        """Rows for the CSV files that several figures share, by the names of these."""
        return {}

    def draw_charts(self) -> Sequence[Chart]:
        """The charts, as SVG; none for a figure that is a table."""
        return ()

    @cached_property
    def charts(self) -> Sequence[Chart]:
        """The same, drawn once."""
        return self.draw_charts()

    def shown(self) -> Sequence[Text | Table]:
        """What stands on the page below the charts, or in their place."""
        return ()

    def details(self) -> Sequence[Text | Table]:
        """What stands below the figure's note: what papers print, the method, the data."""
        return ()

    def text(self) -> str:
        """What a terminal shows of it; empty for nothing."""
        return ""
