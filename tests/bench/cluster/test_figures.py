"""Figures of schedules against brute force, changes of a what-if, shares of the possible gain."""

import math
from fractions import Fraction

import numpy as np
import pytest

from ratiobench.bench.cluster import measures
from ratiobench.bench.cluster.backtest import Optimum, _share
from ratiobench.bench.cluster.changes import change, list_changes
from ratiobench.bench.results.intervals import quantile
from ratiobench.instances.cluster.generate import generate
from ratiobench.instances.cluster.model import DAY, Instance
from ratiobench.instances.cluster.waits import group_jobs
from ratiobench.instances.io.errors import InputError
from tests.online.cluster.random_logs import draw_log
from tests.support.cluster_rules import run_policy
from tests.support.documents import refusal_of


def month(days: int = 3) -> Instance:
    """A small generated log: 4 nodes in each pool."""
    return generate("figures", days=days, pools=(("a100", 4, 8), ("v100", 4, 4)), most=400)


def test_means_are_those_of_the_jobs_one_by_one() -> None:
    instance = month()
    start = instance.jobs.submit + np.arange(len(instance.jobs)) * 7
    found = measures.measure(instance, start, np.ones(len(start), dtype=bool))
    jobs = instance.jobs
    rows = [
        (7 * j, n * g * r, max(1.0, (7 * j + r) / max(r, 10)))
        for j, (n, g, r) in enumerate(zip(jobs.nodes.tolist(), jobs.gpus.tolist(), jobs.run.tolist(), strict=True))
    ]
    assert found.wait == pytest.approx(sum(wait for wait, _, _ in rows) / len(rows))
    area = sum(area for _, area, _ in rows)
    assert found.gpu_wait == pytest.approx(sum(wait * a for wait, a, _ in rows) / area)
    assert found.slowdown == pytest.approx(sum(slow for _, _, slow in rows) / len(rows))
    assert found.longest == 7 * (len(rows) - 1)
    assert sum(wait <= found.p95 for wait, _, _ in rows) >= 0.95 * len(rows) > sum(w < found.p95 for w, _, _ in rows)


def test_utilisation_is_that_of_every_second() -> None:
    """Random logs with running jobs and closed nodes, counted second by second."""
    for seed in range(40):
        instance = draw_log(seed)
        start = run_policy(instance, "easy").schedule.start
        end = int(instance.jobs.submit.max())
        used = capacity = 0
        for second in range(instance.begin, end):
            spans = zip(start, start + instance.jobs.run, instance.jobs.width, strict=True)
            used += sum(int(w) for a, b, w in spans if a <= second < b)
            running = instance.running
            ends = zip(running.end, running.nodes * running.gpus, strict=True)
            used += sum(int(w) for b, w in ends if second < b)
            shut = [node for node, a, b, _ in instance.closures.tolist() if a <= second < b]
            capacity += instance.capacity - int(instance.node_gpus[shut].sum())
        assert measures.utilisation(instance, start) == pytest.approx(used / max(1, capacity)), seed


def test_days_add_up_to_all_gpu_seconds() -> None:
    instance = month()
    start = instance.jobs.submit
    days = measures.list_utilisation(instance, start, measures.list_days(instance))
    inside = np.clip(np.minimum(start + instance.jobs.run, len(days) * DAY) - start, 0, None)
    total = float((inside * instance.jobs.width).sum())
    assert sum(days) * instance.capacity * DAY == pytest.approx(total)
    waits = measures.wait_by_day(instance, start + 60)
    assert {wait for wait in waits if wait is not None} == {60.0}


def test_groups_part_the_jobs() -> None:
    instance = month()
    for groups in (measures.group_by_account(instance), dict(group_jobs(instance, "width"))):
        assert (sum(mask.astype(int) for mask in groups.values()) == 1).all()
    assert [name for name, _ in group_jobs(instance, "width")][:3] == ["1", "2", "3 to 4"]


