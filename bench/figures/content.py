"""The figures that a suite asks for, as tables: means over the cases of a group with their 95 % intervals, or studies.

Cases of a group are repetitions (other seeds or days). A mean is exact. Its interval is Student's t (`intervals.mean`);
where every case is an interval itself (OPT, OPT/ALG), the mean of the lower ends less its t-interval and the mean of
the upper ends plus its t-interval.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import pandas as pd

from bench.family.column import Family
from bench.family.suite import Plot
from bench.tables import intervals
from bench.tables.ratios import Kind
from bench.tables.rows import DECIDING, Results, StudyTable, is_known, online_seconds
from bench.tables.sayings import said_of_runs
from bench.tables.text import CELL, aligned, check_title
from instances.errors import InputError, shown, tamed

STUDIED = ("curve", "charges")
"""Kinds of plots that show studies."""
LEADERBOARD = "leaderboard"
"""The kind that is a table of algorithms; all others show means."""
OPT = "OPT"
COLUMNS = {
    "plot": "name of the figure",
    "kind": "what is averaged",
    "group": "whose cases",
    "algorithm": "name with options, or OPT",
    "cases": "cases in the mean",
    "mean_lower": "exact mean over the cases (of the lower ends, where each case is an interval); seconds: float",
    "mean_upper": "the same of the upper ends; equal to mean_lower where every case is a number",
    "low": "float: lower end of the 95 % interval of the mean; empty for one case",
    "high": "float: its upper end",
    "unbounded": "cases with an unbounded OPT/ALG, which no mean contains",
    "left_out": "other cases without a figure: failed, invalid, undefined",
    "oracle": "whether constants come from the instance under test",
    "said": "what was said beside the name of the runs in the mean, in short",
}
"""Columns of NAME.csv for a figure of means."""
PRINTED = {
    "plot": "name of the figure",
    "group": "whose cases",
    "algorithm": "who is better",
    "than": "than whom",
    "paper_percent": "by how much, as the paper prints it",
    "cases": "cases with both",
    "percent": "exact: 100 (mean / mean - 1) over the same cases; empty where the mean below is not positive",
    "low": "float: lower end of its 95 % interval (Fieller); empty where it is unbounded",
    "high": "float: its upper end",
}
"""Columns of NAME_printed.csv."""
PRINTED_MEANS = {
    "plot": "name of the figure",
    "group": "whose cases",
    "algorithm": "name with options",
    "paper": "the mean, as the paper prints it",
    "cases": "cases in ours",
    "mean": "our mean: the same as mean_lower of the figure",
    "low": "float: lower end of its 95 % interval",
    "high": "float: its upper end",
}
"""Columns of NAME_paper.csv."""
TAKEN = ("results", "seconds", "claims", "figures", "printed", "printed_means", "provenance")
"""Names of other files of a report."""
_TITLES = {
    "welfare": "mean welfare",
    "reached": "mean of ALG / upper bound on OPT",
    "ratio": "mean of OPT / ALG (1 is optimal)",
    "revenue": "mean revenue",
    "admitted": "mean of admitted tasks",
    "seconds": "mean of seconds per task",
    "deciding": "mean seconds of a run's decisions",
}
TIMES = ("seconds", "deciding")
"""Kinds that a clock decides."""
_MONEY = ("welfare", "revenue")


@dataclass(frozen=True, slots=True)
class Drawn:
    """A plot with its data.

    Parameters
    ----------
    plot : what was asked for.
    means : `COLUMNS`, in the order of groups and algorithms; empty for a plot of studies.
    printed : `PRINTED`, one row per comparison that the paper prints.
    beside : `PRINTED_MEANS`, one row per mean that the paper prints.
    studies : the tables of a plot of studies.
    axis : what is shown, in words.
    board : of a leaderboard, a row per algorithm as `board` makes it; empty for all others.
    """

    plot: Plot
    means: pd.DataFrame
    printed: pd.DataFrame
    studies: Sequence[StudyTable]
    axis: str
    board: pd.DataFrame = field(default_factory=pd.DataFrame)
    beside: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def files(self) -> dict[str, pd.DataFrame]:
        """The figure's data by file name."""
        if self.plot.kind in STUDIED:
            return {f"{self.plot.name}.csv": studied(self.studies)}
        if self.plot.kind == LEADERBOARD:
            return {f"{self.plot.name}.csv": self.board}
        found = {f"{self.plot.name}.csv": self.means}
        found |= {f"{self.plot.name}_printed.csv": self.printed} if len(self.printed) else {}
        return found | ({f"{self.plot.name}_paper.csv": self.beside} if len(self.beside) else {})


