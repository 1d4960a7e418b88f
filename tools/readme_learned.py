"""The tables of the suites `learning` and `guards` in docs/results/mechanisms.md, from their committed rows.

`python -m tools.readme_learned` writes them; with a folder of folders behind it, it first takes the rows of those
of `learning` and `guards` that are there and writes them to bench/lora/results. Rows of a run with `--rows` take the
place of theirs, and its provenance stands beside the other.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

from ratiobench.bench.family.registry import find_suite
from ratiobench.bench.report.pictures import Picture, label_ends, style_of
from ratiobench.bench.results.ratios import format_decimal
from tools.readme_tables import ROOT, figures, make_table, write_tables

RESULTS = ROOT / "bench" / "lora" / "results"
SUITES = ("learning", "guards")
KEPT = ["case", "group", "algorithm", "opt_lower", "opt_upper", "welfare", "truthful_bid", "theorem_h"]
TRUE = "true history"
PICTURE = RESULTS / "guards.svg"


def rows(suite: str) -> pd.DataFrame:
    """The committed rows of a suite; figures are text."""
    return figures(RESULTS / f"{suite}.csv")


def take(folder: Path) -> None:
    """Keep what the tables need of a run of the suites, and its provenance; of a guard its factor, and A0 over OPT."""
    for suite in (name for name in SUITES if (folder / name).is_dir()):
        table = figures(folder / suite / "results.csv")
        for name in ("theorem_h", "theorem_h_figures"):  # absent where no row has a guard
            if name not in table:
                table[name] = ""
        kept = table[KEPT].copy()
        told = [json.loads(text) if text else {} for text in table["theorem_h_figures"]]
        kept["factor"] = [format_decimal(Fraction(one["factor"]), 1, up=True) if one else "" for one in told]
        if "theorem_a_figures" in table:
            plain = table["theorem_a_figures"] != ""
            known = [Fraction(json.loads(text)["gamma_known_beforehand"]) for text in table["theorem_a_figures"][plain]]
            kept.loc[plain, "factor"] = [format_decimal(each, 1, up=True) for each in known]
        lost = [one.get("a0", "") for one in told]
        if "theorem_p_figures" in table:  # Lemma P: a factor and an additive loss, too
            for k in range(len(table)):
                if table["theorem_p"].iloc[k] == "holds":
                    one = json.loads(table["theorem_p_figures"].iloc[k])
                    lost[k] = one["loss"]
                    kept.iloc[k, kept.columns.get_loc("factor")] = format_decimal(Fraction(one["factor"]), 1, up=True)
        pairs = zip(lost, kept["opt_upper"], strict=True)
        kept["a0_share"] = [f"{float(Fraction(each)) / int(upper):.6e}" if each else "" for each, upper in pairs]
        kept["excess"] = [one.get("excess", "") for one in told]
        part = json.loads((folder / suite / "provenance.json").read_text(encoding="utf-8")).get("rows")
        if part:
            kept = join_rows(suite, rows(suite), kept)
        kept.to_csv(RESULTS / f"{suite}.csv", index=False, lineterminator="\n")
        shutil.copyfile(
            folder / suite / "provenance.json", RESULTS / f"{suite}{name_rows(suite, part)}_provenance.json"
        )


def name_rows(suite: str, part: list[str] | None) -> str:
    """The end of the name of a provenance of some rows: _rows, _rows2, ...; the one that there is of these rows."""
    number = 1
    while part:
        file = RESULTS / f"{suite}_rows{number if number > 1 else ''}_provenance.json"
        if not file.exists() or json.loads(file.read_text(encoding="utf-8"))["rows"] == part:
            return f"_rows{number if number > 1 else ''}"
        number += 1
    return ""


def join_rows(suite: str, old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """The rows of both, the new ones in the place of old ones of the same case and algorithm, in the suite's order."""
    intervals = {row["case"]: (row["opt_lower"], row["opt_upper"]) for row in old.to_dict("records")}
    for row in new.to_dict("records"):
        if intervals.get(row["case"], (row["opt_lower"], row["opt_upper"])) != (row["opt_lower"], row["opt_upper"]):
            raise ValueError(f"{row['case']}: OPT is {intervals[row['case']]} in the committed rows")
    order = {
        (case.name, name): (number, place)
        for number, case in enumerate(find_suite(suite)[1].cases)
        for place, name in enumerate(case.algorithms)
    }
    both = pd.concat([new, old]).drop_duplicates(["case", "algorithm"])
    keys = [order[row["case"], row["algorithm"]] for row in both.to_dict("records")]
    return both.iloc[sorted(range(len(both)), key=keys.__getitem__)]


def reached(row: Mapping[Any, Any]) -> Fraction:
    """Welfare over the upper bound on OPT."""
    return Fraction(int(row["welfare"]), int(row["opt_upper"]))


