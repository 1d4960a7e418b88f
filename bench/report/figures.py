"""The figures that a suite asks for: their data as tables, their pictures, what pages and terminals show of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import pandas as pd

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import LEADERBOARD, STUDIED, SWEEP, TAKEN, Plot
from ratiobench.bench.report import pictures
from ratiobench.bench.report.pictures import Picture
from ratiobench.bench.results import intervals
from ratiobench.bench.results.means import OPT_LABEL, QUANTITIES, CaseValues, find_quantity, mean, take_means
from ratiobench.bench.results.ratios import format_decimal, interval_text
from ratiobench.bench.results.read import Results, StudyTable
from ratiobench.bench.results.remarks import label_of_runs, remarks_of_runs
from ratiobench.bench.results.row import Row
from ratiobench.bench.show import Lines, align_columns, check_title, format_number, rows_of
from ratiobench.instances.io.errors import InputError, make_printable, shorten

APART = 5  # How many times larger one group's figures may be than another's for both to stand on the same axis
WIDE = 50  # How many times larger the largest mean of a measure is than the smallest where its axis is logarithmic
LINES = 6  # Algorithms up to which the values over groups are lines in one figure
METHOD = (
    "Mean over the cases of each group, the best on top. If the cases are draws of one law with different seeds, the "
    "thin line is the 95 % interval of the mean by Student's t; fixed cases, such as days of a trace, are a circle "
    "each. If OPT is an interval, so is the mean (thick)."
)
SWEPT = (
    "A sign is the mean of the ratio over the runs of a value: its thick bar is certified by the intervals on OPT, "
    "its thin line reaches from the least to the largest ratio of a run. A hollow diamond is the least bound of the "
    "theorem over the runs, its line reaches to the largest; the theorem's assumptions may fail, as the table says."
)


@dataclass(frozen=True)
class SuiteFigure:
    plot: Plot
    # exact data: ``means``, ``printed`` and ``printed_means`` (what a paper prints), ``leaderboard``, ``studies``
    frames: Mapping[str, pd.DataFrame]
    pictures: Sequence[Picture] = ()
    legend: str = ""  # how figures of this kind are read: once on a page
    parts: Sequence[str | Lines] = ()  # sentences and tables below the pictures
    folded: Lines = ()  # the data as a table
    text: str = ""  # what a terminal shows of it

    @property
    def is_empty(self) -> bool:
        """Whether none of the cases that were run belongs to it (`run --only` leaves others out)."""
        return all(frame.empty for frame in self.frames.values())


def make_figure(results: Results, plot: Plot, family: Family) -> SuiteFigure:
    known = (*QUANTITIES, *KINDS, *results.measures)
    if results.measures and plot.kind not in known:
        problem = f"{shorten(plot.kind)} is not one of {', '.join(known)}"
        raise InputError("suite", f"plots, {plot.name}, kind", problem)
    if not re.fullmatch(r"[\w-]+", plot.name) or plot.name in TAKEN:
        allowed = f"letters, digits, _ and -; not {', '.join(TAKEN)}"
        raise InputError("suite", "plots", f"{shorten(plot.name)} is no name for a file of its own ({allowed})")
    return KINDS.get(plot.kind, _make_means)(results, plot, family)


def _make_means(results: Results, plot: Plot, family: Family) -> SuiteFigure:
    means = take_means(results, plot)
    printed, beside = _list_gains(results, plot), _list_printed_means(plot, means)
    lines = [_printed_line(row, row.algorithm, str(row.paper), row.mean, ".6g") for row in rows_of(beside)] + [
        _printed_line(row, f"{row.algorithm} over {row.than}", f"{row.paper_percent} %", row.percent, ".2f", " %")
        for row in rows_of(printed)
    ]
    fieller = "What the paper prints, and ours over the same cases; intervals of percentages by Fieller's theorem."
    title = make_printable(plot.title, 200)
    return SuiteFigure(
        plot,
        {"means": means, "printed": printed, "printed_means": beside},
        [*draw_means(means, plot, family, results.sense)],
        METHOD,
        [fieller, lines] if lines else [],
        _mean_lines(means),
        f"{title}: what the paper prints, and ours:\n{align_columns(lines, indent='  ')}" if lines else "",
    )


def _printed_line(row: Any, algorithm: str, paper: str, ours: Any, form: str, unit: str = "") -> dict[str, str]:
    return {
        "group": row.group,
        "algorithm": algorithm,
        "paper": paper,
        "ours": "-" if ours is None else f"{float(ours):.2f}{unit}",
        "95 % interval": "-" if row.low is None or row.high is None else f"{row.low:{form}} to {row.high:{form}}",
    }


def draw_means(means: pd.DataFrame, plot: Plot, family: Family, sense: Sense) -> Iterator[Picture]:
    """One picture of lines if that means something, else one per group; none before anything has run."""
    drawn = means.dropna(subset="mean_lower")
    if not len(drawn):
        return
    quantity = find_quantity(plot.kind)
    reached = "ALG / upper bound on OPT" if sense is Sense.MOST else "lower bound on OPT / ALG"
    ratio = sense.ratio.replace("/", " / ")
    title = quantity.title.format(objective=family.objective, reached=reached, ratio=ratio)
    scale = Fraction(1)
    if quantity.money:
        scale, unit = family.dollars or scale, family.unit if family.dollars is None else "dollars"
        title += f", {unit}"
    low, high = float(min(drawn["mean_lower"])), float(max(drawn["mean_upper"]))
    spread = not quantity.linear and high > WIDE * low > 0
    log = low > 0 and (quantity.timed or (plot.kind == "ratio" and high > 20) or spread)
    how: Any = {"scale": scale, "title": title, "log": log}
    if is_lines(plot, means):
        draw_lines = partial(pictures.draw_mean_lines, means=means, axis=plot.axis, **how)
        yield Picture(plot.title, draw_lines, 3.6, plot.name)
        return
    limits = _common_limits(drawn, plot.kind, scale)
    for group, part in means.groupby("group", sort=False):
        rows = sort_means(part, plot.kind, sense)
        name = str(group).removeprefix(f"{plot.name}: ")
        slug = re.sub(r"\W+", "-", name).strip("-").lower()
        draw_rows = partial(pictures.draw_mean_rows, means=rows, limits=limits, **how)
        height = pictures.height_of(list(rows["name"]))
        yield Picture(f"{plot.title}: {name}", draw_rows, height, f"{plot.name}-{slug}", name)


def _common_limits(drawn: pd.DataFrame, kind: str, scale: Fraction) -> tuple[float, float] | None:
    """The same axis for all groups, so that they can be compared; None if some are very much smaller."""
    lower, upper = (drawn[end].astype(float) for end in ("mean_lower", "mean_upper"))
    tops, start = upper.groupby(drawn["group"]).max(), 1.0 if kind == "ratio" else 0.0
    if kind != "reached" and max(tops) - start > APART * (min(tops) - start):
        return None
    ends = [end for row in rows_of(drawn) for end in (*(pictures.interval_of(row) or ()), *map(float, row.parts))]
    top, bottom = max(upper), min(*lower, start)
    high = min(max([top, *ends]), top + (top - bottom) / 2)
    low = max(min([bottom, *ends]), bottom - (top - bottom) / 2)
    margin = 0.03 * (high - low or 1)
    return float(scale) * (low - margin * (low < 0 or kind == "ratio")), float(scale) * (high + margin)


def sort_means(means: pd.DataFrame, kind: str, sense: Sense) -> pd.DataFrame:
    """The means of a group, OPT above all, then the best mean first; without a mean last."""
    is_least = kind == "ratio" or find_quantity(kind).timed or (kind == "welfare" and sense is Sense.LEAST)
    values = means["mean_upper"].astype(float) * (1 if is_least else -1)
    order = pd.DataFrame({"is_other": means["algorithm"] != OPT_LABEL, "value": values})
    return means.loc[order.sort_values(["is_other", "value"]).index]


def is_lines(plot: Plot, means: pd.DataFrame) -> bool:
    """Whether lines over the groups mean something (the groups differ in a number) and can be told apart."""
    words = {re.sub(r"[\d.,]+", "", group) for group in plot.groups}
    numbers = {re.sub(r"[^\d.,]+", "", group) for group in plot.groups}
    ordered = len(words) == 1 and len(numbers) == len(plot.groups) >= 3 and "" not in numbers
    return ordered and means["algorithm"].nunique() <= LINES


def _mean_lines(means: pd.DataFrame) -> Lines:
    return [
        {
            "group": row.group,
            "algorithm": (row.label or row.algorithm) + " *" * row.oracle,
            "cases": str(row.cases),
            "mean, at least": _mean_text(row.mean_lower),
            "mean, at most": _mean_text(row.mean_upper, up=True),
            "95 %, from": _mean_text(low),
            "to": _mean_text(high),
            "unbounded": str(row.unbounded),
            "left out": str(row.left_out),
        }
        for row in rows_of(means)
        for low, high in [pictures.interval_of(row) or (None, None)]
    ]


def _mean_text(value: Any, up: bool = False) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1e6 else f"{value:.6g}"
    return format_number(value, up=up)


def _list_gains(results: Results, plot: Plot) -> pd.DataFrame:
    """By how many percent one algorithm is better than another, over the cases of both, beside what a paper prints."""
    values = CaseValues(results, plot)
    kind = "welfare" if plot.kind == "ratio" or find_quantity(plot.kind).timed else plot.kind
    lines = []
    for printed in plot.printed:
        ours, others = (
            {row.case: pair[0] for row in values.groups.get(key, []) if (pair := values.value(row, kind))}
            for key in ((printed.group, printed.algorithm), (printed.group, printed.than))
        )
        both = [case for case in ours if case in others]
        gain = intervals.improvement([ours[case] for case in both], [others[case] for case in both])
        about = plot.name, printed.group, printed.algorithm, printed.than, printed.percent
        lines.append((*about, gain.cases, gain.mean, gain.low, gain.high))
    columns = ["plot", "group", "algorithm", "than", "paper_percent", "cases", "percent", "low", "high"]
    return pd.DataFrame(lines, columns=columns, dtype=object)


def _list_printed_means(plot: Plot, means: pd.DataFrame) -> pd.DataFrame:
    ours = {(row.group, row.algorithm): row for row in rows_of(means)}
    columns = ["plot", "group", "algorithm", "paper", "cases", "mean", "low", "high"]
    lines = [
        (plot.name, row.group, row.algorithm, printed.value, row.cases, row.mean_lower, row.low, row.high)
        for printed in plot.printed_means
        if (row := ours.get((printed.group, printed.algorithm))) is not None
    ]
    return pd.DataFrame(lines, columns=columns, dtype=object)


def _make_sweep(results: Results, plot: Plot, family: Family) -> SuiteFigure:
    chosen, ratio = replace(plot, kind="ratio"), results.sense.ratio
    values, table = CaseValues(results, chosen), take_means(results, chosen)
    if not len(table):
        return SuiteFigure(plot, {"means": table})
    check = family.headline if family.headline in results.checks else ""
    runs = [_over_runs(values.groups[row.group, row.algorithm], check) for row in rows_of(table)]
    table = pd.DataFrame([row._asdict() | over for row, over in zip(rows_of(table), runs, strict=True)], dtype=object)
    drawn = table.dropna(subset="mean_lower")
    log = len(drawn) > 0 and max(map(float, drawn["mean_upper"])) > 4 and min(drawn["mean_lower"]) > 0
    title = f"mean of {ratio.replace('/', ' / ')}"

    def draw(axes: Any) -> None:
        pictures.draw_mean_lines(axes, table, scale=Fraction(1), title=title, axis=plot.axis, log=log)
        pictures.draw_bounds(axes, table, f"bound of {check_title(check)}" if check else "")

    lines, facts = list(_sweep_lines(table, plot, ratio, check)), _sweep_facts(results, values)
    text = f"{make_printable(plot.title, 200)}:\n{align_columns(lines, indent='  ')}{facts}\n"
    picture = [Picture(plot.title, draw, 4.2, plot.name)] if len(drawn) else []
    return SuiteFigure(plot, {"means": table}, picture, SWEPT, [facts], lines, text)


def bound_of(row: Row, check: str) -> Fraction | None:
    result = row.checks.get(check)
    if result is None or result.right is None or result.figures.get("bound") is None:
        return None
    return Fraction(result.right)


def _over_runs(rows: Sequence[Row], check: str) -> dict[str, Any]:
    bounds = [bound for row in rows if (bound := bound_of(row, check)) is not None]
    counted = Counter(verdict for row in rows if (verdict := row.verdict(check)) is not None)
    lower = [row.ratio_lower for row in rows if row.ratio_upper is not None]
    upper = [row.ratio_upper for row in rows if row.ratio_upper is not None]
    return {
        "verdicts": ", ".join(f"{count} {verdict}" for verdict, count in counted.items()),
        "bound_least": min(bounds, default=None),
        "bound_most": max(bounds, default=None),
        "least_lower": min(lower, default=None),
        "worst_lower": max(lower, default=None),
        "worst_upper": max(upper, default=None),
        "low": float(min(lower)) if lower else None,
        "high": float(max(upper)) if upper else None,
        "parts": [],
    }


def _sweep_lines(table: pd.DataFrame, plot: Plot, ratio: str, check: str) -> Iterator[dict[str, str]]:
    places = dict(zip(plot.groups, pictures.shorten_groups(plot.groups), strict=True))
    for row in rows_of(table):
        line = {plot.axis.lower(): places[row.group], "algorithm": f"{row.name}{' *' * row.oracle}"}
        mean = spread = bound = "-"
        if row.mean_lower is not None:
            mean = interval_text(row.mean_lower, row.mean_upper)
            spread = f"{format_decimal(row.least_lower, 2, up=False)} to {format_decimal(row.worst_upper, 2, up=True)}"
        if row.bound_least is not None:
            low, high = row.bound_least // 1, -(-row.bound_most // 1)
            bound = f"{format_number(low)} to {format_number(high)}" if high > low + 1 else format_number(low)
        line |= {f"mean {ratio}": mean, "least to largest": spread}
        line["runs"] = str(row.cases) + f" + {row.unbounded} unbounded" * bool(row.unbounded)
        yield line | ({check_title(check): row.verdicts or "-", "bound": bound} if check else {})


def _sweep_facts(results: Results, values: CaseValues) -> str:
    cases = {row.case: row for row in values.rows}
    known = [row for row in cases.values() if row.opt_lower is not None]
    if not known:
        return ""
    proved = sum(row.opt_lower == row.opt_upper for row in known)
    gap = max(row.opt_gap or 0.0 for row in known)
    seconds = results.seconds
    work = seconds[seconds["case"].isin(cases) & (seconds["stage"] != "deciding")]["seconds"].sum()
    return (
        f"OPT is known exactly on {proved} of {len(known)} instances; "
        f"the widest interval on it is {100 * gap:.3g} % of OPT. {work:.0f} s of work."
    )


def _make_leaderboard(results: Results, plot: Plot, family: Family) -> SuiteFigure:
    values = CaseValues(results, replace(plot, kind="reached"))
    rows = [_leader(values, algorithm, family) for algorithm in values.algorithms]
    rows.sort(key=lambda row: ("oracle" in row["constants"].split("+"), -(row["mean_reached"] or Fraction(-1))))
    lines = [
        {
            "Algorithm": row["label"],
            f"mean {results.sense.reached}": format_number(row["mean_reached"]),
            "cases from, to": row["range"],
            **{name: str(text) for name, text in family.proof_status(row["algorithm"]).items()},
            "Constants": row["constants"],
            "decisions/s": "-" if row["decisions_per_second"] is None else f"{row['decisions_per_second']:,.0f}",
            **{group: format_number(row[f"mean in {group}"]) for group in plot.groups},
        }
        for row in rows
    ]
    data = pd.DataFrame(rows, dtype=object).drop(columns=["label", "range"], errors="ignore")
    return SuiteFigure(plot, {"leaderboard": data}, parts=[lines] if lines else [])


def _leader(values: CaseValues, algorithm: str, family: Family) -> dict[str, Any]:
    rows = [row for row in values.rows if row.algorithm == algorithm]
    valid = [row for row in rows if row.state == "ok" and row.reached is not None]
    parts = {group: [Fraction(row.reached) for row in valid if row.group == group] for group in values.plot.groups}
    every = [share for part in parts.values() for share in part]
    whole = intervals.mean(every)
    timed = [row for row in rows if row.state == "ok" and (row.case, algorithm) in values.deciding]
    seconds = sum(values.deciding[row.case, algorithm] for row in timed)
    decided = sum(int(values.tasks.get(row.case) or 0) for row in timed)
    sources = {source for row in rows if row.constants_source for source in row.constants_source.split("+")}
    remarks = [row.remarks for row in valid]
    return {
        "algorithm": algorithm,
        "label": label_of_runs(rows[0].name, remarks),
        "range": f"{float(min(every)):.3f} to {float(max(every)):.3f}" if every else "-",
        "cases": whole.cases,
        "mean_reached": whole.mean,
        "low": whole.low,
        "high": whole.high,
        "decisions_per_second": decided / seconds if seconds else None,
        "constants": "+".join(sorted(sources)) or "none",
        **family.proof_status(algorithm),
        **{f"mean in {group}": mean(part) for group, part in parts.items()},
        "said": remarks_of_runs(rows[0].name, remarks),
    }


def _make_studies(results: Results, plot: Plot, family: Family) -> SuiteFigure:
    wanted = [*plot.algorithms, *results.about.get("algorithms", ())]
    studies = [
        study
        for study in results.studies
        if study.study.kind == plot.kind
        and study.group in plot.groups
        and (not plot.algorithms or study.study.algorithm in wanted)
    ]
    missing = [f"{study.case}, {study.study.name}: {study.reason or 'no rows'}" for study in studies if not study.rows]
    return SuiteFigure(
        plot,
        {"studies": list_studies(studies)},
        [family.studies.draw(study, plot.name, family.unit) for study in studies if study.rows and family.studies],
        parts=[f"Without a figure: {'; '.join(missing)}."] if missing else [],
    )


def list_studies(tables: Sequence[StudyTable]) -> pd.DataFrame:
    lines: list[dict[str, Any]] = []
    for table in tables:
        head = {"case": table.case, "group": table.group, "algorithm": table.study.algorithm}
        lines += [head | dict(row) for row in table.rows] or [head | {"reason": table.reason}]
    return pd.DataFrame(lines, dtype=object)


KINDS: Mapping[str, Callable[[Results, Plot, Family], SuiteFigure]] = {
    **dict.fromkeys(STUDIED, _make_studies),
    LEADERBOARD: _make_leaderboard,
    SWEEP: _make_sweep,
}
