"""Days of real clusters as rigid jobs and gangs: OPT's interval, queues, and policies that answer at arrival.

    python -m tools.rigid_days DATA OUT [NAME ...] [--further] [--keep]

makes each day (all without names) from the traces in DATA/traces, runs everything and writes OUT/rigid_days.csv, with
``--further`` OUT/rigid_loads.csv: fifteen further days at three loads, queues alone. With ``--keep`` the figures go to
the file of that name in bench/lora/results, and the tables to docs/results/clusters.md. OPT that OUT has already is not
computed again. OUT/NAME has the log, the cluster and the instances, so that every figure can be made by the commands
that `commands` lists.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

import pandas as pd

import ratiobench
from ratiobench.bench.cli.main import main as command
from ratiobench.bench.lora.measures import job_measures
from ratiobench.bench.results.ratios import format_decimal
from ratiobench.instances.lora import read
from ratiobench.instances.lora.feasibility import servable
from ratiobench.instances.lora.imports import Report, read_jobs
from ratiobench.instances.lora.logs import Job
from ratiobench.instances.lora.model import Instance
from tools.readme_tables import ROOT, make_table, write_tables

RESULTS = ROOT / "bench" / "lora" / "results"
KEPT, KEPT_LOADS = RESULTS / "rigid_days.csv", RESULTS / "rigid_loads.csv"
# Slots of an instance (a day and six hours), seconds of one, GPUs of a node, load that a cluster is made for
SLOTS, SLOT, GPUS, LOAD = 180, 600, 8, Fraction(6, 5)


class Day(NamedTuple):
    """A day of a trace, or several laid over each other."""

    name: str  # of the row
    form: str  # form, log: format, and the file below DATA/traces
    log: str
    dates: tuple[str, ...]
    before: tuple[int, ...] = (1, 2, 3)  # how many days earlier the days are whose prices are posted
    load: Fraction = LOAD  # that the cluster is made for
    gap: float = 0.0  # of OPT's interval at which the search ends


PHILLY, HELIOS = ("philly", "philly/philly.csv.gz"), ("helios", "helios/cluster_log.csv.gz")
SIX = ("2020-05-07", "2020-06-04", "2020-04-23", "2020-04-15", "2020-05-12", "2020-06-05")
DAYS = (
    Day("philly 2017-10-12", *PHILLY, ("2017-10-12",)),
    Day("helios 2020-05-07", *HELIOS, ("2020-05-07",)),
    Day("helios, six days", *HELIOS, SIX, (7,)),
    Day("philly 2017-10-26", *PHILLY, ("2017-10-26",)),
    Day("helios 2020-05-21", *HELIOS, ("2020-05-21",)),
    Day("itp cluster 8, day 15", "itp", "itp/cluster08.csv.gz", ("1970-01-15",)),
)
LOADS = (Fraction(4, 5), LOAD, Fraction(2))
LOGS = {"Philly": PHILLY, "Helios": HELIOS, "ITP cluster 8": ("itp", "itp/cluster08.csv.gz")}
LOG_DAYS = {
    "Philly": ("2017-10-11", "2017-10-14", "2017-10-19", "2017-10-23", "2017-10-27"),
    "Helios": ("2020-04-21", "2020-05-05", "2020-05-19", "2020-06-10", "2020-06-16"),
    "ITP cluster 8": ("1970-01-11", "1970-01-14", "1970-01-17", "1970-01-21", "1970-01-26"),
}
# Fifteen days at three loads
FURTHER = tuple(
    Day(f"{name} {each} load {float(load)}", *LOGS[name], (each,), load=load, gap=0.04)
    for load in LOADS
    for name, dates in LOG_DAYS.items()
    for each in dates
)
# The rows of the table. The learned prices are of the three days before.
POLICIES = {
    "queue": "FCFS",
    "queue:backfill=easy": "FCFS + EASY",
    "queue:order=sjf,backfill=easy": "SJF + EASY",
    "queue:order=value,backfill=easy": "$ + EASY",
    "queue:order=value,backfill=conservative": "$ + conservative",
    "queue:order=bid,backfill=easy": "bid + EASY",
    "dual-queue:history={history}": "reduced profit at learned prices + EASY",
    "dual-plan:history={history}": "plan with rents at learned prices",
    "greedy": "greedy at arrival",
    "dual-posted:history={history}": "learned prices at arrival",
    "posted:prior={before}": "Theorem A's prices, from the day before",
    "pricelist:file={prices}": "list price, $2 per GPU-hour",
}
QUEUES = [policy for policy in POLICIES if policy.startswith(("queue", "dual-queue", "dual-plan"))]


def trace_jobs(data: Path, form: str, log: str, dates: Sequence[str]) -> Iterator[Job]:
    """The jobs of these days, all moved to the first of them."""
    begin = [int(datetime.fromisoformat(each).replace(tzinfo=UTC).timestamp()) for each in dates]
    for job in read_jobs(data / "traces" / log, form, Report(log, form)):
        for start in begin:
            if start <= job.submit < start + 86_400:
                yield job._replace(submit=job.submit - start + begin[0])


def count_nodes(jobs: Sequence[Job], load: Fraction = LOAD) -> tuple[int, int]:
    """Nodes of two types, two thirds of them fast, on which the jobs that can end in the instance are such a load."""
    first = min(job.submit for job in jobs) // 86_400 * 86_400
    amounts = []
    for job in jobs:
        nodes = -(-job.gpus // (1000 * GPUS))
        part = -(-job.gpus // (1000 * nodes))
        arrival, needed = (job.submit - first) // SLOT, -(-job.seconds // SLOT)
        if arrival + needed <= SLOTS:
            amounts.append((nodes, job.seconds * nodes * part))
    fast, slow, most = 0, 0, 10**6
    for _ in range(6):  # jobs wider than the cluster have no place in its load
        work = sum(amount for nodes, amount in amounts if nodes <= most)
        nodes = work / SLOT / float(load) / SLOTS / GPUS / (2 / 3 + 1 / 6)
        fast, slow = max(1, round(nodes * 2 / 3)), max(1, round(nodes / 3))
        most = fast
    return fast, slow


def make_day(data: Path, out: Path, day: Day) -> tuple[Path, list[Path], tuple[int, int]]:
    """The instance of a day and those of the days before it, on one cluster, by `import`."""
    folder = _folder(out, day)
    folder.mkdir(parents=True, exist_ok=True)
    jobs = list(trace_jobs(data, day.form, day.log, day.dates))
    counts = count_nodes(jobs, day.load)
    cluster = folder / "cluster.toml"
    nodes = zip(("new", "old"), counts, ("1.0", "0.5"), (300, 250), strict=True)
    cluster.write_text('region = "PJM"\nday = "2017-07-12"\n' + "".join(
        f'[[node]]\nname = "{name}"\ncount = {count}\ngpus = {GPUS}\nmemory_gb = 8\nspeed = {speed}\nwatts = {watts}\n'
        for name, count, speed, watts in nodes
    ))  # fmt: skip
    made = []
    for before in (0, *day.before):
        dates = [(date.fromisoformat(each) - timedelta(before)).isoformat() for each in day.dates]
        log = folder / f"before-{before}.csv"
        with log.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["submit", "duration", "gpus"])
            for job in trace_jobs(data, day.form, day.log, dates):
                at = datetime.fromtimestamp(job.submit, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
                table.writerow([at, job.seconds, f"{job.gpus / 1000:g}"])
        into = folder / f"days-{before}"
        if not list(into.glob("*.json.gz")):
            words = ["--format", "csv", "--cluster", str(cluster), "--list-price", "2", "--out", str(into)]
            assert command(["import", str(log), *words]) == 0
        made += sorted(into.glob("*.json.gz"))
    return made[0], made[1:], counts


def facts(instance: Instance, counts: tuple[int, int]) -> dict[str, Any]:
    """What the first columns say: jobs that can end, gangs among them with their share of the work, nodes, load."""
    can = servable(instance)
    gangs = can & (instance.parts > 1)
    work = int(instance.work[can].sum())
    capacity = instance.slots * sum(node.count * node.compute for node in instance.node_types)
    return {
        "jobs": int(can.sum()),
        "gangs": int(gangs.sum()),
        "gang_share": format_decimal(Fraction(int(instance.work[gangs].sum()), work), 4, up=False),
        "nodes": f"{counts[0]}+{counts[1]}",
        "load": format_decimal(Fraction(work, capacity), 3, up=False),
    }


def run_day(
    data: Path, out: Path, day: Day, policies: Sequence[str], known: dict[str, Any] | None
) -> list[dict[str, Any]]:
    """A row per policy, each with the facts of the day and OPT's interval."""
    file, before, counts = make_day(data, out, day)
    instance = read(file)
    if known is None:
        found = ratiobench.opt(file, gap=day.gap, certificate=file.with_name("opt.cert"))
        known = {"opt_lower": found.lower, "opt_upper": found.upper, "opt_seconds": f"{found.seconds:.0f}"}
    about = {"day": day.name, **facts(instance, counts), **known}
    rows = []
    for policy in policies:
        name = policy.format(before=before[0], history=";".join(map(str, before)), prices=file.with_name("prices.toml"))
        run = ratiobench.simulate(file, name)
        assert run.valid, run.violations
        more = job_measures(instance, run)
        wait, met = more["wait_mean_s"], more["met_share"]
        rows.append(about | {
            "policy": policy, "welfare": run.welfare, "admitted": run.admitted,
            "wait_minutes": "" if wait is None else f"{float(wait) / 60:.1f}",
            "met_share": "" if met is None else f"{float(met):.4f}",
        })  # fmt: skip
        print(day.name, policy, run.welfare, f"{float(Fraction(run.welfare, int(known['opt_upper']))):.4f}", flush=True)
    return rows


