"""The tables of what is learned in bench/lora/README.md, from the committed rows of the suites `learning` and `guards`.

`python -m tests.tools.readme_learned` writes them; with a folder of folders behind it, it first takes the rows of its
`learning` and `guards` and writes them to bench/lora/results.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path

import pandas as pd

from bench.tables.ratios import decimal
from tests.tools.readme_tables import ROOT, figures, make_table, write_tables

RESULTS = ROOT / "bench" / "lora" / "results"
SUITES = ("learning", "guards")
KEPT = ["case", "group", "algorithm", "opt_lower", "opt_upper", "welfare", "truthful_bid", "theorem_h"]
TRUE = "true history"
UNKNOWN = "philly unknown number"


def rows(suite: str) -> pd.DataFrame:
    """The committed rows of a suite; figures are text."""
    return figures(RESULTS / f"{suite}.csv")


def take(folder: Path) -> None:
    """Keep what the tables need of a run of both suites, and its provenance; of a guard its factor, and A0 over OPT."""
    for suite in SUITES:
        table = figures(folder / suite / "results.csv")
        kept = table[KEPT].copy()
        told = [json.loads(text) if text else {} for text in table["theorem_h_figures"]]
        kept["factor"] = [decimal(Fraction(one["factor"]), 1, up=True) if one else "" for one in told]
        pairs = zip(told, kept["opt_upper"], strict=True)
        kept["a0_share"] = [f"{float(Fraction(one['a0'])) / int(upper):.2e}" if one else "" for one, upper in pairs]
        kept["excess"] = [one.get("excess", "") for one in told]
        kept.to_csv(RESULTS / f"{suite}.csv", index=False, lineterminator="\n")
        shutil.copyfile(folder / suite / "provenance.json", RESULTS / f"{suite}_provenance.json")


def reached(row: Mapping[str, str]) -> Fraction:
    """Welfare over the upper bound on OPT."""
    return Fraction(int(row["welfare"]), int(row["opt_upper"]))


def _means(table: pd.DataFrame, algorithm: str, groups: list[str]) -> Iterator[str]:
    for group in groups:
        part = table[(table["group"] == group) & (table["algorithm"] == algorithm)]
        values = [reached(row) for row in part.to_dict("records")]
        yield decimal(sum(values, Fraction(0)) / len(values), 3, up=False) if values else "-"


def learning() -> str:
    """Poisson days and days of sizes of their own, in Markdown."""
    table = rows("learning")
    groups = [group for group in dict.fromkeys(table["group"]) if group != UNKNOWN]
    names = dict.fromkeys(table.loc[table["group"] == groups[0], "algorithm"])
    head = [group.removesuffix(" own sizes") if "own" in group else group.capitalize() for group in groups]
    return make_table(["mechanism", *head], [[name, *_means(table, name, groups)] for name in names])


def unknown() -> str:
    """The days whose number of tasks is taken for known, or not, in Markdown."""
    table = rows("learning")
    table = table[table["group"] == UNKNOWN]
    names, cases = dict.fromkeys(table["algorithm"]), list(dict.fromkeys(table["case"]))
    lines = []
    for name in names:
        part = {row["case"]: reached(row) for row in table[table["algorithm"] == name].to_dict("records")}
        values = [part[case] for case in cases]
        mean = sum(values, Fraction(0)) / len(values)
        lines.append([str(name), *(decimal(value, 3, up=False) for value in (*values, mean))])
    return make_table(["mechanism", *(f"day {place}" for place in range(1, len(cases) + 1)), "mean"], lines)


def guards() -> str:
    """What each guarantee costs with true history and keeps with false ones, in Markdown; least: of all false days."""
    table = rows("guards")
    groups = [TRUE, *(group for group in dict.fromkeys(table["group"]) if group != TRUE)]
    lines = []
    for name in dict.fromkeys(table["algorithm"]):
        mine = table[table["algorithm"] == name]
        true = mine[(mine["group"] == TRUE) & (mine["factor"] != "")]
        factor = max(true["factor"], key=Fraction, default="-")
        more = max((Fraction(share) for share in true["a0_share"]), default=None)
        least = min(reached(row) for row in mine[mine["group"] != TRUE].to_dict("records"))
        bound = "-" if more is None else f"{factor} ALG + {float(more):.0e} OPT"
        lines.append([str(name), bound, *_means(table, str(name), groups), decimal(least, 3, up=False)])
    return make_table(["mechanism", "OPT is at most", "true history", *groups[1:], "least"], lines)


TABLES: Mapping[tuple[str, str], Callable[[], str]] = {
    ("bench/lora/README.md", "learning"): learning,
    ("bench/lora/README.md", "unknown number"): unknown,
    ("bench/lora/README.md", "guards"): guards,
}
"""Where each table stands, and what makes it."""


if __name__ == "__main__":
    if sys.argv[1:]:
        take(Path(sys.argv[1]))
    write_tables(TABLES)
