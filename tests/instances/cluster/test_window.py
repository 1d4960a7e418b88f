"""A generated month of known truth: its log, imported and cut at any second, replays to its starts job for job."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ratiobench.instances.cluster.format import LABELS, document, parse
from ratiobench.instances.cluster.generate import generate
from ratiobench.instances.cluster.logs import ClusterFile, LogPool, import_logs
from ratiobench.instances.cluster.model import DAY, Instance, Schedule
from ratiobench.online.cluster.algorithms import make_rule
from ratiobench.online.cluster.replay import replay
from tests.instances.cluster.log_files import cluster_of, rows_of, sacct, swf
from tests.oracles.cluster import Simulation

EASY = make_rule("easy")
KINDS = ("nodes", "processors")


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


def draw(kind: str, most: int, folder: Path) -> Instance:
    """Some days of a month, on nodes, or on processors as SWF has them."""
    x = generate("truth", days=3, load=140, most=most, pools=(("a100", 4, 8), ("v100", 3, 4)))
    if kind == "nodes":
        return x
    (folder / "empty.swf").write_text(swf(rows_of(x, x.jobs.submit, 0), 0))
    return import_logs([str(folder / "empty.swf")], ClusterFile(pools=[LogPool("p", 40, 1)]))[0]


@pytest.mark.parametrize("kind", KINDS)
def test_an_imported_month_replays_to_its_log(kind: str, tmp_path: Path) -> None:
    """Starts are of the simulator that reads the rules literally; by counts also from the middle of the log."""
    x = draw(kind, 200, tmp_path)
    truth = np.array(Simulation(x, EASY).starts)
    write, name = (sacct, "log.txt") if kind == "nodes" else (lambda rows: swf(rows, 0), "log.swf")
    (tmp_path / name).write_text(write(rows_of(x, truth, 0)))
    queue = [int(((x.jobs.submit < t) & (truth > t)).sum()) for t in x.jobs.submit]
    busiest = int(x.jobs.submit[np.argmax(queue)])
    for begin in [None, busiest] if kind == "processors" else [None]:
        y, report = import_logs([str(tmp_path / name)], cluster_of(x, begin=begin))
        assert (replay(y, EASY).schedule.start == y.jobs.logged).all()
        assert report.waits is not None
        assert report.waits.means()["wait"] > 1000
        assert report.waits.means()["other"] == 0 or kind == "nodes"
        assert begin is None or min(report.running, report.waiting) > 2
    assert len(y.jobs) + report.running + report.left_out.get("outside the window", (0, 0))[0] == len(x.jobs)


@pytest.mark.parametrize("kind", KINDS)
def test_a_window_replays_to_the_rest_of_the_month(kind: str, tmp_path: Path) -> None:
    """At ten seconds of the month; what runs at the beginning keeps its nodes."""
    x = draw(kind, 300, tmp_path)
    truth, waiting = replay(x, EASY).schedule, 0
    for begin in np.quantile(x.jobs.submit, np.linspace(0.05, 0.95, 10)).astype(int).tolist():
        y = cut_window(x, truth, begin)
        again = replay(y, EASY).schedule
        assert (again.start == y.jobs.logged).all()
        assert set(y.jobs.ids) == {name for name, s in zip(x.jobs.ids, truth.start, strict=True) if s >= begin}
        later = cut_window(y, again, begin + DAY, begin + 2 * DAY)
        assert _content(later) == _content(cut_window(x, truth, begin + DAY, begin + 2 * DAY))
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