def _folder(out: Path, day: Day) -> Path:
    return out / day.name.replace(" ", "-").replace(",", "")


def commands(out: Path, day: Day) -> list[str]:
    """The commands that make each figure of a day from the files that this program writes."""
    folder = _folder(out, day)
    instance, *earlier = (next((folder / f"days-{each}").glob("*.json.gz")) for each in (0, *day.before))
    files = {"before": earlier[0], "history": ";".join(map(str, earlier)), "prices": folder / "days-0" / "prices.toml"}
    cluster = f"--cluster {quote(str(folder / 'cluster.toml'))} --list-price 2"
    log, days, file = (quote(str(each)) for each in (folder / "before-0.csv", folder / "days-0", instance))
    return [
        f"import {log} --format csv {cluster} --out {days}",
        f"opt {file} --gap {day.gap} --certificate {quote(str(folder / 'opt.cert'))}",
        *(f"simulate {file} --algorithm {quote(policy.format(**files))}" for policy in POLICIES),
    ]


def read_kept(path: Path = KEPT) -> pd.DataFrame:
    """The rows of a file; figures are text."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def _days(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    yield from ((str(name), part) for name, part in rows.groupby("day", sort=False))


def _tenths(value: Fraction, up: bool = False) -> str:
    return f"{(math.ceil if up else math.floor)(10 * value) / 10:,.1f}"


def opt_table() -> str:
    """OPT's interval of each day, in Markdown."""
    lines = []
    for name, part in _days(read_kept()):
        row = part.iloc[0]
        lower, upper = int(row["opt_lower"]), int(row["opt_upper"])
        gap = _tenths(100 * Fraction(upper - lower, upper), True)
        jobs = f"{int(row['jobs']):,} ({int(row['gangs']):,}, {100 * float(row['gang_share']):.0f} %)"
        ends = (f"${_tenths(Fraction(end, 10**6), up)}" for end, up in ((lower, False), (upper, True)))
        lines.append([name, jobs, row["nodes"], row["load"], " to ".join(ends), f"{gap} %", row["opt_seconds"]])
    return make_table(["day", "jobs (gangs, share of GPU time)", "nodes", "load", "OPT", "gap", "seconds"], lines)


