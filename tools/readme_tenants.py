"""The tables of docs/results/tenants.md, from committed figures.

`python -m tools.readme_tenants` writes the tables into the file. With FOLDERS behind it, it first takes what they
need from the results of `run SUITE` in each folder and writes it to bench/tenants/results, with the provenance.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

import ratiobench
from ratiobench.bench.family.registry import find_suite
from ratiobench.bench.report.pictures import OPT, Picture, label_ends, style_of, use_thousands
from ratiobench.bench.results.ratios import format_decimal
from ratiobench.bench.tenants.suites import LOADS, READINGS, TIGHT
from ratiobench.formulations.tenants.check import check
from ratiobench.formulations.tenants.solve import solve
from ratiobench.instances.tenants.generate import generate
from tools.readme_tables import ROOT, figures, make_table, write_tables

RESULTS = ROOT / "bench" / "tenants" / "results"
README, FRONT = "docs/results/tenants.md", "tenants-front.svg"
MEANS = ("met", "lateness", "flow", "money")
CLAIMS = ("claim", "standing", "holds", "violated", "undecided", "not_applicable", "violated_by")
Row = Mapping[Any, Any]


def take(folder: Path) -> None:
    """Keep, by group and algorithm, ratios (rounded up) and measures of a run; its verdicts; its provenance."""
    RESULTS.mkdir(exist_ok=True)
    rows = figures(folder / "results.csv")
    rows = rows[rows["state"] == "ok"]
    suite = find_suite(_suite(folder))[1].name
    if suite == "tenants-named":
        rows = rows.assign(group=rows["case"])
    seconds = ratiobench.results(folder).seconds
    times = seconds[seconds["stage"] == "opt"].set_index("case")["seconds"]
    deciding = seconds[seconds["stage"] == "deciding"].set_index(["case", "algorithm"])["seconds"]
    kept: list[dict[str, Any]] = []
    for (group, algorithm), part in rows.groupby(["group", "algorithm"], sort=False):
        ratios = [Fraction(text) for text in part["ratio_upper"] if text]
        kept.append(
            {
                "group": group,
                "algorithm": algorithm,
                "cases": len(part),
                "ratios": len(ratios),
                "mean": format_decimal(sum(ratios) / len(ratios), 4, up=True) if ratios else "",
                "largest": format_decimal(max(ratios), 4, up=True) if ratios else "",
                "optimal": sum(ratio == 1 for ratio in ratios),
                "gap": format_decimal(_mean(part, "opt_gap"), 5, up=True),
                "widest": format_decimal(max(Fraction(text) for text in part["opt_gap"] if text), 5, up=True),
                "opt_seconds": f"{times[part['case']].mean():.1f}",
                "deciding_seconds": f"{max(deciding[case, algorithm] for case in part['case']):.3f}",
                **{name: format_decimal(_mean(part, name), 4, up=False) for name in MEANS},
            }
        )
    if suite == "tenants-wishes":
        kept += best(suite)
    pd.DataFrame(kept).to_csv(RESULTS / f"{suite}.csv", index=False, lineterminator="\n")
    claims = figures(folder / "claims.csv")[list(CLAIMS)]
    claims.to_csv(RESULTS / f"{suite}_claims.csv", index=False, lineterminator="\n")
    shutil.copyfile(folder / "provenance.json", RESULTS / f"{suite}_provenance.json")


def _suite(folder: Path) -> str:
    return folder.resolve().name


def _mean(part: pd.DataFrame, column: str) -> Fraction:
    values = [Fraction(text) for text in part[column] if text]
    return sum(values, Fraction(0)) / max(1, len(values))


def _rows(suite: str) -> dict[tuple[str, str], Row]:
    file = RESULTS / f"{suite}.csv"
    return {(row["group"], row["algorithm"]): row for row in figures(file).to_dict("records")} if file.exists() else {}


def _ratio(row: Row | None) -> str:
    return f"{_up(row['mean'], 3)} ({_up(row['largest'], 3)})" if row and row["mean"] else "-"


def _up(text: str, places: int) -> str:
    """An upper bound in fewer decimals, rounded up."""
    return f"{float(format_decimal(Fraction(text), places, up=True)):.{places}f}"


def readings() -> str:
    """Every reading of the search: mean (largest) ALG / OPT, and how often it is optimal."""
    rows, groups = _rows("tenants-small"), ("9 jobs", "12 jobs")
    half = len(READINGS) // 2
    lines = []
    for with_load, without in zip(READINGS[:half], READINGS[half:], strict=True):
        cells = []
        for name in (with_load, without):
            for group in groups:
                row = rows[group, name]
                cells.append(f"{_ratio(row)}, {row['optimal']}")
        lines.append([f"`{with_load}`", *cells])
    for name in dict.fromkeys(name for _, name in rows):
        if name not in READINGS:
            cells = [f"{_ratio(rows[group, name])}, {rows[group, name]['optimal']}" for group in groups]
            lines.append([f"`{name}`", *cells, "", ""])
    return make_table(["search", *(f"{each}, l" for each in groups), *(f"{each}, no l" for each in groups)], lines)


def _percent(text: str) -> str:
    """A width as percent with two decimals, rounded up."""
    return _up(str(100 * Fraction(text)), 2)


def _by_group(suite: str, groups: Sequence[str], heads: Sequence[str]) -> str:
    """Mean (largest) ALG / OPT of every policy by group, and how wide the interval on OPT is."""
    rows = _rows(suite)
    lines = []
    names = dict.fromkeys(name for group, name in rows if group in groups)
    for name in sorted(names, key=lambda name: not name.startswith("patent")):
        lines.append([f"`{name}`", *(_ratio(rows.get((group, name))) for group in groups)])
    ends = [next(row for (found, _), row in rows.items() if found == group) for group in groups]
    wide = [f"{_percent(row['gap'])} ({_percent(row['widest'])})" for row in ends]
    lines += [["OPT: interval, %", *wide], ["OPT: seconds", *(f"{float(row['opt_seconds']):.0f}" for row in ends)]]
    return make_table(["policy", *heads], lines)


def batch() -> str:
    """All jobs at once, by their number."""
    groups = list(dict.fromkeys(group for group, _ in _rows("tenants-batch")))
    groups.sort(key=lambda group: int(group.split(" ")[0]))
    return _by_group("tenants-batch", groups, groups)


def online() -> str:
    """Released over time, by the load."""
    groups = [f"{jobs} jobs, load {load}" for jobs in (60, 200, 400) for load in LOADS]
    return _by_group("tenants-online", groups, groups)


def tight() -> str:
    """The same with tight deadlines."""
    return _by_group("tenants-online", [f"60 jobs, load {load}{TIGHT}" for load in LOADS], [f"load {x}" for x in LOADS])


def params() -> str:
    """By the prices of time and lateness."""
    groups = list(dict.fromkeys(group for group, _ in _rows("tenants-params")))
    groups.sort(key=lambda group: [float(factor) for factor in re.findall(r"x ([\d.]+)", group)])
    return _by_group("tenants-params", groups, [re.sub("[a-z]+ x ", "", group) for group in groups])


def tiny() -> str:
    """The tiny instances: ALG / OPT of some policies."""
    rows = _rows("tenants-named")
    exact = {"best-first": "patent:search=best-first", "least, no l": "patent:h=least,load=no,search=best-first"}
    shown = exact | {name: name for name in ("patent", "edf", "insertion", "replan", "lookahead")}
    lines = []
    for group in dict.fromkeys(group for group, _ in rows):
        cells = [rows.get((group, name)) for name in shown.values()]
        lines.append([f"`{group}`", *(_up(row["mean"], 3) if row and row["mean"] else "-" for row in cells)])
    return make_table(["instance", *shown], lines)


def claims() -> str:
    """Verdicts over the runs of `tenants-small` to which a claim applies."""
    rows = figures(RESULTS / "tenants-small_claims.csv").to_dict("records")
    return make_table(
        ["claim", "holds", "fails", "undecided"],
        [[f"`{row['claim']}`", row["holds"], row["violated"], row["undecided"]] for row in rows],
    )


def best(suite: str) -> list[dict[str, str]]:
    """The measures of the best schedules known, by group, as rows of a policy called OPT."""
    found = []
    cases = find_suite(suite)[1].cases
    for group in dict.fromkeys(case.group for case in cases):
        sums = dict.fromkeys(MEANS, Fraction(0))
        part = [case for case in cases if case.group == group]
        for case in part:
            instance = generate(case.recipe)
            report = check(instance, solve(instance, gap=case.solve.gap).solution)
            each = (report.met, report.lateness, report.flow, Fraction(report.money, 10**6))
            for name, value in zip(MEANS, each, strict=True):
                sums[name] += Fraction(value, instance.jobs * len(part))
        found.append(
            {"group": group, "algorithm": "OPT"} | {k: format_decimal(v, 4, up=False) for k, v in sums.items()}
        )
    return found


def front() -> str:
    """Lateness, time and money per job of each policy, and of the best schedule known, by the wish of all tenants."""
    rows = _rows("tenants-wishes")
    lines = []
    for group in dict.fromkeys(group for group, _ in rows):
        for name in dict.fromkeys(["OPT", *(name for where, name in rows if where == group)]):
            row = rows[group, name]
            cells = [f"{float(row[key]):.2f}" for key in MEANS]
            lines.append([group, name if name == "OPT" else f"`{name}`", *cells, _ratio(row)])
    return make_table(["wish", "policy", "met", "ticks late", "ticks of time", "dollars", "ALG / OPT"], lines)


AXES = {"money": "dollars per job", "flow": "ticks from release to end, per job", "lateness": "ticks late, per job"}


def find_pareto_front(points: Mapping[str, tuple[float, ...]]) -> list[str]:
    """The names of the points such that no other one has all figures as small, and one of them smaller."""

    def beats(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
        pairs = list(zip(one, other, strict=True))
        return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)

    return [name for name, point in points.items() if not any(beats(other, point) for other in points.values())]


def draw_fronts(axes: Any) -> None:
    """Money against time by the wish of all tenants, in three pictures side by side; a ring marks the front."""
    rows = _rows("tenants-wishes")
    groups = list(dict.fromkeys(group for group, _ in rows))
    axes.set_axis_off()
    for place, group in enumerate(groups):
        names = dict.fromkeys(["OPT", *(name for where, name in rows if where == group)])
        points = {name: tuple(float(rows[group, name][key]) for key in AXES) for name in names}
        part = axes.inset_axes((0, 1 - (place + 0.8) / len(groups), 1, 0.74 / len(groups)))
        _draw_front(part, points)
        part.set_title(f"{group}; number behind a name: {AXES['lateness']}", fontsize=9, loc="left")


def _draw_front(axes: Any, points: Mapping[str, tuple[float, ...]]) -> None:
    for which, values in zip("xy", zip(*points.values(), strict=True), strict=False):
        if max(values) > 3 * min(values) > 0:
            (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    front, ends = find_pareto_front(points), []
    for number, (name, (money, flow, late)) in enumerate(points.items(), -1):
        style = {"color": OPT, "marker": "o"} if name == "OPT" else style_of(number) | {"linestyle": "none"}
        axes.plot(money, flow, markersize=5, **style)
        if name in front:
            axes.plot(money, flow, "o", markersize=11, color="#222222", markerfacecolor="none", markeredgewidth=0.8)
        ends.append((flow, f"{name}, {late:.3g}", style["color"]))
    axes.set_xlabel(AXES["money"])
    axes.set_ylabel(AXES["flow"].partition(",")[0])
    axes.grid(color="#dddddd", linewidth=0.6)
    use_thousands(axes, "x")
    use_thousands(axes, "y")
    label_ends(axes, ends, 2.6)


def draw() -> Picture:
    """The front of money, time and lateness by the wish of all tenants."""
    groups = {group for group, _ in _rows("tenants-wishes")}
    return Picture("Money, time and lateness of policies and of OPT", draw_fronts, 3.6 * len(groups))


# Where each table stands, and what makes it
TABLES = {
    (README, "tenants readings"): readings,
    (README, "tenants claims"): claims,
    (README, "tenants batch"): batch,
    (README, "tenants online"): online,
    (README, "tenants tight"): tight,
    (README, "tenants params"): params,
    (README, "tenants named"): tiny,
    (README, "tenants front"): front,
}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        take(Path(name))
    draw().save(RESULTS / FRONT)
    write_tables(TABLES)
