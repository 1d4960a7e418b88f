"""The tables of a folder of results, as notebooks and scripts use them: pandas DataFrames.

They have the columns of `results.read.COLUMNS`: `rows` has figures as floats, one type per column, for pandas to work
with; `exact` has the same rows with every figure as an integer or a fraction. `frame` takes from both what a notebook
shows.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import families
from ratiobench.bench.results import read as _tables
from ratiobench.bench.results.frames import SECONDS, apply_types, make_frame
from ratiobench.bench.results.means import IRREGULAR, group_shares
from ratiobench.bench.results.remarks import with_remarks
from ratiobench.bench.show import check_title, format_number, rows_of
from ratiobench.instances.io.display import make_html
from ratiobench.instances.io.errors import InputError, make_printable, shorten

if TYPE_CHECKING:
    from ratiobench.bench.report.pictures import Picture

SHOWN = 60  # Rows of the table that a notebook shows of results


class Results(_tables.Results):
    """The tables of one folder (`ratiobench.bench.results.read.Results`), as notebooks show them."""

    @cached_property
    def rows(self) -> pd.DataFrame:
        """`exact` with a type per column: figures as float64, counts as Int64, names as string or category."""
        return apply_types(self)

    @property
    def family(self) -> Family | None:
        """The family of the results; None where it is not installed."""
        return families().get(str(self.about.get("family")))

    def frame(self, columns: str | Sequence[str] = (), *, exact: bool = False) -> pd.DataFrame:
        """Return the rows in twelve columns: names, ratio, share of OPT, value, counts, seconds, main claim.

        Parameters
        ----------
        columns : other columns, by their names in `rows`; ``"all"`` for all.
        exact : whether to add every exact figure, as an integer or a fraction, in ``NAME_exact``.

        Returns
        -------
        A DataFrame with a row per case and algorithm: figures as float64, counts as Int64, names and verdicts as
        categories, yes or no as boolean.

        Raises
        ------
        InputError : a column that does not exist.
        """
        return make_frame(self, columns, exact, "" if self.family is None else self.family.headline)

    def plot(self, group: str | None = None) -> Picture:
        """Draw the share of OPT of each algorithm, as a mean over the cases of a group.

        Parameters
        ----------
        group : name of one group; None for all groups in one picture.

        Returns
        -------
        A picture that notebooks show, and whose `save` writes ``NAME.svg``, ``NAME.pdf`` or ``NAME.png``.

        Raises
        ------
        InputError : no such group, or nothing to draw.
        """
        from ratiobench.bench.report.page import draw_share_picture

        groups = list(dict.fromkeys(row.group for row in self.records))
        if group is not None and group not in groups:
            raise InputError("plot", "group", f"{shorten(group)} is not one of {', '.join(groups) or 'none'}")
        picture = draw_share_picture(self, group or "")
        if picture is None:
            raise InputError("plot", "group", "no run has a share of OPT")
        return picture

    @property
    def _name(self) -> str:
        return make_printable(str(self.about.get("suite", "")), 80)

    @property
    def _size(self) -> str:
        states = Counter(map(str, self.exact["state"]))
        counted = ", ".join(f"{count} {state}" for state, count in states.items())
        cases = len(self.cases)
        return f"{cases} case{'s' * (cases != 1)}, {len(self.exact)} rows ({counted or 'none'})"

    def __repr__(self) -> str:
        return f"<Results {self._name}: {self._size}>"

    def _repr_html_(self) -> str:
        shares = group_shares(self.records, self.sense)
        groups = list(dict.fromkeys(shares["group"]))
        means = sorted(rows_of(shares), key=lambda row: (groups.index(row.group), *_best_first(row.reached)))
        rows = [
            (
                row.group,
                with_remarks(row.name, row.remarks) + " *" * row.oracle,
                format_number(row.reached),
                row.cases,
                ", ".join(f"{count} {kind}" for kind in IRREGULAR if (count := getattr(row, kind))),
            )
            for row in means[:SHOWN]
        ]
        facts = self._claims()
        if len(means) > SHOWN:
            facts["rows below"] = f"{SHOWN} of {len(means)}"
        if any(row.oracle for row in means):
            facts["*"] = "constants computed from the instance under test, future included (oracle)"
        head = ("group", "algorithm", f"mean {self.sense.reached}", "cases", "not in order")
        return make_html(f"{self._name}: {self._size}", facts, head, rows)

    def _claims(self) -> dict[str, str]:
        """The verdicts on the family's main claim, and which others fell."""
        counts = {check: Counter(map(str, self.exact[check].dropna())) for check in self.checks}
        headline = "" if self.family is None else self.family.headline
        facts = {}
        if headline in counts:
            verdicts = [(verdict.value, counts[headline][verdict.value]) for verdict in Verdict]
            facts[check_title(headline)] = ", ".join(f"{count} {verdict}" for verdict, count in verdicts if count)
        fell = {check: each[Verdict.VIOLATED.value] for check, each in counts.items() if each[Verdict.VIOLATED.value]}
        if fell:
            facts["violated, in rows"] = ", ".join(f"{check_title(check)} {count}" for check, count in fell.items())
        return facts


def _best_first(mean: Fraction | None) -> tuple[bool, Fraction]:
    """Sorts means, those that are not known at the end."""
    return (True, Fraction(0)) if mean is None else (False, -mean)


def results(folder: str | os.PathLike[str]) -> Results:
    """Read the tables of a folder in which a suite was run.

    Parameters
    ----------
    folder : as `run` names it, ``results/SUITE`` by default.

    Returns
    -------
    The tables: ``rows``, ``exact``, ``seconds``, ``studies``.

    Raises
    ------
    InputError : there are no results in the folder.
    """
    found = _tables.read_folder(Path(folder))
    parts = {part.name: getattr(found, part.name) for part in fields(found)}
    return Results(**parts | {"seconds": found.seconds.astype(SECONDS)})