def _means(table: pd.DataFrame, algorithm: str, groups: list[str]) -> Iterator[str]:
    for group in groups:
        part = table[(table["group"] == group) & (table["algorithm"] == algorithm)]
        values = [reached(row) for row in part.to_dict("records")]
        yield format_decimal(sum(values, Fraction(0)) / len(values), 3, up=False) if values else "-"


def learning() -> str:
    """Welfare over the bound by mechanism and kind of days, in Markdown."""
    table = rows("learning")
    groups = list(dict.fromkeys(table["group"]))
    names = list(dict.fromkeys(table["algorithm"]))
    return make_table(["mechanism", *groups], [[name, *_means(table, name, groups)] for name in names])


def guards() -> str:
    """What each guarantee costs with true history and keeps with false ones, in Markdown; least: of all false days.

    Figures are means over the traces; what is known before the day is the weakest of theirs.
    """
    table = rows("guards")
    groups = [TRUE, *(group for group in dict.fromkeys(table["group"]) if group != TRUE)]
    lines = []
    for name in dict.fromkeys(table["algorithm"]):
        mine = table[table["algorithm"] == name]
        true = mine[(mine["group"] == TRUE) & (mine["factor"] != "")]
        factor = max(true["factor"], key=Fraction, default="-")
        more = max((float(share) for share in true["a0_share"] if share), default=0.0)
        false = [reached(row) for row in mine[mine["group"] != TRUE].to_dict("records")]
        least = format_decimal(min(false), 3, up=False) if false else "-"
        bound = f"{factor} ALG" * (factor != "-") or "-"
        if more:
            power = 10.0 ** math.floor(math.log10(more))
            bound += f" + {math.ceil(more / power) * power:.0e} OPT"
        lines.append([str(name), bound, *_means(table, str(name), groups), least])
    return make_table(["mechanism", "OPT is at most", "true history", *groups[1:], "least"], lines)


def guards_by_trace() -> str:
    """The same day by day, in Markdown: with true history, and the least of the false ones."""
    table = rows("guards")
    table["trace"] = table["case"].str.partition(",")[0]
    traces = list(dict.fromkeys(table["trace"]))
    lines = []
    for name in dict.fromkeys(table["algorithm"]):
        mine = table[table["algorithm"] == name]
        true, false = (
            [min(map(reached, part[part["trace"] == trace].to_dict("records")), default=None) for trace in traces]
            for part in (mine[mine["group"] == TRUE], mine[mine["group"] != TRUE])
        )
        figures_ = ("-" if value is None else format_decimal(value, 3, up=False) for value in (*true, *false))
        lines.append([str(name), *figures_])
    heads = [f"{trace}, {kind}" for kind in (TRUE, "least") for trace in traces]
    return make_table(["mechanism", *heads], lines)


GUARDS = (("", "none"), *((f"guard={beta},", str(beta)) for beta in (99, 59, 39, 29)))


def draw_guards(axes: Any) -> None:
    """Consistency against robustness: mean welfare over the bound, by guarantee, a line per history.

    Theorem A's prices are on no line: they are no guard.
    """
    table = rows("guards")
    earned: dict[tuple[str, str], list[float]] = {}
    for row in table.to_dict("records"):
        earned.setdefault((row["group"], row["algorithm"]), []).append(float(reached(row)))
    shown = {key: sum(values) / len(values) for key, values in earned.items()}
    names = [*(f"learned:{options}prior=history" for options, _ in GUARDS), "posted:prior=history"]
    ends = []
    for number, group in enumerate(dict.fromkeys(table["group"])):
        style = style_of(number)
        heights = [shown[group, name] for name in names]
        axes.plot(range(len(names) - 1), heights[:-1], markersize=5, linewidth=1.2, **style)
        axes.plot(len(names) - 1, heights[-1], markersize=5, color=style["color"], marker=style["marker"])
        ends.append((heights[-2], group, style["color"]))
    axes.set_xticks(range(len(names)), [*(text for _, text in GUARDS), "Thm A"])
    axes.set_ylim(0, 1)
    axes.set_xlabel("beta of the guard; Theorem A")
    axes.set_ylabel("welfare / upper bound on OPT")
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    label_ends(axes, ends)


def draw() -> Picture:
    """The picture of the guards."""
    return Picture("Consistency against robustness", draw_guards, 3.6)


# Where each table stands, and what makes it
TABLES: Mapping[tuple[str, str], Callable[[], str]] = {
    ("docs/results/mechanisms.md", "learning"): learning,
    ("docs/results/mechanisms.md", "guards"): guards,
    ("docs/results/mechanisms.md", "guards by trace"): guards_by_trace,
}


if __name__ == "__main__":
    if sys.argv[1:]:
        take(Path(sys.argv[1]))
    write_tables(TABLES)
    draw().save(PICTURE)
