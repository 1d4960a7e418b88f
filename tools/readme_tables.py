"""The tables of docs/results about family `lora` (paper, leaderboard, mechanisms), and that of README.md.

`python -m tools.readme_tables` writes them. Those of `lora` are made from committed figures, the README's from the
stored runs of R1 and a run of its own algorithm. With a FOLDER behind it, it first takes the figures that the tables
need from the results of `run paper`, `run fig10`, `run fig11`, `run mechanisms` or `run leaderboard` in the folder and
writes it to bench/lora/results. Where that run was one of some algorithms (`--rows`), its lines take the place of
theirs, and its provenance stands beside the other.
"""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from operator import truediv
from pathlib import Path
from typing import Any

import pandas as pd

from ratiobench import play
from ratiobench.bench.family.checks import Verdict
from ratiobench.bench.family.registry import find_suite, find_suite_if_any
from ratiobench.bench.family.standard import read_runs, read_set
from ratiobench.bench.family.suite import Plot
from ratiobench.bench.lora.paper_suites import PDFTSP
from ratiobench.bench.report.tables import csv_of
from ratiobench.bench.report.write import list_figures, read_labelled
from ratiobench.bench.results.means import SHOWN
from ratiobench.bench.results.ratios import format_decimal
from ratiobench.bench.running.standard import make_entry
from ratiobench.formulations.report import Proof
from tools import paper_sentences
from tools.paper_sentences import COLUMNS, Means

ROOT = Path(__file__).resolve().parents[1]
PAPER = ROOT / "bench" / "lora" / "results" / "paper.csv"
PRINTED = PAPER.with_name("paper_printed.csv")  # The paper's percentages beside ours, over the same runs
RUNS = PAPER.with_name("paper_runs.csv")  # Welfare run by run of those that the paper compares, where it is known
FIG10, FIG11 = PAPER.with_name("fig10.csv"), PAPER.with_name("fig11.csv")
OPT = "OPT"
MECHANISMS = PAPER.with_name("mechanisms.csv")
VERDICTS = PAPER.with_name("mechanisms_verdicts.csv")
LEADERBOARD = PAPER.with_name("leaderboard.csv")
LOADS = ("0.8", "1.6", "2.5")
# The guarantee of each mechanism that its own runs are checked for; empty where none is proved
GUARANTEES = {
    "pdftsp": "theorem5_repaired",
    "posted": "theorem_a",
    "minimal-edit": "theorem_b",
    "capped": "theorem_c",
    "bbar-rule": "theorem_c",
    "greedy": "theorem_g",
    "learned": "theorem_h",
    "guarded": "theorem_h",
    **dict.fromkeys(("zcl", "reserve", "advice"), "theorem_p"),
    "units": "theorem_a1",
    "static": "theorem_s",
    "mirror": "",
}
DAYS = ("pai", "philly", "helios", "light, Poisson 30", "medium, Poisson 50", "high, Poisson 80")
PARTS = ("40 tasks", "100 tasks", "200 tasks")
COMPARED = (("fig8", "high, Poisson 80"), ("fig4", "50 nodes"))


def figures(file: Path = PAPER) -> pd.DataFrame:
    """The means of a committed run; exact figures are text."""
    return pd.read_csv(file, dtype=str, keep_default_na=False)


def figure_data(folder: Path, name: str) -> pd.DataFrame:
    """The rows of all figures of a run: ``means``, ``printed``, ``leaderboard`` or ``studies``; figures are text."""
    results, family = read_labelled(folder)
    frames = [figure.frames[name] for figure in list_figures(results, family) if name in figure.frames]
    rows = pd.concat(frames, ignore_index=True).drop(columns=list(SHOWN), errors="ignore")
    return pd.read_csv(io.BytesIO(csv_of(rows)), dtype=str, keep_default_na=False)


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
    return format_decimal(Fraction(row["mean_upper"]), 3, up=True) + unbounded


def make_table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
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
    return make_table(["algorithm", *(group.rpartition(", ")[2] for group in DAYS)], lines)


