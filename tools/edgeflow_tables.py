"""Make the derived tables of family edgeflow from the public traces: ``python -m tools.edgeflow_tables``.

``RATIOBENCH_DATA`` names the folder with ``edgeflow/`` (throughput, overheads, the six ElasticFlow traces) and
``traces/`` (PAI, Philly, Helios, ITP). No row of PAI, Philly, Helios or ITP is written, only counts and quantiles.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from ratiobench.instances.edgeflow.model import DAY
from ratiobench.instances.edgeflow.tables import CELL, DATA, PUBLISHED, SHORTEST, SLOT, WIDEST

LOGS = {
    "pai": ("pai/gpu_tasks_sample.csv.gz", "start_time", "duration_s", "gpus_total"),
    "philly": ("philly/philly.csv.gz", "timestamp", "duration", "num_gpus"),
    "helios": ("helios/cluster_log.csv.gz", "submit_time", "duration", "gpu_num"),
    "itp": ("itp/cluster{:02}.csv.gz", "submission_time", "duration", "num_gpu"),
}
ZONE = {"pai": 8 * 3600}


def rows(name: str, folder: Path) -> Iterator[tuple[int, int, int]]:
    """(second, duration, GPUs) of the tasks of a trace."""
    place, *columns = LOGS[name]
    for path in [place] if "{" not in place else [place.format(k) for k in range(1, 11)]:
        with gzip.open(folder / "traces" / path, "rt", newline="") as file:
            for row in csv.DictReader(file):
                submit, duration, gpus = (row[column] for column in columns)
                yield second(submit) + ZONE.get(name, 0), int(float(duration)), int(float(gpus))


def second(text: str) -> int:
    """Seconds from 1970, or from the trace's beginning."""
    if text.replace(".", "").isdigit():
        return int(float(text))
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def rounded(value: int) -> int:
    """Three digits."""
    unit = int("1".ljust(len(str(value)) - 2, "0"))
    return value // unit * unit


def quantiles(values: list[int]) -> list[int]:
    """The ends of cells of equal probability, at least `CELL` tasks each, 400 at most; three digits."""
    values = sorted(values)
    cells = max(1, min(400, len(values) // CELL))
    return [rounded(values[min(len(values) - 1, k * len(values) // cells)]) for k in range(cells + 1)]


def write_csv(path: Path, header: list[str], body: list[list[object]]) -> None:
    """A table."""
    with path.open("w", newline="", encoding="ascii") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *body])


def days(folder: Path) -> None:
    """Counts per ten minutes and the joint tables of GPUs and durations, tasks of at least ten minutes.

    Of a day and share with fewer tasks than `CELL`, only how many there are.
    """
    laws: list[list[object]] = []
    each: list[list[object]] = []
    for name in LOGS:
        long = [row for row in rows(name, folder) if row[1] >= SHORTEST and row[2] >= 1]
        first = min(row[0] for row in long) // DAY
        counts = Counter((submit // DAY - first, submit % DAY // SLOT) for submit, _, _ in long)
        number = max(day for day, _ in counts) + 1
        body: list[list[object]] = [[s, *(counts[day, s] for day in range(number))] for s in range(DAY // SLOT)]
        write_csv(DATA / f"arrivals_{name}.csv", ["slot", *map(str, range(number))], body)
        shares: dict[int, list[int]] = {}
        by_day: dict[tuple[int, int], list[int]] = {}
        for submit, duration, gpus in long:
            share = min(WIDEST, 1 << gpus.bit_length() - 1)
            shares.setdefault(share, []).append(duration)
            by_day.setdefault((submit // DAY - first, share), []).append(duration)
        for share, values in sorted(shares.items()):
            laws.append([name, share, len(values), " ".join(map(str, quantiles(values)))])
        for (day, share), values in sorted(by_day.items()):
            seconds = " ".join(map(str, quantiles(values))) if len(values) >= CELL else ""
            each.append([name, day, share, len(values), seconds])
    write_csv(DATA / "durations.csv", ["trace", "gpus", "tasks", "seconds"], laws)
    write_csv(DATA / "durations_of_days.csv", ["trace", "day", "gpus", "tasks", "seconds"], each)


def speeds(folder: Path) -> None:
    """Throughput in whole micro-iterations per second, overheads in milliseconds."""
    with (folder / "edgeflow/throughput.csv").open(newline="") as file:
        body: list[list[object]] = [
            [row["gpu_type"], row["model"], row["global_batch_size"], row["n_gpus"],
             round(10**6 * float(row["iterations_per_second"]))]
            for row in csv.DictReader(file)
        ]  # fmt: skip
    write_csv(DATA / "throughput.csv", ["gpu_type", "model", "batch", "gpus", "micro_iterations_per_s"], body)
    with (folder / "edgeflow/scaling_overhead.csv").open(newline="") as file:
        body = [[row["model"], row["event"], round(1000 * float(row["seconds"]))] for row in csv.DictReader(file)]
    write_csv(DATA / "overheads.csv", ["model", "event", "milliseconds"], body)


def published(folder: Path) -> None:
    """The six prepared ElasticFlow traces: times from the first submission, work in milli-iterations."""
    for name, about in PUBLISHED.items():
        with (folder / "edgeflow" / f"trace_{about.file}.csv").open(newline="") as file:
            found = list(csv.DictReader(file))
        begin = min(int(float(row["submit_time"])) for row in found)
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["submit", "deadline", "model", "batch", "milli_iterations", "gpus"])
        for row in sorted(found, key=lambda row: int(float(row["submit_time"]))):
            times = [int(float(row[key])) - begin for key in ("submit_time", "deadline")]
            work = 1000 * int(float(row["iterations"]))
            writer.writerow([*times, row["model"], row["global_batch_size"], work, row["n_gpus"]])
        with gzip.GzipFile(DATA / f"{name}.csv.gz", "wb", compresslevel=9, mtime=0) as packed:
            packed.write(text.getvalue().encode("ascii"))


if __name__ == "__main__":
    data = Path(os.environ["RATIOBENCH_DATA"])
    days(data)
    speeds(data)
    published(data)
