"""The tables on Table 1 of the second paper in docs/results/eapm.md, from committed figures.

`python -m tools.readme_eapm` writes them into the page; with a FOLDER behind it, it first takes what they need
from the results of `run eapm-table1` in the folder and writes it to bench/eapm/results.
"""

from __future__ import annotations

import shutil
import sys
from fractions import Fraction
from pathlib import Path

from ratiobench.bench.eapm.suites import GAMMAS, READINGS, TABLE1
from ratiobench.bench.results.ratios import format_decimal
from ratiobench.online.eapm.registry import parse
from tools.readme_tables import ROOT, figure_data, figures, make_table, write_tables

# Means, rounded outward to `PLACES` decimals: the exact ones have hundreds of digits
FIGURES = ROOT / "bench" / "eapm" / "results" / "eapm_table1.csv"
PRINTED = FIGURES.with_name("eapm_table1_printed.csv")
CLAIMS = FIGURES.with_name("eapm_table1_claims.csv")
PROVENANCE = FIGURES.with_name("eapm_table1_provenance.json")
PLACES = 6
RATIOS = ("1.05", "1.2", "1.5")  # The columns whose mean of OPT/ALG is shown


def take(folder: Path) -> None:
    """Keep the figures of a run of `eapm-table1`, its verdicts and its provenance."""
    rows = figure_data(folder, "means").drop(columns="oracle")
    for column, up in (("mean_lower", False), ("mean_upper", True)):
        rows[column] = [text and format_decimal(Fraction(text), PLACES, up=up) for text in rows[column]]
    rows.to_csv(FIGURES, index=False, lineterminator="\n")
    over = figure_data(folder, "printed")
    over["percent"] = [format_decimal(Fraction(text), PLACES, up=False) for text in over["percent"]]
    over.to_csv(PRINTED, index=False, lineterminator="\n")
    kept = ["claim", "standing", "holds", "violated", "undecided", "not_applicable", "violated_by"]
    figures(folder / "claims.csv")[kept].to_csv(CLAIMS, index=False, lineterminator="\n")
    shutil.copyfile(folder / "provenance.json", PROVENANCE)


def _named(plot: str) -> dict[tuple[str, str], dict[str, str]]:
    """The rows of a figure by gamma and algorithm."""
    rows = figures(FIGURES)
    return {
        (row["group"].removeprefix("gamma "), row["algorithm"]): row
        for row in rows[rows["plot"] == plot].to_dict("records")
    }


def _mean(row: dict[str, str]) -> Fraction:
    return (Fraction(row["mean_lower"]) + Fraction(row["mean_upper"])) / 2


def _paper(name: str) -> tuple[str, ...]:
    """The paper's row for an algorithm; all readings have that of Online."""
    return TABLE1.get("online" if name in READINGS else name, ())


def _reading(name: str) -> str:
    options = parse(name).options
    return f"`shares={options['shares']}`, `makespan={options['makespan']}`"


def _shown(name: str) -> str:
    return name if name == "OPT" else f"`{name}`"


def table1() -> str:
    """Table 1 in Markdown: the mean profit rate, the paper's in brackets, and the mean of OPT/ALG, at most."""
    rows, ratios = _named("table1"), _named("table1_ratio")

    def ratio(gamma: str, name: str) -> str:
        row = ratios[gamma, name]
        if not row["mean_upper"]:
            return "unbounded"
        unbounded = f" ({row['unbounded']} unbounded)" if int(row["unbounded"]) else ""
        return format_decimal(Fraction(row["mean_upper"]), 2, up=True) + unbounded

    lines = []
    for name in dict.fromkeys(name for _, name in rows):
        cells = [f"{float(_mean(rows[gamma, name])):.2f}" for gamma in GAMMAS]
        paper = _paper(name)
        if paper:
            cells = [f"{cell} ({printed})" for cell, printed in zip(cells, paper, strict=True)]
        last = "1" if name == "OPT" else ", ".join(ratio(gamma, name) for gamma in RATIOS)
        lines.append([_shown(name), *cells, last])
    return make_table(["algorithm", *GAMMAS, "OPT / ALG"], lines)


def deviations(name: str) -> list[Fraction]:
    """By which part of the paper's figure the mean of a reading is off, column by column."""
    rows = _named("table1")
    return [
        abs(_mean(rows[gamma, name]) / Fraction(printed) - 1)
        for gamma, printed in zip(GAMMAS, TABLE1["online"], strict=True)
    ]


def readings() -> str:
    """The readings in Markdown: how far from the paper's row, and whether Online beats Greedy, in means and in runs."""
    over = figures(PRINTED)
    claims = figures(CLAIMS)
    [violated] = claims.loc[claims["claim"] == "best_of_three", "violated_by"]
    runs = dict(part.split(" ", 1) for part in violated.split("; "))
    lines = []
    for name in READINGS:
        off = deviations(name)
        worst = GAMMAS[off.index(max(off))]
        part = over[over["algorithm"] == name]
        above = [row for row in part.to_dict("records") if Fraction(row["percent"]) > 0]
        certain = [row for row in above if float(row["low"]) > 0]
        lines.append(
            [
                f"`{name}`",
                _reading(name),
                f"{float(100 * max(off)):.1f} % (at {worst}), {float(100 * sum(off) / len(off)):.1f} %",
                f"{len(above)} of {len(part)} ({len(certain)})",
                runs[name],
            ]
        )
    head = ["name", "reading", "off the paper's row: at most, mean", "columns above Greedy", "runs below Greedy"]
    return make_table(head, lines)


def faults() -> str:
    """How many percent of the systems (20) go wrong, by reading, in Markdown."""
    lines = []
    for plot, what in (("table1_shares", "a share < 0"), ("table1_finish", "MS below the makespan so far")):
        rows = _named(plot)
        for name in READINGS:
            cells = [f"{float(100 * _mean(rows[gamma, name])):.0f}" for gamma in GAMMAS]
            lines.append([what, _reading(name), *cells])
    return make_table(["systems with", "reading", *GAMMAS], lines)


# Where each table stands, and what makes it
TABLES = {
    ("docs/results/eapm.md", "eapm table 1"): table1,
    ("docs/results/eapm.md", "eapm readings"): readings,
    ("docs/results/eapm.md", "eapm faults"): faults,
}


if __name__ == "__main__":
    if sys.argv[1:]:
        take(Path(sys.argv[1]))
    write_tables(TABLES)