def ratios(rows: pd.DataFrame) -> str:
    """Figure 12 as a table in Markdown: mean of OPT/ALG by instances."""
    chosen = rows[rows["plot"] == "fig12"]
    groups = (*PARTS, *DAYS)
    lines = [
        [f"{name}{' *' * ('True' in set(part['oracle']))}"]
        + [_cell(chosen, ("fig12",), group, str(name), _ratio) for group in groups]
        for name, part in chosen.groupby("algorithm", sort=False)
    ]
    return make_table(["algorithm", *(group.rpartition(", ")[2] for group in groups)], lines)


def printed(rows: pd.DataFrame) -> str:
    """By how many percent each form of pdFTSP is above each of the others, beside the paper's figure, in Markdown."""
    named = {(row["plot"], row["group"], row["algorithm"], row["than"]): row for row in rows.to_dict("records")}
    ours = list(dict.fromkeys(rows["algorithm"]))

    def cell(plot: str, group: str, name: str, than: str) -> str:
        row = named.get((plot, f"{plot}: {group}", name, than))
        if row is None or not row["percent"]:
            return "-"
        interval = f" ({float(row['low']):.0f} to {float(row['high']):.0f})" if row["low"] else ""
        return f"{float(Fraction(row['percent'])):.0f}{interval}"

    lines = [
        [than]
        + [
            text
            for plot, group in COMPARED
            for text in (
                named[plot, f"{plot}: {group}", ours[0], than]["paper_percent"],
                *(cell(plot, group, name, than) for name in ours),
            )
        ]
        for than in dict.fromkeys(rows["than"])
    ]
    head = [text for _, group in COMPARED for text in (f"{group.rpartition(', ')[2]}: paper", *ours)]
    return make_table(["above", *head], lines)


def others(rows: pd.DataFrame) -> str:
    """Figures 4, 5, 6 and 9 as one table in Markdown: mean welfare in millions of micro-dollars."""
    plots = ("fig4", "fig5", "fig6", "fig9")
    chosen = rows[rows["plot"].isin(plots)]
    columns = [(plot, group) for plot in plots for group in COLUMNS[plot]]

    def mean(row: pd.Series) -> str:
        return f"{float(Fraction(row['mean_lower']) + Fraction(row['mean_upper'])) / 2e6:.2f}"

    lines = [
        [f"{name}{' *' * ('True' in set(part['oracle']))}"]
        + [_cell(chosen, (plot,), group, str(name), mean) for plot, group in columns]
        for name, part in chosen.groupby("algorithm", sort=False)
    ]
    return make_table(["algorithm", *(group.replace("1 vendors", "1 vendor") for _, group in columns)], lines)


def times(rows: pd.DataFrame) -> str:
    """Figure 13 as a table in Markdown: milliseconds per task."""
    chosen = rows[rows["plot"] == "fig13"]
    lines = [
        [str(name), *(_cell(chosen, ("fig13",), group, str(name), _milliseconds) for group in COLUMNS["fig13"])]
        for name in dict.fromkeys(chosen["algorithm"])
    ]
    return make_table(["algorithm", *COLUMNS["fig13"]], lines)


def _milliseconds(row: pd.Series) -> str:
    return f"{1000 * float(row['mean_lower']):.2f}"


def _rule(algorithm: str) -> str:
    search = "Algorithm 2" if "search=printed" in algorithm else "exact search"
    return f"{search}, {'b - F' if 'payment=critical' in algorithm else '(14)'}"


def bids(rows: pd.DataFrame) -> str:
    """Figure 10 as a table in Markdown: per bidder and rule what it pays and gains from which bid on."""
    lines = []
    for (task, name), part in rows.groupby(["task", "algorithm"], sort=False):
        [won] = [row for row in part.to_dict("records") if row["admitted"] == "true"]
        value = int(won["valuation"])
        truthful = won["bid_from"] and Fraction(won["bid_from"]) < value
        utility = Fraction(won["utility_from"])
        best = "any bid that wins, the valuation too" if truthful else "its valuation, or less"
        if not truthful and utility > 0:
            best = "a bid above its valuation"
        figures_ = (won["bid_from"], won["payment_from"], won["utility_from"])
        lines.append(
            [str(task), str(value), _rule(str(name)), *(f"{float(Fraction(each)):.0f}" for each in figures_), best]
        )
    head = ["task", "valuation", "rule", "wins with a bid above", "then pays", "and gains", "best for it"]
    return make_table(head, sorted(lines, key=lambda line: int(line[0])))


