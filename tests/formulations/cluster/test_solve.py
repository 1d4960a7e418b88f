"""Intervals of clusters: all formulations agree on tiny instances; settings do what they say."""

from fractions import Fraction

import numpy as np
import pytest

import ratiobench.formulations.cluster.search as search_module
from ratiobench.formulations.cluster.check import check
from ratiobench.formulations.cluster.enumerate import enumerate_optimum
from ratiobench.formulations.cluster.search import Search
from ratiobench.formulations.cluster.solve import solve
from ratiobench.formulations.cluster.tables import Problem
from ratiobench.formulations.cluster.verify import verify
from ratiobench.formulations.report import Proof, Status
from ratiobench.instances.cluster.format import parse
from ratiobench.instances.cluster.model import COSTS, Instance, Schedule, make_costs
from ratiobench.instances.io.documents import to_document
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.seeds import Stream
from tests.support.tiny_clusters import make_tiny


def _queue(jobs: int, processors: int) -> Instance:
    """A contended pool of processors, as a log without nodes."""
    stream = Stream("queue", jobs, processors)
    columns = {
        "id": [f"j{j}" for j in range(jobs)],
        "submit": np.sort(stream.integers(0, 200 * jobs, jobs)).tolist(),
        "run": stream.integers(1, 4000, jobs).tolist(),
        "nodes": stream.integers(1, processors, jobs).tolist(),
        "gpus": [1] * jobs,
        "pools": [0] * jobs,
    }
    pools = [{"name": "cpu", "nodes": processors, "gpus": 1}]
    top = {"format": "ratiobench/cluster/1", "name": "queue", "begin": 0, "pools": pools, "pool_sets": [[0]]}
    return parse(top | {"jobs": columns})


@pytest.mark.parametrize("number", range(24))
def test_the_interval_holds_opt_and_enumeration_closes_it(number: int) -> None:
    instance, cost = make_tiny("solve", number), COSTS[number % len(COSTS)]
    optimum, _ = enumerate_optimum(instance, make_costs(instance.jobs, cost))
    report = solve(instance, cost)
    assert report.lower <= optimum <= report.upper
    assert report.certificate is not None
    exact = solve(instance, cost, "enumeration")
    assert exact.upper - exact.lower <= Fraction(1, 2**30)
    assert exact.lower <= optimum <= exact.upper
    if cost != "slowdown":
        assert exact.status is Status.OPTIMAL


