"""Import of an operator's logs: several files and a cluster file become one instance, and a report of what counts."""

from __future__ import annotations

import itertools
import math
import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import numpy as np

from ratiobench.instances.cluster.cluster_file import ClusterFile, LogPool, Shapes, read_cluster
from ratiobench.instances.cluster.format import FORMAT, LABELS, parse, write
from ratiobench.instances.cluster.log_lines import LONGEST_NAME, Log, LogJob, Reason
from ratiobench.instances.cluster.model import DAY, NONE, Instance
from ratiobench.instances.cluster.readers import FORMATS, guess_format
from ratiobench.instances.cluster.report import Report
from ratiobench.instances.cluster.waits import Holder, blocked
from ratiobench.instances.io.errors import InputError, explain_unknown_name
from ratiobench.instances.io.files import check_writable
from ratiobench.instances.io.text_files import open_text

__all__ = ["ClusterFile", "LogPool", "import_logs", "read_cluster", "write_import"]

LATE = "could not start at submit (a dependency, a begin time): they are released when they are eligible"
NO_LIMIT = "without a time limit (policies believe the greatest one)"
EARLY = "start before their submit in the log; they count as started at submit"
UNEVEN = "ask for GPUs that their nodes do not divide; every node has the greater part"
NO_ZONE = (
    "have times without a zone, which are read as UTC; the cluster file may have a `zone`, or export with "
    "SLURM_TIME_FORMAT=%s"
)
CLOCK = "are in a log in which the clocks change: the hour that is there twice is read as the first of the two"
COLUMNS = {"submit": "submit", "run": "length", "nodes": "nodes", "gpus": "node_gpus"}  # of the file -> of a job
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
    """Import logs as one instance, whose origin has the figures of the report.

    `form`: format of the logs, empty: by the names of the files; `columns`: our name of a column -> its name in a CSV
    file; `skip_bad`: lines that cannot be read are counted instead of ending the import; `where`: the cluster file in
    messages. InputError names file, line, field and value.
    """
    if form and form not in FORMATS:
        raise InputError("--format", "", explain_unknown_name(form, FORMATS))
    report, shapes = Report(), Shapes(cluster, where)
    zone = ZoneInfo(cluster.zone) if cluster.zone else None
    logs = [Log(str(path), zone, columns or {}, report.remarks) for path in paths]
    jobs = _merge([job for log in logs for job in _read(log, form, skip_bad, report)], report)
    report.read = len(jobs)
    kept = []
    for job in jobs:
        if reason := shapes.place(job):
            report.leave_out(job, reason)
        else:
            kept.append(job)
            report.remarks[UNEVEN] += job.nodes * job.node_gpus != job.gpus
    kept.sort(key=lambda job: job.submit)  # stable: ties stay in the order of the files
    if not kept:
        told = "; ".join(f"{count} jobs: {reason}" for reason, (count, _) in report.left_out.items()) or "none"
        raise InputError(str(paths[0]) if paths else "", "", f"no job that can be replayed; left out: {told}")
    begin = kept[0].submit if cluster.begin is None else cluster.begin
    chosen, running = _cut(kept, begin, math.inf if cluster.end is None else cluster.end, report)
    if not chosen:
        raise InputError(where, "begin", f"none of the {len(kept)} jobs that can be replayed is in the window")
    report.jobs = len(chosen)
    report.gpu_seconds = sum(job.length * job.nodes * job.node_gpus for job in chosen)
    report.remarks[NO_LIMIT] += sum(job.limit is None for job in chosen)
    names = _list_names(cluster, jobs, kept)
    document = _make_document(name, cluster, begin, names, chosen)
    instance = parse(document | {"running": _place_running(running, cluster, names, begin, report)}, where)
    if any(log.is_local for log in logs):
        _tell_clock(instance, zone, report)
    _measure(instance, cluster.end, jobs, [shapes.ran_in(job) if job.ran else () for job in chosen], shapes, report)
    return replace(instance, origin={**instance.origin, "log": report.summary()}), report


def write_import(
    paths: Sequence[str],
    cluster_path: str,
    out: str,
    form: str = "",
    columns: Mapping[str, str] | None = None,
    skip_bad: bool = False,
) -> tuple[Instance, Report]:
    """Import logs as `import_logs` does, and write the instance to a new file; without its name nothing is written."""
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
        key: Any = (job.id, job.submit, job.start if job.left_out == Reason.REQUEUED else None) if job.id else id(job)
        other = jobs.get(key)
        report.twice += other is not None
        if other is None or (other.left_out and (not job.left_out or (job.run or 0) > (other.run or 0))):
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
                job.left_out = Reason.REQUEUED
    return list(jobs.values())


def _cut(kept: list[LogJob], begin: int, end: float, report: Report) -> tuple[list[LogJob], list[LogJob]]:
    """The jobs of the window, and those that run at its beginning; the others are left out."""
    chosen, running = [], []
    for job in kept:
        if job.submit >= end or (job.submit < begin and (job.start is None or job.start + job.length <= begin)):
            report.leave_out(job, Reason.OUTSIDE)
        elif job.start is not None and job.start < begin:
            running.append(job)
        else:
            chosen.append(job)
            report.waiting += job.submit < begin
    return chosen, running


def _list_names(cluster: ClusterFile, jobs: list[LogJob], kept: list[LogJob]) -> dict[str, list[str]]:
    """The names of each table; the cluster file may name an account or a quality of which no job is kept."""
    of = {"account": jobs, "qos": jobs, "user": kept, "partition": kept}
    names = {table: sorted({getattr(job, label) for job in of[label]} - {""}) for label, table in LABELS.items()}
    return names | {"partitions": [part.name for part in cluster.partitions] or names["partitions"]}


