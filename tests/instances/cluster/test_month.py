"""A generated month of known truth: its log, imported from every format, has its counts and replays to its starts."""

import gzip
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from ratiobench.instances.arrays import IntArray
from ratiobench.instances.cluster.format import LABELS, document, parse
from ratiobench.instances.cluster.generate import generate
from ratiobench.instances.cluster.log_lines import Reason
from ratiobench.instances.cluster.logs import NO_ZONE, import_logs
from ratiobench.instances.cluster.model import DAY, Instance, Schedule
from ratiobench.online.cluster.replay import replay
from tests.instances.cluster import log_files
from tests.instances.cluster.log_files import cluster_of, rows_of
from tests.oracles.cluster import Simulation
from tests.support.cluster_rules import make_rule

EASY = make_rule("easy")
EPOCH = 1_772_409_600  # 2026-03-02T00:00:00Z, a Monday
WRITERS = {
    "sacct": ("log.txt", log_files.sacct),
    "sacct-json": ("log.json", log_files.sacct_json),
    "csv": ("log.csv", log_files.csv),
    "kueue": ("workloads.json", log_files.kueue),
    "k8s": ("pods.json", log_files.pods),
    "swf": ("log.swf", lambda rows: log_files.swf(rows, EPOCH)),
}


@cache
def truth(processors: bool, days: int = 10, most: int = 500) -> tuple[Instance, IntArray]:
    """A month, and its starts by the simulator that reads the rules literally; SWF knows processors only."""
    x = generate("weeks", days=days, load=140, most=most, pools=(("a100", 16, 8), ("v100", 4, 4)))
    if processors:
        data = document(x)
        width = x.jobs.width.tolist()
        data["pools"] = [{"name": "p", "nodes": x.capacity, "gpus": 1}]
        data["jobs"] |= {"nodes": width, "gpus": [1] * len(width), "pools": [0] * len(width)}
        x = parse(data | {"pool_sets": [[0]]})
    return x, np.array(Simulation(x, EASY).starts)


def write_log(form: str, x: Instance, starts: IntArray, folder: Path) -> str:
    name, write = WRITERS[form]
    path = folder / f"{name}.gz"
    path.write_bytes(gzip.compress(write(rows_of(x, starts, EPOCH)).encode()))
    return str(path)


def busiest(x: Instance, starts: IntArray) -> int:
    """The second of a submit at which the most jobs wait."""
    submit = x.jobs.submit
    return int(submit[np.argmax([((submit < t) & (starts >= t)).sum() for t in submit])])


def check_jobs(form: str, x: Instance, starts: IntArray, y: Instance) -> None:
    """Every imported job is the job of the month."""
    place = {name: j for j, name in enumerate(x.jobs.ids)}
    of = [place[name.rpartition("/")[2]] for name in y.jobs.ids]
    for column in ("run", "limit", "nodes", "gpus", "allowed"):
        assert (getattr(y.jobs, column) == getattr(x.jobs, column)[of]).all(), column
    assert (y.jobs.submit - EPOCH == x.jobs.submit[of]).all()
    assert (y.jobs.logged - EPOCH == starts[of]).all()
    assert (y.jobs.release == np.maximum(y.jobs.submit, y.begin)).all()
    if form != "swf":  # its users and groups are numbers
        assert [y.users[u] for u in y.jobs.user] == [x.users[u] for u in x.jobs.user[of]]
        assert {y.partitions[p].name for p in y.jobs.partition} == {"gpu"}
    if form not in ("swf", "k8s"):  # pods have no account
        assert [y.accounts[a] for a in y.jobs.account] == [x.accounts[a] for a in x.jobs.account[of]]


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("size", [(), pytest.param((30, 1500), marks=pytest.mark.nightly)])
def test_an_imported_month_has_its_counts_and_replays_to_its_log(
    form: str, size: tuple[int, ...], tmp_path: Path
) -> None:
    """Days and weeks, arrays, gangs of 2 to 16 nodes, limits far above run times: job for job, in every format."""
    x, starts = truth(form == "swf", *size)
    y, report = import_logs([write_log(form, x, starts, tmp_path)], cluster_of(x))
    n, work = len(x.jobs), int((x.jobs.width * x.jobs.run).sum())
    assert (report.read, report.jobs, report.gpu_seconds, report.left_out, report.twice) == (n, n, work, {}, 0)
    assert +report.remarks == ({NO_ZONE: n} if form == "sacct" else {})
    assert report.load == work / (x.capacity * int(x.jobs.submit[-1] - x.jobs.submit[0]))
    check_jobs(form, x, starts, y)
    assert (replay(y, EASY).schedule.start == y.jobs.logged).all()
    assert report.waits is not None
    assert (report.waits.total.sum(), report.waits.overfull) == ((starts - x.jobs.submit).sum(), 0)
    assert form == "swf" or set(x.jobs.nodes.tolist()) == {1, 2, 4, 8, 16}
    assert (starts > x.jobs.submit).sum() > 70