def charges(rows: pd.DataFrame) -> str:
    """Figure 11 as a table in Markdown: what the admitted bid and pay, and what they cost the provider."""
    names = list(dict.fromkeys(rows["algorithm"]))
    by_task = {(row["task"], row["algorithm"]): row for row in rows.to_dict("records")}
    lines = []
    for task in sorted(set(rows["task"]), key=int):
        found = [by_task.get((task, name)) for name in names]
        bid = next(row["bid"] for row in found if row)
        cells = [
            text
            for row in found
            for text in ((f"{float(Fraction(row['payment'])):.0f}", row["outlay"]) if row else ("-", "-"))
        ]
        lines.append([task, bid, *cells])
    head = [text for name in names for text in (f"pays: {_rule(name)}", "costs")]
    return make_table(["task", "bid", *head], lines)


def read_means() -> Means:
    """The committed means, and the runs behind some of them."""
    ends = {}
    for row in figures(PAPER).to_dict("records"):
        figure, _, column = row["group"].partition(": ")
        if row["plot"] == figure and row["mean_lower"]:
            ends[figure, column, row["algorithm"]] = (Fraction(row["mean_lower"]), Fraction(row["mean_upper"]))
    runs: dict[tuple[str, str, str], dict[str, Fraction]] = {}
    for row in figures(RUNS).to_dict("records"):
        figure, _, column = row["group"].partition(": ")
        runs.setdefault((figure, column, row["algorithm"]), {})[row["case"]] = Fraction(row["welfare"])
    return Means(ends, runs)


def outperforms() -> str:
    """Whether pdFTSP earns more than each baseline in every column of Figures 4 to 9, in Markdown."""
    lines = [
        [f"{figure[3:]}: {column}".replace("1 vendors", "1 vendor"), *verdicts]
        for figure, column, verdicts in paper_sentences.judge_outperformance(read_means())
    ]
    names = ("Titan", "EFT as worded", "EFT that rejects", "NTM as worded", "NTM that rejects")
    return make_table(["figure: column", *names], lines)


def sentences() -> str:
    """What the paper says of its figures, and the verdicts, in Markdown."""
    means = read_means()
    lines = []
    for sentence in paper_sentences.SENTENCES:
        found = paper_sentences.judge(sentence, means)
        if sentence.check == "best":
            counts = Counter(found.values())
            text = ", ".join(f"{verdict} in {counts[verdict]} of {len(found)} columns" for verdict in sorted(counts))
        else:
            text = "; ".join(f"{name}: {verdict}" for name, verdict in found.items())
        lines.append([sentence.figure.replace("fig", ""), sentence.words, text or "not run"])
    return make_table(["figure", "the paper", "here"], lines)


def mechanisms(rows: pd.DataFrame, verdicts: pd.DataFrame) -> str:
    """The table of the mechanisms in Markdown: means over the days of a load or over all, and whose theorem holds."""

    def mean(plot: str, name: str, load: str = "") -> str:
        part = rows[(rows["plot"] == f"mechanisms_{plot}") & (rows["algorithm"] == name)]
        chosen = [row for row in part.to_dict("records") if not load or row["group"].endswith(f" {load}")]
        # A group's mean counts as often as it has days with a figure. Rounded to the safe side: less of the bound, a
        # larger certificate.
        end = "mean_lower" if plot == "reached" else "mean_upper"
        ends = [(int(row["cases"]), Fraction(row[end])) for row in chosen if row[end]]
        days = sum(count for count, _ in ends)
        if not days:
            return "-"
        mean = sum((count * value for count, value in ends), Fraction(0)) / days
        without = sum(int(row["left_out"]) for row in chosen)
        return format_decimal(mean, 3, up=plot == "certificate") + (f" ({without} days left out)" if without else "")

    lines = []
    for name in dict.fromkeys(rows["algorithm"]):
        said = verdicts[verdicts["algorithm"] == name].iloc[0]
        held, days, gains = int(said["holds"]), int(said["days"]), int(said["lie_gains"])
        others = f", else {said['else']}" if held < days else ""
        holds = f"{held} of {days}{others} (`{said['claim']}`)" if held or said["else"] else "none is proved"
        truthful = f"{said['truthful']} of {days}" + (f"; a lie gains on {gains}" if gains else "")
        lines.append(
            [str(name), *(mean("reached", name, load) for load in LOADS)]
            + [mean(plot, name) for plot in ("certificate", "revenue_share", "long_fairness")]
            + [holds, truthful]
        )
    head = ["mechanism", *(f"load {LOADS[0]}", *LOADS[1:]), "certificate", "revenue", "long tasks", "theorem holds on"]
    return make_table([*head, "truthful on"], lines)