def _make_document(
    name: str, cluster: ClusterFile, begin: int, names: Mapping[str, list[str]], chosen: list[LogJob]
) -> dict[str, Any]:
    """The instance file of the chosen jobs."""
    given = msgspec.to_builtins(cluster)
    everyone = [pool.name for pool in cluster.pools]
    sets = sorted({job.pools for job in chosen})
    numbers = {pools: i for i, pools in enumerate(sets)}
    ids, seen = [], Counter[str]()
    for job in chosen:  # an id that was used again after a restart of the counter gets a number behind it
        own = job.id[:LONGEST_NAME] or job.where
        seen[own] += 1
        ids.append(own if seen[own] == 1 else f"{own}#{seen[own]}")
    return {
        "format": FORMAT,
        "name": name,
        "origin": {"import": "ratiobench/cluster/logs"},
        "begin": begin,
        **{key: given[key] for key in ("cycle", "depth", "judged", "quotas", "priority")},
        "pools": [{key: value for key, value in pool.items() if key != "types"} for pool in given["pools"]],
        "partitions": given["partitions"] or [{"name": part, "pools": everyone} for part in names["partitions"]],
        **{table: names[table] for table in ("accounts", "users", "qos")},
        "pool_sets": sets,
        "jobs": {
            "id": ids,
            "release": [max(begin, job.submit, job.eligible or 0) for job in chosen],
            "pools": [numbers[job.pools] for job in chosen],
            **{column: [getattr(job, name) for job in chosen] for column, name in COLUMNS.items()},
            "limit": [_or_none(job.limit) for job in chosen],
            "logged": [_or_none(job.start) for job in chosen],
            **_code(names, chosen),
        },
    }


def _or_none(value: int | None) -> int:
    return NONE if value is None else value


def _code(names: Mapping[str, list[str]], jobs: list[LogJob]) -> dict[str, list[int]]:
    """The labels of jobs as numbers of names."""
    codes = {}
    for label, table in LABELS.items():
        number = {name: i for i, name in enumerate(names[table])} | {"": NONE}
        codes[label] = [number[getattr(job, label)] for job in jobs]
    return codes


def _place_running(
    jobs: list[LogJob], cluster: ClusterFile, names: Mapping[str, list[str]], begin: int, report: Report
) -> list[dict[str, Any]]:
    """Put jobs that run at the beginning on best-fit nodes, in order of start."""
    free = [[pool.gpus] * pool.nodes for pool in cluster.pools]
    jobs = sorted(jobs, key=lambda job: job.start or 0)
    codes, rows = _code(names, jobs), []
    for i, job in enumerate(jobs):
        start = job.start or 0
        end = start + job.length
        for q in job.pools:
            shut = {c.node for c in cluster.pools[q].closures if c.start < end and c.end > begin}
            fit = [v for v, left in enumerate(free[q]) if left >= job.node_gpus and v not in shut]
            if len(fit) >= job.nodes:
                nodes = sorted(fit, key=lambda v: (free[q][v], v))[: job.nodes]
                break
        else:
            report.leave_out(job, Reason.NO_ROOM)
            continue
        for v in nodes:
            free[q][v] -= job.node_gpus
        row = {"pool": cluster.pools[q].name, "nodes": nodes, "gpus": job.node_gpus, "start": start, "end": end}
        row |= {label: codes[label][i] for label in ("account", "user", "partition")}
        rows.append(row | {"limit": _or_none(job.limit)})
    report.running = len(rows)
    return rows


def _tell_clock(instance: Instance, zone: ZoneInfo | None, report: Report) -> None:
    """Tell how times without a zone were read, and whether the clocks change."""
    if zone is None:
        report.remarks[NO_ZONE] += report.read
        return
    days = range(instance.begin, int(instance.jobs.submit[-1]) + DAY, DAY)
    if len({datetime.fromtimestamp(second, zone).utcoffset() for second in days}) > 1:
        report.remarks[CLOCK] += report.read


def _measure(
    instance: Instance,
    end: int | None,
    jobs: list[LogJob],
    places: list[tuple[int, ...]],
    shapes: Shapes,
    report: Report,
) -> None:
    """Load, utilisation and waits of the log; its window is from the beginning to its end or the last submit."""
    columns, begin = instance.jobs, instance.begin
    last = max((job.start + (job.run or 0) for job in jobs if job.start is not None), default=begin)
    held = [
        (job, job.start, last if job.left_out == Reason.NO_END else job.start + (job.run or 0))
        for job in jobs
        if job.start is not None and job.gpus and job.left_out != Reason.PART
    ]
    report.others = [
        Holder(start, until, job.gpus, shapes.ran_in(job))
        for job, start, until in held
        if job.left_out and until > begin
    ]
    pools = np.array([place[0] if len(place) == 1 else NONE for place in places], dtype=np.int64)
    report.add_waits(instance, blocked(instance, columns.logged, pools, report.others))
    late = columns.release > np.maximum(columns.submit, begin)
    report.remarks[LATE] += int(late.sum())
    report.window = (begin, int(columns.submit[-1]) if end is None else end)
    closed = np.diff(np.clip(instance.closures[:, 1:3], *report.window), axis=1)[:, 0]
    capacity = instance.capacity * (report.window[1] - begin)
    capacity -= int((closed * instance.node_gpus[instance.closures[:, 0]]).sum())
    if capacity > 0:
        report.load = float((columns.width * columns.run)[columns.submit >= begin].sum()) / capacity
        inside = sum(job.gpus * max(0, min(until, report.window[1]) - max(start, begin)) for job, start, until in held)
        report.utilisation = inside / capacity
