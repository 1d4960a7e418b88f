"""Figures by name: the rows of suites, the verdicts of claims, and every number that commands print as JSON."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from tests.golden.case import Case, differences
from tests.golden.commands import ROOT, call, document_of, figures

NAMED = ROOT / "instances" / "lora" / "named"
THEOREM5 = NAMED / "thm5_T5_3tasks.json"
SMALL = NAMED / "tiny_two_types.json"
MONTH = "month:days=12,nodes=2,jobs=300,load=95"
# Cases of the suite `theory` that take half of its time
SMALL_THEORY = ("dp_*", "lemma*", "thm5_T*", "truth_*", "dropped_*", "units_*")
WIDER = Fraction(2, 10_000)  # How much wider than the stored one the interval on OPT may be, as a part of OPT
# Algorithms whose decisions may move, with how far their welfare may
BANDS = {"titan": Fraction(2, 1000), "learned": Fraction(1, 100), "guarded": Fraction(1, 100)}
# Columns that are compared as they are, beside those of measures and claims
PLAIN = ("state", "opt_proof", "welfare", "true_welfare", "revenue", "admitted", "constants_source", "vendors")
# Beginnings of columns that follow from the value of a run and the interval on OPT
OF_OPT = ("ratio", "reached", "behind")
# Columns of names, texts and sums of other columns
LEFT_OUT = (
    "case", "group", "algorithm", "algorithm_key", "label", "reason", "opt", "constants", "arithmetic", "counts",
    "certificate", "profit", "bids",
)  # fmt: skip


def run_suite(folder: Path, suite: str, *options: str) -> Any:
    """The rows of a suite and the verdicts of its claims."""
    answer = call("run", suite, "--out", folder / "out", "--quiet", "--workers", "1", *options)
    if answer.status != 0:
        raise RuntimeError(f"{suite}: status {answer.status}, {answer.err[-400:]}")
    return tables_of(folder / "out")


def tables_of(folder: Path) -> dict[str, Any]:
    """The tables results.csv and claims.csv of a folder, each row by its name."""
    document: dict[str, Any] = {"rows": {}, "claims": {}}
    for row in _read(folder / "results.csv"):
        document["rows"][f"{row['case']} | {row['algorithm']}"] = dict(_cells(row))
    for row in _read(folder / "claims.csv"):
        counts = ("standing", "holds", "violated", "undecided", "not_applicable", "witness_case", "left", "right")
        document["claims"][row["claim"]] = {name: row[name] for name in counts if row.get(name)}
    return document


def _read(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines))


def _cells(row: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The cells of a row that are figures or verdicts."""
    yield "opt", f"{row['opt_lower']} {row['opt_upper']}"
    for name, value in row.items():
        ending = name.endswith(("_reason", "_figures", "_float"))
        derived = name.startswith(("opt_", *OF_OPT)) and name not in PLAIN
        if value and not ending and not derived and name not in LEFT_OUT:
            yield name, value