def leaderboard(rows: pd.DataFrame) -> str:
    """Which algorithm to take, in Markdown: means over the days, by group and of all, and what is known of each."""

    def down(figure: str) -> str:
        return format_decimal(Fraction(figure), 3, up=False) if figure else "-"

    groups = [f"mean in {group}" for group in DAYS]

    def place(row: Mapping[Hashable, str]) -> tuple[bool, Fraction]:
        return "oracle" in row["constants"], -Fraction(row["mean_reached"])

    lines = [
        [row["algorithm"] + " *" * ("oracle" in row["constants"]), down(row["mean_reached"])]
        + [down(row[group]) for group in groups]
        + [format_decimal(Fraction(row["certificate"]), 3, up=True) if row["certificate"] else "-"]
        + [down(row["revenue_share"]), row["truthful"], row["guarantee"].replace("|", "\\|")]
        for row in sorted(rows.to_dict("records"), key=place)
    ]
    head = ["algorithm", "mean", *(group.rpartition(", ")[2] for group in DAYS), "certificate", "revenue"]
    return make_table([*head, "truthful", "guarantee"], lines)


def lead(rows: pd.DataFrame) -> str:
    """The lead of `learned` over all algorithms without learned prices, as a line of Markdown."""
    columns = ["mean_reached", *(f"mean in {group}" for group in DAYS)]
    means = {row["algorithm"]: [Fraction(row[column]) for column in columns] for row in rows.to_dict("records")}
    best = [max(each) for each in zip(*(v for name, v in means.items() if not name.startswith("learned")), strict=True)]
    least = min(100 * (mine - other) for mine, other in zip(means["learned:prior=history"], best, strict=True))
    return (
        "- **Lead.** In each column `learned` is ahead of all algorithms without learned prices, by at least "
        f"{format_decimal(least, 1, up=False)}\n  points.\n"
    )


def runs(suite: str) -> str:
    """The runs of which a suite's figures are committed, in Markdown: rows, date, commit, command."""
    lines = []
    for path in reversed(provenances_of(suite)):
        about = json.loads(path.read_text(encoding="utf-8"))
        rows = ", ".join(f"`{pattern}`" for pattern in about.get("rows", [])) or "all others"
        command = re.sub(r"^python -m bench ", "python -m ratiobench ", about["command"])
        lines.append([rows, about["date"], about["provenance"]["code"]["commit"][:7], f"`{command}`"])
    return make_table(["rows", "date", "commit", "command"], lines)


# How the rows begin that the excerpt of README.md leaves out
RIVALS = ("mirror:prior=yesterday", "greedy", "eft", "pdftsp")  # Whose stored runs the README shows


