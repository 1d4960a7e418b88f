"""Import of an operator's logs: several files and a cluster file become one instance, and a report of what counts."""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import numpy as np

from ratiobench.instances.cluster.cluster_file import ClusterFile, LogPool, read_cluster
from ratiobench.instances.cluster.format import FORMAT, LABELS, parse, write
from ratiobench.instances.cluster.log_lines import NO_END, PART, REQUEUED, Log, LogJob
from ratiobench.instances.cluster.model import DAY, NONE, Instance
from ratiobench.instances.cluster.readers import FORMATS, guess_format
from ratiobench.instances.cluster.report import Report
from ratiobench.instances.cluster.shapes import Shape, Shapes, leave_out
from ratiobench.instances.cluster.waits import Holder, blocked
from ratiobench.instances.io.errors import InputError, explain_unknown_name
from ratiobench.instances.io.files import check_writable
from ratiobench.instances.io.text_files import open_text

__all__ = ["ClusterFile", "LogPool", "import_logs", "read_cluster", "write_import"]

OUTSIDE, NO_ROOM = "outside the window", "runs at the beginning, but not all of them fit on the nodes"
LATE = "could not start at submit (a dependency, a begin time): they are released when they are eligible"
NO_LIMIT = "without a time limit (policies believe the greatest one)"
EARLY = "start before their submit in the log; they count as started at submit"
LONGEST_NAME = 200
RESTART = 60  # Seconds from the end of a run to the submit of the next one of a job that Slurm starts again