def compare_tables(stored: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """Rows are equal but for intervals on OPT, which meet, and the welfare of algorithms within a band."""
    yield from differences(stored["claims"], now["claims"], "claims")
    for name in sorted({*stored["rows"], *now["rows"]}):
        was, row = stored["rows"].get(name), now["rows"].get(name)
        if was is None or row is None:
            yield f"{name}: {'is new' if was is None else 'is gone'}"
            continue
        yield from (f"{name}: {line}" for line in compare_intervals(was["opt"], row["opt"]))
        algorithm = name.partition(" | ")[2].partition(":")[0]
        if algorithm in BANDS and was["state"] == row["state"] == "ok":
            before, after = Fraction(was["welfare"]), Fraction(row["welfare"])
            if abs(after - before) > BANDS[algorithm] * before:
                yield f"{name}: welfare was {before}, is {after}, beyond its band"
        else:
            yield from differences({**was, "opt": ""}, {**row, "opt": ""}, name)


def compare_intervals(stored: str, now: str) -> Iterator[str]:
    """Two intervals on OPT have a value in common, and the new one is hardly wider."""
    if not stored.strip() or not now.strip():
        yield from differences(stored.strip(), now.strip(), "OPT")
        return
    (low, high), (lower, upper) = (list(map(Fraction, text.split(" "))) for text in (stored, now))
    if max(low, lower) > min(high, upper):
        yield f"OPT was in [{low}, {high}], is in [{lower}, {upper}]: one of them is wrong"
    if upper - lower > high - low + WIDER * max(abs(high), abs(upper)):
        yield f"OPT was in [{low}, {high}], is in [{lower}, {upper}]: wider"


def _printed(*words: str | Path) -> Any:
    return figures(document_of(*words))


def _json(*words: str | Path) -> Case:
    return Case(lambda folder: _printed(*words), seconds=4)


def _explained(folder: Path) -> Any:
    """The numbers of an explanation stand in its texts, too: those of each text, in their order."""
    return dict(_numbers(document_of("explain", THEOREM5), ""))


def _numbers(value: Any, where: str) -> Iterator[tuple[str, list[str]]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from _numbers(part, f"{where}.{key}")
    if isinstance(value, str | int | float) and (numbers := re.findall(r"-?\d[\d,]*(?:[./]\d+)?", str(value))):
        yield where, numbers


def _checked(folder: Path) -> Any:
    """A solution and a certificate that `opt` writes, as `check` sees them."""
    call("opt", SMALL, "--solution", folder / "solution.json", "--certificate", folder / "one.cert")
    return {
        "solution": _printed("check", SMALL, folder / "solution.json"),
        "certificate": _printed("check", SMALL, "--certificate", folder / "one.cert"),
    }


def _compared(folder: Path) -> Any:
    for name, algorithms in (("one", "greedy"), ("two", "eft")):
        answer = call("run", "tiny", "--only", "tiny_*", "-a", algorithms, "--out", folder / name, "--quiet")
        assert answer.status == 0, answer.err
    return _printed("compare", folder / "one", folder / "two")


def _generated(folder: Path) -> Any:
    made = document_of("generate", "paper:tasks=5,nodes.a100=1,slots=12", "--out", folder / "made")
    return [{**row, "file": Path(row["file"]).name} for row in made]


def _imported(folder: Path) -> Any:
    """The counts of three logs: Slurm's and SWF by hand, and a replay of a month as SWF."""
    logs = ROOT / "tests" / "golden" / "inputs" / "cluster"
    made = document_of("generate", MONTH, "--out", folder / "made")[0]["file"]
    call("simulate", made, "-a", "easy", "--no-opt", "--solution", folder / "easy.swf")
    return {
        file.name: _printed("import", file, "--cluster", logs / "cluster.toml")
        for file in (logs / "sacct.txt", logs / "jobs.swf", folder / "easy.swf")
    }


def _backtested(folder: Path) -> Any:
    """The figures of a backtest without OPT, with a change of the cluster."""
    made = document_of("generate", MONTH, "--out", folder / "made")[0]["file"]
    return _printed("backtest", made, "--seconds", "0", "--what-if", "nodes=+1", "--policies", "fcfs", "conservative")


def _waits_explained(folder: Path) -> Any:
    """The tables of an explanation but for the columns of the best known schedule: waits by cause, user and width."""
    made = document_of("generate", MONTH, "--out", folder / "made")[0]["file"]
    found = document_of("explain", made, "--algorithm", "fcfs", "--seconds", "0.5")
    return {table["title"]: [row[:-1] for row in table["rows"]] for table in found["tables"][:-1]}


def _exported(folder: Path) -> Any:
    """The model as CPLEX LP: its lines, so that a finding names a constraint."""
    return call("export", SMALL, "--format", "lp").out.splitlines()


def _evaluated(folder: Path) -> Any:
    """The score of a shipped algorithm on the two small stages."""
    return _printed("evaluate", "greedy", "--budget", "600", "--last", "parts", "--only", "tiny_*,part_40_*")


def _suite(name: str, *options: str, seconds: float = 20, long: bool = False) -> Case:
    return Case(partial(_run_suite, name, options), compare_tables, seconds, long)


def _run_suite(name: str, options: tuple[str, ...], folder: Path) -> Any:
    return run_suite(folder, name, *options)


CASES: dict[str, Case] = {
    "suite tiny": _suite("tiny", seconds=60),
    "suite theory": _suite("theory", "--only", *SMALL_THEORY, seconds=100),
    "suite theory, whole": _suite("theory", seconds=200, long=True),
    "suite quick": _suite("quick", "--tier", "traces", "tiny", seconds=60),
    "suite quick, its day": _suite("quick", "--tier", "day", seconds=200, long=True),
    "suite sweep": _suite("sweep", "--scale", "small", seconds=40),
    "suite eapm-table1": _suite("eapm-table1", "--only", "gamma*run [0-2]", seconds=10),
    "suite eapm-named": _suite("eapm-named"),
    "suite edgeflow-named": _suite("edgeflow-named"),
    "suite tenants-named": _suite("tenants-named"),
    "opt": _json("opt", SMALL),
    "crosscheck": _json("crosscheck", THEOREM5),
    "simulate": _json("simulate", SMALL, "-a", "greedy", "pdftsp", "eft"),
    "audit": _json("audit", THEOREM5, "-a", "pdftsp"),
    "explain": Case(_explained),
    "check": Case(_checked),
    "evaluate": Case(_evaluated, seconds=20),
    "search": _json("search", "theorem5", "--tries", "60"),
    "search --exact": _json("search", "theorem5", "--exact", "--tasks", "2", "--slots", "2", "--largest", "3"),
    "search --against": _json("search", "-a", "greedy", "--against", "eft", "--tries", "30"),
    "limit": _json("limit", "rising", "-a", "greedy"),
    "compare": Case(_compared, seconds=10),
    "generate": Case(_generated),
    "import": Case(_imported),
    "backtest": Case(_backtested, seconds=3),
    "explain cluster": Case(_waits_explained, seconds=3),
    "export": Case(_exported),
}