@pytest.mark.parametrize("form", WRITERS)
def test_jobs_that_run_and_wait_at_the_border_of_a_window(form: str, tmp_path: Path) -> None:
    """At the second at which the most jobs wait; by counts of processors the rest of the log is replayed, too."""
    x, starts = truth(form == "swf")
    submit, ends = x.jobs.submit, starts + x.jobs.run
    begin = busiest(x, starts)
    y, report = import_logs([write_log(form, x, starts, tmp_path)], cluster_of(x, begin=EPOCH + begin))
    runs, waits = (starts < begin) & (ends > begin), (submit < begin) & (starts >= begin)
    before = ends <= begin
    assert report.left_out == {Reason.OUTSIDE: (before.sum(), int((x.jobs.width * x.jobs.run)[before].sum()))}
    assert (report.read, report.jobs) == (len(x.jobs), int((~runs & ~before).sum()))
    assert (report.running, report.waiting) == (runs.sum(), waits.sum())
    running = np.column_stack([y.running.start - EPOCH, y.running.end - EPOCH, y.running.nodes * y.running.gpus])
    assert sorted(running.tolist()) == sorted(np.column_stack([starts, ends, x.jobs.width])[runs].tolist())
    check_jobs(form, x, starts, y)
    assert min(report.running, report.waiting) > 5
    if form == "swf":
        assert (replay(y, EASY).schedule.start == y.jobs.logged).all()


def cut_window(instance: Instance, schedule: Schedule, begin: int, end: int | None = None) -> Instance:
    """The jobs of a window that start in it, with those that run and wait at its beginning by this schedule."""
    jobs, start = instance.jobs, schedule.start
    kept = np.flatnonzero((start >= begin) & (jobs.submit < (np.inf if end is None else end))).tolist()
    top = document(instance)
    columns = {name: [values[j] for j in kept] for name, values in top["jobs"].items()}
    columns["release"] = np.maximum(jobs.release[kept], begin).tolist()
    columns["logged"] = start[kept].tolist()
    offset = np.cumsum([0, *jobs.nodes])
    rows = [row for row in top["running"] if row["end"] > begin]
    for j in np.flatnonzero((start < begin) & (start + jobs.run > begin)).tolist():
        q = int(schedule.pool[j])
        nodes = schedule.node[offset[j] : offset[j + 1]] - instance.first_node[q]
        row = {"pool": instance.pools[q].name, "nodes": nodes.tolist(), "gpus": int(jobs.gpus[j])}
        row |= {"start": int(start[j]), "end": int(start[j] + jobs.run[j]), "limit": int(jobs.limit[j])}
        rows.append(row | {label: int(getattr(jobs, label)[j]) for label in LABELS if label != "qos"})
    origin = {"window": [begin, end], "of": instance.name, **instance.origin}
    changed = {"begin": begin, "judged": None, "origin": origin, "running": rows, "jobs": columns}
    return parse(top | changed, instance.name)


@pytest.mark.parametrize("form", ["sacct", "swf"])
def test_a_window_replays_to_the_rest_of_the_month(form: str) -> None:
    """At ten seconds of the month, and when the most jobs wait; what runs at the beginning keeps its nodes."""
    x, starts = truth(form == "swf")
    whole, waiting = replay(x, EASY).schedule, 0
    assert (whole.start == starts).all()
    tenths = np.quantile(x.jobs.submit, np.linspace(0.05, 0.95, 10)).astype(int).tolist()
    for begin in (*tenths, busiest(x, starts)):
        y = cut_window(x, whole, begin)
        again = replay(y, EASY).schedule
        assert (again.start == y.jobs.logged).all()
        assert set(y.jobs.ids) == {name for name, s in zip(x.jobs.ids, starts, strict=True) if s >= begin}
        later = cut_window(y, again, begin + DAY, begin + 2 * DAY)
        assert _content(later) == _content(cut_window(x, whole, begin + DAY, begin + 2 * DAY))
        waiting += int((y.jobs.submit < begin).sum())
    assert min(len(y.running), waiting) > 10


def _content(x: Instance) -> object:
    top = document(x)
    running = sorted(top.pop("running"), key=lambda row: (row["start"], row["pool"], row["nodes"]))
    return {key: value for key, value in top.items() if key != "origin"} | {"running": running}


def test_the_month_of_the_goal_has_gangs_arrays_and_weeks() -> None:
    """Thirty days: gangs of 2 to 16 nodes, fewer jobs at the weekend, jobs submitted in the same second."""
    x = generate("goal")
    days = np.bincount(x.jobs.submit // DAY, minlength=30)
    weekend = np.isin(np.arange(30) % 7, (5, 6))
    assert {2, 4, 8, 16} <= set(x.jobs.nodes.tolist())
    assert days[~weekend].mean() > 2 * days[weekend].mean()
    assert (np.diff(x.jobs.submit) == 0).mean() > 0.4
    assert 15_000 < len(x.jobs) < 30_000
