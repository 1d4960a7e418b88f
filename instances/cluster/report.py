"""The report of an import: what counts, what is left out, and where the waits of the log come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ratiobench.instances.cluster.model import Instance
from ratiobench.instances.cluster.waits import PARTS, Waits
from ratiobench.instances.io.errors import make_printable

Rows = dict[str, dict[str, float]]  # Of `waits.tabulate`
_MOST = 12  # Rows of a table, and lines that could not be read, that are printed


@dataclass(slots=True)
class Report:
    read: int  # jobs that were read, those left out included
    jobs: int  # of the instance, and their GPU-seconds
    gpu_seconds: int
    running: int  # jobs that run, that wait at the beginning
    waiting: int
    twice: int  # lines with the id and submit of another one, which count once
    load: float  # GPU-seconds asked for by the jobs submitted in the window over its capacity
    utilisation: float  # GPU-seconds that ran in the window, jobs left out included, over its capacity
    window: tuple[int, int]  # from the beginning to the last submit; its capacity leaves closed nodes out
    left_out: dict[str, tuple[int, int]]  # reason -> jobs, GPU-seconds that are known
    waits: Waits  # of the log
    tables: dict[str, Rows]  # waits by account, partition, user and width; empty for a log without starts
    bad: list[str]  # lines that could not be read and were skipped
    remarks: Counter[str]  # sentence on some jobs -> how many jobs

    def summary(self) -> dict[str, Any]:
        names = ("read", "jobs", "gpu_seconds", "running", "waiting", "twice", "load", "utilisation")
        figures: dict[str, Any] = {name: getattr(self, name) for name in names}
        figures["window"] = list(self.window)
        figures["left_out"] = {reason: list(counts) for reason, counts in sorted(self.left_out.items())}
        figures |= {"bad_lines": len(self.bad), "remarks": dict(sorted((+self.remarks).items()))}
        if self.tables:
            facts = {"jobs": int(self.waits.known.sum()), "is_lower_bound": not self.waits.exact}
            figures["waits"] = self.waits.means() | facts | {"overfull_seconds": self.waits.overfull}
        return figures

    def __str__(self) -> str:
        return "\n".join(self._list_lines())

    def _list_lines(self) -> Iterator[str]:
        yield f"imported {self.jobs} of {self.read} jobs, {self.gpu_seconds // 3600:,} GPU-hours"
        for reason, (jobs, seconds) in sorted(self.left_out.items(), key=lambda item: -item[1][0]):
            yield f"left out: {jobs} jobs, {seconds // 3600:,} GPU-hours: {make_printable(reason, 120)}"
        if self.twice:
            yield f"{self.twice} lines repeat the JobID and submit of another one, which counts once"
        if self.running or self.waiting:
            yield f"at the beginning {self.running} jobs run and {self.waiting} wait"
        for text, jobs in (+self.remarks).items():
            yield f"{jobs} jobs {text}"
        if self.bad:
            yield f"{len(self.bad)} lines could not be read and are skipped:"
            yield from (f"  {line}" for line in self.bad[:_MOST])
        yield (
            f"load {self.load:.3f} (GPU-seconds asked for by jobs submitted in the window / its capacity), "
            f"utilisation {self.utilisation:.3f}"
        )
        if not self.tables:
            yield "the log has no start times, so its waits are not known"
            return
        means = self.waits.means()
        yield f"mean wait {means['wait'] / 60:.1f} min:"
        for name, meaning in PARTS.items():
            bound = "at least " if name == "blocked" and not self.waits.exact else ""
            yield f"  {bound}{means[name] / 60:.1f} min {meaning}"
        if not self.waits.exact:
            yield "  (the log has no nodes, so free GPUs are counted per pool)"
        if self.waits.overfull:
            yield f"  (in {self.waits.overfull:,} seconds more GPUs were in use than there are)"
        for by, rows in self.tables.items():
            if len(rows) > 1:
                yield from _table(by, rows)


def _table(by: str, rows: Rows) -> Iterator[str]:
    yield f"{by:>16} {'jobs':>8} {'GPU-hours':>11} {'wait, min':>10} " + " ".join(f"{part:>10}" for part in PARTS)
    for name, row in islice(rows.items(), _MOST):
        minutes = " ".join(f"{row[part] / 60:10.1f}" for part in ("wait", *PARTS))
        yield f"{make_printable(name, 16) or '(none)':>16} {row['jobs']:8} {row['GPU-hours']:11,.0f} {minutes}"
    if len(rows) > _MOST:
        yield f"{'and':>16} {len(rows) - _MOST:8} more"


def describe(instance: Instance) -> dict[str, Any]:
    jobs = instance.jobs
    span = int(jobs.submit.max(initial=instance.begin)) - instance.begin
    asked = int((jobs.width * jobs.run)[jobs.submit >= instance.begin].sum())
    return {
        "jobs": len(jobs),
        "gpus": instance.capacity,
        "pools": len(instance.pools),
        "days": round(span / 86_400, 2),
        "load": round(asked / (span * instance.capacity), 3) if span > 0 else None,
        "cost": instance.cost,
    }