def draw(found: Results, plot: Plot, family: Family) -> Drawn:
    """The data of one figure.

    Raises
    ------
    InputError : a name that its files cannot have, a kind that is neither one of ours nor a measure of the family.
    """
    unit = family.unit
    kinds = (*_TITLES, *STUDIED, LEADERBOARD)
    if plot.kind not in kinds and found.measures and plot.kind not in found.measures:
        problem = f"{shown(plot.kind)} is not one of {', '.join((*kinds, *found.measures))}"
        raise InputError("suite", f"plots, {plot.name}, kind", problem)
    if not re.fullmatch(r"[\w-]+", plot.name) or plot.name in TAKEN:
        problem = (
            f"{shown(plot.name)} is no name for a file of its own (letters, digits, _ and -; not {', '.join(TAKEN)})"
        )
        raise InputError("suite", "plots", problem)
    nothing = pd.DataFrame(columns=list(COLUMNS), dtype=object), pd.DataFrame(columns=list(PRINTED), dtype=object)
    if plot.kind in STUDIED:
        return Drawn(plot, *nothing, _studies(found, plot), "")
    if plot.kind == LEADERBOARD:
        return Drawn(plot, *nothing, (), "", board(found, plot, family))
    titles = _TITLES | {"welfare": f"mean {family.objective}"}
    axis = titles.get(plot.kind, f"mean of {check_title(plot.kind)[:1].lower()}{check_title(plot.kind)[1:]}")
    values = _Values(found, plot)
    means = pd.DataFrame(list(_means(values)), columns=list(COLUMNS), dtype=object)
    printed = pd.DataFrame(list(_printed(values)), columns=list(PRINTED), dtype=object)
    beside = pd.DataFrame(list(_beside(plot, means)), columns=list(PRINTED_MEANS), dtype=object)
    return Drawn(plot, means, printed, (), f"{axis}, {unit}" if plot.kind in _MONEY else axis, beside=beside)


class _Values:
    """The figure of every case: an interval [lower, upper] or nothing."""

    def __init__(self, found: Results, plot: Plot) -> None:
        self.plot = plot
        rows = found.rows.drop_duplicates(["case", "algorithm"])
        self.rows = with_hindsight(rows[rows["group"].isin(plot.groups)].to_dict("records"), plot.hindsight)
        present = dict.fromkeys(str(row["algorithm"]) for row in self.rows)
        wanted = [*plot.algorithms, *found.about.get("algorithms", ())] if plot.algorithms else list(present)
        self.algorithms = [name for name in dict.fromkeys(wanted) if name in present]
        self.tasks = {case.name: case.describe.get("tasks") for case in found.cases}
        self.seconds = online_seconds(found)
        self.deciding = online_seconds(found, DECIDING)

    def of(self, group: str, algorithm: str) -> list[Mapping[Any, Any]]:
        """The rows of an algorithm in a group."""
        return [row for row in self.rows if row["group"] == group and row["algorithm"] == algorithm]

    def value(self, row: Mapping[Any, Any], kind: str) -> tuple[Fraction, Fraction] | None:
        """The figure of a valid run, as an interval; None where there is none."""
        if row["state"] != "ok":
            return None
        if kind == "seconds":
            seconds, tasks = self.seconds.get((row["case"], row["algorithm"])), self.tasks.get(row["case"])
            if seconds is None or not tasks:
                return None
            return (Fraction(seconds) / int(tasks),) * 2
        if kind == "deciding":
            alone = self.deciding.get((row["case"], row["algorithm"]))
            return None if alone is None else (Fraction(alone),) * 2
        lower, upper = (row["ratio_lower"], row["ratio_upper"]) if kind == "ratio" else (row.get(kind), row.get(kind))
        return (Fraction(lower), Fraction(upper)) if is_known(lower) else None  # type: ignore[arg-type]


