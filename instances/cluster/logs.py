"""Import of an operator's logs: several files and a cluster file become one instance, and a report of what counts."""

from __future__ import annotations

import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import msgspec
import numpy as np

from ratiobench.instances.cluster import kubernetes, log_lines, slurm
from ratiobench.instances.cluster.format import FORMAT, LABELS, WEIGHT_LIMIT, parse
from ratiobench.instances.cluster.log_lines import LONGEST_NAME, Log, LogJob, Reader, Reason
from ratiobench.instances.cluster.model import (
    DAY,
    LONGEST_RUN,
    MOST_POOLS,
    NONE,
    ClusterDocument,
    Instance,
    Pool,
    Second,
)
from ratiobench.instances.cluster.waits import PARTS, Holder, Waits, blocked, tabulate
from ratiobench.instances.io.documents import read_document
from ratiobench.instances.io.errors import InputError, explain_unknown_name, make_printable, require_known, shorten
from ratiobench.instances.io.files import load_toml
from ratiobench.instances.io.text_files import TextFile, open_text

LATE = "could not start at submit (a dependency, a begin time): they are released when they are eligible"
NO_LIMIT = "without a time limit (policies believe the greatest limit of the log)"
EARLY = "start before their submit in the log; they count as started at submit"
UNEVEN = "ask for GPUs that their nodes do not divide; every node has the greater part"
NO_ZONE = (
    "have times without a zone, which are read as UTC; the cluster file may have a `zone`, or export with "
    "SLURM_TIME_FORMAT=%s"
)
CLOCK = "are in a log in which the clocks change: the hour that is there twice is read as the first of the two"
LogJobs = list[LogJob]
RESTART = 60  # Seconds from the end of a run to the submit of the next one of a job that Slurm starts again
# Readers of logs by the names of their formats, with a line about each
READERS: dict[str, tuple[Reader, str]] = {
    "swf": (log_lines.read_swf, "Standard Workload Format of the Parallel Workloads Archive"),
    "sacct": (slurm.read_sacct, "Slurm: sacct --parsable2"),
    "sacct-json": (slurm.read_sacct_json, "Slurm: sacct --json"),
    "csv": (log_lines.read_csv, "any table; --columns names its columns submit, duration, gpus, ..."),
    "kueue": (kubernetes.read_kueue, "Kueue: kubectl get workloads.kueue.x-k8s.io -A -o json"),
    "k8s": (kubernetes.read_jobs, "Kubernetes: kubectl get jobs -A -o json, or pods"),
}
FORMATS = tuple((name, summary) for name, (_, summary) in READERS.items())
Rows = dict[str, dict[str, float]]  # Of `waits.tabulate`
_MOST = 12  # Rows of a table, and lines that could not be read, that are printed


class LogPool(Pool, frozen=True, kw_only=True):
    types: tuple[str, ...] = ()  # names of its GPUs in the log


class ClusterFile(ClusterDocument, frozen=True, kw_only=True):
    pools: Annotated[tuple[LogPool, ...], msgspec.Meta(min_length=1, max_length=MOST_POOLS)]
    begin: Second | None = None  # begin, end: of the window, seconds from 1970
    end: Second | None = None
    zone: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.begin is not None and self.end is not None and self.end <= self.begin:
            raise InputError("", "end", f"{self.end} is not after begin = {self.begin}")
        try:
            self.read_zone()
        except (KeyError, ValueError, OSError):
            raise InputError("", "zone", f"{shorten(self.zone)} is no time zone such as Europe/Berlin") from None

    def read_zone(self) -> ZoneInfo | None:
        return ZoneInfo(self.zone) if self.zone else None