def test_the_paired_interval_is_that_of_the_ratio_estimator() -> None:
    """By weeks where there are ten, else by days, none for fewer than ten days; zero for the same schedule."""
    for days, unit, count in ((71, "weeks", 11), (20, "days", 20), (5, "days", 5)):
        instance = generate("pairs", days=days, pools=(("a100", 2, 8), ("v100", 2, 4)))
        jobs, everyone = instance.jobs, np.ones(len(instance.jobs), dtype=bool)
        one = np.ones(len(jobs), dtype=np.int64)
        later = jobs.submit + jobs.submit // 3600 % 24
        found = measures.compare(instance, later, jobs.submit, one, everyone)
        period = jobs.submit // (7 * DAY if unit == "weeks" else DAY)
        parts = [(later - jobs.submit)[period == p] for p in np.unique(period)]
        mean = sum(part.sum() for part in parts) / len(jobs)
        assert (found.unit, found.mean) == (unit, pytest.approx(mean))
        assert found.periods == len(parts) <= count
        if len(parts) < measures.LEAST_PERIODS:
            assert found.low is None
            continue
        spread = math.sqrt(sum(float(part.sum() - mean * len(part)) ** 2 for part in parts) / (len(parts) - 1))
        half = quantile(len(parts) - 1) * spread * math.sqrt(len(parts)) / len(jobs)
        assert found.low is not None
        assert found.low == pytest.approx(mean - half)
        same = measures.compare(instance, later, later, one, everyone)
        assert (same.mean, same.low, same.high) == (0, 0, 0)


def test_the_share_holds_for_every_optimum_in_the_interval() -> None:
    today, lower, upper = 100.0, 20.0, 60.0
    for cost in (20.0, 60.0, 80.0, 100.0, 150.0):
        span = _share(cost, today, Optimum(lower, upper, "", 1.0))
        assert span is not None
        shares = [(today - cost) / (today - opt) for opt in np.linspace(lower, upper, 41)]
        assert span.low == pytest.approx(min(shares))
        assert span.high == pytest.approx(max(shares))
    assert _share(90.0, today, Optimum(lower, today, "", 1.0)) is None


def test_changes_do_what_they_say() -> None:
    instance = month()
    assert list_changes(instance, "nodes=+2") == ["pool.a100=+2", "pool.v100=+2"]
    more = change(instance, "pool.v100=+2")
    assert [pool.nodes for pool in more.pools] == [4, 6]
    faster = change(instance, "load=1.25")
    spans = [int(each.jobs.submit[-1]) - each.begin for each in (instance, faster)]
    assert abs(spans[1] - Fraction(spans[0]) / Fraction("1.25")) <= 1
    assert faster.jobs.run.tolist() == instance.jobs.run.tolist()
    exact = change(instance, "limits=true")
    assert exact.jobs.limit.tolist() == instance.jobs.run.tolist()
    closed = change(instance, "maintenance=1d..36h:3")
    assert closed.closures[:, 1:].tolist() == [[DAY, 36 * 3600, 0]] * 3
    assert (run_policy(closed, "easy").schedule.start >= 0).all()


def test_quotas_of_a_file_hold(tmp_path: object) -> None:
    from pathlib import Path

    instance = month()
    file = Path(str(tmp_path)) / "quota.toml"
    file.write_text('[[quotas]]\naccount = "a0"\nnominal = [32, 16]\n')
    changed = change(instance, f"quota={file}")
    assert [(quota.account, quota.nominal) for quota in changed.quotas] == [("a0", (32, 16))]
    file.write_text('[[quotas]]\naccount = "nobody"\nnominal = [32, 16]\n')
    with pytest.raises(InputError, match=r"quotas\[0\].account: 'nobody' is not one of a0"):
        change(instance, f"quota={file}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nodes", "'nodes' is not one of nodes=+4, pool.NAME=+8"),
        ("gpus=+4", "'gpus=+4' is not one of nodes=+4"),
        ("pool.h100=+1", "pool.h100: 'h100' is not one of a100, v100"),
        ("pool.a100=4", "'4' is not a number of nodes such as +4 or -2"),
        ("load=0", "'0' is not a factor in 0.1..10"),
        ("load=1e3", "'1e3' is not a factor in 0.1..10"),
        ("limits=false", "'false' is not true"),
        ("maintenance=1d..2d", "'1d..2d' is not FROM..TO:N"),
        ("maintenance=2d..1d:3", "needs a start between beginning"),
        ("maintenance=x..2d:3", "'x' is neither a date or time"),
        ("maintenance=1d..2d:9", "9 nodes; a100 has 4 that are in service then"),
        ("pool.a100=-4", "pools[0].nodes: 0 is not in 1..131072"),
        ("quota=none.toml", "none.toml"),
    ],
)
def test_a_wrong_change_is_named_in_one_line(text: str, message: str) -> None:
    assert message in refusal_of(change, month(), text)