def with_hindsight(
    rows: Sequence[Mapping[Any, Any]], groups: Sequence[tuple[str, Sequence[str]]]
) -> list[Mapping[Any, Any]]:
    """The rows with, per case and (label, algorithms), the algorithm of largest welfare once more under the label.

    Of the algorithms only the first one keeps its own place: the others are there to be chosen from.
    """
    hidden = {name for _, names in groups for name in names[1:]}
    found = [row for row in rows if row["algorithm"] not in hidden]
    for label, names in groups:
        best: dict[str, Mapping[Any, Any]] = {}
        for row in rows:
            if row["algorithm"] in names and row["state"] == "ok":
                other = best.get(row["case"])
                if other is None or row["welfare"] > other["welfare"]:
                    best[row["case"]] = row
        for row in best.values():
            of_case = [i for i, other in enumerate(found) if other["case"] == row["case"]]
            after = [i for i in of_case if found[i]["algorithm"] == names[0]] or of_case
            found.insert(after[-1] + 1 if after else len(found), {**row, "algorithm": label})
    return found


def _means(values: _Values) -> Iterator[dict[str, Any]]:
    plot = values.plot
    for group in plot.groups:
        if plot.kind == "welfare":
            yield from _optimum(values, group)
        for algorithm in values.algorithms:
            rows = values.of(group, algorithm)
            if not rows:
                continue
            unbounded = [row for row in rows if plot.kind == "ratio" and row["ratio_kind"] == Kind.UNBOUNDED]
            valued = [(row, values.value(row, plot.kind)) for row in rows]
            figures = [pair for _, pair in valued if pair is not None]
            behind = [row for row, pair in valued if pair is not None] + unbounded
            yield {
                **_mean(plot, group, algorithm, figures),
                "unbounded": len(unbounded),
                "left_out": len(rows) - len(unbounded) - len(figures),
                "oracle": any("oracle" in str(row["constants_source"]) for row in rows),
                "said": said_of_runs(algorithm, [str(row["label"]) for row in behind]),
            }


def _optimum(values: _Values, group: str) -> Iterator[dict[str, Any]]:
    """OPT of every case once, as an interval."""
    cases = {row["case"]: row for row in values.rows if row["group"] == group}
    figures = [
        (Fraction(row["opt_lower"]), Fraction(row["opt_upper"])) for row in cases.values() if is_known(row["opt_lower"])
    ]
    if cases:
        nothing = {"unbounded": 0, "left_out": len(cases) - len(figures), "oracle": False, "said": ""}
        yield {**_mean(values.plot, group, OPT, figures), **nothing}


def _mean(plot: Plot, group: str, algorithm: str, figures: Sequence[tuple[Fraction, Fraction]]) -> dict[str, Any]:
    lower, upper = (intervals.mean([pair[end] for pair in figures]) for end in (0, 1))
    means: list[Fraction | float | None] = [lower.mean, upper.mean]
    if plot.kind in TIMES:  # measured by a clock: digits beyond a float's say nothing
        means = [None if each is None else float(each) for each in means]
    return {
        "plot": plot.name,
        "kind": plot.kind,
        "group": group,
        "algorithm": algorithm,
        "cases": lower.cases,
        "mean_lower": means[0],
        "mean_upper": means[1],
        "low": lower.low,
        "high": upper.high,
    }


def _printed(values: _Values) -> Iterator[dict[str, Any]]:
    """What the paper prints beside what was found, over the cases in which both algorithms have a figure."""
    kind = values.plot.kind if values.plot.kind not in ("ratio", *TIMES) else "welfare"
    for figure in values.plot.printed:
        ours, others = (
            {row["case"]: values.value(row, kind) for row in values.of(figure.group, name)}
            for name in (figure.algorithm, figure.than)
        )
        pairs = [(ours[case], others.get(case)) for case in ours]
        both = [(a[0], b[0]) for a, b in pairs if a is not None and b is not None]
        found = intervals.improvement([a for a, _ in both], [b for _, b in both])
        yield {
            "plot": values.plot.name,
            "group": figure.group,
            "algorithm": figure.algorithm,
            "than": figure.than,
            "paper_percent": figure.percent,
            "cases": found.cases,
            "percent": found.mean,
            "low": found.low,
            "high": found.high,
        }