def policy_table() -> str:
    """Welfare of each policy in percent of OPT's upper end, with mean waits and the share that is done in time."""
    days = dict(_days(read_kept()))
    lines = []
    for policy, told in POLICIES.items():
        cells = []
        for part in days.values():
            [row] = part[part["policy"] == policy].to_dict("records")
            share = 100 * Fraction(int(row["welfare"]), int(row["opt_upper"]))
            waited = f"{float(row['wait_minutes']):.0f}, {100 * float(row['met_share']):.0f} %"
            cells.append(f"{_tenths(share)} ({waited})")
        lines.append([told, *cells])
    return make_table(["policy", *days], lines)


def load_table() -> str:
    """By load and log the mean welfare of each queue in percent of OPT's upper end, over five days."""
    rows = read_kept(KEPT_LOADS)
    rows["share"] = [
        100 * Fraction(int(welfare), int(upper)) if int(upper) else Fraction(100)
        for welfare, upper in zip(rows["welfare"], rows["opt_upper"], strict=True)
    ]
    lines, best = {policy: [POLICIES[policy]] for policy in QUEUES}, ["*best queue of each day*"]
    heads = ["policy"]
    for load in LOADS:
        for name, dates in LOG_DAYS.items():
            heads.append(f"{name}, {float(load)}")
            days = [rows[rows["day"] == f"{name} {each} load {float(load)}"] for each in dates]
            shares = [dict(zip(day["policy"], day["share"], strict=True)) for day in days]
            for policy in QUEUES:
                lines[policy].append(_tenths(sum(share[policy] for share in shares) / len(shares)))
            most = [max(share[policy] for policy in QUEUES if "plan" not in policy) for share in shares]
            best.append(_tenths(sum(most) / len(most)))
    return make_table(heads, [*lines.values(), best])


