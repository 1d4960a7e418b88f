"""The parts of waits against their definition second by second, and against the figures of the KTH log."""

import random

import numpy as np
import pytest

from ratiobench.instances.cluster.format import parse
from ratiobench.instances.cluster.model import Instance, Schedule
from ratiobench.instances.cluster.waits import PARTS, Holder, blocked
from ratiobench.online.cluster.replay import replay
from tests.instances.cluster.test_format import small
from tests.online.cluster.random_logs import draw_log
from tests.online.cluster.test_kth import kth
from tests.support.cluster_rules import make_rule


def count_seconds(x: Instance, schedule: Schedule, by_nodes: bool, others: list[Holder]) -> list[list[int]]:
    """The parts of every wait, by the definition."""
    jobs, first, old = x.jobs, x.first_node.tolist(), np.cumsum([0, *x.running.nodes])
    offset = np.cumsum([0, *jobs.nodes])
    runs = [
        (schedule.start[j], schedule.start[j] + jobs.run[j], schedule.node[offset[j] : offset[j + 1]], jobs.gpus[j])
        for j in range(len(jobs))
    ]
    runs += [
        (x.running.start[i], x.running.end[i], x.running.node[old[i] : old[i + 1]], x.running.gpus[i])
        for i in range(len(x.running))
    ]
    parts = [[0] * 4 for _ in runs[: len(jobs)]]
    for t in range(x.begin, int(schedule.start.max())):
        free = x.node_gpus.tolist()
        for v, begin, end, _ in x.closures.tolist():
            free[v] = 0 if begin <= t < end else free[v]
        for begin, end, nodes, gpus in runs:
            for v in nodes if begin <= t < end else ():
                free[v] -= gpus
        held = sum(h.gpus for h in others if h.start <= t < h.end)

        def lacks(j: int, free: list[int] = free, held: int = held) -> bool:
            mine = [free[first[q] : first[q + 1]] for q in np.flatnonzero(jobs.allowed[j])]
            if by_nodes:
                return all(sum(level >= jobs.gpus[j] for level in levels) < jobs.nodes[j] for levels in mine)
            return all(sum(levels) - held < jobs.width[j] for levels in mine)

        waiting = [j for j in range(len(jobs)) if max(x.begin, jobs.submit[j]) <= t < schedule.start[j]]
        stuck = [j for j in waiting if lacks(j)]
        for j in waiting:
            ahead = any(i < j and jobs.release[i] <= t for i in stuck)
            parts[j][0 if j in stuck else 1 if jobs.release[j] > t else 2 if ahead else 3] += 1
    return parts


def test_the_parts_are_as_defined() -> None:
    """Random logs with gangs, closed nodes, running and waiting jobs, by nodes and by counts."""
    seen = np.zeros(4, dtype=np.int64)
    for seed in range(80):
        x = draw_log(seed)
        policy = random.Random(seed).choice(["easy", "fcfs", "conservative"])
        replayed = replay(x, make_rule(policy))
        if replayed.requeued.any():
            continue
        schedule = replayed.schedule
        found = blocked(x, schedule)
        by_nodes = np.array([getattr(found, name) for name in PARTS])
        assert by_nodes.T.tolist() == count_seconds(x, schedule, True, [])
        assert (found.total == schedule.start - np.maximum(x.begin, x.jobs.submit)).all()
        others = [Holder(x.begin + 3, x.begin + 12, 2, (0,))] if len(x.pools) == 1 else []
        found = blocked(x, schedule.start, schedule.pool, others)
        assert np.array([getattr(found, name) for name in PARTS]).T.tolist() == count_seconds(
            x, schedule, False, others
        )
        if not others:
            assert (blocked(x, schedule.start).blocked <= by_nodes[0]).all()
        seen += by_nodes.sum(axis=1)
    assert (seen > 30).all(), seen


def test_unknown_starts_and_what_is_overfull() -> None:
    """A job without a start neither waits nor holds; more GPUs than there are count as none free, and are told."""
    x = parse(small())  # pools of 2 x 4 (a node closed in 300..400) and 1 x 2 GPUs; 4 of them run until 300
    found = blocked(x, np.array([100, -1, 170]), others=[Holder(130, 140, 4, (0,)), Holder(150, 155, 7)])
    assert found.known.tolist() == [True, False, True]
    assert found.blocked.tolist() == [0, 0, 10 + 5]
    assert (found.total.tolist(), found.overfull, found.exact) == ([0, 0, 50], 5, False)
    assert found.means()["blocked"] == 7.5
    assert found.means(np.array([False, True, False]))["wait"] == 0.0


def test_the_figures_of_the_kth_log() -> None:
    """Minutes of the log and of EASY's replay."""
    x = kth()
    log, easy = (blocked(x, start).means() for start in (x.jobs.logged, replay(x, make_rule("easy")).schedule))
    assert (log["wait"] / 60, log["blocked"] / 60) == pytest.approx((256.4, 118.5), abs=0.1)
    assert (easy["wait"] / 60, easy["blocked"] / 60) == pytest.approx((113.9, 101.8), abs=0.1)
    assert easy["other"] < 1