def import_logs(
    paths: Sequence[str | os.PathLike[str]],
    cluster: ClusterFile | str,
    form: str = "",  # of the logs; empty: by the names of the files
    columns: Mapping[str, str] | None = None,
    skip_bad: bool = False,
    name: str = "log",
) -> tuple[Instance, Report]:
    """Import logs as one instance of this name, whose origin has the figures of the report."""
    where = cluster if isinstance(cluster, str) else "cluster file"
    if isinstance(cluster, str):
        cluster = read_document(cluster, ClusterFile, load_toml)
    if form:
        require_known(form, READERS, "--format")
    log = Log(zone=cluster.read_zone(), columns=columns or {}, skip_bad=skip_bad)
    lines, forms = LogJobs(), set[str]()
    for path in map(str, paths):
        log.source = path
        with open_text(path, errors="surrogateescape") as file:
            forms.add(kind := form or _guess_format(file, path))
            lines += READERS[kind][0](file, log)
    if columns and "csv" not in forms:
        raise InputError("--columns", "", f"names columns of CSV logs; the format here is {', '.join(sorted(forms))}")
    jobs, shapes = _merge(lines, log), Shapes(cluster)
    for job in jobs:
        shapes.place(job)
    kept = sorted((job for job in jobs if not job.left_out), key=lambda job: job.submit)  # ties: order of the files
    if not kept:
        told = "; ".join(f"{count} jobs: {reason}" for reason, (count, _) in _count_left_out(jobs).items()) or "none"
        raise InputError(log.source, "", f"no job that can be replayed; left out: {told}")
    log.remarks[UNEVEN] += sum(job.nodes * job.node_gpus != job.gpus for job in kept)
    begin = kept[0].submit if cluster.begin is None else cluster.begin
    chosen, running = _cut(kept, begin, math.inf if cluster.end is None else cluster.end)
    if not chosen:
        raise InputError(where, "begin", f"none of the {len(kept)} jobs that can be replayed is in the window")
    instance = parse(_make_document(name, cluster, begin, jobs, kept, chosen, running), where)
    log.remarks[NO_LIMIT] += sum(job.limit is None for job in chosen)
    if log.is_local and log.zone is None:
        log.remarks[NO_ZONE] += len(jobs)
    elif log.is_local:
        days = range(begin, chosen[-1].submit + DAY, DAY)
        offsets = [datetime.fromtimestamp(second, log.zone).utcoffset() or timedelta() for second in days]
        log.remarks[CLOCK] += len(jobs) * any(later < offset for offset, later in pairwise(offsets))
    report = _make_report(instance, jobs, len(lines) - len(jobs), chosen, shapes, log)
    return replace(instance, origin={**instance.origin, "log": report.summary()}), report


def _guess_format(file: TextFile, source: str) -> str:
    suffix = Path(source.removesuffix(".gz")).suffix
    if suffix != ".json":
        return {".swf": "swf", ".csv": "csv", ".tsv": "csv"}.get(suffix, "sacct")
    head = file.peek()
    return "kueue" if b"Workload" in head else "k8s" if b'"items"' in head else "sacct-json"


def _merge(lines: LogJobs, log: Log) -> LogJobs:
    """Of jobs with the same id and submit the one that ran; runs that were requeued are pieces."""
    jobs: dict[Any, LogJob] = {}
    for job in lines:
        if job.start is not None and job.start < job.submit:
            job.start = job.submit
            log.remarks[EARLY] += not job.left_out
        if job.start is not None and job.eligible is not None:
            job.eligible = min(job.eligible, job.start)
        key: Any = (job.id, job.submit, job.start if job.left_out == Reason.REQUEUED else None) if job.id else id(job)
        other = jobs.get(key)
        if other is None or (other.left_out and (not job.left_out or (job.run or 0) > (other.run or 0))):
            jobs[key] = job
    restarted = {job.id for job in jobs.values() if job.may_restart}
    runs = sorted((job for job in jobs.values() if job.id in restarted), key=lambda job: (job.id, job.submit))
    for job, later in pairwise(runs):
        end = (job.start or 0) + (job.run or 0)
        if job.id == later.id and job.may_restart and not job.left_out and end <= later.submit <= end + RESTART:
            job.left_out = Reason.REQUEUED
    return list(jobs.values())