TABLES = {
    ("docs/results/clusters.md", "rigid loads"): load_table,
    ("docs/results/clusters.md", "rigid days"): opt_table,
    ("docs/results/clusters.md", "rigid policies"): policy_table,
}


def main(words: Sequence[str]) -> None:
    """See the module."""
    flags = {word for word in words if word.startswith("--")}
    plain = [word for word in words if not word.startswith("--")]
    if not plain:
        write_tables(TABLES)
        return
    data, out, names = Path(plain[0]), Path(plain[1]), plain[2:]
    further = "--further" in flags
    chosen, policies, kept = (FURTHER, QUEUES, KEPT_LOADS) if further else (DAYS, list(POLICIES), KEPT)
    out.mkdir(parents=True, exist_ok=True)
    path = out / kept.name
    rows: list[dict[str, Any]] = read_kept(path).to_dict("records") if path.exists() else []  # type: ignore[assignment]
    for day in chosen:
        if names and day.name not in names:
            continue
        old = next((row for row in rows if row["day"] == day.name), None)
        known = None if old is None else {key: old[key] for key in ("opt_lower", "opt_upper", "opt_seconds")}
        made = run_day(data, out, day, policies, known)
        rows = [row for row in rows if row["day"] != day.name] + made
        order = [each.name for each in chosen]
        rows.sort(key=lambda row: order.index(row["day"]))
        pd.DataFrame(rows).to_csv(path, index=False, lineterminator="\n")
        print("\n".join(f"python -m ratiobench {each}" for each in commands(out, day)))
    if "--keep" in flags:
        kept.write_bytes(path.read_bytes())
        write_tables(TABLES)


if __name__ == "__main__":
    main(sys.argv[1:])
