"""OPT of the days of `paper` and `mechanisms` from their committed exact means: some rows are run without a solver.

A committed table has no rows of single days, but exact means over the five days of a group. Of n days with ends
[L_j, U_j] and an algorithm that earns w_j on day j, the mean of OPT/ALG is that of L_j / w_j and of U_j / w_j, the part
reached that of w_j / U_j: linear in the unknowns. Five algorithms that are played again give them; whole numbers, and
the other equations, show that the days are those of the committed run.

    python -m tools.known_opt SUITE FOLDER            put OPT into the store of the folder, before `run SUITE`
    python -m tools.known_opt SUITE FOLDER --recover  then, of its rows: bench/lora/results/opt.csv

The committed table of `guards` and `learning` has the interval of every case: it is taken from there.

Where nothing is known yet OPT is put in as [0, what all bids are worth]: true, and of use for no table but welfare.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import find_suite
from ratiobench.bench.family.suite import Case
from ratiobench.bench.storage.payload import report_payload
from ratiobench.bench.storage.store import STORE, Store, StoredResult
from ratiobench.formulations.report import Proof, SolveReport, Status, Termination
from ratiobench.instances.io.files import make_folder
from ratiobench.online.lora.public_constants import list_served
from tools.readme_tables import MECHANISMS, PAPER, figures

OPT = PAPER.with_name("opt.csv")  # Per instance, by the SHA-256 of its content, the interval on OPT
# Algorithms that are played in seconds, of which the committed tables have means
PLAYED = ("greedy", "eft", "ntm", "eft:admit=all", "ntm:admit=all", "pdftsp", "posted:prior=yesterday,margin=3/2",
          "capped:prior=yesterday", "bbar-rule:prior=yesterday")  # fmt: skip


def solve_linear(rows: Sequence[Sequence[Fraction]], right: Sequence[Fraction]) -> list[Fraction]:
    """The one solution of more equations than unknowns, in fractions."""
    table = [[*row, value] for row, value in zip(rows, right, strict=True)]
    unknowns = len(rows[0])
    for j in range(unknowns):
        pivot = next((i for i in range(j, len(table)) if table[i][j]), None)
        if pivot is None:
            raise ValueError("more than one solution")
        table[j], table[pivot] = table[pivot], table[j]
        table[j] = [value / table[j][j] for value in table[j]]
        for i in range(len(table)):
            if i != j and table[i][j]:
                table[i] = [a - table[i][j] * b for a, b in zip(table[i], table[j], strict=True)]
    if any(row[-1] for row in table[unknowns:]):
        raise ValueError("no solution: the figures are not of these days")
    return [table[j][-1] for j in range(unknowns)]


def _whole(values: Sequence[Fraction]) -> list[int]:
    if any(value.denominator != 1 or value <= 0 for value in values):
        raise ValueError("no whole numbers: the figures are not of these days")
    return [int(value) for value in values]


def from_ratios(means: pd.DataFrame, welfare: Mapping[str, Sequence[int]], end: str) -> list[int]:
    """One end of OPT of every day of a group.

    `end`: ``lower`` or ``upper``.
    """
    rows, right = [], []
    for line in means.to_dict("records"):
        earned = welfare.get(line["algorithm"])
        if earned is not None and line["unbounded"] == line["left_out"] == "0":
            rows.append([Fraction(1, each) for each in earned])
            right.append(Fraction(line[f"mean_{end}"]) * len(earned))
    return _whole(solve_linear(rows, right))


def from_reached(means: pd.DataFrame, welfare: Mapping[str, Sequence[int]]) -> list[int]:
    """The upper end of OPT of every day of a group, from the lines of the kind `reached`."""
    rows, right = [], []
    for line in means.to_dict("records"):
        earned = welfare.get(line["algorithm"])
        if earned is not None:
            rows.append([Fraction(each) for each in earned])
            right.append(Fraction(line["mean_lower"]) * len(earned))
    return _whole([1 / value for value in solve_linear(rows, right)])


def recover(suite: str, folder: Path) -> pd.DataFrame:
    """The intervals of the days that a run of `PLAYED` in the folder has, group by group.

    Where the table has the upper end alone, the lower one is the most that any of the played algorithms earned.
    """
    rows = figures(folder / "results.csv")
    committed = figures(PAPER if suite == "paper" else MECHANISMS)
    kind = "ratio" if suite == "paper" else "reached"
    committed = committed[committed["kind"] == kind]
    found = []
    for group, lines in committed.groupby("group", sort=False):
        mine = rows[(rows["group"] == group) & rows["algorithm"].isin(PLAYED) & (rows["state"] == "ok")]
        cases = list(dict.fromkeys(mine["case"]))
        if not cases or (kind == "reached" and set(lines["plot"]) == {"leaderboard"}):
            continue
        table = mine.pivot_table(index="algorithm", columns="case", values="welfare", aggfunc="first")[cases]
        welfare = {str(name): [int(each) for each in row] for name, *row in table.dropna().itertuples()}
        if kind == "ratio":
            lower, upper = (from_ratios(lines, welfare, end) for end in ("lower", "upper"))
        else:
            upper = from_reached(lines, welfare)
            lower = [max(row[j] for row in welfare.values()) for j in range(len(cases))]
        instances = dict(zip(mine["case"], mine["instance"], strict=True))
        for case, low, high in zip(cases, lower, upper, strict=True):
            assert low <= high
            found.append({"instance": instances[case], "case": f"{suite}, {case}", "lower": low, "upper": high})
    return pd.DataFrame(found)


def _pieces(suite: str) -> Iterator[StoredResult]:
    family, chosen = find_suite(suite)
    known: dict[str, Mapping[Any, str]] = (
        {row["instance"]: row for row in figures(OPT).to_dict("records")} if OPT.exists() else {}
    )
    rows = committed_intervals(suite)
    made: dict[str, StoredResult] = {}
    for case in chosen.cases:
        content = json.dumps({key: value for key, value in case.recipe.items() if key != "name"}, sort_keys=True)
        if content in made:
            continue
        made[content] = _piece(family, case, known, rows)
        yield made[content]


def committed_intervals(suite: str) -> dict[str, tuple[int, int]]:
    """OPT's interval of each case in the committed table of a suite; empty if the table has no rows of cases."""
    file = PAPER.with_name(f"{suite}.csv")
    table = figures(file) if file.exists() else pd.DataFrame()
    if not {"case", "opt_lower", "opt_upper"} <= set(table.columns):
        return {}
    return {row["case"]: (int(row["opt_lower"]), int(row["opt_upper"])) for row in table.to_dict("records")}