class Shapes:
    def __init__(self, cluster: ClusterFile) -> None:
        self.cluster, self.fits = cluster, dict[tuple[object, ...], tuple[int, int, tuple[int, ...], str]]()
        names = [pool.name for pool in cluster.pools]
        self.everywhere, self.types = set(range(len(names))), defaultdict[str, set[int]](set)
        self.partitions = {part.name: {names.index(pool) for pool in part.pools} for part in cluster.partitions}
        for q, pool in enumerate(cluster.pools):
            for kind in (pool.name, *pool.types):
                self.types[kind.lower()].add(q)

    def allowed(self, job: LogJob) -> set[int]:
        """The pools that the job may use by its partition, type of GPU and constraint, if these are known."""
        features = re.findall(r"[\w.-]+", job.constraint.lower()) if job.constraint else []
        named = [self.types[feature] for feature in features if feature in self.types] or [self.everywhere]
        allowed = self.partitions.get(job.partition, self.everywhere) & set[int]().union(*named)
        return allowed & self.types.get(job.kind.lower(), self.everywhere)

    def place(self, job: LogJob) -> None:
        """Set the shape and the pools of a job, and why it is left out, if it is."""
        if job.left_out:
            return
        key = job.partition, job.account, job.kind, job.constraint, job.nodes, job.gpus
        if key not in self.fits:
            labels = (("partition", job.partition, self.partitions), ("type", job.kind.lower(), self.types))
            for field, label, table in labels:
                if label and table and label not in table:
                    problem = f"{explain_unknown_name(label, table)}, the names in the cluster file"
                    raise InputError(job.source, f"{job.where} {field}", problem)
            allowed, places = self.allowed(job), self.cluster.pools
            nodes = min(job.nodes, job.gpus) or -(-job.gpus // max((places[q].gpus for q in allowed), default=1))
            gpus = -(-job.gpus // nodes)
            pools = tuple(q for q in sorted(allowed) if places[q].nodes >= nodes and places[q].gpus >= gpus)
            most = self.cluster.most_gpus(job.partition, job.account)
            wide = Reason.TOO_WIDE if all(nodes * gpus > most[q] for q in pools) else ""
            self.fits[key] = nodes, gpus, pools, wide if pools else Reason.TOO_LARGE
        job.nodes, job.node_gpus, job.pools, job.left_out = self.fits[key]
        if job.nodes * job.node_gpus * job.length >= WEIGHT_LIMIT or job.length > LONGEST_RUN:
            job.left_out = job.left_out or Reason.TOO_LONG

    def ran_in(self, job: LogJob) -> tuple[int, ...]:
        """The pools in which the job may have run in the log."""
        allowed = self.allowed(job)
        return tuple(sorted(self.types.get(job.ran.lower(), allowed) & allowed or allowed))


def _cut(kept: LogJobs, begin: int, end: float) -> tuple[LogJobs, LogJobs]:
    """The jobs of the window, and those that run at its beginning in order of start; the others are left out."""
    chosen, running = [], []
    for job in kept:
        if job.submit >= end or (job.submit < begin and (job.start is None or job.start + job.length <= begin)):
            job.left_out = Reason.OUTSIDE
        elif job.start is not None and job.start < begin:
            running.append(job)
        else:
            chosen.append(job)
    return chosen, sorted(running, key=lambda job: job.start or 0)


def _count_left_out(jobs: LogJobs) -> dict[str, tuple[int, int]]:
    """By reason how many jobs are left out, and their GPU-seconds that are known."""
    counts = dict[str, tuple[int, int]]()
    for job in jobs:
        if job.left_out:
            count, seconds = counts.get(job.left_out, (0, 0))
            counts[job.left_out] = count + 1, seconds + (job.run or 0) * job.gpus
    return counts


def _make_document(
    name: str, cluster: ClusterFile, begin: int, jobs: LogJobs, kept: LogJobs, chosen: LogJobs, running: LogJobs
) -> dict[str, Any]:
    """The instance file of the chosen jobs; the cluster file may name an account or quality of no job that is kept."""
    of = {"account": jobs, "qos": jobs, "user": kept, "partition": kept}
    names = {table: sorted({getattr(job, label) for job in of[label]} - {""}) for label, table in LABELS.items()}
    if cluster.partitions:
        names["partitions"] = [part.name for part in cluster.partitions]
    codes = {label: {name: i for i, name in enumerate(names[table])} for label, table in LABELS.items()}
    everyone = [pool.name for pool in cluster.pools]
    given = msgspec.to_builtins(cluster)

    def code(label: str, job: LogJob) -> int:
        return codes[label].get(getattr(job, label), NONE)

    rows = []
    for job, q, nodes in _place_running(running, cluster, begin):
        row = {"pool": everyone[q], "nodes": nodes, "gpus": job.node_gpus, "limit": _or_none(job.limit)}
        row |= {"start": job.start, "end": (job.start or 0) + job.length}
        rows.append(row | {label: code(label, job) for label in ("account", "user", "partition")})
    sets = sorted({job.pools for job in chosen})
    ids, seen = dict[str, None](), Counter[str]()
    for job in chosen:  # an id that was used again after a restart of the counter gets a number behind it
        own = unique = job.id[:LONGEST_NAME] or job.where
        while unique in ids:
            seen[own] += 1
            unique = f"{own[: LONGEST_NAME - 10]}#{seen[own] + 1}"
        ids[unique] = None
    return {
        **names,
        "partitions": [{"name": part, "pools": everyone} for part in names["partitions"]],
        **{key: value for key, value in given.items() if key not in ("end", "zone")},
        "format": FORMAT,
        "name": name,
        "origin": {"import": "ratiobench/cluster/logs"},
        "begin": begin,
        "pools": [{key: value for key, value in pool.items() if key != "types"} for pool in given["pools"]],
        "pool_sets": sets,
        "running": rows,
        "jobs": {
            "id": list(ids),
            "submit": [job.submit for job in chosen],
            "release": [max(begin, job.submit, job.eligible or 0) for job in chosen],
            "run": [job.length for job in chosen],
            "limit": [_or_none(job.limit) for job in chosen],
            "logged": [_or_none(job.start) for job in chosen],
            "nodes": [job.nodes for job in chosen],
            "gpus": [job.node_gpus for job in chosen],
            "pools": [sets.index(job.pools) for job in chosen],
            **{label: [code(label, job) for job in chosen] for label in LABELS},
        },
    }


def _or_none(value: int | None) -> int:
    return NONE if value is None else value


def _place_running(jobs: LogJobs, cluster: ClusterFile, begin: int) -> list[tuple[LogJob, int, list[int]]]:
    """Jobs that run at the beginning with a pool and best-fit nodes; those that do not fit are left out."""
    free, placed = [np.full(pool.nodes, pool.gpus) for pool in cluster.pools], []
    for job in jobs:
        end = (job.start or 0) + job.length
        job.left_out = Reason.NO_ROOM
        for q in job.pools:
            shut = [c.node for c in cluster.pools[q].closures if c.start < end and c.end > begin]
            fit = np.where(np.isin(np.arange(len(free[q])), shut), 0, free[q])
            nodes = [v for v in np.argsort(fit, kind="stable").tolist() if fit[v] >= job.node_gpus][: job.nodes]
            if len(nodes) == job.nodes:
                free[q][nodes] -= job.node_gpus
                job.left_out = ""
                placed.append((job, q, nodes))
                break
    return placed


def _make_report(instance: Instance, jobs: LogJobs, twice: int, chosen: LogJobs, shapes: Shapes, log: Log) -> Report:
    """Load, utilisation and waits of the log; its window is from the beginning to its end or the last submit."""
    columns, begin = instance.jobs, instance.begin
    end = int(columns.submit[-1]) if shapes.cluster.end is None else shapes.cluster.end
    last = max((job.start + (job.run or 0) for job in jobs if job.start is not None), default=begin)
    held = [
        (job, job.start, last if job.left_out == Reason.NO_END else job.start + (job.run or 0))
        for job in jobs
        if job.start is not None and job.gpus and job.left_out != Reason.PART
    ]
    outside = [held_ for held_ in held if held_[0].left_out and held_[2] > begin]
    others = [Holder(start, until, job.gpus, shapes.ran_in(job)) for job, start, until in outside]
    places = [shapes.ran_in(job) if job.ran else () for job in chosen]
    pools = np.array([place[0] if len(place) == 1 else NONE for place in places], dtype=np.int64)
    waits = blocked(instance, columns.logged, pools, others)
    groups = ("account", "partition", "user", "width") if waits.known.any() else ()
    log.remarks[LATE] += int((columns.release > np.maximum(columns.submit, begin)).sum())
    capacity = instance.gpu_seconds(begin, end)
    area = columns.width * columns.run
    used = sum(job.gpus * max(0, min(until, end) - max(start, begin)) for job, start, until in held)
    return Report(
        read=len(jobs),
        jobs=len(chosen),
        gpu_seconds=int(area.sum()),
        running=len(instance.running),
        waiting=int((columns.submit < begin).sum()),
        twice=twice,
        load=float(area[columns.submit >= begin].sum()) / capacity if capacity > 0 else 0.0,
        utilisation=used / capacity if capacity > 0 and held else None,
        window=(begin, end),
        left_out=_count_left_out(jobs),
        waits=waits,
        tables={by: tabulate(instance, waits, by) for by in groups},
        bad=log.bad,
        remarks=log.remarks,
    )


@dataclass(slots=True)
class Report:
    read: int  # jobs that were read, those left out included
    jobs: int  # of the instance, and their GPU-seconds
    gpu_seconds: int
    running: int  # jobs that run, that wait at the beginning
    waiting: int
    twice: int  # lines with the id and submit of another one, which count once
    load: float  # GPU-seconds asked for by the jobs submitted in the window over its capacity
    utilisation: float | None  # GPU-seconds that ran in the window over its capacity; None: the log has no starts
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
        begin, end = (datetime.fromtimestamp(second, UTC).replace(tzinfo=None) for second in self.window)
        yield f"window from {begin} to {end} (UTC; first and last submit, unless `begin` and `end` are given)"
        used = "is not known" if self.utilisation is None else f"{self.utilisation:.3f}"
        yield (
            f"load {self.load:.3f} (GPU-seconds asked for by jobs submitted in the window / its capacity), "
            f"utilisation {used}"
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
