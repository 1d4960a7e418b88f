"""The tables of a folder of results, as notebooks and scripts use them: pandas DataFrames.

They have the columns of `results.row.Row`: `rows` has figures as floats, one type per column, for pandas to work
with; `exact` has the same rows with every figure as an integer or a fraction. `frame` takes from both what a notebook
shows.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import families
from ratiobench.bench.report.claims import summarise_claims
from ratiobench.bench.report.rows import group_words, share_lines, take_shares
from ratiobench.bench.results import read as _tables
from ratiobench.bench.results.read import online_seconds
from ratiobench.bench.results.row import KINDS
from ratiobench.bench.show import check_title, count_text
from ratiobench.instances.io.display import make_html
from ratiobench.instances.io.errors import InputError, make_printable, shorten

if TYPE_CHECKING:
    from ratiobench.bench.report.pictures import Picture

# Types of the columns of `Results.seconds`
SECONDS = {"case": "string", "algorithm": "string", "stage": "string", "seconds": "float64"}
# Columns of a frame, unless others are named; behind them the verdict of the family's headline, where it has one, and
# what is known of means of runs, where there are some
FEW = (
    "case", "group", "algorithm", "state", "ratio_lower", "ratio_upper", "reached", "welfare", "admitted", "revenue",
    "seconds",
)  # fmt: skip
ALL = "all"
# Text that is one of a few in a run
_NAMES = ("case", "group", "algorithm", "label", "opt_lower_source", "opt_formulation", "opt_backend")


class Results(_tables.Results):
    """The tables of one folder (`ratiobench.bench.results.read.Results`), as notebooks show them."""

    @cached_property
    def rows(self) -> pd.DataFrame:
        """`exact` with a type per column: figures as float64, counts as Int64, names as string or category.

        A float is the double nearest to the exact figure, which may lie on either side of it; NaN for none. Of means of
        runs the number of admitted tasks is a float, too.
        """
        kinds = dict(KINDS) | dict.fromkeys(self.checks, "category") | dict.fromkeys(self._exact_columns, "float64")
        kinds |= {} if len(self.repetitions) else {"admitted": "Int64"}
        kinds = {name: kinds.get(name, "string") for name in map(str, self.exact)}
        doubles = [name for name, kind in kinds.items() if kind == "float64"]
        rows = self.exact.assign(**{name: self.exact[name].map(_double, na_action="ignore") for name in doubles})
        return rows.astype(kinds)

    @property
    def _exact_columns(self) -> set[str]:
        sides = (f"{check}_{side}" for check in self.checks for side in ("left", "right"))
        figures = (name for name, kind in KINDS.items() if kind == "exact")
        return {*figures, "admitted", *self.measures, *sides}

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
        rows = self.rows.copy(deep=False)
        for name in _NAMES:
            rows[name] = rows[name].astype(pd.CategoricalDtype(list(self.exact[name].dropna().unique())))
        spent = online_seconds(self)
        seconds = [spent.get(address) for address in zip(rows["case"], rows["algorithm"], strict=True)]
        rows["seconds"] = pd.Series(seconds, index=rows.index, dtype="float64")
        chosen = [columns] if isinstance(columns, str) and columns != ALL else list(columns)
        if columns == ALL:
            chosen = list(map(str, rows))
        elif not chosen:
            headline = "" if self.family is None else self.family.headline
            more = (headline, f"{headline}_failing", "repetitions", "welfare_low", "welfare_high")
            chosen = [*FEW, *(name for name in more if name in rows)]
        figures, made = self._exact_columns, {}
        for name in chosen:
            if name not in rows:
                known = f"{', '.join(map(str, rows))}, nor {ALL!r}"
                raise InputError("columns", "", f"{shorten(name)} is not one of {known}")
            made[name] = rows[name]
            if exact and name in figures:
                values = [Fraction(value) if isinstance(value, str) else value for value in self.exact[name]]
                made[f"{name}_exact"] = pd.Series(values, index=rows.index, dtype=object)
        return pd.DataFrame(made, index=rows.index)

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
    def _title(self) -> str:
        states = Counter(map(str, self.exact["state"]))
        counted = ", ".join(f"{count} {state}" for state, count in states.items())
        size = f"{count_text(len(self.cases), 'case')}, {len(self.exact)} rows ({counted or 'none'})"
        return f"{make_printable(str(self.about.get('suite', '')), 80)}: {size}"

    def __repr__(self) -> str:
        return f"<Results {self._title}>"

    def _repr_html_(self) -> str:
        lines = share_lines(take_shares(self), group_words(self))
        family = self.family
        facts: dict[str, str] = {}
        for claim in [] if family is None else summarise_claims(self, family):
            if claim.counts[Verdict.VIOLATED] or (family and claim.statement.name == family.headline):
                facts[check_title(claim.statement.name)] = claim.summary
        if any(row.is_oracle for row in self.records):
            facts["*"] = "constants computed from the instance under test, future included (oracle)"
        rows = [list(line.values()) for line in lines]
        return make_html(self._title, facts, list(lines[0]) if lines else (), rows)


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
    if not isinstance(folder, str | os.PathLike):
        raise InputError("folder", "", f"{shorten(folder)} is not the name of a folder")
    stored = _tables.read_folder(Path(folder))
    parts = {part.name: getattr(stored, part.name) for part in fields(stored)}
    return Results(**parts | {"seconds": stored.seconds.astype(SECONDS)})


def _double(value: Any) -> float:
    try:
        return float(value if isinstance(value, float) else Fraction(value))
    except OverflowError:
        return math.inf if Fraction(value) > 0 else -math.inf