def _piece(
    family: Family, case: Case, known: Mapping[str, Mapping[Any, str]], rows: Mapping[str, tuple[int, int]]
) -> StoredResult:
    instance = family.generate(case.recipe)
    identity = family.identity(instance)
    row = known.get(identity)
    trivial = row is None and case.name not in rows
    if row is not None:
        lower, upper = int(row["lower"]), int(row["upper"])
    elif trivial:
        lower, upper = 0, sum(each.worth for each in list_served(instance))
    else:
        lower, upper = rows[case.name]
    status = Status.OPTIMAL if lower == upper else Status.INTERVAL
    nothing = (None,) * instance.tasks
    told = "what all bids are worth" if trivial else f"from the committed figures of {case.name}"
    report = SolveReport(
        status, lower, upper, nothing, Proof.TRIVIAL if trivial else Proof.LAGRANGIAN, "auto", "none",
        Termination.NONE, False, 0.0, message=told,
    )  # fmt: skip
    document = json.dumps(family.solution_document(nothing)).encode()
    return StoredResult(
        "opt", identity, family.solve_key(case.solve), True, report_payload(report), gzip.compress(document, mtime=0)
    )


def seed(suite: str, folder: Path) -> None:
    """Put OPT of all cases of a suite into the store of a folder."""
    with Store.open(make_folder(folder) / STORE) as store:
        for piece in _pieces(suite):
            store.put(piece)


if __name__ == "__main__":
    name, place = sys.argv[1], Path(sys.argv[2])
    if sys.argv[3:] == ["--recover"]:
        new = recover(name, place)
        old = figures(OPT) if OPT.exists() else new.iloc[:0]
        both = pd.concat([old, new.astype(str)]).drop_duplicates("instance", keep="last")
        both.to_csv(OPT, index=False, lineterminator="\n")
    else:
        seed(name, place)