def shares() -> str:
    """The README's algorithm and others on the parts of R1: the mean share of the bound on OPT that each reaches."""
    chosen = read_set()
    entries = [entry for entry in chosen.entries if entry.tier == "parts"]
    [code] = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    own = play([make_entry(entry)[1] for entry in entries], names["Earliest"])
    assert own["valid"].all()
    stored = read_runs(chosen)
    uppers = [Fraction(entry.best.upper) for entry in entries if entry.best]
    values = {name: [Fraction(stored[entry.name, name].run["welfare"]) for entry in entries] for name in RIVALS}
    oracles = {name for name in RIVALS if stored[entries[0].name, name].is_oracle}
    values["mine:Earliest"] = [Fraction(value) for value in own["value_exact"]]
    means = {name: sum(map(truediv, found, uppers), Fraction(0)) / len(entries) for name, found in values.items()}
    rows = [
        [name + " *" * (name in oracles), f"{format_decimal(100 * mean, 1, up=False)} %"]
        for name, mean in sorted(means.items(), key=lambda item: -item[1])
    ]
    return make_table(["algorithm", "share of OPT"], rows)


# Where each table stands, and what makes it
TABLES: Mapping[tuple[str, str], Callable[[], str]] = {
    ("README.md", "shares"): shares,
    ("docs/results/paper.md", "paper welfare"): lambda: welfare(figures()),
    ("docs/results/paper.md", "paper printed"): lambda: printed(figures(PRINTED)),
    ("docs/results/paper.md", "paper ratios"): lambda: ratios(figures()),
    ("docs/results/paper.md", "paper others"): lambda: others(figures()),
    ("docs/results/paper.md", "paper times"): lambda: times(figures()),
    ("docs/results/paper.md", "paper bids"): lambda: bids(figures(FIG10)),
    ("docs/results/paper.md", "paper charges"): lambda: charges(figures(FIG11)),
    ("docs/results/paper.md", "paper outperforms"): outperforms,
    ("docs/results/paper.md", "paper sentences"): sentences,
    ("docs/results/leaderboard.md", "leaderboard"): lambda: leaderboard(figures(LEADERBOARD)),
    ("docs/results/leaderboard.md", "leaderboard lead"): lambda: lead(figures(LEADERBOARD)),
    ("docs/results/leaderboard.md", "leaderboard runs"): lambda: runs("leaderboard"),
    ("docs/results/mechanisms.md", "mechanisms"): lambda: mechanisms(figures(MECHANISMS), figures(VERDICTS)),
}


def block(file: str, name: str) -> str:
    """What stands in a file between the marks of a table."""
    text = (ROOT / file).read_text(encoding="utf-8")
    [found] = re.findall(rf"<!-- {name}: begin -->\n(.*?)<!-- {name}: end -->", text, flags=re.DOTALL)
    return str(found)


def write_tables(tables: Mapping[tuple[str, str], Callable[[], str]]) -> None:
    """Put every table in its place."""
    for (file, name), made in tables.items():
        path = ROOT / file
        before, found, after = path.read_text(encoding="utf-8").partition(f"<!-- {name}: begin -->\n")
        rest = after.partition(f"<!-- {name}: end -->")
        path.write_text("".join((before, found, made(), *rest[1:])), encoding="utf-8")


def provenances_of(suite: str) -> list[Path]:
    """Where the runs of a suite are told that the committed figures are of, the latest first.

    SUITE_provenance.json is of all its rows, SUITE_rows_provenance.json, SUITE_rows2_provenance.json and so on of later
    runs of some algorithms.
    """
    whole = PAPER.with_name(f"{suite}_provenance.json")
    parts = [path for k in range(1, 10) if (path := _part_of(suite, k)).exists()]
    return [*reversed(parts), *filter(Path.exists, [whole])]


def _part_of(suite: str, k: int) -> Path:
    return PAPER.with_name(f"{suite}_rows{k if k > 1 else ''}_provenance.json")


def _keep_provenance(folder: Path) -> None:
    """Of a run of some algorithms beside the others, in the place of one of the same rows; of a whole one alone."""
    about = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    suite, rows = about["suite"], about.get("rows")
    kept = PAPER.with_name(f"{suite}_provenance.json")
    if not rows:
        for part in provenances_of(suite):
            part.unlink()
    else:
        places = [_part_of(suite, k) for k in range(1, 10)]
        told = [json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else rows for path in places]
        kept = places[told.index(rows)]
    shutil.copyfile(folder / "provenance.json", kept)


