"""The README's tables of Figures 7, 8 and 12, from bench/results/paper.csv (`python -m tests.readme_tables`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import pandas as pd

from bench.ratios import decimal

PAPER = Path(__file__).resolve().parents[1] / "bench" / "results" / "paper.csv"
DAYS = ("pai", "philly", "helios", "light, Poisson 30", "medium, Poisson 50", "high, Poisson 80")
PARTS = ("40 tasks", "100 tasks", "200 tasks")


def figures() -> pd.DataFrame:
    """The means of the committed run; exact figures are text."""
    return pd.read_csv(PAPER, dtype=str, keep_default_na=False)


def _cell(
    rows: pd.DataFrame, plots: Sequence[str], group: str, algorithm: str, told: Callable[[pd.Series], str]
) -> str:
    names = [f"{plot}: {group}" for plot in plots]
    found = rows[rows["plot"].isin(plots) & rows["group"].isin(names) & (rows["algorithm"] == algorithm)]
    return told(found.iloc[0]) if len(found) and found.iloc[0]["mean_lower"] else "-"


def _welfare(row: pd.Series) -> str:
    """Millions of micro-dollars: the mean, and half of its 95 % interval."""
    mean = (Fraction(row["mean_lower"]) + Fraction(row["mean_upper"])) / 2
    half = (float(row["high"]) - float(row["low"])) / 2
    return f"{float(mean) / 1e6:.2f} ± {half / 1e6:.2f}"


def _ratio(row: pd.Series) -> str:
    """The upper end of the mean of OPT/ALG, rounded up, and how many cases are unbounded and not in it."""
    unbounded = f" ({row['unbounded']} unbounded)" if int(row["unbounded"]) else ""
    return decimal(Fraction(row["mean_upper"]), 3, up=True) + unbounded


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def welfare(rows: pd.DataFrame) -> str:
    """Figures 7 and 8 as one table in Markdown: mean welfare by day."""
    chosen = rows[rows["plot"].isin(("fig7", "fig8"))]
    lines = [
        [f"{name}{' *' * ('True' in set(part['oracle']))}"]
        + [_cell(chosen, ("fig7", "fig8"), group, str(name), _welfare) for group in DAYS]
        for name, part in chosen.groupby("algorithm", sort=False)
    ]
    return _table(["algorithm", *(group.rpartition(", ")[2] for group in DAYS)], lines)


def ratios(rows: pd.DataFrame) -> str:
    """Figure 12 as a table in Markdown: mean of OPT/ALG by instances."""
    chosen = rows[rows["plot"] == "fig12"]
    groups = (*PARTS, *DAYS)
    lines = [
        [f"{name}{' *' * ('True' in set(part['oracle']))}"]
        + [_cell(chosen, ("fig12",), group, str(name), _ratio) for group in groups]
        for name, part in chosen.groupby("algorithm", sort=False)
    ]
    return _table(["algorithm", *(group.rpartition(", ")[2] for group in groups)], lines)


if __name__ == "__main__":
    print(welfare(figures()))
    print(ratios(figures()))
