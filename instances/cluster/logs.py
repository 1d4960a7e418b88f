"""Import of an operator's logs: several files, one cluster file, one continuous instance and a report of what counts.

The cluster file is TOML: what an instance file has of the cluster (pools, partitions, quotas, priority, cycle, depth,
judged), with `types` of a pool (names of its GPUs in the log), and `begin`, `end` and `zone` of the window.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import numpy as np

from ratiobench.instances.cluster.format import (
    FORMAT,
    LABELS,
    WEIGHT_LIMIT,
    PartitionDocument,
    PoolDocument,
    PriorityDocument,
    QuotaDocument,
    Second,
    convert,
    parse,
)
from ratiobench.instances.cluster.model import NONE, Instance
from ratiobench.instances.cluster.readers import FORMATS, LogJob
from ratiobench.instances.io.errors import InputError, explain_unknown_name, shorten
from ratiobench.instances.io.files import load_toml, read_bytes
from ratiobench.instances.io.text_files import TextFile, open_text

TOO_LARGE, TOO_LONG = "fits no pool that it may use", "asks for more GPU-seconds than an instance can hold"
OUTSIDE, NO_ROOM = "outside the window", "runs at the beginning, but not all of them fit on the nodes"


class LogPool(PoolDocument, kw_only=True):
    """A pool of the cluster file."""

    types: list[str] = msgspec.field(default_factory=list)


class ClusterFile(msgspec.Struct, forbid_unknown_fields=True):
    """The cluster file; `begin` and `end` are seconds from 1970, `zone` a name such as Europe/Berlin."""

    pools: list[LogPool]
    partitions: list[PartitionDocument] = []
    quotas: list[QuotaDocument] = []
    priority: PriorityDocument = msgspec.field(default_factory=PriorityDocument)
    cycle: int = 0
    depth: int = 0
    judged: tuple[Second, Second] | None = None
    begin: Second | None = None
    end: Second | None = None
    zone: str = ""


@dataclass(slots=True)
class Report:
    """What an import counted.

    Parameters
    ----------
    jobs, gpu_seconds : of the jobs of the instance.
    left_out : reason -> (jobs, GPU-seconds that are known).
    running, waiting : jobs that run, that wait at the beginning.
    twice : lines with the id and submit of another one, which count once.
    load : GPU-seconds asked for by jobs submitted in the window over its capacity.
    utilisation : GPU-seconds that ran in the window, jobs left out included, over its capacity.
    bad : lines that could not be read and were skipped, the first of them.
    remarks : sentences on the log as a whole.
    """

    jobs: int = 0
    gpu_seconds: int = 0
    left_out: dict[str, tuple[int, int]] = field(default_factory=dict)
    running: int = 0
    waiting: int = 0
    twice: int = 0
    load: float = 0.0
    utilisation: float = 0.0
    bad: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def leave_out(self, reason: str, gpu_seconds: int) -> None:
        """Count a job that is left out."""
        count, seconds = self.left_out.get(reason, (0, 0))
        self.left_out[reason] = (count + 1, seconds + gpu_seconds)


def read_cluster(path: str) -> ClusterFile:
    """Read a cluster file.

    Parameters
    ----------
    path : of the TOML file.

    Returns
    -------
    What it says.

    Raises
    ------
    InputError : a field is missing, unknown or not allowed; names it.
    """
    data, source = read_bytes(path)
    cluster: ClusterFile = convert(load_toml(data, source), ClusterFile, source)
    if cluster.zone:
        try:
            ZoneInfo(cluster.zone)
        except (KeyError, ValueError, OSError):
            raise InputError(source, "zone", f"{shorten(cluster.zone)} is no time zone such as Europe/Berlin") from None
    return cluster


def guess_format(file: TextFile, source: str) -> str:
    """The format of an open file by its name: what JSON holds is not looked into."""
    if source.removesuffix(".gz").endswith(".swf"):
        return "swf"
    if source.removesuffix(".gz").endswith((".csv", ".tsv")):
        return "csv"
    if source.removesuffix(".gz").endswith(".json"):
        return "sacct-json"
    return "sacct"


def import_logs(
    paths: Sequence[str],
    cluster: ClusterFile,
    form: str = "",
    columns: Mapping[str, str] | None = None,
    skip_bad: bool = False,
    name: str = "log",
) -> tuple[Instance, Report]:
    """Import logs as one instance.

    Parameters
    ----------
    paths : the log files.
    cluster : the nodes and who may use them.
    form : format of the logs; empty: by the names of the files.
    columns : our name of a column -> its name in a CSV file.
    skip_bad : whether lines that cannot be read are skipped and counted instead of ending the import.
    name : of the instance.

    Returns
    -------
    The instance and the report.

    Raises
    ------
    InputError : a line cannot be read, or a name matches nothing; names file, line and field.
    """
    if form and form not in FORMATS:
        raise InputError("--format", form, explain_unknown_name(form, FORMATS))
    report = Report()
    jobs: dict[tuple[str, int], LogJob] = {}
    for path in paths:
        for job in _read(path, cluster, form, columns or {}, skip_bad, report):
            other = jobs.get((job.id, job.submit))
            if other is not None:
                report.twice += 1
                if other.left_out == "" or (job.left_out and (job.end or 0) < (other.end or 0)):
                    continue
            jobs[job.id, job.submit] = job
    placed = _Shapes(cluster, report)
    kept = [shape for job in jobs.values() if (shape := placed.shape(job)) is not None]
    kept.sort(key=lambda shape: shape.job.submit)  # stable: ties stay in the order of the files
    if not kept:
        raise InputError(paths[0] if paths else "", "", "no job that can be replayed")
    document = _make_document(kept, cluster, report, name)
    instance = parse(document, name)
    if cluster.zone:
        zone, seconds = ZoneInfo(cluster.zone), (document["begin"], max(document["jobs"]["submit"]))
        first, last = (datetime.fromtimestamp(second, zone).utcoffset() for second in seconds)
        if first != last:
            told = "the hour that is there twice is read as the first of the two"
            report.remarks.append(f"the clocks of {cluster.zone} change in the log: {told}")
    _measure(instance, jobs.values(), report)
    return instance, report


def _read(
    path: str, cluster: ClusterFile, form: str, columns: Mapping[str, str], skip_bad: bool, report: Report
) -> list[LogJob]:
    zone = ZoneInfo(cluster.zone) if cluster.zone else None
    jobs = []
    with open_text(path, errors="surrogateescape") as file:
        for job in FORMATS[form or guess_format(file, str(path))](file, str(path), zone, columns):
            if isinstance(job, LogJob):
                jobs.append(job)
            elif skip_bad:
                report.bad.append(str(job))
            else:
                raise job
    return jobs


@dataclass(slots=True)
class _Shape:
    """A job with nodes, GPUs per node, and its pools."""

    job: LogJob
    nodes: int
    gpus: int
    pools: tuple[int, ...]
    run: int


class _Shapes:
    """Nodes and pools of jobs; jobs that have none are counted as left out."""

    def __init__(self, cluster: ClusterFile, report: Report) -> None:
        self.pools, self.report = cluster.pools, report
        self.types: dict[str, set[int]] = defaultdict(set)
        names = [pool.name for pool in cluster.pools]
        for q, pool in enumerate(cluster.pools):
            for kind in (pool.name, *pool.types):
                self.types[kind.lower()].add(q)
        self.parts: dict[str, set[int]] = {}
        for i, part in enumerate(cluster.partitions):
            for pool_name in part.pools:
                if pool_name not in names:
                    problem = explain_unknown_name(pool_name, names)
                    raise InputError("cluster file", f"partitions[{i}].pools", problem)
            self.parts[part.name] = {names.index(pool_name) for pool_name in part.pools}

    def shape(self, job: LogJob) -> _Shape | None:
        """The shape of a job; None if it is left out."""
        allowed = set(range(len(self.pools)))
        line = job.line
        for field_, label, table in (("partition", job.partition, self.parts), ("type", job.kind, self.types)):
            key = label.lower() if table is self.types else label
            if not label or not table:
                continue
            if key not in table:
                problem = explain_unknown_name(label, table)
                raise InputError("", field_, problem) if line is None else line.fail(field_, problem)
            allowed &= table[key]
        run = 0 if job.start is None or job.end is None else max(1, job.end - job.start)
        if job.left_out:
            self.report.leave_out(job.left_out, run * job.gpus)
            return None
        if not job.gpus:
            self.report.leave_out("without a GPU", 0)
            return None
        widest = max((self.pools[q].gpus for q in allowed), default=1)
        nodes = min(job.nodes, job.gpus) or -(-job.gpus // widest)
        if not job.nodes and job.gpus <= widest:
            nodes = 1
        gpus = -(-job.gpus // nodes)
        pools = tuple(q for q in sorted(allowed) if self.pools[q].nodes >= nodes and self.pools[q].gpus >= gpus)
        if not pools or nodes * gpus * run >= WEIGHT_LIMIT:
            self.report.leave_out(TOO_LONG if pools else TOO_LARGE, run * job.gpus)
            return None
        return _Shape(job, nodes, gpus, pools, run)


def _make_document(kept: list[_Shape], cluster: ClusterFile, report: Report, name: str) -> dict[str, Any]:
    """The instance file of the jobs in the window."""
    begin = kept[0].job.submit if cluster.begin is None else cluster.begin
    end = math.inf if cluster.end is None else cluster.end
    chosen, running = [], []
    for shape in kept:
        start, submit = shape.job.start, shape.job.submit
        if submit >= end or (submit < begin and start is not None and start + shape.run <= begin):
            report.leave_out(OUTSIDE, shape.run * shape.job.gpus)
        elif submit < begin and (start is None or start < begin):
            running.append(shape)
        else:
            chosen.append(shape)
            report.waiting += submit < begin
    names = {
        table: sorted({getattr(shape.job, label) for shape in [*chosen, *running]} - {""})
        for label, table in LABELS.items()
    }
    if cluster.partitions:
        names["partitions"] = [part.name for part in cluster.partitions]
    code = {table: {label: k for k, label in enumerate(labels)} | {"": NONE} for table, labels in names.items()}
    sets = sorted({shape.pools for shape in chosen}) or [(0,)]
    labels = {label: [code[table][getattr(s.job, label)] for s in chosen] for label, table in LABELS.items()}
    ids, seen = [], defaultdict[str, int](int)
    for shape in chosen:  # an id that was used again after a restart of the counter gets a number behind it
        seen[shape.job.id] += 1
        ids.append(shape.job.id if seen[shape.job.id] == 1 else f"{shape.job.id}#{seen[shape.job.id]}")
    pools = [
        {key: value for key, value in msgspec.to_builtins(pool).items() if key != "types"} for pool in cluster.pools
    ]
    everyone = [pool.name for pool in cluster.pools]
    partitions = msgspec.to_builtins(cluster.partitions)
    report.jobs = len(chosen)
    report.gpu_seconds = sum(s.run * s.nodes * s.gpus for s in chosen)
    return {
        "format": FORMAT,
        "name": name,
        "origin": {"import": "ratiobench/cluster/logs", "jobs": len(chosen)},
        "begin": begin,
        "cycle": cluster.cycle,
        "depth": cluster.depth,
        "judged": None if cluster.judged is None else list(cluster.judged),
        "pools": pools,
        "partitions": partitions or [{"name": part, "pools": everyone} for part in names["partitions"]],
        "accounts": names["accounts"],
        "users": names["users"],
        "qos": names["qos"],
        "quotas": msgspec.to_builtins(cluster.quotas),
        "priority": msgspec.to_builtins(cluster.priority),
        "pool_sets": [list(one) for one in sets],
        "running": _place_running(running, cluster, code, begin, report),
        "jobs": {
            "id": ids,
            "submit": [s.job.submit for s in chosen],
            "release": [max(begin, s.job.submit, s.job.eligible or 0) for s in chosen],
            "run": [s.run for s in chosen],
            "limit": [NONE if s.job.limit is None else s.job.limit for s in chosen],
            "nodes": [s.nodes for s in chosen],
            "gpus": [s.gpus for s in chosen],
            "pools": [sets.index(s.pools) for s in chosen],
            "logged": [NONE if s.job.start is None else s.job.start for s in chosen],
            **labels,
        },
    }


def _place_running(
    shapes: list[_Shape], cluster: ClusterFile, code: Mapping[str, Mapping[str, int]], begin: int, report: Report
) -> list[dict[str, Any]]:
    """Put jobs that run at the beginning on best-fit nodes, in order of start."""
    free = [[pool.gpus] * pool.nodes for pool in cluster.pools]
    rows = []
    for shape in sorted(shapes, key=lambda s: s.job.start or 0):
        end = (shape.job.start or 0) + shape.run
        for q in shape.pools:
            shut = {c.node for c in cluster.pools[q].closures if c.start < end and c.end > begin}
            fit = [v for v, left in enumerate(free[q]) if left >= shape.gpus and v not in shut]
            if len(fit) < shape.nodes:
                continue
            nodes = sorted(fit, key=lambda v: (free[q][v], v))[: shape.nodes]
            for v in nodes:
                free[q][v] -= shape.gpus
            labels = {
                label: code[LABELS[label]][getattr(shape.job, label)] for label in ("account", "user", "partition")
            }
            times = {
                "start": shape.job.start,
                "end": end,
                "limit": NONE if shape.job.limit is None else shape.job.limit,
            }
            rows.append({"pool": cluster.pools[q].name, "nodes": nodes, "gpus": shape.gpus, **times, **labels})
            report.running += 1
            break
        else:
            report.leave_out(NO_ROOM, shape.run * shape.job.gpus)
    return rows


def _measure(instance: Instance, jobs: Any, report: Report) -> None:
    """Load and utilisation: from the beginning to the last submit."""
    columns, begin = instance.jobs, instance.begin
    window = int(columns.submit[-1]) - begin if len(columns) else 0
    if window <= 0:
        return
    closed = np.clip(
        np.minimum(instance.closures[:, 2], begin + window) - np.maximum(instance.closures[:, 1], begin), 0, None
    )
    capacity = instance.capacity * window - int((closed * instance.node_gpus[instance.closures[:, 0]]).sum())
    asked = (columns.width * columns.run)[columns.submit >= begin]
    late = columns.release > np.maximum(columns.submit, begin)
    if late.any():
        hours = int((columns.width * columns.run)[late].sum()) // 3600
        told = "could not start at submit (a dependency, a begin time): they are released when they are eligible"
        report.remarks.append(f"{int(late.sum())} jobs of {hours} GPU-hours {told}")
    report.load = float(asked.sum()) / capacity
    spans = [(job.gpus, job.start, job.end) for job in jobs if job.start is not None and job.end is not None]
    gpus, start, end = np.array(spans, dtype=np.int64).reshape(-1, 3).T
    inside = np.clip(np.minimum(end, begin + window) - np.maximum(start, begin), 0, None)
    report.utilisation = float((gpus * inside).sum()) / capacity