@pytest.mark.parametrize("threads", [1, 2])
def test_a_time_limit_gives_proof_and_schedule_by_one_thread_or_two(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ratiobench.formulations.cluster.solve.usable_threads", lambda: threads)
    instance = _queue(80, 6)
    first = solve(instance, "wait", effort=1)
    report = solve(instance, "wait", effort=64, seconds=3.0)
    assert report.time_limited
    assert report.certificate is not None
    assert verify(instance, to_document(report.certificate)).valid
    assert check(instance, report.solution, "wait").cost == report.upper
    assert {"windows", "rounds"} <= report.work.keys()
    assert max(first.lower, report.lower) <= min(first.upper, report.upper)


@pytest.mark.parametrize("number", range(6))
def test_a_half_of_a_schedule_is_improved_within_its_time(number: int) -> None:
    """So two threads can share a schedule; what they leave is valid and costs what they say."""
    instance = _queue(60, 5) if number == 0 else make_tiny("halves", number, jobs=30)
    problem = Problem(instance, make_costs(instance.jobs, "wait"))
    search = Search(problem)
    first, run = search.decode(problem.release), problem.run
    middle = int(np.median(search.best.start))
    for begin, end in ((-(2**60), middle), (middle, 2**60)):
        before = search.best.start.copy()
        search.improve(40, 20, 100, begin=begin, end=end)
        after, free = search.best.start, (before >= begin) & (before + run <= end)
        assert (after == before)[~free].all()
        assert (after >= begin)[free].all()
        assert (after + run <= end)[free].all()
        assert number or (after != before).any()
    halves, rounds = search.cost, iter(range(40))
    search.improve_halves(20, lambda: next(rounds, None) is None)
    assert search.cost <= halves <= first
    assert check(instance, search.schedule(), "wait").cost == round(search.cost)


def test_places_are_read_and_written_under_a_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that saw a new pool with old nodes would read beyond them."""
    instance = _queue(60, 5)
    search = Search(Problem(instance, make_costs(instance.jobs, "wait")))
    first, held, spread = search.decode(search.problem.release), list[bool](), search_module.spread
    watched = lambda *given: (held.append(search._lock.locked()), spread(*given))[1]  # noqa: E731
    monkeypatch.setattr(search_module, "spread", watched)
    search.improve(20, 20, 100)
    assert search.cost < first
    assert len(held) > 20  # once for each window, and once more for each that gained
    assert all(held)


def test_a_half_gains_nothing_by_what_runs_beyond_its_end() -> None:
    """A long wide job had better wait for a short one that comes a second later, but then it ends a second later."""
    columns = {"id": ["wide", "short"], "submit": [0, 1], "run": [10, 1], "nodes": [2, 1]}
    top = {"format": "ratiobench/cluster/1", "name": "two", "begin": 0, "pool_sets": [[0]]}
    pools = [{"name": "cpu", "nodes": 2, "gpus": 1}]
    instance = parse(top | {"pools": pools, "jobs": columns | {"gpus": [1, 1], "pools": [0, 0]}})
    search = Search(Problem(instance, make_costs(instance.jobs, "wait")))
    search.decode([0, 1])
    for end, starts in ((11, [0, 10]), (12, [2, 1])):
        search.improve(5, 2, 50, end=end)
        assert search.best.start.tolist() == starts


@pytest.mark.parametrize("number", range(8))
def test_cp_sat_agrees_with_enumeration(number: int) -> None:
    instance, cost = make_tiny("cp-sat", number), COSTS[number % len(COSTS)]
    optimum, _ = enumerate_optimum(instance, make_costs(instance.jobs, cost))
    report = solve(instance, cost, "cp-sat")
    assert report.lower <= optimum <= report.upper
    assert float(report.upper - report.lower) <= 1e-3
    if cost != "slowdown":
        assert report.status is Status.OPTIMAL


def test_more_effort_is_never_wider_and_figures_do_not_change() -> None:
    instance = _queue(12, 4)
    first, again, more = (solve(instance, "wait", "prices", effort=effort) for effort in (1, 1, 2))
    assert (first.lower, first.upper) == (again.lower, again.upper)
    assert first.lower <= more.lower <= more.upper <= first.upper
    assert first.proof is Proof.LAGRANGIAN
    assert first.lower > 0
    assert solve(instance, "wait").status is Status.OPTIMAL  # few jobs are left to CP-SAT


@pytest.mark.parametrize("cost", ["wait", "slowdown"])
def test_branches_on_starts_prove_no_less_and_are_in_the_certificate(
    cost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = _queue(8, 6)
    first = solve(instance, cost, "prices")
    monkeypatch.setattr("ratiobench.formulations.cluster.solve.PAYS", -1.0)
    report = solve(instance, cost, "prices", effort=2)
    assert first.lower <= report.lower <= solve(instance, cost).upper
    data = to_document(report.certificate)  # type: ignore[arg-type]
    assert len(data["branches"]) == report.work["branches"] > 10
    assert verify(instance, data).valid


def test_the_schedule_is_valid_and_what_it_costs() -> None:
    instance = _queue(12, 6)
    report = solve(instance, "wait-gpu-hours")
    assert check(instance, report.solution, "wait-gpu-hours").cost == report.upper
    data = to_document(report.certificate)  # type: ignore[arg-type]
    assert verify(instance, data).valid


def test_where_nobody_waits_the_interval_is_closed_with_a_certificate() -> None:
    instance = _queue(1, 4)
    report = solve(instance, "wait")
    assert (report.lower, report.upper) == (0, 0)
    assert report.certificate is not None


def test_a_log_without_jobs_is_solved() -> None:
    instance = _queue(0, 4)
    assert solve(instance).upper == 0


def test_a_schedule_to_begin_with_counts() -> None:
    instance = _queue(12, 4)
    best = solve(instance, "wait")
    assert solve(instance, "wait", start=best.solution, gap=0.99).upper <= best.upper
    instance = make_tiny("start", 3)  # two pools, nodes of several GPUs
    best = solve(instance, "wait", "enumeration")
    assert solve(instance, "wait", start=best.solution).upper == best.upper


def test_a_gap_or_the_time_ends_it() -> None:
    instance = _queue(12, 4)
    assert solve(instance, "wait", gap=0.999).work.get("rounds", 0) <= solve(instance, "wait").work["rounds"]
    assert solve(instance, "wait", seconds=0.01, effort=1000).time_limited


@pytest.mark.parametrize(
    ("field", "settings"),
    [
        ("cost", {"cost": "waits"}),
        ("formulation", {"formulation": "dual"}),
        ("effort", {"effort": 0}),
        ("backend", {"formulation": "prices", "backend": "cpsat"}),
    ],
)
def test_a_wrong_setting_is_named(field: str, settings: dict[str, object]) -> None:
    with pytest.raises(InputError, match=field):
        solve(_queue(1, 4), **settings)  # type: ignore[arg-type]


def test_a_wrong_schedule_is_refused_by_rule() -> None:
    instance = _queue(2, 4)
    nodes = np.concatenate([np.arange(m) for m in instance.jobs.nodes])
    good = Schedule(instance.jobs.release + np.array([0, 5000]), np.zeros(2, np.int64), nodes)
    assert check(instance, good, "wait").cost == 5000
    early = Schedule(good.start - 5000, good.pool, good.node)
    assert {v.rule for v in check(instance, early, "wait").violations} == {"release"}
    short = Schedule(good.start[:1], good.pool, good.node)
    assert {v.rule for v in check(instance, short, "wait").violations} == {"every job"}