def take(folder: Path, made: Mapping[Path, pd.DataFrame]) -> None:
    """Write tables of a run, and its provenance; of a run of some algorithms their lines, in the place of the old ones.

    Lines of algorithms that the suite has and the table has not yet stand where the suite has them.
    """
    about = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    part = bool(about.get("rows"))
    suite = find_suite_if_any(about)
    names = list(dict.fromkeys(name for case in suite.cases for name in case.algorithms)) if suite else []
    for file, new in made.items():
        keys = [name for name in ("plot", "group", "algorithm") if name in new]
        table = new.astype(str).set_index(keys)
        if part:
            old = figures(file).set_index(keys)
            known = old.index.get_level_values("algorithm")
            added = table[~table.index.get_level_values("algorithm").isin(known)]
            mine = old.index[known.isin(table.index.get_level_values("algorithm"))]
            foreign = set(added.index.get_level_values("algorithm")) - set(names)
            if foreign or set(table.index) != {*mine, *added.index} or list(table) != list(old):
                raise ValueError(f"{file.name}: other lines or columns than those of the run")
            old.loc[mine] = table.loc[mine]
            table = old
            if len(added):
                table = pd.concat([old, added]).reset_index()
                places = {name: k for k, name in enumerate(names)}
                heads = {key: k for k, key in enumerate(dict.fromkeys(_heads(table, keys)))}
                pairs = zip(_heads(table, keys), table["algorithm"], strict=True)
                order = pd.Series([(heads[head], places[name]) for head, name in pairs], index=table.index)
                table = table.loc[order.sort_values(kind="stable").index]
                table = table.set_index(keys)
        table.reset_index().to_csv(file, index=False, lineterminator="\n")
    _keep_provenance(folder)


def _heads(table: pd.DataFrame, keys: Sequence[str]) -> list[tuple[str, ...]]:
    """What stands before the algorithm in a line's key."""
    rows = table[[key for key in keys if key != "algorithm"]].to_dict("records")
    return [tuple(map(str, row.values())) for row in rows]


def take_mechanisms(folder: Path) -> None:
    """The figures of a run of `mechanisms`, the count of its verdicts, and its provenance."""
    lines = []
    for name, part in figures(folder / "results.csv").groupby("algorithm", sort=False):
        claim = GUARANTEES[str(name).partition(":")[0]]
        verdicts = part[claim] if claim else pd.Series(Verdict.NOT_APPLICABLE.value, index=part.index)
        counts = {verdict.value: int((verdicts == verdict.value).sum()) for verdict in Verdict}
        reasons = part.loc[verdicts == Verdict.NOT_APPLICABLE.value, f"{claim}_reason"] if claim else ()
        why = Counter(re.sub(r"^task \d+", "a task", re.split(r":| \(| = ", reason)[0]) for reason in reasons)
        asked = part[
            ["theorem3", "theorem3_types"] if claim == "theorem5_repaired" else ["truthful_bid", "truthful_type"]
        ]
        lines.append(
            {"algorithm": name, "claim": claim, "days": len(part), **counts}
            | {"else": "; ".join(f"{reason} ({count})" for reason, count in why.most_common())}
            | {"truthful": int((asked == Verdict.HOLDS.value).all(axis=1).sum())}
            | {"lie_gains": int((asked == Verdict.VIOLATED.value).any(axis=1).sum())}
        )
    take(folder, {MECHANISMS: figure_data(folder, "means"), VERDICTS: pd.DataFrame(lines)})


def take_leaderboard(folder: Path) -> None:
    """The table of a run of `leaderboard`, with means of certificate and revenue over welfare, and its provenance."""
    board = figure_data(folder, "leaderboard")
    runs = figures(folder / "results.csv").groupby("algorithm")
    for column in ("certificate", "revenue_share"):
        means = {}
        for name, part in runs:
            found = [Fraction(each) for each in part[column] if each]
            means[name] = str(sum(found, Fraction(0)) / len(found)) if len(found) == len(part) else ""
        board[column] = [means[name] for name in board["algorithm"]]
    # By the clock of a machine with other work.
    take(folder, {LEADERBOARD: board.drop(columns="decisions_per_second")})