def import_logs(
    paths: Sequence[str],
    cluster: ClusterFile,
    form: str = "",
    columns: Mapping[str, str] | None = None,
    skip_bad: bool = False,
    name: str = "log",
    where: str = "cluster file",
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
    where : the cluster file in messages.

    Returns
    -------
    The instance and the report; the report's figures are in the instance's origin, too.

    Raises
    ------
    InputError : a line cannot be read, or a name matches nothing; names file, line and field.
    """
    if form and form not in FORMATS:
        raise InputError("--format", "", explain_unknown_name(form, FORMATS))
    report = Report()
    zone = ZoneInfo(cluster.zone) if cluster.zone else None
    logs = [Log(str(path), zone, columns or {}, report.remarks) for path in paths]
    found = [job for log in logs for job in _read(log, form, skip_bad, report)]
    jobs = _merge(found, report)
    report.read = len(jobs)
    shapes = Shapes(cluster, report, where)
    kept = [shape for job in jobs if (shape := shapes.shape(job)) is not None]
    kept.sort(key=lambda shape: shape.job.submit)  # stable: ties stay in the order of the files
    if not kept:
        told = "; ".join(f"{jobs} jobs: {reason}" for reason, (jobs, _) in report.left_out.items()) or "none"
        raise InputError(str(paths[0]) if paths else "", "", f"no job that can be replayed; left out: {told}")
    document, chosen = _make_document(kept, jobs, cluster, report, name)
    if not chosen:
        raise InputError(where, "begin", f"none of the {len(kept)} jobs that can be replayed is in the window")
    instance = parse(document, where)
    if any(log.is_local for log in logs):
        _tell_clock(instance, cluster.zone, report)
    _measure(instance, jobs, [shapes.ran_in(shape.job) if shape.job.ran else () for shape in chosen], shapes, report)
    return dataclasses.replace(instance, origin={**instance.origin, "log": report.summary()}), report


def write_import(
    paths: Sequence[str],
    cluster_path: str,
    out: str,
    form: str = "",
    columns: Mapping[str, str] | None = None,
    skip_bad: bool = False,
) -> tuple[Instance, Report]:
    """Import logs and write the instance; parameters as of `import_logs`.

    Parameters
    ----------
    cluster_path : of the cluster file.
    out : the file to write; empty: nothing is written.

    Returns
    -------
    The instance and the report.

    Raises
    ------
    InputError : as of `import_logs`, or the file is there already.
    """
    if out:
        if os.path.lexists(out):
            raise InputError(out, "", "is there already; an import writes a new file")
        check_writable(out)
    name = Path(out).name.partition(".")[0] or "log"
    cluster = read_cluster(cluster_path)
    instance, report = import_logs(paths, cluster, form, columns, skip_bad, name, str(cluster_path))
    if out:
        write(instance, out)
    return instance, report


def _read(log: Log, form: str, skip_bad: bool, report: Report) -> list[LogJob]:
    jobs = []
    with open_text(log.source, errors="surrogateescape") as file:
        for job in FORMATS[form or guess_format(file, log.source)](file, log):
            if isinstance(job, LogJob):
                jobs.append(job)
            elif skip_bad:
                report.bad.append(str(job))
            else:
                raise job
    return jobs


def _merge(found: list[LogJob], report: Report) -> list[LogJob]:
    """One of the jobs with the same id and submit, the one that ran; runs that were requeued are pieces."""
    jobs: dict[Any, LogJob] = {}
    runs = defaultdict[str, list[LogJob]](list)
    for job in found:
        if job.start is not None and job.start < job.submit:
            job.start = job.submit
            report.remarks[EARLY] += not job.left_out
        key: Any = (job.id, job.submit) if job.id and job.left_out != REQUEUED else (job.id, job.submit, job.start)
        if not job.id:
            key = id(job)
        other = jobs.get(key)
        if other is not None:
            report.twice += 1
            if not other.left_out or (job.left_out and (job.run or 0) <= (other.run or 0)):
                continue
        jobs[key] = job
    restarted = {job.id for job in jobs.values() if job.may_restart}
    for job in jobs.values():
        if job.id in restarted:
            runs[job.id].append(job)
    for pieces in runs.values():
        pieces.sort(key=lambda job: job.submit)
        for job, later in itertools.pairwise(pieces):
            end = (job.start or 0) + (job.run or 0)
            if job.may_restart and not job.left_out and end <= later.submit <= end + RESTART:
                job.left_out = REQUEUED
    return list(jobs.values())


def _make_document(
    kept: list[Shape], jobs: Iterable[LogJob], cluster: ClusterFile, report: Report, name: str
) -> tuple[dict[str, Any], list[Shape]]:
    """The instance file of the jobs in the window, and these jobs in its order."""
    begin = kept[0].job.submit if cluster.begin is None else cluster.begin
    end = math.inf if cluster.end is None else cluster.end
    chosen, running, mine = [], [], [shape.job for shape in kept]
    for shape in kept:
        start, submit = shape.job.start, shape.job.submit
        if submit >= end or (submit < begin and (start is None or start + shape.run <= begin)):
            leave_out(shape.job, OUTSIDE, report)
        elif start is not None and start < begin:
            running.append(shape)
        else:
            chosen.append(shape)
            report.waiting += submit < begin
    names = {
        # The cluster file may name an account of which no job is kept
        table: sorted({_label(getattr(job, label)) for job in (jobs if label in ("account", "qos") else mine)} - {""})
        for label, table in LABELS.items()
    }
    if cluster.partitions:
        names["partitions"] = [part.name for part in cluster.partitions]
    code = {table: {label: k for k, label in enumerate(labels)} | {"": NONE} for table, labels in names.items()}
    sets = sorted({shape.pools for shape in chosen}) or [(0,)]
    number = {one: i for i, one in enumerate(sets)}
    labels = {label: [code[table][_label(getattr(s.job, label))] for s in chosen] for label, table in LABELS.items()}
    ids, seen = [], defaultdict[str, int](int)
    for shape in chosen:  # an id that was used again after a restart of the counter gets a number behind it
        own = _label(shape.job.id) or (shape.job.line.where if shape.job.line else "job")
        seen[own] += 1
        ids.append(own if seen[own] == 1 else f"{own}#{seen[own]}")
    everyone = [pool.name for pool in cluster.pools]
    partitions = msgspec.to_builtins(cluster.partitions)
    report.jobs = len(chosen)
    report.gpu_seconds = sum(s.run * s.nodes * s.gpus for s in chosen)
    report.remarks[NO_LIMIT] += sum(s.job.limit is None for s in chosen)
    document = {
        "format": FORMAT,
        "name": name,
        "origin": {"import": "ratiobench/cluster/logs"},
        "begin": begin,
        "cycle": cluster.cycle,
        "depth": cluster.depth,
        "judged": None if cluster.judged is None else list(cluster.judged),
        "pools": [{k: v for k, v in msgspec.to_builtins(pool).items() if k != "types"} for pool in cluster.pools],
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
            "pools": [number[s.pools] for s in chosen],
            "logged": [NONE if s.job.start is None else s.job.start for s in chosen],
            **labels,
        },
    }
    return document, chosen


def _place_running(
    shapes: list[Shape], cluster: ClusterFile, code: Mapping[str, Mapping[str, int]], begin: int, report: Report
) -> list[dict[str, Any]]:
    """Put jobs that run at the beginning on best-fit nodes, in order of start."""
    free = [[pool.gpus] * pool.nodes for pool in cluster.pools]
    rows = []
    for shape in sorted(shapes, key=lambda s: s.job.start or 0):
        job, start = shape.job, shape.job.start or 0
        for q in shape.pools:
            shut = {c.node for c in cluster.pools[q].closures if c.start < start + shape.run and c.end > begin}
            fit = [v for v, left in enumerate(free[q]) if left >= shape.gpus and v not in shut]
            if len(fit) < shape.nodes:
                continue
            nodes = sorted(fit, key=lambda v: (free[q][v], v))[: shape.nodes]
            for v in nodes:
                free[q][v] -= shape.gpus
            labels = {
                label: code[LABELS[label]][_label(getattr(job, label))] for label in ("account", "user", "partition")
            }
            times = {"start": start, "end": start + shape.run, "limit": NONE if job.limit is None else job.limit}
            rows.append({"pool": cluster.pools[q].name, "nodes": nodes, "gpus": shape.gpus, **times, **labels})
            report.running += 1
            break
        else:
            leave_out(job, NO_ROOM, report)
    return rows


def _label(text: str) -> str:
    return text[:LONGEST_NAME]


def _tell_clock(instance: Instance, zone: str, report: Report) -> None:
    """Tell how times without a zone were read, and whether the clocks change."""
    if not zone:
        told = "have times without a zone, which are read as UTC; the cluster file may have a `zone`, or export"
        report.remarks[f"{told} with SLURM_TIME_FORMAT=%s"] += report.read
        return
    last = int(instance.jobs.submit[-1]) if len(instance.jobs) else instance.begin
    days = range(instance.begin, last + DAY, DAY)
    if len({datetime.fromtimestamp(second, ZoneInfo(zone)).utcoffset() for second in days}) > 1:
        told = "are in a log in which the clocks change: the hour that is there twice is read as the first of the two"
        report.remarks[told] += report.read


def _measure(
    instance: Instance, jobs: list[LogJob], places: list[tuple[int, ...]], shapes: Shapes, report: Report
) -> None:
    """Load, utilisation and waits of the log; its window is from the beginning to its end or the last submit."""
    columns, begin = instance.jobs, instance.begin
    last = max((job.start + (job.run or 0) for job in jobs if job.start is not None), default=begin)
    held = [
        (job, job.start, last if job.left_out == NO_END else job.start + (job.run or 0))
        for job in jobs
        if job.start is not None and job.gpus and job.left_out != PART
    ]
    report.others = [
        Holder(start, end, job.gpus, shapes.ran_in(job)) for job, start, end in held if job.left_out and end > begin
    ]
    pools = np.array([place[0] if len(place) == 1 else NONE for place in places], dtype=np.int64)
    report.add_waits(instance, blocked(instance, columns.logged, pools, report.others))
    late = columns.release > np.maximum(columns.submit, begin)
    report.remarks[LATE] += int(late.sum())
    report.window = (begin, int(columns.submit[-1]) if shapes.end is None else shapes.end)
    closed = np.diff(np.clip(instance.closures[:, 1:3], *report.window), axis=1)[:, 0]
    capacity = instance.capacity * (report.window[1] - begin)
    capacity -= int((closed * instance.node_gpus[instance.closures[:, 0]]).sum())
    if capacity <= 0:
        return
    report.load = float((columns.width * columns.run)[columns.submit >= begin].sum()) / capacity
    inside = sum(job.gpus * max(0, min(end, report.window[1]) - max(start, begin)) for job, start, end in held)
    report.utilisation = inside / capacity