def _beside(plot: Plot, means: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The means that the paper prints beside ours."""
    ours = {(row["group"], row["algorithm"]): row for row in means.to_dict("records")}
    for figure in plot.printed_means:
        row = ours.get((figure.group, figure.algorithm))
        if row is not None:
            yield {
                "plot": plot.name,
                "group": figure.group,
                "algorithm": figure.algorithm,
                "paper": figure.value,
                "cases": row["cases"],
                "mean": row["mean_lower"],
                "low": row["low"],
                "high": row["high"],
            }


def text(drawn: Sequence[Drawn]) -> str:
    """What papers print beside what was found, for a terminal; empty where they print nothing."""
    parts = []
    for each in drawn:
        lines = [
            {
                "group": str(row["group"]),
                "algorithm": str(row["algorithm"]),
                "paper": row["paper"],
                "ours": _rounded(row["mean"]),
                "95 % interval": _interval(row),
            }
            for row in each.beside.to_dict("records")
        ]
        lines += [
            {
                "group": str(row["group"]),
                "algorithm": f"{row['algorithm']} over {row['than']}",
                "paper": f"{row['paper_percent']} %",
                "ours": f"{_rounded(row['percent'])} %" if is_known(row["percent"]) else "-",
                "95 % interval": _interval(row),
            }
            for row in each.printed.to_dict("records")
        ]
        if lines:
            title = tamed(each.plot.title, CELL)
            parts.append(f"{title}: what the paper prints, and ours:\n{aligned(lines, indent='  ')}")
    return "\n".join(parts)


def _rounded(value: Fraction | float | None) -> str:
    return f"{float(value):.2f}" if is_known(value) and value is not None else "-"


def _interval(row: Mapping[Any, Any]) -> str:
    return f"{row['low']:.2f} to {row['high']:.2f}" if is_known(row["low"]) else "-"


BOARD = {
    "algorithm": "name with options",
    "cases": "cases with a figure, of all groups",
    "mean_reached": "exact mean of ALG / upper bound on OPT over all cases: at least this part of OPT",
    "low": "float: lower end of its 95 % interval (Student's t)",
    "high": "float: its upper end",
    "decisions_per_second": "float: tasks over seconds of all decisions, by the clock",
    "constants": "what it had to know in advance: none, prior (another day), given, or oracle (the day itself)",
    "said": "what was said beside the name of the runs in the mean, in short",
}
"""Columns of a leaderboard's CSV file; before `said` what the family knows of it, and `mean in GROUP` per group."""


def board(found: Results, plot: Plot, family: Family) -> pd.DataFrame:
    """A row per algorithm, the best mean first; see `BOARD`. Whoever used oracle constants stands below all others."""
    values = _Values(found, replace(plot, kind="reached"))
    lines: list[dict[str, Any]] = []
    for algorithm in values.algorithms:
        rows = [row for row in values.rows if row["algorithm"] == algorithm]
        parts = {
            group: [v[0] for v in (values.value(r, "reached") for r in rows if r["group"] == group) if v is not None]
            for group in plot.groups
        }
        whole = intervals.mean([each for part in parts.values() for each in part])
        timed = [row for row in rows if row["state"] == "ok" and (row["case"], algorithm) in values.deciding]
        seconds = sum(values.deciding[row["case"], algorithm] for row in timed)
        decided = sum(int(values.tasks.get(row["case"]) or 0) for row in timed)
        sources = sorted({str(row["constants_source"]) for row in rows if is_known(row["constants_source"])})
        lines.append(
            {
                "algorithm": algorithm,
                "cases": whole.cases,
                "mean_reached": whole.mean,
                "low": whole.low,
                "high": whole.high,
                "decisions_per_second": decided / seconds if seconds else None,
                "constants": "+".join(sources) or "none",
                **(family.standing(algorithm) if family.standing else {}),
                **{f"mean in {group}": intervals.mean(part).mean for group, part in parts.items()},
                "said": said_of_runs(algorithm, [str(r["label"]) for r in rows if values.value(r, "reached")]),
            }
        )
    lines.sort(key=lambda line: ("oracle" in line["constants"], -(line["mean_reached"] or Fraction(-1))))
    return pd.DataFrame(lines, dtype=object)


def _studies(found: Results, plot: Plot) -> list[StudyTable]:
    wanted = [*plot.algorithms, *found.about.get("algorithms", ())]
    return [
        each
        for each in found.studies
        if each.study.kind == plot.kind
        and each.group in plot.groups
        and (not plot.algorithms or each.study.algorithm in wanted)
    ]


def studied(tables: Sequence[StudyTable]) -> pd.DataFrame:
    """The rows of studies one below the other, with whose they are; one row with the reason for a study without."""
    lines: list[dict[str, Any]] = []
    for each in tables:
        head = {"case": each.case, "group": each.group, "algorithm": each.study.algorithm}
        lines += [head | dict(row) for row in each.rows] or [head | {"reason": each.reason}]
    return pd.DataFrame(lines, dtype=object)
