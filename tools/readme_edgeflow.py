"""The tables and pictures of docs/results/edgeflow.md, from committed figures.

`python -m tools.readme_edgeflow` writes the tables into the file. With FOLDERS behind it, it first takes what
they need from the results of `run SUITE` in each folder and writes it to bench/edgeflow/results, with the verdicts and
the provenance, and draws the time line of `PICTURED`.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

from ratiobench.bench.edgeflow.evaluation import timeline
from ratiobench.bench.edgeflow.suites import (
    _SERVERS,
    _TIGHT,
    ABLATION,
    ALGORITHMS,
    BASELINES,
    OPTIONS,
    PUBLISHED_RATIOS,
    READINGS,
    STALLS,
    TIMES,
    published_group,
    tightness,
)
from ratiobench.bench.family.registry import find_suite
from ratiobench.bench.report.timeline import draw_timeline
from ratiobench.bench.results.ratios import format_decimal
from ratiobench.instances.edgeflow.generate import generate
from ratiobench.online.edgeflow.run import run
from tools.readme_tables import ROOT, figures, make_table, write_tables

RESULTS = ROOT / "bench" / "edgeflow" / "results"
README = "docs/results/edgeflow.md"
POLICIES = "docs/studies/hold.md"
KEPT = ("case", "group", "algorithm", "state", "opt_lower", "opt_upper", "welfare", "satisfied", "moves", "crossings")
ROUNDED = ("stalled_s", "gpu_use", "well_used")
CLAIMS = ("claim", "standing", "holds", "violated", "undecided", "not_applicable", "violated_by")
# The groups whose cloud and edge have the sizes behind the paper's factors, which are of both its traces
PRINTED_TIMES = ("64 + 8", "210 jobs", "1,114 jobs", "2,757 jobs")
SEEN = ("day 0",)  # Days of trace 1 on which options of `hold` were chosen
PICTURED = ("edgeflow-trace1", "32 + 4, day 0", "hold")
# The suites in which every case has all readings of ElasticFlow's admission
WITH_READINGS = ("edgeflow-trace1", "edgeflow-philly", "edgeflow-load", "edgeflow-named")
Row = Mapping[Any, Any]


def take(folder: Path) -> None:
    """Keep the rows of a run, its verdicts, its provenance, and its figure over the load if it has one."""
    RESULTS.mkdir(exist_ok=True)
    suite = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))["suite"]
    rows = figures(folder / "results.csv")
    for name in ROUNDED:
        rows[name] = [text and format_decimal(Fraction(text), 4, up=False) for text in rows[name]]
    rows[[*KEPT, *ROUNDED]].to_csv(RESULTS / f"{suite}.csv", index=False, lineterminator="\n")
    figures(folder / "claims.csv")[list(CLAIMS)].to_csv(
        RESULTS / f"{suite}_claims.csv", index=False, lineterminator="\n"
    )
    shutil.copyfile(folder / "provenance.json", RESULTS / f"{suite}_provenance.json")


def draw() -> None:
    """GPUs in use over time with the edge windows, of one run."""
    suite, name, algorithm = PICTURED
    [case] = [case for case in find_suite(suite)[1].cases if case.name == name]
    instance = generate(case.recipe)
    draw_timeline(timeline(instance, run(instance, algorithm)))[0].save(RESULTS / "timeline.svg")


def _rows(suite: str) -> pd.DataFrame:
    return figures(RESULTS / f"{suite}.csv")


def _of(suite: str) -> dict[str, dict[str, list[Row]]]:
    """The rows by group and algorithm, in their order."""
    found: dict[str, dict[str, list[Row]]] = {}
    for row in _rows(suite).to_dict("records"):
        found.setdefault(row["group"], {}).setdefault(row["algorithm"], []).append(row)
    return found


def _mean(values: list[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def _met(row: Row) -> Fraction:
    return Fraction(row["welfare"])


def _jobs(row: Row) -> Fraction:
    """How many jobs the case has; of a run that met none it is not said."""
    return _met(row) / Fraction(row["satisfied"]) if _met(row) else Fraction(0)


def _reached(row: Row) -> Fraction:
    return _met(row) / Fraction(row["opt_upper"])


def _short(value: Fraction, *, up: bool = False, places: int = 3) -> str:
    text = format_decimal(value, places, up=up)
    return text.removeprefix("0") if text.startswith("0.") else text


def _near(value: Fraction, places: int = 3) -> str:
    """The nearest decimal: of figures that bound nothing, or are compared with a printed one."""
    return f"{float(value):.{places}f}".removeprefix("0")


def _upper(rows: Mapping[str, list[Row]]) -> list[Fraction]:
    """The certified bound of each case as a part of its jobs."""
    every = [row for each in rows.values() for row in each]
    jobs = {row["case"]: _jobs(row) for row in every if _met(row)}
    return [Fraction(row["opt_upper"]) / jobs[row["case"]] for row in next(iter(rows.values()))]


def policies(suite: str, algorithms: tuple[str, ...]) -> str:
    """Means over the cases of a group: the part of the jobs met, and of the certified bound, the worst case beside."""
    groups = _of(suite)
    lines = []
    for name in algorithms:
        cells = []
        for rows in groups.values():
            each = rows[name]
            part = _mean([Fraction(row["satisfied"] or 0) for row in each])
            reached = [_reached(row) for row in each]
            worst = f" ({_short(min(reached))})" if len(reached) > 1 else ""
            cells.append(f"{_near(part)}, {_short(_mean(reached))}{worst}")
        lines.append([f"`{name}`", *cells])
    cells = [_short(_mean(_upper(rows)), up=True) for rows in groups.values()]
    lines.append(["certified bound", *cells])
    return make_table(["policy", *groups], lines)


def trace1() -> str:
    """Figure 4(a)."""
    return policies("edgeflow-trace1", ALGORITHMS)


def philly() -> str:
    """Figure 4(b)."""
    return policies("edgeflow-philly", ALGORITHMS)


def times() -> str:
    """How many times as many deadlines as each baseline EdgeFlow meets here, and any scheduler at most."""
    groups = {**_of("edgeflow-trace1"), **_of("edgeflow-philly")}
    lines = []
    factors: list[list[Fraction]] = [[] for _ in groups]
    for name in BASELINES:
        cells = []
        for found, rows in zip(factors, groups.values(), strict=True):
            theirs = sum(map(_met, rows[name]), Fraction(0))
            ours = sum(map(_met, rows["edgeflow"]), Fraction(0)) / theirs
            bound = sum((Fraction(row["opt_upper"]) for row in rows[name]), Fraction(0)) / theirs
            found.append(ours)
            cells.append(f"{float(ours):.2f} (at most {format_decimal(bound, 2, up=True)})")
        lines.append([f"`{name}`", *cells])
    spans = [f"{float(min(found)):.2f} to {float(max(found)):.2f}" for found in factors]
    lines.append(["least to most", *spans])
    printed = f"{TIMES[0]} to {TIMES[1]}"
    lines.append(["printed, other jobs", *(printed if name in PRINTED_TIMES else "" for name in groups)])
    return make_table(["EdgeFlow's deadlines over those of", *groups], lines)


def unseen() -> str:
    """Trace 1 on all days, and on those on which no option of `hold` was chosen: the part of the certified bound."""
    groups = _of("edgeflow-trace1")
    lines = []
    for name in ("afs", *READINGS, "hold"):
        cells = []
        for rows in groups.values():
            fresh = [_reached(row) for row in rows[name] if not row["case"].endswith(SEEN)]
            cells.append(f"{_short(_mean([_reached(row) for row in rows[name]]))}, {_short(_mean(fresh))}")
        lines.append([f"`{name}`", *cells])
    return make_table(["policy", *(f"{group}: all days, days 5 to 20" for group in groups)], lines)


def ablation() -> str:
    """Figure 5: jobs met, and changes of side per job."""
    groups = _of("edgeflow-ablation")
    lines = []
    for name in ABLATION:
        cells = []
        for rows in groups.values():
            met, crossings = (_mean([Fraction(row[key]) for row in rows[name]]) for key in ("welfare", "crossings"))
            cells.append(f"{_short(met, places=1)}, {_near(crossings, 2) if crossings else 0}")
        lines.append([f"`{name}`", *cells])
    return make_table(["policy", *(f"{group}: met, crossings" for group in groups)], lines)


def published() -> str:
    """Printed ratios, ours by reading, and the certified bound."""
    groups = _of("elasticflow-published")
    lines = []
    for policy, readings in OPTIONS.items():
        lines.append(
            [
                f"{policy}, printed",
                *(PUBLISHED_RATIOS[trace].get(policy, "-").removeprefix("0") for trace in PUBLISHED_RATIOS),
            ]
        )
        for name in readings:
            cells = [
                _near(Fraction(groups[published_group(trace)][name][0]["satisfied"])) for trace in PUBLISHED_RATIOS
            ]
            lines.append([f"`{name}`", *cells])
        slow = [groups[published_group(trace, STALLS)][readings[-1]][0]["satisfied"] for trace in PUBLISHED_RATIOS]
        lines.append([f"the same, stalls of {STALLS} s", *(_near(Fraction(each)) for each in slow)])
    bounds = [_short(_upper(groups[published_group(trace)])[0], up=True) for trace in PUBLISHED_RATIOS]
    lines.append(["**certified bound**", *bounds])
    return make_table(["", *(published_group(trace) for trace in PUBLISHED_RATIOS)], lines)


def edge() -> str:
    """What edge servers are worth, certified, and what policies make of them."""
    groups = _of("edgeflow-edge")
    algorithms = list(next(iter(groups.values())))
    lines = []
    for span in _TIGHT:
        named = {servers: groups[f"{tightness(span)}, {servers} servers"] for servers in _SERVERS}
        least = max(int(rows[0]["opt_lower"]) for rows in named[0].values())
        for servers, rows in named.items():
            one = next(iter(rows.values()))[0]
            worth = str(max(0, int(one["opt_upper"]) - least)) if servers else "-"
            met = [rows[name][0]["welfare"] for name in algorithms]
            bounds = f"{one['opt_lower']} to {one['opt_upper']}"
            lines.append([tightness(span) if not servers else "", str(servers), bounds, worth, *met])
    head = ["deadlines after", "servers", "OPT", "worth at most", *(f"`{name}`" for name in algorithms)]
    return make_table(head, lines)


def load() -> str:
    """Jobs met of the testbed trace by the size of the cloud."""
    groups = _of("edgeflow-load")
    algorithms = list(next(iter(groups.values())))
    lines = []
    for group, rows in groups.items():
        one = rows[algorithms[0]][0]
        lines.append([group, f"{one['opt_lower']} to {one['opt_upper']}", *(rows[n][0]["welfare"] for n in algorithms)])
    return make_table(["", "OPT", *(f"`{name}`" for name in algorithms)], lines)


def slots() -> str:
    """Jobs met of the testbed trace by the length of a slot."""
    groups = _of("edgeflow-slots")
    algorithms = list(next(iter(groups.values())))
    lines = [[f"`{name}`", *(rows[name][0]["welfare"] for rows in groups.values())] for name in algorithms]
    return make_table(["policy", *groups], lines)


def claims() -> str:
    """In how many runs of all suites each claim holds, falls, or is not decided."""
    counts: dict[str, list[int]] = {}
    for file in sorted(RESULTS.glob("*_claims.csv")):
        for row in figures(file).to_dict("records"):
            found = counts.setdefault(row["claim"], [0, 0, 0])
            for j, key in enumerate(("holds", "violated", "undecided")):
                found[j] += int(row[key])
    lines = [[f"`{name}`", *map(str, found)] for name, found in counts.items()]
    return make_table(["claim", "holds", "violated", "undecided"], lines)


def readings() -> str:
    """In how many cases each claim on ElasticFlow is violated, by the reading of its admission."""
    counts = {claim: dict.fromkeys(READINGS, 0) for claim in ("for_good", "guarantee", "aware")}
    for suite in WITH_READINGS:
        for row in figures(RESULTS / f"{suite}_claims.csv").to_dict("records"):
            for name, count in re.findall(r"(\S+) (\d+) of \d+", row["violated_by"]):
                if row["claim"] in counts and name in READINGS:
                    counts[row["claim"]][name] += int(count)
    cases = sum(len(find_suite(suite)[1].cases) for suite in WITH_READINGS)
    lines = [[f"`{name}`", *(str(found[name]) for found in counts.values())] for name in READINGS]
    return make_table([f"violated, of {cases} cases", *(f"`{claim}`" for claim in counts)], lines)


# Where each table stands, and what makes it
TABLES: Mapping[tuple[str, str], Callable[[], str]] = {
    (README, "trace 1"): trace1,
    (README, "philly"): philly,
    (README, "ablation"): ablation,
    (README, "times"): times,
    (POLICIES, "unseen days"): unseen,
    (README, "published"): published,
    (README, "edge"): edge,
    (README, "load"): load,
    (README, "slots"): slots,
    (README, "claims"): claims,
    (README, "readings"): readings,
}
# The suite behind a table, where that is not `edgeflow-` and its name
SUITES = {
    "published": "elasticflow-published",
    **dict.fromkeys(("trace 1", "times", "unseen days", "claims", "readings"), "edgeflow-trace1"),
}


def _is_known(table: str) -> bool:
    return (RESULTS / f"{SUITES.get(table, f'edgeflow-{table}')}.csv").exists()


if __name__ == "__main__":
    for each in sys.argv[1:]:
        take(Path(each))
    if sys.argv[1:]:
        draw()
    write_tables({key: make for key, make in TABLES.items() if _is_known(key[1])})