def _order(plot: Plot, algorithms: Sequence[str]) -> list[str]:
    """Names in the order of a figure's lines; those that are chosen in hindsight stand behind the first of theirs."""
    found = [OPT, *algorithms]
    for label, names in plot.hindsight:
        found.insert(found.index(names[0]) + 1, label)
    return found


def take_paper(folder: Path) -> None:
    """The means of a run of `paper`; of a run of some algorithms theirs, but for OPT and for what a clock decides.

    Groups of which the run does not know OPT (`tools.known_opt`) have no lines of ratios; in hindsight nobody is
    chosen of whom some were not run. Lines of algorithms that the suite has no more are dropped, but for Figure 13.
    """
    about = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    part = bool(about.get("rows"))
    new, suite = figure_data(folder, "means"), find_suite("paper")[1]
    every = figures(folder / "results.csv")
    results = every[every["state"] == "ok"]
    results = results[results["group"].str.match(r"fig[4-9]: ")]
    runs = results[results["algorithm"].isin((*PDFTSP, *paper_sentences.OTHERS))][
        ["group", "case", "algorithm", "welfare"]
    ]
    if part:
        ran, open_ = set(every["algorithm"]), set(every.loc[every["opt_proof"] == Proof.TRIVIAL, "group"])
        partly = {label for plot in suite.plots for label, names in plot.hindsight if not ran.issuperset(names)}
        new = new[~new["algorithm"].isin({OPT, *partly}) & (new["kind"] != "seconds")]
        new = new[(new["kind"] == "welfare") | ~new["group"].isin(open_)]
        new = pd.concat([figures(PAPER), new]).drop_duplicates(["plot", "group", "algorithm"], keep="last")
        old = [figures(RUNS)] if RUNS.exists() else []
        runs = pd.concat([*old, runs]).drop_duplicates(["case", "algorithm"], keep="last")
    places: dict[tuple[str, str, str], int] = {}
    for plot in suite.plots:
        for group in plot.groups:
            run = dict.fromkeys(name for case in suite.cases if case.group == group for name in case.algorithms)
            for name in _order(plot, list(run)):
                places[plot.name, group, name] = len(places)
    keys = list(zip(new["plot"], new["group"], new["algorithm"], strict=True))
    kept = [key in places or key[0] == "fig13" for key in keys]
    at = {key: places.get(key, places[(*key[:2], OPT)] if key[0] == "fig13" else 0) for key in keys}
    table = new[kept].assign(_place=[at[key] for key, keep in zip(keys, kept, strict=True) if keep])
    table = table.sort_values("_place", kind="stable").drop(columns="_place")
    table.to_csv(PAPER, index=False, lineterminator="\n")
    runs.sort_values(["group", "case", "algorithm"]).to_csv(RUNS, index=False, lineterminator="\n")
    means, lines = read_means(), []
    for plot in suite.plots:
        for each in plot.printed:
            column = each.group.partition(": ")[2]
            line = {"plot": plot.name, "group": each.group, "algorithm": each.algorithm, "than": each.than}
            line |= {"paper_percent": each.percent, "cases": "0", "percent": "", "low": "", "high": ""}
            if means.has(plot.name, column, each.algorithm, each.than):
                above = means.above(plot.name, column, each.algorithm, each.than)
                line |= {"cases": above.cases, "percent": above.mean, "low": above.low, "high": above.high}
            lines.append(line)
    pd.DataFrame(lines).to_csv(PRINTED, index=False, lineterminator="\n")
    _keep_provenance(folder)


def take_study(folder: Path) -> None:
    """The table of Figure 10 or 11."""
    suite = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))["suite"]
    figure_data(folder, "studies").to_csv(PAPER.with_name(f"{suite}.csv"), index=False, lineterminator="\n")


TAKERS = {
    "paper": take_paper,
    "fig10": take_study,
    "fig11": take_study,
    "mechanisms": take_mechanisms,
    "leaderboard": take_leaderboard,
}


if __name__ == "__main__":
    if sys.argv[1:]:
        given = Path(sys.argv[1])
        TAKERS[json.loads((given / "provenance.json").read_text(encoding="utf-8"))["suite"]](given)
    write_tables(TABLES)
