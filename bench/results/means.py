"""Means over the cases of a group as frozen records, and how CSV files have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import pandas as pd

# Columns of NAME.csv for a figure of means (`Mean`)
COLUMNS = {
    "plot": "name of the figure",
    "kind": "averaged figure",
    "group": "group of the cases",
    "algorithm": "name with options, or OPT",
    "cases": "cases in the mean",
    "mean_lower": "exact mean over the cases (of the lower ends, where each case is an interval); seconds: float",
    "mean_upper": "the same of the upper ends; equal to mean_lower where every case is a number",
    "low": "float: lower end of the 95 % interval of the mean, as if cases were a sample; empty for one case",
    "high": "float: its upper end",
    "unbounded": "cases whose ratio is unbounded, or has a least value only, which no mean contains",
    "left_out": "other cases without a figure: failed, invalid, undefined",
    "oracle": "whether constants come from the instance under test",
    "said": "short remarks on the runs in the mean",
}
# Columns of NAME_printed.csv (`GainBesidePaper`)
PRINTED = {
    "plot": "name of the figure",
    "group": "group of the cases",
    "algorithm": "the better algorithm",
    "than": "the algorithm that it is compared with",
    "paper_percent": "by how much, as the paper prints it",
    "cases": "cases with both",
    "percent": "exact: 100 (mean / mean - 1) over the same cases; empty where the mean below is not positive",
    "low": "float: lower end of its 95 % interval (Fieller); empty where it is unbounded",
    "high": "float: its upper end",
}
# Columns of NAME_paper.csv (`MeanBesidePaper`)
PRINTED_MEANS = {
    "plot": "name of the figure",
    "group": "group of the cases",
    "algorithm": "name with options",
    "paper": "the mean, as the paper prints it",
    "cases": "cases in ours",
    "mean": "our mean: the same as mean_lower of the figure",
    "low": "float: lower end of its 95 % interval",
    "high": "float: its upper end",
}
# Columns of a sweep's NAME.csv behind those of figures of means (`SweepBound`)
BOUND = {
    "verdicts": "of the family's main check, with the number of runs",
    "bound_least": "exact: the least bound on OPT/ALG by that check over the runs; empty where it bounds none",
    "bound_most": "exact: the largest",
    "least_lower": "exact: the least ratio of a run, at least",
    "worst_lower": "exact: the largest ratio of a run, at least",
    "worst_upper": "exact: at most",
}
# Columns of a leaderboard's CSV file; before `said` what the family knows of it, and `mean in GROUP` per group
LEADERBOARD = {
    "algorithm": "name with options",
    "cases": "cases with a figure, of all groups",
    "mean_reached": "exact mean over all cases of ALG/upper, of costs lower/ALG: at least this part of OPT is reached",
    "low": "float: lower end of its 95 % interval (Student's t)",
    "high": "float: its upper end",
    "decisions_per_second": "float: tasks over seconds of all decisions, by the clock",
    "constants": "constants that it needs in advance: none, prior (another day), given, or oracle (the day itself)",
    "said": "short remarks on the runs in the mean",
}
# Fields of records that are called otherwise than their columns
_FIELDS = {"mean_lower": "lower", "mean_upper": "upper", "oracle": "is_oracle", "said": "remarks"}
STUDENT = "95 % interval"
OPT_LABEL = "OPT"  # The algorithm of the rows of OPT among those of a figure of welfare


class Remarked(Protocol):
    """A mean with remarks on its runs."""

    @property
    def group(self) -> str:
        """The group whose cases are in the mean."""

    @property
    def algorithm(self) -> str:
        """Name with options."""

    @property
    def remarks(self) -> str:
        """Remarks on the runs in words; empty without any."""


@dataclass(frozen=True, slots=True)
class GroupMean:
    """The share of OPT that an algorithm certainly reaches, mean over the cases of a group."""

    group: str
    algorithm: str
    reached: Fraction | None  # exact; None where no case has a figure
    cases: int = 0
    unbounded: int = 0  # those of them with an unbounded ratio
    undefined: int = 0  # undefined, invalid, failed: cases that are not in the mean
    invalid: int = 0
    failed: int = 0
    remarks: str = ""  # those on the runs in the mean, in words
    label: str = ""  # the name with these remarks
    is_oracle: bool = False  # whether some run knew constants of the instance under test

    @property
    def irregular(self) -> dict[str, int]:
        """The numbers of cases that are no ordinary part of the mean, by what they are."""
        return {
            "unbounded": self.unbounded,
            "undefined": self.undefined,
            "invalid": self.invalid,
            "failed": self.failed,
        }


@dataclass(frozen=True, slots=True)
class Spread:
    """What lies behind the mean of what is reached."""

    low: float | None = None  # low, high: of a single case the interval that OPT leaves; else None
    high: float | None = None
    parts: Sequence[Fraction] = ()  # of several cases what each reaches, in ascending order
    about: str = ""  # the same in words


@dataclass(frozen=True, slots=True)
class Mean:
    """A row of a figure of means: a quantity of an algorithm, or of OPT, over the cases of a group."""

    plot: str  # plot, kind: the figure's name, and what is averaged
    kind: str
    group: str
    algorithm: str
    cases: int
    # lower, upper: the mean of the lower and of the upper ends; exact, but floats of seconds; None without a case.
    lower: Fraction | float | None = None
    upper: Fraction | float | None = None
    low: float | None = None  # low, high: ends of the interval of the mean; None for one case
    high: float | None = None
    unbounded: int = 0  # cases whose ratio has no upper end
    left_out: int = 0  # other cases without a figure
    is_oracle: bool = False  # whether constants come from the instance under test
    remarks: str = ""  # those on the runs in the mean, in words
    label: str = ""  # the name with these remarks; empty for OPT
    spread: str = STUDENT  # what `low` and `high` are the ends of
    # of fixed cases, which have no interval, the figure of each (of intervals the lower end); empty of a sample.
    parts: Sequence[Fraction] = ()

    @property
    def ends(self) -> tuple[float, float] | None:
        """Both means as floats; None where no case has a figure."""
        return None if self.lower is None or self.upper is None else (float(self.lower), float(self.upper))

    @property
    def interval(self) -> tuple[float, float] | None:
        """The ends of its interval; None where there is none. Of a share none is above 1."""
        if self.low is None or self.high is None or self.parts:
            return None
        return (self.low, min(self.high, 1.0)) if self.kind == "reached" else (self.low, self.high)


@dataclass(frozen=True, slots=True)
class GainBesidePaper:
    """By how many percent one algorithm is better than another, beside what a paper prints; fields as `PRINTED`."""

    plot: str
    group: str
    algorithm: str
    than: str
    paper_percent: str
    cases: int
    percent: Fraction | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class MeanBesidePaper:
    """A mean beside the one that a paper prints; fields as `PRINTED_MEANS`."""

    plot: str
    group: str
    algorithm: str
    paper: str
    cases: int
    mean: Fraction | float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class SweepBound:
    """The verdicts, and the least and largest bounds and ratios of the runs behind a mean; fields as `BOUND`."""

    verdicts: str
    bound_least: Fraction | None
    bound_most: Fraction | None
    least_lower: Fraction | None
    worst_lower: Fraction | None
    worst_upper: Fraction | None


@dataclass(frozen=True, slots=True)
class LeaderboardRow:
    """An algorithm on a leaderboard."""

    algorithm: str
    cases: int  # cases with a figure, of all groups
    mean_reached: Fraction | None  # exact mean of the share of OPT that is certainly reached
    low: float | None  # low, high: ends of its 95 % interval
    high: float | None
    decisions_per_second: float | None  # by the clock; None where it was not measured
    constants: str  # what it had to know in advance
    proof_status: Mapping[str, str] = field(default_factory=dict)  # what the family knows of it, by heading
    groups: Mapping[str, Fraction | None] = field(default_factory=dict)  # the mean of each group
    remarks: str = ""  # remarks, label: remarks on the runs in words, and the name with these
    label: str = ""
    is_oracle: bool = False  # whether some run knew constants of the instance under test
    least: Fraction | None = None  # least, most: the least and the largest share of a case
    most: Fraction | None = None


def make_record_frame(records: Iterable[Any], columns: Iterable[str]) -> pd.DataFrame:
    """The records as a table with these columns, as the CSV files have them."""
    names = list(columns)
    cells = [[getattr(each, _FIELDS.get(name, name)) for name in names] for each in records]
    return pd.DataFrame(cells, columns=names, dtype=object)


def make_leaderboard_frame(rows: Sequence[LeaderboardRow]) -> pd.DataFrame:
    """A leaderboard as its CSV file has it: `LEADERBOARD`, and before `said` the columns that vary."""
    lines = []
    for each in rows:
        line: dict[str, Any] = {name: getattr(each, _FIELDS.get(name, name)) for name in LEADERBOARD}
        said = line.pop("said")
        groups = {f"mean in {group}": mean for group, mean in each.groups.items()}
        lines.append({**line, **each.proof_status, **groups, "said": said})
    return pd.DataFrame(lines, dtype=object)
